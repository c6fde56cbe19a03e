// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What every transport that completes on the host must obey: so that a framework can test its own in its own project,
// with any test framework, on threads or on processes.
#pragma once
#include <hocket/launch/transport.hpp>
#include <hocket/testing/leave_behind.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::testing {

/// What the laws may try beyond what every transport can survive.
struct transport_law_options {
  /// One message of another length than its receiver expects, from rank 0 to rank 1, as the last transfer of that
  /// direction and of all: refused on the receiver's side.
  bool wrong_length = true;
  /// One receive that nobody sends to, on rank 0: its wait must end by the transport's own limit, which must be long
  /// enough for all else.
  bool nobody_sends = true;
  /// Then rank 1 sends after all, and whoever waits once more gets the message. Only with `nobody_sends`; not for
  /// transports that a wait which ended by its limit has broken for good.
  bool comes_late = true;
  /// How long half of the transfers are asked about by `test`, before they are waited for; and how long a wait may take
  /// that ends because a rank gave up.
  std::chrono::milliseconds patience{2000};
  /// By how much the last rank comes later than the others: slow, but alive.
  std::chrono::milliseconds lateness{20};
};

namespace detail {

/// The laws on one rank. Every rank goes through the same rounds, and through all of them whatever breaks: a peer that
/// is left alone would report a time-out instead of the cause.
template <launch::host_transport T>
class transport_laws {
 public:
  transport_laws(T& t, std::uint32_t rank, std::uint32_t ranks, std::chrono::milliseconds patience)
      : t_(t), rank_(rank), ranks_(ranks), patience_(patience) {}
  transport_laws(const transport_laws&) = delete;
  transport_laws& operator=(const transport_laws&) = delete;
  ~transport_laws() {
    if (!broken_.empty()) detail::leave_behind(std::move(memory_));
  }

  enum class posting : std::uint8_t { receives_first, sends_first, in_groups };

  [[nodiscard]] static std::string statuses() {
    if (!T::ok(typename T::status_type{})) return "the value-initialised status is not ok";
    return T::text(typename T::status_type{}) == nullptr ? "text of success is a null pointer" : "";
  }

  /// All pairs, both ways, several messages each: in order, once, with every byte, and nothing beside them.
  void exchange(posting how) {
    std::vector<transfer> all;
    for (std::uint32_t peer = 0; peer < ranks_; ++peer) {
      if (peer == rank_) continue;
      for (std::uint32_t k = 0; k < std::size(sizes); ++k) {
        all.push_back({peer, k, true, message(rank_, peer, k), {}});
        all.push_back({peer, k, false, std::vector<unsigned char>(sizes[k] + 2 * margin, untouched), {}});
      }
    }
    if (how == posting::in_groups) note("group_begin", t_.group_begin());
    for (const bool sends : {how == posting::sends_first, how != posting::sends_first})
      for (transfer& x : all)
        if (x.sends == sends) post(x);
    if (how == posting::in_groups) note("group_end", t_.group_end(typename T::stream_type{}));
    note("progress", t_.progress());
    // Waited for from the last to the first: completion has an order, asking for it has none.
    for (std::size_t i = all.size(); i-- > 0;) finish(all[i], i % 2 == 0);
    for (transfer& x : all) {
      look(x);
      memory_.push_back(std::move(x.bytes));
    }
    for (std::uint32_t peer = 0; peer < ranks_; ++peer) round_[peer] += static_cast<std::uint32_t>(std::size(sizes));
  }

  /// A rank that does not exist is refused, by a sentence, and disturbs nothing.
  void no_such_rank() {
    typename T::request_type request{};
    const auto status = t_.send(memory(1), 1, ranks_, 0, typename T::stream_type{}, request);
    if (T::ok(status))
      fail("a send to rank " + std::to_string(ranks_) + " of " + std::to_string(ranks_) + " is accepted");
    else expect_text(status);
  }

  void wrong_length() {
    constexpr std::size_t sent = 8;
    constexpr std::size_t expected = 16;
    unsigned char* const data = memory(margin + expected + margin) + margin;  // for one that writes beside it
    typename T::request_type request{};
    const typename T::stream_type none{};
    if (rank_ == 0) {
      if (T::ok(t_.send(data, sent, 1, round_[1], none, request))) static_cast<void>(t_.wait(request));
    } else if (rank_ == 1) {
      auto status = t_.recv(data, expected, 0, round_[0], none, request);
      if (T::ok(status)) status = t_.wait(request);
      if (T::ok(status)) fail("a message of 8 bytes completes a receive of 16");
      else expect_text(status);
    }
  }
  /// The receive is posted and its wait ends; then its message comes after all.
  void nobody_sends(bool comes_late) {
    const typename T::stream_type none{};
    typename T::request_type request{};
    unsigned char* const late = memory(margin + 1 + margin) + margin;
    unsigned char* const go = memory(1);
    if (rank_ == 0) {
      if (!note("recv", t_.recv(late, 1, 1, round_[1], none, request))) return;
      const auto status = t_.wait(request);
      if (T::ok(status)) return fail("a receive completes that nobody sends to");
      expect_text(status);
      if (!comes_late) return detail::leave_behind(std::exchange(memory_, {}));  // the receive is still posted
      typename T::request_type sent{};
      if (!note("send", t_.send(go, 1, 1, round_[1], none, sent))) return;
      const bool is_there = wait_again(request);
      wait_again(sent);
      if (is_there && *late != late_byte) fail("a message that comes late is wrong");
    } else if (rank_ == 1 && comes_late) {
      if (!note("recv", t_.recv(go, 1, 0, round_[0], none, request))) return;
      wait_again(request);
      *late = late_byte;
      if (!note("send", t_.send(late, 1, 0, round_[0], none, request))) return;
      wait_again(request);
    }
    if (rank_ < 2 && comes_late) ++round_[1 - rank_];
  }

