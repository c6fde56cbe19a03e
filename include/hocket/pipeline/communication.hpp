// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/pipeline/check.hpp>
#include <hocket/pipeline/transfers.hpp>
#include <hocket/pipeline/workspace.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <vector>

namespace hocket::inline HOCKET_ABI::pipeline {

/// How a runtime carries out sends and receives: what a rank has to wait for.
enum class communication : std::uint8_t {
  buffered,    ///< a send never waits; a receive waits for its send (MPI_Bsend, asynchronous sends with enough buffers)
  rendezvous,  ///< send and receive each hold their rank until both have been reached (MPI_Ssend)
  stream,      ///< the same on one stream of transfers per rank, in list order, beside the stream that computes (NCCL):
               ///< it blocks for ever exactly where rendezvous does
  batched,     ///< transfers that follow each other start together and hold the rank until all are done (a NCCL group)
};

namespace detail {

/// Runs the transfers of lists in order under a model, without times.
template <schedule S>
struct transfer_run {
  const S& plan;
  communication model;
  std::pmr::memory_resource* memory;
  std::uint32_t stages = plan.ranks() * plan.chunks();
  std::uint32_t slices = slices_of(plan);
  std::size_t units = std::size_t{plan.micro_batches()} * slices;
  std::size_t numbers = units * stages * directions_of(plan);

  // Per transfer, which is numbered by the stage that receives it: twice the triple, + 1 for gradients.
  enum bits : std::uint8_t {
    send_listed = 1,
    receive_listed = 2,
    send_reached = 4,
    receive_reached = 8,
    computed = 16
  };
  // A list in progress. Where transfers have a stream of their own, that stream is it: its sends wait for no
  // computation for ever, since in a list that passed check_order all that they need was received before them.
  struct lane {
    std::size_t at = 0, end = 0;
  };
  std::pmr::vector<stage_action> actions{memory};
  std::pmr::vector<std::size_t> first{memory};
  std::pmr::vector<std::uint8_t> state{memory};
  std::pmr::vector<lane> lanes{memory};

  [[nodiscard]] std::size_t triple(stage_action a, std::uint32_t stage) const noexcept {
    return (std::size_t{a.direction()} * stages + stage) * units + std::size_t{a.micro_batch()} * slices + a.slice();
  }
  [[nodiscard]] std::size_t number_of(stage_action transfer) const noexcept {
    const stage_action end = is_send(transfer.kind()) ? far_end(transfer) : transfer;
    return 2 * triple(end, end.stage()) + (end.kind() == action_kind::recv_backward ? 1 : 0);
  }
  [[nodiscard]] std::uint32_t rank_at(stage_action a) const noexcept {
    return rank_of(plan.placement(), plan.ranks(), a.stage(), a.direction());
  }

  /// The lists, with a receive right before and a send right after each action that needs one if they have none.
  [[nodiscard]] result<void> prepare() {
    const bool lowered = has_transfers(plan);
    state.assign(2 * numbers, 0);
    for (std::uint32_t r = 0; r < plan.ranks(); ++r) {
      first.push_back(actions.size());
      for (std::uint32_t i = 0; i < plan.size(r); ++i) {
        const stage_action a = stage_action_at(plan, r, i);
        const bool pair = a.joined() && i + 1 < plan.size(r);
        const stage_action b = pair ? stage_action_at(plan, r, ++i) : a;
        if (!lowered && needs_receive(plan, a)) actions.push_back(receive_of(a));
        if (!lowered && pair && needs_receive(plan, b)) actions.push_back(receive_of(b));
        actions.push_back(a);
        if (pair) actions.push_back(b);
        if (!lowered && needs_send(plan, a)) actions.push_back(send_of(a));
        if (!lowered && pair && needs_send(plan, b)) actions.push_back(send_of(b));
      }
    }
    first.push_back(actions.size());
    if (!lowered) return {};
    if (const auto ok = list_ends(); !ok) return ok;
    const auto ok = check_order();
    for (std::uint8_t& s : state) s = 0;
    return ok;
  }

