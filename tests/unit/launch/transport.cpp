// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The in-process transport by itself, the check over all ranks, and NCCL's and HCCL's calls on stand-ins that write
// them down.
#include <hocket/launch/check_transfers.hpp>
#include <hocket/launch/run_transfers.hpp>
#include <hocket/launch/transports/in_process.hpp>

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <thread>

#include "catch.hpp"

using namespace hocket;
using namespace hocket::launch;

TEST_CASE("two ranks exchange messages of every size, both ways at once", "[launch][transport]") {
  for (const auto sends : {completion::rendezvous, completion::buffered}) {
    auto group = in_process_group::start(2, {.sends = sends}).value();
    for (const std::size_t size : {0ul, 8ul, 257ul, 4097ul, 32769ul, 1ul << 20}) {
      std::array<std::vector<unsigned char>, 2> out, in;
      std::array<bool, 2> good{};
      for (unsigned r = 0; r < 2; ++r) {
        out[r].resize(size), in[r].assign(size, 0);
        for (std::size_t i = 0; i < size; ++i) out[r][i] = static_cast<unsigned char>(i * 7 + r + 1);
      }
      const auto body = [&](unsigned r) {
        auto t = group.rank(r);
        for (int step = 0; step < 20; ++step) {
          std::array<in_process_transport::request_type, 2> q;
          good[r] = t.send(out[r].data(), size, 1 - r, 5, {}, q[0]) == in_process_status::ok &&
                    t.recv(in[r].data(), size, 1 - r, 5, {}, q[1]) == in_process_status::ok &&
                    t.wait(q[0]) == in_process_status::ok && t.wait(q[1]) == in_process_status::ok;
        }
      };
      std::thread other(body, 1u);
      body(0);
      other.join();
      CHECK(good[0]);
      CHECK(good[1]);
      CHECK(in[0] == out[1]);
      CHECK(in[1] == out[0]);
    }
  }
}

TEST_CASE("in process: order, completion, mismatches, strangers, abort", "[launch][transport]") {
  using status = in_process_status;
  const auto made = [](completion c) {
    return in_process_group::start(3, {.sends = c, .time_limit = std::chrono::milliseconds(20)}).value();
  };
  std::array<int, 2> from{1, 2}, to{};
  in_process_transport::request_type a, b, c, d;
  bool done = false;
  SECTION("a rendezvous send is complete with its receive, a buffered one at once; both in order") {
    for (const auto kind : {completion::rendezvous, completion::buffered}) {
      auto group = made(kind);
      auto x = group.rank(0), y = group.rank(2);
      CHECK(x.send(&from[0], 4, 2, 0, {}, a) == status::ok);
      CHECK(x.send(&from[1], 4, 2, 1, {}, b) == status::ok);
      CHECK(x.test(b, done) == status::ok);
      CHECK(done == (kind == completion::buffered));
      if (kind == completion::rendezvous) CHECK(x.wait(b) == status::timed_out);
      if (kind == completion::buffered) from = {7, 7};  // the copy was made
      CHECK(y.recv(&to[0], 4, 0, 0, {}, c) == status::ok);
      CHECK(y.wait(c) == status::ok);
      CHECK(x.wait(a) == status::ok);
      CHECK(y.recv(&to[1], 4, 0, 1, {}, d) == status::ok);
      CHECK((y.test(d, done) == status::ok && done));
      CHECK(x.wait(b) == status::ok);
      CHECK(to == std::array{1, 2});
      from = {1, 2};
    }
  }
  SECTION("tag and length must agree; both sides hear of it") {
    for (const bool tag : {true, false}) {
      auto group = made(completion::rendezvous);
      auto x = group.rank(0), y = group.rank(1);
      CHECK(x.send(&from[0], 4, 1, 3, {}, a) == status::ok);
      const status wrong = tag ? status::mismatched_tags : status::mismatched_lengths;
      CHECK(y.recv(&to[0], tag ? 4 : 8, 0, tag ? 4 : 3, {}, b) == wrong);
      CHECK(x.wait(a) == wrong);
      CHECK(to[0] == 0);
    }
  }
  SECTION("no such peer") {
    auto group = made(completion::rendezvous);
    auto x = group.rank(0);
    CHECK(x.send(&from, 4, 3, 0, {}, a) == status::peer_out_of_range);
    CHECK(x.recv(&to, 4, 0, 0, {}, a) == status::peer_out_of_range);
  }
  SECTION("an abort ends the waits of everybody, now and later") {
    auto group = in_process_group::start(3, {.time_limit = std::chrono::milliseconds(0)}).value();
    auto x = group.rank(0), y = group.rank(1), z = group.rank(2);
    CHECK(x.recv(&to[0], 4, 1, 0, {}, a) == status::ok);
    status seen = status::ok;
    std::thread waiting([&] { seen = x.wait(a); });
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    z.abort();
    waiting.join();
    CHECK(seen == status::aborted);
    CHECK(y.send(&from[0], 4, 0, 0, {}, b) == status::aborted);
    CHECK(y.progress() == status::aborted);
    CHECK(to[0] == 0);
  }
  CHECK(in_process_group::start(0).error().code == errc::invalid_argument);
  CHECK(in_process_group::start(5000).error().code == errc::limit_exceeded);
  for (int s = 0; s < 8; ++s) CHECK(std::string(to_string(static_cast<status>(s))).size() > 1);
}

