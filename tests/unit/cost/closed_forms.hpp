// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/cost/model/model.hpp>
#include <hocket/cost/model/symbols.hpp>

/// Formulas as their papers print them, for one shape of model (f = 4h, a d = h, 16-bit activations, dropout, no flash
/// attention). The general terms (flops.hpp, activations.hpp) must give the same numbers there; tests hold them to it.
namespace hocket::inline HOCKET_ABI::cost::letters {

/// arXiv:2205.05198: model and hardware FLOPs per step. Needs: model, training.
namespace korthikanti {
inline constexpr auto model_flops = 72 * FLOP * B * L * s * squared(h) * (1 + s / (6 * h) + V / (12 * h * L));
/// Selective recompute, as the paper's HFU figures have it: attention counted twice.
inline constexpr auto selective_flops = 72 * FLOP * B * L * s * squared(h) * (1 + s / (3 * h) + V / (12 * h * L));
/// Table 2: bytes that one layer keeps of one micro-batch.
inline constexpr auto no_parallelism = byte * (s * b * h) * (34 + 5 * a * s / h);
inline constexpr auto tensor = byte * (s * b * h) * (10 + 24 / tp + 5 * a * s / (h * tp));
inline constexpr auto tensor_sequence = byte * (s * b * h) * (34 / tp + 5 * a * s / (h * tp));
inline constexpr auto tensor_selective = byte * (s * b * h) * (10 + 24 / tp);
inline constexpr auto tensor_sequence_selective = byte * (s * b * h) * (34 / tp);
inline constexpr auto full = byte * (s * b * h) * literal(2);
}  // namespace korthikanti

/// Megatron-LM's theoretical_memory_usage.py (commit d98e8a64dd) in its convention: bytes of the most loaded rank.
/// Weights and optimizer take 18 bytes a parameter, or 6 and 12 over the replicas with its distributed optimizer. Norms
/// and router are copied, experts divided over ep etp, latent attention over tp. Needs: model, training, parallel.
namespace megatron {
inline constexpr auto latent = named("latent", "latent");
inline constexpr auto L_m = named("moe_layers", "L_m");
inline constexpr auto latent_weights = choose(least(r_q, 1), h* a*(d_n + d_r), r_q*(h + a * (d_n + d_r) + n_w)) +
                                       r_k * (h + a * (d_n + d_v) + n_w) + h * d_r + a * d_v * h;
inline constexpr auto attention_weights = define("A", choose(latent, 2 * h * d * (a + g), latent_weights));
inline constexpr auto one_stage = 1 - least(pp - 1, 1);
inline constexpr auto shard =
    (((L - L_m) * (n_f * h * f + attention_weights) + L_m * (n_f * h * f_s + attention_weights)) / pp +
     V * h * (1 + (1 - tied) * one_stage)) /
        tp +
    (L * (2 * h * n_w) + h * n_w + L_m * (h * E)) / pp;
inline constexpr auto expert_shard = L_m * (n_f * h * E * f_e) / (pp * ep * etp);
inline constexpr auto static_bytes = byte * (shard * choose(zero_level, 18, 6 + 12 / dp) +
                                             expert_shard * choose(zero_level, 18, 6 + 12 * (ep * etp) / (dp * tp)));
/// Activations as it has them with sequence parallelism and selective recompute (its ffn_hidden_size is that of the
/// experts if no layer is dense); and without, where it takes f = 4h and adds 5 %.
inline constexpr auto micro_batches_of_rank = B / (b * dp);
inline constexpr auto in_flight_factor =
    choose(least(vp - 1, 1), least(1, micro_batches_of_rank / pp), 1 + (pp - 1) / (pp * vp));
inline constexpr auto embedding_input = s * b * (8 + h) * pp;
inline constexpr auto activation_bytes =
    byte *
    ((s * b * (18 * h + 4 * choose(least(f, 1), f_e, f)) * L + embedding_input) * in_flight_factor +
     one_stage * (4 * s * b * (h + V))) /
    tp;
inline constexpr auto activation_bytes_without_sp =
    byte *
    ((s * b * h * (10 + 24 / tp) * L + embedding_input) * in_flight_factor + one_stage * (2 * s * b * (h + V / tp))) *
    105 / 100;
}  // namespace megatron

/// arXiv:2104.04473 (SC21): FLOPs of a step with full recompute (equation 3), parameters (equation 2).
/// Needs: model, training.
namespace sc21 {
inline constexpr auto flops_of_step = 96 * FLOP * B * s * L * squared(h) * (1 + s / (6 * h) + V / (16 * L * h));
inline constexpr auto parameters = element * (12 * L * squared(h)) * (1 + 13 / (12 * h) + (V + s) / (12 * L * h));
}  // namespace sc21

/// arXiv:2204.02311 (PaLM), appendix B: FLOPs of a token, 6 N and the attention. Needs: rank_parameters, model,
/// training.
namespace palm {
inline constexpr auto weights_flops_per_token = 6 * FLOP * N_r / element;
inline constexpr auto flops_per_token = weights_flops_per_token + 12 * FLOP * L * a * d * s;
}  // namespace palm

/// torchtitan: 6 per weight but the embedding's, which counts norms and biases, and attention over all pairs.
/// Needs: rank_parameters, model, training.
namespace torchtitan {
inline constexpr auto flops_per_token =
    6 * FLOP * (N_r / element - V * h * (1 - tied)) + 6 * FLOP * L * a * (2 * d) * s;
}  // namespace torchtitan

/// The guide that names q = a/g: (60 + 12/q)/72 in place of 1, and an exact second forward of attention.
/// Source: MindFormers "large language model performance optimisation guide".
namespace mindformers {
inline constexpr auto corr = define("corr", (60 + 12 * g / a) / literal(72));
inline constexpr auto model_flops = 72 * FLOP * B * L * s * squared(h) * (corr + s / (6 * h) + V / (12 * h * L));
inline constexpr auto selective_flops =
    72 * FLOP * B * L * s * squared(h) * (corr + 4 * s / (18 * h) + V / (12 * h * L));
inline constexpr auto full_flops =
    72 * FLOP * B * L * s * squared(h) * (4 * corr / 3 + 4 * s / (18 * h) + V / (12 * h * L));

// Rows of its tables: `printed` as the guide has them, `corrected` as they must be; equal where only one is there.
/// FLOPs of one GPT layer and micro-batch, forward. The guide adds the head to each layer; it is once per model.
inline constexpr auto gpt_layer_corrected = FLOP * ((20 + 4 * g / a) * b * s * squared(h) + 4 * b * squared(s) * h);
inline constexpr auto head_of_micro_batch = 2 * FLOP * b * s * h * V;
inline constexpr auto gpt_layer_printed = gpt_layer_corrected + head_of_micro_batch;
/// The same of a Llama layer (gated FFN of width f).
inline constexpr auto llama_layer_corrected =
    FLOP * ((4 + 4 * g / a) * b * s * squared(h) + 4 * b * squared(s) * h + 6 * b * s * h * f);
inline constexpr auto llama_layer_printed = llama_layer_corrected + head_of_micro_batch;
/// The closed factor for Llama: corr is GPT's alone and is 18 % low for Llama2-70B.
inline constexpr auto llama_corr = define("corr_L", (12 + 12 * g / a + 18 * f / h) / literal(72));
inline constexpr auto llama_model_flops =
    72 * FLOP * B * L * s * squared(h) * (llama_corr + s / (6 * h) + V / (12 * h * L));
/// What attention keeps of one micro-batch, bytes: the printed total lacks b in its second term.
inline constexpr auto attention_kept_printed = byte * (11 * s * b * h + 5 * a * squared(s));
inline constexpr auto attention_kept_corrected = byte * (11 * s * b * h + 5 * a * squared(s) * b);
inline constexpr auto ffn_kept = byte * (19 * s * b * h);
inline constexpr auto norms_kept = byte * (4 * s * b * h);
/// Static bytes, t = dp: 10 N is weights in 16 bits and two moments in 32, without master weights and gradients;
/// optimizer parallelism shards all of it; accumulation keeps a whole gradient. Corrected: master weights are there,
/// and so is the gradient. N_r: parameters of the rank. Needs: rank_parameters, parallel.
inline constexpr auto static_printed = 10 * byte / element * N_r;
inline constexpr auto static_sharded_printed = static_printed / dp;
inline constexpr auto static_accumulated_printed = static_sharded_printed + 2 * byte / element * N_r;
inline constexpr auto static_corrected = (c_w + c_g + c_m + c_o) * N_r;
/// Throughput, tokens per second and device. The guide divides by the data-parallel size alone; its own callback, and
/// the word "per card", mean all devices. Needs: training, parallel, run.
inline constexpr auto throughput_printed = token * (B * s) / (T * dp);
inline constexpr auto throughput_corrected = token * (B * s) / (T * W);
}  // namespace mindformers

}  // namespace hocket::inline HOCKET_ABI::cost::letters

namespace hocket::inline HOCKET_ABI::cost {
namespace korthikanti = letters::korthikanti;
namespace megatron = letters::megatron;
namespace sc21 = letters::sc21;
namespace palm = letters::palm;
namespace torchtitan = letters::torchtitan;
namespace mindformers = letters::mindformers;
}  // namespace hocket::inline HOCKET_ABI::cost
