// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Checking under four models of communication, and the lowering that puts transfers in.
#include <hocket/core/message.hpp>
#include <hocket/pipeline.hpp>
#include <hocket/text/schedule_csv.hpp>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "catch.hpp"

using namespace hocket::pipeline;
using hocket::errc;
using hocket::text::parse_schedule_csv;
using hocket::text::write_schedule_csv;

namespace {

constexpr communication models[] = {communication::buffered, communication::rendezvous, communication::stream,
                                    communication::batched};
constexpr transfer_policy safe_policies[] = {transfer_policy::eager, transfer_policy::just_in_time,
                                             transfer_policy::grouped, transfer_policy::barrier};

using rows = std::vector<std::vector<stage_action>>;

table_schedule table_of(const rows& lists) {
  std::vector<stage_action> all;
  std::vector<std::uint32_t> ends;
  for (const auto& list : lists) {
    all.insert(all.end(), list.begin(), list.end());
    ends.push_back(static_cast<std::uint32_t>(all.size()));
  }
  return table_schedule::make(all, ends).value();
}
rows rows_of(const table_schedule& table) {
  rows lists;
  for (std::uint32_t r = 0; r < table.ranks(); ++r) lists.emplace_back(table.rank(r).begin(), table.rank(r).end());
  return lists;
}
template <class Keep>
table_schedule only(const table_schedule& table, Keep keep) {
  rows lists = rows_of(table);
  for (auto& list : lists) {
    std::vector<stage_action> kept;
    for (const stage_action a : list)
      if (keep(a)) kept.push_back(a);
    list = kept;
  }
  return table_of(lists);
}

/// Each receive right in front of the action (or the pair) that uses it, in the order in which they stand.
table_schedule receives_at_their_use(const table_schedule& table) {
  rows lists = rows_of(table);
  for (auto& list : lists) {
    std::vector<stage_action> moved, waiting;
    for (std::size_t i = 0; i < list.size(); ++i) {
      const stage_action a = list[i];
      if (a.kind() == action_kind::recv_forward || a.kind() == action_kind::recv_backward) {
        waiting.push_back(a);
        continue;
      }
      const auto use = [&](stage_action user) {
        const auto at = std::find(waiting.begin(), waiting.end(), receive_of(user));
        if (is_compute(user.kind()) && user.kind() != action_kind::weight_grad && at != waiting.end()) {
          moved.push_back(*at);
          waiting.erase(at);
        }
      };
      use(a);
      if (a.joined()) use(list[i + 1]);
      moved.push_back(a);
      if (a.joined()) moved.push_back(list[++i]);
    }
    list = moved;
  }
  return table_of(lists);
}

/// The oracle: all constraints of a model as a graph of events; a deadlock is a cycle in it. Shares nothing with the
/// checker but the meaning of far_end.
bool has_cycle(const table_schedule& lowered, communication model) {
  std::vector<std::vector<int>> after;
  const auto event = [&] {
    after.emplace_back();
    return static_cast<int>(after.size()) - 1;
  };
  const auto edge = [&](int from, int to) { after[static_cast<std::size_t>(from)].push_back(to); };
  std::map<std::uint64_t, int> met;  // by receive: the transfer takes place
  const auto receive = [](stage_action a) { return is_send(a.kind()) ? far_end(a) : a; };
  const auto meeting = [&](stage_action a) {
    const auto [at, added] = met.try_emplace(receive(a).bits(), 0);
    if (added) at->second = event();
    return at->second;
  };
  std::map<std::uint64_t, int> sent;
  for (std::uint32_t r = 0; r < lowered.ranks(); ++r) {
    int last = event(), last_transfer = event(), last_compute = event();
    const auto chain = [&](int& from, int to) {
      edge(from, to);
      from = to;
    };
    std::map<std::uint64_t, int> made;
    const auto list = lowered.rank(r);
    for (std::size_t i = 0; i < list.size(); ++i) {
      const stage_action a = list[i];
      if (model == communication::stream) {
        if (is_compute(a.kind())) {
          const int x = event();
          chain(last_compute, x);
          if (needs_receive(lowered, a)) edge(meeting(receive_of(a)), x);
          if (needs_send(lowered, a)) made[send_of(a).bits()] = x;
        } else if (is_transfer(a.kind())) {
          chain(last_transfer, meeting(a));
          if (is_send(a.kind())) edge(made.at(a.bits()), meeting(a));
        }
        continue;
      }
      if (!is_transfer(a.kind())) continue;
      if (model == communication::rendezvous) {
        chain(last, meeting(a));
      } else if (model == communication::buffered) {
        const int x = event();
        chain(last, x);
        if (is_send(a.kind())) edge(x, meeting(a));
        else edge(meeting(a), x);
      } else {
        const int start = event(), end = event();
        chain(last, start);
        for (; i < list.size() && is_transfer(list[i].kind()); ++i) {
          edge(start, meeting(list[i]));
          edge(meeting(list[i]), end);
        }
        --i;
        last = end;
      }
    }
  }
  std::vector<int> open(after.size(), 0), free;
  for (const auto& x : after)
    for (const int y : x) ++open[static_cast<std::size_t>(y)];
  for (std::size_t i = 0; i < after.size(); ++i)
    if (open[i] == 0) free.push_back(static_cast<int>(i));
  std::size_t done = 0;
  while (!free.empty()) {
    const int x = free.back();
    free.pop_back();
    ++done;
    for (const int y : after[static_cast<std::size_t>(x)])
      if (--open[static_cast<std::size_t>(y)] == 0) free.push_back(y);
  }
  return done != after.size();
}

std::string slurp(const std::string& name) {
  std::ifstream file(HOCKET_TEST_DATA "/pipeline/" + name, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  REQUIRE_FALSE(text.empty());
  return text;
}
const char* const lowered_files[] = {
    "torch__Interleaved1F1B__p4_v2_m8.comms.csv", "torch__Interleaved1F1B__p4_v2_m10.comms.csv",
    "torch__LoopedBFS__p4_v2_m8.comms.csv",       "torch__ZBVZeroBubble__p4_v2_m8.comms.csv",
    "torch__DualPipeV__p4_v2_m10.comms.csv",      "torch__DualPipeV__p4_v2_m8.comms.csv",
    "torch__Interleaved1F1B__p4_v4_m8.comms.csv"};

template <class Plan>
void agrees(const Plan& plan) {
  for (const communication model : models) {
    std::pmr::vector<blocked> cycle;
    const auto said = check(plan, model, &cycle);
    INFO("model " << static_cast<int>(model) << " " << (said ? "" : hocket::message(said.error())));
    CHECK(said.has_value() == !has_cycle(plan, model));
    if (said) continue;
    REQUIRE(said.error().code == errc::deadlock);
    REQUIRE_FALSE(cycle.empty());
    for (std::size_t i = 0; i < cycle.size(); ++i) {
      const blocked& here = cycle[i];
      CHECK(here.holder == cycle[(i + 1) % cycle.size()].rank);
      const auto list = plan.rank(here.holder);  // what is needed is there
      CHECK(std::any_of(list.begin(), list.end(), [&](stage_action a) {
        const action_kind kind = a.kind() == action_kind::input_grad ? action_kind::backward : a.kind();
        return kind == here.needs.kind() && a.stage() == here.needs.stage() &&
               a.micro_batch() == here.needs.micro_batch();
      }));
    }
  }
}

}  // namespace

TEST_CASE("lowered lists are PyTorch's byte for byte", "[pipeline][golden]") {
  for (const char* const file : lowered_files) {
    INFO(file);
    const auto theirs = parse_schedule_csv(slurp(file)).value();
    const auto bare = only(theirs, [](stage_action a) { return is_compute(a.kind()); });
    const auto ours = lower(bare, {.unshard = 3, .reduce_grad = true, .transfers = transfer_policy::eager});
    REQUIRE(ours.has_value());
    CHECK(write_schedule_csv(*ours) == slurp(file));
  }
  const lowering_options as_torch{.unshard = 3, .reduce_grad = true, .transfers = transfer_policy::eager};
  CHECK(write_schedule_csv(*lower(interleaved::make({4, 2, 10}).value(), as_torch)) == slurp(lowered_files[1]));
  CHECK(write_schedule_csv(*lower(gpipe::make_looped_bfs({4, 2, 8}).value(), as_torch)) == slurp(lowered_files[2]));
  CHECK(write_schedule_csv(*lower(zbv::make({4, 2, 8}).value(), as_torch)) == slurp(lowered_files[3]));
  CHECK(write_schedule_csv(*lower(dual_pipe_v::make({4, 2, 10}).value(), as_torch)) == slurp(lowered_files[4]));
  CHECK(write_schedule_csv(*lower(dual_pipe_v::make({4, 2, 8}).value(), as_torch)) == slurp(lowered_files[5]));
  CHECK(write_schedule_csv(*lower(interleaved::make({4, 4, 8}).value(), as_torch)) == slurp(lowered_files[6]));
}

TEST_CASE("PyTorch's lowered lists are safe as they are, and deadlock if receives move to their use", "[pipeline]") {
  for (const char* const file : lowered_files) {
    INFO(file);
    const auto theirs = parse_schedule_csv(slurp(file)).value();
    for (const communication model : models) CHECK(check(theirs, model).has_value());
    agrees(theirs);
    const auto moved = receives_at_their_use(theirs);
    CHECK(check(moved, communication::buffered).has_value());
    CHECK(check(moved, communication::rendezvous).error().code == errc::deadlock);
    agrees(moved);
  }
}

TEST_CASE("every policy for transfers is safe under every model", "[pipeline]") {
  const auto judge = [](const auto& plan) {
    for (const transfer_policy policy : safe_policies) {
      const auto lowered = lower(plan, {.transfers = policy});
      REQUIRE(lowered.has_value());
      for (const communication model : models) {
        const auto ok = check(*lowered, model);
        INFO(static_cast<int>(policy) << " " << static_cast<int>(model)
                                      << (ok ? std::string{} : hocket::message(ok.error())));
        REQUIRE(ok.has_value());
      }
      // nothing of the computation has changed
      const auto bare = only(*lowered, [](stage_action a) { return is_compute(a.kind()); });
      CHECK(fingerprint_of(bare) == fingerprint_of(table_schedule::make_copy(plan).value()));
      if (policy != transfer_policy::barrier) continue;
      std::set<std::size_t> beats;
      for (std::uint32_t r = 0; r < lowered->ranks(); ++r) {
        std::size_t count = 0;
        for (const stage_action a : lowered->rank(r))
          count += (is_compute(a.kind()) || a.kind() == action_kind::idle) && !a.joined();
        beats.insert(count);
      }
      CHECK(beats.size() == 1);
    }
  };
  for (std::int64_t p = 1; p <= 5; ++p)
    for (const std::int64_t m : {std::int64_t{1}, p - 1, p, 2 * p + 1}) {
      if (m < 1) continue;
      judge(gpipe::make({p, 1, m}).value());
      judge(one_f_one_b::make({p, 1, m}).value());
      judge(one_f_one_b::make({p, 1, m}, 2).value());
      judge(zero_bubble::make_h2({p, 1, m}).value());
      for (const std::int64_t v : {2, 3}) {
        judge(interleaved::make({p, v, m}).value());
        judge(interleaved::make({p, v, m}, groups::least_memory()).value());
        judge(zero_bubble::make_interleaved({p, v, m}).value());
      }
      judge(zbv::make({p, 2, m}).value());
    }
  judge(dual_pipe_v::make({4, 2, 9}).value());
  for (const char* const file :
       {"dualpipe__DualPipe__p4_m8.csv", "dualpipe__DualPipe__p4_m10.csv", "dualpipe__DualPipe__p2_m4.csv",
        "zb__Seq1F1B__p4_v1_m4_s2.csv", "zb__Vhalf__p4_v2_m8.csv", "zb__Vmin__p4_v2_m8.csv"})
    judge(parse_schedule_csv(slurp(file)).value());
}

TEST_CASE("deferred receives stand at their use, or before a send to the same rank with a higher number",
          "[pipeline]") {
  const auto judge = [](const auto& plan) {
    const auto eager = lower(plan, {.transfers = transfer_policy::eager}).value();
    const auto deferred = lower(plan, {.transfers = transfer_policy::deferred}).value();
    rows expected;
    for (std::uint32_t r = 0; r < plan.ranks(); ++r) {
      const auto list = eager.rank(r);
      const auto peer = [&](stage_action a) {
        return rank_of(eager.placement(), eager.ranks(), far_end(a).stage(), far_end(a).direction());
      };
      // Of each receive the place of what it must stand before: that and all receives of one place keep their order.
      std::vector<std::vector<stage_action>> before(list.size());
      for (std::size_t i = 0; i < list.size(); ++i) {
        if (!is_transfer(list[i].kind()) || is_send(list[i].kind())) continue;
        for (std::size_t at = i + 1;; ++at) {
          const stage_action x = list[at];
          const bool is_use = needs_receive(eager, x) && receive_of(x) == list[i];
          const bool sends = is_transfer(x.kind()) && is_send(x.kind()) && r < peer(x) && peer(x) == peer(list[i]);
          if (!is_use && !sends) continue;
          before[at > 0 && is_use && list[at - 1].joined() && !(at > 1 && list[at - 2].joined()) ? at - 1 : at]
              .push_back(list[i]);
          break;
        }
      }
      auto& row = expected.emplace_back();
      for (std::size_t i = 0; i < list.size(); ++i) {
        row.insert(row.end(), before[i].begin(), before[i].end());
        if (!is_transfer(list[i].kind()) || is_send(list[i].kind())) row.push_back(list[i]);
      }
    }
    CHECK(rows_of(deferred) == expected);
    CHECK(check(deferred, communication::buffered).has_value());
  };
  for (std::int64_t p = 2; p <= 5; ++p)
    for (const std::int64_t m : {std::int64_t{1}, p, 2 * p + 1}) {
      judge(gpipe::make({p, 1, m}).value());
      judge(one_f_one_b::make({p, 1, m}).value());
      judge(interleaved::make({p, 2, m}).value());
      judge(zero_bubble::make_interleaved({p, 3, m}).value());
      judge(zbv::make({p, 2, 2 * p}).value());
      if (p % 2 == 0) judge(dual_pipe::make({p, 1, 2 * p}).value());
      judge(dual_pipe_v::make({p, 2, 2 * p}).value());
    }
}

TEST_CASE("lists that cannot be followed get no transfers, and the first action in the way is named", "[pipeline]") {
  // The paper's order of 19 micro-batches deadlocks on 8 ranks.
  const auto plan = interleaved::make({8, 2, 19}, groups::paper()).value();
  const auto lowered = lower(plan, {.transfers = transfer_policy::eager});
  REQUIRE((!lowered && lowered.error().code == errc::deadlock));
  const auto& why = lowered.error().values;
  const auto rank = static_cast<std::uint32_t>(why[0]);
  const stage_action a = stage_action_at(plan, rank, static_cast<std::uint32_t>(why[1]));
  CHECK(why[2] == std::int64_t{a.stage()} + (a.kind() == action_kind::forward ? -1 : 1));
  CHECK(why[3] == a.micro_batch());
  std::pmr::vector<blocked> cycle;
  REQUIRE(!check(plan, &cycle));
  const auto same = [&](const blocked& x) { return x.rank == rank && x.step == why[1] && x.action == a; };
  CHECK(std::any_of(cycle.begin(), cycle.end(), same));
}

TEST_CASE("the checker agrees with a graph of all constraints on lists at random", "[pipeline]") {
  std::uint32_t seed = 1;
  const auto random = [&](std::uint32_t below) { return (seed = seed * 1664525u + 1013904223u) / 65536u % below; };
  int good = 0, bad = 0;
  for (int round = 0; round < 300; ++round) {
    const std::int64_t p = 2 + random(3), m = 1 + random(5);
    const transfer_policy policy = safe_policies[random(3)];
    const auto plan = random(2) == 0 ? table_schedule::make_copy(interleaved::make({p, 2, m}).value()).value()
                                     : table_schedule::make_copy(zero_bubble::make_h1({p, 1, m}).value()).value();
    rows lists = rows_of(lower(plan, {.transfers = policy}).value());
    for (std::uint32_t k = 1 + random(6); k-- > 0;) {  // move transfers about, each to where it still makes sense
      auto& list = lists[random(static_cast<std::uint32_t>(lists.size()))];
      const std::uint32_t i = random(static_cast<std::uint32_t>(list.size()) - 1);
      if (!is_transfer(list[i].kind()) && !is_transfer(list[i + 1].kind())) continue;
      if (is_send(list[i + 1].kind()) && list[i + 1] == send_of(list[i])) continue;
      if (is_send(list[i + 1].kind()) && list[i].kind() == action_kind::input_grad) continue;
      if (is_compute(list[i + 1].kind()) && list[i] == receive_of(list[i + 1])) continue;
      std::swap(list[i], list[i + 1]);
    }
    const auto shuffled = table_of(lists);
    const auto ok = check(shuffled, communication::rendezvous);
    if (!ok && ok.error().code != errc::deadlock) continue;
    (ok ? good : bad) += 1;
    agrees(shuffled);
  }
  CHECK(good > 30);
  CHECK(bad > 30);
}

TEST_CASE("lists without transfers: receive right before, send right after", "[pipeline]") {
  const auto plain = one_f_one_b::make({4, 1, 8}).value();
  CHECK(check(plain, communication::buffered).has_value());
  CHECK(check(plain, communication::batched).has_value());  // Megatron-LM's fused send and receive
  std::pmr::vector<blocked> cycle;
  const auto stuck = check(plain, communication::rendezvous, &cycle);
  CHECK(stuck.error().code == errc::deadlock);
  REQUIRE(cycle.size() == 2);  // two neighbours that both send first
  CHECK(is_send(cycle[0].action.kind()));
  CHECK(is_send(cycle[1].action.kind()));
  for (const communication model : models) CHECK(check(gpipe::make({4, 1, 8}).value(), model).has_value());
}

TEST_CASE("what is wrong with transfers is said", "[pipeline]") {
  const auto complaint = [](const std::string& csv, communication model = communication::buffered) {
    const auto table = parse_schedule_csv(csv);
    REQUIRE(table.has_value());
    const auto ok = check(*table, model);
    return ok ? std::string("ok") : hocket::message(ok.error());
  };
  const std::string good0 = "0F0,0SEND_F0,0RECV_B0,0B0\n", good1 = "1RECV_F0,1F0,1B0,1SEND_B0\n";
  for (const communication model : models) CHECK(complaint(good0 + good1, model) == "ok");
  CHECK(complaint("0F0,0RECV_B0,0B0\n" + good1) == "rank 0 never runs the send of stage 0 for micro-batch 0");
  CHECK(complaint(good0 + "1F0,1B0,1SEND_B0\n") == "rank 1 never runs the receive of stage 1 for micro-batch 0");
  CHECK(complaint(good0 + "1F0,1RECV_F0,1B0,1SEND_B0\n") ==
        "rank 1, step 0: the forward of stage 1, micro-batch 0 comes before what it needs");
  CHECK(complaint("0SEND_F0,0F0,0RECV_B0,0B0\n" + good1) ==
        "rank 0, step 0: the send of stage 0, micro-batch 0 comes before what it needs");
  CHECK(complaint("0F0,0SEND_F0,0SEND_F0,0RECV_B0,0B0\n" + good1) ==
        "rank 0 runs the send of stage 0 for micro-batch 0 twice, again at step 2");
  CHECK(complaint("0F0,0SEND_F0,0RECV_B0,0B0,0SEND_B0\n" + good1) ==
        "rank 0, step 4: the send of stage 0, micro-batch 0 has no other rank at its far end");
  CHECK(complaint("0F0,0SEND_F0,1RECV_F0,1F0,1B0,0B0\n") ==
        "rank 0, step 1: the send of stage 0, micro-batch 0 has no other rank at its far end");
  CHECK(complaint("0RECV_B0,0F0,0SEND_F0,0B0\n" + good1).find("the schedule deadlocks: rank ") == 0);
  CHECK(complaint("0RECV_B0,0F0,0SEND_F0,0B0\n" + good1, communication::stream).find("the schedule deadlocks: rank ") ==
        0);
}

namespace {

/// Two ranks, one micro-batch; rank 1 also lists an action of its own choice.
struct with_one_more {
  stage_action more;
  std::uint32_t ranks() const { return 2; }
  std::uint32_t chunks() const { return 1; }
  std::uint32_t micro_batches() const { return 1; }
  std::uint32_t size(std::uint32_t rank) const { return rank == 0 ? 4 : 5; }
  stage_action at(std::uint32_t rank, std::uint32_t step) const {
    constexpr action_kind first[] = {action_kind::forward, action_kind::send_forward, action_kind::recv_backward,
                                     action_kind::backward};
    constexpr action_kind second[] = {action_kind::recv_forward, action_kind::forward, action_kind::backward,
                                      action_kind::send_backward};
    if (rank == 0) return {first[step], 0, 0};
    return step == 4 ? more : stage_action(second[step], 1, 0);
  }
  loop_placement placement() const { return {2}; }
};

}  // namespace

TEST_CASE("a transfer that the rank or the shape does not have is refused with its place", "[pipeline]") {
  const auto complaint = [](stage_action more) {
    return hocket::message(check(with_one_more{more}, communication::rendezvous).error());
  };
  CHECK(check(with_one_more{stage_action(action_kind::idle, 1, 0)}, communication::rendezvous).has_value());
  CHECK(complaint({action_kind::send_forward, 0, 0}) ==
        "line 2, cell 5: stage 0 also runs on line 1, but a stage lives on one rank");
  CHECK(complaint({action_kind::send_backward, 1, 1}) == "micro-batch is 1, but must lie in [0, 0]");
  CHECK(complaint({action_kind::send_backward, 1, 0, 1}) == "micro-batch is 0, but must lie in [0, 0]");
}

TEST_CASE("every known bad list is caught", "[pipeline]") {
  const auto good = interleaved::make({4, 2, 9}).value();
  const rows lists = rows_of(table_schedule::make_copy(good).value());
  const auto verdict = [](const rows& l) {
    const auto ok = check(table_of(l));
    return ok ? errc{} : ok.error().code;
  };
  CHECK(verdict(lists) == errc{});
  int stuck = 0, refused = 0;
  for (std::size_t r = 0; r < 4; ++r) {
    for (std::size_t i = 0; i < lists[r].size(); ++i) {
      auto missing = lists;
      missing[r].erase(missing[r].begin() + static_cast<std::ptrdiff_t>(i));
      CHECK(verdict(missing) == errc::incomplete_schedule);
      auto twice = lists;
      twice[r].push_back(twice[r][i]);
      CHECK(verdict(twice) == errc::duplicate_action);
      if (i + 1 == lists[r].size()) continue;
      auto swapped = lists;  // the forward and the backward of one piece, the other way round
      for (std::size_t j = i + 1; j < lists[r].size(); ++j)
        if (detail::same_unit(lists[r][i], lists[r][j])) std::swap(swapped[r][i], swapped[r][j]);
      if (swapped != lists) {
        ++refused;
        CHECK(verdict(swapped) == errc::deadlock);
      }
      auto order = lists;  // two neighbours
      std::swap(order[r][i], order[r][i + 1]);
      stuck += verdict(order) == errc::deadlock;
    }
  }
  CHECK(refused == 4 * 18);
  CHECK(stuck > 0);
  // an action on another rank
  auto moved = lists;
  moved[1].push_back(moved[0].back());
  moved[0].pop_back();
  std::vector<stage_action> all;
  std::vector<std::uint32_t> ends;
  for (const auto& list : moved) {
    all.insert(all.end(), list.begin(), list.end());
    ends.push_back(static_cast<std::uint32_t>(all.size()));
  }
  CHECK(table_schedule::make(all, ends).error().code == errc::misplaced_action);
  // a dropped weight gradient
  auto split = rows_of(table_schedule::make_copy(zero_bubble::make_h1({4, 1, 6}).value()).value());
  for (std::size_t i = 0; i < split[2].size(); ++i) {
    if (split[2][i].kind() != action_kind::weight_grad) continue;
    auto dropped = split;
    dropped[2].erase(dropped[2].begin() + static_cast<std::ptrdiff_t>(i));
    const auto said = check(table_of(dropped));
    CHECK(hocket::message(said.error()) == "rank 2 never runs the weight gradient of stage 2 for micro-batch " +
                                               std::to_string(split[2][i].micro_batch()));
  }
  // arrangement 1
  std::pmr::vector<blocked> cycle;
  CHECK(check(interleaved::make({8, 2, 19}, groups::paper()).value(), &cycle).error().code == errc::deadlock);
  CHECK(cycle.size() == 2);
}
