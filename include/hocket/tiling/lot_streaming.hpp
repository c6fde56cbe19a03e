// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/tiling/detail/search.hpp>

namespace hocket::inline HOCKET_ABI::tiling {

/// Growing or shrinking tiles: the phase that is the bottleneck never pauses, and the first (or last) tile is as short
/// as pays. Known in scheduling as lot streaming with consistent sublots (Potts and Baker 1989), here with any cost
/// curve; the candidates are then improved by moving units between tiles. Never worse than `none` and `uniform`.
/// Errors: as `check`; errc::bad_cost. No allocation. Two phases whose curves have affine forms take about a
/// microsecond; else O(max_tiles^3 * phases + max_tiles * log^2 units) evaluations at most, plus the lower bound.
template <class Phases>
[[nodiscard]] constexpr result<plan> lot_streaming(const problem<Phases>& p) noexcept {
  return detail::decide<detail::search_kind::lots>(p, policy::lot_streaming);
}

}  // namespace hocket::inline HOCKET_ABI::tiling
