// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/launch/backend.hpp>
#include <hocket/launch/backends/host_report.hpp>
#include <hocket/launch/detail/host_worker.hpp>
#include <hocket/launch/drive.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::launch {

/// A stream of a `host_backend`: a queue and the thread that works it off.
class host_stream {
 public:
  host_stream() = default;
  [[nodiscard]] std::uint32_t number() const noexcept { return worker_->number; }
  friend bool operator==(host_stream, host_stream) = default;

 private:
  friend class host_backend;
  explicit host_stream(detail::host_worker* w) noexcept : worker_(w) {}
  detail::host_worker* worker_ = nullptr;
};

/// An event of a `host_backend`. Who shares one event between threads orders record and wait himself.
class host_event {
 public:
  host_event() = default;
  friend bool operator==(host_event, host_event) = default;

 private:
  friend class host_backend;
  detail::host_event_state* state_ = nullptr;
};

/// Real threads as streams, real events: the backend where there is no device, and the one that tests of plans run on.
/// Two ways to use it, which mix freely, since both put entries into the same queues:
///   * eagerly, as a `backend` under `drive`: `enqueue`, `record`, `wait` (each about the price of a mutex);
///   * list by list: `run(list, body)` queues a whole command_list at once and waits for it.
///
/// Failure: an op that throws or returns a code other than 0 poisons its stream. What comes later on that stream, and
/// whatever waits for a record made after the failure, is skipped; but records still signal, so nothing ever hangs.
/// Every op that does not depend on the failed one still runs. `synchronize` reports the failure that comes first in
/// the plan (the same on every run, however the threads interleave) and heals the backend. What may never end is waited
/// for by `synchronize_within`, and given up by `cancel`. A child process of fork() has none of the threads: there
/// `submit`, `run` and `synchronize` return `forked` at once, enqueues do so at the latest when something is waited
/// for, and the destructor leaks.
///
///     auto device = hocket::launch::host_backend::start(list.stream_count()).value();
///     auto report = device.run(list, [&](hocket::node_id op, hocket::stream_id) { work(op); });
///     if (!report) std::printf("op %u: %s\n", report.op, to_string(report.status).data());
class host_backend {
 public:
  using stream_type = host_stream;
  using event_type = host_event;
  using status_type = host_status;

  /// Starts one thread per stream. errc::limit_exceeded beyond stream_limit; errc::out_of_memory if the system gives
  /// no more threads or memory (what was started is stopped again); under -fno-exceptions the standard library ends the
  /// program instead.
  [[nodiscard]] static result<host_backend> start(std::size_t streams) {
    if (const auto fits = check_stream_count(streams); !fits) return fits.error();
    host_backend b;
    if (!detail::attempt([&] { b.create(streams); }))
      return error{errc::out_of_memory, static_cast<std::int64_t>(streams)}.with("host streams");
    return b;
  }

  host_backend(host_backend&& other) noexcept { swap(other); }
  host_backend& operator=(host_backend&& other) noexcept {
    const host_backend old(std::move(*this));
    swap(other);
    return *this;
  }
  /// Finishes what is queued, then joins the threads: an op that never ends holds it up for ever. See `cancel`.
  ~host_backend() {
    if (shared_ != nullptr && shared_->is_forked()) {  // nothing to wait for; what belongs to the threads is leaked
      for (auto& w : workers_) {
        [[maybe_unused]] const auto* const worker = w.release();
      }
      [[maybe_unused]] const auto* const shared = shared_.release();
      return;
    }
    for (auto& w : workers_) {
      const std::lock_guard lock(w->mutex);
      w->stopping = true;
      w->submitted.set(w->submitted.value() + 1);
      w->submitted.notify();
    }
    for (auto& w : workers_) w->thread.join();
  }

  [[nodiscard]] std::size_t stream_count() const noexcept { return workers_.size(); }
  [[nodiscard]] std::span<const host_stream> streams() const& noexcept { return streams_; }
  std::span<const host_stream> streams() const&& = delete;
  [[nodiscard]] host_stream stream(std::size_t i) const noexcept {
    HOCKET_ASSERT(i < streams_.size());
    return streams_[i];
  }

  // ---- backend: eager enqueues. From any thread.

  status_type record(host_event event, host_stream stream) noexcept {
    detail::host_worker& w = *stream.worker_;
    bool first = false;
    if (!w.lock_unless_forked()) return host_status::forked;
    {
      const std::lock_guard lock(w.mutex, std::adopt_lock);
      if (!w.make_room(1)) return host_status::out_of_memory;
      *event.state_ = {&w, ++w.records};
      first = w.push([count = w.records](detail::host_worker& self) noexcept { self.pass(count); });
    }
    if (first) w.submitted.notify();
    return host_status::ok;
  }

