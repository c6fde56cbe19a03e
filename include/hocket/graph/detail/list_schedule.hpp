// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lists of ops on streams: who starts next where, forward and backward in time.
#pragma once
#include <hocket/core/ids.hpp>
#include <hocket/core/ticks.hpp>
#include <hocket/graph/detail/byte_gate.hpp>
#include <hocket/graph/detail/flat_lists.hpp>
#include <hocket/graph/detail/live_values.hpp>
#include <hocket/graph/edge.hpp>

#include <algorithm>
#include <cstddef>
#include <queue>
#include <span>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::graph::detail {

// What is to be ordered: ops that wait for others, and where they may run.
struct issue_program {
  flat_lists ups, downs;
  std::vector<node_id> live;      // the ops, each after those that it waits for
  std::vector<ticks> durations;   // by op
  std::vector<stream_id> pinned;  // by op, no_id where any of the first `streams` will do; empty: no op is pinned
  stream_id streams = 1;          // for ops that are not pinned
  stream_id lanes = 1;            // and all, with those for pinned ops alone
  std::vector<ticks> head, tail;  // by op, the longest chain before it, and after it

  [[nodiscard]] std::size_t nodes() const noexcept { return durations.size(); }
  [[nodiscard]] stream_id pin(node_id b) const noexcept { return pinned.empty() ? no_id : pinned[b]; }
  // The same with time reversed, but for `live`.
  [[nodiscard]] const flat_lists& before(bool reversed) const noexcept { return reversed ? downs : ups; }
};

// Ops on streams, with times from 0.
struct listed {
  std::vector<node_id> order;
  std::vector<stream_id> stream_of;
  std::vector<ticks> start;
  std::vector<edge> holds;  // the second waits for the first, to have its memory
  ticks time = 0;
};

// Each op in program order where it starts earliest; rather on the stream whose last op it waits for.
class program_order {
 public:
  explicit program_order(const issue_program& p) : p_(p), free_(p.lanes), last_(p.lanes, no_id) {}

  [[nodiscard]] listed run() {
    out_.order = p_.live;
    out_.stream_of.assign(p_.nodes(), 0);
    out_.start.assign(p_.nodes(), 0);
    for (const node_id b : p_.live) {
      ticks ready = 0;
      for (const node_id a : p_.ups.of(b)) ready = (std::max)(ready, out_.start[a] + p_.durations[a]);
      const stream_id s = p_.pin(b) != no_id ? p_.pin(b) : earliest(b, ready);
      out_.stream_of[b] = s;
      out_.start[b] = (std::max)(ready, free_[s]);
      free_[s] = out_.start[b] + p_.durations[b];
      last_[s] = b;
      out_.time = (std::max)(out_.time, free_[s]);
    }
    return std::move(out_);
  }

 private:
  [[nodiscard]] stream_id earliest(node_id b, ticks ready) const {
    stream_id chosen = 0;
    for (stream_id s = 1; s < p_.streams; ++s)
      if ((std::max)(ready, free_[s]) < (std::max)(ready, free_[chosen])) chosen = s;
    for (const node_id a : p_.ups.of(b)) {
      const stream_id s = out_.stream_of[a];
      if (s < p_.streams && last_[s] == a && free_[s] <= ready) chosen = s;
    }
    return chosen;
  }

  const issue_program& p_;     ///< literal: lives as long as the call
  std::vector<ticks> free_;    // by stream, when its last op is done
  std::vector<node_id> last_;  // by stream
  listed out_;
};

// The ops that could start, the most urgent first; of equals the first in the program.
class ready_ops {
 public:
  void push(ticks urgency, node_id b) { heap_.emplace(urgency, no_id - b); }
  [[nodiscard]] bool empty() const noexcept { return heap_.empty(); }
  [[nodiscard]] std::pair<ticks, node_id> rank() const { return heap_.top(); }
  [[nodiscard]] node_id top() const { return no_id - heap_.top().second; }
  void pop() { heap_.pop(); }

 private:
  std::priority_queue<std::pair<ticks, node_id>> heap_;
};

// No cap: every op may start as soon as a stream is free.
struct open_gate {
  static constexpr bool never_refuses = true;
  [[nodiscard]] static bool admits(node_id) noexcept { return true; }
  static void retire(node_id) noexcept {}
  [[nodiscard]] static node_id next() noexcept { return no_id; }
};

// One pass in time: whenever a stream is free, the most urgent op that may run there starts, if the gate admits it.
template <class Gate>
class list_pass {
 public:
  // reversed: time runs backward, so ops wait for those that follow them.
  list_pass(const issue_program& p, bool reversed, std::span<const ticks> urgency, Gate& gate)
      : p_(p),
        before_(p.before(reversed)),
        after_(p.before(!reversed)),
        urgency_(urgency),
        gate_(gate),
        here_(p.pinned.empty() ? 0 : p.lanes),
        last_(p.lanes, no_id),
        since_(p.lanes),
        idle_(p.lanes, true),
        waiting_(p.nodes()) {}

  [[nodiscard]] listed run() {
    out_.order.reserve(p_.live.size());
    out_.stream_of.assign(p_.nodes(), 0);
    out_.start.assign(p_.nodes(), not_started);
    for (const node_id b : p_.live) {
      waiting_[b] = before_.count(b);
      if (waiting_[b] == 0) release(b);
    }
    start_all();
    while (!running_.empty()) {
      out_.time = running_.top().first;
      while (!running_.empty() && running_.top().first == out_.time) {
        const node_id a = running_.top().second;
        running_.pop();
        retire(a);
      }
      start_all();
    }
    return std::move(out_);
  }

