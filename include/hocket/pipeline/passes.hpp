// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/pipeline/rank_view.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace hocket::inline HOCKET_ABI::pipeline {

namespace detail {

/// What a pass sees at a time: an action, or two that run at once, which nothing may come between.
struct cell {
  stage_action a, b;
  bool pair = false;

  template <class Use>
  constexpr void each(const Use& use) const {
    use(a);
    if (pair) use(b);
  }
};

/// Takes a cell off the front of a list.
constexpr cell take_cell(const stage_action*& i, const stage_action* end) {
  cell c{*i, {}, false};
  ++i;
  if (!c.a.joined() || i == end) return c;
  c.b = *i;
  c.pair = true;
  ++i;
  return c;
}
[[nodiscard]] constexpr bool same_unit(stage_action a, stage_action b) noexcept {
  return a.with_kind(action_kind::idle) == b.with_kind(action_kind::idle);
}
[[nodiscard]] constexpr stage_action alone(stage_action a, action_kind kind) noexcept {
  return {kind, a.stage(), stage_action::no_micro_batch, 0, a.direction()};
}

/// Writes a list anew, cell by cell. @param step  step(cell, next, end, put): what follows it is [next, end); step may
/// move `next`, and puts with put(action)
template <class List, class Step>
constexpr void rewrite(List& list, const Step& step) {
  List longer(list.get_allocator());
  longer.reserve(list.size());
  const auto put = [&](stage_action a) { longer.push_back(a); };
  const stage_action* const end = list.data() + list.size();
  for (const stage_action* i = list.data(); i != end;) {
    const cell c = take_cell(i, end);
    step(c, i, end, put);
  }
  list.swap(longer);
}

[[nodiscard]] constexpr bool holds(const cell& c, stage_action wanted) noexcept {
  const auto is = [&](stage_action a) { return a.kind() == wanted.kind() && same_unit(a, wanted); };
  return is(c.a) || (c.pair && is(c.b));
}
/// Whether one of the next `cells` holds this action.
[[nodiscard]] constexpr bool comes_within(std::uint32_t cells, stage_action wanted, const stage_action* next,
                                          const stage_action* end) {
  for (std::uint32_t k = 0; k < cells && next != end; ++k)
    if (holds(take_cell(next, end), wanted)) return true;
  return false;
}

struct every_stage {
  constexpr bool operator()(std::uint32_t) const noexcept { return true; }
};

}  // namespace detail

/// The list of a rank, to be changed by passes: functions that change a std::vector of stage_action in place, with any
/// allocator, one after another, also in constant expressions. A pass of your own is a function, too. What concerns
/// all ranks at once does `lower`. A pass is O(actions), unless it says otherwise.
///
///     const auto plan = hocket::pipeline::zero_bubble::make_h1({.ranks = 4, .micro_batches = 8}).value();
///     std::vector<hocket::pipeline::stage_action> list = list_of(plan, 0);
///     merge_halves(list);
template <schedule S, class Allocator = std::allocator<stage_action>>
[[nodiscard]] constexpr std::vector<stage_action, Allocator> list_of(const S& plan, std::uint32_t rank,
                                                                     const Allocator& memory = {}) {
  std::vector<stage_action, Allocator> list(memory);
  list.reserve(plan.size(rank));
  for (const stage_action a : stage_list(plan, rank)) list.push_back(a);
  return list;
}

/// An input gradient with its weight gradient right behind it becomes one whole backward, which is cheaper to run.
template <class Allocator>
constexpr void merge_halves(std::vector<stage_action, Allocator>& list) {
  using detail::cell;
  detail::rewrite(list, [](const cell& c, const stage_action*& next, const stage_action* end, const auto& put) {
    const bool merges = !c.pair && c.a.kind() == action_kind::input_grad && next != end &&
                      *next == c.a.with_kind(action_kind::weight_grad);
    if (!merges) return c.each(put);
    put(c.a.with_kind(action_kind::backward));
    ++next;
  });
}

/// A whole backward becomes an input gradient and a weight gradient, so that a search may move the latter.
template <class Allocator>
constexpr void split_backwards(std::vector<stage_action, Allocator>& list) {
  using detail::cell;
  detail::rewrite(list, [](const cell& c, const stage_action*, const stage_action*, const auto& put) {
    if (c.pair || c.a.kind() != action_kind::backward) return c.each(put);
    put(c.a.with_kind(action_kind::input_grad));
    put(c.a.with_kind(action_kind::weight_grad));
  });
}

