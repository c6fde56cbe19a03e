// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/cost/blocks/block_terms.hpp>
#include <hocket/cost/formula/reflect.hpp>

#include <cstdint>

// What changes the residual stream, and blocks for all that has no block of its own.
namespace hocket::inline HOCKET_ABI::cost {

/// Hyper-connections: `streams` residual streams, mixed before and behind each of so many blocks by weights that are
/// computed from all of them. Stages of a pipeline pass all streams on.  Source: arXiv:2409.19606, arXiv:2512.24880.
struct hyper_connections {
  std::int64_t streams = 4;
  std::int64_t count = 2;  ///< mixed blocks of a layer: attention and FFN
  friend constexpr bool operator==(const hyper_connections&, const hyper_connections&) = default;
};
/// Attention residuals: in place of one running sum, each attention and each FFN reads a mix of sources: the embedding,
/// the sums of finished blocks of layers, and the running sum. A softmax over depth weighs them, with one learned query
/// and one norm's weights for each mix. Stages of a pipeline pass all sources on, so that what they send grows with
/// depth; nothing is taken to be cached between the chunks of a rank. A layer's input is its running sum; finished sums
/// are kept by the layer that closes the block.  Source: arXiv:2603.15031 (Kimi); with one block per layer, Full
/// AttnRes.
///
///     cost::attention_residuals{.sources = 3}   // embedding, one finished block, the running sum
struct attention_residuals {
  std::int64_t sources = 1;       ///< that this layer's mixes read
  std::int64_t count = 2;         ///< mixes of a layer: attention and FFN
  bool closes_block = false;      ///< the running sum is a source of its own from here on
  std::int64_t norm_weights = 1;  ///< vectors of each mix's norm; 0: none
  friend constexpr bool operator==(const attention_residuals&, const attention_residuals&) = default;
};
/// Alternating updates (AltUp): a layer works on one of `streams` residual streams. A token's weights predict all of
/// them before the layer and correct them behind it. Stages of a pipeline pass all streams on.
/// Source: arXiv:2301.13310, as Gemma 3n has it in transformers 5.24 (Gemma3nTextAltUp).
///
///     cost::alternating_updates{.streams = 4}
struct alternating_updates {
  std::int64_t streams = 4;
  friend constexpr bool operator==(const alternating_updates&, const alternating_updates&) = default;
};
/// What a layer adds of a vector that each token has for it: a gate to that width, a product back, a norm.
/// Source: Gemma 3n.
struct per_layer_input {
  std::int64_t inner = 0;  ///< width
  friend constexpr bool operator==(const per_layer_input&, const per_layer_input&) = default;
};
/// Products with matrices, for what has no block of its own.
struct projection {
  std::int64_t input = 0;  ///< width of what it reads, 0: the model's
  std::int64_t outputs = 0;
  std::int64_t count = 1;
  std::int64_t uses = 1;  ///< products of each of them with a token: one for each head, perhaps
  bool bias = false;
  friend constexpr bool operator==(const projection&, const projection&) = default;
};
/// Weights that no product reads: tables, vectors, scales.
struct table {
  std::int64_t elements = 0;
  std::int64_t count = 1;  ///< of them
  friend constexpr bool operator==(const table&, const table&) = default;
};

}  // namespace hocket::inline HOCKET_ABI::cost
HOCKET_DETAIL_STRUCT(hocket::cost::hyper_connections, streams, count);
HOCKET_DETAIL_STRUCT(hocket::cost::attention_residuals, sources, count, closes_block, norm_weights);
HOCKET_DETAIL_STRUCT(hocket::cost::alternating_updates, streams);
HOCKET_DETAIL_STRUCT(hocket::cost::per_layer_input, inner);
HOCKET_DETAIL_STRUCT(hocket::cost::projection, input, outputs, count, uses, bias);
HOCKET_DETAIL_STRUCT(hocket::cost::table, elements, count);

