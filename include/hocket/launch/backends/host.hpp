// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/launch/backend.hpp>
#include <hocket/launch/backends/host_program.hpp>
#include <hocket/launch/backends/host_report.hpp>
#include <hocket/launch/detail/host_worker.hpp>
#include <hocket/launch/drive.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <system_error>
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
/// Two ways to use it, which mix freely, since both are entries of the same queues:
///   * eagerly, as a `backend` under `drive`: `enqueue`, `record`, `wait` (each about the price of a mutex);
///   * by replay: `run(program, body)` gives each thread its slice of a `host_program`; nothing is queued or allocated
///     per op, and a thread that waits sees a record without a system call if it comes soon.
///
/// Failure: an op that throws or returns a code other than 0 poisons its stream. What comes later on that stream, and
/// whatever waits for a record made after the failure, is skipped; but records still signal, so nothing ever hangs.
/// Every op that does not depend on the failed one still runs. `synchronize` reports the failure that comes first in
/// the plan (the same on every run, however the threads interleave) and heals the backend.
///
///     auto device = hocket::launch::host_backend::start(list.stream_count()).value();
///     auto report = device.run(program, [&](hocket::node_id op, hocket::stream_id) { work(op); });
///     if (!report) std::printf("op %u: %s\n", report.op, to_string(report.status));
class host_backend {
 public:
  using stream_type = host_stream;
  using event_type = host_event;
  using status_type = host_status;

  /// Starts one thread per stream. errc::limit_exceeded beyond max_streams; errc::out_of_memory if the system gives
  /// no more threads or memory (what was started is stopped again); under -fno-exceptions the standard library ends the
  /// program instead.
  [[nodiscard]] static result<host_backend> start(std::size_t streams) {
    if (streams > max_streams)
      return error{errc::limit_exceeded, static_cast<std::int64_t>(streams), static_cast<std::int64_t>(max_streams)}
          .with("streams");
    host_backend b;
#if HOCKET_HAS_EXCEPTIONS
    try {
      b.create(streams);
    } catch (const std::bad_alloc&) {
      return error{errc::out_of_memory, static_cast<std::int64_t>(streams)}.with("host streams");
    } catch (const std::system_error&) {
      return error{errc::out_of_memory, static_cast<std::int64_t>(streams)}.with("host streams");
    }
#else
    b.create(streams);
#endif
    return b;
  }

  host_backend(host_backend&& other) noexcept
      : shared_(std::move(other.shared_)), workers_(std::move(other.workers_)), streams_(std::move(other.streams_)) {
    other.workers_.clear();
    other.streams_.clear();
  }
  host_backend& operator=(host_backend&& other) noexcept {
    if (this != &other) {
      stop();
      shared_ = std::move(other.shared_);
      workers_ = std::move(other.workers_);
      streams_ = std::move(other.streams_);
      other.workers_.clear();
      other.streams_.clear();
    }
    return *this;
  }
  /// Finishes what is queued, then joins the threads.
  ~host_backend() { stop(); }

  [[nodiscard]] std::size_t stream_count() const noexcept { return workers_.size(); }
  [[nodiscard]] std::span<const host_stream> streams() const& noexcept { return streams_; }
  std::span<const host_stream> streams() && = delete;
  [[nodiscard]] host_stream stream(std::size_t i) const noexcept {
    HOCKET_ASSERT(i < streams_.size());
    return streams_[i];
  }

  // ---- backend: eager enqueues. From any thread.

  status_type record(host_event event, host_stream stream) noexcept {
    detail::host_worker& w = *stream.worker_;
    std::uint64_t count = 0;
    {
      const std::lock_guard lock(w.mutex);
      if (!w.make_room()) return host_status::out_of_memory;
      count = ++w.records;
      w.push([count](detail::host_worker& self) noexcept {
        self.signal.advance(count, self.poisoned(), self.generation());
      });
    }
    w.submitted.notify_one();
    *event.state_ = {&w, count};
    return host_status::ok;
  }

  status_type wait(host_stream stream, host_event event) noexcept {
    const detail::host_event_state at = *event.state_;
    if (at.stream == nullptr) return host_status::unrecorded_event;
    if (at.stream == stream.worker_) return host_status::ok;  // the queue itself keeps that order
    HOCKET_ASSERT(at.stream->shared == stream.worker_->shared);
    return push(stream, [at](detail::host_worker& self) noexcept {
      if (at.stream->signal.wait(at.count, self.generation(), self.crowded)) self.poison();
    });
  }

