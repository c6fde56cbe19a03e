// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/message.hpp>
#include <hocket/pipeline/any_schedule.hpp>
#include <hocket/planner/plan/rank_bytes.hpp>
#include <hocket/planner/plan/step_problem.hpp>
#include <hocket/planner/split/solve_schedule.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

// Which layers a stage of a step runs, and what each of them computes again: cost prices the layers, split/solve.hpp
// chooses.
namespace hocket::inline HOCKET_ABI::planner {
// NOLINTBEGIN(bugprone-unchecked-optional-access): what is read there, check() or the caller has seen

/// A split of a step's layers, where that is not the even one.
struct layer_split {
  std::vector<cost::recompute_choice> levels;  ///< what the levels of `plan` mean
  split_plan plan;
  bool searched = false;
  double step_seconds = 0, even_seconds = 0;  ///< of all micro-batches; 0: not known, or nothing even fits
  std::vector<cost::rank_layers> stages;      ///< what stands on each in model order, and is computed again
};

/// What a split was asked for, and why there may be none.
struct split_answer {
  std::optional<layer_split> split;
  std::string why_even;  ///< why an open split was not chosen; empty: none is open, or it was
};

/// What a layer may compute again: every level if the step leaves it open, else what it says; in both cases with what
/// every layer computes again.
[[nodiscard]] inline std::vector<cost::recompute_choice> levels_of(const step_problem& q) {
  using cost::recompute;
  if (!q.search_recompute) return {{q.parallel.recompute, q.replay}};
  cost::replay_set with_activation = q.replay;
  with_activation.activation = true;
  std::vector<cost::recompute_choice> out{{recompute::none, q.replay}};
  if (!q.replay.activation) out.push_back({recompute::none, with_activation});
  if (!q.training.flash_attention) out.push_back({recompute::selective, q.replay});
  out.push_back({recompute::full, {}});
  return out;
}

namespace detail {

/// Finds a split of one step: the problem as split/solve_schedule.hpp takes it, and what its answers mean.
class split_finder {
 public:
  split_finder(const step_problem& q, const in_flight_profile& held, const pipeline::any_schedule& schedule, bool quick)
      : q_(q), held_(held), schedule_(schedule), budget_(quick ? quick_budget : split_problem{}.budget) {}

  /// Prices layers and ranks. Errors: those of the formulas.
  [[nodiscard]] result<void> prepare() {
    levels_ = levels_of(q_);
    if (const auto ok = price_layers(); !ok) return ok;
    return price_ranks();
  }

  /// The best split, or the best levels of a given one. Layers recomputed whole need room for all of their tensors
  /// once, so plans with such layers are looked for by themselves: with them, every rank keeps that room.
  /// @param cut  layers of each stage; empty: any
  [[nodiscard]] result<split_plan> solve(const std::vector<std::int64_t>& cut) const {
    std::optional<split_plan> best;
    error why{errc::does_not_fit};
    bool known = true;  // whether each of the two is bounded or impossible
    std::chrono::nanoseconds bound = (std::chrono::nanoseconds::max)();
    for (const bool with_whole : {false, true}) {
      const std::vector<std::uint32_t> numbers = levels_with(with_whole);
      if (numbers.empty() || (with_whole && !has_whole())) continue;
      auto plan = planner::solve(problem_with(with_whole, numbers, cut), schedule_, run_);
      if (!plan) {
        why = plan.error();
        known = known && why.code == errc::does_not_fit;
        continue;
      }
      bound = (std::min)(bound, plan->lower_bound);
      for (split_stage& stage : plan->stages)
        for (std::uint32_t& level : stage.levels) level = numbers[level];
      if (!best || plan->step_time < best->step_time) best = std::move(*plan);
    }
    if (!best) return why;
    best->lower_bound = known ? bound : std::chrono::nanoseconds(0);
    best->proved = best->step_time == best->lower_bound;
    return *std::move(best);
  }

  /// A split that is given, every layer at the leanest level.
  [[nodiscard]] split_plan as_given() const {
    split_plan out;
    std::int64_t layer = 0;
    const auto level = static_cast<std::uint32_t>(levels_.size() - 1);
    for (std::uint32_t s = 0; s < q_.split.size(); ++s) {
      const std::vector<std::uint32_t> levels(static_cast<std::size_t>(q_.split[s]), level);
      out.stages.push_back({held_.rank_of(s), held_.chunk_of(s), layer, q_.split[s], levels});
      layer += q_.split[s];
    }
    return out;
  }

