// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/result.hpp>
#include <hocket/launch/detail/attempt.hpp>
#include <hocket/launch/transport.hpp>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::launch {

enum class in_process_status : std::uint8_t {
  ok,
  timed_out,           ///< the peer did not come within the time limit
  aborted,             ///< this rank or another gave up
  peer_out_of_range,   ///< no such rank, or the rank itself
  mismatched_tags,     ///< send and receive that meet differ in their tag
  mismatched_lengths,  ///< … or in their length
  out_of_memory,
};

[[nodiscard]] constexpr std::string_view to_string(in_process_status s) noexcept {
  switch (s) {
    case in_process_status::ok: return "ok";
    case in_process_status::timed_out: return "the peer did not come within the time limit";
    case in_process_status::aborted: return "a rank gave up";
    case in_process_status::peer_out_of_range: return "no such peer";
    case in_process_status::mismatched_tags: return "send and receive have different tags";
    case in_process_status::mismatched_lengths: return "send and receive have different lengths";
    case in_process_status::out_of_memory: return "out of memory";
  }
  return "unknown status";
}

/// When a send is complete: a real network does either, depending on the size; a plan must survive both.
enum class completion : std::uint8_t {
  rendezvous,  ///< with its receive: the worst case, nothing is buffered
  buffered,    ///< at once: the data is copied aside
};

struct in_process_group_options {
  completion sends = completion::rendezvous;
  std::chrono::milliseconds time_limit{10'000};  ///< of one wait; 0: none
};

namespace detail {

/// One direction between two ranks. Whatever meets is completed at once, by the rank that came second:
///
///     sends      ▢ ▢ ▢ ▢   in the order of posting; the k-th meets the k-th receive
///     receives             so one of the two queues is always empty
///
/// | member           | invariant, under the mutex                                                    |
/// |------------------|-------------------------------------------------------------------------------|
/// | .entries         | those that have not met their other end; at most one of the queues has any    |
/// | .posted          | entries ever put in; request number k is complete when .complete >= k          |
/// | .complete        | <= .posted; of buffered sends, all are complete                               |
/// | status           | ok until the first failure or abort, then that                                |
struct in_process_channel {
  struct entry {
    void* data;
    std::size_t bytes;
    std::uint32_t tag;
    std::unique_ptr<std::byte[]> copy{};  // of a buffered send
  };
  struct queue {
    std::vector<entry> entries;
    std::uint64_t posted = 0;
    std::uint64_t complete = 0;
  };
  std::mutex mutex;
  std::condition_variable changed;
  queue sends;
  queue receives;
  in_process_status status = in_process_status::ok;

  /// Completes what has met. The caller holds the mutex.
  void match(completion sends_complete) noexcept {
    while (!sends.entries.empty() && !receives.entries.empty()) {
      const entry& from = sends.entries.front();
      const entry& to = receives.entries.front();
      if (from.tag != to.tag) return fail(in_process_status::mismatched_tags);
      if (from.bytes != to.bytes) return fail(in_process_status::mismatched_lengths);
      if (from.bytes != 0) std::memcpy(to.data, from.data, from.bytes);
      sends.entries.erase(sends.entries.begin());  // queues are short: what is in flight between two ranks
      receives.entries.erase(receives.entries.begin());
      ++receives.complete;
      if (sends_complete == completion::rendezvous) ++sends.complete;
    }
  }
  void fail(in_process_status why) noexcept {
    if (status == in_process_status::ok) status = why;
  }
};

struct in_process_state {
  in_process_state(std::uint32_t count, const in_process_group_options& with)
      : ranks(count), options(with), channels(std::make_unique<in_process_channel[]>(std::size_t{count} * count)) {}
  std::uint32_t ranks;
  in_process_group_options options;
  std::unique_ptr<in_process_channel[]> channels;  // [from][to]
  [[nodiscard]] in_process_channel& channel(std::uint32_t from, std::uint32_t to) const noexcept {
    return channels[std::size_t{from} * ranks + to];
  }
};

}  // namespace detail

/// One rank's end of an `in_process_group`: a `host_transport` between threads.
/// A failed match and an abort end every wait that they concern, on both sides. After `abort()` returns, nobody touches
/// the memory of this rank's transfers any more.
class in_process_transport {
 public:
  using stream_type = no_stream;
  using status_type = in_process_status;
  struct request_type {
    detail::in_process_channel* channel = nullptr;  ///< null: complete
    std::uint64_t number = 0;
    bool sends = false;
  };

  in_process_transport() = default;
  [[nodiscard]] std::uint32_t rank() const noexcept { return rank_; }

  status_type send(const void* from, std::size_t bytes, std::uint32_t peer, std::uint32_t tag, no_stream,
                   request_type& request) noexcept {
    return post(true, const_cast<void*>(from), bytes, peer, tag, request);  // only read
  }
  status_type recv(void* to, std::size_t bytes, std::uint32_t peer, std::uint32_t tag, no_stream,
                   request_type& request) noexcept {
    return post(false, to, bytes, peer, tag, request);
  }

  // All transfers progress together anyway.
  status_type group_begin() noexcept { return status_type::ok; }
  status_type group_end(no_stream) noexcept { return status_type::ok; }

  /// Nothing needs help; reports an abort.
  status_type progress() noexcept {
    detail::in_process_channel& own = state_->channel(rank_, rank_);  // failed by abort, used for nothing else
    const std::lock_guard lock(own.mutex);
    return own.status;
  }

