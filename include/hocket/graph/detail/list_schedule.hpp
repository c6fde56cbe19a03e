// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lists of ops on streams: who starts next where, forward and backward in time.
#pragma once
#include <hocket/core/ids.hpp>
#include <hocket/core/ticks.hpp>
#include <hocket/graph/edge.hpp>

#include <algorithm>
#include <cstddef>
#include <queue>
#include <span>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::graph::detail {

// The neighbours of each node in one array.
class flat_lists {
 public:
  flat_lists(std::size_t nodes, std::span<const edge> edges, bool backward) : first_(nodes + 1), to_(edges.size()) {
    for (const edge& e : edges) ++first_[(backward ? e.target : e.source) + std::size_t{1}];
    for (std::size_t i = 0; i < nodes; ++i) first_[i + 1] += first_[i];
    std::vector<std::size_t> at(first_.begin(), first_.end() - 1);
    for (const edge& e : edges) to_[at[backward ? e.target : e.source]++] = backward ? e.source : e.target;
  }
  [[nodiscard]] std::span<const node_id> of(node_id a) const noexcept {
    return std::span(to_).subspan(first_[a], first_[a + std::size_t{1}] - first_[a]);
  }

 private:
  std::vector<std::size_t> first_;
  std::vector<node_id> to_;
};

// Ops on streams, with times from 0.
struct listed {
  std::vector<node_id> order;
  std::vector<stream_id> stream_of;
  std::vector<ticks> start;
  ticks time = 0;
};

// The ops that could start, the most urgent first; of equals the first in the program.
class ready_ops {
 public:
  void push(ticks urgency, node_id b) { heap_.emplace(urgency, no_id - b); }
  [[nodiscard]] bool empty() const noexcept { return heap_.empty(); }
  [[nodiscard]] std::pair<ticks, node_id> rank() const { return heap_.top(); }
  [[nodiscard]] node_id pop() {
    const node_id b = no_id - heap_.top().second;
    heap_.pop();
    return b;
  }

 private:
  std::priority_queue<std::pair<ticks, node_id>> heap_;
};

/// What is done first comes first, of equals the earlier op.
struct first_done {
  [[nodiscard]] bool operator()(const std::pair<ticks, node_id>& a, const std::pair<ticks, node_id>& b) const noexcept {
    return a > b;
  }
};

class list_schedule {
 public:
  list_schedule(std::size_t nodes, std::span<const edge> edges, std::span<const node_id> live, stream_id streams,
                std::span<const ticks> durations, std::span<const stream_id> pinned)
      : ups_(nodes, edges, true),
        downs_(nodes, edges, false),
        live_(live),
        streams_(streams),
        durations_(durations),
        pinned_(pinned),
        head_(nodes),
        tail_(nodes) {
    for (const node_id b : live)
      for (const node_id a : ups_.of(b)) head_[b] = (std::max)(head_[b], head_[a] + durations_[a]);
    for (std::size_t i = live.size(); i-- > 0;)
      for (const node_id c : downs_.of(live[i])) tail_[live[i]] = (std::max)(tail_[live[i]], tail_[c] + durations_[c]);
  }

  // Each op where it starts earliest, in program order; rather on the stream whose last op it waits for.
  [[nodiscard]] listed in_program_order() const {
    listed out = blank();
    std::vector<ticks> free(streams_);
    std::vector<node_id> last(streams_, no_id);
    for (const node_id b : live_) {
      ticks ready = 0;
      for (const node_id a : ups_.of(b)) ready = (std::max)(ready, out.start[a] + durations_[a]);
      stream_id chosen = pin(b);
      if (chosen == no_id) chosen = earliest(b, ready, free, last, out);
      out.order.push_back(b);
      out.stream_of[b] = chosen;
      out.start[b] = (std::max)(ready, free[chosen]);
      free[chosen] = out.start[b] + durations_[b];
      last[chosen] = b;
      out.time = (std::max)(out.time, free[chosen]);
    }
    return out;
  }

  // Replaces `best` by a faster list, if there is one; `least` is reason to stop.
  void improve(listed& best, ticks least) const {
    // Forward and backward passes after the first: later ones gain next to nothing, and take seconds of many ops.
    const int rounds = live_.size() > 200'000 ? 2 : 4;
    std::vector<ticks> urgency(tail_.size());
    for (const node_id b : live_) urgency[b] = tail_[b] + durations_[b];
    for (int round = 0; round <= rounds && best.time > least; ++round) {
      listed ahead = list(ups_, downs_, urgency);
      for (const node_id b : live_) urgency[b] = ahead.start[b] + durations_[b];
      if (ahead.time < best.time) best = std::move(ahead);
      if (round == rounds) break;
      const listed back = list(downs_, ups_, urgency);
      for (const node_id b : live_) urgency[b] = back.start[b] + durations_[b];
    }
  }

  // No list takes less than this.
  [[nodiscard]] ticks least_time() const {
    ticks least = pinned_work();
    std::vector<node_id> by_tail(live_.begin(), live_.end());
    std::sort(by_tail.begin(), by_tail.end(),
              [this](node_id x, node_id y) { return tail_[x] != tail_[y] ? tail_[x] > tail_[y] : x < y; });
    std::vector<ticks> heads;
    for (const node_id b : live_) {
      heads.push_back(head_[b]);
      least = (std::max)(least, head_[b] + durations_[b] + tail_[b]);
    }
    std::sort(heads.begin(), heads.end());
    heads.erase(std::unique(heads.begin(), heads.end()), heads.end());
    constexpr std::size_t most = 64;  // heads looked at: each costs a pass, and neighbours say nearly the same
    const std::size_t step = heads.size() / most + 1;
    for (std::size_t i = 0; i < heads.size(); i += step) least = (std::max)(least, bound_from(heads[i], by_tail));
    return least;
  }

