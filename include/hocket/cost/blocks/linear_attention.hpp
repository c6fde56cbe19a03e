// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/cost/blocks/block_terms.hpp>
#include <hocket/cost/formula/reflect.hpp>

#include <cstdint>

// Attention that keeps a state of fixed size per head in place of all keys and values.
namespace hocket::inline HOCKET_ABI::cost {

/// Gated delta net: queries, keys, values, an output gate and two gates per head from one projection, a short
/// convolution, then the delta rule on a state of key_dim x value_dim per value head.  Source: arXiv:2412.06464;
/// Qwen3-Next, Qwen3.5, OLMo Hybrid.
struct gated_delta {
  std::int64_t key_heads = 0, value_heads = 0, key_dim = 0, value_dim = 0;
  std::int64_t kernel = 4;  ///< taps of the short convolution
  std::int64_t chunk = 64;  ///< positions that a kernel takes at once
  friend constexpr bool operator==(const gated_delta&, const gated_delta&) = default;
};
/// Kimi delta attention: the same with a forget gate per element of the key.  Source: arXiv:2510.26692; Kimi Linear.
struct kimi_delta {
  std::int64_t heads = 0, head_dim = 0;
  std::int64_t kernel = 4, chunk = 64;
  std::int64_t gate_rank = 0;  ///< the two gates are products of two narrow matrices of this rank; 0: one whole matrix
  bool whole_output_gate = false;  ///< the output gate is one whole matrix all the same (Kimi K3)
  friend constexpr bool operator==(const kimi_delta&, const kimi_delta&) = default;
};
/// Lightning attention: a state that decays, without the delta rule, and an output gate.  Source: arXiv:2501.08313.
struct lightning_attention {
  std::int64_t heads = 0, head_dim = 0;
  std::int64_t chunk = 256;
  friend constexpr bool operator==(const lightning_attention&, const lightning_attention&) = default;
};
/// The short convolution of LFM2: a gate before and one behind it.  Source: arXiv:2511.23404.
struct short_convolution {
  std::int64_t kernel = 3;
  bool conv_bias = false;
  friend constexpr bool operator==(const short_convolution&, const short_convolution&) = default;
};

}  // namespace hocket::inline HOCKET_ABI::cost
HOCKET_DETAIL_STRUCT(hocket::cost::gated_delta, key_heads, value_heads, key_dim, value_dim, kernel, chunk);
HOCKET_DETAIL_STRUCT(hocket::cost::kimi_delta, heads, head_dim, kernel, chunk, gate_rank, whole_output_gate);
HOCKET_DETAIL_STRUCT(hocket::cost::lightning_attention, heads, head_dim, chunk);
HOCKET_DETAIL_STRUCT(hocket::cost::short_convolution, kernel, conv_bias);

namespace hocket::inline HOCKET_ABI::cost::detail::blocks {

using letters::linear_counted;
inline constexpr std::string_view state_source = "Megatron-LM gdn_layer_flops; chunks: arXiv:2412.06464";
inline constexpr std::string_view lightning = "arXiv:2501.08313";
inline constexpr std::string_view lfm2 = "arXiv:2511.23404";
/// FLOPs per token of the delta rule in heads of widths k and v. As a recurrence: k k^T, v k^T, the state's update and
/// its product with the query. In chunks: within the chunk three products with keys and two with values, without the
/// triangular inverse, and three with the state.
template <class Heads, class Keys, class Values>
consteval auto delta_rule(const Heads& heads, const Keys& k, const Values& v) noexcept {
  return 2 * FLOP * rows * heads * choose(linear_counted, 4 * k * v, letters::c_k * (3 * k + 2 * v) + 3 * k * v) * L;
}
template <class Width>
consteval auto convolution(const Width& channels) noexcept {
  return product(letters::k_c * channels);
}
/// States at the borders of chunks, in 32 bits.
template <class Elements>
consteval auto border_states(const Elements& each) noexcept {
  return 4 * byte * (divide_up(s, letters::c_k) * letters::b * each);
}
inline constexpr auto inner_ranks = saved::inner;
inline constexpr auto linear_by = layer_operation::attention;

}  // namespace hocket::inline HOCKET_ABI::cost::detail::blocks
namespace hocket::inline HOCKET_ABI::cost::letters::blocks {
using detail::blocks::state_source, detail::blocks::lightning, detail::blocks::lfm2, detail::blocks::delta_rule,
    detail::blocks::convolution, detail::blocks::border_states, detail::blocks::inner_ranks, detail::blocks::linear_by;
}  // namespace hocket::inline HOCKET_ABI::cost::letters::blocks

