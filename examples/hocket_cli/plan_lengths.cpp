// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `hocket plan --lengths`: the planned step with micro-batches that differ.
#include <hocket/cost/model/list_cost.hpp>
#include <hocket/cost/model/micro_batch_lengths.hpp>
#include <hocket/text/schedule_csv.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include "plan_lengths.hpp"

namespace hocket_cli {

namespace cost = hocket::cost;
namespace planner = hocket::planner;
using hocket::ticks;

namespace {

/// Times of the plan's stages for each micro-batch, in nanoseconds.
planner::micro_batch_times times_of(const plan_input& in, const step_plan& p, const micro_batch_documents& batches) {
  planner::step_problem one = in;
  const cost::layer_list& list = in.published.layers;
  const auto layers =
      p.split ? p.split->stages : value_or_fail(planner::layers_of_stages(in.model, in.parallel, in.split), in.file);
  planner::micro_batch_times out{.stages = p.stages.size(), .count = batches.size(), .forward = {}, .backward = {}};
  out.forward.resize(out.stages * out.count);
  out.backward.resize(out.stages * out.count);
  std::map<std::vector<std::int64_t>, std::vector<planner::stage_time>> known;
  std::int64_t tokens = 0;
  for (std::size_t j = 0; j < out.count; ++j) {
    tokens += tokens_of(batches[j]);
    auto& stages = known[batches[j]];
    if (stages.empty()) {
      one.training = value_or_fail(cost::training_of(list, in.training, batches[j]), "--lengths");
      if (const auto told = cost::check_packing(list, one.training); !told) fail("--lengths", told.error());
      stages = value_or_fail(planner::times_of_stages(one, layers), in.file);
    }
    const auto nanoseconds = [](hocket::seconds time) {
      if (!(time.count() < 3.6e4)) fail("--lengths: a micro-batch takes longer than ten hours");
      return std::max<ticks>(1, std::llround(time.count() * 1e9));
    };
    for (std::size_t s = 0; s < out.stages; ++s) {
      out.forward[s * out.count + j] = nanoseconds(stages[s].forward);
      out.backward[s * out.count + j] = nanoseconds(stages[s].backward);
    }
  }
  one.training = in.training;
  one.training.micro_batch = 1;
  one.training.sequence = std::max<std::int64_t>(1, tokens / static_cast<std::int64_t>(out.count));
  out.hop = std::max<ticks>(1, std::llround(planner::hop_of(one).count() * 1e9));  // of a mean micro-batch
  return out;
}

}  // namespace

lengths_report compare_lengths(const plan_input& in, const step_plan& p, const length_options& o) {
  check_documents(in.told, in.file);
  if (in.measured)
    fail(in.file + ": --lengths needs stage times that follow from lengths, not \"pipeline.forward_us\"");
  const cost::training& t = in.training;
  const std::int64_t count = in.micro_batches() * in.parallel.dp * o.steps;
  const auto draws = read_lengths(o, t.sequence * t.micro_batch, count);
  if (p.schedule_csv.empty()) fail(in.file + ": --lengths: " + why_undrawn(in));
  const auto schedule = value_or_fail(hocket::text::parse_schedule_csv(p.schedule_csv), in.file);
  lengths_report out{.micro_batches = count, .steps = o.steps};
  const micro_batch_documents& batches = draws.front();
  planner::micro_batch_problem problem{
      .times = times_of(in, p, batches), .pipelines = in.parallel.dp, .steps = o.steps, .keep_steps = o.keep_steps};
  out.plan = value_or_fail(planner::solve(problem, schedule), in.file);
  std::int64_t tokens = 0;
  for (const auto& documents : batches) tokens += tokens_of(documents);
  problem.times = times_of(in, p, micro_batch_documents(batches.size(), {std::max<std::int64_t>(1, tokens / count)}));
  problem.actions = 0;
  out.alike = value_or_fail(planner::solve(problem, schedule), in.file).total;
  return out;
}

std::string lengths_as_text(const lengths_report& r) {
  char line[160];
  std::snprintf(line, sizeof line, "Micro-batches that differ: %lld in %lld %s\n",
                static_cast<long long>(r.micro_batches), static_cast<long long>(r.steps),
                r.steps == 1 ? "step" : "steps");
  std::string out = line;
  for (const named_time& x : named_times(r.plan, r.alike)) {
    std::snprintf(line, sizeof line, "  %-34s%14.1f us\n", x.name, static_cast<double>(x.time) / 1e3);
    out += line;
  }
  return out + "\n";
}

std::string with_lengths_json(std::string json, const lengths_report& r, std::size_t pipelines) {
  nlohmann::ordered_json out{{"micro_batches", r.micro_batches}, {"steps", r.steps}};
  for (const named_time& x : named_times(r.plan, r.alike))
    out[std::string(x.key) + "_us"] = static_cast<double>(x.time) / 1e3;
  out["proved"] = r.plan.proved;
  for (std::size_t at = 0; at < r.plan.runs.size(); ++at)
    out["runs"].push_back({{"step", at / pipelines},
                           {"pipeline", at % pipelines},
                           {"makespan_us", static_cast<double>(r.plan.runs[at].makespan) / 1e3},
                           {"order", r.plan.runs[at].order}});
  json.erase(json.find_last_of('}'));
  while (json.back() == '\n' || json.back() == ' ') json.pop_back();
  return json + ",\n  \"lengths\": " + out.dump(2) + "\n}\n";
}

}  // namespace hocket_cli
