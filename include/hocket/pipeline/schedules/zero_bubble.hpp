// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/pipeline/detail/weave.hpp>
#include <hocket/pipeline/schedules/interleaved.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace hocket::inline HOCKET_ABI::pipeline {

/// Zero-bubble schedules: the backward is split into the input gradient, which the previous stage waits for, and the
/// weight gradient, which nobody waits for and which fills the time that 1F1B idles. A rank runs `lead` forwards, then
/// input gradients in turn with forwards, and each weight gradient `lag` input gradients late.
/// Source: Qi et al. 2023, arXiv:2401.10241 (ZB-H1, ZB-H2); PyTorch's ScheduleInterleavedZeroBubble; docs/pipeline.md.
///
///     constexpr auto plan = hocket::pipeline::zero_bubble::make_h1({.ranks = 4, .micro_batches = 8}).value();
///     static_assert(plan.size(0) == 24 && plan.peak_in_flight(3) == 4);
class zero_bubble {
 public:
  constexpr zero_bubble() noexcept = default;

  /// ZB-H1: one chunk per rank, p activations on every rank. Errors: errc::bad_shape.
  [[nodiscard]] static constexpr result<zero_bubble> make_h1(const shape& s) noexcept { return single(s, 1); }
  /// ZB-H2: one chunk per rank, 2p - 1 activations; no rank idles between its first and its last action, so steps of
  /// training can follow each other without a bubble where the optimizer does not wait for all ranks.
  [[nodiscard]] static constexpr result<zero_bubble> make_h2(const shape& s) noexcept { return single(s, 2); }
  /// Interleaved: any number of chunks, and any number of micro-batches, in balanced groups.
  [[nodiscard]] static constexpr result<zero_bubble> make_interleaved(const shape& s) noexcept { return make(s, 1); }

  [[nodiscard]] constexpr std::uint32_t ranks() const noexcept { return order_.ranks(); }
  [[nodiscard]] constexpr std::uint32_t chunks() const noexcept { return order_.chunks(); }
  [[nodiscard]] constexpr std::uint32_t micro_batches() const noexcept { return order_.micro_batches(); }
  [[nodiscard]] constexpr loop_placement placement() const noexcept { return order_.placement(); }

  /// How far a rank runs ahead per rank below it: 1, or 2 for ZB-H2.
  [[nodiscard]] constexpr std::uint32_t reach() const noexcept { return order_.kappa(); }
  /// Whether all groups of micro-batches have one size, as in the schedules of other systems; and the largest size.
  [[nodiscard]] constexpr bool even_groups() const noexcept { return order_.even_groups(); }
  [[nodiscard]] constexpr std::uint32_t largest_group() const noexcept { return order_.largest_group(); }

  /// Forwards before the first input gradient.
  [[nodiscard]] constexpr std::uint32_t lead(std::uint32_t rank) const noexcept {
    const std::uint32_t a = order_.warm_up(rank) + 1;
    return a < count() ? a : count();
  }
  /// Input gradients that a weight gradient waits for after its own.
  [[nodiscard]] constexpr std::uint32_t lag(std::uint32_t rank) const noexcept {
    const std::uint32_t d = order_.kappa() * rank;
    return d < count() ? d : count();
  }
  /// Activations that the rank holds at most; one is let go with its weight gradient.
  [[nodiscard]] constexpr std::uint32_t peak_in_flight(std::uint32_t rank) const noexcept {
    const std::uint32_t held = lead(rank) + lag(rank);
    return held < count() ? held : count();
  }

  /// Steps of warm-up, steady state and drain.
  [[nodiscard]] constexpr step_counts counts(std::uint32_t rank) const noexcept {
    const std::uint32_t n = count(), a = lead(rank);
    if (a == n) return {n, 0, 2 * n};
    const chunk_batch last = order_.forward_at(n - 1);
    const std::uint32_t end = step_of(rank, {action_kind::forward, last.chunk, last.micro_batch}) + 1;
    return {a, end - a, 3 * n - end};
  }

