// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/planner/split_problem.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner::detail {

/// The Pareto front of a few layers: extra time ascending, bytes per micro-batch strictly descending. Exact integers.
using level_front = std::vector<level>;

/// What is left of `list` (any order) if no entry is as good as another in both.
inline void keep_front(level_front& list) {
  std::sort(list.begin(), list.end(),
            [](const level& a, const level& b) { return a.extra != b.extra ? a.extra < b.extra : a.bytes < b.bytes; });
  std::size_t kept = 0;
  for (const level& x : list)
    if (kept == 0 || x.bytes < list[kept - 1].bytes) list[kept++] = x;
  list.resize(kept);
}

/// Most points of a front; more means layers so different that no exact answer is at hand.
inline constexpr std::size_t max_front = std::size_t{1} << 17;

/// The front of some layers and one more.
inline level_front extended(const level_front& some, const level_front& one) {
  level_front all;
  all.reserve(some.size() * one.size());
  for (const level& y : one)
    for (const level& x : some) all.push_back({x.bytes + y.bytes, x.extra + y.extra});
  keep_front(all);
  return all;
}

/// The least extra time that keeps at most `bytes`: an entry of the front, or nullptr.
inline const level* cheapest(const level_front& front, std::int64_t bytes) noexcept {
  const auto at = std::partition_point(front.begin(), front.end(), [&](const level& x) { return x.bytes > bytes; });
  return at == front.end() ? nullptr : &*at;
}

/// The fronts of all segments [begin, end) of the model, made when they are asked for. Equal layers share theirs.
class segment_fronts {
 public:
  explicit segment_fronts(std::span<const layer_run> runs) {
    for (const layer_run& run : runs) {
      std::size_t kind = 0;
      while (kind < kinds_.size() && kinds_[kind] != run.of) ++kind;
      if (kind == kinds_.size()) {
        kinds_.push_back(run.of);
        level_front front;
        for (std::uint32_t k = 0; k < run.of.levels.size(); ++k) front.push_back(run.of.levels[k]);
        keep_front(front);
        levels_.push_back(front);
      }
      for (std::int64_t i = 0; i < run.count; ++i) {
        kind_of_.push_back(static_cast<std::uint32_t>(kind));
        time_.push_back(time_.back() + run.of.time);
        weights_.push_back(weights_.back() + run.of.weights);
        leanest_.push_back(leanest_.back() + levels_[kind].back().bytes);
        quickest_bytes_.push_back(quickest_bytes_.back() + levels_[kind].front().bytes);
        quickest_extra_.push_back(quickest_extra_.back() + levels_[kind].front().extra);
      }
    }
    fronts_.resize(uniform() ? 1 : kind_of_.size());
  }

  [[nodiscard]] std::int64_t layers() const noexcept { return static_cast<std::int64_t>(kind_of_.size()); }
  [[nodiscard]] bool uniform() const noexcept { return kinds_.size() <= 1; }
  [[nodiscard]] ticks time(std::int64_t a, std::int64_t b) const noexcept { return between(time_, a, b); }
  [[nodiscard]] std::int64_t weights(std::int64_t a, std::int64_t b) const noexcept { return between(weights_, a, b); }
  /// Bytes per micro-batch if every layer keeps as little as it can.
  [[nodiscard]] std::int64_t leanest(std::int64_t a, std::int64_t b) const noexcept { return between(leanest_, a, b); }
  /// The point of their front with the least extra time, without making that front.
  [[nodiscard]] level quickest(std::int64_t a, std::int64_t b) const noexcept {
    return {between(quickest_bytes_, a, b), between(quickest_extra_, a, b)};
  }
  /// Whether some front grew beyond max_front; from then on answers are upper bounds.
  [[nodiscard]] bool overflowed() const noexcept { return overflowed_; }

  [[nodiscard]] const level_front& of(std::int64_t a, std::int64_t b) {
    auto& row = fronts_[uniform() ? 0 : static_cast<std::size_t>(a)];
    if (row.empty()) row.push_back({level{}});
    const std::int64_t from = uniform() ? 0 : a;
    while (static_cast<std::int64_t>(row.size()) <= b - a) {
      const auto next = static_cast<std::size_t>(from) + row.size() - 1;
      row.push_back(extended(row.back(), levels_[kind_of_[next]]));
      if (row.back().size() > max_front) {  // keep every other point: still plans, no longer all of them
        overflowed_ = true;
        level_front thin;
        for (std::size_t i = 0; i < row.back().size(); i += 2) thin.push_back(row.back()[i]);
        if (thin.back() != row.back().back()) thin.push_back(row.back().back());
        row.back() = thin;
      }
    }
    return row[static_cast<std::size_t>(b - a)];
  }

  /// The level of each layer in [a, b) behind a point of their front. Layers of one kind that stand together have their
  /// dearest levels first, as frameworks count them.
  [[nodiscard]] std::vector<std::uint32_t> levels_of(std::int64_t a, std::int64_t b, level point) {
    std::vector<std::uint32_t> chosen(static_cast<std::size_t>(b - a));
    for (std::int64_t end = b; end > a; --end) {
      const std::uint32_t kind = kind_of_[static_cast<std::size_t>(end - 1)];
      const layer& here = kinds_[kind];
      const bool all_quickest = point == quickest(a, end);
      for (const level& x : levels_[kind]) {
        const level rest{point.bytes - x.bytes, point.extra - x.extra};
        if (!all_quickest) {
          const level_front& before = of(a, end - 1);
          const level* found = cheapest(before, rest.bytes);
          if (found == nullptr || *found != rest) continue;
        }
        std::uint32_t k = 0;
        while (here.levels[k] != x) ++k;
        chosen[static_cast<std::size_t>(end - 1 - a)] = k;
        point = rest;
        break;
      }
    }
    std::size_t begin = 0;
    for (std::size_t i = 1; i <= chosen.size(); ++i) {
      const auto at = static_cast<std::size_t>(a);
      if (i < chosen.size() && kind_of_[at + i] == kind_of_[at + begin]) continue;
      const layer& here = kinds_[kind_of_[at + begin]];
      std::sort(chosen.begin() + static_cast<std::ptrdiff_t>(begin), chosen.begin() + static_cast<std::ptrdiff_t>(i),
                [&](std::uint32_t x, std::uint32_t y) {
                  return here.levels[x].extra != here.levels[y].extra ? here.levels[x].extra > here.levels[y].extra
                                                                      : x < y;
                });
      begin = i;
    }
    return chosen;
  }

 private:
  [[nodiscard]] static std::int64_t between(const std::vector<std::int64_t>& sums, std::int64_t a,
                                            std::int64_t b) noexcept {
    return sums[static_cast<std::size_t>(b)] - sums[static_cast<std::size_t>(a)];
  }
  std::vector<layer> kinds_;
  std::vector<level_front> levels_;  // of one layer, by kind
  std::vector<std::uint32_t> kind_of_;
  std::vector<std::int64_t> time_{0}, weights_{0}, leanest_{0}, quickest_bytes_{0}, quickest_extra_{0};
  std::vector<std::deque<level_front>> fronts_;  // by begin (one row if all layers are equal), by length
  bool overflowed_ = false;
};

}  // namespace hocket::inline HOCKET_ABI::planner::detail
