// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/cost/machine.hpp>
#include <hocket/cost/model/communication.hpp>

#include <concepts>

namespace hocket::inline HOCKET_ABI::cost {

/// One piece of work of a step on one rank, as the formulas give it: what a hardware policy puts a time on.
struct work_item {
  layer_operation by = layer_operation::none;
  double flops = 0;  ///< of matrix products and attention
  double bytes = 0;  ///< read and written by element-wise work, or sent, if `kind` is a collective
  collective kind = collective::none;
  axis over = axis::tensor;
  std::int64_t ranks = 1;  ///< in the collective's group
  std::int64_t calls = 1;
  bool to_host = false;  ///< over the link to the host's memory
};
[[nodiscard]] constexpr bool inside_attention(layer_operation by) noexcept {
  return by == layer_operation::attention || by == layer_operation::core;
}

/// A hardware policy: `machine`, or any class with `double seconds(const work_item&) const`; ready-made ones over
/// hocket::curve are in policy.hpp. If it has `overlap(axis)`, the part of a transfer that hides behind compute (0 to
/// 1), and `host()`, a machine of which only the host's costs are read, they are used.
template <class H>
concept hardware = std::same_as<H, machine> || requires(const H& h, const work_item& w) {
  { h.seconds(w) } -> std::convertible_to<double>;
};

/// The linear policy: work over rate. Infinite if the rate is 0. O(1).
[[nodiscard]] constexpr double seconds_of(const machine& on, const work_item& w) noexcept {
  if (w.to_host) return w.bytes / on.host_bytes;
  if (w.kind == collective::none) {
    if (w.flops > 0) return w.flops / (inside_attention(w.by) ? on.attention_flops : on.gemm_flops);
    return w.bytes > 0 ? w.bytes / on.memory_bytes : 0;
  }
  switch (w.over) {
    case axis::tensor:
    case axis::context: return w.bytes / on.tensor_bytes;
    case axis::expert: return w.bytes / on.expert_bytes;
    case axis::pipeline: return w.bytes / on.pipeline_bytes;
    case axis::data: return w.bytes / on.data_bytes;
  }
  return 0;
}
template <hardware H>
  requires(!std::same_as<H, machine>)
[[nodiscard]] constexpr double seconds_of(const H& on, const work_item& w) noexcept {
  return on.seconds(w);
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

}  // namespace hocket::inline HOCKET_ABI::cost
