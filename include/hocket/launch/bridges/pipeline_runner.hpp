// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/launch/bridges/pipeline.hpp>
#include <hocket/launch/bridges/pipeline_program.hpp>
#include <hocket/launch/run_transfers.hpp>
#include <hocket/timeline/timeline.hpp>

#include <chrono>

namespace hocket::inline HOCKET_ABI::launch {

/// Runs one rank's part of a program again and again: holds what a run needs, so that a run allocates nothing.
template <class T>
class pipeline_runner : detail::checked_host_transport<T> {
 public:
  /// `program` is borrowed. Precondition: rank < program.ranks().
  pipeline_runner(const pipeline_program&& program, std::uint32_t rank, T transport) = delete;
  pipeline_runner(const pipeline_program& program, std::uint32_t rank, T transport)
      : transport_(transport), program_(&program), rank_(rank), requests_(program.request_count(rank)) {}

  /// One step of training.
  /// @param memory   memory(action) -> transfer_memory for each send_… and recv_… action of this rank. Sends read what
  ///                 the action before them made; both must stay in place until the run ends
  /// @param compute  compute(action) for every action that is no transfer, in the order of the list; returns nothing,
  ///                 or a code: other than 0 is a failure
  /// @param trace    begin(index, step), end(index, step), such as `pipeline_trace`
  /// After a failure, say so (`message`), then call `transport().abort()`: the peers would wait until their time is
  /// over.
  template <class Memory, class Compute, class Trace = const no_transfer_trace>
  transfer_outcome<typename T::status_type> run(Memory&& memory, Compute&& compute, Trace&& trace = {}) {
    const auto actions = program_->actions(rank_);
    const auto memory_at = [&](std::size_t i) -> transfer_memory { return memory(actions[i]); };
    const auto work = [&](std::size_t i) { return compute(actions[i]); };
    return run_transfers(transport_, program_->steps(rank_), std::span(requests_), memory_at, work, trace);
  }
  [[nodiscard]] T& transport() noexcept { return transport_; }

  /// What went wrong, in one sentence: "rank 1, step 12: waiting for rank 2: … (backward of stage 5, micro-batch 3)".
  [[nodiscard]] std::string message(const transfer_outcome<typename T::status_type>& o) const {
    std::string s = launch::message(o, rank_, T::text(o.status));
    if (o.complete) return s;
    const pipeline::stage_action a = program_->actions(rank_)[o.done];
    constexpr const char* names[] = {"forward", "backward", "input gradient", "weight gradient"};
    if (pipeline::is_compute(a.kind())) s += std::string(" (") + names[static_cast<int>(a.kind())];
    else if (a.kind() == pipeline::action_kind::recv_forward || a.kind() == pipeline::action_kind::send_forward)
      s += " (activations";
    else if (a.kind() == pipeline::action_kind::recv_backward || a.kind() == pipeline::action_kind::send_backward)
      s += " (gradients";
    else return s;
    return s + " of stage " + std::to_string(a.stage()) + ", micro-batch " + std::to_string(a.micro_batch()) + ")";
  }

 private:
  T transport_;
  const pipeline_program* program_;
  std::uint32_t rank_;
  std::vector<typename T::request_type> requests_;
};

/// Start and finish of what one rank computes, on the steady clock, since `origin`. Allocates once; holds a copy of the
/// rank's actions.
///
///     hocket::launch::pipeline_trace trace(program, rank);
///     runner.run(memory, compute, trace);
///     trace.add_to(timeline, timeline.add_lane("rank 0"), plan);
class pipeline_trace {
 public:
  using clock = std::chrono::steady_clock;
  pipeline_trace(const pipeline_program& program, std::uint32_t rank, clock::time_point origin = clock::now())
      : actions_(program.actions(rank).begin(), program.actions(rank).end()),
        times_(actions_.size()),
        origin_(origin) {}

  void begin(std::size_t index, const transfer_command& c) noexcept {
    if (c.kind == transfer_kind::run) times_[index].start = now();
  }
  void end(std::size_t index, const transfer_command& c) noexcept {
    if (c.kind == transfer_kind::run) times_[index].finish = now();
  }
  /// Adds a span per computing action that ran, and the number of activations held. Chunks are those of the plan; of
  /// the second direction, further ones. Preconditions: `lane` exists, and a tick of the timeline is a nanosecond.
  template <pipeline::schedule S>
  void add_to(timeline& into, std::uint32_t lane, const S& plan) const {
    const auto place = plan.placement();
    using pipeline::action_kind;
    HOCKET_ASSERT(into.ticks_per_second == std::chrono::nanoseconds::period::den);
    for (std::size_t i = 0; i < actions_.size(); ++i) {
      const ticks start = times_[i].start.count();
      const ticks finish = times_[i].finish.count();
      const pipeline::stage_action a = actions_[i];
      if (start < 0 || finish < start || !pipeline::is_compute(a.kind())) continue;
      constexpr activity kinds[] = {activity::forward, activity::backward, activity::input_grad, activity::weight_grad};
      into.add({.start = start,
                .finish = finish,
                .lane = lane,
                .kind = kinds[static_cast<int>(a.kind())],
                .chunk = static_cast<std::uint16_t>(place.chunk_of(a.stage()) + a.direction() * plan.chunks()),
                .id = a.stage(),
                .micro_batch = static_cast<std::int32_t>(a.micro_batch())});
      if (a.kind() == action_kind::forward) into.add_change({.at = start, .lane = lane, .by = 1});
      if (a.kind() == action_kind::backward || a.kind() == action_kind::weight_grad)
        into.add_change({.at = finish, .lane = lane, .by = -1});
    }
  }

 private:
  struct times {
    std::chrono::nanoseconds start{-1};
    std::chrono::nanoseconds finish{-1};
  };
  [[nodiscard]] std::chrono::nanoseconds now() const noexcept { return clock::now() - origin_; }

  std::vector<pipeline::stage_action> actions_;
  std::vector<times> times_;
  clock::time_point origin_;
};

}  // namespace hocket::inline HOCKET_ABI::launch