  [[nodiscard]] error complaint(errc code, std::uint32_t rank, stage_action a, std::size_t at) const {
    const auto step = static_cast<std::int64_t>(at - first[rank]);
    const std::string_view what = is_compute(a.kind())
                                    ? (a.kind() == action_kind::forward ? "the forward" : "the backward")
                                    : (is_send(a.kind()) ? "the send" : "the receive");
    return error{code, rank, a.stage(), a.micro_batch(), step}.with(what);
  }
  /// Every end of a transfer stands once, on its rank.
  [[nodiscard]] result<void> list_ends() {
    for (std::uint32_t r = 0; r < plan.ranks(); ++r) {
      for (std::size_t i = first[r]; i < first[r + 1]; ++i) {
        const stage_action a = actions[i];
        if (!is_transfer(a.kind())) continue;
        if (a.stage() >= stages || a.micro_batch() >= plan.micro_batches() || a.slice() >= slices ||
            a.direction() >= directions_of(plan))
          return error{errc::out_of_range, a.micro_batch(), 0, std::int64_t{plan.micro_batches()} - 1}.with(
              "micro-batch");
        if (rank_at(a) != r)
          return error{errc::misplaced_action, std::int64_t{r} + 1, a.stage(), std::int64_t{rank_at(a)} + 1,
                       static_cast<std::int64_t>(i - first[r]) + 1};
        if (!has_far_end(a, stages) || rank_at(far_end(a)) == r) return complaint(errc::local_transfer, r, a, i);
        std::uint8_t& s = state[number_of(a)];
        const std::uint8_t mine = is_send(a.kind()) ? send_listed : receive_listed;
        if ((s & mine) != 0) return complaint(errc::duplicate_action, r, a, i);
        s = static_cast<std::uint8_t>(s | mine);
      }
    }
    return {};
  }
  /// Every transfer has both ends: a send after what it sends, a receive before its use.
  [[nodiscard]] result<void> check_order() {
    for (std::uint32_t r = 0; r < plan.ranks(); ++r) {
      for (std::size_t i = first[r]; i < first[r + 1]; ++i) {
        const auto ok = is_transfer(actions[i].kind()) ? check_transfer(r, i) : check_use(r, i);
        if (!ok) return ok;
      }
    }
    return {};
  }
  [[nodiscard]] result<void> check_transfer(std::uint32_t rank, std::size_t at) {
    const stage_action a = actions[at];
    std::uint8_t& s = state[number_of(a)];
    if ((s & (send_listed | receive_listed)) != (send_listed | receive_listed)) {
      const stage_action end = far_end(a);
      return complaint(errc::incomplete_schedule, rank_at(end), end, first[rank_at(end)]);
    }
    if (is_send(a.kind()) && (s & computed) == 0) return complaint(errc::misordered_action, rank, a, at);
    if (!is_send(a.kind())) s |= receive_reached;
    return {};
  }
  [[nodiscard]] result<void> check_use(std::uint32_t rank, std::size_t at) {
    const stage_action a = actions[at];
    if (needs_receive(plan, a)) {
      const std::uint8_t s = state[number_of(receive_of(a))];
      if ((s & receive_listed) == 0) return complaint(errc::incomplete_schedule, rank, receive_of(a), at);
      if ((s & receive_reached) == 0) return complaint(errc::misordered_action, rank, a, at);
    }
    if (needs_send(plan, a)) state[number_of(send_of(a))] |= computed;
    return {};
  }

