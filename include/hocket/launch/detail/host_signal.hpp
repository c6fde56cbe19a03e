// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/config.hpp>

#include <atomic>
#include <cstdint>
#include <thread>

namespace hocket::inline HOCKET_ABI::launch::detail {

/// One turn of a spin loop: tells the core that nothing is to be gained by hurrying.
inline void relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Looks before a thread yields: less time than a sleep and a wake-up take.
inline constexpr int spin_turns = 64;
/// Looks before a thread sleeps: with more threads than cores, the other side needs this core.
inline constexpr int yield_turns = 16;

/// Blocks until `done(value of word)`: spins, then yields, then sleeps.
/// @param crowded  there are more threads than processors, so spinning would only delay whoever is waited for
template <class Done>
void await(const std::atomic<std::uint32_t>& word, Done done, bool crowded) noexcept {
  for (int turn = crowded ? spin_turns : 0; turn < spin_turns + yield_turns; ++turn) {
    if (done(word.load(std::memory_order_acquire))) return;
    if (turn < spin_turns) relax();
    else std::this_thread::yield();
  }
  for (;;) {
    const std::uint32_t value = word.load(std::memory_order_acquire);
    if (done(value)) return;
    word.wait(value, std::memory_order_acquire);
  }
}

/// Whether `a` is at or past `b` on a counter that wraps: right while they are less than 2^31 apart.
[[nodiscard]] constexpr bool reached(std::uint32_t a, std::uint32_t b) noexcept {
  return static_cast<std::int32_t>(a - b) >= 0;
}

/// A counter of the records that one stream has passed: the host's form of every event of that stream. A stream passes
/// its records in order, so "record number k is done" is "the counter is at least k", and an event is (stream, k):
///
///     stream 0   run  record 1  run  record 2 …        count of stream 0:  0 … 1 … 2
///     stream 1        wait (0, 1)   run                 goes on once that count is >= 1
///
/// | member        | written by            | invariant                                                         |
/// |---------------|-----------------------|-------------------------------------------------------------------|
/// | count         | the stream's thread   | never falls; 64 bits, so an event may be waited for ever after    |
/// | word          | the same, after count | the lower half of count: only 32 bits are a futex to sleep on     |
/// | poisoned_from | the same, before both | the first count that stands for skipped work …                    |
/// | poisoned_in   | the same, before both | … in this generation; an older generation means "not poisoned"    |
struct alignas(64) host_signal {
  std::atomic<std::uint32_t> word{0};
  std::atomic<std::uint64_t> count{0};
  std::atomic<std::uint64_t> poisoned_from{0};
  std::atomic<std::uint64_t> poisoned_in{0};

  /// By the stream's thread alone.
  void advance(std::uint64_t to, bool poisoned, std::uint64_t generation) noexcept {
    if (poisoned && poisoned_in.load(std::memory_order_relaxed) != generation) {
      poisoned_from.store(to, std::memory_order_relaxed);
      poisoned_in.store(generation, std::memory_order_release);
    }
    count.store(to, std::memory_order_release);
    // Sequentially consistent, not release: notify_all must not look for sleepers before the store is visible.
    word.store(static_cast<std::uint32_t>(to), std::memory_order_seq_cst);
    word.notify_all();
  }

  /// Blocks until the counter reaches `target`. Returns whether what it stands for was skipped or failed.
  [[nodiscard]] bool wait(std::uint64_t target, std::uint64_t generation, bool crowded) const noexcept {
    // The word is looked at first: if it is old, it will still change; if it is not, neither is the count.
    await(word, [this, target](std::uint32_t) { return count.load(std::memory_order_acquire) >= target; }, crowded);
    return poisoned_in.load(std::memory_order_acquire) == generation &&
           target >= poisoned_from.load(std::memory_order_relaxed);
  }
};

}  // namespace hocket::inline HOCKET_ABI::launch::detail
