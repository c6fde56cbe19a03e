// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <iterator>
#include <numeric>

#include "failure.hpp"
#include "fixed.hpp"
#include "json_fields.hpp"
#include "plan_step.hpp"
#include "tiling_problem.hpp"

namespace hocket_cli {
// NOLINTBEGIN(bugprone-unchecked-optional-access): what is read there, the caller has seen
namespace {

/// What "search" may stand for; left out as a whole, "parallel" leaves all of them open.
constexpr const char* open_keys[] = {"tp",    "pp", "vp", "cp", "ep", "etp", "zero", "recompute", "sequence_parallel",
                                     "copies"};

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

/// Experts of a model that has none are no choice.
bool can_be_open(const plan_input& in, std::string_view key) {
  return (key != "ep" && key != "etp") || hocket::cost::has_experts(in.model);
}

bool is_open(const plan_input& in, std::string_view key) {
  return std::find(in.open.begin(), in.open.end(), key) != in.open.end();
}

/// Open choices need the rates of their links.
void check_rates(const plan_input& in) {
  struct need {
    bool needed;
    double rate;
    const char* key;
  };
  const hocket::cost::parallel& p = in.parallel;
  const hocket::cost::machine& rates = *in.on;
  if (rates.has_links()) return;
  const bool opens_tensor = is_open(in, "tp") || is_open(in, "cp");
  for (const need x :
       {need{p.cp > 1 || p.tp > 1 || (opens_tensor && in.devices > 1), rates.tensor_bytes, "tensor_bytes"},
        {hocket::cost::has_experts(in.model) && (p.ep > 1 || is_open(in, "ep")) && in.devices > 1, rates.expert_bytes,
         "expert_bytes"},
        {p.pp > 1 || (is_open(in, "pp") && in.devices > 1), rates.pipeline_bytes, "pipeline_bytes"},
        {in.devices > 1, rates.data_bytes, "data_bytes"}})
    if (x.needed && x.rate <= 0)
      fail(in.file + ": machine \"" + in.told.on->name + "\" has no \"" + x.key + "\", which the open choices need");
}

/// What the search is told.
hocket::planner::open_sizes open_sizes_of(const plan_input& in) {
  return {.tp = is_open(in, "tp"),
          .pp = is_open(in, "pp"),
          .vp = is_open(in, "vp"),
          .cp = is_open(in, "cp"),
          .ep = is_open(in, "ep"),
          .etp = is_open(in, "etp"),
          .zero = is_open(in, "zero"),
          .recompute = is_open(in, "recompute"),
          .sequence_parallel = is_open(in, "sequence_parallel"),
          .copies = is_open(in, "copies"),
          .micro_batch = is_open(in, "micro_batch")};
}

/// "even", "search", or layers of each stage. Not given: open if other choices are.
void read_split(plan_input& in, const json_object& pipeline) {
  in.search_split = !in.open.empty() && !in.measured;
  in.search_recompute = is_open(in, "recompute");
  if (!pipeline.has("split")) return;
  if (pipeline.at("split").is_array()) {
    in.search_split = false;
    in.split = pipeline.integers("split", 1, 4096, 65536);
    if (in.split.empty()) pipeline.fail_at("split", "is empty");
    const std::int64_t sum = std::accumulate(in.split.begin(), in.split.end(), std::int64_t{0});
    const std::int64_t stages = in.parallel.pp * in.parallel.vp;
    const std::string is = "is " + shown(pipeline.at("split")) + ": ";
    if (in.open.empty() && static_cast<std::int64_t>(in.split.size()) != stages)
      pipeline.fail_at("split", is + std::to_string(in.split.size()) + " numbers, but pp x vp is " +
                                    std::to_string(stages) + " stages");
    if (const std::int64_t layers = in.model.layer_count(); sum != layers)
      pipeline.fail_at("split", is + std::to_string(sum) + " layers, but the model has " + std::to_string(layers));
    return;
  }
  in.search_split = pipeline.choice("split", {"even", "search"}) == 1;
  if (!in.search_split) return;
  if (!in.on) pipeline.fail_at("split", "is \"search\", so \"training.machine\" must say how fast the devices are");
  if (in.measured) pipeline.fail_at("split", "is \"search\": give no measured stage times with it");
}

/// The rate of passes that no machine times.
double read_rate(const json_object& cluster, const std::string& type, double& peak_tflops) {
  peak_tflops = cluster.object("peak_tflops", {"fp8", "bf16", "fp16", "fp32", "fp64"}).positive(type.c_str());
  const double efficiency = cluster.has("efficiency") ? cluster.positive("efficiency") : 1;
  if (efficiency > 1) cluster.fail_at("efficiency", "must be at most 1");
  return peak_tflops * 1e12 * efficiency;
}
/// The link between pipeline ranks, where the file knows it better than the machine.
hocket::planner::pipeline_link read_link(const json_object& cluster) {
  const json_object link = cluster.object("links", {"pipeline"}).object("pipeline", {"latency_us", "gb_per_s"});
  const double latency_us = link.number("latency_us");
  if (latency_us < 0) link.fail_at("latency_us", "must not be negative");
  return {hocket::seconds(latency_us * 1e-6), link.positive("gb_per_s") * 1e9};
}
/// The devices, and what each has and can. What a machine says of them need not be said again.
void read_devices(plan_input& in, const json_object& v, bool searched) {
  const json_object cluster = v.object(
      "cluster", {"devices", "devices_per_node", "memory_gib", "reserve_gib", "peak_tflops", "efficiency", "links"});
  in.devices = cluster.integer("devices", 1, std::int64_t{1} << 20);
  in.devices_per_node = cluster.integer_or("devices_per_node", 8, 1, std::int64_t{1} << 20);
  if (!searched && in.devices != in.parallel.devices())
    cluster.fail_at("devices", "is " + std::to_string(in.devices) + ", but tp x pp x dp x cp is " +
                                   std::to_string(in.parallel.devices()));
  in.memory = read_memory(cluster);
  if (!in.on || cluster.has("peak_tflops"))
    in.flops_per_second = read_rate(cluster, v.at("training").value("weights", "bf16"), in.told.peak_tflops);
  if (!in.on || cluster.has("links")) in.link = read_link(cluster);
}

void read_schedule(plan_input& in, const json_object& pipeline) {
  const auto word = [&](const char* key, std::span<const std::string_view> names, const std::string& otherwise) {
    return pipeline.has(key) ? std::string(names[pipeline.choice(key, names)]) : otherwise;
  };
  std::vector<std::string_view> names(std::begin(hocket::pipeline::schedule_names),
                                      std::end(hocket::pipeline::schedule_names));
  names.emplace_back("search");
  in.schedule.name = word("schedule", names, "search");
  for (const char* key : {"groups", "kappa"})
    if (in.schedule.name == "search" && pipeline.has(key))
      pipeline.fail_at(key, "needs a \"schedule\": none is searched for");
  in.schedule.groups = word("groups", hocket::planner::compared_groups, in.schedule.groups);
  in.schedule.kappa = static_cast<std::uint32_t>(pipeline.integer_or("kappa", 0, 1, 2));
  if (pipeline.has("forward_us") != pipeline.has("backward_us"))
    pipeline.fail_at(pipeline.has("forward_us") ? "backward_us" : "forward_us",
                     "is missing: measured times come in pairs");
  if (pipeline.has("forward_us")) {
    const hocket::seconds forward(pipeline.positive("forward_us") * 1e-6);
    in.measured = {forward, hocket::seconds(pipeline.positive("backward_us") * 1e-6)};
  }
}

void check_batch(const plan_input& in, const json_object& pipeline, std::int64_t micro_batches) {
  const hocket::cost::training& t = in.training;
  if (t.global_batch % (t.micro_batch * in.parallel.dp) != 0)
    fail(in.file + ": training: \"global_batch\" of " + std::to_string(t.global_batch) +
         " is not divisible by micro_batch x dp = " + std::to_string(t.micro_batch * in.parallel.dp));
  if (micro_batches > 0 && micro_batches != in.micro_batches())
    pipeline.fail_at("micro_batches", "is " + std::to_string(micro_batches) +
                                          ", but global_batch / (micro_batch x dp) is " +
                                          std::to_string(in.micro_batches()));
}

/// The op graph, where the file names one.
void read_ops(plan_input& in, const json_object& graph, const named_text& ops) {
  in.ops_file = ops.name;
  in.ops = table_or_fail(hocket::text::parse_ops_csv(ops.text), in.ops_file, hocket::text::ops_csv_header);
  if (in.ops.has_aliases() || in.ops.has_read_ranges() || in.ops.has_write_ranges())
    fail(in.ops_file + ": a plan needs the size of each variable, so aliases and ranges of bytes have no place here");
  if (graph.has("rules")) in.ordered = graph.choice("rules", {"data", "ordered"}) == 1;
}

/// What is open of "parallel" and "training"; the words that say so are taken out.
void read_open(plan_input& in, const json_object& v, nlohmann::json& training, nlohmann::json& parallel) {
  const auto add = [&](const char* key) {
    if (can_be_open(in, key) && !is_open(in, key)) in.open.emplace_back(key);
  };
  if (v.has("parallel")) {
    parallel = v.at("parallel");
    const bool rest_is_open = names_no_layout(parallel);
    for (const char* key : open_keys) {
      take_open(parallel, key, in.open);
      if (rest_is_open && !parallel.contains(key)) add(key);
    }
  } else {
    for (const char* key : open_keys) add(key);
    if (training.is_object() && !training.contains("micro_batch")) in.open.emplace_back("micro_batch");
  }
  take_open(training, "micro_batch", in.open);
  if (in.open.empty()) return;
  if (parallel.is_object() && parallel.contains("dp"))
    fail(in.file + ": \"parallel.dp\" follows from the devices where other sizes are open: leave it out");
}

/// The model, how it is trained, and how it is spread.
void read_step(plan_input& in, const json_object& v, const named_text& config) {
  in.published = read_model(parse_json_file(config.text, config.name), config.name);
  in.model = in.published.layers;
  nlohmann::json training = v.at("training"), parallel = nlohmann::json::object();
  read_open(in, v, training, parallel);
  in.told = read_training(training, in.model, in.file, "training", nullptr, true);
  if (in.told.step.muon && !in.open.empty())
    fail(in.file + ": \"training.optimizer\" is muon, so \"parallel\" and \"micro_batch\" must say every size");
  in.parallel = read_parallel(parallel, in.file, "parallel", &in.replay);
  in.training = in.told.step;
  in.counted = in.told.counted;
  if (in.told.on) in.on = in.told.on->rates;
  in.model = padded(in.published.layers, in.told, in.file);
}

/// The pipeline: schedule, split, and what it fixes of sizes that are open.
void read_pipeline(plan_input& in, const json_object& v) {
  const json_object pipeline =
      v.object("pipeline", {"schedule", "groups", "kappa", "micro_batches", "forward_us", "backward_us", "split"});
  read_schedule(in, pipeline);
  in.open_sizes = open_sizes_of(in);
  in.open_sizes.micro_batches = pipeline.integer_or("micro_batches", 0, 1);
  read_split(in, pipeline);
  in.open_sizes.stages = static_cast<std::int64_t>(in.split.size());
  if (in.open.empty()) return check_batch(in, pipeline, in.open_sizes.micro_batches);
  if (!in.on)
    fail(in.file + ": \"parallel\" leaves " + in.open.front() +
         " open, so \"training.machine\" must say how fast the devices are");
  check_rates(in);
}

}  // namespace

plan_input read_plan(const nlohmann::json& plan, const std::string& file, const text_of_name& named) {
  const json_object v(plan, file, "",
                      {"version", "title", "model", "training", "parallel", "cluster", "graph", "pipeline",
                       "fused_operator", "step_seconds", "notes"});
  plan_input in;
  in.file = file;
  in.title = v.line_or("title", "training step");
  read_step(in, v, named(v.text("model")));
  read_devices(in, v, !in.open.empty());
  if (v.has("step_seconds")) {
    if (in.told.peak_tflops <= 0) v.fail_at("step_seconds", "needs \"cluster.peak_tflops\"");
    in.told.step_seconds = v.positive("step_seconds");
  } else {
    in.told.peak_tflops = 0;
  }
  if (v.has("graph")) {
    const json_object graph = v.object("graph", {"ops", "rules"});
    read_ops(in, graph, named(graph.text("ops")));
  }
  read_pipeline(in, v);
  if (v.has("fused_operator")) in.fused = read_tiling_problem(v.at("fused_operator"), file, "fused_operator");
  return in;
}

// NOLINTEND(bugprone-unchecked-optional-access)
}  // namespace hocket_cli
