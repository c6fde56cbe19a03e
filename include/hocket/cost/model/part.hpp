// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/config.hpp>
#include <hocket/cost/formula/reflect.hpp>

#include <cstdint>

namespace hocket::inline HOCKET_ABI::cost {

/// A part of the model that one rank holds. `layers` is a number of equal layers, so the same formulas give one layer,
/// all of them, and those of a rank.
struct part {
  std::int64_t layers = 0;
  bool first = true, last = true;  ///< holds the embedding; holds the final norm, the head and MTP modules
  std::int64_t rank = 0;           ///< of the pipeline
  friend constexpr bool operator==(const part&, const part&) = default;
};

/// Activations held at once, over all chunks of the rank. A pipeline schedule supplies it; in_flight.hpp has the closed
/// forms for 1F1B.
struct held {
  std::int64_t layer_passes = 0;      ///< sum over held micro-batches of the layers they passed on this rank
  std::int64_t embedding_passes = 0;  ///< held micro-batches that passed the embedding on this rank
  friend constexpr bool operator==(const held&, const held&) = default;
};

/// Parameters of one rank, by the group that shares their optimizer states.
struct rank_parameters {
  std::int64_t dense = 0, expert = 0;
};
/// Parameters of one layer on one rank, of the kind of layer that has most.
struct layer_parameters {
  std::int64_t layer_dense = 0, layer_expert = 0;
};

}  // namespace hocket::inline HOCKET_ABI::cost

HOCKET_DETAIL_STRUCT(hocket::cost::part, layers, first, last, rank);
HOCKET_DETAIL_STRUCT(hocket::cost::held, layer_passes, embedding_passes);
HOCKET_DETAIL_STRUCT(hocket::cost::rank_parameters, dense, expert);
HOCKET_DETAIL_STRUCT(hocket::cost::layer_parameters, layer_dense, layer_expert);
