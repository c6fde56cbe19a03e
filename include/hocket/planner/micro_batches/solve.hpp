// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/planner/micro_batches/assign.hpp>
#include <hocket/planner/micro_batches/detail/all_deals.hpp>
#include <hocket/planner/micro_batches/order.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner {

/// Micro-batches that differ: which pipeline runs which of them, in which step and in which order.
struct micro_batch_problem {
  micro_batch_times times;
  std::int64_t pipelines = 1;  ///< data-parallel replicas, which wait for each other at the end of a step
  std::int64_t steps = 1;
  bool keep_steps = false;            ///< micro-batches are listed step by step, and stay in theirs
  std::int64_t budget = 200'000;      ///< partial assignments looked at, as in assignment_problem
  std::int64_t actions = 40'000'000;  ///< simulated for orders, over all pipelines; each tries six orders at least
};

/// What one pipeline does in one step.
struct micro_batch_run {
  std::vector<std::uint32_t> order;  ///< micro-batches, first to last
  ticks makespan = 0;
  bool order_proved = false;             ///< no other order of them is shorter
  std::vector<std::int64_t> peak_bytes;  ///< of each rank, of what is kept; 0 where bytes are not known
};

struct micro_batch_plan {
  std::vector<micro_batch_run> runs;  ///< that of step t and pipeline d at t x pipelines + d
  std::vector<ticks> step_times;      ///< of each step: its longest pipeline
  ticks total = 0;                    ///< their sum
  ticks listed_total = 0;  ///< with micro-batches dealt out in turn, as data loaders do, in the order of the list
  ticks lower_bound = 0;   ///< no assignment and no order takes less
  bool proved = false;     ///< total equals it
};

