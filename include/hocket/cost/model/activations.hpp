// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/cost/formula/term.hpp>
#include <hocket/cost/model/setting.hpp>
#include <hocket/cost/model/symbols.hpp>

namespace hocket::inline HOCKET_ABI::cost::detail::saved {

using letters::cp, letters::dropout, letters::flash, letters::recomputed, letters::sp, letters::tp;
// Norms, residuals and dropouts are split over tp only under sequence parallelism.
// Context parallelism splits the sequence, and so every tensor that has one.
inline constexpr auto region = choose(sp, 1, tp) * cp;
inline constexpr auto inner = tp * cp;
inline constexpr auto kept_unless_full = choose(recomputed, 1, 1, 0);
inline constexpr auto kept_if_none = choose(recomputed, 1, 0, 0);
inline constexpr auto kept_if_full = choose(recomputed, 0, 0, 1);

// An operation that is computed again does not keep what it makes.
template <class Flag>
consteval auto unless(const Flag& again) noexcept {
  return kept_unless_full * (1 - again);
}
template <formula F, formula When, formula Split>
consteval auto tensor(std::string_view name, const F& bytes, const When& when, const Split& split,
                      std::string_view source, layer_operation by = layer_operation::none,
                      origin how = origin::published) noexcept {
  return make_term({.name = name, .source = source, .how = how, .by = by}, bytes, when, split);
}

/// Bytes an element of an input of a matrix product that is kept: Transformer Engine keeps it as the product got it.
inline constexpr auto c_kept = choose(letters::narrow_inputs, letters::c, letters::c_i);

}  // namespace hocket::inline HOCKET_ABI::cost::detail::saved