  status_type wait(host_stream stream, host_event event) noexcept {
    const detail::host_event_state at = *event.state_;
    if (at.stream == nullptr) return host_status::unrecorded_event;
    if (at.stream == stream.worker_) return host_status::ok;  // the queue itself keeps that order
    HOCKET_ASSERT(at.stream->shared == stream.worker_->shared);
    return push(stream, [at](detail::host_worker& self) noexcept { self.wait_for(at); });
  }

  /// Enqueues f(), which runs on the stream's thread. `f` is copied into the queue: trivially copyable, at most 48
  /// bytes. It may return void, or a code: other than 0 is a failure.
  template <class F>
    requires std::is_invocable_v<F&>
  status_type enqueue(host_stream stream, F f) noexcept {
    return push(stream, [f](detail::host_worker& self) mutable noexcept {
      constexpr std::uint64_t behind_all_lists = ~std::uint64_t{0};  // of closures, the first in time is reported
      const command c{no_id, static_cast<std::uint16_t>(self.number), command_kind::run, 0};
      if (!self.skips()) self.run(behind_all_lists, c, f);
    });
  }
  status_type enqueue(host_stream stream, void (*f)(void*), void* argument) noexcept {
    return enqueue(stream, [f, argument] { f(argument); });
  }

  status_type create_event(host_event& out) noexcept {
    auto* state = new (std::nothrow) detail::host_event_state;
    if (state == nullptr) return host_status::out_of_memory;
    out.state_ = state;
    return host_status::ok;
  }
  /// Waits already issued on it are not disturbed.
  status_type destroy_event(host_event event) noexcept {
    delete event.state_;
    return host_status::ok;
  }

  /// Blocks until everything enqueued on `stream` before this call is done. Reports a failure so far, heals nothing.
  status_type synchronize(host_stream stream) noexcept {
    if (shared_->is_forked()) return host_status::forked;
    await_idle(*stream.worker_);
    const std::lock_guard lock(shared_->mutex);
    return shared_->report.status;
  }

  /// Whether everything enqueued on `stream` before this call is done; `synchronize` tells what failed.
  status_type is_idle(host_stream stream, bool& idle) noexcept {
    const bool forked = shared_->is_forked();
    idle = !forked && stream.worker_->finished.value() >= stream.worker_->submitted.value();
    return forked ? host_status::forked : host_status::ok;
  }

  static constexpr bool ok(status_type s) noexcept { return s == host_status::ok; }
  static constexpr const char* text(status_type s) noexcept { return to_string(s).data(); }
  /// The op behind the status ran long before the call that returned it.
  static constexpr bool asynchronous(status_type s) noexcept {
    return s == host_status::op_failed || s == host_status::op_threw;
  }

  // ---- all streams

  /// Blocks until every stream is idle, reports the first failure and heals the streams: what is enqueued next runs.
  /// No other thread may enqueue meanwhile.
  host_report synchronize() noexcept {
    if (shared_->is_forked()) {
      host_report in_child;
      in_child.status = host_status::forked;
      return in_child;
    }
    for (auto& w : workers_) await_idle(*w);
    const std::lock_guard lock(shared_->mutex);
    host_report report = std::exchange(shared_->report, {});
    for (auto& w : workers_) {
      report.skipped += std::exchange(w->skipped, 0);
      w->poisoned = false;
      w->poisoned_from.store(detail::host_worker::never);
    }
    shared_->submissions = 0;
    if (shared_->cancelled.exchange(false) && report && report.skipped != 0) report.status = host_status::cancelled;
    return report;
  }

  /// Gives up what is queued: ops that have not begun are skipped, until `synchronize`, which then reports `cancelled`
  /// if nothing failed before. An op that runs is not interrupted; no thread can be. From any thread, also before the
  /// destructor, which otherwise runs all that is queued.
  void cancel() noexcept { shared_->cancelled.store(true); }

  /// Enqueues one run of `list` and returns; `body` and `trace` must live until `synchronize`.
  /// Stream s of the list runs on stream s mod stream_count(): fewer threads than streams are always safe, since the
  /// issue order is topological. A run and the next overlap where streams do, so ops of two runs need order of their
  /// own (`fenced`) if they share data. Allocates nothing once the queues have grown.
  /// @param body   body(op, stream) or body(op, phase, stream), with the list's stream number; called on the stream's
  ///               thread, concurrently with itself. Returns void, or a code: other than 0 is a failure
  /// @param trace  see `no_trace`; called for every command on the thread that takes it, except for ops that are
  /// skipped
  ///               and waits that the queue itself keeps
  /// Precondition: there is a stream, unless the list is empty.
  template <class Body, class Trace = const no_trace>
  status_type submit(const command_list& list, Body& body, Trace& trace = detail::untraced) noexcept {
    HOCKET_ASSERT(list.empty() || !workers_.empty());
    if (shared_->is_forked()) return host_status::forked;
    // All queues are locked together, in one order: two lists submitted at once must not meet in opposite orders on
    // two streams, or each would wait for the other. And memory is got before anything is pushed.
    for (auto& w : workers_) w->mutex.lock();
    const bool room = make_room(list);
    if (room) push_all(list, body, trace);
    for (auto& w : workers_) w->mutex.unlock();
    for (auto& w : workers_) w->submitted.notify();
    return room ? host_status::ok : host_status::out_of_memory;
  }

