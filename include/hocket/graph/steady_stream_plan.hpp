// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/graph/stream_plan.hpp>

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::graph {

/// The waits of a program that runs again and again on the same streams, without a pause between steps: those within a
/// step, and those of each step for the step before.
class steady_stream_plan {
 public:
  static constexpr bool returns_views = true;  // step, previous_waits: see result::operator->

  /// Plans a program that is repeated, from two copies of it: step k + 1 against step k.
  ///
  /// No dependency may span more than one step boundary; those of `dependencies` on a program written down twice never
  /// do. Then a path from one step to the next stays within these two, so two copies decide which waits of an endless
  /// run are redundant: the plan is the one minimum for it. Waits whose recorder is in the second copy say nothing new
  /// and are dropped, waiters of the second copy are wrapped.
  /// @param two_steps  the graph of the program twice: ops 0 … n - 1, then n … 2n - 1; edges must point forward
  /// @param stream_of  one stream per op of a step: n of them
  /// @return as stream_plan::make; errc::not_periodic if the waits within the second step are not those within the
  /// first,
  ///         errc::invalid_argument for an op that is fused away in one of the two only
  /// Complexity: that of stream_plan::make for 2n ops.
  ///
  ///     const graph::two_step_access<graph_access<my::program>, my::program> twice;
  ///     const auto deps = graph::dependencies(program, twice);
  ///     const auto plan = graph::steady_stream_plan::make(deps->graph(), streams);
  template <reachability_index Index>
  [[nodiscard]] static result<steady_stream_plan> make(const dag<Index>& two_steps,
                                                       std::span<const stream_id> stream_of);
  /// Also from what `dependencies` returns, as stream_plan::make.
  template <detail::leads_to_dag Deps>
  [[nodiscard]] static result<steady_stream_plan> make(const Deps& deps, std::span<const stream_id> stream_of) {
    return detail::with_dag(deps, [&](const auto& g) { return make(g, stream_of); });
  }

  /// One step by itself. The first step needs nothing else.
  [[nodiscard]] const stream_plan& step() const& noexcept { return step_; }
  const stream_plan& step() const&& = delete;
  /// What every later step waits for besides: `recorder` of the step before, `waiter` of this one. Both are ops of one
  /// step. By waiter, then recorder.
  [[nodiscard]] std::span<const stream_wait> previous_waits() const& noexcept { return previous_; }
  std::span<const stream_wait> previous_waits() const&& = delete;
  /// Those before op, ascending by recorder. O(log waits).
  [[nodiscard]] std::span<const stream_wait> previous_waits_of(node_id op) const& noexcept {
    return detail::waits_of(previous_, op);
  }
  std::span<const stream_wait> previous_waits_of(node_id op) const&& = delete;
  /// Ops of a step after which an event is recorded, for this step or the next.
  [[nodiscard]] std::size_t event_count() const noexcept { return event_count_.value; }
  /// Is some op waited for by a later op of the next step? When that wait is issued, the recorder of the same step has
  /// recorded again; so such events must alternate between two. Never so where edges come from reads and writes: the
  /// two ops conflict within a step as well, and FIFO does the rest.
  [[nodiscard]] bool alternating() const noexcept { return alternating_.value; }

 private:
  stream_plan step_;
  std::vector<stream_wait> previous_;
  detail::reset_on_move<std::size_t> event_count_;
  detail::reset_on_move<bool> alternating_;
};

template <reachability_index Index>
result<steady_stream_plan> steady_stream_plan::make(const dag<Index>& two_steps, std::span<const stream_id> stream_of) {
  const std::size_t nodes = stream_of.size();
  const auto ops = static_cast<std::int64_t>(two_steps.node_count());
  if (ops % 2 != 0) return error{errc::indivisible, ops, 2}.with("number of ops in two steps");
  if (ops / 2 != std::ssize(stream_of))
    return error{errc::wrong_length, std::ssize(stream_of), ops / 2}.with("streams");
  std::vector<stream_id> twice(stream_of.begin(), stream_of.end());
  twice.insert(twice.end(), stream_of.begin(), stream_of.end());
  const result<stream_plan> both = stream_plan::make(two_steps, std::span<const stream_id>(twice));
  if (!both) return both.error();

  const auto n = static_cast<node_id>(nodes);
  steady_stream_plan plan;
  plan.step_.stream_of_.assign(stream_of.begin(), stream_of.end());
  plan.step_.stream_count_.value = both->stream_count();
  for (node_id b = 0; b < n; ++b) {
    for (const node_id a : two_steps.upstream(b))
      plan.step_.cross_stream_edges_.value += stream_of[a] != stream_of[b] ? 1u : 0u;
    if (!both->issues(b)) plan.step_.fused_.push_back(b);
    if (both->issues(b) != both->issues(b + n))
      return error{errc::invalid_argument, b}.with("op fused in one step only");
  }
  std::vector<unsigned char> records(nodes);
  std::size_t repeated = 0;  // waits within the second step so far; they must be those within the first
  std::vector<stream_wait>& first = plan.step_.waits_;
  for (const stream_wait& w : both->waits()) {
    if (w.waiter < n) {
      first.push_back(w);  // no later op has a say in it: edges point forward
      plan.step_.event_count_.value += records[w.recorder] == 0 ? 1u : 0u;
      records[w.recorder] = 1;
    } else if (w.recorder < n) {
      plan.previous_.push_back({w.recorder, w.waiter - n, w.record_stream, w.wait_stream});
      plan.alternating_.value = plan.alternating_.value || w.recorder < w.waiter - n;
      records[w.recorder] = 1;
    } else if (repeated < first.size() && first[repeated].recorder == w.recorder - n &&
               first[repeated].waiter == w.waiter - n) {
      ++repeated;
    } else {
      return error{errc::not_periodic, w.recorder - n, w.waiter - n};
    }
  }
  if (repeated < first.size()) return error{errc::not_periodic, first[repeated].recorder, first[repeated].waiter};
  for (const unsigned char r : records) plan.event_count_.value += r;
  return plan;
}

}  // namespace hocket::inline HOCKET_ABI::graph
