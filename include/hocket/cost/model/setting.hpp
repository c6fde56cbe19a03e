// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/cost/formula/evaluate.hpp>
#include <hocket/cost/model/config.hpp>

namespace hocket::inline HOCKET_ABI::cost {

/// All configs that the formulas of this library read, in one place.
struct setting {
  part on_rank;
  held in_flight;
  rank_parameters parameters;
  cost::model model;
  cost::training training;
  cost::parallel parallel;
  convention counted;
  replay_set replayed{};
  layer_parameters largest_layer{};
};

/// The environment of a setting. The library's own functions evaluate in this one type, so that the compiler
/// instantiates each formula once; any environment that knows a formula's symbols gives the same value. Functions that
/// evaluate take it as a template parameter, so that a program pays, when it compiles, for the formulas it uses.
using numbers_of_setting =
    environment<part, held, rank_parameters, model, training, parallel, convention, replay_set, layer_parameters>;
[[nodiscard]] constexpr numbers_of_setting numbers_of(const setting& all) noexcept {
  return numbers_of_setting(all.on_rank, all.in_flight, all.parameters, all.model, all.training, all.parallel,
                            all.counted, all.replayed, all.largest_layer);
}

}  // namespace hocket::inline HOCKET_ABI::cost