namespace hocket::inline HOCKET_ABI::cost::letters::blocks::gated_delta_terms {

inline constexpr auto keys = letters::a_k * letters::d_k;
inline constexpr auto values = letters::a_v * letters::d_v;
inline constexpr auto convolved = 2 * keys + values;
inline constexpr auto parameters = [] {
  return terms(weights("queries, keys, values, gate", L * (h * (2 * keys + 2 * values)), L, tp, delta_net),
               weights("gates of heads", L * (h * 2 * a_v), L, tp, delta_net),
               weights("short convolution", L * (convolved * k_c), L, tp, delta_net),
               weights("decay and time step", L * (2 * a_v), L, tp, delta_net),
               weights("gated norm", L * (1 * d_v), L, one_rank, delta_net),
               weights("attention output", L * (values * h), L, tp, delta_net));
}();
inline constexpr auto forward = [] {
  using detail::flop::core_once_more, detail::flop::replays;
  return terms(
      flops("queries, keys, values, gates", product(h * (2 * keys + 2 * values + 2 * a_v)), L, tp, replays(r_qkv),
            state_source, layer_operation::qkv, 2 * keys + 2 * values + 2 * a_v),
      flops("short convolution", convolution(convolved), L, tp, replays(r_qkv), state_source, layer_operation::qkv),
      flops("delta rule", delta_rule(a_v, d_k, d_v), L, tp, core_once_more, state_source, linear_by),
      flops("attention output", product(values * h), L, tp, replays(r_output), state_source, layer_operation::output,
            1 * h));
}();
inline constexpr auto saved = [] {
  using detail::saved::region, detail::saved::unless;
  constexpr std::string_view assumed =
      "flash-linear-attention; assumes that a kernel keeps what it reads and the states "
      "between its chunks";
  return terms(tensor("attention input", input_of(1 * h), unless(r_norm), choose(r_gather, cp, region), assumed,
                      layer_operation::norm, origin::estimated),
               tensor("before and behind the convolution", stream_of(2 * convolved), unless(r_qkv), inner_ranks,
                      assumed, layer_operation::qkv, origin::estimated),
               tensor("gate and its input", stream_of(values + 2 * a_v), unless(r_qkv), inner_ranks, assumed,
                      layer_operation::qkv, origin::estimated),
               tensor("states between chunks", border_states(a_v * d_k * d_v), unless(r_attention), inner_ranks,
                      assumed, linear_by, origin::estimated),
               tensor("attention output", stream_of(2 * values), unless(r_attention), inner_ranks, assumed, linear_by,
                      origin::estimated));
}();
inline constexpr auto state = [] {
  return terms(tensor("state", 4 * byte * (a_v * d_k * d_v), L, tp, "arXiv:2412.06464; a state in 32 bits", linear_by,
                      origin::definition),
               tensor("window of the convolution", c * (element * (convolved * k_c)), L, tp, delta_net, linear_by,
                      origin::definition));
}();

inline constexpr auto moved = mixer_moves("convolution and gates", convolved + 2 * values);

}  // namespace hocket::inline HOCKET_ABI::cost::letters::blocks::gated_delta_terms

namespace hocket::inline HOCKET_ABI::cost {

template <>
struct formulas_of<gated_delta> {
  static constexpr block_terms lists() noexcept {
    return {.parameters = letters::blocks::gated_delta_terms::parameters,
            .forward = letters::blocks::gated_delta_terms::forward,
            .saved = letters::blocks::gated_delta_terms::saved,
            .state = letters::blocks::gated_delta_terms::state,
            .moved = letters::blocks::gated_delta_terms::moved,
            .tensor_transfers = letters::blocks::mixer_transfers};
  }
};

}  // namespace hocket::inline HOCKET_ABI::cost

