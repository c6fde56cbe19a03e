// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/tiling/finish.hpp>

namespace hocket::inline HOCKET_ABI::tiling {

namespace detail {

template <class Phases>
constexpr void search_nothing(const problem<Phases>&, const grid&, clock<Phases>&, incumbent&) noexcept {}

template <class Phases>
constexpr void search_uniform(const problem<Phases>&, const grid& axis, clock<Phases>& timer,
                              incumbent& best) noexcept {
  offer_uniform(axis, timer, best);
}

}  // namespace detail

/// One tile: the operator as it was before fusion.
/// Errors: as `check`; errc::bad_cost. O(phases), plus the lower bound.
template <class Phases>
[[nodiscard]] constexpr result<plan> none(const problem<Phases>& p) noexcept {
  return detail::best_of(p, policy::none, &detail::search_nothing<Phases>);
}

/// The best number of equal tiles, 1 included; where the units of `align` rows do not divide, some tiles are one unit
/// longer, all at one end. What most systems do, with the number of tiles chosen well.
/// Errors: as `check`; errc::bad_cost. O(max_tiles * phases^2), plus the lower bound.
template <class Phases>
[[nodiscard]] constexpr result<plan> uniform(const problem<Phases>& p) noexcept {
  return detail::best_of(p, policy::uniform, &detail::search_uniform<Phases>);
}

}  // namespace hocket::inline HOCKET_ABI::tiling
