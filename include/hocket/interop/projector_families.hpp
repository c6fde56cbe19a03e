// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/interop/encoder_families.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Projectors of multimodal models: what turns the tokens of an encoder into tokens of the language model, where the
/// outer class adds it. Sizes follow the modules of transformers 5.24.
namespace hocket::inline HOCKET_ABI::hugging_face::detail {

/// What a projector is read from.
struct projector_input {
  fields whole, encoder;          ///< the config, and its vision_config or audio_config
  std::int64_t from = 0, to = 0;  ///< widths of the encoder and the language model

  /// The width of the encoder tokens that become one. `name` is a field of how many lie along a side.
  [[nodiscard]] std::int64_t square(const char* name, std::int64_t otherwise) {
    const std::int64_t side = whole.size_or(name, otherwise);
    return product_of(whole, {side, side, from}, name);
  }
  /// Layers of the encoder whose outputs are joined: a number is one layer.
  [[nodiscard]] std::int64_t layers_joined() const {
    const auto at = whole.json().find("vision_feature_layer");
    return at != whole.json().end() && at->is_array() ? static_cast<std::int64_t>(at->size()) : 1;
  }
};

inline cost::layer_blocks read_llava_projector(projector_input& in) {
  return two_products(in.layers_joined() * in.from, in.to, in.to, in.whole.flag_or("multimodal_projector_bias", true));
}
/// LLaVA-NeXT and later: a vector that ends a row of patches.
inline cost::layer_blocks read_llava_next_projector(projector_input& in) {
  cost::layer_blocks out = read_llava_projector(in);
  out.push_back(cost::table{in.to});
  return out;
}
inline cost::layer_blocks read_vipllava_projector(projector_input& in) {
  const std::int64_t wide = in.layers_joined() * in.from;
  cost::layer_blocks out = two_products(wide, in.to, in.to);
  out.push_back(cost::table{2 * wide});
  return out;
}
inline cost::layer_blocks read_gemma3_projector(projector_input& in) {
  return {cost::table{in.from}, cost::projection{.input = in.from, .outputs = in.to}};
}
inline cost::layer_blocks read_paligemma_projector(projector_input& in) {
  return {cost::projection{.input = in.from, .outputs = in.encoder.size("projection_dim"), .bias = true}};
}
inline cost::layer_blocks read_idefics3_projector(projector_input& in) {
  return {cost::projection{.input = in.square("scale_factor", 2), .outputs = in.to}};
}
/// InternVL: `downsample_ratio` 0.5 joins 2 x 2 tokens.
inline cost::layer_blocks read_internvl_projector(projector_input& in) {
  const auto at = in.whole.json().find("downsample_ratio");
  const double ratio = at != in.whole.json().end() && at->is_number() ? at->get<double>() : 0.5;
  const auto side = static_cast<std::int64_t>(ratio > 1e-3 && ratio <= 1 ? std::llround(1 / ratio) : 0);
  if (side < 1) in.whole.fail(error{errc::unknown_value}.with("downsample_ratio"));
  const std::int64_t wide = product_of(in.whole, {side, side, in.from}, "downsample_ratio");
  cost::layer_blocks out = two_products(wide, in.to, in.to);
  out.push_back(cost::table{2 * wide});
  return out;
}
inline cost::layer_blocks read_mistral3_projector(projector_input& in) {
  cost::layer_blocks out = two_products(in.from, in.to, in.to, in.whole.flag_or("multimodal_projector_bias", false));
  out.push_back(cost::table{in.from});
  out.push_back(cost::projection{.input = in.square("spatial_merge_size", 2), .outputs = in.from});
  return out;
}
inline cost::layer_blocks read_kimi_projector(projector_input& in) {
  const std::int64_t width = in.whole.size_or("projection_hidden_size", in.from);
  const auto sides = in.encoder.first_numbers("merge_kernel_size", 2);
  const std::int64_t wide = product_of(in.encoder, {sides[0], sides[1], width}, "merge_kernel_size");
  cost::layer_blocks out = two_products(wide, wide, in.to);
  out.push_back(cost::table{2 * width});
  return out;
}
inline cost::layer_blocks read_one_product(projector_input& in) {
  return {cost::projection{.input = in.from, .outputs = in.to, .bias = true}};
}
/// Voxtral: several frames of sound are one token, as wide as the encoder's FFN.
inline cost::layer_blocks read_voxtral_projector(projector_input& in) {
  return two_products(in.encoder.size("intermediate_size"), in.to, in.to, false);
}
inline cost::layer_blocks read_deepseek_projector(projector_input& in) { return two_products(in.from, in.to, in.to); }
/// Command A Vision: half of the inner width gates the other half.
inline cost::layer_blocks read_cohere_projector(projector_input& in) {
  const std::int64_t inner = in.whole.size("alignment_intermediate_size");
  return {cost::projection{.input = in.square("downsample_factor", 2), .outputs = inner, .bias = true},
          cost::projection{.input = inner / 2, .outputs = in.to, .bias = true}};
}
inline cost::layer_blocks read_lfm2_projector(projector_input& in) {
  const std::int64_t wide = in.square("downsample_factor", 2);
  cost::layer_blocks out =
      two_products(wide, in.whole.size("projector_hidden_size"), in.to, in.whole.flag_or("projector_bias", true));
  if (in.whole.flag_or("projector_use_layernorm", true)) out.push_back(cost::table{2 * wide});
  return out;
}

/// A row: the outer model_type, and how its projector is read. Without one: the encoder ends with the product.
struct projector_family {
  std::string_view type;  ///< model_type, literal
  cost::layer_blocks (*read)(projector_input&);
};
inline constexpr projector_family projector_families[] = {{"llava", read_llava_projector},
                                                          {"llava_next", read_llava_next_projector},
                                                          {"llava_next_video", read_llava_next_projector},
                                                          {"llava_onevision", read_llava_next_projector},
                                                          {"vipllava", read_vipllava_projector},
                                                          {"gemma3", read_gemma3_projector},
                                                          {"paligemma", read_paligemma_projector},
                                                          {"idefics3", read_idefics3_projector},
                                                          {"smolvlm", read_idefics3_projector},
                                                          {"internvl", read_internvl_projector},
                                                          {"mistral3", read_mistral3_projector},
                                                          {"mistral_large4", read_mistral3_projector},
                                                          {"lighton_ocr", read_mistral3_projector},
                                                          {"kimi_k25", read_kimi_projector},
                                                          {"qwen2_audio", read_one_product},
                                                          {"voxtral", read_voxtral_projector},
                                                          {"deepseek_vl", read_deepseek_projector},
                                                          {"cohere2_vision", read_cohere_projector},
                                                          {"lfm2_vl", read_lfm2_projector},
                                                          {"qwen2_vl", nullptr},
                                                          {"qwen2_5_vl", nullptr},
                                                          {"qwen3_vl", nullptr},
                                                          {"qwen3_vl_moe", nullptr},
                                                          {"qwen3_5", nullptr},
                                                          {"qwen3_5_moe", nullptr},
                                                          {"glm4v", nullptr},
                                                          {"glm4v_moe", nullptr},
                                                          {"inkling2", nullptr}};

/// Reads the projector of a multimodal config, after its encoders. One that is not known, or lacks a field, is said in
/// `assumed` and not counted.
/// @param to  width of the language model
inline void read_projector(const nlohmann::json& config, std::string_view type, std::int64_t to,
                           std::vector<encoder_reading>& encoders, std::vector<std::string>& assumed) {
  const auto leave_out = [&](const std::string& why) { assumed.push_back("the projector is not counted: " + why); };
  if (encoders.empty()) return;
  for (const projector_family& family : projector_families) {
    if (family.type != type) continue;
    if (family.read == nullptr) return;
    reading notes;
    const encoder_reading& encoder = encoders.front();
    projector_input in{{config, notes}, {config.at(encoder.name), notes}, encoder.layers.sizes.hidden, to};
    encoder_reading out{.name = "projector", .architecture = std::string(type), .layers = {}};
    out.layers.sizes.hidden = to;
    out.layers.sizes.final_norm = false;
    out.layers.front = family.read(in);
    if (!in.whole.ok()) return leave_out(message(in.whole.why()));
    if (!in.encoder.ok()) return leave_out(message(in.encoder.why()));
    for (const std::string& each : notes.assumed) assumed.push_back("projector: " + each);
    encoders.push_back(std::move(out));
    return;
  }
  leave_out("unknown model_type \"" + std::string(type) + "\"");
}

}  // namespace hocket::inline HOCKET_ABI::hugging_face::detail
