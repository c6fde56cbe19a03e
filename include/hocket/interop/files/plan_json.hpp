// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/interop/files/plan_answer.hpp>
#include <hocket/interop/files/plan_file.hpp>
#include <hocket/interop/files/plan_words.hpp>
#include <hocket/interop/files/report_json.hpp>
#include <hocket/interop/files/tiling_file.hpp>
#include <hocket/planner/plan/changes.hpp>
#include <hocket/planner/plan/compare_schedules.hpp>

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::interop {
// NOLINTBEGIN(bugprone-unchecked-optional-access): what is read there, the reader or the caller has seen

namespace detail {

inline nlohmann::ordered_json choice_as_json(const plan_input& in, const plan_answer& p) {
  using nlohmann::ordered_json;
  const planner::strategy_plan& c = in.sizes->searched;
  ordered_json to;
  for (const std::string& key : in.open) {
    const std::string value = chosen(in, p, key);
    to["open"][key] = key == "recompute" ? ordered_json(value) : ordered_json::parse(value);
  }
  to["dp"] = in.parallel.dp;
  to["held_fixed"] = held_fixed(in, p);
  const auto priced = [](const planner::scored_strategy& x) {
    return ordered_json{{"step_seconds", seconds_by_formula(x)}, {"bytes", x.cost.memory.count()}};
  };
  to["step_seconds"] = planner::seconds_of(p);
  to["bytes"] = static_cast<std::int64_t>(p.fullest().peak.total_bytes().ceiling().num());
  to[in.search_split ? "split_by_themselves" : "simulated"] = in.sizes->planned;
  to[in.search_split ? "splits_that_fit" : "simulated_that_fit"] = in.sizes->planned_that_fit;
  to["covered"] = in.sizes->covered;
  to["proof"] = proof_of(*in.sizes, in.search_split);
  if (!c.front.empty()) to["all_layers_alike"] = priced(c.front.front());
  if (!c.front.empty()) to["leanest"] = priced(c.front.back());
  for (const auto& x : c.best_beyond_memory) to["with_more_memory"] = priced(x);
  to["named"] = c.named;
  to["evaluated"] = c.evaluated;
  to["fitting"] = c.fitting;
  for (std::size_t i = 0; i < planner::rejection_count; ++i)
    to["rejected"][std::string(to_string(static_cast<planner::rejection>(i)))] = c.rejected[i];
  return to;
}

inline nlohmann::ordered_json dependencies_as_json(const plan_input& in, const plan_answer::dependencies& g) {
  return {{"ops", g.ops},
          {"streams", g.streams},
          {"rules", in.ordered ? "ordered" : "data"},
          {"edges_before", g.rule_edges},
          {"edges_after", g.kept_edges},
          {"edges_between_streams", g.cross_stream_edges},
          {"waits", g.waits}};
}

inline nlohmann::ordered_json pipeline_as_json(const plan_input& in, const plan_answer& p) {
  using nlohmann::ordered_json;
  ordered_json ranks = ordered_json::array();
  for (std::size_t r = 0; r < p.run.ranks.size(); ++r)
    ranks.push_back({{"rank", r},
                     {"busy_us", static_cast<double>(p.run.ranks[r].busy) / 1e3},
                     {"idle_us", static_cast<double>(p.run.ranks[r].idle) / 1e3},
                     {"peak_in_flight", p.run.ranks[r].peak_in_flight}});
  ordered_json stages = ordered_json::array();
  for (const auto& s : p.stages)
    stages.push_back(
        {{"layers", s.layers}, {"forward_us", s.forward.count() * 1e6}, {"backward_us", s.backward.count() * 1e6}});
  ordered_json out = {{"schedule", in.schedule.name},
                      {"groups", in.schedule.groups},
                      {"ranks", in.parallel.pp},
                      {"chunks", in.parallel.vp},
                      {"micro_batches", in.micro_batches()},
                      {"stage_times", in.measured ? "measured" : "predicted"},
                      {"stages", std::move(stages)},
                      {"hop_us", p.hop.count() * 1e6},
                      {"makespan_us", static_cast<double>(p.run.makespan) / 1e3},
                      {"lower_bound_us", static_cast<double>(p.run.lower_bound) / 1e3},
                      {"bubble", p.run.bubble()},
                      {"per_rank", std::move(ranks)}};
  if (!p.found_by.empty()) out["found_by"] = p.found_by;
  if (!p.why_even.empty()) out["split_even_because"] = p.why_even;
  return out;
}

inline nlohmann::ordered_json split_as_json(const plan_input& in, const planner::layer_split& s) {
  using nlohmann::ordered_json;
  ordered_json to;
  to["searched"] = s.searched;
  for (const auto& stage : s.plan.stages) {
    ordered_json at = ordered_json::object();
    for (std::size_t w = 0; w < s.levels.size(); ++w) at[level_name(s.levels[w], in.replay)] = layers_at(stage, w);
    to["stages"].push_back({{"rank", stage.rank},
                            {"chunk", stage.chunk},
                            {"first_layer", stage.first_layer},
                            {"layers", stage.layers},
                            {"layers_at", std::move(at)}});
  }
  if (s.step_seconds > 0) {
    to["step_seconds"] = s.step_seconds;
    to["simulated"] = true;
    to["lower_bound_seconds"] = bound_seconds(s);
    to["proved"] = s.plan.proved;
  }
  if (s.even_seconds > 0) to["even_split_seconds"] = s.even_seconds;
  to["mind_formers"] = pasted_lists(in, s);
  return to;
}

/// "parallel" of a changed step: the sizes that differ from the file's. Where the file leaves sizes open, all of them.
inline nlohmann::ordered_json parallel_edit(const plan_input& in, const planner::planned_change& x) {
  struct size {
    const char* key;
    std::int64_t cost::parallel::* member;
  };
  constexpr size sizes[] = {{"tp", &cost::parallel::tp},   {"pp", &cost::parallel::pp},
                            {"vp", &cost::parallel::vp},   {"dp", &cost::parallel::dp},
                            {"cp", &cost::parallel::cp},   {"ep", &cost::parallel::ep},
                            {"etp", &cost::parallel::etp}, {"copies", &cost::parallel::copies}};
  const bool all = !in.open.empty();
  nlohmann::ordered_json out = nlohmann::ordered_json::object();
  for (const size& each : sizes)
    if (all || x.parallel.*each.member != in.parallel.*each.member) out[each.key] = x.parallel.*each.member;
  if (all || x.parallel.zero != in.parallel.zero) out["zero"] = static_cast<int>(x.parallel.zero);
  if (all) out["sequence_parallel"] = x.parallel.sequence_parallel;
  constexpr const char* levels[] = {"none", "selective", "full"};
  const bool open = in.search_recompute && x.family != "recompute";
  if (all || x.family == "recompute")
    out["recompute"] = open ? "search" : levels[static_cast<std::size_t>(x.parallel.recompute)];
  return out;
}
/// Whether the calls of all ranks finish.
[[nodiscard]] inline nlohmann::ordered_json calls_as_json(const checked_calls& x) {
  nlohmann::ordered_json out{{"verdict", to_string(x.answer.says)}, {"summary", x.summary()}, {"told", x.told}};
  if (x.answer.enough_slots > 0) out["enough_slots"] = x.answer.enough_slots;
  out["mesh"] = {
      {"tensor", x.mesh.tensor}, {"context", x.mesh.context}, {"data", x.mesh.data}, {"expert", x.mesh.expert}};
  return out;
}

/// "pipeline" of a changed step: null takes out what the change contradicts.
inline nlohmann::ordered_json pipeline_edit(const plan_input& in, const planner::planned_change& x,
                                            std::int64_t micro_batches) {
  nlohmann::ordered_json out = nlohmann::ordered_json::object();
  if (!in.open.empty() && in.search_split) out["split"] = "search";
  if (micro_batches != in.micro_batches()) out["micro_batches"] = nullptr;
  if (x.schedule == in.schedule) return out;
  const bool grouped = x.schedule.name == "interleaved";
  out["schedule"] = x.schedule.name;
  out["groups"] = grouped ? nlohmann::ordered_json(x.schedule.groups) : nullptr;
  out["kappa"] = grouped && x.schedule.kappa > 0 ? nlohmann::ordered_json(x.schedule.kappa) : nullptr;
  return out;
}
/// What to write into the plan file for a change, as a JSON merge patch (RFC 7396); null if no file says it.
inline nlohmann::ordered_json edit_of(const plan_input& in, const planner::planned_change& x) {
  if (x.what == planner::offload_change) return nullptr;
  nlohmann::ordered_json out = nlohmann::ordered_json::object();
  const bool all = !in.open.empty();
  const auto put = [&](const char* key, nlohmann::ordered_json part) {
    if (!part.empty()) out[key] = std::move(part);
  };
  put("parallel", parallel_edit(in, x));
  if (all || x.micro_batch != in.training.micro_batch) out["training"]["micro_batch"] = x.micro_batch;
  if (x.global_batch != in.training.global_batch) out["training"]["global_batch"] = x.global_batch;
  put("pipeline", pipeline_edit(in, x, x.global_batch / (x.micro_batch * x.parallel.dp)));
  return out;
}

}  // namespace detail

/// The predicted step with its parts, as report.json has it. Precondition: has_predicted_step(p).
[[nodiscard]] inline nlohmann::ordered_json predicted_step_as_json(const plan_input& in, const plan_answer& p) {
  const machine_input& on = *in.told.on;
  const double seconds = planner::seconds_of(p);
  nlohmann::ordered_json parts = nlohmann::ordered_json::array();
  for (const named_part& x : predicted_step_parts(in, p))
    parts.push_back({{"name", x.name}, {"key", x.key}, {"seconds", x.seconds}});
  return {{"machine", on.name},
          {"source", on.source},
          {"seconds", seconds},
          {"tokens_per_second_per_device", tokens_per_second_per_device(in, seconds)},
          {"parts", std::move(parts)}};
}

/// The comparison and the changes, as report.json has them. Each change says what to write into the plan file for it.
[[nodiscard]] inline nlohmann::ordered_json schedules_as_json(const planner::schedule_comparison& all) {
  using nlohmann::ordered_json;
  ordered_json list = ordered_json::array();
  for (const planner::compared_schedule& x : all.rows)
    list.push_back({{"schedule", x.schedule},
                    {"groups", x.groups},
                    {"chunks", x.chunks},
                    {"micro_batches", x.micro_batches},
                    {"makespan_us", static_cast<double>(x.makespan) / 1e3},
                    {"lower_bound_us", static_cast<double>(x.lower_bound) / 1e3},
                    {"bytes", x.bytes},
                    {"peak_in_flight", x.peak},
                    {"fits", x.fits},
                    {"pareto", x.best}});
  return {{"rows", std::move(list)}, {"impossible", all.impossible}, {"left_out", all.left_out}};
}

[[nodiscard]] inline nlohmann::ordered_json changes_as_json(const plan_input& in, const planner::tried_changes& tried) {
  using nlohmann::ordered_json;
  const auto as_json = [&](const planner::planned_change& x) {
    return ordered_json{{"what", x.what},
                        {"family", x.family},
                        {"step_seconds", x.step_seconds},
                        {"time", x.seconds_per_token / tried.now.seconds_per_token - 1},
                        {"bytes", x.bytes},
                        {"fits", x.fits},
                        {"edit", detail::edit_of(in, x)}};
  };
  ordered_json all = ordered_json::array();
  for (const planner::planned_change& x : tried.possible) all.push_back(as_json(x));
  return {{"now", as_json(tried.now)},
          {"all", std::move(all)},
          {"best", tried.best},
          {"refused", tried.refused},
          {"left_out", tried.left_out},
          {"not_tried", tried.not_tried},
          {"nothing_fits", tried.nothing_fits()}};
}

/// report.json: the whole plan (docs/plan.md).
/// @param schedules  of planner::compare_schedules
/// @param tried      of planner::try_changes
[[nodiscard]] inline std::string plan_as_json(const plan_input& in, const plan_answer& p,
                                              const planner::schedule_comparison& schedules,
                                              const planner::tried_changes& tried) {
  using nlohmann::ordered_json;
  ordered_json out;
  out["version"] = 1;
  out["title"] = in.title;
  if (in.sizes) out["chosen"] = detail::choice_as_json(in, p);
  if (p.graph) out["dependencies"] = detail::dependencies_as_json(in, *p.graph);
  out["pipeline"] = detail::pipeline_as_json(in, p);
  if (p.calls) out["calls"] = detail::calls_as_json(*p.calls);
  if (has_predicted_step(p)) out["predicted_step"] = predicted_step_as_json(in, p);
  if (p.split) out["split"] = detail::split_as_json(in, *p.split);
  ordered_json memory = ordered_json::array();
  const auto whole = [](const cost::rational& x) { return static_cast<std::int64_t>(x.ceiling().num()); };
  for (const auto& m : p.cost.memory)
    memory.push_back({{"rank", m.on_rank.rank},
                      {"layers", m.on_rank.layers},
                      {"fits", in.fits(m)},
                      {"static_bytes", whole(m.peak.static_bytes)},
                      {"activation_bytes", whole(m.peak.kept_bytes)},
                      {"moment_bytes", whole(m.peak.workspace_bytes + m.peak.transient_bytes())},
                      {"peak_bytes", whole(m.peak.total_bytes())},
                      {"left_bytes", in.memory.usable().count() - whole(m.peak.total_bytes())},
                      {"moment", to_string(m.peak.moment())}});
  out["memory_limit_bytes"] = in.memory.capacity.count();
  out["memory_reserve_bytes"] = in.memory.reserve.count();
  out["memory"] = std::move(memory);
  if (p.tiles) out["fused_operator"] = tiling_answer(*p.tiles);
  out["changes"] = changes_as_json(in, tried);
  out["schedules"] = schedules_as_json(schedules);
  // The cost report prints its own JSON, because FLOPs of a step need more digits than a double has.
  std::string text = out.dump(1);
  text.erase(text.find_last_of('}'));
  while (text.back() == '\n' || text.back() == ' ') text.pop_back();
  return text + ",\n \"cost\": " + report_as_json(p.cost, p.cost_context) + "}\n";
}

// NOLINTEND(bugprone-unchecked-optional-access)
}  // namespace hocket::inline HOCKET_ABI::interop
