// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/detail/checked_answer.hpp>
#include <hocket/core/result.hpp>
#include <hocket/planner/split/detail/chunk_split.hpp>
#include <hocket/planner/split/detail/rank_path.hpp>
#include <hocket/planner/split/problem.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner {

/// Which layers a stage runs, and how.
struct split_stage {
  std::uint32_t rank = 0, chunk = 0;
  std::int64_t first_layer = 0, layers = 0;
  std::vector<std::uint32_t> levels;  ///< of each layer; of equal neighbours the dearest first
};

/// What that means for a rank.
struct split_rank {
  std::chrono::nanoseconds time{0};   ///< per micro-batch, with what is computed again
  std::chrono::nanoseconds extra{0};  ///< of it, computed again
  bytes used{};                       ///< at its fullest time
  bytes unused{};                     ///< of its capacity
};

/// The answer to a split_problem.
struct split_plan {
  std::chrono::nanoseconds slowest{0};      ///< max t over the ranks
  std::chrono::nanoseconds total{0};        ///< Σ t
  std::chrono::nanoseconds step_time{0};    ///< Σ t + (m v - 1) max t, exact for equal stages; or simulated
  std::chrono::nanoseconds lower_bound{0};  ///< on what was minimised: no plan is below
  std::int64_t steps = 1;                   ///< `step_time` is that of so many steps: v, or 1 where it was simulated
  bool proved = false;                      ///< they are equal: no better plan exists
  std::vector<split_stage> stages;          ///< in model order
  std::vector<split_rank> ranks;

  /// Layers of a rank at a level, all its chunks together.
  [[nodiscard]] std::int64_t layers_at(std::uint32_t rank, std::uint32_t level) const noexcept {
    std::int64_t n = 0;
    for (const split_stage& s : stages)
      if (s.rank == rank) n += std::count(s.levels.begin(), s.levels.end(), level);
    return n;
  }
  /// What the problem asked for: `step_time` or `slowest`.
  [[nodiscard]] std::chrono::nanoseconds value(objective goal) const noexcept {
    return goal == objective::step_time ? step_time : slowest;
  }
};

namespace detail {

/// The levels for a split that is given: exact for one chunk and two, else with a bound by prices.
[[nodiscard]] inline result<raw_split> levels_of_given(const split_numbers& q, const segment_fronts& fronts,
                                                       rank_levels& choose) {
  std::vector<std::int64_t> cuts{0};
  for (const std::int64_t n : q.split) cuts.push_back(cuts.back() + n);
  raw_split raw = split_at(q, cuts);
  std::int64_t lack = 0;
  std::uint32_t binding = 0;
  ticks slowest = 0;
  ticks sum = 0;
  for (std::uint32_t r = 0; r < q.ranks.size(); ++r) {
    const std::int64_t missing = choose.leanest_bytes(r, raw.parts[r]) - q.ranks[r].capacity;
    if (missing > lack) binding = r;
    lack = (std::max)(lack, missing);
    if (lack > 0) continue;
    raw.answers[r] = choose(r, raw.parts[r]);
    const ticks time = choose.base_time(r, raw.parts[r]) + raw.answers[r].extra;
    slowest = (std::max)(slowest, time);
    sum += time;
  }
  if (lack > 0) return error{errc::does_not_fit, binding, lack}.with("the given split");
  const bool all_quickest = sum == base_time(q, fronts) + fronts.quickest(0, fronts.layers()).extra;
  raw.proved = all_quickest || q.in_flight.chunks() <= 2;
  if (!raw.proved) raw.bound = price_bound(q, fronts)(q.value(slowest, sum));
  return raw;
}

[[nodiscard]] inline split_plan written_out(const split_numbers& q, segment_fronts& fronts, const rank_levels& choose,
                                            const raw_split& raw) {
  using std::chrono::nanoseconds;
  split_plan plan;
  plan.stages.resize(q.in_flight.stages());
  plan.ranks.resize(q.ranks.size());
  std::int64_t layer = 0;
  for (std::uint32_t s = 0; s < q.in_flight.stages(); ++s) {
    const std::uint32_t r = q.in_flight.rank_of(s);
    const std::uint32_t c = q.in_flight.chunk_of(s);
    const segment& own = raw.parts[r][c];
    plan.stages[s] = {r, c, layer, own.size(), fronts.levels_of(own.begin, own.end, raw.answers[r].points[c])};
    layer += own.size();
  }
  for (std::uint32_t r = 0; r < q.ranks.size(); ++r) {
    const rank_answer& levels = raw.answers[r];
    const std::int64_t used =
        choose.constant(r, raw.parts[r]) + choose.fullest(r, [&](std::size_t c) { return levels.points[c].bytes; });
    split_rank& rank = plan.ranks[r];
    rank.extra = nanoseconds(levels.extra);
    rank.time = nanoseconds(choose.base_time(r, raw.parts[r])) + rank.extra;
    rank.used = bytes(used);
    rank.unused = bytes(q.ranks[r].capacity - used);
    plan.total += rank.time;
    plan.slowest = (std::max)(plan.slowest, rank.time);
  }
  plan.step_time = plan.total + q.weight_of_slowest * plan.slowest;
  plan.steps = q.in_flight.chunks();
  return plan;
}

/// What a rank needs and takes in a plan, from the layers themselves and not from what the engines counted.
class counted_rank {
 public:
  explicit counted_rank(const rank_room& room, std::uint32_t chunks)
      : kept(chunks, 0), bytes_besides(room.fixed.count()), time(room.time.count()) {}

