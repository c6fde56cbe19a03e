// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/pipeline/costs.hpp>
#include <hocket/pipeline/run_memory.hpp>
#include <hocket/pipeline/schedule.hpp>

#include <cstdint>
#include <initializer_list>
#include <limits>

namespace hocket::inline HOCKET_ABI::pipeline {

/// Times below which no order of the same actions on the same ranks can get, in ticks, each for a reason of its own.
struct run_bounds {
  ticks work = 0;          ///< a rank has so much to do
  ticks rank_window = 0;   ///< the same, between the earliest start of its first and the latest end of its last action
  ticks stage_window = 0;  ///< a stage has so much to do, between all earlier stages forward and back
  ticks link_window = 0;   ///< a link carries so much, between what comes before its first and after its last transfer
  [[nodiscard]] constexpr ticks largest() const noexcept {
    ticks most = work;
    for (const ticks window : {rank_window, stage_window, link_window}) most = window > most ? window : most;
    return most;
  }
  friend constexpr bool operator==(const run_bounds&, const run_bounds&) = default;
};

namespace detail {

/// For every stage: nothing of it can start before the forwards of all earlier stages and the transfers between them,
/// and after its last backward those of all earlier stages remain. For every rank the same with all its forwards and
/// backwards; what it does besides may run before and after them. For every link the same with all its transfers: what
/// a micro-batch goes through before and after each of them is known. docs/pipeline.md, "The bound". Needs a workspace
/// in which the plan has run.
template <schedule S, cost_policy C, class Allocator>
[[nodiscard]] constexpr run_bounds bounds_of_run(const S& plan, const C& costs, basic_workspace<Allocator>& memory) {
  constexpr ticks infinite = (std::numeric_limits<ticks>::max)();
  const std::uint32_t count = plan.ranks() * plan.chunks(), slices = slices_of(plan);
  // Where times are the same for all micro-batches, one of them tells.
  std::uint32_t units = plan.micro_batches() * slices;
  if constexpr (uniform_costs<C>) units = 1;
  const auto transfer = [&](stage_action a, std::uint32_t from, std::uint32_t to) -> ticks {
    if constexpr (linked_costs<C>) return from == to ? 0 : static_cast<ticks>(costs.transfer(a, from, to));
    else return 0;
  };
  run_bounds bounds;
  const auto shrink = [](ticks& to, ticks value) { to = value < to ? value : to; };
  for (auto& lane : memory.lanes) lane.head = lane.tail = infinite;
  for (std::uint32_t d = 0; d < directions_of(plan); ++d) {
    auto* const stages = memory.stages.data() + std::size_t{d} * count;
    for (std::uint32_t s = 0; s < count; ++s) stages[s].head = stages[s].tail = infinite;
    // The way of a micro-batch through all stages and back: visit(stage, when its forward's input leaves the stage
    // before it, how long that takes; how long its backward's output takes, what remains then). Returns the length.
    const auto walk = [&](std::uint32_t u, auto&& visit) {
      const std::uint32_t j = u / slices, t = u % slices;
      ticks head = 0, tail = 0;
      for (std::uint32_t s = 0; s < count; ++s) {
        auto& here = stages[s];
        ticks back = infinite, way_back = s > 0 ? infinite : 0;
        for (const action_kind kind : {action_kind::backward, action_kind::input_grad}) {
          if (!(kind == action_kind::backward ? here.fused : here.split)) continue;
          const stage_action a{kind, s, j, t, d};
          const ticks time = costs.duration(a), way = s > 0 ? transfer(a, here.rank, stages[s - 1].rank) : 0;
          shrink(back, time), shrink(way_back, way);
        }
        const ticks way = s > 0 ? transfer({action_kind::forward, s - 1, j, t, d}, stages[s - 1].rank, here.rank) : 0;
        if (s == 0 && !here.fused) tail = costs.duration({action_kind::weight_grad, 0, j, t, d});
        visit(s, head, way, way_back, tail);
        head += way + here.forward_hop + costs.duration({action_kind::forward, s, j, t, d});
        tail += way_back + back + here.backward_hop;
      }
      return head + tail;
    };
    for (std::uint32_t u = 0; u < units; ++u) {
      [[maybe_unused]] const ticks all =
          walk(u, [&](std::uint32_t s, ticks head, ticks way, ticks way_back, ticks tail) {
            shrink(stages[s].head, head + way + stages[s].forward_hop), shrink(stages[s].tail, tail + way_back);
          });
      if constexpr (linked_costs<C>) {
        walk(u, [&](std::uint32_t s, ticks head, ticks way, ticks way_back, ticks tail) {
          if (s == 0) return;
          auto &into = memory.links[stages[s].forward_link], &out_of = memory.links[stages[s - 1].backward_link];
          shrink(into.head, head), shrink(into.tail, all - head - way);
          shrink(out_of.head, all - tail - way_back), shrink(out_of.tail, tail);
        });
      }
    }
    for (std::uint32_t s = 0; s < count; ++s) {
      const auto& here = stages[s];
      const ticks window = here.head + here.work + here.tail;
      if (window > bounds.stage_window) bounds.stage_window = window;
      auto& lane = memory.lanes[here.rank];
      shrink(lane.head, here.head);
      shrink(lane.tail, here.split ? 0 : here.tail);  // a rank may end with weight gradients
    }
  }
  for (const auto& lane : memory.lanes) {
    const ticks window = (lane.head == infinite ? 0 : lane.head + lane.tail) + lane.computing;
    if (window > bounds.rank_window) bounds.rank_window = window;
    if (lane.report.busy > bounds.work) bounds.work = lane.report.busy;
  }
  for (const auto& link : memory.links) {
    const ticks window = link.work == 0 ? 0 : link.head + link.work + link.tail;
    if (window > bounds.link_window) bounds.link_window = window;
  }
  return bounds;
}

}  // namespace detail

}  // namespace hocket::inline HOCKET_ABI::pipeline
