// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/cost/check_sizes.hpp>
#include <hocket/cost/setting.hpp>
#include <hocket/cost/symbols.hpp>
#include <hocket/cost/term.hpp>

namespace hocket::inline HOCKET_ABI::cost {

namespace detail::flop {
using letters::attention_counted, letters::recomputed, letters::replay_counted;
// Pairs of positions that attend to each other in one sequence, by the convention chosen.
inline constexpr auto causal_pairs = letters::s * (letters::s + 1) / 2;
inline constexpr auto attended =
    define(BOOST_HANA_STRING("kappa"),
           choose(attention_counted, squared(letters::s), squared(letters::s) / 2, causal_pairs, causal_pairs));
inline constexpr auto seen = define(BOOST_HANA_STRING("u"), least(letters::w, letters::s));
inline constexpr auto attended_in_window =
    define(BOOST_HANA_STRING("kappa_w"), choose(attention_counted, squared(letters::s), squared(letters::s) / 2,
                                                causal_pairs, seen* letters::s - seen * (seen - 1) / 2));
// How often a term is computed once more in the backward pass: what selective recompute covers, what full covers.
inline constexpr auto once_more = choose(recomputed, 0, 0, 1);
inline constexpr auto core_once_more = choose(recomputed, 0, choose(replay_counted, 1, 3), 1);
inline constexpr literal<pure> never{0};

template <class F, class When, class Split, class Again>
constexpr term<F, When, Split, Again> work(std::string_view name, const F& formula, const When& when,
                                           const Split& split, const Again& again, std::string_view source,
                                           origin how = origin::definition) noexcept {
  return {name, formula, when, split, source, how, again};
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
  using detail::flop::core_once_more, detail::flop::never;
  constexpr auto plain_attention = 1 - latent;
  constexpr auto rows = B * s;
  constexpr std::string_view megatron = "arXiv:2104.04473 appendix", mla = "arXiv:2405.04434";
  return terms(work("attention projections", 2 * FLOP * rows * h * d * (2 * a + 2 * g) * L, plain_attention * L, tp,
                    once_more, megatron),
               work("attention core", 2 * FLOP * B * (2 * a * d) * attended * (L - L_w), plain_attention * (L - L_w),
                    tp, core_once_more, megatron),
               work("attention core, windowed", 2 * FLOP * B * (2 * a * d) * attended_in_window * L_w,
                    plain_attention * L_w, tp, core_once_more, "arXiv:2310.06825"),
               work("latent query, compressed", 2 * FLOP * rows * (h * r_q + r_q * a * (d_n + d_r)) * L,
                    latent * r_q * L, tp, once_more, mla),
               work("latent query", 2 * FLOP * rows * (h * a * (d_n + d_r)) * L, latent * (1 - least(r_q, 1)) * L, tp,
                    once_more, mla),
               work("latent key, value and output",
                    2 * FLOP * rows * (h * (r_k + d_r) + r_k * a * (d_n + d_v) + a * d_v * h) * L, latent * L, tp,
                    once_more, mla),
               work("latent attention core", 2 * FLOP * B * (a * (d_n + d_r + d_v)) * attended * L, latent * L, tp,
                    core_once_more, mla),
               work("latent norms", 2 * FLOP * rows * (r_q + r_k) * L, latent * latent_norms_counted * L, tp, once_more,
                    "Megatron-LM num_floating_point_operations"),
               work("FFN", 2 * FLOP * rows * n_f * h * f * (L - L_m), L - L_m, tp, once_more, megatron),
               work("router", 2 * FLOP * rows * h * E * L_m, L_m * router_counted, tp, once_more, "arXiv:2101.03961"),
               work("experts", 2 * FLOP * rows * k * n_f * h * f_e * L_m, L_m, tp, once_more, "arXiv:2101.03961"),
               work("shared experts", 2 * FLOP * rows * n_f * h * f_s * L_m, L_m * f_s, tp, once_more, mla),
               work("output head", 2 * FLOP * rows * h * V, last, tp, never, megatron));
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

/// Counts a step of `m` under a convention. Errors: errc::undefined_value.
/// Padding of the vocabulary is the caller's: set m.vocabulary to the padded size first.
template <class Numbers = numbers_of_setting>
[[nodiscard]] constexpr result<flop_count> count_flops(const model& m, const training& t, const parallel& p,
                                                       const convention& c) noexcept {
  if (const auto sound = check(m); !sound) return sound.error();
  if (const auto sound = check_sizes(t); !sound) return sound.error();
  if (const auto sound = check_sizes(p); !sound) return sound.error();
  const setting all{.on_rank = part::whole(m),
                    .in_flight = {},
                    .parameters = {},
                    .model = m,
                    .training = t,
                    .parallel = p,
                    .counted = c};
  const Numbers numbers = numbers_of(all);
  rational again = 0;
  const auto forward = sum(forward_flop_terms, numbers, [&](const auto& x) {
    const rational once = detail::eval<rational>(x.formula, numbers);
    again = again + once * detail::eval<rational>(x.also, numbers);
    return once;
  });
  if (!forward) return forward.error();
  const rational model_step = *forward * rational(3), hardware_step = model_step + again;
  if (!hardware_step.ok()) return error{errc::undefined_value}.with("FLOPs of a step");
  return flop_count{model_step, hardware_step, c};
}

}  // namespace hocket::inline HOCKET_ABI::cost
