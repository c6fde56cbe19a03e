// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/arithmetic.hpp>
#include <hocket/core/borrowed.hpp>
#include <hocket/core/result.hpp>
#include <hocket/core/ticks.hpp>

#include <cstdint>

namespace hocket::inline HOCKET_ABI::pipeline {

/// Rounds of decoding in a pipeline: m micro-batches go round and round, each makes one token of each of its sequences
/// in a round, and starts the next round when that token is back on the first stage.
struct decode_problem {
  borrowed<ticks> stages;          ///< time of a round's pass through each stage, each a rank of its own, >= 0
  borrowed<ticks> transfers{};     ///< time of the link after each stage, the last one's back to the first: one number
                                   ///< for all, or one for each stage; empty: 0
  ticks hop = 0;                   ///< time from the end of that until the next stage has it, >= 0
  std::int64_t micro_batches = 1;  ///< m >= 1, in flight
};

/// The steady state of decoding.
struct decode_rounds {
  ticks round = 0;          ///< from one token of a sequence to its next
  ticks latency = 0;        ///< of a round that has the pipeline to itself: no round is shorter
  ticks bottleneck = 0;     ///< the longest time of a stage or a link for one micro-batch
  std::int64_t enough = 1;  ///< so many micro-batches keep the bottleneck busy: more add no tokens per second
  double busy = 0;          ///< the part of its time for which the bottleneck works

  /// Tokens of all micro-batches in a second. @param sequences  in each micro-batch
  [[nodiscard]] double tokens_per_second(std::int64_t micro_batches, std::int64_t sequences,
                                         std::int64_t ticks_per_second) const noexcept {
    return static_cast<double>(micro_batches) * static_cast<double>(sequences) * static_cast<double>(ticks_per_second) /
           static_cast<double>(round);
  }
};

/// How long a round takes when the pipeline has run for a while: max(latency, m · bottleneck).
///
/// The rounds form a cyclic graph of events; its period is the largest mean weight of a cycle. A cycle winds w times
/// through the stages and u times through the micro-batches. It weighs at most w · latency + u · m · bottleneck, so no
/// mean is above the larger of both; and each of the two is the mean of a cycle (docs/prefill.md, "Decoding").
///
/// Errors: errc::out_of_range for no stages, wrong numbers of transfers, m < 1, negative times, and a round without
/// time; errc::overflow. Complexity: O(stages).
///
///     const ticks stages[] = {10, 10, 12, 10};
///     decode_steady_state({.stages = stages, .hop = 1, .micro_batches = 4}).value().round == 48;   // 4 · 12 > 46
[[nodiscard]] constexpr result<decode_rounds> decode_steady_state(const decode_problem& a) noexcept {
  const auto count = static_cast<std::int64_t>(a.stages.size()), links = static_cast<std::int64_t>(a.transfers.size());
  if (count < 1) return error{errc::out_of_range, count, 1, INT64_MAX}.with("the number of stages");
  if (links > 1 && links != count)
    return error{errc::out_of_range, links, count, count}.with("the number of transfers");
  if (a.micro_batches < 1) return error{errc::out_of_range, a.micro_batches, 1, INT64_MAX}.with("micro-batches");
  decode_rounds found;
  for (std::int64_t s = 0; s < count; ++s) {
    const auto at = static_cast<std::size_t>(s);
    const ticks link = links == 0 ? 0 : a.transfers[links == 1 ? 0 : at];
    for (const ticks t : {a.stages[at], link, a.hop}) {
      if (t < 0) return error{errc::out_of_range, t, 0, INT64_MAX}.with("the time of a round");
      if (!checked_add(found.latency, t, found.latency)) return error{errc::overflow, found.latency, t}.with("a round");
    }
    found.bottleneck = a.stages[at] > found.bottleneck ? a.stages[at] : found.bottleneck;
    found.bottleneck = link > found.bottleneck ? link : found.bottleneck;
  }
  if (found.latency == 0) return error{errc::out_of_range, 0, 1, INT64_MAX}.with("the time of a round");
  ticks full = 0;
  if (!checked_multiply(found.bottleneck, a.micro_batches, full))
    return error{errc::overflow, found.bottleneck, a.micro_batches}.with("a round");
  found.round = full > found.latency ? full : found.latency;
  found.enough = found.bottleneck > 0 ? ceil_div(found.latency, found.bottleneck) : 1;
  found.busy = static_cast<double>(full) / static_cast<double>(found.round);
  return found;
}

}  // namespace hocket::inline HOCKET_ABI::pipeline
