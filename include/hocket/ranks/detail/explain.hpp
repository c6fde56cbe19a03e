// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/detail/cycle_search.hpp>
#include <hocket/ranks/answer.hpp>
#include <hocket/ranks/detail/run.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::ranks::detail {

/// Who waits for whom where a run stands still: streams and host threads of all ranks, numbered in a row.
///
///     rank 0: thread 0, stream 0, stream 1 │ rank 1: thread 0, stream 0 │ …      each with what it waits for
class explanation {
 public:
  explicit explanation(const run& r)
      : run_(r),
        memory_(r.set().memory),
        first_of_(memory_),
        links_(memory_),
        begins_(memory_),
        pending_(memory_),
        misfits_(memory_) {
    std::uint32_t next = 0;
    for (std::uint32_t i = 0; i < job().ranks(); ++i) {
      first_of_.push_back(next);
      next += threads(i) + static_cast<std::uint32_t>(run_.rank(i).lanes.size());
    }
    for (std::uint32_t i = 0; i < job().ranks(); ++i) note_pending(i);
    for (std::uint32_t i = 0; i < job().ranks(); ++i) add_rank(i);
    begins_.push_back(static_cast<std::uint32_t>(links_.size()));
  }

  /// The shortest cycle; without one, calls that do not fit, or a place that waits for what never comes. Empty if
  /// nothing stands still.
  void tell(std::pmr::vector<blocked>& out) const {
    const auto holder = [](const link& l) { return l.to; };
    hocket::detail::cycle_search<std::pmr::vector<std::uint32_t>, std::pmr::vector<link>, decltype(holder)> search(
        links_, begins_, holder);
    for (const std::uint32_t k : search()) out.push_back(links_[k].what);
    if (!out.empty()) return;
    if (!misfits_.empty()) return out.push_back(misfits_.front());
    for (const link& l : links_)
      if (begins_[l.to] == begins_[l.to + 1]) return out.push_back(l.what);
  }

 private:
  struct link {
    std::uint32_t to = 0;
    blocked what;
  };
  struct pending {
    std::uint32_t channel, number, lane, op;
    bool started;
  };

  [[nodiscard]] const program& job() const { return run_.set().job; }
  [[nodiscard]] std::uint32_t threads(std::uint32_t r) const {
    return static_cast<std::uint32_t>(run_.rank(r).threads.size());
  }
  [[nodiscard]] place thread_place(std::uint32_t r, std::uint32_t t) const {
    return {r, t, run_.thread_done(r, t) ? no_id : run_.next_of(r, t), true};
  }
  [[nodiscard]] place lane_place(std::uint32_t r, std::uint32_t l) const {
    const lane& queue = run_.rank(r).lanes[l];
    const std::uint32_t at = queue.done < queue.items.size() ? run_.head(r, l).op : no_id;
    return {r, run_.facts(r).streams[l], at, false};
  }
  void to_lane(const place& who, std::uint32_t r, std::uint32_t l, obstacle why, std::uint32_t call = no_id) {
    links_.push_back({first_of_[r] + threads(r) + l, {who, lane_place(r, l), why, call}});
  }
  void to_thread(const place& who, std::uint32_t r, std::uint32_t t, obstacle why, std::uint32_t call = no_id) {
    links_.push_back({first_of_[r] + t, {who, thread_place(r, t), why, call}});
  }

