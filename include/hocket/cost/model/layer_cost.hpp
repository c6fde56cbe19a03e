// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/cost/blocks/letters.hpp>
#include <hocket/cost/hardware.hpp>
#include <hocket/cost/model/activations.hpp>
#include <hocket/cost/model/communication.hpp>
#include <hocket/cost/model/flops.hpp>
#include <hocket/cost/model/layer_list.hpp>
#include <hocket/cost/model/moved_bytes.hpp>
#include <hocket/cost/model/recompute_choice.hpp>
#include <hocket/cost/model/step_formulas.hpp>

#include <algorithm>

namespace hocket::inline HOCKET_ABI::cost {

/// Time of one layer and one micro-batch on one rank. Collectives hide behind compute as far as the machine says, those
/// between dependent operations also as far as copies hide them, and never more than there is compute.
struct layer_time {
  seconds forward{}, backward{}, again{};  ///< compute: forward, backward, computed again
  seconds exposed{}, hidden{};             ///< communication
  seconds attention{};                     ///< the part of `forward` that is inside attention
  [[nodiscard]] constexpr seconds compute() const noexcept { return forward + backward + again; }
  [[nodiscard]] constexpr seconds total() const noexcept { return compute() + exposed; }
  constexpr layer_time& operator+=(const layer_time& x) noexcept {
    forward += x.forward;
    backward += x.backward;
    again += x.again;
    exposed += x.exposed;
    hidden += x.hidden;
    attention += x.attention;
    return *this;
  }
  friend constexpr layer_time operator*(double n, const layer_time& x) noexcept {
    return {n * x.forward, n * x.backward, n * x.again, n * x.exposed, n * x.hidden, n * x.attention};
  }
};

namespace detail {
/// Tokens that one rank multiplies with its experts, over the tokens that it has; and experts that it holds.
inline constexpr auto tokens_to_experts =
    letters::k * letters::E / (letters::E + letters::E_z) * letters::etp / letters::tp;
inline constexpr auto experts_of_rank = letters::E / letters::ep;

/// The shape of a product on one rank, from its FLOPs, its columns and the tokens of a micro-batch there.
[[nodiscard]] constexpr product_shape shape_of(const term_view& x, const numbers_view& numbers, double flops,
                                               const training& t, const parallel& p) {
  product_shape out;
  const double columns = x.columns().real();
  if (!(columns > 0) || !(flops > 0)) return out;
  const bool cuts_inner = x.by == layer_operation::output || x.by == layer_operation::ffn_out;
  const double ways = x.by_expert ? static_cast<double>(p.etp) : x.ranks().real();
  out.columns = cuts_inner ? columns : columns / ways;
  out.rows = static_cast<double>(t.sequence) * static_cast<double>(t.micro_batch) / static_cast<double>(p.cp);
  if (x.by_expert) {
    out.count = real(experts_of_rank, numbers);
    out.rows *= real(tokens_to_experts, numbers) / out.count;
  }
  out.inner = flops / (2 * out.rows * out.columns * out.count);
  out.token_bytes = t.activation_bytes.real();
  out.gradient_bytes = t.gradient_bytes.real();
  return out;
}
/// The work of a term on one rank, its amount divided further by `split_more`.
[[nodiscard]] constexpr work_item compute_item(const term_view& x, const numbers_view& numbers, const training& t,
                                               const parallel& p, double split_more) {
  const double size = x.amount().real() / x.ranks().real() / split_more;
  work_item item;
  item.by = x.by;
  if (x.unit != powers_of<units::flops>) {
    item.bytes.value = size;
    return item;
  }
  item.flops.value = size;
  item.product = shape_of(x, numbers, size, t, p);
  const bool stays_wide =
      x.by == layer_operation::head || x.by == layer_operation::router || x.by == layer_operation::embedding;
  item.format = stays_wide ? precision::bf16 : t.precision;
  item.product.read_bytes = item.format == precision::bf16 ? item.product.token_bytes : bytes_of(item.format);
  return item;
}
/// Adds the time of a list's terms on one rank, divided further by `split_more`.
template <class Hardware>
void add_times(const term_list_view& list, const numbers_view& numbers, const Hardware& on, const training& t,
               const parallel& p, double split_more, layer_time& out) noexcept {
  for_each_term(list, numbers, [&](const term_view& x) {
    const work_item item = compute_item(x, numbers, t, p, split_more);
    const seconds once = time_of(on, item);
    out.forward += once;
    out.backward += backward_time_of(on, item);
    if (x.by == layer_operation::attention) out.attention += once;
    out.again += x.again().real() * once;
  });
}
/// Kernels of a layer in one pass.
[[nodiscard]] constexpr double kernels_of(const layer_blocks& blocks, const machine& host, const parallel& p) {
  double kernels = host.launches;
  for (const block& each : blocks)
    if (const auto* x = std::get_if<mixture>(&each.what))
      kernels += host.expert_launches * static_cast<double>(x->experts) / static_cast<double>(p.ep);
  return kernels;
}
/// What the backward pass of flash attention computes again.
[[nodiscard]] inline seconds scores_again(const layer_time& took, const training& t) noexcept {
  const layer_numbers x{.attention_seconds = took.attention.count()};
  return seconds(real(scores_formed_again, environment(x, t)));
}
/// How far apart the ranks of a group are.
[[nodiscard]] constexpr std::int64_t stride_of(axis over, std::int64_t ranks, const parallel& p) noexcept {
  switch (over) {
    case axis::tensor: return 1;
    case axis::context: return p.tp;
    case axis::expert: return p.etp;
    case axis::pipeline: return p.tp * p.cp * p.dp;
    case axis::data: break;
  }
  return (std::max)(p.tp * p.cp * p.dp / ranks, std::int64_t{1});
}
[[nodiscard]] constexpr work_item item_of(const term_view& x, const parallel& p) noexcept {
  work_item item;
  item.by = x.by;
  item.kind = x.kind;
  item.over = x.over;
  item.calls = x.calls;
  item.bytes.value = x.amount().real();
  item.ranks = static_cast<std::int64_t>(x.ranks().real());
  item.stride = stride_of(item.over, item.ranks, p);
  if (item.kind == collective::all_to_all && item.over == axis::expert) item.copies = x.again().real();
  return item;
}
/// The compute of the head, the loss and the joint inputs of prediction modules.
template <class Hardware>
layer_time time_of_ends(const setting& at, const Hardware& on) noexcept {
  const auto numbers = numbers_of(at);
  layer_time out;
  add_times(end_flop_terms, numbers, on, at.training, at.parallel, static_cast<double>(at.parallel.cp), out);
  add_times(moved_loss_terms, numbers, on, at.training, at.parallel, 1, out);
  return out;
}

/// Adds the seconds of transfers.
template <class Hardware>
void add_transfers(const term_list_view& list, const numbers_view& numbers, const Hardware& on, const parallel& p,
                   layer_numbers& x) noexcept {
  for_each_term(list, numbers, [&](const term_view& term) {
    const work_item item = item_of(term, p);
    if (item.bytes.value == 0) return;
    const double took = time_of(on, item).count();
    if (item.over == axis::expert) x.expert_seconds += took;
    else if (item.over == axis::context) x.context_seconds += took;
    else x.wire_seconds += took;
  });
}
/// What a layer waits for, once all that it sends and what goes to the host and comes back is known.
template <class Hardware>
void settle_communication(const result<rational>& kept, const parallel& p, const Hardware& on, layer_numbers& x,
                          layer_time& took) noexcept {
  x.compute_seconds = took.compute().count();
  x.tensor_overlap = overlap_of(on, axis::tensor);
  x.context_overlap = overlap_of(on, axis::context);
  x.expert_overlap = overlap_of(on, axis::expert);
  x.host_overlap = host_of(on).host_overlap;
  if (p.offload_activations) {
    work_item item;
    item.to_host = true;
    item.bytes.value = 2 * kept->real();
    x.offload_seconds = time_of(on, item).count();
  }
  took.exposed = seconds(real(exposed_of_layer, environment(x, p)));
  took.hidden = seconds(x.wire_seconds + x.context_seconds + x.expert_seconds + x.offload_seconds) - took.exposed;
}
}  // namespace detail

}  // namespace hocket::inline HOCKET_ABI::cost
