// SPDX-License-Identifier: Apache-2.0
#include "cost_input.hpp"

#include <cmath>
#include <cstdio>
#include <set>

#include "command.hpp"

namespace hocket_cli {
namespace cost = hocket::cost;
using nlohmann::json;

namespace {

using cost::to_string;

// The fields of one JSON object; what was never asked for is an error at the end.
class object {
 public:
  object(const json& value, std::string_view file) : value_(value), file_(file) {
    if (!value.is_object()) fail(file_ + ": expected a JSON object");
    known_.insert("version");
    if (value.contains("version") && value.at("version") != 1) fail(file_ + ": \"version\" must be 1");
  }
  std::int64_t size(const char* name, std::int64_t otherwise, std::int64_t least = 1) {
    const json* v = find(name);
    if (v == nullptr) return otherwise;
    constexpr std::int64_t limit = std::numeric_limits<std::int32_t>::max();
    if (!v->is_number_integer() || (v->is_number_unsigned() && v->get<std::uint64_t>() > std::uint64_t{limit}) ||
        v->get<std::int64_t>() < least)
      fail(file_ + ": \"" + name + "\" must be a whole number from " + std::to_string(least) + " to " +
           std::to_string(limit));
    return v->get<std::int64_t>();
  }
  std::int64_t required_size(const char* name) {
    if (!value_.contains(name)) fail(file_ + ": the field \"" + std::string(name) + "\" is missing");
    return size(name, 0);
  }
  double positive(const char* name) {
    const json* v = find(name);
    if (v == nullptr) return 0;
    const double x = v->is_number() ? v->get<double>() : 0;
    if (!(x > 0) || !std::isfinite(x)) fail(file_ + ": \"" + name + "\" must be a positive number");
    return x;
  }
  bool flag(const char* name, bool otherwise) {
    const json* v = find(name);
    if (v == nullptr) return otherwise;
    if (!v->is_boolean()) fail(file_ + ": \"" + std::string(name) + "\" must be true or false");
    return v->get<bool>();
  }
  // One of the words, as its index; `otherwise` if the field is absent.
  std::size_t choice(const char* name, std::initializer_list<const char*> words, std::size_t otherwise) {
    const json* v = find(name);
    if (v == nullptr) return otherwise;
    std::string all;
    std::size_t at = 0;
    for (const char* word : words) {
      if (v->is_string() && *v == word) return at;
      all += (at++ == 0 ? "" : ", ") + std::string(word);
    }
    fail(file_ + ": \"" + name + "\" must be one of " + all);
  }
  /// Bytes of a type name; 0 for "none".
  std::int64_t type_bytes(const char* name, std::int64_t otherwise) {
    static constexpr std::int64_t bytes[] = {0, 1, 2, 2, 4, 8};
    const std::size_t missing = std::size(bytes);
    const std::size_t at = choice(name, {"none", "fp8", "bf16", "fp16", "fp32", "fp64"}, missing);
    return at == missing ? otherwise : bytes[at];
  }
  void finish() const {
    for (const auto& [name, value] : value_.items())
      if (known_.count(name) == 0) fail(file_ + ": unknown field \"" + name + "\"");
  }

 private:
  const json* find(const char* name) {
    known_.insert(name);
    return value_.contains(name) ? &value_.at(name) : nullptr;
  }
  const json& value_;
  std::string file_;
  std::set<std::string> known_;
};

}  // namespace

json read_json(std::string_view text, std::string_view file) {
  try {
    return json::parse(text.begin(), text.end());
  } catch (const json::parse_error& e) {
    fail(std::string(file) + ": not JSON, at byte " + std::to_string(e.byte));
  }
}

hocket::hugging_face::reading read_model_config(const json& config, std::string_view file) {
  return value_or_fail(hocket::hugging_face::read_config(config), file);
}

training_input read_training(const json& training, std::string_view file) {
  object in(training, file);
  training_input out;
  cost::training& t = out.step;
  t.sequence = in.required_size("sequence");
  t.micro_batch = in.size("micro_batch", t.micro_batch);
  t.global_batch = in.size("global_batch", t.micro_batch);
  t.weight_bytes = in.type_bytes("weights", 2);
  t.gradient_bytes = in.type_bytes("gradients", 4);
  t.activation_bytes = in.type_bytes("activations", 2);
  // Mixed precision keeps a 32-bit copy of narrower weights.
  t.master_bytes = in.type_bytes("master", t.weight_bytes < 4 ? 4 : 0);
  const std::int64_t moment = in.type_bytes("moments", 4);
  const std::int64_t moments[] = {2, 1, 0};
  t.moment_bytes = moment * moments[in.choice("optimizer", {"adam", "momentum", "sgd"}, 0)];
  t.flash_attention = in.flag("flash_attention", true);
  t.dropout = in.flag("dropout", false);
  out.padded_vocabulary = in.size("padded_vocabulary", 0);
  out.counted.attention =
      static_cast<cost::attention_count>(in.choice("attention_count", {"full", "causal_half", "causal_exact", "window"},
                                                   static_cast<std::size_t>(out.counted.attention)));
  out.counted.replay = static_cast<cost::recompute_count>(in.choice("recompute_count", {"exact", "korthikanti"}, 0));
  out.counted.router = in.flag("count_router", out.counted.router);
  out.counted.latent_norms = in.flag("count_latent_norms", out.counted.latent_norms);
  out.step_seconds = in.positive("step_seconds");
  out.peak_tflops = in.positive("peak_tflops");
  in.finish();
  if (t.weight_bytes == 0 || t.activation_bytes == 0)
    fail(std::string(file) + ": \"weights\" and \"activations\" cannot be none");
  if ((out.step_seconds > 0) != (out.peak_tflops > 0))
    fail(std::string(file) + ": \"step_seconds\" and \"peak_tflops\" belong together");
  return out;
}

cost::parallel read_parallel(const json& parallel, std::string_view file) {
  object in(parallel, file);
  cost::parallel p;
  p.tp = in.size("tp", 1), p.pp = in.size("pp", 1), p.vp = in.size("vp", 1), p.dp = in.size("dp", 1);
  p.cp = in.size("cp", 1), p.ep = in.size("ep", 1), p.etp = in.size("etp", 1);
  p.sequence_parallel = in.flag("sequence_parallel", false);
  const std::int64_t level = in.size("zero", 0, 0);
  if (level > 3) fail(std::string(file) + ": \"zero\" must be 0, 1, 2 or 3");
  p.zero = static_cast<cost::zero>(level);
  p.recompute = static_cast<cost::recompute>(in.choice("recompute", {"none", "selective", "full"}, 0));
  if (in.size("copies", 1) != 1) fail(std::string(file) + ": \"copies\": multi-copy parallelism is not yet modelled");
  in.finish();
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
