// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/cost/setting.hpp>
#include <hocket/cost/symbols.hpp>
#include <hocket/cost/term.hpp>

namespace hocket::inline HOCKET_ABI::cost::detail::saved {

using letters::cp, letters::dropout, letters::flash, letters::recomputed, letters::sp, letters::tp;
// Norms, residuals and dropouts are split over tp only under sequence parallelism.
// Context parallelism splits the sequence, and so every tensor that has one.
inline constexpr auto region = choose(sp, 1, tp) * cp;
inline constexpr auto inner = tp * cp;
inline constexpr auto kept_unless_full = choose(recomputed, 1, 1, 0);
inline constexpr auto kept_if_none = choose(recomputed, 1, 0, 0);
inline constexpr auto kept_if_full = choose(recomputed, 0, 0, 1);

template <class F, class When, class Split>
constexpr term<F, When, Split> tensor(std::string_view name, const F& formula, const When& when, const Split& split,
                                      std::string_view source, origin how = origin::published) noexcept {
  return {name, formula, when, split, source, how, literal<pure>(0)};
}

}  // namespace hocket::inline HOCKET_ABI::cost::detail::saved

namespace hocket::inline HOCKET_ABI::cost::letters {

/// What one transformer layer keeps of one micro-batch for its backward pass, tensor by tensor; `split` says over how
/// many ranks. A mask of a dropout takes one byte per element, the softmax statistics of flash attention four.
/// Selective recompute drops what attention keeps of its s x s scores; full recompute keeps the layer's input alone.
/// Needs: part (layers = 1, moe_layers = 0 or 1), model, training, parallel.
inline constexpr auto saved_tensor_terms = [] {
  using detail::saved::kept_if_full, detail::saved::kept_if_none, detail::saved::kept_unless_full;
  using detail::saved::inner, detail::saved::region, detail::saved::tensor;
  constexpr auto kept = kept_unless_full;
  constexpr auto scores = kept_if_none * (1 - flash);
  constexpr auto plain_attention = kept * (1 - latent);
  constexpr auto stream = c * (element * (s * b * h));
  constexpr std::string_view table = "arXiv:2205.05198 section 4.1", mla = "arXiv:2405.04434";
  return terms(
      tensor("layer input", stream, kept_if_full, region, table),
      tensor("attention norm, input", stream, kept, region, table),
      tensor("attention input", stream, kept, region, table),
      tensor("queries", c * (element * (s * b * a * d)), plain_attention, inner, table),
      tensor("keys and values", c * (element * (2 * s * b * g * d)), plain_attention, least(tp, g) * cp, table),
      tensor("softmax output", c * (element * (a * squared(s) * b)), scores, inner, table),
      tensor("softmax dropout mask", byte * (a * squared(s) * b), scores * dropout, inner, table),
      tensor("softmax dropout output", c * (element * (a * squared(s) * b)), scores * dropout, inner, table),
      tensor("softmax statistics", 4 * byte * (a * s * b), kept * flash, inner, "arXiv:2205.14135"),
      tensor("attention output", c * (element * (s * b * a * d)), plain_attention, inner, table),
      // Latent attention keeps the compressed vectors and the expanded heads.
      tensor("compressed query, key and value", c * (element * (2 * s * b * (r_q + r_k))), kept * latent, region, mla,
             origin::estimated),
      tensor("expanded query, key and value", c * (element * (s * b * a * (2 * (d_n + d_r) + d_v))), kept * latent,
             inner, mla, origin::estimated),
      tensor("latent attention output", c * (element * (s * b * a * d_v)), kept * latent, inner, mla,
             origin::estimated),
      tensor("attention dropout mask", byte * (s * b * h), kept * dropout, region, table),
      tensor("FFN norm, input", stream, kept, region, table), tensor("FFN input", stream, kept, region, table),
      tensor("FFN activation, inputs", c * (element * ((n_f - 1) * s * b * f)), kept * (L - L_m), inner, table),
      tensor("FFN activation, output", c * (element * (s * b * f)), kept * (L - L_m), inner, table),
      // Tokens are assumed to be spread evenly over experts and ranks; the router keeps its probabilities in 32 bits.
      tensor("router probabilities", 4 * byte * (s * b * E), kept * L_m, region, "arXiv:2101.03961", origin::estimated),
      tensor("expert inputs", c * (element * (k * s * b * h)), kept * L_m, inner, "arXiv:2101.03961",
             origin::estimated),
      tensor("expert activations", c * (element * (n_f * k * s * b * f_e)), kept * L_m, inner, "arXiv:2101.03961",
             origin::estimated),
      tensor("shared expert activations", c * (element * (n_f * s * b * f_s)), kept * L_m * f_s, inner, mla,
             origin::estimated),
      tensor("FFN dropout mask", byte * (s * b * h), kept * dropout, region, table));
}();

/// What a rank keeps outside of its layers: the embedding's dropout mask on the first rank; final norm, head and the
/// logits (once in the activation type, once in 32 bits for the loss) of the one micro-batch that the last rank works
/// on. Needs: part, held, model, training, parallel.
inline constexpr auto end_tensor_terms = [] {
  using detail::saved::inner, detail::saved::region, detail::saved::tensor;
  constexpr std::string_view ends = "arXiv:2205.05198 section 4.3";
  return terms(tensor("embedding dropout mask", byte * (s * b * h * n_held_embedding), first * dropout, region, ends),
               tensor("final norm, input", c * (element * (s * b * h)), last * final_norm, region, ends),
               tensor("head input", c * (element * (s * b * h)), last, region, ends),
               tensor("logits", c * (element * (s * b * V)), last, inner, ends, origin::derived),
               tensor("logits in 32 bits", 4 * byte * (s * b * V), last, inner, ends));
}();

}  // namespace hocket::inline HOCKET_ABI::cost::letters

