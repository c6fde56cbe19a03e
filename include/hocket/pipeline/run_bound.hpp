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
  [[nodiscard]] constexpr ticks largest() const noexcept {
    const ticks windows = rank_window > stage_window ? rank_window : stage_window;
    return windows > work ? windows : work;
  }
  friend constexpr bool operator==(const run_bounds&, const run_bounds&) = default;
};

namespace detail {

/// For every stage: nothing of it can start before the forwards of all earlier stages and the transfers between them,
/// and after its last backward those of all earlier stages remain. For every rank the same with all its forwards and
/// backwards; what it does besides may run before and after them. docs/pipeline.md, "The bound". Needs a workspace in
/// which the plan has run.
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
  for (auto& lane : memory.lanes) lane.head = lane.tail = infinite;
  for (std::uint32_t d = 0; d < directions_of(plan); ++d) {
    auto* const stages = memory.stages.data() + std::size_t{d} * count;
    for (std::uint32_t s = 0; s < count; ++s) stages[s].head = stages[s].tail = infinite;
    for (std::uint32_t u = 0; u < units; ++u) {
      const std::uint32_t j = u / slices, t = u % slices;
      ticks head = 0, tail = 0;
      for (std::uint32_t s = 0; s < count; ++s) {
        auto& here = stages[s];
        ticks back = infinite, way_back = s > 0 ? infinite : 0;
        for (const op kind : {op::backward, op::input_grad}) {
          if (!(kind == op::backward ? here.fused : here.split)) continue;
          const stage_action a{kind, s, j, t, d};
          const ticks time = costs.duration(a), way = s > 0 ? transfer(a, here.rank, stages[s - 1].rank) : 0;
          back = time < back ? time : back;
          way_back = way < way_back ? way : way_back;
        }
        if (s > 0) head += transfer({op::forward, s - 1, j, t, d}, stages[s - 1].rank, here.rank) + here.forward_hop;
        if (head < here.head) here.head = head;
        if (s == 0 && !here.fused) tail = costs.duration({op::weight_grad, 0, j, t, d});
        tail += way_back;
        if (tail < here.tail) here.tail = tail;
        head += costs.duration({op::forward, s, j, t, d});
        tail += back + here.backward_hop;
      }
    }
    for (std::uint32_t s = 0; s < count; ++s) {
      const auto& here = stages[s];
      const ticks window = here.head + here.work + here.tail;
      if (window > bounds.stage_window) bounds.stage_window = window;
      auto& lane = memory.lanes[here.rank];
      lane.head = here.head < lane.head ? here.head : lane.head;
      const ticks tail = here.split ? 0 : here.tail;  // a rank may end with weight gradients
      lane.tail = tail < lane.tail ? tail : lane.tail;
    }
  }
  for (const auto& lane : memory.lanes) {
    const ticks window = (lane.head == infinite ? 0 : lane.head + lane.tail) + lane.computing;
    if (window > bounds.rank_window) bounds.rank_window = window;
    if (lane.report.busy > bounds.work) bounds.work = lane.report.busy;
  }
  return bounds;
}

}  // namespace detail

}  // namespace hocket::inline HOCKET_ABI::pipeline
