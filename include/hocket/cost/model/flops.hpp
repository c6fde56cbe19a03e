// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/cost/formula/term.hpp>
#include <hocket/cost/model/check.hpp>
#include <hocket/cost/model/setting.hpp>
#include <hocket/cost/model/symbols.hpp>

namespace hocket::inline HOCKET_ABI::cost {

namespace detail::flop {
using letters::attention_counted, letters::recomputed, letters::replay_counted;
// Pairs of positions that attend to each other in one sequence, by the convention chosen; of packed documents, the
// sum over them.
inline constexpr auto squares = choose(least(letters::s_2, 1), squared(letters::s), 1 * letters::s_2);
inline constexpr auto causal_pairs = (squares + letters::s) / 2;
inline constexpr auto attended =
    define("kappa", choose(attention_counted, squares, squares / 2, causal_pairs, causal_pairs));
inline constexpr auto seen = define("u", least(letters::w, letters::s));
inline constexpr auto windowed_pairs =
    choose(least(letters::s_w, 1), seen* letters::s - seen * (seen - 1) / 2, 1 * letters::s_w);
inline constexpr auto attended_in_window =
    define("kappa_w", choose(attention_counted, squares, squares / 2, causal_pairs, windowed_pairs));
// How often a term is computed once more in the backward pass: if its operation is on the list, or full recompute is.
template <class Flag>
consteval auto replays(const Flag& flag) noexcept {
  return choose(recomputed, flag, flag, 1);
}
inline constexpr auto once_more = choose(recomputed, 0, 0, 1);
inline constexpr auto core_by_name = greatest(letters::r_core, letters::r_attention);
inline constexpr auto core_once_more = choose(recomputed, core_by_name, choose(replay_counted, 1, 3), 1);
inline constexpr auto never = literal(0);

template <formula F, formula When, formula Split, formula Again>
consteval auto work(std::string_view name, const F& amount, const When& when, const Split& split, const Again& again,
                    std::string_view source, layer_operation by, origin how = origin::definition) noexcept {
  return make_term({.name = name, .source = source, .how = how, .by = by}, amount, when, split, again);
}
}  // namespace detail::flop

}  // namespace hocket::inline HOCKET_ABI::cost

