// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/cost/config.hpp>
#include <hocket/cost/evaluate.hpp>
#include <hocket/cost/symbols.hpp>

namespace hocket::inline HOCKET_ABI::cost {

/// Micro-batches per pipeline and step, B/(b dp).
inline constexpr auto micro_batches = define(BOOST_HANA_STRING("m"), letters::B / (letters::b * letters::dp));

/// Chunks of activations that rank i of a 1F1B pipeline holds at its peak: micro-batches with one chunk per rank,
/// min(m, pp - i); with vp > 1 interleaved chunks, min(m vp, 2 (pp - i - 1) + (vp - 1) pp + 1), the warm-up of
/// Megatron-LM's schedule and the one it is working on. Other schedules: count them with hocket::pipeline.
/// Needs: part, training, parallel.  Source: arXiv:2104.04473 section 2.2.
inline constexpr auto chunks_in_flight = [] {
  using letters::i, letters::pp, letters::vp;
  return choose(least(vp, 2) - 1, least(micro_batches, pp - i),
                least(micro_batches * vp, 2 * (pp - i - 1) + (vp - 1) * pp + 1));
}();

}  // namespace hocket::inline HOCKET_ABI::cost
