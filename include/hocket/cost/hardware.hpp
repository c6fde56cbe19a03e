// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/time.hpp>
#include <hocket/cost/machine.hpp>
#include <hocket/cost/model/communication.hpp>

#include <concepts>

namespace hocket::inline HOCKET_ABI::cost {

/// One piece of work of a step on one rank, as the formulas give it: what a hardware policy puts a time on.
struct work_item {
  layer_operation by = layer_operation::none;
  quantity<units::flops> flops{};  ///< of matrix products and attention
  quantity<units::bytes> bytes{};  ///< read and written by element-wise work, or sent, if `kind` is a collective
  collective kind = collective::none;
  axis over = axis::tensor;
  std::int64_t ranks = 1;  ///< in the collective's group
  std::int64_t calls = 1;
  bool to_host = false;  ///< over the link to the host's memory
};
[[nodiscard]] constexpr bool inside_attention(layer_operation by) noexcept {
  return by == layer_operation::attention || by == layer_operation::core;
}

/// A hardware policy: `machine`, or any class with `seconds time(const work_item&) const`; ready-made ones over
/// hocket::curve are in measured_hardware.hpp. If it has `overlap(axis)`, the part of a transfer that hides behind
/// compute (0 to 1), and `host()`, a machine of which only the host's costs are read, they are used.
template <class H>
concept hardware = std::same_as<H, machine> || requires(const H& h, const work_item& w) {
  { h.time(w) } -> std::convertible_to<seconds>;
};

namespace detail {
/// Says in one sentence what a hardware policy lacks.
template <class H>
constexpr void require_hardware() noexcept {
  static_assert(hardware<H>,
                "hocket::cost: a hardware policy needs `hocket::seconds time(const hocket::cost::work_item&) const`");
}
}  // namespace detail

/// The linear policy: work over rate. Infinite if the rate is 0. O(1).
[[nodiscard]] constexpr seconds time_of(const machine& on, const work_item& w) noexcept {
  const double bytes = w.bytes.value;
  if (w.to_host) return seconds(bytes / on.host_bytes);
  if (w.kind == collective::none) {
    if (w.flops.value > 0)
      return seconds(w.flops.value / (inside_attention(w.by) ? on.attention_flops : on.gemm_flops));
    return seconds(bytes > 0 ? bytes / on.memory_bytes : 0);
  }
  switch (w.over) {
    case axis::tensor:
    case axis::context: return seconds(bytes / on.tensor_bytes);
    case axis::expert: return seconds(bytes / on.expert_bytes);
    case axis::pipeline: return seconds(bytes / on.pipeline_bytes);
    case axis::data: return seconds(bytes / on.data_bytes);
  }
  return seconds(0);
}
template <hardware H>
  requires(!std::same_as<H, machine>)
[[nodiscard]] constexpr seconds time_of(const H& on, const work_item& w) noexcept {
  return on.time(w);
}
/// The part of the transfers over an axis that hides behind compute; 0 if the policy does not say. O(1).
template <hardware H>
[[nodiscard]] constexpr double overlap_of(const H& on, axis over) noexcept {
  if constexpr (std::same_as<H, machine>)
    return over == axis::expert ? on.expert_overlap : over == axis::data ? on.data_overlap : 0;
  else if constexpr (requires { on.overlap(over); }) return on.overlap(over);
  else return 0;
}
/// What the host adds to a step; nothing if the policy does not say. O(1).
template <hardware H>
[[nodiscard]] constexpr machine host_of(const H& on) noexcept {
  if constexpr (std::same_as<H, machine>) return on;
  else if constexpr (requires { on.host(); }) return on.host();
  else return {};
}

/// The ideal roofline: the slower of arithmetic at the peak and memory at its bandwidth; transfers at the link's rate.
/// A lower bound for any device with these rates.
struct roofline {
  machine peak;
  [[nodiscard]] constexpr seconds time(const work_item& w) const noexcept {
    if (w.kind != collective::none || w.to_host) return time_of(peak, w);
    const double arithmetic = w.flops.value / (inside_attention(w.by) ? peak.attention_flops : peak.gemm_flops);
    const double memory = w.bytes.value / peak.memory_bytes;
    return seconds(arithmetic < memory ? memory : arithmetic);
  }
  [[nodiscard]] constexpr machine host() const noexcept { return peak; }
};

}  // namespace hocket::inline HOCKET_ABI::cost
