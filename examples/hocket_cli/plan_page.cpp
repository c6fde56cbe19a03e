// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "plan_page.hpp"

#include <hocket/cost/model/memory_kinds.hpp>
#include <hocket/tiling/timeline.hpp>

#include <algorithm>
#include <hocket_report_page.hpp>  // report/, made by embed.cmake
#include <utility>

#include "command.hpp"

namespace hocket_cli {
// NOLINTBEGIN(bugprone-unchecked-optional-access): what is read there, the caller has seen
namespace {

namespace cost = hocket::cost;
using nlohmann::ordered_json;

std::int64_t whole(const cost::rational& bytes) { return static_cast<std::int64_t>(bytes.ceiling().num()); }
double us(hocket::ticks ns) { return static_cast<double>(ns) / 1e3; }

ordered_json sizes_of(const plan_input& in, const step_plan& plan) {
  const cost::parallel& p = in.parallel;
  const cost::training& t = in.training;
  constexpr const char* levels[] = {"none", "selective", "full"};
  const bool by_stage = in.sizes && plan.split;
  return {{"devices", in.devices},
          {"tp", p.tp},
          {"pp", p.pp},
          {"dp", p.dp},
          {"cp", p.cp},
          {"ep", p.ep},
          {"chunks", p.vp},
          {"zero", static_cast<int>(p.zero)},
          {"recompute", by_stage ? "by stage" : levels[static_cast<std::size_t>(p.recompute)]},
          {"sequence_parallel", p.sequence_parallel},
          {"sequence", t.sequence},
          {"micro_batch", t.micro_batch},
          {"global_batch", t.global_batch},
          {"micro_batches", in.micro_batches()},
          {"layers", in.model.layer_count()},
          {"open", in.open}};
}

/// What the bytes of a rank at its peak are for, in the order of kinds_of_memory.
constexpr const char* memory_kind_names[] = {"weights",
                                             "gradients",
                                             "optimizer states",
                                             "activations",
                                             "gathered by collectives",
                                             "buffers of the framework",
                                             "other tensors of a moment"};
/// Bytes of each kind, rounded up.
ordered_json kinds_of_memory(const plan_input& in, const cost::rank_memory& m) {
  const cost::memory_kinds kinds = cost::kinds_of(m.peak, m.parameters, in.training, in.parallel);
  ordered_json out = ordered_json::array();
  for (const cost::rational& bytes : {kinds.weights, kinds.gradients, kinds.optimizer, kinds.activations,
                                      kinds.gathered, kinds.buffers, kinds.working})
    out.push_back(whole(bytes));
  return out;
}

ordered_json memory_of(const plan_input& in, const step_plan& p) {
  // All ranks up to so many; then every so manieth, and the fullest.
  constexpr std::size_t most_ranks = 1024;
  const auto& memory = p.cost.memory;
  const std::size_t every = (memory.size() + most_ranks - 1) / most_ranks;
  const std::size_t fullest = fullest_rank(p.cost);
  ordered_json ranks = ordered_json::array();
  std::size_t over = 0;
  for (std::size_t r = 0; r < memory.size(); ++r) {
    over += in.fits(memory[r]) ? 0 : 1;
    if (r % every != 0 && r != fullest) continue;
    ranks.push_back({{"rank", r},
                     {"layers", memory[r].on_rank.layers},
                     {"static_bytes", whole(memory[r].peak.static_bytes)},
                     {"kept_bytes", whole(memory[r].peak.kept_bytes)},
                     {"moment_bytes", whole(memory[r].peak.workspace_bytes + memory[r].peak.transient_bytes())},
                     {"peak_bytes", whole(memory[r].peak.total_bytes())},
                     {"moment", to_string(memory[r].peak.moment())},
                     {"kinds", kinds_of_memory(in, memory[r])},
                     {"fits", in.fits(memory[r])}});
  }
  const cost::memory_peak& peak = memory[fullest].peak;
  return {{"capacity", in.memory.capacity.count()},
          {"reserve", in.memory.reserve.count()},
          {"kinds", memory_kind_names},
          {"rank_count", memory.size()},
          {"over", over},
          {"fullest", fullest},
          {"fullest_peak_bytes", whole(peak.total_bytes())},
          {"fullest_moment", to_string(peak.moment())},
          {"fullest_kinds", kinds_of_memory(in, memory[fullest])},
          {"ranks", std::move(ranks)}};
}

/// Parts of a step in the order that they are shown.
struct shown_parts {
  ordered_json list = ordered_json::array();
  double sum_us = 0;
  void add(std::string_view name, const char* kind, double of_it) {
    if (!(of_it > 0)) return;
    list.push_back({{"name", name}, {"kind", kind}, {"us", of_it}});
    sum_us += of_it;
  }
};

/// Microseconds of the work of the pipeline rank `r`, taken apart.
struct rank_work {
  double forward = 0, backward = 0, again = 0, collectives = 0;
};
rank_work work_of(const plan_input& in, const step_plan& p, std::uint32_t r) {
  double forward = 0;
  const auto place = p.schedule->placement();
  const std::uint32_t directions = p.schedule->directions();
  for (std::uint32_t d = 0; d < directions; ++d)
    for (std::uint32_t s = 0; s < p.stages.size(); ++s)
      if (place.rank_of(s, d) == r) forward += p.stages[s].forward.count() * 1e6;
  forward *= static_cast<double>(in.micro_batches()) / directions;
  rank_work out{.forward = forward, .backward = us(p.run.ranks[r].busy) - forward};
  if (!in.timed_by_machine() || !p.cost_context.step) return out;
  // The rates say what is computing; what stages take beyond that is collectives that nothing hides.
  const cost::layer_time& one = p.cost_context.step->rank_times[r];
  const double to_us = 1e6 * static_cast<double>(in.micro_batches());
  const double computed = to_us * one.compute().count(), busy = us(p.run.ranks[r].busy);
  if (computed > busy) return out;
  return {to_us * one.forward.count(), to_us * one.backward.count(), to_us * one.again.count(), busy - computed};
}

/// What the parts around the pipeline look like.
const char* kind_of_part(std::string_view key) {
  if (key == "exchange_exposed") return "input-grad";
  if (key == "slowest_device") return "wait";
  if (key == "optimizer") return "weight-grad";
  return "states";
}

/// How the whole step comes together, on the rank that works most: parts that add up to "whole_us".
ordered_json waterfall_of(const plan_input& in, const step_plan& p) {
  const auto& ranks = p.run.ranks;
  const auto busiest = static_cast<std::uint32_t>(
      std::max_element(ranks.begin(), ranks.end(), [](const auto& a, const auto& b) { return a.busy < b.busy; }) -
      ranks.begin());
  const rank_work work = work_of(in, p, busiest);
  const auto& idle = ranks[busiest].idle_by;
  shown_parts parts;
  parts.add("forward", "forward", work.forward);
  parts.add("backward", "backward", work.backward);
  parts.add("computed again", "recompute", work.again);
  parts.add("collectives in layers, exposed", "communication", work.collectives);
  parts.add("idle: pipeline fills", "wait", us(idle.warm_up));
  parts.add("idle: steady state", "wait", us(idle.steady));
  parts.add("idle: pipeline drains", "wait", us(idle.drain));
  for (const named_part& x : predicted_step_parts(in, p))
    if (x.key != std::string_view("pipeline")) parts.add(x.name, kind_of_part(x.key), x.seconds * 1e6);
  const bool predicted = has_predicted_step(p);
  ordered_json out = {{"rank", busiest}, {"makespan_us", us(p.run.makespan)}, {"predicted_us", parts.sum_us}};
  out["whole_is"] = predicted ? "predicted" : "pipeline";
  if (const double measured = in.told.step_seconds * 1e6; measured > 0) {
    out["measured_us"] = measured;
    if (measured > parts.sum_us) out["whole_is"] = "measured";
    parts.add(predicted ? "beyond the prediction" : "outside of the pipeline", predicted ? "states" : "input-grad",
              measured - parts.sum_us);
  }
  out["whole_us"] = parts.sum_us;
  out["parts"] = std::move(parts.list);
  return out;
}

ordered_json pipeline_of(const plan_input& in, const step_plan& p) {
  ordered_json stages = ordered_json::array();
  constexpr std::size_t most_stages = 512;
  for (std::size_t i = 0; i < p.stages.size() && i < most_stages; ++i)
    stages.push_back({p.stages[i].layers, p.stages[i].forward.count() * 1e6, p.stages[i].backward.count() * 1e6});
  return {{"schedule", in.schedule.name},
          {"groups", in.schedule.name == "interleaved" ? in.schedule.groups : ""},
          {"found_by", p.found_by},
          {"stage_times", in.measured ? "measured" : "predicted"},
          {"hop_us", p.hop.count() * 1e6},
          {"makespan_us", us(p.run.makespan)},
          {"lower_bound_us", us(p.run.lower_bound)},
          {"bubble", p.run.bubble()},
          {"stage_count", p.stages.size()},
          {"stages", std::move(stages)}};
}

ordered_json graph_of(const plan_input& in, const step_plan::dependencies& g) {
  const auto pairs = [](const std::vector<hocket::graph::edge>& edges) {
    constexpr std::size_t most_edges = 600;  // a window of 24 ops has at most 276
    ordered_json list = ordered_json::array();
    for (std::size_t i = 0; i < edges.size() && i < most_edges; ++i) list.push_back({edges[i].source, edges[i].target});
    return list;
  };
  ordered_json ops = ordered_json::array();
  for (hocket::node_id op = g.densest_first; op < g.densest_end; ++op)
    ops.push_back({{"op", op}, {"stream", in.ops.stream(op)}, {"kind", to_string(in.ops.kind(op))}});
  return {{"file", in.ops_file},
          {"rules", in.ordered ? "ordered" : "data"},
          {"ops", g.ops},
          {"streams", g.streams},
          {"edges_before", g.rule_edges},
          {"edges_after", g.kept_edges},
          {"edges_between_streams", g.cross_stream_edges},
          {"waits", g.waits},
          {"rules_by_part", g.rules_by_part},
          {"kept_by_part", g.kept_by_part},
          {"densest", {{"ops", std::move(ops)}, {"kept", pairs(g.densest_kept)}, {"pruned", pairs(g.densest_rules)}}}};
}

ordered_json terms_of(const cost::report& r) {
  ordered_json groups = ordered_json::array();
  for (const auto& line : r.lines) {
    if (groups.empty() || groups.back()["name"] != line.group)
      groups.push_back({{"name", line.group}, {"unit", line.unit}, {"terms", ordered_json::array()}});
    groups.back()["terms"].push_back({{"name", line.name},
                                      {"value", value_of(line)},
                                      {"formula", line.formula},
                                      {"numbers", line.numbers},
                                      {"where", line.where},
                                      {"split", line.split == "1" ? "" : line.split},
                                      {"source", line.source},
                                      {"origin", to_string(line.how)}});
  }
  return groups;
}

ordered_json cost_of(const plan_input& in, const step_plan& p) {
  const auto& r = p.cost;
  const auto printed = [](const cost::rational& x) {
    cost::report_line line;
    line.value = x;
    return value_of(line);
  };
  ordered_json out = {{"parameters", printed(cost::rational(r.parameters.total))},
                      {"active", printed(cost::rational(r.parameters.active))},
                      {"tokens_per_step", printed(r.tokens_per_step)},
                      {"assumed", in.published.assumed},
                      {"groups", terms_of(r)}};
  if (r.flops) {
    out["flops_per_token"] = printed(r.flops->model_step / r.tokens_per_step);
    out["flops_per_step"] = printed(r.flops->model_step);
    out["hardware_flops_per_step"] = printed(r.flops->hardware_step);
  }
  if (const auto u = utilizations_of(r, p.cost_context))
    out["utilization"] = {{"mfu", u->mfu_ratio}, {"mfu_text", u->mfu}, {"hfu", u->hfu_ratio}, {"hfu_text", u->hfu}};
  return out;
}

ordered_json tiles_of(const plan_input& in, const step_plan& p) {
  ordered_json out = hocket::interop::tiling_answer(*p.tiles);
  out["rows"] = in.fused->axis.rows;
  const auto both = value_or_fail(hocket::tiling::before_and_after(*in.fused, p.tiles->tiles()), in.file);
  out["timeline"] = timeline_as_json(both);
  return out;
}

ordered_json document(const plan_input& in, const step_plan& p, const schedule_comparison& schedules,
                      const tried_changes& tried, const measured_report* measured) {
  const double seconds = in.told.step_seconds > 0 ? in.told.step_seconds : seconds_of(p);
  ordered_json out = {{"version", 1},
                      {"title", in.title},
                      {"hocket", HOCKET_VERSION_STRING},
                      {"file", in.file},
                      {"step_seconds", seconds},
                      {"step_is", in.told.step_seconds > 0 ? "measured"
                                  : p.cost_context.step    ? "predicted"
                                                           : "pipeline"},
                      {"tokens_per_second_per_device", tokens_per_second_per_device(in, seconds)},
                      {"sizes", sizes_of(in, p)},
                      {"memory", memory_of(in, p)},
                      {"waterfall", waterfall_of(in, p)},
                      {"pipeline", pipeline_of(in, p)},
                      {"changes", changes_as_json(in, tried)},
                      {"schedules", schedules_as_json(schedules)},
                      {"cost", cost_of(in, p)}};
  if (const std::string undrawn = why_undrawn(in); !undrawn.empty()) {
    out["undrawn"] = undrawn;
  } else {
    out["timeline"] = timeline_as_json(p.timeline);
    out["memory_over_time"] = memory_over_time(in, p);
  }
  if (p.graph) out["graph"] = graph_of(in, *p.graph);
  if (has_predicted_step(p)) out["predicted_step"] = predicted_step_as_json(in, p);
  if (p.tiles) out["tiles"] = tiles_of(in, p);
  if (measured != nullptr) out["measured"] = measured_as_json(*measured);
  return out;
}

}  // namespace

std::string json_in_script(const ordered_json& value) {
  const std::string text = value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  std::string out;
  out.reserve(text.size());
  // "<" stands only within texts, where < means the same. Without it there is neither </script> nor <!--.
  for (const char c : text)
    if (c == '<') out += "\\u003c";
    else out += c;
  return out;
}

std::string escaped_html(std::string_view text) {
  std::string out;
  for (const char c : text) switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: out += c;
    }
  return out;
}

std::string plan_as_page(const plan_input& in, const step_plan& p, const schedule_comparison& schedules,
                         const tried_changes& tried, const measured_report* measured) {
  const std::pair<std::string_view, std::string> values[] = {
      {"{{title}}", escaped_html(in.title)},
      {"{{style}}", std::string(report_css())},
      {"{{data}}", json_in_script(document(in, p, schedules, tried, measured))},
      {"{{script}}", std::string(report_js())}};
  std::string out;
  std::string_view rest = report_html();
  for (const auto& [name, value] : values) {  // in the order of the file: what is put in is not looked at again
    const std::size_t at = rest.find(name);
    out += rest.substr(0, at);
    out += value;
    rest.remove_prefix(at + name.size());
  }
  return out += rest;
}

// NOLINTEND(bugprone-unchecked-optional-access)
}  // namespace hocket_cli
