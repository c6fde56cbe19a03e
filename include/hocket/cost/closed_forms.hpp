// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/cost/config.hpp>
#include <hocket/cost/symbols.hpp>

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
inline constexpr auto full = byte * (s * b * h) * literal<pure>(2);
}  // namespace korthikanti

/// The guide that names q = a/g: (60 + 12/q)/72 in place of 1, and an exact second forward of attention.
/// Source: MindFormers "large language model performance optimisation guide".
namespace mindformers {
inline constexpr auto corr = define(BOOST_HANA_STRING("corr"), (60 + 12 * g / a) / literal<pure>(72));
inline constexpr auto model_flops = 72 * FLOP * B * L * s * squared(h) * (corr + s / (6 * h) + V / (12 * h * L));
inline constexpr auto selective_flops =
    72 * FLOP * B * L * s * squared(h) * (corr + 4 * s / (18 * h) + V / (12 * h * L));
inline constexpr auto full_flops =
    72 * FLOP * B * L * s * squared(h) * (4 * corr / 3 + 4 * s / (18 * h) + V / (12 * h * L));
}  // namespace mindformers

}  // namespace hocket::inline HOCKET_ABI::cost::letters

namespace hocket::inline HOCKET_ABI::cost {
namespace korthikanti = letters::korthikanti;
namespace mindformers = letters::mindformers;
}  // namespace hocket::inline HOCKET_ABI::cost