namespace hocket::inline HOCKET_ABI::cost::letters {

/// What one transformer layer keeps of one micro-batch for its backward pass, tensor by tensor: the one table that
/// memory, recompute and its rules are read from. `by` is the operation that makes the tensor: it is dropped when the
/// operation is computed again. `split` says over how many ranks it is divided. A mask of a dropout takes one byte per
/// element, the statistics of flash attention four. Selective recompute drops the s x s scores; full recompute keeps
/// the layer's input alone. A cast that is computed again keeps its input in place of its output: fewer bytes for one
/// that widens, more for one that narrows. A gather that is not computed again keeps the whole sequence on each rank.
/// Needs: part (layers = 1, moe_layers = 0 or 1), model, training, parallel, replay_set.
inline constexpr auto saved_tensor_terms = [] {
  using detail::saved::c_kept, detail::saved::inner, detail::saved::region, detail::saved::tensor,
      detail::saved::unless;
  using detail::saved::kept_if_full, detail::saved::kept_if_none, detail::saved::kept_unless_full;
  constexpr auto kept = kept_unless_full;
  constexpr auto attention_kept = unless(r_attention);
  constexpr auto scores = kept_if_none * (1 - flash) * (1 - r_core) * (1 - r_attention);
  constexpr auto tokens = element * (s * b * h);
  constexpr auto stream = c * tokens;
  constexpr auto wide = 4 * byte * (s * b * h);
  constexpr auto norm_input = choose(wide_norm * (1 - r_cast), stream, wide);
  constexpr auto norm_output = choose(wide_norm * r_cast_back, c_kept * tokens, wide);
  constexpr auto gathered = choose(r_gather, cp, region);
  // One norm feeds attention and FFN in parallel, or each has its own, or each has another behind it.
  constexpr auto own_norm = greatest(n_n, 1) - 1, norms_behind = greatest(n_n, 2) - 2;
  constexpr auto head_norms = unless(r_qkv) * greatest(qk_norm, qk_norm_all) * (1 - latent);
  constexpr std::string_view table = "arXiv:2205.05198 section 4.1",
                             moe = "arXiv:2101.03961; assumes tokens spread evenly over experts and ranks",
                             mla_shared = "arXiv:2405.04434; assumes one dense FFN of all shared experts",
                             mla_assumed = "arXiv:2405.04434; assumes that compressed and expanded vectors are kept";
  return terms(
      tensor("layer input", stream, kept_if_full, region, table),
      tensor("attention norm, input", norm_input, kept, region, table, layer_operation::cast),
      tensor("attention input", norm_output, unless(r_norm), gathered, table, layer_operation::norm),
      tensor("queries", c * (element * (s * b * a * d)), unless(r_qkv) * (1 - latent), inner, table,
             layer_operation::qkv),
      tensor("keys and values", c * (element * (2 * s * b * g * d)), unless(r_qkv) * (1 - latent), least(tp, g) * cp,
             table, layer_operation::qkv),
      tensor("query norm, input", c * (element * (s * b * a * d)), head_norms, inner, "arXiv:2505.09388",
             layer_operation::qkv, origin::derived),
      tensor("key norm, input", c * (element * (s * b * g * d)), head_norms, least(tp, g) * cp, "arXiv:2505.09388",
             layer_operation::qkv, origin::derived),
      tensor("softmax output", c * (element * (a * squared(s) * b)), scores, inner, table, layer_operation::core),
      tensor("softmax dropout mask", byte * (a * squared(s) * b), scores * dropout, inner, table,
             layer_operation::core),
      tensor("softmax dropout output", c * (element * (a * squared(s) * b)), scores * dropout, inner, table,
             layer_operation::core),
      tensor("softmax statistics", 4 * byte * (a * s * b), attention_kept * flash, inner, "arXiv:2205.14135",
             layer_operation::attention),
      tensor("attention output", c * (element * (s * b * a * d)), attention_kept * (1 - latent), inner, table,
             layer_operation::attention),
      // Latent attention keeps the compressed vectors and their norms, and the expanded heads.
      tensor("compressed query, key and value", c * (element * (2 * s * b * (r_q + r_k))), unless(r_qkv) * latent,
             region, mla_assumed, layer_operation::qkv, origin::estimated),
      tensor("expanded query, key and value", c * (element * (s * b * a * (2 * (d_n + d_r) + d_v))),
             unless(r_qkv) * latent, inner, mla_assumed, layer_operation::qkv, origin::estimated),
      tensor("latent attention output", c * (element * (s * b * a * d_v)), attention_kept * latent, inner, mla_assumed,
             layer_operation::attention, origin::estimated),
      tensor("attention dropout mask", byte * (s * b * h), unless(r_output) * dropout, region, table,
             layer_operation::output),
      tensor("FFN norm, input", norm_input, unless(r_output) * own_norm, region, table, layer_operation::output),
      tensor("FFN input", norm_output, unless(r_norm) * own_norm, gathered, table, layer_operation::norm),
      tensor("norms behind attention and FFN, inputs", (n_n - 2) * norm_input, kept * norms_behind, region,
             "arXiv:2408.00118", layer_operation::none, origin::derived),
      tensor("FFN activation, inputs", c * (element * ((n_f - 1) * s * b * f)), unless(r_ffn_in) * (L - L_m), inner,
             table, layer_operation::ffn_in),
      tensor("FFN activation, first factor", c * (element * ((n_f - 2) * s * b * f)),
             unless(r_activation) * (1 - fused) * (L - L_m), inner, "arXiv:2002.05202", layer_operation::activation,
             origin::derived),
      tensor("FFN activation, output", c_kept * (element * (s * b * f)), unless(r_activation) * (L - L_m), inner, table,
             layer_operation::activation),
      // Tokens are assumed to be spread evenly over experts and ranks; the router keeps its probabilities in 32 bits.
      tensor("router probabilities", 4 * byte * (s * b * E), kept * L_m, region, moe, layer_operation::router,
             origin::estimated),
      tensor("expert inputs", c_kept * (element * (k * s * b * h)), kept * L_m, inner, moe, layer_operation::dispatch,
             origin::estimated),
      tensor("expert activations, inputs", c * (element * ((n_f - 1) * k * s * b * f_e)), unless(r_ffn_in) * L_m, inner,
             moe, layer_operation::ffn_in, origin::estimated),
      tensor("expert activations, outputs", c_kept * (element * (k * s * b * f_e)), unless(r_activation) * L_m, inner,
             moe, layer_operation::activation, origin::estimated),
      tensor("shared expert activations, inputs", c * (element * ((n_f - 1) * s * b * f_s)),
             unless(r_ffn_in) * L_m * f_s, inner, mla_shared, layer_operation::ffn_in, origin::estimated),
      tensor("shared expert activations, outputs", c_kept * (element * (s * b * f_s)), unless(r_activation) * L_m * f_s,
             inner, mla_shared, layer_operation::activation, origin::estimated),
      tensor("FFN dropout mask", byte * (s * b * h), kept * dropout, region, table));
}();

/// What a layer that is recomputed whole keeps: its input. Needs: list_sizes or model, training, parallel.
inline constexpr auto layer_input_terms = [] {
  using detail::saved::kept_if_full, detail::saved::region, detail::saved::tensor;
  return terms(
      tensor("layer input", c * (element * (s * b * h)), kept_if_full, region, "arXiv:2205.05198 section 4.1"));
}();

/// What a rank keeps outside of its layers: the embedding's dropout mask on the first rank. The last rank keeps final
/// norm, head and logits of the one micro-batch that it works on, the logits once in the activation type and once in 32
/// bits for the loss. Needs: part, held, model, training, parallel.
inline constexpr auto end_tensor_terms = [] {
  using detail::saved::inner, detail::saved::region, detail::saved::tensor;
  constexpr std::string_view ends = "arXiv:2205.05198 section 4.3";
  return terms(
      tensor("embedding dropout mask", byte * (s * b * h * n_held_embedding), first * dropout, region, ends),
      tensor("final norm, input", c * (element * (s * b * h)), last * final_norm, region, ends),
      tensor("head input", c * (element * (s * b * h)), last, region, ends),
      tensor("logits", c * (element * (s * b * V)), last, inner, ends, layer_operation::head, origin::derived),
      tensor("logits in 32 bits", 4 * byte * (s * b * V), last * (1 - fused_loss), inner, ends, layer_operation::head),
      tensor("gradient of the logits", c * (element * (s * b * V)), last * fused_loss, inner,
             "Megatron-LM --cross-entropy-loss-fusion", layer_operation::head, origin::derived));
}();

}  // namespace hocket::inline HOCKET_ABI::cost::letters

