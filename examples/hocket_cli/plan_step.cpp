// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "plan_step.hpp"

#include <hocket/cost/model/list_time.hpp>
#include <hocket/planner/plan/simulated_step.hpp>
#include <hocket/planner/schedule/solve.hpp>
#include <hocket/planner/split/in_flight.hpp>
#include <hocket/text/schedule_csv.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <span>
#include <utility>

#include "command.hpp"

namespace hocket_cli {
namespace {

namespace cost = hocket::cost;
namespace graph = hocket::graph;
namespace pipeline = hocket::pipeline;
namespace planner = hocket::planner;
namespace tiling = hocket::tiling;

constexpr double ns_per_us = 1000;

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

// The stages in model order, as the split says or evenly.
std::vector<step_plan::stage> stage_times(const plan_input& in, const layer_split* split) {
  return split != nullptr ? times_of_split(in, *split) : times_of_stages(in);
}

// One boundary tensor over the link between pipeline ranks.
double hop_us(const plan_input& in) {
  const double sent = planner::boundary_bytes(in.model.layers, in.training.step, in.parallel);
  return in.pipeline_link.latency_us + sent / (in.pipeline_link.gb_per_s * 1e3);
}

// f(schedule) for the schedule that the file names, which is one that read_plan knows.
template <class F>
void with_schedule(const plan_input& in, const pipeline::shape& shape, std::span<const hocket::ticks> ratio, F&& f) {
  const auto kappa = in.kappa;
  if (in.schedule == "1f1b")
    return f(value_or_fail(pipeline::one_f_one_b::make(shape, kappa == 0 ? 1 : kappa), in.file));
  if (in.schedule == "gpipe") return f(value_or_fail(pipeline::gpipe::make(shape), in.file));
  const auto rule = in.groups == "balanced" ? pipeline::groups::balanced()
                  : in.groups == "last"     ? pipeline::groups::last()
                  : in.groups == "first"    ? pipeline::groups::first()
                  : in.groups == "paper"    ? pipeline::groups::paper()
                                            : pipeline::groups::least_memory(ratio[0], ratio[1]);
  f(value_or_fail(pipeline::interleaved::make(shape, rule, {.kappa = kappa}), in.file));
}

pipeline::shape shape_of(const plan_input& in) {
  return {.ranks = in.parallel.pp, .chunks = in.parallel.vp, .micro_batches = in.micro_batches()};
}
// A forward and a backward per stage and micro-batch; each is drawn. The limit is that of `pipeline draw`.
constexpr std::int64_t most_drawn = 1 << 20;
std::int64_t actions_of(const plan_input& in) { return 2 * in.parallel.pp * in.parallel.vp * in.micro_batches(); }

// Without a name: 1F1B, or interleaved. With one chunk and a kappa of 2 that would be eager-1f1b, which holds more.
pipeline::interleaved usual_schedule(const plan_input& in) {
  const std::uint32_t kappa = in.parallel.vp == 1 ? 1 : 2;
  return value_or_fail(pipeline::interleaved::make(shape_of(in), pipeline::groups::balanced(), {.kappa = kappa}),
                       in.file);
}

// In nanoseconds.
struct times {
  std::vector<hocket::ticks> forward, backward;
  hocket::ticks hop;
  times(const plan_input& in, const std::vector<step_plan::stage>& stages, double of_a_hop) {
    const auto ns = [&](double us, const std::string& what) {
      if (!(us * ns_per_us < 9e15)) {
        char seconds[32];
        std::snprintf(seconds, sizeof seconds, "%.3g", us * 1e-6);
        const std::string time =
            std::isfinite(us) ? std::string(seconds) + " seconds" : "more seconds than a number holds";
        fail(in.file + ": " + what + " takes " + time + ", longer than 100 days: look at the rates of the cluster");
      }
      return std::max<hocket::ticks>(1, std::llround(us * ns_per_us));
    };
    for (std::size_t s = 0; s < stages.size(); ++s) {
      const std::string of_stage = " pass of stage " + std::to_string(s);
      forward.push_back(ns(stages[s].forward_us, "the forward" + of_stage));
      backward.push_back(ns(stages[s].backward_us, "the backward" + of_stage));
    }
    hop = ns(of_a_hop, "a hop between pipeline ranks");
  }
  [[nodiscard]] pipeline::stage_costs costs() const { return {.forward = forward, .backward = backward, .hop = hop}; }
};

// The split needs what ranks hold, and only measures of time decide between searched schedules: without a name, what
// the usual one holds.
void plan_stages(const plan_input& in, step_plan& out) {
  const hocket::ticks alike[] = {1, 2};
  const auto with_named = [&](auto&& f) {
    if (in.schedule == "search") f(usual_schedule(in));
    else with_schedule(in, shape_of(in), alike, f);
  };
  with_named(
      [&](const auto& schedule) { out.held = value_or_fail(planner::in_flight_profile::make(schedule), in.file); });
  out.hop_us = hop_us(in);
  out.split = plan_split(in, out.held, out.why_even, [&](const layer_split& some) {
    const times now(in, times_of_split(in, some), out.hop_us);
    hocket::ticks makespan = 0;
    with_named([&](const auto& schedule) {
      makespan = value_or_fail(pipeline::simulate(schedule, now.costs()), in.file).makespan;
    });
    return static_cast<double>(makespan) / 1e9;
  });
}

void plan_pipeline(const plan_input& in, step_plan& out) {
  if (const std::int64_t actions = actions_of(in); actions > most_drawn)
    fail(in.file + ": " + std::to_string(actions) + " actions are too many to draw: at most " +
         std::to_string(most_drawn));
  const pipeline::shape shape = shape_of(in);
  plan_stages(in, out);
  out.stages = stage_times(in, out.split ? &*out.split : nullptr);
  const times now(in, out.stages, out.hop_us);
  const hocket::ticks ratio[] = {now.forward.front(), now.backward.front()};
  const pipeline::stage_costs costs = now.costs();
  const auto use = [&](const auto& schedule) {
    out.timeline.ticks_per_second = 1'000'000'000;
    out.run = value_or_fail(pipeline::simulate(schedule, costs, {.into = &out.timeline}), in.file);
    out.schedule_csv = hocket::text::write_schedule_csv(schedule);
    if (out.split) out.held = value_or_fail(planner::in_flight_profile::make(schedule), in.file);
  };
  if (in.schedule != "search") return with_schedule(in, shape, ratio, use);
  const auto usual = usual_schedule(in);
  // No schedule is named: the best that holds no more activations on any rank than 1F1B, or interleaved, would.
  if (2 * shape.stages() * shape.micro_batches > 1 << 14) {
    out.found_by = "interleaved, too long to search";
    return use(usual);
  }
  std::vector<std::uint32_t> caps;
  for (std::uint32_t r = 0; r < usual.ranks(); ++r) caps.push_back(usual.peak_in_flight(r));
  const auto found = value_or_fail(
      planner::solve({.shape = shape, .split_backward = false, .memory_cap = caps, .budget = 50'000}, costs), in.file);
  // As many activations may be of larger chunks: then the split decides.
  if (out.split && split_fits(in, *out.split, out.held) &&
      !split_fits(in, *out.split, value_or_fail(planner::in_flight_profile::make(found.schedule), in.file))) {
    out.found_by = "interleaved, because the shorter ones found do not fit this split";
    return use(usual);
  }
  out.found_by = found.found_by;
  use(found.schedule);
}

void plan_tiles(const plan_input& in, step_plan& out) {
  if (!in.fused) return;
  out.tiles = value_or_fail(tiling::solve(*in.fused), in.file);
  out.tile_timeline = value_or_fail(tiling::predicted_timeline(*in.fused, out.tiles->tiles()), in.file);
}

void check_sizes(const plan_input& in) {
  const cost::layer_list& list = in.model.layers;
  if (const auto fits = cost::check(list, in.training.step, in.parallel); !fits) fail(in.file, fits.error());
  if (const auto even = cost::check_even_stages(list.layer_count(), in.parallel); !even) fail(in.file, even.error());
}

}  // namespace

std::int64_t peak_of_named(const plan_input& in, const pipeline::shape& shape, std::uint32_t rank) {
  const hocket::ticks alike[] = {1, 2};
  std::int64_t peak = 0;
  with_schedule(in, shape, alike, [&](const auto& schedule) { peak = schedule.peak_in_flight(rank); });
  return peak;
}

namespace {
/// A step that no split of these sizes is shorter than: layers take at least what they take without recompute, and the
/// busiest rank at least the mean of all.
double least_step(const plan_input& in, const cost::layer_list& list, const planner::strategy& x) {
  cost::training t = in.training.step;
  t.micro_batch = x.micro_batch;
  cost::parallel p = x.how;
  p.recompute = cost::recompute::none;
  const auto step = cost::predict_step(list, t, p, in.training.on->rates);
  if (!step) return 0;
  double all = 0;
  for (const cost::layer_time& rank : step->rank_times) all += rank.total().count();
  const auto batches = static_cast<double>(t.global_batch) / static_cast<double>(t.micro_batch * p.dp);
  return batches * all / static_cast<double>(p.pp) + step->parts.optimizer.count();
}
}  // namespace

void settle(plan_input& in) {
  if (!in.search_split || in.candidates.empty()) return;
  struct candidate {
    double bound;
    const planner::strategy* sizes;
  };
  const cost::layer_list list = list_of(in);
  std::vector<candidate> all;
  for (const planner::strategy& x : in.candidates) all.push_back({least_step(in, list, x), &x});
  std::stable_sort(all.begin(), all.end(), [](const candidate& a, const candidate& b) { return a.bound < b.bound; });
  const planner::strategy* best = nullptr;
  double least = 0;
  for (const candidate& x : all) {
    if (best != nullptr && x.bound >= least) break;  // nor can any after it be shorter
    take(in, *x.sizes);
    if (actions_of(in) > most_drawn) continue;
    step_plan one;
    plan_stages(in, one);
    if (!one.split || !split_fits(in, *one.split, one.held)) continue;
    ++in.candidates_that_fit;
    const double seconds = step_of_split(in, *one.split).step_time().count();
    if (best == nullptr || seconds < least) {
      best = x.sizes;
      least = seconds;
    }
  }
  if (best != nullptr) {
    take(in, *best);
    in.step_seconds = least;
    return;
  }
  if (in.choice->front.empty()) fail_to_choose(in);
  take(in, in.choice->front.front().of);
}

double boundary_hop_us(const plan_input& in) { return hop_us(in); }

namespace {
planner::simulated_step step_with(const plan_input& in, const step_plan& p, hocket::ticks makespan) {
  const hocket::seconds pipeline(static_cast<double>(makespan) / 1e9);
  if (!p.cost_context.step) return {.pipeline = pipeline};
  return planner::with_pipeline(*p.cost_context.step, in.training.step, in.parallel, pipeline);
}
}  // namespace

std::vector<named_part> predicted_step_parts(const plan_input& in, const step_plan& p) {
  const planner::simulated_step x = step_with(in, p, p.run.makespan);
  std::vector<named_part> out = {{"pipeline, simulated", "pipeline", x.pipeline.count()}};
  if (!p.cost_context.step) return out;
  out.push_back({"data loading", "data_loading", x.data_loading.count()});
  out.push_back({"data-parallel exchange, exposed", "exchange_exposed", x.exchange_exposed.count()});
  if (x.slowest_device.count() > 0)
    out.push_back({"wait for the slowest device", "slowest_device", x.slowest_device.count()});
  out.push_back({"optimizer", "optimizer", x.optimizer.count()});
  out.push_back({"post-processing", "post_processing", x.post_processing.count()});
  out.push_back({"scheduling", "scheduling", x.scheduling.count()});
  return out;
}

double tokens_per_second_per_device(const plan_input& in, double step_seconds) {
  const auto tokens =
      static_cast<double>(in.training.step.global_batch) * static_cast<double>(in.training.step.sequence);
  return tokens / step_seconds / static_cast<double>(in.devices);
}

double predicted_step_seconds(const plan_input& in, const step_plan& p) {
  return predicted_step_seconds(in, p, p.run.makespan);
}

double predicted_step_seconds(const plan_input& in, const step_plan& p, hocket::ticks makespan) {
  return step_with(in, p, makespan).total().count();
}

step_plan plan_step(const plan_input& in) {
  check_sizes(in);
  std::optional<step_plan::dependencies> graph;
  if (!in.ops_file.empty()) graph = plan_graph(in);  // first: what is wrong with the ops is told before a long search
  step_plan out = plan_pipeline_and_cost(in);
  out.graph = std::move(graph);
  plan_tiles(in, out);
  return out;
}

step_plan plan_pipeline_and_cost(const plan_input& in) {
  step_plan out;
  check_sizes(in);
  plan_pipeline(in, out);
  out.cost_context = {.title = in.title, .assumed = in.model.assumed, .training = in.training, .parallel = in.parallel};
  out.cost = report_of(in, out.cost_context, out.run);
  if (out.split) put_split_into_report(in, *out.split, out.held, out);
  return out;
}

}  // namespace hocket_cli
