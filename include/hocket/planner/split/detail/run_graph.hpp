// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/result.hpp>
#include <hocket/core/ticks.hpp>
#include <hocket/pipeline/run.hpp>
#include <hocket/pipeline/workspace.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner::detail {

/// What a stage takes for one micro-batch: its forward, and forward and backward together with what is computed again.
struct stage_run {
  ticks forward = 0, whole = 0;
  friend constexpr bool operator==(const stage_run&, const stage_run&) = default;
};

/// How often a path through a run counts each of these times of a stage: `forward` may be below 0.
struct stage_share {
  std::int64_t forward = 0, whole = 0;
};

/// A path through a run: it takes Σ forward · stage.forward + whole · stage.whole + hops, whatever the stages take. No
/// run of the schedule is shorter than any of its paths.
struct run_path {
  std::vector<stage_share> of_stage;
  ticks hops = 0;

  [[nodiscard]] int128 length(std::span<const stage_run> stages) const noexcept {
    int128 sum = hops;
    for (std::size_t s = 0; s < stages.size(); ++s)
      sum += int128{of_stage[s].forward} * stages[s].forward + int128{of_stage[s].whole} * stages[s].whole;
    return sum;
  }
};

/// The run of a schedule as a graph: each action waits for the one before it on its rank and for what it needs from
/// another stage. Who waits for whom does not depend on times, so it is found once. For any times of the stages one
/// pass over the actions then tells what pipeline::simulate would. Weight gradients take as long as forwards.
class run_graph {
 public:
  /// Precondition: hop >= 0. Errors: those of pipeline::run; errc::limit_exceeded beyond 2^24 actions;
  /// errc::overflow if so many hops are too long. Complexity: O(actions) time and memory.
  template <pipeline::schedule S>
  [[nodiscard]] static result<run_graph> make(const S& plan, ticks hop) {
    std::int64_t actions = 0;
    for (std::uint32_t r = 0; r < plan.ranks(); ++r) actions += plan.size(r);
    if (actions > max_actions) return error{errc::limit_exceeded, actions, max_actions}.with("actions to simulate");
    if (hop > max_time / (2 * actions + 1)) return error{errc::overflow, hop, actions}.with("hops");
    run_graph graph(plan.ranks() * plan.chunks(), hop);
    pipeline::workspace memory;
    if (const auto ran = pipeline::run(plan, pipeline::costs{}, memory, recorder<S>(plan, graph)); !ran)
      return ran.error();
    return graph;
  }

  [[nodiscard]] std::size_t actions() const noexcept { return waits_.size(); }
  [[nodiscard]] std::size_t stages() const noexcept { return stages_; }

  /// How long the run takes. O(actions), without allocation.
  [[nodiscard]] ticks makespan(std::span<const stage_run> stages) noexcept {
    for (std::size_t s = 0; s < stages_; ++s) {
      const stage_run& x = stages[s];
      times_[4 * s] = x.forward;
      times_[4 * s + 1] = x.whole - x.forward;
      times_[4 * s + 2] = x.whole - 2 * x.forward;
      times_[4 * s + 3] = x.forward;
    }
    ticks last = 0;
    for (std::size_t i = 1; i < waits_.size(); ++i) {
      const wait& x = waits_[i];
      const ticks here = finish_[x.before];
      const ticks arrival = finish_[x.from] + (x.hops ? hop_ : 0);
      finish_[i] = (here > arrival ? here : arrival) + times_[x.time];
      last = finish_[i] > last ? finish_[i] : last;
    }
    return last;
  }
  /// A path as long as the run whose makespan was asked for last. O(actions).
  void longest_path(run_path& path) const {
    path.of_stage.assign(stages_, {});
    path.hops = 0;
    auto at = static_cast<std::size_t>(std::max_element(finish_.begin(), finish_.end()) - finish_.begin());
    while (at != 0) {
      const wait& x = waits_[at];
      count(x.time, path);
      const ticks arrival = finish_[x.from] + (x.hops ? hop_ : 0);
      const bool waited = arrival > finish_[x.before];
      path.hops += waited && x.hops ? hop_ : 0;
      at = waited ? x.from : x.before;
    }
  }

 private:
  static constexpr std::int64_t max_actions = std::int64_t{1} << 24;
  static constexpr ticks max_time = (std::int64_t{1} << 61) - 1;

  /// Action 0 is the beginning, which needs nothing.
  struct wait {
    std::uint32_t before = 0, from = 0;  ///< the action before it on its rank, and that whose result it needs
    std::uint32_t time = 0;              ///< 4 · stage + kind; 4 · stages: no time
    bool hops = false;                   ///< whether the result comes from another rank
  };

