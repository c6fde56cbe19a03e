// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// All interleavings of a small program of ranks, one step at a time: what docs/ranks.md says, with no shortcut. It
// shares the program and the machine with the library, and no code that judges.
#pragma once
#include <hocket/ranks/machine.hpp>
#include <hocket/ranks/program.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

namespace explorer {

using hocket::ranks::launch_order;
using hocket::ranks::machine;
using hocket::ranks::op;
using hocket::ranks::op_kind;
using hocket::ranks::program;

struct outcome {
  bool can_finish = false;
  bool can_hang = false;
  bool complete = true;  // all states were visited
};

class explorer {
 public:
  explorer(const program& p, const machine& m, std::size_t most) : job_(p), rules_(m), most_(most) {}

  outcome operator()() {
    state s;
    for (std::uint32_t r = 0; r < job_.ranks(); ++r) {
      rank_part part;
      int threads = 1;
      for (const op& o : job_.list(r)) threads = std::max(threads, o.thread + 1);
      part.threads.resize(static_cast<std::size_t>(threads));
      s.ranks.push_back(part);
      for (auto& t : s.ranks.back().threads) t.at = -1;
      for (int t = 0; t < threads; ++t) s.ranks.back().threads[static_cast<std::size_t>(t)].at = next_of(r, t, -1);
    }
    visit(s);
    return out_;
  }

 private:
  enum { queued, started, done };
  struct meeting_part {
    int op = 0, number = 0;
  };
  struct entry {                      // of a stream
    std::vector<meeting_part> parts;  // one for a plain op
    int call = 0;                     // among those of its communicator; of a wait: the record's entry, or -1
    int status = queued;
  };
  struct thread_part {
    int at = 0;  // next op; end of list: none
    bool waits = false;
    int waits_at = -1;               // op at which it waits
    std::vector<int> entries;        // that must be done
    std::vector<int> communicators;  // whose members must all have called
  };
  struct rank_part {
    std::vector<thread_part> threads;
    std::vector<entry> entries;  // in the order of enqueuing
  };
  struct state {
    std::vector<rank_part> ranks;
  };

  const op& at(std::uint32_t r, int i) const { return job_.list(r)[static_cast<std::size_t>(i)]; }
  const op& first(std::uint32_t r, const entry& e) const { return at(r, e.parts.front().op); }
  bool is_call(std::uint32_t r, const entry& e) const { return hocket::ranks::is_communication(first(r, e).kind); }

  int next_of(std::uint32_t r, int thread, int after) const {
    const int n = static_cast<int>(job_.list(r).size());
    int i = after + 1;
    if (after >= 0 && at(r, after).kind == op_kind::group_begin) {
      while (at(r, i).kind != op_kind::group_end) ++i;
      ++i;
    }
    bool in_group = false;
    for (; i < n; ++i) {
      if (!in_group && at(r, i).thread == thread && at(r, i).kind != op_kind::group_end) return i;
      if (at(r, i).kind == op_kind::group_begin) in_group = true;
      if (at(r, i).kind == op_kind::group_end) in_group = false;
    }
    return n;
  }

  std::vector<std::uint32_t> members(std::uint32_t r, const op& o) const {
    for (const auto& g : job_.groups(o.communicator).groups)
      for (const std::uint32_t m : g)
        if (m == r) return {g.begin(), g.end()};
    return {};
  }

  static std::vector<int> key(const state& s) {
    std::vector<int> k;
    for (const rank_part& r : s.ranks) {
      for (const thread_part& t : r.threads) {
        k.push_back(t.at);
        k.push_back(t.waits);
        k.push_back(t.waits_at);
        k.push_back(static_cast<int>(t.entries.size()));
        k.insert(k.end(), t.entries.begin(), t.entries.end());
      }
      for (const entry& e : r.entries) {
        k.push_back(e.parts.front().op);
        for (const auto& p : e.parts) k.push_back(p.number);
        k.push_back(e.call);
        k.push_back(e.status);
      }
      k.push_back(-7);
    }
    return k;
  }

