// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/planner/schedule/detail/search_input.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <queue>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner::detail::scheduling {

/// A bound from windows. Whatever the schedule, so much must run before an action, and so much after it:
///
///     |<-- head -->|<- time ->|<---- tail ---->|
///     0            [  action  ]            makespan
///
/// Heads and tails are longest paths: along what actions need, along the micro-batches of a task, and along the caps.
/// While rank r has not run backward j of chunk d, no later one either, so it still holds so many activations that
/// forward k of chunk c has no room: that backward comes first. On each rank, actions with heads and tails then take at
/// least as long as if they could be cut: always the one with the longest tail goes first (J. R. Jackson 1955).
class window_bound {
 public:
  explicit window_bound(const search_input& in)
      : in_(in), after_(in.action_count()), head_(in.action_count(), 0), tail_(in.action_count(), 0) {
    for (std::uint32_t t = 0; t < in.tasks.size(); ++t)
      for (std::uint32_t k = 0; k < in.micro_batches; ++k) {
        if (k > 0) link(in.action(t, k - 1), in.action(t, k), 0);
        if (in.tasks[t].need != none) link(in.action(in.tasks[t].need, k), in.action(t, k), in.tasks[t].hop);
      }
    for (std::uint32_t r = 0; r < in.ranks; ++r) add_caps(r);
    const std::vector<std::uint32_t> order = sorted();
    for (const std::uint32_t a : order)
      for (const edge& x : after_[a]) head_[x.to] = (std::max)(head_[x.to], head_[a] + time(a) + x.lag);
    for (std::size_t i = order.size(); i-- > 0;)
      for (const edge& x : after_[order[i]])
        tail_[order[i]] = (std::max)(tail_[order[i]], x.lag + time(x.to) + tail_[x.to]);
  }

  /// No schedule is shorter. Complexity: O(actions · log actions).
  [[nodiscard]] ticks operator()() const {
    ticks bound = 0;
    for (std::uint32_t r = 0; r < in_.ranks; ++r) bound = (std::max)(bound, of_rank(r));
    return bound;
  }
  /// Least time before the start of an action, and after its end.
  [[nodiscard]] ticks head(std::uint32_t action) const noexcept { return head_[action]; }
  [[nodiscard]] ticks tail(std::uint32_t action) const noexcept { return tail_[action]; }

 private:
  struct edge {
    std::uint32_t to;
    ticks lag;
  };

  [[nodiscard]] ticks time(std::uint32_t action) const noexcept { return in_.task_of(action).time; }
  void link(std::uint32_t a, std::uint32_t b, ticks lag) { after_[a].push_back({b, lag}); }
  /// When forward k of chunk c runs, each chunk up to c has run k + 1 forwards, and none more than k backwards from c
  /// down. Were backward j of chunk d still to come, then so would be those of the chunks below d.
  void add_caps(std::uint32_t r) {
    const auto& owned = in_.owned[r];
    const auto chunks = static_cast<std::int64_t>(owned.size());
    const auto at = [&](work kind, std::int64_t chunk, std::int64_t k) {
      return in_.action(kind, owned[static_cast<std::size_t>(chunk)], static_cast<std::uint32_t>(k));
    };
    const std::int64_t cap = in_.cap[r];
    for (std::int64_t c = 0; c < chunks; ++c)
      for (std::int64_t k = 0; k < std::int64_t{in_.micro_batches}; ++k)
        for (std::int64_t d = 0; d < chunks; ++d) {
          const std::int64_t taken = (c + 1) * (k + 1);
          const std::int64_t share = (std::min)(c, d) + 1;
          const std::int64_t over = taken - (c > d ? (c - d) * k : 0) - cap;
          if (over > 0) link(at(work::backward, d, (over - 1) / share), at(work::forward, c, k), 0);
          // A weight gradient follows its backward, but those of different chunks have no order: all others have run k.
          const std::int64_t unordered = taken - c * k - cap;
          if (in_.split && unordered > 0) link(at(work::weight_grad, d, unordered - 1), at(work::forward, c, k), 0);
        }
  }
  /// Actions so that each comes after what must precede it; nothing where the caps leave no order.
  [[nodiscard]] std::vector<std::uint32_t> sorted() const {
    std::vector<std::uint32_t> open(after_.size(), 0);
    for (const auto& edges : after_)
      for (const edge& x : edges) ++open[x.to];
    std::vector<std::uint32_t> order;
    for (std::uint32_t a = 0; a < open.size(); ++a)
      if (open[a] == 0) order.push_back(a);
    for (std::size_t i = 0; i < order.size(); ++i)
      for (const edge& x : after_[order[i]])
        if (--open[x.to] == 0) order.push_back(x.to);
    if (order.size() < open.size()) order.clear();
    return order;
  }
  /// The actions of a rank, cut as one likes, by heads and tails.
  [[nodiscard]] ticks of_rank(std::uint32_t r) const {
    std::vector<std::uint32_t> by_head;
    for (const std::uint32_t t : in_.tasks_of[r])
      for (std::uint32_t k = 0; k < in_.micro_batches; ++k) by_head.push_back(in_.action(t, k));
    std::sort(by_head.begin(), by_head.end(),
              [&](std::uint32_t a, std::uint32_t b) { return head_[a] != head_[b] ? head_[a] < head_[b] : a < b; });
    struct piece {
      ticks tail;
      ticks left;
      bool operator<(const piece& other) const noexcept { return tail < other.tail; }
    };
    std::priority_queue<piece> open;
    ticks now = 0;
    ticks bound = 0;
    for (std::size_t next = 0; next < by_head.size() || !open.empty();) {
      if (open.empty()) now = (std::max)(now, head_[by_head[next]]);
      for (; next < by_head.size() && head_[by_head[next]] <= now; ++next)
        open.push({tail_[by_head[next]], time(by_head[next])});
      piece x = open.top();
      open.pop();
      const ticks until = next < by_head.size() ? (std::min)(now + x.left, head_[by_head[next]]) : now + x.left;
      x.left -= until - now;
      now = until;
      if (x.left > 0) open.push(x);
      else bound = (std::max)(bound, now + x.tail);
    }
    return bound;
  }

  const search_input& in_;
  std::vector<std::vector<edge>> after_;  // by action
  std::vector<ticks> head_, tail_;        // by action
};

}  // namespace hocket::inline HOCKET_ABI::planner::detail::scheduling
