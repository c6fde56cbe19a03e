// SPDX-License-Identifier: Apache-2.0
#include "cost_input.hpp"

#include <limits>

#include "command.hpp"
#include "json_fields.hpp"

namespace hocket_cli {
namespace cost = hocket::cost;
using nlohmann::json;

namespace {

using cost::to_string;

// Bytes of a type name; 0 for "none".
std::int64_t type_bytes(const json_object& in, const char* key, std::int64_t otherwise) {
  static constexpr std::int64_t bytes[] = {0, 1, 2, 2, 4, 8};
  return in.has(key) ? bytes[in.choice(key, {"none", "fp8", "bf16", "fp16", "fp32", "fp64"})] : otherwise;
}
std::int64_t size_or(const json_object& in, const char* key, std::int64_t otherwise) {
  return in.integer_or(key, otherwise, 1, std::numeric_limits<std::int32_t>::max());
}

}  // namespace

hocket::hugging_face::reading read_model_config(const json& config, std::string_view file) {
  return value_or_fail(hocket::hugging_face::read_config(config), file);
}

training_input read_training(const json& training, std::string_view file, const std::string& path) {
  const json_object in(
      training, file, path,
      {"version", "sequence", "micro_batch", "global_batch", "weights", "gradients", "activations", "master", "moments",
       "optimizer", "flash_attention", "dropout", "padded_vocabulary", "attention_count", "recompute_count",
       "count_router", "count_latent_norms", "step_seconds", "peak_tflops"});
  training_input out;
  cost::training& t = out.step;
  t.sequence = in.integer("sequence", 1, std::numeric_limits<std::int32_t>::max());
  t.micro_batch = size_or(in, "micro_batch", t.micro_batch);
  t.global_batch = size_or(in, "global_batch", t.micro_batch);
  t.weight_bytes = type_bytes(in, "weights", 2);
  t.gradient_bytes = type_bytes(in, "gradients", 4);
  t.activation_bytes = type_bytes(in, "activations", 2);
  // Mixed precision keeps a 32-bit copy of narrower weights.
  t.master_bytes = type_bytes(in, "master", t.weight_bytes < 4 ? 4 : 0);
  const std::int64_t moments[] = {2, 1, 0};
  t.moment_bytes = type_bytes(in, "moments", 4) * moments[in.choice_or("optimizer", {"adam", "momentum", "sgd"}, 0)];
  t.flash_attention = in.boolean_or("flash_attention", true);
  t.dropout = in.boolean_or("dropout", false);
  out.padded_vocabulary = size_or(in, "padded_vocabulary", 0);
  out.counted.attention = static_cast<cost::attention_count>(
      in.choice_or("attention_count", {"full", "causal_half", "causal_exact", "window"},
                   static_cast<std::size_t>(out.counted.attention)));
  out.counted.replay = static_cast<cost::recompute_count>(in.choice_or("recompute_count", {"exact", "korthikanti"}, 0));
  out.counted.router = in.boolean_or("count_router", out.counted.router);
  out.counted.latent_norms = in.boolean_or("count_latent_norms", out.counted.latent_norms);
  if (in.has("step_seconds")) out.step_seconds = in.positive("step_seconds");
  if (in.has("peak_tflops")) out.peak_tflops = in.positive("peak_tflops");
  if (t.weight_bytes == 0) in.fail_at("weights", "cannot be none");
  if (t.activation_bytes == 0) in.fail_at("activations", "cannot be none");
  if ((out.step_seconds > 0) != (out.peak_tflops > 0))
    in.fail_at(out.step_seconds > 0 ? "peak_tflops" : "step_seconds", "is missing: the two belong together");
  return out;
}

cost::parallel read_parallel(const json& parallel, std::string_view file, const std::string& path) {
  const json_object in(
      parallel, file, path,
      {"version", "tp", "pp", "vp", "dp", "cp", "ep", "etp", "sequence_parallel", "zero", "recompute", "copies"});
  cost::parallel p;
  p.tp = size_or(in, "tp", 1), p.pp = size_or(in, "pp", 1), p.vp = size_or(in, "vp", 1), p.dp = size_or(in, "dp", 1);
  p.cp = size_or(in, "cp", 1), p.ep = size_or(in, "ep", 1), p.etp = size_or(in, "etp", 1);
  std::int64_t devices = 1;
  for (const std::int64_t ways : {p.tp, p.pp, p.dp, p.cp})
    if (!hocket::checked_multiply(devices, ways, devices) || devices > std::numeric_limits<std::int32_t>::max())
      fail(std::string(file) + ": tp x pp x dp x cp is more than 2^31 - 1 devices");
  // A stage is a row of the report; the limit is that of pipeline::shape.
  if (constexpr std::int64_t most_stages = 65'536; p.pp * p.vp > most_stages)
    fail(std::string(file) + ": pp x vp is more than " + std::to_string(most_stages) + " stages");
  p.sequence_parallel = in.boolean_or("sequence_parallel", false);
  p.zero = static_cast<cost::zero>(in.integer_or("zero", 0, 0, 3));
  p.recompute = static_cast<cost::recompute>(in.choice_or("recompute", {"none", "selective", "full"}, 0));
  if (size_or(in, "copies", 1) != 1) in.fail_at("copies", "must be 1: multi-copy parallelism is not yet modelled");
  return p;
}

cost::report make_report(const cost::model& model, const report_context& context, std::string_view file,
                         const std::vector<cost::held>& in_flight) {
  cost::model m = model;
  if (!context.training) return value_or_fail(cost::make_report(m), file);
  const std::int64_t padded = context.training->padded_vocabulary;
  if (padded != 0 && padded < m.vocabulary)
    fail(std::string(file) + ": \"padded_vocabulary\" is smaller than the model's vocabulary of " +
         std::to_string(m.vocabulary));
  // The parameter count stays that of the published model: padding is memory and work, not model.
  cost::report published = value_or_fail(cost::make_report(m), file);
  if (padded != 0) m.vocabulary = padded;
  cost::report r = value_or_fail(
      cost::make_report(m, context.training->step, context.parallel, context.training->counted, in_flight), file);
  if (const training_input& t = *context.training; t.step_seconds > 0 && r.flops) {
    constexpr double most = 1e9;  // times the peak; also keeps the printed figures within 64 bits
    const double ratio = r.flops->hardware_step.real() / t.step_seconds / (t.peak_tflops * 1e12) /
                         static_cast<double>(context.parallel.devices());
    if (!(ratio < most && t.peak_tflops < most))
      fail(std::string(file) + ": \"step_seconds\" and \"peak_tflops\" are not those of a machine");
  }
  std::erase_if(r.lines, [](const cost::report_line& line) { return line.group == "parameters"; });
  r.lines.insert(r.lines.begin(), published.lines.begin(), published.lines.end());
  r.parameters = published.parameters;
  return r;
}

std::string report_summary(const cost::report& r) {
  std::string s = "parameters=" + std::to_string(r.parameters.total);
  if (r.flops) s += " flops_per_step=" + to_string(r.flops->model_step);
  cost::rational most = 0;
  for (const auto& rank : r.memory) most = most < rank.total_bytes() ? rank.total_bytes() : most;
  if (!r.memory.empty()) s += " max_bytes_per_rank=" + to_string(most.ceiling());
  return s;
}

}  // namespace hocket_cli