 private:
  static constexpr ticks not_started = -1;
  // Refusals after which a moment is over: the most urgent ops matter, and each question costs O(log ops).
  static constexpr std::size_t most_refusals = 8;

  void release(node_id b) { (p_.pin(b) == no_id ? anywhere_ : here_[p_.pin(b)]).push(urgency_[b], b); }

  void retire(node_id a) {
    gate_.retire(a);
    retired_ = a;
    idle_[out_.stream_of[a]] = true;
    since_[out_.stream_of[a]] = out_.time;
    for (const node_id c : after_.of(a))
      if (--waiting_[c] == 0) release(c);
  }

  [[nodiscard]] bool is_idle(node_id b) const { return free_stream(b) != no_id; }

  // A free stream on which b needs no event, else the first that is free; no_id if none is.
  [[nodiscard]] stream_id free_stream(node_id b) const {
    if (const stream_id s = p_.pin(b); s != no_id) return idle_[s] ? s : no_id;
    for (const node_id a : before_.of(b)) {
      const stream_id s = out_.stream_of[a];
      if (s < p_.streams && idle_[s] && last_[s] == a) return s;
    }
    const auto end = idle_.begin() + p_.streams;
    const auto at = std::find(idle_.begin(), end, true);
    return at == end ? no_id : static_cast<stream_id>(at - idle_.begin());
  }

  // The queue of the most urgent op that finds a stream free; null if there is none.
  [[nodiscard]] ready_ops* most_urgent() {
    ready_ops* from = nullptr;
    const auto end = idle_.begin() + p_.streams;
    const bool any_idle = std::find(idle_.begin(), end, true) != end;
    if (any_idle && !empty(anywhere_)) from = &anywhere_;
    for (std::size_t s = 0; s < here_.size(); ++s)
      if (idle_[s] && !empty(here_[s]) && (from == nullptr || from->rank() < here_[s].rank())) from = &here_[s];
    return from;
  }
  // Drops what has started out of turn.
  [[nodiscard]] bool empty(ready_ops& queue) const {
    while (!queue.empty() && out_.start[queue.top()] != not_started) queue.pop();
    return queue.empty();
  }

  void start_all() {
    refused_.clear();
    while (refused_.size() < most_refusals) {
      ready_ops* const from = most_urgent();
      if (from == nullptr) break;
      const node_id b = from->top();
      from->pop();
      if (gate_.admits(b)) start(b);
      else refused_.push_back(b);
    }
    for (node_id b = gate_.next(); b != no_id; b = gate_.next()) {
      if (out_.start[b] != not_started || waiting_[b] != 0 || !is_idle(b) || !gate_.admits(b)) break;
      start(b);
    }
    for (const node_id b : refused_)
      if (out_.start[b] == not_started) release(b);
  }

  void start(node_id b) {
    const stream_id s = free_stream(b);
    if constexpr (!requires { Gate::never_refuses; }) hold(b, s);
    idle_[s] = false;
    last_[s] = b;
    out_.stream_of[b] = s;
    out_.start[b] = out_.time;
    out_.order.push_back(b);
    running_.emplace(out_.time + p_.durations[b], b);
  }

  // If b could have started earlier, it waits for an op that is done now.
  void hold(node_id b, stream_id s) {
    ticks ready = last_[s] == no_id ? 0 : since_[s];
    for (const node_id a : before_.of(b)) ready = (std::max)(ready, out_.start[a] + p_.durations[a]);
    if (ready < out_.time) out_.holds.push_back({retired_, b});
  }

  const issue_program& p_;    ///< literal: these three live as long as the call
  const flat_lists& before_;  ///< literal
  const flat_lists& after_;   ///< literal
  std::span<const ticks> urgency_;
  Gate& gate_;  ///< literal
  ready_ops anywhere_;
  std::vector<ready_ops> here_;  // by stream, the ops pinned there
  std::vector<node_id> last_;    // by stream
  std::vector<ticks> since_;     // by stream, when it became free
  std::vector<bool> idle_;
  std::vector<std::size_t> waiting_;
  std::vector<node_id> refused_;
  running_ops running_;
  node_id retired_ = no_id;  // the last op that was done
  listed out_;
};

template <class Gate>
[[nodiscard]] listed run_list(const issue_program& p, bool reversed, std::span<const ticks> urgency, Gate& gate) {
  return list_pass<Gate>(p, reversed, urgency, gate).run();
}

// Replaces `best` by a faster list, if there is one; `least` is reason to stop.
inline void improve_time(const issue_program& p, listed& best, ticks least) {
  // Forward and backward passes after the first: later ones gain next to nothing, and take seconds of many ops.
  const int rounds = p.live.size() > 200'000 ? 2 : 4;
  open_gate gate;
  std::vector<ticks> urgency(p.nodes());
  for (const node_id b : p.live) urgency[b] = p.tail[b] + p.durations[b];
  for (int round = 0; round <= rounds && best.time > least; ++round) {
    listed ahead = run_list(p, false, urgency, gate);
    for (const node_id b : p.live) urgency[b] = ahead.start[b] + p.durations[b];
    if (ahead.time < best.time) best = std::move(ahead);
    if (round == rounds) break;
    const listed back = run_list(p, true, urgency, gate);
    for (const node_id b : p.live) urgency[b] = back.start[b] + p.durations[b];
  }
}

}  // namespace hocket::inline HOCKET_ABI::graph::detail