namespace {

// A transport that writes down what it is asked for; call number `fails` fails.
struct written_transport {
  using stream_type = no_stream;
  using request_type = std::uint32_t;
  using status_type = int;
  std::string calls{};
  std::size_t fails = ~std::size_t{0};

  int note(char what) noexcept {
    calls += what;
    return calls.size() - 1 == fails ? 7 : 0;
  }
  int send(const void*, std::size_t, std::uint32_t, std::uint32_t, no_stream, std::uint32_t&) noexcept {
    return note('s');
  }
  int recv(void*, std::size_t, std::uint32_t, std::uint32_t, no_stream, std::uint32_t&) noexcept { return note('r'); }
  int group_begin() noexcept { return note('('); }
  int group_end(no_stream) noexcept { return note(')'); }
  int progress() noexcept { return note('p'); }
  int test(std::uint32_t&, bool& done) noexcept { return note((done = true, 't')); }
  int wait(std::uint32_t&) noexcept { return note('w'); }
  void abort() noexcept {}
  static bool ok(int s) noexcept { return s == 0; }
  static const char* text(int) noexcept { return "it failed"; }
};

}  // namespace

TEST_CASE("a rank asks its transport for each step once, in order, and stops where it fails", "[launch][transport]") {
  using kind = transfer_kind;
  std::vector<transfer_command> steps;
  for (const kind k : {kind::run, kind::group_begin, kind::send, kind::recv, kind::group_end, kind::wait, kind::run})
    steps.push_back({.kind = k});
  const char* const sentences[] = {"it failed",
                                   "a group: it failed",
                                   "sending to rank 0: it failed",
                                   "receiving from rank 0: it failed",
                                   "a group: it failed",
                                   "waiting for rank 0: it failed",
                                   "it failed"};
  struct hook {  // begins and ends each step that is tried
    std::vector<std::size_t> begun, ended;
    void begin(std::size_t i, const transfer_command&) noexcept { begun.push_back(i); }
    void end(std::size_t i, const transfer_command&) noexcept { ended.push_back(i); }
  };
  const std::string all = "p(sr)wp";
  std::vector<std::uint32_t> requests(1);
  const auto memory = [](std::size_t) -> transfer_memory { return {}; };
  for (std::size_t fails = 0; fails <= all.size(); ++fails) {
    written_transport t{.fails = fails};
    hook trace;
    const auto done = run_transfers(t, steps, std::span(requests), memory, [](std::size_t) {}, trace);
    CHECK(trace.begun.size() == (std::min)(fails + 1, steps.size()));
    CHECK(std::is_sorted(trace.begun.begin(), trace.begun.end()));
    CHECK(trace.ended == trace.begun);
    CHECK(t.calls == all.substr(0, fails + 1));
    CHECK(done.complete == (fails == all.size()));
    CHECK(done.done == (std::min)(fails, steps.size()));
    CHECK(message(done, 3, "it failed") ==
          (done ? "rank 3: done" : "rank 3, step " + std::to_string(fails) + ": " + sentences[fails]));
  }
}

// ---- the check over all ranks

