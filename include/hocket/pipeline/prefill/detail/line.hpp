// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/pipeline/prefill/problem.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace hocket::inline HOCKET_ABI::pipeline::detail {

/// The pipeline with one chunk per rank, as a search needs it: what was run so far is when each rank and each link is
/// free again, and a piece changes that in O(stages). What it says is what `run_prefill` says; a test holds both
/// against each other.
template <prefill_cost_policy C>
struct prefill_line {
  const C& costs;
  std::uint32_t stages;

  /// Numbers that a state has: stages, then links.
  [[nodiscard]] std::size_t width() const noexcept { return std::size_t{stages} * 2; }

  /// Runs a piece that is there at `arrival`. @return when it leaves the last stage
  ticks pass(std::span<ticks> free, const prefill_piece& piece, ticks arrival) const {
    ticks at = arrival;
    for (std::uint32_t s = 0; s < stages; ++s) {
      at = (std::max)(at, free[s]) + capped(costs.duration(s, piece));
      if (s + 1 == stages) at += capped(costs.tail(piece));
      free[s] = at;
      if (s + 1 == stages) break;
      ticks& link = free[stages + s];
      at = (std::max)(at, link) + capped(costs.transfer(s, piece));
      link = at;
      at += capped(costs.latency(s));
    }
    return at;
  }
};

}  // namespace hocket::inline HOCKET_ABI::pipeline::detail
