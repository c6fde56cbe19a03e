// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/result.hpp>
#include <hocket/cost/model/parallel.hpp>
#include <hocket/interop/pipeline_ranks.hpp>
#include <hocket/ranks/answer.hpp>
#include <hocket/ranks/check.hpp>
#include <hocket/ranks/machines.hpp>
#include <hocket/ranks/tell.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

// Whether the collectives and transfers of a planned step finish.
namespace hocket::inline HOCKET_ABI::interop {

/// What ranks::check says of the calls of a step.
struct checked_calls {
  rank_mesh mesh;        ///< besides the pipeline, with at most two ranks in each dimension
  ranks::answer answer;  ///< where a device runs as few calls at once as NCCL promises
  std::string told;      ///< the answer in words, several lines

  /// In one sentence.
  [[nodiscard]] std::string summary() const {
    using ranks::verdict;
    if (answer.says == verdict::safe) return "cannot hang, whatever the timing";
    const std::string enough = answer.enough_slots > 0 ? "cannot hang where a device runs " +
                                                             std::to_string(answer.enough_slots) + " calls at once; "
                                                       : std::string();
    if (answer.says == verdict::not_proved) return enough + "not proved for one at once";
    return enough + std::string(to_string(answer.says)) + " with one at once, which is what NCCL promises";
  }
};

/// Most passes of a step whose calls are checked: a second of work.
inline constexpr std::int64_t most_checked_passes = 1 << 14;

/// Checks the calls that all ranks of a step make: the schedule's transfers, and the collectives of tensor, context,
/// data and expert ranks around its passes, as ranks_of_pipeline puts them. Of each dimension two ranks are looked at:
/// all ranks of it call the same. Nothing if the step has more than most_checked_passes, or a rank alone.
/// @param plan  the schedule that runs
/// @param p     the other dimensions
/// Errors: those of ranks_of_pipeline and ranks::check. Complexity: that of ranks::check, of at most 16 times the
/// schedule's ranks.
///
///     const auto step = planner::plan_step(q);
///     interop::check_calls(*step->schedule, q.parallel).value()->summary();   // "cannot hang, whatever the timing"
template <pipeline::schedule S>
[[nodiscard]] result<std::optional<checked_calls>> check_calls(const S& plan, const cost::parallel& p) {
  const auto few = [](std::int64_t ranks) { return ranks > 1 ? 2U : 1U; };
  std::int64_t passes = 0;
  for (std::uint32_t r = 0; r < plan.ranks(); ++r) passes += plan.size(r);
  const bool alone = p.tp * p.cp * p.dp * p.pp == 1;
  if (alone || passes > most_checked_passes) return std::optional<checked_calls>();
  checked_calls out;
  out.mesh = {.tensor = few(p.tp), .context = few(p.cp), .data = few(p.dp)};
  if (p.ep > 1 && p.cp * p.dp > 1) out.mesh.expert = 2;
  const auto job = ranks_of_pipeline(plan, out.mesh, {.sequence_parallel = p.sequence_parallel});
  if (!job) return job.error();
  constexpr std::uint64_t work = 1 << 20;  // a tenth of a second: the answer of order and slots takes less
  auto found = ranks::check(*job, ranks::nccl(), {.work = work});
  if (!found) return found.error();
  out.answer = *std::move(found);
  out.told = sentence(*job, out.answer);
  return std::optional<checked_calls>(std::move(out));
}

}  // namespace hocket::inline HOCKET_ABI::interop
