// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/core/result.hpp>
#include <hocket/planner/split/detail/split_by_rank.hpp>
#include <hocket/planner/split/detail/split_by_stage.hpp>
#include <hocket/planner/split/problem.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner {

/// Which layers a stage runs, and how.
struct stage_plan {
  std::uint32_t rank = 0, chunk = 0;
  std::int64_t first_layer = 0, layers = 0;
  std::vector<std::uint32_t> levels;  ///< of each layer; of equal neighbours the dearest first
};

/// What that means for a rank.
struct rank_plan {
  ticks time = 0;           ///< per micro-batch, with what is computed again
  ticks extra = 0;          ///< of it, computed again
  std::int64_t bytes = 0;   ///< at its fullest time
  std::int64_t unused = 0;  ///< capacity - bytes
};

/// The answer of split().
struct split_plan {
  ticks slowest = 0;      ///< max t over the ranks
  ticks total = 0;        ///< Σ t
  ticks step_time = 0;    ///< Σ t + (m v - 1) max t: v times the time of one training step, exact for equal stages
  ticks lower_bound = 0;  ///< on what was minimised: no plan is below. Equal to it if `proved`
  bool proved = false;    ///< no better plan exists
  std::vector<stage_plan> stages;  ///< in model order
  std::vector<rank_plan> ranks;

  /// Layers of a rank at a level, all its chunks together.
  [[nodiscard]] std::int64_t layers_at(std::uint32_t rank, std::uint32_t level) const noexcept {
    std::int64_t n = 0;
    for (const stage_plan& s : stages)
      if (s.rank == rank)
        for (const std::uint32_t k : s.levels) n += k == level ? 1 : 0;
    return n;
  }
};

