// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/cost/formula/term.hpp>
#include "closed_forms.hpp"

namespace hocket::inline HOCKET_ABI::cost::letters::mindformers {

namespace detail {
// One row as the guide has it, or as it must be: the same name in both lists, `why` in place of the source.
template <bool Corrected>
struct guide_row {
  template <class Printed, class Right>
  constexpr auto operator()(std::string_view name, const Printed& printed, const Right& right,
                            std::string_view why) const noexcept {
    if constexpr (Corrected)
      return make_term({.name = name, .source = why, .how = origin::derived}, right, literal(1), literal(1));
    else
      return make_term({.name = name, .source = "the guide", .how = origin::published}, printed, literal(1),
                       literal(1));
  }
  template <class Formula>
  constexpr auto operator()(std::string_view name, const Formula& both) const noexcept {
    return (*this)(name, both, both, "as the guide has it");
  }
};

template <bool Corrected>
constexpr auto guide_terms() noexcept {
  constexpr guide_row<Corrected> row;
  constexpr auto square = 2 * FLOP * b * s * squared(h);
  constexpr auto pairs = 2 * FLOP * b * squared(s) * h;
  constexpr auto through_ffn = 2 * FLOP * b * s * h * f;
  constexpr auto tokens = byte * (s * b * h);
  constexpr auto scores = byte * (a * squared(s) * b);
  constexpr auto of_micro_batch = 72 * FLOP * b * L * s * squared(h);
  constexpr std::string_view once = "the head is once per model, not per layer",
                             batch = "a step counts the global batch, not one micro-batch",
                             held = "of one layer and micro-batch; times the layer passes that the rank holds",
                             states = "master weights and gradients are missing";
  return terms(
      // FLOPs, forward, of one micro-batch
      row("query, key, value", FLOP * ((2 + 4 * g / a) * b * s * squared(h))), row("QK", pairs),
      row("score * V", pairs), row("attention projection", square), row("MLP mapping", 8 * FLOP * b * s * squared(h)),
      row("MLP projection", 8 * FLOP * b * s * squared(h)), row("LmHead", head_of_micro_batch),
      row("GPTlayer-Total", gpt_layer_printed, gpt_layer_corrected, once), row("gated MLP, mapping", through_ffn),
      row("gated MLP, gate", through_ffn), row("gated MLP, projection", through_ffn),
      row("gated MLP, total", 6 * FLOP * b * s * h * f),
      row("Llamalayer-Total", llama_layer_printed, llama_layer_corrected, once),
      // FLOPs of a step
      row("no recompute", of_micro_batch * (corr + s / (6 * h) + V / (12 * h * L)), model_flops, batch),
      row("selective recompute", of_micro_batch * (corr + 4 * s / (18 * h) + V / (12 * h * L)), selective_flops, batch),
      row("full recompute", of_micro_batch * (4 * corr / 3 + 4 * s / (18 * h) + V / (12 * h * L)), full_flops, batch),
      // bytes that live through a step; t of the guide is dp
      row("static, no parallelism", static_printed, static_corrected, states),
      row("static, optimizer parallelism", static_sharded_printed, static_corrected / dp + c_w * N_l,
          "states are missing, and the weights of the layer at work, which are gathered"),
      row("static, optimizer parallelism and accumulation", static_accumulated_printed,
          (c_w + c_m + c_o) * N_r / dp + c_g * N_r + c_w * N_l,
          "master weights are missing, and the weights of the layer at work, which are gathered"),
      // bytes kept of one layer, in sum
      row("kept, no parallelism", korthikanti::no_parallelism, korthikanti::no_parallelism * n_held, held),
      row("kept, model parallelism", korthikanti::tensor, korthikanti::tensor * n_held, held),
      row("kept, with sequence parallelism", korthikanti::tensor_sequence, korthikanti::tensor_sequence * n_held, held),
      row("kept, selective recompute", korthikanti::tensor_selective, korthikanti::tensor_selective * n_held, held),
      row("kept, sequence parallelism, selective recompute", korthikanti::tensor_sequence_selective,
          korthikanti::tensor_sequence_selective * n_held, held),
      row("kept, full recompute", korthikanti::full, korthikanti::full * n_held + korthikanti::no_parallelism,
          "times the layer passes that the rank holds, and all of the layer that is being recomputed"),
      // and tensor by tensor
      row("kept by query, key, value: x", 2 * tokens), row("kept by QK: Q, K", 4 * tokens),
      row("kept by softmax: its result", 2 * scores), row("kept by softmax dropout: mask", 1 * scores),
      row("kept by score * V: dropout result and V", 2 * scores + 2 * tokens),
      row("kept by attention projection: mask and output", 3 * tokens, 3 * tokens, "the input, not the output"),
      row("kept by attention, total", attention_kept_printed, attention_kept_corrected, "the second term lacks b"),
      row("kept by MLP mapping: x", 2 * tokens), row("kept by MLP activation: hidden", 8 * tokens),
      row("kept by MLP projection: activated hidden", 8 * tokens), row("kept by MLP dropout: mask", 1 * tokens),
      row("kept by FFN, total", ffn_kept), row("kept by two norms: inputs", norms_kept));
}
}  // namespace detail

/// Every row of the tables of the MindFormers guide, as it is printed there (the guide's own letters: b a micro-batch,
/// q = a/g; t is dp). By the same names in the same order, each as it must be, the reason in place of the source.
/// GPT shape as in the guide: f = 4h, a d = h, 16 bits, dropout, no flash attention.
/// Needs: part, held, rank_parameters, model, training, parallel, layer_parameters: all that a setting has.
///
///     for_each_term(mindformers::guide_printed, numbers_of(all), [](const auto& row) { row.name, row.amount(); });
inline constexpr auto guide_printed = detail::guide_terms<false>();
inline constexpr auto guide_corrected = detail::guide_terms<true>();

}  // namespace hocket::inline HOCKET_ABI::cost::letters::mindformers