  void visit(const state& start) {
    std::vector<state> todo{start};
    while (!todo.empty()) {
      const state s = todo.back();
      todo.pop_back();
      if (!seen_.insert(key(s)).second) continue;
      if (seen_.size() > most_) {
        out_.complete = false;
        return;
      }
      bool must = false;
      for (std::uint32_t r = 0; r < s.ranks.size(); ++r) moves_of(s, r, todo, must);
      const bool finished = is_finished(s);
      if (finished) out_.can_finish = true;
      else if (!must) out_.can_hang = true;
    }
  }
  bool is_finished(const state& s) const {
    for (std::uint32_t r = 0; r < s.ranks.size(); ++r) {
      for (const thread_part& t : s.ranks[r].threads)
        if (t.waits || t.at != static_cast<int>(job_.list(r).size())) return false;
      for (const entry& e : s.ranks[r].entries)
        if (e.status != done) return false;
    }
    return true;
  }

  // Every state after one step of a rank. `must`: some step happens in any case, sooner or later.
  void moves_of(const state& s, std::uint32_t r, std::vector<state>& todo, bool& must) {
    const rank_part& mine = s.ranks[r];
    for (std::size_t t = 0; t < mine.threads.size(); ++t) {
      if (mine.threads[t].waits) {
        if (!may_pass(s, r, mine.threads[t])) continue;
        state next = s;
        thread_part& moved = next.ranks[r].threads[t];
        moved.waits = false;
        moved.waits_at = -1;
        moved.entries.clear();
        moved.communicators.clear();
        todo.push_back(next);
        must = true;
      } else if (mine.threads[t].at < static_cast<int>(job_.list(r).size())) {
        state next = s;
        host_step(next, r, static_cast<int>(t));
        todo.push_back(next);
        must = true;
      }
    }
    for (std::size_t e = 0; e < mine.entries.size(); ++e) {
      bool forced = true;
      const int status = mine.entries[e].status;
      const bool can = status == queued ? may_start(s, r, e, forced) : status == started && may_end(s, r, e, forced);
      if (!can) continue;
      state next = s;
      next.ranks[r].entries[e].status = status + 1;
      todo.push_back(next);
      must = must || forced;
    }
  }

  void host_step(state& s, std::uint32_t r, int thread) {
    rank_part& mine = s.ranks[r];
    thread_part& t = mine.threads[static_cast<std::size_t>(thread)];
    const int i = t.at;
    const op& o = at(r, i);
    t.at = next_of(r, thread, i);
    if (o.kind == op_kind::group_begin) {
      std::map<std::uint32_t, std::vector<int>> by_communicator;
      std::vector<std::uint32_t> order;
      for (int j = i + 1; at(r, j).kind != op_kind::group_end; ++j) {
        if (by_communicator.count(at(r, j).communicator) == 0) order.push_back(at(r, j).communicator);
        by_communicator[at(r, j).communicator].push_back(j);
      }
      for (const std::uint32_t c : order) enqueue(s, r, thread, by_communicator[c]);
    } else if (hocket::ranks::is_enqueued(o.kind)) {
      enqueue(s, r, thread, {i});
    } else {
      t.waits = true;
      t.waits_at = i;
      if (o.kind == op_kind::synchronize_event) {
        const int record = last_record(mine, r, o.tag);
        if (record >= 0) t.entries.push_back(record);
        return;
      }
      for (std::size_t e = 0; e < mine.entries.size(); ++e)
        if (o.kind == op_kind::synchronize_device || first(r, mine.entries[e]).stream == o.stream)
          t.entries.push_back(static_cast<int>(e));
    }
  }
  int last_record(const rank_part& mine, std::uint32_t r, std::uint32_t event) const {
    for (std::size_t e = mine.entries.size(); e-- > 0;)
      if (first(r, mine.entries[e]).kind == op_kind::record && first(r, mine.entries[e]).tag == event)
        return static_cast<int>(e);
    return -1;
  }
  bool any_record_done(const rank_part& mine, std::uint32_t r, std::uint32_t event) const {
    for (const entry& e : mine.entries)
      if (first(r, e).kind == op_kind::record && first(r, e).tag == event) return e.status == done;  // the first
    return false;
  }

