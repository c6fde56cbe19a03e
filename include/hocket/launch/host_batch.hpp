// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/launch/host_backend.hpp>

namespace hocket::inline HOCKET_ABI::launch {

/// Eager enqueues of a `host_backend` without a mutex for each: they are staged here, and handed to the streams many at
/// a time. A backend itself, so `drive` goes through it. For plans that are driven once, or whose ops change; what is
/// replayed is better compiled into a `host_program`.
/// The streams start when their first batch is full, at `publish`, or when this object ends.
/// Preconditions: while something is staged, no other thread enqueues on the same backend, and the caller synchronises
/// only after `publish`.
///
///     {
///       hocket::launch::host_batch batch(device);
///       drive(batch, list, device.streams(), events.events(),
///             [&](hocket::node_id op, hocket::launch::host_stream s) { return batch.enqueue(s, [=] { run(op); }); });
///     }
///     auto report = device.synchronize();
class host_batch {
 public:
  using stream_type = host_stream;
  using event_type = host_event;
  using status_type = host_status;

  /// @param publish_every  entries of one stream that go to it together, at least 1. More cost less each, and start
  ///                       later
  explicit host_batch(host_backend& backend, std::size_t publish_every = 64)
      : backend_(&backend), limit_(publish_every == 0 ? 1 : publish_every), staged_(backend.workers_.size()) {
    for (auto& lane : staged_) lane.reserve(limit_);
  }
  host_batch(const host_batch&) = delete;
  host_batch& operator=(const host_batch&) = delete;
  ~host_batch() { static_cast<void>(publish()); }

  status_type record(host_event event, host_stream stream) noexcept {
    detail::host_worker& w = *stream.worker_;
    if (!room(w)) return host_status::out_of_memory;
    const std::uint64_t count = ++w.records;
    stage(w, [count](detail::host_worker& self) noexcept {
      self.signal.advance(count, self.poisoned(), self.generation());
    });
    *event.state_ = {&w, count};
    return host_status::ok;
  }
  status_type wait(host_stream stream, host_event event) noexcept {
    const detail::host_event_state at = *event.state_;
    if (at.stream == nullptr) return host_status::unrecorded_event;
    if (at.stream == stream.worker_) return host_status::ok;
    if (!room(*stream.worker_)) return host_status::out_of_memory;
    stage(*stream.worker_, [at](detail::host_worker& self) noexcept {
      if (at.stream->signal.wait(at.count, self.generation(), self.crowded)) self.poison();
    });
    return host_status::ok;
  }
  /// As `host_backend::enqueue`.
  template <class F>
    requires std::is_invocable_v<F&>
  status_type enqueue(host_stream stream, F f) noexcept {
    if (!room(*stream.worker_)) return host_status::out_of_memory;
    stage(*stream.worker_, [f](detail::host_worker& self) mutable noexcept {
      self.run(host_backend::eager, {no_id, static_cast<std::uint16_t>(self.number), command_kind::run, 0}, f);
    });
    return host_status::ok;
  }
  status_type enqueue(host_stream stream, void (*f)(void*), void* argument) noexcept {
    return enqueue(stream, [f, argument] { f(argument); });
  }

  /// Hands everything staged to the streams. host_status::out_of_memory: what is left stays staged.
  status_type publish() noexcept {
    bool whole = true;
    for (std::size_t s = 0; s < staged_.size(); ++s) whole = publish(*backend_->workers_[s]) && whole;
    return whole ? host_status::ok : host_status::out_of_memory;
  }

  static constexpr bool ok(status_type s) noexcept { return s == host_status::ok; }
  static constexpr const char* text(status_type s) noexcept { return text_of(s); }

 private:
  template <class F>
  void stage(detail::host_worker& w, const F& closure) noexcept {
    staged_[w.number].emplace_back(closure);
  }
  [[nodiscard]] bool room(detail::host_worker& w) noexcept { return staged_[w.number].size() < limit_ || publish(w); }
  bool publish(detail::host_worker& w) noexcept {
    std::vector<detail::host_task>& lane = staged_[w.number];
    if (lane.empty()) return true;
    const auto entries = static_cast<std::uint32_t>(lane.size());
    {
      const std::lock_guard lock(w.mutex);
      if (!w.make_room(entries)) return false;
      if (w.inbox.empty() && w.inbox.capacity() >= limit_) w.inbox.swap(lane);
      else w.inbox.insert(w.inbox.end(), lane.begin(), lane.end());
      w.submitted.store(w.submitted.load(std::memory_order_relaxed) + entries, std::memory_order_seq_cst);
    }
    w.submitted.notify_one();
    lane.clear();
    return true;
  }

  host_backend* backend_;
  std::size_t limit_;
  std::vector<std::vector<detail::host_task>> staged_;
};

static_assert(backend<host_batch> && host_function_backend<host_batch>);

}  // namespace hocket::inline HOCKET_ABI::launch
