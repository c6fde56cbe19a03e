// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/cost/model/flops.hpp>

namespace hocket::inline HOCKET_ABI::cost::letters {

/// Bytes that the element-wise work of one layer and one micro-batch reads and writes in the forward pass: it has no
/// FLOPs worth counting, but it takes time. The backward pass moves twice as many; `also` says how often it is done
/// again. Every element is taken to be read and written once per kernel, fused as in the frameworks named.
/// Needs: part (layers = 1, moe_layers = 0 or 1), model, training, parallel, replay_set.
inline constexpr auto moved_byte_terms = [] {
  using detail::flop::once_more, detail::flop::replays, detail::flop::work;
  constexpr auto region = choose(sp, 1, tp) * cp;
  constexpr auto inner = tp * cp;
  constexpr auto stream = c * (element * (s * b * h));
  constexpr std::string_view kernels =
      "Megatron-LM and Transformer Engine kernels; assumes each element read and written once";
  constexpr auto always = literal(1);
  return terms(
      work("norms", 2 * n_n * stream, always, region, replays(r_norm), kernels, layer_operation::norm,
           origin::estimated),
      work("residual sum after attention", 3 * stream, always, region, replays(r_output), kernels,
           layer_operation::output, origin::estimated),
      work("residual sum after the FFN", 3 * stream, always, region, once_more, kernels, layer_operation::ffn_out,
           origin::estimated),
      work("rotary positions", 2 * c * (element * (s * b * (a * choose(latent, d, d_r) + choose(latent, g * d, d_r)))),
           always, inner, replays(r_qkv), kernels, layer_operation::qkv, origin::estimated),
      work("activation", n_f * c * (element * (s * b * f)), L - L_m, inner, replays(r_activation), kernels,
           layer_operation::activation, origin::estimated),
      work("expert activation", n_f * c * (element * (s * b * (k * f_e + f_s))), L_m, inner, replays(r_activation),
           kernels, layer_operation::activation, origin::estimated),
      work("permutation of tokens", 4 * k * stream, L_m, inner, once_more, kernels, layer_operation::dispatch,
           origin::estimated));
}();
/// The same for the loss: the logits, and their copy in 32 bits. Needs: model, training, parallel, part.
inline constexpr auto moved_loss_terms = [] {
  using detail::flop::never, detail::flop::work;
  return terms(work("loss", (c + 4 * byte / element) * (element * (s * b * V * (1 + n_mtp))), last, tp * cp, never,
                    "Megatron-LM vocab_parallel_cross_entropy; assumes each logit read once in both types",
                    layer_operation::head, origin::estimated));
}();

}  // namespace hocket::inline HOCKET_ABI::cost::letters

namespace hocket::inline HOCKET_ABI::cost {
using letters::moved_byte_terms, letters::moved_loss_terms;
}  // namespace hocket::inline HOCKET_ABI::cost