namespace {

using commands = std::vector<transfer_command>;

result<void> check(const std::vector<commands>& ranks, transfer_model model,
                   std::pmr::vector<blocked_transfer>* cycle = nullptr) {
  std::vector<std::span<const transfer_command>> lists(ranks.begin(), ranks.end());
  return check_transfers(lists, model, cycle);
}

// Numbers requests and tags.
struct writer {
  std::vector<commands> ranks;
  explicit writer(std::size_t count) : ranks(count) {}
  writer& transfer(transfer_kind kind, std::uint32_t rank, std::uint32_t peer, std::uint64_t label) {
    std::uint32_t request = 0, tag = 0;
    for (const auto& c : ranks[rank]) {
      if (c.kind != transfer_kind::send && c.kind != transfer_kind::recv) continue;
      ++request;
      tag += c.kind == kind && c.peer == peer;
    }
    ranks[rank].push_back({label, peer, request, tag, kind});
    return *this;
  }
  writer& send(std::uint32_t rank, std::uint32_t peer, std::uint64_t label) {
    return transfer(transfer_kind::send, rank, peer, label);
  }
  writer& recv(std::uint32_t rank, std::uint32_t peer, std::uint64_t label) {
    return transfer(transfer_kind::recv, rank, peer, label);
  }
  writer& wait(std::uint32_t rank, std::uint32_t request) {
    ranks[rank].push_back({0, 0, request, 0, transfer_kind::wait});
    return *this;
  }
  writer& group(std::uint32_t rank, bool begins) {
    ranks[rank].push_back({.kind = begins ? transfer_kind::group_begin : transfer_kind::group_end});
    return *this;
  }
};

// Each link stands at what only the next rank can end, further down its list than it stands itself.
bool is_cycle(const std::vector<commands>& ranks, const std::pmr::vector<blocked_transfer>& cycle) {
  for (std::size_t i = 0; i < cycle.size(); ++i) {
    const blocked_transfer& b = cycle[i];
    const blocked_transfer& next = cycle[(i + 1) % cycle.size()];
    if (b.peer != next.rank || b.needs <= next.step) return false;
    const transfer_command& needed = ranks[b.peer][b.needs];
    if (needed.peer != b.rank) return false;
    const commands& mine = ranks[b.rank];
    // What it stands at: the transfer, the transfer that it waits for, or one of the group that ends there.
    std::size_t first = b.step, last = b.step;
    if (mine[b.step].kind == transfer_kind::group_end)
      while (mine[first].kind != transfer_kind::group_begin) --first;
    if (mine[b.step].kind == transfer_kind::wait)
      for (first = 0; mine[first].request != mine[b.step].request; ++first) last = first + 1;
    bool found = false;
    for (std::size_t k = first; k <= last && !found; ++k)
      found = mine[k].peer == b.peer && mine[k].tag == needed.tag && mine[k].label == needed.label &&
              mine[k].kind != needed.kind;
    if (!found) return false;
  }
  return !cycle.empty();
}

}  // namespace

TEST_CASE("the check: head to head, grouped, rings, with the cycle as a witness", "[launch][transport]") {
  std::pmr::vector<blocked_transfer> cycle;
  // Both send first.
  writer w(2);
  w.send(0, 1, 10).recv(0, 1, 20).send(1, 0, 20).recv(1, 0, 10);
  CHECK(check(w.ranks, transfer_model::posted));
  const auto blocked = check(w.ranks, transfer_model::in_order, &cycle);
  REQUIRE(!blocked);
  CHECK(blocked.error() == error{errc::transfer_deadlock, 0, 0, 1, 1});
  CHECK(cycle.size() == 2);
  CHECK(is_cycle(w.ranks, cycle));
  // In a group on both sides, or on one: fine.
  writer g(2);
  g.group(0, true).send(0, 1, 10).recv(0, 1, 20).group(0, false).send(1, 0, 20).recv(1, 0, 10);
  CHECK(check(g.ranks, transfer_model::in_order));
  // A ring of three that all receive first; posted and waited for, the same.
  for (const bool posted : {false, true}) {
    writer ring(3);
    for (std::uint32_t r = 0; r < 3; ++r) {
      ring.recv(r, (r + 2) % 3, (r + 2) % 3);
      if (posted) ring.wait(r, 0);
      ring.send(r, (r + 1) % 3, r);
    }
    const auto e = check(ring.ranks, posted ? transfer_model::posted : transfer_model::in_order, &cycle);
    REQUIRE(!e);
    CHECK(e.error().code == errc::transfer_deadlock);
    CHECK(cycle.size() == 3);
    CHECK(is_cycle(ring.ranks, cycle));
  }
}

TEST_CASE("the check: of two rings the shorter one is reported, wherever it stands", "[launch][transport]") {
  const auto ring = [](writer& w, std::uint32_t first, std::uint32_t size) {
    for (std::uint32_t r = 0; r < size; ++r) {
      const std::uint32_t before = first + (r + size - 1) % size, behind = first + (r + 1) % size;
      w.recv(first + r, before, first + r + 100).send(first + r, behind, behind + 100);
    }
  };
  for (std::uint32_t first = 2; first <= 5; ++first)
    for (std::uint32_t second = 2; second <= 5; ++second) {
      writer w(first + second);
      ring(w, 0, first);
      ring(w, first, second);
      std::pmr::vector<blocked_transfer> cycle;
      REQUIRE(!check(w.ranks, transfer_model::in_order, &cycle));
      CHECK(cycle.size() == (std::min)(first, second));
      CHECK((cycle.front().rank < first) == (first <= second));
      CHECK(is_cycle(w.ranks, cycle));
    }
}