namespace detail {

/// What a schedule says of the times of any micro-batches.
struct stage_ranks {
  std::vector<std::uint32_t> rank_of;
  bool fused = true;  ///< no backward pass is in two halves
};
template <pipeline::schedule S>
stage_ranks ranks_of(const S& schedule) {
  stage_ranks out;
  for (std::uint32_t s = 0; s < schedule.ranks() * schedule.chunks(); ++s)
    out.rank_of.push_back(schedule.placement().rank_of(s));
  for (std::uint32_t step = 0; step < schedule.size(0); ++step) {
    const auto kind = pipeline::stage_action_at(schedule, 0, step).kind();
    if (kind == pipeline::action_kind::weight_grad || kind == pipeline::action_kind::input_grad) out.fused = false;
  }
  return out;
}

/// A time that so many steps of these micro-batches take at least, whatever their assignment and order. Each rank has
/// its work, shared by the pipelines, and in each step waits for a first micro-batch and for the last one's way back.
/// And each step has one whose way through all stages is its longest.
inline ticks bound_of_steps(const micro_batch_times& x, const stage_ranks& on, std::span<const std::uint32_t> which,
                            std::int64_t pipelines, std::int64_t steps) {
  const std::size_t ranks = *std::max_element(on.rank_of.begin(), on.rank_of.end()) + std::size_t{1};
  constexpr ticks none = (std::numeric_limits<ticks>::max)();
  std::vector<int128> work(ranks, 0);
  std::vector<ticks> head(ranks, none), tail(ranks, none), ways;
  for (const std::uint32_t j : which) {
    ticks there = 0, back = 0;
    std::vector<bool> seen(ranks, false);
    for (std::size_t s = 0; s < x.stages; ++s) {
      const std::size_t r = on.rank_of[s], at = s * x.count + j;
      if (s > 0 && r != on.rank_of[s - 1]) {
        there += x.hop;
        back += x.hop;
      }
      if (!seen[r]) {
        head[r] = (std::min)(head[r], there);
        tail[r] = (std::min)(tail[r], on.fused ? back : 0);
        seen[r] = true;
      }
      there += x.forward[at];
      back += on.fused ? x.backward[at] : x.backward[at] - x.backward[at] / 2;
      work[r] += int128{x.forward[at]} + x.backward[at];
    }
    ways.push_back(there + back);
  }
  ticks bound = 0;
  for (std::size_t r = 0; r < ranks; ++r)
    bound = (std::max)(bound, static_cast<ticks>((work[r] + pipelines - 1) / pipelines) + steps * (head[r] + tail[r]));
  std::sort(ways.rbegin(), ways.rend());
  ticks longest_ways = 0;
  const std::size_t in_step = which.size() / static_cast<std::size_t>(steps);
  for (std::size_t i = 0; i < ways.size(); i += in_step) longest_ways += ways[i];
  return (std::max)(bound, longest_ways);
}

/// Work of each micro-batch on the rank that has most of it.
inline std::vector<ticks> work_on_busiest(const micro_batch_times& x, const stage_ranks& on) {
  const std::size_t ranks = *std::max_element(on.rank_of.begin(), on.rank_of.end()) + std::size_t{1};
  std::vector<int128> sums(ranks, 0);
  for (std::size_t s = 0; s < x.stages; ++s)
    for (std::size_t j = 0; j < x.count; ++j)
      sums[on.rank_of[s]] += int128{x.forward[s * x.count + j]} + x.backward[s * x.count + j];
  const auto busiest = static_cast<std::uint32_t>(std::max_element(sums.begin(), sums.end()) - sums.begin());
  std::vector<ticks> out(x.count, 0);
  for (std::size_t s = 0; s < x.stages; ++s)
    for (std::size_t j = 0; on.rank_of[s] == busiest && j < x.count; ++j)
      out[j] += x.forward[s * x.count + j] + x.backward[s * x.count + j];
  return out;
}

template <pipeline::schedule S>
result<micro_batch_run> run_of(const S& schedule, const micro_batch_times& times, const order_plan& plan) {
  pipeline::workspace room;
  const auto ran = pipeline::run(schedule, micro_batch_costs_view{&times, plan.order}, room);
  if (!ran) return ran.error();
  micro_batch_run out{plan.order, ran->makespan, plan.proved, {}};
  for (const auto& lane : room.lanes) out.peak_bytes.push_back(lane.report.peak_bytes);
  return out;
}

/// The micro-batches of each step and pipeline, in the order of the list.
using dealt_lists = std::vector<std::vector<std::uint32_t>>;
inline dealt_lists dealt_in_turn(const micro_batch_problem& q) {
  const auto bins = static_cast<std::size_t>(q.steps * q.pipelines), pipelines = static_cast<std::size_t>(q.pipelines);
  const std::size_t in_step = q.times.count / static_cast<std::size_t>(q.steps);
  dealt_lists out(bins);
  for (std::size_t j = 0; j < q.times.count; ++j)
    out[j / in_step * pipelines + j % pipelines].push_back(static_cast<std::uint32_t>(j));
  return out;
}
inline dealt_lists dealt_by(const assignment_plan& plan, const micro_batch_problem& q) {
  dealt_lists out(static_cast<std::size_t>(q.steps * q.pipelines));
  for (std::size_t j = 0; j < plan.places.size(); ++j)
    out[plan.places[j].step * static_cast<std::size_t>(q.pipelines) + plan.places[j].pipeline].push_back(
        static_cast<std::uint32_t>(j));
  return out;
}

/// Runs every pipeline, each in the best order that `runs` simulations find.
template <pipeline::schedule S>
result<micro_batch_plan> plan_of(const micro_batch_problem& q, const S& schedule, const dealt_lists& lists,
                                 std::int64_t runs) {
  micro_batch_plan out;
  for (std::size_t at = 0; at < lists.size(); ++at) {
    const auto best = order_micro_batches(schedule, q.times, lists[at], {.budget = runs});
    if (!best) return best.error();
    auto one = run_of(schedule, q.times, *best);
    if (!one) return one.error();
    if (at % static_cast<std::size_t>(q.pipelines) == 0) out.step_times.push_back(0);
    out.step_times.back() = (std::max)(out.step_times.back(), one->makespan);
    out.runs.push_back(std::move(*one));
  }
  out.total = std::accumulate(out.step_times.begin(), out.step_times.end(), ticks{0});
  return out;
}

}  // namespace detail