  /// Rank 0 gives up while all others wait for it.
  void given_up(std::chrono::milliseconds lateness) {
    const typename T::stream_type none{};
    typename T::request_type request{};
    unsigned char* const data = memory(margin + 1 + margin) + margin;
    const std::uint32_t peer = rank_ == 0 ? 1 : 0;
    if (!note("recv", t_.recv(data, 1, peer, 0, none, request))) return;
    if (rank_ == 0) {
      std::this_thread::sleep_for(lateness);
      t_.abort();
      *data = untouched;
      static_cast<void>(t_.wait(request));    // ends; it may have been complete before abort came to it
      std::this_thread::sleep_for(lateness);  // rank 1 sends meanwhile
      if (*data != untouched) fail("memory is written after abort has returned");
      return;
    }
    const auto start = std::chrono::steady_clock::now();
    const auto status = t_.wait(request);
    const auto waited = std::chrono::steady_clock::now() - start;
    if (T::ok(status)) return fail("a receive completes from a rank that gave up");
    expect_text(status);
    if (waited > lateness + patience_) fail("a wait for a rank that gave up ends only by its limit");
    if (T::ok(t_.progress())) fail("progress does not report that a rank gave up");
    typename T::request_type late{};
    if (rank_ == 1 && T::ok(t_.send(memory(1), 1, 0, 0, none, late))) static_cast<void>(t_.progress());
    std::this_thread::sleep_for(lateness);
    t_.abort();
    if (T::ok(t_.wait(request))) fail("a receive completes from a rank that gave up");
  }

  [[nodiscard]] const std::string& broken() const { return broken_; }

 private:
  static constexpr std::size_t sizes[] = {8, 1, 0, 257, 4097, 70'000, 3};
  static constexpr std::size_t margin = 16;  // beside what is received, on both sides
  static constexpr unsigned char untouched = 0xa5;
  static constexpr unsigned char late_byte = 0x5a;

  struct transfer {
    std::uint32_t peer;
    std::uint32_t number;
    bool sends;
    std::vector<unsigned char> bytes;
    typename T::request_type request;
  };

  [[nodiscard]] std::vector<unsigned char> message(std::uint32_t from, std::uint32_t to, std::uint32_t number) const {
    std::vector<unsigned char> bytes(sizes[number]);
    const std::uint32_t seed = (from * 31 + to) * 101 + number + round_[from == rank_ ? to : from];
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(seed + i * (7 + i / 256));
    return bytes;
  }
  [[nodiscard]] std::string name_of(const transfer& x) const {
    return "message " + std::to_string(x.number) + (x.sends ? " to rank " : " from rank ") + std::to_string(x.peer);
  }

  // It lives as long as the laws, and for ever if one is broken.
  [[nodiscard]] unsigned char* memory(std::size_t bytes) { return memory_.emplace_back(bytes).data(); }
  void post(transfer& x) {
    const std::uint32_t tag = round_[x.peer] + x.number;
    const typename T::stream_type none{};
    if (x.sends) note("send", t_.send(x.bytes.data(), x.bytes.size(), x.peer, tag, none, x.request));
    else note("recv", t_.recv(x.bytes.data() + margin, sizes[x.number], x.peer, tag, none, x.request));
  }
  // A wait that ended by its limit is repeated: the peer is slow, and may itself wait until a limit is over.
  bool wait_again(typename T::request_type& request) {
    constexpr int waits = 10;
    auto status = t_.wait(request);
    for (int i = 1; i < waits && !T::ok(status); ++i) status = t_.wait(request);
    return note("wait for what comes late", status);
  }
  void finish(transfer& x, bool by_test) {
    bool done = false;
    const auto start = std::chrono::steady_clock::now();
    while (by_test && !done && std::chrono::steady_clock::now() - start < patience_)
      if (!note("test", t_.test(x.request, done))) return;
    if (!note("wait", t_.wait(x.request))) return;
    if (!note("test of what is complete", t_.test(x.request, done))) return;
    if (!done) fail("test says that " + name_of(x) + " is under way, after wait has said that it is complete");
  }
  void look(const transfer& x) {
    if (x.sends) {
      if (x.bytes != message(rank_, x.peer, x.number)) fail("the memory of " + name_of(x) + " has changed");
      return;
    }
    const auto first = x.bytes.begin() + static_cast<std::ptrdiff_t>(margin);
    const auto last = x.bytes.end() - static_cast<std::ptrdiff_t>(margin);
    const auto strange = [](unsigned char c) { return c != untouched; };
    if (std::any_of(x.bytes.begin(), first, strange) || std::any_of(last, x.bytes.end(), strange))
      fail("memory beside " + name_of(x) + " was written");
    const std::vector<unsigned char> expected = message(x.peer, rank_, x.number);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      if (first[static_cast<std::ptrdiff_t>(i)] == expected[i]) continue;
      return fail("byte " + std::to_string(i) + " of " + name_of(x) + " is wrong: lost, repeated, or out of order");
    }
  }

