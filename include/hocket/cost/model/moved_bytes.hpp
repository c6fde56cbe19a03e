// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/cost/model/flops.hpp>

namespace hocket::inline HOCKET_ABI::cost::letters {

/// Bytes that the loss reads and writes of one micro-batch: the logits, and their copy in 32 bits. Work without FLOPs
/// worth counting takes the time of its bytes; each element is taken to be read and written once per kernel.
/// Needs: list_sizes, training, parallel, part.
inline constexpr auto moved_loss_terms = [] {
  using detail::flop::never, detail::flop::work;
  return terms(work("loss", (c + 4 * byte / element) * (element * (s * b * V * (1 + n_mtp))), last, tp * cp, never,
                    "Megatron-LM vocab_parallel_cross_entropy; assumes each logit read once in both types",
                    layer_operation::head, origin::estimated));
}();

}  // namespace hocket::inline HOCKET_ABI::cost::letters

namespace hocket::inline HOCKET_ABI::cost {
using letters::moved_loss_terms;
}  // namespace hocket::inline HOCKET_ABI::cost
