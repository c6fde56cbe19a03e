// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/pipeline/detail/run_units.hpp>
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
  eager,  ///< when the sender has made it: the receive is posted long before its use (PyTorch's runtime)
  /// when the receiver needs it, or lowering_options::lookahead actions ahead if it is made by then: few buffers
  just_in_time,
  /// eager, but the receive moves down to its use, or to a send to a rank of higher number (PyTorch's defer_pp_recv).
  /// Needs transfers that do not hold the rank and are matched by name: between two ranks, receives may stand in
  /// another order than sends.
  deferred,
  grouped,  ///< ranks move in lockstep, and after each beat all that was made in it changes hands
  barrier,  ///< the same with an `idle` where a rank has nothing to do in a beat: a barrier may separate the beats
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
  std::uint32_t lookahead = 0;   ///< just_in_time: receive so many computations ahead of the use; many: as `eager`
  bool optimizer = false;        ///< an optimizer step at the end
  bool post_validation = false;  ///< and its post-validation
};

namespace detail {

using action_list = std::pmr::vector<stage_action>;
using action_lists = std::pmr::vector<action_list>;

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

/// Walks all lists together and places both ends of every transfer at the same moment. With `grouped` and `barrier` the
/// walk goes in beats: what runs in one is placed on all ranks before what was made in it changes hands.
template <schedule S>
class transfer_walk {
 public:
  transfer_walk(const S& plan, transfer_policy policy, std::uint32_t lookahead, action_lists& lists)
      : plan_(plan),
        policy_(policy),
        lookahead_(lookahead),
        lists_(lists),
        out_(lists.size(), action_list(lists.get_allocator()), lists.get_allocator()),
        at_(lists.size(), 0, lists.get_allocator()),
        inputs_(units_ * stages_ * directions_of(plan), 0, lists.get_allocator()),
        beat_(lists.get_allocator()) {}

  /// Puts the longer lists in the place of the others. errc::deadlock if they cannot all be walked to the end.
  [[nodiscard]] result<void> operator()() {
    for (bool left = true; left;) {
      left = false;
      moved_ = false;
      beat_.clear();
      for (std::uint32_t r = 0; r < plan_.ranks(); ++r) {
        if (at_[r] == lists_[r].size()) {
          miss_beat(r);
          continue;
        }
        left = true;
        advance(r);
      }
      if (!left) break;
      if (!moved_) return why_blocked();
      finish_beat();
    }
    lists_.swap(out_);
    return {};
  }

 private:
  struct rank_cell {
    std::uint32_t rank;
    cell c;
  };
  // What is there of the inputs of a (direction, stage, micro-batch, slice): its receive is placed, or the stage beside
  // it on the same rank has run.
  static constexpr std::uint8_t has_forward = 1;
  static constexpr std::uint8_t has_backward = 2;
  static constexpr std::uint8_t fetched_forward = 4;  // just in time: its transfer is placed
  static constexpr std::uint8_t fetched_backward = 8;

