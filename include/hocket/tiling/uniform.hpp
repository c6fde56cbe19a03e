// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/tiling/detail/search.hpp>

namespace hocket::inline HOCKET_ABI::tiling {

/// One tile: the operator as it was before fusion.
/// Errors: as `check`; errc::bad_cost. O(phases), plus the lower bound.
template <class Phases>
[[nodiscard]] constexpr result<plan> none(const problem<Phases>& p) noexcept {
  return detail::decide<detail::search_kind::nothing>(p, policy::none);
}

/// The best number of equal tiles, 1 included; where the units of `align` rows do not divide, some tiles are one unit
/// longer, all at one end. What most systems do, with the number of tiles chosen well.
/// Errors: as `check`; errc::bad_cost. O(max_tiles * phases^2), plus the lower bound.
template <class Phases>
[[nodiscard]] constexpr result<plan> uniform(const problem<Phases>& p) noexcept {
  return detail::decide<detail::search_kind::equal>(p, policy::uniform);
}

}  // namespace hocket::inline HOCKET_ABI::tiling
