// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/cost/model/convention.hpp>
#include <hocket/cost/model/layer_list.hpp>
#include <hocket/cost/model/packing.hpp>
#include <hocket/cost/model/scaled_format.hpp>
#include <hocket/cost/model/training.hpp>
#include <hocket/interop/files/json_object.hpp>
#include <hocket/interop/files/machine_file.hpp>
#include <hocket/interop/files/recompute_lists.hpp>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace hocket::inline HOCKET_ABI::interop {

/// A training file. Absent fields keep the defaults below; an unknown field is an error.
struct training_input {
  cost::training step;
  cost::convention counted{};
  std::int64_t padded_vocabulary = 0;        ///< 0: as in the model
  std::int64_t predictions = 0;              ///< multi-token-prediction modules, each with a layer as the last one
  double step_seconds = 0, peak_tflops = 0;  ///< both or neither: a measured or assumed step
  std::optional<machine_input> on;           ///< predicts seconds, if given
};

namespace detail {

// Bytes of a type name; 0 for "none".
inline cost::rational type_bytes(const json_object& in, const char* key, const cost::rational& otherwise) {
  static constexpr std::int64_t bytes[] = {0, 1, 2, 2, 4, 8};
  return in.has(key) ? cost::rational(bytes[in.choice(key, {"none", "fp8", "bf16", "fp16", "fp32", "fp64"})])
                     : otherwise;
}
// A format whose elements share scales: blocks of weights may be tiles, where those of activations are rows.
struct scaled_type {
  std::string_view name;  ///< literal
  cost::scaled_format weights, rows;
};
inline constexpr scaled_type scaled_types[] = {{"mxfp8", cost::mxfp8, cost::mxfp8},
                                               {"mxfp6", cost::mxfp6, cost::mxfp6},
                                               {"mxfp4", cost::mxfp4, cost::mxfp4},
                                               {"nvfp4", cost::nvfp4, cost::nvfp4},
                                               {"fp8_block128", cost::fp8_tiles, cost::fp8_rows}};
// The one that a field names; null: another type, or none.
inline const scaled_type* scaled_type_of(const json_object& in, const char* key) {
  if (!in.has(key) || !in.at(key).is_string()) return nullptr;
  for (const scaled_type& each : scaled_types)
    if (in.at(key).get_ref<const std::string&>() == each.name) return &each;
  return nullptr;
}
// As type_bytes, of a field that such formats are known for.
inline cost::rational any_type_bytes(const json_object& in, const char* key, const cost::rational& otherwise) {
  if (const scaled_type* scaled = scaled_type_of(in, key)) return cost::bytes_per_element(scaled->weights);
  static constexpr std::int64_t bytes[] = {0, 1, 2, 2, 4, 8};
  return in.has(key) ? cost::rational(bytes[in.choice(key, {"none", "fp8", "bf16", "fp16", "fp32", "fp64", "mxfp8",
                                                            "mxfp6", "mxfp4", "nvfp4", "fp8_block128"})])
                     : otherwise;
}
// Types of all that a step stores.
inline void read_types(const json_object& in, cost::training& t) {
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
// The step with the documents that the file packs into each sequence.
inline cost::training with_documents(const json_object& in, const cost::training& t, const cost::layer_list& list) {
  constexpr std::size_t most_documents = 65'536;
  const auto lengths = in.integers("document_lengths", 1, t.sequence, most_documents);
  const auto packed = cost::packed(t, lengths, cost::window_of(list));
  if (packed) return *packed;
  if (packed.error().code == errc::contradictory_field)
    in.fail_at("document_lengths", "do not add up to the sequence of " + std::to_string(t.sequence));
  else in.fail_at("document_lengths", "are not possible: " + message(packed.error()));
  return t;
}

// A machine that does not know the format is refused where the format is chosen.
inline void need_precision(const json_object& in, const machine_input& on, cost::precision format) {
  if (cost::product_flops(on.rates, format) > 0) return;
  in.fail_at("precision", "is " + std::string(to_string(format)) + ", of which machine \"" + on.name + "\" has no \"" +
                              std::string(to_string(format)) + "_flops\"");
}

/// All that a training object may have, besides lists of recompute.
inline constexpr std::string_view training_keys[] = {
    "version",           "sequence",    "micro_batch",     "global_batch",    "weights",          "gradients",
    "activations",       "master",      "moments",         "optimizer",       "flash_attention",  "dropout",
    "padded_vocabulary", "predictions", "attention_count", "recompute_count", "count_router",     "count_latent_norms",
    "step_seconds",      "peak_tflops", "wide_norm",       "fused_loss",      "fused_activation", "workspace",
    "document_lengths",  "machine",     "precision",       "dispatch"};

inline json_object training_object(const nlohmann::json& training, std::string_view file, const std::string& path,
                                   bool with_lists, file_errors& errors) {
  std::vector<std::string_view> keys(std::begin(training_keys), std::end(training_keys));
  if (with_lists) keys.insert(keys.end(), {"recompute", "select_recompute"});
  return {training, file, path, keys, errors};
}

// What a step does besides its sizes and types.
inline void read_choices(const json_object& in, const cost::layer_list& model, cost::training& t) {
  t.flash_attention = in.boolean_or("flash_attention", true);
  t.dropout = in.boolean_or("dropout", false);
  t.wide_norm = in.boolean_or("wide_norm", t.wide_norm);
  t.fused_loss = in.boolean_or("fused_loss", t.fused_loss);
  t.fused_activation = in.boolean_or("fused_activation", t.fused_activation);
  if (in.has("document_lengths")) t = with_documents(in, t, model);
  t.precision = static_cast<cost::precision>(in.choice_or("precision", {"bf16", "fp8", "mxfp8", "nvfp4"}, 0));
  if (in.has("dispatch")) t.dispatch_bytes = type_bytes(in, "dispatch", 0);
}
// By which convention FLOPs are counted.
inline void read_convention(const json_object& in, cost::convention& counted) {
  counted.attention = static_cast<cost::attention_count>(in.choice_or("attention_count",
                                                                      {"full", "causal_half", "causal_exact", "window"},
                                                                      static_cast<std::size_t>(counted.attention)));
  counted.replay = static_cast<cost::recompute_count>(in.choice_or("recompute_count", {"exact", "korthikanti"}, 0));
  counted.router = in.boolean_or("count_router", counted.router);
  counted.latent_norms = in.boolean_or("count_latent_norms", counted.latent_norms);
}

}  // namespace detail

/// What a training object says (docs/file_forms.md).
/// @param model  whose windows count where documents are packed
/// @param path   of the object within the file, "" if it is the whole file
/// @param lists  takes "recompute" and "select_recompute" as they are written; null: unknown fields
/// @param takes_muon  whether the optimizer may be muon: its states are those of a list of layers
[[nodiscard]] inline training_input read_training(const nlohmann::json& training, const cost::layer_list& model,
                                                  std::string_view file, const std::string& path,
                                                  recompute_lists* lists, bool takes_muon, file_errors& errors) {
  const json_object in = detail::training_object(training, file, path, lists != nullptr, errors);
  training_input out;
  if (lists != nullptr) detail::take_lists(in, *lists, false);
  cost::training& t = out.step;
  t.sequence = in.integer("sequence", 1, (std::numeric_limits<std::int32_t>::max)());
  t.micro_batch = in.size_or("micro_batch", t.micro_batch);
  t.global_batch = in.size_or("global_batch", t.micro_batch);
  detail::read_types(in, t);
  if (t.muon && !takes_muon)
    in.fail_at("optimizer", "is muon, whose states only `hocket cost report` and `hocket plan` count");
  if (t.muon && in.has("machine"))
    in.fail_at("optimizer", "is muon, of whose updates no seconds are predicted: leave \"machine\" out");
  detail::read_choices(in, model, t);
  if (in.has("machine")) out.on = read_machine(in.at("machine"), file, path, errors);
  if (out.on) detail::need_precision(in, *out.on, t.precision);
  out.padded_vocabulary = in.size_or("padded_vocabulary", 0);
  out.predictions = in.integer_or("predictions", 0, 0, 64);
  detail::read_convention(in, out.counted);
  if (in.has("step_seconds")) out.step_seconds = in.positive("step_seconds");
  if (in.has("peak_tflops")) out.peak_tflops = in.positive("peak_tflops");
  if ((out.step_seconds > 0) != (out.peak_tflops > 0))
    in.fail_at(out.step_seconds > 0 ? "peak_tflops" : "step_seconds", "is missing: the two belong together");
  return out;
}

/// Prediction modules, each with the last layer, which attends to all tokens there: as to_layers has them.
/// Precondition: the list has a layer.
inline void add_predictions(cost::layer_list& list, std::int64_t modules) {
  cost::layer_blocks blocks = list.layers.back().blocks;
  for (cost::block& b : blocks)
    if (auto* const attention = std::get_if<cost::attention>(&b.what)) attention->window = 0;
  list.sizes.prediction_heads = modules;
  list.predictions = {{std::move(blocks), modules}};
}

/// A model with the vocabulary that a step pads, and with its prediction modules. A vocabulary smaller than the model's
/// is an error. Precondition: the list has a layer.
[[nodiscard]] inline cost::layer_list padded(const cost::layer_list& list, const training_input& t,
                                             std::string_view file, file_errors& errors) {
  cost::layer_list out = list;
  if (t.padded_vocabulary != 0) out.sizes.vocabulary = t.padded_vocabulary;
  if (out.sizes.vocabulary < list.sizes.vocabulary)
    errors.add(std::string(file) + ": \"padded_vocabulary\" is " + std::to_string(t.padded_vocabulary) +
               ", smaller than the model's vocabulary of " + std::to_string(list.sizes.vocabulary));
  if (t.predictions > 0) add_predictions(out, t.predictions);
  return out;
}

}  // namespace hocket::inline HOCKET_ABI::interop
