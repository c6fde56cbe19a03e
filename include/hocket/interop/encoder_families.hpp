// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/arithmetic.hpp>
#include <hocket/core/message.hpp>
#include <hocket/cost/model/layer_list.hpp>
#include <hocket/interop/config_fields.hpp>

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Encoders of images and sound: the parts `vision_config` and `audio_config` of multimodal configs. Sizes follow the
/// modules of transformers 5.24, what merges patches for the language model among them; a projector that the outer
/// class adds is in projector_families.hpp.
namespace hocket::inline HOCKET_ABI::hugging_face {

/// An encoder of a multimodal config, or the projector after it. Its layers may go into a cost::encoder.
struct encoder_reading {
  std::string name;          ///< the config's field: "vision_config"; or "projector"
  std::string architecture;  ///< the model_type of that part; of the whole for a projector
  cost::layer_list layers;
};

namespace detail {

/// Layers of an encoder: attention and an FFN of equal sizes, as classes differ in them.
struct encoder_layer {
  std::int64_t heads = 0, ffn = 0, ffn_matrices = 2, norm_weights = 2;
  bool query_bias = true, output_bias = true, ffn_bias = true;
  std::int64_t vectors = 0;  ///< further weights, in vectors of the width
};
inline void add_encoder_layers(fields& in, cost::layer_list& out, const encoder_layer& is, std::int64_t layers) {
  const std::int64_t h = out.sizes.hidden;
  if (is.heads < 1 || h % is.heads != 0)
    return void(in.fail(error{errc::indivisible, h, is.heads}.with("hidden_size")));
  const cost::norms first{.norm_weights = is.norm_weights},
      between{.norm_weights = is.norm_weights, .place = cost::norm_place::between};
  cost::layer_blocks blocks{
      first,
      cost::attention{.heads = is.heads,
                      .kv_heads = is.heads,
                      .head_dim = h / is.heads,
                      .qkv_bias = is.query_bias,
                      .output_bias = is.output_bias},
      between, cost::feed_forward{.ffn = is.ffn, .ffn_matrices = is.ffn_matrices, .ffn_bias = is.ffn_bias}};
  if (is.vectors > 0) blocks.push_back(cost::table{.elements = h, .count = is.vectors});
  out.add(std::move(blocks), layers);
}
/// A size, or the first of two that are written as a list.
inline std::int64_t side(fields& in, const char* name) {
  if (!in.has(name) || !in.json().at(name).is_array()) return in.size(name);
  const auto both = in.first_numbers(name, 2);
  if (both[0] != both[1]) in.fail(error{errc::contradictory_field, both[1], both[0]}.with(name));
  return both[0];
}
inline std::int64_t size_of_either(fields& in, const char* name, const char* other) {
  return in.has(name) || !in.has(other) ? in.size(name) : in.size(other);
}
/// Sizes multiplied; more than 2^40 is an error of the field that is named.
inline std::int64_t product_of(fields& in, std::initializer_list<std::int64_t> sizes, const char* name) {
  constexpr std::int64_t most = std::int64_t{1} << 40;
  std::int64_t out = 1;
  for (const std::int64_t each : sizes)
    if (!checked_multiply(out, each, out) || out > most) return in.fail(error{errc::overflow, out, each}.with(name));
  return out;
}
/// The product that makes a token of a patch, so many pictures deep.
inline cost::projection patches(fields& in, std::int64_t hidden, bool bias, std::int64_t deep = 1) {
  const std::int64_t patch = side(in, "patch_size");
  const char* channels = in.has("in_channels") ? "in_channels" : in.has("in_chans") ? "in_chans" : "num_channels";
  return {.input = product_of(in, {in.size_or(channels, 3), deep, patch, patch}, "patch_size"),
          .outputs = hidden,
          .bias = bias};
}
inline std::int64_t patches_of_picture(fields& in) {
  const std::int64_t across = side(in, "image_size") / side(in, "patch_size");
  return product_of(in, {across, across}, "image_size");
}
/// Two products with a bias each, by way of an inner width.
inline cost::layer_blocks two_products(std::int64_t input, std::int64_t inner, std::int64_t outputs, bool bias = true) {
  return {cost::projection{.input = input, .outputs = inner, .bias = bias},
          cost::projection{.input = inner, .outputs = outputs, .bias = bias}};
}

/// SigLIP, CLIP and what is like them: LayerNorms, biases everywhere, learned positions.
struct plain_traits {
  bool patch_bias = true, class_token = false, norm_before = false, pools = false;
};
inline void read_plain_encoder(fields& in, cost::layer_list& out, plain_traits has) {
  const std::int64_t h = out.sizes.hidden = in.size("hidden_size"), ffn = in.size("intermediate_size");
  const std::int64_t places = in.has("num_patches") ? in.size("num_patches") : patches_of_picture(in);
  out.sizes.positions = places + (has.class_token ? 1 : 0);
  out.sizes.norm_weights = 2;
  out.front = {patches(in, h, has.patch_bias)};
  if (has.class_token) out.front.push_back(cost::table{h});
  if (has.norm_before) out.front.push_back(cost::table{2 * h});
  add_encoder_layers(in, out, {.heads = in.size("num_attention_heads"), .ffn = ffn}, in.size("num_hidden_layers"));
  // A learned query attends to all tokens; an FFN follows.
  if (has.pools && in.flag_or("vision_use_head", true))
    out.back = {cost::table{h + 2 * h}, cost::projection{.outputs = h, .count = 4, .bias = true},
                cost::feed_forward{.ffn = ffn, .ffn_matrices = 2, .ffn_bias = true}};
}
/// Pixtral: as a language model, without biases.
inline void read_pixtral(fields& in, cost::layer_list& out) {
  out.sizes.hidden = in.size("hidden_size");
  out.sizes.final_norm = false;
  out.front = {patches(in, out.sizes.hidden, false), cost::norms{}};
  add_encoder_layers(in, out,
                     {.heads = in.size("num_attention_heads"),
                      .ffn = in.size("intermediate_size"),
                      .ffn_matrices = 3,
                      .norm_weights = 1,
                      .query_bias = false,
                      .output_bias = false,
                      .ffn_bias = false},
                     in.size("num_hidden_layers"));
}
/// The width of the patches of a square together.
inline std::int64_t width_of_square(fields& in, std::int64_t hidden) {
  const std::int64_t side = in.size("spatial_merge_size");
  return product_of(in, {side, side, hidden}, "spatial_merge_size");
}
/// What Qwen's encoders do at last: a norm, then two products on the patches of a square.
inline void merge_squares(cost::layer_list& out, std::int64_t wide, std::int64_t to, std::int64_t norm) {
  out.sizes.final_norm = false;
  out.back.push_back(cost::table{norm});
  for (const cost::block& b : two_products(wide, wide, to)) out.back.push_back(b);
}
inline void read_qwen2_vision(fields& in, cost::layer_list& out) {
  const std::int64_t h = out.sizes.hidden = in.size("embed_dim");
  const std::int64_t ffn = product_of(in, {in.size("mlp_ratio"), h}, "mlp_ratio");
  out.front = {patches(in, h, false, in.size("temporal_patch_size"))};
  add_encoder_layers(in, out, {.heads = in.size("num_heads"), .ffn = ffn}, in.size("depth"));
  merge_squares(out, width_of_square(in, h), in.size("hidden_size"), 2 * h);
}
inline void read_qwen2_5_vision(fields& in, cost::layer_list& out) {
  const std::int64_t h = out.sizes.hidden = in.size("hidden_size");
  out.front = {patches(in, h, false, in.size("temporal_patch_size"))};
  add_encoder_layers(
      in, out,
      {.heads = in.size("num_heads"), .ffn = in.size("intermediate_size"), .ffn_matrices = 3, .norm_weights = 1},
      in.size("depth"));
  merge_squares(out, width_of_square(in, h), in.size("out_hidden_size"), h);
}
/// Qwen3 and later: learned positions. Qwen3 also merges the outputs of some layers inside.
inline void read_qwen3_vision(fields& in, cost::layer_list& out) {
  const std::int64_t h = in.size("hidden_size");
  const std::int64_t wide = width_of_square(in, h);
  const std::int64_t to = in.size("out_hidden_size");
  out.sizes.hidden = h;
  out.sizes.positions = in.size("num_position_embeddings");
  out.front = {patches(in, h, true, in.size("temporal_patch_size"))};
  add_encoder_layers(in, out, {.heads = in.size("num_heads"), .ffn = in.size("intermediate_size")}, in.size("depth"));
  merge_squares(out, wide, to, 2 * h);
  const bool listed = in.has("deepstack_visual_indexes") && in.json().at("deepstack_visual_indexes").is_array();
  const std::size_t inside = listed ? in.json().at("deepstack_visual_indexes").size() : 0;
  for (std::size_t at = 0; at < inside; ++at) merge_squares(out, wide, to, 2 * wide);
}
inline void read_glm4v_vision(fields& in, cost::layer_list& out) {
  const std::int64_t h = out.sizes.hidden = in.size("hidden_size"), to = in.size("out_hidden_size"),
                     inner = in.size("intermediate_size");
  const bool bias = in.flag_or("attention_bias", false);
  out.sizes.positions = patches_of_picture(in);
  out.front = {patches(in, h, true, in.size("temporal_patch_size")), cost::norms{}};
  add_encoder_layers(in, out,
                     {.heads = in.size("num_heads"),
                      .ffn = to,
                      .ffn_matrices = 3,
                      .norm_weights = 1,
                      .query_bias = bias,
                      .output_bias = false,
                      .ffn_bias = false},
                     in.size("depth"));
  out.back = {cost::projection{.input = width_of_square(in, h), .outputs = to, .bias = true},
              cost::projection{.input = to, .outputs = to}, cost::table{2 * to},
              cost::projection{.input = to, .outputs = inner, .count = 2},
              cost::projection{.input = inner, .outputs = to}};
}
inline void read_internvl_vision(fields& in, cost::layer_list& out) {
  const std::int64_t h = out.sizes.hidden = in.size("hidden_size");
  const std::int64_t norm = in.one_of("norm_type", "layer_norm", {"layer_norm", "rms_norm"}) == "rms_norm" ? 1 : 2;
  in.expect_flag("use_qk_norm", false);
  in.expect_flag("use_mask_token", false);
  out.front = {patches(in, h, true), cost::table{h}};
  if (in.flag_or("use_absolute_position_embeddings", true)) out.sizes.positions = patches_of_picture(in) + 1;
  add_encoder_layers(in, out,
                     {.heads = in.size("num_attention_heads"),
                      .ffn = in.size("intermediate_size"),
                      .norm_weights = norm,
                      .query_bias = in.flag_or("attention_bias", false),
                      .vectors = 2},
                     in.size("num_hidden_layers"));
  out.sizes.norm_weights = 2;
  out.sizes.final_norm = !in.flag_or("use_mean_pooling", true);
}
inline void read_kimi_vision(fields& in, cost::layer_list& out) {
  const std::int64_t h = out.sizes.hidden = in.size("hidden_size");
  out.sizes.positions = product_of(in, {in.size("pos_emb_height"), in.size("pos_emb_width")}, "pos_emb_height");
  out.sizes.norm_weights = 2;
  out.front = {patches(in, h, true)};
  add_encoder_layers(in, out, {.heads = in.size("num_attention_heads"), .ffn = in.size("intermediate_size")},
                     in.size("num_hidden_layers"));
}
inline void read_inkling2_vision(fields& in, cost::layer_list& out) {
  const std::int64_t h = out.sizes.hidden = in.size("hidden_size"), grid = in.size("posemb_grid_size");
  out.sizes.positions = product_of(in, {grid, grid}, "posemb_grid_size");
  out.sizes.final_norm = false;
  out.front = {patches(in, h, false), cost::table{.elements = h, .count = 2}, cost::table{2 * h}};
  add_encoder_layers(in, out,
                     {.heads = in.size("num_attention_heads"), .ffn = in.size("intermediate_size"), .vectors = 2},
                     in.size("num_hidden_layers"));
  out.back = two_products(width_of_square(in, h), in.size("projection_hidden_dim"), in.size("text_hidden_size"),
                          in.flag_or("projector_bias", false));
}
/// Whisper: two convolutions over time, keys without a bias.
inline void read_whisper(fields& in, cost::layer_list& out) {
  const std::int64_t h = out.sizes.hidden = size_of_either(in, "d_model", "hidden_size"),
                     bins = in.size("num_mel_bins");
  constexpr std::int64_t taps = 3;
  out.sizes.positions = in.size("max_source_positions");
  out.sizes.norm_weights = 2;
  out.front = {cost::projection{.input = taps * bins, .outputs = h, .bias = true},
               cost::projection{.input = taps * h, .outputs = h, .bias = true}};
  add_encoder_layers(in, out,
                     {.heads = size_of_either(in, "encoder_attention_heads", "num_attention_heads"),
                      .ffn = size_of_either(in, "encoder_ffn_dim", "intermediate_size"),
                      .query_bias = false,
                      .vectors = 2},
                     size_of_either(in, "encoder_layers", "num_hidden_layers"));
}
inline void read_inkling_audio(fields& in, cost::layer_list& out) {
  out.sizes.hidden = in.size("text_hidden_size");
  out.front = {cost::table{.elements = out.sizes.hidden,
                           .count = product_of(in, {in.size("n_mel_bins"), in.size("mel_vocab_size")}, "n_mel_bins")}};
}

/// A row: what the part calls itself, and how it is read.
struct encoder_family {
  std::string_view type;  ///< model_type, literal
  void (*read)(fields& in, cost::layer_list& out);
};
inline constexpr auto read_idefics = [](fields& in, cost::layer_list& out) { read_plain_encoder(in, out, {}); };
inline constexpr auto read_siglip = [](fields& in, cost::layer_list& out) {
  read_plain_encoder(in, out, {.pools = true});
};
inline constexpr encoder_family encoder_families[] = {
    {"siglip_vision_model", read_siglip},
    {"siglip2_vision_model", read_siglip},
    {"clip_vision_model",
     [](fields& in, cost::layer_list& out) {
       read_plain_encoder(in, out, {.patch_bias = false, .class_token = true, .norm_before = true});
     }},
    {"idefics3_vision", read_idefics},
    {"smolvlm_vision", read_idefics},
    {"pixtral", read_pixtral},
    {"qwen2_vl_vision", read_qwen2_vision},
    {"qwen2_5_vl_vision", read_qwen2_5_vision},
    {"qwen3_vl_vision", read_qwen3_vision},
    {"qwen3_vl_moe_vision", read_qwen3_vision},
    {"qwen3_5_vision", read_qwen3_vision},
    {"qwen3_5_moe_vision", read_qwen3_vision},
    {"qwen4_exp_vision", read_qwen3_vision},
    {"glm4v_vision", read_glm4v_vision},
    {"glm4v_moe_vision", read_glm4v_vision},
    {"internvl_vision", read_internvl_vision},
    {"kimi_k25_vision", read_kimi_vision},
    {"inkling2_vision", read_inkling2_vision},
    {"qwen2_audio_encoder", read_whisper},
    {"voxtral_encoder", read_whisper},
    {"inkling_audio", read_inkling_audio},
};

/// Reads one part. Published files of older classes give it the type of the whole, or none: then it is that with
/// "_vision". What is of no known type, or lacks a field, is said in `assumed` and not counted.
inline void read_encoder(const nlohmann::json& config, const char* name, std::string_view whole,
                         std::vector<encoder_reading>& encoders, std::vector<std::string>& assumed) {
  const auto part = config.find(name);
  if (part == config.end() || !part->is_object()) return;
  const auto said = part->find("model_type");
  std::string type = said != part->end() && said->is_string() ? said->get<std::string>() : std::string(whole);
  if (type == whole) type += "_vision";
  const auto leave_out = [&](const std::string& why) {
    assumed.push_back(std::string(name) + " is not counted: " + why);
  };
  for (const encoder_family& family : encoder_families) {
    if (family.type != type) continue;
    encoder_reading out{.name = name, .architecture = type, .layers = {}};
    reading notes;
    fields in(*part, notes);
    family.read(in, out.layers);
    if (!in.ok()) return leave_out(message(in.why()));
    for (const std::string& each : notes.assumed) assumed.push_back(std::string(name) + ": " + each);
    encoders.push_back(std::move(out));
    return;
  }
  leave_out("unknown model_type \"" + type + "\"");
}

}  // namespace detail
}  // namespace hocket::inline HOCKET_ABI::hugging_face
