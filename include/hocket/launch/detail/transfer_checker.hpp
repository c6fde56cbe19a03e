// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/result.hpp>
#include <hocket/launch/command.hpp>
#include <hocket/launch/transfer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::launch::detail {

/// The programs of all ranks, walked at once: `match` pairs the two ends of each transfer, `play` walks.
///
///     rank 0   send 1 ─────▶ recv 0   rank 1        ends, by rank and request: │ rank 0: end end │ rank 1: end │ …
///     rank 0   recv 1 ◀───── send 0   rank 1        each names its step, its peer and the peer's step
///
/// What walks is a lane, a queue of commands: all steps of a rank, or what one of its streams takes. A run command
/// stands for a step of the rank: op = its index, phase = its transfer_kind. What can be taken stays possible whatever
/// the others do: all orders of walking end in the same state.
class transfer_checker {
 public:
  using list = std::span<const transfer_command>;

  transfer_checker(std::span<const list> programs, transfer_model model, std::pmr::memory_resource* memory)
      : programs_(programs),
        model_(model),
        ends_(memory),
        first_(memory),
        halves_(memory),
        lanes_(memory),
        recorded_(programs.size(), memory),
        awake_(memory) {}

  /// The k-th send from a to b is the k-th receive of b from a, and both mean the same.
  result<void> match() {
    for (std::uint32_t r = 0; r < ranks(); ++r)
      if (const auto ok = read(r); !ok) return ok;
    // Tags must be the places in the order of posting; then equal (from, to, tag) is the pair that meets.
    std::sort(halves_.begin(), halves_.end(), [](const half& a, const half& b) { return a.key() < b.key(); });
    for (std::size_t i = 0; i < halves_.size(); i += 2)
      if (const auto ok = pair(i); !ok) return ok;
    return {};
  }

  /// One lane per rank. The witness is the shortest cycle of ranks that wait for each other.
  result<void> play_ranks(std::pmr::vector<blocked_transfer>* witness) {
    for (std::uint32_t r = 0; r < ranks(); ++r) {
      lane& l = lanes_.emplace_back(r, std::pmr::vector<command>(lanes_.get_allocator().resource()));
      for (std::uint32_t i = 0; i < programs_[r].size(); ++i)
        l.queue.push_back(run_op(i, 0, static_cast<std::uint8_t>(programs_[r][i].kind)));
    }
    walk();
    const std::uint32_t start = shortest_cycle();
    if (start == nothing) return {};
    const blocked_transfer at = waiting(start);
    if (witness != nullptr) {
      std::uint32_t x = start;
      do {
        witness->push_back(waiting(x));
        x = witness->back().peer;
      } while (x != start);
    }
    return error{errc::transfer_deadlock, at.rank, at.step, at.peer, at.needs};
  }

  /// A lane for each stream of a rank; ranks in order, each with as many.
  void add_streams(std::uint32_t rank, std::span<const std::vector<command>> queues, std::uint32_t event_count) {
    recorded_[rank].resize(event_count);
    for (const auto& q : queues)
      lanes_.emplace_back(rank, std::pmr::vector<command>(q.begin(), q.end(), lanes_.get_allocator().resource()));
  }
  /// The lanes of `add_streams`. A lane that waits for an event waits for a lane of its own rank, so that a transfer is
  /// found, too.
  result<void> play_streams() {
    walk();
    for (const lane& l : lanes_) {
      if (l.done() || l.next().kind != command_kind::run) continue;
      const end& e = obstacle(l);
      return error{errc::transfer_deadlock, l.rank, e.step, e.peer, e.peer_step};
    }
    return {};
  }

