// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/arithmetic.hpp>
#include <hocket/core/ticks.hpp>
#include <hocket/planner/schedule/detail/search_input.hpp>

#include <algorithm>
#include <cstddef>
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

/// A bound where memory is scarce. At most `cap` forwards run before the rank's first backward, and at most as many
/// activations are left when its last forward starts. The first waits for the way there and back, and from the second
/// that way is still to go. What the rank cannot fill of the two, it idles.
[[nodiscard]] inline ticks way_bound(const search_input& in, std::uint32_t r) {
  const ticks m = in.micro_batches;
  const std::uint32_t first = in.owned[r].front();
  const std::uint32_t last = in.owned[r].back();
  ticks head = 0;           // before the first forward
  ticks tail = 0;           // after the last backward
  ticks there_back = 0;     // from the begin to the rank's first backward
  ticks rest_and_back = 0;  // from the rank's last forward to the end
  for (std::uint32_t s = 0; s < in.stages; ++s) {
    const ticks hop = s + 1 < in.stages ? in.hop_between(s, s + 1) : 0;
    const ticks forward = in.times.forward[s];
    const ticks backward = in.times.backward[s];
    there_back += forward + hop + (s > last ? backward : 0) + (s >= last ? hop : 0);
    rest_and_back += backward + hop + (s > last ? forward : 0) + (s >= last ? hop : 0);
    head += s < first ? forward + hop : 0;
    tail += s < first && !in.split ? backward + hop : 0;
  }
  ticks work = 0;
  for (const std::uint32_t s : in.owned[r]) work += m * in.time_of_stage(s);
  const auto most_of_cap = [&](auto&& time) {  // the time of as many activations as the cap allows
    std::vector<ticks> each;
    for (const std::uint32_t s : in.owned[r]) each.push_back(time(s));
    std::sort(each.begin(), each.end());
    ticks sum = 0;
    ticks left = in.cap[r];
    for (std::size_t i = each.size(); i-- > 0 && left > 0; left -= m) sum += each[i] * (std::min)(left, m);
    return sum;
  };
  const ticks before = there_back - most_of_cap([&](std::uint32_t s) { return in.times.forward[s]; });
  const ticks after = rest_and_back + in.times.weight_grad[0] -
                      most_of_cap([&](std::uint32_t s) { return in.times.backward[s] + in.times.weight_grad[s]; });
  return work + (std::max)(head, before) + (std::max)(tail, after);
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
  return (std::max)({outside + work, outside + held, way_bound(in, r)});
}

}  // namespace hocket::inline HOCKET_ABI::planner::detail::scheduling
