// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/cost/model/layer_list.hpp>
#include <hocket/cost/model/recompute_choice.hpp>

#include <cstdint>
#include <vector>

/// What stands on one pipeline rank, and what of it is computed again.
namespace hocket::inline HOCKET_ABI::cost {

/// Where a run of layers stands in its list.
enum class run_place : std::uint8_t { front, layer, prediction, back };

/// Equal layers in a row on one rank, all recomputed alike.
struct rank_run {
  layer_blocks blocks;
  std::int64_t count = 1;
  recompute_choice how{};
  run_place place = run_place::layer;
  friend constexpr bool operator==(const rank_run&, const rank_run&) = default;
};

/// What one pipeline rank has of a list, in model order.
struct rank_layers {
  std::vector<rank_run> layers;  ///< front, layers, predictions and back
  std::int64_t layer_count = 0;  ///< of the model's layers alone
  part ends;                     ///< whether it is the first, the last, and its number
};

/// The same layers, all recomputed in one way.
[[nodiscard]] constexpr rank_layers with_choice(rank_layers on, const recompute_choice& how) {
  for (rank_run& each : on.layers) each.how = how;
  return on;
}

}  // namespace hocket::inline HOCKET_ABI::cost
