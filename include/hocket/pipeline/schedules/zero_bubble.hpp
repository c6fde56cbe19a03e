// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/pipeline/detail/interleaved_order.hpp>
#include <hocket/pipeline/detail/phases.hpp>

#include <algorithm>
#include <cstdint>

namespace hocket::inline HOCKET_ABI::pipeline {

/// Zero-bubble schedules: the backward is split into the input gradient, which the previous stage waits for, and the
/// weight gradient, which nobody waits for and which fills the time that 1F1B idles. A rank runs `lead` forwards, then
/// input gradients in turn with forwards, and each weight gradient `lag` input gradients late.
/// Source: Qi et al. 2023, arXiv:2401.10241 (ZB-H1, ZB-H2); PyTorch's ScheduleInterleavedZeroBubble; docs/pipeline.md.
///
///     constexpr auto plan = hocket::pipeline::zero_bubble::make_h1({.ranks = 4, .micro_batches = 8}).value();
///     static_assert(plan.size(0) == 24 && plan.peak_in_flight(3) == 4);
class zero_bubble : public detail::phased<zero_bubble> {
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

  [[nodiscard]] constexpr std::uint32_t size(std::uint32_t) const noexcept { return 3 * order_.count(); }

 private:
  friend class detail::phased<zero_bubble>;
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
  /// Round j of a list: the j-th input gradient, weight gradient j - d if j >= d, forward a + j if j < n - a.
  ///
  ///     a forwards | I F, until either joins or ends | I W F, or I alone | I W | d weight gradients
  [[nodiscard]] constexpr detail::phase_list phases(std::uint32_t rank) const noexcept {
    constexpr auto f = action_kind::forward, i = action_kind::input_grad, w = action_kind::weight_grad;
    const std::uint32_t n = order_.count();
    const std::uint32_t a = (std::min)(order_.warm_up(rank) + 1, n);  // forwards before the first input gradient
    const std::uint32_t d = (std::min)(order_.kappa * rank, n);       // input gradients by which a weight gradient lags
    const std::uint32_t low = (std::min)(d, n - a), high = (std::max)(d, n - a);
    detail::phase_list list;
    list.add(a, {{f, 0, 0}});
    list.add(2 * low, {{i, 0, 0}, {f, 0, a}});
    if (d < high) list.add(3 * (high - low), {{i, 0, low}, {w, 0, 0}, {f, 0, a + low}});
    else list.add(high - low, {{i, 0, low}});
    list.add(2 * (n - high), {{i, 0, high}, {w, 0, high - d}});
    list.add(d, {{w, 0, n - d}});
    return list;
  }
  [[nodiscard]] constexpr detail::action_run<action> run_from(std::uint32_t, const detail::phase_list::lane& lane,
                                                              std::uint32_t index) const noexcept {
    return order_.run_from(lane.kind, index);
  }
  [[nodiscard]] constexpr detail::phase_list::place place_of(std::uint32_t, action a) const noexcept {
    return order_.place_of(a);
  }

  detail::interleaved_order order_;  // its kappa says how far a rank runs ahead: 1, or 2 for ZB-H2
};

}  // namespace hocket::inline HOCKET_ABI::pipeline
