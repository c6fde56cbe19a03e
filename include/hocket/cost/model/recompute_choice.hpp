// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/cost/formula/term.hpp>
#include <hocket/cost/model/parallel.hpp>
#include <hocket/cost/model/replay_set.hpp>

#include <array>
#include <string>

namespace hocket::inline HOCKET_ABI::cost {

/// How one layer is recomputed: the level, and operations by name.
struct recompute_choice {
  recompute level = recompute::none;
  replay_set operations{};
  friend constexpr bool operator==(const recompute_choice&, const recompute_choice&) = default;
};

/// The operations whose recompute can be chosen one by one, with a name each.
inline constexpr std::array<layer_operation, 11> replayable = {
    layer_operation::cast,   layer_operation::cast_back,  layer_operation::norm,      layer_operation::gather,
    layer_operation::qkv,    layer_operation::core,       layer_operation::attention, layer_operation::output,
    layer_operation::ffn_in, layer_operation::activation, layer_operation::ffn_out};
/// The flag of an operation in a replay_set. Precondition: it is one of `replayable`.
[[nodiscard]] constexpr bool replay_set::* flag_of(layer_operation which) noexcept {
  switch (which) {
    case layer_operation::cast: return &replay_set::cast;
    case layer_operation::cast_back: return &replay_set::cast_back;
    case layer_operation::norm: return &replay_set::norm;
    case layer_operation::gather: return &replay_set::gather;
    case layer_operation::qkv: return &replay_set::qkv;
    case layer_operation::core: return &replay_set::core;
    case layer_operation::attention: return &replay_set::attention_output;
    case layer_operation::output: return &replay_set::projection;
    case layer_operation::ffn_in: return &replay_set::ffn_in;
    case layer_operation::activation: return &replay_set::activation;
    case layer_operation::ffn_out: return &replay_set::ffn_out;
    default: HOCKET_ASSERT(false); return &replay_set::core;
  }
}

/// "none", "selective, norm, activation", "full": what a layer computes again. The gather after a sequence-parallel
/// norm is named only where it is not computed again, as "gather kept".
[[nodiscard]] inline std::string to_string(const recompute_choice& how) {
  if (how.level == recompute::full) return "full";
  std::string out = how.level == recompute::selective ? "selective" : "";
  for (const layer_operation which : replayable)
    if (which != layer_operation::gather && how.operations.*flag_of(which))
      out += (out.empty() ? "" : ", ") + std::string(to_string(which));
  if (out.empty()) out = "none";
  return how.operations.gather ? out : out + ", gather kept";
}

}  // namespace hocket::inline HOCKET_ABI::cost
