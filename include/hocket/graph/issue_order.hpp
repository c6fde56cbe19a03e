// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// If you want the fastest order, or the fastest within a cap of bytes, use choose_issue_order; the order of the fewest
// bytes within a time, smallest_issue_order; the choice between both, issue_front.
#pragma once
#include <hocket/core/result.hpp>
#include <hocket/core/ticks.hpp>
#include <hocket/graph/assign_streams.hpp>
#include <hocket/graph/dag.hpp>
#include <hocket/graph/detail/dag_of.hpp>
#include <hocket/graph/detail/issue_check.hpp>
#include <hocket/graph/detail/issue_program.hpp>
#include <hocket/graph/detail/issue_solver.hpp>
#include <hocket/graph/edge.hpp>
#include <hocket/graph/issue_rules.hpp>
#include <hocket/graph/issue_values.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::graph {

/// In which order to issue the ops of a program, and on which streams.
struct issue_order {
  std::vector<node_id> order;        ///< the ops by their starts, without those that were fused away
  std::vector<stream_id> stream_of;  ///< by op, in the program's numbers
  std::vector<ticks> start;          ///< by op: when it starts, if hand-overs take no time
  /// Waits beyond the dependencies: the target waits for the source, to have the memory that it leaves. Without them
  /// the target would start early, and the peak be larger.
  std::vector<edge> holds;
  ticks time = 0;                ///< when the last op is done
  ticks least_time = 0;          ///< no order on any such streams, within the cap of bytes, takes less
  ticks given_time = 0;          ///< the program's own order, on streams chosen for it by the same rules
  std::int64_t peak_bytes = 0;   ///< the most bytes of values that are alive at once
  std::int64_t least_bytes = 0;  ///< no order, within the cap of time, needs less
  std::int64_t given_bytes = 0;  ///< what the program's own order needs, at given_time

  /// No order is faster.
  [[nodiscard]] bool is_proved() const noexcept { return time == least_time; }
  /// No order needs fewer bytes.
  [[nodiscard]] bool is_smallest() const noexcept { return peak_bytes == least_bytes; }
};

namespace detail {

// Answers in the program's own ops: those of a group one after the other, those that were fused away as what stands
// for them.
template <class Index>
class issue_answers {
 public:
  issue_answers(const dag<Index>& g, std::span<const node_id> one, std::span<const ticks> durations)
      : g_(g), durations_(durations) {
    std::vector<edge> groups;
    for (node_id b = 0; b < g.node_count(); ++b)
      if (g.fused_into(b) == b) groups.push_back({one[b], b});
    members_ = flat_lists(g.node_count(), groups, false);
  }

  [[nodiscard]] issue_order of(const sized_list& from, const issue_solver& solver) const {
    issue_order out;
    out.stream_of.resize(g_.node_count());
    out.start.resize(g_.node_count());
    for (const node_id a : from.list.order) {
      ticks at = from.list.start[a];
      for (const node_id b : members_.of(a)) {
        out.order.push_back(b);
        out.stream_of[b] = from.list.stream_of[a];
        out.start[b] = at;
        at += durations_[b];
      }
    }
    for (node_id b = 0; b < g_.node_count(); ++b) {
      out.stream_of[b] = out.stream_of[g_.fused_into(b)];
      out.start[b] = out.start[g_.fused_into(b)];
    }
    for (const edge& e : from.list.holds)
      out.holds.push_back({members_.of(e.source).back(), members_.of(e.target).front()});
    out.time = from.list.time;
    out.least_time = solver.least_time();
    out.given_time = solver.given().list.time;
    out.peak_bytes = from.peak;
    out.least_bytes = solver.least_bytes();
    out.given_bytes = solver.given().peak;
    return out;
  }

 private:
  const dag<Index>& g_;  ///< literal: lives as long as the call
  std::span<const ticks> durations_;
  flat_lists members_;
};

inline constexpr ticks any_time = (std::numeric_limits<ticks>::max)();

// f(solver, answers, check), which gives a result<Answer>, once all that is given has been checked.
template <class Answer, class Index, class F>
[[nodiscard]] result<Answer> with_issue_solver(const dag<Index>& g, stream_id streams, std::span<const ticks> durations,
                                               const issue_values& given, const issue_rules& rules, F&& f) {
  if (const auto fits = check_streams(streams); !fits) return fits.error();
  if (const auto fits = check_durations(g.node_count(), durations); !fits) return fits.error();
  if (const auto fits = check_issue_rules(g.node_count(), streams, rules); !fits) return fits.error();
  const std::vector<node_id> one = ops_that_stand(g, rules.groups);
  const auto values = make_live_values(given, one);
  if (!values) return values.error();
  const auto program = make_issue_program(g, one, streams, durations, rules);
  if (!program) return program.error();
  issue_solver solver(*program, *values);
  return f(solver, issue_answers<Index>(g, one, durations), issue_check<Index>(g, streams, durations, given, rules));
}

}  // namespace detail