  void enqueue(state& s, std::uint32_t r, int thread, const std::vector<int>& ops) {
    rank_part& mine = s.ranks[r];
    thread_part& t = mine.threads[static_cast<std::size_t>(thread)];
    const op& o = at(r, ops.front());
    entry e;
    for (const int i : ops) {
      int number = 0;
      for (const entry& before : mine.entries)
        for (const auto& p : before.parts) number += same_channel(at(r, p.op), at(r, i)) ? 1 : 0;
      for (const auto& p : e.parts) number += same_channel(at(r, p.op), at(r, i)) ? 1 : 0;
      e.parts.push_back({i, number});
    }
    if (o.kind == op_kind::wait) e.call = last_record(mine, r, o.tag);
    if (hocket::ranks::is_communication(o.kind)) {
      for (const entry& before : mine.entries)
        e.call += is_call(r, before) && first(r, before).communicator == o.communicator ? 1 : 0;
      using hocket::ranks::host_return;
      if (o.returns == host_return::when_complete ||
          (o.returns == host_return::by_machine && !rules_.enqueue_returns)) {
        t.waits = true;
        t.entries.push_back(static_cast<int>(mine.entries.size()));
      }
      if (rules_.connects_on_first_use && e.call == 0) {
        t.waits = true;
        t.communicators.push_back(static_cast<int>(o.communicator));
      }
    }
    mine.entries.push_back(e);
  }
  static bool same_channel(const op& a, const op& b) {
    if (!hocket::ranks::is_communication(a.kind) || !hocket::ranks::is_communication(b.kind)) return false;
    if (a.communicator != b.communicator) return false;
    const bool ca = hocket::ranks::is_collective(a.kind), cb = hocket::ranks::is_collective(b.kind);
    if (ca || cb) return ca && cb;
    return a.kind == b.kind && a.peer == b.peer && a.tag == b.tag;
  }

  bool may_pass(const state& s, std::uint32_t r, const thread_part& t) const {
    const rank_part& mine = s.ranks[r];
    for (const int e : t.entries)
      if (mine.entries[static_cast<std::size_t>(e)].status != done) return false;
    for (const int c : t.communicators) {
      op probe;
      probe.communicator = static_cast<std::uint32_t>(c);
      for (const std::uint32_t m : members(r, probe)) {
        bool called = false;
        for (const entry& e : s.ranks[m].entries)
          called = called || (is_call(m, e) && first(m, e).communicator == probe.communicator);
        if (!called) return false;
      }
    }
    if (t.waits_at < 0) return true;
    const op& o = at(r, t.waits_at);
    if (o.kind != op_kind::synchronize_event || !t.entries.empty() || !rules_.unrecorded_events_block) return true;
    return any_record_done(mine, r, o.tag);
  }

  bool may_start(const state& s, std::uint32_t r, std::size_t which, bool& forced) const {
    const rank_part& mine = s.ranks[r];
    const entry& e = mine.entries[which];
    const op& o = first(r, e);
    int running = 0;
    for (std::size_t i = 0; i < mine.entries.size(); ++i) {
      const entry& other = mine.entries[i];
      const op& p = first(r, other);
      const bool earlier = i < which;
      if (is_call(r, other) && other.status == started) ++running;
      if (earlier && p.stream == o.stream && other.status != done) return false;
      const std::uint32_t queues = rules_.hardware_queues;
      if (earlier && queues != 0 && p.stream % queues == o.stream % queues && other.status == queued) return false;
      if (!is_call(r, e) || !is_call(r, other) || !earlier) continue;
      if (rules_.serial_communicators && p.communicator == o.communicator && other.status != done) return false;
      if (rules_.order == launch_order::start && other.status == queued) return false;
      if (rules_.order == launch_order::serial && other.status != done) return false;
    }
    if (o.kind == op_kind::wait) {
      if (e.call >= 0) return mine.entries[static_cast<std::size_t>(e.call)].status == done;
      return !rules_.unrecorded_events_block || any_record_done(mine, r, o.tag);
    }
    forced = !is_call(r, e) || rules_.slots == 0 || running < static_cast<int>(rules_.slots);
    return true;
  }

