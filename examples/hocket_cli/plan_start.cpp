// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "plan_start.hpp"

#include <hocket/cost/machines.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "cost_fit.hpp"
#include "json_fields.hpp"

namespace hocket_cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json, nlohmann::ordered_json;

constexpr std::int64_t usual_sequence = 4096;
constexpr std::int64_t usual_batch = 1024;  // sequences: with the usual length four million tokens

/// Whether a file is a model's config.json, and no plan.
bool is_config(const json& file) {
  if (!file.is_object()) return false;
  for (const char* const key : {"model", "training", "cluster", "pipeline"})
    if (file.contains(key)) return false;
  for (const char* const key : {"model_type", "architectures", "hidden_size", "n_embd", "num_hidden_layers"})
    if (file.contains(key)) return true;
  return false;
}

/// How many tokens the model is made for; 0 if its config does not say.
std::int64_t longest_sequence(const json& config) {
  for (const char* const key : {"max_position_embeddings", "n_positions", "max_seq_len", "seq_length"})
    if (const auto found = config.find(key); found != config.end())
      if (const auto tokens = whole(*found); tokens && *tokens > 0) return *tokens;
  return 0;
}

/// The least number of sequences that all devices can share evenly, and that is no less than usual.
std::int64_t batch_for(std::int64_t devices) { return devices * ((usual_batch + devices - 1) / devices); }

const hocket::cost::machines::named_machine* shipped(const json& machine) {
  if (!machine.is_string()) return nullptr;
  for (const auto& each : hocket::cost::machines::all)
    if (each.key == machine.get_ref<const std::string&>()) return &each;
  return nullptr;
}

/// A plan of a model alone; each value that nobody said is noted.
started_plan plan_of_config(const json& config, const std::string& file, const plan_wishes& w) {
  if (!w.devices || w.machine.empty())
    throw failure{2, file + " is a model: add" + (w.devices ? "" : " --devices N") +
                         (!w.devices && w.machine.empty() ? " and" : "") +
                         (w.machine.empty() ? " --machine NAME (hocket machines lists them)" : "") +
                         ", such as hocket plan " + file + " --devices 64 --machine h100_sxm"};
  started_plan out;
  const auto assume = [&](const char* name, std::string value, const char* how) {
    out.assumed.push_back({name, std::move(value), how});
  };
  const json machine = machine_of_option(w.machine);
  const auto* const known = shipped(machine);
  const std::int64_t longest = longest_sequence(config);
  const std::int64_t sequence = longest == 0 ? usual_sequence : (std::min)(usual_sequence, longest);
  if (!w.sequence) assume("sequence", std::to_string(sequence) + " tokens", "--sequence");
  if (!w.global_batch) assume("global batch", std::to_string(batch_for(*w.devices)) + " sequences", "--global-batch");
  if (w.precision.empty()) assume("precision", "bf16", "--precision");
  assume("states", "weights bf16, gradients fp32, adam with fp32 moments", "training of a plan file");
  json cluster = {{"devices", *w.devices}};
  if (known != nullptr) {
    const std::int64_t node = hocket::cost::machines::node_of(known->data.rates);
    cluster["devices_per_node"] = node;
    assume("devices a node", std::to_string(node), "cluster of a plan file");
  }
  if (w.memory_gib) cluster["memory_gib"] = *w.memory_gib;
  else if (known == nullptr || known->memory_gib == 0)
    throw failure{2, "--machine " + w.machine + " does not say the memory of a device: add --memory-gib"};
  else assume("memory", std::to_string(known->memory_gib) + " GiB a device, 2 of them in reserve", "--memory-gib");
  const std::string name = known != nullptr ? std::string(known->data.name) : w.machine;
  out.plan = {{"version", 1},
              {"title", fs::path(file).filename().string() + " on " + std::to_string(*w.devices) + " x " + name},
              {"model", fs::path(file).filename().string()},
              {"training",
               {{"sequence", sequence},
                {"global_batch", batch_for(*w.devices)},
                {"weights", "bf16"},
                {"gradients", "fp32"},
                {"optimizer", "adam"},
                {"precision", "bf16"},
                {"machine", machine}}},
              {"cluster", std::move(cluster)}};
  return out;
}

/// What the options say replaces what the plan says.
void put_wishes(json& plan, const plan_wishes& w) {
  const auto put = [&](const char* object, const char* key, const json& value) {
    if (!plan.is_object()) return;
    if (!plan.contains(object)) plan[object] = json::object();
    if (plan[object].is_object()) plan[object][key] = value;
  };
  if (w.devices) put("cluster", "devices", *w.devices);
  if (w.memory_gib) put("cluster", "memory_gib", *w.memory_gib);
  if (w.sequence) put("training", "sequence", *w.sequence);
  if (w.global_batch) put("training", "global_batch", *w.global_batch);
  if (!w.precision.empty()) put("training", "precision", w.precision);
  if (!w.machine.empty()) put("training", "machine", machine_of_option(w.machine));
}

/// A model of 7 billion parameters.
ordered_json example_config() {
  return {{"architectures", {"LlamaForCausalLM"}},
          {"model_type", "llama"},
          {"hidden_act", "silu"},
          {"hidden_size", 4096},
          {"intermediate_size", 11008},
          {"num_hidden_layers", 32},
          {"num_attention_heads", 32},
          {"num_key_value_heads", 32},
          {"max_position_embeddings", 4096},
          {"tie_word_embeddings", false},
          {"vocab_size", 32000}};
}

