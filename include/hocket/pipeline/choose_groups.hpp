// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/pipeline/costs.hpp>
#include <hocket/pipeline/run.hpp>
#include <hocket/pipeline/schedules/interleaved.hpp>
#include <hocket/pipeline/workspace.hpp>

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <memory_resource>

namespace hocket::inline HOCKET_ABI::pipeline {

/// An interleaved schedule that was chosen for its costs, and what it was chosen by.
struct groups_choice {
  interleaved plan;
  groups cut = groups::balanced();
  std::uint32_t kappa = 2;         ///< of interleaved_options
  ticks makespan = 0;              ///< of the shape that was tried
  std::int64_t micro_batches = 0;  ///< of the shape that was tried: m, or fewer for very large schedules
};

/// Most actions that one candidate of `choose_groups` is simulated with, unless 4 p micro-batches are more.
inline constexpr std::int64_t max_choice_actions = 1 << 21;

namespace detail {

/// No run of the plan is shorter, with the time of transfers. The reasons:
/// - The last rank works on all its pieces between the forwards and the backwards of p - 1 other stages.
/// - The last stage works on m pieces between those of S - 1 others, and from the first of them to the last its rank
///   works on all but what it lists before and after.
/// - With kappa 1 the rank before the last has one forward more in its warm-up than the last. Of any two of its beats
///   in the steady state, one waits for a forward and a backward of the last and for both transfers.
///
/// 0 where that does not fit 64 bits.
[[nodiscard]] constexpr ticks least_with_hops(const interleaved& plan, const costs& c) noexcept {
  const interleaved_order& order = order_of(plan);
  const ticks p = plan.ranks(), pieces = ticks{plan.micro_batches()} * plan.chunks(), hop = p > 1 ? c.hop : 0;
  const ticks f = c.forward, b = c.backward.whole;
  ticks beat = 0, trip = 0, least = 0;
  bool all_fit = true;
  if (!checked_add(f, b, beat) || !checked_add(beat, hop, trip) || !checked_add(trip, hop, trip)) return 0;
  const auto raise = [&](ticks trips, ticks work, ticks hops, ticks forwards = 0, ticks backwards = 0) {
    ticks way = 0, waits = 0, all = 0;
    const bool fits = checked_multiply(trips, trip, way) && checked_multiply(work, beat, all) &&
                      checked_multiply(hops, hop, waits) && checked_add(all, way, all) && checked_add(all, waits, all);
    all -= fits ? forwards * f + backwards * b : 0;
    all_fit = all_fit && fits;
    if (all > least) least = all;
  };
  const ticks stages = p * plan.chunks();
  raise(p - 1, pieces, 0);
  const std::uint32_t last = plan.ranks() - 1, chunk = plan.chunks() - 1, j = plan.micro_batches() - 1;
  const ticks before = plan.step_of(last, {action_kind::forward, chunk, 0});
  const ticks after = 2 * pieces - 1 - plan.step_of(last, {action_kind::backward, chunk, j});
  HOCKET_ASSERT(before <= order.warm_up(last) && after <= order.warm_up(last));  // forwards alone, backwards alone
  raise(stages - 1, pieces, 0, before, after);
  if (order.kappa == 1 && p > 1) {
    const ticks warm_up = order.warm_up(plan.ranks() - 2);
    if (warm_up < pieces) raise(p - 2, pieces, (pieces - 1 - warm_up) / 2 * 2);
  }
  return all_fit ? least : 0;
}

/// Whether a run of the plan takes no longer than `least_with_hops`. With time for transfers: if all groups are of p,
/// or there is one of m < p, two more forwards on every rank before the last hide what is no longer than a forward or a
/// backward. docs/pipeline.md, "Transfers that take time" (proof).
[[nodiscard]] constexpr bool reaches_least_with_hops(const interleaved& plan, const costs& c) noexcept {
  const ticks f = c.forward, b = c.backward.whole;
  if (f < 1 || b < 1) return false;
  if (c.hop == 0) return outlook_of(plan) == interleaved_outlook::optimal;
  const interleaved_order& order = order_of(plan);
  const std::uint32_t p = plan.ranks(), m = plan.micro_batches();
  return order.kappa == 2 && order.extra == 0 && order.even_groups() && order.largest_group() == (m < p ? m : p) &&
         c.hop <= f && c.hop <= b;
}

/// Fewer micro-batches with the same remainder, where there are more than can be simulated for a choice.
[[nodiscard]] constexpr shape shape_to_try(shape s) noexcept {
  const std::int64_t most = max_choice_actions / (2 * s.stages());
  if (s.micro_batches <= most || s.micro_batches <= 4 * s.ranks) return s;
  const std::int64_t periods = most / s.ranks < 3 ? 3 : most / s.ranks;
  const std::int64_t whole = s.micro_batches / s.ranks;
  s.micro_batches = (periods < whole ? periods : whole) * s.ranks + s.micro_batches % s.ranks;
  return s;
}

}  // namespace detail

/// The way to cut micro-batches into groups that is fastest for these times within a cap on memory: larger groups and a
/// longer warm-up (kappa 2) hide the time of transfers, smaller ones hold fewer activations. Tries balanced, last and
/// first with kappa 2 and 1, least memory and, where the cap asks for it, capped. Simulates those within the cap and
/// takes the shortest; of equal ones, the one with the least memory, then the first in this order.
/// @param c    times of a chunk; `hop` is what decides
/// @param cap  activations that no rank may exceed; 0 for any
/// For more than max_choice_actions a run with fewer micro-batches and the same remainder stands for the whole.
/// Errors: those of interleaved::make and `run`; errc::out_of_range if nothing fits the cap, or it is negative;
/// errc::invalid_argument for a negative time.
/// Complexity: O(1) for each candidate that its lower bound rules out or that is known to reach it. Without time for
/// transfers these are most. With it, the first is known to where m < p or p divides m and transfers are no longer than
/// a forward or a backward; it rules out the others unless the cap does not let it through. O(actions) for each of the
/// rest, with max_choice_actions or 8 p² v actions if that is more.
///
///     const auto chosen = hocket::pipeline::choose_groups({8, 2, 19}, {.forward = 10, .backward = 20, .hop = 1});
///     chosen->kappa == 2;             // a tenth of a forward per hop: hide it
/// @tparam Later  leave it: a template is compiled only where it is called, and this is the dearest function here
template <class Later = void>
[[nodiscard]] result<groups_choice> choose_groups(
    const shape& s, const costs& c, std::int64_t cap = 0,
    std::pmr::memory_resource* memory = std::pmr::get_default_resource()) {
  if (const auto ok = check(s); !ok) return ok.error();
  if (cap < 0) return error{errc::out_of_range, cap, 1, s.stages()}.with("the cap on activations");
  for (const ticks t : {c.forward, c.backward.whole, c.hop})
    if (t < 0) return error{errc::invalid_argument, t}.with("a negative time");
  const ticks f = c.forward < 1 ? 1 : c.forward, b = c.backward.whole < 1 ? 1 : c.backward.whole;
  shape tried = detail::shape_to_try(s);
  struct candidate {
    groups cut;
    std::uint32_t kappa;
  };
  const candidate all[] = {{groups::balanced(), 2},         {groups::last(), 2},           {groups::first(), 2},
                           {groups::balanced(), 1},         {groups::last(), 1},           {groups::first(), 1},
                           {groups::least_memory(f, b), 1}, {groups::capped(cap, f, b), 1}};
  const bool even = s.micro_batches <= s.ranks || s.micro_batches % s.ranks == 0;
  workspace room{std::pmr::polymorphic_allocator<std::byte>(memory)};
  groups_choice best;
  std::uint32_t best_peak = 0;
  bool found = false;
  error none = error{errc::out_of_range, cap, 1, s.stages()}.with("the cap on activations");
  for (const candidate& x : all) {
    if (x.cut.kind() == groups::rule::capped && (cap <= 0 || cap >= s.stages())) continue;
    if (even && x.cut.kind() != groups::rule::balanced && x.cut.kind() != groups::rule::capped) continue;  // same lists
    const auto plan = interleaved::make(s, x.cut, {.kappa = x.kappa});
    if (!plan) {
      if (x.cut.kind() == groups::rule::capped) none = plan.error();
      continue;
    }
    const std::uint32_t peak = plan->peak_in_flight(0);
    if (cap > 0 && peak > cap) continue;
    // If fewer cannot be cut for this cap, which no other candidate keeps then, full windows can.
    if (!interleaved::make(tried, x.cut, {.kappa = x.kappa}))
      tried.micro_batches -= tried.micro_batches % ((cap - s.ranks) / (s.chunks - 1));
    const auto short_plan = interleaved::make(tried, x.cut, {.kappa = x.kappa});
    if (!short_plan) return short_plan.error();
    const auto loses = [&](ticks time) {
      return found && (time > best.makespan || (time == best.makespan && peak >= best_peak));
    };
    const ticks least = detail::least_with_hops(*short_plan, c);
    if (loses(least)) continue;
    ticks makespan = least;
    const bool known = least > 0 && least <= (std::numeric_limits<ticks>::max)() / 2;  // else a run says what overflows
    if (!known || !detail::reaches_least_with_hops(*short_plan, c)) {
      const auto ran = run(*short_plan, c, room);
      if (!ran) return ran.error();
      makespan = ran->makespan;
    }
    if (loses(makespan)) continue;
    best = groups_choice{*plan, x.cut, x.kappa, makespan, tried.micro_batches};
    best_peak = peak;
    found = true;
  }
  if (!found) return none;
  return best;
}

}  // namespace hocket::inline HOCKET_ABI::pipeline
