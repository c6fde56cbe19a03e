// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/cost/formula/term.hpp>
#include <hocket/cost/model/setting.hpp>
#include <hocket/cost/model/symbols.hpp>

namespace hocket::inline HOCKET_ABI::cost::detail::saved {

using letters::cp, letters::dropout, letters::flash, letters::recomputed, letters::sp, letters::tp;
// Norms, residuals and dropouts are split over tp only under sequence parallelism.
// Context parallelism splits the sequence, and so every tensor that has one.
inline constexpr auto region = choose(sp, 1, tp) * cp;
inline constexpr auto inner = tp * cp;
inline constexpr auto kept_unless_full = choose(recomputed, 1, 1, 0);
inline constexpr auto kept_if_none = choose(recomputed, 1, 0, 0);
inline constexpr auto kept_if_full = choose(recomputed, 0, 0, 1);

// An operation that is computed again does not keep what it makes.
template <class Flag>
consteval auto unless(const Flag& again) noexcept {
  return kept_unless_full * (1 - again);
}
template <formula F, formula When, formula Split>
consteval auto tensor(std::string_view name, const F& bytes, const When& when, const Split& split,
                      std::string_view source, layer_operation by = layer_operation::none,
                      origin how = origin::published) noexcept {
  return make_term({.name = name, .source = source, .how = how, .by = by}, bytes, when, split);
}

/// Bytes an element of an input of a matrix product that is kept: Transformer Engine keeps it as the product got it.
inline constexpr auto c_kept = choose(letters::narrow_inputs, letters::c, letters::c_i);

}  // namespace hocket::inline HOCKET_ABI::cost::detail::saved

namespace hocket::inline HOCKET_ABI::cost::letters {

/// What a layer that is recomputed whole keeps: its input. Needs: list_sizes, training, parallel.
inline constexpr auto layer_input_terms = [] {
  using detail::saved::kept_if_full, detail::saved::region, detail::saved::tensor;
  return terms(
      tensor("layer input", c * (element * (s * b * h)), kept_if_full, region, "arXiv:2205.05198 section 4.1"));
}();

/// What a rank keeps outside of its layers: the embedding's dropout mask on the first rank. The last rank keeps final
/// norm, head and logits of the one micro-batch that it works on, the logits once in the activation type and once in 32
/// bits for the loss. Needs: part, held, model, training, parallel.
inline constexpr auto end_tensor_terms = [] {
  using detail::saved::inner, detail::saved::region, detail::saved::tensor;
  constexpr std::string_view ends = "arXiv:2205.05198 section 4.3";
  return terms(
      tensor("embedding dropout mask", byte * (s * b * h * n_held_embedding), first * dropout, region, ends),
      tensor("final norm, input", c * (element * (s * b * h)), last * final_norm, region, ends),
      tensor("head input", c * (element * (s * b * h)), last, region, ends),
      tensor("logits", c * (element * (s * b * V)), last, inner, ends, layer_operation::head, origin::derived),
      tensor("logits in 32 bits", 4 * byte * (s * b * V), last * (1 - fused_loss), inner, ends, layer_operation::head),
      tensor("gradient of the logits", c * (element * (s * b * V)), last * fused_loss, inner,
             "Megatron-LM --cross-entropy-loss-fusion", layer_operation::head, origin::derived));
}();

}  // namespace hocket::inline HOCKET_ABI::cost::letters

namespace hocket::inline HOCKET_ABI::cost {

using letters::end_tensor_terms, letters::layer_input_terms;

namespace detail {

/// What the layers of a rank keep of all passes in flight, and what the one that is being recomputed makes again.
struct layer_bytes {
  rational kept, again;
};

/// What is on the device of all that layers keep. What is offloaded is there of two layers: while one works, the next
/// one's tensors arrive.
/// @param largest  bytes of one pass of the layer that keeps most
[[nodiscard]] constexpr rational kept_on_device(const parallel& p, const rational& all,
                                                const rational& largest) noexcept {
  const rational two = rational(2) * largest;
  return p.offload_activations && two < all ? two : all;
}

/// Those and what the ends of the model keep.
[[nodiscard]] constexpr result<rational> with_ends(const layer_bytes& layers, const setting& all) noexcept {
  const auto ends = rank_total(end_tensor_terms, numbers_of(all));
  if (!ends) return ends.error();
  const rational sum = layers.kept + *ends + layers.again;
  if (!sum.ok()) return error{errc::undefined_value}.with("activations");
  return sum;
}

}  // namespace detail

}  // namespace hocket::inline HOCKET_ABI::cost
