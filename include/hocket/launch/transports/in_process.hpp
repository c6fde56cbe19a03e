// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/core/result.hpp>
#include <hocket/launch/transport.hpp>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <string_view>
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
///     receives   ▢ ▢       so one of the two queues is always empty
///
/// | member           | invariant, under the mutex                                                    |
/// |------------------|-------------------------------------------------------------------------------|
/// | sends, receives  | at most one has entries that are not complete                                 |
/// | .posted          | entries ever put in; request number k is complete when .complete >= k          |
/// | .complete        | <= .posted; of buffered sends, all are complete                               |
/// | status           | ok until the first failure or abort, then that                                |
struct alignas(64) in_process_channel {
  struct entry {
    void* data;
    std::size_t bytes;
    std::uint32_t tag;
    bool owned;  // a copy made for a buffered send
  };
  struct queue {
    std::vector<entry> entries;
    std::size_t first = 0;  // of those that have not met their other end
    std::uint64_t posted = 0;
    std::uint64_t complete = 0;

    [[nodiscard]] bool empty() const noexcept { return first == entries.size(); }
    [[nodiscard]] const entry& front() const noexcept { return entries[first]; }
    /// Room for one more, so that nothing is half done when memory runs out. Forgets what has met.
    [[nodiscard]] bool make_room() noexcept {
      if (empty() || first > entries.size() / 2) {
        entries.erase(entries.begin(), entries.begin() + static_cast<std::ptrdiff_t>(first));
        first = 0;
      }
      if (entries.size() < entries.capacity()) return true;
      constexpr std::size_t first_entries = 16;
      const std::size_t wanted = entries.empty() ? first_entries : 2 * entries.size();
#if HOCKET_HAS_EXCEPTIONS
      try {
        entries.reserve(wanted);
      } catch (...) {
        return false;
      }
#else
      entries.reserve(wanted);
#endif
      return true;
    }
  };
  std::mutex mutex;
  std::condition_variable changed;
  queue sends;
  queue receives;
  in_process_status status = in_process_status::ok;

  ~in_process_channel() {
    for (std::size_t i = sends.first; i < sends.entries.size(); ++i)
      if (sends.entries[i].owned) ::operator delete(sends.entries[i].data);
  }

  /// Completes what has met. The caller holds the mutex.
  void match(completion sends_complete) noexcept {
    while (!sends.empty() && !receives.empty()) {
      const entry& from = sends.front();
      const entry& to = receives.front();
      if (from.tag != to.tag) return fail(in_process_status::mismatched_tags);
      if (from.bytes != to.bytes) return fail(in_process_status::mismatched_lengths);
      if (from.bytes != 0) std::memcpy(to.data, from.data, from.bytes);
      if (from.owned) ::operator delete(from.data);
      ++sends.first;
      ++receives.first;
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
    if (peer >= state_->ranks || peer == rank_) return status_type::peer_out_of_range;
    detail::in_process_channel& c = state_->channel(rank_, peer);
    const std::lock_guard lock(c.mutex);
    if (c.status != status_type::ok) return c.status;
    if (!c.sends.make_room()) return status_type::out_of_memory;
    void* data = const_cast<void*>(from);  // only read
    const bool aside = state_->options.sends == completion::buffered;
    if (aside) {
      data = ::operator new(bytes == 0 ? 1 : bytes, std::nothrow);
      if (data == nullptr) return status_type::out_of_memory;
      if (bytes != 0) std::memcpy(data, from, bytes);
      ++c.sends.complete;
    }
    c.sends.entries.push_back({data, bytes, tag, aside});
    request = {&c, ++c.sends.posted, true};
    return matched(c);
  }

  status_type recv(void* to, std::size_t bytes, std::uint32_t peer, std::uint32_t tag, no_stream,
                   request_type& request) noexcept {
    if (peer >= state_->ranks || peer == rank_) return status_type::peer_out_of_range;
    detail::in_process_channel& c = state_->channel(peer, rank_);
    const std::lock_guard lock(c.mutex);
    if (c.status != status_type::ok) return c.status;
    if (!c.receives.make_room()) return status_type::out_of_memory;
    c.receives.entries.push_back({to, bytes, tag, false});
    request = {&c, ++c.receives.posted, false};
    return matched(c);
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
    if (state_->options.time_limit.count() == 0) c->changed.wait(lock, over);
    else if (!c->changed.wait_for(lock, limit(), over)) return status_type::timed_out;
    return is_complete(request) ? status_type::ok : c->status;
  }

  /// Every transfer of the group that is not complete ends with status `aborted`, now and later, on every rank.
  void abort() noexcept {
    const std::size_t count = std::size_t{state_->ranks} * state_->ranks;
    for (std::size_t i = 0; i < count; ++i) {
      detail::in_process_channel& c = state_->channels[i];
      {
        const std::lock_guard lock(c.mutex);
        c.fail(status_type::aborted);
      }
      c.changed.notify_all();
    }
  }

  static constexpr bool ok(status_type s) noexcept { return s == status_type::ok; }
  static constexpr const char* text(status_type s) noexcept { return to_string(s).data(); }

 private:
  friend class in_process_group;
  in_process_transport(detail::in_process_state* state, std::uint32_t rank) noexcept : state_(state), rank_(rank) {}

  // Under the channel's mutex.
  [[nodiscard]] static bool is_complete(const request_type& r) noexcept {
    return (r.sends ? r.channel->sends : r.channel->receives).complete >= r.number;
  }
  // A limit beyond what the clock can count would be over at once.
  [[nodiscard]] std::chrono::milliseconds limit() const noexcept {
    constexpr std::chrono::milliseconds year = std::chrono::hours(24 * 365);
    return state_->options.time_limit < year ? state_->options.time_limit : year;
  }
  // Under the channel's mutex.
  status_type matched(detail::in_process_channel& c) noexcept {
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
#if HOCKET_HAS_EXCEPTIONS
    try {
#endif
      group.state_ = std::make_unique<detail::in_process_state>(ranks, options);
#if HOCKET_HAS_EXCEPTIONS
    } catch (const std::bad_alloc&) {
      return error{errc::out_of_memory, ranks}.with("channels between ranks");
    }
#endif
    return group;
  }
  [[nodiscard]] std::uint32_t ranks() const noexcept { return state_->ranks; }
  /// Precondition: rank < ranks().
  [[nodiscard]] in_process_transport rank(std::uint32_t rank) const& noexcept {
    HOCKET_ASSERT(rank < ranks());
    return {state_.get(), rank};
  }
  in_process_transport rank(std::uint32_t rank) && = delete;  // it would outlive the group

 private:
  in_process_group() = default;
  std::unique_ptr<detail::in_process_state> state_;
};

static_assert(host_transport<in_process_transport>);

}  // namespace hocket::inline HOCKET_ABI::launch
