// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/arithmetic.hpp>
#include <hocket/core/result.hpp>
#include <hocket/core/ticks.hpp>
#include <hocket/pipeline/shape.hpp>

namespace hocket::inline HOCKET_ABI::pipeline {

/// The least makespan that any schedule of this shape can have, if stages are placed in a loop and the backward of a
/// chunk is one piece. A schedule that reports its distance from it needs no trust.
/// @param s     ranks p, chunks v, micro-batches m, each >= 1
/// @param f, b  time of one forward, one fused backward of a chunk, in ticks, each >= 0
/// @return (f+b)(v max(m,p) + min(m,p) - 1) in ticks; errc::overflow past 2^63 - 1; errc::bad_shape
/// Complexity: O(1).  Source: docs/pipeline.md, "The bound" (proof).
///
///     static_assert(makespan_bound({.ranks = 4, .chunks = 2, .micro_batches = 9}, 1, 1).value() == 42);
[[nodiscard]] constexpr result<ticks> makespan_bound(const shape& s, ticks f, ticks b) noexcept {
  if (const auto ok = check(s); !ok) return ok.error();
  if (f < 0 || b < 0) return error{errc::invalid_argument, f < 0 ? f : b}.with("a negative time");
  const ticks more = s.micro_batches > s.ranks ? s.micro_batches : s.ranks;
  const ticks less = s.micro_batches > s.ranks ? s.ranks : s.micro_batches;
  const ticks beats = s.chunks * more + less - 1;  // at most 64 · 2^21 + 2^16: no overflow for a valid shape
  ticks beat = 0, total = 0;
  if (!checked_add(f, b, beat)) return error{errc::overflow, f, b}.with("forward + backward");
  if (!checked_multiply(beat, beats, total)) return error{errc::overflow, beat, beats}.with("makespan bound");
  return total;
}

/// The same for schedules that may split the backward into an input and a weight gradient and run the latter later:
/// the last rank cannot start before (p - 1) f and then has m·v·(f + i + w) of work. Tight for zero-bubble schedules.
/// @param f, i, w  time of one forward, input gradient, weight gradient of a chunk, in ticks, each >= 0
[[nodiscard]] constexpr result<ticks> split_makespan_bound(const shape& s, ticks f, ticks i, ticks w) noexcept {
  if (const auto ok = check(s); !ok) return ok.error();
  if (f < 0 || i < 0 || w < 0) return error{errc::invalid_argument, f < 0 ? f : i < 0 ? i : w}.with("a negative time");
  ticks beat = 0, work = 0, start = 0, total = 0;
  if (!checked_add(f, i, beat) || !checked_add(beat, w, beat))
    return error{errc::overflow, f, i}.with("forward + backward");
  if (!checked_multiply(beat, s.micro_batches * s.chunks, work))
    return error{errc::overflow, beat}.with("makespan bound");
  if (!checked_multiply(f, s.ranks - 1, start) || !checked_add(work, start, total))
    return error{errc::overflow, work, f}.with("makespan bound");
  return total;
}

/// The same for schedules that hold at most `cap` activations on rank r: a smaller cap costs at least f + b per unit.
/// @return (f+b)(mv + p - 1 + vp - r - cap), or makespan_bound where that is larger or where cap >= mv
/// Source: docs/pipeline.md, "Least memory" (proof).
[[nodiscard]] constexpr result<ticks> capped_makespan_bound(const shape& s, ticks f, ticks b, std::int64_t rank,
                                                            std::int64_t cap) noexcept {
  auto plain = makespan_bound(s, f, b);
  if (!plain) return plain;
  if (rank < 0 || rank >= s.ranks) return error{errc::out_of_range, rank, 0, s.ranks - 1}.with("rank");
  if (cap < 1) return error{errc::out_of_range, cap, 1, s.micro_batches * s.chunks}.with("cap");
  if (cap >= s.micro_batches * s.chunks) return plain;
  const ticks beats = s.micro_batches * s.chunks + s.ranks - 1 + s.stages() - rank - cap;
  ticks total = 0;
  if (beats <= 0) return plain;
  if (!checked_multiply(f + b, beats, total)) return error{errc::overflow, f + b, beats}.with("makespan bound");
  return total > *plain ? total : *plain;
}

}  // namespace hocket::inline HOCKET_ABI::pipeline
