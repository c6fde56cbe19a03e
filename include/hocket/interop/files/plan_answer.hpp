// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/ids.hpp>
#include <hocket/graph.hpp>
#include <hocket/interop/files/cost_answer.hpp>
#include <hocket/interop/files/plan_file.hpp>
#include <hocket/interop/files/report_parts.hpp>
#include <hocket/interop/step_calls.hpp>
#include <hocket/planner/plan/step_plan.hpp>
#include <hocket/text/schedule_csv.hpp>
#include <hocket/tiling.hpp>
#include <hocket/timeline/timeline.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::interop {
// NOLINTBEGIN(bugprone-unchecked-optional-access): what is read there, the reader or the caller has seen

/// What all components have to say about the step of a plan file.
struct plan_answer : planner::step_plan {
  struct dependencies {
    std::size_t ops = 0, streams = 0, rule_edges = 0, kept_edges = 0, cross_stream_edges = 0, waits = 0;
    /// Ops next to each other in program order among which most edges are kept, for a picture.
    node_id densest_first = 0, densest_end = 0;
    std::vector<graph::edge> densest_rules{}, densest_kept{};  ///< among those ops; kept ones are no rules
    /// Edges by the op that they lead to, in equal parts of the program.
    std::vector<std::size_t> rules_by_part{}, kept_by_part{};
  };
  std::optional<dependencies> graph;  ///< absent: the file names no op graph
  std::string schedule_csv;           ///< in PyTorch's dialect; empty if that would be too long
  std::optional<tiling::plan> tiles;
  std::optional<hocket::timeline> tile_timeline;
  cost::report cost;
  report_context cost_context;
  std::optional<checked_calls> calls;  ///< of all ranks; absent: one rank alone, or too many passes
};

namespace detail {

// Edges by the op that they lead to, in equal parts of the program.
inline std::vector<std::size_t> by_part(std::span<const graph::edge> edges, std::size_t ops) {
  constexpr std::size_t most_parts = 96;  // about what a picture can show
  std::vector<std::size_t> counts((std::min)(ops, most_parts));
  for (const graph::edge& e : edges) ++counts[e.target * counts.size() / ops];
  return counts;
}

// The window of the program with most kept edges inside, and the edges in it.
inline void find_densest(std::span<const graph::edge> kept, std::span<const graph::edge> rules,
                         plan_answer::dependencies& out) {
  constexpr std::size_t window = 24;  // ops: as many as a picture shows with their numbers
  const std::size_t last = out.ops > window ? out.ops - window : 0;
  // An edge is inside of windows that begin from target - window + 1 to source.
  std::vector<std::int64_t> more(last + 2);
  for (const graph::edge& e : kept) {
    const std::size_t from = e.target < window ? 0 : e.target - window + 1,
                      to = (std::min<std::size_t>)(e.source, last);
    if (from > to) continue;
    ++more[from];
    --more[to + 1];
  }
  std::int64_t inside = 0, most = -1;
  for (std::size_t first = 0; first <= last; ++first) {
    inside += more[first];
    if (inside <= most) continue;
    most = inside;
    out.densest_first = static_cast<node_id>(first);
  }
  out.densest_end = static_cast<node_id>((std::min)(out.ops, out.densest_first + window));
  const auto within = [&](const graph::edge& e) { return e.source >= out.densest_first && e.target < out.densest_end; };
  for (const graph::edge& e : kept)
    if (within(e)) out.densest_kept.push_back(e);
  for (const graph::edge& e : rules)
    if (within(e) && !std::binary_search(out.densest_kept.begin(), out.densest_kept.end(), e))
      out.densest_rules.push_back(e);
}
inline void plan_graph(const plan_input& in, plan_answer& answer, file_errors& errors) {
  const auto options = in.ordered ? graph::dependency_options::ordered() : graph::dependency_options::data();
  const auto deps = graph::dependencies(in.ops, options);
  if (!deps) return errors.add(in.ops_file, deps.error());
  const auto streams = graph::stream_plan::make(deps->graph(), in.ops.streams());
  if (!streams) return errors.add(in.ops_file, streams.error());
  plan_answer::dependencies out{.ops = in.ops.size(),
                                .streams = streams->stream_count(),
                                .rule_edges = deps->rule_edges(),
                                .kept_edges = deps->edge_count(),
                                .cross_stream_edges = streams->cross_stream_edges(),
                                .waits = streams->waits().size()};
  if (out.ops > 0) {
    std::vector<graph::edge> kept = deps->graph().edges();
    const auto rules = value_of(graph::rule_edges(in.ops, options), in.ops_file, errors);
    std::sort(kept.begin(), kept.end());
    find_densest(kept, rules, out);
    out.rules_by_part = by_part(rules, out.ops);
    out.kept_by_part = by_part(kept, out.ops);
  }
  answer.graph = std::move(out);
}

inline void plan_tiles(const plan_input& in, plan_answer& answer, file_errors& errors) {
  if (!in.fused) return;
  auto tiles = tiling::solve(*in.fused);
  if (!tiles) return errors.add(in.file, tiles.error());
  auto timeline = tiling::predicted_timeline(*in.fused, tiles->tiles());
  if (!timeline) return errors.add(in.file, timeline.error());
  answer.tiles = *std::move(tiles);
  answer.tile_timeline = *std::move(timeline);
}

}  // namespace detail