 private:
  [[nodiscard]] listed blank() const {
    listed out;
    out.order.reserve(live_.size());
    out.stream_of.assign(head_.size(), 0);
    out.start.assign(head_.size(), 0);
    return out;
  }

  [[nodiscard]] stream_id pin(node_id b) const noexcept { return pinned_.empty() ? no_id : pinned_[b]; }

  [[nodiscard]] stream_id earliest(node_id b, ticks ready, std::span<const ticks> free, std::span<const node_id> last,
                                   const listed& out) const {
    stream_id chosen = 0;
    for (stream_id s = 1; s < streams_; ++s)
      if ((std::max)(ready, free[s]) < (std::max)(ready, free[chosen])) chosen = s;
    for (const node_id a : ups_.of(b)) {
      const stream_id s = out.stream_of[a];
      if (last[s] == a && free[s] <= ready) chosen = s;
    }
    return chosen;
  }

  // The ops that start at `begin` or later, from those with most to come: their work on all streams between both.
  [[nodiscard]] ticks bound_from(ticks begin, std::span<const node_id> by_tail) const {
    ticks bound = 0, work = 0;
    for (const node_id b : by_tail) {
      if (head_[b] < begin) continue;
      work += durations_[b];
      const ticks shared = work / streams_ + (work % streams_ != 0 ? 1 : 0);
      bound = (std::max)(bound, begin + shared + tail_[b]);
    }
    return bound;
  }

  [[nodiscard]] ticks pinned_work() const {
    std::vector<ticks> work(streams_);
    for (const node_id b : live_)
      if (pin(b) != no_id) work[pin(b)] += durations_[b];
    return *std::max_element(work.begin(), work.end());
  }

  // One pass in time: whenever a stream is free, the most urgent op that may run there starts.
  struct pass {
    explicit pass(const list_schedule& lists)
        : here(lists.pinned_.empty() ? 0 : lists.streams_),
          last(lists.streams_, no_id),
          idle(lists.streams_, true),
          waiting(lists.head_.size()) {}
    ready_ops anywhere;
    std::vector<ready_ops> here;  // by stream, the ops pinned there
    std::vector<node_id> last;
    std::vector<bool> idle;
    std::vector<std::size_t> waiting;
    std::priority_queue<std::pair<ticks, node_id>, std::vector<std::pair<ticks, node_id>>, first_done> running;
  };

  void release(pass& p, node_id b, std::span<const ticks> urgency) const {
    (pin(b) == no_id ? p.anywhere : p.here[pin(b)]).push(urgency[b], b);
  }

  // A free stream on which b needs no event, else the first that is free; no_id if none is.
  [[nodiscard]] stream_id free_stream(const pass& p, const flat_lists& before, node_id b, const listed& out) const {
    for (const node_id a : before.of(b)) {
      const stream_id s = out.stream_of[a];
      if (p.idle[s] && p.last[s] == a) return s;
    }
    const auto at = std::find(p.idle.begin(), p.idle.end(), true);
    return static_cast<stream_id>(at - p.idle.begin());
  }

  // Starts one op at `now`, the most urgent that finds its stream free; says whether there was one.
  [[nodiscard]] bool start_one(pass& p, const flat_lists& before, ticks now, listed& out) const {
    ready_ops* from = nullptr;
    const bool any_idle = std::find(p.idle.begin(), p.idle.end(), true) != p.idle.end();
    if (any_idle && !p.anywhere.empty()) from = &p.anywhere;
    for (std::size_t s = 0; s < p.here.size(); ++s)
      if (p.idle[s] && !p.here[s].empty() && (from == nullptr || from->rank() < p.here[s].rank())) from = &p.here[s];
    if (from == nullptr) return false;
    const node_id b = from->pop();
    const stream_id s = pin(b) != no_id ? pin(b) : free_stream(p, before, b, out);
    p.idle[s] = false;
    p.last[s] = b;
    out.stream_of[b] = s;
    out.start[b] = now;
    out.order.push_back(b);
    p.running.emplace(now + durations_[b], b);
    return true;
  }

  [[nodiscard]] listed list(const flat_lists& before, const flat_lists& after, std::span<const ticks> urgency) const {
    listed out = blank();
    pass p(*this);
    for (const node_id b : live_) {
      p.waiting[b] = before.of(b).size();
      if (p.waiting[b] == 0) release(p, b, urgency);
    }
    while (start_one(p, before, out.time, out)) {
    }
    while (!p.running.empty()) {
      out.time = p.running.top().first;
      while (!p.running.empty() && p.running.top().first == out.time) {
        const node_id a = p.running.top().second;
        p.running.pop();
        p.idle[out.stream_of[a]] = true;
        for (const node_id c : after.of(a))
          if (--p.waiting[c] == 0) release(p, c, urgency);
      }
      while (start_one(p, before, out.time, out)) {
      }
    }
    return out;
  }

  flat_lists ups_, downs_;
  std::span<const node_id> live_;
  stream_id streams_;
  std::span<const ticks> durations_;
  std::span<const stream_id> pinned_;
  std::vector<ticks> head_, tail_;  // the longest chain before an op, and after it
};

}  // namespace hocket::inline HOCKET_ABI::graph::detail
