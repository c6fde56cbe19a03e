// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/core/arithmetic.hpp>
#include <hocket/core/time.hpp>
#include <hocket/planner/schedule/detail/search_input.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner::detail::scheduling {

/// The shortest time that an activation of each stage is held: as long as the rest of its way takes.
[[nodiscard]] inline std::vector<ticks> least_lives(const search_input& in) {
  std::vector<ticks> life(in.stages);
  ticks rest = 0;
  for (std::uint32_t s = in.stages; s-- > 0;) {
    rest += in.times.forward[s] + in.times.backward[s] + (s + 1 < in.stages ? 2 * in.hop_between(s, s + 1) : 0);
    life[s] = rest + in.times.weight_grad[s];
  }
  return life;
}

/// The shortest time in which rank r can hold `n` activations of each of its stages so long, within its cap.
[[nodiscard]] inline ticks lives_within_cap(const search_input& in, const std::vector<ticks>& life, std::uint32_t r,
                                            ticks n) {
  const ticks cap = in.cap[r];
  ticks whole = 0;
  ticks rest = 0;  // apart, as the sum may not fit
  for (const std::uint32_t s : in.owned[r]) {
    whole += n * life[s] / cap;
    rest += n * life[s] % cap;
  }
  return whole + ceil_div(rest, cap);
}

/// A bound on the makespan from one rank: it waits for its first forward, is busy, and what follows its last action
/// follows. Busy: for all its work; and for as long as its activations must be held, each for the rest of its way at
/// least. At most `cap` are held at a time, fewer until so many forwards have started, and again after all but so many
/// have ended. Complexity: O(stages).
[[nodiscard]] inline ticks work_bound(const search_input& in, std::uint32_t r) {
  const ticks cap = in.cap[r];
  const ticks m = in.micro_batches;
  ticks outside = 0;
  for (std::uint32_t s = 0; s < in.owned[r].front(); ++s) {
    outside += in.times.forward[s] + in.hop_between(s, s + 1);
    outside += in.split ? 0 : in.times.backward[s] + in.hop_between(s, s + 1);
  }
  ticks work = 0;
  ticks first = never;
  ticks last = never;
  for (const std::uint32_t s : in.owned[r]) {
    work += m * in.time_of_stage(s);
    first = (std::min)(first, in.times.forward[s]);
    last = (std::min)(last, in.split ? in.times.weight_grad[s] : in.times.backward[s]);
  }
  if (!in.is_scarce(r)) return outside + work;
  const ticks held = lives_within_cap(in, least_lives(in), r, m) + (first + last) * (cap - 1) / 2;
  return outside + (std::max)(work, held);
}

}  // namespace hocket::inline HOCKET_ABI::planner::detail::scheduling
