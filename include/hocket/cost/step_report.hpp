// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/cost/model/list_time.hpp>
#include <hocket/cost/model/recompute_plan.hpp>
#include <hocket/cost/report.hpp>

#include <algorithm>
#include <cmath>

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

/// The rate that prices an item: its letter and its member.
struct priced_by {
  formula_view letter;
  double machine::* member;
};
inline priced_by rate_of(const work_item& w) noexcept {
  if (w.to_host) return {letters::D_h, &machine::host_bytes};
  if (w.kind == collective::none) {
    if (!(w.flops.value > 0)) return {letters::M, &machine::memory_bytes};
    if (inside_attention(w.by)) return {letters::P_a, &machine::attention_flops};
    return {letters::P_g, &machine::gemm_flops};
  }
  switch (w.over) {
    case axis::tensor:
    case axis::context: return {letters::D_t, &machine::tensor_bytes};
    case axis::expert: return {letters::D_e, &machine::expert_bytes};
    case axis::pipeline: return {letters::D_p, &machine::pipeline_bytes};
    case axis::data: break;
  }
  return {letters::D_d, &machine::data_bytes};
}
/// The machine with the rate that an item reaches: that of its shape, its format, its links.
inline machine reached(const machine& on, const work_item& w, double took) noexcept {
  machine out = on;
  const double amount = w.flops.value + w.bytes.value, rate = amount / took;
  double& known = out.*rate_of(w).member;
  if (std::abs(rate - known) > 1e-9 * known) known = rate;
  return out;
}
inline constexpr std::string_view schedule_source = "arXiv:2104.04473 section 2.2",
                                  flow_shop = "flow shop of two machines";

/// Work of one kind of layer, each term as amount / ranks / the rate that it reaches.
/// @param ways  by how many ranks the amounts are divided beside `split`; 1 is not printed
/// @param with  calls f(const numbers_view&) with the numbers of a machine
template <class With>
void add_work(const term_list_view& list, report& out, std::string_view group, const training& t, const parallel& p,
              const machine& on, formula_view ways, const With& with) {
  with(on, [&](const numbers_view& numbers) {
    for_each_term(list, numbers, [&](const term_view& x) {
      const work_item item = compute_item(x, numbers, t, p, real(ways, numbers));
      if (item.flops.value + item.bytes.value == 0) return;
      const made_formula price = made_formula(x.formula) / x.split / ways / rate_of(item).letter;
      const double once = time_of(on, item).count(), again = x.again().real();
      with(reached(on, item, once), [&](const numbers_view& at) {
        add_seconds(out, group, std::string(x.name), price.view(), at, once, x.source, x.how);
        if (again == 0) return;
        const made_formula repeated = made_formula(x.also) * price;
        add_seconds(out, group, std::string(x.name) + ", again", repeated.view(), at, again * once, x.source, x.how);
      });
    });
  });
}
inline void add_traffic(report& out, std::string_view group, const setting& all, const machine& on) {
  const auto numbers = numbers_of(all, on);
  for_each_term(optimizer_byte_terms, numbers, [&](const term_view& t) {
    work_item item;
    item.to_host = all.parallel.offload_optimizer;
    item.bytes.value = t.amount().real() / t.ranks().real();
    const made_formula price = made_formula(t.formula) / t.split / rate_of(item).letter;
    add_seconds(out, group, std::string(t.name), price.view(), numbers, time_of(on, item).count(), t.source, t.how);
  });
}
/// What is sent, each term as amount / the rate that it reaches.
template <class With>
void add_wire(const term_list_view& list, report& out, std::string_view group, const parallel& p, const machine& on,
              const With& with) {
  with(on, [&](const numbers_view& numbers) {
    for_each_term(list, numbers, [&](const term_view& x) {
      const work_item item = item_of(x, p);
      if (item.bytes.value == 0) return;
      const double took = time_of(on, item).count();
      const made_formula price = made_formula(x.formula) / rate_of(item).letter;
      with(reached(on, item, took), [&](const numbers_view& at) {
        add_seconds(out, group, std::string(x.name), price.view(), at, took, x.source, x.how);
      });
    });
  });
}

