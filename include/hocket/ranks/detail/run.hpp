// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/ranks/answer.hpp>
#include <hocket/ranks/detail/channels.hpp>
#include <hocket/ranks/detail/list_facts.hpp>
#include <hocket/ranks/detail/rank_state.hpp>
#include <hocket/ranks/detail/setting.hpp>
#include <hocket/ranks/machine.hpp>
#include <hocket/ranks/program.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory_resource>
#include <span>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::ranks::detail {

/// What a run leaves to choices.
struct choosing {
  bool starts = false;   ///< which call starts
  bool buffers = false;  ///< which sends are buffered, of those that perhaps are
};

/// One run of a program, to the place where nothing can go on by itself.
///
///     host threads ──enqueue──▶ lanes (streams) ──start──▶ channels, where calls of ranks meet ──▶ complete
///
/// All that can happen and cannot harm happens at once. What remains is chosen from outside: which call gets a slot,
/// if slots are scarce, and which of racing threads does its next op. docs/ranks.md proves that nothing else decides.
class run {
 public:
  /// Whether a device buffers, and runs at once, what it surely does, or all that it perhaps does.
  enum class generosity : std::uint8_t { surely, perhaps };
  run(const setting& s, generosity which, const choosing& left = {})
      : set_(s),
        scarce_(left.starts),
        lends_(left.buffers),
        slots_(which == generosity::surely),
        buffered_below_(which == generosity::surely
                            ? s.rules.surely_buffered_below
                            : (std::max)(s.rules.surely_buffered_below, s.rules.perhaps_buffered_below)),
        channels_(s.job, s.memory),
        meetings_(s.memory),
        sent_(s.memory),
        connected_(s.memory),
        ranks_(s.memory),
        awake_(s.memory),
        is_awake_(s.job.ranks(), false, s.memory),
        offers_(s.memory) {
    connected_.resize(channels_.size());
    grow();
    ranks_.reserve(s.job.ranks());
    for (std::uint32_t r = 0; r < s.job.ranks(); ++r) add_rank(r);
    for (std::uint32_t r = s.job.ranks(); r-- > 0;) wake(r);
  }

