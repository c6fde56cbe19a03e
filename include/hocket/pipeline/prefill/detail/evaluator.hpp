// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/int128.hpp>
#include <hocket/pipeline/prefill/detail/line.hpp>
#include <hocket/pipeline/prefill/detail/scheduler.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory_resource>
#include <span>
#include <vector>

namespace hocket::inline HOCKET_ABI::pipeline::detail {

using cut_list = std::pmr::vector<std::int64_t>;  // sizes of the pieces of one request

/// What a plan is worth: when its last request ends, or the sum of all ends. Smaller is better.
template <prefill_cost_policy C>
class prefill_evaluator {
 public:
  static constexpr int128 never = int128{1} << 100;

  prefill_evaluator(const prefill_problem& problem, const C& costs, std::pmr::memory_resource* memory)
      : problem_(problem),
        line_{costs, problem.stages()},
        scheduler_(problem, costs, memory),
        states_(memory),
        room_(line_.width(), 0, memory),
        sums_(problem.requests.size() + 1, 0, memory),
        flat_(memory) {
    if (problem.chunks == 1) states_.assign(line_.width() * sums_.size(), 0);
  }

  /// The value of a plan that is like the kept one up to a request.
  /// @param order  for several chunks; the better one of both, if it is null
  [[nodiscard]] int128 value(std::span<const cut_list> plan, std::size_t from, prefill_order order) {
    if (problem_.chunks > 1) return scheduled(plan, order);
    const std::size_t width = line_.width();
    std::copy_n(states_.begin() + static_cast<std::ptrdiff_t>(from * width), width, room_.begin());
    int128 sum = sums_[from];
    ticks end = 0;
    for (std::size_t r = from; r < plan.size(); ++r) {
      end = pass(plan, r);
      sum += end;
    }
    return problem_.goal == prefill_goal::last_end ? int128{end} : sum;
  }
  /// Keeps the states of a plan from a request on, for `value`.
  void keep(std::span<const cut_list> plan, std::size_t from) {
    if (problem_.chunks > 1) return;
    const std::size_t width = line_.width();
    std::copy_n(states_.begin() + static_cast<std::ptrdiff_t>(from * width), width, room_.begin());
    for (std::size_t r = from; r < plan.size(); ++r) {
      sums_[r + 1] = sums_[r] + pass(plan, r);
      std::copy(room_.begin(), room_.end(), states_.begin() + static_cast<std::ptrdiff_t>((r + 1) * width));
    }
  }
  /// Times of pieces on stages that were looked at so far.
  [[nodiscard]] std::int64_t steps() const noexcept { return steps_; }

 private:
  ticks pass(std::span<const cut_list> plan, std::size_t r) {
    const prefill_request& request = problem_.requests[r];
    std::int64_t done = 0;
    ticks end = 0;
    for (const std::int64_t x : plan[r]) {
      const prefill_piece piece{static_cast<std::uint32_t>(r), done + x == request.tokens, request.cached + done, x};
      end = line_.pass(room_, piece, request.arrival);
      done += x;
    }
    steps_ += static_cast<std::int64_t>(plan[r].size()) * line_.stages;
    return end;
  }
  [[nodiscard]] int128 scheduled(std::span<const cut_list> plan, prefill_order order) {
    flat_.clear();
    for (const cut_list& x : plan) flat_.insert(flat_.end(), x.begin(), x.end());
    if (!scheduler_.set_sizes(flat_)) return never;
    const std::uint32_t stages = line_.stages;
    int128 sum = 0;
    ticks end = 0;
    const auto ran = scheduler_(order, [&](std::uint32_t k, std::uint32_t s, ticks, ticks finish) {
      if (s + 1 < stages || !scheduler_.pieces()[k].last) return;
      sum += finish;
      end = (std::max)(end, finish);
    });
    steps_ += static_cast<std::int64_t>(flat_.size()) * stages * stages / 4;  // choosing takes as long as timing
    if (!ran) return never;
    return problem_.goal == prefill_goal::last_end ? int128{end} : sum;
  }

  const prefill_problem& problem_;
  prefill_line<C> line_;
  prefill_scheduler<C> scheduler_;
  std::pmr::vector<ticks> states_;  // before each request, and after the last
  std::pmr::vector<ticks> room_;
  std::pmr::vector<int128> sums_;  // of ends, before each request
  cut_list flat_;
  std::int64_t steps_ = 0;
};

}  // namespace hocket::inline HOCKET_ABI::pipeline::detail
