// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/pipeline/schedules/dual_pipe.hpp>
#include <hocket/pipeline/schedules/gpipe.hpp>
#include <hocket/pipeline/schedules/interleaved.hpp>
#include <hocket/pipeline/schedules/one_f_one_b.hpp>
#include <hocket/pipeline/schedules/v_memory.hpp>
#include <hocket/pipeline/schedules/zbv.hpp>
#include <hocket/pipeline/schedules/zero_bubble.hpp>
#include <hocket/planner/schedule/detail/search_input.hpp>
#include <hocket/planner/schedule/problem.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner::detail::scheduling {

/// The lists of another schedule. A whole backward becomes its two halves in a row where the problem splits them, which
/// may let the next stage start sooner; actions that would run at once run one after the other.
template <pipeline::schedule Schedule>
[[nodiscard]] std::vector<std::uint32_t> actions_of(const search_input& in, const Schedule& plan) {
  using pipeline::action_kind;
  std::vector<std::uint32_t> list;
  for (std::uint32_t r = 0; r < plan.ranks(); ++r)
    for (std::uint32_t i = 0; i < plan.size(r); ++i) {
      const pipeline::stage_action a = pipeline::stage_action_at(plan, r, i);
      const work kind = a.kind() == action_kind::forward     ? work::forward
                      : a.kind() == action_kind::weight_grad ? work::weight_grad
                                                             : work::backward;
      list.push_back(in.action(kind, a.stage(), a.micro_batch()));
      if (in.split && a.kind() == action_kind::backward)
        list.push_back(in.action(work::weight_grad, a.stage(), a.micro_batch()));
    }
  return list;
}

/// Each micro-batch by itself holds as many activations as a rank has chunks: within any cap.
[[nodiscard]] inline std::vector<std::uint32_t> one_at_a_time(const search_input& in) {
  std::vector<std::uint32_t> list;
  for (const auto& owned : in.owned)
    for (std::uint32_t k = 0; k < in.micro_batches; ++k) {
      for (const std::uint32_t s : owned) list.push_back(in.action(work::forward, s, k));
      for (std::size_t c = owned.size(); c-- > 0;) {
        list.push_back(in.action(work::backward, owned[c], k));
        if (in.split) list.push_back(in.action(work::weight_grad, owned[c], k));
      }
    }
  return list;
}

/// Interleaved schedules with every rule for groups, those for a ratio of times with the ratio of all stages, 1 : 1 and
/// 1 : 2, and groups of one size.
/// @param use  (result of a schedule, name)
template <class Use>
void for_each_interleaved(const search_input& in, const pipeline::shape& shape, Use&& use) {
  using pipeline::groups;
  using pipeline::interleaved;
  const std::uint32_t least_cap = *std::min_element(in.cap.begin(), in.cap.end());
  ticks forward = 0;
  ticks backward = 0;
  for (std::uint32_t s = 0; s < in.stages; ++s) {
    forward += in.times.forward[s];
    backward += in.times.backward[s] + in.times.weight_grad[s];
  }
  for (const auto& [f, b] : {std::pair{forward, backward}, {1, 1}, {1, 2}}) {
    if (f < 1 || b < 1) continue;
    use(interleaved::make(shape, groups::least_memory(f, b)), "interleaved, least-memory groups");
    use(interleaved::make(shape, groups::capped(least_cap, f, b)), "interleaved, capped groups");
  }
  for (const groups& cut : {groups::balanced(), groups::last(), groups::first(), groups::paper()})
    for (const std::uint32_t kappa : {1u, 2u}) use(interleaved::make(shape, cut, {.kappa = kappa}), "interleaved");
  // Caps that differ by rank may ask for smaller groups: all of one size; of large questions only of powers of two.
  constexpr std::int64_t all_sizes = 1 << 14;
  constexpr std::int64_t powers_of_two = 1 << 18;
  const std::int64_t each = shape.stages() * shape.micro_batches;
  for (std::uint32_t size = 1; size <= in.micro_batches; ++size) {
    if (each * size > all_sizes && (each > powers_of_two || !std::has_single_bit(size))) continue;
    std::vector<std::uint32_t> groups_of(in.micro_batches / size, size);
    if (in.micro_batches % size != 0) groups_of.push_back(in.micro_batches % size);
    const pipeline::group_sizes sizes(groups_of);
    for (const std::uint32_t kappa : {1u, 2u})
      use(interleaved::make(shape, groups::list(sizes), {.kappa = kappa}), "interleaved");
  }
}

/// Every closed form that may answer the problem. @param use  (result of a schedule, name)
template <class Use>
void for_each_closed_form(const search_input& in, const schedule_problem& problem, Use&& use) {
  const pipeline::shape& shape = problem.shape;
  if (problem.order == stage_order::loop || shape.chunks == 1) {
    if (in.split) {
      use(pipeline::zero_bubble::make_h1(shape), "zb-h1");
      use(pipeline::zero_bubble::make_h2(shape), "zb-h2");
      use(pipeline::zero_bubble::make_interleaved(shape), "interleaved-zb");
    }
    if (shape.chunks == 1) {
      use(pipeline::one_f_one_b::make(shape, 1), "1f1b");
      use(pipeline::one_f_one_b::make(shape, 2), "eager-1f1b");
    }
    for_each_interleaved(in, shape, use);
    use(pipeline::gpipe::make_looped_bfs(shape), "looped-bfs");
  } else if (shape.chunks == 2 && in.split) {
    use(pipeline::zbv::make(shape), "zbv");
    use(pipeline::dual_pipe_v::make(shape), "dualpipev");
    use(pipeline::make_v_schedule(shape, pipeline::v_memory::half), "v-half");
    use(pipeline::make_v_schedule(shape, pipeline::v_memory::third), "v-min");
  }
}

}  // namespace hocket::inline HOCKET_ABI::planner::detail::scheduling
