// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/cost/model/layer_list.hpp>
#include <hocket/interop/config_fields.hpp>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// What families of models have in common, as words that a family's row is written in.
namespace hocket::inline HOCKET_ABI::hugging_face::detail {

/// A block of a layer, or none.
using maybe_block = std::vector<cost::block>;
/// Names of one field: what transformers 4, 5 and the published files call it.
using names = std::initializer_list<const char*>;
/// The words that a list of layers may have.
using layer_words = std::initializer_list<std::string_view>;

/// Reads the fields of a config into a list of layers. The first error stays.
class layer_fields {
 public:
  /// @param dense_first  layers before the mixtures, where the config does not say
  layer_fields(const nlohmann::json& config, reading& notes, cost::layer_list& out, std::int64_t dense_first)
      : in_(config, notes), config_(config), out_(out), dense_first_(dense_first) {}

  /// Sizes that every family has. `tied`: where the config does not say.
  void ends(bool tied) {
    out_.sizes.hidden = in_.size("hidden_size");
    out_.sizes.vocabulary = in_.size("vocab_size");
    layers_ = in_.has("num_hidden_layers") || !in_.has("layers_block_type")
                ? size({"num_hidden_layers", "num_layers"})
                : static_cast<std::int64_t>(config_.at("layers_block_type").size());
    if (layers_ == 0) in_.fail(error{errc::invalid_argument, 3}.with("layers_block_type"));
    if (layers_ > max_layers) in_.fail(error{errc::out_of_range, layers_, 1, max_layers}.with("num_hidden_layers"));
    out_.sizes.tied = in_.flag_or("tie_word_embeddings", tied);
  }
  /// The same for a class of transformers that never ties the head to the embedding, whatever its config says.
  void ends_untied() {
    ends(false);
    if (!std::exchange(out_.sizes.tied, false)) return;
    in_.assume("tie_word_embeddings", "false: the model's class in transformers 5.24 ties nothing");
  }
  [[nodiscard]] std::int64_t layers() const noexcept { return in_.ok() ? layers_ : 0; }
  [[nodiscard]] std::int64_t hidden() const noexcept { return out_.sizes.hidden; }
  [[nodiscard]] cost::layer_list& list() noexcept { return out_; }
  [[nodiscard]] fields& raw() noexcept { return in_; }
  [[nodiscard]] bool ok() const { return in_.ok(); }
  [[nodiscard]] const error& why() const { return in_.why(); }

  [[nodiscard]] bool has(names any) const {
    return std::any_of(any.begin(), any.end(), [&](const char* name) { return in_.has(name); });
  }
  /// A size under any of its names; if several are there they must agree.
  std::int64_t size(names any) {
    const char* found = nullptr;
    for (const char* name : any) {
      if (!in_.has(name)) continue;
      if (found == nullptr) found = name;
      else in_.expect(name, in_.size(found));
    }
    return in_.size(found == nullptr ? *any.begin() : found);
  }
  /// The same; where none is there, `otherwise` is assumed.
  std::int64_t size_or(names any, std::int64_t otherwise) {
    return has(any) ? size(any) : in_.size_or(*any.begin(), otherwise);
  }
  /// The same; 0 or null mean none, and so does the field's absence.
  std::int64_t optional(names any) {
    for (const char* name : any)
      if (in_.has(name)) return in_.size_or_null(name);
    return 0;
  }
  bool flag(const char* name, bool otherwise) { return in_.flag_or(name, otherwise); }
  /// A flag of which most files say nothing: absent means false, and is not noted.
  bool optional_flag(const char* name) { return in_.has(name) && in_.flag_or(name, false); }