  bool note(const char* call, typename T::status_type status) {
    if (T::ok(status)) return true;
    const char* const text = T::text(status);
    fail(std::string(call) + " fails: " + (text == nullptr ? "(no text)" : text));
    return false;
  }
  void expect_text(typename T::status_type status) {
    const char* const text = T::text(status);
    if (text == nullptr || *text == 0) fail("the text of a status that is not ok is empty");
  }
  void fail(const std::string& what) {
    if (broken_.empty()) broken_ = "rank " + std::to_string(rank_) + ": " + what;
  }

  T& t_;
  std::uint32_t rank_;
  std::uint32_t ranks_;
  std::chrono::milliseconds patience_;
  std::vector<std::uint32_t> round_ = std::vector<std::uint32_t>(ranks_);  // by peer: transfers each way so far
  std::vector<std::vector<unsigned char>> memory_;
  std::string broken_;
};

}  // namespace detail

/// Whether a transport may be trusted with programs. Between any two ranks and in each direction, messages arrive in
/// the order of posting, once, with every byte, and nothing beside them is written. That holds whichever side posts
/// first, and in groups, and if a rank comes late. A wait for what never comes ends, and what comes after that still
/// arrives, once. A rank that does not exist and a message of a wrong length are refused with a sentence. Statuses are
/// used as `transport` says.
/// Every rank calls this at about the same time, on a thread or a process of its own.
/// @param t            the rank's end; transfers before it must be complete. Needs a time limit for `nobody_sends`
/// @param rank, ranks  ranks >= 2
/// @return on each rank an empty string, or the first law that is broken there, beginning with the rank
///
///     CHECK(hocket::testing::broken_law(transport, rank, ranks) == "");
template <launch::host_transport T>
[[nodiscard]] std::string broken_law(T& t, std::uint32_t rank, std::uint32_t ranks,
                                     const transport_law_options& options = {}) {
  HOCKET_ASSERT(ranks >= 2 && rank < ranks);
  using laws_of = detail::transport_laws<T>;
  if (std::string broken = laws_of::statuses(); !broken.empty()) return broken;
  laws_of laws(t, rank, ranks, options.patience);
  if (rank + 1 == ranks) std::this_thread::sleep_for(options.lateness);
  laws.exchange(laws_of::posting::receives_first);
  laws.exchange(laws_of::posting::sends_first);
  laws.exchange(laws_of::posting::in_groups);
  laws.no_such_rank();
  if (options.nobody_sends) laws.nobody_sends(options.comes_late);
  if (options.wrong_length) laws.wrong_length();
  return laws.broken();
}

// Not a transport, or not one that completes on the host: the member that is missing.
template <class T>
  requires(!launch::host_transport<T>)
std::string broken_law(T&, std::uint32_t, std::uint32_t, const transport_law_options& = {}) {
  static_cast<void>(launch::detail::checked_host_transport<T>{});
  return {};
}

/// Whether a rank that gives up lets the others go: rank 0 calls `abort` while all wait for it. Then every wait ends
/// long before its limit, with a status that has a text; `progress` says so, too; and once `abort` has returned, nobody
/// touches the memory of that rank's transfers. Every other rank calls `abort` as well, when it has heard.
/// Not for MPI, whose abort ends the process. No transport can be used afterwards.
/// @param t  as for `broken_law`, with transfers of its own; its limit must be longer than `patience` and `lateness`
/// @return as `broken_law`
///
///     CHECK(hocket::testing::broken_abort_law(transport, rank, ranks) == "");
template <class T>
[[nodiscard]] std::string broken_abort_law(T& t, std::uint32_t rank, std::uint32_t ranks,
                                           const transport_law_options& options = {}) {
  static_cast<void>(launch::detail::checked_host_transport<T>{});
  HOCKET_ASSERT(ranks >= 2 && rank < ranks);
  detail::transport_laws<T> laws(t, rank, ranks, options.patience);
  laws.given_up(options.lateness);
  return laws.broken();
}

}  // namespace hocket::inline HOCKET_ABI::testing
