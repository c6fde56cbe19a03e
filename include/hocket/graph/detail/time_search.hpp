// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The fastest order of a small program within a cap of bytes, proved.
#pragma once
#include <hocket/core/ids.hpp>
#include <hocket/core/ticks.hpp>
#include <hocket/graph/detail/list_schedule.hpp>
#include <hocket/graph/detail/live_values.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace hocket::inline HOCKET_ABI::graph::detail {

// More ops take more steps than a search is given, as good as always.
inline constexpr std::size_t time_search_ops = 12;

// Depth first over the ops in the order of their starts, each on every stream, as early as what started before allows.
// That covers the best schedule: in the order of its own starts no op loses by being as early as it can.
class time_search {
 public:
  time_search(const issue_program& p, const live_values& values, std::int64_t cap, std::size_t steps)
      : p_(p),
        values_(values),
        cap_(cap),
        steps_(steps),
        start_(p.nodes(), unknown),
        stream_(p.nodes()),
        free_(p.lanes) {
    for (const node_id b : p.live) work_ += p.durations[b];
  }

  // Replaces `best` by a faster list, if there is one; with `below`, only by one that takes less than that.
  // @return whether it is then proved that none is faster
  [[nodiscard]] bool improve(listed& best, ticks below) {
    below_ = below;
    best_ = &best;
    look(0, work_);
    return steps_ != 0;
  }

 private:
  static constexpr ticks unknown = -1;

  [[nodiscard]] ticks end(node_id b) const noexcept { return start_[b] + p_.durations[b]; }
  [[nodiscard]] bool started(node_id b) const noexcept { return start_[b] != unknown; }

  // When all is done that b waits for; `unknown` if some of it has not started.
  [[nodiscard]] ticks ready(node_id b) const {
    ticks at = 0;
    for (const node_id a : p_.ups.of(b)) {
      if (!started(a)) return unknown;
      at = (std::max)(at, end(a));
    }
    return at;
  }

  // The bytes alive at a time, with those of b.
  [[nodiscard]] std::int64_t alive(ticks at, node_id b) const {
    std::int64_t sum = values_.always;
    for (std::size_t v = 0; v < values_.size(); ++v) {
      bool begun = values_.before[v], over = !values_.after[v];
      for (const node_id x : values_.ops.of(v)) {
        begun = begun || x == b || started(x);
        over = over && started(x) && end(x) <= at;
      }
      if (begun && !over) sum += values_.bytes[v];
    }
    return sum;
  }

  // The first time from `at` on at which b fits; `unknown` if it never does.
  [[nodiscard]] ticks fits_from(ticks at, node_id b) const {
    while (alive(at, b) > cap_) {
      ticks next = unknown;
      for (const node_id x : p_.live)
        if (started(x) && end(x) > at && (next == unknown || end(x) < next)) next = end(x);
      if (next == unknown) return unknown;
      at = next;
    }
    return at;
  }

  // No list that goes on from here is faster.
  [[nodiscard]] bool hopeless(ticks now, ticks left) const {
    ticks shared = left;
    for (const ticks free : free_) shared += (std::max)(now, free);
    if (shared > (below_ - 1) * std::ssize(free_)) return true;
    for (const node_id b : p_.live)
      if (!started(b) && (std::max)(now, ready(b)) + p_.durations[b] + p_.tail[b] >= below_) return true;
    return false;
  }

  void look(ticks now, ticks left) {
    if (steps_ == 0) return;
    --steps_;
    if (steps_ == 0) return;
    if (order_.size() == p_.live.size()) return keep();
    if (hopeless(now, left)) return;
    for (const node_id b : p_.live) {
      if (started(b)) continue;
      const ticks at = ready(b);
      if (at == unknown) continue;
      for (stream_id s = 0; s < p_.lanes; ++s) {
        const ticks earliest = (std::max)(at, free_[s]);
        // Only memory is a reason to start later than that; without a cap b comes earlier in another order.
        const bool late = earliest < now && cap_ == (std::numeric_limits<std::int64_t>::max)();
        if (!late && may_run(b, s)) place(b, s, fits_from((std::max)(now, earliest), b), left);
      }
    }
  }

  // Of streams that are alike one is enough.
  [[nodiscard]] bool may_run(node_id b, stream_id s) const {
    if (p_.pin(b) != no_id) return p_.pin(b) == s;
    if (s >= p_.streams) return false;
    if (!p_.pinned.empty()) return true;
    return std::find(free_.begin(), free_.begin() + s, free_[s]) == free_.begin() + s;
  }

  void place(node_id b, stream_id s, ticks at, ticks left) {
    if (at == unknown) return;
    const ticks was = free_[s];
    start_[b] = at;
    stream_[b] = s;
    free_[s] = end(b);
    order_.push_back(b);
    look(at, left - p_.durations[b]);
    order_.pop_back();
    free_[s] = was;
    start_[b] = unknown;
  }

  void keep() {
    const ticks time = *std::max_element(free_.begin(), free_.end());
    if (time >= below_) return;
    below_ = time;
    *best_ = {order_, stream_, start_, {}, time};
    std::vector<ticks> free(p_.lanes);
    for (const node_id b : order_) {
      const ticks earliest = (std::max)(ready(b), free[stream_[b]]);
      free[stream_[b]] = end(b);
      if (start_[b] == earliest) continue;
      // Every start is 0 or the end of an op: what fits later fits once something is done.
      for (const node_id a : order_) {
        if (a == b) break;
        if (end(a) != start_[b]) continue;
        best_->holds.push_back({a, b});
        break;
      }
    }
    for (ticks& at : best_->start) at = (std::max)(at, ticks{0});
  }

  const issue_program& p_;     ///< literal: these live as long as the call
  const live_values& values_;  ///< literal
  std::int64_t cap_;
  std::size_t steps_;              // left
  std::vector<ticks> start_;       // by op
  std::vector<stream_id> stream_;  // by op
  std::vector<ticks> free_;        // by stream
  std::vector<node_id> order_;
  ticks work_ = 0, below_ = 0;
  listed* best_ = nullptr;
};

}  // namespace hocket::inline HOCKET_ABI::graph::detail