namespace hocket::inline HOCKET_ABI::cost {

using letters::end_tensor_terms, letters::layer_input_terms, letters::saved_tensor_terms;

/// Bytes that one layer keeps of one micro-batch on one rank, under the recompute of `p`.
///
///     layer_activation_bytes(m, {.sequence = 2048, .micro_batch = 4}, {.tp = 8})
[[nodiscard]] constexpr result<rational> layer_activation_bytes(const model& m, const training& t, const parallel& p,
                                                                bool with_experts = false,
                                                                const replay_set& replayed = {}) noexcept {
  const setting one{.on_rank = {.layers = 1, .moe_layers = with_experts ? 1 : 0},
                    .model = m,
                    .training = t,
                    .parallel = p,
                    .replayed = replayed};
  return rank_total(saved_tensor_terms, numbers_of(one));
}

namespace detail {

/// What the layers of a rank keep of all passes in flight, and what the one that is being recomputed makes again.
struct layer_bytes {
  rational kept, again;
};

/// What is on the device of all that layers keep. What is offloaded is there of two layers: while one works, the next
/// one's tensors arrive.
/// @param largest  bytes of one pass of the layer that keeps most
[[nodiscard]] constexpr rational kept_on_device(const parallel& p, const rational& all,
                                                const rational& largest) noexcept {
  const rational two = rational(2) * largest;
  return p.offload_activations && two < all ? two : all;
}

[[nodiscard]] constexpr result<layer_bytes> bytes_of_layers(const model& m, const training& t, const parallel& p,
                                                            const part& on_rank, const held& in_flight,
                                                            const replay_set& replayed) noexcept {
  const std::int64_t passes[2] = {in_flight.layer_passes - in_flight.moe_layer_passes, in_flight.moe_layer_passes},
                     layers[2] = {on_rank.layers - on_rank.moe_layers, on_rank.moe_layers};
  parallel all_kept = p;
  all_kept.recompute = recompute::none;
  layer_bytes out;
  rational largest = 0;
  for (const bool experts : {false, true}) {
    if (passes[experts] != 0) {
      const auto one = layer_activation_bytes(m, t, p, experts, replayed);
      if (!one) return one.error();
      out.kept = out.kept + *one * rational(passes[experts]);
      if (largest < *one) largest = *one;
    }
    if (p.recompute != recompute::full || layers[experts] == 0) continue;
    const auto whole = layer_activation_bytes(m, t, all_kept, experts, replayed);
    if (!whole) return whole.error();
    if (out.again < *whole) out.again = *whole;
  }
  out.kept = kept_on_device(p, out.kept, largest);
  return out;
}

/// Those and what the ends of the model keep.
[[nodiscard]] constexpr result<rational> with_ends(const layer_bytes& layers, const model& m, const training& t,
                                                   const parallel& p, const part& on_rank,
                                                   const held& in_flight) noexcept {
  const setting all{.on_rank = on_rank, .in_flight = in_flight, .model = m, .training = t, .parallel = p};
  const auto ends = rank_total(end_tensor_terms, numbers_of(all));
  if (!ends) return ends.error();
  const rational sum = layers.kept + *ends + layers.again;
  if (!sum.ok()) return error{errc::undefined_value}.with("activations");
  return sum;
}

}  // namespace detail

/// Peak bytes of activations on one rank: per layer, times the layers passed by micro-batches in flight, plus the ends,
/// plus, under full recompute, the tensors of the one layer that is being recomputed.
/// `in_flight` comes from a pipeline schedule, or from in_flight.hpp.
[[nodiscard]] constexpr result<rational> activation_bytes(const model& m, const training& t, const parallel& p,
                                                          const part& on_rank, const held& in_flight,
                                                          const replay_set& replayed = {}) noexcept {
  const auto layers = detail::bytes_of_layers(m, t, p, on_rank, in_flight, replayed);
  if (!layers) return layers.error();
  return detail::with_ends(*layers, m, t, p, on_rank, in_flight);
}

}  // namespace hocket::inline HOCKET_ABI::cost
