// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/printable.hpp>
#include <hocket/core/time.hpp>
#include <hocket/cost/model/layer_list.hpp>
#include <hocket/interop/files/device_memory_fields.hpp>
#include <hocket/interop/files/json_object.hpp>
#include <hocket/interop/files/json_text.hpp>
#include <hocket/interop/files/model_file.hpp>
#include <hocket/interop/files/parallel_file.hpp>
#include <hocket/interop/files/plan_missing.hpp>
#include <hocket/interop/files/tiling_file.hpp>
#include <hocket/interop/files/training_file.hpp>
#include <hocket/planner/plan/changes.hpp>
#include <hocket/planner/plan/choose_sizes.hpp>
#include <hocket/planner/plan/step_problem.hpp>
#include <hocket/text/ops_csv.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::inline HOCKET_ABI::interop {

/// What a plan file says (docs/plan.md), with the files that it names: a problem of the planner, and what is around it.
struct plan_input : planner::step_problem {
  std::string file, title;
  model_input published;  ///< the model without what the step pads and adds
  training_input told;    ///< the training object; its step is the problem's `training`
  std::int64_t devices = 1, devices_per_node = 8;

  std::string ops_file;  ///< empty: the file names no op graph
  text::ops_table ops;
  bool ordered = false;  ///< whether the ops keep their order on a stream

  std::optional<tiling::any_problem> fused;

  std::vector<std::string> open;                 ///< keys of what the file leaves open
  planner::open_sizes open_sizes;                ///< the same for the planner
  std::optional<planner::sizes_answer> sizes{};  ///< what was chosen for them: see choose_open_sizes

  [[nodiscard]] bool is_open(std::string_view key) const {
    return std::find(open.begin(), open.end(), key) != open.end();
  }
  /// Whether a size matters: a model without experts has none to spread.
  [[nodiscard]] bool is_choice(std::string_view key) const {
    return (key != "ep" && key != "etp") || cost::has_experts(model);
  }
  [[nodiscard]] bool fits(const cost::rank_memory& m) const noexcept { return cost::fits(m.peak, memory); }
};

/// A file that a plan names: what it says, and what messages call it.
struct named_text {
  std::string name, text;
};

namespace detail {

/// What "search" may stand for; left out as a whole, "parallel" leaves all of them open.
inline constexpr const char* open_keys[] = {
    "tp", "pp", "vp", "cp", "ep", "etp", "zero", "recompute", "sequence_parallel", "copies"};

/// Reads a plan file part by part. After an error the parts that need the wrong one are left out.
class plan_reader {
 public:
  plan_reader(plan_input& in, const json_object& plan) : in_(in), plan_(plan), errors_(plan.errors()) {}

  /// The model, how it is trained, and how it is spread.
  void read_step(const named_text& config) {
    in_.published = read_model(parse_json_file(config.text, config.name, errors_), config.name, errors_);
    in_.model = in_.published.layers;
    nlohmann::json training = plan_.at("training");
    nlohmann::json parallel = nlohmann::json::object();
    if (!errors_.none()) return;
    read_open(training, parallel);
    in_.told = read_training(training, in_.model, in_.file, "training", nullptr, true, errors_);
    if (in_.told.step.muon && !in_.open.empty())
      add("\"training.optimizer\" is muon, so \"parallel\" and \"micro_batch\" must say every size");
    in_.parallel = read_parallel(parallel, in_.file, "parallel", &in_.replay, nullptr, errors_);
    in_.training = in_.told.step;
    in_.counted = in_.told.counted;
    if (in_.told.on) in_.on = in_.told.on->rates;
    if (errors_.none()) in_.model = padded(in_.published.layers, in_.told, in_.file, errors_);
  }

  /// The devices, and what each has and can. What a machine says of them need not be said again.
  void read_devices() {
    constexpr std::int64_t most_devices = std::int64_t{1} << 20;
    const json_object cluster = plan_.object(
        "cluster", {"devices", "devices_per_node", "memory_gib", "reserve_gib", "peak_tflops", "efficiency", "links"});
    in_.devices = cluster.integer("devices", 1, most_devices);
    in_.devices_per_node = cluster.integer_or("devices_per_node", 8, 1, most_devices);
    if (in_.open.empty() && in_.devices != in_.parallel.devices())
      cluster.fail_at("devices", "is " + std::to_string(in_.devices) + ", but tp x pp x dp x cp is " +
                                     std::to_string(in_.parallel.devices()));
    in_.memory = read_memory(cluster, in_.told.on ? in_.told.on->memory_gib : 0);
    if (!errors_.none()) return;
    if (!in_.on || cluster.has("peak_tflops")) in_.flops_per_second = read_rate(cluster);
    if (!in_.on || cluster.has("links")) in_.link = read_link(cluster);
  }

