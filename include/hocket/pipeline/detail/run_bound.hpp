// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
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
class bound_of_run {
 public:
  constexpr bound_of_run(const S& of_plan, const C& with_costs, basic_workspace<Allocator>& in_memory)
      : plan_(of_plan), costs_(with_costs), memory_(in_memory) {}

  constexpr run_bounds operator()() {
    for (auto& lane : memory_.lanes) lane.head = lane.tail = infinite;
    // Where times are the same for all micro-batches, one of them tells.
    const std::uint32_t units = uniform_costs<C> ? 1 : plan_.micro_batches() * slices_of(plan_);
    for (std::uint32_t d = 0; d < directions_of(plan_); ++d) {
      stage* const stages = memory_.stages.data() + std::size_t{d} * count_;
      for (std::uint32_t s = 0; s < count_; ++s) stages[s].head = stages[s].tail = infinite;
      for (std::uint32_t u = 0; u < units; ++u) shrink_by(d, u);
      for (std::uint32_t s = 0; s < count_; ++s) raise_by(stages[s]);
    }
    for (const auto& lane : memory_.lanes) {
      const ticks window = (lane.head == infinite ? 0 : lane.head + lane.tail) + lane.computing;
      raise(bounds_.rank_window, window);
      raise(bounds_.work, lane.report.busy);
    }
    for (const auto& link : memory_.links)
      raise(bounds_.link_window, link.work == 0 ? 0 : link.head + link.work + link.tail);
    return bounds_;
  }

 private:
  using stage = typename basic_workspace<Allocator>::stage;
  static constexpr ticks infinite = (std::numeric_limits<ticks>::max)();

  /// How a micro-batch comes to a stage and leaves it.
  struct visit {
    ticks head = 0;      ///< when its forward's input leaves the stage before
    ticks way = 0;       ///< how long that takes
    ticks way_back = 0;  ///< how long its backward's output takes to the stage before
    ticks tail = 0;      ///< what remains then
  };

  static constexpr void shrink(ticks& to, ticks value) noexcept { to = value < to ? value : to; }
  static constexpr void raise(ticks& to, ticks value) noexcept { to = value > to ? value : to; }
  [[nodiscard]] constexpr ticks transfer(stage_action a, std::uint32_t from, std::uint32_t to) const {
    if constexpr (linked_costs<C>) return from == to ? 0 : static_cast<ticks>(costs_.transfer(a, from, to));
    else return 0;
  }

  /// The way of a micro-batch through all stages and back: use(stage, visit). Returns its length.
  template <class Use>
  constexpr ticks walk(std::uint32_t d, std::uint32_t u, const Use& use) const {
    const stage* const stages = memory_.stages.data() + std::size_t{d} * count_;
    const std::uint32_t j = u / slices_of(plan_), t = u % slices_of(plan_);
    visit at;
    for (std::uint32_t s = 0; s < count_; ++s) {
      const stage& here = stages[s];
      ticks back = infinite;
      at.way_back = s > 0 ? infinite : 0;
      for (const action_kind kind : {action_kind::backward, action_kind::input_grad}) {
        if (!(kind == action_kind::backward ? here.fused : here.split)) continue;
        const stage_action a{kind, s, j, t, d};
        shrink(back, costs_.duration(a));
        if (s > 0) shrink(at.way_back, transfer(a, here.rank, stages[s - 1].rank));
      }
      at.way = s > 0 ? transfer({action_kind::forward, s - 1, j, t, d}, stages[s - 1].rank, here.rank) : 0;
      if (s == 0 && !here.fused) at.tail = costs_.duration({action_kind::weight_grad, 0, j, t, d});
      use(s, at);
      at.head += at.way + here.forward_hop + costs_.duration({action_kind::forward, s, j, t, d});
      at.tail += at.way_back + back + here.backward_hop;
    }
    return at.head + at.tail;
  }
  /// What is known of stages and links from one micro-batch.
  constexpr void shrink_by(std::uint32_t d, std::uint32_t u) {
    stage* const stages = memory_.stages.data() + std::size_t{d} * count_;
    [[maybe_unused]] const ticks all = walk(d, u, [&](std::uint32_t s, const visit& at) {
      shrink(stages[s].head, at.head + at.way + stages[s].forward_hop);
      shrink(stages[s].tail, at.tail + at.way_back);
    });
    if constexpr (linked_costs<C>) {
      walk(d, u, [&](std::uint32_t s, const visit& at) {
        if (s == 0) return;
        auto& into = memory_.links[stages[s].forward_link];
        auto& out_of = memory_.links[stages[s - 1].backward_link];
        shrink(into.head, at.head);
        shrink(into.tail, all - at.head - at.way);
        shrink(out_of.head, all - at.tail - at.way_back);
        shrink(out_of.tail, at.tail);
      });
    }
  }
  constexpr void raise_by(const stage& here) {
    raise(bounds_.stage_window, here.head + here.work + here.tail);
    auto& lane = memory_.lanes[here.rank];
    shrink(lane.head, here.head);
    shrink(lane.tail, here.split ? 0 : here.tail);  // a rank may end with weight gradients
  }

  const S& plan_;
  const C& costs_;
  basic_workspace<Allocator>& memory_;
  std::uint32_t count_ = plan_.ranks() * plan_.chunks();  // stages of one direction
  run_bounds bounds_;
};

}  // namespace detail

}  // namespace hocket::inline HOCKET_ABI::pipeline
