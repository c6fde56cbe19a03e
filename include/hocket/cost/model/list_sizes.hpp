// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/config.hpp>
#include <hocket/cost/formula/reflect.hpp>

#include <cstdint>

namespace hocket::inline HOCKET_ABI::cost {

/// Sizes that all blocks of a model read, and those of its ends: embedding, final norm, heads.
struct list_sizes {
  std::int64_t hidden = 0, vocabulary = 0;
  std::int64_t positions = 0;         ///< rows of a learned position embedding, 0 if none
  std::int64_t norm_weights = 1;      ///< vectors of the final norm
  std::int64_t streams = 1;           ///< residual streams that stages pass on
  std::int64_t prediction_heads = 0;  ///< of multi-token-prediction modules
  bool final_norm = true, embedding_norm = false, tied = false, head_bias = false;
  friend constexpr bool operator==(const list_sizes&, const list_sizes&) = default;
};

}  // namespace hocket::inline HOCKET_ABI::cost
HOCKET_DETAIL_STRUCT(hocket::cost::list_sizes, hidden, vocabulary, positions, norm_weights, streams, prediction_heads,
                     final_norm, embedding_norm, tied, head_bias);