/// The formulas that are priced for one layer: products, element-wise work, what is sent and offloaded.
/// @param x  takes up the seconds of what is sent and offloaded
inline result<void> add_layer_terms(report& out, const std::string& name, const layer_list& list, const rank_run& run,
                                    const block_setting& all, const machine& on, layer_numbers& x) {
  static constexpr auto one = literal(1), thrice = literal(3);
  static constexpr auto thrice_cp = 3 * letters::cp;
  const bool cut = all.parallel.cp > 1;
  const formula_view ways = cut ? formula_view(letters::cp) : formula_view(one);
  const formula_view of_step = cut ? formula_view(thrice_cp) : formula_view(thrice);
  const training& t = all.training;
  const parallel& p = all.parallel;
  for (const block& b : run.blocks) {
    const auto with = [&](const machine& some, const auto& f) {
      visit_block(b, all, [&](const block_terms&, const numbers_view& numbers) { f(numbers); }, some);
    };
    visit_block(b, all, [&](const block_terms& lists, const numbers_view& numbers) {
      add_work(lists.forward, out, name, t, p, on, ways, with);
      add_work(lists.whole_step, out, name, t, p, on, of_step, with);  // of both passes: the forward pass is a third
      add_work(lists.moved, out, name, t, p, on, one, with);
      for (const auto* sent : {&lists.tensor_transfers, &lists.context_transfers, &lists.expert_transfers}) {
        add_wire(*sent, out, name, p, on, with);
        add_transfers(*sent, numbers, on, p, x);
      }
    });
  }
  if (!all.parallel.offload_activations) return {};
  const auto kept = kept_by(list, run, all.training, all.parallel);
  if (!kept) return kept.error();
  x.kept_bytes = kept->real();
  x.offload_seconds = 2 * x.kept_bytes / on.host_bytes;
  add_seconds(out, name, "to the host and back, A bytes kept", 2 * letters::A / letters::D_h, environment(x, on),
              x.offload_seconds, "saved tensors of the layer", origin::derived);
  return {};
}

/// What layers of a rank take, and what that is on the rank.
struct priced_lines {
  std::string group, kind;
  layer_time took;
  std::int64_t count = 0;
};
inline layer_numbers numbers_of_lines(const priced_lines& of, const machine& on) {
  return {.compute_seconds = of.took.compute().count(),
          .tensor_overlap = on.tensor_overlap,
          .context_overlap = on.context_overlap,
          .expert_overlap = on.expert_overlap,
          .host_overlap = on.host_overlap,
          .forward_seconds = of.took.forward.count(),
          .attention_seconds = of.took.attention.count(),
          .backward_seconds = of.took.backward.count(),
          .again_seconds = of.took.again.count(),
          .exposed_seconds = of.took.exposed.count(),
          .layer_count = of.count};
}
inline constexpr std::string_view busiest_group = "seconds of a micro-batch on the busiest rank";
inline void add_compute_sum(report& sums, const priced_lines& of, const numbers_view& numbers) {
  using letters::n_l, letters::T_b, letters::T_f, letters::T_g;
  add_seconds(sums, busiest_group, of.kind + ", compute", n_l * (T_f + T_b + T_g), numbers, "sum");
}

