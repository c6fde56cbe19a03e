// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/time.hpp>
#include <hocket/cost/links.hpp>
#include <hocket/cost/machine.hpp>
#include <hocket/cost/model/communication.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>

namespace hocket::inline HOCKET_ABI::cost {

/// A product of tokens with a matrix on one rank: [rows, inner] x [inner, columns], `count` times with matrices of
/// their own (experts).
struct product_shape {
  double rows = 0, inner = 0, columns = 0, count = 1;
  // Bytes of an element: of tokens, of what the product reads, of the gradient of a weight.
  double token_bytes = 2, read_bytes = 2, gradient_bytes = 4;
  [[nodiscard]] constexpr bool is_known() const noexcept { return columns > 0; }
};

/// One piece of work of a step on one rank, as the formulas give it: what a hardware policy puts a time on.
struct work_item {
  layer_operation by = layer_operation::none;
  quantity<units::flops> flops{};  ///< of matrix products and attention
  quantity<units::bytes> bytes{};  ///< read and written by element-wise work, or sent, if `kind` is a collective
  collective kind = collective::none;
  axis over = axis::tensor;
  std::int64_t ranks = 1;  ///< in the collective's group
  std::int64_t calls = 1;
  bool to_host = false;                            ///< over the link to the host's memory
  std::int64_t stride = 1;                         ///< of the group's ranks among all devices
  double copies = 1;                               ///< of a token in an exchange of experts
  product_shape product{};                         ///< of a matrix product
  cost::precision format = cost::precision::bf16;  ///< in which it multiplies
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

namespace detail {
/// Seconds of C[rows, columns] += A[rows, inner] B[inner, columns], `count` times: the larger of arithmetic and memory.
/// Arithmetic comes in blocks of the result, as many at the same time as there are cores. A block at the edge costs as
/// much as a full one. Fewer blocks than cores take as long as one block for each core.
/// @param bytes  of what is read and written
[[nodiscard]] inline double seconds_of_product(const machine& on, double rate, double rows, double inner,
                                               double columns, double count, double bytes) noexcept {
  double arithmetic = 2 * rows * inner * columns * count / rate;
  if (on.cores > 0) {
    const double blocks = count * std::ceil(rows / on.block_rows) * std::ceil(columns / on.block_columns);
    const double each = 2 * on.block_rows * on.block_columns * inner / (rate / on.cores) + on.block_seconds;
    arithmetic = (std::max)(blocks / on.cores, 1.0) * each;
  }
  const double memory = on.memory_bytes > 0 ? bytes / on.memory_bytes : 0;
  return (std::max)(arithmetic, memory);
}
/// Seconds of writing tokens in a narrower format, by rows and by columns: one product reads each. They are read twice,
/// for their scale and to be written.
[[nodiscard]] inline double seconds_of_casts(const machine& on, const work_item& w, double elements) noexcept {
  if (w.format == precision::bf16 || !(on.memory_bytes > 0)) return 0;
  return elements * 2 * (w.product.token_bytes + w.product.read_bytes) / on.memory_bytes;
}
/// A product of the forward pass: it reads tokens and weights and writes tokens.
[[nodiscard]] inline double forward_seconds(const machine& on, const work_item& w) noexcept {
  const product_shape& x = w.product;
  const double tokens_in = x.rows * x.inner * x.count, tokens_out = x.rows * x.columns * x.count,
               weights = x.inner * x.columns * x.count;
  const double bytes = x.read_bytes * (tokens_in + weights) + x.token_bytes * tokens_out;
  return seconds_of_product(on, product_flops(on, w.format), x.rows, x.inner, x.columns, x.count, bytes) +
         seconds_of_casts(on, w, tokens_in);
}
/// Its two products of the backward pass: the gradient of the tokens, and that of the weights, which is added up.
[[nodiscard]] inline double backward_seconds(const machine& on, const work_item& w) noexcept {
  const product_shape& x = w.product;
  const double tokens_in = x.rows * x.inner * x.count, tokens_out = x.rows * x.columns * x.count,
               weights = x.inner * x.columns * x.count;
  const double rate = product_flops(on, w.format);
  const double of_tokens = x.read_bytes * (tokens_out + weights) + x.token_bytes * tokens_in,
               of_weights = x.read_bytes * (tokens_in + tokens_out) + 2 * x.gradient_bytes * weights;
  return seconds_of_product(on, rate, x.rows, x.columns, x.inner, x.count, of_tokens) +
         seconds_of_product(on, rate, x.inner, x.rows, x.columns, x.count, of_weights) +
         seconds_of_casts(on, w, tokens_out);
}
/// A transfer: over the links that its ranks span, or at the rate of its group. `bytes` is what a rank sends in all
/// calls, the whole tensor less the rank's own part.
[[nodiscard]] inline seconds transfer_seconds(const machine& on, const work_item& w) noexcept {
  const double bytes = w.bytes.value;
  if (on.has_links() && bytes > 0 && w.ranks > 1) {
    const auto ranks = static_cast<double>(w.ranks), calls = static_cast<double>(w.calls);
    const double others = w.kind == collective::send ? 1 : (ranks - 1) / ranks,
                 ways = w.kind == collective::all_reduce ? 2 : 1;
    const collective_call one{w.kind, bytes / calls / others / ways, w.copies};
    return calls * seconds_over_links(on, one, {w.ranks, w.stride});
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
}  // namespace detail

/// Seconds of a piece of work. A product takes the time of its arithmetic in blocks, and at least that of its bytes;
/// other work is its amount over its rate. Infinite if a rate that is needed is 0. O(levels of links).
[[nodiscard]] inline seconds time_of(const machine& on, const work_item& w) noexcept {
  const double bytes = w.bytes.value;
  if (w.to_host) return seconds(bytes / on.host_bytes);
  if (w.kind != collective::none) return detail::transfer_seconds(on, w);
  if (w.flops.value > 0) {
    if (inside_attention(w.by)) return seconds(w.flops.value / on.attention_flops);
    if (w.product.is_known()) return seconds(detail::forward_seconds(on, w));
    return seconds(w.flops.value / on.gemm_flops);
  }
  return seconds(bytes > 0 ? bytes / on.memory_bytes : 0);
}
/// The same of the backward pass. A product has two there, element-wise work moves twice as much.
[[nodiscard]] inline seconds backward_time_of(const machine& on, const work_item& w) noexcept {
  if (w.flops.value > 0 && !inside_attention(w.by) && w.product.is_known())
    return seconds(detail::backward_seconds(on, w));
  return 2.0 * time_of(on, w);
}
template <hardware H>
  requires(!std::same_as<H, machine>)
[[nodiscard]] constexpr seconds time_of(const H& on, const work_item& w) noexcept {
  return on.time(w);
}
template <hardware H>
  requires(!std::same_as<H, machine>)
[[nodiscard]] constexpr seconds backward_time_of(const H& on, const work_item& w) noexcept {
  return 2.0 * on.time(w);
}
/// The part of the transfers over an axis that hides behind compute; 0 if the policy does not say. O(1).
template <hardware H>
[[nodiscard]] constexpr double overlap_of(const H& on, axis over) noexcept {
  if constexpr (std::same_as<H, machine>) {
    switch (over) {
      case axis::tensor: return on.tensor_overlap;
      case axis::context: return on.context_overlap;
      case axis::expert: return on.expert_overlap;
      case axis::pipeline: return on.pipeline_overlap;
      case axis::data: return on.data_overlap;
    }
    return 0;
  } else if constexpr (requires { on.overlap(over); }) return on.overlap(over);
  else return 0;
}
/// What the host adds to a step; nothing if the policy does not say. O(1).
template <class H>  // a caller's static_assert is the first message for a class that is no policy
[[nodiscard]] constexpr machine host_of(const H& on) noexcept {
  if constexpr (std::same_as<H, machine>) return on;
  else if constexpr (requires { on.host(); }) return on.host();
  else return {};
}

/// The ideal roofline: the slower of arithmetic at the peak and memory at its bandwidth; transfers at the link's rate.
/// A lower bound for any device with these rates.
struct roofline {
  machine peak;
  [[nodiscard]] seconds time(const work_item& w) const noexcept {
    if (w.kind != collective::none || w.to_host) return time_of(peak, w);
    const double arithmetic = w.flops.value / (inside_attention(w.by) ? peak.attention_flops : peak.gemm_flops);
    const double memory = w.bytes.value / peak.memory_bytes;
    return seconds(arithmetic < memory ? memory : arithmetic);
  }
  [[nodiscard]] constexpr machine host() const noexcept { return peak; }
};

}  // namespace hocket::inline HOCKET_ABI::cost
