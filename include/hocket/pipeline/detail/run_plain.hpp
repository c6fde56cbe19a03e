// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/pipeline/costs.hpp>
#include <hocket/pipeline/run_memory.hpp>
#include <hocket/pipeline/schedule.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>

namespace hocket::inline HOCKET_ABI::pipeline::detail {

/// A sink that does not want to hear of actions: `static constexpr bool ignores_actions = true`.
template <class Sink>
concept silent_sink = requires { requires std::remove_cvref_t<Sink>::ignores_actions; };

/// Lists that are worth reading block by block: of schedules that write in bulk, unless their `at` is as quick as that.
template <class S>
concept reads_blocks =
    requires(const S& plan, std::span<std::remove_cvref_t<decltype(std::declval<const S&>().at(0, 0))>> out) {
      plan.fill(0, out, 0);
    } && !requires { requires S::quick_at; };

/// Runs plain lists: one direction, no slices, no pairs, each stage takes its micro-batches in order, times depend on
/// op and stage alone. Whatever else it meets, an error above all, it gives up, and the general runner starts anew: so
/// there is one place where errors are found. The workspace needs its lanes' sizes, and its stages' ranks and hops.
template <schedule S, cost_policy C, class Allocator>
struct plain_runner {
  const S& plan_;
  const C& costs_;
  basic_workspace<Allocator>& memory_;
  std::uint32_t ranks_ = plan_.ranks();
  std::uint32_t stages_ = plan_.ranks() * plan_.chunks();
  std::uint32_t micro_batches_ = plan_.micro_batches();
  decltype(plan_.placement()) place_ = plan_.placement();
  using value_type = std::remove_cvref_t<decltype(plan_.at(0, 0))>;
  typename basic_workspace<Allocator>::template vector<value_type> blocks_{memory_.times.get_allocator()};
  std::uint64_t to_do_ = 0;  // actions
  ticks total_ = 0;          // no path through the run is longer, so that nothing overflows

  using lane = typename basic_workspace<Allocator>::lane;
  static constexpr std::uint32_t first_capacity = 16;  // a power of two
  static constexpr std::uint32_t room = 128;           // actions that a rank reads at once, a power of two
  // Not in proofs, which would compile more for it.
  static constexpr bool in_blocks = reads_blocks<S> && !std::is_same_v<Allocator, constexpr_allocator>;
  static constexpr std::uint32_t nothing = 0;
  static constexpr std::uint32_t odd = ~std::uint32_t{0};
  static constexpr ticks most = (std::numeric_limits<ticks>::max)() / 2;

  /// True if the lists were plain and have run: then lanes and stages say what the general runner would.
  constexpr bool operator()() {
    if (!prepare()) return false;
    for (const lane& l : memory_.lanes) to_do_ += l.size;
    if constexpr (in_blocks) blocks_.resize(std::size_t{ranks_} * room);
    // In-order lists have one earliest execution, so ranks may be advanced in any order. Forwards travel to higher
    // ranks and backwards to lower ones: the walk turns round when it gets little done.
    bool downwards = false, stood = false;
    while (true) {
      std::uint64_t moved = 0;
      for (std::uint32_t i = 0; i < ranks_; ++i) {
        const std::uint32_t r = downwards ? ranks_ - 1 - i : i, steps = advance(r);
        if (steps == odd) return false;
        moved += steps;
      }
      if (to_do_ == moved) return finish();
      to_do_ -= moved;
      if (moved == 0 && stood && !widen()) return false;
      if (moved < ranks_) downwards = !downwards;
      stood = moved == 0;
    }
  }

