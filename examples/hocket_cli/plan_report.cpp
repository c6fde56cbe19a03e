// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "fixed.hpp"
#include "mind_formers.hpp"
#include "plan_step.hpp"
#include "tiling_problem.hpp"

namespace hocket_cli {
// NOLINTBEGIN(bugprone-unchecked-optional-access): what is read there, the caller has seen
namespace {

namespace cost = hocket::cost;
namespace planner = hocket::planner;

[[gnu::format(printf, 2, 3)]] void line(std::string& out, const char* format, ...) {
  std::va_list values, again;
  va_start(values, format);
  va_copy(again, values);
  const int length = std::vsnprintf(nullptr, 0, format, values);  // titles and file names are as long as they are
  const std::size_t at = out.size();
  if (length > 0) out.resize(at + static_cast<std::size_t>(length) + 1);
  if (length > 0) std::vsnprintf(out.data() + at, static_cast<std::size_t>(length) + 1, format, again);
  va_end(again);
  va_end(values);
  if (length > 0) out.back() = '\n';  // in the place of the terminator
  else out += '\n';
}

double ms(hocket::ticks ns) { return static_cast<double>(ns) / 1e6; }
double us(hocket::microseconds t) { return t.count(); }
double gib(const cost::rational& bytes) { return bytes.real() / bytes_per_gib; }
double above(double x, double bound) { return bound > 0 ? (x / bound - 1) * 100 : 0; }

/// The value of an open field, as the file would say it.
std::string chosen(const plan_input& in, const step_plan& plan, const std::string& key) {
  const cost::parallel& p = in.parallel;
  if (key == "recompute" && plan.split) return "by_stage";
  constexpr const char* levels[] = {"none", "selective", "full"};
  if (key == "recompute") return levels[static_cast<std::size_t>(p.recompute)];
  if (key == "sequence_parallel") return p.sequence_parallel ? "true" : "false";
  return std::to_string(key == "tp"       ? p.tp
                        : key == "pp"     ? p.pp
                        : key == "vp"     ? p.vp
                        : key == "cp"     ? p.cp
                        : key == "ep"     ? p.ep
                        : key == "etp"    ? p.etp
                        : key == "zero"   ? static_cast<std::int64_t>(p.zero)
                        : key == "copies" ? p.copies
                                          : in.training.micro_batch);
}

/// What was not looked at: sizes that the file says, and those that no search here tries.
std::string held_fixed(const plan_input& in, const step_plan& plan) {
  const bool with_experts = has_experts(in.model);
  std::string out;
  const auto add = [&](const std::string& what) { out += (out.empty() ? "" : ", ") + what; };
  for (const char* key : {"tp", "pp", "vp", "cp", "ep", "etp", "zero", "sequence_parallel", "copies", "micro_batch"}) {
    if (std::find(in.open.begin(), in.open.end(), key) != in.open.end()) continue;
    if ((std::string_view(key) == "ep" || std::string_view(key) == "etp") && !with_experts) continue;
    add(std::string(key) + " " + chosen(in, plan, key));
  }
  add("sequences " + std::to_string(in.training.global_batch));
  return out;
}

void graph_section(std::string& out, const plan_input& in, const step_plan& p) {
  if (!p.graph) return;
  const auto& g = *p.graph;
  line(out, "Dependencies of %s (%s rules)", in.ops_file.c_str(), in.ordered ? "ordered" : "data");
  line(out, "  ops                    %9zu on %zu streams", g.ops, g.streams);
  line(out, "  edges before pruning   %9zu", g.rule_edges);
  line(out, "  edges after pruning    %9zu  (the transitive reduction)", g.kept_edges);
  line(out, "  between streams        %9zu", g.cross_stream_edges);
  line(out, "  event waits needed     %9zu  (the fewest that keep the order)", g.waits);
  out += '\n';
}

void pipeline_section(std::string& out, const plan_input& in, const step_plan& p) {
  line(out, "Pipeline: %s%s%s, %lld ranks x %lld chunks, %lld micro-batches", in.schedule.name.c_str(),
       in.schedule.name == "interleaved" ? ", groups " : "",
       in.schedule.name == "interleaved" ? in.schedule.groups.c_str() : "", static_cast<long long>(in.parallel.pp),
       static_cast<long long>(in.parallel.vp), static_cast<long long>(in.micro_batches()));
  if (!p.found_by.empty())
    line(out, "  schedule               searched for (none is named), found by: %s", p.found_by.c_str());
  const auto& s = p.stages;
  line(out, "  stage times            forward %.3f ms, backward %.3f ms; last stage %.3f and %.3f (%s)",
       s.front().forward.count() * 1e3, s.front().backward.count() * 1e3, s.back().forward.count() * 1e3,
       s.back().backward.count() * 1e3,
       in.measured             ? "measured"
       : in.timed_by_machine() ? "predicted from the rates of the machine"
                               : "predicted from FLOPs, peak and efficiency");
  line(out, "  hop between ranks      %.3f ms", p.hop.count() * 1e3);
  line(out, "  makespan               %9.3f ms", ms(p.run.makespan));
  line(out, "  lower bound            %9.3f ms  (makespan is %.2f %% above)", ms(p.run.lower_bound),
       above(static_cast<double>(p.run.makespan), static_cast<double>(p.run.lower_bound)));
  line(out, "  bubble                 %9.2f %%", p.run.bubble() * 100);
  line(out, "  rank      busy ms      idle ms   peak in flight (chunks)");
  for (std::size_t r = 0; r < p.run.ranks.size(); ++r)
    line(out, "  %4zu %12.3f %12.3f %12u", r, ms(p.run.ranks[r].busy), ms(p.run.ranks[r].idle),
         p.run.ranks[r].peak_in_flight);
  out += '\n';
}

/// A level of recompute in words, with what MindFormers calls it.
struct named_level {
  std::string name;
  std::vector<std::string> select;  ///< its patterns
};
named_level named(const cost::recompute_choice& how) {
  if (how.level == cost::recompute::full) return {"full", {}};
  if (how.level == cost::recompute::selective) return {"selective", {}};
  if (how.operations == cost::replay_set{.activation = true})
    return {"activation",
            {R"(feed_forward\.mul)", R"(feed_forward\.w1\.activation)", R"(feed_forward\.w1\.reshape)",
             R"(feed_forward\.w2\.reshape)"}};
  return {"none", {}};
}
double bound_of(const planner::layer_split& s) { return static_cast<double>(s.plan.lower_bound.count()) / 1e9; }
std::string pasted_lists(const plan_input& in, const planner::layer_split& split) {
  std::vector<pasted_level> levels;
  for (const cost::recompute_choice& how : split.levels) {
    const named_level x = named(how);
    levels.push_back(
        {x.select, how.level == cost::recompute::full, how.level == cost::recompute::selective && x.select.empty()});
  }
  std::vector<std::int64_t> runs;
  for (const cost::repeated_layer& each : in.model.layers) runs.push_back(each.count);
  return mind_formers(levels, split.plan, static_cast<std::uint32_t>(in.parallel.pp),
                      static_cast<std::uint32_t>(in.parallel.vp), runs);
}
std::int64_t layers_at(const hocket::planner::split_stage& stage, std::size_t way) {
  return std::count(stage.levels.begin(), stage.levels.end(), static_cast<std::uint32_t>(way));
}

// Which layers each stage runs, what they compute again, and the lists to paste.
void split_section(std::string& out, const plan_input& in, const step_plan& p) {
  if (!p.why_even.empty()) line(out, "Split: even, because %s\n", p.why_even.c_str());
  if (!p.split) return;
  const planner::layer_split& s = *p.split;
  std::vector<std::string> names;
  for (const cost::recompute_choice& how : s.levels) names.push_back(named(how).name);
  line(out, "Split of the layers: %s", s.searched ? "searched for, because the file leaves it open" : "as given");
  std::string head = "  stage   rank   layers";
  for (const auto& name : names) head += std::string(name.size() < 11 ? 12 - name.size() : 1, ' ') + name;
  line(out, "%s", head.c_str());
  for (std::size_t i = 0; i < s.plan.stages.size(); ++i) {
    const auto& stage = s.plan.stages[i];
    char text[64];
    std::snprintf(text, sizeof text, "  %5zu %6u %8lld", i, stage.rank, static_cast<long long>(stage.layers));
    std::string row = text;
    for (std::size_t w = 0; w < names.size(); ++w) {
      std::snprintf(text, sizeof text, "%*lld", static_cast<int>(std::max<std::size_t>(12, names[w].size() + 1)),
                    static_cast<long long>(layers_at(stage, w)));
      row += text;
    }
    line(out, "%s", row.c_str());
  }
  if (s.step_seconds > 0) {
    line(out, "  all micro-batches      %9.3f s, simulated%s", s.step_seconds,
         s.plan.proved ? ", proved: under this schedule no split and no levels are shorter" : "");
    if (!s.plan.proved) line(out, "  no shorter than        %9.3f s", bound_of(s));
    if (s.even_seconds > 0) line(out, "  the even split         %9.3f s with its best levels", s.even_seconds);
    else line(out, "  the even split         does not fit, whatever is computed again");
  }
  line(out, "  for MindFormers");
  out += pasted_lists(in, s);
  out += '\n';
}

void tiling_section(std::string& out, const plan_input& in, const step_plan& p) {
  if (!p.tiles) return;
  const auto& t = *p.tiles;
  line(out, "Fused operator: %lld rows, k %lld, n %lld", static_cast<long long>(in.fused->axis.rows),
       static_cast<long long>(in.fused->shape.k), static_cast<long long>(in.fused->shape.n));
  std::string tiles;
  for (const std::int64_t rows : t.tiles()) tiles += (tiles.empty() ? "" : " + ") + std::to_string(rows);
  line(out, "  tiles                  %s", tiles.c_str());
  line(out, "  predicted              %9.1f us", us(t.predicted));
  line(out, "  not cut                %9.1f us  (cutting saves %.1f %%)", us(t.serial),
       us(t.serial) > 0 ? (1 - us(t.predicted) / us(t.serial)) * 100 : 0);
  line(out, "  lower bound            %9.1f us", us(t.lower_bound));
  out += '\n';
}

void memory_section(std::string& out, const plan_input& in, const step_plan& p) {
  const double capacity = static_cast<double>(in.memory.capacity.count()) / bytes_per_gib,
               reserve = static_cast<double>(in.memory.reserve.count()) / bytes_per_gib;
  line(out, "Memory of each pipeline rank at its peak, GiB: of %.1f, %.1f are in reserve", capacity, reserve);
  line(out, "  rank   layers       states  activations   for a moment        peak   fits");
  for (const auto& m : p.cost.memory)
    line(out, "  %4lld %8lld %12.2f %12.2f %14.2f %11.2f   %s", static_cast<long long>(m.on_rank.rank),
         static_cast<long long>(m.on_rank.layers), gib(m.peak.static_bytes), gib(m.peak.kept_bytes),
         gib(m.peak.workspace_bytes + m.peak.transient_bytes()), gib(m.peak.total_bytes()), in.fits(m) ? "yes" : "NO");
  const cost::rank_memory& fullest = p.cost.memory[fullest_rank(p.cost)];
  const double left = capacity - reserve - gib(fullest.peak.total_bytes());
  line(out, "  rank %lld needs most, %.*s: %.2f GiB are %s", static_cast<long long>(fullest.on_rank.rank),
       static_cast<int>(to_string(fullest.peak.moment()).size()), to_string(fullest.peak.moment()).data(),
       std::abs(left), left < 0 ? "missing" : "left");
  out += '\n';
}

// The one figure of the page. The report of costs has the same step by formulas, which take the bubble as even.
void step_section(std::string& out, const plan_input& in, const step_plan& p) {
  if (!has_predicted_step(p)) return;
  const double whole = predicted_step_seconds(in, p);
  line(out, "Step, predicted for %s", in.told.on->name.c_str());
  for (const named_part& x : predicted_step_parts(in, p))
    line(out, "  %-31s %9.4f s %6.1f %%", x.name, x.seconds, 100 * x.seconds / whole);
  line(out, "  %-31s %9.4f s", "step", whole);
  line(out, "  %-31s %9.1f", "tokens/s per device", tokens_per_second_per_device(in, whole));
  out += '\n';
}

cost::rational fullest(const step_plan& p) { return p.cost.memory[fullest_rank(p.cost)].peak.total_bytes(); }

double seconds_by_formula(const planner::scored_strategy& x) { return static_cast<double>(x.cost.step.count()) / 1e9; }
double gib_by_formula(const planner::scored_strategy& x) {
  return static_cast<double>(x.cost.memory.count()) / bytes_per_gib;
}

/// What is proved of the chosen sizes, in words.
std::string proof_of(const planner::sizes_answer& sizes, bool splits) {
  if (sizes.stopped) return "none: stopped, the best until then";
  if (splits && sizes.without_split > 0)
    return "none: by their bounds " + std::to_string(sizes.without_split) +
           " more sizes might be quicker with a split of their own";
  if (splits)
    return "by its bound no candidate is quicker with another split; which sizes are candidates is not proved";
  if (sizes.covered)
    return "every other that fits by formula does at least this much work on its busiest rank, or was simulated";
  return "none: others may be quicker than their formula says";
}

// What the file left open, what was chosen for it, and what it was chosen from.
void choice_section(std::string& out, const plan_input& in, const step_plan& p) {
  if (!in.sizes) return;
  const planner::strategy_plan& c = in.sizes->searched;
  line(out, "Chosen, because the file leaves it open: the fastest that fits");
  for (const std::string& key : in.open) line(out, "  %-22s %s", key.c_str(), chosen(in, p, key).c_str());
  line(out, "  held fixed             %s", held_fixed(in, p).c_str());
  line(out, "  predicted step         %9.3f s with %.2f GiB on the fullest rank, %lld data-parallel ranks",
       predicted_step_seconds(in, p), gib(fullest(p)), static_cast<long long>(in.parallel.dp));
  line(out, "  compared               %9lld named, %lld possible, %lld fit: each priced by formula or rejected",
       static_cast<long long>(c.named), static_cast<long long>(c.evaluated), static_cast<long long>(c.fitting));
  if (in.search_split)
    line(out, "  split by themselves    %9zu sizes, those quick or lean if all layers are alike; %zu fit",
         in.sizes->planned, in.sizes->planned_that_fit);
  else
    line(out, "  simulated              %9zu, the fastest by formula first; %zu fit", in.sizes->planned,
         in.sizes->planned_that_fit);
  line(out, "  proof                  %s", proof_of(*in.sizes, in.search_split).c_str());
  if (!c.front.empty())
    line(out, "  all layers alike       %9.3f s with %.2f GiB, by formula", seconds_by_formula(c.front.front()),
         gib_by_formula(c.front.front()));
  if (!c.front.empty())
    line(out, "  the leanest            %9.3f s with %.2f GiB, by formula", seconds_by_formula(c.front.back()),
         gib_by_formula(c.front.back()));
  for (const auto& x : c.best_beyond_memory)
    line(out, "  with more memory       %9.3f s with %.2f GiB, by formula", seconds_by_formula(x), gib_by_formula(x));
  for (std::size_t i = 0; i < planner::rejection_count; ++i)
    if (c.rejected[i] > 0)
      line(out, "  rejected               %9lld %s", static_cast<long long>(c.rejected[i]),
           std::string(to_string(static_cast<planner::rejection>(i))).c_str());
  out += '\n';
}

nlohmann::ordered_json choice_as_json(const plan_input& in, const step_plan& p) {
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
  to["step_seconds"] = predicted_step_seconds(in, p);
  to["bytes"] = static_cast<std::int64_t>(fullest(p).ceiling().num());
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

nlohmann::ordered_json dependencies_as_json(const plan_input& in, const step_plan::dependencies& g) {
  return {{"ops", g.ops},
          {"streams", g.streams},
          {"rules", in.ordered ? "ordered" : "data"},
          {"edges_before", g.rule_edges},
          {"edges_after", g.kept_edges},
          {"edges_between_streams", g.cross_stream_edges},
          {"waits", g.waits}};
}

nlohmann::ordered_json pipeline_as_json(const plan_input& in, const step_plan& p) {
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

nlohmann::ordered_json split_as_json(const plan_input& in, const planner::layer_split& s) {
  using nlohmann::ordered_json;
  ordered_json to;
  to["searched"] = s.searched;
  for (const auto& stage : s.plan.stages) {
    ordered_json at = ordered_json::object();
    for (std::size_t w = 0; w < s.levels.size(); ++w) at[named(s.levels[w]).name] = layers_at(stage, w);
    to["stages"].push_back({{"rank", stage.rank},
                            {"chunk", stage.chunk},
                            {"first_layer", stage.first_layer},
                            {"layers", stage.layers},
                            {"layers_at", std::move(at)}});
  }
  if (s.step_seconds > 0) {
    to["step_seconds"] = s.step_seconds;
    to["simulated"] = true;
    to["lower_bound_seconds"] = bound_of(s);
    to["proved"] = s.plan.proved;
  }
  if (s.even_seconds > 0) to["even_split_seconds"] = s.even_seconds;
  to["mind_formers"] = pasted_lists(in, s);
  return to;
}

}  // namespace

nlohmann::ordered_json predicted_step_as_json(const plan_input& in, const step_plan& p) {
  const machine_input& on = *in.told.on;
  const double seconds = predicted_step_seconds(in, p);
  nlohmann::ordered_json parts = nlohmann::ordered_json::array();
  for (const named_part& x : predicted_step_parts(in, p))
    parts.push_back({{"name", x.name}, {"key", x.key}, {"seconds", x.seconds}});
  return {{"machine", on.name},
          {"source", on.source},
          {"seconds", seconds},
          {"tokens_per_second_per_device", tokens_per_second_per_device(in, seconds)},
          {"parts", std::move(parts)}};
}

namespace {
/// "parallel" of a changed step: the sizes that differ from the file's. Where the file leaves sizes open, all of them.
nlohmann::ordered_json parallel_edit(const plan_input& in, const planned_change& x) {
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
/// "pipeline" of a changed step: null takes out what the change contradicts.
nlohmann::ordered_json pipeline_edit(const plan_input& in, const planned_change& x, std::int64_t micro_batches) {
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
nlohmann::ordered_json edit_of(const plan_input& in, const planned_change& x) {
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
}  // namespace

nlohmann::ordered_json schedules_as_json(const schedule_comparison& all) {
  using nlohmann::ordered_json;
  ordered_json list = ordered_json::array();
  for (const compared_schedule& x : all.rows)
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

nlohmann::ordered_json changes_as_json(const plan_input& in, const tried_changes& tried) {
  using nlohmann::ordered_json;
  const auto as_json = [&](const planned_change& x) {
    return ordered_json{{"what", x.what},
                        {"family", x.family},
                        {"step_seconds", x.step_seconds},
                        {"time", x.seconds_per_token / tried.now.seconds_per_token - 1},
                        {"bytes", x.bytes},
                        {"fits", x.fits},
                        {"edit", edit_of(in, x)}};
  };
  ordered_json all = ordered_json::array();
  for (const planned_change& x : tried.possible) all.push_back(as_json(x));
  return {{"now", as_json(tried.now)},
          {"all", std::move(all)},
          {"best", tried.best},
          {"refused", tried.refused},
          {"left_out", tried.left_out},
          {"not_tried", tried.not_tried},
          {"nothing_fits", tried.nothing_fits()}};
}

std::string plan_as_text(const plan_input& in, const step_plan& p) {
  std::string out;
  line(out, "%s", in.title.c_str());
  line(out, "%lld devices: tp %lld, pp %lld, dp %lld, %lld chunks; global batch %lld x %lld tokens",
       static_cast<long long>(in.devices), static_cast<long long>(in.parallel.tp),
       static_cast<long long>(in.parallel.pp), static_cast<long long>(in.parallel.dp),
       static_cast<long long>(in.parallel.vp), static_cast<long long>(in.training.global_batch),
       static_cast<long long>(in.training.sequence));
  out += '\n';
  choice_section(out, in, p);
  graph_section(out, in, p);
  split_section(out, in, p);
  pipeline_section(out, in, p);
  step_section(out, in, p);
  memory_section(out, in, p);
  tiling_section(out, in, p);
  return out + "Cost\n" + report_as_text(p.cost, p.cost_context);
}

std::string plan_as_json(const plan_input& in, const step_plan& p, const schedule_comparison& schedules,
                         const tried_changes& tried) {
  using nlohmann::ordered_json;
  ordered_json out;
  out["version"] = 1;
  out["title"] = in.title;
  if (in.sizes) out["chosen"] = choice_as_json(in, p);
  if (p.graph) out["dependencies"] = dependencies_as_json(in, *p.graph);
  out["pipeline"] = pipeline_as_json(in, p);
  if (has_predicted_step(p)) out["predicted_step"] = predicted_step_as_json(in, p);
  if (p.split) out["split"] = split_as_json(in, *p.split);
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
}  // namespace hocket_cli
