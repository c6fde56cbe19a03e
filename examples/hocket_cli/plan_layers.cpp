// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Stages of `hocket plan` as their layers price them.
#include <hocket/cost/model/list_time.hpp>
#include <hocket/planner/plan/stage_time.hpp>

#include <algorithm>

#include "command.hpp"
#include "plan_step.hpp"

namespace hocket_cli {

namespace cost = hocket::cost;
namespace planner = hocket::planner;

cost::layer_list list_of(const plan_input& in) { return padded(in.model.layers, in.training, in.file); }

std::vector<cost::rank_layers> stages_of(const plan_input& in, const cost::layer_list& list,
                                         std::span<const std::int64_t> sizes) {
  return value_or_fail(planner::layers_of_stages(list, in.parallel, sizes), in.file);
}

step_plan::stage counted_stage(const plan_input& in, const cost::layer_list& list, const cost::rank_layers& stage) {
  cost::training one = in.training.step;
  one.global_batch = one.micro_batch;
  const auto ends = cost::detail::setting_of_ends(list, stage.ends, one, in.parallel, in.training.counted);
  cost::rational flops = value_or_fail(cost::rank_total(cost::end_flop_terms, cost::numbers_of(ends)), in.file);
  for (const cost::rank_run& each : stage.layers) {
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

namespace {
step_plan::stage in_us(const planner::stage_time& x) {
  return {x.layers, x.forward.count() * 1e6, x.backward.count() * 1e6};
}
}  // namespace

step_plan::stage timed_stage(std::int64_t layers, const cost::layer_time& sum) {
  return in_us(planner::passes_of(layers, sum));
}

namespace {

/// What a rank holds with so many chunks in flight, of `chunks` that it has.
cost::held_share share_of(const plan_input& in, std::int64_t in_flight, std::int64_t chunks) {
  return {cost::rational(in_flight) / cost::rational(chunks), std::min(in.micro_batches(), in_flight)};
}

}  // namespace

std::vector<step_plan::stage> times_of_stages(const plan_input& in) {
  const cost::layer_list list = list_of(in);
  std::vector<step_plan::stage> stages;
  for (const cost::rank_layers& stage : stages_of(in, list, in.split)) {
    if (in.forward_us) stages.push_back({stage.layer_count, *in.forward_us, *in.backward_us});
    else if (!timed_by_the_machine(in)) stages.push_back(counted_stage(in, list, stage));
    else
      stages.push_back(in_us(value_or_fail(
          planner::time_of_stage(list, stage, in.training.step, in.parallel, in.training.on->rates), in.file)));
  }
  return stages;
}

cost::report report_of(const plan_input& in, report_context& context, const hocket::pipeline::simulation& run) {
  list_stages on{.sizes = in.split, .passes = {}};
  for (const auto& rank : run.ranks) on.passes.push_back(share_of(in, rank.peak_in_flight, in.parallel.vp));
  return make_report(in.model.layers, context, in.file, on);
}

std::int64_t bytes_under(const plan_input& in, const hocket::pipeline::any_schedule& plan) {
  const cost::layer_list list = list_of(in);
  const std::vector<cost::rank_layers> stages = stages_of(in, list, in.split);
  std::vector<cost::rank_layers> ranks(plan.ranks());
  for (cost::rank_layers& x : ranks) x.ends.first = x.ends.last = false;
  const auto place = plan.placement();
  for (std::uint32_t d = 0; d < plan.directions(); ++d)
    for (std::uint32_t s = 0; s < stages.size(); ++s) {
      cost::rank_layers& to = ranks[place.rank_of(s, d)];
      to = planner::joined(to, stages[s]);
    }
  const std::int64_t on_rank = std::int64_t{plan.chunks()} * plan.directions();
  std::int64_t most = 0;
  for (std::uint32_t r = 0; r < plan.ranks(); ++r) {
    ranks[r].ends.rank = r;
    const cost::held_share passes = share_of(in, plan.peak_in_flight(r), on_rank);
    const auto memory =
        value_or_fail(cost::memory_of_rank(list, ranks[r], in.training.step, in.parallel, passes), in.file);
    most = std::max(most, static_cast<std::int64_t>(memory.peak.total_bytes().ceiling().num()));
  }
  return most;
}

}  // namespace hocket_cli
