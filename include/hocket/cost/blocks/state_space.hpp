// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/cost/blocks/linear_attention.hpp>

// Selective state-space blocks.
namespace hocket::inline HOCKET_ABI::cost {

/// Mamba-2: heads of head_dim channels with a state of state x head_dim each; groups of heads share what writes to and
/// reads from it.  Source: arXiv:2405.21060.
struct mamba2 {
  std::int64_t heads = 0, head_dim = 0, groups = 1, state = 128;
  std::int64_t kernel = 4, chunk = 256;
  bool conv_bias = true;
  bool bias = false;         ///< on the input's projection
  bool output_bias = false;  ///< on the output's projection
  bool gated_norm = true;    ///< a norm of the output
  friend constexpr bool operator==(const mamba2&, const mamba2&) = default;
};
/// Mamba: a state of `state` elements per channel.  Source: arXiv:2312.00752.
struct mamba {
  std::int64_t inner = 0;  ///< channels
  std::int64_t state = 16, step_rank = 0, kernel = 4;
  bool conv_bias = true;
  bool bias = false;         ///< on the projections
  bool inner_norms = false;  ///< norms with weights on time step, input and output vectors (Jamba)
  friend constexpr bool operator==(const mamba&, const mamba&) = default;
};

}  // namespace hocket::inline HOCKET_ABI::cost
HOCKET_DETAIL_STRUCT(hocket::cost::mamba2, heads, head_dim, groups, state, kernel, chunk, conv_bias, bias, output_bias,
                     gated_norm);
HOCKET_DETAIL_STRUCT(hocket::cost::mamba, inner, state, step_rank, kernel, conv_bias, bias, inner_norms);

namespace hocket::inline HOCKET_ABI::cost::letters::blocks::mamba2_terms {

inline constexpr auto inner = letters::a * letters::d;
inline constexpr auto convolved = inner + 2 * letters::g_s * letters::d_s;
inline constexpr auto projected = 2 * inner + 2 * letters::g_s * letters::d_s + letters::a;
inline constexpr auto parameters = [] {
  return terms(weights("state space, input", L * (h * projected), L, tp, mamba_2),
               weights("short convolution", L * (convolved * k_c), L, tp, mamba_2),
               weights("convolution bias", L * convolved, conv_bias, tp, mamba_2),
               weights("input bias", L * projected, n_b, tp, mamba_2),
               weights("output bias", L * h, output_bias, one_rank, mamba_2),
               weights("decay, time step, skip", L * (3 * a), L, tp, mamba_2),
               weights("gated norm", L * inner, gated_norm, tp, mamba_2),
               weights("state space, output", L * (inner * h), L, tp, mamba_2));
}();
inline constexpr auto forward = [] {
  using detail::flop::core_once_more, detail::flop::replays;
  constexpr std::string_view source = "Megatron-LM mamba_layer_flops; chunks: arXiv:2405.21060 section 6";
  // As Megatron counts the scan, 7 per element of the state; or the four products of the chunked form.
  constexpr auto core =
      FLOP * rows * choose(linear_counted, 7 * inner * d_s, 2 * (c_k * g_s * d_s + c_k * inner + 2 * inner * d_s)) * L;
  return terms(flops("state space, input", product(h * projected), L, tp, replays(r_qkv), source, layer_operation::qkv,
                     projected),
               flops("short convolution", convolution(convolved), convolution_counted, tp, replays(r_qkv), mamba_2,
                     layer_operation::qkv),
               flops("state space, scan", core, L, tp, core_once_more, source, linear_by),
               flops("state space, output", product(inner * h), L, tp, replays(r_output), source,
                     layer_operation::output, 1 * h));
}();
inline constexpr auto saved = [] {
  using detail::saved::region, detail::saved::unless;
  constexpr std::string_view assumed =
      "arXiv:2405.21060; assumes that a kernel keeps what it reads and the states "
      "between its chunks";
  return terms(tensor("state space, input", input_of(1 * h), unless(r_norm), choose(r_gather, cp, region), assumed,
                      layer_operation::norm, origin::estimated),
               tensor("projections and convolution", stream_of(projected + convolved), unless(r_qkv), inner_ranks,
                      assumed, layer_operation::qkv, origin::estimated),
               tensor("states between chunks", border_states(inner * d_s), unless(r_attention), inner_ranks, assumed,
                      linear_by, origin::estimated),
               tensor("state space, output", stream_of((1 + gated_norm) * inner), unless(r_attention), inner_ranks,
                      assumed, linear_by, origin::estimated));
}();
inline constexpr auto state = [] {
  return terms(tensor("state", 4 * byte * (inner * d_s), L, tp, "arXiv:2405.21060; a state in 32 bits", linear_by,
                      origin::definition),
               tensor("window of the convolution", c * (element * (convolved * k_c)), L, tp, mamba_2, linear_by,
                      origin::definition));
}();

inline constexpr auto moved = mixer_moves("convolution and gates", convolved + 2 * inner);

}  // namespace hocket::inline HOCKET_ABI::cost::letters::blocks::mamba2_terms

