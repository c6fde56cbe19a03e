// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/core/arithmetic.hpp>
#include <hocket/tiling/detail/documented.hpp>

#include <cstdint>

namespace hocket::inline HOCKET_ABI::tiling::detail {

/// The tile length that `pinned` takes for a matrix of k and n: the document's short tile (its largest candidate),
/// raised to `least` and rounded up to whole units of `align`. It does not depend on the rows. O(1).
/// Preconditions: shape.k, shape.n, align >= 1.
[[nodiscard]] constexpr std::int64_t pinned_length(const matmul_shape& shape, std::int64_t align,
                                                   std::int64_t least = 1) noexcept {
  const short_tiles s = documented_short_tiles(shape);
  std::int64_t rows = s.a > s.b ? s.a : s.b;
  if (s.c > rows) rows = s.c;
  if (least > rows) rows = least;
  return ceil_div(rows, align) * align;
}

/// Tiles of one length that depends on k and n alone, then the rest: tile boundaries, and with them the order in which
/// numbers are summed, stay where they are when the number of rows changes. For services that must give a request the
/// same answer in every batch. Costs the time that a policy which sees the rows would have saved; where it is slower
/// than no cut, it stays cut. A last tile shorter than `least_tile` joins the one before it.
/// Errors: as `check`; errc::out_of_range if k or n is 0; errc::bad_cost; errc::too_many_tiles if the axis has more
/// such tiles than `max_tiles`: raise it or split the batch, a longer tile would break the promise. O(tiles).
/// 4096 rows, k = 3072, n = 8192: 384 ten times, then 256.
template <class Phases>
[[nodiscard]] constexpr result<plan> pinned(const problem<Phases>& p) noexcept {
  if (auto sound = check(p); !sound) return sound.error();
  if (p.shape.k < 1) return error{errc::out_of_range, p.shape.k, 1, max_rows}.with("k (pinned)");
  if (p.shape.n < 1) return error{errc::out_of_range, p.shape.n, 1, max_rows}.with("n (pinned)");
  const std::int64_t length = pinned_length(p.shape, p.axis.align, p.axis.least_tile);
  std::int64_t whole = p.axis.rows / length, rest = p.axis.rows % length;
  std::int64_t joined = 0;  // to the last whole tile
  if (whole > 0 && rest > 0 && rest < p.axis.least_tile) {
    --whole;
    joined = length + rest;
    rest = 0;
  }
  const std::int64_t count = whole + (joined > 0 ? 1 : 0) + (rest > 0 ? 1 : 0);
  if (count > p.axis.max_tiles) return error{errc::too_many_tiles, count, p.axis.max_tiles};
  plan tiles;
  tiles.append(length, whole);
  if (joined > 0) tiles.append(joined);
  if (rest > 0) tiles.append(rest);
  return finish(p, tiles.tiles(), policy::pinned);
}

}  // namespace hocket::inline HOCKET_ABI::tiling::detail
