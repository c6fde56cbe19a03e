// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every transport that can run in one process obeys the laws; for each law there is one that breaks it, and is told so.
#include <hocket/launch/backends/ascend.hpp>
#include <hocket/launch/backends/cuda.hpp>
#include <hocket/launch/transports/hccl.hpp>
#include <hocket/launch/transports/in_process.hpp>
#include <hocket/launch/transports/nccl.hpp>
#include <hocket/testing/transport_laws.hpp>

#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "catch.hpp"
#include "fake_device.hpp"
#include "network.hpp"
#include "stream_transport.hpp"

namespace transport_laws_test {
namespace {

using namespace hocket::launch;
using hocket::testing::transport_law_options;

/// The sound one under another name. The wrong ones hide one member.
struct sound : in_process_transport {
  explicit sound(in_process_transport t) : in_process_transport(t) {}
};

/// What every rank says, in one line. run(rank) asks the laws on a thread.
template <class Run>
std::string of_all_ranks(std::uint32_t ranks, Run run) {
  std::vector<std::string> said(ranks);
  std::vector<std::thread> threads;
  for (std::uint32_t r = 0; r < ranks; ++r) threads.emplace_back([&said, &run, r] { said[r] = run(r); });
  for (std::thread& t : threads) t.join();
  std::string all;
  for (const std::string& s : said) all += s.empty() ? "" : "(" + s + ")";
  return all;
}
template <class T>
std::string complaints(completion sends, std::uint32_t ranks, const transport_law_options& options = {},
                       std::chrono::milliseconds limit = std::chrono::seconds(10)) {
  const auto group = in_process_group::start(ranks, {.sends = sends, .time_limit = limit}).value();
  return of_all_ranks(ranks, [&](std::uint32_t r) {
    T t(group.rank(r));
    return hocket::testing::broken_law(t, r, ranks, options);
  });
}
template <class T>
std::string abort_complaints(std::uint32_t ranks, std::chrono::milliseconds limit = std::chrono::seconds(60)) {
  const auto group = in_process_group::start(ranks, {.time_limit = limit}).value();
  return of_all_ranks(ranks, [&](std::uint32_t r) {
    T t(group.rank(r));
    return hocket::testing::broken_abort_law(t, r, ranks, {.patience = std::chrono::milliseconds(1500)});
  });
}
/// Of two ranks that buffer, with limits that a wrong transport does not have to wait for long.
template <class T>
std::string complaints_of(bool nobody_sends = false) {
  return complaints<T>(completion::buffered, 2,
                       {.nobody_sends = nobody_sends, .patience = std::chrono::milliseconds(200)},
                       std::chrono::milliseconds(nobody_sends ? 500 : 3000));
}
bool says(const std::string& all, const char* words) {
  INFO(all << "\ndoes not say: " << words);
  const bool found = all.find(words) != std::string::npos;
  CHECK(found);
  return found;
}

struct success_is_not_ok : sound {
  using sound::sound;
  static bool ok(status_type s) noexcept { return s == status_type::aborted; }
};
struct success_has_no_text : sound {
  using sound::sound;
  static const char* text(status_type) noexcept { return nullptr; }
};
struct refusals_have_no_text : sound {
  using sound::sound;
  static const char* text(status_type) noexcept { return ""; }
};
// The third message of rank 0 is sent in place of the second, too.
struct repeats : sound {
  using sound::sound;
  status_type send(const void* from, std::size_t bytes, std::uint32_t peer, std::uint32_t tag, no_stream s,
                   request_type& request) noexcept {
    std::vector<unsigned char> other(bytes, 0x11);
    if (rank() == 0 && tag == 1) return sound::send(other.data(), bytes, peer, tag, s, request);
    return sound::send(from, bytes, peer, tag, s, request);
  }
};
// A message is said to be sent, and is not: its receiver waits.
struct loses : sound {
  using sound::sound;
  status_type send(const void* from, std::size_t bytes, std::uint32_t peer, std::uint32_t tag, no_stream s,
                   request_type& request) noexcept {
    if (rank() == 0 && tag == 6) return status_type::ok;
    return sound::send(from, bytes, peer, tag, s, request);
  }
};
struct flips_a_bit : sound {
  using sound::sound;
  status_type send(const void* from, std::size_t bytes, std::uint32_t peer, std::uint32_t tag, no_stream s,
                   request_type& request) noexcept {
    const auto* const first = static_cast<const unsigned char*>(from);
    std::vector<unsigned char> copy(first, first + bytes);
    if (bytes == 4097) copy[4096] = static_cast<unsigned char>(copy[4096] ^ 1u);
    return sound::send(copy.data(), bytes, peer, tag, s, request);
  }
};
struct writes_beside : sound {
  using sound::sound;
  status_type recv(void* to, std::size_t bytes, std::uint32_t peer, std::uint32_t tag, no_stream s,
                   request_type& request) noexcept {
    static_cast<unsigned char*>(to)[bytes] = 0;
    return sound::recv(to, bytes, peer, tag, s, request);
  }
};
struct spoils_what_it_sends : sound {
  using sound::sound;
  status_type send(const void* from, std::size_t bytes, std::uint32_t peer, std::uint32_t tag, no_stream s,
                   request_type& request) noexcept {
    const status_type done = sound::send(from, bytes, peer, tag, s, request);
    if (bytes == 8) static_cast<unsigned char*>(const_cast<void*>(from))[3] ^= 1u;
    return done;
  }
};
struct completes_before_it_is_there : sound {
  using sound::sound;
  status_type recv(void* to, std::size_t bytes, std::uint32_t peer, std::uint32_t tag, no_stream s,
                   request_type& request) noexcept {
    request_type real{};
    const status_type done = sound::recv(bytes == 8 ? scratch : to, bytes, peer, tag, s, real);
    request = bytes == 8 ? request_type{} : real;
    return done;
  }
  unsigned char scratch[8]{};
};
struct test_forgets : sound {
  using sound::sound;
  status_type wait(request_type& request) noexcept {
    bool done = false;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    while (!done && std::chrono::steady_clock::now() < end)
      if (const status_type s = sound::test(request, done); !ok(s)) return s;
    waited_ = done;
    return done ? status_type::ok : status_type::timed_out;
  }
  status_type test(request_type& request, bool& done) noexcept {
    const status_type s = sound::test(request, done);
    if (waited_) done = false;
    return s;
  }
  bool waited_ = false;
};
// Posting waits for the other side: two that send first would do so for ever, but for the limit.
struct sends_at_once : sound {
  using sound::sound;
  status_type send(const void* from, std::size_t bytes, std::uint32_t peer, std::uint32_t tag, no_stream s,
                   request_type& request) noexcept {
    const status_type done = sound::send(from, bytes, peer, tag, s, request);
    return ok(done) ? wait(request) : done;
  }
};
struct group_fails : sound {
  using sound::sound;
  status_type group_end(no_stream) noexcept { return status_type::aborted; }
};
struct takes_any_rank : sound {
  using sound::sound;
  status_type send(const void* from, std::size_t bytes, std::uint32_t peer, std::uint32_t tag, no_stream s,
                   request_type& request) noexcept {
    return peer > 1 ? status_type::ok : sound::send(from, bytes, peer, tag, s, request);
  }
};
struct takes_any_length : sound {
  using sound::sound;
  status_type recv(void* to, std::size_t bytes, std::uint32_t peer, std::uint32_t tag, no_stream s,
                   request_type& request) noexcept {
    return sound::recv(to, bytes == 16 ? 8 : bytes, peer, tag, s, request);
  }
};
struct completes_from_nobody : sound {
  using sound::sound;
  status_type wait(request_type& request) noexcept {
    const status_type s = sound::wait(request);
    return s == status_type::timed_out ? status_type::ok : s;
  }
};

// Every message takes its time; none is lost.
struct comes_late : sound {
  using sound::sound;
  status_type send(const void* from, std::size_t bytes, std::uint32_t peer, std::uint32_t tag, no_stream s,
                   request_type& request) noexcept {
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    return sound::send(from, bytes, peer, tag, s, request);
  }
};
// The last message of an exchange arrives once more.
struct delivers_twice : sound {
  using sound::sound;
  status_type send(const void* from, std::size_t bytes, std::uint32_t peer, std::uint32_t tag, no_stream s,
                   request_type& request) noexcept {
    const status_type done = sound::send(from, bytes, peer, tag, s, request);
    if (tag % 7 != 6 || tag < 20 || !ok(done)) return done;
    const unsigned char again = 1;
    request_type other;
    return sound::send(&again, 1, peer, tag + 1, s, other);
  }
};
// A wait that ended by its limit is the end: what comes later is lost.
struct gives_up_at_the_limit : sound {
  using sound::sound;
  status_type wait(request_type& request) noexcept {
    over_ = over_ || sound::wait(request) == status_type::timed_out;
    return over_ ? status_type::timed_out : status_type::ok;
  }
  bool over_ = false;
};
struct spoils_what_is_late : sound {
  using sound::sound;
  status_type send(const void* from, std::size_t bytes, std::uint32_t peer, std::uint32_t tag, no_stream s,
                   request_type& request) noexcept {
    const unsigned char other = 0x77;
    return sound::send(rank() == 1 && tag == 21 ? &other : from, bytes, peer, tag, s, request);
  }
};
// Of giving up.
struct keeps_it_secret : sound {
  using sound::sound;
  void abort() noexcept {}
};
struct completes_at_the_end : sound {
  using sound::sound;
  status_type wait(request_type& request) noexcept {
    static_cast<void>(sound::wait(request));
    return status_type::ok;
  }
};
struct has_no_progress : sound {
  using sound::sound;
  status_type progress() noexcept { return status_type::ok; }
};
struct writes_late : sound {
  using sound::sound;
  status_type recv(void* to, std::size_t bytes, std::uint32_t peer, std::uint32_t tag, no_stream s,
                   request_type& request) noexcept {
    to_ = static_cast<unsigned char*>(to);
    return sound::recv(to, bytes, peer, tag, s, request);
  }
  status_type wait(request_type& request) noexcept {
    const status_type done = sound::wait(request);
    if (rank() == 0) *to_ = 1;
    return done;
  }
  unsigned char* to_ = nullptr;
};

/// The laws over a vendor's library on the fake device and network.
template <class B>
struct vendor_ranks {
  explicit vendor_ranks(std::uint32_t ranks) : comms(fake::make_communicators(ranks)), streams(ranks) {
    for (auto& own : streams)
      for (std::uint32_t i = 0; i < 2 * ranks + 1; ++i) {
        typename B::stream_type made{};
        REQUIRE(B::ok(backend.create_stream(made)));
        own.push_back(made);
      }
  }
  B backend;
  std::vector<fake::communicator*> comms;
  std::vector<std::vector<typename B::stream_type>> streams;
};

template <class Ask>
std::string over_nccl(std::uint32_t ranks, std::chrono::milliseconds limit, Ask ask) {
  fake::reset();
  vendor_ranks<cuda_backend> all(ranks);
  std::string said = of_all_ranks(ranks, [&](std::uint32_t r) {
    launch_test::stream_transport<nccl_transport, cuda_backend> t({reinterpret_cast<ncclComm_t>(all.comms[r])},
                                                                  all.streams[r], limit);
    return ask(t, r, ranks);
  });
  fake::reset();
  return said;
}
template <class Ask>
std::string over_hccl(std::uint32_t ranks, std::chrono::milliseconds limit, Ask ask) {
  fake::reset();
  vendor_ranks<ascend_backend> all(ranks);
  std::string said = of_all_ranks(ranks, [&](std::uint32_t r) {
    std::vector<HcclSendRecvItem> room(std::size_t{4} * 7 * ranks);
    launch_test::stream_transport<hccl_transport, ascend_backend> t({all.comms[r], room}, all.streams[r], limit);
    return ask(t, r, ranks);
  });
  fake::reset();
  return said;
}

}  // namespace

TEST_CASE("transports between threads obey the laws, buffered or not", "[launch][testing]") {
  for (const std::uint32_t ranks : {2u, 3u, 5u})
    for (const completion sends : {completion::rendezvous, completion::buffered})
      CHECK(complaints<sound>(sends, ranks, {.nobody_sends = false}) == "");
}

TEST_CASE("a wait for what nobody sends ends", "[launch][testing]") { CHECK(complaints_of<sound>(true) == ""); }

TEST_CASE("transports in stream order obey the laws on the fake network", "[launch][testing]") {
  // A length that differs is undefined there, as in the libraries themselves.
  const auto ask = [](auto& t, std::uint32_t rank, std::uint32_t ranks) {
    return hocket::testing::broken_law(t, rank, ranks, {.wrong_length = false});
  };
  for (const std::uint32_t ranks : {2u, 3u}) {
    CHECK(over_nccl(ranks, std::chrono::milliseconds(1000), ask) == "");
    CHECK(over_hccl(ranks, std::chrono::milliseconds(1000), ask) == "");
  }
}

TEST_CASE("a rank that gives up lets the others go", "[launch][testing]") {
  const auto ask = [](auto& t, std::uint32_t rank, std::uint32_t ranks) {
    return hocket::testing::broken_abort_law(t, rank, ranks);
  };
  for (const std::uint32_t ranks : {2u, 4u}) {
    CHECK(abort_complaints<sound>(ranks) == "");
    CHECK(over_nccl(ranks, std::chrono::seconds(60), ask) == "");
    CHECK(over_hccl(ranks, std::chrono::seconds(60), ask) == "");
  }
}

TEST_CASE("a transport that does not let the others go is told so", "[launch][testing]") {
  constexpr std::chrono::milliseconds brief(2000);
  says(abort_complaints<keeps_it_secret>(2, brief), "(rank 1: a wait for a rank that gave up ends only by its limit)");
  says(abort_complaints<completes_at_the_end>(2), "(rank 1: a receive completes from a rank that gave up)");
  says(abort_complaints<has_no_progress>(2), "progress does not report that a rank gave up");
  says(abort_complaints<writes_late>(2), "(rank 0: memory is written after abort has returned)");
}

TEST_CASE("a transport that delivers late or twice", "[launch][testing]") {
  CHECK(complaints<comes_late>(completion::rendezvous, 3, {.nobody_sends = false}) == "");
  says(complaints_of<delivers_twice>(true), "a receive completes that nobody sends to");
  says(complaints_of<gives_up_at_the_limit>(true), "wait for what comes late fails: the peer did not come");
  says(complaints_of<spoils_what_is_late>(true), "(rank 0: a message that comes late is wrong)");
}

TEST_CASE("a transport that breaks a law is told which", "[launch][testing]") {
  says(complaints_of<success_is_not_ok>(), "the value-initialised status is not ok");
  says(complaints_of<success_has_no_text>(), "text of success is a null pointer");
  says(complaints_of<refusals_have_no_text>(), "the text of a status that is not ok is empty");
  says(complaints_of<repeats>(), "(rank 1: byte 0 of message 1 from rank 0 is wrong: lost, repeated, or out of order)");
  const std::string lost = complaints_of<loses>();
  says(lost, "(rank 1: ");
  says(lost, " fails: ");
  says(complaints_of<flips_a_bit>(), "byte 4096 of message 4 from rank 0 is wrong");
  says(complaints_of<writes_beside>(), "memory beside message 0 from rank 0 was written");
  says(complaints_of<spoils_what_it_sends>(), "the memory of message 0 to rank 1 has changed");
  says(complaints_of<completes_before_it_is_there>(), "byte 0 of message 0 from rank 0 is wrong");
  says(complaints_of<test_forgets>(), "is under way, after wait has said that it is complete");
  says(complaints_of<group_fails>(), "group_end fails: a rank gave up");
  says(complaints_of<takes_any_rank>(), "a send to rank 2 of 2 is accepted");
  says(complaints_of<takes_any_length>(), "(rank 1: a message of 8 bytes completes a receive of 16)");
  says(complaints_of<completes_from_nobody>(true), "a receive completes that nobody sends to");
  const auto blocking = complaints<sends_at_once>(completion::rendezvous, 2,
                                                  {.nobody_sends = false, .patience = std::chrono::milliseconds(50)},
                                                  std::chrono::milliseconds(50));
  says(blocking, "send fails: the peer did not come within the time limit");
}

TEST_CASE("laws of transports that a caller leaves out are not asked", "[launch][testing]") {
  constexpr transport_law_options fewer{.wrong_length = false, .nobody_sends = false};
  CHECK(complaints<takes_any_length>(completion::buffered, 2, fewer) == "");
  CHECK(complaints<completes_from_nobody>(completion::buffered, 2, fewer) == "");
}

}  // namespace transport_laws_test