/// Errors: those of its times; errc::out_of_range, errc::indivisible.
[[nodiscard]] inline result<void> check(const micro_batch_problem& q) {
  if (const auto ok = check(q.times); !ok) return ok;
  if (q.actions < 0) return error{errc::invalid_argument, q.actions}.with("a negative number of actions");
  return check(assignment_problem{.times = std::vector<ticks>(q.times.count, 0),
                                  .pipelines = q.pipelines,
                                  .steps = q.steps,
                                  .keep_steps = q.keep_steps,
                                  .budget = q.budget});
}

namespace detail {

/// Exchanges of a micro-batch of the slowest pipeline with one of another, by simulation, while one of some helps.
/// `lists` are in the order in which they run, `times` those of each pipeline.
template <pipeline::schedule S>
class pipeline_exchanges {
 public:
  pipeline_exchanges(const micro_batch_problem& q, const S& schedule, dealt_lists& lists, std::vector<ticks> times)
      : q_(q), schedule_(schedule), lists_(lists), times_(std::move(times)), draw_(lists.size()) {}

  /// @param first, end  pipelines between which micro-batches may go
  result<void> operator()(std::size_t first, std::size_t end, std::int64_t tries) {
    const auto pipelines = static_cast<std::uint32_t>(end - first);
    for (; pipelines > 1 && tries > 0; --tries) {
      const auto begin = times_.begin();
      const auto slowest = static_cast<std::size_t>(
          std::max_element(begin + static_cast<std::ptrdiff_t>(first), begin + static_cast<std::ptrdiff_t>(end)) -
          begin);
      const std::size_t other = first + (slowest - first + 1 + draw_.below(pipelines - 1)) % pipelines;
      if (const auto ok = exchange(slowest, other); !ok) return ok;
    }
    return {};
  }

 private:
  result<void> exchange(std::size_t a, std::size_t b) {
    const auto each = static_cast<std::uint32_t>(lists_[a].size());
    const std::uint32_t i = draw_.below(each), j = draw_.below(each);
    std::swap(lists_[a][i], lists_[b][j]);
    ticks now[2] = {0, 0};
    for (const std::size_t k : {a, b}) {
      const auto ran = pipeline::run(schedule_, micro_batch_costs_view{&q_.times, lists_[k]}, room_);
      if (!ran) return ran.error();
      now[k == a ? 0 : 1] = ran->makespan;
    }
    const ticks before = (std::max)(times_[a], times_[b]), after = (std::max)(now[0], now[1]);
    if (after < before || (after == before && now[0] + now[1] < times_[a] + times_[b])) {
      times_[a] = now[0];
      times_[b] = now[1];
    } else {
      std::swap(lists_[a][i], lists_[b][j]);
    }
    return {};
  }

