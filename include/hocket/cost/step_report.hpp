// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/cost/model/recompute_plan.hpp>
#include <hocket/cost/model/step_time.hpp>
#include <hocket/cost/report.hpp>

#include <algorithm>

namespace hocket::inline HOCKET_ABI::cost {

namespace detail {
// Joins trees, so that a price is put on a term that is already there without a formula type of its own.
inline std::uint32_t append(formula_tree& to, const formula_tree& more) {
  const auto by = static_cast<std::uint32_t>(to.entries.size() - 1);
  for (std::size_t at = 1; at < more.entries.size(); ++at) {
    formula_tree::entry e = more.entries[at];
    if (e.left != 0) e.left += by;
    if (e.right != 0) e.right += by;
    if (e.taken != 0) e.taken += by;
    for (std::uint32_t& each : e.cases) each += by;
    to.push(std::move(e));
  }
  return to.root();
}
inline formula_tree over(formula_tree amount, const formula_tree& by) {
  const std::uint32_t left = amount.root(), right = append(amount, by);
  push_binary(amount, arithmetic::divide, left, right);
  return amount;
}
inline formula_tree over_rate(formula_tree amount, std::string_view letter, double rate) {
  const std::uint32_t left = amount.root(), right = push_symbol(amount, letter, rate);
  push_binary(amount, arithmetic::divide, left, right);
  return amount;
}

inline void add_seconds(report& out, std::string_view group, std::string name, const formula_tree& tree, double value,
                        std::string_view source, origin how) {
  report_line line;
  line.group = group;
  line.name = std::move(name);
  line.formula = write(tree, style::text, true);
  line.numbers = write(tree, style::numbers, true);
  line.latex = write(tree, style::latex, true);
  line.latex_numbers = write(tree, style::latex_numbers, true);
  line.where = write_definitions(tree, style::text);
  line.is_real = true;
  line.real_value = value;
  line.split = "1";
  line.unit = "second";
  line.source = source;
  line.how = how;
  out.lines.push_back(std::move(line));
}
template <formula E, class... Configs>
void add_seconds(report& out, std::string_view group, std::string name, const E& e,
                 const environment<Configs...>& numbers, std::string_view source, origin how = origin::derived) {
  add_seconds(out, group, std::move(name), tree_of(e, numbers), real(e, numbers), source, how);
  out.lines.back().unit = unit_name<unit_of<E>>();
}

struct rate {
  std::string_view letter;  ///< literal
  double per_second;
};
inline rate rate_of(const machine& on, const work_item& w) noexcept {
  if (w.to_host) return {"D_h", on.host_bytes};
  if (w.kind == collective::none)
    return w.flops.value > 0 ? inside_attention(w.by) ? rate{"P_a", on.attention_flops} : rate{"P_g", on.gemm_flops}
                             : rate{"M", on.memory_bytes};
  switch (w.over) {
    case axis::tensor:
    case axis::context: return {"D_t", on.tensor_bytes};
    case axis::expert: return {"D_e", on.expert_bytes};
    case axis::pipeline: return {"D_p", on.pipeline_bytes};
    case axis::data: break;
  }
  return {"D_d", on.data_bytes};
}
inline constexpr std::string_view schedule_source = "arXiv:2104.04473 section 2.2",
                                  flow_shop = "flow shop of two machines";

template <class Numbers, const auto& List>
void add_work(report& out, std::string_view group, const setting& all, const machine& on,
              const formula_tree* split_more, double ways) {
  const Numbers numbers = numbers_of(all);
  for_each_term<List>(numbers, [&](const counted_term& t) {
    work_item item;
    item.by = t.by;
    (t.is_flops ? item.flops.value : item.bytes.value) = t.amount().value().real() / t.ranks().value().real() / ways;
    if (item.flops.value + item.bytes.value == 0) return;
    const rate r = rate_of(on, item);
    formula_tree tree = over(tree_of(t.amount()), tree_of(t.ranks()));
    if (split_more != nullptr) tree = over(std::move(tree), *split_more);
    const double once = time_of(on, item).count(), again = t.again().value().real();
    add_seconds(out, group, std::string(t.name), over_rate(tree, r.letter, r.per_second), once, t.source, t.how);
    if (again > 0) {
      formula_tree more = tree_of(t.again());
      const std::uint32_t left = more.root(), right = append(more, tree);
      push_binary(more, arithmetic::multiply, left, right);
      add_seconds(out, group, std::string(t.name) + ", again", over_rate(more, r.letter, r.per_second), again * once,
                  t.source, t.how);
    }
  });
}
template <class Numbers>
void add_traffic(report& out, std::string_view group, const setting& all, const machine& on) {
  const Numbers numbers = numbers_of(all);
  for_each_term<optimizer_byte_terms>(numbers, [&](const counted_term& t) {
    work_item item;
    item.to_host = all.parallel.offload_optimizer;
    item.bytes.value = t.amount().value().real() / t.ranks().value().real();
    const rate r = rate_of(on, item);
    add_seconds(out, group, std::string(t.name),
                over_rate(over(tree_of(t.amount()), tree_of(t.ranks())), r.letter, r.per_second),
                time_of(on, item).count(), t.source, t.how);
  });
}
template <class Numbers, const auto& List>
void add_wire(report& out, std::string_view group, const setting& all, const machine& on,
              layer_numbers* sums = nullptr) {
  const Numbers numbers = numbers_of(all);
  for_each_term<List>(numbers, [&](const counted_term& t) {
    const work_item item = item_of(t);
    if (item.bytes.value == 0) return;
    const rate r = rate_of(on, item);
    const double took = time_of(on, item).count();
    add_seconds(out, group, std::string(t.name), over_rate(tree_of(t.amount()), r.letter, r.per_second), took, t.source,
                t.how);
    if (sums != nullptr) (item.over == axis::expert ? sums->expert_seconds : sums->wire_seconds) += took;
  });
}

/// The formulas that are priced for one kind of layer: products, element-wise work, what is sent and offloaded.
/// @param x  takes up the seconds of what is sent and offloaded
template <class Numbers>
result<void> add_layer_terms(report& out, const std::string& name, const setting& all, layer_kind kind,
                             const machine& on, layer_numbers& x) {
  const bool head = kind == layer_kind::head;
  if (kind != layer_kind::prediction) {  // a module's terms are counted together with the head's
    const formula_tree context_ways = tree_of(letters::cp, environment(all.parallel));
    const formula_tree* ways = all.parallel.cp > 1 ? &context_ways : nullptr;
    const auto parts = static_cast<double>(all.parallel.cp);
    add_work<Numbers, forward_flop_terms>(out, name, all, on, ways, parts);
    if (head) add_work<Numbers, moved_loss_terms>(out, name, all, on, nullptr, 1);
    else add_work<Numbers, moved_byte_terms>(out, name, all, on, nullptr, 1);
    if (!head && all.model.window_layers > 0) {
      setting windowed = all;
      windowed.on_rank.window_layers = 1;
      add_work<Numbers, forward_flop_terms>(out, name + " (with a window, FLOPs alone)", windowed, on, ways, parts);
    }
  }
  if (head) return {};
  add_wire<Numbers, layer_transfer_terms>(out, name, all, on, &x);
  if (!all.parallel.offload_activations) return {};
  const auto kept =
      layer_activation_bytes<Numbers>(all.model, all.training, all.parallel, all.on_rank.moe_layers > 0, all.replayed);
  if (!kept) return kept.error();
  x.offload_seconds = 2 * kept->real() / on.host_bytes;
  formula_tree moved;
  const std::uint32_t two = push_literal(moved, 2);
  const std::uint32_t kept_bytes = push_symbol(moved, "A", kept->real());
  push_binary(moved, arithmetic::multiply, two, kept_bytes);
  add_seconds(out, name, "to the host and back, A bytes kept", over_rate(std::move(moved), "D_h", on.host_bytes),
              x.offload_seconds, "saved tensors of the layer", origin::derived);
  return {};
}

/// The lines of one group of layers, and, in `sums`, what they add up to on their rank.
template <class Numbers>
result<void> add_group(report& out, report& sums, const model& m, const training& t, const parallel& p,
                       const machine& on, const stage_layers& on_rank, const layer_group& group) {
  using letters::n_l, letters::T_b, letters::T_f, letters::T_g, letters::T_x;
  static constexpr std::string_view of_kind[] = {
      "", "seconds of a layer, per micro-batch", "seconds of a layer with experts, per micro-batch",
      "seconds of a prediction module, per micro-batch", "seconds of head and loss, per micro-batch"};
  const auto same_kind = [&](const layer_group& g) { return g.kind == group.kind; };
  const bool several = std::count_if(on_rank.begin(), on_rank.end(), same_kind) > 1;
  const std::string choice = several ? ", recompute " + to_string(group.how) : "";
  const std::string name = std::string(of_kind[static_cast<std::size_t>(group.kind)]) + choice;
  const bool head = group.kind == layer_kind::head;
  const auto took = time_of_layer<Numbers>(m, t, p, on, group.kind, group.how);
  if (!took) return took.error();
  layer_numbers x{.compute_seconds = took->compute().count(),
                  .expert_overlap = on.expert_overlap,
                  .host_overlap = on.host_overlap,
                  .forward_seconds = took->forward.count(),
                  .attention_seconds = took->attention.count(),
                  .backward_seconds = took->backward.count(),
                  .again_seconds = took->again.count(),
                  .exposed_seconds = took->exposed.count(),
                  .layer_count = group.count};
  const setting all = setting_of_layer(m, t, p, group.kind, group.how);
  if (const auto ok = add_layer_terms<Numbers>(out, name, all, group.kind, on, x); !ok) return ok;
  const environment numbers(x, p, t);
  add_seconds(out, name, "backward, T_b", backward_of_layer, numbers, "arXiv:2205.14135");
  if (!head) add_seconds(out, name, "exposed communication, T_x", exposed_of_layer, numbers, flow_shop);
  const std::string kind = std::string(to_string(group.kind)) + choice;
  const std::string_view busiest = "seconds of a micro-batch on the busiest rank";
  add_seconds(sums, busiest, kind + ", compute", n_l * (T_f + T_b + T_g), numbers, "sum");
  if (!head) add_seconds(sums, busiest, kind + ", exposed communication", n_l * T_x, numbers, "sum");
  return {};
}

inline void add_parts(report& out, const step_numbers& x, const parallel& p, const training& t) {
  using letters::T_l, letters::T_p, letters::T_u;
  const std::string_view whole = "seconds of a step";
  const environment numbers(x, p, t);
  add_seconds(out, whole, "data loading", 1 * T_l, numbers, "the machine");
  add_seconds(out, whole, "forward and backward", forward_backward_seconds, numbers, schedule_source);
  add_seconds(out, whole, "optimizer", 1 * T_u, numbers, "sum of the optimizer's terms");
  add_seconds(out, whole, "post-processing", 1 * T_p, numbers, "the machine");
  add_seconds(out, whole, "exposed communication", exposed_seconds_of_step, numbers, schedule_source);
  add_seconds(out, whole, "hidden communication, costs nothing", hidden_seconds_of_step, numbers, schedule_source);
  add_seconds(out, whole, "scheduling", scheduling_seconds, numbers, "kernels launched one by one");
  add_seconds(out, whole, "bubble", bubble_seconds, numbers, schedule_source);
  add_seconds(out, "throughput of a device", "tokens per second", tokens_per_second_and_device, numbers, "definition",
              origin::definition);
}
}  // namespace detail

/// Adds to a report where a predicted step's seconds come from: the terms of every kind of layer on the busiest
/// pipeline rank, each as amount / ranks / rate, and the parts of the step made of them.
/// @param stages  as in predict_step; empty: layers are dealt out evenly (even_stages) and all compute `replayed`
/// again. With sliding windows, the FLOPs of a layer with one are listed beside those of a layer without; the sums are
/// those of the mixture.
/// @return the prediction itself
/// Errors: those of predict_step; the report is then unchanged.
///
///     auto report = make_report(m, t, p, {});
///     const auto step = add_step_lines(*report, m, t, p, machines::b200_fitted.rates);
template <class Numbers = numbers_of_setting>
[[nodiscard]] result<step_prediction> add_step_lines(report& out, const model& m, const training& t, const parallel& p,
                                                     const machine& on, const replay_set& replayed = {},
                                                     std::vector<stage_layers> stages = {}) {
  if (stages.empty()) stages = even_stages(m, p, replayed);
  auto step = predict_step<Numbers>(m, t, p, on, stages);
  if (!step) return step.error();
  report lines, sums;
  const stage_layers& busiest = stages[step->busiest];
  for (const layer_group& group : busiest) {
    if (group.kind == layer_kind::embedding) continue;
    const auto ok = detail::add_group<Numbers>(lines, sums, m, t, p, on, busiest, group);
    if (!ok) return ok.error();
  }
  for (report_line& line : sums.lines) lines.lines.push_back(std::move(line));
  setting all{
      .on_rank = {}, .in_flight = {}, .parameters = {}, .model = m, .training = t, .parallel = p, .counted = {}};
  if (p.pp > 1) {
    detail::layer_numbers hop;
    const std::string_view between = "seconds between stages, per micro-batch";
    const std::size_t from = lines.lines.size();
    detail::add_wire<Numbers, pipeline_transfer_terms>(lines, between, all, on);
    for (std::size_t at = from; at < lines.lines.size(); ++at) hop.hop_seconds += lines.lines[at].real_value;
    detail::add_seconds(lines, between, "exposed, every chunk", letters::vp * letters::T_s, environment(hop, p), "sum");
  }
  all.parameters = step->update_parameters;
  detail::add_traffic<Numbers>(lines, "seconds of the optimizer", all, on);
  all.parameters = step->exchange_parameters;
  detail::add_wire<Numbers, data_transfer_terms>(lines, "seconds over data-parallel ranks, per step", all, on);
  detail::add_parts(lines, step->numbers, p, t);
  for (report_line& line : lines.lines) out.lines.push_back(std::move(line));
  return step;
}

}  // namespace hocket::inline HOCKET_ABI::cost