namespace hocket::inline HOCKET_ABI::cost::letters {

/// FLOPs of the matrix products of one forward pass over B sequences; a multiply-add counts as two. For one
/// micro-batch, put a `training` with global_batch = b first in the environment. `also` says how often a term is
/// computed again in the backward pass under the chosen recompute. Element-wise work (norms, activations, softmax,
/// embedding look-up) is not counted, as everywhere. Needs: part, model, training, parallel, convention.
inline constexpr auto forward_flop_terms = [] {
  using detail::flop::attended, detail::flop::attended_in_window, detail::flop::work, detail::flop::once_more;
  using detail::flop::core_once_more, detail::flop::never, detail::flop::replays;
  constexpr auto plain_attention = 1 - latent;
  constexpr auto rows = B * s;
  constexpr std::string_view megatron = "arXiv:2104.04473 appendix", mla = "arXiv:2405.04434",
                             mtp = "arXiv:2412.19437 section 2.2", moe = "arXiv:2101.03961";
  return terms(
      work("queries, keys and values", 2 * FLOP * rows * h * d * (a + 2 * g) * L, plain_attention * L, tp,
           replays(r_qkv), megatron, layer_operation::qkv),
      work("attention core", 2 * FLOP * B * (2 * a * d) * attended * (L - L_w), plain_attention * (L - L_w), tp,
           core_once_more, megatron, layer_operation::attention),
      work("attention core, windowed", 2 * FLOP * B * (2 * a * d) * attended_in_window * L_w, plain_attention * L_w, tp,
           core_once_more, "arXiv:2310.06825", layer_operation::attention),
      work("attention output", 2 * FLOP * rows * h * d * a * L, plain_attention * L, tp, replays(r_output), megatron,
           layer_operation::output),
      work("latent query, compressed", 2 * FLOP * rows * (h * r_q + r_q * a * (d_n + d_r)) * L, latent * r_q * L, tp,
           replays(r_qkv), mla, layer_operation::qkv),
      work("latent query", 2 * FLOP * rows * (h * a * (d_n + d_r)) * L, latent * (1 - least(r_q, 1)) * L, tp,
           replays(r_qkv), mla, layer_operation::qkv),
      work("latent key and value", 2 * FLOP * rows * (h * (r_k + d_r) + r_k * a * (d_n + d_v)) * L, latent * L, tp,
           replays(r_qkv), mla, layer_operation::qkv),
      work("latent attention core", 2 * FLOP * B * (a * (d_n + d_r + d_v)) * attended * L, latent * L, tp,
           core_once_more, mla, layer_operation::attention),
      work("latent output", 2 * FLOP * rows * (a * d_v * h) * L, latent * L, tp, replays(r_output), mla,
           layer_operation::output),
      work("latent norms", 2 * FLOP * rows * (r_q + r_k) * L, latent * latent_norms_counted * L, tp, replays(r_qkv),
           "Megatron-LM num_floating_point_operations", layer_operation::qkv),
      work("FFN, before the activation", 2 * FLOP * rows * (n_f - 1) * h * f * (L - L_m), (L - L_m), tp,
           replays(r_ffn_in), megatron, layer_operation::ffn_in),
      work("FFN, after the activation", 2 * FLOP * rows * h * f * (L - L_m), (L - L_m), tp, replays(r_ffn_out),
           megatron, layer_operation::ffn_out),
      work("router", 2 * FLOP * rows * h * E * L_m, L_m * router_counted, choose(sp, 1, tp), once_more, moe,
           layer_operation::router),
      work("experts, before the activation", 2 * FLOP * rows * k * (n_f - 1) * h * f_e * L_m, L_m, tp,
           replays(r_ffn_in), moe, layer_operation::ffn_in),
      work("experts, after the activation", 2 * FLOP * rows * k * h * f_e * L_m, L_m, tp, replays(r_ffn_out), moe,
           layer_operation::ffn_out),
      work("shared experts, before the activation", 2 * FLOP * rows * (n_f - 1) * h * f_s * L_m, L_m * f_s, tp,
           replays(r_ffn_in), mla, layer_operation::ffn_in),
      work("shared experts, after the activation", 2 * FLOP * rows * h * f_s * L_m, L_m * f_s, tp, replays(r_ffn_out),
           mla, layer_operation::ffn_out),
      work("multi-token prediction, joint input", 2 * FLOP * rows * (2 * squared(h)) * n_mtp, last * n_mtp, tp,
           once_more, mtp, layer_operation::embedding),
      work("multi-token prediction, norms", 2 * FLOP * rows * (3 * h) * n_mtp, last * n_mtp * latent_norms_counted, tp,
           once_more, "Megatron-LM num_floating_point_operations", layer_operation::embedding),
      work("output head", 2 * FLOP * rows * h * V * (1 + n_mtp), last, tp, never, megatron, layer_operation::head));
}();

}  // namespace hocket::inline HOCKET_ABI::cost::letters

namespace hocket::inline HOCKET_ABI::cost {

using letters::forward_flop_terms;

/// Forward and backward: the backward pass multiplies each product's gradient with both of its factors, so it does the
/// work of two forward passes; what is recomputed is done once or more again (`also` of the term).
/// Counted over the global batch. 128 bits: large models pass 2^63.
struct flop_count {
  rational model_step, hardware_step;  ///< a fraction only for odd s under causal_half
  convention counted;
};

/// Counts a step of `m` under a convention. Errors: those of check; errc::undefined_value.
/// Padding of the vocabulary is the caller's: set m.vocabulary to the padded size first.
[[nodiscard]] constexpr result<flop_count> count_flops(const model& m, const training& t, const parallel& p,
                                                       const convention& c, const replay_set& replayed = {}) noexcept {
  if (const auto sound = check(m); !sound) return sound.error();
  if (const auto sound = check(t); !sound) return sound.error();
  if (const auto sound = check(p); !sound) return sound.error();
  if (c.attention == attention_count::window)
    if (const auto sound = check(m, t); !sound) return sound.error();
  const setting all{
      .on_rank = part::whole(m), .model = m, .training = t, .parallel = p, .counted = c, .replayed = replayed};
  const auto numbers = numbers_of(all);
  const auto forward = total(forward_flop_terms, numbers);
  if (!forward) return forward.error();
  rational again = 0;
  for_each_term(forward_flop_terms, numbers, [&](const auto& x) {
    if (const rational times = x.again(); !(times == rational(0))) again = again + times * x.amount();
  });
  const rational model_step = *forward * rational(3), hardware_step = model_step + again;
  if (!hardware_step.ok()) return error{errc::undefined_value}.with("FLOPs of a step");
  return flop_count{model_step, hardware_step, c};
}

}  // namespace hocket::inline HOCKET_ABI::cost
