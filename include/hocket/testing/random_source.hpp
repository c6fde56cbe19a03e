// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/config.hpp>

#include <cstddef>
#include <cstdint>

namespace hocket::inline HOCKET_ABI::testing {

/// A reproducible stream of numbers for property tests (splitmix64: Steele, Lea, Flood 2014).
class random_source {
 public:
  explicit constexpr random_source(std::uint64_t seed) noexcept : state_(seed) {}
  [[nodiscard]] constexpr std::uint64_t operator()() noexcept {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  /// 0 … bound - 1; bound >= 1.
  [[nodiscard]] constexpr std::uint32_t below(std::size_t bound) noexcept {
    return static_cast<std::uint32_t>((*this)() % bound);
  }

 private:
  std::uint64_t state_;
};

}  // namespace hocket::inline HOCKET_ABI::testing
