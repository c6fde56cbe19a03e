// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/planner/split/problem.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner::detail {

inline constexpr std::int64_t never = (std::numeric_limits<std::int64_t>::max)() / 4;

__extension__ using wide = __int128;  // products of bytes, times and prices; -Wpedantic wants the mark

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
  level_front all, more, both;
  for (const level& y : one) {
    more.clear();
    for (const level& x : some) more.push_back({x.bytes + y.bytes, x.extra + y.extra});
    both.clear();
    const auto add = [&](const level& x) {
      if (both.empty() || x.bytes < both.back().bytes) both.push_back(x);
    };
    auto x = all.begin();
    for (const level& z : more) {
      while (x != all.end() && (x->extra != z.extra ? x->extra < z.extra : x->bytes < z.bytes)) add(*x++);
      add(z);
    }
    while (x != all.end()) add(*x++);
    all.swap(both);
  }
  return all;
}

/// The least extra time that keeps at most `bytes`: an entry of the front, or nullptr.
inline const level* cheapest(const level_front& front, std::int64_t bytes) noexcept {
  const auto at = std::partition_point(front.begin(), front.end(), [&](const level& x) { return x.bytes > bytes; });
  return at == front.end() ? nullptr : &*at;
}

/// Whether from a to b a byte less costs less than from b to c, three points of a front.
inline bool bends(const level& a, const level& b, const level& c) noexcept {
  return wide{b.extra - a.extra} * (b.bytes - c.bytes) < wide{c.extra - b.extra} * (a.bytes - b.bytes);
}

/// The points of a front of which each is the cheapest at some price of a byte.
inline level_front hull_of(const level_front& front) {
  level_front hull;
  for (const level& x : front) {
    while (hull.size() > 1 && !bends(hull[hull.size() - 2], hull.back(), x)) hull.pop_back();
    hull.push_back(x);
  }
  return hull;
}

/// The hull of what two kinds of layers are together: from the quickest on, the cheapest next byte of either.
inline level_front hull_of_sums(const level_front& some, const level_front& other) {
  level_front all{{some[0].bytes + other[0].bytes, some[0].extra + other[0].extra}};
  for (std::size_t i = 0, j = 0; i + 1 < some.size() || j + 1 < other.size();) {
    const level x = all.back();
    const auto next = [&](const level_front& from, std::size_t k) {
      return level{x.bytes + from[k + 1].bytes - from[k].bytes, x.extra + from[k + 1].extra - from[k].extra};
    };
    bool first = j + 1 == other.size();
    if (!first && i + 1 < some.size()) {
      const level a = next(some, i), b = next(other, j);
      first = wide{a.extra - x.extra} * (x.bytes - b.bytes) <= wide{b.extra - x.extra} * (x.bytes - a.bytes);
    }
    all.push_back(first ? next(some, i++) : next(other, j++));
  }
  return all;
}

