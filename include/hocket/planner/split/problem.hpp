// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/arithmetic.hpp>
#include <hocket/core/bytes.hpp>
#include <hocket/core/result.hpp>
#include <hocket/planner/split/in_flight.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner {

/// One way to run a layer: what it keeps of each micro-batch until its backward pass, and what it computes again there.
struct level {
  bytes kept{};                       ///< per micro-batch in flight
  std::chrono::nanoseconds extra{0};  ///< per micro-batch, on top of forward and backward
  friend constexpr bool operator==(const level&, const level&) = default;
};

/// Most levels that a layer may have.
inline constexpr std::size_t max_levels = 8;

/// The levels of a layer, numbered from 0 as they are listed: {{44_MiB, 0ms}, {24_MiB, 2ms}, {3_MiB, 19ms}}.
class level_list {
 public:
  constexpr level_list() noexcept = default;
  /// Precondition: at most max_levels.
  constexpr level_list(std::initializer_list<level> list) noexcept {
    for (const level& x : list) push_back(x);
  }
  constexpr void push_back(const level& x) noexcept {
    HOCKET_ASSERT(size_ < max_levels);
    levels_[size_++] = x;
  }
  [[nodiscard]] constexpr std::uint32_t size() const noexcept { return size_; }
  [[nodiscard]] constexpr const level& operator[](std::uint32_t k) const noexcept {
    HOCKET_ASSERT(k < size_);
    return levels_[k];
  }
  friend constexpr bool operator==(const level_list&, const level_list&) = default;

 private:
  std::array<level, max_levels> levels_{};
  std::uint32_t size_ = 0;
};

/// A layer: its time, its weights with their optimizer states, its levels (at least one).
struct layer {
  std::chrono::nanoseconds time{0};  ///< forward + backward of one micro-batch, without recomputation
  bytes weights{};                   ///< what stays on its rank
  level_list levels;
  friend constexpr bool operator==(const layer&, const layer&) = default;
};

/// `count` equal layers in a row. A model is a list of these: 3 dense layers, then 58 with experts.
struct split_layers {
  layer each;
  std::int64_t count = 1;
};

/// One pipeline rank: its memory, and what it has besides layers (embedding, head, workspace).
struct rank_room {
  bytes capacity{};
  bytes fixed{};                     ///< of it, besides the layers
  std::chrono::nanoseconds time{0};  ///< per micro-batch, besides the layers
};

/// What a good plan is.
enum class objective : std::uint8_t {
  step_time,     ///< least Σ t + (m v - 1) max t over the rank times t, v times the time of one training step
  slowest_rank,  ///< least max t (what is proved is that); among those the least Σ t found
};

[[nodiscard]] constexpr std::string_view to_string(objective goal) noexcept {
  return goal == objective::step_time ? "step_time" : "slowest_rank";
}

/// Which layers run on which stage, and which of them compute again what they did not keep: the question. It owns all
/// that it says.
///
///     using namespace hocket::literals;
///     using namespace std::chrono_literals;
///     const planner::level_list levels{{44_MiB, 0ms}, {24_MiB, 2ms}, {3_MiB, 19ms}};
///     const planner::split_problem problem{
///         .layers = {{{.time = 57ms, .weights = 20_MiB, .levels = levels}, 9}},
///         .ranks = {{401_MiB, 40_MiB, 6ms}, {401_MiB}, {401_MiB}, {401_MiB, 39_MiB, 5ms}},
///         .in_flight = planner::in_flight_profile::make_one_f_one_b(4, 4).value(),
///         .micro_batches = 4};
///     planner::solve(problem)->step_time == 1039ms;
struct split_problem {
  std::vector<split_layers> layers;
  std::vector<rank_room> ranks;
  in_flight_profile in_flight;     ///< of the schedule: in_flight_profile::make(schedule)
  std::int64_t micro_batches = 1;  ///< m
  objective goal = objective::step_time;
  /// Layers of each stage in model order, if the split is given and only the levels are to be chosen.
  std::vector<std::int64_t> split{};
  /// Most layers that a stage may have; 0: any. The step time is exact for equal stages: with several chunks, stages of
  /// very different length can make it mean little, and a limit near layers / stages keeps them alike.
  std::int64_t max_on_stage = 0;
  /// Most partial plans looked at where no closed form exists (several chunks per rank). A plan says if it ran out. All
  /// beyond 2^40 is the same.
  std::int64_t budget = 2'000'000;
};

