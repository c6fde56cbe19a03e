// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/cost/device_memory.hpp>
#include <hocket/cost/model/activations.hpp>
#include <hocket/cost/model/layer_moments.hpp>
#include <hocket/cost/model/partition.hpp>
#include <hocket/cost/model/static_memory.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

namespace hocket::inline HOCKET_ABI::cost::letters {

/// Buffers that a framework keeps through the step, and that are no tensor of the model: by name, not a margin.
/// Transformer Engine returns a buffer in place of each weight gradient that it has added to the main gradient itself;
/// it keeps one per shape of weight: those of a layer, and the head's.
/// Needs: part, layer_parameters, model, training, parallel.
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
/// What lives while the last rank computes the loss: the head, whole. Needs: part, model, training, parallel.
inline constexpr auto head_transient_terms = [] {
  using detail::saved::tensor;
  constexpr std::string_view shards = "arXiv:1910.02054 section 5";
  return terms(tensor("gathered weights of the head", c_w * (element * (h * V)), last * choose(zero_level, 0, 0, 0, 1),
                      tp, shards),
               tensor("whole gradient of the head", c_g * (element * (h * V)), last * choose(zero_level, 0, 0, 1, 1),
                      tp, shards));
}();
/// What lives for a moment of it inside the FFN. Needs: part (layers = 1, moe_layers = 0 or 1), model, training,
/// parallel.
inline constexpr auto ffn_transient_terms = moment_of_ffn(choose(L_m, 1 * f, k* f_e + f_s));
/// And inside the attention. Needs: model, training, parallel.
inline constexpr auto attention_transient_terms =
    moment_of_attention(detail::context::keys_values, detail::context::queries);

}  // namespace hocket::inline HOCKET_ABI::cost::letters

namespace hocket::inline HOCKET_ABI::cost {
using letters::attention_transient_terms, letters::ffn_transient_terms, letters::head_transient_terms,
    letters::transient_terms, letters::workspace_terms;

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
  [[nodiscard]] constexpr peak_moment moment() const noexcept {
    return at_backward_bytes < at_loss_bytes ? peak_moment::loss : peak_moment::backward;
  }
  /// What lives at that moment only.
  [[nodiscard]] constexpr rational transient_bytes() const noexcept {
    return moment() == peak_moment::loss ? at_loss_bytes : at_backward_bytes;
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
  part not_last = all.on_rank;
  not_last.last = false;
  const auto kept =
      with_ends({.kept = layers.kept, .again = 0}, all.model, all.training, all.parallel, not_last, all.in_flight);
  if (!kept) return kept.error();
  all.on_rank.first = false;
  const auto numbers = numbers_of(all);
  const auto buffers = rank_total(workspace_terms, numbers), loss = rank_total(end_tensor_terms, numbers),
             head = rank_total(head_transient_terms, numbers), shards = rank_total(transient_terms, numbers);
  for (const auto* r : {&buffers, &loss, &head, &shards})
    if (!*r) return r->error();
  return memory_peak{*fixed, *kept, *buffers, *loss + *head, *shards + moment + layers.again};
}

/// The same of a model, whose layers keep and make again so many bytes.
[[nodiscard]] constexpr result<memory_peak> peak_with(const layer_bytes& layers, const model& m, const training& t,
                                                      const parallel& p, const part& on_rank,
                                                      const held& in_flight) noexcept {
  const auto own = count_rank_parameters(m, p, on_rank);
  if (!own) return own.error();
  setting all{.on_rank = on_rank, .in_flight = in_flight, .parameters = *own, .model = m, .training = t, .parallel = p};
  rational moment = 0;
  for (const std::int64_t experts : {0, 1}) {
    if (experts == 0 ? on_rank.moe_layers == on_rank.layers : on_rank.moe_layers == 0) continue;
    const part one{.layers = 1, .moe_layers = experts, .first = false, .last = false};
    const auto layer = count_rank_parameters(m, p, one);
    if (!layer) return layer.error();
    if (layer->dense + layer->expert > all.largest_layer.layer_dense + all.largest_layer.layer_expert)
      all.largest_layer = {layer->dense, layer->expert};
    const setting of_layer{.on_rank = one, .model = m, .training = t, .parallel = p};
    const auto numbers = numbers_of(of_layer);
    for (const auto& inside :
         {rank_total(ffn_transient_terms, numbers), rank_total(attention_transient_terms, numbers)}) {
      if (!inside) return inside.error();
      if (moment < *inside) moment = *inside;
    }
  }
  return peak_of(all, layers, moment);
}

}  // namespace detail

/// The peak of one pipeline rank: the larger of two moments. One is the loss: all that is kept, logits, the head. The
/// other is the backward pass of a layer: all that is kept, gradients inside it, whole shards, the layer that is being
/// recomputed.
/// @param in_flight  what a schedule holds at its peak; held_by_1f1b for 1F1B
/// Errors: errc::undefined_value, errc::overflow.
[[nodiscard]] constexpr result<memory_peak> peak_memory(const model& m, const training& t, const parallel& p,
                                                        const part& on_rank, const held& in_flight,
                                                        const replay_set& replayed = {}) noexcept {
  const auto layers = detail::bytes_of_layers(m, t, p, on_rank, in_flight, replayed);
  if (!layers) return layers.error();
  return detail::peak_with(*layers, m, t, p, on_rank, in_flight);
}

}  // namespace hocket::inline HOCKET_ABI::cost
