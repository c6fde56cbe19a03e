// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/core/result.hpp>
#include <hocket/launch/transfer.hpp>

#include <algorithm>
#include <memory_resource>
#include <span>
#include <vector>

namespace hocket::inline HOCKET_ABI::launch {

/// When a step that talks to others lets the rank go on, if nothing is buffered (the worst that a network may do).
enum class transfer_model : std::uint8_t {
  posted,    ///< posts return at once, waits block: MPI and other host transports, or one stream per transfer
  in_order,  ///< a transfer blocks until its peer comes, a group until all its transfers are done: one stream of NCCL
             ///< or HCCL that also computes, and so a safe assumption for any number of streams
};

/// One link of a deadlock: `rank` stands at `step` until rank `peer` comes to `needs`, a step further down its list.
struct blocked_transfer {
  std::uint32_t rank = 0;
  std::uint32_t step = 0;
  std::uint32_t peer = 0;
  std::uint32_t needs = 0;
  friend constexpr bool operator==(const blocked_transfer&, const blocked_transfer&) = default;
};

namespace detail {

struct transfer_checker {
  using list = std::span<const transfer_command>;
  struct end {  // of a transfer, on one rank
    std::uint32_t step, peer, peer_step;
    bool posted;
  };
  struct lane {
    std::uint32_t step = 0;
    std::uint32_t group = 0;  // first request of the open group that has perhaps not met its other end
    std::uint32_t posts = 0;
    bool in_group = false;
    std::uint32_t mark = 0;
  };
  std::span<const list> programs;
  transfer_model model;
  std::pmr::vector<end> ends;             // by rank and request
  std::pmr::vector<std::uint32_t> first;  // rank's place in ends
  std::pmr::vector<lane> lanes;
  std::pmr::vector<std::uint32_t> awake;

  transfer_checker(std::span<const list> lists, transfer_model how, std::pmr::memory_resource* memory)
      : programs(lists), model(how), ends(memory), first(memory), lanes(lists.size(), memory), awake(memory) {}

  [[nodiscard]] std::uint32_t ranks() const noexcept { return static_cast<std::uint32_t>(programs.size()); }
  [[nodiscard]] static bool transfers(const transfer_command& c) noexcept {
    return c.kind == transfer_kind::send || c.kind == transfer_kind::recv;
  }

  /// The k-th send from a to b is the k-th receive of b from a, and both mean the same.
  result<void> match() {
    struct half {
      std::uint32_t from, to, tag, rank, step;
      std::uint64_t label;
    };
    std::pmr::vector<half> halves(ends.get_allocator().resource());
    for (std::uint32_t r = 0; r < ranks(); ++r) {
      first.push_back(static_cast<std::uint32_t>(ends.size()));
      std::uint32_t requests = 0;
      bool in_group = false;
      for (std::uint32_t i = 0; i < programs[r].size(); ++i) {
        const transfer_command& c = programs[r][i];
        if (c.kind == transfer_kind::group_begin || c.kind == transfer_kind::group_end) {
          if (in_group == (c.kind == transfer_kind::group_begin)) return malformed(r, i, "groups do not nest");
          in_group = !in_group;
        } else if (c.kind == transfer_kind::wait) {
          if (c.request >= requests) return malformed(r, i, "a wait for what is not posted yet");
          if (in_group) return malformed(r, i, "a wait inside of a group");
        } else if (transfers(c)) {
          if (c.request != requests++) return malformed(r, i, "requests are numbered in order");
          if (c.peer >= ranks() || c.peer == r) return malformed(r, i, "no such peer");
          const bool sends = c.kind == transfer_kind::send;
          halves.push_back({sends ? r : c.peer, sends ? c.peer : r, c.tag, r, i, c.label});
          ends.push_back({i, c.peer, 0, false});
        }
      }
      if (in_group) return malformed(r, static_cast<std::uint32_t>(programs[r].size()), "a group that does not end");
    }
    // Tags must be the places in the order of posting; then equal (from, to, tag) is the pair that meets.
    std::sort(halves.begin(), halves.end(), [](const half& a, const half& b) {
      if (a.from != b.from) return a.from < b.from;
      if (a.to != b.to) return a.to < b.to;
      if (a.tag != b.tag) return a.tag < b.tag;
      return a.rank != b.rank ? a.rank == a.from : a.step < b.step;
    });
    for (std::size_t i = 0; i < halves.size(); i += 2) {
      const half& s = halves[i];
      const bool paired = i + 1 < halves.size() && halves[i + 1].from == s.from && halves[i + 1].to == s.to &&
                          halves[i + 1].tag == s.tag && s.rank == s.from && halves[i + 1].rank == s.to;
      if (!paired)
        return error{errc::unmatched_transfer, s.rank, s.step, s.rank == s.from ? s.to : s.from}.with(
            s.rank == s.from ? "the send to" : "the receive from");
      const half& t = halves[i + 1];
      if (s.label != t.label) return error{errc::mismatched_transfer, s.from, s.step, s.to, t.step};
      const bool fresh = i == 0 || halves[i - 2].from != s.from || halves[i - 2].to != s.to;
      if (s.tag != (fresh ? 0 : halves[i - 2].tag + 1)) return malformed(s.rank, s.step, "tags count from 0");
      // The tag is the place in the order of sending; posted in another order, it would meet something else.
      if (!fresh && (halves[i - 2].step > s.step || halves[i - 1].step > t.step))
        return error{errc::mismatched_transfer, s.from, s.step, s.to, t.step};
      end_of(s.rank, s.step).peer_step = t.step;
      end_of(t.rank, t.step).peer_step = s.step;
    }
    return {};
  }
  [[nodiscard]] static error malformed(std::uint32_t rank, std::uint32_t step, std::string_view why) {
    return error{errc::bad_transfer, rank, step}.with(why);
  }
  end& end_of(std::uint32_t rank, std::uint32_t step) { return ends[first[rank] + programs[rank][step].request]; }

