// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Time that every order on so many streams takes.
#pragma once
#include <hocket/core/ids.hpp>
#include <hocket/core/ticks.hpp>
#include <hocket/graph/detail/list_schedule.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace hocket::inline HOCKET_ABI::graph::detail {

// The ops that start at `begin` or later, from those with most to come: their work on all streams between both.
[[nodiscard]] inline ticks time_bound_from(const issue_program& p, ticks begin, std::span<const node_id> by_tail,
                                           stream_id streams) {
  ticks bound = 0, work = 0;
  for (const node_id b : by_tail) {
    if (p.head[b] < begin) continue;
    work += p.durations[b];
    const ticks shared = work / streams + (work % streams != 0 ? 1 : 0);
    bound = (std::max)(bound, begin + shared + p.tail[b]);
  }
  return bound;
}

// No list of ops that share so many streams takes less than this. `looks`: heads that are looked at, each a pass.
[[nodiscard]] inline ticks time_bound(const issue_program& p, std::vector<node_id> ops, stream_id streams,
                                      std::size_t looks) {
  std::sort(ops.begin(), ops.end(),
            [&p](node_id x, node_id y) { return p.tail[x] != p.tail[y] ? p.tail[x] > p.tail[y] : x < y; });
  ticks least = 0;
  std::vector<ticks> heads;
  for (const node_id b : ops) {
    heads.push_back(p.head[b]);
    least = (std::max)(least, p.head[b] + p.durations[b] + p.tail[b]);
  }
  std::sort(heads.begin(), heads.end());
  heads.erase(std::unique(heads.begin(), heads.end()), heads.end());
  const std::size_t step = heads.size() / looks + 1;
  for (std::size_t i = 0; i < heads.size(); i += step)
    least = (std::max)(least, time_bound_from(p, heads[i], ops, streams));
  return least;
}

// No order takes less: of the ops on the streams for all, and of those on each stream alone.
[[nodiscard]] inline ticks least_time(const issue_program& p) {
  constexpr std::size_t most = 64;  // neighbouring heads say nearly the same
  std::vector<node_id> shared;
  std::vector<std::vector<node_id>> alone(p.pinned.empty() ? 0 : p.lanes);
  for (const node_id b : p.live) {
    const stream_id s = p.pin(b);
    if (s == no_id || s < p.streams) shared.push_back(b);
    if (s != no_id) alone[s].push_back(b);
  }
  ticks least = time_bound(p, std::move(shared), p.streams, most);
  for (std::vector<node_id>& ops : alone) least = (std::max)(least, time_bound(p, std::move(ops), 1, most));
  return least;
}

}  // namespace hocket::inline HOCKET_ABI::graph::detail
