// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/tiling/detail/search.hpp>

namespace hocket::inline HOCKET_ABI::tiling {

/// The policy to take when nothing else is asked for: the best of no cut, equal tiles, one-plus-n, growing and
/// shrinking tiles, as far as the problem's format allows them. So it is never slower than any of these under the
/// problem's own costs. Errors: as `check`; errc::bad_cost. No allocation. Two phases whose curves have affine forms
/// (every curve of this library) take about a microsecond; other problems the sum of the policies.
template <class Phases>
[[nodiscard]] constexpr result<plan> automatic(const problem<Phases>& p) noexcept {
  return detail::decide<detail::search_kind::all>(p, policy::automatic);
}

}  // namespace hocket::inline HOCKET_ABI::tiling
