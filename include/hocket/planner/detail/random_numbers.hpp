// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/config.hpp>

#include <cstdint>

namespace hocket::inline HOCKET_ABI::planner::detail {

/// Numbers that look random, the same on every machine: Knuth's linear congruential generator of 64 bits (MMIX), of
/// which the upper 31 are used. `<random>` has it, but takes longer to compile than the searches that draw from it.
class random_numbers {
 public:
  explicit random_numbers(std::uint64_t seed) noexcept : state_(seed) {}
  [[nodiscard]] std::uint32_t operator()() noexcept {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::uint32_t>(state_ >> 33);
  }
  /// From 0 on, below `n`.
  [[nodiscard]] std::uint32_t below(std::uint32_t n) noexcept { return (*this)() % n; }

 private:
  std::uint64_t state_;
};

}  // namespace hocket::inline HOCKET_ABI::planner::detail
