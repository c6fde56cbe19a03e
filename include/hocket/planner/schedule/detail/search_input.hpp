// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/ticks.hpp>
#include <hocket/pipeline/action.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner::detail::scheduling {

/// Later than everything, and small enough to add to.
inline constexpr ticks never = (std::numeric_limits<ticks>::max)() / 4;
/// The number of a task or action that there is not.
inline constexpr std::uint32_t none = ~std::uint32_t{0};

/// What a stage does for a micro-batch. A backward is whole, or where backwards are split, its first half.
enum class work : std::uint8_t { forward, backward, weight_grad };

/// One kind of work of one stage. It is done once for each micro-batch, in the order of these: they are alike, so no
/// schedule gets longer by that.
struct task {
  work kind = work::forward;
  std::uint32_t stage = 0;
  std::uint32_t rank = 0;
  ticks time = 0;
  std::uint32_t need = none;          // the task that must have been done for the micro-batch before
  ticks hop = 0;                      // from its end to the earliest start
  std::int32_t holds = 0;             // activations that the rank holds more, or less, afterwards
  std::vector<std::uint32_t> next{};  // the tasks that need this one
};

/// Times by stage; weight_grad is 0 where backwards are whole.
struct stage_times {
  std::vector<ticks> forward, backward, weight_grad;
};

/// A schedule problem in numbers, for all engines. Tasks and actions are numbered:
///
///     task    forward of stage 0 … S-1 | backward of stage 0 … S-1 | weight gradient of stage 0 … S-1 (if split)
///     action  task · micro_batches + micro_batch
class search_input {
 public:
  /// @param rank_of  by stage
  /// @param caps     by rank
  search_input(std::uint32_t of_ranks, std::uint32_t of_micro_batches, bool split_backward,
               std::vector<std::uint32_t> rank_of, stage_times of_stages, ticks hop_time,
               std::vector<std::uint32_t> caps)
      : ranks(of_ranks),
        stages(static_cast<std::uint32_t>(rank_of.size())),
        micro_batches(of_micro_batches),
        split(split_backward),
        hop(hop_time),
        times(std::move(of_stages)),
        cap(std::move(caps)),
        owned(of_ranks),
        tasks_of(of_ranks),
        rank_of_(std::move(rank_of)) {
    for (std::uint32_t s = 0; s < stages; ++s) owned[rank_of_[s]].push_back(s);
    for (std::uint32_t s = 0; s < stages; ++s) add(work::forward, s, times.forward[s], s > 0 ? s - 1 : none, 1);
    for (std::uint32_t s = 0; s < stages; ++s)
      add(work::backward, s, times.backward[s], s + 1 < stages ? stages + s + 1 : s, split ? 0 : -1);
    for (std::uint32_t s = 0; split && s < stages; ++s) add(work::weight_grad, s, times.weight_grad[s], stages + s, -1);
    for (std::uint32_t t = 0; t < tasks.size(); ++t)
      if (tasks[t].need != none) tasks[tasks[t].need].next.push_back(t);
  }

  [[nodiscard]] std::uint32_t task_number(work kind, std::uint32_t stage) const noexcept {
    return static_cast<std::uint32_t>(kind) * stages + stage;
  }
  [[nodiscard]] std::uint32_t action(std::uint32_t task, std::uint32_t micro_batch) const noexcept {
    return task * micro_batches + micro_batch;
  }
  [[nodiscard]] std::uint32_t action(work kind, std::uint32_t stage, std::uint32_t micro_batch) const noexcept {
    return action(task_number(kind, stage), micro_batch);
  }
  [[nodiscard]] const task& task_of(std::uint32_t action) const noexcept { return tasks[action / micro_batches]; }
  [[nodiscard]] std::uint32_t micro_batch_of(std::uint32_t action) const noexcept { return action % micro_batches; }
  [[nodiscard]] std::size_t action_count() const noexcept { return tasks.size() * micro_batches; }
  /// The action as lists of schedules have it.
  [[nodiscard]] pipeline::stage_action named(std::uint32_t action) const noexcept {
    using pipeline::action_kind;
    const task& x = task_of(action);
    const action_kind kind = x.kind == work::forward     ? action_kind::forward
                           : x.kind == work::weight_grad ? action_kind::weight_grad
                           : split                       ? action_kind::input_grad
                                                         : action_kind::backward;
    return {kind, x.stage, micro_batch_of(action)};
  }

  [[nodiscard]] ticks hop_between(std::uint32_t a, std::uint32_t b) const noexcept {
    return rank_of_[a] == rank_of_[b] ? 0 : hop;
  }
  /// All that a stage does for one micro-batch.
  [[nodiscard]] ticks time_of_stage(std::uint32_t s) const noexcept {
    return times.forward[s] + times.backward[s] + times.weight_grad[s];
  }
  /// Whether the rank may hold less than all of its activations at once.
  [[nodiscard]] bool is_scarce(std::uint32_t r) const noexcept { return cap[r] < owned[r].size() * micro_batches; }

  std::uint32_t ranks, stages, micro_batches;
  bool split;  ///< backwards in two halves
  ticks hop;
  stage_times times;
  std::vector<std::uint32_t> cap;                    ///< by rank
  std::vector<std::vector<std::uint32_t>> owned;     ///< stages by rank, in model order
  std::vector<std::vector<std::uint32_t>> tasks_of;  ///< tasks by rank
  std::vector<task> tasks;

 private:
  void add(work kind, std::uint32_t stage, ticks time, std::uint32_t need, std::int32_t holds) {
    const std::uint32_t r = rank_of_[stage];
    const ticks way = need == none ? 0 : hop_between(need % stages, stage);
    tasks_of[r].push_back(static_cast<std::uint32_t>(tasks.size()));
    tasks.push_back({kind, stage, r, time, need, way, holds});
  }

  std::vector<std::uint32_t> rank_of_;
};

}  // namespace hocket::inline HOCKET_ABI::planner::detail::scheduling
