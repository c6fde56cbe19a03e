// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/arithmetic.hpp>
#include <hocket/core/detail/checked_answer.hpp>
#include <hocket/core/result.hpp>
#include <hocket/core/ticks.hpp>
#include <hocket/pipeline/costs.hpp>
#include <hocket/pipeline/run.hpp>
#include <hocket/pipeline/workspace.hpp>
#include <hocket/planner/detail/random_numbers.hpp>
#include <hocket/planner/split/detail/numbers.hpp>
#include <hocket/planner/split/detail/run_graph.hpp>
#include <hocket/planner/split/layout.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <span>
#include <vector>

// The layout whose step is shortest under the schedule that runs it.
namespace hocket::inline HOCKET_ABI::planner {

/// What the run of a layout depends on besides the times of its stages.
struct layout_run {
  ticks hop = 0;  ///< from the end of an action to what needs it on another rank
  /// The forward is forward_parts / whole_parts of the time of a stage, rounded down.
  std::int64_t forward_parts = 1, whole_parts = 3;
  std::int64_t budget = 100'000'000;  ///< actions that are simulated at most, about
};

/// The answer of solve(layout_problem, schedule).
struct simulated_layout {
  model_layout layout;
  ticks slowest = 0;      ///< of its stages; another layout may have less
  ticks makespan = 0;     ///< of all micro-batches, as pipeline::simulate tells it
  ticks lower_bound = 0;  ///< no layout that fits is shorter
  [[nodiscard]] bool proved() const noexcept { return makespan == lower_bound; }
};

namespace detail {

/// Cuts between the items of a layout, moved so that the run gets shorter. A move takes an item from one stage to
/// another; the stages between shift by one. Moves are drawn from a fixed seed, and taken unless the run is then longer
/// than it was some moves ago. A path of an earlier run tells of most bad moves without another run.
class layout_moves {
 public:
  struct plan {
    std::vector<std::size_t> cuts;
    ticks makespan = (std::numeric_limits<ticks>::max)();
  };

  layout_moves(const layout_items& items, run_graph& graph, const layout_run& how)
      : items_(items), graph_(graph), how_(how), times_(static_cast<std::size_t>(items.stages())) {}

  /// Improves `best` from these cuts on, which fit, for at most `work` simulated actions.
  void operator()(std::vector<std::size_t> cuts, std::int64_t work, ticks bound, plan& best) {
    cuts_ = std::move(cuts);
    for (std::size_t s = 0; s < times_.size(); ++s) price(s);
    ticks now = run();
    keep_if_better(now, best);
    if (times_.size() < 2) return;
    std::vector<ticks> before(memory, now);
    for (std::size_t n = 0; work > 0 && best.makespan > bound; ++n) {
      work -= static_cast<std::int64_t>(times_.size()) + work_of_move;
      const move x = draw();
      if (!shift(x)) continue;
      ticks& old = before[n % memory];
      const ticks limit = (std::max)(old, now);
      const ticks next = is_too_long(limit) ? limit + 1 : run();
      work -= static_cast<std::int64_t>(graph_.actions());
      if (next <= limit) {
        now = next;
        keep_if_better(now, best);
      } else {
        undo(x);
      }
      old = (std::min)(old, now);
    }
  }

 private:
  static constexpr std::size_t memory = 100, max_paths = 16;
  static constexpr std::int64_t work_of_move = 50;

  /// The cuts in front of the stages from `first` to `last` go one item on or back.
  struct move {
    std::size_t first, last;
    bool on;
  };
  [[nodiscard]] move draw() {
    const auto inner = static_cast<std::uint32_t>(times_.size() - 1);
    const std::size_t one = 1 + random_.below(inner);
    const std::size_t other = random_.below(2) == 0 ? one : 1 + random_.below(inner);
    return {(std::min)(one, other), (std::max)(one, other), random_.below(2) == 0};
  }
  void put(const move& x, bool on) noexcept {
    for (std::size_t k = x.first; k <= x.last; ++k) on ? ++cuts_[k] : --cuts_[k];
  }
  void price_around(const move& x) {
    for (std::size_t s = x.first - 1; s <= x.last; ++s) price(s);
  }
  /// Makes the move, unless a stage would then lack items or memory.
  [[nodiscard]] bool shift(const move& x) {
    const bool possible = x.on ? cuts_[x.last] < cuts_[x.last + 1] : cuts_[x.first] > cuts_[x.first - 1];
    if (!possible) return false;
    put(x, x.on);
    for (std::size_t s = x.first - 1; s <= x.last; ++s)
      if (!may_have(s)) {
        put(x, !x.on);
        return false;
      }
    price_around(x);
    return true;
  }
  void undo(const move& x) {
    put(x, !x.on);
    price_around(x);
  }
  [[nodiscard]] bool may_have(std::size_t s) const {
    const auto stage = static_cast<std::int64_t>(s);
    const bool in_order = cuts_[s] == cuts_[s + 1] || cuts_[s + 1] <= items_.last_of(stage);
    return in_order && items_.lacks(stage, cuts_[s], cuts_[s + 1]) == 0;
  }
  void price(std::size_t s) {
    const ticks whole = items_.time(static_cast<std::int64_t>(s), cuts_[s], cuts_[s + 1]);
    times_[s] = {whole * how_.forward_parts / how_.whole_parts, whole};
  }
  [[nodiscard]] bool is_too_long(ticks limit) const {
    return std::any_of(paths_.begin(), paths_.end(), [&](const run_path& x) { return x.length(times_) > limit; });
  }
  /// Simulates, and remembers the longest path in the place of the oldest.
  [[nodiscard]] ticks run() {
    const ticks out = graph_.makespan(times_);
    if (paths_.size() < max_paths) paths_.emplace_back();
    graph_.longest_path(paths_[next_path_++ % max_paths]);
    return out;
  }
  void keep_if_better(ticks now, plan& best) const {
    if (now < best.makespan) best = {cuts_, now};
  }