  status_type test(request_type& request, bool& done) noexcept {
    done = request.channel == nullptr;
    if (done) return status_type::ok;
    const std::lock_guard lock(request.channel->mutex);
    done = is_complete(request);
    return done ? status_type::ok : request.channel->status;
  }

  status_type wait(request_type& request) noexcept {
    detail::in_process_channel* const c = request.channel;
    if (c == nullptr) return status_type::ok;
    std::unique_lock lock(c->mutex);
    const auto over = [&] { return is_complete(request) || c->status != status_type::ok; };
    if (!c->changed.wait_for(lock, limit(), over)) return status_type::timed_out;
    return is_complete(request) ? status_type::ok : c->status;
  }

  /// Every transfer of the group that is not complete ends with status `aborted`, now and later, on every rank.
  void abort() noexcept {
    // What `progress` looks at comes first, so that whoever leaves a wait can ask why.
    for (std::uint32_t r = 0; r < state_->ranks; ++r) end(state_->channel(r, r));
    const std::size_t count = std::size_t{state_->ranks} * state_->ranks;
    for (std::size_t i = 0; i < count; ++i) end(state_->channels[i]);
  }

  static constexpr bool ok(status_type s) noexcept { return s == status_type::ok; }
  static constexpr const char* text(status_type s) noexcept { return to_string(s).data(); }

 private:
  friend class in_process_group;
  in_process_transport(detail::in_process_state* state, std::uint32_t rank) noexcept : state_(state), rank_(rank) {}

  static void end(detail::in_process_channel& c) noexcept {
    {
      const std::lock_guard lock(c.mutex);
      c.fail(status_type::aborted);
    }
    c.changed.notify_all();
  }
  // Under the channel's mutex.
  [[nodiscard]] static bool is_complete(const request_type& r) noexcept {
    return (r.sends ? r.channel->sends : r.channel->receives).complete >= r.number;
  }
  // None is a year, and no limit is longer: what is beyond the range of the clock would be over at once.
  [[nodiscard]] std::chrono::milliseconds limit() const noexcept {
    constexpr std::chrono::milliseconds year = std::chrono::hours(24 * 365);
    const std::chrono::milliseconds given = state_->options.time_limit;
    return given.count() != 0 && given < year ? given : year;
  }
  status_type post(bool sends, void* data, std::size_t bytes, std::uint32_t peer, std::uint32_t tag,
                   request_type& request) noexcept {
    if (peer >= state_->ranks || peer == rank_) return status_type::peer_out_of_range;
    detail::in_process_channel& c = sends ? state_->channel(rank_, peer) : state_->channel(peer, rank_);
    const std::lock_guard lock(c.mutex);
    if (c.status != status_type::ok) return c.status;
    detail::in_process_channel::queue& queue = sends ? c.sends : c.receives;
    const bool aside = sends && state_->options.sends == completion::buffered;
    const bool kept = detail::attempt([&] {
      detail::in_process_channel::entry e{data, bytes, tag};
      if (aside) {
        e.copy = std::make_unique_for_overwrite<std::byte[]>(bytes);
        e.data = e.copy.get();
        if (bytes != 0) std::memcpy(e.data, data, bytes);
      }
      queue.entries.push_back(std::move(e));
    });
    if (!kept) return status_type::out_of_memory;
    request = {&c, ++queue.posted, sends};
    if (aside) ++queue.complete;
    c.match(state_->options.sends);
    c.changed.notify_all();
    return c.status;
  }

  detail::in_process_state* state_ = nullptr;
  std::uint32_t rank_ = 0;
};

/// Ranks that are threads of one process: what tests and single-process hosts use in place of a network. It also
/// checks: transfers that meet must agree in tag and length. Under `completion::rendezvous` nothing is buffered, so
/// what runs here cannot depend on a network's buffers. The group owns the channels and must outlive the transports
/// that `rank` hands out. After an abort it stays aborted.
///
///     auto group = hocket::launch::in_process_group::start(4).value();
///     std::thread([t = group.rank(2)]() mutable { … t.send(data, bytes, 3, tag, {}, request); t.wait(request); … });
class in_process_group {
 public:
  /// errc::invalid_argument without ranks, errc::limit_exceeded beyond 1,024 (the channels are ranks²),
  /// errc::out_of_memory.
  [[nodiscard]] static result<in_process_group> start(std::uint32_t ranks,
                                                      const in_process_group_options& options = {}) {
    if (ranks == 0) return error{errc::invalid_argument, 0}.with("number of ranks");
    if (ranks > 1024) return error{errc::limit_exceeded, ranks, 1024}.with("ranks in one process");
    in_process_group group;
    if (!detail::attempt([&] { group.state_ = std::make_unique<detail::in_process_state>(ranks, options); }))
      return error{errc::out_of_memory, ranks}.with("channels between ranks");
    return group;
  }
  [[nodiscard]] std::uint32_t ranks() const noexcept { return state_->ranks; }
  /// Precondition: rank < ranks().
  [[nodiscard]] in_process_transport rank(std::uint32_t rank) const& noexcept {
    HOCKET_ASSERT(rank < ranks());
    return {state_.get(), rank};
  }
  in_process_transport rank(std::uint32_t rank) const&& = delete;  // it would outlive the group

 private:
  in_process_group() = default;
  std::unique_ptr<detail::in_process_state> state_;
};

static_assert(host_transport<in_process_transport>);

}  // namespace hocket::inline HOCKET_ABI::launch