  /// True if all lists end. Goes round the lanes, each as far as it gets, until none moves.
  [[nodiscard]] bool operator()() {
    for (std::uint32_t r = 0; r < plan.ranks(); ++r) lanes.push_back({first[r], first[r + 1]});
    for (bool moved = true; moved;) {
      moved = false;
      for (lane& l : lanes) moved = advance(l) || moved;
    }
    return std::all_of(lanes.begin(), lanes.end(), [](const lane& l) { return l.at == l.end; });
  }
  /// Whether it moved, or reached a transfer.
  bool advance(lane& l) {
    bool moved = false;
    while (l.at < l.end) {
      const std::size_t group = end_of_group(l);
      bool done = true;
      for (std::size_t i = l.at; i < group; ++i) {
        if (!is_transfer(actions[i].kind())) continue;
        moved = reach(actions[i]) || moved;
        done = done && is_done(actions[i]);
      }
      if (!done) break;
      l.at = group;
      moved = true;
    }
    return moved;
  }
  /// Behind the transfers that start together with the one at which the lane stands.
  [[nodiscard]] std::size_t end_of_group(const lane& l) const {
    std::size_t group = l.at + 1;
    if (model == communication::batched && is_transfer(actions[l.at].kind()))
      while (group < l.end && is_transfer(actions[group].kind())) ++group;
    return group;
  }
  /// Whether this side of a transfer is reached now, and was not before.
  [[nodiscard]] bool reach(stage_action a) {
    std::uint8_t& s = state[number_of(a)];
    const std::uint8_t side = is_send(a.kind()) ? send_reached : receive_reached;
    const bool news = (s & side) == 0;
    s = static_cast<std::uint8_t>(s | side);
    return news;
  }
  /// Whether a side of a transfer lets its lane go on.
  [[nodiscard]] bool is_done(stage_action a) const {
    const std::uint8_t s = state[number_of(a)];
    const bool sent = (s & send_reached) != 0, received = (s & receive_reached) != 0;
    return model == communication::buffered ? sent : sent && received;
  }

  /// What each rank that cannot go on waits for, rank after rank.
  void explain(std::pmr::vector<blocked>& links, std::pmr::vector<std::uint32_t>& begins) const {
    for (std::uint32_t n = 0; n < lanes.size(); ++n) {
      begins.push_back(static_cast<std::uint32_t>(links.size()));
      const lane& l = lanes[n];
      if (l.at >= l.end) continue;
      for (std::size_t i = l.at; i < end_of_group(l); ++i) {
        const std::uint8_t s = state[number_of(actions[i])];
        if ((s & send_reached) != 0 && (s & receive_reached) != 0) continue;
        const stage_action other = far_end(actions[i]);
        links.push_back({n, static_cast<std::uint32_t>(i - first[n]), actions[i], other, rank_at(other)});
      }
    }
    begins.push_back(static_cast<std::uint32_t>(links.size()));
  }
};

}  // namespace detail

/// `check`, and also that the transfers between ranks cannot block for ever under a model of communication.
/// A list with send and receive actions is taken at its word: every transfer must have both ends, once, on the right
/// ranks, a send after what it sends and a receive before its use. In a list without any, each rank receives right
/// before an action what it needs, and sends right after it what it made; `lower` inserts transfers in better places.
/// @param witness  after errc::deadlock: the shortest cycle of ranks that wait where the run stands still
/// Errors: those of `check`; errc::local_transfer, misordered_action. Complexity: O(ranks · beats) time, O(actions)
/// memory.
///
///     const auto plan = hocket::pipeline::one_f_one_b::make({.ranks = 4, .micro_batches = 8}).value();
///     check(plan, communication::batched).has_value();                          // Megatron-LM's way
///     check(plan, communication::rendezvous).error().code == hocket::errc::deadlock;  // both sides send first
template <schedule S>
[[nodiscard]] result<void> check(const S& plan, communication model, std::pmr::vector<blocked>* witness = nullptr,
                                 std::pmr::memory_resource* memory = std::pmr::get_default_resource()) {
  if (const auto ok = check(plan, witness, memory); !ok) return ok;
  if (model == communication::buffered && !has_transfers(plan)) return {};  // that is what was checked
  detail::transfer_run<S> ran{plan, model, memory};
  if (const auto ok = ran.prepare(); !ok) return ok;
  if (ran()) return {};
  std::pmr::vector<blocked> links(memory);
  workspace::vector<std::uint32_t> begins(memory);
  ran.explain(links, begins);
  return detail::report_cycle<std::pmr::polymorphic_allocator<std::byte>>(
      links, begins, [](const blocked& b) { return b.holder; },
      [&](const blocked& b) {
        if (witness != nullptr) witness->push_back(b);
      });
}

}  // namespace hocket::inline HOCKET_ABI::pipeline
