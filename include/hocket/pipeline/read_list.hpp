// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/pipeline/cursor.hpp>
#include <hocket/pipeline/detail/phases.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

namespace hocket::inline HOCKET_ABI::pipeline {

namespace detail {

/// Calls use(span of actions, times, later) for what repeats in phases.
template <class Use>
constexpr void repeats_of_phases(const phase_list& list, Use&& use) {
  for (std::uint32_t i = 0; i < list.phase_count(); ++i) {
    const phase_list::phase& x = list[i];
    for (std::uint32_t round = 0;;) {  // stretches in each of which the same lanes are left
      action now[phase_list::max_lanes];
      std::uint32_t step[phase_list::max_lanes] = {};
      std::uint32_t left = 0, next = ~std::uint32_t{0};
      bool same = true;
      for (std::uint32_t l = 0; l < x.width; ++l) {
        const phase_list::lane& y = x.lanes[l];
        if (y.rounds <= round) continue;
        now[left] = {y.kind, y.chunk, y.first + round * y.stride, y.joined};
        step[left++] = y.stride;
        same &= y.stride == step[0];
        if (y.rounds < next) next = y.rounds;
      }
      if (left == 0) break;
      const std::span<const action> period(now, left);
      if (same) use(period, next - round, step[0]), round = next;
      for (; round < next; ++round) {
        use(period, std::uint32_t{1}, std::uint32_t{0});
        for (std::uint32_t l = 0; l < left; ++l) now[l] = action::from_bits(now[l].bits() + step[l]);
      }
    }
  }
}

/// The same for a list in stretches: whole groups where they repeat, else forward and backward in turn.
template <alternating_schedule S, class Use>
constexpr void repeats_of_stretches(const S& plan, std::uint32_t rank, Use&& use) {
  constexpr std::uint32_t longest = 1024;
  [[maybe_unused]] const alternation beat = plan.rhythm(rank);
  run_cursor<S> at(plan, rank, 0);
  std::uint32_t step = 0;
  [[maybe_unused]] std::uint32_t tried = beat.warm_up;
  while (!at.done()) {
    if constexpr (requires { plan.repeats_from(step, step); }) {
      if (step >= tried && step < 2 * beat.count - beat.warm_up && (step - beat.warm_up) % 2 == 0) {
        const std::uint32_t t = (step - beat.warm_up) / 2;
        const auto zone = plan.repeats_from(beat.warm_up + t, t);
        if (zone.period != 0 && 2 * zone.period <= longest && zone.pairs >= 2 * zone.period) {
          action period[longest];
          const std::uint32_t length = 2 * zone.period, times = zone.pairs / zone.period;
          std::size_t filled = 0;
          while (filled < length) filled += at.take(period + filled, length - filled);
          use(std::span<const action>(period, length), times, zone.later);
          step += times * length;
          tried = step + 2 * (zone.pairs - times * zone.period);
          at = run_cursor<S>(plan, rank, step);
          continue;
        }
        tried = step + 64;  // not at every stretch, as asking divides
      }
    }
    const auto all = at.take_repeat();
    use(std::span<const action>(all.period, all.length), all.times, all.later);
    step += all.length * all.times;
  }
}

/// The same for a list that says where it repeats.
template <class S, class Use>
constexpr void repeats_of_steps(const S& plan, std::uint32_t rank, Use&& use) {
  constexpr std::uint32_t longest = 1024;
  action block[longest];
  for (std::uint32_t step = 0, size = plan.size(rank); step < size;) {
    const repeating_steps next = plan.repeats_at(rank, step);
    const bool again = next.period != 0 && next.period <= longest && next.steps >= 2 * next.period;
    const std::uint32_t times = again ? next.steps / next.period : 1;
    const std::uint32_t wanted = again ? next.period : next.steps < longest ? next.steps : longest;
    const auto length = static_cast<std::uint32_t>(fill(plan, rank, std::span<action>(block, wanted), step));
    use(std::span<const action>(block, length), times, next.later);
    step += times * length;
  }
}

}  // namespace detail

/// A schedule whose lists say where they repeat: `repeats_at(rank, step)`, for any step of the list.
template <class S>
concept says_where_it_repeats = schedule<S> && requires(const S& s, std::uint32_t x) {
  { s.repeats_at(x, x) } -> std::same_as<repeating_steps>;
};

/// Whether `for_each_repeat` knows what repeats in the schedule's lists without reading them.
template <class S>
concept repeating_schedule =
    alternating_schedule<S> || says_where_it_repeats<S> || (schedule<S> && requires(const S& s, std::uint32_t r) {
      { s.phases(r).phase_count() } -> std::convertible_to<std::uint32_t>;
      requires std::is_same_v<decltype(s.at(r, r)), action>;
    });

/// The list of one rank as what repeats in it. For those who can do with a repetition better than with its actions
/// one by one, such as writers of files.
/// @param use  use(span of actions, times, later): these actions, then the same `later` micro-batches later (added as a
///             std::uint32_t, which may wrap round to mean earlier), `times` times in all
/// Precondition: rank < plan.ranks(). Complexity: O(groups) or O(phases), without allocation; up to 5 KiB on the stack.
///
///     std::uint64_t size = 0;
///     for_each_repeat(plan, 0, [&](auto period, std::uint32_t times, std::uint32_t) { size += period.size() * times;
///     });
template <repeating_schedule S, class Use>
constexpr void for_each_repeat(const S& plan, std::uint32_t rank, Use&& use) {
  if constexpr (alternating_schedule<S>) detail::repeats_of_stretches(plan, rank, use);
  else if constexpr (says_where_it_repeats<S>) detail::repeats_of_steps(plan, rank, use);
  else detail::repeats_of_phases(plan.phases(rank), use);
}

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