namespace hocket::inline HOCKET_ABI::cost::letters::blocks::kimi_delta_terms {

inline constexpr auto width = letters::a * letters::d;
inline constexpr auto gate = [] { return choose(least(r_g, 1), h * width, h * r_g + r_g * width); }();
inline constexpr auto output_gate = [] { return choose(whole_output_gate, 1 * gate, h * width); }();
inline constexpr auto parameters = [] {
  return terms(
      weights("queries, keys, values", L * (3 * h * width), L, tp, kda),
      weights("short convolution", L * (3 * width * k_c), L, tp, kda), weights("forget gate", L * gate, L, tp, kda),
      weights("output gate", L * output_gate, L, tp, kda), weights("gates of heads", L * (h * a), L, tp, kda),
      weights("decay and time step", L * (width + a), L, tp, kda), weights("gated norm", L * (1 * d), L, one_rank, kda),
      weights("attention output", L * (width * h), L, tp, kda));
}();
inline constexpr auto forward = [] {
  using detail::flop::core_once_more, detail::flop::replays;
  return terms(
      flops("queries, keys, values, gates", product(3 * h * width + gate + output_gate + h * a), L, tp, replays(r_qkv),
            kda, layer_operation::qkv, 3 * width),
      flops("short convolution", convolution(3 * width), L, tp, replays(r_qkv), kda, layer_operation::qkv),
      flops("delta rule", delta_rule(a, d, d), L, tp, core_once_more, state_source, linear_by),
      flops("attention output", product(width * h), L, tp, replays(r_output), kda, layer_operation::output, 1 * h));
}();
inline constexpr auto saved = [] {
  using detail::saved::region, detail::saved::unless;
  constexpr std::string_view assumed =
      "flash-linear-attention; assumes that a kernel keeps what it reads and the states "
      "between its chunks";
  return terms(tensor("attention input", input_of(1 * h), unless(r_norm), choose(r_gather, cp, region), assumed,
                      layer_operation::norm, origin::estimated),
               tensor("before and behind the convolution", stream_of(6 * width), unless(r_qkv), inner_ranks, assumed,
                      layer_operation::qkv, origin::estimated),
               tensor("gates", stream_of(2 * width + a), unless(r_qkv), inner_ranks, assumed, layer_operation::qkv,
                      origin::estimated),
               tensor("states between chunks", border_states(a * d * d), unless(r_attention), inner_ranks, assumed,
                      linear_by, origin::estimated),
               tensor("attention output", stream_of(2 * width), unless(r_attention), inner_ranks, assumed, linear_by,
                      origin::estimated));
}();
inline constexpr auto state = [] {
  return terms(tensor("state", 4 * byte * (a * d * d), L, tp, "arXiv:2510.26692; a state in 32 bits", linear_by,
                      origin::definition),
               tensor("window of the convolution", c * (element * (3 * width * k_c)), L, tp, kda, linear_by,
                      origin::definition));
}();

inline constexpr auto moved = mixer_moves("convolution and gates", 5 * width);

}  // namespace hocket::inline HOCKET_ABI::cost::letters::blocks::kimi_delta_terms

namespace hocket::inline HOCKET_ABI::cost {

template <>
struct formulas_of<kimi_delta> {
  static constexpr block_terms lists() noexcept {
    return {.parameters = letters::blocks::kimi_delta_terms::parameters,
            .forward = letters::blocks::kimi_delta_terms::forward,
            .saved = letters::blocks::kimi_delta_terms::saved,
            .state = letters::blocks::kimi_delta_terms::state,
            .moved = letters::blocks::kimi_delta_terms::moved,
            .tensor_transfers = letters::blocks::mixer_transfers};
  }
};

}  // namespace hocket::inline HOCKET_ABI::cost

