// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/tiling/automatic.hpp>
#include <hocket/tiling/documented.hpp>
#include <hocket/tiling/exact.hpp>
#include <hocket/tiling/lot_streaming.hpp>
#include <hocket/tiling/one_plus_n.hpp>
#include <hocket/tiling/pinned.hpp>
#include <hocket/tiling/uniform.hpp>

#include <cstdint>

namespace hocket::inline HOCKET_ABI::tiling {

/// How to cut, by a policy chosen at run time; each is also a function of its own.
/// Errors: those of the policy; errc::invalid_argument for a number that is no policy. `exact` allocates,
/// the others do not; it throws what its memory throws.
///
///     auto plan = hocket::tiling::solve(p);
///     for (std::int64_t rows : plan->tiles()) launch(rows);
template <class Phases>
[[nodiscard]] constexpr result<plan> solve(const problem<Phases>& p, policy by = policy::automatic) {
  switch (by) {
    case policy::automatic: return automatic(p);
    case policy::documented: return documented(p);
    case policy::documented_min: return documented(p, short_tile::smallest);
    case policy::one_plus_n: return one_plus_n(p);
    case policy::lot_streaming: return lot_streaming(p);
    case policy::uniform: return uniform(p);
    case policy::none: return none(p);
    case policy::exact: return exact(p);
    case policy::pinned: return pinned(p);
  }
  return error{errc::invalid_argument, static_cast<std::int64_t>(by)}.with("tiling policy");
}

}  // namespace hocket::inline HOCKET_ABI::tiling
