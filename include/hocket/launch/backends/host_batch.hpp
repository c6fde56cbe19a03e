// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/launch/backends/host.hpp>

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
  explicit host_batch(host_backend& backend, std::size_t publish_every = 256)
      : backend_(&backend),
        limit_(publish_every == 0 ? 1 : publish_every),
        capacity_(limit_ * 24 < 64 ? 64 : limit_ * 24),
        lanes_(backend.workers_.size()) {}
  host_batch(const host_batch&) = delete;
  host_batch& operator=(const host_batch&) = delete;
  /// Publishes what is staged. If there is no memory for longer queues, waits until the streams have worked theirs off:
  /// a record that was staged is promised to whoever waits for it.
  ~host_batch() {
    // This ends. A queue that its thread has taken has room for one entry without new memory. And of all streams with
    // something staged, the one of the oldest staged command gets there: what it works on is older, and so depends only
    // on what is older still, which is published.
    while (!ok(publish())) std::this_thread::yield();
    for (std::size_t s = 0; s < lanes_.size(); ++s) {
      if (lanes_[s].open == nullptr) continue;
      const std::lock_guard lock(backend_->workers_[s]->mutex);
      backend_->workers_[s]->give_back(*lanes_[s].open);
    }
  }

  status_type record(host_event event, host_stream stream) noexcept {
    detail::host_worker& w = *stream.worker_;
    const std::uint64_t count = w.records + 1;
    const auto staged = stage(w, [count](detail::host_worker& self) noexcept {
      self.signal.advance(count, self.poisoned(), self.generation());
    });
    if (!ok(staged)) return staged;
    w.records = count;
    *event.state_ = {&w, count};
    return staged;
  }
  status_type wait(host_stream stream, host_event event) noexcept {
    const detail::host_event_state at = *event.state_;
    if (at.stream == nullptr) return host_status::unrecorded_event;
    if (at.stream == stream.worker_) return host_status::ok;
    return stage(*stream.worker_, [at](detail::host_worker& self) noexcept {
      if (at.stream->signal.wait(at.count, self.generation(), self.crowded)) self.poison();
    });
  }
  /// As `host_backend::enqueue`.
  template <class F>
    requires std::is_invocable_v<F&>
  status_type enqueue(host_stream stream, F f) noexcept {
    return stage(*stream.worker_, [f](detail::host_worker& self) mutable noexcept {
      self.run(host_backend::eager, {no_id, static_cast<std::uint16_t>(self.number), command_kind::run, 0}, f);
    });
  }
  status_type enqueue(host_stream stream, void (*f)(void*), void* argument) noexcept {
    return enqueue(stream, [f, argument] { f(argument); });
  }

  /// Hands everything staged to the streams. host_status::out_of_memory: what is left stays staged.
  status_type publish() noexcept {
    bool whole = true;
    for (std::size_t s = 0; s < lanes_.size(); ++s) whole = publish(*backend_->workers_[s]) && whole;
    return whole ? host_status::ok : host_status::out_of_memory;
  }

  static constexpr bool ok(status_type s) noexcept { return s == host_status::ok; }
  static constexpr const char* text(status_type s) noexcept { return text_of(s); }

 private:
  struct lane {
    detail::host_chunk* open = nullptr;
    std::size_t entries = 0;
  };

  template <class F>
  status_type stage(detail::host_worker& w, const F& closure) noexcept {
    lane& l = lanes_[w.number];
    constexpr std::size_t bytes = detail::host_chunk::size_of<F>;
    if (l.open == nullptr || l.entries == limit_ || l.open->used + bytes > l.open->capacity) [[unlikely]] {
      if (!publish(w)) return host_status::out_of_memory;
      if (l.open == nullptr) {
        const std::lock_guard lock(w.mutex);
        l.open = w.take_chunk(capacity_);
      }
      if (l.open == nullptr) return host_status::out_of_memory;
    }
    l.open->add(closure);
    ++l.entries;
    return host_status::ok;
  }

  // The chunk goes out as one entry; the next one comes along under the same lock.
  bool publish(detail::host_worker& w) noexcept {
    lane& l = lanes_[w.number];
    if (l.entries == 0) return true;
    {
      const std::lock_guard lock(w.mutex);
      if (!w.make_room()) return false;
      w.push([chunk = l.open](detail::host_worker& self) noexcept {
        chunk->run(self);
        chunk->next = self.spent_chunks;
        self.spent_chunks = chunk;
      });
      l.open = w.take_chunk(capacity_);
      l.entries = 0;
    }
    w.submitted.notify_one();
    return true;
  }

  host_backend* backend_;
  std::size_t limit_, capacity_;  // entries and bytes of a chunk
  std::vector<lane> lanes_;
};

static_assert(backend<host_batch> && host_function_backend<host_batch>);

}  // namespace hocket::inline HOCKET_ABI::launch
