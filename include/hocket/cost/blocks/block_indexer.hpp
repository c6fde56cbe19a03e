// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/cost/blocks/block_terms.hpp>
#include <hocket/cost/formula/reflect.hpp>

#include <cstdint>

namespace hocket::inline HOCKET_ABI::cost {

/// The indexer of a sparse attention that chooses whole blocks of positions: each `ratio` keys of one narrow head are
/// averaged, and a query scores the averages with `index_heads` heads. The attention that sees the choice is a block of
/// its own, with as many positions `selected`.
/// Source: transformers 5.24, qwen4_exp.
///
///     cost::block_indexer{.index_heads = 16, .index_dim = 128, .ratio = 64}
struct block_indexer {
  std::int64_t index_heads = 0, index_dim = 0;
  std::int64_t ratio = 1;  ///< positions of a block
  friend constexpr bool operator==(const block_indexer&, const block_indexer&) = default;
};

}  // namespace hocket::inline HOCKET_ABI::cost
HOCKET_DETAIL_STRUCT(hocket::cost::block_indexer, index_heads, index_dim, ratio);

namespace hocket::inline HOCKET_ABI::cost::letters::blocks::block_indexer_terms {

inline constexpr std::string_view source = "transformers qwen4_exp";
inline constexpr auto blocks = letters::s / greatest(letters::q_c, 1);
/// Pairs of a position with a whole block before it, by the convention of the attention.
inline constexpr auto scored_pairs = choose(letters::attention_counted, letters::s* blocks, letters::s* blocks / 2,
                                            letters::s* blocks / 2, letters::s* blocks / 2);
inline constexpr auto parameters = [] {
  return terms(weights("indexer, queries and keys", L * (h * (a_x + 1) * d_x), L, one_rank, source),
               weights("indexer, norms", L * (2 * d_x), L, one_rank, source));
}();
inline constexpr auto forward = [] {
  using detail::flop::once_more;
  return terms(flops("indexer, projections", product(h * (a_x + 1) * d_x), L, one_rank, once_more, source,
                     layer_operation::router, (a_x + 1) * d_x),
               flops("indexer, scores", 2 * FLOP * B * (a_x * d_x) * scored_pairs * L, L, one_rank, once_more, source,
                     layer_operation::router));
}();
inline constexpr auto saved = [] {
  return terms(tensor("indexer, queries and keys", stream_of((a_x + 1) * d_x), detail::saved::kept_unless_full,
                      detail::saved::region, "transformers qwen4_exp; assumes that both are kept",
                      layer_operation::router, origin::estimated));
}();
inline constexpr auto state = [] {
  return terms(tensor("keys of the indexer", c * (element * (s * d_x)), L, one_rank, source, layer_operation::router,
                      origin::definition));
}();

}  // namespace hocket::inline HOCKET_ABI::cost::letters::blocks::block_indexer_terms

namespace hocket::inline HOCKET_ABI::cost {

template <>
struct formulas_of<block_indexer> {
  static constexpr block_terms lists() noexcept {
    return {.parameters = letters::blocks::block_indexer_terms::parameters,
            .forward = letters::blocks::block_indexer_terms::forward,
            .saved = letters::blocks::block_indexer_terms::saved,
            .state = letters::blocks::block_indexer_terms::state};
  }
};

}  // namespace hocket::inline HOCKET_ABI::cost
