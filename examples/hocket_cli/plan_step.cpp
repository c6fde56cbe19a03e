// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "plan_step.hpp"

#include <hocket/text/schedule_csv.hpp>

#include <algorithm>
#include <span>
#include <utility>

#include "failure.hpp"
#include "terminal.hpp"

namespace hocket_cli {
// NOLINTBEGIN(bugprone-unchecked-optional-access): what is read there, the caller has seen
namespace {

namespace cost = hocket::cost;
namespace graph = hocket::graph;
namespace planner = hocket::planner;
namespace tiling = hocket::tiling;

// Edges by the op that they lead to, in equal parts of the program.
std::vector<std::size_t> by_part(std::span<const graph::edge> edges, std::size_t ops) {
  constexpr std::size_t most_parts = 96;  // about what a picture can show
  std::vector<std::size_t> counts(std::min(ops, most_parts));
  for (const graph::edge& e : edges) ++counts[e.target * counts.size() / ops];
  return counts;
}

// The window of the program with most kept edges inside, and the edges in it.
void find_densest(std::span<const graph::edge> kept, std::span<const graph::edge> rules, step_plan::dependencies& out) {
  constexpr std::size_t window = 24;  // ops: as many as a picture shows with their numbers
  const std::size_t last = out.ops > window ? out.ops - window : 0;
  // An edge is inside of windows that begin from target - window + 1 to source.
  std::vector<std::int64_t> more(last + 2);
  for (const graph::edge& e : kept) {
    const std::size_t from = e.target < window ? 0 : e.target - window + 1, to = std::min<std::size_t>(e.source, last);
    if (from > to) continue;
    ++more[from];
    --more[to + 1];
  }
  std::int64_t inside = 0, most = -1;
  for (std::size_t first = 0; first <= last; ++first) {
    inside += more[first];
    if (inside <= most) continue;
    most = inside;
    out.densest_first = static_cast<hocket::node_id>(first);
  }
  out.densest_end = static_cast<hocket::node_id>(std::min(out.ops, out.densest_first + window));
  const auto within = [&](const graph::edge& e) { return e.source >= out.densest_first && e.target < out.densest_end; };
  for (const graph::edge& e : kept)
    if (within(e)) out.densest_kept.push_back(e);
  for (const graph::edge& e : rules)
    if (within(e) && !std::binary_search(out.densest_kept.begin(), out.densest_kept.end(), e))
      out.densest_rules.push_back(e);
}

step_plan::dependencies plan_graph(const plan_input& in) {
  const auto options = in.ordered ? graph::dependency_options::ordered() : graph::dependency_options::data();
  const auto deps = value_or_fail(graph::dependencies(in.ops, options), in.ops_file);
  const auto streams = value_or_fail(graph::stream_plan::make(deps.graph(), in.ops.streams()), in.ops_file);
  step_plan::dependencies out{.ops = in.ops.size(),
                              .streams = streams.stream_count(),
                              .rule_edges = deps.rule_edges(),
                              .kept_edges = deps.edge_count(),
                              .cross_stream_edges = streams.cross_stream_edges(),
                              .waits = streams.waits().size()};
  if (out.ops == 0) return out;
  std::vector<graph::edge> kept = deps.graph().edges();
  const auto rules = value_or_fail(graph::rule_edges(in.ops, options), in.ops_file);
  std::sort(kept.begin(), kept.end());
  find_densest(kept, rules, out);
  out.rules_by_part = by_part(rules, out.ops);
  out.kept_by_part = by_part(kept, out.ops);
  return out;
}

void plan_tiles(const plan_input& in, step_plan& out) {
  if (!in.fused) return;
  out.tiles = value_or_fail(tiling::solve(*in.fused), in.file);
  out.tile_timeline = value_or_fail(tiling::predicted_timeline(*in.fused, out.tiles->tiles()), in.file);
}

/// What no choice of sizes was possible with.
[[noreturn]] void fail_to_choose(const plan_input& in) {
  const planner::strategy_plan& searched = in.sizes->searched;
  const planner::open_sizes& open = in.open_sizes;
  if (searched.named == 0)
    fail(in.file + ": no choice of what \"parallel\" leaves open divides the " + std::to_string(in.devices) +
         " devices" +
         (open.stages > 0 ? " and has the " + std::to_string(open.stages) + " stages of \"pipeline.split\"" : "") +
         (open.micro_batches > 0 ? " and has \"pipeline.micro_batches\" " + std::to_string(open.micro_batches) : ""));
  std::string names, why;
  for (const std::string& key : in.open) names += (names.empty() ? "" : ", ") + key;
  for (std::size_t i = 0; i < planner::rejection_count; ++i)
    if (searched.rejected[i] > 0)
      why += (why.empty() ? ": " : "; ") + std::to_string(searched.rejected[i]) + " x " +
             std::string(to_string(static_cast<planner::rejection>(i)));
  fail(in.file + ": \"parallel\" leaves " + names + " open, but none of " + std::to_string(searched.named) +
       " choices is possible and fits" + why);
}

}  // namespace

void settle(plan_input& in) {
  if (in.open.empty()) return;
  const search_guard watch;
  in.sizes = value_or_fail(planner::choose_sizes(in, in.open_sizes, in.devices, in.devices_per_node, watch), in.file);
  if (!in.sizes->chosen) fail_to_choose(in);
  static_cast<planner::step_problem&>(in) = *in.sizes->chosen;
}

std::vector<named_part> predicted_step_parts(const plan_input& in, const step_plan& p) {
  std::vector<named_part> out = {{"pipeline, simulated", "pipeline", p.makespan().count()}};
  if (!p.step) return out;
  const cost::step_numbers& x = p.step->numbers;
  const auto micro_batches = static_cast<double>(in.micro_batches());
  const double late = x.lateness * micro_batches * x.compute_seconds;
  const double in_stages = micro_batches * x.exposed_seconds;
  const double exchange = p.step->parts.communication_exposed.count() - in_stages - late;
  out.push_back({"data loading", "data_loading", p.step->parts.data_loading.count()});
  out.push_back({"data-parallel exchange, exposed", "exchange_exposed", std::max(0.0, exchange)});
  if (late > 0) out.push_back({"wait for the slowest device", "slowest_device", late});
  out.push_back({"optimizer", "optimizer", p.step->parts.optimizer.count()});
  out.push_back({"post-processing", "post_processing", p.step->parts.post_processing.count()});
  out.push_back({"scheduling", "scheduling", p.step->parts.scheduling.count()});
  return out;
}

double tokens_per_second_per_device(const plan_input& in, double step_seconds) {
  const auto tokens = static_cast<double>(in.training.global_batch) * static_cast<double>(in.training.sequence);
  return tokens / step_seconds / static_cast<double>(in.devices);
}

double predicted_step_seconds(const plan_input&, const step_plan& p) { return planner::seconds_of(p); }

// A forward and a backward per stage and micro-batch.
std::string why_undrawn(const plan_input& in) {
  const std::int64_t passes = 2 * in.stages() * in.micro_batches();
  if (passes <= planner::most_recorded) return {};
  return std::to_string(passes) + " actions are too many to draw, or to list: at most " +
         std::to_string(planner::most_recorded) + ". All else is complete.";
}

schedule_comparison compare_schedules(const plan_input& in) {
  return value_or_fail(planner::compare_schedules(in), in.file);
}
tried_changes try_changes(const plan_input& in, const step_plan& p, const schedule_comparison& others) {
  return value_or_fail(planner::try_changes(in, p, others, in.devices_per_node), in.file);
}

step_plan plan_step(const plan_input& in) {
  step_plan out;
  if (!in.ops_file.empty()) out.graph = plan_graph(in);  // what is wrong with the ops is told before a long search
  static_cast<planner::step_plan&>(out) = value_or_fail(planner::plan_step(in), in.file);
  if (why_undrawn(in).empty()) out.schedule_csv = hocket::text::write_schedule_csv(*out.schedule);
  out.cost_context = {.title = in.title, .assumed = in.published.assumed, .training = in.told, .parallel = in.parallel};
  out.cost_context.training->step = in.training;
  out.cost = make_report(in.published.layers, out.cost_context, in.file, out);
  plan_tiles(in, out);
  return out;
}

// NOLINTEND(bugprone-unchecked-optional-access)
}  // namespace hocket_cli