  void add_rank(std::uint32_t r) {
    for (std::uint32_t t = 0; t < threads(r); ++t) {
      begins_.push_back(static_cast<std::uint32_t>(links_.size()));
      if (run_.rank(r).threads[t].waits) add_thread(r, t);
    }
    for (std::uint32_t l = 0; l < run_.rank(r).lanes.size(); ++l) {
      begins_.push_back(static_cast<std::uint32_t>(links_.size()));
      const lane& queue = run_.rank(r).lanes[l];
      if (queue.done < queue.items.size()) add_lane(r, l);
    }
  }
  void add_thread(std::uint32_t r, std::uint32_t t) {
    const host_thread& h = run_.rank(r).threads[t];
    const place who = thread_place(r, t);
    for (const auto& [stream, count] : h.targets)
      if (run_.rank(r).lanes[stream].done < count) to_lane(who, r, stream, obstacle::host);
    if (h.unrecorded != no_id) to_recorder(who, r, run_.facts(r).events[h.unrecorded]);
    if (h.connecting.empty()) return;
    for (std::size_t i = who.op; i < end_of_call(run_.list(r), who.op); ++i)
      if (is_communication(run_.list(r)[i].kind)) to_unconnected(who, r, run_.list(r)[i]);
  }
  void to_unconnected(const place& who, std::uint32_t r, const op& o) {
    for (const std::uint32_t m : members(r, o)) {
      const auto& used = run_.facts(m).communicators;
      const std::uint32_t at = list_facts::place(used, o.communicator);
      const bool uses = at < used.size() && used[at] == o.communicator;
      if (uses && run_.rank(m).communicators[at].enqueued > 0) continue;
      const auto calls = [&](const op& theirs) {
        return is_communication(theirs.kind) && theirs.communicator == o.communicator;
      };
      to_thread(who, m, next_op(m, calls).first, obstacle::connection);
    }
  }
  [[nodiscard]] const program::members& members(std::uint32_t r, const op& o) const {
    return job().groups(o.communicator).groups[job().group_of(o.communicator, r)];
  }
  /// The thread that records an event next, or the host as such if nobody does.
  void to_recorder(const place& who, std::uint32_t r, event_id e) {
    const auto& own = run_.rank(r);
    const stream_place first = own.events[list_facts::place(run_.facts(r).events, e)].first;
    if (first.stream != no_id) return to_lane(who, r, first.stream, obstacle::event);
    const auto records = [&](const op& o) { return o.kind == op_kind::record && o.tag == e; };
    const auto [thread, at] = next_op(r, records);
    if (at != no_id) return to_thread(who, r, thread, obstacle::event);
    links_.push_back({first_of_[r], {who, {r, 0, no_id, true}, obstacle::no_record, no_id}});
  }

  void add_lane(std::uint32_t r, std::uint32_t l) {
    const place who = lane_place(r, l);
    const item& x = run_.head(r, l);
    const op& o = run_.list(r)[x.op];
    const lane& queue = run_.rank(r).lanes[l];
    if (queue.started) {
      run_.for_parts(r, x, queue.met, [&](const part& p, const op& of_part) {
        if (!run_.part_over(r, p, of_part)) add_part(who, r, p, of_part);
        return true;
      });
      return;
    }
    if (!run_.in_turn(r, l)) {
      const auto& mapping = run_.set().queue[run_.set().list_number(r)];
      const hardware_queue& q = run_.rank(r).queues[mapping[l]];
      to_lane(who, r, q.streams[q.started], obstacle::hardware_queue);
    } else if (o.kind == op_kind::wait) {
      if (x.first_part != no_id) to_lane(who, r, x.first_part, obstacle::event);
      else to_recorder(who, r, o.tag);
    } else if (is_communication(o.kind)) {
      add_unstarted(who, r, l, x, o);
    }
  }
  /// What keeps a call at the head of its stream from starting.
  void add_unstarted(const place& who, std::uint32_t r, std::uint32_t l, const item& x, const op& o) {
    const rank_state& s = run_.rank(r);
    const machine& m = run_.set().rules;
    const std::size_t before = links_.size();
    for (std::uint32_t other = 0; other < s.lanes.size(); ++other) {
      const lane& queue = s.lanes[other];
      if (other == l || queue.done == queue.items.size()) continue;
      for (std::size_t i = queue.done; i < queue.items.size(); ++i) {
        const item& y = queue.items[i];
        const op& theirs = run_.list(r)[y.op];
        if (!is_communication(theirs.kind)) continue;
        const bool same = theirs.communicator == o.communicator && y.number < x.number;
        if (m.serial_communicators && same) to_lane(who, r, other, obstacle::communicator);
        else if (m.order != launch_order::free && y.launch < x.launch) to_lane(who, r, other, obstacle::launch_order);
        else continue;
        break;
      }
    }
    if (links_.size() > before) return;
    for (std::uint32_t other = 0; other < s.lanes.size(); ++other)
      if (s.lanes[other].started) to_lane(who, r, other, obstacle::slot);
  }

