// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The changes that both programs make, and how XLA's map learns of them.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <random>
#include <vector>

#include "xla/hlo/analysis/hlo_reachability.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace example {

using instructions = std::vector<xla::HloInstruction*>;

struct control_edge {
  xla::HloInstruction* before = nullptr;
  xla::HloInstruction* after = nullptr;
};

/// Adds a control edge between two instructions that nothing orders yet. Null if none is found.
inline control_edge add_control_edge(const instructions& all, const xla::HloReachabilityMap& map,
                                     std::mt19937& random) {
  for (int attempt = 0; attempt < 10000; ++attempt) {
    const std::size_t i = random() % all.size(), j = random() % all.size();
    if (map.IsConnected(all[i], all[j])) continue;
    if (all[i]->AddControlDependencyTo(all[j]).ok()) return {all[i], all[j]};
  }
  return {};
}

struct pair {
  xla::HloInstruction* left = nullptr;
  xla::HloInstruction* right = nullptr;
};

/// A producer with a consumer, or two consumers of one value: what fusion passes look at.
inline pair pair_to_fuse(const instructions& all, std::mt19937& random) {
  for (int attempt = 0; attempt < 10000; ++attempt) {
    xla::HloInstruction* const value = all[random() % all.size()];
    const auto& users = value->users();
    if (users.empty()) continue;
    xla::HloInstruction* const one = users[random() % users.size()];
    if (random() % 2 != 0) return {value, one};
    xla::HloInstruction* const other = users[random() % users.size()];
    if (one != other) return {one, other};
  }
  return {};
}

/// Does a path lead from one to the other through a third? Then they must not be fused.
inline bool leads_through_others(const instructions& all, const xla::HloReachabilityMap& map, const pair& p) {
  const std::size_t left = map.GetIndex(p.left), right = map.GetIndex(p.right);
  const auto same = [&map](std::size_t a, std::size_t b) { return map.IsReachable(a, b) && map.IsReachable(b, a); };
  const auto between = [&](std::size_t a, std::size_t x, std::size_t b) {
    return map.IsReachable(a, x) && map.IsReachable(x, b) && !same(a, x) && !same(x, b);
  };
  return std::any_of(all.begin(), all.end(), [&](const xla::HloInstruction* i) {
    const std::size_t x = map.GetIndex(i);
    return between(left, x, right) || between(right, x, left);
  });
}

/// Makes two instructions one in a map, by the calls of XLA's MultiOutputFusion in the version of the wheel.
template <class Map>
void fuse(const instructions& all, Map& map, const pair& p) {
  using index = typename Map::Index;
  const index left = map.GetIndex(p.left), right = map.GetIndex(p.right);
  for (index x = 0; x < all.size(); ++x) {
    const bool after_left = map.IsReachable(left, x), after_right = map.IsReachable(right, x);
    if (after_left == after_right) continue;
    const std::array<index, 2> both{x, after_left ? right : left};
    map.FastSetReachabilityToUnion(absl::MakeConstSpan(both), x);
  }
}

}  // namespace example