/// The backward pass: two products for each of the forward pass, by their own shapes, and the scores once more.
inline void add_backward(report& out, const priced_lines& of, const numbers_view& numbers) {
  if (real(scores_formed_again, numbers) > 0)
    add_seconds(out, of.group, "scores formed again in the backward pass", scores_formed_again, numbers,
                "arXiv:2205.14135");
  add_seconds(out, of.group, "backward, T_b", 1 * letters::T_b, numbers, "sum over the terms' two products");
}
/// The lines of one kind of layer, and, in `sums`, what they add up to on their rank.
inline result<void> add_layer_seconds(report& out, report& sums, const layer_list& list, const rank_run& run,
                                      const training& t, const parallel& p, const machine& on, const priced_lines& of) {
  using letters::n_l, letters::T_x;
  layer_numbers x = numbers_of_lines(of, on);
  if (const auto ok = add_layer_terms(out, of.group, list, run, setting_of_layer(list, t, p, run.how), on, x); !ok)
    return ok;
  const environment numbers(x, p, t);
  add_backward(out, of, numbers);
  add_seconds(out, of.group, "exposed communication, T_x", exposed_of_layer, numbers, flow_shop);
  add_compute_sum(sums, of, numbers);
  add_seconds(sums, busiest_group, of.kind + ", exposed communication", n_l * T_x, numbers, "sum");
  return {};
}
/// The same of the head, the loss and the joint inputs of prediction modules.
inline void add_head_seconds(report& out, report& sums, const layer_list& list, const training& t, const parallel& p,
                             const machine& on, const layer_time& took) {
  static constexpr auto one = literal(1);
  const priced_lines of{"seconds of head and loss, per micro-batch", "head", took, 1};
  setting all = setting_of_ends(list, {.first = false, .last = true}, t, p, {.attention = attention_count::window});
  all.training.global_batch = t.micro_batch;
  all.parallel.recompute = recompute::none;
  const auto with = [&](const machine& some, const auto& f) { f(numbers_view(numbers_of(all, some))); };
  const formula_view ways = p.cp > 1 ? formula_view(letters::cp) : formula_view(one);
  add_work(end_flop_terms, out, of.group, all.training, p, on, ways, with);
  add_work(moved_loss_terms, out, of.group, all.training, p, on, one, with);
  const environment numbers(numbers_of_lines(of, on), p, t);
  add_backward(out, of, numbers);
  add_compute_sum(sums, of, numbers);
}
/// How the lines of a run are called.
inline priced_lines named_lines(const std::vector<repeated_layer>& kinds, const std::vector<recomputed_kind>& choices,
                                const rank_run& run) {
  const auto same = [&](const repeated_layer& x) { return x.blocks == run.blocks; };
  const auto kind = static_cast<std::size_t>(std::find_if(kinds.begin(), kinds.end(), same) - kinds.begin());
  const std::string suffix = suffix_of(kinds, choices, {kind, run.how});
  const bool predicts = run.place == run_place::prediction;
  priced_lines out;
  out.group =
      (predicts ? "seconds of a prediction module, per micro-batch" : "seconds of a layer, per micro-batch") + suffix;
  out.kind = (predicts ? "prediction" : has_experts(run.blocks) ? "experts" : "dense") + suffix;
  return out;
}
/// The runs of a rank with equal ones together.
inline std::vector<rank_run> merged_runs(const rank_layers& on) {
  std::vector<rank_run> out;
  for (const rank_run& run : on.layers) {
    const auto same = [&](const rank_run& x) {
      return x.blocks == run.blocks && x.how == run.how && x.place == run.place;
    };
    const auto known = std::find_if(out.begin(), out.end(), same);
    if (known != out.end()) known->count += run.count;
    else out.push_back(run);
  }
  return out;
}

inline void add_parts(report& out, const step_prediction& step, const parallel& p, const training& t) {
  using letters::T_l, letters::T_m, letters::T_p, letters::T_u;
  const std::string_view whole = "seconds of a step", pipeline = "seconds of the pipeline";
  const environment numbers(step.numbers, p, t);
  if (step.simulated.empty())
    add_seconds(out, pipeline, "closed form for equal stages", pipeline_of_equal_stages, numbers, schedule_source);
  else add_seconds(out, pipeline, "simulated: " + std::string(step.simulated), 1 * T_m, numbers, "hocket simulate");
  add_seconds(out, whole, "data loading", 1 * T_l, numbers, "the machine");
  add_seconds(out, whole, "forward and backward", forward_backward_seconds, numbers, schedule_source);
  add_seconds(out, whole, "optimizer", 1 * T_u, numbers, "sum of the optimizer's terms");
  add_seconds(out, whole, "post-processing", 1 * T_p, numbers, "the machine");
  add_seconds(out, whole, "exposed communication", exposed_seconds_of_step, numbers, schedule_source);
  add_seconds(out, whole, "hidden communication, costs nothing", hidden_seconds_of_step, numbers, schedule_source);
  add_seconds(out, whole, "scheduling", scheduling_seconds, numbers, "kernels launched one by one");
  if (step.simulated.empty()) add_seconds(out, whole, "bubble", bubble_of_equal_stages, numbers, schedule_source);
  else add_seconds(out, whole, "bubble", bubble_seconds, numbers, "what is left of the pipeline");
  add_seconds(out, "throughput of a device", "tokens per second", tokens_per_second_and_device, numbers, "definition",
              origin::definition);
  out.lines.back().unit = unit_name<unit_of<decltype(tokens_per_second_and_device)>>();
}
}  // namespace detail

