// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/cost/device_memory.hpp>
#include <hocket/cost/model/activations.hpp>
#include <hocket/cost/model/layer_moments.hpp>
#include <hocket/cost/model/static_memory.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

namespace hocket::inline HOCKET_ABI::cost::letters {

/// Buffers that a framework keeps through the step, and that are no tensor of the model: by name, not a margin.
/// Transformer Engine returns a buffer in place of each weight gradient that it has added to the main gradient itself;
/// it keeps one per shape of weight: those of a layer, and the head's.
/// Needs: part, layer_parameters, list_sizes, training, parallel.
inline constexpr auto workspace_terms = [] {
  using detail::saved::tensor;
  constexpr std::string_view te = "Transformer Engine get_dummy_wgrad";
  constexpr auto has = least(buffers, 1);
  return terms(tensor("stand-ins for a layer's gradients", c_w * N_l, has, literal(1), te, layer_operation::none,
                      origin::derived),
               tensor("stand-in for the head's gradient", c_w * (element * (h * V)), has * last, tp, te,
                      layer_operation::none, origin::derived));
}();

/// What lives through the backward pass of one layer: under sharded weights or gradients one whole layer of them.
/// Needs: layer_parameters, training, parallel.
inline constexpr auto transient_terms = [] {
  using detail::saved::tensor;
  constexpr std::string_view shards = "arXiv:1910.02054 section 5";
  return terms(tensor("gathered weights of a layer", c_w * N_l, choose(zero_level, 0, 0, 0, 1), literal(1), shards),
               tensor("gathered expert weights of a layer", c_w * N_le, choose(zero_level, 0, 0, 0, 1) * N_le / element,
                      literal(1), shards),
               tensor("whole gradients of a layer", c_g * N_l, choose(zero_level, 0, 0, 1, 1), literal(1), shards),
               tensor("whole expert gradients of a layer", c_g * N_le, choose(zero_level, 0, 0, 1, 1) * N_le / element,
                      literal(1), shards));
}();
/// What lives while the last rank computes the loss: the head, whole. Needs: part, list_sizes, training, parallel.
inline constexpr auto head_transient_terms = [] {
  using detail::saved::tensor;
  constexpr std::string_view shards = "arXiv:1910.02054 section 5";
  return terms(tensor("gathered weights of the head", c_w * (element * (h * V)), last * choose(zero_level, 0, 0, 0, 1),
                      tp, shards),
               tensor("whole gradient of the head", c_g * (element * (h * V)), last * choose(zero_level, 0, 0, 1, 1),
                      tp, shards));
}();
}  // namespace hocket::inline HOCKET_ABI::cost::letters

namespace hocket::inline HOCKET_ABI::cost {
using letters::head_transient_terms, letters::transient_terms, letters::workspace_terms;

/// When a rank needs most.
enum class peak_moment : std::uint8_t { loss, backward };
[[nodiscard]] constexpr std::string_view to_string(peak_moment when) noexcept {
  return when == peak_moment::loss ? "while the loss is computed" : "in the backward pass of a layer";
}

/// Bytes of one rank at its peak, taken apart.
struct memory_peak {
  rational static_bytes;       ///< weights, gradients, optimizer states
  rational kept_bytes;         ///< saved tensors of all layer passes in flight
  rational workspace_bytes;    ///< buffers of the framework
  rational at_loss_bytes;      ///< more, while the loss is computed (last rank)
  rational at_backward_bytes;  ///< more, inside the backward pass of a layer
  /// Of at_loss_bytes and of at_backward_bytes: what collectives gather and reduce, whole weights and whole gradients.
  rational gathered_at_loss_bytes, gathered_at_backward_bytes;
  [[nodiscard]] constexpr peak_moment moment() const noexcept {
    return at_backward_bytes < at_loss_bytes ? peak_moment::loss : peak_moment::backward;
  }
  /// What lives at that moment only.
  [[nodiscard]] constexpr rational transient_bytes() const noexcept {
    return moment() == peak_moment::loss ? at_loss_bytes : at_backward_bytes;
  }
  /// Of that, what collectives gather and reduce.
  [[nodiscard]] constexpr rational gathered_bytes() const noexcept {
    return moment() == peak_moment::loss ? gathered_at_loss_bytes : gathered_at_backward_bytes;
  }
  [[nodiscard]] constexpr rational total_bytes() const noexcept {
    return static_bytes + kept_bytes + workspace_bytes + transient_bytes();
  }
};

/// Whether a rank with this peak can run on such a device: what every verdict of fit goes by.
[[nodiscard]] constexpr bool fits(const memory_peak& peak, const device_memory& on) noexcept {
  return !(rational(on.usable().count()) < peak.total_bytes());
}

namespace detail {

/// The peak of a rank, of what its layers keep, make again, and need for a moment.
/// @param all  with the parameters of the rank and of its largest layer
[[nodiscard]] constexpr result<memory_peak> peak_of(setting all, const layer_bytes& layers,
                                                    const rational& moment) noexcept {
  const auto fixed = static_bytes(all.parameters, all.training, all.parallel);
  if (!fixed) return fixed.error();
  // The last rank's end, the loss, has a moment of its own; the first rank's is kept like the layers' tensors.
  setting kept_ends = all;
  kept_ends.on_rank.last = false;
  const auto kept = with_ends({.kept = layers.kept, .again = 0}, kept_ends);
  if (!kept) return kept.error();
  all.on_rank.first = false;
  const auto numbers = numbers_of(all);
  const auto buffers = rank_total(workspace_terms, numbers), loss = rank_total(end_tensor_terms, numbers),
             head = rank_total(head_transient_terms, numbers), shards = rank_total(transient_terms, numbers);
  for (const auto* r : {&buffers, &loss, &head, &shards})
    if (!*r) return r->error();
  return memory_peak{*fixed, *kept, *buffers, *loss + *head, *shards + moment + layers.again, *head, *shards};
}

}  // namespace detail

}  // namespace hocket::inline HOCKET_ABI::cost