namespace detail {

[[nodiscard]] inline result<void> validate(const split_problem& q) {
  const auto p = static_cast<std::int64_t>(q.ranks.size());
  const std::int64_t v = q.in_flight.chunks();
  if (p < 1 || p != std::int64_t{q.in_flight.ranks()})
    return error{errc::other_ranks, p, std::int64_t{q.in_flight.ranks()}};
  if (q.micro_batches < 1) return error{errc::bad_shape, p, v, q.micro_batches}.with("each must be at least 1");
  constexpr std::int64_t most_bytes = std::int64_t{1} << 50, most_layers = 4096;
  const auto in_range = [](std::int64_t x) { return x >= 0 && x <= most_bytes; };
  std::int64_t layers = 0, time = 0, bytes = 0;
  for (const layer_run& run : q.layers) {
    if (run.count < 1 || run.count > most_layers - layers)
      return error{errc::out_of_range, run.count, 1, most_layers - layers}.with("layers");
    layers += run.count;
    if (!in_range(run.of.time)) return error{errc::out_of_range, run.of.time, 0, most_bytes}.with("time of a layer");
    if (!in_range(run.of.weights))
      return error{errc::out_of_range, run.of.weights, 0, most_bytes}.with("weights of a layer");
    if (run.of.levels.size() == 0) return error{errc::out_of_range, 0, 1, max_levels}.with("levels of a layer");
    std::int64_t extra = 0, kept = 0;
    for (std::uint32_t k = 0; k < run.of.levels.size(); ++k) {
      const level& x = run.of.levels[k];
      if (!in_range(x.bytes)) return error{errc::out_of_range, x.bytes, 0, most_bytes}.with("bytes of a level");
      if (!in_range(x.extra)) return error{errc::out_of_range, x.extra, 0, most_bytes}.with("extra time of a level");
      extra = x.extra > extra ? x.extra : extra, kept = x.bytes > kept ? x.bytes : kept;
    }
    std::int64_t t = 0, b = 0;
    if (!checked_multiply(run.of.time + extra, run.count, t) || !checked_add(time, t, time) ||
        !checked_multiply(run.of.weights + kept, run.count, b) || !checked_add(bytes, b, bytes))
      return error{errc::overflow, run.count}.with("a run of layers");
  }
  for (const rank_room& room : q.ranks) {
    if (!in_range(room.capacity)) return error{errc::out_of_range, room.capacity, 0, most_bytes}.with("capacity");
    if (!in_range(room.fixed)) return error{errc::out_of_range, room.fixed, 0, most_bytes}.with("fixed bytes");
    if (!in_range(room.time)) return error{errc::out_of_range, room.time, 0, most_bytes}.with("time of a rank");
    if (!checked_add(time, room.time, time)) return error{errc::overflow, time, room.time}.with("times");
  }
  std::int64_t held = 1, product = 0;
  for (std::uint32_t r = 0; r < q.in_flight.ranks(); ++r)
    for (std::uint32_t k = 0; k < q.in_flight.times(r); ++k) {
      std::int64_t sum = 0;
      for (const std::uint32_t n : q.in_flight.at(r, k)) sum += n;
      held = sum > held ? sum : held;
    }
  if (!checked_multiply(bytes, held, product) || product > never)
    return error{errc::overflow, bytes, held}.with("bytes in flight");
  if (!checked_multiply(q.micro_batches, v, product) || !checked_add(product, p, product) ||
      !checked_multiply(time, product, product) || product > never)
    return error{errc::overflow, time, q.micro_batches}.with("step time");
  if (layers < p * v) return error{errc::bad_shape, p, v, q.micro_batches}.with("it has fewer layers than stages");
  if (q.budget < 0) return error{errc::invalid_argument, q.budget}.with("a negative budget");
  if (q.most_on_stage < 0 || q.most_on_stage > most_layers ||
      (q.most_on_stage > 0 && q.most_on_stage < ceil_div(layers, p * v)))
    return error{errc::out_of_range, q.most_on_stage, ceil_div(layers, p * v), most_layers}.with("layers of a stage");
  if (!q.split.empty()) {
    if (static_cast<std::int64_t>(q.split.size()) != p * v)
      return error{errc::bad_shape, p, v, q.micro_batches}.with("the split has another number of stages");
    std::int64_t sum = 0;
    const std::int64_t longest = q.most_on_stage > 0 ? q.most_on_stage : layers;
    for (const std::int64_t n : q.split) {
      if (n < 1 || n > longest) return error{errc::out_of_range, n, 1, longest}.with("layers of a stage");
      sum += n;
    }
    if (sum != layers) return error{errc::out_of_range, sum, layers, layers}.with("layers of the split");
  }
  return {};
}

/// @param start  cuts of a plan to begin with, or nothing: only unequal layers on several chunks need one
[[nodiscard]] inline result<split_plan> split_from(const split_problem& q, std::span<const std::int64_t> start) {
  if (const auto ok = validate(q); !ok) return ok.error();
  if (q.budget > most_budget) {
    split_problem less = q;
    less.budget = most_budget;
    return split_from(less, start);
  }
  segment_fronts fronts(q.layers);
  std::int64_t expansions = 0;
  rank_choice choose(q, fronts, expansions);
  const auto p = static_cast<std::uint32_t>(q.ranks.size());
  const std::uint32_t v = q.in_flight.chunks();

  result<raw_split> raw = [&]() -> result<raw_split> {
    if (!q.split.empty()) return given_split(q, fronts, choose);
    if (v == 1 || fronts.uniform()) return split_by_rank(q, fronts, choose, expansions)();
    return split_by_stage(q, fronts, choose, expansions)(start);
  }();
  if (!raw) return raw.error();

  split_plan plan;
  const std::int64_t weight = weight_of_slowest(q);
  plan.stages.resize(std::size_t{p} * v);
  plan.ranks.resize(p);
  std::int64_t layer = 0;
  for (std::uint32_t s = 0; s < p * v; ++s) {
    const std::uint32_t r = q.in_flight.rank_of(s), c = q.in_flight.chunk_of(s);
    const segment& own = raw->parts[r][c];
    stage_plan& stage = plan.stages[s];
    stage.rank = r, stage.chunk = c, stage.first_layer = layer, stage.layers = own.end - own.begin;
    stage.levels = fronts.levels_of(own.begin, own.end, raw->answers[r].points[c]);
    layer += stage.layers;
  }
  for (std::uint32_t r = 0; r < p; ++r) {
    rank_plan& rank = plan.ranks[r];
    rank.extra = raw->answers[r].extra;
    rank.time = choose.base_time(r, raw->parts[r]) + rank.extra;
    std::int64_t most = 0;
    for (std::uint32_t k = 0; k < q.in_flight.times(r); ++k) {
      std::int64_t bytes = 0;
      for (std::uint32_t c = 0; c < v; ++c) bytes += q.in_flight.at(r, k)[c] * raw->answers[r].points[c].bytes;
      most = bytes > most ? bytes : most;
    }
    rank.bytes = choose.constant(r, raw->parts[r]) + most;
    rank.unused = q.ranks[r].capacity - rank.bytes;
    plan.total += rank.time;
    plan.slowest = rank.time > plan.slowest ? rank.time : plan.slowest;
  }
  plan.step_time = plan.total + weight * plan.slowest;
  plan.proved = raw->proved && !choose.exhausted() && !fronts.overflowed();
  const ticks reached = q.goal == objective::step_time ? plan.step_time : plan.slowest;
  if (plan.proved) {
    plan.lower_bound = reached;
  } else {
    ticks all = fronts.time(0, fronts.layers());
    for (const rank_room& room : q.ranks) all += room.time;
    const ticks least = least_slowest(q, fronts);
    plan.lower_bound = q.goal == objective::step_time ? all + weight * least : least;
  }
  if (!fronts.overflowed()) plan.lower_bound = raw->bound > plan.lower_bound ? raw->bound : plan.lower_bound;
  plan.proved = reached == plan.lower_bound;
  return plan;
}

}  // namespace detail

/// The layer-to-stage split and the level of every layer that fit the memory of each rank with the least time: exact
/// for one chunk per rank, and within a budget for several (equal layers, and two chunks, mostly; more chunks of
/// unequal layers where bound and plan meet); what is not proved says how far it is from its bound. Time is in ticks,
/// memory in bytes, all decisions in integers, so that every machine finds the same plan.
/// Errors: errc::does_not_fit (values: the rank that binds, the bytes it lacks in the split that lacks least; of
/// unequal layers on several chunks in the best one found), bad_shape, out_of_range, overflow; limit_exceeded if the
/// budget ran out before any plan was found. Complexity: one chunk, equal layers: O(p n² log n) for n layers on a
/// stage, and a few times O(p·slack²), where slack is by how many layers the stages could grow within the best time.
/// Source: docs/planner.md, "Stage split".
[[nodiscard]] inline result<split_plan> split(const split_problem& q) { return detail::split_from(q, {}); }

}  // namespace hocket::inline HOCKET_ABI::planner
