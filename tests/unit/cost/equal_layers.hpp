// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What one layer of a model of equal layers keeps and takes.
#pragma once
#include <hocket/cost/model/list_time.hpp>
#include <hocket/cost/model/uniform_list.hpp>

namespace equal_layers {

/// The last layer: with experts, if the model has any.
inline hocket::cost::layer_blocks last_layer(const hocket::cost::model& m) {
  return hocket::cost::to_layers(m).layers.back().blocks;
}
/// The first layer: without experts, if the model has such.
inline hocket::cost::layer_blocks first_layer(const hocket::cost::model& m) {
  return hocket::cost::to_layers(m).layers.front().blocks;
}
inline hocket::result<hocket::cost::rational> kept_by_last(const hocket::cost::model& m,
                                                           const hocket::cost::training& t,
                                                           const hocket::cost::parallel& p,
                                                           const hocket::cost::replay_set& again = {}) {
  return hocket::cost::layer_activation_bytes(m, last_layer(m), t, p, again);
}
template <class Hardware>
hocket::result<hocket::cost::layer_time> time_of_last(const hocket::cost::model& m, const hocket::cost::training& t,
                                                      const hocket::cost::parallel& p, const Hardware& on,
                                                      const hocket::cost::recompute_choice& how = {}) {
  return hocket::cost::time_of_layer(m, last_layer(m), t, p, on, how);
}

}  // namespace equal_layers