  std::vector<std::int64_t> kept;  ///< bytes per micro-batch, by chunk
  std::int64_t bytes_besides, time;
  std::int64_t extra = 0;
};

/// The stages of a plan against the problem: layers in order, each once, with levels that they have. Adds them up by
/// rank. Errors: errc::wrong_answer.
[[nodiscard]] inline result<void> count_stages(const split_problem& q, const split_plan& plan,
                                               std::vector<counted_rank>& ranks) {
  using hocket::detail::expect_equal;
  using hocket::detail::expect_within;
  std::size_t run = 0;
  std::int64_t of_run = 0;  // layers of the run that are passed
  std::int64_t layer = 0;
  for (std::uint32_t s = 0; s < plan.stages.size(); ++s) {
    const split_stage& stage = plan.stages[s];
    if (const auto ok = expect_equal(stage.rank, q.in_flight.rank_of(s), "the rank of a stage"); !ok) return ok;
    if (const auto ok = expect_equal(stage.chunk, q.in_flight.chunk_of(s), "the chunk of a stage"); !ok) return ok;
    if (const auto ok = expect_equal(stage.first_layer, layer, "the first layer of a stage"); !ok) return ok;
    const std::int64_t most = q.max_on_stage > 0 ? q.max_on_stage : max_layers;
    if (const auto ok = expect_within(stage.layers, 1, most, "the layers of a stage"); !ok) return ok;
    if (!q.split.empty())
      if (const auto ok = expect_equal(stage.layers, q.split[s], "the layers of a stage"); !ok) return ok;
    const auto levels = static_cast<std::int64_t>(stage.levels.size());
    if (const auto ok = expect_equal(levels, stage.layers, "the levels of a stage"); !ok) return ok;
    counted_rank& rank = ranks[stage.rank];
    for (const std::uint32_t level : stage.levels) {
      for (; run < q.layers.size() && of_run == q.layers[run].count; ++run) of_run = 0;
      if (run == q.layers.size()) return hocket::detail::expect_within(layer, 0, layer - 1, "a layer of a stage");
      const planner::layer& each = q.layers[run].each;
      if (const auto ok = expect_within(level, 0, std::int64_t{each.levels.size()} - 1, "the level of a layer"); !ok)
        return ok;
      rank.kept[stage.chunk] += each.levels[level].kept.count();
      rank.bytes_besides += each.weights.count();
      rank.extra += each.levels[level].extra.count();
      rank.time += each.time.count() + each.levels[level].extra.count();
      ++of_run;
      ++layer;
    }
  }
  std::int64_t layers = 0;
  for (const split_layers& x : q.layers) layers += x.count;
  return expect_equal(layer, layers, "the layers of all stages");
}

/// Whether a plan answers the problem and is what it says of itself: the check that solve() ends with.
/// @param simulated  the time of a step, if it is not that of the formula
/// Errors: errc::wrong_answer. O(layers + stages + counts of the profile).
[[nodiscard]] inline result<void> check_answer(const split_problem& q, const split_plan& plan,
                                               std::optional<std::int64_t> simulated = std::nullopt) {
  using hocket::detail::expect_equal;
  using hocket::detail::expect_within;
  const auto stages = static_cast<std::int64_t>(plan.stages.size());
  if (const auto ok = expect_equal(stages, q.in_flight.stages(), "the number of stages"); !ok) return ok;
  const auto ranks = static_cast<std::int64_t>(plan.ranks.size());
  if (const auto ok = expect_equal(ranks, q.in_flight.ranks(), "the number of ranks"); !ok) return ok;
  std::vector<counted_rank> counted;
  for (const rank_room& room : q.ranks) counted.emplace_back(room, q.in_flight.chunks());
  if (const auto ok = count_stages(q, plan, counted); !ok) return ok;
  std::int64_t total = 0;
  std::int64_t slowest = 0;
  for (std::uint32_t r = 0; r < counted.size(); ++r) {
    const counted_rank& rank = counted[r];
    std::int64_t fullest = 0;
    for (std::uint32_t k = 0; k < q.in_flight.times(r); ++k) {
      const auto held = q.in_flight.at(r, k);
      std::int64_t bytes = 0;
      for (std::size_t c = 0; c < held.size(); ++c) bytes += held[c] * rank.kept[c];
      fullest = (std::max)(fullest, bytes);
    }
    const std::int64_t used = rank.bytes_besides + fullest;
    if (const auto ok = expect_within(used, 0, q.ranks[r].capacity.count(), "the bytes of a rank"); !ok) return ok;
    if (const auto ok = expect_equal(plan.ranks[r].used.count(), used, "the bytes of a rank"); !ok) return ok;
    if (const auto ok = expect_equal(plan.ranks[r].time.count(), rank.time, "the time of a rank"); !ok) return ok;
    if (const auto ok = expect_equal(plan.ranks[r].extra.count(), rank.extra, "the extra time of a rank"); !ok)
      return ok;
    total += rank.time;
    slowest = (std::max)(slowest, rank.time);
  }
  const std::int64_t formula = total + (q.micro_batches * q.in_flight.chunks() - 1) * slowest;
  const std::int64_t step = simulated.value_or(formula);
  if (const auto ok = expect_equal(plan.slowest.count(), slowest, "the time of the slowest rank"); !ok) return ok;
  if (const auto ok = expect_equal(plan.step_time.count(), step, "the step time"); !ok) return ok;
  return expect_within(plan.lower_bound.count(), 0, plan.value(q.goal).count(), "the lower bound");
}

/// @param start  cuts of a plan to begin with, or nothing: only unequal layers on several chunks need one
[[nodiscard]] inline result<split_plan> solve_from(const split_problem& problem, std::span<const std::int64_t> start) {
  if (const auto ok = check(problem); !ok) return ok.error();
  const split_numbers q(problem);
  segment_fronts fronts(problem.layers);
  rank_levels choose(q, fronts);
  const auto find = [&]() -> result<raw_split> {
    if (!q.split.empty()) return levels_of_given(q, fronts, choose);
    if (q.in_flight.chunks() == 1 || fronts.uniform()) return rank_path(q, fronts, choose)();
    return chunk_split(q, fronts, choose)(start);
  };
  const result<raw_split> raw = find();
  if (!raw) return raw.error();
  split_plan plan = written_out(q, fronts, choose, *raw);
  const std::chrono::nanoseconds reached = plan.value(q.goal);
  if (raw->proved && !fronts.overflowed()) {
    plan.lower_bound = reached;
  } else {
    const ticks whatever_memory = q.value(least_slowest(q, fronts), base_time(q, fronts));
    plan.lower_bound = std::chrono::nanoseconds((std::max)(whatever_memory, fronts.overflowed() ? 0 : raw->bound));
  }
  plan.proved = reached == plan.lower_bound;
  if (const auto ok = check_answer(problem, plan); !ok) return ok.error();
  return plan;
}

}  // namespace detail

/// The layer-to-stage split and the level of every layer that fit the memory of each rank with the least time. It is
/// exact for one chunk per rank, and for equal layers within the budget. Else it is found by moves, with a bound beside
/// it. All decisions are made in integers, so that every machine finds the same plan.
/// Errors: those of check(); errc::limit_exceeded if the budget ran out before any plan was found; errc::does_not_fit.
/// The values of the last are the rank that binds and the bytes it lacks in the split that lacks least. For unequal
/// layers on several chunks that is the best one found. errc::wrong_answer if the plan breaks the problem or its own
/// figures, which is checked at the end and would be a defect of the library. Complexity: one chunk, equal layers: O(p
/// n² log n) for n layers on a stage, and a few times O(p·slack²), where slack is by how many layers the stages could
/// grow within the best time. Source: docs/planner.md, "Stage split".
[[nodiscard]] inline result<split_plan> solve(const split_problem& problem) { return detail::solve_from(problem, {}); }

}  // namespace hocket::inline HOCKET_ABI::planner