  constexpr bool prepare() {
    const std::uint32_t capacity = micro_batches_ < first_capacity ? first_capacity / 4 : first_capacity;
    memory_.plain.assign(std::size_t{stages_} + 2, plain_stage{});
    memory_.times.assign(std::size_t{2} * capacity * stages_ + 2, 0);
    auto* const plain = memory_.plain.data() + 1;
    // The first stage waits for nothing, at times[0]; what it sends back, and the last sends on, goes to times[1].
    memory_.plain.front().backward = memory_.plain.back().forward = {.at = 1, .limit = odd};
    for (std::uint32_t s = 0; s < stages_; ++s) {
      const auto& from = memory_.stages[s];
      plain_stage& here = plain[s];
      here.rank = from.rank;
      open(here.forward, s == 0, 2 * s, capacity, from.forward_hop);
      open(here.backward, s + 1 == stages_, 2 * s + 1, capacity, from.backward_hop);
      if (!adds(from.forward_hop) || !adds(from.backward_hop)) return false;
    }
    return true;
  }
  constexpr void open(plain_pipe& p, bool always, std::uint32_t number, std::uint32_t capacity, ticks hop) {
    if (always) {
      p = {.tail = micro_batches_};
    } else {
      p = {.hop = hop, .at = 2 + std::uint64_t{number} * capacity, .mask = capacity - 1, .limit = capacity};
    }
  }

  /// Something that each micro-batch goes through once. False if it is no such time, or the run might not end in time.
  constexpr bool adds(ticks time) {
    if (time < 0 || time > (most - total_) / micro_batches_) return false;
    total_ += time * micro_batches_;
    return true;
  }
  /// Asked when the op first occurs at that stage: a policy needs no times for others.
  constexpr bool learn(plain_stage& here, stage_action a) {
    const ticks time = costs_.duration(a);
    if (!adds(time)) return false;
    here.time[static_cast<std::size_t>(a.kind())] = time;
    return true;
  }

  /// The action at a step; steps are read in order, some again.
  constexpr value_type read(lane& l, std::uint32_t rank, std::uint32_t step) {
    if constexpr (in_blocks) {
      const std::span block = std::span(blocks_).subspan(std::size_t{rank} * room, room);
      if (step == l.read_to) [[unlikely]]
        l.read_to += static_cast<std::uint32_t>(plan_.fill(rank, block, step));
      return block[step % room];
    } else {
      return plan_.at(rank, step);
    }
  }

