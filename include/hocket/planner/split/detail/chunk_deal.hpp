// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/planner/split/detail/rank_choice.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner::detail {

/// Deals n equal layers out to the chunks of one rank, at least one to each, and chooses their levels: the least extra
/// time that fits at each of the rank's maximal counts. A bound comes from weighing the counts (even_weights): then
/// bytes in the cheapest chunk are the best case, and what they may be at most is a look into the front of n layers.
/// Local search fills points of that front into chunks; where it misses the bound, a depth-first search over the
/// chunks, cut by the same bound on the chunks that follow, ends the matter within its budget.
class chunk_deal {
 public:
  struct answer {
    ticks extra = never;  ///< never: none found
    ticks bound = 0;      ///< no way to deal has less; == extra: proved; never: none fits
    std::vector<std::int64_t> sizes;
    std::vector<level> points;
  };

  /// @param most  layers that a chunk may have
  chunk_deal(const in_flight_profile& profile, std::uint32_t rank, std::int64_t most)
      : held_(counts_of(profile, rank)), most_(most) {
    chunks_ = held_.front().size();
    for (std::size_t d = 0; d < chunks_; ++d) {
      bounds_.emplace_back(held_, d);
      if (d > 0) bounds_[d].weigh(held_, bounds_[0].even());
    }
  }

  /// @param left  bytes for what layers keep
  [[nodiscard]] answer operator()(segment_fronts& fronts, std::int64_t n, std::int64_t left, std::int64_t budget,
                                  std::int64_t& used) {
    fronts_ = &fronts;
    answer best;
    const auto v = static_cast<std::int64_t>(chunks_);
    if (left < 0 || n < v || n > v * most_) return best.bound = never, best;
    left_.assign(held_.size(), left);
    best.bound = bound(0, n);
    if (best.bound >= never) return best;
    best_ = &best;
    const level_front& all = fronts_->of(0, n);
    // The first point that local search can place, as far as steps that double and bisection find it.
    std::size_t low = 0, step = 1, size = all.size();
    while (all[low].extra < best.bound) ++low;
    if (fill(n, all[low], left)) return best;
    std::size_t high = low;
    for (bool placed = false; !placed && high + 1 < size; step *= 2) {
      low = high, high = (std::min)(high + step, size - 1);
      placed = fill(n, all[high], left);
    }
    while (best.extra < never && high - low > 1) {
      const std::size_t mid = low + (high - low) / 2;
      (fill(n, all[mid], left) ? high : low) = mid;
    }
    chosen_sizes_.assign(chunks_, 0), chosen_.assign(chunks_, level{});
    left_budget_ = budget;
    descend(0, n, 0);
    used += budget - left_budget_;
    if (left_budget_ >= 0) best.bound = best.extra;
    return best;
  }

  /// The fewest layers' activations that n layers need at once, dealt out as well as can be.
  struct load_answer {
    std::int64_t load = 0;
    bool proved = true;
  };
  [[nodiscard]] load_answer least_load(std::int64_t n, std::int64_t budget, std::int64_t& used) {
    const layer_run one[] = {{{0, 0, {{1, 0}}}, n}};
    segment_fronts unit(one);
    if (n > static_cast<std::int64_t>(chunks_) * most_) return {never, true};
    std::int64_t low = -1, high = 0;  // the first does not fit, the second does
    for (const auto& at : held_) {
      std::int64_t most = 0;
      for (const std::int64_t x : at) most = (std::max)(most, x);
      high = (std::max)(high, most * n);
    }
    load_answer found{high, true};
    std::int64_t refuted = low;
    while (high - low > 1) {
      const std::int64_t mid = low + (high - low) / 2;
      const answer x = (*this)(unit, n, mid, budget, used);
      if (x.extra < never) {
        high = mid;
      } else {
        low = mid;
        if (x.bound >= never) refuted = mid;
      }
    }
    found.load = high, found.proved = refuted + 1 == high;
    return found;
  }

 private:
  /// Least extra time of n layers on the chunks from d on, with what is left at each count.
  [[nodiscard]] ticks bound(std::size_t d, std::int64_t n) {
    const std::int64_t lean = fronts_->of(0, 1).back().bytes;
    return bounds_[d].least_extra(fronts_->of(0, n), lean, left_);
  }