// Rank 0 collects from 30,000 others in one group, and is woken by each, the last of the group's list first. Looking at
// the whole group each time took ten seconds here; the time is not asserted, but would be noticed.
TEST_CASE("the check: a large group that is woken by each of its transfers", "[launch][transport]") {
  const std::uint32_t others = 30000;
  std::vector<commands> ranks(others + 1);
  std::vector<std::uint32_t> requests(others + 1);
  const auto put = [&](std::uint32_t rank, transfer_kind kind, std::uint32_t peer, std::uint64_t label) {
    ranks[rank].push_back({label, peer, requests[rank]++, 0, kind});
  };
  ranks[0].push_back({.kind = transfer_kind::group_begin});
  for (std::uint32_t k = others; k > 0; --k) put(0, transfer_kind::recv, k, k);
  ranks[0].push_back({.kind = transfer_kind::group_end});
  for (std::uint32_t k = 1; k <= others; ++k) {  // each passes a word on before it sends
    if (k > 1) put(k, transfer_kind::recv, k - 1, others + k);
    if (k < others) put(k, transfer_kind::send, k + 1, others + k + 1);
    put(k, transfer_kind::send, 0, k);
  }
  CHECK(check(ranks, transfer_model::in_order));
  // The word comes round to the first, which waits for it: nobody sends any more.
  ranks[1].insert(ranks[1].begin(), {.label = 1, .peer = others, .request = 0, .kind = transfer_kind::recv});
  for (std::size_t i = 1; i < ranks[1].size(); ++i) ++ranks[1][i].request;
  put(others, transfer_kind::send, 1, 1);
  std::pmr::vector<blocked_transfer> cycle;
  const auto stuck = check(ranks, transfer_model::in_order, &cycle);
  REQUIRE(!stuck);
  CHECK(stuck.error().code == errc::transfer_deadlock);
  CHECK(cycle.size() == others);
}

TEST_CASE("the check: the second of two is what a rank stands at, waited for or in a group", "[launch][transport]") {
  std::pmr::vector<blocked_transfer> cycle;
  for (const bool posted : {false, true}) {
    writer w(3);
    if (!posted) w.group(0, true);
    w.recv(0, 2, 20).recv(0, 1, 10);
    if (posted) w.wait(0, 0).wait(0, 1);
    else w.group(0, false);
    w.send(0, 1, 1).recv(1, 0, 1);
    if (posted) w.wait(1, 0);
    w.send(1, 0, 10).send(2, 0, 20);
    const auto e = check(w.ranks, posted ? transfer_model::posted : transfer_model::in_order, &cycle);
    REQUIRE(!e);
    CHECK(e.error().code == errc::transfer_deadlock);
    CHECK(cycle.size() == 2);
    CHECK(is_cycle(w.ranks, cycle));
  }
  CHECK(blocked_transfer{} == blocked_transfer{0, 0, 0, 0});
}

TEST_CASE("the check: what does not fit together", "[launch][transport]") {
  const auto code = [](const writer& w) {
    const auto r = check(w.ranks, transfer_model::posted);
    return r ? errc{} : r.error().code;
  };
  CHECK(code(writer(2).send(0, 1, 1)) == errc::unmatched_transfer);
  CHECK(code(writer(2).recv(0, 1, 1)) == errc::unmatched_transfer);
  CHECK(code(writer(2).send(0, 1, 1).send(0, 1, 2).recv(1, 0, 1)) == errc::unmatched_transfer);
  CHECK(code(writer(2).send(0, 1, 1).recv(1, 0, 2)) == errc::mismatched_transfer);
  CHECK(code(writer(3).send(0, 1, 1).recv(2, 0, 1)) == errc::unmatched_transfer);
  CHECK(check(writer(2).send(0, 1, 1).ranks, transfer_model::posted).error() ==
        error{errc::unmatched_transfer, 0, 0, 1}.with("the send to"));
  CHECK(check(writer(2).recv(0, 1, 1).ranks, transfer_model::posted).error() ==
        error{errc::unmatched_transfer, 0, 0, 1}.with("the receive from"));
  CHECK(
      check(writer(2).send(0, 1, 1).send(1, 0, 5).recv(0, 1, 5).recv(1, 0, 2).ranks, transfer_model::posted).error() ==
      error{errc::mismatched_transfer, 0, 0, 1, 1});
  CHECK(code(writer(2).send(0, 2, 1)) == errc::bad_transfer);
  CHECK(code(writer(2).send(0, 0, 1)) == errc::bad_transfer);
  CHECK(code(writer(2).wait(0, 0)) == errc::bad_transfer);
  CHECK(code(writer(1).group(0, true)) == errc::bad_transfer);
  CHECK(code(writer(1).group(0, false)) == errc::bad_transfer);
  CHECK(code(writer(1).group(0, true).group(0, true)) == errc::bad_transfer);
  writer late(2);
  late.send(0, 1, 1).recv(1, 0, 1);
  CHECK(code(late) == errc{});
  late.ranks[0][0].tag = 1;
  CHECK(code(late) == errc::unmatched_transfer);
  late.ranks[1][0].tag = 1;
  CHECK(code(late) == errc::bad_transfer);  // places count from 0
}

