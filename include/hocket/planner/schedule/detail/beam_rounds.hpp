// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/planner/detail/random_numbers.hpp>
#include <hocket/planner/schedule/detail/beam_search.hpp>
#include <hocket/planner/schedule/detail/list_scheduler.hpp>
#include <hocket/planner/schedule/detail/order_search.hpp>
#include <hocket/planner/schedule/detail/rank_blocks.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner::detail {

/// Beams, round after round, each with other weights of the ranks' memory, and moves along the critical path of each.
/// Most rounds keep the best schedule up to some time and build only the rest again; every eighth also moves actions of
/// the best one for longer. Each has a target, about the best or below: windows of actions under it tell at once which
/// partial schedules cannot meet it, so that narrow beams do. With whole backwards, turned round in time, with forwards
/// for backwards, the question is one of the same kind, so every other round builds from the end. Numbers are drawn by
/// a generator of its own, so every machine finds the same.
class beam_rounds {
 public:
  /// @param blocks  to ask for windows; null: without
  beam_rounds(const search_input& in, rank_blocks* blocks) : in_(in), turned_(turn(in)), blocks_(blocks) {}

  /// @param start   a schedule, in any order that keeps that of each rank
  /// @param steps   partial schedules that may be branched, all rounds together
  /// @param enough  stop at this makespan
  /// @return the makespan of list()
  [[nodiscard]] ticks operator()(const std::vector<placed>& start, std::int64_t steps, ticks enough) {
    const std::size_t all = in_.kinds() * std::size_t{in_.stages} * in_.micro_batches;
    beam_search beams[2] = {beam_search(in_), beam_search(turned_)};
    order_search moves(in_);
    constexpr std::int64_t moves_per_step = 50;  // they take as long
    const std::int64_t moves_each = 400 * static_cast<std::int64_t>(all);
    best_ = moves(start, 0, enough), list_ = moves.list(), bound_ = enough;
    known_.clear(), window_steps_ = steps / 4 * steps_per_branch;
    const auto better = [&](const std::vector<placed>& from, std::int64_t most) {
      const std::int64_t share = (std::min)(most, steps / 4 * moves_per_step);
      const ticks found = moves(from, share, enough);
      steps -= share / moves_per_step;
      if (found < best_) best_ = found, list_ = moves.list();
    };
    beam_search::taste like;
    like.weights.assign(in_.ranks, beam_search::usual);
    for (std::uint32_t round = 0; steps > 0 && best_ > bound_; ++round) {
      const bool back = !in_.split && round % 2 == 1;
      beam_search& beam = beams[back ? 1 : 0];
      if (round > 1) {
        for (std::uint32_t& w : like.weights) w = beam_search::usual / 2 + random_.below(3 * beam_search::usual / 2);
        like.pace = beam_search::usual * 3 / 4 + random_.below(beam_search::usual / 2);
        like.work = round % 4 < 2 ? 0 : random_.below(4 * beam_search::usual);
      }
      std::vector<placed> kept;
      if (round > 3 && random_.below(4) != 0) {
        kept = in_order(back);
        kept.resize(random_.below(static_cast<std::uint32_t>(kept.size())));
      }
      const std::int64_t wanted = round < 2 ? 256 : INT64_C(24) << (std::min)(round / 64, 16u);
      const std::int64_t width = (std::min)({wanted, beam.most_states(), steps / 2 / beam.steps_of_one()});
      if (width < 4) break;
      const std::vector<ticks>* latest = &any_time_;
      if (round > 1) {
        steps += window_steps_ / steps_per_branch;
        latest = &windows(draw_target(), back);
        steps -= window_steps_ / steps_per_branch;
        if (best_ <= bound_) break;
      }
      steps += beam.steps();
      const ticks made = beam(static_cast<std::size_t>(width), kept, like, *latest);
      steps -= beam.steps();
      if (made < partial_schedule::never) better(back ? turned_back(in_, beam.list()) : beam.list(), moves_each);
      if (round % 8 == 6 && best_ > bound_) better(list_, 8 * moves_each);
    }
    return best_;
  }
  /// In an order in which every action follows what it needs.
  [[nodiscard]] const std::vector<placed>& list() const noexcept { return list_; }
  /// No schedule is shorter: `enough`, or more where windows refuted a target.
  [[nodiscard]] ticks bound() const noexcept { return bound_; }

 private:
  static constexpr std::int64_t steps_per_branch = 40;  // of windows: they take as long
  static constexpr std::size_t most_known = 32;
  /// When actions start at the latest under a target, also of the question turned round.
  struct target_windows {
    ticks target = 0;
    std::vector<ticks> latest[2]{};
  };

  [[nodiscard]] static search_input turn(search_input in) {
    in.forward.swap(in.backward);
    return in;
  }
  /// Just below the best schedule, at times far below. Targets of long times lie on a grid, where the next one may be
  /// the best's or a little more, so that windows can be used again.
  [[nodiscard]] ticks draw_target() {
    const ticks grid = best_ / 256 + 1, range = (std::min)(best_ - bound_, ticks{1} << 30);
    ticks target = best_ - 1;
    if (random_.below(2) == 0) {
      const ticks below = random_.below(static_cast<std::uint32_t>(range)), share = random_.below(1024);
      target -= below * share / 1024;
    }
    return (target + grid - 1) / grid * grid;
  }
  /// The windows of the target, or of a higher one where steps do not last. Raises the bound if that is refuted.
  [[nodiscard]] const std::vector<ticks>& windows(ticks target, bool back) {
    const target_windows* near = nullptr;
    for (const target_windows& x : known_)
      if (x.target >= target && (near == nullptr || x.target < near->target)) near = &x;
    if (blocks_ != nullptr && window_steps_ > 0 && (near == nullptr || near->target > target)) {
      if (!blocks_->narrow(target, window_steps_)) {
        if (known_.size() == most_known) known_.erase(known_.begin());
        known_.push_back(read(target));
        near = &known_.back();
      } else {
        bound_ = (std::max)(bound_, target + 1);
      }
    }
    return near != nullptr ? near->latest[back ? 1 : 0] : any_time_;
  }
  [[nodiscard]] target_windows read(ticks target) const {
    const window_bound& of = blocks_->windows();
    const std::uint32_t kinds = in_.kinds(), m = in_.micro_batches;
    target_windows x{.target = target};
    for (auto& latest : x.latest) latest.resize(std::size_t{kinds} * in_.stages * m);
    for (std::uint32_t kind = 0; kind < kinds; ++kind)
      for (std::uint32_t s = 0; s < in_.stages; ++s)
        for (std::uint32_t k = 0; k < m; ++k) {
          const ticks time = in_.time(kind, s);
          x.latest[0][(std::size_t{kind} * in_.stages + s) * m + k] = of.latest_end(kind, s, k) - time;
          if (in_.split) continue;
          x.latest[1][(std::size_t{1 - kind} * in_.stages + s) * m + (m - 1 - k)] =
              target - of.earliest_start(kind, s, k) - time;
        }
    return x;
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
  rank_blocks* blocks_;
  ticks best_ = partial_schedule::never, bound_ = 0;
  std::vector<placed> list_;
  std::vector<target_windows> known_;
  std::vector<ticks> any_time_{};
  std::int64_t window_steps_ = 0;
  random_numbers random_{0x243f6a8885a308d3u};
};

}  // namespace hocket::inline HOCKET_ABI::planner::detail