  /// Appends the actions as pipeline::run reports them, which is in an order that respects data flow.
  template <pipeline::schedule S>
  class recorder {
   public:
    recorder(const S& plan, run_graph& graph)
        : plan_(plan),
          graph_(graph),
          stages_(plan.ranks() * plan.chunks()),
          units_(std::size_t{plan.micro_batches()} * slices_of(plan)),
          last_(plan.ranks(), 0),
          pending_(plan.ranks()),
          paired_(plan.ranks(), false),
          made_(std::size_t{2} * directions_of(plan) * stages_ * units_, 0) {}

    void on_action(std::uint32_t rank, std::uint32_t step, pipeline::stage_action a, ticks, ticks) {
      if (paired_[rank]) return end_pair(rank, a);
      const input in = input_of(rank, a);
      if (a.joined() && step + 1 < plan_.size(rank)) {
        last_[rank] = graph_.append({last_[rank], in.from, graph_.no_time(), in.hops});
        pending_[rank] = a;
        paired_[rank] = true;
        return;
      }
      last_[rank] = graph_.append({last_[rank], in.from, time_of(a), in.hops});
      note(a, last_[rank]);
    }
    void on_blocked(const pipeline::blocked&) const noexcept {}

   private:
    struct input {
      std::uint32_t from = 0;
      bool hops = false;
    };
    /// Two actions that run at once begin when both can, and end together.
    void end_pair(std::uint32_t rank, pipeline::stage_action second) {
      const pipeline::stage_action first = pending_[rank];
      const input in = input_of(rank, second);
      last_[rank] = graph_.append({last_[rank], in.from, time_of(first), in.hops});
      last_[rank] = graph_.append({last_[rank], 0, time_of(second), false});
      note(first, last_[rank]);
      note(second, last_[rank]);
      paired_[rank] = false;
    }
    [[nodiscard]] std::uint32_t time_of(pipeline::stage_action a) const {
      if (!pipeline::is_compute(a.kind())) return graph_.no_time();
      return 4 * a.stage() + static_cast<std::uint32_t>(a.kind());
    }
    /// Where the result of a stage stands, forward or back.
    [[nodiscard]] std::size_t slot(pipeline::stage_action a, std::uint32_t stage, bool forward) const {
      const std::size_t unit = std::size_t{a.micro_batch()} * slices_of(plan_) + a.slice();
      const std::size_t number = std::size_t{a.direction()} * stages_ + stage;
      return (2 * number + (forward ? 0 : 1)) * units_ + unit;
    }
    [[nodiscard]] input input_of(std::uint32_t rank, pipeline::stage_action a) const {
      using pipeline::action_kind;
      const bool forward = a.kind() == action_kind::forward;
      const bool backward = a.kind() == action_kind::backward || a.kind() == action_kind::input_grad;
      if (forward ? a.stage() == 0 : !backward || a.stage() + 1 == stages_) return {};
      const std::uint32_t stage = forward ? a.stage() - 1 : a.stage() + 1;
      const std::uint32_t sender = rank_of(plan_.placement(), plan_.ranks(), stage, a.direction());
      return {made_[slot(a, stage, forward)], sender != rank};
    }
    void note(pipeline::stage_action a, std::uint32_t number) {
      using pipeline::action_kind;
      if (a.kind() == action_kind::forward) made_[slot(a, a.stage(), true)] = number;
      if (a.kind() == action_kind::backward || a.kind() == action_kind::input_grad)
        made_[slot(a, a.stage(), false)] = number;
    }

    const S& plan_;
    run_graph& graph_;
    std::uint32_t stages_;
    std::size_t units_;
    std::vector<std::uint32_t> last_;  // of each rank
    std::vector<pipeline::stage_action> pending_;
    std::vector<bool> paired_;
    std::vector<std::uint32_t> made_;  // the action that made a result
  };

  run_graph(std::uint32_t stages, ticks hop) : stages_(stages), hop_(hop), times_(4 * std::size_t{stages} + 1, 0) {
    (void)append({});
  }
  [[nodiscard]] std::uint32_t no_time() const noexcept { return 4 * stages_; }
  std::uint32_t append(wait x) {
    waits_.push_back(x);
    finish_.push_back(0);
    return static_cast<std::uint32_t>(waits_.size() - 1);
  }
  void count(std::uint32_t time, run_path& path) const {
    if (time == no_time()) return;
    stage_share& share = path.of_stage[time / 4];
    constexpr stage_share by_kind[] = {{1, 0}, {-1, 1}, {-2, 1}, {1, 0}};
    share.forward += by_kind[time % 4].forward;
    share.whole += by_kind[time % 4].whole;
  }

  std::uint32_t stages_;
  ticks hop_;
  std::vector<wait> waits_;
  std::vector<ticks> times_, finish_;
};

}  // namespace hocket::inline HOCKET_ABI::planner::detail