/// The fronts of all segments [begin, end) of the model, made when they are asked for. Equal pieces share theirs.
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
    for (const level_front& x : levels_) hulls_.push_back(hull_of(x));
    pieces_.push_back({0, 0, {level{}}, {level{}}, {}});
    rows_.assign(uniform() ? 1 : kind_of_.size(), {&pieces_.back()});
  }

  segment_fronts(const segment_fronts&) = delete;  // pieces know each other
  segment_fronts& operator=(const segment_fronts&) = delete;

  [[nodiscard]] std::int64_t layers() const noexcept { return static_cast<std::int64_t>(kind_of_.size()); }
  [[nodiscard]] bool uniform() const noexcept { return kinds_.size() <= 1; }
  [[nodiscard]] std::size_t kinds() const noexcept { return kinds_.size(); }
  [[nodiscard]] const layer& kind(std::size_t k) const noexcept { return kinds_[k]; }
  [[nodiscard]] const level_front& levels_of_kind(std::size_t k) const noexcept { return levels_[k]; }
  [[nodiscard]] std::size_t kind_of(std::int64_t layer) const noexcept {
    return kind_of_[static_cast<std::size_t>(layer)];
  }
  [[nodiscard]] ticks time(std::int64_t a, std::int64_t b) const noexcept { return between(time_, a, b); }
  [[nodiscard]] std::int64_t weights(std::int64_t a, std::int64_t b) const noexcept { return between(weights_, a, b); }
  /// Bytes per micro-batch if every layer keeps as little as it can.
  [[nodiscard]] std::int64_t leanest(std::int64_t a, std::int64_t b) const noexcept { return between(leanest_, a, b); }
  /// The point of their front with the least extra time, without making that front.
  [[nodiscard]] level quickest(std::int64_t a, std::int64_t b) const noexcept {
    return {between(quickest_bytes_, a, b), between(quickest_extra_, a, b)};
  }
  /// How many points the fronts made so far have.
  [[nodiscard]] std::int64_t points() const noexcept { return points_; }
  /// Whether some front grew beyond max_front; from then on answers are upper bounds.
  [[nodiscard]] bool overflowed() const noexcept { return overflowed_; }

  /// A number for the layers [a, b): pieces of the same kinds in the same order have the same.
  [[nodiscard]] std::uint32_t piece(std::int64_t a, std::int64_t b) { return row_to(a, b)[at(b - a)]->id; }
  [[nodiscard]] const level_front& of(std::int64_t a, std::int64_t b) {
    const auto& row = row_to(a, b);
    if (row[at(b - a)]->front.empty()) make_front(row, at(b - a));
    return row[at(b - a)]->front;
  }
  /// The convex hull of their front, made without it.
  [[nodiscard]] const level_front& hull(std::int64_t a, std::int64_t b) {
    const auto& row = row_to(a, b);
    std::size_t made = at(b - a);
    while (row[made]->hull.empty()) --made;
    for (; made < at(b - a); ++made) row[made + 1]->hull = hull_of_sums(row[made]->hull, hulls_[row[made + 1]->last]);
    return row[at(b - a)]->hull;
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
  std::vector<level_front> levels_, hulls_;  // of one layer, by kind
  std::vector<std::uint32_t> kind_of_;
  std::vector<std::int64_t> time_{0}, weights_{0}, leanest_{0}, quickest_bytes_{0}, quickest_extra_{0};
  struct layers_piece {
    std::uint32_t id, last;           // its own number; the kind of its last layer
    level_front front, hull;          // empty: not made yet
    std::vector<layers_piece*> next;  // those with one layer more
  };
  using piece_row = std::vector<layers_piece*>;
  [[nodiscard]] static std::size_t at(std::int64_t i) noexcept { return static_cast<std::size_t>(i); }
  /// The pieces from `a` on, up to b at least.
  [[nodiscard]] const piece_row& row_to(std::int64_t a, std::int64_t b) {
    const std::int64_t from = uniform() ? 0 : a;
    piece_row& row = rows_[at(from)];
    while (static_cast<std::int64_t>(row.size()) <= b - a) {
      const std::uint32_t kind = kind_of_[at(from) + row.size() - 1];
      auto& next = row.back()->next;
      auto found = std::find_if(next.begin(), next.end(), [&](const layers_piece* x) { return x->last == kind; });
      if (found == next.end()) {
        pieces_.push_back({static_cast<std::uint32_t>(pieces_.size()), kind, {}, {}, {}});
        found = next.insert(found, &pieces_.back());
      }
      row.push_back(*found);
    }
    return row;
  }
  void make_front(const piece_row& row, std::size_t length) {
    std::size_t made = length;
    while (row[made]->front.empty()) --made;
    for (; made < length; ++made) {
      level_front& front = row[made + 1]->front;
      front = extended(row[made]->front, levels_[row[made + 1]->last]);
      points_ += static_cast<std::int64_t>(front.size());
      if (front.size() <= max_front) continue;
      overflowed_ = true;  // keep every other point: still plans, no longer all of them
      level_front thin;
      for (std::size_t i = 0; i < front.size(); i += 2) thin.push_back(front[i]);
      if (thin.back() != front.back()) thin.push_back(front.back());
      front = thin;
    }
  }
  std::deque<layers_piece> pieces_;
  std::vector<piece_row> rows_;  // by begin (one row if all layers are equal), by length
  std::int64_t points_ = 0;
  bool overflowed_ = false;
};

}  // namespace hocket::inline HOCKET_ABI::planner::detail
