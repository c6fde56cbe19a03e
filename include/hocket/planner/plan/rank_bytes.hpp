// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/bytes.hpp>
#include <hocket/core/result.hpp>
#include <hocket/cost/model/list_stages.hpp>
#include <hocket/planner/plan/step_problem.hpp>
#include <hocket/planner/split/in_flight.hpp>

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner {

/// An exact number of bytes, rounded up. Precondition: it fits 64 bits.
///
///     planner::bytes_up(plan.fullest().peak.total_bytes());
[[nodiscard]] inline bytes bytes_up(const cost::rational& x) {
  return bytes(static_cast<std::int64_t>(x.ceiling().num()));
}

}  // namespace hocket::inline HOCKET_ABI::planner

// Bytes of the ranks of a step whose stages differ: each chunk keeps what its own layers keep, as often as the schedule
// holds it at one time.
namespace hocket::inline HOCKET_ABI::planner::detail {

/// Bytes that one layer keeps of one micro-batch.
[[nodiscard]] inline result<cost::rational> kept_by_layer(const step_problem& q, const cost::layer_blocks& blocks,
                                                          const cost::recompute_choice& how) {
  cost::parallel p = q.parallel;
  p.recompute = how.level;
  return cost::layer_activation_bytes(q.model, blocks, q.training, p, how.operations);
}
/// Bytes that the runs of a stage keep of one micro-batch.
[[nodiscard]] inline result<cost::rational> kept_by_stage(const step_problem& q, const cost::rank_layers& stage) {
  cost::rational sum = 0;
  for (const cost::rank_run& run : stage.layers) {
    const auto one = kept_by_layer(q, run.blocks, run.how);
    if (!one) return one.error();
    sum = sum + *one * cost::rational(run.count);
  }
  return sum;
}
[[nodiscard]] inline result<bytes> static_bytes_of(const step_problem& q, const cost::layer_blocks& blocks) {
  const auto size = cost::static_bytes(q.model, blocks, q.training, q.parallel);
  if (!size) return size.error();
  return bytes_up(*size);
}

/// Most micro-batches that have passed a stage at once.
[[nodiscard]] inline std::int64_t most_held(const in_flight_profile& held, std::uint32_t stage) {
  const std::uint32_t rank = held.rank_of(stage), chunk = held.chunk_of(stage);
  std::uint32_t most = 0;
  for (std::uint32_t k = 0; k < held.times(rank); ++k) most = (std::max)(most, held.at(rank, k)[chunk]);
  return most;
}

/// What a rank has beside the model's layers: blocks of the first and last stage, and prediction modules.
[[nodiscard]] inline cost::rank_layers ends_of_rank(const step_problem& q, const in_flight_profile& held,
                                                    std::uint32_t rank) {
  const cost::layer_list& list = q.model;
  cost::rank_layers out;
  out.ends = {.first = held.rank_of(0) == rank, .last = held.rank_of(held.stages() - 1) == rank, .rank = rank};
  if (out.ends.first && !list.front.empty()) out.layers.push_back({list.front, 1, {}, cost::run_place::front});
  if (!out.ends.last) return out;
  for (const cost::repeated_layer& each : list.predictions)
    out.layers.push_back({each.blocks, each.count, {}, cost::run_place::prediction});
  if (!list.back.empty()) out.layers.push_back({list.back, 1, {}, cost::run_place::back});
  return out;
}

/// What stands on a rank whatever its layers keep: states, ends, the moments of the peak.
/// @param whole  whether some layer is recomputed whole, and so made once more
[[nodiscard]] inline result<cost::list_memory> memory_without_kept(const step_problem& q, const cost::rank_layers& on,
                                                                   bool whole, std::int64_t embedded) {
  const cost::recompute_choice how{whole ? cost::recompute::full : cost::recompute::none, {}};
  return cost::memory_of_rank(q.model, cost::with_choice(on, how), q.training, q.parallel, {0, embedded});
}

/// Bytes of a rank beside its layers, any of which may come to stand there: the moments are those of the largest.
[[nodiscard]] inline result<bytes> bytes_beside_layers(const step_problem& q, const in_flight_profile& held,
                                                       const cost::rank_layers& ends, bool whole) {
  const std::uint32_t last = held.stages() - 1;
  const std::int64_t embedded = ends.ends.first ? most_held(held, 0) : 0;
  const auto own = memory_without_kept(q, ends, false, embedded);
  const auto sets = cost::static_bytes(q.model, cost::shared_weights(q.model), q.training, q.parallel);
  if (!own) return own.error();
  if (!sets) return sets.error();
  cost::rational kept = 0;
  for (const cost::rank_run& run : ends.layers) {
    const auto one = kept_by_layer(q, run.blocks, {});
    if (!one) return one.error();
    const std::int64_t passes = most_held(held, run.place == cost::run_place::front ? 0 : last);
    kept = kept + *one * cost::rational(run.count * passes);
  }
  cost::rank_layers all = ends;
  for (const cost::repeated_layer& each : q.model.layers) all.layers.push_back({each.blocks, 1});
  const auto with_all = memory_without_kept(q, all, whole, embedded);
  if (!with_all) return with_all.error();
  return bytes_up(own->static_bytes + *sets + kept) + bytes_up(with_all->peak.total_bytes() - with_all->static_bytes) +
         bytes(1);
}

/// What each rank has of stages that stand where a profile says.
[[nodiscard]] inline std::vector<cost::rank_layers> ranks_of_stages(std::span<const cost::rank_layers> stages,
                                                                    const in_flight_profile& held) {
  std::vector<cost::rank_layers> out(held.ranks());
  for (cost::rank_layers& x : out) x.ends.first = x.ends.last = false;
  for (std::uint32_t s = 0; s < stages.size(); ++s) {
    cost::rank_layers& to = out[held.rank_of(s)];
    to = joined(to, stages[s]);
    to.ends.rank = held.rank_of(s);
  }
  return out;
}

/// What the stages of one rank keep at its fullest time.
struct kept_at_peak {
  cost::rational bytes = 0;
  std::int64_t layer_passes = 0;
};
[[nodiscard]] inline result<kept_at_peak> kept_by_rank(const step_problem& q, std::span<const cost::rank_layers> stages,
                                                       const in_flight_profile& held, std::uint32_t rank) {
  std::vector<cost::rational> kept(held.chunks(), cost::rational(0));
  std::vector<std::int64_t> layers(held.chunks(), 0);
  for (std::uint32_t s = 0; s < stages.size(); ++s) {
    if (held.rank_of(s) != rank) continue;
    const auto one = kept_by_stage(q, stages[s]);
    if (!one) return one.error();
    kept[held.chunk_of(s)] = *one;
    layers[held.chunk_of(s)] = stages[s].layer_count;
  }
  kept_at_peak out;
  for (std::uint32_t k = 0; k < held.times(rank); ++k) {
    const auto counts = held.at(rank, k);
    kept_at_peak now;
    for (std::uint32_t c = 0; c < held.chunks(); ++c) {
      now.bytes = now.bytes + kept[c] * cost::rational(std::int64_t{counts[c]});
      now.layer_passes += counts[c] * layers[c];
    }
    if (k == 0 || out.bytes < now.bytes) out = now;
  }
  return out;
}

/// Memory of a rank at the fullest of its times.
/// @param on  the rank's part of `stages`
[[nodiscard]] inline result<cost::rank_memory> memory_of_stages(const step_problem& q,
                                                                std::span<const cost::rank_layers> stages,
                                                                const cost::rank_layers& on,
                                                                const in_flight_profile& held, std::uint32_t rank) {
  const auto kept = kept_by_rank(q, stages, held, rank);
  if (!kept) return kept.error();
  const bool whole = std::any_of(on.layers.begin(), on.layers.end(),
                                 [](const cost::rank_run& run) { return run.how.level == cost::recompute::full; });
  const std::int64_t embedded = on.ends.first ? most_held(held, 0) : 0;
  const auto rest = memory_without_kept(q, on, whole, embedded);
  if (!rest) return rest.error();
  cost::rank_memory out;
  out.on_rank = on.ends;
  out.on_rank.layers = on.layer_count;
  out.in_flight = {.layer_passes = kept->layer_passes, .embedding_passes = embedded};
  out.parameters = rest->parameters;
  out.static_bytes = rest->static_bytes;
  out.activation_bytes = rest->activation_bytes + kept->bytes;
  out.peak = rest->peak;
  out.peak.kept_bytes = out.peak.kept_bytes + kept->bytes;
  return out;
}

}  // namespace hocket::inline HOCKET_ABI::planner::detail