/// Chooses in which order to issue ops and on which of `streams` streams, so that all are done early, within a cap of
/// bytes. It lists the ops by the longest chain that is still to come, then forward and backward in turn by the list
/// before, and takes the fastest. Where that needs too many bytes, it keeps an order of few bytes in reserve, and lists
/// ops out of its turn as long as the rest of it stays within the cap. The program's own order is tried too, so the
/// answer is never slower than that, if that is within the cap. Both questions, time and bytes, are NP-hard: least_time
/// and least_bytes say how far the answer can be from the best. Up to 12 ops are also searched whole, and up to 64 for
/// the fewest bytes, within a fixed number of steps; is_proved() then holds.
///
/// A value is alive from the start of the first op that touches it to the end of the last, and all that is alive at
/// once counts. Where the cap delays an op, `holds` has the wait that enforces it.
///
/// The bound of time is the greatest, over sets of ops that cannot start before some time and have some time to come
/// after them, of that time before, their work shared by all streams, and that time after. The bound of bytes is what
/// has to be alive while some op runs, whatever the order.
/// @param g           edges must point forward in program order
/// @param streams     how many streams there are, from 1 to stream_limit
/// @param durations   one per op, in any unit; of an op that was fused away they do not count
/// @param values      what the ops touch, in bytes
/// @param most_bytes  the cap
/// @param rules       pinned ops, chains, groups, and streams for pinned ops alone
/// @return errc::cap_below_bytes with the fewest bytes found and the bound, if no order within the cap is found;
///         errc::out_of_range for streams, a negative duration, bytes below 0, an op or a stream that does not exist;
///         errc::wrong_length, errc::overflow, errc::bad_order; errc::group_closes_cycle, errc::group_on_two_streams;
///         errc::wrong_answer for an order that fails its last check, which would be a defect.
///         Deterministic: equal input gives an equal answer on every rank.
/// Complexity: O((nodes + edges + touches) log nodes + nodes · streams) time, O(nodes + edges + touches + streams)
/// memory.
/// Source: list scheduling, R. L. Graham 1969; forward and backward passes, K. Y. Li and R. J. Willis 1992; an order in
/// reserve, E. W. Dijkstra's banker 1965.
///
///     const auto answer = graph::choose_issue_order(g, 2, measured, values, 40'000'000'000);
///     for (const node_id op : answer->order) issue(op, answer->stream_of[op]);
template <reachability_index Index>
[[nodiscard]] result<issue_order> choose_issue_order(const dag<Index>& g, stream_id streams,
                                                     std::span<const ticks> durations, const issue_values& values,
                                                     std::int64_t most_bytes, const issue_rules& rules = {}) {
  return detail::with_issue_solver<issue_order>(
      g, streams, durations, values, rules,
      [&](detail::issue_solver& solver, const auto& answers, const auto& check) -> result<issue_order> {
        auto best = solver.within(most_bytes);
        if (!best) {
          const std::int64_t found = solver.smallest().peak;
          return error{errc::cap_below_bytes, most_bytes, found, solver.least_bytes()};
        }
        const bool proved = solver.search(*best, most_bytes);
        issue_order out = answers.of(*best, solver);
        if (proved) out.least_time = out.time;
        if (const auto right = check(out, most_bytes, detail::any_time); !right) return right.error();
        return out;
      });
}

/// The same without values: the fastest order, whatever it needs. The answer's bytes are 0.
///
///     const auto answer = graph::choose_issue_order(g, 2, measured);
///     for (const node_id op : answer->order) issue(op, answer->stream_of[op]);
template <reachability_index Index>
[[nodiscard]] result<issue_order> choose_issue_order(const dag<Index>& g, stream_id streams,
                                                     std::span<const ticks> durations, const issue_rules& rules = {}) {
  return graph::choose_issue_order(g, streams, durations, issue_values{}, detail::any_bytes, rules);
}

