// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/core/arithmetic.hpp>
#include <hocket/core/result.hpp>
#include <hocket/core/time.hpp>
#include <hocket/planner/schedule/detail/list_scheduler.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner::detail {

/// The shortest time that an activation of each stage is held: as long as the rest of its way takes.
[[nodiscard]] inline std::vector<ticks> least_lives(const search_input& in) {
  std::vector<ticks> life(in.stages);
  ticks rest = 0;
  for (std::uint32_t s = in.stages; s-- > 0;) {
    rest += in.forward[s] + in.backward[s] + (s + 1 < in.stages ? 2 * in.hop_between(s, s + 1) : 0);
    life[s] = rest + in.weight[s];
  }
  return life;
}

/// The shortest time in which rank r can hold `n` activations of each of its stages so long, within its cap.
[[nodiscard]] inline ticks lives_within_cap(const search_input& in, const std::vector<ticks>& life, std::uint32_t r,
                                            ticks n) {
  const ticks cap = in.cap[r];
  ticks whole = 0, rest = 0;  // apart, as the sum may not fit
  for (const std::uint32_t s : in.owned[r]) whole += n * life[s] / cap, rest += n * life[s] % cap;
  return whole + ceil_div(rest, cap);
}

/// A rank waits for its first forward, does all its work, and what follows its last action follows.
[[nodiscard]] inline ticks uncapped_window(const search_input& in, std::uint32_t r) {
  ticks head = 0, work = 0, tail = 0;
  const std::uint32_t first = in.owned[r].front();
  for (std::uint32_t s = 0; s < first; ++s) head += in.forward[s] + in.hop_between(s, s + 1);
  for (const std::uint32_t s : in.owned[r])
    work += ticks{in.micro_batches} * (in.forward[s] + in.backward[s] + in.weight[s]);
  if (!in.split)
    for (std::uint32_t s = 0; s < first; ++s) tail += in.backward[s] + in.hop_between(s, s + 1);
  return head + work + tail;
}

/// The same under the cap: at most that many forwards run before the rank's first backward, and at most that many
/// activations are left when its last forward starts; the first waits for the way there and back, and from the second
/// that way is still to go. What the rank cannot fill of the two, it idles.
[[nodiscard]] inline ticks capped_window(const search_input& in, std::uint32_t r) {
  const ticks m = in.micro_batches;
  const std::uint32_t first = in.owned[r].front(), last = in.owned[r].back();
  if (!in.is_scarce(r)) return 0;
  ticks there = 0, rest = 0, back = 0, whole_back = 0, head = 0, tail = 0, work = 0;
  for (std::uint32_t s = 0; s < in.stages; ++s) {
    const ticks hop = s + 1 < in.stages ? in.hop_between(s, s + 1) : 0;
    there += in.forward[s] + hop, whole_back += in.backward[s] + hop;
    if (s > last) rest += in.forward[s], back += in.backward[s];
    if (s >= last) rest += hop, back += hop;
    if (s < first) head += in.forward[s] + hop, tail += in.backward[s] + hop;
  }
  if (in.split) tail = 0;
  for (const std::uint32_t s : in.owned[r]) work += m * (in.forward[s] + in.backward[s] + in.weight[s]);
  const auto most = [&](auto&& time) {  // of as many activations as the cap allows
    std::vector<ticks> each;
    for (const std::uint32_t s : in.owned[r]) each.push_back(time(s));
    std::sort(each.begin(), each.end());
    ticks sum = 0, left = in.cap[r];
    for (std::size_t i = each.size(); i-- > 0 && left > 0; left -= m) sum += each[i] * (left < m ? left : m);
    return sum;
  };
  const ticks before = there + back - most([&](std::uint32_t s) { return in.forward[s]; });
  const ticks after =
      rest + whole_back + in.weight[0] - most([&](std::uint32_t s) { return in.backward[s] + in.weight[s]; });
  return work + (std::max)(head, before) + (std::max)(tail, after);
}

/// Each activation is held at least for as long as the rest of its way takes, and the rank holds at most `cap` at a
/// time: fewer than that until so many forwards have started, and again after all but so many have ended.
[[nodiscard]] inline ticks memory_time(const search_input& in, std::uint32_t r) {
  const ticks cap = in.cap[r], m = in.micro_batches;
  if (!in.is_scarce(r)) return 0;
  ticks head = 0, tail = 0, first = partial_schedule::never, last = partial_schedule::never;
  for (std::uint32_t s = 0; s < in.owned[r].front(); ++s) {
    head += in.forward[s] + in.hop_between(s, s + 1);
    tail += in.split ? 0 : in.backward[s] + in.hop_between(s, s + 1);
  }
  for (const std::uint32_t s : in.owned[r]) {
    first = (std::min)(first, in.forward[s]);
    last = (std::min)(last, in.split ? in.weight[s] : in.backward[s]);
  }
  return head + tail + lives_within_cap(in, least_lives(in), r, m) + (first + last) * (cap - 1) / 2;
}

/// A bound on the makespan from what one rank has to do and may hold: the best of the three above. Complexity:
/// O(stages).
[[nodiscard]] inline ticks rank_window(const search_input& in, std::uint32_t r) {
  return (std::max)({uncapped_window(in, r), capped_window(in, r), memory_time(in, r)});
}

}  // namespace hocket::inline HOCKET_ABI::planner::detail
