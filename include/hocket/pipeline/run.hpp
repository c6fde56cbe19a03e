// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/pipeline/costs.hpp>
#include <hocket/pipeline/schedule.hpp>
#include <hocket/pipeline/workspace.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

namespace hocket::inline HOCKET_ABI::pipeline {

/// The figures of a whole run.
struct run_summary {
  ticks makespan = 0;
  ticks lower_bound = 0;  ///< no order of the same actions on the same ranks can be shorter
  friend constexpr bool operator==(const run_summary&, const run_summary&) = default;
};

/// A sink that keeps nothing: the run is wanted for its figures.
struct no_sink {
  constexpr void on_action(std::uint32_t, std::uint32_t, stage_action, ticks, ticks) const noexcept {}
  constexpr void on_blocked(const blocked&) const noexcept {}
};

/// Most (stage, micro-batch, slice) triples that one run may have.
inline constexpr std::uint64_t max_units = std::uint64_t{1} << 28;

namespace detail {

/// The (stage, micro-batch, slice) triples of a plan, for which a run or a check needs memory. A short list that names
/// a huge micro-batch must not take gigabytes: far more triples than actions cannot be a complete schedule.
template <schedule S>
[[nodiscard]] constexpr result<std::uint64_t> units_of(const S& plan, std::string_view purpose) noexcept {
  if (directions_of(plan) != 1) return error{errc::invalid_argument, 1}.with("a second pipeline direction");
  const std::uint64_t units =
      std::uint64_t{plan.ranks()} * plan.chunks() * plan.micro_batches() * std::uint64_t{slices_of(plan)};
  std::uint64_t limit = 0;
  for (std::uint32_t r = 0; r < plan.ranks(); ++r) limit += plan.size(r);
  constexpr std::uint64_t always = std::uint64_t{1} << 20;
  if (limit < always) limit = always;
  if (limit > max_units) limit = max_units;
  if (units > limit)
    return error{errc::limit_exceeded, static_cast<std::int64_t>(units), static_cast<std::int64_t>(limit)}.with(
        purpose);
  return units;
}

/// An aggregate, because g++ 12 warns in the host's file when a host's global shares its name with a parameter of a
/// template's constructor.
template <schedule S, cost_policy C, class Allocator, class Sink>
struct runner {
  const S& plan_;
  const C& costs_;
  basic_workspace<Allocator>& memory_;
  Sink& sink_;
  std::uint32_t ranks_ = plan_.ranks();
  std::uint32_t stages_ = plan_.ranks() * plan_.chunks();
  std::uint32_t slices_ = slices_of(plan_);
  std::uint64_t units_ = std::uint64_t{plan_.micro_batches()} * slices_;  // per stage
  error error_{};

  constexpr result<run_summary> operator()() {
    const result<std::uint64_t> total = units_of(plan_, "stages x micro-batches to simulate");
    if (!total) return total.error();
    memory_.reset(*total, stages_, ranks_);
    // In-order lists have one earliest execution, so the order in which ranks are advanced does not matter.
    for (std::uint32_t r = ranks_; r-- > 0;) memory_.runnable.push_back(r);
    while (!memory_.runnable.empty()) {
      const std::uint32_t r = memory_.runnable.back();
      memory_.runnable.pop_back();
      if (!advance(r)) return error_;
    }
    run_summary summary;
    for (std::uint32_t r = 0; r < ranks_; ++r) {
      if (memory_.lanes[r].step < plan_.size(r)) return explain();
      const ticks finish = memory_.lanes[r].report.finish;
      summary.makespan = finish > summary.makespan ? finish : summary.makespan;
    }
    if (!complete()) return error_;
    for (auto& lane : memory_.lanes) lane.report.idle = summary.makespan - lane.report.busy;
    summary.lower_bound = lower_bound();
    return summary;
  }

  using workspace_lane = typename basic_workspace<Allocator>::lane;
  struct need {
    bool met;
    ticks time;           // if met: when its result is here
    stage_action action;  // if not: what is missing
  };