  /// Runs on until only choices remain. Amortised O(ops · streams of a rank) over all calls.
  void settle() {
    while (!awake_.empty()) {
      const std::uint32_t r = awake_.back();
      awake_.pop_back();
      is_awake_[r] = false;
      while (advance(r)) {
      }
    }
  }
  /// The choices that there are now, to the end of `out`, by rank and lane. O(lanes).
  void choices(std::pmr::vector<choice>& out) const {
    for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
      const rank_state& s = ranks_[r];
      for (std::uint32_t t = 0; facts(r).races && t < s.threads.size(); ++t)
        if (can_step(r, t)) out.push_back({choice::kind::step, r, t, next_of(r, t)});
      for (std::uint32_t l = 0; scarce_ && l < s.lanes.size(); ++l)
        if (is_ready(r, l)) out.push_back({choice::kind::start, r, l, head(r, l).op});
      for (std::uint32_t l = 0; lends_ && l < s.lanes.size(); ++l) buffer_choices(r, l, out);
    }
  }
  /// Starts that may be possible: each is, until others take its slot. Emptied by take_offer.
  [[nodiscard]] std::size_t offers() const noexcept { return offers_.size(); }
  /// Whether nothing has to go on: no thread can do a step, each call that is ready may be refused a slot, and no send
  /// needs to be buffered.
  [[nodiscard]] bool may_stand_still() const {
    for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
      const rank_state& s = ranks_[r];
      for (std::uint32_t t = 0; facts(r).races && t < s.threads.size(); ++t)
        if (can_step(r, t)) return false;
      for (std::uint32_t l = 0; scarce_ && l < s.lanes.size(); ++l)
        if (is_ready(r, l) && has_slot(r)) return false;
    }
    return true;
  }
  /// Starts one of them, if it has a slot for sure, and settles. @return whether it did
  bool take_offer(std::size_t which, std::pmr::vector<choice>* log) {
    const auto [r, l] = offers_[which];
    offers_[which] = offers_.back();
    offers_.pop_back();
    ranks_[r].lanes[l].offered = false;
    if (!is_ready(r, l) || !has_slot(r)) return false;
    const choice c{choice::kind::start, r, l, head(r, l).op};
    if (log != nullptr) log->push_back(c);
    take(c);
    return true;
  }
  /// Does what was chosen, and settles. @return false, and nothing happens, if it is not among choices()
  bool take(const choice& c) {
    if (c.rank >= ranks_.size()) return false;
    if (c.what == choice::kind::buffer) {
      if (!buffer(c)) return false;
    } else if (c.what == choice::kind::step) {
      if (!facts(c.rank).races || c.lane >= ranks_[c.rank].threads.size() || !can_step(c.rank, c.lane)) return false;
      step(c.rank, c.lane);
    } else {
      if (!scarce_ || c.lane >= ranks_[c.rank].lanes.size() || !is_ready(c.rank, c.lane)) return false;
      begin(c.rank, c.lane);
    }
    wake(c.rank);
    settle();
    return true;
  }

  [[nodiscard]] bool finished() const {
    for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
      for (std::uint32_t t = 0; t < ranks_[r].threads.size(); ++t)
        if (!thread_done(r, t)) return false;
      for (const lane& l : ranks_[r].lanes)
        if (l.done < l.items.size()) return false;
    }
    return true;
  }

  // What explanations and searches read.
  [[nodiscard]] const setting& set() const noexcept { return set_; }
  [[nodiscard]] const rank_state& rank(std::uint32_t r) const { return ranks_[r]; }
  [[nodiscard]] const list_facts& facts(std::uint32_t r) const { return set_.of_rank(r); }
  [[nodiscard]] std::span<const op> list(std::uint32_t r) const { return set_.list(r); }
  [[nodiscard]] const item& head(std::uint32_t r, std::uint32_t l) const {
    return ranks_[r].lanes[l].items[ranks_[r].lanes[l].done];
  }
  [[nodiscard]] bool thread_done(std::uint32_t r, std::uint32_t t) const {
    return ranks_[r].threads[t].at == facts(r).threads[t].size() && !ranks_[r].threads[t].waits;
  }
  /// The op that a thread does next, or at which it waits.
  [[nodiscard]] std::uint32_t next_of(std::uint32_t r, std::uint32_t t) const {
    const host_thread& h = ranks_[r].threads[t];
    return facts(r).threads[t][h.waits ? h.at - 1 : h.at];
  }
  [[nodiscard]] bool part_over(std::uint32_t r, const part& p, const op& o) const {
    const meeting& m = meetings_[p.channel][p.number];
    if (o.kind == op_kind::send && (m.buffered || o.count < buffered_below_)) return true;
    return !m.bad && m.arrived == needed(p.channel, r, o);
  }
  /// f(part, op) for each part of a call, in order, until it says no. @return the number of parts that said yes
  template <class F>
  std::uint32_t for_parts(std::uint32_t r, const item& x, std::uint32_t from, F&& f) const {
    const std::span<const op> ops = list(r);
    std::uint32_t i = 0;
    for (std::size_t at = x.op; i < x.parts; ++at) {
      if (!is_communication(ops[at].kind) || ops[at].communicator != ops[x.op].communicator) continue;
      if (i >= from && !f(ranks_[r].parts[x.first_part + i], ops[at])) return i;
      ++i;
    }
    return i;
  }
  [[nodiscard]] bool in_turn(std::uint32_t r, std::uint32_t l) const {
    const auto& queue = set_.queue[set_.list_number(r)];
    if (queue.empty()) return true;
    const hardware_queue& q = ranks_[r].queues[queue[l]];
    return q.streams[q.started] == l;
  }
  [[nodiscard]] bool mismatched(const part& p) const { return meetings_[p.channel][p.number].bad; }
  /// Which rank was the first to start a call there, and which op.
  [[nodiscard]] std::pair<std::uint32_t, std::uint32_t> first_comer(const part& p) const {
    return {meetings_[p.channel][p.number].rank, meetings_[p.channel][p.number].op};
  }
  /// How many ops of the kind of the other end of `o` (or, of collectives, of its own) a rank has enqueued there.
  [[nodiscard]] std::uint32_t enqueued(std::uint32_t r, std::uint32_t channel, const op& o) const {
    if (!is_collective(o.kind)) return o.kind == op_kind::send ? sent_[channel].received : sent_[channel].sent;
    const auto& used = facts(r).communicators;
    const std::uint32_t at = list_facts::place(used, o.communicator);
    return at < used.size() && used[at] == o.communicator ? ranks_[r].communicators[at].collectives : 0;
  }
  [[nodiscard]] bool recorded(std::uint32_t r, const stream_place& at) const {
    return at.stream != no_id && ranks_[r].lanes[at.stream].done > at.index;
  }
  /// The state as numbers: equal for states with the same future.
  void append_state(std::pmr::vector<std::uint32_t>& out) const {
    for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
      const rank_state& s = ranks_[r];
      for (const host_thread& h : s.threads) append_thread(h, out);
      for (const lane& l : s.lanes) {
        out.push_back(l.done * 2 + (l.started ? 1 : 0));
        out.push_back(size_of(l));
        for (const item& x : l.items) append_item(r, x, out);
      }
      for (const event_state& e : s.events) {
        const std::uint32_t places[] = {e.first.stream, e.first.index, e.last.stream, e.last.index};
        out.insert(out.end(), std::begin(places), std::end(places));
      }
      for (const hardware_queue& q : s.queues) out.insert(out.end(), q.streams.begin(), q.streams.end());
    }
  }

 private:
  struct meeting {
    std::uint32_t arrived = 0;  // of a transfer: 1 the send, 2 the receive
    std::uint32_t rank = 0;     // who came first, and with which op
    std::uint32_t op = 0;
    bool bad = false;  // what came does not fit together
    bool buffered = false;
  };
  struct counts {
    std::uint32_t sent = 0, received = 0;
  };

  static void append_thread(const host_thread& h, std::pmr::vector<std::uint32_t>& out) {
    out.push_back(h.at * 2 + (h.waits ? 1 : 0));
    for (const auto& [stream, count] : h.targets) {
      out.push_back(stream);
      out.push_back(count);
    }
  }
  void append_item(std::uint32_t r, const item& x, std::pmr::vector<std::uint32_t>& out) const {
    out.push_back(x.op);
    if (!is_communication(list(r)[x.op].kind)) {
      out.push_back(x.first_part);
      out.push_back(x.parts);
      return;
    }
    out.push_back(x.number);
    out.push_back(set_.rules.order == launch_order::free ? 0 : x.launch);
    for (std::uint32_t i = 0; i < x.parts; ++i) {
      const part& p = ranks_[r].parts[x.first_part + i];
      out.push_back(p.number * 2 + (meetings_[p.channel][p.number].buffered ? 1 : 0));
    }
  }
  void add_rank(std::uint32_t r) {
    rank_state& s = ranks_.emplace_back(facts(r), set_.memory);
    for (std::size_t i = 0; i < s.communicators.size(); ++i)
      s.communicators[i].group = set_.job.group_of(facts(r).communicators[i], r);
    for (const std::uint32_t q : set_.queue[set_.list_number(r)])
      while (s.queues.size() <= q) s.queues.push_back({.streams = std::pmr::vector<std::uint32_t>(set_.memory)});
  }
  void grow() {
    while (meetings_.size() < channels_.size()) meetings_.push_back(std::pmr::vector<meeting>(set_.memory));
    sent_.resize(channels_.size());
  }
  void wake(std::uint32_t r) {
    if (is_awake_[r]) return;
    is_awake_[r] = true;
    awake_.push_back(r);
  }
  [[nodiscard]] const std::pmr::vector<std::uint32_t>& members(std::uint32_t r, const op& o) const {
    const auto& named = set_.job.groups(o.communicator);
    return named.groups[ranks_[r].communicators[list_facts::place(facts(r).communicators, o.communicator)].group];
  }
  [[nodiscard]] std::uint32_t needed(std::uint32_t channel, std::uint32_t r, const op& o) const {
    return channels_.is_collective(channel) ? static_cast<std::uint32_t>(members(r, o).size()) : 3;
  }

  /// Lets a rank go on. @return whether anything moved
  bool advance(std::uint32_t r) {
    bool moved = false;
    for (std::uint32_t t = 0; t < ranks_[r].threads.size(); ++t) {
      moved = release(r, t) || moved;
      while (!facts(r).races && can_step(r, t)) {
        step(r, t);
        release(r, t);
        moved = true;
      }
    }
    for (std::uint32_t l = 0; l < ranks_[r].lanes.size(); ++l)
      while (advance_lane(r, l)) moved = true;
    return moved;
  }

  /// Sends of a call that started, without their receive yet.
  void buffer_choices(std::uint32_t r, std::uint32_t l, std::pmr::vector<choice>& out) const {
    if (!ranks_[r].lanes[l].started) return;
    for_parts(r, head(r, l), 0, [&](const part& p, const op& o) {
      const bool may = o.kind == op_kind::send && o.count < set_.rules.perhaps_buffered_below;
      const auto at = static_cast<std::uint32_t>(&o - list(r).data());
      if (may && !part_over(r, p, o)) out.push_back({choice::kind::buffer, r, l, at});
      return true;
    });
  }
  bool buffer(const choice& c) {
    if (c.lane >= ranks_[c.rank].lanes.size() || !ranks_[c.rank].lanes[c.lane].started) return false;
    std::pmr::vector<choice> possible(set_.memory);
    buffer_choices(c.rank, c.lane, possible);
    if (!lends_ || std::find(possible.begin(), possible.end(), c) == possible.end()) return false;
    for_parts(c.rank, head(c.rank, c.lane), 0, [&](const part& p, const op& o) {
      if (&o - list(c.rank).data() == std::ptrdiff_t{c.op}) meetings_[p.channel][p.number].buffered = true;
      return true;
    });
    return true;
  }

  // Host threads.

  [[nodiscard]] bool can_step(std::uint32_t r, std::uint32_t t) const {
    const host_thread& h = ranks_[r].threads[t];
    return !h.waits && h.at < facts(r).threads[t].size();
  }
  /// Whether a waiting thread goes on: it does.
  bool release(std::uint32_t r, std::uint32_t t) {
    rank_state& s = ranks_[r];
    host_thread& h = s.threads[t];
    if (!h.waits) return false;
    for (const auto& [stream, count] : h.targets)
      if (s.lanes[stream].done < count) return false;
    for (const std::uint32_t c : h.connecting)
      if (connected_[c].arrived < connected_[c].rank) return false;
    if (h.unrecorded != no_id && !recorded(r, s.events[h.unrecorded].first)) return false;
    h.waits = false;
    h.targets.clear();
    h.connecting.clear();
    h.unrecorded = no_id;
    return true;
  }
  void step(std::uint32_t r, std::uint32_t t) {
    host_thread& h = ranks_[r].threads[t];
    const std::uint32_t at = facts(r).threads[t][h.at++];
    const op& o = list(r)[at];
    if (is_enqueued(o.kind) || o.kind == op_kind::group_begin) enqueue(r, at, h);
    else synchronize(r, o, h);
  }
  void synchronize(std::uint32_t r, const op& o, host_thread& h) {
    rank_state& s = ranks_[r];
    h.waits = true;
    if (o.kind == op_kind::synchronize_device)
      for (std::uint32_t l = 0; l < s.lanes.size(); ++l) h.targets.emplace_back(l, size_of(s.lanes[l]));
    if (o.kind == op_kind::synchronize_stream) {
      const std::uint32_t l = list_facts::place(facts(r).streams, o.stream);
      h.targets.emplace_back(l, size_of(s.lanes[l]));
    }
    if (o.kind == op_kind::synchronize_event) {
      const std::uint32_t e = list_facts::place(facts(r).events, o.tag);
      const stream_place last = s.events[e].last;
      if (last.stream != no_id) h.targets.emplace_back(last.stream, last.index + 1);
      else if (set_.rules.unrecorded_events_block) h.unrecorded = e;
    }
    release(r, static_cast<std::uint32_t>(&h - s.threads.data()));
  }
  [[nodiscard]] static std::uint32_t size_of(const lane& l) noexcept {
    return static_cast<std::uint32_t>(l.items.size());
  }
  void enqueue(std::uint32_t r, std::uint32_t at, host_thread& h) {
    const std::span<const op> ops = list(r);
    const std::size_t end = end_of_call(ops, at);
    for (std::size_t i = at; i < end; ++i) {
      const op& o = ops[i];
      if (!is_enqueued(o.kind)) continue;
      if (!is_communication(o.kind)) enqueue_local(r, static_cast<std::uint32_t>(i));
      else if (is_first_of_communicator(ops, at, i)) enqueue_call(r, static_cast<std::uint32_t>(i), end, h);
    }
    release(r, static_cast<std::uint32_t>(&h - ranks_[r].threads.data()));
  }
  [[nodiscard]] static bool is_first_of_communicator(std::span<const op> ops, std::size_t begin, std::size_t i) {
    for (std::size_t j = begin; j < i; ++j)
      if (is_communication(ops[j].kind) && ops[j].communicator == ops[i].communicator) return false;
    return true;
  }
  void append(std::uint32_t r, std::uint32_t l, const item& x) {
    ranks_[r].lanes[l].items.push_back(x);
    const auto& queue = set_.queue[set_.list_number(r)];
    if (!queue.empty()) ranks_[r].queues[queue[l]].streams.push_back(l);
  }
  void enqueue_local(std::uint32_t r, std::uint32_t at) {
    rank_state& s = ranks_[r];
    const op& o = list(r)[at];
    const std::uint32_t l = list_facts::place(facts(r).streams, o.stream);
    item x{.op = at, .first_part = no_id, .parts = 0, .number = 0, .launch = 0};
    if (names_event(o.kind)) {
      event_state& e = s.events[list_facts::place(facts(r).events, o.tag)];
      if (o.kind == op_kind::record) {
        e.last = {l, size_of(s.lanes[l])};
        if (e.first.stream == no_id) e.first = e.last;
      } else if (e.last.stream != no_id) {
        x.first_part = e.last.stream;
        x.parts = e.last.index;
      }
    }
    append(r, l, x);
  }
  void enqueue_call(std::uint32_t r, std::uint32_t at, std::size_t end, host_thread& h) {
    rank_state& s = ranks_[r];
    const std::span<const op> ops = list(r);
    const op& o = ops[at];
    const std::uint32_t l = list_facts::place(facts(r).streams, o.stream);
    call_counts& c = s.communicators[list_facts::place(facts(r).communicators, o.communicator)];
    item x{.op = at,
           .first_part = static_cast<std::uint32_t>(s.parts.size()),
           .parts = 0,
           .number = c.enqueued++,
           .launch = s.launched++};
    for (std::size_t i = at; i < end; ++i) {
      if (!is_communication(ops[i].kind) || ops[i].communicator != o.communicator) continue;
      s.parts.push_back(new_part(r, ops[i], c));
      ++x.parts;
    }
    append(r, l, x);
    if (blocks_host(o, set_.rules)) h.targets.emplace_back(l, size_of(s.lanes[l]));
    if (set_.rules.connects_on_first_use && x.number == 0) connect(r, o, h);
    h.waits = h.waits || !h.targets.empty() || !h.connecting.empty();
  }
  [[nodiscard]] part new_part(std::uint32_t r, const op& o, call_counts& c) {
    part p{};
    if (is_collective(o.kind)) {
      p = {channels_.of_group(o.communicator, c.group), c.collectives++};
    } else {
      p.channel = channels_.of_transfer(o, r, c.group);
      grow();
      counts& n = sent_[p.channel];
      p.number = o.kind == op_kind::send ? n.sent++ : n.received++;
    }
    auto& meetings = meetings_[p.channel];
    if (meetings.size() <= p.number) meetings.resize(std::size_t{p.number} + 1);
    return p;
  }
  void connect(std::uint32_t r, const op& o, host_thread& h) {
    const auto& all = members(r, o);
    const std::uint32_t c = channels_.of_group(o.communicator, set_.job.group_of(o.communicator, r));
    connected_[c].rank = static_cast<std::uint32_t>(all.size());
    h.connecting.push_back(c);
    if (++connected_[c].arrived == all.size())
      for (const std::uint32_t m : all) wake(m);
  }

  // Streams.

  bool advance_lane(std::uint32_t r, std::uint32_t l) {
    lane& queue = ranks_[r].lanes[l];
    if (queue.done == queue.items.size()) return false;
    const item& x = queue.items[queue.done];
    const op& o = list(r)[x.op];
    if (!is_communication(o.kind)) {
      if (!in_turn(r, l) || (o.kind == op_kind::wait && !may_pass(r, x, o))) return false;
      leave_hardware_queue(r, l);
      ++queue.done;
      return true;
    }
    if (queue.started) return complete(r, l);
    if (!is_ready(r, l)) return false;
    if (!scarce_) {
      if (ordered() && slots_ && !has_slot(r)) return false;
      begin(r, l);
      return true;
    }
    if (!has_slot(r)) return false;
    if (!queue.offered) offers_.emplace_back(r, l);
    queue.offered = true;
    return false;
  }
  [[nodiscard]] bool may_pass(std::uint32_t r, const item& x, const op& o) const {
    if (x.first_part != no_id) return recorded(r, {x.first_part, x.parts});
    if (!set_.rules.unrecorded_events_block) return true;
    return recorded(r, ranks_[r].events[list_facts::place(facts(r).events, o.tag)].first);
  }
  void leave_hardware_queue(std::uint32_t r, std::uint32_t l) {
    const auto& queue = set_.queue[set_.list_number(r)];
    if (!queue.empty()) ++ranks_[r].queues[queue[l]].started;
  }
  [[nodiscard]] bool ordered() const noexcept { return set_.rules.order != launch_order::free; }
  [[nodiscard]] bool has_slot(std::uint32_t r) const {
    return set_.rules.slots == 0 || ranks_[r].running < set_.rules.slots;
  }
  /// Whether a call at the head of a stream can start, if there is a slot.
  [[nodiscard]] bool is_ready(std::uint32_t r, std::uint32_t l) const {
    const rank_state& s = ranks_[r];
    const lane& queue = s.lanes[l];
    if (queue.started || queue.done == queue.items.size()) return false;
    const item& x = queue.items[queue.done];
    const op& o = list(r)[x.op];
    if (!is_communication(o.kind) || !in_turn(r, l)) return false;
    const machine& m = set_.rules;
    if (m.serial_communicators && counts_of(r, o).done != x.number) return false;
    if (ordered() && x.launch != s.started) return false;
    return m.order != launch_order::serial || s.running == 0;
  }
  [[nodiscard]] const call_counts& counts_of(std::uint32_t r, const op& o) const {
    return ranks_[r].communicators[list_facts::place(facts(r).communicators, o.communicator)];
  }
  void begin(std::uint32_t r, std::uint32_t l) {
    rank_state& s = ranks_[r];
    lane& queue = s.lanes[l];
    queue.started = true;
    queue.met = 0;
    ++s.running;
    ++s.started;
    leave_hardware_queue(r, l);
    for_parts(r, queue.items[queue.done], 0, [&](const part& p, const op& o) {
      arrive(r, p, o);
      return true;
    });
  }
  void arrive(std::uint32_t r, const part& p, const op& o) {
    meeting& m = meetings_[p.channel][p.number];
    const auto place = static_cast<std::uint32_t>(&o - list(r).data());
    if (m.arrived == 0) {
      m.rank = r;
      m.op = place;
    }
    const op& first = list(m.rank)[m.op];
    if (channels_.is_collective(p.channel)) {
      m.bad = m.bad || !same_collective(first, o);
      if (++m.arrived != members(r, o).size()) return;
      for (const std::uint32_t member : members(r, o)) wake(member);
      return;
    }
    const bool sends = o.kind == op_kind::send;
    if (m.arrived != 0) m.bad = !(sends ? same_transfer(o, first, set_.rules) : same_transfer(first, o, set_.rules));
    m.arrived |= sends ? 1u : 2u;
    wake(r);
    wake(o.peer);
  }
  bool complete(std::uint32_t r, std::uint32_t l) {
    rank_state& s = ranks_[r];
    lane& queue = s.lanes[l];
    const item& x = queue.items[queue.done];
    queue.met = for_parts(r, x, queue.met, [&](const part& p, const op& o) { return part_over(r, p, o); });
    if (queue.met < x.parts) return false;
    ++s.communicators[list_facts::place(facts(r).communicators, list(r)[x.op].communicator)].done;
    --s.running;
    queue.started = false;
    ++queue.done;
    return true;
  }

  const setting& set_;
  bool scarce_;
  bool lends_;
  bool slots_;  // whether they are counted where the order of starts is fixed
  std::uint64_t buffered_below_;
  channels channels_;
  std::pmr::vector<std::pmr::vector<meeting>> meetings_;  // by channel and number
  std::pmr::vector<counts> sent_;                         // by channel
  std::pmr::vector<meeting> connected_;                   // by group: hosts that have called; `rank`: how many must
  std::pmr::vector<rank_state> ranks_;
  std::pmr::vector<std::uint32_t> awake_;
  std::pmr::vector<bool> is_awake_;
  std::pmr::vector<std::pair<std::uint32_t, std::uint32_t>> offers_;
};

}  // namespace hocket::inline HOCKET_ABI::ranks::detail
