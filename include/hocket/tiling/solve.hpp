// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/tiling/detail/decide.hpp>
#include <hocket/tiling/detail/documented.hpp>
#include <hocket/tiling/detail/exact.hpp>

#include <cstdint>
#include <memory_resource>

namespace hocket::inline HOCKET_ABI::tiling {

/// Who decides, and how much the exact search may do.
struct solve_options {
  tiling::policy policy = tiling::policy::automatic;
  exact_options exact{};
};

/// How to cut this operator. The policies:
/// * `automatic`: the best of all but `exact` whose tiles the problem allows, so never slower than any of them under
///   the problem's own costs. Some ten microseconds for tens of units of `align` rows, below a millisecond for
///   hundreds.
/// * `none`: one tile, the operator as it was before fusion.
/// * `uniform`: the best number of equal tiles, 1 included. Where units of `align` rows do not divide, some tiles are
///   one unit longer, all at one end. What most systems do, with the number chosen well.
/// * `one_plus_n`: the best of `uniform` and one tile with n equal ones before or after it. It fits operators that take
///   {tileM, tileNum, tailM, tailNum}: `plan::as_two_runs`.
/// * `lot_streaming`: tiles that grow or shrink so that the bottleneck never pauses. Known in scheduling as lot
///   streaming with consistent sublots (Potts and Baker 1989), here with any cost curve, then improved tile by tile.
/// * `documented`, `documented_min`: the published rule, see docs/tiling.md; slower than no cut for many shapes.
/// * `pinned`: one length that depends on k and n alone, so that tile boundaries stay where they are in every batch.
/// * `exact`: the optimum, proved; milliseconds.
/// @param memory  for `exact`, the only policy that allocates; null: the default resource. What it throws is thrown
/// Errors: as `check`, and for a number that is no policy errc::invalid_argument.
/// * Costs: errc::bad_cost for a time that is negative or not finite, errc::limit_exceeded for one above 37 minutes.
/// * `documented`, `pinned`: errc::out_of_range without k and n; errc::too_many_tiles above tile_capacity or max_tiles.
/// * `documented`: errc::invalid_argument unless there is one compute and one comm phase.
/// * `exact`: errc::limit_exceeded beyond its options, errc::out_of_range under contention by rate.
///
///     auto plan = hocket::tiling::solve(p);
///     for (std::int64_t rows : plan->tiles()) launch(rows);
///     auto proved = hocket::tiling::solve(p, {.policy = hocket::tiling::policy::exact});
template <class Phases>
[[nodiscard]] constexpr result<plan> solve(const problem<Phases>& p, const solve_options& options = {},
                                           std::pmr::memory_resource* memory = nullptr) {
  switch (options.policy) {
    case policy::automatic:
    case policy::none:
    case policy::uniform:
    case policy::one_plus_n:
    case policy::lot_streaming: return detail::decide(p, options.policy);
    case policy::documented:
    case policy::documented_min: return detail::documented(p, options.policy);
    case policy::pinned: return detail::pinned(p);
    case policy::exact:
      return detail::exact(p, options.exact, memory != nullptr ? memory : std::pmr::get_default_resource());
  }
  return error{errc::invalid_argument, static_cast<std::int64_t>(options.policy)}.with("tiling policy");
}

}  // namespace hocket::inline HOCKET_ABI::tiling