  /// Whether the transfer with this request has met its other end.
  [[nodiscard]] bool met(std::uint32_t rank, std::uint32_t request) {
    const end& mine = ends[first[rank] + request];
    return mine.posted && end_of(mine.peer, mine.peer_step).posted;
  }
  void post(std::uint32_t rank, std::uint32_t step) {
    end& mine = end_of(rank, step);
    mine.posted = true;
    awake.push_back(mine.peer);
  }
  /// The request that keeps a rank from leaving its step, or `nothing`.
  static constexpr std::uint32_t nothing = ~std::uint32_t{0};
  [[nodiscard]] std::uint32_t obstacle(std::uint32_t rank) {
    lane& at = lanes[rank];
    const transfer_command& c = programs[rank][at.step];
    if (c.kind == transfer_kind::wait) return met(rank, c.request) ? nothing : c.request;
    if (model == transfer_model::posted) return nothing;
    if (transfers(c) && !at.in_group) return met(rank, c.request) ? nothing : c.request;
    if (c.kind == transfer_kind::group_end)
      for (; at.group < at.posts; ++at.group)  // what has met stays so: a rank that is woken goes on where it was
        if (!met(rank, at.group)) return at.group;
    return nothing;
  }
  void advance(std::uint32_t rank) {
    lane& at = lanes[rank];
    while (at.step < programs[rank].size()) {
      const transfer_command& c = programs[rank][at.step];
      if (transfers(c) && !end_of(rank, at.step).posted) post(rank, at.step), ++at.posts;
      if (c.kind == transfer_kind::group_begin) at.in_group = true, at.group = at.posts;
      if (obstacle(rank) != nothing) return;
      if (c.kind == transfer_kind::group_end) at.in_group = false;
      ++at.step;
    }
  }
  [[nodiscard]] blocked_transfer waiting(std::uint32_t rank) {
    const end& mine = ends[first[rank] + obstacle(rank)];
    return {rank, lanes[rank].step, mine.peer, mine.peer_step};
  }

  result<void> play(std::pmr::vector<blocked_transfer>* cycle) {
    for (std::uint32_t r = ranks(); r-- > 0;) awake.push_back(r);
    while (!awake.empty()) {
      const std::uint32_t r = awake.back();
      awake.pop_back();
      advance(r);
    }
    // Each blocked rank waits for one other that is blocked itself: from any of them the walk ends in a cycle.
    std::uint32_t best = nothing, best_length = nothing;
    for (std::uint32_t r = 0; r < ranks(); ++r) {
      if (lanes[r].step >= programs[r].size() || lanes[r].mark != 0) continue;
      std::uint32_t x = r;
      while (lanes[x].mark == 0) lanes[x].mark = r + 1, x = waiting(x).peer;
      if (lanes[x].mark != r + 1) continue;
      std::uint32_t length = 1;
      for (std::uint32_t y = waiting(x).peer; y != x; y = waiting(y).peer) ++length;
      if (length < best_length) best = x, best_length = length;
    }
    if (best == nothing) return {};
    const blocked_transfer at = waiting(best);
    if (cycle != nullptr) {
      std::uint32_t x = best;
      do cycle->push_back(waiting(x)), x = cycle->back().peer;
      while (x != best);
    }
    return error{errc::transfer_deadlock, at.rank, at.step, at.peer, at.needs};
  }
};

}  // namespace detail

/// Whether the programs of all ranks fit together, before anything runs: every send meets a receive of the same
/// meaning, in the order of posting, and no rank waits for ever although nothing is buffered. A plan that passes cannot
/// hang by its own fault on any network; one that does not often runs with small messages and hangs with large ones.
/// @param programs  the steps of each rank
/// @param model     how transfers block; see `transfer_model`
/// @param cycle     after errc::transfer_deadlock: the shortest cycle of ranks that wait for each other
/// Errors: errc::bad_transfer (a list that makes no sense by itself), unmatched_transfer, mismatched_transfer,
/// transfer_deadlock. Complexity: O(steps + transfers · log transfers).
///
///     using enum hocket::launch::transfer_kind;                  // two ranks that both send before they receive
///     const transfer_command a[] = {{1, 1, 0, 0, send}, {2, 1, 1, 0, recv}};
///     const transfer_command b[] = {{2, 0, 0, 0, send}, {1, 0, 1, 0, recv}};
///     const std::span<const transfer_command> both[] = {a, b};
///     check_transfers(both, transfer_model::in_order).error().code == hocket::errc::transfer_deadlock;
[[nodiscard]] inline result<void> check_transfers(
    std::span<const std::span<const transfer_command>> programs, transfer_model model = transfer_model::posted,
    std::pmr::vector<blocked_transfer>* cycle = nullptr,
    std::pmr::memory_resource* memory = std::pmr::get_default_resource()) {
  if (cycle != nullptr) cycle->clear();
  detail::transfer_checker checker(programs, model, memory);
  if (const auto matched = checker.match(); !matched) return matched.error();
  return checker.play(cycle);
}

}  // namespace hocket::inline HOCKET_ABI::launch