  /// A part that started here: who of the others has not.
  void add_part(const place& who, std::uint32_t r, const part& p, const op& o) {
    if (run_.mismatched(p)) return add_misfit(who, r, p, o);
    if (!is_collective(o.kind)) return add_missing(who, o.peer, r, p, o);
    for (const std::uint32_t m : members(r, o))
      if (m != r) add_missing(who, m, r, p, o);
  }
  /// Whether two ops are ends of one transfer, or calls of one communicator.
  [[nodiscard]] static bool meets(const op& mine, std::uint32_t me, const op& theirs, std::uint32_t them) noexcept {
    if (theirs.communicator != mine.communicator) return false;
    if (is_collective(mine.kind)) return is_collective(theirs.kind);
    const op_kind other_end = mine.kind == op_kind::send ? op_kind::receive : op_kind::send;
    return theirs.kind == other_end && theirs.tag == mine.tag && theirs.peer == me && mine.peer == them;
  }
  void add_missing(const place& who, std::uint32_t them, std::uint32_t me, const part& p, const op& o) {
    const auto& all = pending_[them];
    const auto at = std::lower_bound(all.begin(), all.end(), p, [](const pending& a, const part& b) {
      return a.channel != b.channel ? a.channel < b.channel : a.number < b.number;
    });
    const auto is_here = [&](auto i) { return i != all.end() && i->channel == p.channel && i->number == p.number; };
    for (auto i = at; is_here(i); ++i) {
      const op& theirs = run_.list(them)[i->op];
      if (!meets(o, me, theirs, them)) continue;
      if (!i->started) to_lane(who, them, i->lane, obstacle::peer, i->op);
      return;
    }
    if (p.number < run_.enqueued(them, p.channel, o)) return;  // it is complete there
    const auto [thread, op_there] = next_op(them, [&](const op& theirs) { return meets(o, me, theirs, them); });
    to_thread(who, them, thread, obstacle::peer, op_there);
  }
  void add_misfit(const place& who, std::uint32_t r, const part& p, const op& o) {
    const auto [rank, at] = run_.first_comer(p);
    blocked b{who, {rank, 0, at, false}, obstacle::misfit, at};
    if (rank == r) b = {who, {other_member(r, o), 0, no_id, false}, obstacle::misfit, no_id};
    misfits_.push_back(b);
  }
  [[nodiscard]] std::uint32_t other_member(std::uint32_t r, const op& o) const {
    if (!is_collective(o.kind)) return o.peer;
    const auto& all = members(r, o);
    return all.front() == r ? all.back() : all.front();
  }
  /// Calls of a rank that are enqueued and not complete, part by part.
  void note_pending(std::uint32_t r) {
    auto& all = pending_.emplace_back();
    const rank_state& s = run_.rank(r);
    for (std::uint32_t l = 0; l < s.lanes.size(); ++l) {
      for (std::uint32_t i = s.lanes[l].done; i < s.lanes[l].items.size(); ++i) {
        const item& x = s.lanes[l].items[i];
        if (!is_communication(run_.list(r)[x.op].kind)) continue;
        const bool started = i == s.lanes[l].done && s.lanes[l].started;
        run_.for_parts(r, x, 0, [&](const part& p, const op& o) {
          const auto at = static_cast<std::uint32_t>(&o - run_.list(r).data());
          all.push_back({p.channel, p.number, l, at, started});
          return true;
        });
      }
    }
    std::sort(all.begin(), all.end(), [](const pending& a, const pending& b) {
      return a.channel != b.channel ? a.channel < b.channel : a.number != b.number ? a.number < b.number : a.op < b.op;
    });
  }
  /// The first op that a thread of a rank has still to do and that fits, with its thread; or thread 0 and no_id.
  template <class Fits>
  [[nodiscard]] std::pair<std::uint32_t, std::uint32_t> next_op(std::uint32_t r, const Fits& fits) const {
    const std::span<const op> ops = run_.list(r);
    for (std::uint32_t t = 0; t < threads(r); ++t) {
      const auto& steps = run_.facts(r).threads[t];
      for (std::size_t i = run_.rank(r).threads[t].at; i < steps.size(); ++i)
        for (std::size_t at = steps[i]; at < end_of_call(ops, steps[i]); ++at)
          if (fits(ops[at])) return {t, static_cast<std::uint32_t>(at)};
    }
    return {0, no_id};
  }

  const run& run_;
  std::pmr::memory_resource* memory_;
  std::pmr::vector<std::uint32_t> first_of_;  // by rank: the number of its first thread
  std::pmr::vector<link> links_;
  std::pmr::vector<std::uint32_t> begins_;               // by number: its first link
  std::pmr::vector<std::pmr::vector<pending>> pending_;  // by rank; by channel and number
  std::pmr::vector<blocked> misfits_;
};

}  // namespace hocket::inline HOCKET_ABI::ranks::detail
