// SPDX-License-Identifier: Apache-2.0
// From a problem to a plan: which search, then times, bound and flags.
#pragma once
#include <hocket/core/speculation.hpp>
#include <hocket/tiling/detail/bound.hpp>
#include <hocket/tiling/detail/finish.hpp>
#include <hocket/tiling/detail/two_phase.hpp>
#include <hocket/tiling/detail/wide_search.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace hocket::inline HOCKET_ABI::tiling::detail {

enum class search_kind : std::uint8_t { nothing, equal, one_and_equal, lots, all };

/// The wide search of a kind: for more phases than two, for costs without lines, for restricted formats.
template <search_kind Kind, class Phases>
constexpr void search_slowly(const problem<Phases>& p, const grid& axis, clock<Phases>& timer,
                             incumbent& best) noexcept {
  if constexpr (Kind == search_kind::nothing) return;
  if constexpr (Kind == search_kind::all) return search_widely(p, axis, timer, best);
  offer_uniform(axis, timer, best);
  if (axis.format == tile_format::uniform) return;
  if constexpr (Kind == search_kind::one_and_equal) offer_one_plus_n(axis, timer, best);
  if constexpr (Kind == search_kind::lots) {
    if (axis.format == tile_format::any) offer_lots(p, axis, timer, best);
    if (axis.format == tile_format::two_runs) offer_every_two_runs(axis, timer, best);
    if (axis.format == tile_format::one_plus_n) offer_one_plus_n(axis, timer, best);
  }
}

/// Contention by rate has no tile times of its own. The search runs with the factors fixed, which overrates contention,
/// and what it finds is timed again; equal tiles and the descent are timed by rate.
template <search_kind Kind, class Phases>
constexpr void search_by_rate(const problem<Phases>& p, const grid& axis, clock<Phases>& timer,
                              incumbent& best) noexcept {
  if constexpr (Kind == search_kind::nothing) return;
  if constexpr (Kind == search_kind::equal) return offer_uniform(axis, timer, best);
  clock<Phases> fixed(p.phases);
  incumbent found(axis, fixed);
  found.time = (std::numeric_limits<ticks>::max)();  // also what is slower than no cut with the factors fixed
  search_slowly<Kind>(p, axis, fixed, found);
  offer_uniform(axis, timer, best);
  best.offer(timer.makespan(found.tiles.span()), found.tiles);
  if (axis.format != tile_format::any || Kind == search_kind::one_and_equal) return;
  descend(axis, timer, found.tiles.count > 1 && best.tiles.count < 2 ? found : best);
}

/// Whether the fast search answers what is asked.
template <class Phases>
constexpr bool is_simple(const problem<Phases>& p) noexcept {
  return phase_count(p.phases) == 2 && p.slowdown == contention::fixed && p.axis.shorter == short_end::either &&
         p.axis.format != tile_format::two_runs;
}

template <search_kind Kind, class Phases>
constexpr void search_quickly(two_phase<Phases>& search, tile_format format) noexcept {
  if (search.is_settled()) return;
  if constexpr (Kind == search_kind::nothing) return;
  if (Kind == search_kind::one_and_equal || format == tile_format::one_plus_n) {
    if (Kind != search_kind::equal && format != tile_format::uniform) search.one_and_equal();
  } else if (Kind != search_kind::equal && format == tile_format::any) {
    search.lots();
  }
  search.equal_tiles();  // last: what is known by then rules most of them out
}

/// Decides by the search of a kind and makes the plan. Errors: as `check`; errc::bad_cost, errc::limit_exceeded.
template <search_kind Kind, class Phases>
constexpr result<plan> decide(const problem<Phases>& p, policy decided_by) noexcept {
  not_on_speculation();
  if (auto sound = check(p); !sound) return sound.error();
  const grid axis(p.axis);
  clock<Phases> timer(p);
  if constexpr (phases_have_lines<Phases>) {
    if (is_simple(p)) {
      two_phase<Phases> search(p, axis, timer);
      search_quickly<Kind>(search, axis.format);
      result<plan> out{plan{}};
      const run_list& best = search.best();
      for (std::size_t i = 0; i < best.size(); ++i) out->append(best[i].rows, best[i].count);
      out->predicted = picoseconds(search.time());
      out->serial = picoseconds(search.serial());
      out->lower_bound = picoseconds(search.lower_bound());
      // Lines lie far below curves that are not: there, what every tile takes says more.
      if (out->lower_bound < out->predicted / 2)
        out->lower_bound = (std::max)(out->lower_bound, picoseconds(lower_bound(axis, timer)));
      out->decided_by = decided_by;
      if (timer.failed()) return timer.error();
      judge(p, *out);
      return out;
    }
  }
  incumbent best(axis, timer);
  if (p.slowdown == contention::while_both) search_by_rate<Kind>(p, axis, timer, best);
  else search_slowly<Kind>(p, axis, timer, best);
  if (timer.failed()) return timer.error();
  return finish(p, best.tiles.span(), decided_by);
}

}  // namespace hocket::inline HOCKET_ABI::tiling::detail
