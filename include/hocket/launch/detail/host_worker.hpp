// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/launch/backends/host_report.hpp>
#include <hocket/launch/command.hpp>
#include <hocket/launch/detail/host_signal.hpp>

#include <atomic>
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

/// One entry of a stream's queue. Everything that a stream does (a closure, a record, a wait, its part of a program) is
/// one: a function and the bytes of the closure that it calls.
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

/// Compared as what it is: a 64-bit code must not lose its upper half first.
template <class Code>
[[nodiscard]] constexpr bool is_failure(const Code& code) noexcept {
  if constexpr (std::is_scalar_v<Code>) return code != Code{};
  else return static_cast<int>(code) != 0;
}

/// What the streams of a backend share.
struct host_shared {
  std::atomic<std::uint64_t> generation{1};
  std::mutex mutex;  // guards the rest
  host_report report;
  std::uint64_t report_at = 0;  // place of the reported failure in the order of submission
};

/// A stream: a queue and the thread that works it off.
///
///     enqueue ──▶ inbox ──swap──▶ batch ──▶ the thread calls entry after entry ──▶ signal (records passed)
///       submitted = entries ever put in           finished = entries ever done
///
/// | member              | guarded by            | invariant                                                          |
/// |---------------------|-----------------------|--------------------------------------------------------------------|
/// | inbox, records      | mutex                 | records = record entries ever put into the inbox                   |
/// | submitted           | stored under mutex    | grows by one per entry; counts may wrap, differences do not        |
/// | programs            | mutex of stream 0     | programs submitted in this generation: their places in the report  |
/// | batch, skipped      | the thread            | empty when finished == submitted                                   |
/// | finished            | stored by the thread  | finished <= submitted                                              |
/// | poisoned_in         | the thread            | == generation: something failed here; what comes later is skipped  |
/// | shared->generation  | while all are idle    | grows with each synchronisation: older poison is void              |
/// | shared->report      | shared->mutex         | of the failures of this generation, the one submitted first        |
///
/// Records advance the signal also on a poisoned stream, so that nobody waits for ever.
struct alignas(64) host_worker {
  std::mutex mutex;
  std::vector<host_task> inbox;
  std::uint64_t records = 0;
  std::uint32_t programs = 0;
  std::atomic<std::uint32_t> submitted{0};
  bool stopping = false;
  host_shared* shared = nullptr;
  std::uint32_t number = 0;
  bool crowded = false;  // more streams than processors

  alignas(64) std::atomic<std::uint32_t> finished{0};
  std::uint64_t poisoned_in = 0;
  std::size_t skipped = 0;
  std::vector<host_task> batch;
  host_signal signal;
  std::thread thread;

  [[nodiscard]] std::uint64_t generation() const noexcept { return shared->generation.load(std::memory_order_relaxed); }
  [[nodiscard]] bool poisoned() const noexcept { return poisoned_in == generation(); }
  void poison() noexcept {
    if (poisoned()) return;
    poisoned_in = generation();
    skipped = 0;
  }

  /// @param at  place of the failure in the order of submission: the lowest one is kept
  void fail(std::uint64_t at, const command& c, host_status status, int code, std::exception_ptr exception) noexcept {
    poison();
    const std::lock_guard lock(shared->mutex);
    if (shared->report.status != host_status::ok && shared->report_at <= at) return;
    shared->report_at = at;
    shared->report = {status, c.id, c.stream, c.phase, code, 0, std::move(exception)};
  }

  /// Runs f() unless something before it failed. Whatever it throws or returns ends here.
  template <class F>
  void run(std::uint64_t at, const command& c, F&& f) noexcept {
    if (poisoned()) [[unlikely]] {
      ++skipped;
      return;
    }
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

  /// The thread.
  void loop() noexcept {
    std::uint32_t done = 0;
    for (;;) {
      await(submitted, [done](std::uint32_t value) { return value != done; }, crowded);
      bool last = false;
      {
        const std::lock_guard lock(mutex);
        batch.swap(inbox);
        last = stopping;
      }
      if (batch.empty() && last) return;
      for (host_task& task : batch) task.call(*this, task.closure);
      done += static_cast<std::uint32_t>(batch.size());
      batch.clear();
      finished.store(done, std::memory_order_seq_cst);
      finished.notify_all();
    }
  }

  /// Until everything submitted before this call is done.
  void wait_until_idle() noexcept {
    std::uint32_t all = 0;
    {
      const std::lock_guard lock(mutex);
      all = submitted.load(std::memory_order_relaxed);
    }
    await(finished, [all](std::uint32_t value) { return reached(value, all); }, crowded);
  }

  // The two halves of an enqueue. The caller holds `mutex`; only the first can fail.
  [[nodiscard]] bool make_room() noexcept {
    if (inbox.size() < inbox.capacity()) return true;
    constexpr std::size_t first_entries = 32;
    const std::size_t wanted = inbox.empty() ? first_entries : 2 * inbox.size();
#if HOCKET_HAS_EXCEPTIONS
    try {
      inbox.reserve(wanted);
    } catch (...) {
      return false;
    }
#else
    inbox.reserve(wanted);
#endif
    return true;
  }
  template <class F>
  void push(const F& closure) noexcept {
    inbox.emplace_back(closure);
    count_one_more();
  }
  void count_one_more() noexcept {
    submitted.store(submitted.load(std::memory_order_relaxed) + 1, std::memory_order_seq_cst);
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
};

struct host_event_state {
  host_worker* stream = nullptr;  // of the latest record; null: never recorded
  std::uint64_t count = 0;
};

}  // namespace hocket::inline HOCKET_ABI::launch::detail
