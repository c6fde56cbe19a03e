// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/core/result.hpp>
#include <hocket/launch/transfer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <string_view>
#include <tuple>
#include <vector>

namespace hocket::inline HOCKET_ABI::launch::detail {

/// The programs of all ranks, walked at once: `match` pairs the two ends of each transfer, `play` walks.
///
///     rank 0   send 1 ─────▶ recv 0   rank 1        ends, by rank and request: │ rank 0: end end │ rank 1: end │ …
///     rank 0   recv 1 ◀───── send 0   rank 1        each names its step, its peer and the peer's step
///
/// A rank has one next step, and what can be taken stays possible whatever the others do: all orders of walking end in
/// the same state.
class transfer_checker {
 public:
  using list = std::span<const transfer_command>;
  /// One end of a transfer.
  struct end {
    std::uint32_t step = 0;
    std::uint32_t peer = 0;
    std::uint32_t peer_step = 0;
    bool posted = false;
  };

  transfer_checker(std::span<const list> programs, transfer_model model, std::pmr::memory_resource* memory)
      : programs_(programs),
        model_(model),
        ends_(memory),
        first_(memory),
        halves_(memory),
        lanes_(programs.size(), memory),
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

  result<void> play(std::pmr::vector<blocked_transfer>* witness) {
    for (std::uint32_t r = ranks(); r-- > 0;) awake_.push_back(r);
    while (!awake_.empty()) {
      const std::uint32_t r = awake_.back();
      awake_.pop_back();
      advance(r);
    }
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

  [[nodiscard]] end& end_of(std::uint32_t rank, std::uint32_t step) {
    return ends_[first_[rank] + programs_[rank][step].request];
  }
  /// Whether the transfer with this request has met its other end.
  [[nodiscard]] bool met(std::uint32_t rank, std::uint32_t request) {
    const end& mine = ends_[first_[rank] + request];
    return mine.posted && end_of(mine.peer, mine.peer_step).posted;
  }

 private:
  static constexpr std::uint32_t nothing = ~std::uint32_t{0};
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
  /// How far a rank has come.
  struct lane {
    std::uint32_t step = 0;
    std::uint32_t group = 0;  // first request of the open group that has perhaps not met its other end
    std::uint32_t posts = 0;
    bool in_group = false;
    std::uint32_t mark = 0;  // of the walk that came by, + 1
  };

  [[nodiscard]] std::uint32_t ranks() const noexcept { return static_cast<std::uint32_t>(programs_.size()); }
  [[nodiscard]] static bool transfers(const transfer_command& c) noexcept {
    return c.kind == transfer_kind::send || c.kind == transfer_kind::recv;
  }
  [[nodiscard]] static error malformed(std::uint32_t rank, std::uint32_t step, std::string_view why) {
    return error{errc::bad_transfer, rank, step}.with(why);
  }

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
      } else if (transfers(c)) {
        if (c.request != requests++) return malformed(rank, i, "requests are numbered in order");
        if (c.peer >= ranks() || c.peer == rank) return malformed(rank, i, "no such peer");
        const bool sends = c.kind == transfer_kind::send;
        halves_.push_back({sends ? rank : c.peer, sends ? c.peer : rank, c.tag, rank, i, c.label});
        ends_.push_back({.step = i, .peer = c.peer});
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

  /// The request that keeps a rank from leaving its step, or nothing.
  [[nodiscard]] std::uint32_t obstacle(std::uint32_t rank) {
    lane& at = lanes_[rank];
    const transfer_command& c = programs_[rank][at.step];
    const bool blocks =
        c.kind == transfer_kind::wait || (model_ == transfer_model::in_order && transfers(c) && !at.in_group);
    if (blocks) return met(rank, c.request) ? nothing : c.request;
    if (model_ == transfer_model::in_order && c.kind == transfer_kind::group_end)
      for (; at.group < at.posts; ++at.group)  // what has met stays so: a rank that is woken goes on where it was
        if (!met(rank, at.group)) return at.group;
    return nothing;
  }
  void advance(std::uint32_t rank) {
    lane& at = lanes_[rank];
    for (; at.step < programs_[rank].size(); ++at.step) {
      const transfer_command& c = programs_[rank][at.step];
      if (transfers(c) && !end_of(rank, at.step).posted) {
        end& mine = end_of(rank, at.step);
        mine.posted = true;
        awake_.push_back(mine.peer);
        ++at.posts;
      }
      if (c.kind == transfer_kind::group_begin) {
        at.in_group = true;
        at.group = at.posts;
      }
      if (obstacle(rank) != nothing) return;
      if (c.kind == transfer_kind::group_end) at.in_group = false;
    }
  }
  [[nodiscard]] blocked_transfer waiting(std::uint32_t rank) {
    const end& mine = ends_[first_[rank] + obstacle(rank)];
    return {rank, lanes_[rank].step, mine.peer, mine.peer_step};
  }
  /// Each blocked rank waits for one other that is blocked itself: from any of them the walk ends in a cycle.
  [[nodiscard]] std::uint32_t shortest_cycle() {
    std::uint32_t best = nothing;
    std::uint32_t best_length = nothing;
    for (std::uint32_t r = 0; r < ranks(); ++r) {
      if (lanes_[r].step >= programs_[r].size() || lanes_[r].mark != 0) continue;
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
  std::pmr::vector<std::uint32_t> awake_;
};

}  // namespace hocket::inline HOCKET_ABI::launch::detail
