// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/tiling/finish.hpp>

namespace hocket::inline HOCKET_ABI::tiling {

namespace detail {

template <class Phases>
constexpr void search_one_plus_n(const problem<Phases>&, const grid& axis, clock<Phases>& timer,
                                 incumbent& best) noexcept {
  offer_uniform(axis, timer, best);
  offer_one_plus_n(axis, timer, best);
}

}  // namespace detail

/// The best of: not cut, equal tiles, and one tile with n equal ones before or after it. The answer has at most two
/// runs of equal tiles when the rows are a multiple of `align`, so it fits operators that take {tileM, tileNum, tailM,
/// tailNum}: `plan::as_two_runs`. Of the one-plus-n form it is the optimum up to 257 units.
/// Errors: as `check`; errc::bad_cost. O(units log max_tiles * phases^2) up to 257 units, O(max_tiles * phases^2)
/// above.
template <class Phases>
[[nodiscard]] constexpr result<plan> one_plus_n(const problem<Phases>& p) noexcept {
  return detail::best_of(p, policy::one_plus_n, &detail::search_one_plus_n<Phases>);
}

}  // namespace hocket::inline HOCKET_ABI::tiling
