// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The check that choose_issue_order, smallest_issue_order and issue_front end with.
#pragma once
#include <hocket/core/detail/checked_answer.hpp>
#include <hocket/core/ids.hpp>
#include <hocket/core/result.hpp>
#include <hocket/core/ticks.hpp>
#include <hocket/graph/dag.hpp>
#include <hocket/graph/issue_rules.hpp>
#include <hocket/graph/issue_values.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::graph::detail {

// Answers against the program itself, without what the solver made of it: it shares no code with the solver.
template <class Index>
class issue_check {
 public:
  issue_check(const dag<Index>& g, stream_id streams, std::span<const ticks> durations, const issue_values& values,
              const issue_rules& rules)
      : g_(g), streams_(streams), durations_(durations), values_(values), rules_(rules) {}

  // Whether an order is one of the program, within its rules and caps, and is what it says of itself. Of its bytes it
  // may say more: those of a group count from the first of its ops to the last.
  // Errors: errc::wrong_answer. O(nodes + edges + touches log touches).
  template <class Answer>
  [[nodiscard]] result<void> operator()(const Answer& out, std::int64_t most_bytes, ticks most_time) const {
    using hocket::detail::expect_equal;
    using hocket::detail::expect_within;
    if (const auto ok = check_ops(out); !ok) return ok;
    if (const auto ok = check_streams_of(out); !ok) return ok;
    if (const auto ok = check_waits(out); !ok) return ok;
    ticks last = 0;
    for (const node_id b : out.order) last = (std::max)(last, out.start[b] + durations_[b]);
    if (const auto ok = expect_equal(out.time, last, "the time of an order"); !ok) return ok;
    if (const auto ok = expect_within(out.time, 0, most_time, "the time of an order"); !ok) return ok;
    if (const auto ok = expect_within(out.least_time, 0, out.time, "the least time"); !ok) return ok;
    const std::int64_t fullest = bytes_of(out);
    if (const auto ok = expect_within(fullest, 0, out.peak_bytes, "the bytes of an order"); !ok) return ok;
    if (const auto ok = expect_within(out.peak_bytes, 0, most_bytes, "the bytes of an order"); !ok) return ok;
    return expect_within(out.least_bytes, 0, out.peak_bytes, "the least bytes");
  }

 private:
  [[nodiscard]] bool stands(node_id b) const { return g_.fused_into(b) == b; }

