// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/core/result.hpp>
#include <hocket/core/time.hpp>
#include <hocket/planner/split/in_flight.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>

namespace hocket::inline HOCKET_ABI::planner {

/// One way to run a layer: what it keeps of each micro-batch until its backward pass, and what it computes again there.
struct level {
  std::int64_t bytes = 0;  ///< kept per micro-batch in flight
  ticks extra = 0;         ///< per micro-batch, on top of forward and backward
  friend constexpr bool operator==(const level&, const level&) = default;
};

/// Most levels that a layer may have.
inline constexpr std::size_t max_levels = 8;

/// The levels of a layer, numbered from 0 as they are listed: {{44, 0}, {24, 2}, {3, 19}}.
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
  ticks time = 0;            ///< forward + backward of one micro-batch, without recomputation
  std::int64_t weights = 0;  ///< bytes that stay on its rank
  level_list levels;
  friend constexpr bool operator==(const layer&, const layer&) = default;
};

/// `count` equal layers in a row. A model is a list of runs: 3 dense layers, then 58 with experts.
struct layer_run {
  layer of;
  std::int64_t count = 1;
};

/// One pipeline rank: its memory, and what it has besides layers (embedding, head, workspace).
struct rank_room {
  std::int64_t capacity = 0;  ///< bytes
  std::int64_t fixed = 0;     ///< bytes besides the layers
  ticks time = 0;             ///< per micro-batch, besides the layers
};

/// What a good plan is.
enum class objective : std::uint8_t {
  step_time,     ///< least Σ t + (m v - 1) max t over the rank times t, v times the time of one training step
  slowest_rank,  ///< least max t (what is proved is that); among those the least Σ t found
};

/// Which layers run on which stage, and which of them compute again what they did not keep: the question.
/// All spans are borrowed.
///
///     using namespace hocket::planner;
///     const layer_run layers[] = {{{.time = 57, .weights = 20, .levels = {{44, 0}, {24, 2}, {3, 19}}}, 9}};
///     const rank_room ranks[] = {{401, 40, 6}, {401}, {401}, {401, 39, 5}};
///     const auto held = in_flight_profile::one_f_one_b(4, 4);
///     const auto plan = split({.layers = layers, .ranks = ranks, .in_flight = held, .micro_batches = 4});
///     plan->step_time == 1039;
struct split_problem {
  std::span<const layer_run> layers;
  std::span<const rank_room> ranks;
  const in_flight_profile& in_flight;  ///< of the schedule: in_flight_profile::of(schedule)
  std::int64_t micro_batches = 1;      ///< m
  objective goal = objective::step_time;
  /// Layers of each stage in model order, if the split is given and only the levels are to be chosen.
  std::span<const std::int64_t> split{};
  /// Most layers that a stage may have; 0: any. The step time is exact for equal stages: with several chunks, stages of
  /// very different length can make it mean little, and a limit near layers / stages keeps them alike.
  std::int64_t most_on_stage = 0;
  /// Most partial plans looked at where no closed form exists (several chunks per rank). A plan says if it ran out. All
  /// beyond 2^40 is the same.
  std::int64_t budget = 2'000'000;
};

namespace detail {

inline constexpr std::int64_t most_budget = std::int64_t{1} << 40;  // so that products of it fit

/// How often the slowest rank's time counts in the step time, beside every rank's time once.
[[nodiscard]] inline std::int64_t weight_of_slowest(const split_problem& q) noexcept {
  return q.micro_batches * q.in_flight.chunks() - 1;
}

}  // namespace detail

}  // namespace hocket::inline HOCKET_ABI::planner
