// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/tiling/documented.hpp>
#include <hocket/tiling/lot_streaming.hpp>
#include <hocket/tiling/one_plus_n.hpp>

#include <cstdint>

namespace hocket::inline HOCKET_ABI::tiling {

namespace detail {

template <class Phases>
constexpr void search_everything(const problem<Phases>& p, const grid& axis, clock<Phases>& timer,
                                 incumbent& best) noexcept {
  search_lots(p, axis, timer, best);
  offer_one_plus_n(axis, timer, best);
  descend(axis, timer, best);
  if (!documented_applies(p)) return;
  tile_list tiles;
  flag_set flags;
  std::int64_t count = 0;
  if (!documented_tiles(p, short_tile::largest, tiles, flags, count)) return;
  // Its short tile takes the rest, so one end may be ragged; the problem has a say in which.
  const bool first_ragged = tiles.rows[0] % axis.align != 0,
             last_ragged = tiles.rows[tiles.count - 1] % axis.align != 0;
  bool allowed = static_cast<std::int64_t>(tiles.count) <= axis.max_tiles;
  for (const std::int64_t rows : tiles.span()) allowed = allowed && rows >= axis.least;
  if (tiles.count > 1 && first_ragged && axis.rest == remainder::last) allowed = false;
  if (tiles.count > 1 && last_ragged && axis.rest == remainder::first) allowed = false;
  if (allowed) best.offer(timer.makespan(tiles.span()), tiles);
}

}  // namespace detail

/// The fast policy to take when nothing else is asked for: the best of no cut, equal tiles, one-plus-n, growing and
/// shrinking tiles and, where the problem allows its answer, the documented rule. So it is never slower than any of
/// them under the problem's own costs. Errors: as `check`; errc::bad_cost. Complexity: the sum of theirs; no
/// allocation.
template <class Phases>
[[nodiscard]] constexpr result<plan> automatic(const problem<Phases>& p) noexcept {
  return detail::best_of(p, policy::automatic, &detail::search_everything<Phases>);
}

}  // namespace hocket::inline HOCKET_ABI::tiling
