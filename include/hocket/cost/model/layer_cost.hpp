// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/cost/hardware.hpp>
#include <hocket/cost/model/activations.hpp>
#include <hocket/cost/model/communication.hpp>
#include <hocket/cost/model/flops.hpp>
#include <hocket/cost/model/moved_bytes.hpp>
#include <hocket/cost/model/recompute_choice.hpp>
#include <hocket/cost/model/step_formulas.hpp>

#include <array>
#include <vector>

namespace hocket::inline HOCKET_ABI::cost {

/// What one layer stands for in a sequence of unequal layers.
enum class layer_kind : std::uint8_t { embedding, dense, experts, prediction, head };
[[nodiscard]] constexpr std::string_view to_string(layer_kind kind) noexcept {
  constexpr std::string_view names[] = {"embedding", "dense", "experts", "prediction", "head"};
  return names[static_cast<std::size_t>(kind)];
}
namespace detail {
[[nodiscard]] constexpr bool is_layer(layer_kind kind) noexcept {
  return kind != layer_kind::embedding && kind != layer_kind::head;
}
[[nodiscard]] constexpr bool has_experts(const model& m, layer_kind kind) noexcept {
  return kind == layer_kind::experts || (kind == layer_kind::prediction && m.moe_layers > 0);
}
}  // namespace detail

/// So many layers of one kind, one after the other.
struct layer_run {
  layer_kind kind = layer_kind::dense;
  std::int64_t count = 0;
  friend constexpr bool operator==(const layer_run&, const layer_run&) = default;
};
/// The model as a sequence: embedding, layers without experts, layers with, multi-token-prediction modules, head.
///
///     layer_runs(deepseek_v3)   // embedding 1, dense 3, experts 58, head 1
[[nodiscard]] inline std::vector<layer_run> layer_runs(const model& m) {
  std::vector<layer_run> runs{{layer_kind::embedding, 1}};
  if (m.layers > m.moe_layers) runs.push_back({layer_kind::dense, m.layers - m.moe_layers});
  if (m.moe_layers > 0) runs.push_back({layer_kind::experts, m.moe_layers});
  if (m.mtp_layers > 0) runs.push_back({layer_kind::prediction, m.mtp_layers});
  runs.push_back({layer_kind::head, 1});
  return runs;
}

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
// One layer of a kind by itself, as the formulas see it: a model of one layer and a step of one micro-batch.
constexpr setting setting_of_layer(const model& m, const training& t, const parallel& p, layer_kind kind,
                                   const recompute_choice& how) noexcept {
  const bool head = kind == layer_kind::head, predicts = kind == layer_kind::prediction;
  const bool experts = has_experts(m, kind);
  setting all{
      .on_rank = {.layers = head ? 0 : 1, .moe_layers = experts ? 1 : 0, .first = false, .last = head || predicts},
      .model = m,
      .training = t,
      .parallel = p,
      .counted = {.attention = attention_count::window},
      .replayed = how.operations};
  all.model.mtp_layers = predicts ? 1 : 0;
  all.training.global_batch = t.micro_batch;
  all.parallel.recompute = how.level;
  return all;
}

/// The compute of one layer, of the loss, or of both.
template <class Hardware>
constexpr layer_time compute_time(const setting& at, const Hardware& on, bool layer, bool loss) noexcept {
  const auto numbers = numbers_of(at);
  layer_time out;
  add_times(forward_flop_terms, numbers, on, static_cast<double>(at.parallel.cp), out);
  if (layer) add_times(moved_byte_terms, numbers, on, 1, out);
  if (loss) add_times(moved_loss_terms, numbers, on, 1, out);
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
/// Adds to the compute of a layer what it sends, and what goes to the host and comes back.
template <class Hardware>
constexpr result<void> add_communication(const setting& at, const Hardware& on, layer_time& took) noexcept {
  layer_numbers x;
  const double hidden = add_transfers(layer_transfer_terms, numbers_of(at), on, x);
  result<rational> kept = rational(0);
  if (at.parallel.offload_activations)
    kept = layer_activation_bytes(at.model, at.training, at.parallel, at.on_rank.moe_layers > 0, at.replayed);
  if (!kept) return kept.error();
  settle_communication(kept, hidden, at.parallel, on, x, took);
  return {};
}
}  // namespace detail

/// Time of one layer and one micro-batch under a recompute choice. A `prediction` module counts as one layer with its
/// joint input; `embedding` takes no time worth counting; `head` is head, final norm and loss.
/// Errors: errc::undefined_value if a rate that is needed is 0.
template <class Hardware = machine>
[[nodiscard]] constexpr result<layer_time> time_of_layer(const model& m, const training& t, const parallel& p,
                                                         const Hardware& on, layer_kind kind,
                                                         const recompute_choice& how = {}) noexcept {
  detail::require_hardware<Hardware>();
  if (kind == layer_kind::embedding) return layer_time{};
  const bool head = kind == layer_kind::head, predicts = kind == layer_kind::prediction;
  const setting all = detail::setting_of_layer(m, t, p, kind, how);
  layer_time took = detail::compute_time(all, on, !head, head || predicts);
  if (predicts) {  // the terms of the last part count the model's own head as well
    setting head_alone = all;
    head_alone.on_rank.layers = head_alone.on_rank.moe_layers = 0;
    head_alone.model.mtp_layers = 0;
    took += -1 * detail::compute_time(head_alone, on, false, true);
  }
  if (!head && !predicts && m.window_layers > 0) {  // windowed layers are taken to be spread evenly
    setting windowed = all;
    windowed.on_rank.window_layers = 1;
    const double part_windowed = static_cast<double>(m.window_layers) / static_cast<double>(m.layers);
    layer_time mixed = part_windowed * detail::compute_time(windowed, on, true, false);
    mixed += (1 - part_windowed) * took;
    took = mixed;
  }
  if (!head)
    if (const auto ok = detail::add_communication(all, on, took); !ok) return ok.error();
  const double sum = took.total().count();
  if (!(sum - sum == 0)) return error{errc::undefined_value}.with("seconds of a layer: a rate is 0");
  return took;
}

}  // namespace hocket::inline HOCKET_ABI::cost