  /// A measured or assumed step, for the utilization.
  void read_measured_step() {
    if (!plan_.has("step_seconds")) {
      in_.told.peak_tflops = 0;
      return;
    }
    if (in_.told.peak_tflops <= 0) plan_.fail_at("step_seconds", "needs \"cluster.peak_tflops\"");
    in_.told.step_seconds = plan_.positive("step_seconds");
  }

  /// The op graph, where the file names one.
  void read_ops(const json_object& graph, const named_text& ops) {
    in_.ops_file = ops.name;
    auto table = text::parse_ops_csv(ops.text);
    if (!table && table.error().code == errc::malformed && table.error().values[0] == 1)
      return errors_.add(ops.name + ": " + message(table.error()) + ": the first line must be " +
                         std::string(text::ops_csv_header));
    if (!table) return errors_.add(ops.name, table.error());
    in_.ops = *std::move(table);
    if (in_.ops.has_aliases() || in_.ops.has_read_ranges() || in_.ops.has_write_ranges())
      errors_.add(in_.ops_file +
                  ": a plan needs the size of each variable, so aliases and ranges of bytes have no place here");
    if (graph.has("rules")) in_.ordered = graph.choice("rules", {"data", "ordered"}) == 1;
  }

  /// The pipeline: schedule, split, and what it fixes of sizes that are open. A file that does not name it leaves all
  /// of it open.
  void read_pipeline() {
    static const nlohmann::json nothing = nlohmann::json::object();
    const json_object pipeline(plan_.has("pipeline") ? plan_.at("pipeline") : nothing, in_.file, "pipeline",
                               {"schedule", "groups", "kappa", "micro_batches", "forward_us", "backward_us", "split"},
                               errors_);
    read_schedule(pipeline);
    in_.open_sizes = open_sizes();
    in_.open_sizes.micro_batches = pipeline.integer_or("micro_batches", 0, 1);
    read_split(pipeline);
    in_.open_sizes.stages = static_cast<std::int64_t>(in_.split.size());
    if (!errors_.none()) return;
    if (in_.open.empty()) return check_batch(pipeline, in_.open_sizes.micro_batches);
    if (!in_.told.on)
      return add("\"parallel\" leaves " + in_.open.front() +
                 " open, so \"training.machine\" must say how fast the devices are");
    check_rates(*in_.told.on);
  }

 private:
  void add(const std::string& sentence) { errors_.add(in_.file + ": " + sentence); }

  /// Takes each "search" out of an object and notes its key.
  void take_open(nlohmann::json& object, const char* key) {
    if (!object.is_object() || !object.contains(key) || object[key] != "search") return;
    object.erase(key);
    in_.open.emplace_back(key);
  }
  /// Notes a key that the file does not name.
  void leave_open(const char* key) {
    if (in_.is_choice(key) && !in_.is_open(key)) in_.open.emplace_back(key);
  }
  /// What is open of "parallel" and "training"; the words that say so are taken out. An object that names neither tp,
  /// pp nor dp leaves open what it does not name.
  void read_open(nlohmann::json& training, nlohmann::json& parallel) {
    if (plan_.has("parallel")) {
      parallel = plan_.at("parallel");
      const bool names_no_layout =
          parallel.is_object() && !parallel.contains("tp") && !parallel.contains("pp") && !parallel.contains("dp");
      for (const char* key : open_keys) {
        take_open(parallel, key);
        if (names_no_layout && !parallel.contains(key)) leave_open(key);
      }
    } else {
      for (const char* key : open_keys) leave_open(key);
      if (training.is_object() && !training.contains("micro_batch")) in_.open.emplace_back("micro_batch");
    }
    take_open(training, "micro_batch");
    if (!in_.open.empty() && parallel.is_object() && parallel.contains("dp"))
      add("\"parallel.dp\" follows from the devices where other sizes are open: leave it out");
  }
  [[nodiscard]] planner::open_sizes open_sizes() const {
    return {.tp = in_.is_open("tp"),
            .pp = in_.is_open("pp"),
            .vp = in_.is_open("vp"),
            .cp = in_.is_open("cp"),
            .ep = in_.is_open("ep"),
            .etp = in_.is_open("etp"),
            .zero = in_.is_open("zero"),
            .recompute = in_.is_open("recompute"),
            .sequence_parallel = in_.is_open("sequence_parallel"),
            .copies = in_.is_open("copies"),
            .micro_batch = in_.is_open("micro_batch")};
  }
  /// Open choices need the rates of their links.
  void check_rates(const machine_input& on) {
    if (on.rates.has_links()) return;
    const cost::parallel& p = in_.parallel;
    const bool several = in_.devices > 1;
    const bool opens_tensor = (in_.is_open("tp") || in_.is_open("cp")) && several;
    const bool opens_experts = (p.ep > 1 || in_.is_open("ep")) && several;
    need_all(on,
             {{p.cp > 1 || p.tp > 1 || opens_tensor, "tensor_bytes", on.rates.tensor_bytes},
              {cost::has_experts(in_.model) && opens_experts, "expert_bytes", on.rates.expert_bytes},
              {p.pp > 1 || (in_.is_open("pp") && several), "pipeline_bytes", on.rates.pipeline_bytes},
              {several, "data_bytes", on.rates.data_bytes}},
             in_.file, "the open choices need", errors_);
  }

