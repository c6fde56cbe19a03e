// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/pipeline/prefill/detail/cuts.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <vector>

namespace hocket::inline HOCKET_ABI::pipeline::detail {

/// Ways to cut one request for stages that differ: short pieces where the busiest stage would wait for long ones.
///
/// The busiest stage starts sooner if the first pieces are short. It need not wait afterwards: the stages before it are
/// quicker, and gain on it, so pieces may grow as fast as they do. With time turned round, the same holds for the last
/// pieces and the stages after it.
template <prefill_cost_policy C>
class prefill_ramps {
 public:
  prefill_ramps(const prefill_problem& problem, const C& costs, prefill_cuts<C>& cuts, std::uint32_t busiest,
                std::pmr::memory_resource* memory)
      : costs_(costs),
        cuts_(cuts),
        stages_(problem.stages()),
        busiest_(busiest),
        free_(std::size_t{stages_} * 2, 0, memory) {}

  /// The longest pieces that keep the busiest stage at work from `start` on, from first to last; none has a longer
  /// detour than `most`, but for pieces of the least size.
  template <class Vector>
  void rise(ticks start, ticks most, Vector& out) {
    cut(true, start, most, out);
  }
  /// The same from last to first: the busiest stage works until `end` before the end of the run.
  template <class Vector>
  void fall(ticks end, ticks most, Vector& out) {
    cut(false, end, most, out);
    std::reverse(out.begin(), out.end());
  }

 private:
  template <class Vector>
  void cut(bool forward, ticks start, ticks most, Vector& out) {
    const piece_limits& limits = cuts_.limits();
    const std::int64_t all = cuts_.request().tokens, unit = limits.align;
    out.clear();
    std::fill(free_.begin(), free_.end(), 0);
    std::int64_t left = all, former = limits.least;
    while (left > 0) {
      // From the end, the first piece takes the remainder of the alignment.
      const std::int64_t odd = !forward && left == all ? all % unit : 0;
      const std::int64_t least = odd > 0 ? odd : (std::min)(limits.least, left);
      const std::int64_t top = ((std::min)(left, limits.greatest) - odd) / unit;
      const auto fits = [&](std::int64_t units) {
        const prefill_piece x = piece(forward, all, left, units * unit + odd);
        return cuts_.detour(x.before - cuts_.request().cached, x.tokens) <= most &&
               way(forward, x, false) <= (std::max)(free_[busiest_], start);
      };
      std::int64_t low = (least - odd) / unit, step = (std::max)(former / unit / 8, std::int64_t{1});
      if (former / unit > low && former / unit <= top && fits(former / unit)) low = former / unit;
      while (low + step <= top && fits(low + step)) low += step;
      for (step /= 2; step > 0; step /= 2)
        if (low + step <= top && fits(low + step)) low += step;
      std::int64_t x = (std::min)(low * unit + odd, left);
      if (forward && left - x < unit && left <= limits.greatest) x = left;
      x = (std::max)(x, (std::min)(unit, left));
      way(forward, piece(forward, all, left, x), true);
      out.push_back(x);
      left -= x;
      former = x;
    }
  }
  [[nodiscard]] prefill_piece piece(bool forward, std::int64_t all, std::int64_t left, std::int64_t x) const {
    const std::int64_t before = forward ? all - left : left - x;
    return {0, before + x == all, cuts_.request().cached + before, x};
  }
  /// When a piece comes to the busiest stage; with `run`, it passes all stages.
  ticks way(bool forward, const prefill_piece& x, bool run) {
    ticks at = 0;
    for (std::uint32_t i = 0; i < stages_; ++i) {
      const std::uint32_t s = forward ? i : stages_ - 1 - i;
      if (!run && s == busiest_) return at;
      at = (std::max)(at, free_[s]) + capped(costs_.duration(s, x)) + (s + 1 == stages_ ? capped(costs_.tail(x)) : 0);
      if (run) free_[s] = at;
      if (i + 1 == stages_) break;
      const std::uint32_t border = forward ? s : s - 1;
      ticks& link = free_[stages_ + border];
      at = (std::max)(at, link) + capped(costs_.transfer(border, x));
      if (run) link = at;
      at += capped(costs_.latency(border));
    }
    return at;
  }

  const C& costs_;
  prefill_cuts<C>& cuts_;
  std::uint32_t stages_;
  std::uint32_t busiest_;
  std::pmr::vector<ticks> free_;  // stages, then links
};

}  // namespace hocket::inline HOCKET_ABI::pipeline::detail
