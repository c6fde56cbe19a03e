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

/// Micro-batches of a step on each pipeline. O(1).
[[nodiscard]] constexpr std::int64_t micro_batches_of(const cost::training& t, const cost::parallel& p) noexcept {
  return t.global_batch / (t.micro_batch * p.dp);
}

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
/// @param sizes   layers of each stage; empty: dealt out as cost::layers_of_ranks does
/// @param replay  what each layer computes again beside the level of p
/// Errors: those of cost::layers_of_ranks. Complexity: O(stages + runs of equal layers).
[[nodiscard]] inline result<std::vector<cost::rank_layers>> layers_of_stages(const cost::layer_list& list,
                                                                             const cost::parallel& p,
                                                                             std::span<const std::int64_t> sizes = {},
                                                                             const cost::replay_set& replay = {}) {
  cost::parallel flat = p;
  flat.pp = p.pp * p.vp;
  flat.vp = 1;
  return cost::layers_of_ranks(list, flat, sizes, replay);
}

/// The layers of all stages in model order, from those of their ranks.
/// @param ranks  as cost::layers_of_ranks has them, each run with what it computes again
/// @param sizes  layers of each stage, from which `ranks` were made; empty: dealt out as cost::dealt_stages does
/// Errors: those of cost::dealt_stages; errc::bad_shape unless there are pp ranks and pp * vp sizes;
/// errc::contradictory_field if a rank has other layers. Complexity: O(stages + runs of equal layers).
[[nodiscard]] inline result<std::vector<cost::rank_layers>> stages_of_ranks(const cost::layer_list& list,
                                                                            const cost::parallel& p,
                                                                            std::span<const cost::rank_layers> ranks,
                                                                            std::span<const std::int64_t> sizes = {}) {
  std::vector<std::int64_t> dealt;
  if (sizes.empty()) {
    auto even = cost::dealt_stages(list, p);
    if (!even) return even.error();
    dealt = std::move(*even);
    sizes = dealt;
  }
  const auto pp = static_cast<std::size_t>(p.pp), vp = static_cast<std::size_t>(p.vp);
  if (ranks.size() != pp || sizes.size() != pp * vp)
    return error{errc::bad_shape, p.pp, p.vp, static_cast<std::int64_t>(sizes.size())}.with("stage sizes");
  std::vector<cost::rank_layers> out(pp * vp);
  for (std::size_t stage = 0; stage < out.size(); ++stage)
    out[stage].ends = {.first = stage == 0, .last = stage + 1 == out.size(), .rank = static_cast<std::int64_t>(stage)};
  for (std::size_t r = 0; r < pp; ++r) {
    std::size_t chunk = 0;
    for (cost::rank_run run : ranks[r].layers) {
      if (run.place == cost::run_place::front) out[r].layers.push_back(run);
      if (run.place > cost::run_place::layer) out[(vp - 1) * pp + r].layers.push_back(run);
      if (run.place != cost::run_place::layer) continue;
      for (std::int64_t left = run.count; left > 0;) {
        while (chunk < vp && out[chunk * pp + r].layer_count == sizes[chunk * pp + r]) ++chunk;
        if (chunk == vp) return error{errc::contradictory_field, left, static_cast<std::int64_t>(r)}.with("layers");
        cost::rank_layers& to = out[chunk * pp + r];
        run.count = (std::min)(left, sizes[chunk * pp + r] - to.layer_count);
        to.layers.push_back(run);
        to.layer_count += run.count;
        left -= run.count;
      }
    }
  }
  return out;
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

/// The same without a machine: FLOPs of one micro-batch over a rate. What recompute of whole layers does again is a
/// forward pass. Errors: errc::undefined_value. Complexity: as time_of_stage.
[[nodiscard]] inline result<stage_time> counted_stage(const cost::layer_list& list, const cost::rank_layers& stage,
                                                      cost::training t, const cost::parallel& p,
                                                      const cost::convention& counted, double flops_per_second) {
  t.global_batch = t.micro_batch;
  const auto flops = cost::forward_flops_of_rank(list, stage, t, p, counted);
  if (!flops) return flops.error();
  const seconds forward(flops->real() / flops_per_second);
  const double again = p.recompute == cost::recompute::full ? 1 : 0;
  return stage_time{stage.layer_count, forward, (2 + again) * forward};
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
