// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/cost/hardware.hpp>
#include <hocket/cost/model/activations.hpp>
#include <hocket/cost/model/communication.hpp>
#include <hocket/cost/model/flops.hpp>
#include <hocket/cost/model/moved_bytes.hpp>
#include <hocket/cost/model/recompute_choice.hpp>
#include <hocket/cost/model/step_formulas.hpp>

namespace hocket::inline HOCKET_ABI::cost {

/// Time of one layer and one micro-batch on one rank. `tensor` collectives lie between dependent operations and are
/// visible, but for what copies hide; `context` and `expert` exchanges overlap as far as the machine says.
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
/// Adds the time of a list's terms on one rank, divided further by `split_more`.
template <class Hardware>
constexpr void add_times(const term_list_view& list, const numbers_view& numbers, const Hardware& on, double split_more,
                         layer_time& out) noexcept {
  for_each_term(list, numbers, [&](const term_view& t) {
    const double size = t.amount().real() / t.ranks().real() / split_more;
    work_item item;
    item.by = t.by;
    (t.unit == powers_of<units::flops> ? item.flops.value : item.bytes.value) = size;
    const seconds once = time_of(on, item);
    out.forward += once;
    if (t.by == layer_operation::attention) out.attention += once;
    out.again += t.again().real() * once;
  });
}
[[nodiscard]] constexpr work_item item_of(const term_view& x) noexcept {
  work_item item;
  item.by = x.by;
  item.kind = x.kind;
  item.over = x.over;
  item.calls = x.calls;
  item.bytes.value = x.amount().real();
  item.ranks = static_cast<std::int64_t>(x.ranks().real());
  return item;
}
/// The compute of the head, the loss and the joint inputs of prediction modules.
template <class Hardware>
constexpr layer_time time_of_ends(const setting& at, const Hardware& on) noexcept {
  const auto numbers = numbers_of(at);
  layer_time out;
  add_times(end_flop_terms, numbers, on, static_cast<double>(at.parallel.cp), out);
  add_times(moved_loss_terms, numbers, on, 1, out);
  const layer_numbers x{.forward_seconds = out.forward.count(), .attention_seconds = out.attention.count()};
  out.backward = seconds(real(backward_of_layer, environment(x, at.training)));
  return out;
}

/// Adds the seconds of transfers; returns those that hide behind compute.
template <class Hardware>
constexpr double add_transfers(const term_list_view& list, const numbers_view& numbers, const Hardware& on,
                               layer_numbers& x) noexcept {
  double hidden = 0;
  for_each_term(list, numbers, [&](const term_view& term) {
    const work_item item = item_of(term);
    if (item.bytes.value == 0) return;
    const double by_wire = time_of(on, item).count();
    const double behind = overlap_of(on, item.over) * by_wire;
    if (item.over == axis::expert) {
      x.expert_seconds += by_wire;
    } else {
      x.wire_seconds += by_wire - behind;
      hidden += behind;
    }
  });
  return hidden;
}
/// What a layer waits for, once all that it sends and what goes to the host and comes back is known.
template <class Hardware>
constexpr void settle_communication(const result<rational>& kept, double hidden, const parallel& p, const Hardware& on,
                                    layer_numbers& x, layer_time& took) noexcept {
  x.compute_seconds = took.compute().count();
  x.expert_overlap = overlap_of(on, axis::expert);
  x.host_overlap = host_of(on).host_overlap;
  if (p.offload_activations) {
    work_item item;
    item.to_host = true;
    item.bytes.value = 2 * kept->real();
    x.offload_seconds = time_of(on, item).count();
  }
  took.exposed = seconds(real(exposed_of_layer, environment(x, p)));
  took.hidden = seconds(hidden + x.wire_seconds + x.expert_seconds + x.offload_seconds) - took.exposed;
}
}  // namespace detail

}  // namespace hocket::inline HOCKET_ABI::cost