  [[nodiscard]] constexpr std::uint32_t size(std::uint32_t) const noexcept { return 3 * count(); }
  /// Preconditions: rank < ranks(), step < size(rank). O(1).
  [[nodiscard]] constexpr action at(std::uint32_t rank, std::uint32_t step) const noexcept {
    HOCKET_ASSERT(rank < ranks() && step < size(rank));
    const std::uint32_t n = count(), a = lead(rank), d = lag(rank), forwards = n - a;
    if (step < a) return made(action_kind::forward, step);
    // Round j: the j-th input gradient, weight gradient j - d if j >= d, forward a + j if j < n - a.
    const std::uint32_t x = step - a, low = d < forwards ? d : forwards, high = d < forwards ? forwards : d;
    if (x < 2 * low) return x % 2 == 0 ? made(action_kind::input_grad, x / 2) : made(action_kind::forward, a + x / 2);
    const std::uint32_t width = d < forwards ? 3 : 1, y = x - 2 * low;
    if (y < width * (high - low)) {
      const std::uint32_t j = low + y / width;
      if (y % width == 0) return made(action_kind::input_grad, j);
      return y % width == 1 ? made(action_kind::weight_grad, j - d) : made(action_kind::forward, a + j);
    }
    const std::uint32_t z = y - width * (high - low), j = high + z / 2;
    if (j >= n) return made(action_kind::weight_grad, n - d + (z - 2 * (n - high)));
    return z % 2 == 0 ? made(action_kind::input_grad, j) : made(action_kind::weight_grad, j - d);
  }
  /// The step at which the rank runs `a`, or size(rank) if it never does. O(1).
  [[nodiscard]] constexpr std::uint32_t step_of(std::uint32_t rank, action x) const noexcept {
    if (x.kind() == action_kind::backward || !is_compute(x.kind()) || x.chunk() >= chunks() ||
        x.micro_batch() >= micro_batches())
      return size(rank);
    const std::uint32_t n = count(), a = lead(rank), d = lag(rank), forwards = n - a;
    const auto clipped = [](std::uint32_t j, std::uint32_t from) { return j > from ? j - from : 0; };
    // Actions before round j: the lead, j input gradients, the weight gradients and the forwards of earlier rounds.
    const auto round = [&](std::uint32_t j) { return a + j + clipped(j, d) + (j < forwards ? j : forwards); };
    const std::uint32_t k = order_.index_of(x.kind() == action_kind::forward, x.chunk(), x.micro_batch());
    if (x.kind() == action_kind::forward) return k < a ? k : round(k - a) + 1 + (k - a >= d ? 1u : 0u);
    if (x.kind() == action_kind::input_grad) return round(k);
    return k + d < n ? round(k + d) + 1 : 2 * n + k;
  }
  /// Whether the steps from one on repeat, some micro-batches later: see read_list.hpp. O(1).
  [[nodiscard]] constexpr repeating_steps repeats_at(std::uint32_t rank, std::uint32_t step) const noexcept {
    const std::uint32_t n = count(), a = lead(rank), d = lag(rank), forwards = n - a;
    const std::uint32_t low = d < forwards ? d : forwards, high = d < forwards ? forwards : d;
    const std::uint32_t steady = a + 2 * low, end = steady + (d < forwards ? 3 : 1) * (high - low);
    if (step < a) return {chunks() == 1 ? 1u : 0u, a - step, 1};
    if (step < steady) return {chunks() == 1 ? 2u : 0u, steady - step, 1};
    if (step >= end) return {0, size(rank) - step, 0};
    if (d >= forwards) return {chunks() == 1 ? 1u : 0u, end - step, 1};
    const std::uint32_t j = low + (step - steady) / 3, rounds = high - j;
    if ((step - steady) % 3 != 0) return {0, 3 - (step - steady) % 3, 0};
    if (chunks() == 1) return {3, 3 * rounds, 1};
    const auto x = order_.repeats_from(a + j, j), y = order_.repeats_from(a + j, j - d);
    std::uint32_t same = x.pairs < y.pairs ? x.pairs : y.pairs;
    if (same == 0 || same > rounds) same = rounds;
    return {x.period == y.period ? 3 * x.period : 0, 3 * same, x.later};
  }
  /// Writes steps from `first` on, as many as fit and are left; returns how many.
  constexpr std::size_t fill(std::uint32_t rank, std::span<action> out, std::uint32_t first) const noexcept;
  /// The list of one rank. Precondition: rank < ranks().
  [[nodiscard]] constexpr rank_view<zero_bubble> rank(std::uint32_t rank) const noexcept;