 private:
  static constexpr std::uint32_t nothing = ~std::uint32_t{0};
  /// One end of a transfer.
  struct end {
    std::uint32_t step;
    std::uint32_t peer;
    std::uint32_t peer_step;
    bool posted;
  };
  struct half {
    std::uint32_t from;
    std::uint32_t to;
    std::uint32_t tag;
    std::uint32_t rank;
    std::uint32_t step;
    std::uint64_t label;
    [[nodiscard]] bool sends() const noexcept { return rank == from; }
    [[nodiscard]] std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, bool, std::uint32_t> key() const noexcept {
      return {from, to, tag, !sends(), step};
    }
    [[nodiscard]] bool same_direction(const half& o) const noexcept { return from == o.from && to == o.to; }
  };
  struct lane {
    lane(std::uint32_t of_rank, std::pmr::vector<command> commands) : rank(of_rank), queue(std::move(commands)) {}
    std::uint32_t rank;
    std::pmr::vector<command> queue;
    std::size_t at = 0;
    std::size_t first = 0;  // of the call that the lane stands at: a transfer, or all between here and a group's end
    std::size_t met = 0;    // the transfers before it have met their other end
    bool in_group = false;
    bool posted = false;     // that call
    std::uint32_t mark = 0;  // of the search for a cycle that came by, + 1
    [[nodiscard]] bool done() const noexcept { return at == queue.size(); }
    [[nodiscard]] const command& next() const noexcept { return queue[at]; }
  };

  [[nodiscard]] std::uint32_t ranks() const noexcept { return static_cast<std::uint32_t>(programs_.size()); }
  [[nodiscard]] static bool transfers(transfer_kind kind) noexcept {
    return kind == transfer_kind::send || kind == transfer_kind::recv;
  }
  [[nodiscard]] static transfer_kind kind_of(const command& c) noexcept { return static_cast<transfer_kind>(c.phase); }
  [[nodiscard]] static error malformed(std::uint32_t rank, std::uint32_t step, std::string_view why) {
    return error{errc::bad_transfer, rank, step}.with(why);
  }
  [[nodiscard]] end& end_of(std::uint32_t rank, std::uint32_t step) {
    return ends_[first_[rank] + programs_[rank][step].request];
  }
  [[nodiscard]] bool has_met(const end& e) { return e.posted && end_of(e.peer, e.peer_step).posted; }

  /// Whether one list makes sense by itself; collects its ends.
  result<void> read(std::uint32_t rank) {
    first_.push_back(static_cast<std::uint32_t>(ends_.size()));
    const list program = programs_[rank];
    std::uint32_t requests = 0;
    bool in_group = false;
    for (std::uint32_t i = 0; i < program.size(); ++i) {
      const transfer_command& c = program[i];
      if (c.kind == transfer_kind::group_begin || c.kind == transfer_kind::group_end) {
        if (in_group == (c.kind == transfer_kind::group_begin)) return malformed(rank, i, "groups do not nest");
        in_group = !in_group;
      } else if (c.kind == transfer_kind::wait) {
        if (c.request >= requests) return malformed(rank, i, "a wait for what is not posted yet");
        if (in_group) return malformed(rank, i, "a wait inside of a group");
      } else if (transfers(c.kind)) {
        if (c.request != requests++) return malformed(rank, i, "requests are numbered in order");
        if (c.peer >= ranks() || c.peer == rank) return malformed(rank, i, "no such peer");
        const bool sends = c.kind == transfer_kind::send;
        halves_.push_back({sends ? rank : c.peer, sends ? c.peer : rank, c.tag, rank, i, c.label});
        ends_.push_back({.step = i, .peer = c.peer, .peer_step = nothing, .posted = false});
      }
    }
    if (in_group) return malformed(rank, static_cast<std::uint32_t>(program.size()), "a group that does not end");
    return {};
  }

  /// Joins the halves i and i + 1: a send, and the receive that meets it.
  result<void> pair(std::size_t i) {
    const half& s = halves_[i];
    const bool paired = i + 1 < halves_.size() && halves_[i + 1].same_direction(s) && halves_[i + 1].tag == s.tag &&
                        s.sends() && !halves_[i + 1].sends();
    if (!paired)
      return error{errc::unmatched_transfer, s.rank, s.step, s.sends() ? s.to : s.from}.with(
          s.sends() ? "the send to" : "the receive from");
    const half& t = halves_[i + 1];
    const error mismatched{errc::mismatched_transfer, s.from, s.step, s.to, t.step};
    if (s.label != t.label) return mismatched;
    const bool first_of_both = i == 0 || !halves_[i - 2].same_direction(s);
    if (s.tag != (first_of_both ? 0 : halves_[i - 2].tag + 1)) return malformed(s.rank, s.step, "tags count from 0");
    // The tag is the place in the order of sending; posted in another order, it would meet something else.
    if (!first_of_both && (halves_[i - 2].step > s.step || halves_[i - 1].step > t.step)) return mismatched;
    end_of(s.rank, s.step).peer_step = t.step;
    end_of(t.rank, t.step).peer_step = s.step;
    return {};
  }

