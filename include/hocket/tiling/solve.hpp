// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/detail/checked_answer.hpp>
#include <hocket/tiling/detail/decide.hpp>
#include <hocket/tiling/detail/documented.hpp>
#include <hocket/tiling/detail/exact.hpp>
#include <hocket/tiling/evaluate.hpp>

#include <cstdint>
#include <memory_resource>

namespace hocket::inline HOCKET_ABI::tiling {

/// Who decides, and how much a search may do.
struct solve_options {
  tiling::policy policy = tiling::policy::automatic;
  exact_options exact{};
  /// How many times of tiles `automatic` and `lot_streaming` may look at while they improve what they have found: a
  /// count and not seconds, so that every rank stops at the same tiling. More never gives a slower plan. 0 is the fast
  /// answer; from 2,048 on it also starts from other tilings. The curves are read once for each length, so this costs
  /// none of them.
  std::int64_t evaluations = 512;
};

namespace detail {

/// Whether a plan answers the problem and is what it says of itself: the check that solve() ends with. It times the
/// tiles anew. The documented and pinned rules do not look at the limits of the axis, so those are not asked of them.
/// Errors: those of makespan (tiles that do not add up to the rows); errc::wrong_answer. O(tiles * phases).
template <class Phases>
[[nodiscard]] constexpr result<void> check_answer(const problem<Phases>& p, policy asked, const plan& found) noexcept {
  using hocket::detail::expect_equal;
  const auto time = makespan(p, found.tiles());
  if (!time) return time.error();
  if (const auto ok = expect_equal(found.predicted.count(), time->count(), "the time of the tiles"); !ok) return ok;
  const std::int64_t bound = found.lower_bound.count();
  if (const auto ok = hocket::detail::expect_within(bound, 0, time->count(), "the lower bound"); !ok) return ok;
  if (asked == policy::documented || asked == policy::documented_min || asked == policy::pinned) return {};
  const bool allowed = grid(p.axis).allows(found.tiles());
  return expect_equal(allowed ? 1 : 0, 1, "whether the axis allows the tiles");
}

/// What the policy decides, not yet checked.
template <class Phases>
[[nodiscard]] constexpr result<plan> decide_by(const problem<Phases>& p, const solve_options& asked,
                                               std::pmr::memory_resource* memory) {
  if (asked.evaluations < 0) return error{errc::invalid_argument, asked.evaluations}.with("evaluations");
  switch (asked.policy) {
    case policy::automatic:
    case policy::none:
    case policy::uniform:
    case policy::one_plus_n:
    case policy::lot_streaming: return decide(p, asked.policy, asked.evaluations);
    case policy::documented:
    case policy::documented_min: return documented(p, asked.policy);
    case policy::pinned: return pinned(p);
    case policy::exact: return exact(p, asked.exact, memory != nullptr ? memory : std::pmr::get_default_resource());
  }
  return error{errc::invalid_argument, static_cast<std::int64_t>(asked.policy)}.with("tiling policy");
}

}  // namespace detail

/// How to cut this operator. The policies:
/// * `automatic`: the best of all but `exact` whose tiles the problem allows, so never slower than any of them under
///   the problem's own costs. About two microseconds for tens of units of `align` rows, tens for hundreds;
///   `evaluations` says how far it goes on.
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
/// Errors: as `check`, and for a number that is no policy, or evaluations below 0, errc::invalid_argument.
/// * Costs: errc::bad_cost for a time that is negative or not finite, errc::limit_exceeded for one above 37 minutes.
/// * `documented`, `pinned`: errc::out_of_range without k and n; errc::too_many_tiles above tile_capacity or max_tiles.
/// * `documented`: errc::invalid_argument unless there is one compute and one comm phase.
/// * `exact`: errc::limit_exceeded beyond its options, errc::out_of_range under contention by rate.
/// * Any: errc::wrong_answer for a plan that fails its last check, which would be a defect.
///
///     auto plan = hocket::tiling::solve(p);
///     for (std::int64_t rows : plan->tiles()) launch(rows);
///     auto proved = hocket::tiling::solve(p, {.policy = hocket::tiling::policy::exact});
template <class Phases>
[[nodiscard]] constexpr result<plan> solve(const problem<Phases>& p, const solve_options& options = {},
                                           std::pmr::memory_resource* memory = nullptr) {
  auto found = detail::decide_by(p, options, memory);
  if (!found) return found;
  if (const auto right = detail::check_answer(p, options.policy, *found); !right) return right.error();
  return found;
}

}  // namespace hocket::inline HOCKET_ABI::tiling