  /// What a plan puts on each stage.
  [[nodiscard]] result<layer_split> named(split_plan plan) const {
    layer_split out{.levels = levels_, .plan = std::move(plan), .searched = q_.split.empty(), .stages = {}};
    std::vector<std::int64_t> sizes;
    for (const split_stage& stage : out.plan.stages) sizes.push_back(stage.layers);
    auto stages = layers_of_stages(q_.model, q_.parallel, sizes);
    if (!stages) return stages.error();
    for (std::size_t s = 0; s < stages->size(); ++s)
      out.stages.push_back(with_levels((*stages)[s], out.plan.stages[s]));
    return out;
  }

 private:
  [[nodiscard]] bool has_whole() const {
    return std::any_of(levels_.begin(), levels_.end(),
                       [](const cost::recompute_choice& x) { return x.level == cost::recompute::full; });
  }
  [[nodiscard]] std::vector<std::uint32_t> levels_with(bool whole) const {
    std::vector<std::uint32_t> out;
    for (std::uint32_t k = 0; k < levels_.size(); ++k)
      if (whole || levels_[k].level != cost::recompute::full) out.push_back(k);
    return out;
  }

  [[nodiscard]] split_problem problem_with(bool whole, const std::vector<std::uint32_t>& numbers,
                                           const std::vector<std::int64_t>& cut) const {
    split_problem out{.layers = layers_,
                      .ranks = rooms_,
                      .in_flight = held_,
                      .micro_batches = q_.micro_batches(),
                      .split = cut,
                      .budget = budget_};
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      out.layers[i].each.levels = {};
      for (const std::uint32_t k : numbers) out.layers[i].each.levels.push_back(layers_[i].each.levels[k]);
    }
    for (std::size_t r = 0; whole && r < rooms_.size(); ++r) out.ranks[r].fixed = fixed_with_whole_[r];
    return out;
  }

  /// A stage whose layers run at the levels of a plan. What belongs to an end is not a layer: it keeps all.
  [[nodiscard]] cost::rank_layers with_levels(const cost::rank_layers& stage, const split_stage& plan) const {
    cost::rank_layers out = stage;
    out.layers.clear();
    std::size_t layer = 0;
    for (cost::rank_run run : stage.layers) {
      run.how = {};
      if (run.place != cost::run_place::layer) {
        out.layers.push_back(run);
        continue;
      }
      for (std::int64_t left = run.count; left > 0; --left) {
        run.count = 1;
        run.how = levels_[plan.levels[layer++]];
        cost::rank_run* const last = out.layers.empty() ? nullptr : &out.layers.back();
        const bool same =
            last != nullptr && last->place == run.place && last->how == run.how && last->blocks == run.blocks;
        if (same) ++last->count;
        else out.layers.push_back(run);
      }
    }
    return out;
  }

  [[nodiscard]] result<seconds> seconds_of(const cost::layer_blocks& blocks, const cost::recompute_choice& how) const {
    const auto time = cost::time_of_layer(q_.model, blocks, q_.training, q_.parallel, *q_.on, how);
    if (!time) return time.error();
    return time->total();
  }
  [[nodiscard]] static std::chrono::nanoseconds whole(seconds x) {
    return std::chrono::nanoseconds(std::llround((std::max)(0.0, x.count()) * 1e9));
  }

  /// Layers as split/solve.hpp takes them. Every rank keeps room for the sets of weights that several layers share.
  [[nodiscard]] result<void> price_layers() {
    seconds forward{}, all{};
    for (const cost::repeated_layer& run : q_.model.layers) {
      split_layers one;
      one.count = run.count;
      const auto weights = static_bytes_of(q_, cost::own_of_layer(q_.model, run.blocks));
      if (!weights) return weights.error();
      one.each.weights = *weights;
      one.each.time = std::chrono::nanoseconds(1);
      seconds base{};
      if (q_.on) {
        const auto time = cost::time_of_layer(q_.model, run.blocks, q_.training, q_.parallel, *q_.on);
        if (!time) return time.error();
        base = time->total();
        one.each.time = whole(base);
        forward += static_cast<double>(run.count) * passes_of(1, *time).forward;
        all += static_cast<double>(run.count) * base;
      }
      for (const cost::recompute_choice& how : levels_) {
        const auto kept = kept_by_layer(q_, run.blocks, how);
        if (!kept) return kept.error();
        result<seconds> time = base;
        if (q_.on) time = seconds_of(run.blocks, how);
        if (!time) return time.error();
        one.each.levels.push_back({bytes_up(*kept), whole(*time - base)});
      }
      layers_.push_back(one);
    }
    constexpr std::int64_t parts = 4096;
    run_.whole_parts = parts;
    run_.forward_parts = all.count() > 0 ? std::llround((std::min)(forward / all, 0.5) * parts) : parts / 3;
    run_.hop = whole(hop_of(q_));
    return {};
  }

