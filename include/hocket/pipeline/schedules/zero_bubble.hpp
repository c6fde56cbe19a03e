// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/pipeline/detail/interleaved_order.hpp>
#include <hocket/pipeline/detail/regions.hpp>
#include <hocket/pipeline/facts.hpp>
#include <hocket/pipeline/rank_view.hpp>

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
  [[nodiscard]] static constexpr result<zero_bubble> make_h1(const shape& s) noexcept { return make_single(s, 1); }
  /// ZB-H2: one chunk per rank, 2p - 1 activations; no rank idles between its first and its last action, so steps of
  /// training can follow each other without a bubble where the optimizer does not wait for all ranks.
  [[nodiscard]] static constexpr result<zero_bubble> make_h2(const shape& s) noexcept { return make_single(s, 2); }
  /// Interleaved: any number of chunks, and any number of micro-batches, in balanced groups.
  [[nodiscard]] static constexpr result<zero_bubble> make_interleaved(const shape& s) noexcept { return make(s, 1); }

  [[nodiscard]] constexpr std::uint32_t ranks() const noexcept { return order_.ranks; }
  [[nodiscard]] constexpr std::uint32_t chunks() const noexcept { return order_.chunks; }
  [[nodiscard]] constexpr std::uint32_t micro_batches() const noexcept { return order_.micro_batches; }
  [[nodiscard]] constexpr loop_placement placement() const noexcept { return {order_.ranks}; }

  /// Activations that the rank holds at most; one is let go with its weight gradient.
  [[nodiscard]] constexpr std::uint32_t peak_in_flight(std::uint32_t rank) const noexcept {
    const std::uint32_t held = lead(rank) + lag(rank);
    return held < count() ? held : count();
  }
  /// Steps of warm-up, steady state and drain.
  [[nodiscard]] constexpr step_counts counts(std::uint32_t rank) const noexcept {
    const std::uint32_t n = count(), a = lead(rank);
    if (a == n) return {n, 0, 2 * n};
    const std::uint32_t end = step_of(rank, order_.run_from(action_kind::forward, n - 1).first) + 1;
    return {a, end - a, 3 * n - end};
  }

  [[nodiscard]] constexpr std::uint32_t size(std::uint32_t) const noexcept { return 3 * count(); }
  /// Preconditions: rank < ranks(), step < size(rank). O(1).
  [[nodiscard]] constexpr action at(std::uint32_t rank, std::uint32_t step) const noexcept {
    const auto place = regions(rank).at(step);
    return order_.run_from(place.kind, place.index).first;
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
  /// Writes steps from `first` on, as many as fit and are left; returns how many.
  constexpr std::size_t fill(std::uint32_t rank, std::span<action> out, std::uint32_t first) const noexcept {
    return regions(rank).fill(out, first,
                              [this](action_kind kind, std::uint32_t index) { return order_.run_from(kind, index); });
  }
  /// The list of one rank. Precondition: rank < ranks().
  [[nodiscard]] constexpr rank_view<zero_bubble> rank(std::uint32_t rank) const noexcept { return {*this, rank}; }

 private:
  friend constexpr const detail::interleaved_order& order_of(const zero_bubble& plan) noexcept { return plan.order_; }

  [[nodiscard]] static constexpr result<zero_bubble> make(const shape& s, std::uint32_t reach) noexcept {
    const auto order = detail::interleaved_order::make(s, groups::balanced(), reach, 0);
    if (!order) return order.error();
    zero_bubble plan;
    plan.order_ = *order;
    return plan;
  }
  [[nodiscard]] static constexpr result<zero_bubble> make_single(const shape& s, std::uint32_t reach) noexcept {
    if (s.chunks != 1)
      return error{errc::bad_shape, s.ranks, s.chunks, s.micro_batches}.with("it has one chunk per rank");
    return make(s, reach);
  }
  [[nodiscard]] constexpr std::uint32_t count() const noexcept { return order_.count(); }
  /// Forwards before the first input gradient.
  [[nodiscard]] constexpr std::uint32_t lead(std::uint32_t rank) const noexcept {
    const std::uint32_t a = order_.warm_up(rank) + 1;
    return a < count() ? a : count();
  }
  /// Input gradients that a weight gradient waits for after its own.
  [[nodiscard]] constexpr std::uint32_t lag(std::uint32_t rank) const noexcept {
    const std::uint32_t d = order_.kappa * rank;
    return d < count() ? d : count();
  }
  /// Round j of a list: the j-th input gradient, weight gradient j - d if j >= d, forward a + j if j < n - a.
  ///
  ///     a forwards | I F, until either joins or ends | I W F, or I alone | I W | d weight gradients
  [[nodiscard]] constexpr detail::region_list regions(std::uint32_t rank) const noexcept {
    HOCKET_ASSERT(rank < ranks());
    constexpr auto f = action_kind::forward, i = action_kind::input_grad, w = action_kind::weight_grad;
    const std::uint32_t n = count(), a = lead(rank), d = lag(rank), forwards = n - a;
    const std::uint32_t low = d < forwards ? d : forwards, high = d < forwards ? forwards : d;
    detail::region_list list;
    list.add({a, 1, {f}, {0}});
    list.add({2 * low, 2, {i, f}, {0, a}});
    if (d < forwards) list.add({3 * (high - low), 3, {i, w, f}, {low, 0, a + low}});
    else list.add({high - low, 1, {i}, {low}});
    list.add({2 * (n - high), 2, {i, w}, {high, high - d}});
    list.add({d, 1, {w}, {n - d}});
    return list;
  }

  detail::interleaved_order order_;  // its kappa says how far a rank runs ahead: 1, or 2 for ZB-H2
};

}  // namespace hocket::inline HOCKET_ABI::pipeline