  bool may_end(const state& s, std::uint32_t r, std::size_t which, bool& forced) const {
    const entry& e = s.ranks[r].entries[which];
    if (!is_call(r, e)) return true;
    for (const auto& p : e.parts)
      if (!part_over(s, r, at(r, p.op), p.number, forced)) return false;
    return true;
  }
  // The op that rank m started as the number-th of its channel that meets `o`.
  const op* other_end(const state& s, std::uint32_t m, std::uint32_t r, const op& o, int number) const {
    for (const entry& e : s.ranks[m].entries) {
      if (!is_call(m, e) || e.status == queued) continue;
      for (const auto& p : e.parts) {
        const op& theirs = at(m, p.op);
        if (theirs.communicator != o.communicator || p.number != number) continue;
        const bool both = hocket::ranks::is_collective(o.kind) && hocket::ranks::is_collective(theirs.kind);
        const bool ends = (o.kind == op_kind::send && theirs.kind == op_kind::receive) ||
                          (o.kind == op_kind::receive && theirs.kind == op_kind::send);
        if (both || (ends && theirs.tag == o.tag && theirs.peer == r && o.peer == m)) return &theirs;
      }
    }
    return nullptr;
  }
  bool fits(const op& a, const op& b) const {
    if (a.kind == op_kind::send) return a.count == b.count || (rules_.longer_receives && a.count < b.count);
    if (a.kind == op_kind::receive) return fits(b, a);
    if (a.kind != b.kind || a.type != b.type) return false;
    if (hocket::ranks::has_root(a.kind) && a.peer != b.peer) return false;
    return a.count == b.count || hocket::ranks::has_counts(a.kind);
  }
  bool part_over(const state& s, std::uint32_t r, const op& o, int number, bool& forced) const {
    if (hocket::ranks::is_collective(o.kind)) {
      const op* reference = nullptr;
      for (const std::uint32_t m : members(r, o)) {
        const op* theirs = other_end(s, m, r, o, number);
        if (theirs == nullptr) return false;
        if (reference != nullptr && !fits(*reference, *theirs)) return false;
        reference = theirs;
      }
      return true;
    }
    if (o.kind == op_kind::send && o.count < rules_.surely_buffered_below) return true;
    const op* theirs = other_end(s, o.peer, r, o, number);
    if (theirs != nullptr && fits(o, *theirs)) return true;
    if (o.kind == op_kind::send && o.count < rules_.perhaps_buffered_below) {
      forced = false;  // a buffer may be there, or not
      return true;
    }
    return false;
  }

  const program& job_;
  const machine& rules_;
  std::size_t most_;
  std::set<std::vector<int>> seen_;
  outcome out_;
};

inline outcome explore(const program& p, const machine& m, std::size_t most = 20000) { return explorer(p, m, most)(); }

/// Whether all calls meet a call that fits, in the order of the lists.
inline bool all_meet(const program& p, const machine& m) {
  using signature = std::tuple<op_kind, int, std::uint32_t, std::uint64_t>;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::map<std::uint32_t, std::vector<signature>>> collectives;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>, std::vector<std::uint64_t>> sent,
      received;
  for (std::uint32_t c = 0; c < p.communicator_count(); ++c)
    for (std::uint32_t g = 0; g < p.groups(c).groups.size(); ++g)
      for (const std::uint32_t r : p.groups(c).groups[g]) {
        auto& mine = collectives[{c, g}][r];
        for (const op& o : p.list(r)) {
          if (!hocket::ranks::is_communication(o.kind) || o.communicator != c) continue;
          if (hocket::ranks::is_collective(o.kind))
            mine.emplace_back(o.kind, static_cast<int>(o.type), hocket::ranks::has_root(o.kind) ? o.peer : 0,
                              hocket::ranks::has_counts(o.kind) ? 0 : o.count);
          else if (o.kind == op_kind::send) sent[{c, r, o.peer, o.tag}].push_back(o.count);
          else received[{c, o.peer, r, o.tag}].push_back(o.count);
        }
      }
  for (const auto& [group, lists] : collectives)
    for (const auto& [rank, list] : lists)
      if (list != lists.begin()->second) return false;
  for (auto* side : {&sent, &received})
    for (const auto& [channel, list] : *side)
      if (sent[channel].size() != received[channel].size()) return false;
  for (const auto& [channel, list] : sent)
    for (std::size_t i = 0; i < list.size(); ++i)
      if (list[i] != received[channel][i] && !(m.longer_receives && list[i] < received[channel][i])) return false;
  return true;
}

}  // namespace explorer