 private:
  [[nodiscard]] static constexpr result<zero_bubble> make(const shape& s, std::uint32_t reach) noexcept {
    const auto order = interleaved::make(s, groups::balanced(), {.kappa = reach});
    if (!order) return order.error();
    zero_bubble plan;
    plan.order_ = *order;
    return plan;
  }
  [[nodiscard]] static constexpr result<zero_bubble> single(const shape& s, std::uint32_t reach) noexcept {
    if (s.chunks != 1)
      return error{errc::bad_shape, s.ranks, s.chunks, s.micro_batches}.with("it has one chunk per rank");
    return make(s, reach);
  }
  [[nodiscard]] constexpr std::uint32_t count() const noexcept { return chunks() * micro_batches(); }
  [[nodiscard]] constexpr action made(action_kind kind, std::uint32_t k) const noexcept {
    const chunk_batch x = kind == action_kind::forward ? order_.forward_at(k) : order_.backward_at(k);
    return {kind, x.chunk, x.micro_batch};
  }
  interleaved order_;  // its kappa says how far a rank runs ahead: 1, or 2 for ZB-H2
};

// The five regions of at(), each of up to three lanes in turn, from stretch to stretch of the order.
constexpr std::size_t zero_bubble::fill(std::uint32_t rank, std::span<action> out, std::uint32_t first) const noexcept {
  constexpr action_kind f = action_kind::forward, i = action_kind::input_grad, w = action_kind::weight_grad;
  struct region {
    std::uint32_t steps, width;
    action_kind kinds[3];
    std::uint32_t index[3];  // of each lane, in its order
  };
  const std::uint32_t n = count(), a = lead(rank), d = lag(rank), forwards = n - a;
  const std::uint32_t low = d < forwards ? d : forwards, high = d < forwards ? forwards : d;
  region regions[] = {
      {a, 1, {f, f, f}, {0, 0, 0}},
      {2 * low, 2, {i, f, f}, {0, a, 0}},
      {high - low, 1, {i, i, i}, {low, 0, 0}},
      {2 * (n - high), 2, {i, w, w}, {high, high - d, 0}},
      {d, 1, {w, w, w}, {n - d, 0, 0}},
  };
  if (d < forwards) regions[2] = {3 * (high - low), 3, {i, w, f}, {low, 0, a + low}};
  const std::size_t left = size(rank) - first, total = out.size() < left ? out.size() : left;
  std::size_t done = 0;
  std::uint32_t skip = first;
  for (const region& x : regions) {
    if (skip >= x.steps) {
      skip -= x.steps;
      continue;
    }
    order_walk walks[3];
    detail::strand strands[detail::most_strands];
    std::uint32_t runs[3] = {};
    const std::uint32_t turn = skip / x.width;
    std::uint32_t at = skip - turn * x.width;
    for (std::uint32_t l = 0; l < x.width; ++l)
      walks[l] = order_.walk_from(x.kinds[l] == f, x.index[l] + turn + (l < at ? 1 : 0));
    std::size_t rest = x.steps - skip < total - done ? x.steps - skip : total - done;
    skip = 0;
    const auto load = [&](std::uint32_t l) {
      if (runs[l] != 0) return;
      const order_run r = order_.next_run(x.kinds[l] == f, walks[l]);
      strands[l] = {action(x.kinds[l], r.chunk, r.micro_batch).bits(), static_cast<std::uint32_t>(r.stride)};
      runs[l] = r.length;
    };
    while (rest > 0) {
      std::size_t count = 1;
      if (at == 0 && rest >= x.width) {  // whole rounds, until a lane comes to the end of its stretch
        std::size_t rounds = rest / x.width;
        for (std::uint32_t l = 0; l < x.width; ++l) load(l), rounds = runs[l] < rounds ? runs[l] : rounds;
        for (std::uint32_t l = 0; l < x.width; ++l) runs[l] -= static_cast<std::uint32_t>(rounds);
        count = rounds * x.width;
      } else {
        load(at), --runs[at];
      }
      at = detail::weave(out.data() + done, count, strands, x.width, at);
      done += count, rest -= count;
    }
    if (done == total) break;
  }
  return total;
}

constexpr rank_view<zero_bubble> zero_bubble::rank(std::uint32_t rank) const noexcept { return {*this, rank}; }

}  // namespace hocket::inline HOCKET_ABI::pipeline
