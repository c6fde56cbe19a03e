// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/curve/affine.hpp>

#include <cstdint>

namespace hocket::inline HOCKET_ABI::curve {

/// alpha + bytes / beta: a latency and a bandwidth, over bytes. How collectives and links are described when nothing
/// was measured. (Hockney 1994, "The communication challenge for MPP".)
///
///     constexpr hocket::curve::alpha_beta link{.alpha_us = 4, .gb_per_s = 50};
///     static_assert(link.time(1e6) == 24);
struct alpha_beta {
  double alpha_us = 0;
  double gb_per_s = 1;  ///< 10^9 bytes per second; > 0

  [[nodiscard]] constexpr double time(double bytes) const noexcept { return alpha_us + bytes / (gb_per_s * 1e3); }
  friend constexpr bool operator==(const alpha_beta&, const alpha_beta&) = default;
};

/// errc::bad_cost unless both numbers are finite, alpha not negative and the bandwidth positive.
[[nodiscard]] constexpr result<void> check(const alpha_beta& f) noexcept {
  if (!is_cost(f.alpha_us) || !is_cost(f.gb_per_s) || f.gb_per_s == 0)
    return error{errc::bad_cost}.with("latency and rate");
  return {};
}

/// A ring all-reduce: 2 (ranks - 1) hops, 2 (ranks - 1) / ranks of the bytes over each link. Half of it, one of its two
/// passes, is a reduce-scatter or an all-gather. Precondition: ranks >= 2.
/// Source: Patarasuk and Yuan 2009, "Bandwidth optimal all-reduce algorithms for clusters of workstations".
[[nodiscard]] constexpr alpha_beta ring_all_reduce(std::int64_t ranks, double hop_us, double gb_per_s) noexcept {
  HOCKET_ASSERT(ranks >= 2);
  const auto p = static_cast<double>(ranks);
  return {2 * (p - 1) * hop_us, gb_per_s * p / (2 * (p - 1))};
}

}  // namespace hocket::inline HOCKET_ABI::curve