namespace hocket::inline HOCKET_ABI::cost::letters::blocks::hyper_connections_terms {

inline constexpr std::string_view source = "arXiv:2512.24880";
inline constexpr auto mixing = 2 * letters::n_s + squared(letters::n_s);
inline constexpr auto parameters = [] {
  return terms(weights("hyper-connections", L * n * (mixing * n_s * h + mixing + 3), L, literal(1), source));
}();
inline constexpr auto forward = [] {
  return terms(flops("hyper-connections", product(n * (mixing * n_s * h + mixing * h)), L, one_rank,
                     detail::flop::once_more, "arXiv:2512.24880; MaxText calculate_mhc_flops_per_layer",
                     layer_operation::none));
}();
inline constexpr auto saved = [] {
  using detail::saved::kept_if_full, detail::saved::kept_unless_full, detail::saved::region;
  constexpr std::string_view assumed = "arXiv:2512.24880; assumes that each mixing keeps all streams";
  return terms(tensor("streams before each mixing", n * stream_of(n_s * h), kept_unless_full, region, assumed,
                      layer_operation::none, origin::estimated),
               tensor("the other streams of the layer's input", stream_of((n_s - 1) * h), kept_if_full, region, assumed,
                      layer_operation::none, origin::estimated));
}();

inline constexpr auto moved = [] {
  return terms(detail::blocks::moves("streams mixed", 2 * n * stream_of(n_s * h), one_rank, detail::saved::region,
                                     detail::flop::once_more, layer_operation::none));
}();

}  // namespace hocket::inline HOCKET_ABI::cost::letters::blocks::hyper_connections_terms

namespace hocket::inline HOCKET_ABI::cost {

template <>
struct formulas_of<hyper_connections> {
  static constexpr block_terms lists() noexcept {
    return {.parameters = letters::blocks::hyper_connections_terms::parameters,
            .forward = letters::blocks::hyper_connections_terms::forward,
            .saved = letters::blocks::hyper_connections_terms::saved,
            .moved = letters::blocks::hyper_connections_terms::moved};
  }
};

}  // namespace hocket::inline HOCKET_ABI::cost

namespace hocket::inline HOCKET_ABI::cost::letters::blocks::attention_residuals_terms {

inline constexpr std::string_view source = "arXiv:2603.15031";
inline constexpr auto parameters = [] {
  return terms(weights("attention residuals, queries", L * n * h, n, literal(1), source),
               weights("attention residuals, norms", L * n * (n_w * h), n * n_w, literal(1), source));
}();
// Of each source a product with the query, and its part in the sum.
inline constexpr auto forward = [] {
  return terms(flops("attention residuals", product(n * n_o * 2 * h), n, one_rank, detail::flop::once_more, source,
                     layer_operation::none));
}();
inline constexpr auto saved = [] {
  using detail::saved::kept_unless_full, detail::saved::region;
  constexpr std::string_view assumed = "arXiv:2603.15031; assumes that a mix keeps its weights and its running sum";
  return terms(tensor("running sum before each mix", n * stream_of(1 * h), kept_unless_full, region, assumed,
                      layer_operation::none, origin::estimated),
               tensor("weights and norms of sources", 2 * 4 * byte * (s * b * n * n_o), kept_unless_full, region,
                      assumed, layer_operation::none, origin::estimated),
               tensor("sum of a finished block", stream_of(1 * h), 1 * closes_block, region, assumed,
                      layer_operation::none, origin::estimated));
}();

inline constexpr auto moved = [] {
  return terms(detail::blocks::moves("sources mixed", n * (n_o + 1) * stream_of(1 * h), one_rank, detail::saved::region,
                                     detail::flop::once_more, layer_operation::none));
}();

}  // namespace hocket::inline HOCKET_ABI::cost::letters::blocks::attention_residuals_terms

namespace hocket::inline HOCKET_ABI::cost {

template <>
struct formulas_of<attention_residuals> {
  static constexpr block_terms lists() noexcept {
    return {.parameters = letters::blocks::attention_residuals_terms::parameters,
            .forward = letters::blocks::attention_residuals_terms::forward,
            .saved = letters::blocks::attention_residuals_terms::saved,
            .moved = letters::blocks::attention_residuals_terms::moved};
  }
};

}  // namespace hocket::inline HOCKET_ABI::cost

namespace hocket::inline HOCKET_ABI::cost::letters::blocks::alternating_updates_terms {

inline constexpr std::string_view source = "arXiv:2301.13310; transformers gemma3n";
inline constexpr auto coefficients = squared(letters::n_s) * (letters::n_s + 1);
inline constexpr auto parameters = [] {
  return terms(weights("alternating updates, router", L * n_s * h, L, literal(1), source),
               weights("alternating updates, coefficients", L * coefficients, L, literal(1), source),
               weights("alternating updates, norm and scale", L * (2 * h), L, literal(1), source));
}();
// The router runs twice. What a token's n x n weights predict is a product; what corrects each stream, element-wise.
inline constexpr auto forward = [] {
  return terms(flops("alternating updates", product(2 * n_s * h + coefficients + squared(n_s) * h), L, one_rank,
                     detail::flop::once_more, source, layer_operation::none));
}();
inline constexpr auto saved = [] {
  using detail::saved::kept_if_full, detail::saved::kept_unless_full, detail::saved::region;
  constexpr std::string_view assumed = "transformers gemma3n; assumes that all streams and what corrects them are kept";
  return terms(tensor("streams before the layer, and their correction", stream_of((n_s + 1) * h), kept_unless_full,
                      region, assumed, layer_operation::none, origin::estimated),
               tensor("the other streams of the layer's input", stream_of((n_s - 1) * h), kept_if_full, region, assumed,
                      layer_operation::none, origin::estimated));
}();
inline constexpr auto moved = [] {
  return terms(detail::blocks::moves("streams predicted and corrected", 2 * stream_of((2 * n_s + 1) * h), one_rank,
                                     detail::saved::region, detail::flop::once_more, layer_operation::none));
}();

}  // namespace hocket::inline HOCKET_ABI::cost::letters::blocks::alternating_updates_terms

