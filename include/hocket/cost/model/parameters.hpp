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
inline constexpr auto kv_split = least(letters::tp, letters::g);
}  // namespace detail

}  // namespace hocket::inline HOCKET_ABI::cost

namespace hocket::inline HOCKET_ABI::cost::letters {

/// The weights of what stands before and after the layers: embeddings, the joint inputs of multi-token prediction,
/// final norm, heads. `split` says over how many tensor-parallel ranks each is divided (1: every rank has a copy). In a
/// pipeline the last rank holds its own copy of a tied embedding, and of one that multi-token prediction reads.
/// Needs: part, list_sizes; for the split also parallel.
/// Source: the module definitions of the published models; checked against 39 published totals (docs/cost.md).
inline constexpr auto end_parameter_terms = [] {
  using detail::weights, detail::whole_rank;
  constexpr std::string_view transformer = "arXiv:1706.03762", mtp = "arXiv:2412.19437";
  return terms(weights("token embedding", V * h, first, tp, transformer),
               weights("position embedding", n_pos * h, first * n_pos, whole_rank, "GPT-2"),
               weights("embedding norm", n_w * h, first * embedding_norm, whole_rank, "BLOOM"),
               weights("multi-token prediction, joint input", n_mtp * (2 * squared(h)), last * n_mtp, tp, mtp),
               weights("multi-token prediction, norms", n_mtp * (3 * n_w * h), last * n_mtp, whole_rank, mtp),
               weights("token embedding, copied for multi-token prediction", V * h,
                       n_mtp * last * (1 - first) * (1 - tied), tp, "Megatron-LM multi_token_prediction"),
               weights("final norm", n_w * h, last * final_norm, whole_rank, "arXiv:1910.07467"),
               weights("output head", V * h, last * (1 - tied * first), tp, transformer),
               weights("output head bias", V * literal(1), last * head_bias, tp, "GPT-J"));
}();

}  // namespace hocket::inline HOCKET_ABI::cost::letters

namespace hocket::inline HOCKET_ABI::cost {

/// weights(name, formula, when, split, source): a term that counts parameters; for architectures of your own.
using detail::weights;

using letters::end_parameter_terms;

/// Parameters of the model: each weight once, whatever the parallelism; and those one token uses.
struct parameter_count {
  std::int64_t total = 0, active = 0;
  friend constexpr bool operator==(const parameter_count&, const parameter_count&) = default;
};

}  // namespace hocket::inline HOCKET_ABI::cost
