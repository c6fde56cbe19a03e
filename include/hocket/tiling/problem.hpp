// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/result.hpp>
#include <hocket/core/time.hpp>
#include <hocket/curve/affine.hpp>
#include <hocket/curve/any_curve.hpp>
#include <hocket/curve/cost_curve.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::tiling {

inline constexpr std::size_t max_phases = 8;                     ///< phases a problem may have
inline constexpr std::size_t tile_capacity = 256;                ///< tiles a plan can hold
inline constexpr std::int64_t max_rows = std::int64_t{1} << 53;  ///< above, a row count is no longer exact as a double
/// The longest time of one tile in one phase, some 37 minutes: sums over every tile and phase then fit 64 bits.
inline constexpr picoseconds max_tile_time{std::int64_t{1} << 51};
/// The largest overlap factor: far beyond any contention, and no product of it overflows.
inline constexpr double max_overlap = 1e6;

/// What a phase occupies. Phases of one tile follow each other; one phase works on one tile at a time.
enum class phase_kind : std::uint8_t { compute, comm };

[[nodiscard]] constexpr std::string_view to_string(phase_kind kind) noexcept {
  return kind == phase_kind::compute ? "compute" : "comm";
}

/// One of the parts that every tile goes through, in order: compute→comm, comm→compute, compute→comm→compute, …
/// `compute` and `comm` make it.
template <class Curve>
struct phase {
  static_assert(curve::is_cost_curve<Curve>());
  phase_kind kind;
  Curve cost;             ///< us over rows
  double overlap = 1;     ///< multiplies the time of each tile when there are two or more; contention is why
  microseconds ready{0};  ///< the phase cannot start before, as when it first works on a shard that is at hand
};

namespace detail {

template <class Cost>
[[nodiscard]] constexpr auto make_phase(phase_kind kind, Cost&& cost, double overlap) {
  using curve_type = std::remove_cvref_t<Cost>;
  if constexpr (!curve::cost_curve<curve_type> && std::is_invocable_r_v<double, const curve_type&, double>)
    return phase<curve::function<curve_type>>{kind, {static_cast<Cost&&>(cost)}, overlap, microseconds{0}};
  else if constexpr (curve::cost_curve<curve_type>)
    return phase<curve_type>{kind, static_cast<Cost&&>(cost), overlap, microseconds{0}};
  else {  // a sentence, and a phase that makes no further errors
    static_assert(curve::is_cost_curve<curve_type>());
    return phase<curve::affine>{kind, {}, overlap, microseconds{0}};
  }
}

}  // namespace detail

/// A phase that computes, or communicates. Its cost is a curve, or a function of the host such as a lambda: us over
/// rows.
/// @param overlap  how much longer each tile takes when there are several; > 0
template <class Cost>
[[nodiscard]] constexpr auto compute(Cost cost, double overlap = 1) {
  return detail::make_phase(phase_kind::compute, static_cast<Cost&&>(cost), overlap);
}
template <class Cost>
[[nodiscard]] constexpr auto comm(Cost cost, double overlap = 1) {
  return detail::make_phase(phase_kind::comm, static_cast<Cost&&>(cost), overlap);
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

namespace detail {

template <class T>
inline constexpr bool is_phase = false;
template <class Curve>
inline constexpr bool is_phase<phase<Curve>> = true;

/// Whether these are phases: a tuple of them with at least one, or a range of them.
template <class Phases>
inline constexpr bool are_phases = requires { requires is_phase<typename Phases::value_type>; };
template <class... Each>
inline constexpr bool are_phases<std::tuple<Each...>> = sizeof...(Each) >= 1 && (is_phase<Each> && ...);

}  // namespace detail

/// How shall this operator be cut? The axis and the phases, in the order in which a tile goes through them.
/// @tparam Phases  a std::tuple of phase<Curve>, or a range of phase<Curve> when the number is known at run time only
///
///     constexpr auto p = hocket::tiling::problem(
///         {.rows = 4096, .align = 128, .max_tiles = 16},
///         hocket::tiling::compute(hocket::curve::affine{.fixed = 6, .per_size = 0.2}),
///         hocket::tiling::comm(hocket::curve::affine{.fixed = 20, .per_size = 0.25}, 1.15));
template <class Phases>
struct problem {
  static_assert(detail::are_phases<Phases>,
                "hocket: a tiling problem is an axis, then one phase or more, each made by tiling::compute(curve) or "
                "tiling::comm(curve)");
  row_axis axis{};
  matmul_shape shape{};
  Phases phases{};
  contention slowdown = contention::fixed;

  constexpr problem() = default;
  template <class... Each>
  constexpr explicit problem(const row_axis& cut, Each... each) : axis(cut), phases(static_cast<Each&&>(each)...) {}
  /// Of a matrix product, so that the documented rule can be asked too.
  template <class... Each>
  constexpr problem(const row_axis& cut, const matmul_shape& product, Each... each)
      : axis(cut), shape(product), phases(static_cast<Each&&>(each)...) {}
};
template <class... Each>
problem(const row_axis&, Each...) -> problem<std::tuple<Each...>>;
template <class... Each>
problem(const row_axis&, const matmul_shape&, Each...) -> problem<std::tuple<Each...>>;

/// A problem read at run time: any number of phases up to max_phases, each with any of the stored curves.
using any_problem = problem<std::vector<phase<curve::any_curve>>>;

namespace detail {

/// What decisions are made in: curves are in microseconds and real, each tile time is rounded once to a picosecond.
/// Fine enough that equal times stay equal and different ones different; coarse enough that rounding errors of the
/// curves vanish.
inline constexpr ticks ticks_per_us = 1'000'000;

/// f(i, phase) for every phase in order.
template <class... Each, class F>
constexpr void for_each_phase(const std::tuple<Each...>& phases, F&& f) {
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
template <class... Each>
[[nodiscard]] constexpr std::size_t phase_count(const std::tuple<Each...>&) noexcept {
  return sizeof...(Each);
}
template <class Range>
[[nodiscard]] constexpr std::size_t phase_count(const Range& phases) noexcept {
  return phases.size();
}

}  // namespace detail

/// Whether the problem makes sense; every policy asks first. Costs are checked as they are evaluated.
/// Errors: errc::out_of_range for a field of the axis or the number of phases, errc::bad_cost for an overlap factor
/// that is not positive or above `max_overlap`, errc::no_feasible_tiling if even the uncut axis is shorter than the
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
  const auto count = static_cast<std::int64_t>(detail::phase_count(p.phases));
  if (!within(count, 1, static_cast<std::int64_t>(max_phases)))
    return error{errc::out_of_range, count, 1, static_cast<std::int64_t>(max_phases)}.with("number of phases");
  constexpr microseconds latest = max_tile_time;
  bool good = true, in_time = true;
  detail::for_each_phase(p.phases, [&](std::size_t, const auto& each) {
    good = good && curve::is_cost(each.overlap) && each.overlap > 0 && each.overlap <= max_overlap;
    in_time = in_time && each.ready.count() >= 0 && each.ready <= latest;
  });
  if (!good) return error{errc::bad_cost, a.rows}.with("overlap factor");
  if (!in_time) return error{errc::bad_cost, a.rows}.with("ready time");
  if (a.least_tile > a.rows) return error{errc::no_feasible_tiling, a.rows, a.least_tile, a.max_tiles};
  return {};
}

}  // namespace hocket::inline HOCKET_ABI::tiling
