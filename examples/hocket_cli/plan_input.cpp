// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <hocket/planner/strategy/solve.hpp>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <numeric>

#include "command.hpp"
#include "fixed.hpp"
#include "json_fields.hpp"
#include "plan_step.hpp"
#include "tiling_problem.hpp"

namespace hocket_cli {
namespace {

/// What "search" may stand for; left out as a whole, "parallel" leaves all of them open.
constexpr const char* open_keys[] = {"tp", "pp", "vp", "cp", "ep", "zero", "recompute", "sequence_parallel", "copies"};

/// Whether an object of sizes leaves those open that it does not name: it names neither tp, pp nor dp, so that the
/// layout is not its own.
bool names_no_layout(const nlohmann::json& parallel) {
  if (!parallel.is_object()) return false;
  return !parallel.contains("tp") && !parallel.contains("pp") && !parallel.contains("dp");
}

/// Takes each "search" out of an object and notes its key.
void take_open(nlohmann::json& object, const char* key, std::vector<std::string>& open) {
  if (!object.is_object() || !object.contains(key) || object[key] != "search") return;
  object.erase(key);
  open.emplace_back(key);
}

bool same_sizes(hocket::planner::strategy a, hocket::planner::strategy b) {
  a.how.recompute = b.how.recompute;
  return a == b;
}

/// What the pipeline of a file fixes of sizes that are open; 0: nothing.
struct fixed_sizes {
  std::int64_t stages = 0, micro_batches = 0;
};

/// The parts of a space in which every strategy has these.
std::vector<hocket::planner::strategy_space> parts_with(const plan_input& in,
                                                        const hocket::planner::strategy_space& space,
                                                        const fixed_sizes& fixed) {
  if (fixed.stages == 0 && fixed.micro_batches == 0) return {space};
  std::vector<hocket::planner::strategy_space> parts;
  const auto add = [&](std::int64_t tp, std::int64_t cp, std::int64_t pp, std::int64_t dp) {
    const std::int64_t batch = in.training.step.global_batch;
    for (const std::int64_t vp : space.chunks)
      for (const std::int64_t one : space.micro_batches) {
        if (fixed.stages > 0 && pp * vp != fixed.stages) continue;
        if (fixed.micro_batches > 0 && (batch % (one * dp) != 0 || batch / (one * dp) != fixed.micro_batches)) continue;
        parts.push_back(space);
        parts.back().tensor = {tp};
        parts.back().context = {cp};
        parts.back().pipeline = {pp};
        parts.back().chunks = {vp};
        parts.back().micro_batches = {one};
      }
  };
  for (const std::int64_t tp : space.tensor)
    for (const std::int64_t cp : space.context) {
      const std::int64_t rest = in.devices / (tp * cp);
      for (std::int64_t pp = 1; pp <= rest; ++pp)
        if (tp * cp * rest == in.devices && rest % pp == 0 && (space.pipeline.empty() || space.pipeline.front() == pp))
          add(tp, cp, pp, rest / pp);
    }
  return parts;
}

/// The report of several parts as that of one space.
hocket::planner::strategy_plan joined(std::vector<hocket::planner::strategy_plan> parts) {
  if (parts.size() == 1) return std::move(parts.front());
  const auto faster = [](const auto& a, const auto& b) {
    return a.cost.step != b.cost.step ? a.cost.step < b.cost.step : a.cost.memory < b.cost.memory;
  };
  hocket::planner::strategy_plan all;
  std::vector<hocket::planner::scored_strategy> fits;
  auto& beyond = all.best_beyond_memory;
  for (const auto& one : parts) {
    all.named += one.named;
    all.evaluated += one.evaluated;
    all.fitting += one.fitting;
    for (std::size_t i = 0; i < hocket::planner::rejection_count; ++i) all.rejected[i] += one.rejected[i];
    for (const auto& x : one.front) fits.insert(std::upper_bound(fits.begin(), fits.end(), x, faster), x);
    for (const auto& x : one.best_beyond_memory)
      if (beyond.empty() || faster(x, beyond.front())) beyond.assign(1, x);
  }
  for (const auto& x : fits)
    if (all.front.empty() || x.cost.memory < all.front.back().cost.memory) all.front.push_back(x);
  if (!beyond.empty() && !all.front.empty() && !faster(beyond.front(), all.front.front())) beyond.clear();
  return all;
}

/// Experts of a model that has none are no choice.
bool can_be_open(const plan_input& in, std::string_view key) { return key != "ep" || has_experts(in.model.layers); }

bool is_open(const plan_input& in, std::string_view key) {
  return std::find(in.open.begin(), in.open.end(), key) != in.open.end();
}

/// Every choice that agrees with what the file says.
hocket::planner::strategy_space space_of(const plan_input& in) {
  const hocket::cost::parallel& p = in.parallel;
  hocket::planner::strategy_space space{.context = {p.cp}, .expert = {p.ep}, .zero_bubble = false};
  if (is_open(in, "cp")) space.context = {1, 2, 4, 8, 16};
  if (is_open(in, "ep")) space.expert = hocket::planner::strategy_space{}.expert;
  if (!is_open(in, "tp")) space.tensor = {p.tp};
  if (!is_open(in, "pp")) space.pipeline = {p.pp};
  if (!is_open(in, "vp")) space.chunks = {p.vp};
  else if (in.schedule == "1f1b" || in.schedule == "gpipe") space.chunks = {1};
  if (!is_open(in, "zero")) space.zeros = {p.zero};
  if (!is_open(in, "copies")) space.copies = {p.copies};
  if (!is_open(in, "sequence_parallel")) space.sequence = {p.sequence_parallel};
  if (!is_open(in, "micro_batch")) space.micro_batches = {in.training.step.micro_batch};
  using hocket::cost::recompute;
  space.recomputes = {p.recompute};
  if (is_open(in, "recompute")) space.recomputes = {recompute::none, recompute::selective, recompute::full};
  return space;
}

/// Open choices need the rates of their links.
void check_rates(const plan_input& in) {
  struct need {
    bool needed;
    double rate;
    const char* key;
  };
  const hocket::cost::parallel& p = in.parallel;
  const hocket::cost::machine& rates = in.training.on->rates;
  if (rates.has_links()) return;
  const bool opens_tensor = is_open(in, "tp") || is_open(in, "cp");
  for (const need x :
       {need{p.cp > 1 || p.tp > 1 || (opens_tensor && in.devices > 1), rates.tensor_bytes, "tensor_bytes"},
        {has_experts(in.model.layers) && (p.ep > 1 || is_open(in, "ep")) && in.devices > 1, rates.expert_bytes,
         "expert_bytes"},
        {p.pp > 1 || (is_open(in, "pp") && in.devices > 1), rates.pipeline_bytes, "pipeline_bytes"},
        {in.devices > 1, rates.data_bytes, "data_bytes"}})
    if (x.needed && x.rate <= 0)
      fail(in.file + ": machine \"" + in.training.on->name + "\" has no \"" + x.key +
           "\", which the open choices need");
}

/// The strategies of a space.
template <class Held>
hocket::result<hocket::planner::strategy_plan> solve_for(const plan_input& in, const hocket::planner::cluster& on,
                                                         const hocket::planner::strategy_space& space,
                                                         const Held& held) {
  return hocket::planner::solve(hocket::planner::strategy_problem{list_of(in), in.training.step, on, space}, held);
}

/// Decides what is open: the fastest strategy that fits, of all that agree with what the file says.
void choose(plan_input& in, bool split_is_open, const fixed_sizes& fixed) {
  if (!in.training.on)
    fail(in.file + ": \"parallel\" leaves " + in.open.front() +
         " open, so \"training.machine\" must say how fast the devices are");
  using hocket::cost::recompute;
  hocket::planner::strategy_space space = space_of(in);
  check_rates(in);
  const auto held = [&](const hocket::planner::strategy& s, std::int64_t micro_batches, std::int64_t rank) {
    if (in.schedule == "search") return hocket::planner::held_in_closed_form{}(s, micro_batches, rank);
    return peak_of_named(in, {s.how.pp, s.how.vp, micro_batches}, static_cast<std::uint32_t>(rank));
  };
  const auto search = [&](const hocket::cost::device_memory& memory) {
    std::vector<hocket::planner::strategy_plan> parts;
    for (const auto& part : parts_with(in, space, fixed))
      parts.push_back(value_or_fail(
          solve_for(in, {in.devices, in.devices_per_node, memory, in.training.on->rates}, part, held), in.file));
    return joined(std::move(parts));
  };
  in.choice = search(in.memory);
  if (in.choice->named == 0)
    fail(in.file + ": no choice of what \"parallel\" leaves open divides the " + std::to_string(in.devices) +
         " devices" +
         (fixed.stages > 0 ? " and has the " + std::to_string(fixed.stages) + " stages of \"pipeline.split\"" : "") +
         (fixed.micro_batches > 0 ? " and has \"pipeline.micro_batches\" " + std::to_string(fixed.micro_batches) : ""));
  if (!in.choice->front.empty()) take(in, in.choice->front.front().of);
  // What fits depends on the split, so memory does not decide here: the fronts of time and memory, level by level.
  if (split_is_open)
    for (const recompute level : std::vector(space.recomputes)) {
      space.recomputes = {level};
      for (const auto& x : search({hocket::bytes(std::int64_t{1} << 60)}).front)
        if (std::none_of(in.candidates.begin(), in.candidates.end(),
                         [&](const auto& y) { return same_sizes(x.of, y); }))
          in.candidates.push_back(x.of);
    }
  if (!in.choice->front.empty()) return;
  if (in.candidates.empty()) fail_to_choose(in);
  take(in, in.candidates.front());
}

/// "even", "search", or layers of each stage. Not given: open if other choices are.
void read_split(plan_input& in, const json_object& pipeline) {
  in.search_split = !in.open.empty();
  if (!pipeline.has("split")) return;
  if (pipeline.at("split").is_array()) {
    in.search_split = false;
    in.split = pipeline.integers("split", 1, 4096, 65536);
    const std::int64_t sum = std::accumulate(in.split.begin(), in.split.end(), std::int64_t{0});
    const std::int64_t stages = in.parallel.pp * in.parallel.vp;
    const std::string is = "is " + shown(pipeline.at("split")) + ": ";
    if (static_cast<std::int64_t>(in.split.size()) != stages)
      pipeline.fail_at("split", is + std::to_string(in.split.size()) + " numbers, but pp x vp is " +
                                    std::to_string(stages) + " stages");
    if (const std::int64_t layers = in.model.layers.layer_count(); sum != layers)
      pipeline.fail_at("split", is + std::to_string(sum) + " layers, but the model has " + std::to_string(layers));
    return;
  }
  in.search_split = pipeline.choice("split", {"even", "search"}) == 1;
  if (!in.search_split) return;
  if (!in.training.on)
    pipeline.fail_at("split", "is \"search\", so \"training.machine\" must say how fast the devices are");
  if (in.forward_us) pipeline.fail_at("split", "is \"search\": give no measured stage times with it");
}

/// The devices, what each has and can, and the link between pipeline ranks.
void read_devices(plan_input& in, const json_object& v, bool searched) {
  const json_object cluster = v.object(
      "cluster", {"devices", "devices_per_node", "memory_gib", "reserve_gib", "peak_tflops", "efficiency", "links"});
  in.devices = cluster.integer("devices", 1, std::int64_t{1} << 20);
  in.devices_per_node = cluster.integer_or("devices_per_node", 8, 1, std::int64_t{1} << 20);
  if (!searched && in.devices != in.parallel.devices())
    cluster.fail_at("devices", "is " + std::to_string(in.devices) + ", but tp x pp x dp x cp is " +
                                   std::to_string(in.parallel.devices()));
  in.memory = read_memory(cluster);
  const std::string type = v.at("training").value("weights", "bf16");
  in.peak_tflops = cluster.object("peak_tflops", {"fp8", "bf16", "fp16", "fp32", "fp64"}).positive(type.c_str());
  if (cluster.has("efficiency")) in.efficiency = cluster.positive("efficiency");
  if (in.efficiency > 1) cluster.fail_at("efficiency", "must be at most 1");
  const json_object links = cluster.object("links", {"pipeline"});
  const json_object pipeline_link = links.object("pipeline", {"latency_us", "gb_per_s"});
  in.pipeline_link = {pipeline_link.number("latency_us"), pipeline_link.positive("gb_per_s")};
  if (in.pipeline_link.latency_us < 0) pipeline_link.fail_at("latency_us", "must not be negative");
}

void read_schedule(plan_input& in, const json_object& pipeline) {
  const auto word = [&](const char* key, std::initializer_list<std::string_view> names, const std::string& otherwise) {
    return pipeline.has(key) ? std::string(names.begin()[pipeline.choice(key, names)]) : otherwise;
  };
  in.schedule = word("schedule", {"1f1b", "gpipe", "interleaved", "search"}, "search");
  for (const char* key : {"groups", "kappa"})
    if (in.schedule == "search" && pipeline.has(key))
      pipeline.fail_at(key, "needs a \"schedule\": none is searched for");
  in.groups = word("groups", {"balanced", "last", "first", "paper", "least-memory"}, in.groups);
  in.kappa = static_cast<std::uint32_t>(pipeline.integer_or("kappa", 0, 1, 2));
  if (pipeline.has("forward_us") != pipeline.has("backward_us"))
    pipeline.fail_at(pipeline.has("forward_us") ? "backward_us" : "forward_us",
                     "is missing: measured times come in pairs");
  if (pipeline.has("forward_us")) {
    in.forward_us = pipeline.positive("forward_us");
    in.backward_us = pipeline.positive("backward_us");
  }
}

fixed_sizes read_fixed_sizes(const json_object& pipeline) {
  fixed_sizes fixed;
  if (pipeline.has("split") && pipeline.at("split").is_array()) {
    fixed.stages = static_cast<std::int64_t>(pipeline.at("split").size());
    if (fixed.stages == 0) pipeline.fail_at("split", "is empty");
  }
  fixed.micro_batches = pipeline.integer_or("micro_batches", 0, 1);
  return fixed;
}

void check_batch(const plan_input& in, const json_object& pipeline, const fixed_sizes& fixed) {
  const hocket::cost::training& t = in.training.step;
  if (t.global_batch % (t.micro_batch * in.parallel.dp) != 0)
    fail(in.file + ": training: \"global_batch\" of " + std::to_string(t.global_batch) +
         " is not divisible by micro_batch x dp = " + std::to_string(t.micro_batch * in.parallel.dp));
  if (fixed.micro_batches > 0 && fixed.micro_batches != in.micro_batches())
    pipeline.fail_at("micro_batches", "is " + std::to_string(fixed.micro_batches) +
                                          ", but global_batch / (micro_batch x dp) is " +
                                          std::to_string(in.micro_batches()));
}

}  // namespace

void take(plan_input& in, const hocket::planner::strategy& best) {
  in.parallel.tp = best.how.tp;
  in.parallel.pp = best.how.pp;
  in.parallel.vp = best.how.vp;
  in.parallel.dp = best.how.dp;
  in.parallel.cp = best.how.cp;
  in.parallel.ep = best.how.ep;
  in.parallel.zero = best.how.zero;
  in.parallel.recompute = best.how.recompute;
  in.parallel.copies = best.how.copies;
  in.parallel.sequence_parallel = best.how.sequence_parallel;
  in.training.step.micro_batch = best.micro_batch;
}

void fail_to_choose(const plan_input& in) {
  std::string names, why;
  for (const std::string& key : in.open) names += (names.empty() ? "" : ", ") + key;
  for (std::size_t i = 0; i < hocket::planner::rejection_count; ++i)
    if (in.choice->rejected[i] > 0)
      why += (why.empty() ? ": " : "; ") + std::to_string(in.choice->rejected[i]) + " x " +
             std::string(to_string(static_cast<hocket::planner::rejection>(i)));
  fail(in.file + ": \"parallel\" leaves " + names + " open, but none of " + std::to_string(in.choice->named) +
       " choices is possible and fits" + why);
}

/// The op graph, where the file names one.
void read_ops(plan_input& in, const json_object& graph, const std::string& ops_file) {
  in.ops_file = ops_file;
  in.ops =
      table_or_fail(hocket::text::parse_ops_csv(read_file(in.ops_file)), in.ops_file, hocket::text::ops_csv_header);
  if (in.ops.has_aliases() || in.ops.has_read_ranges() || in.ops.has_write_ranges())
    fail(in.ops_file + ": a plan needs the size of each variable, so aliases and ranges of bytes have no place here");
  if (graph.has("rules")) in.ordered = graph.choice("rules", {"data", "ordered"}) == 1;
}

plan_input read_plan(const std::string& file) {
  const nlohmann::json whole = read_json_file(file);
  const json_object v(whole, file, "",
                      {"version", "title", "model", "training", "parallel", "cluster", "graph", "pipeline",
                       "fused_operator", "step_seconds", "notes"});
  plan_input in;
  in.file = file;
  in.title = v.line_or("title", "training step");
  const auto beside = [&](const std::string& name) {
    return (std::filesystem::path(file).parent_path() / name).lexically_normal().string();
  };

  const std::string config = beside(v.text("model"));
  in.model = read_model(read_json_file(config), config);
  nlohmann::json training = v.at("training"), parallel = nlohmann::json::object();
  if (v.has("parallel")) {
    parallel = v.at("parallel");
    const bool rest_is_open = names_no_layout(parallel);
    for (const char* key : open_keys) {
      take_open(parallel, key, in.open);
      if (!can_be_open(in, key)) continue;
      if (rest_is_open && !parallel.contains(key) && std::find(in.open.begin(), in.open.end(), key) == in.open.end())
        in.open.emplace_back(key);
    }
  } else {
    for (const char* key : open_keys)
      if (can_be_open(in, key)) in.open.emplace_back(key);
    if (training.is_object() && !training.contains("micro_batch")) in.open.emplace_back("micro_batch");
  }
  take_open(training, "micro_batch", in.open);
  const bool searched = !in.open.empty();
  if (searched && parallel.is_object() && parallel.contains("dp"))
    fail(file + ": \"parallel.dp\" follows from the devices where other sizes are open: leave it out");
  in.training = read_training(training, in.model.layers, file, "training", nullptr, true);
  if (in.training.step.muon && searched)
    fail(file + ": \"training.optimizer\" is muon, so \"parallel\" and \"micro_batch\" must say every size");
  in.parallel = read_parallel(parallel, file, "parallel");

  read_devices(in, v, searched);
  if (v.has("step_seconds")) {
    in.training.step_seconds = v.positive("step_seconds");
    in.training.peak_tflops = in.peak_tflops;
  }

  if (v.has("graph")) {
    const json_object graph = v.object("graph", {"ops", "rules"});
    read_ops(in, graph, beside(graph.text("ops")));
  }

  const json_object pipeline =
      v.object("pipeline", {"schedule", "groups", "kappa", "micro_batches", "forward_us", "backward_us", "split"});
  read_schedule(in, pipeline);
  const bool split_is_open = !pipeline.has("split") || pipeline.at("split") == "search";
  const fixed_sizes fixed = read_fixed_sizes(pipeline);
  if (searched) choose(in, split_is_open && !in.forward_us, fixed);
  read_split(in, pipeline);
  check_batch(in, pipeline, fixed);

  if (v.has("fused_operator")) in.fused = read_tiling_problem(v.at("fused_operator"), file, "fused_operator");
  return in;
}

}  // namespace hocket_cli
