// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/cost/model/recompute_plan.hpp>
#include <hocket/cost/model/step_time.hpp>
#include <hocket/cost/report.hpp>

#include <algorithm>

namespace hocket::inline HOCKET_ABI::cost {

namespace detail {
/// A formula made while the program runs: a price put on a term of a list.
class made_formula {
 public:
  made_formula(formula_view e) {  // NOLINT(google-explicit-constructor): every formula is one
    const formula_node* root = e.root();
    nodes_.assign(root - (root->size - 1), root + 1);
  }
  [[nodiscard]] formula_view view() const& noexcept { return formula_view(&nodes_.back()); }
  formula_view view() const&& = delete;

  friend made_formula operator*(const made_formula& a, const made_formula& b) { return {a, arithmetic::multiply, b}; }
  friend made_formula operator/(const made_formula& a, const made_formula& b) { return {a, arithmetic::divide, b}; }

 private:
  made_formula(const made_formula& a, arithmetic how, const made_formula& b) : nodes_(a.nodes_) {
    nodes_.insert(nodes_.end(), b.nodes_.begin(), b.nodes_.end());
    const std::size_t size = nodes_.size() + 1;
    HOCKET_ASSERT(size < 65536);
    nodes_.push_back({.what = formula_kind::binary, .join = how, .size = static_cast<std::uint16_t>(size)});
  }
  std::vector<formula_node> nodes_;
};

inline void add_seconds(report& out, std::string_view group, std::string name, formula_view e,
                        const numbers_view& numbers, double value, std::string_view source, origin how) {
  report_line line = written(e, numbers);
  line.group = group;
  line.name = std::move(name);
  line.is_real = true;
  line.real_value = value;
  line.split = "1";
  line.unit = "second";
  line.source = source;
  line.how = how;
  out.lines.push_back(std::move(line));
}
inline void add_seconds(report& out, std::string_view group, std::string name, formula_view e,
                        const numbers_view& numbers, std::string_view source, origin how = origin::derived) {
  add_seconds(out, group, std::move(name), e, numbers, real(e, numbers), source, how);
}

/// The letter of the rate that prices an item.
inline formula_view rate_of(const work_item& w) noexcept {
  if (w.to_host) return letters::D_h;
  if (w.kind == collective::none) {
    if (w.flops.value > 0) return inside_attention(w.by) ? letters::P_a : letters::P_g;
    return letters::M;
  }
  switch (w.over) {
    case axis::tensor:
    case axis::context: return letters::D_t;
    case axis::expert: return letters::D_e;
    case axis::pipeline: return letters::D_p;
    case axis::data: break;
  }
  return letters::D_d;
}
inline constexpr std::string_view schedule_source = "arXiv:2104.04473 section 2.2",
                                  flow_shop = "flow shop of two machines";

/// @param ways  by how many ranks the amounts are divided beside `split`; 1 is not printed
inline void add_work(const term_list_view& list, report& out, std::string_view group, const setting& all,
                     const machine& on, formula_view ways) {
  const auto numbers = numbers_of(all, on);
  for_each_term(list, numbers, [&](const term_view& t) {
    work_item item;
    item.by = t.by;
    (t.unit == powers_of<units::flops> ? item.flops.value : item.bytes.value) =
        t.amount().real() / t.ranks().real() / real(ways, numbers);
    if (item.flops.value + item.bytes.value == 0) return;
    const made_formula of_rank = made_formula(t.formula) / t.split / ways;
    const formula_view rate = rate_of(item);
    const made_formula price = of_rank / rate;
    const double once = time_of(on, item).count(), again = t.again().real();
    add_seconds(out, group, std::string(t.name), price.view(), numbers, once, t.source, t.how);
    if (again == 0) return;
    const made_formula repeated = made_formula(t.also) * of_rank / rate;
    add_seconds(out, group, std::string(t.name) + ", again", repeated.view(), numbers, again * once, t.source, t.how);
  });
}
inline void add_traffic(report& out, std::string_view group, const setting& all, const machine& on) {
  const auto numbers = numbers_of(all, on);
  for_each_term(optimizer_byte_terms, numbers, [&](const term_view& t) {
    work_item item;
    item.to_host = all.parallel.offload_optimizer;
    item.bytes.value = t.amount().real() / t.ranks().real();
    const made_formula price = made_formula(t.formula) / t.split / rate_of(item);
    add_seconds(out, group, std::string(t.name), price.view(), numbers, time_of(on, item).count(), t.source, t.how);
  });
}
inline void add_wire(const term_list_view& list, report& out, std::string_view group, const setting& all,
                     const machine& on, layer_numbers* sums = nullptr) {
  const auto numbers = numbers_of(all, on);
  for_each_term(list, numbers, [&](const term_view& t) {
    const work_item item = item_of(t);
    if (item.bytes.value == 0) return;
    const double took = time_of(on, item).count();
    const made_formula price = made_formula(t.formula) / rate_of(item);
    add_seconds(out, group, std::string(t.name), price.view(), numbers, took, t.source, t.how);
    if (sums != nullptr) (item.over == axis::expert ? sums->expert_seconds : sums->wire_seconds) += took;
  });
}

/// The formulas that are priced for one kind of layer: products, element-wise work, what is sent and offloaded.
/// @param x  takes up the seconds of what is sent and offloaded
inline result<void> add_layer_terms(report& out, const std::string& name, const setting& all, layer_kind kind,
                                    const machine& on, layer_numbers& x) {
  const bool head = kind == layer_kind::head;
  static constexpr auto one = literal(1);
  if (kind != layer_kind::prediction) {  // a module's terms are counted together with the head's
    const formula_view ways = all.parallel.cp > 1 ? formula_view(letters::cp) : formula_view(one);
    add_work(forward_flop_terms, out, name, all, on, ways);
    add_work(head ? term_list_view(moved_loss_terms) : moved_byte_terms, out, name, all, on, one);
    if (!head && all.model.window_layers > 0) {
      setting windowed = all;
      windowed.on_rank.window_layers = 1;
      add_work(forward_flop_terms, out, name + " (with a window, FLOPs alone)", windowed, on, ways);
    }
  }
  if (head) return {};
  add_wire(layer_transfer_terms, out, name, all, on, &x);
  if (!all.parallel.offload_activations) return {};
  const auto kept =
      layer_activation_bytes(all.model, all.training, all.parallel, all.on_rank.moe_layers > 0, all.replayed);
  if (!kept) return kept.error();
  x.kept_bytes = kept->real();
  x.offload_seconds = 2 * x.kept_bytes / on.host_bytes;
  add_seconds(out, name, "to the host and back, A bytes kept", 2 * letters::A / letters::D_h, environment(x, on),
              x.offload_seconds, "saved tensors of the layer", origin::derived);
  return {};
}

/// The lines of one group of layers, and, in `sums`, what they add up to on their rank.
inline result<void> add_group(report& out, report& sums, const model& m, const training& t, const parallel& p,
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
  const auto took = time_of_layer(m, t, p, on, group.kind, group.how);
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
  if (const auto ok = add_layer_terms(out, name, all, group.kind, on, x); !ok) return ok;
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
  out.lines.back().unit = unit_name<unit_of<decltype(tokens_per_second_and_device)>>();
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
[[nodiscard]] inline result<step_prediction> add_step_lines(report& out, const model& m, const training& t,
                                                            const parallel& p, const machine& on,
                                                            const replay_set& replayed = {},
                                                            std::vector<stage_layers> stages = {}) {
  if (stages.empty()) stages = even_stages(m, p, replayed);
  auto step = predict_step(m, t, p, on, stages);
  if (!step) return step.error();
  report lines, sums;
  const stage_layers& busiest = stages[step->busiest];
  for (const layer_group& group : busiest) {
    if (group.kind == layer_kind::embedding) continue;
    const auto ok = detail::add_group(lines, sums, m, t, p, on, busiest, group);
    if (!ok) return ok.error();
  }
  for (report_line& line : sums.lines) lines.lines.push_back(std::move(line));
  setting all{.model = m, .training = t, .parallel = p};
  if (p.pp > 1) {
    detail::layer_numbers hop;
    const std::string_view between = "seconds between stages, per micro-batch";
    const std::size_t from = lines.lines.size();
    detail::add_wire(pipeline_transfer_terms, lines, between, all, on);
    for (std::size_t at = from; at < lines.lines.size(); ++at) hop.hop_seconds += lines.lines[at].real_value;
    detail::add_seconds(lines, between, "exposed, every chunk", letters::vp * letters::T_s, environment(hop, p), "sum");
  }
  all.parameters = step->update_parameters;
  detail::add_traffic(lines, "seconds of the optimizer", all, on);
  all.parameters = step->exchange_parameters;
  detail::add_wire(data_transfer_terms, lines, "seconds over data-parallel ranks, per step", all, on);
  detail::add_parts(lines, step->numbers, p, t);
  for (report_line& line : lines.lines) out.lines.push_back(std::move(line));
  return step;
}

}  // namespace hocket::inline HOCKET_ABI::cost