  /// The rate of passes that no machine times.
  [[nodiscard]] double read_rate(const json_object& cluster) {
    const nlohmann::json& training = plan_.at("training");
    const std::string type = training.contains("weights") ? training.at("weights").get<std::string>() : "bf16";
    in_.told.peak_tflops =
        cluster.object("peak_tflops", {"fp8", "bf16", "fp16", "fp32", "fp64"}).positive(type.c_str());
    const double efficiency = cluster.has("efficiency") ? cluster.positive("efficiency") : 1;
    if (efficiency > 1) cluster.fail_at("efficiency", "must be at most 1");
    return in_.told.peak_tflops * 1e12 * efficiency;
  }
  /// The link between pipeline ranks, where the file knows it better than the machine.
  [[nodiscard]] static planner::pipeline_link read_link(const json_object& cluster) {
    const json_object link = cluster.object("links", {"pipeline"}).object("pipeline", {"latency_us", "gb_per_s"});
    const double latency_us = link.number("latency_us");
    if (latency_us < 0) link.fail_at("latency_us", "must not be negative");
    return {seconds(latency_us * 1e-6), link.positive("gb_per_s") * 1e9};
  }

  void read_schedule(const json_object& pipeline) {
    const auto word = [&](const char* key, std::span<const std::string_view> names, const std::string& otherwise) {
      return pipeline.has(key) ? std::string(names[pipeline.choice(key, names)]) : otherwise;
    };
    std::vector<std::string_view> names(std::begin(pipeline::schedule_names), std::end(pipeline::schedule_names));
    names.emplace_back("search");
    in_.schedule.name = word("schedule", names, "search");
    for (const char* key : {"groups", "kappa"})
      if (in_.schedule.name == "search" && pipeline.has(key))
        pipeline.fail_at(key, "needs a \"schedule\": none is searched for");
    in_.schedule.groups = word("groups", planner::compared_groups, in_.schedule.groups);
    in_.schedule.kappa = static_cast<std::uint32_t>(pipeline.integer_or("kappa", 0, 1, 2));
    if (pipeline.has("forward_us") != pipeline.has("backward_us"))
      pipeline.fail_at(pipeline.has("forward_us") ? "backward_us" : "forward_us",
                       "is missing: measured times come in pairs");
    else if (pipeline.has("forward_us"))
      in_.measured = {seconds(pipeline.positive("forward_us") * 1e-6),
                      seconds(pipeline.positive("backward_us") * 1e-6)};
  }

  /// "even", "search", or layers of each stage. Not given: open if other choices are.
  void read_split(const json_object& pipeline) {
    in_.search_split = !in_.open.empty() && !in_.measured;
    in_.search_recompute = in_.is_open("recompute");
    if (!pipeline.has("split")) return;
    if (pipeline.at("split").is_array()) return read_given_split(pipeline);
    in_.search_split = pipeline.choice("split", {"even", "search"}) == 1;
    if (in_.search_split && !in_.on)
      pipeline.fail_at("split", "is \"search\", so \"training.machine\" must say how fast the devices are");
    if (in_.search_split && in_.measured)
      pipeline.fail_at("split", "is \"search\": give no measured stage times with it");
  }
  void read_given_split(const json_object& pipeline) {
    in_.search_split = false;
    in_.split = pipeline.integers("split", 1, 4096, 65536);
    if (!errors_.none()) return;
    if (in_.split.empty()) return pipeline.fail_at("split", "is empty");
    const std::int64_t sum = std::accumulate(in_.split.begin(), in_.split.end(), std::int64_t{0});
    const std::int64_t stages = in_.parallel.pp * in_.parallel.vp;
    const std::int64_t layers = in_.model.layer_count();
    const std::string is = "is " + shown(pipeline.at("split")) + ": ";
    if (in_.open.empty() && static_cast<std::int64_t>(in_.split.size()) != stages)
      pipeline.fail_at("split", is + std::to_string(in_.split.size()) + " numbers, but pp x vp is " +
                                    std::to_string(stages) + " stages");
    if (sum != layers)
      pipeline.fail_at("split", is + std::to_string(sum) + " layers, but the model has " + std::to_string(layers));
  }

