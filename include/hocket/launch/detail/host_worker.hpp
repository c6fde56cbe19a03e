// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/launch/backends/host_report.hpp>
#include <hocket/launch/command.hpp>
#include <hocket/launch/detail/attempt.hpp>
#include <hocket/launch/detail/process_id.hpp>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <new>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::launch::detail {

struct host_worker;

/// One entry of a stream's queue. Everything that a stream does (an op, a record, a wait) is one: a function and the
/// bytes of the closure that it calls.
struct host_task {
  static constexpr std::size_t room = 48;  // with the function's address, less than a cache line
  void (*call)(host_worker&, void* closure) noexcept;
  alignas(8) std::byte closure[room];

  template <class F>
  explicit host_task(const F& f) noexcept
      : call([](host_worker& w, void* p) noexcept { (*std::launder(static_cast<F*>(p)))(w); }) {
    static_assert(sizeof(F) <= room && alignof(F) <= 8 && std::is_trivially_copyable_v<F>,
                  "hocket: a closure given to a host stream is copied into its queue: at most 48 bytes, trivially "
                  "copyable. Capture a pointer to larger state that outlives the work");
    ::new (closure) F(f);
  }
};

/// An event: a stream passes its records in order, so "record number `count` of `stream` is done" says it all.
struct host_event_state {
  host_worker* stream = nullptr;  // of the latest record; null: never recorded
  std::uint64_t count = 0;
};

/// What the streams of a backend share.
struct host_shared {
  std::mutex mutex;  // guards the report
  host_report report;
  std::uint64_t report_at = 0;          // place of the reported failure in the order of submission
  std::int64_t process = process_id();  // whose threads the streams are
  std::atomic<bool> cancelled{false};   // what has not begun is skipped, until the next synchronization
  // Of lists; guarded by the mutex of stream 0.
  std::uint32_t submissions = 0;         // since the last synchronization
  std::vector<host_event_state> events;  // of the list that is being submitted
  std::vector<std::size_t> counts;       // its commands, by stream

  /// Whether this is a child of that process, which has none of its threads. A call of the system: some 50 ns.
  [[nodiscard]] bool is_forked() const noexcept { return process != process_id(); }
};

/// Compared as what it is: a 64-bit code must not lose its upper half first.
template <class Code>
[[nodiscard]] constexpr bool is_failure(const Code& code) noexcept {
  if constexpr (std::is_scalar_v<Code>) return code != Code{};
  else return static_cast<int>(code) != 0;
}

/// A number that only grows, and threads that wait for it to get there. Who waits looks for a while before it sleeps.
/// It never yields, and so does not sleep by std::atomic::wait, which yields first: beside a busy program, Linux (6.18)
/// takes a thread that yields back only after a time slice, a thousand times what a sleep and a wake-up cost.
class host_counter {
 public:
  [[nodiscard]] std::uint64_t value() const noexcept { return value_.load(); }

  /// In two steps, so that a notification can be made after a lock is released, and once for many.
  void set(std::uint64_t value) noexcept { value_.store(value); }
  void notify() noexcept {
    if (sleepers_.load() == 0) return;
    {
      const std::lock_guard lock(mutex_);
    }  // who counts as a sleeper, but has not gone to sleep, holds it
    changed_.notify_all();
  }

  void await(std::uint64_t target) noexcept {
    constexpr int looks = 4000;  // 2 us, about what a sleep and a wake-up take: waiting costs at most twice the best
    for (int i = 0; i < looks; ++i)
      if (value_.load(std::memory_order_acquire) >= target) return;
    std::unique_lock lock(mutex_);
    ++sleepers_;
    while (value_.load() < target) changed_.wait(lock);
    --sleepers_;
  }

 private:
  // Stored and loaded in one order of all: either the notifier sees the sleeper, or the sleeper sees the new value.
  std::atomic<std::uint64_t> value_{0};
  std::atomic<std::uint32_t> sleepers_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
};

/// A stream: a queue and the thread that works it off.
///
///     enqueue ──▶ inbox ──swap──▶ batch ──▶ the thread calls entry after entry ──▶ passed (records so far)
///       submitted = entries ever put in           finished = entries ever done
///
/// | member              | guarded by            | invariant                                                          |
/// |---------------------|-----------------------|--------------------------------------------------------------------|
/// | inbox, records      | mutex                 | records = record entries ever put into the inbox                   |
/// | submitted           | stored under mutex    | grows by one per entry                                             |
/// | batch               | the thread            | empty when finished == submitted                                   |
/// | finished            | stored by the thread  | finished <= submitted                                              |
/// | passed              | stored by the thread  | never falls, so an event may be waited for ever after              |
/// | poisoned, skipped   | the thread            | poisoned: something failed here; what comes later is skipped       |
/// | poisoned_from       | the thread            | the first record that stands for skipped work, or `never`          |
/// | shared->report      | shared->mutex         | of the failures so far, the one submitted first                    |
///
/// Synchronizing heals: it resets poisoned, skipped and poisoned_from while all streams are idle. Records are passed
/// also on a poisoned stream, so that nobody waits for ever.
struct host_worker {
  static constexpr std::uint64_t never = ~std::uint64_t{0};