  [[nodiscard]] std::uint8_t& inputs_of(stage_action a) {
    const std::size_t stage = std::size_t{a.direction()} * stages_ + a.stage();
    return inputs_[stage * units_ + std::size_t{a.micro_batch()} * slices_of(plan_) + a.slice()];
  }
  [[nodiscard]] bool ready(stage_action a) {
    if (a.kind() == action_kind::forward) return a.stage() == 0 || (inputs_of(a) & has_forward) != 0;
    if (starts_backward(a.kind())) return a.stage() + 1 == stages_ || (inputs_of(a) & has_backward) != 0;
    return true;
  }
  [[nodiscard]] std::uint32_t rank_at(stage_action a) const {
    return rank_of(plan_.placement(), plan_.ranks(), a.stage(), a.direction());
  }
  /// One cell of a rank, if it has its inputs.
  void advance(std::uint32_t rank) {
    const stage_action* const begin = lists_[rank].data();
    const stage_action* const end = begin + lists_[rank].size();
    const stage_action* i = begin + at_[rank];
    const auto pass = [&] {
      at_[rank] = static_cast<std::uint32_t>(i - begin);
      moved_ = true;
    };
    cell c = take_cell(i, end);
    while (lockstep_ && !is_compute(c.a.kind()) && i != end) {
      out_[rank].push_back(c.a);  // what does not compute takes no beat
      pass();
      c = take_cell(i, end);
    }
    if (policy_ == transfer_policy::just_in_time) fetch_ahead(rank, i, end);
    if (!ready(c.a) || (c.pair && !ready(c.b))) return miss_beat(rank);
    pass();
    if (lockstep_) {
      beat_.push_back({rank, c});
      return;
    }
    if (policy_ == transfer_policy::just_in_time) {
      fetch(rank, c.a);
      if (c.pair) fetch(rank, c.b);
    }
    put(rank, c);
    hand_on(rank, c);
  }
  void put(std::uint32_t rank, const cell& c) {
    out_[rank].push_back(c.a);
    if (c.pair) out_[rank].push_back(c.b);
  }
  /// What senders have made of what the rank needs in the computations that follow.
  void fetch_ahead(std::uint32_t rank, const stage_action* next, const stage_action* end) {
    for (std::uint32_t seen = 0; seen < lookahead_ && next != end;) {
      const cell c = take_cell(next, end);
      if (is_compute(c.a.kind())) ++seen;
      c.each([&](stage_action a) {
        if (ready(a)) fetch(rank, a);
      });
    }
  }
  /// What a sender has made and the rank needs, if that is not fetched yet.
  void fetch(std::uint32_t rank, stage_action a) {
    if (!needs_receive(plan_, a)) return;
    const std::uint8_t bit = a.kind() == action_kind::forward ? fetched_forward : fetched_backward;
    std::uint8_t& there = inputs_of(a);
    if ((there & bit) != 0) return;
    there = static_cast<std::uint8_t>(there | bit);
    const stage_action send = far_end(receive_of(a));
    out_[rank_at(send)].push_back(send);
    out_[rank].push_back(receive_of(a));
  }
  void hand_on(std::uint32_t rank, const cell& c) {
    hand_on(rank, c.a);
    if (c.pair) hand_on(rank, c.b);
  }
  void hand_on(std::uint32_t rank, stage_action a) {
    if (a.kind() != action_kind::forward && !starts_backward(a.kind())) return;
    const stage_action send = send_of(a);
    if (!has_far_end(send, stages_)) return;
    const stage_action receive = far_end(send);
    const std::uint32_t peer = rank_at(receive);
    if (peer != rank && policy_ != transfer_policy::just_in_time) {
      out_[rank].push_back(send);
      out_[peer].push_back(receive);
    }
    std::uint8_t& there = inputs_of(receive);
    there = static_cast<std::uint8_t>(there | (a.kind() == action_kind::forward ? has_forward : has_backward));
  }
  void miss_beat(std::uint32_t rank) {
    if (policy_ == transfer_policy::barrier) beat_.push_back({rank, {}});
  }
  void finish_beat() {
    for (const rank_cell& x : beat_) {
      if (x.c.a.kind() != action_kind::idle) put(x.rank, x.c);
      else out_[x.rank].push_back(alone({action_kind::idle, plan_.placement().stage(x.rank, 0), 0}, action_kind::idle));
    }
    for (const rank_cell& x : beat_) hand_on(x.rank, x.c);
  }
  [[nodiscard]] error why_blocked() {
    std::uint32_t r = 0;
    while (at_[r] == lists_[r].size()) ++r;
    const stage_action* const i = lists_[r].data() + at_[r];
    const stage_action a = ready(i[0]) ? i[1] : i[0];  // of a pair, the one that has to wait
    const std::uint32_t wanted = a.kind() == action_kind::forward ? a.stage() - 1 : a.stage() + 1;
    return error{errc::deadlock, r, at_[r], wanted, a.micro_batch()};
  }

