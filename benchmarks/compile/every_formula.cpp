// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What every formula of cost, evaluated, costs the compiler (tools/check_compile_cost.py): lists of terms,
// times, reports and predictions.
#include <hocket/cost.hpp>

namespace cost = hocket::cost;

double every_list(const cost::setting& all) {
  const auto numbers = cost::numbers_of(all);
  double sum = 0;
  const auto add = [&](const hocket::result<cost::rational>& x) { sum += x ? x->real() : 0; };
  add(cost::rank_total(cost::end_parameter_terms, numbers));
  add(cost::rank_total(cost::end_flop_terms, numbers));
  add(cost::rank_total(cost::moved_loss_terms, numbers));
  add(cost::rank_total(cost::static_memory_terms, numbers));
  add(cost::rank_total(cost::optimizer_byte_terms, numbers));
  add(cost::rank_total(cost::layer_input_terms, numbers));
  add(cost::rank_total(cost::end_tensor_terms, numbers));
  add(cost::rank_total(cost::workspace_terms, numbers));
  add(cost::rank_total(cost::transient_terms, numbers));
  add(cost::rank_total(cost::head_transient_terms, numbers));
  add(cost::total(cost::pipeline_transfer_terms, numbers));
  add(cost::total(cost::data_transfer_terms, numbers));
  add(cost::exact(cost::chunks_in_flight, numbers));
  add(cost::exact(cost::bubble_over_work, numbers));
  add(cost::exact(cost::bubble_over_total, numbers));
  return sum;
}

double every_second(const cost::step_numbers& x, const cost::detail::layer_numbers& layer, const cost::parallel& p,
                    const cost::training& t, const cost::measured_run& measured) {
  const cost::environment step(x, p, t);
  const cost::environment one(layer, p, t);
  return real(cost::scores_formed_again, one) + real(cost::exposed_of_layer, one) +
         real(cost::forward_backward_seconds, step) + real(cost::exposed_seconds_of_step, step) +
         real(cost::hidden_seconds_of_step, step) + real(cost::bubble_seconds, step) +
         real(cost::scheduling_seconds, step) + real(cost::tokens_per_second_and_device, step) +
         real(cost::utilization_formula, cost::environment(measured));
}

hocket::result<cost::report> every_report(const cost::layer_list& m, const cost::training& t, const cost::parallel& p) {
  auto report = cost::make_report(m, t, p, {});
  if (!report) return report;
  const auto step = cost::predict_step(m, t, p, cost::machines::a100_peak.rates);
  const auto ranks = cost::layers_of_ranks(m, p);
  if (!ranks) return ranks.error();
  const auto memory = cost::memory_of_rank(m, ranks->front(), t, p, {});
  if (step && memory) report->tokens_per_step = memory->peak.total_bytes();
  return report;
}
