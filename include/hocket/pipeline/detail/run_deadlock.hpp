// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/detail/cycle_search.hpp>
#include <hocket/pipeline/detail/run_results.hpp>
#include <hocket/pipeline/detail/run_units.hpp>
#include <hocket/pipeline/rank_view.hpp>

#include <cstdint>
#include <string_view>

namespace hocket::inline HOCKET_ABI::pipeline::detail {

/// Sends the shortest cycle to a sink. @return errc::deadlock with its first link
template <class Allocator, class Links, class HolderOf, class Put>
[[nodiscard]] constexpr error report_cycle(
    const Links& links, const typename basic_workspace<Allocator>::template vector<std::uint32_t>& first,
    const HolderOf& holder_of, const Put& put) {
  using numbers = typename basic_workspace<Allocator>::template vector<std::uint32_t>;
  hocket::detail::cycle_search<numbers, Links, HolderOf> search(links, first, holder_of);
  error why{errc::deadlock};
  bool opening = true;
  for (const std::uint32_t k : search()) {
    const blocked& b = links[k];
    if (opening) why = error{errc::deadlock, b.rank, b.step, b.needs.stage(), b.needs.micro_batch()};
    opening = false;
    put(b);
  }
  return why;
}

/// Nobody can go on: an action is missing, or ranks wait for each other. Tells which.
template <schedule S, class Allocator>
class deadlock_explanation {
 public:
  constexpr deadlock_explanation(const S& of_plan, basic_workspace<Allocator>& in_memory)
      : plan_(of_plan),
        memory_(in_memory),
        sets_{in_memory},
        links_(in_memory.runnable.get_allocator()),
        first_(in_memory.runnable.get_allocator()) {
    for (std::uint32_t r = 0; r < of_plan.ranks(); ++r) {
      first_.push_back(static_cast<std::uint32_t>(links_.size()));
      const auto& lane = in_memory.lanes[r];
      if (lane.step >= lane.size) continue;
      add_links(r, lane.step, lane.now);
      if (lane.pair) add_links(r, lane.step, lane.beside);
    }
    first_.push_back(static_cast<std::uint32_t>(links_.size()));
  }

  /// @param sink  gets the shortest cycle of ranks
  template <class Sink>
  [[nodiscard]] constexpr error tell(Sink& sink) const {
    for (const blocked& b : links_) {
      if (is_listed(b.holder, b.needs.kind(), b.needs)) continue;
      const bool forward =
          b.needs.kind() == action_kind::forward ||
          (!is_done(action_kind::forward, b.needs) && !is_listed(b.holder, action_kind::forward, b.needs));
      return error{errc::incomplete_schedule, b.holder, b.needs.stage(), b.needs.micro_batch()}.with(
          forward ? "the forward" : "the backward");
    }
    return report_cycle<Allocator>(
        links_, first_, [](const blocked& b) { return b.holder; },
        [&](const blocked& b) { sink.on_blocked(as_listed(b)); });
  }

 private:
  [[nodiscard]] constexpr std::uint32_t number_of(stage_action a) const noexcept {
    return a.direction() * plan_.ranks() * plan_.chunks() + a.stage();
  }
  [[nodiscard]] constexpr bool is_done(action_kind kind, stage_action a) const {
    const std::uint32_t slices = slices_of(plan_), first = a.micro_batch() * slices, u = first + a.slice();
    const auto& stage = memory_.stages[number_of(a)];
    return kind == action_kind::forward ? sets_.contains(stage.forwards, u)
                                        : sets_.contains(stage.backwards, first + (slices - 1 - a.slice()));
  }
  constexpr void add_links(std::uint32_t rank, std::uint32_t step, stage_action a) {
    if (!is_compute(a.kind()) || !in_shape(plan_, a)) return;  // nobody judged the second of a pair whose first waits
    const std::uint32_t s = a.stage(), t = a.slice(), stages = plan_.ranks() * plan_.chunks();
    const auto need = [&](action_kind kind, std::uint32_t stage, std::uint32_t slice) {
      const stage_action needed(kind, stage, a.micro_batch(), slice, a.direction());
      if (!is_done(kind, needed)) links_.push_back({rank, step, a, needed, memory_.stages[number_of(needed)].rank});
    };
    if (a.kind() == action_kind::forward) {
      if (t > 0) need(action_kind::forward, s, t - 1);
      if (s > 0) need(action_kind::forward, s - 1, t);
    } else if (a.kind() == action_kind::weight_grad) {
      need(action_kind::backward, s, t);
    } else {
      need(action_kind::forward, s, t);
      if (t + 1 < slices_of(plan_)) need(action_kind::backward, s, t + 1);
      if (s + 1 < stages) need(action_kind::backward, s + 1, t);
    }
  }
  /// Whether a rank has still to run it; the gradient of an input counts as the backward.
  [[nodiscard]] constexpr bool is_listed(std::uint32_t rank, action_kind kind, stage_action like) const {
    std::uint32_t step = 0;
    for (const stage_action a : stage_list(plan_, rank)) {
      const action_kind whole = a.kind() == action_kind::input_grad ? action_kind::backward : a.kind();
      if (step >= memory_.lanes[rank].step && a.with_kind(whole) == like.with_kind(kind)) return true;
      ++step;
    }
    return false;
  }
  /// What is needed by the name that it has in the list of its rank: the gradient of an input may be a half.
  [[nodiscard]] constexpr blocked as_listed(blocked b) const {
    if (b.needs.kind() != action_kind::backward) return b;
    const stage_action half = b.needs.with_kind(action_kind::input_grad);
    for (const stage_action a : stage_list(plan_, b.holder))
      if (a.with_kind(a.kind()) == half) b.needs = half;
    return b;
  }

  const S& plan_;
  const basic_workspace<Allocator>& memory_;
  unit_sets<Allocator> sets_;
  typename basic_workspace<Allocator>::template vector<blocked> links_;
  typename basic_workspace<Allocator>::template vector<std::uint32_t> first_;
};

}  // namespace hocket::inline HOCKET_ABI::pipeline::detail
