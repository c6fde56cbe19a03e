// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/cost/model/list_time.hpp>

#include <array>

namespace hocket::inline HOCKET_ABI::cost {

/// One operation computed again: bytes that a layer keeps with and without, and what it takes. Worth it only if it
/// keeps less: the rule by which the cast to 32 bits, SiLU and Mul, and the all-gather after a sequence-parallel norm
/// are recomputed, and a cast back to 16 bits is not.
struct replay_row {
  layer_operation which = layer_operation::none;
  rational bytes_kept, bytes_if_again;
  seconds time_again{};  ///< per micro-batch, compute and communication
  [[nodiscard]] constexpr bool saves_memory() const noexcept { return bytes_if_again < bytes_kept; }
};

/// The table of operations for one kind of layer, read off the table of saved tensors with each flag on and off; the
/// others as in `others`. The level of `p` is not read.
/// Errors: those of layer_activation_bytes and time_of_layer. Complexity: some two dozen passes over the formulas.
///
///     replay_table(list, list.layers[0].blocks, t, p, machines::b200_fitted.rates)->front().saves_memory()
template <class Hardware = machine>
[[nodiscard]] result<std::array<replay_row, replayable.size()>> replay_table(
    const layer_list& list, const layer_blocks& blocks, const training& t, const parallel& p, const Hardware& on,
    const replay_set& others = {.gather = false}) {
  std::array<replay_row, replayable.size()> rows{};
  parallel at = p;
  at.recompute = recompute::none;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto flag = flag_of(replayable[i]);
    rational bytes[2];
    seconds time[2];
    for (const bool again : {false, true}) {
      replay_set operations = others;
      operations.*flag = again;
      const auto kept = layer_activation_bytes(list, blocks, t, at, operations);
      if (!kept) return kept.error();
      const auto took = time_of_layer(list, blocks, t, at, on, {recompute::none, operations});
      if (!took) return took.error();
      bytes[again ? 1 : 0] = *kept;
      time[again ? 1 : 0] = took->total();
    }
    rows[i] = {replayable[i], bytes[0], bytes[1], time[1] - time[0]};
  }
  return rows;
}

}  // namespace hocket::inline HOCKET_ABI::cost
