// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/config.hpp>
#include <hocket/cost/formula/reflect.hpp>

#include <cstdint>

namespace hocket::inline HOCKET_ABI::cost {

/// What the backward pass computes again although the recompute level would keep it, operation by operation; each
/// drops the tensors that the table of saved tensors (activations.hpp) says the operation makes.
struct replay_set {
  bool cast = false;       ///< the cast of a wide norm's input: the narrow one is kept in its place
  bool cast_back = false;  ///< the cast of a wide norm's output: the wide one is kept in its place, a loss
  bool norm = false;       ///< norms: the inputs of the projections after them are dropped
  bool gather = true;      ///< the all-gather after a sequence-parallel norm: a rank keeps its part, not the whole
  bool qkv = false;        ///< queries, keys and values
  bool core = false;       ///< the scores inside the attention; what `selective` stands for
  bool attention_output = false;  ///< the attention's output and statistics, too
  bool projection = false;        ///< output projection and residual sum: the input of the FFN's norm
  bool ffn_in = false;            ///< the products before the activation function
  bool activation = false;        ///< SiLU and Mul (GELU)
  bool ffn_out = false;  ///< the product after the activation: takes time and drops nothing, for plans that list it
  friend constexpr bool operator==(const replay_set&, const replay_set&) = default;
};

}  // namespace hocket::inline HOCKET_ABI::cost

HOCKET_DETAIL_STRUCT(hocket::cost::replay_set, cast, cast_back, norm, gather, qkv, core, attention_output, projection,
                     ffn_in, activation, ffn_out);