namespace hocket::inline HOCKET_ABI::cost {

template <>
struct formulas_of<mamba2> {
  static constexpr block_terms lists() noexcept {
    return {.parameters = letters::blocks::mamba2_terms::parameters,
            .forward = letters::blocks::mamba2_terms::forward,
            .saved = letters::blocks::mamba2_terms::saved,
            .state = letters::blocks::mamba2_terms::state,
            .moved = letters::blocks::mamba2_terms::moved,
            .tensor_transfers = letters::blocks::mixer_transfers};
  }
};

}  // namespace hocket::inline HOCKET_ABI::cost

namespace hocket::inline HOCKET_ABI::cost::letters::blocks::mamba_terms {

inline constexpr auto parameters = [] {
  constexpr std::string_view source = "arXiv:2312.00752";
  return terms(weights("state space, input", L * (2 * h * h_m), L, tp, source),
               weights("short convolution", L * (h_m * k_c), L, tp, source),
               weights("convolution bias", L * h_m, conv_bias, tp, source),
               weights("projection biases", L * (2 * h_m + h), n_b, tp, source),
               weights("step, input and output vectors", L * (h_m * (r_t + 2 * d_s)), L, tp, source),
               weights("time step", L * (r_t * h_m + h_m), L, tp, source),
               weights("decay and skip", L * (h_m * d_s + h_m), L, tp, source),
               weights("norms inside", L * (r_t + 2 * d_s), inner_norms, one_rank, "arXiv:2403.19887"),
               weights("state space, output", L * (h_m * h), L, tp, source));
}();
inline constexpr auto forward = [] {
  using detail::flop::core_once_more, detail::flop::replays;
  constexpr std::string_view source = "arXiv:2312.00752; scan as Megatron-LM mamba_layer_flops";
  return terms(
      flops("state space, input", product(2 * h * h_m), L, tp, replays(r_qkv), source, layer_operation::qkv, 2 * h_m),
      flops("short convolution", convolution(h_m), convolution_counted, tp, replays(r_qkv), source,
            layer_operation::qkv),
      flops("step, input and output vectors", product(h_m * (r_t + 2 * d_s) + r_t * h_m), L, tp, replays(r_qkv), source,
            layer_operation::qkv),
      flops("state space, scan", 7 * FLOP * rows * (h_m * d_s) * L, L, tp, core_once_more, source, linear_by),
      flops("state space, output", product(h_m * h), L, tp, replays(r_output), source, layer_operation::output, 1 * h));
}();
inline constexpr auto saved = [] {
  using detail::saved::region, detail::saved::unless;
  constexpr std::string_view assumed = "arXiv:2312.00752 section 3.3.2: states are computed again";
  return terms(tensor("state space, input", input_of(1 * h), unless(r_norm), choose(r_gather, cp, region), assumed,
                      layer_operation::norm, origin::estimated),
               tensor("projections and convolution", stream_of(3 * h_m + r_t + 2 * d_s), unless(r_qkv), inner_ranks,
                      assumed, layer_operation::qkv, origin::estimated),
               tensor("time step", stream_of(1 * h_m), unless(r_qkv), inner_ranks, assumed, layer_operation::qkv,
                      origin::estimated),
               tensor("state space, output", stream_of(2 * h_m), unless(r_attention), inner_ranks, assumed, linear_by,
                      origin::estimated));
}();
inline constexpr auto state = [] {
  return terms(tensor("state", 4 * byte * (h_m * d_s), L, tp, "arXiv:2312.00752; a state in 32 bits", linear_by,
                      origin::definition),
               tensor("window of the convolution", c * (element * (h_m * k_c)), L, tp, "arXiv:2312.00752", linear_by,
                      origin::definition));
}();

inline constexpr auto moved = mixer_moves("convolution and gates", 3 * h_m);

}  // namespace hocket::inline HOCKET_ABI::cost::letters::blocks::mamba_terms

namespace hocket::inline HOCKET_ABI::cost {

template <>
struct formulas_of<mamba> {
  static constexpr block_terms lists() noexcept {
    return {.parameters = letters::blocks::mamba_terms::parameters,
            .forward = letters::blocks::mamba_terms::forward,
            .saved = letters::blocks::mamba_terms::saved,
            .state = letters::blocks::mamba_terms::state,
            .moved = letters::blocks::mamba_terms::moved,
            .tensor_transfers = letters::blocks::mixer_transfers};
  }
};

}  // namespace hocket::inline HOCKET_ABI::cost
