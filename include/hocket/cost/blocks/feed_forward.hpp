// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/cost/blocks/block_terms.hpp>
#include <hocket/cost/formula/reflect.hpp>

#include <cstdint>

namespace hocket::inline HOCKET_ABI::cost {

/// A dense feed-forward network: gated with three matrices (arXiv:2002.05202), plain with two.
struct feed_forward {
  std::int64_t ffn = 0;
  std::int64_t ffn_matrices = 3;
  bool ffn_bias = false;
  bool shares_input = false;  ///< reads what the attention reads: one norm feeds both
  friend constexpr bool operator==(const feed_forward&, const feed_forward&) = default;
};

/// A mixture of experts in place of one (arXiv:2101.03961): k of E experts per token, shared experts beside them, which
/// may have a gate. Experts may work in a narrower latent space (Nemotron 3), may be copies of their input that cost
/// nothing (LongCat), and may be chosen by a table of tokens in place of a router's scores (DeepSeek-V4).
struct mixture {
  std::int64_t experts = 0, active_experts = 0, expert_ffn = 0;
  std::int64_t shared_ffn = 0;  ///< width of all shared experts together
  std::int64_t ffn_matrices = 3;
  std::int64_t latent_width = 0;  ///< width that experts read and write, 0: the model's
  std::int64_t router_width = 0;  ///< width that the router's scores are computed of, 0: the model's
  std::int64_t zero_experts = 0;  ///< copies of the input; the router has rows for them
  bool shared_gate = false, router_bias = false, expert_bias = false;
  bool bias = false;  ///< on products outside the experts chosen: shared experts, into and out of the latent width
  bool shares_input = false;
  friend constexpr bool operator==(const mixture&, const mixture&) = default;
};

}  // namespace hocket::inline HOCKET_ABI::cost
HOCKET_DETAIL_STRUCT(hocket::cost::feed_forward, ffn, ffn_matrices, ffn_bias, shares_input);
HOCKET_DETAIL_STRUCT(hocket::cost::mixture, experts, active_experts, expert_ffn, shared_ffn, ffn_matrices, latent_width,
                     router_width, zero_experts, shared_gate, router_bias, expert_bias, bias, shares_input);

namespace hocket::inline HOCKET_ABI::cost::letters::blocks::feed_forward_terms {

inline constexpr auto parameters = [] {
  return terms(weights("FFN", L * (n_f * h * f), L, tp, "arXiv:2002.05202"),
               weights("FFN bias, inner", L * ((n_f - 1) * f), ffn_bias, tp, "GPT-2"),
               weights("FFN bias, outer", L * h, ffn_bias, one_rank, "GPT-2"));
}();
inline constexpr auto forward = [] {
  using detail::flop::replays;
  constexpr std::string_view megatron = "arXiv:2104.04473 appendix";
  return terms(flops("FFN, before the activation", product((n_f - 1) * h * f), L, tp, replays(r_ffn_in), megatron,
                     layer_operation::ffn_in, (n_f - 1) * f),
               flops("FFN, after the activation", product(h * f), L, tp, replays(r_ffn_out), megatron,
                     layer_operation::ffn_out, 1 * h));
}();
inline constexpr auto saved = [] {
  using detail::saved::inner, detail::saved::kept_unless_full, detail::saved::region, detail::saved::unless;
  constexpr std::string_view table = "arXiv:2205.05198 section 4.1";
  constexpr auto input = choose(wide_norm * r_cast_back, input_of(h), 4 * byte * (s * b * h));
  return terms(tensor("FFN input", input, unless(r_norm) * (1 - shares_input), choose(r_gather, cp, region), table,
                      layer_operation::norm),
               tensor("FFN activation, inputs", stream_of((n_f - 1) * f), unless(r_ffn_in), inner, table,
                      layer_operation::ffn_in),
               tensor("FFN activation, first factor", stream_of((n_f - 2) * f), unless(r_activation) * (1 - fused),
                      inner, "arXiv:2002.05202", layer_operation::activation, origin::derived),
               tensor("FFN activation, output", input_of(1 * f), unless(r_activation), inner, table,
                      layer_operation::activation),
               tensor("FFN dropout mask", byte * (s * b * h), kept_unless_full * dropout, region, table));
}();

inline constexpr auto moment = moment_of_ffn(1 * f);
inline constexpr auto moved = [] {
  return terms(sum_after_ffn, moves("activation", n_f * stream_of(1 * f), L, detail::saved::inner,
                                    detail::flop::replays(r_activation), layer_operation::activation));
}();

}  // namespace hocket::inline HOCKET_ABI::cost::letters::blocks::feed_forward_terms

