// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/core/result.hpp>
#include <hocket/launch/detail/host_signal.hpp>
#include <hocket/launch/transport.hpp>

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
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

// One direction between two ranks: a queue of sends and one of receives, of which one is always empty.
struct alignas(64) in_process_channel {
  struct posted {
    void* data;
    std::size_t bytes;
    std::uint32_t tag;
    bool owned;  // a copy made for a buffered send
  };
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<posted> sends, recvs;
  std::size_t first_send = 0, first_recv = 0;
  std::uint32_t sends_posted = 0, recvs_posted = 0;
  std::atomic<std::uint32_t> sent{0}, received{0};  // complete, of those posted
  std::atomic<in_process_status> status{in_process_status::ok};

  ~in_process_channel() {
    for (std::size_t i = first_send; i < sends.size(); ++i)
      if (sends[i].owned) ::operator delete(sends[i].data);
  }

  // Under the mutex: room for one more, so that nothing is half done when memory runs out.
  [[nodiscard]] static bool make_room(std::vector<posted>& queue, std::size_t& first) noexcept {
    if (first == queue.size()) queue.clear(), first = 0;
    if (queue.size() < queue.capacity()) return true;
    if (first > queue.size() / 2) {
      queue.erase(queue.begin(), queue.begin() + static_cast<std::ptrdiff_t>(first)), first = 0;
      return true;
    }
#if HOCKET_HAS_EXCEPTIONS
    try {
#endif
      queue.reserve(queue.size() < 8 ? 16 : 2 * queue.size());
#if HOCKET_HAS_EXCEPTIONS
    } catch (...) {
      return false;
    }
#endif
    return true;
  }

  // Under the mutex: completes what has met.
  void match(completion sends_complete) noexcept {
    while (first_send < sends.size() && first_recv < recvs.size()) {
      const posted& from = sends[first_send];
      const posted& to = recvs[first_recv];
      if (from.tag != to.tag || from.bytes != to.bytes) {
        fail(from.tag != to.tag ? in_process_status::mismatched_tags : in_process_status::mismatched_lengths);
        return;
      }
      if (from.bytes != 0) std::memcpy(to.data, from.data, from.bytes);
      if (from.owned) ::operator delete(from.data);
      ++first_send, ++first_recv;
      received.store(received.load(std::memory_order_relaxed) + 1, std::memory_order_release);
      if (sends_complete == completion::rendezvous)
        sent.store(sent.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    }
  }
  void fail(in_process_status why) noexcept {
    if (status.load(std::memory_order_relaxed) == in_process_status::ok) status.store(why, std::memory_order_release);
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
    detail::in_process_channel* channel = nullptr;
    std::uint32_t number = 0;
    bool sends = false;
  };

  in_process_transport() = default;
  [[nodiscard]] std::uint32_t rank() const noexcept { return rank_; }

  status_type send(const void* from, std::size_t bytes, std::uint32_t peer, std::uint32_t tag, no_stream,
                   request_type& request) noexcept {
    if (peer >= state_->ranks || peer == rank_) return status_type::peer_out_of_range;
    detail::in_process_channel& c = state_->channel(rank_, peer);
    const std::unique_lock lock(c.mutex);
    if (const auto s = c.status.load(std::memory_order_relaxed); s != status_type::ok) return s;
    if (!c.make_room(c.sends, c.first_send)) return status_type::out_of_memory;
    void* data = const_cast<void*>(from);  // only read
    const bool aside = state_->options.sends == completion::buffered;
    if (aside) {
      data = ::operator new(bytes == 0 ? 1 : bytes, std::nothrow);
      if (data == nullptr) return status_type::out_of_memory;
      if (bytes != 0) std::memcpy(data, from, bytes);
      c.sent.store(c.sent.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    }
    c.sends.push_back({data, bytes, tag, aside});
    request = {&c, ++c.sends_posted, true};
    return matched(c);
  }

  status_type recv(void* to, std::size_t bytes, std::uint32_t peer, std::uint32_t tag, no_stream,
                   request_type& request) noexcept {
    if (peer >= state_->ranks || peer == rank_) return status_type::peer_out_of_range;
    detail::in_process_channel& c = state_->channel(peer, rank_);
    const std::unique_lock lock(c.mutex);
    if (const auto s = c.status.load(std::memory_order_relaxed); s != status_type::ok) return s;
    if (!c.make_room(c.recvs, c.first_recv)) return status_type::out_of_memory;
    c.recvs.push_back({to, bytes, tag, false});
    request = {&c, ++c.recvs_posted, false};
    return matched(c);
  }

  // All transfers progress together anyway.
  status_type group_begin() noexcept { return status_type::ok; }
  status_type group_end(no_stream) noexcept { return status_type::ok; }

  /// Nothing needs help; reports an abort.
  status_type progress() noexcept {
    return state_->channel(rank_, rank_).status.load(std::memory_order_acquire);  // set by abort, used for nothing else
  }

  status_type test(request_type& request, bool& done) noexcept {
    done = complete(request);
    return done ? status_type::ok : request.channel->status.load(std::memory_order_acquire);
  }

  status_type wait(request_type& request) noexcept {
    detail::in_process_channel* const c = request.channel;
    if (c == nullptr) return status_type::ok;
    for (int i = 0; i < 64; ++i) {
      if (complete(request)) return status_type::ok;
      detail::relax();
    }
    for (int i = 0; i < 16; ++i) {
      if (complete(request)) return status_type::ok;
      std::this_thread::yield();
    }
    const auto over = [&] { return complete(request) || c->status.load(std::memory_order_relaxed) != status_type::ok; };
    std::unique_lock lock(c->mutex);
    if (state_->options.time_limit.count() == 0) c->changed.wait(lock, over);
    else if (!c->changed.wait_for(lock, limit(), over)) return status_type::timed_out;
    return complete(request) ? status_type::ok : c->status.load(std::memory_order_relaxed);
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

  [[nodiscard]] static bool complete(const request_type& r) noexcept {
    if (r.channel == nullptr) return true;
    return detail::reached((r.sends ? r.channel->sent : r.channel->received).load(std::memory_order_acquire), r.number);
  }
  // A limit beyond what the clock can count would be over at once.
  [[nodiscard]] std::chrono::milliseconds limit() const noexcept {
    constexpr std::chrono::milliseconds year = std::chrono::hours(24 * 365);
    return state_->options.time_limit < year ? state_->options.time_limit : year;
  }
  status_type matched(detail::in_process_channel& c) noexcept {
    c.match(state_->options.sends);
    c.changed.notify_all();
    return c.status.load(std::memory_order_relaxed);
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
  [[nodiscard]] static result<in_process_group> start(std::uint32_t ranks, const in_process_group_options& options = {}) {
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
  [[nodiscard]] in_process_transport rank(std::uint32_t rank) const noexcept {
    HOCKET_ASSERT(rank < ranks());
    return {state_.get(), rank};
  }

 private:
  in_process_group() = default;
  std::unique_ptr<detail::in_process_state> state_;
};

static_assert(host_transport<in_process_transport>);

}  // namespace hocket::inline HOCKET_ABI::launch