  void check_batch(const json_object& pipeline, std::int64_t micro_batches) {
    const cost::training& t = in_.training;
    const std::int64_t parts = t.micro_batch * in_.parallel.dp;
    if (t.global_batch % parts != 0)
      return add("training: \"global_batch\" of " + std::to_string(t.global_batch) +
                 " is not divisible by micro_batch x dp = " + std::to_string(parts));
    if (micro_batches > 0 && micro_batches != in_.micro_batches())
      pipeline.fail_at("micro_batches", "is " + std::to_string(micro_batches) +
                                            ", but global_batch / (micro_batch x dp) is " +
                                            std::to_string(in_.micro_batches()));
  }

  plan_input& in_;
  const json_object& plan_;
  file_errors& errors_;
};

/// What no choice of sizes was possible with.
[[nodiscard]] inline std::string why_none_chosen(const plan_input& in, const planner::sizes_answer& sizes) {
  const planner::strategy_plan& searched = sizes.searched;
  const planner::open_sizes& open = in.open_sizes;
  if (searched.named == 0)
    return "no choice of what \"parallel\" leaves open divides the " + std::to_string(in.devices) + " devices" +
           (open.stages > 0 ? " and has the " + std::to_string(open.stages) + " stages of \"pipeline.split\"" : "") +
           (open.micro_batches > 0 ? " and has \"pipeline.micro_batches\" " + std::to_string(open.micro_batches) : "");
  std::string names;
  std::string why;
  for (const std::string& key : in.open) names += (names.empty() ? "" : ", ") + key;
  for (std::size_t i = 0; i < planner::rejection_count; ++i)
    if (searched.rejected[i] > 0)
      why += (why.empty() ? ": " : "; ") + std::to_string(searched.rejected[i]) + " x " +
             std::string(to_string(static_cast<planner::rejection>(i)));
  return "\"parallel\" leaves " + names + " open, but none of " + std::to_string(searched.named) +
         " choices is possible and fits" + why;
}

}  // namespace detail

/// Reads a plan.
/// @param plan   as parse_json_file has it
/// @param file   what messages call it
/// @param named  gets at the files that a plan names, the model's config.json and the op graph: `named(name)` returns a
///               named_text
///
///     interop::file_errors errors;
///     auto in = interop::read_plan(plan, "plan.json", [&](const std::string& name) { return load(name); }, errors);
///     interop::choose_open_sizes(in, errors);
///     if (!errors.none()) return report(errors.first());
///     const auto plan = planner::plan_step(in);
template <class Named>
[[nodiscard]] plan_input read_plan(const nlohmann::json& plan, const std::string& file, Named&& named,
                                   file_errors& errors) {
  const json_object v(plan, file, "",
                      {"version", "title", "model", "training", "parallel", "cluster", "graph", "pipeline",
                       "fused_operator", "step_seconds", "notes"},
                      errors);
  plan_input in;
  in.file = file;
  in.title = v.line_or("title", "training step");
  if (const std::string missing = missing_of_plan(plan); !missing.empty() && errors.none())
    errors.add(file + ": " + missing);
  if (!errors.none()) return in;
  const std::string model = v.text("model");
  if (!errors.none()) return in;
  detail::plan_reader reader(in, v);
  reader.read_step(named(model));
  if (errors.none()) reader.read_devices();
  if (errors.none()) reader.read_measured_step();
  if (v.has("graph")) {
    const json_object graph = v.object("graph", {"ops", "rules"});
    const std::string ops = graph.text("ops");
    if (errors.none()) reader.read_ops(graph, named(ops));
  }
  if (errors.none()) reader.read_pipeline();
  if (errors.none() && v.has("fused_operator"))
    in.fused = read_tiling_problem(v.at("fused_operator"), file, "fused_operator", errors);
  return in;
}

/// Chooses what the file leaves open: the fastest that fits. It is an error if nothing is possible and fits.
/// @param watch  sees the progress and may stop the search, which then answers with the best so far (search_watch.hpp)
template <class Watch = planner::unwatched>
void choose_open_sizes(plan_input& in, file_errors& errors, const Watch& watch = {}) {
  if (in.open.empty() || !errors.none()) return;
  auto sizes = planner::choose_sizes(in, in.open_sizes, in.devices, in.devices_per_node, watch);
  if (!sizes) return errors.add(in.file, sizes.error());
  in.sizes = *std::move(sizes);
  if (!in.sizes->chosen) return errors.add(in.file + ": " + detail::why_none_chosen(in, *in.sizes));
  static_cast<planner::step_problem&>(in) = *in.sizes->chosen;
}

}  // namespace hocket::inline HOCKET_ABI::interop
