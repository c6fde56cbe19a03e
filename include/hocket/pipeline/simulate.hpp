// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/pipeline/check.hpp>
#include <hocket/pipeline/run.hpp>
#include <hocket/pipeline/workspace.hpp>
#include <hocket/timeline/timeline.hpp>

#include <charconv>
#include <cstdint>
#include <memory_resource>
#include <string_view>
#include <vector>

namespace hocket::inline HOCKET_ABI::pipeline {

/// A simulated run.
struct simulation {
  ticks makespan = 0;
  ticks lower_bound = 0;  ///< no order of the same actions on the same ranks can be shorter
  run_bounds bounds{};    ///< the reasons: lower_bound is the largest of them
  std::pmr::vector<rank_report> ranks;

  /// How far from the least possible, in ticks.
  [[nodiscard]] ticks gap() const noexcept { return makespan - lower_bound; }
  /// The part of its time that a rank idles on average, in [0, 1).
  [[nodiscard]] double bubble() const noexcept {
    double idle = 0;
    for (const rank_report& r : ranks) idle += static_cast<double>(r.idle);
    const double all = static_cast<double>(makespan) * static_cast<double>(ranks.size());
    return all > 0 ? idle / all : 0;
  }
};

/// The bar in which a timeline shows an action.
[[nodiscard]] constexpr activity activity_of(op kind) noexcept {
  switch (kind) {
    case op::forward: return activity::forward;
    case op::backward: return activity::backward;
    case op::input_grad: return activity::input_grad;
    case op::weight_grad: return activity::weight_grad;
    case op::optimizer: return activity::optimizer;
    case op::recompute: return activity::recompute;
    case op::idle: return activity::wait;
    default: return activity::communication;
  }
}

/// Writes each action with a duration as a bar, and with each the number of activations held (or bytes, where the cost
/// policy knows them), into a timeline that has a lane for every rank from `first_lane` on. The second direction of a
/// bidirectional schedule has the shades of further chunks.
template <schedule S, cost_policy C>
struct timeline_sink {
  const S& plan;
  const C& costs;
  timeline& into;
  std::uint32_t first_lane = 0;
  std::pmr::vector<blocked>* cycle = nullptr;

  void on_action(std::uint32_t rank, std::uint32_t, stage_action a, ticks start, ticks finish) {
    if constexpr (detail::byte_costs<C>) {
      const std::int64_t change = costs.memory_change(a);
      if (change != 0) into.add_change({.at = change > 0 ? start : finish, .lane = first_lane + rank, .by = change});
    } else {
      if (a.kind() == op::forward || a.kind() == op::reload)
        into.add_change({.at = start, .lane = first_lane + rank, .by = 1});
      if (a.kind() == op::backward || a.kind() == op::weight_grad || a.kind() == op::offload)
        into.add_change({.at = finish, .lane = first_lane + rank, .by = -1});
    }
    if (finish == start) return;
    into.add({.start = start,
              .finish = finish,
              .lane = first_lane + rank,
              .kind = activity_of(a.kind()),
              .chunk = static_cast<std::uint16_t>(plan.placement().chunk_of(a.stage()) + a.direction() * plan.chunks()),
              .id = a.stage(),
              .micro_batch =
                  a.micro_batch() == stage_action::no_micro_batch ? -1 : static_cast<std::int32_t>(a.micro_batch())});
  }
  void on_blocked(const blocked& b) {
    if (cycle != nullptr) cycle->push_back(b);
  }
};

/// Where `simulate` writes what does not fit a table of figures. Both may be null.
struct simulation_outputs {
  timeline* into = nullptr;                    ///< a lane per rank ("rank 0", …) is appended, with bars and activations
  std::pmr::vector<blocked>* cycle = nullptr;  ///< after errc::deadlock: the shortest cycle of ranks that wait
};

/// How long a schedule takes, where it idles, how many activations each rank holds, and how far that is from the
/// least possible.
/// @param costs   durations and latencies in ticks: `costs` (also if none are given), `stage_costs`, `unit_costs`, one
///                of them in `with_links` or `with_memory`, or the host's own policy
/// @param memory  where results and working memory come from
/// Errors: errc::deadlock (with the cycle in `out.cycle`), incomplete_schedule, duplicate_action, overflow,
/// limit_exceeded; invalid_argument for a negative time. After an error `out.into` is as before.
/// Complexity: O(actions) time, memory: see basic_workspace.
///
///     const auto plan = hocket::pipeline::interleaved::make({.ranks = 4, .chunks = 2, .micro_batches = 9}).value();
///     const auto run = hocket::pipeline::simulate(plan, hocket::pipeline::costs{.forward = 1, .backward = 1});
///     run->makespan == 42 && run->lower_bound == 42;
template <schedule S, cost_policy C = costs>
[[nodiscard]] result<simulation> simulate(const S& plan, const C& costs = {}, simulation_outputs out = {},
                                          std::pmr::memory_resource* memory = std::pmr::get_default_resource()) {
  workspace room{std::pmr::polymorphic_allocator<std::byte>(memory)};
  if (out.cycle != nullptr) out.cycle->clear();
  timeline drawn(memory);
  timeline_sink<S, C> sink{plan, costs, drawn, 0, out.cycle};
  if (out.into != nullptr) {
    for (std::uint32_t r = 0; r < plan.ranks(); ++r) {
      char name[24] = "rank ";
      const auto end = std::to_chars(name + 5, name + sizeof name, r).ptr;
      drawn.add_lane(std::string_view(name, static_cast<std::size_t>(end - name)));
    }
  }
  const auto ran =
      out.into != nullptr ? run(plan, costs, room, sink) : run(plan, costs, room, detail::cycle_sink{out.cycle});
  if (!ran) return ran.error();
  simulation answer{ran->makespan, ran->lower_bound, ran->bounds, std::pmr::vector<rank_report>(memory)};
  answer.ranks.reserve(plan.ranks());
  for (const auto& lane : room.lanes) answer.ranks.push_back(lane.report);
  if (out.into != nullptr) {
    drawn.add_mark(ran->lower_bound, "lower bound");
    out.into->append(drawn);
  }
  return answer;
}

// Not a schedule, or not costs: the sentence in place of "no matching function".
template <class S, class C, class... Rest>
  requires(!schedule<S> || !cost_policy<C>)
void simulate(const S&, const C&, Rest&&...) {
  static_assert(
      schedule<S>,
      "hocket: this type is no schedule. Give it const members ranks(), chunks(), micro_batches(), placement(), "
      "size(rank) and at(rank, step): see hocket/pipeline/schedule.hpp");
  static_assert(cost_policy<C>,
                "hocket: this type is no cost policy. Give it const members ticks duration(stage_action) and ticks "
                "latency(from_rank, to_rank): see hocket/pipeline/costs.hpp");
}

}  // namespace hocket::inline HOCKET_ABI::pipeline