  std::mutex mutex;
  std::vector<host_task> inbox;
  std::uint64_t records = 0;
  host_counter submitted;
  bool stopping = false;
  host_shared* shared = nullptr;
  std::uint32_t number = 0;

  std::vector<host_task> batch;
  host_counter finished;
  host_counter passed;
  bool poisoned = false;
  std::size_t skipped = 0;
  std::atomic<std::uint64_t> poisoned_from{never};
  std::thread thread;

  // ---- enqueueing

  /// Locks `mutex`; false, and not locked, in a forked child. There a thread that does not exist may hold it, so it
  /// must not be waited for. Who finds it free and the queue at work does not ask for the process: that costs as much
  /// again.
  [[nodiscard]] bool lock_unless_forked() noexcept {
    if (!mutex.try_lock()) {
      if (shared->is_forked()) return false;
      mutex.lock();
    }
    if (!inbox.empty() || !shared->is_forked()) return true;
    mutex.unlock();
    return false;
  }

  // In two halves. The caller holds `mutex`; only the first can fail.

  [[nodiscard]] bool make_room(std::size_t count) noexcept {
    constexpr std::size_t first_entries = 32;
    if (inbox.capacity() - inbox.size() >= count) return true;
    return attempt([&] { inbox.reserve((std::max)({first_entries, 2 * inbox.size(), inbox.size() + count})); });
  }
  /// Whether the thread must be notified: who put the first entry into the inbox does it for those that follow.
  template <class F>
  bool push(const F& closure) noexcept {
    const bool first = inbox.empty();
    inbox.emplace_back(closure);
    submitted.set(submitted.value() + 1);
    return first;
  }

  // ---- the thread

  void loop() noexcept {
    std::uint64_t done = 0;
    for (;;) {
      submitted.await(done + 1);
      bool last = false;
      {
        const std::lock_guard lock(mutex);
        batch.swap(inbox);
        last = stopping;
      }
      if (batch.empty() && last) return;
      for (host_task& task : batch) task.call(*this, task.closure);
      done += batch.size();
      batch.clear();
      finished.set(done);
      finished.notify();
    }
  }

  void pass(std::uint64_t record) noexcept {
    if (poisoned && poisoned_from.load() == never) poisoned_from.store(record);
    passed.set(record);
    passed.notify();
  }
  void wait_for(const host_event_state& event) noexcept {
    event.stream->passed.await(event.count);
    if (event.count >= event.stream->poisoned_from.load()) poisoned = true;
  }

  /// Whether an op is left out, because something before it failed or all is cancelled. Counts it.
  [[nodiscard]] bool skips() noexcept {
    const bool left_out = poisoned || shared->cancelled.load();
    if (left_out) ++skipped;
    return left_out;
  }
  /// Runs f(). Whatever it throws or returns ends here.
  /// @param at  its place in the order of submission: of all failures, the one with the lowest is reported
  template <class F>
  void run(std::uint64_t at, const command& c, F&& f) noexcept {
#if HOCKET_HAS_EXCEPTIONS
    try {
      call(at, c, f);
    } catch (...) {
      fail(at, c, host_status::op_threw, 0, std::current_exception());
    }
#else
    call(at, c, f);
#endif
  }

 private:
  template <class F>
  void call(std::uint64_t at, const command& c, F& f) {
    if constexpr (std::is_void_v<decltype(f())>) {
      f();
    } else {
      const auto code = f();
      if (is_failure(code)) fail(at, c, host_status::op_failed, static_cast<int>(code), nullptr);
    }
  }
  void fail(std::uint64_t at, const command& c, host_status status, int code, std::exception_ptr exception) noexcept {
    poisoned = true;
    const std::lock_guard lock(shared->mutex);
    if (shared->report.status != host_status::ok && shared->report_at <= at) return;
    shared->report_at = at;
    shared->report = {status, c.id, c.stream, c.phase, code, 0, std::move(exception)};
  }
};

}  // namespace hocket::inline HOCKET_ABI::launch::detail