  [[nodiscard]] constexpr std::size_t index(std::uint32_t stage, stage_action a) const noexcept {
    return std::size_t{stage} * units_ + std::size_t{a.micro_batch()} * slices_ + a.slice();
  }
  [[nodiscard]] constexpr ticks& end_of(stage_action a) noexcept {
    auto& ends = a.kind() == op::forward ? memory_.forward_end : memory_.backward_end;
    return ends[index(a.stage(), a)];
  }
  constexpr bool need_one(need& all, std::uint32_t rank, op kind, std::uint32_t stage, std::uint32_t micro_batch,
                          std::uint32_t slice) {
    const stage_action wanted{kind, stage, micro_batch, slice};
    const ticks end = end_of(wanted);
    if (end < 0) return all = {false, 0, wanted}, false;
    const std::uint32_t from = plan_.placement().rank_of(stage);
    constexpr ticks most = (std::numeric_limits<ticks>::max)();
    const ticks hop = from == rank ? 0 : static_cast<ticks>(costs_.latency(from, rank));
    const ticks here = hop > most - end ? most : end + hop;  // advance() finds that `most` is too late
    if (here > all.time) all.time = here;
    return true;
  }
  /// What must have ended before `a` may start.
  [[nodiscard]] constexpr need needs(std::uint32_t rank, stage_action a) {
    need all{true, 0, {}};
    const std::uint32_t s = a.stage(), j = a.micro_batch(), t = a.slice();
    switch (a.kind()) {
      case op::forward:
        if (t > 0 && !need_one(all, rank, op::forward, s, j, t - 1)) return all;
        if (s > 0 && !need_one(all, rank, op::forward, s - 1, j, t)) return all;
        break;
      case op::backward:
      case op::input_grad:
        if (!need_one(all, rank, op::forward, s, j, t)) return all;
        if (t + 1 < slices_ && !need_one(all, rank, op::backward, s, j, t + 1)) return all;
        if (s + 1 < stages_ && !need_one(all, rank, op::backward, s + 1, j, t)) return all;
        break;
      case op::weight_grad:
        if (!need_one(all, rank, op::backward, s, j, t)) return all;
        break;
      default: break;
    }
    return all;
  }

  /// Runs a rank until it is done or blocked. False after an error.
  constexpr bool advance(std::uint32_t rank) {
    workspace_lane& lane = memory_.lanes[rank];
    const std::uint32_t size = plan_.size(rank);
    while (lane.step < size) {
      const stage_action a = stage_action_at(plan_, rank, lane.step);
      const bool pair = a.joined() && lane.step + 1 < size;
      const stage_action b = pair ? stage_action_at(plan_, rank, lane.step + 1) : a;
      ticks start = lane.report.finish;
      for (const stage_action x : {a, b}) {
        const need n = needs(rank, x);
        if (!n.met) {
          end_of(n.action) = -2 - static_cast<ticks>(rank);
          return true;
        }
        if (n.time > start) start = n.time;
      }
      ticks time = costs_.duration(a), finish = 0;
      if (pair && !pair_time(a, b, time)) return false;
      if (!checked_add(start, time, finish) || finish > (std::numeric_limits<ticks>::max)() / 2) {
        error_ = error{errc::overflow, start, time}.with("simulated time");
        return false;
      }
      lane.report.finish = finish;
      lane.report.busy += time;
      if (computes(a.kind()) || (pair && computes(b.kind()))) lane.computing += time;
      if (!finish_action(rank, lane.step, a, start, finish, time)) return false;
      if (pair && !finish_action(rank, lane.step + 1, b, start, finish, b.stage() == a.stage() ? 0 : time))
        return false;
      lane.step += pair ? 2 : 1;
    }
    return true;
  }
  constexpr bool pair_time(stage_action a, stage_action b, ticks& time) {
    if constexpr (requires { costs_.joined(a, b); }) {
      time = costs_.joined(a, b);
    } else if (!checked_add(time, static_cast<ticks>(costs_.duration(b)), time)) {
      error_ = error{errc::overflow, time}.with("simulated time");
      return false;
    }
    return true;
  }
  constexpr bool finish_action(std::uint32_t rank, std::uint32_t step, stage_action a, ticks start, ticks finish,
                               ticks time) {
    sink_.on_action(rank, step, a, start, finish);
    if (!computes(a.kind())) return true;
    workspace_lane& lane = memory_.lanes[rank];
    auto& stage = memory_.stages[a.stage()];
    if (a.kind() == op::forward) {
      if (++lane.in_flight > lane.report.peak_in_flight)
        lane.report.peak_in_flight = static_cast<std::uint32_t>(lane.in_flight);
    } else if (a.kind() != op::input_grad) {
      --lane.in_flight;
    }
    if (a.kind() == op::weight_grad) return true;
    stage.work += time;
    stage.fused |= a.kind() == op::backward;
    stage.split |= a.kind() == op::input_grad;
    ticks& end = end_of(a);
    if (end >= 0) {
      error_ = error{errc::duplicate_action, rank, a.stage(), a.micro_batch(), step}.with(
          a.kind() == op::forward ? "the forward" : "the backward");
      return false;
    }
    if (end <= -2) memory_.runnable.push_back(static_cast<std::uint32_t>(-2 - end));
    end = finish;
    return true;
  }