namespace hocket::inline HOCKET_ABI::cost::letters::blocks::lightning_attention_terms {

inline constexpr auto width = letters::a * letters::d;
inline constexpr auto parameters = [] {
  return terms(weights("queries, keys, values", L * (3 * h * width), L, tp, lightning),
               weights("output gate", L * (h * width), L, tp, lightning),
               weights("norm of the output", L * width, L, tp, lightning),
               weights("attention output", L * (width * h), L, tp, lightning));
}();
inline constexpr auto forward = [] {
  using detail::flop::core_once_more, detail::flop::replays;
  // As a recurrence: k^T v into the state and its product with the query. In chunks: scores and their product with
  // the values as well.
  constexpr auto core = 2 * FLOP * rows * a * choose(linear_counted, 2 * d * d, 2 * c_k * d + 2 * d * d) * L;
  return terms(flops("queries, keys, values, gate", product(4 * h * width), L, tp, replays(r_qkv), lightning,
                     layer_operation::qkv, 4 * width),
               flops("linear attention", core, L, tp, core_once_more, lightning, linear_by),
               flops("attention output", product(width * h), L, tp, replays(r_output), lightning,
                     layer_operation::output, 1 * h));
}();
inline constexpr auto saved = [] {
  using detail::saved::region, detail::saved::unless;
  return terms(tensor("attention input", input_of(1 * h), unless(r_norm), choose(r_gather, cp, region), lightning,
                      layer_operation::norm, origin::estimated),
               tensor("queries, keys, values, gate", stream_of(4 * width), unless(r_qkv), inner_ranks, lightning,
                      layer_operation::qkv, origin::estimated),
               tensor("states between chunks", border_states(a * d * d), unless(r_attention), inner_ranks, lightning,
                      linear_by, origin::estimated),
               tensor("attention output", stream_of(2 * width), unless(r_attention), inner_ranks, lightning, linear_by,
                      origin::estimated));
}();
inline constexpr auto state = [] {
  return terms(detail::blocks::tensor("state", 4 * byte * (a * d * d), L, tp, "arXiv:2501.08313; a state in 32 bits",
                                      detail::blocks::linear_by, origin::definition));
}();

inline constexpr auto moved = mixer_moves("gate", 2 * width);

}  // namespace hocket::inline HOCKET_ABI::cost::letters::blocks::lightning_attention_terms

namespace hocket::inline HOCKET_ABI::cost {

template <>
struct formulas_of<lightning_attention> {
  static constexpr block_terms lists() noexcept {
    return {.parameters = letters::blocks::lightning_attention_terms::parameters,
            .forward = letters::blocks::lightning_attention_terms::forward,
            .saved = letters::blocks::lightning_attention_terms::saved,
            .state = letters::blocks::lightning_attention_terms::state,
            .moved = letters::blocks::lightning_attention_terms::moved,
            .tensor_transfers = letters::blocks::mixer_transfers};
  }
};

}  // namespace hocket::inline HOCKET_ABI::cost

namespace hocket::inline HOCKET_ABI::cost::letters::blocks::short_convolution_terms {

inline constexpr auto parameters = [] {
  return terms(weights("convolution, input and gates", L * (3 * squared(h)), L, tp, lfm2),
               weights("short convolution", L * (h * k_c), L, tp, lfm2),
               weights("convolution biases", L * (5 * h), conv_bias, tp, lfm2),
               weights("convolution, output", L * squared(h), L, tp, lfm2));
}();
inline constexpr auto forward = [] {
  using detail::flop::replays;
  return terms(flops("convolution, input and gates", product(3 * squared(h)), L, tp, replays(r_qkv), lfm2,
                     layer_operation::qkv, 3 * h),
               flops("short convolution", convolution(h), L, tp, replays(r_qkv), lfm2, layer_operation::qkv),
               flops("convolution, output", product(squared(h)), L, tp, replays(r_output), lfm2,
                     layer_operation::output, 1 * h));
}();
inline constexpr auto saved = [] {
  using detail::saved::region, detail::saved::unless;
  return terms(tensor("convolution, input", input_of(1 * h), unless(r_norm), choose(r_gather, cp, region), lfm2,
                      layer_operation::norm, origin::estimated),
               tensor("convolution, gates and both sides", stream_of(6 * h), unless(r_qkv), inner_ranks, lfm2,
                      layer_operation::qkv, origin::estimated));
}();
inline constexpr auto state = [] {
  return terms(detail::blocks::tensor("window of the convolution", c * (element * (h * k_c)), L, tp,
                                      detail::blocks::lfm2, detail::blocks::linear_by, origin::definition));
}();

inline constexpr auto moved = mixer_moves("gates", 3 * h);

}  // namespace hocket::inline HOCKET_ABI::cost::letters::blocks::short_convolution_terms

namespace hocket::inline HOCKET_ABI::cost {

template <>
struct formulas_of<short_convolution> {
  static constexpr block_terms lists() noexcept {
    return {.parameters = letters::blocks::short_convolution_terms::parameters,
            .forward = letters::blocks::short_convolution_terms::forward,
            .saved = letters::blocks::short_convolution_terms::saved,
            .state = letters::blocks::short_convolution_terms::state,
            .moved = letters::blocks::short_convolution_terms::moved,
            .tensor_transfers = letters::blocks::mixer_transfers};
  }
};

}  // namespace hocket::inline HOCKET_ABI::cost
