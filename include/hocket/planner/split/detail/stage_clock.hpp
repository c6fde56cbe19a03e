// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/planner/split/detail/numbers.hpp>
#include <hocket/planner/split/detail/run_graph.hpp>
#include <hocket/planner/split/run.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner::detail {

/// What a stage takes with some layers: sums over the model, and what stands on each stage besides.
class stage_clock {
 public:
  /// Precondition: check(problem, how) passed.
  stage_clock(const split_problem& problem, const split_run& how) {
    const auto forward_of = [&](ticks time) { return time * how.forward_parts / how.whole_parts; };
    for (const split_layers& run : problem.layers) {
      for (std::int64_t i = 0; i < run.count; ++i) {
        time_.push_back(time_.back() + run.each.time.count());
        forward_.push_back(forward_.back() + forward_of(run.each.time.count()));
      }
    }
    for (const ticks time : times_beside(problem, how)) beside_.push_back({forward_of(time), time});
  }

  [[nodiscard]] std::size_t stages() const noexcept { return beside_.size(); }
  /// Stage s with the layers [a, b), which compute so much again.
  [[nodiscard]] stage_run operator()(std::size_t s, std::int64_t a, std::int64_t b, ticks extra) const noexcept {
    const auto from = static_cast<std::size_t>(a);
    const auto to = static_cast<std::size_t>(b);
    return {beside_[s].forward + forward_[to] - forward_[from], beside_[s].whole + time_[to] - time_[from] + extra};
  }
  /// All layers and all that stands besides.
  [[nodiscard]] stage_run total() const noexcept {
    stage_run sum{forward_.back(), time_.back()};
    for (const stage_run& x : beside_) sum = {sum.forward + x.forward, sum.whole + x.whole};
    return sum;
  }
  [[nodiscard]] stage_run layer(std::int64_t i) const noexcept {
    const auto at = static_cast<std::size_t>(i);
    return {forward_[at + 1] - forward_[at], time_[at + 1] - time_[at]};
  }
  [[nodiscard]] const stage_run& beside(std::size_t s) const noexcept { return beside_[s]; }

 private:
  /// What stands on each stage besides its layers: what the caller says, or a rank's time on one of its stages.
  [[nodiscard]] static std::vector<ticks> times_beside(const split_problem& q, const split_run& how) {
    std::vector<ticks> times(q.in_flight.stages(), 0);
    if (!how.beside.empty()) {
      for (std::size_t s = 0; s < times.size(); ++s) times[s] = how.beside[s].count();
      return times;
    }
    std::vector<bool> placed(q.ranks.size(), false);
    const auto place = [&](std::uint32_t s) {
      const std::uint32_t r = q.in_flight.rank_of(s);
      if (!placed[r]) times[s] = q.ranks[r].time.count();
      placed[r] = true;
    };
    place(q.in_flight.stages() - 1);
    for (std::uint32_t s = 0; s < times.size(); ++s) place(s);
    return times;
  }

  std::vector<ticks> time_{0}, forward_{0};  // of all layers before each
  std::vector<stage_run> beside_;            // by stage
};

}  // namespace hocket::inline HOCKET_ABI::planner::detail
