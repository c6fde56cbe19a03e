// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `hocket plan` of a model whose layers differ: stages as the list's layers price them.
#include <hocket/cost/model/list_time.hpp>

#include <algorithm>

#include "command.hpp"
#include "plan_step.hpp"

namespace hocket_cli {

namespace cost = hocket::cost;

namespace {

/// The layers of every stage, each as if it were a pipeline rank.
std::vector<cost::rank_layers> stages_of(const plan_input& in, const cost::layer_list& list) {
  cost::parallel flat = in.parallel;
  flat.pp = in.parallel.pp * in.parallel.vp;
  flat.vp = 1;
  return value_or_fail(cost::layers_of_ranks(list, flat, in.split), in.file);
}

/// By the rates of the machine. Collectives that show are as many in the backward pass as in the forward pass.
step_plan::stage timed(const plan_input& in, const cost::layer_list& list, const cost::rank_layers& stage) {
  const cost::machine& rates = in.training.on->rates;
  cost::layer_time sum;
  for (const cost::repeated_layer& each : stage.layers)
    sum += static_cast<double>(each.count) *
           value_or_fail(cost::time_of_layer(list, each.blocks, in.training.step, in.parallel, rates,
                                             {in.parallel.recompute, {}}),
                         in.file);
  if (stage.ends.last) sum += value_or_fail(cost::time_of_head(list, in.training.step, in.parallel, rates), in.file);
  return {stage.layer_count, (sum.forward + sum.exposed / 2).count() * 1e6,
          (sum.backward + sum.again + sum.exposed / 2).count() * 1e6};
}

/// By FLOPs of one micro-batch on one rank.
step_plan::stage counted(const plan_input& in, const cost::layer_list& list, const cost::rank_layers& stage) {
  cost::training one = in.training.step;
  one.global_batch = one.micro_batch;
  const auto ends = cost::detail::setting_of_ends(list, stage.ends, one, in.parallel, in.training.counted);
  cost::rational flops = value_or_fail(cost::rank_total(cost::forward_flop_terms, cost::numbers_of(ends)), in.file);
  for (const cost::repeated_layer& each : stage.layers) {
    const cost::block_setting all{.on_rank = {.layers = each.count},
                                  .sizes = list.sizes,
                                  .training = one,
                                  .parallel = in.parallel,
                                  .counted = in.training.counted};
    const auto sum = [&](auto which) {
      return value_or_fail(cost::detail::sum_over(each.blocks, all, which, true), in.file);
    };
    // What is counted for both passes together: the forward pass is a third of it.
    flops = flops + sum(&cost::block_terms::forward) + sum(&cost::block_terms::whole_step) / cost::rational(3);
  }
  const double forward = flops.real() / (in.peak_tflops * 1e12 * in.efficiency) * 1e6;
  const double again = in.parallel.recompute == cost::recompute::full ? 1 : 0;
  return {stage.layer_count, forward, (2 + again) * forward};
}

}  // namespace

std::vector<step_plan::stage> times_of_list(const plan_input& in) {
  const cost::layer_list list = padded(*in.layers, in.training, in.file);
  std::vector<step_plan::stage> stages;
  for (const cost::rank_layers& stage : stages_of(in, list)) {
    if (in.forward_us) stages.push_back({stage.layer_count, *in.forward_us, *in.backward_us});
    else stages.push_back(timed_by_the_machine(in) ? timed(in, list, stage) : counted(in, list, stage));
  }
  return stages;
}

cost::report report_of_list(const plan_input& in, report_context& context, const hocket::pipeline::simulation& run) {
  list_stages on{.sizes = in.split, .passes = {}};
  for (const auto& rank : run.ranks)
    on.passes.push_back(cost::rational(std::int64_t{rank.peak_in_flight}) / cost::rational(in.parallel.vp));
  return make_report(*in.layers, context, in.file, on);
}

std::int64_t bytes_of_list(const plan_input& in, const hocket::pipeline::any_schedule& plan) {
  const cost::layer_list list = padded(*in.layers, in.training, in.file);
  const std::vector<cost::rank_layers> stages = stages_of(in, list);
  std::vector<cost::rank_layers> ranks(plan.ranks());
  for (cost::rank_layers& x : ranks) x.ends.first = x.ends.last = false;
  const auto place = plan.placement();
  for (std::uint32_t d = 0; d < plan.directions(); ++d)
    for (std::uint32_t s = 0; s < stages.size(); ++s) {
      cost::rank_layers& to = ranks[place.rank_of(s, d)];
      to.layers.insert(to.layers.end(), stages[s].layers.begin(), stages[s].layers.end());
      to.layer_count += stages[s].layer_count;
      to.ends.first = to.ends.first || stages[s].ends.first;
      to.ends.last = to.ends.last || stages[s].ends.last;
    }
  const std::int64_t on_rank = std::int64_t{plan.chunks()} * plan.directions();
  std::int64_t most = 0;
  for (std::uint32_t r = 0; r < plan.ranks(); ++r) {
    ranks[r].ends.rank = r;
    const auto passes = cost::rational(std::int64_t{plan.peak_in_flight(r)}) / cost::rational(on_rank);
    const auto memory =
        value_or_fail(cost::memory_of_rank(list, ranks[r], in.training.step, in.parallel, passes), in.file);
    most = std::max(most, static_cast<std::int64_t>((memory.static_bytes + memory.activation_bytes).ceiling().num()));
  }
  return most;
}

}  // namespace hocket_cli