namespace hocket::inline HOCKET_ABI::cost {

template <>
struct formulas_of<alternating_updates> {
  static constexpr block_terms lists() noexcept {
    return {.parameters = letters::blocks::alternating_updates_terms::parameters,
            .forward = letters::blocks::alternating_updates_terms::forward,
            .saved = letters::blocks::alternating_updates_terms::saved,
            .moved = letters::blocks::alternating_updates_terms::moved};
  }
};

}  // namespace hocket::inline HOCKET_ABI::cost

namespace hocket::inline HOCKET_ABI::cost::letters::blocks::per_layer_input_terms {

inline constexpr auto parameters = [] {
  return terms(weights("per-layer input", L * (2 * h * h_m + h), L, literal(1), "Gemma 3n"));
}();
inline constexpr auto forward = [] {
  return terms(flops("per-layer input", product(2 * h * h_m), L, one_rank, detail::flop::once_more, "Gemma 3n",
                     layer_operation::none));
}();
inline constexpr auto saved = [] {
  using detail::saved::kept_unless_full, detail::saved::region;
  return terms(tensor("per-layer input", stream_of(2 * h + 3 * h_m), kept_unless_full, region,
                      "Gemma 3n; assumes that inputs of all products are kept", layer_operation::none,
                      origin::estimated));
}();

}  // namespace hocket::inline HOCKET_ABI::cost::letters::blocks::per_layer_input_terms

namespace hocket::inline HOCKET_ABI::cost {

template <>
struct formulas_of<per_layer_input> {
  static constexpr block_terms lists() noexcept {
    return {.parameters = letters::blocks::per_layer_input_terms::parameters,
            .forward = letters::blocks::per_layer_input_terms::forward,
            .saved = letters::blocks::per_layer_input_terms::saved};
  }
};

}  // namespace hocket::inline HOCKET_ABI::cost

namespace hocket::inline HOCKET_ABI::cost::letters::blocks::projection_terms {

inline constexpr auto width = choose(least(letters::h_i, 1), 1 * letters::h, 1 * letters::h_i);
inline constexpr auto parameters = [] {
  return terms(weights("projection", L * n * (width * h_o), n, literal(1), "matrix product"),
               weights("projection bias", L * n * h_o, n_b, literal(1), "matrix product"));
}();
inline constexpr auto forward = [] {
  return terms(flops("projection", product(n * n_u * width * h_o), n, one_rank, detail::flop::once_more,
                     "matrix product", layer_operation::none, 1 * h_o));
}();
inline constexpr auto saved = [] {
  using detail::saved::kept_unless_full, detail::saved::region;
  return terms(tensor("projection, input", stream_of(n * n_u * width), kept_unless_full, region, "matrix product",
                      layer_operation::none, origin::derived));
}();

}  // namespace hocket::inline HOCKET_ABI::cost::letters::blocks::projection_terms

namespace hocket::inline HOCKET_ABI::cost {

template <>
struct formulas_of<projection> {
  static constexpr block_terms lists() noexcept {
    return {.parameters = letters::blocks::projection_terms::parameters,
            .forward = letters::blocks::projection_terms::forward,
            .saved = letters::blocks::projection_terms::saved};
  }
};

}  // namespace hocket::inline HOCKET_ABI::cost

namespace hocket::inline HOCKET_ABI::cost::letters::blocks::table_terms {

inline constexpr auto parameters = terms(
    weights("other weights", letters::L* letters::n* letters::n_e, letters::n_e, literal(1), "the model's definition"));

}  // namespace hocket::inline HOCKET_ABI::cost::letters::blocks::table_terms

namespace hocket::inline HOCKET_ABI::cost {

template <>
struct formulas_of<table> {
  static constexpr block_terms lists() noexcept { return {.parameters = letters::blocks::table_terms::parameters}; }
};

}  // namespace hocket::inline HOCKET_ABI::cost
