// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/arithmetic.hpp>
#include <hocket/tiling/detail/search.hpp>

#include <cstddef>
#include <cstdint>

namespace hocket::inline HOCKET_ABI::tiling::detail {

/// The document's candidates a, b, c for the short tile, in rows. Source: Huawei CANN, Ascend C best practices, the
/// tuning case of MC2 operators (a matrix product and an all-reduce).
struct short_tiles {
  std::int64_t a = 0;  ///< least a with a K N >= 4 * 1024^3: enough work for the cores
  std::int64_t b = 0;  ///< least b with b K N / 1024 + b N >= 6 * 1024^2: enough data to move
  std::int64_t c = 384;
};
/// Precondition: k, n >= 1. Computed without overflow for any k, n. O(1).
[[nodiscard]] constexpr short_tiles documented_short_tiles(const matmul_shape& s) noexcept {
  HOCKET_ASSERT(s.k >= 1 && s.n >= 1);
  constexpr std::int64_t gi = std::int64_t{1} << 30;
  short_tiles t;
  std::int64_t product = 0;
  t.a = checked_multiply(s.k, s.n, product) ? ceil_div(4 * gi, product) : 1;
  // b (K N / 1024 + N) >= 6 * 1024^2, multiplied by 1024 to stay in whole numbers
  t.b = checked_multiply(s.k + 1024, s.n, product) ? ceil_div(6 * gi, product) : 1;
  return t;
}

/// The rule itself: writes tiles in execution order, false if they are more than a list can hold (count says how many).
template <class Phases>
constexpr bool documented_tiles(const problem<Phases>& p, policy which, tile_list& out, flag_set& flags,
                                std::int64_t& count) noexcept {
  constexpr double inflation = 1.15;  // the document's own, on the short tile's time when balancing
  const std::int64_t rows = p.axis.rows, align = p.axis.align;
  const short_tiles s = documented_short_tiles(p.shape);
  std::int64_t m0 = s.a;
  for (const std::int64_t other : {s.b, s.c})
    if (which == policy::documented ? other > m0 : other < m0) m0 = other;
  count = 1;
  if (rows <= m0) {
    flags.set(flag::short_covers_all);
    out.push(rows);
    return true;
  }
  double compute_us = 0, comm_us = 0, compute_short = 0, comm_short = 0;
  bool compute_first = false;
  for_each_phase(p.phases, [&](std::size_t i, const auto& each) {
    const auto whole = static_cast<double>(each.cost.time(static_cast<double>(rows)));
    const auto part = static_cast<double>(each.cost.time(static_cast<double>(m0)));
    const bool computes = each.kind == phase_kind::compute;
    (computes ? compute_us : comm_us) = whole;
    (computes ? compute_short : comm_short) = part;
    if (i == 0) compute_first = computes;
  });
  const bool comm_bound = comm_us > compute_us;
  // Balance: the long tile hides the short tile's time on the other side.
  const double target = inflation * (comm_bound ? comm_short : compute_short);
  std::int64_t m1 = 0;
  for_each_phase(p.phases, [&](std::size_t, const auto& each) {
    if ((each.kind == phase_kind::compute) == comm_bound) m1 = curve::largest(each.cost, target, 1, rows);
  });
  m1 = m1 / align * align;
  flags.set(flag::long_tile_raised, m1 < align);
  if (m1 < align) m1 = align;
  count = (rows - m0) / m1;
  flags.set(flag::single_long_tile, count == 0);
  if (count == 0) count = 1;
  m1 = (rows - m0) / count / align * align;
  if (m1 == 0) {
    flags.set(flag::long_tile_vanished);
    out.push(rows);
    return true;
  }
  m0 = rows - m1 * count;  // >= 1: flooring the long tiles only gave rows back
  flags.set(flag::short_is_longest, m0 > m1);
  flags.set(flag::max_tiles_exceeded, count + 1 > p.axis.max_tiles);
  if (count + 1 > static_cast<std::int64_t>(tile_capacity)) return false;
  // The phase that must not pause is fed by a short tile first, or drained by a short tile last. The document describes
  // compute -> comm; comm -> compute is its mirror image.
  const bool short_first = comm_bound == compute_first;
  if (short_first) out.push(m0);
  for (std::int64_t i = 0; i < count; ++i) out.push(m1);
  if (!short_first) out.push(m0);
  return true;
}

/// The rule can be asked: a matrix product, one compute and one comm phase.
template <class Phases>
constexpr bool documented_applies(const problem<Phases>& p) noexcept {
  int computes = 0;
  for_each_phase(p.phases,
                 [&](std::size_t, const auto& each) { computes += each.kind == phase_kind::compute ? 1 : 0; });
  return p.shape.k >= 1 && p.shape.n >= 1 && phase_count(p.phases) == 2 && computes == 1;
}

/// The tiling rule of the published tuning case for fused matrix product and communication: a short tile from K and N,
/// long tiles that balance it, one run of each. Here because operators are tuned by it and other policies are measured
/// against it; it is slower than not cutting at all for many shapes (see docs/tiling.md).
/// The rule sees neither max_tiles nor least_tile nor the overlap factors: flags say what it broke.
/// Errors: as `check`; errc::out_of_range if k or n is 0; errc::invalid_argument unless there is one compute and one
/// comm phase; errc::bad_cost; errc::too_many_tiles beyond tile_capacity. O(tiles * phases + log rows).
template <class Phases>
[[nodiscard]] constexpr result<plan> documented(const problem<Phases>& p, policy which) noexcept {
  if (auto sound = check(p); !sound) return sound.error();
  if (p.shape.k < 1) return error{errc::out_of_range, p.shape.k, 1, max_rows}.with("k (documented rule)");
  if (p.shape.n < 1) return error{errc::out_of_range, p.shape.n, 1, max_rows}.with("n (documented rule)");
  if (!documented_applies(p))
    return error{errc::invalid_argument, static_cast<std::int64_t>(phase_count(p.phases))}.with(
        "phases (not 1 compute and 1 comm)");
  tile_list tiles;
  flag_set flags;
  std::int64_t count = 0;
  if (!documented_tiles(p, which, tiles, flags, count))
    return error{errc::too_many_tiles, count + 1, static_cast<std::int64_t>(tile_capacity)};
  return finish(p, tiles.span(), which, flags);
}

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

/// The tiles of `pinned`; returns their number, and leaves `out` empty if that is above max_tiles. O(tiles).
template <class Phases>
[[nodiscard]] constexpr std::int64_t pinned_tiles(const problem<Phases>& p, tile_list& out) noexcept {
  const std::int64_t length = pinned_length(p.shape, p.axis.align, p.axis.least_tile);
  std::int64_t whole = p.axis.rows / length, rest = p.axis.rows % length;
  std::int64_t joined = 0;  // to the last whole tile
  if (whole > 0 && rest > 0 && rest < p.axis.least_tile) {
    --whole;
    joined = length + rest;
    rest = 0;
  }
  const std::int64_t count = whole + (joined > 0 ? 1 : 0) + (rest > 0 ? 1 : 0);
  if (count > p.axis.max_tiles) return count;
  for (std::int64_t i = 0; i < whole; ++i) out.push(length);
  if (joined > 0) out.push(joined);
  if (rest > 0) out.push(rest);
  return count;
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
  tile_list tiles;
  if (const std::int64_t count = pinned_tiles(p, tiles); count > p.axis.max_tiles)
    return error{errc::too_many_tiles, count, p.axis.max_tiles};
  return finish(p, tiles.span(), policy::pinned);
}

}  // namespace hocket::inline HOCKET_ABI::tiling::detail