  /// Enqueues f(), which runs on the stream's thread. `f` is copied into the queue: trivially copyable, at most 48
  /// bytes. It may return void, or a code: other than 0 is a failure.
  template <class F>
    requires std::is_invocable_v<F&>
  status_type enqueue(host_stream stream, F f) noexcept {
    return push(stream, [f](detail::host_worker& self) mutable noexcept {
      self.run(eager, {no_id, static_cast<std::uint16_t>(self.number), command_kind::run, 0}, f);
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
    stream.worker_->wait_until_idle();
    const std::lock_guard lock(shared_->mutex);
    return shared_->report.status;
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
    for (auto& w : workers_) w->wait_until_idle();
    const std::lock_guard lock(shared_->mutex);
    host_report report = std::exchange(shared_->report, {});
    for (auto& w : workers_)
      if (w->poisoned()) report.skipped += w->skipped;
    shared_->generation.fetch_add(1, std::memory_order_relaxed);
    shared_->report_at = 0;
    if (!workers_.empty()) workers_.front()->programs = 0;
    return report;
  }

  /// Enqueues one run of `program` and returns; `program`, `body` and `trace` must live until `synchronize`.
  /// Runs of one program follow each other on every stream; a run and the next overlap where streams do, so ops of
  /// two runs need order of their own (a fence) if they share data.
  /// @param body   body(op, stream) or body(op, phase, stream), with the plan's stream number; called on the stream's
  ///               thread, concurrently with itself. Returns void, or a code: other than 0 is a failure
  /// @param trace  see `no_trace`; called for every step on the thread that takes it, except for ops that are skipped
  /// Precondition: the program is not running on another backend.
  template <class Body, class Trace = const no_trace>
  status_type submit(host_program& program, Body& body, Trace& trace = untraced_) noexcept {
    const std::size_t threads = program.thread_count();
    if (threads > workers_.size()) return host_status::too_few_streams;
    // All queues are locked together, in one order: two programs submitted at once must not meet in opposite orders on
    // two streams, or each would wait for the other. And memory is got before anything is pushed.
    for (std::size_t t = 0; t < threads; ++t) workers_[t]->mutex.lock();
    bool room = true;
    for (std::size_t t = 0; t < threads && room; ++t) room = workers_[t]->make_room();
    if (room && threads != 0) {
      adopt(program);
      const std::uint32_t place = workers_.front()->programs++;
      for (std::uint32_t t = 0; t < threads; ++t)
        workers_[t]->push([p = &program, b = &body, tr = &trace, run = program.runs_, place,
                           t](detail::host_worker& self) noexcept { run_slice(self, *p, t, run, place, *b, *tr); });
      ++program.runs_;
    }
    for (std::size_t t = threads; t-- > 0;) workers_[t]->mutex.unlock();
    if (!room) return host_status::out_of_memory;
    for (std::size_t t = 0; t < threads; ++t) workers_[t]->submitted.notify_one();
    return host_status::ok;
  }

  /// Runs `program` once and waits for it. Allocates nothing once the queues have grown.
  template <class Body, class Trace = const no_trace>
  host_report run(host_program& program, Body&& body, Trace& trace = untraced_) noexcept {
    host_report report;
    report.status = submit(program, body, trace);
    return report ? synchronize() : report;
  }

 private:
  static constexpr no_trace untraced_{};
  static constexpr std::uint64_t eager = ~std::uint64_t{0};  // closures: the first in time is reported

  host_backend() = default;

  void create(std::size_t streams) {
    shared_ = std::make_shared<detail::host_shared>();
    const unsigned processors = std::thread::hardware_concurrency();  // 0: not known
    workers_.reserve(streams);
    streams_.reserve(streams);
    for (std::size_t i = 0; i < streams; ++i) {
      auto w = std::make_unique<detail::host_worker>();
      w->shared = shared_.get();
      w->number = static_cast<std::uint32_t>(i);
      w->crowded = processors != 0 && streams > processors;
      w->thread = std::thread([worker = w.get()] { worker->loop(); });
      workers_.push_back(std::move(w));
      streams_.push_back(host_stream(workers_.back().get()));
    }
  }

  void stop() noexcept {
    for (auto& w : workers_) {
      const std::lock_guard lock(w->mutex);
      w->stopping = true;
      w->count_one_more();
      w->submitted.notify_one();
    }
    for (auto& w : workers_) w->thread.join();
    workers_.clear();
    streams_.clear();
  }

  template <class F>
  status_type push(host_stream stream, const F& closure) noexcept {
    detail::host_worker& w = *stream.worker_;
    {
      const std::lock_guard lock(w.mutex);
      if (!w.make_room()) return host_status::out_of_memory;
      w.push(closure);
    }
    w.submitted.notify_one();
    return host_status::ok;
  }

  // Generations of two backends have nothing to do with each other: failures on the one before must not count here.
  void adopt(host_program& program) const noexcept {
    const std::weak_ptr<const void>& last = program.last_backend_;
    if (!last.owner_before(shared_) && !shared_.owner_before(last)) return;
    for (std::size_t t = 0; t < program.thread_count(); ++t)
      program.signals_[t].poisoned_in.store(0, std::memory_order_relaxed);
    program.last_backend_ = shared_;
  }

  // place: of the submission, in this generation.
  template <class Body, class Trace>
  static void run_slice(detail::host_worker& self, host_program& program, std::uint32_t thread, std::uint64_t run,
                        std::uint32_t place, Body& body, Trace& trace) noexcept {
    const std::uint64_t generation = self.generation();
    for (const host_program::step& s : program.slices_[thread]) {
      if (s.what.kind == command_kind::run && self.poisoned()) [[unlikely]] {
        ++self.skipped;
        continue;
      }
      trace.begin(s.index, s.what);
      // Counters run on from run to run, so a replay resets nothing.
      const std::uint64_t target = run * program.records_[s.thread] + s.number;
      if (s.what.kind == command_kind::run) {
        const std::uint64_t at = std::uint64_t{place} << 32 | s.index;
        self.run(at, s.what, [&] { return detail::call_op(body, s.what.id, s.what.phase, stream_id{s.what.stream}); });
      } else if (s.what.kind == command_kind::record) {
        program.signals_[thread].advance(target, self.poisoned(), generation);
      } else if (program.signals_[s.thread].wait(target, generation, self.crowded)) {
        self.poison();
      }
      trace.end(s.index, s.what);
    }
  }

  std::shared_ptr<detail::host_shared> shared_;
  std::vector<std::unique_ptr<detail::host_worker>> workers_;
  std::vector<host_stream> streams_;
};

static_assert(event_source<host_backend> && sync_backend<host_backend> && host_function_backend<host_backend>);

}  // namespace hocket::inline HOCKET_ABI::launch