/// A forward with a whole backward of another micro-batch right behind it becomes a pair, which a runtime runs at
/// once so that the communication inside one (of experts, of tensor parallelism) hides behind the other. It wants a
/// schedule with a forward more in its warm-up (`interleaved` with extra 1); without, or with few micro-batches, a pair
/// may wait for itself by way of other ranks: ask `check`.
template <class Allocator>
constexpr void overlap_pairs(std::vector<stage_action, Allocator>& list) {
  for (std::size_t i = 0; i + 1 < list.size(); ++i) {
    const stage_action a = list[i], b = list[i + 1];
    if (a.joined()) {  // a pair already
      ++i;
      continue;
    }
    if (a.kind() != action_kind::forward || b.kind() != action_kind::backward || b.joined()) continue;
    if (b.micro_batch() == a.micro_batch() && b.direction() == a.direction()) continue;
    list[i] = {a.kind(), a.stage(), a.micro_batch(), a.slice(), a.direction(), true};
    ++i;
  }
}

/// Activations are thrown away and computed again: a `recompute` before the backward of every stage, or of those for
/// which wanted(stage) is true.
template <class Allocator, class Wanted = detail::every_stage>
constexpr void recompute_before_backward(std::vector<stage_action, Allocator>& list, const Wanted& wanted = {}) {
  using detail::cell;
  detail::rewrite(list, [&](const cell& c, const stage_action*, const stage_action*, const auto& put) {
    c.each([&](stage_action a) {
      if (starts_backward(a.kind()) && wanted(a.stage())) put(a.with_kind(action_kind::recompute));
    });
    c.each(put);
  });
}

/// Activations wait outside the device: an `offload` after each forward, and a `reload` `lead` cells (actions, or pairs
/// of them) before its backward, lead >= 1. An activation that is needed again within `lead` cells stays.
/// O(actions · lead).
template <class Allocator>
constexpr void offload_activations(std::vector<stage_action, Allocator>& list, std::uint32_t lead) {
  using detail::cell;
  HOCKET_ASSERT(lead >= 1);
  detail::rewrite(list, [&](const cell& c, const stage_action* next, const stage_action* end, const auto& put) {
    const auto is_near = [&](action_kind kind, stage_action a) {
      return detail::comes_within(lead, a.with_kind(kind), next, end);
    };
    // The cell `lead` cells ahead comes into reach; what it needs and what is not made within reach must come back.
    cell ahead;
    const stage_action* i = next;
    std::uint32_t reached = 0;
    for (; reached < lead && i != end; ++reached) ahead = detail::take_cell(i, end);
    if (reached == lead) {
      ahead.each([&](stage_action a) {
        if (!starts_backward(a.kind()) || is_near(action_kind::forward, a)) return;
        const stage_action made = a.with_kind(action_kind::forward);
        if (!detail::holds(c, made)) put(a.with_kind(action_kind::reload));
      });
    }
    c.each(put);
    c.each([&](stage_action a) {
      if (a.kind() != action_kind::forward) return;
      if (!is_near(action_kind::backward, a) && !is_near(action_kind::input_grad, a))
        put(a.with_kind(action_kind::offload));
    });
  });
}

/// The gradients of a stage are reduced over its data-parallel group as soon as the last of them is there: a
/// `reduce_grad` after the last backward or weight gradient of each stage. O(actions · stages in the list).
template <class Allocator>
constexpr void reduce_when_done(std::vector<stage_action, Allocator>& list) {
  using detail::cell;
  struct countdown {
    stage_action reduce;
    std::uint32_t left = 0;
  };
  std::vector<countdown> stages;
  const auto left = [&](stage_action a) -> std::uint32_t& {
    const stage_action reduce = detail::alone(a, action_kind::reduce_grad);
    for (countdown& x : stages)
      if (x.reduce == reduce) return x.left;
    stages.push_back({reduce, 0});
    return stages.back().left;
  };
  for (const stage_action a : list)
    if (ends_activation(a.kind())) ++left(a);
  detail::rewrite(list, [&](const cell& c, const stage_action*, const stage_action*, const auto& put) {
    c.each(put);
    c.each([&](stage_action a) {
      if (ends_activation(a.kind()) && --left(a) == 0) put(detail::alone(a, action_kind::reduce_grad));
    });
  });
}

/// The end of a step of training: an `optimizer`, and behind it, if wanted, a `post_validation`. The optimizer then
/// does not wait for the norm of all gradients; a later look takes the step back in the rare case that it was wrong. So
/// steps follow each other without a bubble. Source: Qi et al. 2023, arXiv:2401.10241.
/// @param stage  under which they are listed: a stage of the rank
template <class Allocator>
constexpr void end_with_optimizer(std::vector<stage_action, Allocator>& list, std::uint32_t stage,
                                  bool post_validation = false) {
  list.emplace_back(action_kind::optimizer, stage, stage_action::no_micro_batch);
  if (post_validation) list.emplace_back(action_kind::post_validation, stage, stage_action::no_micro_batch);
}

}  // namespace hocket::inline HOCKET_ABI::pipeline