namespace hocket::inline HOCKET_ABI::cost {

template <>
struct formulas_of<feed_forward> {
  static constexpr block_terms lists() noexcept {
    return {.parameters = letters::blocks::feed_forward_terms::parameters,
            .forward = letters::blocks::feed_forward_terms::forward,
            .saved = letters::blocks::feed_forward_terms::saved,
            .moment = letters::blocks::feed_forward_terms::moment,
            .moved = letters::blocks::feed_forward_terms::moved,
            .tensor_transfers = letters::blocks::ffn_transfers};
  }
};

}  // namespace hocket::inline HOCKET_ABI::cost

namespace hocket::inline HOCKET_ABI::cost::letters::blocks::mixture_terms {

inline constexpr auto width = choose(least(letters::h_l, 1), 1 * letters::h, 1 * letters::h_l);
inline constexpr auto router_input = choose(least(letters::h_r, 1), 1 * letters::h, 1 * letters::h_r);
inline constexpr std::string_view shared_biases = "transformers 5.24: mlp_bias, use_bias";
inline constexpr auto parameters = [] {
  return terms(weights("router", L * (router_input * (E + E_z)), L, one_rank, moe),
               weights("router bias", L * (E + E_z), router_bias, one_rank, "arXiv:2412.19437"),
               weights("latent width of experts", L * (2 * h * h_l), h_l, one_rank, "Nemotron 3"),
               weights("latent width, biases", L * (h_l + h), n_b * h_l, one_rank, shared_biases),
               weights("shared experts", L * (n_f * h * f_s), f_s, tp, mla),
               weights("shared expert bias, inner", L * ((n_f - 1) * f_s), n_b * f_s, tp, shared_biases),
               weights("shared expert bias, outer", L * h, n_b * f_s, one_rank, shared_biases),
               weights("shared expert gate", L * h, shared_gate, one_rank, "Qwen2-MoE"));
}();
inline constexpr auto expert_parameters = [] {
  return terms(weights("experts", L * (E * n_f * width * f_e), L, ep * etp, "arXiv:2401.04088"),
               weights("expert bias, inner", L * (E * (n_f - 1) * f_e), expert_bias, ep * etp, "gpt-oss"),
               weights("expert bias, outer", L * (E * width), expert_bias, ep, "gpt-oss"));
}();
inline constexpr auto idle_parameters = [] {
  return terms(weights("experts not chosen", L * ((E - k) * n_f * width * f_e), L, ep * etp, "arXiv:2401.04088"),
               weights("their bias", L * ((E - k) * ((n_f - 1) * f_e + width)), expert_bias, ep, "gpt-oss"));
}();
inline constexpr auto forward = [] {
  using detail::flop::once_more, detail::flop::replays;
  constexpr auto used = k * E / (E + E_z);  // of a token's choices: spread evenly, a part costs nothing
  constexpr std::string_view zero = "arXiv:2101.03961; zero experts: arXiv:2509.01322, spread evenly";
  return terms(flops("router", product(router_input * (E + E_z)), router_counted, choose(sp, 1, tp), once_more, moe,
                     layer_operation::router, E + E_z),
               flops("latent width of experts", product(2 * h * h_l), h_l, one_rank, replays(r_ffn_in),
                     "Megatron-LM moe_layer_flops", layer_operation::ffn_in, 1 * h_l),
               flops("experts, before the activation", product(used * (n_f - 1) * width * f_e), L, tp,
                     replays(r_ffn_in), zero, layer_operation::ffn_in, (n_f - 1) * f_e, true),
               flops("experts, after the activation", product(used * width * f_e), L, tp, replays(r_ffn_out), zero,
                     layer_operation::ffn_out, width, true),
               flops("shared experts, before the activation", product((n_f - 1) * h * f_s), f_s, tp, replays(r_ffn_in),
                     mla, layer_operation::ffn_in, (n_f - 1) * f_s),
               flops("shared experts, after the activation", product(h * f_s), f_s, tp, replays(r_ffn_out), mla,
                     layer_operation::ffn_out, 1 * h),
               flops("shared expert gate", product(1 * h), shared_gate * router_counted, one_rank, once_more,
                     "Qwen2-MoE", layer_operation::router));
}();
inline constexpr auto saved = [] {
  using detail::saved::inner, detail::saved::kept_unless_full, detail::saved::region, detail::saved::unless;
  constexpr auto kept = kept_unless_full;
  constexpr std::string_view table = "arXiv:2205.05198 section 4.1",
                             even = "arXiv:2101.03961; assumes tokens spread evenly over experts and ranks",
                             together = "arXiv:2405.04434; assumes one dense FFN of all shared experts";
  constexpr auto input = choose(wide_norm * r_cast_back, input_of(h), 4 * byte * (s * b * h));
  return terms(
      tensor("FFN input", input, unless(r_norm) * (1 - shares_input), choose(r_gather, cp, region), table,
             layer_operation::norm),
      tensor("router probabilities", 4 * byte * (s * b * (E + E_z)), kept, region, even, layer_operation::router,
             origin::estimated),
      tensor("expert inputs", input_of(k * width), kept, inner, even, layer_operation::dispatch, origin::estimated),
      tensor("expert activations, inputs", stream_of((n_f - 1) * k * f_e), unless(r_ffn_in), inner, even,
             layer_operation::ffn_in, origin::estimated),
      tensor("expert activations, outputs", input_of(k * f_e), unless(r_activation), inner, even,
             layer_operation::activation, origin::estimated),
      tensor("shared expert activations, inputs", stream_of((n_f - 1) * f_s), unless(r_ffn_in) * f_s, inner, together,
             layer_operation::ffn_in, origin::estimated),
      tensor("shared expert activations, outputs", input_of(1 * f_s), unless(r_activation) * f_s, inner, together,
             layer_operation::activation, origin::estimated),
      tensor("FFN dropout mask", byte * (s * b * h), kept * dropout, region, table));
}();

inline constexpr auto moment = moment_of_ffn(k * f_e + f_s);
inline constexpr auto moved = [] {
  return terms(sum_after_ffn,
               moves("expert activation", n_f * stream_of(k * f_e + f_s), L, detail::saved::inner,
                     detail::flop::replays(r_activation), layer_operation::activation),
               moves("permutation of tokens", 4 * k * stream_of(width), L, detail::saved::inner,
                     detail::flop::once_more, layer_operation::dispatch));
}();
inline constexpr auto expert_transfers = [] {
  constexpr auto used = k * E / (E + E_z);  // a copy of the input goes nowhere
  return detail::wire::expert_lines(stream_of(used * width) / (cp * choose(sp, 1, tp)), L, used);
}();

}  // namespace hocket::inline HOCKET_ABI::cost::letters::blocks::mixture_terms

namespace hocket::inline HOCKET_ABI::cost {

template <>
struct formulas_of<mixture> {
  static constexpr block_terms lists() noexcept {
    return {.parameters = letters::blocks::mixture_terms::parameters,
            .expert_parameters = letters::blocks::mixture_terms::expert_parameters,
            .idle_parameters = letters::blocks::mixture_terms::idle_parameters,
            .forward = letters::blocks::mixture_terms::forward,
            .saved = letters::blocks::mixture_terms::saved,
            .moment = letters::blocks::mixture_terms::moment,
            .moved = letters::blocks::mixture_terms::moved,
            .tensor_transfers = letters::blocks::ffn_transfers,
            .expert_transfers = letters::blocks::mixture_terms::expert_transfers};
  }
};

}  // namespace hocket::inline HOCKET_ABI::cost
