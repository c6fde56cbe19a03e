// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/cost/model/activations.hpp>
#include <hocket/cost/model/communication.hpp>

/// What lives for a moment of a layer's backward pass, inside its attention or its FFN.
namespace hocket::inline HOCKET_ABI::cost::letters {

/// Inside an FFN, under a framework's buffers: the gradients of the activation's output and inputs, and, with sequence
/// parallelism, a gathered input and its gradient before they are cut again.
/// @param width  of the FFN, or of all that a token uses of a mixture
template <formula Width>
consteval auto moment_of_ffn(const Width& width) noexcept {
  using detail::saved::tensor;
  constexpr std::string_view backward = "arXiv:2205.05198 section 4.2";
  constexpr auto has = least(buffers, 1);
  return terms(tensor("gradients inside the FFN", c * (element * (n_f * s * b * width)), has, tp * cp, backward,
                      layer_operation::ffn_in, origin::derived),
               tensor("gathered input and its gradient", 2 * c * (element * (s * b * h)), has * sp * least(tp - 1, 1),
                      cp, backward, layer_operation::gather, origin::derived));
}
/// Inside an attention, under context parallelism, beside the rank's own part. In a ring that is the block of keys and
/// values that arrives, and that of their gradients. With an all-gather it is all keys and values, and their gradients;
/// with an all-to-all, queries, keys and values between sequence and heads.
/// @param kv, q  bytes of one rank's part of keys and values, and of queries
template <formula KeysValues, formula Queries>
consteval auto moment_of_attention(const KeysValues& kv, const Queries& q) noexcept {
  namespace context = detail::context;
  using detail::saved::tensor;
  constexpr auto own = literal(1);
  return terms(tensor("block that arrives, and its gradient", 2 * kv, context::by_ring, own, context::ring_attention,
                      layer_operation::attention, origin::derived),
               tensor("all keys and values, and their gradients", 2 * cp * kv, context::by_gather, own, context::llama3,
                      layer_operation::attention, origin::derived),
               tensor("queries, keys and values on their way", q + kv, context::by_heads, own, context::ulysses,
                      layer_operation::attention, origin::derived));
}

}  // namespace hocket::inline HOCKET_ABI::cost::letters
