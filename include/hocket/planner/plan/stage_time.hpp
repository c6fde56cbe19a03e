// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/result.hpp>
#include <hocket/core/time.hpp>
#include <hocket/cost/model/list_time.hpp>

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

// What stands on each stage of a pipeline, and what it takes.
namespace hocket::inline HOCKET_ABI::planner {

/// The passes of one micro-batch through one stage.
struct stage_time {
  std::int64_t layers = 0;
  seconds forward{}, backward{};  ///< with what is computed again in the backward pass
};

/// The passes of layers that take so long together. Collectives that show are as many in the backward pass as in the
/// forward pass.
[[nodiscard]] inline stage_time passes_of(std::int64_t layers, const cost::layer_time& sum) noexcept {
  return {layers, sum.forward + sum.exposed / 2, sum.backward + sum.again + sum.exposed / 2};
}

/// The layers of all pp * vp stages in model order, each stage as if it were a pipeline rank of its own.
/// @param sizes  layers of each stage; empty: dealt out as cost::layers_of_ranks does
/// Errors: those of cost::layers_of_ranks. Complexity: O(stages + runs of equal layers).
[[nodiscard]] inline result<std::vector<cost::rank_layers>> layers_of_stages(const cost::layer_list& list,
                                                                             const cost::parallel& p,
                                                                             std::span<const std::int64_t> sizes = {}) {
  cost::parallel flat = p;
  flat.pp = p.pp * p.vp;
  flat.vp = 1;
  return cost::layers_of_ranks(list, flat, sizes);
}

/// The layers of two stages that one rank has.
[[nodiscard]] inline cost::rank_layers joined(const cost::rank_layers& a, const cost::rank_layers& b) {
  cost::rank_layers out = a;
  out.layers.insert(out.layers.end(), b.layers.begin(), b.layers.end());
  out.layer_count += b.layer_count;
  out.ends.first = out.ends.first || b.ends.first;
  out.ends.last = out.ends.last || b.ends.last;
  return out;
}

/// What a stage takes for one micro-batch by the rates of a machine: its layers as their runs compute them again, and
/// on the last stage the head. Hops between ranks are none of it. Errors: those of cost::time_of_layer. Complexity: one
/// pass over the formulas per run.
///
///     const auto stages = layers_of_stages(list, p);
///     time_of_stage(list, stages->front(), t, p, cost::machines::b200_fitted.rates)->forward
[[nodiscard]] inline result<stage_time> time_of_stage(const cost::layer_list& list, const cost::rank_layers& stage,
                                                      const cost::training& t, const cost::parallel& p,
                                                      const cost::machine& on) {
  cost::layer_time sum;
  for (const cost::rank_run& each : stage.layers) {
    const auto one = cost::time_of_layer(list, each.blocks, t, p, on, each.how);
    if (!one) return one.error();
    sum += static_cast<double>(each.count) * *one;
  }
  if (stage.ends.last) {
    const auto head = cost::time_of_head(list, t, p, on);
    if (!head) return head.error();
    sum += *head;
  }
  return passes_of(stage.layer_count, sum);
}

/// Bytes of the tensor [sequence, hidden] that one micro-batch sends from one pipeline rank to the next: per residual
/// stream of the widest boundary, split over tensor-parallel ranks if the sequence is, and over context-parallel ones.
/// Complexity: O(runs of equal layers).
[[nodiscard]] inline double boundary_bytes(const cost::layer_list& list, const cost::training& t,
                                           const cost::parallel& p) {
  std::int64_t streams = list.sizes.streams;
  for (const cost::repeated_layer& each : list.layers)
    streams = (std::max)(streams, cost::streams_behind(list.sizes, each.blocks));
  const double elements = static_cast<double>(t.sequence) * static_cast<double>(t.micro_batch) *
                          static_cast<double>(list.sizes.hidden * streams) / static_cast<double>(p.cp);
  return elements * t.activation_bytes.real() / static_cast<double>(p.sequence_parallel ? p.tp : 1);
}

}  // namespace hocket::inline HOCKET_ABI::planner
