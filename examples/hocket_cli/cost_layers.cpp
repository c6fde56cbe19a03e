// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cost_layers.hpp"

#include <hocket/cost/step_report.hpp>
#include <hocket/planner/plan/simulated_step.hpp>

#include <algorithm>
#include <utility>

#include "failure.hpp"
#include "json_fields.hpp"

namespace hocket_cli {
namespace cost = hocket::cost;
namespace planner = hocket::planner;

cost::layer_list padded(const cost::layer_list& list, const training_input& t, std::string_view file) {
  cost::layer_list out = list;
  if (t.padded_vocabulary != 0) out.sizes.vocabulary = t.padded_vocabulary;
  if (out.sizes.vocabulary < list.sizes.vocabulary)
    fail(std::string(file) + ": \"padded_vocabulary\" is " + std::to_string(t.padded_vocabulary) +
         ", smaller than the model's vocabulary of " + std::to_string(list.sizes.vocabulary));
  if (t.predictions > 0) {
    add_predictions(out, t.predictions);
  }
  return out;
}

void add_predictions(cost::layer_list& list, std::int64_t modules) {
  cost::layer_blocks blocks = list.layers.back().blocks;
  for (cost::block& b : blocks)
    if (auto* const attention = std::get_if<cost::attention>(&b.what)) attention->window = 0;
  list.sizes.prediction_heads = modules;
  list.predictions = {{std::move(blocks), modules}};
}

namespace {
// A step that no machine could take is a mistake of its file.
void check_step_seconds(const cost::report& r, const report_context& context, std::string_view file) {
  const training_input& t = *context.training;
  if (t.step_seconds <= 0 || !r.flops) return;
  constexpr double most = 1e9;  // times the peak; also keeps the printed figures within 64 bits
  const double ratio = r.flops->hardware_step.real() / t.step_seconds / (t.peak_tflops * 1e12) /
                       static_cast<double>(context.parallel.devices());
  if (ratio < most && t.peak_tflops < most) return;
  fail(std::string(file) + ": \"step_seconds\" is " + shown(t.step_seconds) + " and \"peak_tflops\" is " +
       shown(t.peak_tflops) + ", which are not those of a machine");
}
// What stands on each rank and is computed again; lists by stage are told in the context.
std::vector<cost::rank_layers> ranks_of(const cost::layer_list& list, report_context& context, std::string_view file) {
  const training_input& t = *context.training;
  auto ranks = value_or_fail(cost::layers_of_ranks(list, context.parallel, {}, context.replay), file);
  if (context.lists.whole.is_null() && context.lists.select.is_null()) return ranks;
  if (t.step.muon) fail(context.lists.file + ": recompute lists by stage do not go with \"optimizer\": \"muon\"");
  const cost::recompute_plan plan = read_lists(context.lists, ranks, context.replay);
  ranks = value_or_fail(cost::with_plan(std::move(ranks), plan), context.lists.file);
  context.plan = value_or_fail(cost::plan_rows(list, t.step, context.parallel, t.counted, ranks), file);
  return ranks;
}
}  // namespace

std::string kind_of(const cost::rank_run& run) {
  if (run.place == cost::run_place::prediction) return "prediction";
  return cost::has_experts(run.blocks) ? "experts" : "dense";
}

namespace {
// What a step adds to the report of a model. The parameter count stays that of the published model: padding and
// prediction modules are memory and work.
cost::report report_of(const cost::layer_list& whole, const cost::report& published, report_context& context,
                       std::string_view file, const std::vector<cost::rank_layers>& ranks,
                       const std::vector<cost::held_share>& passes) {
  const training_input& t = *context.training;
  cost::report r = value_or_fail(cost::make_report(whole, t.step, context.parallel, t.counted, ranks, passes), file);
  check_step_seconds(r, context, file);
  if (context.step)
    value_or_fail(cost::add_step_lines(r, whole, t.step, context.parallel, t.on->rates, ranks, *context.step), file);
  std::erase_if(r.lines, [](const cost::report_line& line) { return line.group.starts_with("parameters"); });
  r.lines.insert(r.lines.begin(), published.lines.begin(), published.lines.end());
  r.parameters = published.parameters;
  return r;
}
}  // namespace

cost::report make_report(const cost::layer_list& list, report_context& context, std::string_view file) {
  const cost::report published = value_or_fail(cost::make_report(list), file);
  if (!context.training) return published;
  const training_input& t = *context.training;
  const cost::layer_list whole = padded(list, t, file);
  value_or_fail(cost::check(whole, t.step, context.parallel), file);
  const std::vector<cost::rank_layers> ranks = ranks_of(whole, context, file);
  if (t.on) {
    need_rates(*t.on, has_experts(whole), context.parallel, file);
    context.step = value_or_fail(planner::simulate_step(whole, t.step, context.parallel, t.on->rates, ranks), file);
  }
  return report_of(whole, published, context, file, ranks, {});
}

cost::report make_report(const cost::layer_list& list, report_context& context, std::string_view file,
                         const planner::step_plan& plan) {
  const cost::layer_list whole = padded(list, *context.training, file);
  if (context.training->on) need_rates(*context.training->on, has_experts(whole), context.parallel, file);
  context.step = plan.step;
  cost::report r =
      report_of(whole, value_or_fail(cost::make_report(list), file), context, file, plan.ranks, plan.passes);
  r.memory = plan.memory;
  return r;
}

std::vector<cost::convention> other_conventions(const cost::convention& own) {
  std::vector<cost::convention> out;
  for (const auto attention : {cost::attention_count::full, cost::attention_count::causal_half}) {
    cost::convention c = own;
    c.attention = attention;
    if (attention != own.attention) out.push_back(c);
  }
  return out;
}

std::vector<cost::flop_count> other_counts(const cost::layer_list& list, const report_context& context,
                                           std::string_view file) {
  std::vector<cost::flop_count> out;
  const training_input& t = *context.training;
  for (const cost::convention& c : other_conventions(t.counted))
    out.push_back(value_or_fail(cost::count_flops(list, t.step, context.parallel, c), file));
  return out;
}

}  // namespace hocket_cli
