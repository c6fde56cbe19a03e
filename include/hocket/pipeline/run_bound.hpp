// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/pipeline/costs.hpp>
#include <hocket/pipeline/run_memory.hpp>
#include <hocket/pipeline/schedule.hpp>

#include <cstdint>
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

/// For every stage: nothing of it can start before the forwards of all earlier stages, and after its last backward
/// those of all earlier stages remain. For every rank the same with all its forwards and backwards; what it does
/// besides may run before and after them. docs/pipeline.md, "The bound". Needs a workspace in which the plan has run.
template <schedule S, cost_policy C, class Allocator>
[[nodiscard]] constexpr run_bounds bounds_of_run(const S& plan, const C& costs, basic_workspace<Allocator>& memory) {
  constexpr ticks infinite = (std::numeric_limits<ticks>::max)();
  const std::uint32_t count = plan.ranks() * plan.chunks(), slices = slices_of(plan);
  // Where times are the same for all micro-batches, one of them tells.
  std::uint32_t units = plan.micro_batches() * slices;
  if constexpr (uniform_costs<C>) units = 1;
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
        if (s > 0) head += here.forward_hop;
        if (head < here.head) here.head = head;
        if (s == 0 && !here.fused) tail = costs.duration({op::weight_grad, 0, j, t, d});
        if (tail < here.tail) here.tail = tail;
        head += costs.duration({op::forward, s, j, t, d});
        ticks back = infinite;
        if (here.fused) back = costs.duration({op::backward, s, j, t, d});
        if (here.split) {
          const ticks half = costs.duration({op::input_grad, s, j, t, d});
          back = half < back ? half : back;
        }
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