  const micro_batch_problem& q_;
  const S& schedule_;
  dealt_lists& lists_;
  std::vector<ticks> times_;
  random_numbers draw_;
  pipeline::workspace room_;
};

/// A plan whose pipelines have exchanged micro-batches within each step.
template <pipeline::schedule S>
result<micro_batch_plan> with_exchanges(const micro_batch_problem& q, const S& schedule, const micro_batch_plan& plan,
                                        std::int64_t runs) {
  dealt_lists lists;
  std::vector<ticks> times;
  for (const micro_batch_run& run : plan.runs) {
    lists.push_back(run.order);
    times.push_back(run.makespan);
  }
  pipeline_exchanges<S> exchange(q, schedule, lists, std::move(times));
  const auto pipelines = static_cast<std::size_t>(q.pipelines);
  for (std::size_t first = 0; first < lists.size(); first += pipelines)
    if (const auto ok = exchange(first, first + pipelines, runs * q.pipelines / 2); !ok) return ok.error();
  return plan_of(q, schedule, lists, runs);
}

/// The better of two plans: in turn, and what the search finds. Of few micro-batches the best of all deals and orders;
/// else by their work on the busiest rank, in the best
/// order that simulations find, then with exchanges between the pipelines of a step.
template <pipeline::schedule S>
result<micro_batch_plan> best_plan(const micro_batch_problem& q, const S& schedule, const stage_ranks& on) {
  std::int64_t actions = 1;
  for (std::uint32_t r = 0; r < schedule.ranks(); ++r) actions += schedule.size(r);
  const auto in_turn = plan_of(q, schedule, dealt_in_turn(q), 1);
  if (!in_turn) return in_turn.error();
  constexpr std::int64_t least_runs = 6, most_runs = order_options{}.budget;
  all_deals deals(q.times.count, static_cast<std::size_t>(q.pipelines), static_cast<std::size_t>(q.steps));
  const bool all = deals.runs() <= q.actions / actions && schedule.micro_batches() <= 7;
  dealt_lists lists;
  if (all) {
    auto best = deals.solve(schedule, q.times, q.keep_steps);
    if (!best) return best.error();
    lists = std::move(*best);
  } else {
    const auto assigned = solve(assignment_problem{.times = work_on_busiest(q.times, on),
                                                   .pipelines = q.pipelines,
                                                   .steps = q.steps,
                                                   .keep_steps = q.keep_steps,
                                                   .budget = q.budget});
    if (!assigned) return assigned.error();
    lists = dealt_by(*assigned, q);
  }
  const std::int64_t runs = std::clamp(q.actions / (3 * q.pipelines * q.steps * actions), least_runs, most_runs);
  auto out = plan_of(q, schedule, lists, all ? most_runs : runs);
  if (!out) return out.error();
  if (!all) {
    auto other = with_exchanges(q, schedule, *out, runs);
    if (!other) return other.error();
    if (other->total < out->total) out = std::move(*other);
  }
  if (in_turn->total < out->total) out = in_turn;
  out->listed_total = in_turn->total;
  if (all) out->lower_bound = out->total;
  return out;
}

}  // namespace detail

/// Deals micro-batches out to pipelines and steps, and puts those of each pipeline in order: exact for up to 12 of them
/// where `actions` allow it. The plan never takes longer than `listed_total`, and never less than `lower_bound`, which
/// holds for every assignment and order.
/// @param schedule  what each pipeline runs in a step: count / (pipelines x steps) micro-batches
/// Errors: those of check, of order_micro_batches and of pipeline::run. Complexity: O(budget + actions).
///
///     planner::solve(planner::micro_batch_problem{.times = times, .pipelines = 2}, schedule)->total
template <pipeline::schedule S>
[[nodiscard]] result<micro_batch_plan> solve(const micro_batch_problem& q, const S& schedule) {
  if (const auto ok = check(q); !ok) return ok.error();
  const detail::stage_ranks on = detail::ranks_of(schedule);
  const auto wrong_stages = error{errc::bad_shape, schedule.ranks(), schedule.chunks(), schedule.micro_batches()};
  if (on.rank_of.size() != q.times.stages) return wrong_stages.with("the times are of other stages");
  if (std::int64_t{schedule.micro_batches()} * q.pipelines * q.steps != static_cast<std::int64_t>(q.times.count))
    return wrong_stages.with("the times are of another number");
  auto out = detail::best_plan(q, schedule, on);
  if (!out) return out.error();
  ticks bound = 0;
  const std::size_t groups = q.keep_steps ? static_cast<std::size_t>(q.steps) : 1, each = q.times.count / groups;
  for (std::size_t g = 0; g < groups; ++g) {
    std::vector<std::uint32_t> which(each);
    std::iota(which.begin(), which.end(), static_cast<std::uint32_t>(g * each));
    bound += detail::bound_of_steps(q.times, on, which, q.pipelines, q.keep_steps ? 1 : q.steps);
  }
  out->lower_bound = (std::max)(out->lower_bound, bound);
  out->proved = out->total == out->lower_bound;
  return out;
}

}  // namespace hocket::inline HOCKET_ABI::planner