/// Adds to a report where a predicted step's seconds come from: the terms of every kind of layer on the busiest
/// pipeline rank, each as amount / ranks / rate, and the parts of the step made of them.
/// @param ranks  as in predict_step
/// @param step   what predict_step says of them, or with_pipeline
/// Errors: those of time_of_layer; the report is then unchanged.
///
///     auto report = make_report(list, t, p, {}, ranks);
///     const auto step = predict_step(list, t, p, machines::b200_fitted.rates, ranks);
///     add_step_lines(*report, list, t, p, machines::b200_fitted.rates, ranks, *step);
[[nodiscard]] inline result<void> add_step_lines(report& out, const layer_list& list, const training& t,
                                                 const parallel& p, const machine& on,
                                                 std::span<const rank_layers> ranks, const step_prediction& step) {
  report lines, sums;
  const rank_layers& busiest = ranks[step.busiest];
  const auto kinds = detail::kinds_of(list);
  const auto choices = detail::choices_of(kinds, ranks);
  for (const rank_run& run : detail::merged_runs(busiest)) {
    auto of = detail::named_lines(kinds, choices, run);
    const auto took = time_of_layer(list, run.blocks, t, p, on, run.how);
    if (!took) return took.error();
    of.took = *took;
    of.count = run.count;
    if (const auto ok = detail::add_layer_seconds(lines, sums, list, run, t, p, on, of); !ok) return ok.error();
  }
  if (busiest.ends.last) {
    const auto head = time_of_head(list, t, p, on);
    if (!head) return head.error();
    detail::add_head_seconds(lines, sums, list, t, p, on, *head);
  }
  for (report_line& line : sums.lines) lines.lines.push_back(std::move(line));
  setting all = detail::setting_of_ends(list, {}, t, p, {});
  if (p.pp > 1) {
    setting boundary = all;
    if (!busiest.layers.empty())
      boundary.sizes.hidden = list.sizes.hidden * streams_behind(list.sizes, busiest.layers.back().blocks);
    detail::layer_numbers hop;
    const std::string_view between = "seconds between stages, per micro-batch";
    const std::size_t from = lines.lines.size();
    const auto with = [&](const machine& some, const auto& f) { f(numbers_view(numbers_of(boundary, some))); };
    detail::add_wire(pipeline_transfer_terms, lines, between, p, on, with);
    for (std::size_t at = from; at < lines.lines.size(); ++at) hop.hop_seconds += lines.lines[at].real_value;
    hop.hop_seconds *= 1 - on.pipeline_overlap;
    if (step.simulated.empty())  // else the simulation says what of it shows
      detail::add_seconds(lines, between, "exposed, every chunk", letters::vp * letters::T_s, environment(hop, p),
                          "sum");
  }
  all.parameters = step.update_parameters;
  detail::add_traffic(lines, "seconds of the optimizer", all, on);
  all.parameters = step.exchange_parameters;
  const auto with = [&](const machine& some, const auto& f) { f(numbers_view(numbers_of(all, some))); };
  detail::add_wire(data_transfer_terms, lines, "seconds over data-parallel ranks, per step", p, on, with);
  detail::add_parts(lines, step, p, t);
  for (report_line& line : lines.lines) out.lines.push_back(std::move(line));
  return {};
}

}  // namespace hocket::inline HOCKET_ABI::cost