  /// Every forward and every backward has run. (A missing weight gradient shows as an activation never let go.)
  [[nodiscard]] constexpr bool complete() {
    for (std::uint32_t s = 0; s < stages_; ++s) {
      const std::uint32_t rank = plan_.placement().rank_of(s);
      for (std::uint32_t u = 0; u < units_; ++u) {
        const std::size_t i = std::size_t{s} * units_ + u;
        if (memory_.forward_end[i] >= 0 && memory_.backward_end[i] >= 0) continue;
        error_ = error{errc::incomplete_schedule, rank, s, u / slices_}.with(
            memory_.forward_end[i] < 0 ? "the forward" : "the backward");
        return false;
      }
    }
    for (std::uint32_t r = 0; r < ranks_; ++r) {
      if (memory_.lanes[r].in_flight == 0) continue;
      error_ = error{errc::incomplete_schedule, r, first_split(r), 0}.with("some weight gradient");
      return false;
    }
    return true;
  }
  [[nodiscard]] constexpr std::uint32_t first_split(std::uint32_t rank) const {
    for (std::uint32_t s = 0; s < stages_; ++s)
      if (plan_.placement().rank_of(s) == rank && memory_.stages[s].split) return s;
    return 0;
  }

  /// Nobody can go on: a missing action, or a cycle of ranks that wait for each other. Reports the shortest cycle.
  constexpr error explain() {
    std::uint32_t best = ranks_, best_length = ranks_ + 1;
    for (std::uint32_t r = 0; r < ranks_; ++r) {
      if (memory_.lanes[r].step >= plan_.size(r)) continue;
      const blocked b = waiting(r);
      if (!listed(b))
        return error{errc::incomplete_schedule, b.holder, b.needs.stage(), b.needs.micro_batch()}.with(
            b.needs.kind() == op::forward ? "the forward" : "the backward");
    }
    // Each blocked rank waits for one other, so from any of them the walk ends in a cycle; cycles do not meet.
    for (std::uint32_t r = 0; r < ranks_; ++r) {
      if (memory_.lanes[r].step >= plan_.size(r) || memory_.lanes[r].mark != 0) continue;
      std::uint32_t x = r;
      while (memory_.lanes[x].mark == 0) memory_.lanes[x].mark = r + 1, x = waiting(x).holder;
      if (memory_.lanes[x].mark != r + 1) continue;
      std::uint32_t length = 1;
      for (std::uint32_t y = waiting(x).holder; y != x; y = waiting(y).holder) ++length;
      if (length < best_length) best = x, best_length = length;
    }
    const blocked first = waiting(best);
    std::uint32_t x = best;
    do {
      const blocked b = waiting(x);
      sink_.on_blocked(b);
      x = b.holder;
    } while (x != best);
    return error{errc::deadlock, first.rank, first.step, first.needs.stage(), first.needs.micro_batch()};
  }
  [[nodiscard]] constexpr blocked waiting(std::uint32_t rank) {
    const std::uint32_t step = memory_.lanes[rank].step;
    const stage_action a = stage_action_at(plan_, rank, step);
    need n = needs(rank, a);
    stage_action at_step = a;
    if (n.met) at_step = stage_action_at(plan_, rank, step + 1), n = needs(rank, at_step);  // the other of a pair
    return {rank, step, at_step, n.action, plan_.placement().rank_of(n.action.stage())};
  }
  [[nodiscard]] constexpr bool listed(const blocked& b) {
    for (std::uint32_t i = memory_.lanes[b.holder].step; i < plan_.size(b.holder); ++i) {
      const stage_action a = stage_action_at(plan_, b.holder, i);
      const op kind = a.kind() == op::input_grad ? op::backward : a.kind();
      if (kind == b.needs.kind() && a.stage() == b.needs.stage() && a.micro_batch() == b.needs.micro_batch() &&
          a.slice() == b.needs.slice())
        return true;
    }
    return false;
  }

