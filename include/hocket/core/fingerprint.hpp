// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/config.hpp>

#include <cstdint>

namespace hocket::inline HOCKET_ABI {

/// A 64-bit digest of a sequence of integers, by which ranks compare their plans without sending them.
/// The same sequence gives the same digest on every machine and in every build; it is no defence against an adversary.
///
///     static_assert(fingerprint{}.add(1).add(2).value() != fingerprint{}.add(2).add(1).value());
class fingerprint {
 public:
  /// Takes in the next integer. Complexity: O(1).
  constexpr fingerprint& add(std::uint64_t x) noexcept {
    // The finaliser of splitmix64 (Steele, Lea, Flood 2014) over the running state: order matters, every bit spreads.
    state_ += x + 0x9e3779b97f4a7c15u;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    state_ = z ^ (z >> 31);
    return *this;
  }
  [[nodiscard]] constexpr std::uint64_t value() const noexcept { return state_; }

 private:
  std::uint64_t state_ = 0;
};

}  // namespace hocket::inline HOCKET_ABI
