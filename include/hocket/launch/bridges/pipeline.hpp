// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/launch/bridges/pipeline_program.hpp>
#include <hocket/launch/detail/pipeline_lowering.hpp>
#include <hocket/pipeline/check.hpp>

#include <cstdint>
#include <memory_resource>
#include <vector>

namespace hocket::inline HOCKET_ABI::launch {

struct from_pipeline_options {
  std::uint32_t lookahead = 1;  ///< receives are posted this many actions before the one that needs them
  /// A rank waits for its oldest send beyond this many, behind a group if it is in one; 0: waits at the end only.
  std::uint32_t sends_in_flight = 0;
  bool pairs_at_once = false;     ///< a joined pair starts when both have their inputs, and sends when both have ended
  bool group_neighbours = false;  ///< listed transfers that follow each other make a group (as joined ones always do)
  bool complete_step = true;      ///< pipeline::check must accept the schedule; false for parts, such as inference
};

/// The steps of every rank of a pipeline, with the transfers between them, checked as a whole. Every send has its
/// receive, in the same order between any two ranks, and no rank waits for ever even if nothing is buffered.
/// A schedule that lists transfers (a lowered one) is followed to the letter; neighbouring transfers that are `joined`
/// make a group. For one that does not, each result is sent when it is there, and receives are posted `lookahead`
/// actions early, in the order in which their sender sends.
/// The order follows from the schedule alone: ranks that have the same schedule (compare `pipeline::fingerprint_of`)
/// have the same programs.
/// @param witness  after errc::transfer_deadlock: the ranks that would wait for each other
/// Errors: those of pipeline::check and of check_transfers; errc::bad_transfer for transfers that fit no action.
/// Complexity: O(actions · log actions) time and O(actions + ranks²) memory, for all ranks together.
///
///     const auto plan = hocket::pipeline::interleaved::make({.ranks = 4, .chunks = 2, .micro_batches = 9}).value();
///     const auto program = hocket::launch::from_pipeline(plan).value();
///     program.steps(0).size();                                        // run by pipeline_runner
template <pipeline::schedule S>
[[nodiscard]] result<pipeline_program> from_pipeline(
    const S& plan, const from_pipeline_options& options = {}, std::pmr::vector<blocked_transfer>* witness = nullptr,
    std::pmr::memory_resource* memory = std::pmr::get_default_resource()) {
  if (witness != nullptr) witness->clear();
  if (options.complete_step)
    if (const auto ok = pipeline::check(plan, nullptr, memory); !ok) return ok.error();
  return detail::pipeline_lowering<S, from_pipeline_options>(plan, options, memory).make(witness);
}

}  // namespace hocket::inline HOCKET_ABI::launch