  void wake(std::uint32_t rank) {
    const std::size_t streams = lanes_.size() / programs_.size();
    for (std::size_t s = 0; s < streams; ++s) awake_.push_back(rank * streams + s);
  }
  void walk() {
    for (std::uint32_t r = ranks(); r-- > 0;) wake(r);
    while (!awake_.empty()) {
      lane& l = lanes_[awake_.back()];
      awake_.pop_back();
      for (; !l.done() && can_leave(l); ++l.at) {
      }
    }
  }
  void post(end& e) {
    e.posted = true;
    wake(e.peer);
  }
  /// Takes the command at the head of a lane, and says whether that lets the lane go on.
  [[nodiscard]] bool can_leave(lane& l) {
    const command& c = l.next();
    if (!l.in_group) l.first = l.at;
    if (c.kind == command_kind::wait) return recorded_[l.rank][c.id];
    if (c.kind == command_kind::record) {
      recorded_[l.rank][c.id] = true;
      wake(l.rank);
      return true;
    }
    const transfer_kind kind = kind_of(c);
    if (kind == transfer_kind::wait) return has_met(end_of(l.rank, c.id));
    if (model_ == transfer_model::posted) {
      if (transfers(kind)) post(end_of(l.rank, c.id));
      return true;
    }
    if (kind == transfer_kind::group_begin) l.in_group = true;
    const bool calls = kind == transfer_kind::group_end || (transfers(kind) && !l.in_group);
    if (calls && !is_over(l)) return false;
    if (kind == transfer_kind::group_end) l.in_group = false;
    return true;
  }
  /// Whether the call at the head of a lane is over; posts it first. A group goes out as one, at its end.
  [[nodiscard]] bool is_over(lane& l) {
    if (!l.posted) {
      l.posted = true;
      for (std::size_t i = l.first; i <= l.at; ++i)
        if (transfers(kind_of(l.queue[i]))) post(end_of(l.rank, l.queue[i].id));
    }
    for (; l.met <= l.at; ++l.met)  // what has met stays so: a lane that is woken goes on where it was
      if (transfers(kind_of(l.queue[l.met])) && !has_met(end_of(l.rank, l.queue[l.met].id))) return false;
    l.posted = false;
    return true;
  }

  /// The transfer for which a lane stands. Precondition: it does not stand at a wait for an event.
  [[nodiscard]] const end& obstacle(const lane& l) {
    return end_of(l.rank, kind_of(l.next()) == transfer_kind::wait ? l.next().id : l.queue[l.met].id);
  }
  [[nodiscard]] blocked_transfer waiting(std::uint32_t rank) {
    const lane& l = lanes_[rank];
    const end& e = obstacle(l);
    return {rank, l.next().id, e.peer, e.peer_step};
  }
  /// Each blocked rank waits for one other that is blocked itself: from any of them the walk ends in a cycle.
  [[nodiscard]] std::uint32_t shortest_cycle() {
    std::uint32_t best = nothing;
    std::uint32_t best_length = nothing;
    for (std::uint32_t r = 0; r < ranks(); ++r) {
      if (lanes_[r].done() || lanes_[r].mark != 0) continue;
      std::uint32_t x = r;
      for (; lanes_[x].mark == 0; x = waiting(x).peer) lanes_[x].mark = r + 1;
      if (lanes_[x].mark != r + 1) continue;  // a cycle that an earlier walk found
      std::uint32_t length = 1;
      for (std::uint32_t y = waiting(x).peer; y != x; y = waiting(y).peer) ++length;
      if (length >= best_length) continue;
      best = x;
      best_length = length;
    }
    return best;
  }

  std::span<const list> programs_;
  transfer_model model_;
  std::pmr::vector<end> ends_;             // by rank and request
  std::pmr::vector<std::uint32_t> first_;  // by rank: its place in ends_
  std::pmr::vector<half> halves_;
  std::pmr::vector<lane> lanes_;
  std::pmr::vector<std::vector<bool>> recorded_;  // by rank and event
  std::pmr::vector<std::size_t> awake_;
};

}  // namespace hocket::inline HOCKET_ABI::launch::detail
