// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/cost/formula/evaluate.hpp>
#include <hocket/cost/model/convention.hpp>
#include <hocket/cost/model/list_sizes.hpp>
#include <hocket/cost/model/parallel.hpp>
#include <hocket/cost/model/part.hpp>
#include <hocket/cost/model/replay_set.hpp>
#include <hocket/cost/model/training.hpp>

namespace hocket::inline HOCKET_ABI::cost {

/// All configs that the formulas of this library read, in one place.
struct setting {
  part on_rank{};
  held in_flight{};
  rank_parameters parameters{};
  list_sizes sizes{};
  cost::training training{};
  cost::parallel parallel{};
  convention counted{};
  replay_set replayed{};
  layer_parameters largest_layer{};
};

/// The environment of a setting, with `more` configs behind it: every formula of the library can be evaluated in it.
template <class... More>
[[nodiscard]] constexpr auto numbers_of(const setting& all, const More&... more) noexcept {
  return environment(all.on_rank, all.in_flight, all.parameters, all.sizes, all.training, all.parallel, all.counted,
                     all.replayed, all.largest_layer, more...);
}

}  // namespace hocket::inline HOCKET_ABI::cost
