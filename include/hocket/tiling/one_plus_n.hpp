// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/tiling/detail/search.hpp>

namespace hocket::inline HOCKET_ABI::tiling {

/// The best of: not cut, equal tiles, and one tile with n equal ones before or after it. The answer has at most two
/// runs of equal tiles when the rows are a multiple of `align`, so it fits operators that take {tileM, tileNum, tailM,
/// tailNum}: `plan::as_two_runs`.
/// Errors: as `check`; errc::bad_cost. No allocation. Two phases whose curves have affine forms take well below a
/// microsecond: the best length for each n is where two paths by the lines cross, and the curves are read around it.
/// Else every length up to 256 units is tried for every n, which finds the optimum of the form, and 64 above.
template <class Phases>
[[nodiscard]] constexpr result<plan> one_plus_n(const problem<Phases>& p) noexcept {
  return detail::decide<detail::search_kind::one_and_equal>(p, policy::one_plus_n);
}

}  // namespace hocket::inline HOCKET_ABI::tiling
