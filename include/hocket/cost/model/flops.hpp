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
/// FLOPs of a product of tokens with a matrix of so many columns.
template <formula F, formula When, formula Split, formula Again, formula Outputs>
consteval auto product(std::string_view name, const F& amount, const When& when, const Split& split, const Again& again,
                       std::string_view source, layer_operation by, const Outputs& outputs,
                       bool by_expert = false) noexcept {
  return make_term({.name = name, .source = source, .by = by, .by_expert = by_expert}, amount, when, split, again,
                   outputs);
}
}  // namespace detail::flop

}  // namespace hocket::inline HOCKET_ABI::cost

namespace hocket::inline HOCKET_ABI::cost::letters {

/// FLOPs of a forward pass over B sequences outside of the layers: heads, and the joint inputs of multi-token
/// prediction; a multiply-add counts as two. For one micro-batch, put a `training` with global_batch = b first in the
/// environment. `also` says how often a term is computed again in the backward pass under the chosen recompute.
/// Needs: part, list_sizes, training, parallel, convention.
inline constexpr auto end_flop_terms = [] {
  using detail::flop::never, detail::flop::once_more, detail::flop::product, detail::flop::work;
  constexpr auto rows = B * s;
  constexpr std::string_view mtp = "arXiv:2412.19437 section 2.2";
  return terms(
      product("multi-token prediction, joint input", 2 * FLOP * rows * (2 * squared(h)) * n_mtp, last * n_mtp, tp,
              once_more, mtp, layer_operation::embedding, h * n_mtp),
      work("multi-token prediction, norms", 2 * FLOP * rows * (3 * h) * n_mtp, last * n_mtp * latent_norms_counted, tp,
           once_more, "Megatron-LM num_floating_point_operations", layer_operation::embedding),
      product("output head", 2 * FLOP * rows * h * V * (1 + n_mtp), last, tp, never, "arXiv:2104.04473 appendix",
              layer_operation::head, V * (1 + n_mtp)));
}();

}  // namespace hocket::inline HOCKET_ABI::cost::letters

namespace hocket::inline HOCKET_ABI::cost {

using letters::end_flop_terms;

/// Forward and backward: the backward pass multiplies each product's gradient with both of its factors, so it does the
/// work of two forward passes; what is recomputed is done once or more again (`also` of the term).
/// Counted over the global batch. 128 bits: large models pass 2^63.
struct flop_count {
  rational model_step, hardware_step;  ///< a fraction only for odd s under causal_half
  convention counted;
};

}  // namespace hocket::inline HOCKET_ABI::cost