/// The order of the fewest bytes that takes at most so much time, by bisection over caps of choose_issue_order. Never
/// larger than the program's own order, if that is fast enough.
/// @param most_time  the cap, in the unit of the durations
/// @return errc::cap_below_time with the least time found and the bound; else as of choose_issue_order, whose other
///         parameters these are. Complexity: of a dozen calls of it.
///
///     const auto small = graph::smallest_issue_order(g, 2, measured, values, 1'050);
template <reachability_index Index>
[[nodiscard]] result<issue_order> smallest_issue_order(const dag<Index>& g, stream_id streams,
                                                       std::span<const ticks> durations, const issue_values& values,
                                                       ticks most_time, const issue_rules& rules = {}) {
  return detail::with_issue_solver<issue_order>(
      g, streams, durations, values, rules,
      [&](detail::issue_solver& solver, const auto& answers, const auto& check) -> result<issue_order> {
        if (const ticks least = solver.fastest().list.time; least > most_time)
          return error{errc::cap_below_time, most_time, least, solver.least_time()};
        detail::sized_list best = solver.within_time(most_time);
        const bool proved = solver.search_bytes(best, most_time);
        issue_order out = answers.of(best, solver);
        if (proved) out.least_bytes = out.peak_bytes;
        if (const auto right = check(out, detail::any_bytes, most_time); !right) return right.error();
        return out;
      });
}

/// The choice between time and bytes: orders, each faster and larger than the next, from the fastest to the smallest
/// found. One of them is no slower and no larger than the program's own.
/// @param points  at most so many, at least 2
/// @return as of choose_issue_order, whose other parameters these are, and errc::out_of_range for points.
/// Complexity: of so many calls of it.
///
///     for (const graph::issue_order& each : *graph::issue_front(g, 2, measured, values))
///       print(each.time, each.peak_bytes);
template <reachability_index Index>
[[nodiscard]] result<std::vector<issue_order>> issue_front(const dag<Index>& g, stream_id streams,
                                                           std::span<const ticks> durations, const issue_values& values,
                                                           const issue_rules& rules = {}, int points = 8) {
  constexpr int most_points = 1000;
  if (points < 2 || points > most_points) return error{errc::out_of_range, points, 2, most_points}.with("points");
  return detail::with_issue_solver<std::vector<issue_order>>(
      g, streams, durations, values, rules,
      [&](detail::issue_solver& solver, const auto& answers, const auto& check) -> result<std::vector<issue_order>> {
        std::vector<issue_order> out;
        for (const detail::sized_list& each : solver.front(points)) {
          out.push_back(answers.of(each, solver));
          if (const auto right = check(out.back(), detail::any_bytes, detail::any_time); !right) return right.error();
        }
        return out;
      });
}

/// These also take what `dependencies` returns: a dependency_graph, or a result of one or of a dag, whose error is
/// returned.
///
///     const auto answer = graph::choose_issue_order(graph::dependencies(program), 2, measured);
template <detail::leads_to_dag Deps, class... Rest>
[[nodiscard]] result<issue_order> choose_issue_order(const Deps& deps, stream_id streams,
                                                     std::span<const ticks> durations, const Rest&... rest) {
  return detail::with_dag(deps,
                          [&](const auto& g) { return graph::choose_issue_order(g, streams, durations, rest...); });
}
template <detail::leads_to_dag Deps>
[[nodiscard]] result<issue_order> choose_issue_order(const Deps& deps, stream_id streams,
                                                     std::span<const ticks> durations, const issue_rules& rules) {
  return detail::with_dag(deps, [&](const auto& g) { return graph::choose_issue_order(g, streams, durations, rules); });
}
template <detail::leads_to_dag Deps>
[[nodiscard]] result<issue_order> smallest_issue_order(const Deps& deps, stream_id streams,
                                                       std::span<const ticks> durations, const issue_values& values,
                                                       ticks most_time, const issue_rules& rules = {}) {
  return detail::with_dag(deps, [&](const auto& g) {
    return graph::smallest_issue_order(g, streams, durations, values, most_time, rules);
  });
}
template <detail::leads_to_dag Deps>
[[nodiscard]] result<std::vector<issue_order>> issue_front(const Deps& deps, stream_id streams,
                                                           std::span<const ticks> durations, const issue_values& values,
                                                           const issue_rules& rules = {}, int points = 8) {
  return detail::with_dag(
      deps, [&](const auto& g) { return graph::issue_front(g, streams, durations, values, rules, points); });
}

}  // namespace hocket::inline HOCKET_ABI::graph
