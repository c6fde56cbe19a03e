// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/result.hpp>
#include <hocket/core/ticks.hpp>
#include <hocket/pipeline/action.hpp>
#include <hocket/pipeline/costs.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner {

/// What each micro-batch takes and keeps on each stage: that of stage s and micro-batch j at s x count + j.
///
///     const micro_batch_times times{.stages = 2, .count = 3, .forward = {1, 2, 9, 1, 2, 9}, .backward = {2, 4, 18, 2,
///     4, 18}};
struct micro_batch_times {
  std::size_t stages = 0, count = 0;
  std::vector<ticks> forward, backward;
  std::vector<std::int64_t> kept{};  ///< bytes until the backward pass; empty: unknown
  ticks hop = 0;                     ///< from one rank to another
};

/// Errors: errc::out_of_range for a list of another length, a negative or too large value.
[[nodiscard]] inline result<void> check(const micro_batch_times& x) {
  constexpr std::size_t max_count = 1 << 24;
  constexpr std::int64_t max_value = std::int64_t{1} << 45;
  const auto shown = [](std::size_t n) { return static_cast<std::int64_t>(n); };
  if (x.stages < 1 || x.stages > max_count || x.count < 1 || x.count > max_count / x.stages)
    return error{errc::out_of_range, shown(x.stages), 1, shown(max_count)}.with("stages x micro-batches");
  const std::size_t all = x.stages * x.count;
  for (const auto* list : {&x.forward, &x.backward, &x.kept}) {
    if (list->size() != all && !(list == &x.kept && list->empty()))
      return error{errc::out_of_range, shown(list->size()), shown(all), shown(all)}.with(
          "values of stages and micro-batches");
    for (const std::int64_t value : *list)
      if (value < 0 || value > max_value)
        return error{errc::out_of_range, value, 0, max_value}.with("time or bytes of a micro-batch");
  }
  if (x.hop < 0 || x.hop > max_value) return error{errc::out_of_range, x.hop, 0, max_value}.with("hop");
  return {};
}

/// A cost policy: some of the micro-batches, in the order in which a pipeline runs them. Halves of a backward pass as
/// in pipeline::backward_times.
/// @param which  which[i] runs as micro-batch i of the schedule; refers to it and to the times
struct micro_batch_costs_view {
  const micro_batch_times* times;
  std::span<const std::uint32_t> which;

  [[nodiscard]] bool knows(pipeline::stage_action a) const noexcept {
    return !pipeline::is_compute(a.kind()) ||
           (a.stage() < times->stages && a.micro_batch() < which.size() && which[a.micro_batch()] < times->count);
  }
  [[nodiscard]] ticks duration(pipeline::stage_action a) const noexcept {
    using pipeline::action_kind;
    if (!pipeline::is_compute(a.kind())) return 0;
    const ticks backward = times->backward[place(a)];
    switch (a.kind()) {
      case action_kind::forward: return times->forward[place(a)];
      case action_kind::input_grad: return backward - backward / 2;
      case action_kind::weight_grad: return backward / 2;
      default: return backward;
    }
  }
  [[nodiscard]] ticks latency(std::uint32_t, std::uint32_t) const noexcept { return times->hop; }
  [[nodiscard]] std::int64_t memory_change(pipeline::stage_action a) const noexcept {
    using pipeline::action_kind;
    if (times->kept.empty() || !pipeline::is_compute(a.kind())) return 0;
    const std::int64_t bytes = times->kept[place(a)];
    if (a.kind() == action_kind::forward) return bytes;
    return a.kind() == action_kind::input_grad ? 0 : -bytes;
  }

 private:
  [[nodiscard]] std::size_t place(pipeline::stage_action a) const noexcept {
    HOCKET_ASSERT(knows(a));
    return std::size_t{a.stage()} * times->count + which[a.micro_batch()];
  }
};

}  // namespace hocket::inline HOCKET_ABI::planner
