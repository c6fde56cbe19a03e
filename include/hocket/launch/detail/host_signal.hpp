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

/// Blocks until `done(value of word)`. Spins for less time than a sleep and a wake-up take, then yields (with more
/// threads than cores, the other side needs this core: a longer spin would only delay it), then sleeps.
/// @param crowded  there are more threads than processors: no spinning, whoever is to be waited for may need this core
template <class Done>
std::uint32_t await(const std::atomic<std::uint32_t>& word, Done done, bool crowded = false) noexcept {
  std::uint32_t value = word.load(std::memory_order_acquire);
  const int spins = crowded ? 0 : 64;
  for (int i = 0; i < spins && !done(value); ++i) relax(), value = word.load(std::memory_order_acquire);
  for (int i = 0; i < 16 && !done(value); ++i) std::this_thread::yield(), value = word.load(std::memory_order_acquire);
  while (!done(value)) word.wait(value, std::memory_order_acquire), value = word.load(std::memory_order_acquire);
  return value;
}

/// Whether `a` is at or past `b` on a counter that wraps: right while they are less than 2^31 apart.
[[nodiscard]] constexpr bool reached(std::uint32_t a, std::uint32_t b) noexcept {
  return static_cast<std::int32_t>(a - b) >= 0;
}

/// A counter of the records that one stream has passed: the host's form of every event of that stream. Since a stream
/// passes its records in order, "record number k is done" is "the counter is at least k", and an event is the pair
/// (stream, k). Re-recording it elsewhere cannot disturb a wait that was issued earlier.
/// Counts have 64 bits, so that an event recorded once can be waited for ever after. Sleepers sleep on the lower 32,
/// because only those are a futex: waiting on 64-bit words goes through a table in the library (twice as slow).
struct alignas(64) host_signal {
  std::atomic<std::uint32_t> word{0};  // the lower half of count, stored after it
  std::atomic<std::uint64_t> count{0};
  std::atomic<std::uint64_t> poisoned_from{0};  // first count that stands for skipped work …
  std::atomic<std::uint64_t> poisoned_in{0};    // … in this generation; an older one means: not poisoned

  // By the stream's thread alone.
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
  [[nodiscard]] bool wait(std::uint64_t target, std::uint64_t generation, bool crowded = false) const noexcept {
    // The word is looked at first: if it is old, it will still change; if it is not, neither is the count.
    await(word, [this, target](std::uint32_t) { return count.load(std::memory_order_acquire) >= target; }, crowded);
    return poisoned_in.load(std::memory_order_acquire) == generation &&
           target >= poisoned_from.load(std::memory_order_relaxed);
  }
};

}  // namespace hocket::inline HOCKET_ABI::launch::detail