namespace hocket::inline HOCKET_ABI::cost {

using letters::end_tensor_terms, letters::saved_tensor_terms;

/// Bytes that one layer keeps of one micro-batch on one rank, under the recompute of `p`.
///
///     layer_activation_bytes(m, {.sequence = 2048, .micro_batch = 4}, {.tp = 8})
template <class Numbers = numbers_of_setting>
[[nodiscard]] constexpr result<rational> layer_activation_bytes(const model& m, const training& t, const parallel& p,
                                                                bool with_experts = false) noexcept {
  const setting one{.on_rank = {.layers = 1, .moe_layers = with_experts ? 1 : 0},
                    .in_flight = {},
                    .parameters = {},
                    .model = m,
                    .training = t,
                    .parallel = p,
                    .counted = {}};
  return rank_total(saved_tensor_terms, Numbers(numbers_of(one)));
}

/// Peak bytes of activations on one rank: per layer, times the layers passed by micro-batches in flight, plus the ends,
/// plus, under full recompute, the tensors of the one layer that is being recomputed.
/// `in_flight` comes from a pipeline schedule, or from in_flight.hpp.
template <class Numbers = numbers_of_setting>
[[nodiscard]] constexpr result<rational> activation_bytes(const model& m, const training& t, const parallel& p,
                                                          const part& on_rank, const held& in_flight) noexcept {
  const auto dense = layer_activation_bytes<Numbers>(m, t, p, false),
             moe = layer_activation_bytes<Numbers>(m, t, p, true);
  if (!dense) return dense.error();
  if (!moe) return moe.error();
  const setting all{.on_rank = on_rank,
                    .in_flight = in_flight,
                    .parameters = {},
                    .model = m,
                    .training = t,
                    .parallel = p,
                    .counted = {}};
  const auto ends = rank_total(end_tensor_terms, Numbers(numbers_of(all)));
  if (!ends) return ends.error();
  rational transient = 0;
  if (p.recompute == recompute::full) {
    parallel all_kept = p;
    all_kept.recompute = recompute::none;
    const auto one = layer_activation_bytes<Numbers>(m, t, all_kept, on_rank.moe_layers > 0);
    if (!one) return one.error();
    transient = *one;
  }
  const rational sum = *dense * rational(in_flight.layer_passes - in_flight.moe_layer_passes) +
                     *moe * rational(in_flight.moe_layer_passes) + *ends + transient;
  if (!sum.ok()) return error{errc::undefined_value}.with("activations");
  return sum;
}

}  // namespace hocket::inline HOCKET_ABI::cost
