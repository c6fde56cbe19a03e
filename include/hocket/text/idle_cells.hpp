// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/borrowed.hpp>
#include <hocket/pipeline/schedules/gpipe.hpp>
#include <hocket/pipeline/schedules/interleaved.hpp>
#include <hocket/pipeline/schedules/zbv.hpp>
#include <hocket/pipeline/schedules/zero_bubble.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace hocket::inline HOCKET_ABI::text {

/// Empty cells that PyTorch's generator writes on a rank, so that the columns of its file line up in time.
struct idle_cells {
  std::uint32_t first = 0;                   ///< before the first step
  std::uint32_t step = 0, gap = 0;           ///< so many before that step
  std::uint32_t single = ~std::uint32_t{0};  ///< one before this and every later step
  borrowed<std::uint32_t> counts{};          ///< if not empty, instead of these: before every step
  /// Empty cells before step i of the rank.
  [[nodiscard]] std::uint32_t before(std::uint32_t i) const noexcept {
    if (!counts.empty()) return counts[i];
    return (i == 0 ? first : 0) + (i == step ? gap : 0) + (i >= single ? 1 : 0);
  }
};

/// The empty cells of a rank where they have a formula: PyTorch's interleaved, looped and zero-bubble schedules.
template <class S>
idle_cells idle_cells_of([[maybe_unused]] const S& plan, [[maybe_unused]] std::uint32_t rank) {
  idle_cells cells;
  if constexpr (std::is_same_v<S, pipeline::interleaved>) {
    const auto& order = order_of(plan);
    if (order.kappa != 2 || order.extra != 0 || !order.even_groups()) return cells;  // not a schedule of PyTorch's
    const std::uint32_t p = plan.ranks(), v = plan.chunks(), w = order.warm_up(rank), n = v * plan.micro_batches();
    const std::int64_t until_backward =
        std::int64_t{v} * p + 2 * (std::int64_t{p} - 1 - rank) - (std::int64_t{w} + rank);
    cells.first = rank;
    cells.single = 2 * n - w;
    if (w > 0 && until_backward > 0) {
      cells.step = w;
      cells.gap = static_cast<std::uint32_t>(until_backward);
    }
  } else if constexpr (std::is_same_v<S, pipeline::gpipe>) {
    if (!plan.reversed()) return cells;
    cells.first = rank;
    cells.step = plan.size(rank) / 2;
    cells.gap = 2 * (plan.ranks() - 1 - rank);
  } else if constexpr (std::is_same_v<S, pipeline::zero_bubble>) {
    const auto& order = order_of(plan);
    if (!order.even_groups() || order.kappa != 1) return cells;
    const std::uint32_t below = plan.ranks() - 1 - rank;
    cells.first = rank;
    cells.step = (std::min)((plan.chunks() - 1) * order.largest_group() + below, order.count());
    cells.gap = below;
  } else if constexpr (std::is_same_v<S, pipeline::zbv>) {
    if (plan.micro_batches() + 1 >= 2 * plan.ranks()) cells.first = rank;  // else a list of our own
  }
  return cells;
}

/// Whether the formula is not enough: with few micro-batches PyTorch's ranks wait for each other in more places. Up to
/// 1,024 ranks: counting these cells takes time and memory with the square of the ranks.
inline bool waits_in_between(const pipeline::zero_bubble& plan) {
  return plan.ranks() <= 1024 && order_of(plan).even_groups() && order_of(plan).kappa == 1 &&
         plan.micro_batches() < plan.ranks();
}

/// The empty cells before each step of each rank: as `_add_bubbles_to_actions` of PyTorch finds them, which lets all
/// ranks take a cell at a time, and a forward wait for that of the stage before. O(actions).
inline std::vector<std::vector<std::uint32_t>> counted_idle_cells(const pipeline::zero_bubble& plan) {
  using pipeline::action, pipeline::action_kind;
  const std::uint32_t p = plan.ranks(), m = plan.micro_batches(), stages = p * plan.chunks();
  std::vector<std::vector<action>> lists(p);
  for (std::uint32_t r = 0; r < p; ++r) {
    const idle_cells idle = idle_cells_of(plan, r);
    for (std::uint32_t i = 0; i < plan.size(r); ++i) {
      lists[r].insert(lists[r].end(), idle.before(i), action());
      lists[r].push_back(plan.at(r, i));
    }
  }
  std::vector<std::vector<std::uint32_t>> counts(p);
  for (auto& c : counts) c.assign(1, 0);
  std::vector<bool> seen(std::size_t{stages} * m);
  std::vector<std::size_t> next(p), now;
  for (bool moved = true; moved;) {
    moved = false;
    now.clear();
    for (std::uint32_t r = 0; r < p; ++r) {
      if (next[r] == lists[r].size()) continue;
      const action a = lists[r][next[r]];
      const std::size_t stage = a.kind() == action_kind::idle ? 0 : plan.placement().stage(r, a.chunk());
      const std::size_t unit = stage * m + a.micro_batch();
      if (a.kind() == action_kind::forward && stage > 0 && !seen[unit - m]) {
        ++counts[r].back();
        continue;
      }
      moved = true;
      ++next[r];
      if (a.kind() == action_kind::idle) {
        ++counts[r].back();
      } else {
        counts[r].push_back(0);
        if (a.kind() == action_kind::forward) now.push_back(unit);
      }
    }
    for (const std::size_t unit : now) seen[unit] = true;
  }
  return counts;
}

}  // namespace hocket::inline HOCKET_ABI::text
