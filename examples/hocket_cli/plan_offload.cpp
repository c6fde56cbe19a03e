// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The plan with the saved tensors of each stage kept, computed again or moved to the host: one more change of it.
#include <hocket/planner/saved_tensors/stage.hpp>
#include <hocket/text/schedule_csv.hpp>

#include <algorithm>
#include <cmath>

#include "command.hpp"
#include "cost_layers.hpp"
#include "plan_page.hpp"

namespace hocket_cli {
namespace {

namespace cost = hocket::cost;
namespace planner = hocket::planner;

/// Simulated with the plan's own schedule: what a stage takes longer comes before its backward passes.
hocket::ticks makespan_of(const plan_input& in, const step_plan& p,
                          const std::vector<std::chrono::nanoseconds>& extra) {
  const auto ns = [](double us) { return std::max<hocket::ticks>(1, std::llround(us * 1e3)); };
  std::vector<hocket::ticks> forward, backward;
  for (std::size_t s = 0; s < p.stages.size(); ++s) {
    forward.push_back(ns(p.stages[s].forward_us));
    backward.push_back(ns(p.stages[s].backward_us) + extra[s].count());
  }
  const auto schedule = value_or_fail(hocket::text::parse_schedule_csv(p.schedule_csv), in.file);
  const hocket::pipeline::stage_costs costs{.forward = forward, .backward = backward, .hop = ns(p.hop_us)};
  return value_or_fail(hocket::pipeline::simulate(schedule, costs), in.file).makespan;
}

}  // namespace

bool may_offload(const plan_input& in, const planned_change& now) {
  if (in.forward_us || !in.split.empty() || in.search_split || in.parallel.vp > 1) return false;
  if (!timed_by_the_machine(in) || in.training.on->rates.host_bytes <= 0) return false;
  return !now.fits || in.parallel.recompute != cost::recompute::none;
}

planned_change with_offload(plan_input in) {
  in.parallel.recompute = cost::recompute::none;
  in.parallel.offload_activations = false;
  std::erase(in.open, "recompute");
  const step_plan p = plan_pipeline_and_cost(in);
  const cost::layer_list list = list_of(in);
  planned_change out{.what = offload_change, .family = "recompute", .fits = true};
  std::vector<std::chrono::nanoseconds> extra;
  for (const cost::rank_layers& rank : value_or_fail(cost::layers_of_ranks(list, in.parallel), in.file)) {
    const std::int64_t in_flight = p.run.ranks[static_cast<std::size_t>(rank.ends.rank)].peak_in_flight;
    const auto stage = value_or_fail(planner::saved_tensors_of(list, rank, in.training.step, in.parallel,
                                                               in.training.on->rates, in_flight, in.memory),
                                     in.file);
    const auto plan = value_or_fail(planner::solve(stage.problem), in.file);
    extra.push_back(plan.extra);
    out.bytes = std::max(out.bytes, (stage.beside + plan.held).count());
  }
  out.step_seconds = predicted_step_seconds(in, p, makespan_of(in, p, extra));
  return out;
}

}  // namespace hocket_cli
