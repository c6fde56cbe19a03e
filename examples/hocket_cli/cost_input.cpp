// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cost_input.hpp"

#include <hocket/cost/machines.hpp>

#include <hocket/cost/model/packing.hpp>
#include <hocket/cost/model/scaled_format.hpp>
#include <hocket/cost/model/uniform_list.hpp>
#include <hocket/interop/hugging_face_layers.hpp>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <limits>
#include <numeric>
#include <vector>

#include "cost_layers.hpp"
#include "failure.hpp"
#include "fixed.hpp"
#include "json_fields.hpp"

namespace hocket_cli {
namespace cost = hocket::cost;
using nlohmann::json;

namespace {

using cost::to_string;

// Bytes of a type name; 0 for "none".
cost::rational type_bytes(const json_object& in, const char* key, const cost::rational& otherwise) {
  static constexpr std::int64_t bytes[] = {0, 1, 2, 2, 4, 8};
  return in.has(key) ? cost::rational(bytes[in.choice(key, {"none", "fp8", "bf16", "fp16", "fp32", "fp64"})])
                     : otherwise;
}
// A format whose elements share scales: blocks of weights may be tiles, where those of activations are rows.
struct scaled_type {
  std::string_view name;
  cost::scaled_format weights, rows;
};
constexpr scaled_type scaled_types[] = {{"mxfp8", cost::mxfp8, cost::mxfp8},
                                        {"mxfp6", cost::mxfp6, cost::mxfp6},
                                        {"mxfp4", cost::mxfp4, cost::mxfp4},
                                        {"nvfp4", cost::nvfp4, cost::nvfp4},
                                        {"fp8_block128", cost::fp8_tiles, cost::fp8_rows}};
// The one that a field names; null: another type, or none.
const scaled_type* scaled_type_of(const json_object& in, const char* key) {
  if (!in.has(key) || !in.at(key).is_string()) return nullptr;
  for (const scaled_type& each : scaled_types)
    if (in.at(key).get_ref<const std::string&>() == each.name) return &each;
  return nullptr;
}
// As type_bytes, of a field that such formats are known for.
cost::rational any_type_bytes(const json_object& in, const char* key, const cost::rational& otherwise) {
  if (const scaled_type* scaled = scaled_type_of(in, key)) return cost::bytes_per_element(scaled->weights);
  static constexpr std::int64_t bytes[] = {0, 1, 2, 2, 4, 8};
  return in.has(key) ? cost::rational(bytes[in.choice(key, {"none", "fp8", "bf16", "fp16", "fp32", "fp64", "mxfp8",
                                                            "mxfp6", "mxfp4", "nvfp4", "fp8_block128"})])
                     : otherwise;
}
// Types of all that a step stores.
void read_types(const json_object& in, cost::training& t) {
  t.weight_bytes = any_type_bytes(in, "weights", 2);
  t.gradient_bytes = any_type_bytes(in, "gradients", 4);
  t.activation_bytes = any_type_bytes(in, "activations", 2);
  if (const scaled_type* scaled = scaled_type_of(in, "activations")) {
    t.activation_bytes = 2;  // products alone take narrow inputs
    t.narrow_inputs = true;
    t.input_bytes = cost::bytes_per_element(scaled->rows);
  }
  if (t.weight_bytes == 0) in.fail_at("weights", "cannot be none");
  if (t.activation_bytes == 0) in.fail_at("activations", "cannot be none");
  // Mixed precision keeps a 32-bit copy of narrower weights.
  t.master_bytes = type_bytes(in, "master", t.weight_bytes < 4 ? 4 : 0);
  const std::int64_t moments[] = {2, 1, 0, 2};
  const std::size_t optimizer = in.choice_or("optimizer", {"adam", "momentum", "sgd", "muon"}, 0);
  t.moment_bytes = type_bytes(in, "moments", 4) * cost::rational(moments[optimizer]);
  t.muon = optimizer == 3;
  t.workspace = static_cast<cost::workspace>(in.choice_or("workspace", {"none", "megatron_te"}, 0));
  if (t.workspace != cost::workspace::none && scaled_type_of(in, "weights") != nullptr)
    in.fail_at("workspace",
               "is megatron_te, whose buffers of the type of the weights are not known for " + in.text("weights"));
}
std::int64_t size_or(const json_object& in, const char* key, std::int64_t otherwise) {
  return in.integer_or(key, otherwise, 1, std::numeric_limits<std::int32_t>::max());
}

// The step with the documents that the file packs into each sequence.
cost::training with_documents(const json_object& in, const cost::training& t, const cost::layer_list& list) {
  constexpr std::size_t most_documents = 65'536;
  const auto lengths = in.integers("document_lengths", 1, t.sequence, most_documents);
  const auto packed = cost::packed(t, lengths, cost::window_of(list));
  if (packed) return *packed;
  if (packed.error().code == hocket::errc::contradictory_field)
    in.fail_at("document_lengths", "do not add up to the sequence of " + std::to_string(t.sequence));
  in.fail_at("document_lengths", "are not possible: " + message(packed.error()));
}

// A step needs the rates of what it does; a rate that is missing is named.
}  // namespace

void need_rates(const machine_input& on, bool has_experts, const cost::parallel& p, std::string_view file) {
  struct need {
    bool needed;
    double rate;
    const char* key;
  };
  const bool by_group = !on.rates.has_links();
  for (const need x : {need{by_group && (p.tp > 1 || p.cp > 1), on.rates.tensor_bytes, "tensor_bytes"},
                       {by_group && has_experts && p.ep > 1, on.rates.expert_bytes, "expert_bytes"},
                       {by_group && p.pp > 1, on.rates.pipeline_bytes, "pipeline_bytes"},
                       {by_group && (p.dp > 1 || p.cp > 1), on.rates.data_bytes, "data_bytes"},
                       {p.offload_optimizer || p.offload_activations, on.rates.host_bytes, "host_bytes"}})
    if (x.needed && x.rate <= 0)
      fail(std::string(file) + ": machine \"" + on.name + "\" has no \"" + x.key + "\", which this step needs");
}

namespace {
// Ends the command with what is wrong with a config, in a sentence that shows the field's value.
[[noreturn]] void fail_config(const json& config, std::string_view file, const hocket::error& why) {
  const hocket::errc code = why.code;
  if (code == hocket::errc::invalid_argument || code == hocket::errc::unknown_value) {
    static constexpr std::string_view must[] = {
        "but must be a whole number below 2^31", "but must be true or false", "but must be a list of layer numbers",
        "but must be a list with one word for each layer", "which its model_type does not allow"};
    const std::string field(why.word());
    const auto kind = code == hocket::errc::unknown_value ? 4 : static_cast<std::size_t>(why.values[0]);
    // The field may stand inside one of the config's objects.
    const json* value = config.contains(field) ? &config.at(field) : nullptr;
    for (const json& member : config)
      if (value == nullptr && member.is_object() && member.contains(field)) value = &member.at(field);
    if (value != nullptr && kind < std::size(must))
      fail(std::string(file) + ": \"" + field + "\" is " + shown(*value) + ", " + std::string(must[kind]));
  }
  fail(file, why);
}
// What is wrong with a config that neither reader takes: of one that only a list of layers could be, that.
[[noreturn]] void fail_to_read(const json& config, std::string_view file, const hocket::error& flat,
                               const hocket::error& layers) {
  if (flat.code != hocket::errc::unknown_architecture) fail_config(config, file, flat);
  const auto text = config.find("text_config");
  const bool is_inner = text != config.end() && text->is_object() && text->contains("model_type");
  fail_config(is_inner ? *text : config, file, layers);
}
}  // namespace

model_input read_model(const json& config, std::string_view file) {
  if (!config.is_object()) fail(std::string(file) + ": the config must be an object");
  model_input out;
  if (auto flat = hocket::hugging_face::read_config(config)) {
    value_or_fail(cost::check(flat->model), file);
    out = {cost::to_layers(flat->model), std::move(flat->architecture), std::move(flat->assumed), {}};
  } else if (auto read = hocket::hugging_face::read_layers(config)) {
    out = {std::move(read->layers), std::move(read->architecture), std::move(read->assumed), {}};
    for (const auto& each : read->encoders)
      out.encoders.push_back(
          {each.name, each.architecture, value_or_fail(cost::count_parameters(each.layers), file).total});
  } else {
    fail_to_read(config, file, flat.error(), read.error());
  }
  value_or_fail(cost::count_parameters(out.layers), file);  // what is wrong with it is not the step's fault
  return out;
}

namespace {

// The machine of a name, looked up as a choice so that a wrong one is answered with those there are.
machine_input named_machine(const json_object& in, const char* key) {
  std::vector<std::string_view> keys;
  for (const cost::machines::named_machine& each : cost::machines::all) keys.push_back(each.key);
  const cost::machine_data& found = cost::machines::all[in.choice(key, keys)].data;
  return {std::string(found.name), std::string(found.source), found.rates, found.worst_error};
}

// "links": the levels of links between devices, from the innermost.
void read_links(const json_object& in, cost::machine& rates) {
  constexpr std::int64_t most_ranks = std::int64_t{1} << 31;
  const json& levels = in.at("links");
  if (!levels.is_array() || levels.empty() || levels.size() > cost::most_link_levels)
    in.fail_at("links", "must be a list of 1 to " + std::to_string(cost::most_link_levels) + " levels");
  std::int64_t inner = 0;
  for (std::size_t at = 0; at < levels.size(); ++at) {
    const json_object level(levels[at], in.file(), in.name("links") + "[" + std::to_string(at) + "]",
                            {"ranks", "bytes", "seconds"});
    cost::link_level& to = rates.links[at];
    to.ranks = level.integer("ranks", inner + 1, most_ranks);
    to.bytes = level.positive("bytes");
    to.seconds = level.not_negative_or("seconds", 0);
    inner = to.ranks;
  }
  for (std::size_t at = levels.size(); at < cost::most_link_levels; ++at) rates.links[at] = {};
}

// Rates of no machine would print figures without digits that mean something.
constexpr double least_rate = 1, most_rate = 1e30, most_other = 1e9;
constexpr machine_number machine_rates[] = {
    {"gemm_flops", &cost::machine::gemm_flops},     {"attention_flops", &cost::machine::attention_flops},
    {"memory_bytes", &cost::machine::memory_bytes}, {"tensor_bytes", &cost::machine::tensor_bytes},
    {"expert_bytes", &cost::machine::expert_bytes}, {"pipeline_bytes", &cost::machine::pipeline_bytes},
    {"data_bytes", &cost::machine::data_bytes},     {"host_bytes", &cost::machine::host_bytes},
    {"fp8_flops", &cost::machine::fp8_flops},       {"mxfp8_flops", &cost::machine::mxfp8_flops},
    {"nvfp4_flops", &cost::machine::nvfp4_flops}};
constexpr machine_number machine_others[] = {{"cores", &cost::machine::cores},
                                             {"block_rows", &cost::machine::block_rows},
                                             {"block_columns", &cost::machine::block_columns},
                                             {"block_seconds", &cost::machine::block_seconds},
                                             {"tensor_overlap", &cost::machine::tensor_overlap},
                                             {"context_overlap", &cost::machine::context_overlap},
                                             {"pipeline_overlap", &cost::machine::pipeline_overlap},
                                             {"data_overlap", &cost::machine::data_overlap},
                                             {"expert_overlap", &cost::machine::expert_overlap},
                                             {"host_overlap", &cost::machine::host_overlap},
                                             {"load_seconds", &cost::machine::load_seconds},
                                             {"post_seconds", &cost::machine::post_seconds},
                                             {"launch_seconds", &cost::machine::launch_seconds},
                                             {"launches", &cost::machine::launches},
                                             {"expert_launches", &cost::machine::expert_launches},
                                             {"kernel_seconds", &cost::machine::kernel_seconds},
                                             {"spread", &cost::machine::spread}};

void read_numbers(const json_object& in, cost::machine& rates) {
  for (const machine_number& x : machine_rates) {
    if (!in.has(x.key)) continue;
    const double value = in.positive(x.key);
    if (value < least_rate || value > most_rate) in.fail_at(x.key, "must be from 1 to 1e30 a second");
    rates.*x.member = value;
  }
  for (const machine_number& x : machine_others) {
    if (!in.has(x.key)) continue;
    const double value = in.number(x.key);
    if (value < 0 || value > most_other) in.fail_at(x.key, "must be from 0 to 1e9");
    if (std::string_view(x.key).ends_with("_overlap") && value > 1) in.fail_at(x.key, "must be at most 1");
    if (std::string_view(x.key).starts_with("block_") && value == 0 && std::string_view(x.key) != "block_seconds")
      in.fail_at(x.key, "must be above 0");
    rates.*x.member = value;
  }
}

}  // namespace

std::vector<machine_number> machine_numbers() {
  std::vector<machine_number> all(std::begin(machine_rates), std::end(machine_rates));
  all.insert(all.end(), std::begin(machine_others), std::end(machine_others));
  return all;
}

machine_input read_machine(const json& machine, std::string_view file, const std::string& path) {
  if (machine.is_string()) {
    const json wrapped{{"machine", machine}};
    return named_machine(json_object(wrapped, file, path, {"machine"}), "machine");
  }
  std::vector<std::string_view> keys{"name", "source", "from", "links", "sends_once"};
  for (const machine_number& x : machine_rates) keys.emplace_back(x.key);
  for (const machine_number& x : machine_others) keys.emplace_back(x.key);
  const json_object in(machine, file, path.empty() ? "machine" : path + ".machine", keys);
  machine_input out;
  if (in.has("from")) out = named_machine(in, "from");
  out.name = in.text("name");
  out.source = in.text("source");
  if (out.source.empty()) in.fail_at("source", "is empty: say where the numbers come from");
  for (const char* key : {"name", "source"})
    if (!hocket::is_printable(in.text(key))) in.fail_at(key, "has a control character");
  cost::machine& rates = out.rates;
  if (!in.has("from"))
    for (const char* key : {"gemm_flops", "memory_bytes"}) static_cast<void>(in.at(key));
  read_numbers(in, rates);
  if (!in.has("from") && !in.has("attention_flops")) rates.attention_flops = rates.gemm_flops;
  if (in.has("links")) read_links(in, rates);
  rates.sends_once = in.boolean_or("sends_once", rates.sends_once);
  return out;
}

namespace {

// A machine that does not know the format is refused where the format is chosen.
void need_precision(const json_object& in, const machine_input& on, cost::precision format) {
  if (cost::product_flops(on.rates, format) > 0) return;
  in.fail_at("precision", "is " + std::string(to_string(format)) + ", of which machine \"" + on.name + "\" has no \"" +
                              std::string(to_string(format)) + "_flops\"");
}

// Fields of recompute_lists; `taken` says whether "recompute" is a level here, for the caller to read.
void take_lists(const json_object& in, recompute_lists& lists, bool level_is_here) {
  const auto take = [&](const char* key, json& to) {
    if (!in.has(key)) return;
    if (!to.is_null()) in.fail_at(key, "is given in " + lists.file + ", too: say it once");
    to = in.at(key);
    lists.file = std::string(in.file());
  };
  if (!level_is_here || (in.has("recompute") && !in.at("recompute").is_string())) take("recompute", lists.whole);
  take("select_recompute", lists.select);
}

}  // namespace

training_input read_training(const json& training, const cost::layer_list& model, std::string_view file,
                             const std::string& path, recompute_lists* lists, bool takes_muon) {
  const json_object in(training, file, path,
                       {"version",
                        "sequence",
                        "micro_batch",
                        "global_batch",
                        "weights",
                        "gradients",
                        "activations",
                        "master",
                        "moments",
                        "optimizer",
                        "flash_attention",
                        "dropout",
                        "padded_vocabulary",
                        "predictions",
                        "attention_count",
                        "recompute_count",
                        "count_router",
                        "count_latent_norms",
                        "step_seconds",
                        "peak_tflops",
                        "wide_norm",
                        "fused_loss",
                        "fused_activation",
                        "workspace",
                        "document_lengths",
                        "machine",
                        "precision",
                        "dispatch",
                        lists != nullptr ? "recompute" : "version",
                        lists != nullptr ? "select_recompute" : "version"});
  training_input out;
  if (lists != nullptr) take_lists(in, *lists, false);
  cost::training& t = out.step;
  t.sequence = in.integer("sequence", 1, std::numeric_limits<std::int32_t>::max());
  t.micro_batch = size_or(in, "micro_batch", t.micro_batch);
  t.global_batch = size_or(in, "global_batch", t.micro_batch);
  read_types(in, t);
  if (t.muon && !takes_muon)
    in.fail_at("optimizer", "is muon, whose states only `hocket cost report` and `hocket plan` count");
  if (t.muon && in.has("machine"))
    in.fail_at("optimizer", "is muon, of whose updates no seconds are predicted: leave \"machine\" out");
  t.flash_attention = in.boolean_or("flash_attention", true);
  t.dropout = in.boolean_or("dropout", false);
  t.wide_norm = in.boolean_or("wide_norm", t.wide_norm);
  t.fused_loss = in.boolean_or("fused_loss", t.fused_loss);
  t.fused_activation = in.boolean_or("fused_activation", t.fused_activation);
  if (in.has("document_lengths")) t = with_documents(in, t, model);
  t.precision = static_cast<cost::precision>(in.choice_or("precision", {"bf16", "fp8", "mxfp8", "nvfp4"}, 0));
  if (in.has("dispatch")) t.dispatch_bytes = type_bytes(in, "dispatch", 0);
  if (in.has("machine")) out.on = read_machine(in.at("machine"), file, path);
  if (out.on) need_precision(in, *out.on, t.precision);
  out.padded_vocabulary = size_or(in, "padded_vocabulary", 0);
  out.predictions = in.integer_or("predictions", 0, 0, 64);
  out.counted.attention = static_cast<cost::attention_count>(
      in.choice_or("attention_count", {"full", "causal_half", "causal_exact", "window"},
                   static_cast<std::size_t>(out.counted.attention)));
  out.counted.replay = static_cast<cost::recompute_count>(in.choice_or("recompute_count", {"exact", "korthikanti"}, 0));
  out.counted.router = in.boolean_or("count_router", out.counted.router);
  out.counted.latent_norms = in.boolean_or("count_latent_norms", out.counted.latent_norms);
  if (in.has("step_seconds")) out.step_seconds = in.positive("step_seconds");
  if (in.has("peak_tflops")) out.peak_tflops = in.positive("peak_tflops");
  if ((out.step_seconds > 0) != (out.peak_tflops > 0))
    in.fail_at(out.step_seconds > 0 ? "peak_tflops" : "step_seconds", "is missing: the two belong together");
  return out;
}

namespace {

// "replay": names of operations that are computed again, beside the gather after a sequence-parallel norm, which
// frameworks do again anyway. "-gather": they keep what was gathered.
cost::replay_set read_replay(const json_object& in) {
  const json& names = in.at("replay");
  if (!names.is_array()) in.fail_at("replay", "must be an array of operations");
  cost::replay_set out;
  for (const json& each : names) {
    bool found = each == "-gather";
    if (found) out.gather = false;
    for (const cost::layer_operation which : cost::replayable) {
      if (!each.is_string() || each.get_ref<const std::string&>() != cost::to_string(which)) continue;
      out.*cost::flag_of(which) = found = true;
    }
    if (found) continue;
    std::string known = "-gather";
    for (const cost::layer_operation which : cost::replayable) known += ", " + std::string(to_string(which));
    in.fail_at("replay", "must hold names of operations: " + known);
  }
  return out;
}

}  // namespace

cost::parallel read_parallel(const json& parallel, std::string_view file, const std::string& path,
                             cost::replay_set* replay, recompute_lists* lists) {
  // "replay" is a field where somebody takes it; elsewhere it is unknown, like any other.
  const json_object in(parallel, file, path,
                       {"version", "tp", "pp", "vp", "dp", "cp", "ep", "etp", "sequence_parallel", "zero", "recompute",
                        "copies", "offload_optimizer", "offload_activations", "cp_comm_type",
                        replay != nullptr ? "replay" : "version", lists != nullptr ? "select_recompute" : "version"});
  if (lists != nullptr) take_lists(in, *lists, true);
  if (replay != nullptr && in.has("replay")) *replay = read_replay(in);
  cost::parallel p;
  p.tp = size_or(in, "tp", 1);
  p.pp = size_or(in, "pp", 1);
  p.vp = size_or(in, "vp", 1);
  p.dp = size_or(in, "dp", 1);
  p.cp = size_or(in, "cp", 1);
  p.ep = size_or(in, "ep", 1);
  p.etp = size_or(in, "etp", 1);
  std::int64_t devices = 1;
  for (const std::int64_t ways : {p.tp, p.pp, p.dp, p.cp})
    if (!hocket::checked_multiply(devices, ways, devices) || devices > std::numeric_limits<std::int32_t>::max())
      fail(std::string(file) + ": tp x pp x dp x cp is more than 2^31 - 1 devices");
  // A stage is a row of the report; the limit is that of pipeline::shape.
  if (constexpr std::int64_t most_stages = 65'536; p.pp * p.vp > most_stages)
    fail(std::string(file) + ": pp x vp is more than " + std::to_string(most_stages) + " stages");
  p.sequence_parallel = in.boolean_or("sequence_parallel", false);
  p.zero = static_cast<cost::zero>(in.integer_or("zero", 0, 0, 3));
  if (lists == nullptr || lists->whole.is_null() || (in.has("recompute") && in.at("recompute").is_string()))
    p.recompute = static_cast<cost::recompute>(in.choice_or("recompute", {"none", "selective", "full"}, 0));
  if (lists != nullptr && !lists->whole.is_null() && in.has("recompute") && in.at("recompute").is_string())
    in.fail_at("recompute", "is given in " + lists->file + ", too: say it once");
  p.copies = size_or(in, "copies", 1);
  p.offload_optimizer = in.boolean_or("offload_optimizer", false);
  p.offload_activations = in.boolean_or("offload_activations", false);
  p.cp_exchange = static_cast<cost::context_exchange>(in.choice_or("cp_comm_type", {"p2p", "all_gather", "a2a"}, 0));
  return p;
}

namespace {

// Operations by the names that configs of MindFormers give to their parts. Where several parts make one operation of
// the table of saved tensors, it is computed again only with all of them. Reshapes and transposes move nothing.
struct operation_part {
  std::string_view pattern;
  cost::layer_operation which;
};
constexpr operation_part parts_of_operations[] = {{"feed_forward.mul", cost::layer_operation::activation},
                                                  {"feed_forward.w1.activation", cost::layer_operation::activation},
                                                  {"feed_forward.w1.matmul", cost::layer_operation::ffn_in},
                                                  {"feed_forward.w3.matmul", cost::layer_operation::ffn_in},
                                                  {"feed_forward.w2.matmul", cost::layer_operation::ffn_out},
                                                  {"attention_norm.norm", cost::layer_operation::norm},
                                                  {"ffn_norm.norm", cost::layer_operation::norm},
                                                  {"attention_norm.rcast", cost::layer_operation::cast_back},
                                                  {"ffn_norm.rcast", cost::layer_operation::cast_back},
                                                  {"attention.wq.matmul", cost::layer_operation::qkv},
                                                  {"attention.wk.matmul", cost::layer_operation::qkv},
                                                  {"attention.wv.matmul", cost::layer_operation::qkv},
                                                  {"attention.wo.matmul", cost::layer_operation::output},
                                                  {"add", cost::layer_operation::output},
                                                  {"attention.flash_attention", cost::layer_operation::attention}};
constexpr std::string_view parts_without_work[] = {
    "feed_forward.w1.reshape", "feed_forward.w2.reshape", "feed_forward.w3.reshape", "attention.wq.reshape",
    "attention.wk.reshape",    "attention.wv.reshape",    "attention.wo.reshape",    "attention.merger_head_transpose"};

class plan_reader {
 public:
  plan_reader(const recompute_lists& lists, std::vector<std::int64_t> layers)
      : lists_(lists), layers_(std::move(layers)) {}

  // Which layers of which stage a value names; `name` is how messages call it.
  cost::layer_flags flags(const json& value, const std::string& name) const {
    if (value.is_boolean()) {
      const std::vector<std::int64_t> none(layers_.size(), 0);
      return cost::first_layers(value.get<bool>() ? layers_ : none, layers_);
    }
    if (!value.is_array())
      bad(name, "is " + shown(value) + ", but must be true, false, or an array with one entry for each pipeline stage");
    if (value.size() != layers_.size())
      bad(name, "has " + std::to_string(value.size()) + " entries, but there are " + std::to_string(layers_.size()) +
                    " pipeline stages");
    cost::layer_flags out;
    for (std::size_t stage = 0; stage < layers_.size(); ++stage) {
      const std::string at = name + "[" + std::to_string(stage) + "]";
      const std::int64_t has = layers_[stage];
      const std::string has_layers = ", but stage " + std::to_string(stage) + " has " + std::to_string(has) + " layers";
      std::vector<bool> here(static_cast<std::size_t>(has), false);
      if (value[stage].is_array()) {
        for (const json& layer : value[stage]) {
          const std::int64_t n = number(layer, at);
          if (n >= has) bad(at, "names layer " + std::to_string(n) + has_layers + ", counted from 0");
          here[static_cast<std::size_t>(n)] = true;
        }
      } else {
        const std::int64_t n = number(value[stage], at);
        if (n > has) bad(at, "is " + std::to_string(n) + has_layers);
        for (std::int64_t layer = 0; layer < n; ++layer) here[static_cast<std::size_t>(layer)] = true;
      }
      out.push_back(std::move(here));
    }
    return out;
  }

  // Operations with their layers.
  void select(cost::recompute_plan& plan) const {
    std::vector<operation_flags> found;
    const auto add = [&](const std::string& written, const json& where) {
      std::string name;
      for (const char c : written) name += c == '\\' ? "" : std::string(1, c);
      found.push_back({name, written, flags(where, "select_recompute." + written)});
    };
    if (lists_.select.is_array()) {
      for (const json& each : lists_.select) {
        if (!each.is_string()) bad("select_recompute", "must hold names of operations");
        add(each.get<std::string>(), json(true));
      }
    } else if (lists_.select.is_object()) {
      for (const auto& [name, where] : lists_.select.items()) add(name, where);
    } else {
      bad("select_recompute", "must be an array of operations, or an object of operations with their layers");
    }
    for (const operation_flags& each : found) check_known(each);
    for (const cost::layer_operation which : cost::replayable) {
      cost::layer_flags where;
      const auto both = [&](const cost::layer_flags& more) {
        if (where.empty()) where = more;
        for (std::size_t s = 0; s < where.size(); ++s)
          for (std::size_t l = 0; l < where[s].size(); ++l) where[s][l] = where[s][l] && more[s][l];
      };
      const operation_flags* of_parts = nullptr;
      for (const operation_flags& each : found) {
        if (each.name == cost::to_string(which)) both(each.where);
        for (const operation_part& part : parts_of_operations)
          if (part.which == which && part.pattern == each.name) {
            of_parts = &each;
            both(each.where);
          }
      }
      for (const operation_part& part : parts_of_operations) {
        const bool named =
            std::any_of(found.begin(), found.end(), [&](const auto& x) { return x.name == part.pattern; });
        if (of_parts != nullptr && part.which == which && !named)
          bad("select_recompute", "names \"" + of_parts->name + "\" but not \"" + std::string(part.pattern) +
                                      "\": only together are they the operation " + std::string(to_string(which)));
      }
      if (!where.empty()) plan.operations.push_back({which, std::move(where)});
    }
  }

 private:
  struct operation_flags {
    std::string name, written;
    cost::layer_flags where;
  };
  [[noreturn]] void bad(const std::string& name, const std::string& sentence) const {
    fail(lists_.file + ": \"" + hocket::to_printable(name) + "\" " + sentence);
  }
  std::int64_t number(const json& value, const std::string& name) const {
    const std::optional<std::int64_t> x = whole(value);
    if (!x || *x < 0 || *x >= std::int64_t{1} << 31) bad(name, "must hold whole numbers from 0 to 2147483647");
    return *x;
  }
  void check_known(const operation_flags& each) const {
    for (const cost::layer_operation which : cost::replayable)
      if (each.name == to_string(which)) return;
    for (const operation_part& part : parts_of_operations)
      if (each.name == part.pattern) return;
    for (const std::string_view part : parts_without_work)
      if (each.name == part) return;
    std::string known;
    for (const cost::layer_operation which : cost::replayable)
      known += (known.empty() ? "" : ", ") + std::string(to_string(which));
    bad("select_recompute." + each.written,
        "is no operation known here: " + known + ", or a part as MindFormers names it");
  }

  const recompute_lists& lists_;
  std::vector<std::int64_t> layers_;
};

}  // namespace

cost::device_memory read_memory(const json_object& cluster) {
  const double all = cluster.positive("memory_gib");
  if (all * bytes_per_gib < 1 || all > 1e6)
    cluster.fail_at("memory_gib", "must be at least one byte and at most 1000000");
  const double usual = static_cast<double>(cost::usual_reserve.count()) / bytes_per_gib;
  const double reserve = cluster.not_negative_or("reserve_gib", usual);
  if (reserve >= all)
    cluster.fail_at(cluster.has("reserve_gib") ? "reserve_gib" : "memory_gib",
                    "leaves nothing for training: of " + shown(all) + " GiB, " + shown(reserve) +
                        " are in reserve (\"reserve_gib\")");
  const auto whole_bytes = [](double gib) { return hocket::bytes(static_cast<std::int64_t>(gib * bytes_per_gib)); };
  return {.capacity = whole_bytes(all), .reserve = whole_bytes(reserve)};
}

std::vector<std::string> missing_reshapes(const recompute_lists& lists) {
  std::vector<std::string> names, missing;
  const auto add = [&](const std::string& written) {
    std::string name;
    for (const char c : written) name += c == '\\' ? "" : std::string(1, c);
    names.push_back(name);
  };
  for (const auto& [key, value] : lists.select.items()) add(lists.select.is_array() ? value.get<std::string>() : key);
  const auto is_named = [&](const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  if (!is_named("feed_forward.mul")) return missing;
  for (const std::string& matrix : {std::string("w1"), std::string("w2")})
    if (!is_named("feed_forward." + matrix + ".reshape")) missing.push_back("feed_forward\\." + matrix + "\\.reshape");
  return missing;
}

cost::recompute_plan read_lists(const recompute_lists& lists, std::span<const cost::rank_layers> ranks,
                                const cost::replay_set& replay) {
  const std::vector<std::int64_t> counts = cost::layer_counts(ranks);
  const std::int64_t layers = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  if (constexpr std::int64_t most_layers = 65'536; layers > most_layers)
    fail(lists.file + ": lists by layer are for models of at most " + std::to_string(most_layers) +
         " layers, but this has " + std::to_string(layers));
  const plan_reader reader(lists, counts);
  cost::recompute_plan plan;
  plan.everywhere = replay;
  if (!lists.whole.is_null()) plan.full = reader.flags(lists.whole, "recompute");
  if (!lists.select.is_null()) reader.select(plan);
  return plan;
}

std::size_t fullest_rank(const cost::report& report) {
  const auto less = [](const cost::rank_memory& a, const cost::rank_memory& b) {
    return a.peak.total_bytes() < b.peak.total_bytes();
  };
  return static_cast<std::size_t>(std::max_element(report.memory.begin(), report.memory.end(), less) -
                                  report.memory.begin());
}

std::string report_summary(const cost::report& r, const report_context& context) {
  std::string s = "parameters=" + std::to_string(r.parameters.total);
  if (r.flops) s += " flops_per_step=" + to_string(r.flops->model_step);
  cost::rational most = 0;
  for (const auto& rank : r.memory) most = most < rank.total_bytes() ? rank.total_bytes() : most;
  if (!r.memory.empty()) s += " max_bytes_per_rank=" + to_string(most.ceiling());
  if (!r.memory.empty())
    s += " peak_bytes_per_rank=" + to_string(r.memory[fullest_rank(r)].peak.total_bytes().ceiling());
  if (context.step) {
    char text[96];
    std::snprintf(text, sizeof text, " step_seconds=%.6g tokens_per_second_per_device=%.6g",
                  context.step->step_time().count(), context.step->tokens_per_second_per_device);
    s += text;
  }
  return s;
}

}  // namespace hocket_cli