/// The cost report of a planned step: what stands on its ranks, what they hold, the time of the whole.
[[nodiscard]] inline cost::report make_report(const cost::layer_list& list, report_context& context,
                                              std::string_view file, const planner::step_plan& plan,
                                              file_errors& errors) {
  const cost::layer_list whole = padded(list, *context.training, file, errors);
  if (context.training->on) need_rates(*context.training->on, has_experts(whole), context.parallel, file, errors);
  const cost::report published = value_of(cost::make_report(list), file, errors);
  if (!errors.none()) return published;
  context.step = plan.step;
  cost::report r = detail::report_of(whole, published, context, file, plan.ranks, plan.passes, errors);
  r.memory = plan.memory;
  return r;
}

/// Why a plan has no pictures of its pipeline and no list of its actions: a sentence; empty if it has.
[[nodiscard]] inline std::string why_undrawn(const plan_input& in) {
  const std::int64_t passes = 2 * in.stages() * in.micro_batches();  // a forward and a backward each
  if (passes <= planner::most_recorded) return {};
  return std::to_string(passes) + " actions are too many to draw, or to list: at most " +
         std::to_string(planner::most_recorded) + ". All else is complete.";
}

/// Plans the step of a file whose open sizes are chosen. What is wrong with its ops is told before a long search.
[[nodiscard]] inline plan_answer answer_of(const plan_input& in, file_errors& errors) {
  plan_answer out;
  if (!in.ops_file.empty()) detail::plan_graph(in, out, errors);
  if (!errors.none()) return out;
  auto plan = planner::plan_step(in);
  if (!plan) {
    errors.add(in.file, plan.error());
    return out;
  }
  static_cast<planner::step_plan&>(out) = *std::move(plan);
  if (why_undrawn(in).empty()) out.schedule_csv = text::write_schedule_csv(*out.schedule);
  out.cost_context = {.title = in.title, .assumed = in.published.assumed, .training = in.told, .parallel = in.parallel};
  out.cost_context.training->step = in.training;
  out.cost = make_report(in.published.layers, out.cost_context, in.file, out, errors);
  detail::plan_tiles(in, out, errors);
  auto calls = check_calls(*out.schedule, in.parallel);
  if (calls) out.calls = *std::move(calls);
  else errors.add(in.file, calls.error());
  return out;
}

/// What a step is made of: the simulated pipeline and, where a machine has rates, what they put around it (loading, the
/// data-parallel exchange that nothing hides, the optimizer, launches). They add up to planner::seconds_of.
[[nodiscard]] inline std::vector<named_part> predicted_step_parts(const plan_input& in, const plan_answer& p) {
  std::vector<named_part> out = {{"pipeline, simulated", "pipeline", p.makespan().count()}};
  if (!p.step) return out;
  const cost::step_numbers& x = p.step->numbers;
  const auto micro_batches = static_cast<double>(in.micro_batches());
  const double late = x.lateness * micro_batches * x.compute_seconds;
  const double in_stages = micro_batches * x.exposed_seconds;
  const double exchange = p.step->parts.communication_exposed.count() - in_stages - late;
  out.push_back({"data loading", "data_loading", p.step->parts.data_loading.count()});
  out.push_back({"data-parallel exchange, exposed", "exchange_exposed", (std::max)(0.0, exchange)});
  if (late > 0) out.push_back({"wait for the slowest device", "slowest_device", late});
  out.push_back({"optimizer", "optimizer", p.step->parts.optimizer.count()});
  out.push_back({"post-processing", "post_processing", p.step->parts.post_processing.count()});
  out.push_back({"scheduling", "scheduling", p.step->parts.scheduling.count()});
  return out;
}

/// Whether the predicted seconds are those of a whole step: where there is a machine, whose rates say what is around
/// the pipeline.
[[nodiscard]] inline bool has_predicted_step(const plan_answer& p) noexcept { return p.step.has_value(); }

[[nodiscard]] inline double tokens_per_second_per_device(const plan_input& in, double step_seconds) {
  const auto tokens = static_cast<double>(in.training.global_batch) * static_cast<double>(in.training.sequence);
  return tokens / step_seconds / static_cast<double>(in.devices);
}

// NOLINTEND(bugprone-unchecked-optional-access)
}  // namespace hocket::inline HOCKET_ABI::interop
