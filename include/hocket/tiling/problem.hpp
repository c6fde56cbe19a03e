// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/core/result.hpp>
#include <hocket/core/time.hpp>
#include <hocket/curve/affine.hpp>
#include <hocket/curve/cost_curve.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

namespace hocket::inline HOCKET_ABI::tiling {

/// Decisions are made in picoseconds: curves are in microseconds and real, each tile time is rounded once. Fine enough
/// that equal times stay equal and different ones different; coarse enough that rounding errors of the curves vanish.
inline constexpr ticks ticks_per_us = 1'000'000;

inline constexpr std::size_t max_phases = 8;                     ///< phases a problem may have
inline constexpr std::size_t tile_capacity = 256;                ///< tiles a plan can hold
inline constexpr std::int64_t max_rows = std::int64_t{1} << 53;  ///< above, a row count is no longer exact as a double
/// The longest time of one tile in one phase, some 37 minutes: sums over every tile and phase then fit 64 bits.
inline constexpr ticks max_tile_ticks = ticks{1} << 51;
/// The largest overlap factor: far beyond any contention, and no product of it overflows.
inline constexpr double most_overlap = 1e6;

/// What a phase occupies. Phases of one tile follow each other; one phase works on one tile at a time.
enum class phase_kind : std::uint8_t { compute, comm };

/// One of the parts that every tile goes through, in order: compute→comm, comm→compute, compute→comm→compute, …
template <curve::cost_curve Curve>
struct phase {
  phase_kind kind;
  Curve cost;          ///< us over rows
  double overlap = 1;  ///< multiplies the time of each tile when there are two or more; contention is why
  double ready = 0;    ///< us before which the phase cannot start, as when it first works on a shard that is at hand
};
template <curve::cost_curve Curve>
[[nodiscard]] constexpr phase<Curve> compute(Curve cost, double overlap = 1) {
  return {phase_kind::compute, static_cast<Curve&&>(cost), overlap, 0};
}
template <curve::cost_curve Curve>
[[nodiscard]] constexpr phase<Curve> comm(Curve cost, double overlap = 1) {
  return {phase_kind::comm, static_cast<Curve&&>(cost), overlap, 0};
}

/// A function of the host, us over rows, in place of a curve: the cost of a phase can be a lambda.
template <class F>
  requires(!curve::cost_curve<F> && std::is_invocable_r_v<double, const F&, double>)
[[nodiscard]] constexpr phase<curve::function<F>> compute(F us_of_rows, double overlap = 1) {
  return {phase_kind::compute, curve::function<F>{static_cast<F&&>(us_of_rows)}, overlap, 0};
}
template <class F>
  requires(!curve::cost_curve<F> && std::is_invocable_r_v<double, const F&, double>)
[[nodiscard]] constexpr phase<curve::function<F>> comm(F us_of_rows, double overlap = 1) {
  return {phase_kind::comm, curve::function<F>{static_cast<F&&>(us_of_rows)}, overlap, 0};
}

/// Which tile takes what is left when `align` does not divide the rows.
enum class remainder : std::uint8_t { either, first, last };

/// Which tile vectors an operator takes.
enum class tile_format : std::uint8_t {
  any,         ///< any lengths
  two_runs,    ///< a tiles of one length, then b of another: {tileM, tileNum, tailM, tailNum}
  one_plus_n,  ///< two runs, one of them a single tile
  uniform,     ///< all tiles equal, up to one unit of `align` where they do not divide
};
/// Where shorter tiles may be. In two runs it says which run is the shorter one.
enum class short_end : std::uint8_t { either, first, last };

/// What happens when phases work at the same time.
enum class contention : std::uint8_t {
  fixed,       ///< the overlap factors multiply every tile as soon as there are two
  while_both,  ///< they slow a phase down only while another phase of the problem works too
};

/// The axis that is cut, and how it may be cut. Tile lengths are multiples of `align`, except one end tile (`rest`),
/// which the formats and `shorter` see as if it were whole.
struct row_axis {
  std::int64_t rows = 0;        ///< M, in [1, 2^53]
  std::int64_t align = 128;     ///< >= 1
  std::int64_t least_tile = 1;  ///< no tile is shorter
  std::int64_t max_tiles = 16;  ///< in [1, tile_capacity]
  remainder rest = remainder::either;
  tile_format format = tile_format::any;
  short_end shorter = short_end::either;
};

/// The matrix product [rows, k] x [k, n]; only the documented rule looks at it. 0: not a matrix product.
struct matmul_shape {
  std::int64_t k = 0;
  std::int64_t n = 0;
  std::int64_t element_bytes = 2;
};

/// How shall this operator be cut? An aggregate of an axis and the phases; make it with `make_problem`.
/// @tparam Phases  a std::tuple of phase<Curve>, or a range of phase<Curve> when the number is known at run time only
template <class Phases>
struct problem {
  row_axis axis;
  matmul_shape shape;
  Phases phases;
  contention slowdown = contention::fixed;
};

/// A problem whose phases may each have another type of curve.
///
///     constexpr auto p = hocket::tiling::make_problem(
///         {.rows = 4096, .align = 128, .max_tiles = 16},
///         hocket::tiling::compute(hocket::curve::affine{.fixed = 6, .per_size = 0.2}),
///         hocket::tiling::comm(hocket::curve::affine{.fixed = 20, .per_size = 0.25}, 1.15));
template <curve::cost_curve... Curves>
[[nodiscard]] constexpr problem<std::tuple<phase<Curves>...>> make_problem(const row_axis& axis,
                                                                           phase<Curves>... phases) {
  return {axis, {}, {static_cast<phase<Curves>&&>(phases)...}, contention::fixed};
}
/// The same for a matrix product, so that the documented rule can be asked too.
template <curve::cost_curve... Curves>
[[nodiscard]] constexpr problem<std::tuple<phase<Curves>...>> make_problem(const row_axis& axis,
                                                                           const matmul_shape& shape,
                                                                           phase<Curves>... phases) {
  return {axis, shape, {static_cast<phase<Curves>&&>(phases)...}, contention::fixed};
}

/// f(i, phase) for every phase in order.
template <class... Curves, class F>
constexpr void for_each_phase(const std::tuple<phase<Curves>...>& phases, F&& f) {
  std::apply(
      [&](const auto&... each) {
        [[maybe_unused]] std::size_t i = 0;
        (f(i++, each), ...);
      },
      phases);
}
template <class Range, class F>
constexpr void for_each_phase(const Range& phases, F&& f) {
  std::size_t i = 0;
  for (const auto& each : phases) f(i++, each);
}
template <class... Curves>
[[nodiscard]] constexpr std::size_t phase_count(const std::tuple<phase<Curves>...>&) noexcept {
  return sizeof...(Curves);
}
template <class Range>
[[nodiscard]] constexpr std::size_t phase_count(const Range& phases) noexcept {
  return phases.size();
}

/// Whether the problem makes sense; every policy asks first. Costs are checked as they are evaluated.
/// Errors: errc::out_of_range for a field of the axis or the number of phases, errc::bad_cost for an overlap factor
/// that is not positive or above `most_overlap`, errc::no_feasible_tiling if even the uncut axis is shorter than the
/// least tile. O(phases).
template <class Phases>
[[nodiscard]] constexpr result<void> check(const problem<Phases>& p) noexcept {
  constexpr auto within = [](std::int64_t x, std::int64_t low, std::int64_t high) { return x >= low && x <= high; };
  constexpr auto capacity = static_cast<std::int64_t>(tile_capacity);
  const row_axis& a = p.axis;
  if (!within(a.rows, 1, max_rows)) return error{errc::out_of_range, a.rows, 1, max_rows}.with("rows");
  if (!within(a.align, 1, max_rows)) return error{errc::out_of_range, a.align, 1, max_rows}.with("align");
  if (!within(a.least_tile, 1, max_rows))
    return error{errc::out_of_range, a.least_tile, 1, max_rows}.with("least_tile");
  if (!within(a.max_tiles, 1, capacity)) return error{errc::out_of_range, a.max_tiles, 1, capacity}.with("max_tiles");
  if (!within(p.shape.k, 0, max_rows)) return error{errc::out_of_range, p.shape.k, 0, max_rows}.with("k");
  if (!within(p.shape.n, 0, max_rows)) return error{errc::out_of_range, p.shape.n, 0, max_rows}.with("n");
  const auto count = static_cast<std::int64_t>(phase_count(p.phases));
  if (!within(count, 1, static_cast<std::int64_t>(max_phases)))
    return error{errc::out_of_range, count, 1, static_cast<std::int64_t>(max_phases)}.with("number of phases");
  constexpr ticks most = max_tile_ticks / ticks_per_us;  // whole microseconds
  constexpr auto latest = static_cast<double>(most);
  bool good = true, in_time = true;
  for_each_phase(p.phases, [&](std::size_t, const auto& each) {
    good = good && curve::is_cost(each.overlap) && each.overlap > 0 && each.overlap <= most_overlap;
    in_time = in_time && each.ready >= 0 && each.ready <= latest;
  });
  if (!good) return error{errc::bad_cost, a.rows}.with("overlap factor");
  if (!in_time) return error{errc::bad_cost, a.rows}.with("ready time");
  if (a.least_tile > a.rows) return error{errc::no_feasible_tiling, a.rows, a.least_tile, a.max_tiles};
  return {};
}

}  // namespace hocket::inline HOCKET_ABI::tiling