/// The plan with its fields in the order of the guide, and what they mean.
ordered_json with_notes(const json& plan) {
  ordered_json out;
  for (const char* const key : {"version", "title", "model", "training", "cluster"}) out[key] = plan.at(key);
  out["pipeline"] = ordered_json::object();
  out["notes"] = {
      "model: a config.json as Hugging Face has it, relative to this file.",
      "training: tokens of a sequence, sequences of a step, types of the states. machine: hocket machines lists them.",
      "cluster: devices, those of a node, GiB of each; reserve_gib (2) is what training cannot have.",
      "parallel is left out, so all sizes are chosen. To fix some: \"parallel\": {\"tp\": 8, \"pp\": 2, \"dp\": 4}.",
      "pipeline: {} leaves schedule and split to the search; \"schedule\": \"1f1b\" fixes one.",
      "docs/plan.md lists every field. hocket plan plan.json prints the answer, with --out DIR a report, too."};
  return out;
}

}  // namespace

void add_plan_wishes(CLI::App& command, plan_wishes& w) {
  const auto number = [&](const char* name, std::optional<std::int64_t>& value, const char* what) {
    command.add_option(name, value, what)->type_name("N")->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 31));
  };
  add_machine(command, w.machine);
  number("--devices", w.devices, "Devices, in place of the file's");
  command.add_option("--memory-gib", w.memory_gib, "Memory of a device, in place of the file's or the machine's")
      ->type_name("GIB")
      ->check(is_number(0.001, 1e6, "number of GiB from 0.001 to 10^6"));
  number("--sequence", w.sequence, "Tokens of a sequence, in place of the file's");
  number("--global-batch", w.global_batch, "Sequences of a step, in place of the file's");
  command.add_option("--precision", w.precision, "Of matrix products, in place of the file's: bf16, fp8, mxfp8, nvfp4")
      ->check(CLI::IsMember({"bf16", "fp8", "mxfp8", "nvfp4"}));
}

started_plan start_plan(const std::string& file, const plan_wishes& wishes) {
  std::error_code none;
  const auto slashes = std::count(file.begin(), file.end(), '/');
  if (slashes == 1 && file[0] != '.' && file.find(".json") == std::string::npos && !fs::exists(file, none))
    fail("cannot read " + file + ": nothing is read from a network; save https://huggingface.co/" + file +
         "/raw/main/config.json and give that file");
  json read = read_json_file(file);
  started_plan out{read, {}};
  if (is_config(read)) out = plan_of_config(read, file, wishes);
  put_wishes(out.plan, wishes);
  return out;
}

std::string assumed_as_text(const std::vector<assumed_value>& assumed) {
  if (assumed.empty()) return {};
  std::string text = "Assumed, since only the model is given (hocket plan --init writes a file with all of it)\n";
  for (const assumed_value& each : assumed) {
    char line[160];
    std::snprintf(line, sizeof line, "  %-16s %s  (%s)\n", each.name.c_str(), each.value.c_str(),
                  each.how_to_say.c_str());
    text += line;
  }
  return text + "\n";
}

std::string with_assumed_json(std::string text, const std::vector<assumed_value>& assumed) {
  if (assumed.empty()) return text;
  ordered_json object;
  for (const assumed_value& each : assumed) object[each.name] = each.value;
  return text.insert(text.find('{') + 1, "\n  \"assumed\": " + object.dump() + ",");
}

void write_first_files(const std::string& config, const plan_wishes& given, const std::string& folder) {
  const fs::path in = folder.empty() ? fs::path(".") : fs::path(folder);
  const fs::path plan_file = in / "plan.json";
  std::error_code none;
  if (fs::exists(plan_file, none))
    fail(plan_file.lexically_normal().string() + " is there already: --out names another folder");
  plan_wishes wishes = given;
  if (!wishes.devices) wishes.devices = 8;
  if (wishes.machine.empty()) wishes.machine = "h100_sxm";
  const bool writes_config = config.empty() && !fs::exists(in / "config.json", none);
  const fs::path model = config.empty() ? in / "config.json" : fs::path(config);
  const json read = writes_config ? json(example_config()) : read_json_file(model.string());
  if (!is_config(read)) fail(model.string() + " is no config.json of a model");
  started_plan started = plan_of_config(read, model.string(), wishes);
  put_wishes(started.plan, wishes);
  if (!started.plan["cluster"].contains("memory_gib"))
    started.plan["cluster"]["memory_gib"] = shipped(started.plan["training"]["machine"])->memory_gib;
  started.plan["model"] = fs::relative(model, in, none).string();
  std::vector<named_data> files;
  if (writes_config) files.push_back({"config.json", example_config().dump(2) + "\n"});
  files.push_back({"plan.json", with_notes(started.plan).dump(2) + "\n"});
  write_folder(in.string(), files, {});
  std::string rows = "file\n";
  for (const named_data& each : files) rows += (in / each.name).lexically_normal().string() + "\n";
  give("", rows,
       "files=" + std::to_string(files.size()) + " next=\"hocket plan " + plan_file.lexically_normal().string() + "\"");
}

}  // namespace hocket_cli