namespace detail {

inline constexpr std::int64_t max_layers = 4096;
inline constexpr std::int64_t max_field = std::int64_t{1} << 50;  // nanoseconds or bytes; sums and products fit
inline constexpr std::int64_t max_sum = (std::int64_t{1} << 61) - 1;

/// The sums over a problem beyond which arithmetic would not fit.
struct split_sums {
  std::int64_t layers = 0, time = 0, kept = 0;
};

[[nodiscard]] inline result<void> check_field(std::int64_t value, std::string_view name) {
  if (value >= 0 && value <= max_field) return {};
  return error{errc::out_of_range, value, 0, max_field}.with(name);
}

[[nodiscard]] inline result<void> check_layers(const split_layers& run, split_sums& sums) {
  if (run.count < 1) return error{errc::out_of_range, run.count, 1, max_layers}.with("count of layers");
  if (run.count > max_layers - sums.layers)
    return error{errc::out_of_range, sums.layers + (std::min)(run.count, max_field), 1, max_layers}.with(
        "layers of the model");
  sums.layers += run.count;
  if (const auto ok = check_field(run.each.time.count(), "time of a layer"); !ok) return ok;
  if (const auto ok = check_field(run.each.weights.count(), "weights of a layer"); !ok) return ok;
  if (run.each.levels.size() == 0) return error{errc::out_of_range, 0, 1, max_levels}.with("levels of a layer");
  std::int64_t extra = 0;
  std::int64_t kept = 0;
  for (std::uint32_t k = 0; k < run.each.levels.size(); ++k) {
    const level& x = run.each.levels[k];
    if (const auto ok = check_field(x.kept.count(), "bytes of a level"); !ok) return ok;
    if (const auto ok = check_field(x.extra.count(), "extra time of a level"); !ok) return ok;
    extra = (std::max)(extra, std::int64_t{x.extra.count()});
    kept = (std::max)(kept, x.kept.count());
  }
  std::int64_t time = 0;
  std::int64_t all = 0;
  if (checked_multiply(std::int64_t{run.each.time.count()} + extra, run.count, time) &&
      checked_add(sums.time, time, sums.time) && checked_multiply(run.each.weights.count() + kept, run.count, all) &&
      checked_add(sums.kept, all, sums.kept))
    return {};
  return error{errc::overflow, run.count}.with("a run of layers");
}

[[nodiscard]] inline result<void> check_rank(const rank_room& room, split_sums& sums) {
  if (const auto ok = check_field(room.capacity.count(), "capacity"); !ok) return ok;
  if (const auto ok = check_field(room.fixed.count(), "fixed bytes"); !ok) return ok;
  if (const auto ok = check_field(room.time.count(), "time of a rank"); !ok) return ok;
  if (!checked_add(sums.time, std::int64_t{room.time.count()}, sums.time))
    return error{errc::overflow, sums.time, room.time.count()}.with("times");
  return {};
}

/// Whether bytes in flight and step times fit into 64 bits.
[[nodiscard]] inline result<void> check_products(const split_problem& q, const split_sums& sums) {
  const std::int64_t p = q.in_flight.ranks();
  const std::int64_t v = q.in_flight.chunks();
  std::int64_t held = 1;
  for (std::uint32_t r = 0; r < p; ++r)
    for (std::uint32_t k = 0; k < q.in_flight.times(r); ++k) {
      std::int64_t sum = 0;
      for (const std::uint32_t n : q.in_flight.at(r, k)) sum += n;
      held = (std::max)(held, sum);
    }
  std::int64_t product = 0;
  if (!checked_multiply(sums.kept, held, product) || product > max_sum)
    return error{errc::overflow, sums.kept, held}.with("bytes in flight");
  if (!checked_multiply(q.micro_batches, v, product) || !checked_add(product, p, product) ||
      !checked_multiply(sums.time, product, product) || product > max_sum)
    return error{errc::overflow, sums.time, q.micro_batches}.with("step time");
  return {};
}

/// The given split and the most layers of a stage.
[[nodiscard]] inline result<void> check_stages(const split_problem& q, std::int64_t layers) {
  const std::int64_t stages = q.in_flight.stages();
  const error bad_shape{errc::bad_shape, q.in_flight.ranks(), q.in_flight.chunks(), q.micro_batches};
  if (layers < stages) return bad_shape.with("it has fewer layers than stages");
  const std::int64_t even = ceil_div(layers, stages);
  if (q.max_on_stage != 0 && (q.max_on_stage < even || q.max_on_stage > max_layers))
    return error{errc::out_of_range, q.max_on_stage, even, max_layers}.with("layers of a stage");
  if (q.split.empty()) return {};
  if (static_cast<std::int64_t>(q.split.size()) != stages)
    return bad_shape.with("the split has another number of stages");
  const std::int64_t longest = q.max_on_stage > 0 ? q.max_on_stage : layers;
  std::int64_t sum = 0;
  for (const std::int64_t n : q.split) {
    if (n < 1 || n > longest) return error{errc::out_of_range, n, 1, longest}.with("layers of a stage");
    sum += n;
  }
  if (sum != layers) return error{errc::out_of_range, sum, layers, layers}.with("layers of the split");
  return {};
}

}  // namespace detail

/// Whether a problem can be solved at all: its numbers lie in range, fit together, and leave arithmetic its room. What
/// memory allows is solve()'s matter. Errors: other_ranks, bad_shape, out_of_range, invalid_argument, overflow.
/// Complexity: O(runs of layers + counts of the profile).
[[nodiscard]] inline result<void> check(const split_problem& q) {
  const auto p = static_cast<std::int64_t>(q.ranks.size());
  if (p < 1 || p != std::int64_t{q.in_flight.ranks()})
    return error{errc::other_ranks, p, std::int64_t{q.in_flight.ranks()}};
  if (q.micro_batches < 1)
    return error{errc::bad_shape, p, q.in_flight.chunks(), q.micro_batches}.with("each must be at least 1");
  if (q.budget < 0) return error{errc::invalid_argument, q.budget}.with("a negative budget");
  detail::split_sums sums;
  for (const split_layers& run : q.layers)
    if (const auto ok = detail::check_layers(run, sums); !ok) return ok;
  for (const rank_room& room : q.ranks)
    if (const auto ok = detail::check_rank(room, sums); !ok) return ok;
  if (const auto ok = detail::check_products(q, sums); !ok) return ok;
  return detail::check_stages(q, sums.layers);
}

}  // namespace hocket::inline HOCKET_ABI::planner