  // Each op once, but for those that were fused away; those of a group one after the other.
  template <class Answer>
  [[nodiscard]] result<void> check_ops(const Answer& out) const {
    using hocket::detail::expect_equal;
    using hocket::detail::expect_within;
    const auto nodes = static_cast<std::int64_t>(g_.node_count());
    if (const auto ok = expect_equal(std::int64_t(out.start.size()), nodes, "the number of starts"); !ok) return ok;
    if (const auto ok = expect_equal(std::int64_t(out.stream_of.size()), nodes, "the number of streams"); !ok)
      return ok;
    std::vector<bool> seen(g_.node_count(), false);
    for (const node_id b : out.order) {
      if (const auto ok = expect_within(b, 0, nodes - 1, "an op of an order"); !ok) return ok;
      if (const auto ok = expect_equal(!seen[b] && stands(b) ? 1 : 0, 1, "whether an op may run here"); !ok) return ok;
      seen[b] = true;
    }
    std::int64_t standing = 0;
    for (node_id b = 0; b < g_.node_count(); ++b) standing += stands(b) ? 1 : 0;
    if (const auto ok = expect_equal(std::int64_t(out.order.size()), standing, "the number of ops"); !ok) return ok;
    return check_groups(out);
  }
  template <class Answer>
  [[nodiscard]] result<void> check_groups(const Answer& out) const {
    if (rules_.groups.empty()) return {};
    std::vector<std::uint32_t> left;
    for (std::size_t i = 0; i < out.order.size(); ++i) {
      const node_id b = out.order[i];
      const std::uint32_t group = rules_.groups[b];
      if (group == no_id) continue;
      const bool next = i > 0 && rules_.groups[out.order[i - 1]] == group;
      if (!next) left.push_back(group);
      const ticks begin = next ? out.start[out.order[i - 1]] + durations_[out.order[i - 1]] : out.start[b];
      if (const auto ok = hocket::detail::expect_equal(out.start[b], begin, "the start of an op of a group"); !ok)
        return ok;
      const stream_id stream = next ? out.stream_of[out.order[i - 1]] : out.stream_of[b];
      if (const auto ok = hocket::detail::expect_equal(out.stream_of[b], stream, "the stream of a group"); !ok)
        return ok;
    }
    const auto runs = static_cast<std::int64_t>(left.size());
    std::sort(left.begin(), left.end());
    const auto groups = std::unique(left.begin(), left.end()) - left.begin();
    return hocket::detail::expect_equal(runs, groups, "the number of runs of groups");
  }
  // Each op on a stream that it may have, one at a time.
  template <class Answer>
  [[nodiscard]] result<void> check_streams_of(const Answer& out) const {
    using hocket::detail::expect_within;
    std::vector<ticks> free(std::size_t{streams_} + rules_.lanes, 0);
    constexpr ticks no_limit = (std::numeric_limits<ticks>::max)();
    for (const node_id b : out.order) {
      const stream_id asked = rules_.pinned.empty() ? no_id : rules_.pinned[b];
      const std::int64_t least = asked == no_id ? 0 : std::int64_t{asked};
      const std::int64_t most = asked == no_id ? std::int64_t{streams_} - 1 : std::int64_t{asked};
      if (const auto ok = expect_within(out.stream_of[b], least, most, "the stream of an op"); !ok) return ok;
      ticks& end = free[out.stream_of[b]];
      if (const auto ok = expect_within(out.start[b], end, no_limit, "the start of an op on its stream"); !ok)
        return ok;
      end = out.start[b] + durations_[b];
    }
    return {};
  }
  // No op comes before what it waits for, nor starts before that is done.
  template <class Answer>
  [[nodiscard]] result<void> check_waits(const Answer& out) const {
    constexpr ticks no_limit = (std::numeric_limits<ticks>::max)();
    std::vector<std::int64_t> place(g_.node_count(), 0);
    for (std::size_t i = 0; i < out.order.size(); ++i) place[out.order[i]] = static_cast<std::int64_t>(i);
    const auto follows = [&](node_id a, node_id b) -> result<void> {
      const std::int64_t most = std::int64_t(out.order.size());
      if (const auto ok = hocket::detail::expect_within(place[b], place[a] + 1, most, "the place of an op"); !ok)
        return ok;
      return hocket::detail::expect_within(out.start[b], out.start[a] + durations_[a], no_limit, "the start of an op");
    };
    for (const node_id a : out.order)
      for (const node_id b : g_.downstream(a))
        if (const auto ok = follows(a, b); !ok) return ok;
    std::vector<std::pair<std::uint32_t, node_id>> chained;
    for (node_id b = 0; b < rules_.chains.size(); ++b)
      if (rules_.chains[b] != no_id && stands(b)) chained.emplace_back(rules_.chains[b], b);
    std::sort(chained.begin(), chained.end());
    for (std::size_t i = 1; i < chained.size(); ++i)
      if (chained[i].first == chained[i - 1].first)
        if (const auto ok = follows(chained[i - 1].second, chained[i].second); !ok) return ok;
    return {};
  }
  // The most bytes at any time, each value from the start of the first op that touches it to the end of the last.
  template <class Answer>
  [[nodiscard]] std::int64_t bytes_of(const Answer& out) const {
    std::vector<std::pair<ticks, std::int64_t>> changes;  // at a time; what ends comes before what begins
    std::int64_t now = 0;
    for (std::size_t v = 0; v < values_.size(); ++v) {
      if (values_.ops(v).empty()) continue;
      ticks first = (std::numeric_limits<ticks>::max)();
      ticks end = 0;
      for (const node_id touches : values_.ops(v)) {
        const node_id b = g_.fused_into(touches);
        first = (std::min)(first, out.start[b]);
        end = (std::max)(end, out.start[b] + durations_[b]);
      }
      const auto life = static_cast<unsigned>(values_.life(v));
      if ((life & static_cast<unsigned>(value_life::from_before)) != 0) now += values_.bytes(v);
      else changes.emplace_back(first, values_.bytes(v));
      if ((life & static_cast<unsigned>(value_life::to_the_end)) == 0) changes.emplace_back(end, -values_.bytes(v));
    }
    std::sort(changes.begin(), changes.end());
    std::int64_t most = now;
    for (const auto& [at, bytes] : changes) most = (std::max)(most, now += bytes);
    return most;
  }

  const dag<Index>& g_;  ///< literal: these live as long as the call
  stream_id streams_;
  std::span<const ticks> durations_;
  const issue_values& values_;  ///< literal
  const issue_rules& rules_;    ///< literal
};

}  // namespace hocket::inline HOCKET_ABI::graph::detail