  /// One word per layer, each one of `known`: from a list of that name, else by rule(layer).
  template <class Rule>
  std::vector<std::string> words(names any, layer_words known, Rule&& rule) {
    for (const char* name : any) {
      if (!in_.has(name)) continue;
      const auto count = static_cast<std::size_t>(layers());
      auto listed = in_.words(name, layers(), known);
      listed.resize(count);
      return listed;
    }
    std::vector<std::string> out;
    for (std::int64_t at = 0; at < layers(); ++at) out.emplace_back(rule(at));
    return out;
  }
  /// Whether a layer sees all positions; where no list says so, rule(layer). `other`: what the others are called.
  template <class Rule>
  std::vector<bool> sees_all(std::string_view other, Rule&& rule) {
    const std::string_view older = other == "linear_attention" ? "mamba" : other;  // in hybrids of transformers 4
    std::vector<bool> out;
    const auto called = words({"layer_types", "layers_block_type"}, {"full_attention", "attention", other, older},
                              [&](std::int64_t at) { return rule(at) ? std::string_view("full_attention") : other; });
    for (const std::string& kind : called) out.push_back(kind == "full_attention" || kind == "attention");
    return out;
  }
  /// Refuses more passes than a model may have layers.
  void check_passes(std::int64_t layers, std::int64_t times) {
    if (in_.ok() && times > max_layers / (std::max)(layers, std::int64_t{1}))
      in_.fail(error{errc::out_of_range, times, 1, max_layers / (std::max)(layers, std::int64_t{1})}.with(
          "passes through " + std::to_string(layers) + " layers"));
  }
  /// How many layers come before the mixtures.
  std::int64_t dense_layers(names any) {
    if (!has(any)) return (std::min)(dense_first_, layers_);
    const std::int64_t dense = optional(any);
    if (dense > layers_) in_.fail(error{errc::contradictory_field, dense, layers_}.with(*any.begin()));
    return dense;
  }
  /// Whether a layer is a mixture: by the list of words or of numbers, else all but the first so many whose number is a
  /// multiple of moe_layer_freq. Source of the last: the published modelling code of DeepSeek-V2 and Kimi Linear, and
  /// Megatron-LM's --moe-layer-freq.
  std::vector<bool> mixes(names dense_first) {
    std::vector<bool> out;
    if (!has({"mlp_layer_types"}) && has({"moe_layer_freq"})) {
      if (config_.at("moe_layer_freq").is_array()) {
        for (const std::int64_t mixed : in_.first_numbers("moe_layer_freq", layers())) out.push_back(mixed != 0);
        return out;
      }
    }
    const std::int64_t period = has({"mlp_layer_types"}) ? 1 : mixture_period();
    const std::int64_t dense = has({"mlp_layer_types"}) ? 0 : dense_layers(dense_first);
    for (const std::string& kind : words({"mlp_layer_types"}, {"dense", "sparse"}, [&](std::int64_t at) {
           return at < dense || at % period != 0 ? "dense" : "sparse";
         }))
      out.push_back(kind != "dense");
    return out;
  }
  /// Layer numbers in a list. False if there is no such list.
  bool numbers(const char* name, std::vector<bool>& out) {
    if (!in_.has(name)) return false;
    out.assign(static_cast<std::size_t>(layers()), false);
    const auto& list = config_.at(name);
    const auto refuse = [&] {
      in_.fail(error{errc::invalid_argument, 2}.with(name));
      return false;
    };
    if (!list.is_array()) return refuse();
    for (const auto& at : list) {
      const std::int64_t layer = at.is_number_integer() ? at.template get<std::int64_t>() : -1;
      if (layer < 0 || layer >= layers()) return refuse();
      out[static_cast<std::size_t>(layer)] = true;
    }
    return true;
  }

