// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/cost/formula/evaluate.hpp>
#include <hocket/cost/model/symbols.hpp>

namespace hocket::inline HOCKET_ABI::cost {

/// Micro-batches per pipeline and step, B/(b dp).
inline constexpr auto micro_batches = define("m", letters::B / (letters::b * letters::dp));

/// Micro-batches of the largest group that interleaving takes through all chunks of a rank at a time: m in as many
/// groups of at least pp as there can be, their sizes at most one apart. pp where pp divides m; Megatron-LM takes no
/// other m.  Needs: training, parallel.
inline constexpr auto largest_group =
    define("m_g", divide_up(micro_batches, greatest(divide_up(micro_batches + 1 - letters::pp, letters::pp), 1)));

/// Chunks of activations that rank i of a 1F1B pipeline holds at its peak: the warm-up and the one it is working on.
/// With one chunk per rank that is min(m, pp - i) micro-batches. With vp > 1 interleaved chunks it is
/// min(m vp, 2 (pp - i - 1) + (vp - 1) m_g + 1). That is hocket::pipeline::interleaved, for every m; where pp divides
/// m, also Megatron-LM's schedule. Other schedules: count them with hocket::pipeline. Needs: part, training, parallel.
/// Source: arXiv:2104.04473 section 2.2; docs/pipeline.md.
inline constexpr auto chunks_in_flight = [] {
  using letters::i, letters::pp, letters::vp;
  return choose(least(vp, 2) - 1, least(micro_batches, pp - i),
                least(micro_batches * vp, 2 * (pp - i - 1) + (vp - 1) * largest_group + 1));
}();

/// Idle time of a 1F1B pipeline of equal stages, over the time of its work: (pp - 1)/(vp m).
/// Needs: training, parallel.  Source: arXiv:2104.04473 section 2.2.
inline constexpr auto bubble_over_work = (letters::pp - 1) / (letters::vp * micro_batches);
/// The same over the whole time, (pp - 1)/(vp m + pp - 1).
inline constexpr auto bubble_over_total = (letters::pp - 1) / (letters::vp * micro_batches + letters::pp - 1);

}  // namespace hocket::inline HOCKET_ABI::cost