  const S& plan_;
  transfer_policy policy_;
  std::uint32_t lookahead_;
  bool lockstep_ = policy_ == transfer_policy::grouped || policy_ == transfer_policy::barrier;
  std::uint32_t stages_ = plan_.ranks() * plan_.chunks();
  std::size_t units_ = std::size_t{plan_.micro_batches()} * slices_of(plan_);
  action_lists& lists_;
  action_lists out_;
  std::pmr::vector<std::uint32_t> at_;  // by rank: the next of its list
  std::pmr::vector<std::uint8_t> inputs_;
  std::pmr::vector<rank_cell> beat_;
  bool moved_ = false;
};

/// Moves each receive down to its use, but not below a send to the same rank if that has the higher number: the lower
/// of two ranks receives first, so that they never both send first. As PyTorch's _defer_recv_ops.
template <schedule S>
void defer_receives(const S& plan, std::uint32_t rank, action_list& list) {
  const auto place = plan.placement();
  const auto peer_of = [&](stage_action transfer) {
    const stage_action end = far_end(transfer);
    return rank_of(place, plan.ranks(), end.stage(), end.direction());
  };
  action_list moved(list.get_allocator()), waiting(list.get_allocator());
  const auto flush = [&](auto&& wanted) {
    std::size_t kept = 0;
    for (const stage_action w : waiting) {
      if (wanted(w)) moved.push_back(w);
      else waiting[kept++] = w;
    }
    waiting.resize(kept);
  };
  const auto use = [&](stage_action a) {
    if (is_compute(a.kind()) && a.kind() != action_kind::weight_grad)
      flush([&](stage_action w) { return w == receive_of(a); });
  };
  const stage_action* const end = list.data() + list.size();
  for (const stage_action* i = list.data(); i != end;) {
    const cell c = take_cell(i, end);
    if (is_transfer(c.a.kind()) && !is_send(c.a.kind())) {
      waiting.push_back(c.a);
      continue;
    }
    if (is_transfer(c.a.kind()) && rank < peer_of(c.a))
      flush([&](stage_action w) { return peer_of(w) == peer_of(c.a); });
    use(c.a);
    if (c.pair) use(c.b);
    moved.push_back(c.a);
    if (c.pair) moved.push_back(c.b);
  }
  list.swap(moved);
}

}  // namespace detail

/// The lists of a schedule with all that a runtime does besides computing.
/// Errors: errc::deadlock if transfers are wanted and the lists cannot be followed (ask `check` for the reason);
/// errc::out_of_range for a stage, micro-batch or slice that the shape does not have; those of table_schedule::make.
/// Complexity: O(actions) time and memory; O(actions · offload), O(actions · unshard) with those; transfers take
/// O(ranks · beats · (1 + lookahead)).
///
///     const auto plan = interleaved::make({.ranks = 4, .chunks = 2, .micro_batches = 8}).value();
///     const auto lists = lower(plan, {.unshard = 3, .reduce_grad = true, .transfers = transfer_policy::eager});
template <schedule S>
[[nodiscard]] result<table_schedule> lower(const S& plan, const lowering_options& with,
                                           std::pmr::memory_resource* memory = std::pmr::get_default_resource()) {
  if (const auto total = detail::units_of(plan, "stages x micro-batches to lower"); !total) return total.error();
  const std::int64_t stages = std::int64_t{plan.ranks()} * plan.chunks();
  detail::action_lists lists(plan.ranks(), detail::action_list(memory), memory);
  for (std::uint32_t r = 0; r < plan.ranks(); ++r) {
    auto& list = lists[r];
    list.reserve(plan.size(r));
    for (const stage_action a : stage_list(plan, r)) {
      if (is_transfer(a.kind())) continue;
      if (a.stage() >= stages) return error{errc::out_of_range, a.stage(), 0, stages - 1}.with("stage");
      if (!detail::in_shape(plan, a))
        return error{errc::out_of_range, a.micro_batch(), 0, std::int64_t{plan.micro_batches()} - 1}.with(
            "micro-batch (or slice, direction)");
      list.push_back(a);
    }
    if (with.merge_halves) merge_halves(list);
    if (with.overlap) overlap_pairs(list);
    if (with.recompute) recompute_before_backward(list);
    if (with.offload > 0) offload_activations(list, with.offload);
    if (with.unshard > 0) detail::add_unshard(list, with.unshard);
    if (with.reduce_grad) reduce_when_done(list);
  }
  if (with.transfers != transfer_policy::none) {
    if (const auto added = detail::transfer_walk<S>(plan, with.transfers, with.lookahead, lists)(); !added)
      return added.error();
    if (with.transfers == transfer_policy::deferred)
      for (std::uint32_t r = 0; r < plan.ranks(); ++r) detail::defer_receives(plan, r, lists[r]);
  }
  detail::action_list all(memory);
  std::pmr::vector<std::uint32_t> ends(memory);
  for (std::uint32_t r = 0; r < plan.ranks(); ++r) {
    if (with.optimizer || with.post_validation)
      end_with_optimizer(lists[r], plan.placement().stage(r, 0), with.post_validation);
    all.insert(all.end(), lists[r].begin(), lists[r].end());
    ends.push_back(static_cast<std::uint32_t>(all.size()));
  }
  return table_schedule::make(all, ends, memory);
}

// Not a schedule: the member that is missing in place of "no matching function".
template <class S>
  requires(!schedule<S>)
result<table_schedule> lower(const S&, const lowering_options&, std::pmr::memory_resource* = nullptr) {
  static_assert(detail::is_schedule<S>());
  return error{};
}

}  // namespace hocket::inline HOCKET_ABI::pipeline