  /// What each rank has beside the layers that are split.
  [[nodiscard]] result<void> price_ranks() {
    rooms_.resize(held_.ranks());
    fixed_with_whole_.resize(held_.ranks());
    for (std::uint32_t r = 0; r < held_.ranks(); ++r) {
      const cost::rank_layers ends = ends_of_rank(q_, held_, r);
      for (const bool with_whole : {false, true}) {
        const auto beside = bytes_beside_layers(q_, held_, ends, with_whole);
        if (!beside) return beside.error();
        (with_whole ? fixed_with_whole_[r] : rooms_[r].fixed) = *beside;
      }
      rooms_[r].capacity = q_.memory.usable();
      if (!q_.on) continue;
      const auto time = time_of_stage(q_.model, ends, q_.training, q_.parallel, *q_.on);
      if (!time) return time.error();
      rooms_[r].time = whole(time->forward + time->backward);
    }
    return {};
  }

  static constexpr std::int64_t quick_budget = 20'000;

  const step_problem& q_;
  const in_flight_profile& held_;
  const pipeline::any_schedule& schedule_;
  std::int64_t budget_;
  split_run run_;
  std::vector<cost::recompute_choice> levels_;
  std::vector<split_layers> layers_;
  std::vector<rank_room> rooms_;
  std::vector<bytes> fixed_with_whole_;
};

}  // namespace detail

/// Chooses the split where a step leaves it open, or writes out the one it gives. Nothing if it is even.
/// @param held  what ranks hold in flight under the schedule
/// @param seconds_of  result<double>(const layer_split&): seconds of all micro-batches with such a split, simulated
/// Errors: those of the formulas; errc::contradictory_field for a given split with measured passes or offloaded
/// activations. Complexity: that of solve(split_problem, schedule), up to four times.
template <class Seconds>
[[nodiscard]] result<split_answer> split_of_step(const step_problem& q, const in_flight_profile& held,
                                                 const pipeline::any_schedule& schedule, const plan_options& how,
                                                 const Seconds& seconds_of) {
  split_answer out;
  if (!q.search_split && q.split.empty()) return out;
  if (q.parallel.offload_activations) out.why_even = "activations are offloaded";
  else if (q.measured) out.why_even = "stage times are measured, not those of layers";
  if (!out.why_even.empty() && q.split.empty()) return out;
  if (!out.why_even.empty()) return error{errc::contradictory_field}.with("a split: " + out.why_even);
  detail::split_finder find(q, held, schedule, how.effort != split_effort::full);
  const auto dealt = cost::dealt_stages(q.model, q.parallel);
  if (!dealt) return dealt.error();
  if (const auto ok = find.prepare(); !ok) return ok.error();
  result<split_plan> plan = error{errc::does_not_fit};
  if (q.on) plan = find.solve(q.split.empty() && how.effort == split_effort::levels ? *dealt : q.split);
  if (!plan && q.split.empty()) {
    out.why_even = "no split fits: " + message(plan.error());
    return out;
  }
  auto best = find.named(plan ? *std::move(plan) : find.as_given());
  if (!best) return best.error();
  out.split = *std::move(best);
  if (!q.on) return out;
  const result<double> time = seconds_of(*out.split);
  if (!time) return time.error();
  out.split->step_seconds = *time;
  if (how.effort != split_effort::full) return out;
  auto of_even = find.solve(*dealt);
  if (!of_even) return out;
  auto other = find.named(*std::move(of_even));
  if (!other) return other.error();
  const result<double> even_time = seconds_of(*other);
  if (!even_time) return even_time.error();
  other->step_seconds = other->even_seconds = *even_time;
  out.split->even_seconds = *even_time;
  if (out.split->searched && *even_time < out.split->step_seconds) {
    other->plan.lower_bound = out.split->plan.lower_bound;
    other->plan.proved = false;
    out.split = *std::move(other);
  }
  return out;
}

// NOLINTEND(bugprone-unchecked-optional-access)
}  // namespace hocket::inline HOCKET_ABI::planner
