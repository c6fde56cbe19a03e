// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/result.hpp>
#include <hocket/cost/model/model.hpp>
#include <hocket/interop/config_fields.hpp>
#include <hocket/interop/uniform_families.hpp>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

/// Sizes of a model from its Hugging Face `config.json`, as published.
namespace hocket::inline HOCKET_ABI::hugging_face {

/// Reads a config of an architecture of equal layers: the rows of uniform_families.hpp, 63 values of "model_type" from
/// llama to kimi_k2. Those whose layers differ: read_layers (hugging_face_layers.hpp).
///
/// Errors, each naming the field: errc::missing_field, errc::contradictory_field, errc::indivisible,
/// errc::unknown_architecture, errc::malformed (not JSON).
/// - errc::out_of_range: a size that is no whole number from 1 to 2^31 - 1 (2^20 for the layers).
/// - errc::invalid_argument: 0, no whole number of 64 bits; 1, not true or false; 2, no list of layer numbers;
///   3, no list of one word per layer.
/// - errc::unknown_value: a word or class that is not the architecture's.
///
/// Multi-token-prediction layers (num_nextn_predict_layers) are not part of the model's published size and not counted.
///
///     auto r = hocket::hugging_face::parse_config(text);
///     r->model.layers == 40 && r->assumed.empty();
[[nodiscard]] result<reading> read_config(const nlohmann::json& config);
/// The same from the text of the file.
[[nodiscard]] result<reading> parse_config(std::string_view text);

/// The model alone, for callers to whom documented defaults are fine.
[[nodiscard]] inline result<cost::model> read_model(const nlohmann::json& config) {
  auto r = read_config(config);
  if (!r) return r.error();
  return r->model;
}

namespace detail {

inline void check(fields& in, const cost::model& m) {
  if (!in.ok()) return;
  if (m.kv_heads > m.heads) in.fail(error{errc::contradictory_field, m.kv_heads, m.heads}.with("num_key_value_heads"));
  else if (m.heads % m.kv_heads != 0)
    in.fail(error{errc::indivisible, m.heads, m.kv_heads}.with("num_attention_heads"));
  if (m.active_experts > m.experts)
    in.fail(error{errc::contradictory_field, m.active_experts, m.experts}.with("num_experts_per_tok"));
}

// "LlamaForCausalLM" is a class of "llama": both as letters and digits, without what the class is for.
inline std::string family_of(std::string_view name) {
  for (const std::string_view purpose : {"For", "LMHead", "Model"})
    if (const auto at = name.find(purpose); at != name.npos && at > 0) name = name.substr(0, at);
  std::string out;
  for (const char c : name)
    if (c != '_') out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}
// What classes of a model_type begin with.
inline std::string own_family(std::string_view type) {
  if (type == "kimi_k2") return "deepseekv3";
  if (type.ends_with("_text")) type.remove_suffix(5);
  return family_of(type);
}
/// A model_type without a class of its own, and whose class its models are of.
struct lent_class {
  std::string_view type;    ///< model_type, literal
  std::string_view family;  ///< what the class begins with, literal
};
// Source: MODEL_FOR_CAUSAL_LM_MAPPING_NAMES of transformers 5.24, which saves these classes as "architectures".
inline constexpr lent_class lent_classes[] = {{"exaone", "llama"},
                                              {"internlm3", "llama"},
                                              {"iquestcoder", "llama"},
                                              {"sarvam_mla", "deepseekv3"},
                                              {"sarvam_moe", "glm4moe"}};
/// Whether a class of this family is one that a file of `type` may name.
inline bool is_class_of(std::string_view type, std::string_view family) {
  const auto is_lent = [&](const lent_class& each) { return each.type == type && each.family == family; };
  return family == own_family(type) || std::any_of(std::begin(lent_classes), std::end(lent_classes), is_lent);
}
// A config that was put together from two is noticed by its class.
inline void check_class(fields& in, const std::string& type) {
  if (!in.has("architectures")) return;
  const auto& classes = in.json().at("architectures");
  const auto is_own = [&](const auto& c) {
    return c.is_string() && is_class_of(type, family_of(c.template get<std::string>()));
  };
  if (!classes.is_array() || !std::all_of(classes.begin(), classes.end(), is_own))
    return void(in.fail(error{errc::unknown_value}.with("architectures")));
  // A classifier has the layers, but another head than the one that is counted.
  for (const auto& each : classes) {
    const auto name = each.get<std::string>();
    if (name.find("For") != name.npos && name.find("CausalLM") == name.npos &&
        name.find("ConditionalGeneration") == name.npos)
      in.assume("lm_head", "vocab_size rows, though the class is none for causal language models");
  }
}

inline const architecture* architecture_of(std::string_view type) noexcept {
  for (const architecture& each : architectures)
    if (each.type == type) return &each;
  return nullptr;
}
}  // namespace detail

inline result<reading> read_config(const nlohmann::json& config) {
  if (!config.is_object()) return error{errc::malformed, 1, 1}.with("config");
  reading out;
  detail::fields in(config, out);
  if (!in.has("model_type")) return error{errc::missing_field}.with("model_type");
  const auto& type = config.at("model_type");
  if (!type.is_string())
    return error{errc::unknown_architecture}.with(type.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace));
  out.architecture = type.get<std::string>();
  const detail::architecture* known = detail::architecture_of(out.architecture);
  if (known == nullptr) return error{errc::unknown_architecture}.with(out.architecture);
  detail::read_row(*known, in, out.model);
  in.expect_flag("is_encoder_decoder", false);
  in.expect_flag("add_cross_attention", false);
  in.check_lists_of_layers(out.model.layers);
  detail::check_class(in, out.architecture);
  detail::check(in, out.model);
  if (!in.ok()) return in.why();
  return out;
}

inline result<reading> parse_config(std::string_view text) {
  const nlohmann::json config = nlohmann::json::parse(text.begin(), text.end(), nullptr, false);
  if (config.is_discarded()) return error{errc::malformed, 1, 1}.with("config.json");
  return read_config(config);
}

}  // namespace hocket::inline HOCKET_ABI::hugging_face
