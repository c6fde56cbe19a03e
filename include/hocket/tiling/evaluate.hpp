// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/tiling/detail/clock.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace hocket::inline HOCKET_ABI::tiling {

/// The time of the operator without cutting: one phase after the other, from its ready time on.
/// Errors: as `check`; errc::bad_cost for a time that is negative or not finite, errc::limit_exceeded above 37 minutes.
/// O(phases).
template <class Phases>
[[nodiscard]] constexpr result<picoseconds> serial_time(const problem<Phases>& p) noexcept {
  if (auto sound = check(p); !sound) return sound.error();
  detail::clock clock(p);
  const ticks t = clock.uncut(p.axis.rows);
  if (clock.failed()) return clock.error();
  return picoseconds(t);
}

/// The time that any tiles take, in execution order: a tile enters a phase when it has left the one before and the
/// phase has finished the tile before. One tile is the plain sum; from two on, each time is multiplied by its overlap
/// factor. The tiles need not respect alignment, least tile or most tiles: measured or foreign tilings can be timed
/// too. Errors: as `serial_time`; errc::invalid_argument for a tile below 1 row or lengths that do not add up to the
/// rows. Complexity: O(tiles * phases) evaluations, no allocation.
///
///     constexpr std::int64_t tiles[] = {512, 896, 896, 896, 896};
///     auto t = hocket::tiling::makespan(p, tiles);
template <class Phases>
[[nodiscard]] constexpr result<picoseconds> makespan(const problem<Phases>& p,
                                                     std::span<const std::int64_t> tiles) noexcept {
  if (auto sound = check(p); !sound) return sound.error();
  std::int64_t rest = p.axis.rows;
  for (const std::int64_t rows : tiles) {
    if (rows < 1 || rows > rest) return error{errc::invalid_argument, rows}.with("tile length");
    rest -= rows;
  }
  if (rest != 0) return error{errc::invalid_argument, rest}.with("rows left over by the tiles");
  if (tiles.size() > std::size_t{1} << 11)  // the sum could leave 64 bits
    return error{errc::too_many_tiles, static_cast<std::int64_t>(tiles.size()), 1 << 11};
  detail::clock clock(p);
  const ticks t = clock.makespan(tiles);
  if (clock.failed()) return clock.error();
  return picoseconds(t);
}

}  // namespace hocket::inline HOCKET_ABI::tiling
