// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/pipeline/cursor.hpp>
#include <hocket/pipeline/phases.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

namespace hocket::inline HOCKET_ABI::pipeline {

namespace detail {

/// Writes the actions of phases one after another.
template <class Put>
constexpr void walk_phases(const phase_list& list, Put&& put) {
  for (std::uint32_t i = 0; i < list.phase_count(); ++i) {
    const phase_list::phase& x = list[i];
    for (std::uint32_t round = 0;;) {  // stretches in each of which the same lanes are left
      action now[phase_list::max_lanes];
      std::uint32_t step[phase_list::max_lanes] = {};
      std::uint32_t left = 0, next = ~std::uint32_t{0};
      for (std::uint32_t l = 0; l < x.width; ++l) {
        const phase_list::lane& y = x.lanes[l];
        if (y.rounds <= round) continue;
        now[left] = {y.kind, y.chunk, y.first + round * y.stride, y.joined};
        step[left++] = y.stride;
        if (y.rounds < next) next = y.rounds;
      }
      if (left == 0) break;
      for (; round < next; ++round)
        for (std::uint32_t l = 0; l < left; ++l) {
          put(now[l]);
          now[l] = action::from_bits(now[l].bits() + step[l]);
        }
    }
  }
}

}  // namespace detail

/// Reads the list of one rank in blocks, by the fastest way that the schedule offers: its stretches, its
/// phases, its memory (`rank(r)` that is a span), or one step after another. For those who go through all of it, such
/// as writers of files.
/// @param use  use(span of the schedule's own actions), in the order of the list; a span has 1 to 128 of them
/// Precondition: rank < plan.ranks(). Complexity: O(size), without allocation; up to 3 KiB on the stack.
///
///     std::uint64_t sum = 0;
///     for_each_block(plan, 0, [&](auto block) { for (const auto a : block) sum += a.micro_batch(); });
template <schedule S, class Use>
constexpr void for_each_block(const S& plan, std::uint32_t rank, Use&& use) {
  using entry = decltype(plan.at(rank, rank));
  constexpr std::size_t most = 128;
  if constexpr (alternating_schedule<S>) {
    rank_cursor<S>(plan, rank).for_each_block([&](std::span<const action> all) {
      for (std::size_t from = 0; from < all.size(); from += most)
        use(all.subspan(from, all.size() - from < most ? all.size() - from : most));
    });
  } else if constexpr (std::is_same_v<entry, action> && requires { plan.phases(rank).phase_count(); }) {
    entry block[most];
    std::size_t count = 0;
    detail::walk_phases(plan.phases(rank), [&](action a) {
      block[count++] = a;
      if (count == most) use(std::span<const entry>(block, most)), count = 0;
    });
    if (count > 0) use(std::span<const entry>(block, count));
  } else if constexpr (requires { std::span<const entry>(plan.rank(rank)); }) {
    const std::span<const entry> all(plan.rank(rank));
    for (std::size_t from = 0; from < all.size(); from += most)
      use(all.subspan(from, all.size() - from < most ? all.size() - from : most));
  } else {
    entry block[most];
    const std::uint32_t size = plan.size(rank);
    for (std::uint32_t step = 0; step < size;) {
      const std::size_t count = size - step < most ? size - step : most;
      for (std::size_t i = 0; i < count; ++i) block[i] = plan.at(rank, step + static_cast<std::uint32_t>(i));
      use(std::span<const entry>(block, count));
      step += static_cast<std::uint32_t>(count);
    }
  }
}

}  // namespace hocket::inline HOCKET_ABI::pipeline