namespace {

// An independent judge for small cases: every interleaving of ranks that execute one command at a time, blocking sends
// and receives that meet pairwise, searched exhaustively. Where each rank ends; since a rank has one way to go on, the
// outcome does not depend on the interleaving, so a depth-first walk of one suffices, by brute rescanning.
std::vector<std::size_t> ends_at(const std::vector<commands>& ranks) {
  std::vector<std::size_t> at(ranks.size());
  for (bool moved = true; moved;) {
    moved = false;
    for (std::uint32_t r = 0; r < ranks.size(); ++r) {
      if (at[r] == ranks[r].size()) continue;
      const transfer_command& c = ranks[r][at[r]];
      if (at[c.peer] == ranks[c.peer].size()) continue;
      const transfer_command& other = ranks[c.peer][at[c.peer]];
      if (other.peer != r || other.kind == c.kind) continue;
      ++at[r];
      ++at[c.peer];
      moved = true;
    }
  }
  return at;
}

// The fewest ranks that wait for each other in a ring; 0 if all have come to their end.
std::size_t shortest_ring(const std::vector<commands>& ranks) {
  const std::vector<std::size_t> at = ends_at(ranks);
  std::size_t best = 0;
  for (std::uint32_t r = 0; r < ranks.size(); ++r) {
    std::uint32_t x = r;
    std::size_t length = 0;
    while (at[x] != ranks[x].size() && length < ranks.size()) {
      x = ranks[x][at[x]].peer;
      ++length;
      if (x == r && (best == 0 || length < best)) best = length;
      if (x == r) break;
    }
  }
  return best;
}

}  // namespace

TEST_CASE("the check agrees with a brute-force rendezvous on random programs", "[launch][transport]") {
  std::mt19937 engine(7);
  const auto random = [&] { return static_cast<std::uint32_t>(engine()); };
  int hung = 0, longer = 0;
  for (int round = 0; round < 3000; ++round) {
    const std::uint32_t ranks = 2 + random() % 6;
    writer w(ranks);
    const std::uint32_t messages = 1 + random() % (2 * ranks);
    // A global order is safe; then some neighbours in a rank's list change places, if they are not of one channel.
    for (std::uint32_t i = 0; i < messages; ++i) {
      const std::uint32_t from = random() % ranks, to = (from + 1 + random() % (ranks - 1)) % ranks;
      w.send(from, to, i).recv(to, from, i);
    }
    for (int k = 0; k < 4; ++k) {
      commands& list = w.ranks[random() % ranks];
      if (list.size() < 2) continue;
      const std::size_t i = random() % (list.size() - 1);
      if (list[i].peer == list[i + 1].peer && list[i].kind == list[i + 1].kind) continue;
      std::swap(list[i], list[i + 1]);
      std::swap(list[i].request, list[i + 1].request);
    }
    const std::size_t ring = shortest_ring(w.ranks);
    const bool expected = ring != 0;
    std::pmr::vector<blocked_transfer> cycle;
    const auto found = check(w.ranks, transfer_model::in_order, &cycle);
    CHECK(found.has_value() == !expected);
    CHECK((found || is_cycle(w.ranks, cycle)));
    CHECK(check(w.ranks, transfer_model::posted).has_value());
    hung += expected;
    longer += ring > 2 ? 1 : 0;
    CHECK(cycle.size() == ring);
  }
  CHECK(hung > 300);
  CHECK(hung < 2700);
  CHECK(longer > 30);
}