  const layout_items& items_;
  run_graph& graph_;
  const layout_run& how_;
  std::vector<std::size_t> cuts_;
  std::vector<stage_run> times_;
  std::vector<run_path> paths_;
  std::size_t next_path_ = 0;
  random_numbers random_{1};
};

/// Whether a layout with one stage a rank may run in so much time. A rank begins once a micro-batch has come through
/// all stages before its own, it runs all micro-batches, and the last of them goes all the way back. Each stage takes
/// as many items as it then can: where that does not reach the end, nothing does.
[[nodiscard]] inline bool may_run_within(const layout_items& items, std::int64_t micro_batches, ticks hop,
                                         ticks makespan) {
  std::size_t at = 0;
  ticks before = 0;
  for (std::int64_t s = 0; s < items.stages(); ++s) {
    const std::size_t from = at;
    const ticks most = (makespan - before - 2 * s * hop) / micro_batches;
    if (makespan < before + 2 * s * hop || !items.holds(s, at, at, most)) return false;
    while (at < items.last_of(s) && items.holds(s, from, at + 1, most)) ++at;
    before += items.time(s, from, at);
  }
  return at == items.count();
}

/// Whether a schedule runs the gradients of weights apart.
template <pipeline::schedule S>
[[nodiscard]] bool splits_backward(const S& schedule) {
  for (std::uint32_t r = 0; r < schedule.ranks(); ++r)
    for (const pipeline::stage_action a : pipeline::stage_list(schedule, r))
      if (a.kind() == pipeline::action_kind::weight_grad) return true;
  return false;
}

/// What no layout that fits runs in less than: the work of all ranks, the way of one micro-batch, and with one stage a
/// rank what that rank does in turn. Gradients of weights that run apart leave the first alone.
template <pipeline::schedule S>
[[nodiscard]] ticks layout_bound(const layout_items& items, const S& schedule, ticks hop) {
  const std::int64_t micro_batches = schedule.micro_batches();
  const ticks work = ceil_div(micro_batches * items.all(), std::int64_t{schedule.ranks()});
  if (splits_backward(schedule)) return work;
  const auto place = schedule.placement();
  std::int64_t hops = 0;
  for (std::uint32_t s = 0; s + 1 < items.stages(); ++s) hops += place.rank_of(s) != place.rank_of(s + 1) ? 2 : 0;
  const ticks bound = (std::max)(work, items.all() + hops * hop);
  if (schedule.chunks() > 1) return bound;
  return first_above(bound - 1, 1, [&](ticks t) { return may_run_within(items, micro_batches, hop, t); });
}

[[nodiscard]] inline result<void> check(const layout_problem& p, const layout_run& how, std::int64_t micro_batches) {
  constexpr std::int64_t max_parts = 4096, most = std::int64_t{1} << 60;
  constexpr ticks max_hop = ticks{1} << 40;
  if (how.hop < 0 || how.hop > max_hop) return error{errc::out_of_range, how.hop, 0, max_hop}.with("hop");
  if (how.whole_parts < 2 || how.whole_parts > max_parts)
    return error{errc::out_of_range, how.whole_parts, 2, max_parts}.with("parts of a whole time");
  if (how.forward_parts < 0 || how.forward_parts > how.whole_parts / 2)
    return error{errc::out_of_range, how.forward_parts, 0, how.whole_parts / 2}.with("parts of a forward");
  if (how.budget < 0) return error{errc::invalid_argument, how.budget}.with("a negative budget");
  const ticks once = layout_items(p).all();
  ticks all = 0;
  if (!hocket::checked_multiply(once, (std::max)(micro_batches, how.whole_parts), all) || all > most)
    return error{errc::overflow, once, micro_batches}.with("times of a step");
  return {};
}

}  // namespace detail

/// How long a step takes whose stages have these times, as pipeline::simulate tells it.
/// @param whole  of each stage in model order: forward and backward of a micro-batch
/// Precondition: how.whole_parts >= 1. Errors: those of pipeline::run. Complexity: O(actions).
///
///     planner::makespan_of(schedule, std::vector<ticks>{30, 30, 20, 40});
template <pipeline::schedule S>
[[nodiscard]] result<ticks> makespan_of(const S& schedule, std::span<const ticks> whole, const layout_run& how = {}) {
  std::vector<ticks> forward, backward, input_grad;
  for (const ticks t : whole) {
    forward.push_back(t * how.forward_parts / how.whole_parts);
    backward.push_back(t - forward.back());
    input_grad.push_back(t - 2 * forward.back());
  }
  const pipeline::stage_costs costs{
      .forward = forward, .backward = backward, .input_grad = input_grad, .weight_grad = forward, .hop = how.hop};
  pipeline::workspace memory;
  const auto ran = pipeline::run(schedule, costs, memory);
  if (!ran) return ran.error();
  return ran->makespan;
}

/// The layout whose step is shortest under a schedule, as pipeline::simulate tells it, of those that fit if memory is
/// looked at. It is found by moves from the layouts with fast slowest stages, so it need not be the best: `lower_bound`
/// holds for every layout. All decisions are made in integers, so that every machine finds the same.
/// @param schedule  one direction; its ranks and chunks are those of the problem
/// Errors: those of solve(problem) and pipeline::run; errc::bad_shape for a schedule of another shape or of two
/// directions; errc::out_of_range for a hop or parts that are invalid; errc::invalid_argument for a negative budget;
/// errc::limit_exceeded beyond 2^24 actions; errc::overflow. A layout that fails its last check is errc::wrong_answer,
/// a defect. Complexity: that of solve(problem), six times, then at most about `budget` simulated actions.
///
///     const auto schedule = pipeline::interleaved::make({.ranks = 4, .chunks = 2, .micro_batches = 8}).value();
///     const auto best = planner::solve(problem, schedule, {.hop = 30});
///     best->makespan;
template <pipeline::schedule S>
[[nodiscard]] result<simulated_layout> solve(const layout_problem& p, const S& schedule, const layout_run& how = {}) {
  const auto first = solve(p);
  if (!first) return first.error();
  const std::int64_t micro_batches = schedule.micro_batches();
  if (schedule.ranks() != p.ranks || schedule.chunks() != p.chunks || pipeline::directions_of(schedule) != 1)
    return error{errc::bad_shape, schedule.ranks(), schedule.chunks(), micro_batches}.with("a layout for a schedule");
  if (const auto ok = detail::check(p, how, micro_batches); !ok) return ok.error();
  auto graph = detail::run_graph::make(schedule, how.hop);
  if (!graph) return graph.error();
  const detail::layout_items items(p);
  const ticks bound = detail::layout_bound(items, schedule, how.hop);
  // What a slower slowest stage allows may run sooner: each of these is a start.
  constexpr std::int64_t per_mille[] = {0, 10, 20, 40, 80, 160};
  detail::layout_moves moves(items, *graph, how);
  detail::layout_moves::plan best;
  for (const std::int64_t more : per_mille) {
    const ticks most = first->slowest + first->slowest / 1000 * more;
    moves(detail::most_even_cuts(items, most), how.budget / std::int64_t{std::size(per_mille)}, bound, best);
    if (best.makespan <= bound) break;
  }
  simulated_layout out{detail::layout_of(p, items, best.cuts), 0, best.makespan, (std::min)(bound, best.makespan)};
  for (std::size_t s = 0; s + 1 < best.cuts.size(); ++s)
    out.slowest = (std::max)(out.slowest, items.time(static_cast<std::int64_t>(s), best.cuts[s], best.cuts[s + 1]));
  std::vector<ticks> times;
  if (const auto ok = detail::check_answer(p, out.layout, out.slowest, &times); !ok) return ok.error();
  const auto ran = makespan_of(schedule, times, how);
  if (!ran) return ran.error();
  if (const auto ok = hocket::detail::expect_equal(out.makespan, *ran, "the time of a step"); !ok) return ok.error();
  return out;
}

}  // namespace hocket::inline HOCKET_ABI::planner