  /// Runs `list` once and waits for it.
  template <class Body, class Trace = const no_trace>
  host_report run(const command_list& list, Body&& body, Trace& trace = detail::untraced) noexcept {
    host_report report;
    report.status = submit(list, body, trace);
    return report ? synchronize() : report;
  }

 private:
  host_backend() = default;

  void create(std::size_t streams) {
    shared_ = std::make_unique<detail::host_shared>();
    workers_.reserve(streams);
    streams_.reserve(streams);
    for (std::size_t i = 0; i < streams; ++i) {
      auto w = std::make_unique<detail::host_worker>();
      w->shared = shared_.get();
      w->number = static_cast<std::uint32_t>(i);
      w->thread = std::thread([worker = w.get()] { worker->loop(); });
      workers_.push_back(std::move(w));
      streams_.push_back(host_stream(workers_.back().get()));
    }
  }
  void swap(host_backend& other) noexcept {
    shared_.swap(other.shared_);
    workers_.swap(other.workers_);
    streams_.swap(other.streams_);
  }

  static void await_idle(detail::host_worker& w) noexcept { w.finished.await(w.submitted.value()); }

  template <class F>
  status_type push(host_stream stream, const F& closure) noexcept {
    detail::host_worker& w = *stream.worker_;
    bool first = false;
    if (!w.lock_unless_forked()) return host_status::forked;
    {
      const std::lock_guard lock(w.mutex, std::adopt_lock);
      if (!w.make_room(1)) return host_status::out_of_memory;
      first = w.push(closure);
    }
    if (first) w.submitted.notify();
    return host_status::ok;
  }

  // For a list: all mutexes are held.
  [[nodiscard]] bool make_room(const command_list& list) noexcept {
    const bool room = detail::attempt([&] {
      shared_->events.resize(list.event_count());
      shared_->counts.assign(workers_.size(), 0);
    });
    if (!room) return false;
    for (const command& c : list) ++shared_->counts[c.stream % workers_.size()];
    for (auto& w : workers_)
      if (!w->make_room(shared_->counts[w->number])) return false;
    return true;
  }
  template <class Body, class Trace>
  void push_all(const command_list& list, Body& body, Trace& trace) noexcept {
    const std::uint64_t first = std::uint64_t{shared_->submissions++} << 32;
    for (std::uint32_t i = 0; i < list.size(); ++i) {
      const command c = list[i];
      detail::host_worker& w = *workers_[c.stream % workers_.size()];
      if (c.kind == command_kind::run) push_op(w, first | i, c, body, trace);
      else if (c.kind == command_kind::record) push_record(w, i, c, shared_->events[c.id], trace);
      else if (shared_->events[c.id].stream != &w) push_wait(w, i, c, shared_->events[c.id], trace);
    }
  }
  template <class Body, class Trace>
  static void push_op(detail::host_worker& w, std::uint64_t at, const command& c, Body& body, Trace& trace) noexcept {
    w.push([b = &body, t = &trace, c, at](detail::host_worker& self) noexcept {
      if (self.skips()) return;
      const auto index = static_cast<std::uint32_t>(at);
      t->begin(index, c);
      self.run(at, c, [&] { return detail::call_op(*b, c.id, c.phase, stream_id{c.stream}); });
      t->end(index, c);
    });
  }
  template <class Trace>
  static void push_record(detail::host_worker& w, std::uint32_t index, const command& c,
                          detail::host_event_state& event, Trace& trace) noexcept {
    event = {&w, ++w.records};
    w.push([t = &trace, c, index, count = w.records](detail::host_worker& self) noexcept {
      t->begin(index, c);
      self.pass(count);
      t->end(index, c);
    });
  }
  template <class Trace>
  static void push_wait(detail::host_worker& w, std::uint32_t index, const command& c,
                        const detail::host_event_state& event, Trace& trace) noexcept {
    w.push([t = &trace, c, index, event](detail::host_worker& self) noexcept {
      t->begin(index, c);
      self.wait_for(event);
      t->end(index, c);
    });
  }

  std::unique_ptr<detail::host_shared> shared_;
  std::vector<std::unique_ptr<detail::host_worker>> workers_;
  std::vector<host_stream> streams_;
};

static_assert(event_source<host_backend> && sync_backend<host_backend> && polled_backend<host_backend> &&
              host_function_backend<host_backend>);

}  // namespace hocket::inline HOCKET_ABI::launch