  /// For every stage: nothing of it can start before the forwards of all earlier stages, and after its last backward
  /// those of all earlier stages remain. For every rank the same with all its forwards and backwards; what it does
  /// besides may run before and after them. docs/pipeline.md, "The bound".
  [[nodiscard]] constexpr ticks lower_bound() {
    auto& stages = memory_.stages;
    const auto place = plan_.placement();
    constexpr ticks infinite = (std::numeric_limits<ticks>::max)();
    for (auto& s : stages) s.head = s.tail = infinite;
    for (std::uint32_t u = 0; u < units_; ++u) {
      ticks head = 0, tail = 0;
      for (std::uint32_t s = 0; s < stages_; ++s) {
        const std::uint32_t j = u / slices_, t = u % slices_;
        if (head < stages[s].head) stages[s].head = head;
        if (s == 0 && !stages[0].fused) tail = costs_.duration({op::weight_grad, 0, j, t});
        if (tail < stages[s].tail) stages[s].tail = tail;
        const std::uint32_t here = place.rank_of(s), next = s + 1 < stages_ ? place.rank_of(s + 1) : here;
        head += costs_.duration({op::forward, s, j, t}) + (here == next ? 0 : costs_.latency(here, next));
        ticks back = infinite;
        if (stages[s].fused) back = costs_.duration({op::backward, s, j, t});
        if (stages[s].split) {
          const ticks half = costs_.duration({op::input_grad, s, j, t});
          back = half < back ? half : back;
        }
        tail += back + (here == next ? 0 : costs_.latency(next, here));
      }
    }
    ticks bound = 0;
    for (std::uint32_t s = 0; s < stages_; ++s) {
      const ticks window = stages[s].head + stages[s].work + stages[s].tail;
      if (window > bound) bound = window;
    }
    for (std::uint32_t r = 0; r < ranks_; ++r) {
      ticks head = infinite, tail = infinite;
      for (std::uint32_t c = 0; c < plan_.chunks(); ++c) {
        const auto& s = stages[place.stage(r, c)];
        head = s.head < head ? s.head : head;
        tail = s.split ? 0 : s.tail < tail ? s.tail : tail;  // a rank may end with weight gradients
      }
      const auto& lane = memory_.lanes[r];
      const ticks window = head + lane.computing + tail;
      if (window > bound) bound = window;
      if (lane.report.busy > bound) bound = lane.report.busy;
    }
    return bound;
  }
};

}  // namespace detail

/// Runs the lists in order, each action as early as its rank and its inputs allow: the one execution that every
/// in-order runtime with enough buffers approaches. The core under `simulate`; use it directly in constant expressions
/// or to send events elsewhere than into a timeline.
/// @param memory  working memory, reusable; afterwards `memory.lanes[r].report` describes rank r
/// @param sink    on_action(rank, step, action, start, finish) for each action, in an order that respects data flow;
///                on_blocked(link) for each link of the shortest cycle, if the schedule deadlocks
/// Errors: errc::deadlock, incomplete_schedule, duplicate_action, overflow, limit_exceeded.
/// Complexity: O(actions) time.
///
///     using namespace hocket::pipeline;
///     constexpr hocket::ticks t = [] {
///       constexpr_workspace memory;
///       return run(one_f_one_b::make({.ranks = 2, .micro_batches = 3}).value(), costs{}, memory).value().makespan;
///     }();
///     static_assert(t == 12);
template <schedule S, cost_policy C, class Allocator, class Sink = no_sink>
constexpr result<run_summary> run(const S& plan, const C& costs, basic_workspace<Allocator>& memory, Sink&& sink = {}) {
  return detail::runner<S, C, Allocator, std::remove_reference_t<Sink>>{plan, costs, memory, sink}();
}

}  // namespace hocket::inline HOCKET_ABI::pipeline