  /// Runs a rank until it is done or blocked: how many actions that were, or `odd`.
  constexpr std::uint32_t advance(std::uint32_t rank) {
    lane& l = memory_.lanes[rank];
    const std::uint32_t size = l.size, from = l.step;
    std::uint32_t step = from;
    if (step == size) return nothing;
    idle_split& idle = l.report.idle_by;
    ticks now = l.report.finish, undecided = l.undecided;
    std::int64_t in_flight = l.in_flight, peak = l.report.peak_in_flight;
    bool began = l.backwards_began;
    plain_stage* const stages = memory_.plain.data() + 1;
    ticks* const times = memory_.times.data();
    const std::uint32_t stage_count = stages_;  // these two as copies that stay in registers
    const auto place = place_;
    const auto wait = [&](ticks gap, ticks hop) {
      const ticks coming = hop < gap ? hop : gap;
      idle.communication += coming;
      idle.dependency += gap - coming;
      (began ? undecided : idle.warm_up) += gap;
    };
    for (; step < size; ++step) {
      const value_type a = read(l, rank, step);
      if (a.joined()) [[unlikely]]
        return odd;
      const action_kind kind = a.kind();
      if (!is_compute(kind)) [[unlikely]] {
        if (costs_.duration(stage_action_at(plan_, rank, step)) != 0) return odd;
        continue;
      }
      std::uint32_t s = 0;
      if constexpr (std::is_same_v<value_type, action>) s = place.stage(rank, a.chunk());
      else s = a.slice() == 0 && a.direction() == 0 ? a.stage() : odd;
      if (s >= stage_count) [[unlikely]]
        return odd;
      const std::uint32_t j = a.micro_batch();
      plain_stage& here = stages[s];
      if (here.rank != rank) [[unlikely]]
        return odd;
      if (here.time[static_cast<std::size_t>(kind)] < 0) [[unlikely]]
        if (!learn(here, {kind, s, j})) return odd;
      if (kind == action_kind::forward) {
        plain_pipe& in = here.forward;
        plain_pipe& out = stages[std::size_t{s} + 1].forward;
        if (j != in.head) [[unlikely]]
          return odd;
        if (j >= in.tail || j >= out.limit) break;
        const ticks ready = times[in.at + (j & in.mask)];
        if (ready > now) wait(ready - now, in.hop), now = ready;
        now += here.time[0];
        if (undecided != 0) idle.steady += undecided, undecided = 0;
        if (++in_flight > peak) peak = in_flight;
        ++in.head, ++in.limit;
        times[out.at + (j & out.mask)] = now + out.hop;
        out.tail = j + 1;
      } else if (kind != action_kind::weight_grad) {
        plain_pipe& in = here.backward;
        plain_pipe& out = (&here - 1)->backward;  // of stage 0 too: one that nobody reads
        if (j != in.head) [[unlikely]]
          return odd;
        if (j >= in.tail || j >= here.forward.head || j >= out.limit) break;
        const ticks ready = times[in.at + (j & in.mask)];
        if (ready > now) wait(ready - now, in.hop), now = ready;
        began = true;
        if (kind == action_kind::backward) {
          if (j != here.weights) [[unlikely]]
            return odd;
          ++here.weights, ++here.fused, --in_flight;
          now += here.time[1];
        } else {
          now += here.time[2];
        }
        ++in.head, ++in.limit;
        times[out.at + (j & out.mask)] = now + out.hop;
        out.tail = j + 1;
      } else {
        if (j != here.weights) [[unlikely]]
          return odd;
        if (j >= here.backward.head) break;
        ++here.weights, --in_flight;
        now += here.time[3];
      }
    }
    l.step = step;
    l.report.finish = now;
    l.undecided = undecided;
    l.in_flight = in_flight;
    l.report.peak_in_flight = static_cast<std::uint32_t>(peak);
    l.backwards_began = began;
    return step - from;
  }

  /// Nobody can go on: doubles the rings that are full. False if none is, or there is that much in them that the
  /// general runner is the better one.
  constexpr bool widen() {
    bool any = false;
    for (plain_stage& here : memory_.plain) {
      for (plain_pipe* const p : {&here.forward, &here.backward}) {
        if (p->mask == 0 || p->tail - p->head <= p->mask) continue;
        if (memory_.times.size() > (std::size_t{1} << 24)) return false;
        any = true;
        const plain_pipe old = *p;
        p->at = memory_.times.size();
        p->mask = 2 * old.mask + 1;
        p->limit += old.mask + 1;
        memory_.times.resize(memory_.times.size() + p->mask + 1, 0);
        for (std::uint32_t j = old.head; j != old.tail; ++j)
          memory_.times[p->at + (j & p->mask)] = memory_.times[old.at + (j & old.mask)];
      }
    }
    return any;
  }

  /// What follows from the numbers of actions. False if some are missing.
  constexpr bool finish() {
    for (std::uint32_t s = 0; s < stages_; ++s) {
      const plain_stage& here = memory_.plain[std::size_t{s} + 1];
      if (here.forward.head != micro_batches_ || here.backward.head != micro_batches_ || here.weights != micro_batches_)
        return false;
      auto& stage = memory_.stages[s];
      const ticks all = micro_batches_, whole = here.fused, split = all - whole;
      stage.work = all * here.time[0] + (whole > 0 ? whole * here.time[1] : 0) + (split > 0 ? split * here.time[2] : 0);
      stage.fused = whole > 0, stage.split = split > 0;
      lane& l = memory_.lanes[here.rank];
      l.report.busy += stage.work + (split > 0 ? split * here.time[3] : 0);
      l.computing = l.report.busy;
    }
    return true;
  }
};

}  // namespace hocket::inline HOCKET_ABI::pipeline::detail
