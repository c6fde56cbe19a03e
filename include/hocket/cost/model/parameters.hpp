// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/cost/formula/term.hpp>
#include <hocket/cost/model/check.hpp>
#include <hocket/cost/model/setting.hpp>
#include <hocket/cost/model/symbols.hpp>

namespace hocket::inline HOCKET_ABI::cost {

namespace detail {
inline constexpr auto whole_rank = literal(1);

template <formula F, formula When, formula Split>
consteval auto weights(std::string_view name, const F& count, const When& when, const Split& split,
                       std::string_view source) noexcept {
  return make_term({.name = name, .source = source}, element * count, when, split);
}
inline constexpr auto no_latent = 1 - letters::latent;
inline constexpr auto kv_split = least(letters::tp, letters::g);
}  // namespace detail

}  // namespace hocket::inline HOCKET_ABI::cost

namespace hocket::inline HOCKET_ABI::cost::letters {

/// The weights of a decoder-only transformer, counted once; `split` says over how many tensor-parallel ranks each is
/// divided (1: every rank has a copy). KV heads are copied, not divided, once there are fewer of them than ranks.
/// In a pipeline the last rank holds its own copy of a tied embedding, and of one that multi-token prediction reads.
/// Needs: part, model; for the split also parallel.
/// Source: the module definitions of the published models; checked against 39 published totals (docs/cost.md).
inline constexpr auto parameter_terms = [] {
  using detail::kv_split, detail::no_latent, detail::weights, detail::whole_rank;
  constexpr std::string_view transformer = "arXiv:1706.03762", moe = "arXiv:2401.04088", mla = "arXiv:2405.04434";
  return terms(
      weights("token embedding", V * h, first, tp, transformer),
      weights("position embedding", n_pos * h, first * n_pos, whole_rank, "GPT-2"),
      weights("embedding norm", n_w * h, first * embedding_norm, whole_rank, "BLOOM"),
      // attention
      weights("query and output", L * (2 * h * a * d), no_latent, tp, transformer),
      weights("key and value", L * (2 * h * g * d), no_latent, kv_split, "arXiv:2305.13245"),
      weights("query bias", L * (a * d), qkv_bias * no_latent, tp, "GPT-2"),
      weights("key and value bias", L * (2 * g * d), qkv_bias * no_latent, kv_split, "GPT-2"),
      weights("output bias", L * h, output_bias, whole_rank, "GPT-2"),
      weights("query and key norm", L * (2 * n_w * d), qk_norm, whole_rank, "arXiv:2505.09388"),
      weights("query and key norm, all heads", L * (n_w * (a + g) * d), qk_norm_all, whole_rank, "arXiv:2501.00656"),
      weights("attention sinks", L * a, attention_sinks, tp, "gpt-oss"),
      // multi-head latent attention
      weights("query, compressed", L * (h * r_q + r_q), latent * r_q, whole_rank, mla),
      weights("query, from compressed", L * (r_q * a * (d_n + d_r)), latent * r_q, tp, mla),
      weights("query, not compressed", L * (h * a * (d_n + d_r)), latent * (1 - least(r_q, 1)), tp, mla),
      weights("key and value, compressed", L * (h * (r_k + d_r) + r_k), latent, whole_rank, mla),
      weights("key and value, from compressed", L * (r_k * a * (d_n + d_v)), latent, tp, mla),
      weights("latent output", L * (a * d_v * h), latent, tp, mla),
      // feed-forward
      weights("FFN", (L - L_m) * (n_f * h * f), L - L_m, tp, "arXiv:2002.05202"),
      weights("FFN bias, inner", (L - L_m) * ((n_f - 1) * f), ffn_bias * (L - L_m), tp, "GPT-2"),
      weights("FFN bias, outer", (L - L_m) * h, ffn_bias * (L - L_m), whole_rank, "GPT-2"),
      weights("router", L_m * (h * E), L_m, whole_rank, moe),
      weights("router bias", L_m * E, L_m * router_bias, whole_rank, "arXiv:2412.19437"),
      weights("shared experts", L_m * (n_f * h * f_s), L_m * f_s, tp, mla),
      weights("shared expert gate", L_m * h, L_m * shared_gate, whole_rank, "Qwen2-MoE"),
      weights("layer norms", L * (n_n * n_w * h), n_n, whole_rank, "arXiv:1910.07467"),
      weights("multi-token prediction, joint input", n_mtp * (2 * squared(h)), last * n_mtp, tp, "arXiv:2412.19437"),
      weights("multi-token prediction, norms", n_mtp * (3 * n_w * h), last * n_mtp, whole_rank, "arXiv:2412.19437"),
      weights("token embedding, copied for multi-token prediction", V * h, n_mtp * last * (1 - first) * (1 - tied), tp,
              "Megatron-LM multi_token_prediction"),
      weights("final norm", n_w * h, last * final_norm, whole_rank, "arXiv:1910.07467"),
      weights("output head", V * h, last * (1 - tied * first), tp, transformer),
      weights("output head bias", V * literal(1), last * head_bias, tp, "GPT-J"));
}();

/// The experts' weights: apart, because another group of ranks shares their optimizer states.
inline constexpr auto expert_parameter_terms = [] {
  using detail::weights;
  return terms(weights("experts", L_m * (E * n_f * h * f_e), L_m, ep * etp, "arXiv:2401.04088"),
               weights("expert bias, inner", L_m * (E * (n_f - 1) * f_e), L_m * expert_bias, ep * etp, "gpt-oss"),
               weights("expert bias, outer", L_m * (E * h), L_m * expert_bias, ep, "gpt-oss"));
}();
/// Those of them that a token does not use.
inline constexpr auto idle_parameter_terms = [] {
  using detail::weights;
  return terms(weights("experts not chosen", L_m * ((E - k) * n_f * h * f_e), L_m, ep * etp, "arXiv:2401.04088"),
               weights("their bias", L_m * ((E - k) * ((n_f - 1) * f_e + h)), L_m * expert_bias, ep, "gpt-oss"));
}();

}  // namespace hocket::inline HOCKET_ABI::cost::letters

namespace hocket::inline HOCKET_ABI::cost {

/// weights(name, formula, when, split, source): a term that counts parameters; for architectures of your own.
using detail::weights;

using letters::expert_parameter_terms, letters::idle_parameter_terms, letters::parameter_terms;

/// Parameters of the model: each weight once, whatever the parallelism; and those one token uses.
struct parameter_count {
  std::int64_t total = 0, active = 0;
  friend constexpr bool operator==(const parameter_count&, const parameter_count&) = default;
};
/// Errors: those of check(m); errc::undefined_value, errc::overflow. Complexity: one pass over the formulas.
[[nodiscard]] constexpr result<parameter_count> count_parameters(const model& m) noexcept {
  if (const auto sound = check(m); !sound) return sound.error();
  const setting all{.on_rank = part::whole(m), .model = m};
  const auto numbers = numbers_of(all);
  const result<rational> dense = total(parameter_terms, numbers), expert = total(expert_parameter_terms, numbers),
                         idle = total(idle_parameter_terms, numbers);
  for (const auto* r : {&dense, &expert, &idle}) {
    if (!*r) return r->error();
  }
  const rational sum = *dense + *expert;
  if (!sum.is_whole() || sum.num() > (std::numeric_limits<std::int64_t>::max)())
    return error{errc::overflow}.with("parameters");
  return parameter_count{static_cast<std::int64_t>(sum.num()), static_cast<std::int64_t>((sum - *idle).num())};
}

}  // namespace hocket::inline HOCKET_ABI::cost
