// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/pipeline/detail/run_pipes.hpp>
#include <hocket/pipeline/passes.hpp>
#include <hocket/pipeline/table.hpp>
#include <hocket/pipeline/transfers.hpp>

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <vector>

namespace hocket::inline HOCKET_ABI::pipeline {

/// Where sends and receives go. All but `deferred` are free of deadlock under every model of `communication`: both ends
/// of every transfer are placed at the same moment of a walk over all lists, so that they stand in one common order.
enum class transfer_policy : std::uint8_t {
  none,
  eager,         ///< when the sender has made it: the receive is posted long before its use (PyTorch's runtime)
  just_in_time,  ///< when the receiver needs it: nothing waits in the receiver's buffers
  deferred,      ///< eager, but the receive moves down to its use, or to a send to a rank of higher number (PyTorch's
                 ///< defer_pp_recv); needs transfers that do not hold the rank and are matched by
                 ///< name: between two ranks, receives may stand in another order than sends
  grouped,       ///< ranks move in lockstep, and after each beat all that was made in it changes hands
  barrier,       ///< the same with an `idle` where a rank has nothing to do in a beat: a barrier may separate the beats
};

/// What to add to the lists of a schedule before a runtime follows them. In this order:
struct lowering_options {
  bool merge_halves = false;  ///< input gradient + weight gradient in a row: one backward
  bool overlap = false;       ///< forward + backward in a row: a pair that runs at once
  bool recompute = false;     ///< a recompute before each backward
  std::uint32_t offload = 0;  ///< > 0: offload activations, reload so many cells ahead
  std::uint32_t unshard = 0;  ///< > 0: gather sharded weights, at most about so many stages at a time (PyTorch: 3)
  bool reduce_grad = false;   ///< reduce gradients after the last backward of each stage
  transfer_policy transfers = transfer_policy::none;
  bool optimizer = false;        ///< an optimizer step at the end
  bool post_validation = false;  ///< and its post-validation
};

namespace detail {

using action_list = std::pmr::vector<stage_action>;
using action_lists = std::pmr::vector<action_list>;

template <class Pass>
void apply_pass(action_list& list, const Pass& pass) {
  struct borrowed {
    const stage_action* first = nullptr;
    const stage_action* last = nullptr;
    [[nodiscard]] const stage_action* begin() const noexcept { return first; }
    [[nodiscard]] const stage_action* end() const noexcept { return last; }
  };
  action_list longer(list.get_allocator());
  longer.reserve(list.size());
  for (const stage_action a : after(borrowed{list.data(), list.data() + list.size()}, pass)) longer.push_back(a);
  list.swap(longer);
}

/// Gathers weights before their use and lets them go after it: the next `most` stages of the list are kept.
/// As PyTorch's _add_unshard_reshard; stages that leave together do so in ascending order.
template <class Later = void>  // a template is compiled only where it is called
void add_unshard(action_list& list, std::uint32_t most) {
  action_list longer(list.get_allocator());
  struct upcoming {
    std::uint64_t stage;  // with its direction above it
    std::uint32_t uses;   // in the cells from i up to `ahead`
  };
  std::vector<std::uint64_t> active;
  std::vector<upcoming> next;  // in the order of their first use when they came into sight
  const auto name = [](stage_action a) { return std::uint64_t{a.direction()} << 32 | a.stage(); };
  const auto alone = [](action_kind kind, std::uint64_t stage) {
    return stage_action(kind, static_cast<std::uint32_t>(stage), stage_action::no_micro_batch, 0,
                        static_cast<std::uint32_t>(stage >> 32));
  };
  const auto find = [&](std::uint64_t x) {
    std::size_t k = 0;
    while (k < next.size() && next[k].stage != x) ++k;
    return k;
  };
  const auto enter = [&](stage_action a) {
    const std::size_t k = find(name(a));
    if (k == next.size()) next.push_back({name(a), 0});
    ++next[k].uses;
  };
  const auto leave = [&](stage_action a) { --next[find(name(a))].uses; };
  const stage_action* const end = list.data() + list.size();
  const stage_action* ahead = list.data();  // only ever moves on: a list of few stages is not read again for each cell
  for (const stage_action* i = list.data(); i != end;) {
    std::size_t kept = 0;
    for (const upcoming u : next)
      if (u.uses != 0) next[kept++] = u;
    next.resize(kept);
    while (ahead != end && next.size() < most) {
      const cell c = take_cell(ahead, end);
      enter(c.a);
      if (c.pair) enter(c.b);
    }
    kept = 0;
    for (const auto s : active) {
      if (find(s) != next.size()) active[kept++] = s;
      else longer.push_back(alone(action_kind::reshard, s));
    }
    active.resize(kept);
    for (const auto [s, uses] : next) {
      std::size_t at = 0;
      while (at < active.size() && active[at] < s) ++at;
      if (at < active.size() && active[at] == s) continue;
      active.insert(active.begin() + static_cast<std::ptrdiff_t>(at), s);
      longer.push_back(alone(action_kind::unshard, s));
    }
    const cell c = take_cell(i, end);
    leave(c.a);
    if (c.pair) leave(c.b);
    longer.push_back(c.a);
    if (c.pair) longer.push_back(c.b);
  }
  for (const auto s : active) longer.push_back(alone(action_kind::reshard, s));
  list.swap(longer);
}

/// Inserts transfers while all lists are walked together. errc::deadlock if they cannot all be walked to the end.
template <schedule S>
result<void> add_transfers(const S& plan, transfer_policy policy, action_lists& lists) {
  const std::uint32_t p = plan.ranks(), stages = p * plan.chunks(), slices = slices_of(plan);
  const std::uint64_t units = std::uint64_t{plan.micro_batches()} * slices;
  const bool lockstep = policy == transfer_policy::grouped || policy == transfer_policy::barrier;
  const auto place = plan.placement();
  auto* const memory = lists.get_allocator().resource();
  action_lists out(lists.size(), action_list(memory), memory);
  std::pmr::vector<std::uint32_t> at(p, 0, memory);
  // Per triple: the forward's input is there, the backward's is. Set when the receive is placed, or when the stage
  // before it on the same rank has run.
  std::pmr::vector<std::uint8_t> here(units * stages * directions_of(plan), 0, memory);
  const auto input_of = [&](stage_action a) -> std::uint8_t& {
    return here[(std::uint64_t{a.direction()} * stages + a.stage()) * units + std::uint64_t{a.micro_batch()} * slices +
                a.slice()];
  };
  const auto ready = [&](stage_action a) {
    if (a.kind() == action_kind::forward) return a.stage() == 0 || (input_of(a) & 1u) != 0;
    if (starts_backward(a.kind())) return a.stage() + 1 == stages || (input_of(a) & 2u) != 0;
    return true;
  };
  const auto transfer = [&](stage_action send, stage_action receive, std::uint32_t sender, std::uint32_t receiver) {
    out[sender].push_back(send), out[receiver].push_back(receive);
  };
  // What the sender has made and the receiver needs now.
  const auto fetch = [&](std::uint32_t rank, stage_action a) {
    if (!needs_receive(plan, a)) return;
    const stage_action receive = receive_of(a), send = far_end(receive);
    transfer(send, receive, rank_of(place, p, send.stage(), send.direction()), rank);
  };
  const auto run_and_send = [&](std::uint32_t rank, stage_action a) {
    if (a.kind() != action_kind::forward && !starts_backward(a.kind())) return;
    const stage_action send = send_of(a);
    if (!has_far_end(send, stages)) return;
    const stage_action receive = far_end(send);
    const std::uint32_t peer = rank_of(place, p, receive.stage(), receive.direction());
    if (peer != rank && policy != transfer_policy::just_in_time) transfer(send, receive, rank, peer);
    std::uint8_t& bits = input_of(receive);
    bits = static_cast<std::uint8_t>(bits | (a.kind() == action_kind::forward ? 1u : 2u));
  };
  struct beat {
    std::uint32_t rank;
    cell c;
  };
  std::pmr::vector<beat> now(memory);
  for (;;) {
    bool left = false, moved = false;
    now.clear();
    for (std::uint32_t r = 0; r < p; ++r) {
      const stage_action* const end = lists[r].data() + lists[r].size();
      if (at[r] == lists[r].size()) {
        if (policy == transfer_policy::barrier) now.push_back({r, {}});
        continue;
      }
      left = true;
      cell c;
      const stage_action* i = lists[r].data() + at[r];
      for (;;) {
        c = take_cell(i, end);
        if (!lockstep || is_compute(c.a.kind()) || i == end) break;
        out[r].push_back(c.a);  // what does not compute takes no beat
        at[r] = static_cast<std::uint32_t>(i - lists[r].data());
        moved = true;
      }
      if (!ready(c.a) || (c.pair && !ready(c.b))) {
        if (policy == transfer_policy::barrier) now.push_back({r, {}});
        continue;
      }
      at[r] = static_cast<std::uint32_t>(i - lists[r].data());
      moved = true;
      if (lockstep) {
        now.push_back({r, c});
        continue;
      }
      if (policy == transfer_policy::just_in_time) {
        fetch(r, c.a);
        if (c.pair) fetch(r, c.b);
      }
      out[r].push_back(c.a);
      if (c.pair) out[r].push_back(c.b);
      run_and_send(r, c.a);
      if (c.pair) run_and_send(r, c.b);
    }
    if (!left) break;
    if (!moved) {
      std::uint32_t r = 0;
      while (at[r] == lists[r].size()) ++r;
      const stage_action* const i = lists[r].data() + at[r];
      const stage_action a = ready(i[0]) ? i[1] : i[0];  // of a pair, the one that has to wait
      const std::uint32_t wanted = a.kind() == action_kind::forward ? a.stage() - 1 : a.stage() + 1;
      return error{errc::deadlock, r, at[r], wanted, a.micro_batch()};
    }
    for (const beat& b : now) {
      if (b.c.a.kind() == action_kind::idle)
        out[b.rank].push_back(alone({action_kind::idle, place.stage(b.rank, 0), 0}, action_kind::idle));
      else out[b.rank].push_back(b.c.a);
      if (b.c.pair) out[b.rank].push_back(b.c.b);
    }
    for (const beat& b : now) {
      run_and_send(b.rank, b.c.a);
      if (b.c.pair) run_and_send(b.rank, b.c.b);
    }
  }
  lists.swap(out);
  return {};
}

/// Moves each receive down to its use, but not below a send to the same rank if that has the higher number: the lower
/// of two ranks receives first, so that they never both send first. As PyTorch's _defer_recv_ops.
template <schedule S>
void defer_receives(const S& plan, action_lists& lists) {
  const auto place = plan.placement();
  const auto peer_of = [&](stage_action transfer) {
    const stage_action end = far_end(transfer);
    return rank_of(place, plan.ranks(), end.stage(), end.direction());
  };
  for (std::uint32_t r = 0; r < plan.ranks(); ++r) {
    action_list moved(lists[r].get_allocator()), waiting(lists[r].get_allocator());
    const auto flush = [&](auto&& wanted) {
      std::size_t kept = 0;
      for (const stage_action w : waiting) {
        if (wanted(w)) moved.push_back(w);
        else waiting[kept++] = w;
      }
      waiting.resize(kept);
    };
    const stage_action* const end = lists[r].data() + lists[r].size();
    for (const stage_action* i = lists[r].data(); i != end;) {
      const cell c = take_cell(i, end);
      if (is_transfer(c.a.kind()) && !is_send(c.a.kind())) {
        waiting.push_back(c.a);
        continue;
      }
      if (is_transfer(c.a.kind())) {
        const std::uint32_t peer = peer_of(c.a);
        if (r < peer) flush([&](stage_action w) { return peer_of(w) == peer; });
      }
      const auto used_by = [&](stage_action a) {
        if (is_compute(a.kind()) && a.kind() != action_kind::weight_grad)
          flush([&](stage_action w) { return w == receive_of(a); });
      };
      used_by(c.a);
      if (c.pair) used_by(c.b);
      moved.push_back(c.a);
      if (c.pair) moved.push_back(c.b);
    }
    lists[r].swap(moved);
  }
}

}  // namespace detail

/// The lists of a schedule with all that a runtime does besides computing. What concerns one rank alone is also there
/// as a lazy view, see passes.hpp; this is the whole, written down.
/// Errors: errc::deadlock if transfers are wanted and the lists cannot be followed (ask `check` for the reason);
/// errc::out_of_range for a stage, micro-batch or slice that the shape does not have; those of table_schedule::make.
/// Complexity: O(actions) time and memory; O(actions · offload), O(actions · unshard) with those; transfers take
/// O(ranks · beats).
///
///     const auto plan = interleaved::make({.ranks = 4, .chunks = 2, .micro_batches = 8}).value();
///     const auto lists = lower(plan, {.unshard = 3, .reduce_grad = true, .transfers = transfer_policy::eager});
template <schedule S>
[[nodiscard]] result<table_schedule> lower(const S& plan, const lowering_options& with,
                                           std::pmr::memory_resource* memory = std::pmr::get_default_resource()) {
  using detail::apply_pass;
  if (const auto total = detail::units_of(plan, "stages x micro-batches to lower"); !total) return total.error();
  const auto place = plan.placement();
  using placed = decltype(plan.placement());
  const std::int64_t stages = std::int64_t{plan.ranks()} * plan.chunks();
  detail::action_lists lists(plan.ranks(), detail::action_list(memory), memory);
  for (std::uint32_t r = 0; r < plan.ranks(); ++r) {
    auto& list = lists[r];
    list.reserve(plan.size(r));
    for (std::uint32_t i = 0; i < plan.size(r); ++i) {
      const stage_action a = stage_action_at(plan, r, i);
      if (is_transfer(a.kind())) continue;
      if (a.stage() >= stages) return error{errc::out_of_range, a.stage(), 0, stages - 1}.with("stage");
      if (!detail::in_shape(plan, a))
        return error{errc::out_of_range, a.micro_batch(), 0, std::int64_t{plan.micro_batches()} - 1}.with(
            "micro-batch (or slice, direction)");
      list.push_back(a);
    }
    if (with.merge_halves) apply_pass(list, pipeline::merge_halves{});
    if (with.overlap) apply_pass(list, overlap_pairs{});
    if (with.recompute) apply_pass(list, recompute_before_backward<placed>{place});
    if (with.offload > 0) apply_pass(list, offload_activations{with.offload});
    if (with.unshard > 0) detail::add_unshard(list, with.unshard);
    if (with.reduce_grad) apply_pass(list, reduce_when_done<placed>{place, plan.micro_batches() * slices_of(plan)});
  }
  if (with.transfers != transfer_policy::none) {
    if (const auto added = detail::add_transfers(plan, with.transfers, lists); !added) return added.error();
    if (with.transfers == transfer_policy::deferred) detail::defer_receives(plan, lists);
  }
  detail::action_list all(memory);
  std::pmr::vector<std::uint32_t> ends(memory);
  for (std::uint32_t r = 0; r < plan.ranks(); ++r) {
    if (with.optimizer || with.post_validation)
      apply_pass(lists[r], end_with_optimizer{with.post_validation, place.stage(r, 0)});
    all.insert(all.end(), lists[r].begin(), lists[r].end());
    ends.push_back(static_cast<std::uint32_t>(all.size()));
  }
  return table_schedule::make(all, ends, memory);
}

}  // namespace hocket::inline HOCKET_ABI::pipeline
