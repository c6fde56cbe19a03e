// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/planner/detail/beam_search.hpp>
#include <hocket/planner/detail/list_scheduler.hpp>
#include <hocket/planner/detail/order_search.hpp>
#include <hocket/planner/detail/random_numbers.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner::detail {

/// Beams, round after round, each with other weights of the ranks' memory, and moves along the critical path of each.
/// Most rounds keep the best schedule up to some time and build only the rest again; every eighth also moves actions of
/// the best one for longer. With whole backwards, turned round in time, with forwards for backwards, the question is
/// one of the same kind, so every other round builds from the end. Numbers are drawn by a generator of its own, so
/// every machine finds the same.
class beam_rounds {
 public:
  explicit beam_rounds(const search_input& in) : in_(in), turned_(turn(in)) {}

  /// @param start   a schedule, in an order in which every action follows what it needs
  /// @param steps   partial schedules that may be branched, all rounds together
  /// @param enough  stop at this makespan
  /// @return the makespan of list()
  [[nodiscard]] ticks operator()(const std::vector<placed>& start, std::int64_t steps, ticks enough) {
    const std::size_t all = (in_.split ? 3u : 2u) * std::size_t{in_.stages} * in_.micro_batches;
    beam_search beams[2] = {beam_search(in_), beam_search(turned_)};
    order_search moves(in_);
    constexpr std::int64_t moves_per_step = 160;  // they take as long
    const std::int64_t moves_each = 4000 * static_cast<std::int64_t>(all);
    best_ = moves(start, 0, enough), list_ = moves.list();
    const auto better = [&](const std::vector<placed>& from, std::int64_t most) {
      const std::int64_t share = (std::min)(most, steps / 4 * moves_per_step);
      const ticks found = moves(from, share, enough);
      steps -= share / moves_per_step;
      if (found < best_) best_ = found, list_ = moves.list();
    };
    std::vector<std::uint32_t> weights(in_.ranks, beam_search::usual);
    std::uint32_t pace = beam_search::usual, work = 0;
    for (std::uint32_t round = 0; steps > 0 && best_ > enough; ++round) {
      if (round % 8 == 7) better(list_, 8 * moves_each);
      const bool back = !in_.split && round % 2 == 1;
      beam_search& beam = beams[back ? 1 : 0];
      if (round > 1) {
        for (std::uint32_t& w : weights) w = beam_search::usual / 2 + random_.below(3 * beam_search::usual / 2);
        pace = beam_search::usual * 3 / 4 + random_.below(beam_search::usual / 2);
        work = round % 4 < 2 ? 0 : random_.below(4 * beam_search::usual);
      }
      std::vector<placed> kept;
      if (round > 3 && random_.below(4) != 0) {
        kept = in_order(back);
        kept.resize(random_.below(static_cast<std::uint32_t>(kept.size())));
      }
      const std::int64_t wanted = std::int64_t{round < 2 ? 256 : 128} << (std::min)(round / 64, 16u);
      const std::int64_t width = (std::min)({wanted, beam.most_states(), steps / 2 / beam.steps_of_one()});
      if (width < 4) break;
      steps += beam.steps();
      const ticks made = beam(static_cast<std::size_t>(width), kept, pace, work, weights);
      steps -= beam.steps();
      if (made >= partial_schedule::never) continue;
      better(back ? turned_back(in_, beam.list()) : beam.list(), moves_each);
    }
    return best_;
  }
  /// In an order in which every action follows what it needs.
  [[nodiscard]] const std::vector<placed>& list() const noexcept { return list_; }

 private:
  [[nodiscard]] static search_input turn(search_input in) {
    in.forward.swap(in.backward);
    return in;
  }
  /// The best schedule, by start; of the question turned round if `back`.
  [[nodiscard]] std::vector<placed> in_order(bool back) const {
    std::vector<placed> list = list_;
    if (back) {
      order_search sorter(turned_);  // a list that was turned back follows what it needs only rank by rank
      (void)sorter(turned_back(in_, list), 0, 0);
      list = sorter.list();
    }
    partial_schedule plan(back ? turned_ : in_);
    std::vector<std::pair<ticks, std::size_t>> starts;
    for (const placed& x : list) {
      const ticks start = (std::max)(plan.ready(x.stage, x.kind), plan.free_at[x.rank]);
      plan.start(x.stage, x.kind, start);
      starts.push_back({start, starts.size()});
    }
    std::sort(starts.begin(), starts.end());
    std::vector<placed> sorted;
    for (const auto& x : starts) sorted.push_back(list[x.second]);
    return sorted;
  }

  const search_input& in_;
  search_input turned_;
  ticks best_ = partial_schedule::never;
  std::vector<placed> list_;
  random_numbers random_{0x243f6a8885a308d3u};
};

}  // namespace hocket::inline HOCKET_ABI::planner::detail