  /// Local search: the layers of one point of the front, moved and exchanged between chunks until they fit. False if
  /// they do not.
  bool fill(std::int64_t n, const level& point, std::int64_t left) {
    const level_front& one = fronts_->of(0, 1);
    const std::size_t levels = one.size();
    // How many layers of each level the point stands for.
    std::vector<std::int64_t> count(levels, 0);
    level rest = point;
    for (std::int64_t i = n; i > 0; --i) {
      const level_front& before = fronts_->of(0, i - 1);
      for (std::size_t l = 0; l < levels; ++l) {
        const level* found = cheapest(before, rest.bytes - one[l].bytes);
        if (rest.bytes < one[l].bytes || found == nullptr || found->bytes != rest.bytes - one[l].bytes ||
            found->extra != rest.extra - one[l].extra)
          continue;
        ++count[l], rest = *found;
        break;
      }
    }
    std::vector<std::vector<std::int64_t>> at(chunks_, std::vector<std::int64_t>(levels, 0));
    std::vector<std::int64_t> size(chunks_, 0), load(held_.size(), 0);
    std::size_t c = 0;
    for (std::size_t l = 0; l < levels; ++l)
      for (std::int64_t i = 0; i < count[l]; ++i, c = (c + 1) % chunks_) {
        ++at[c][l], ++size[c];
        for (std::size_t k = 0; k < held_.size(); ++k) load[k] += held_[k][c] * one[l].bytes;
      }
    const auto excess_after = [&](std::size_t a, std::size_t b, std::int64_t bytes) {  // moved from a to b
      wide sum = 0;
      for (std::size_t k = 0; k < held_.size(); ++k) {
        const wide x = wide{load[k]} + wide{held_[k][b] - held_[k][a]} * bytes - left;
        if (x > 0) sum += x;
      }
      return sum;
    };
    wide now = excess_after(0, 0, 0);
    while (now > 0) {
      wide least = now;
      std::size_t from = 0, to = 0, out = 0, back = levels;
      for (std::size_t a = 0; a < chunks_; ++a)
        for (std::size_t b = 0; b < chunks_; ++b) {
          if (a == b) continue;
          for (std::size_t l = 0; l < levels; ++l) {
            if (at[a][l] == 0) continue;
            for (std::size_t x = l + 1; x <= levels; ++x) {  // for a leaner one of b, or for none
              if (x == levels ? size[a] == 1 || size[b] == most_ : at[b][x] == 0) continue;
              const wide then = excess_after(a, b, one[l].bytes - (x == levels ? 0 : one[x].bytes));
              if (then < least) least = then, from = a, to = b, out = l, back = x;
            }
          }
        }
      if (least == now) return false;
      const std::int64_t bytes = one[out].bytes - (back == levels ? 0 : one[back].bytes);
      for (std::size_t k = 0; k < held_.size(); ++k) load[k] += (held_[k][to] - held_[k][from]) * bytes;
      --at[from][out], ++at[to][out];
      if (back == levels) --size[from], ++size[to];
      else --at[to][back], ++at[from][back];
      now = least;
    }
    best_->extra = point.extra, best_->sizes = size;
    best_->points.assign(chunks_, level{});
    for (std::size_t x = 0; x < chunks_; ++x)
      for (std::size_t l = 0; l < levels; ++l)
        best_->points[x].bytes += at[x][l] * one[l].bytes, best_->points[x].extra += at[x][l] * one[l].extra;
    return true;
  }

  struct child {
    ticks bound;
    std::int64_t size;
    level point;
  };
  void descend(std::size_t d, std::int64_t n, ticks extra) {
    if (d == chunks_) {
      best_->extra = extra, best_->sizes = chosen_sizes_, best_->points = chosen_;
      return;
    }
    const auto after = static_cast<std::int64_t>(chunks_ - d - 1);
    std::vector<child> list;
    const std::int64_t longest = (std::min)(n - after, most_);
    for (std::int64_t size = (std::max)(std::int64_t{1}, n - after * most_); size <= longest; ++size) {
      const level_front& front = fronts_->of(0, size);
      std::int64_t allowed = never;
      for (std::size_t k = 0; k < held_.size(); ++k)
        if (held_[k][d] > 0) allowed = (std::min)(allowed, left_[k] / held_[k][d]);
      for (const level* x = cheapest(front, allowed); x != nullptr && x != front.data() + front.size(); ++x) {
        if (extra + x->extra >= best_->extra) break;
        if (--left_budget_ < 0) return;
        if (after == 0) {
          list.push_back({extra + x->extra, size, *x});
          break;
        }
        for (std::size_t k = 0; k < held_.size(); ++k) left_[k] -= held_[k][d] * x->bytes;
        const ticks least = bound(d + 1, n - size);
        for (std::size_t k = 0; k < held_.size(); ++k) left_[k] += held_[k][d] * x->bytes;
        if (least < never && extra + x->extra + least < best_->extra)
          list.push_back({extra + x->extra + least, size, *x});
      }
    }
    std::sort(list.begin(), list.end(), [](const child& a, const child& b) {
      if (a.bound != b.bound) return a.bound < b.bound;
      return a.size != b.size ? a.size < b.size : a.point.extra < b.point.extra;
    });
    for (const child& x : list) {
      if (x.bound >= best_->extra) return;
      for (std::size_t k = 0; k < held_.size(); ++k) left_[k] -= held_[k][d] * x.point.bytes;
      chosen_sizes_[d] = x.size, chosen_[d] = x.point;
      descend(d + 1, n - x.size, extra + x.point.extra);
      for (std::size_t k = 0; k < held_.size(); ++k) left_[k] += held_[k][d] * x.point.bytes;
      if (left_budget_ < 0 || best_->extra == best_->bound) return;
    }
  }

  segment_fronts* fronts_ = nullptr;
  std::vector<std::vector<std::int64_t>> held_;  // by count, by chunk
  std::size_t chunks_ = 1;
  std::int64_t most_;
  std::vector<count_bound> bounds_;  // by first chunk
  std::vector<std::int64_t> left_;   // by count
  answer* best_ = nullptr;
  std::vector<std::int64_t> chosen_sizes_;
  std::vector<level> chosen_;
  std::int64_t left_budget_ = 0;
};

}  // namespace hocket::inline HOCKET_ABI::planner::detail