  /// Grouped queries, as nearly all families name them. `head_dim`: the family's own default; 0: hidden / heads.
  /// `biased`: the class has the biases of "attention_bias".
  cost::attention attention(std::int64_t head_dim = 0, bool biased = true) {
    cost::attention out;
    out.heads = in_.size("num_attention_heads");
    out.kv_heads = has({"num_key_value_heads"}) ? in_.size("num_key_value_heads") : out.heads;
    if (!in_.has("head_dim") && head_dim == 0 && hidden() % out.heads != 0)  // transformers rounds down
      in_.assume("head_dim", std::to_string(hidden() / out.heads) + ", hidden_size / num_attention_heads rounded down");
    out.head_dim = in_.has("head_dim") ? in_.size("head_dim") : head_dim != 0 ? head_dim : hidden() / out.heads;
    out.qkv_bias = out.output_bias = biased && in_.flag_or("attention_bias", false);
    if (out.heads % out.kv_heads != 0)
      in_.fail(error{errc::indivisible, out.heads, out.kv_heads}.with("num_attention_heads"));
    return out;
  }
  cost::latent_attention latent() {
    return {.heads = in_.size("num_attention_heads"),
            .query_rank = optional({"q_lora_rank"}),
            .kv_rank = in_.size("kv_lora_rank"),
            .nope_dim = in_.size("qk_nope_head_dim"),
            .rope_dim = in_.size("qk_rope_head_dim"),
            .value_dim = in_.size("v_head_dim"),
            .bias = in_.flag_or("attention_bias", false)};
  }
  cost::feed_forward dense(std::int64_t matrices = 3) {
    return {.ffn = size({"intermediate_size", "ffn_hidden_size"}),
            .ffn_matrices = matrices,
            .ffn_bias = optional_flag("mlp_bias")};
  }
  /// Experts, with the words that families have for their numbers; shared ones are as wide.
  cost::mixture experts(names width = {"moe_intermediate_size", "expert_ffn_hidden_size", "intermediate_size"}) {
    cost::mixture out;
    out.experts = size({"num_local_experts", "n_routed_experts", "num_experts", "moe_num_experts"});
    out.active_experts = size({"num_experts_per_tok", "num_experts_per_token", "moe_topk", "moe_k", "top_k_experts"});
    for (const char* name : width) {
      if (!in_.has(name)) continue;
      out.expert_ffn = in_.size(name);
      break;
    }
    if (out.expert_ffn == 0) out.expert_ffn = in_.size(*width.begin());
    out.shared_ffn = optional({"n_shared_experts", "num_shared_experts", "moe_num_shared_experts"}) * out.expert_ffn;
    if (out.active_experts > out.experts)
      in_.fail(error{errc::contradictory_field, out.active_experts, out.experts}.with("num_experts_per_tok"));
    return out;
  }
  /// @param chunk  the family's own default
  cost::mamba2 mamba2(std::int64_t chunk = 256) {
    const names own_heads = {"mamba_n_heads", "mamba_num_heads"}, own_dim = {"mamba_d_head", "mamba_head_dim"};
    const names own_groups = {"mamba_n_groups", "n_groups", "mamba_ngroups"};
    const std::int64_t heads = has(own_heads) ? size(own_heads) : in_.size("num_heads"), groups = size(own_groups);
    must_divide(heads, groups, std::string("heads of Mamba over ") + first_of(own_groups));
    const bool bias = flag(has({"mamba_proj_bias"}) ? "mamba_proj_bias" : "use_bias", false);
    return {.heads = heads,
            .head_dim = has(own_dim) ? size(own_dim) : in_.size("head_dim"),
            .groups = groups,
            .state = size({"mamba_d_state", "ssm_state_size", "state_size"}),
            .kernel = size({"mamba_d_conv", "conv_kernel"}),
            .chunk = size_or({"mamba_chunk_size", "chunk_size"}, chunk),
            .conv_bias = flag(has({"mamba_conv_bias"}) ? "mamba_conv_bias" : "use_conv_bias", true),
            .bias = bias,
            .output_bias = bias};
  }
  cost::mamba mamba() {
    const std::int64_t inner = size({"mamba_expand", "expand"}) * hidden();
    return {.inner = has({"mamba_expand"}) ? inner : size_or({"intermediate_size"}, inner),
            .state = size({"mamba_d_state", "state_size"}),
            .step_rank = size({"mamba_dt_rank", "time_step_rank"}),
            .kernel = size({"mamba_d_conv", "conv_kernel"}),
            .conv_bias = flag(has({"mamba_conv_bias"}) ? "mamba_conv_bias" : "use_conv_bias", true),
            .bias = flag(has({"mamba_proj_bias"}) ? "mamba_proj_bias" : "use_bias", false)};
  }
  cost::gated_delta gated_delta() {
    const std::int64_t keys = in_.size("linear_num_key_heads"), values = in_.size("linear_num_value_heads");
    must_divide(values, keys, "linear_num_value_heads over key heads");
    return {.key_heads = keys,
            .value_heads = values,
            .key_dim = in_.size("linear_key_head_dim"),
            .value_dim = in_.size("linear_value_head_dim"),
            .kernel = in_.size("linear_conv_kernel_dim")};
  }

  /// How many of the last layers use keys and values of an earlier one: there must be one.
  std::int64_t shared_kv_layers() {
    const std::int64_t shared = optional({"num_kv_shared_layers"});
    if (shared > 0 && shared >= layers_)
      in_.fail(error{errc::out_of_range, shared, 0, layers_ - 1}.with("num_kv_shared_layers"));
    return shared;
  }

  /// Appends a layer: norm, mixer, norm, FFN, and so many norms behind.
  void layer(const cost::block& mixer, const cost::block& ffn, std::int64_t behind = 0) {
    cost::layer_blocks blocks{cost::norms{}, mixer, cost::norms{.place = cost::norm_place::between}, ffn};
    if (behind > 0) blocks.push_back(cost::norms{.count = behind, .place = cost::norm_place::behind});
    out_.add(std::move(blocks));
  }
  void layer(cost::layer_blocks blocks) { out_.add(std::move(blocks)); }

 private:
  static constexpr std::int64_t max_layers = 4096;  // as many as planner takes

  [[nodiscard]] const char* first_of(names any) const {
    const auto* found = std::find_if(any.begin(), any.end(), [&](const char* name) { return in_.has(name); });
    return found == any.end() ? *any.begin() : *found;
  }
  void must_divide(std::int64_t value, std::int64_t by, std::string_view what) {
    if (value % by != 0) in_.fail(error{errc::indivisible, value, by}.with(what));
  }
  std::int64_t mixture_period() {
    const std::int64_t period = has({"moe_layer_freq"}) ? in_.size("moe_layer_freq") : 1;
    if (period > 1)
      in_.assume("moe_layer_freq",
                 std::to_string(period) + ", as the published code reads it; transformers has a mixture in each layer");
    return period;
  }

  fields in_;
  const nlohmann::json& config_;
  cost::layer_list& out_;
  std::int64_t dense_first_;
  std::int64_t layers_ = 0;
};

}  // namespace hocket::inline HOCKET_ABI::hugging_face::detail
