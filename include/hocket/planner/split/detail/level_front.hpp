// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/planner/split/detail/numbers.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner::detail {

/// What layers keep of a micro-batch, and what they compute again for that.
struct level_point {
  std::int64_t bytes = 0;
  ticks extra = 0;
  friend constexpr bool operator==(const level_point&, const level_point&) = default;
};

/// The Pareto front of a few layers: extra time ascending, bytes strictly descending. Exact integers.
using level_front = std::vector<level_point>;

/// What is left of `list` (any order) if no entry is as good as another in both.
inline void keep_front(level_front& list) {
  std::sort(list.begin(), list.end(), [](const level_point& a, const level_point& b) {
    return a.extra != b.extra ? a.extra < b.extra : a.bytes < b.bytes;
  });
  std::size_t kept = 0;
  for (const level_point& x : list)
    if (kept == 0 || x.bytes < list[kept - 1].bytes) list[kept++] = x;
  list.resize(kept);
}

/// The front of some layers and one more.
[[nodiscard]] inline level_front extended(const level_front& some, const level_front& one) {
  level_front all;
  level_front more;
  level_front both;
  const auto before = [](const level_point& x, const level_point& y) {
    return x.extra != y.extra ? x.extra < y.extra : x.bytes < y.bytes;
  };
  for (const level_point& y : one) {
    more.clear();
    for (const level_point& x : some) more.push_back({x.bytes + y.bytes, x.extra + y.extra});
    both.resize(all.size() + more.size());
    std::merge(all.begin(), all.end(), more.begin(), more.end(), both.begin(), before);
    std::size_t kept = 0;
    for (const level_point& x : both)
      if (kept == 0 || x.bytes < both[kept - 1].bytes) both[kept++] = x;
    both.resize(kept);
    all.swap(both);
  }
  return all;
}

/// The least extra time that keeps at most `bytes`: an entry of the front, or nullptr.
[[nodiscard]] inline const level_point* cheapest(const level_front& front, std::int64_t bytes) noexcept {
  const auto at =
      std::partition_point(front.begin(), front.end(), [&](const level_point& x) { return x.bytes > bytes; });
  return at == front.end() ? nullptr : &*at;
}

/// The fronts of all segments [begin, end) of the model, made when they are asked for. Segments of the same kinds in
/// the same order are one piece and share theirs: pieces are a trie over the kinds of their layers.
///
///     layers  A A B A A       piece []  ->  [A]  ->  [A A]  ->  [A A B] -> …
///     [0, 2) and [3, 5) are           \         \->  [A B]  ->  …
///     the same piece [A A]             \->  [B]  ->  [B A]  ->  …
class segment_fronts {
 public:
  explicit segment_fronts(std::span<const split_layers> runs) {
    for (const split_layers& run : runs) {
      const std::uint32_t kind = number_of(run.each);
      for (std::int64_t i = 0; i < run.count; ++i) {
        kind_of_.push_back(kind);
        time_.push_back(time_.back() + run.each.time.count());
        weights_.push_back(weights_.back() + run.each.weights.count());
        leanest_.push_back(leanest_.back() + levels_[kind].back().bytes);
        quickest_bytes_.push_back(quickest_bytes_.back() + levels_[kind].front().bytes);
        quickest_extra_.push_back(quickest_extra_.back() + levels_[kind].front().extra);
      }
    }
    pieces_.push_back({0, 0, {level_point{}}, {}});
    rows_.assign(uniform() ? 1 : kind_of_.size(), {&pieces_.back()});
  }

  segment_fronts(const segment_fronts&) = delete;  // pieces know each other
  segment_fronts& operator=(const segment_fronts&) = delete;

  [[nodiscard]] std::int64_t layers() const noexcept { return static_cast<std::int64_t>(kind_of_.size()); }
  [[nodiscard]] bool uniform() const noexcept { return kinds_.size() <= 1; }
  [[nodiscard]] std::size_t kinds() const noexcept { return kinds_.size(); }
  [[nodiscard]] const layer& kind(std::size_t k) const noexcept { return kinds_[k]; }
  [[nodiscard]] const level_front& levels_of_kind(std::size_t k) const noexcept { return levels_[k]; }
  [[nodiscard]] std::size_t kind_of(std::int64_t layer) const noexcept { return kind_of_[at(layer)]; }
  [[nodiscard]] ticks time(std::int64_t a, std::int64_t b) const noexcept { return between(time_, a, b); }
  [[nodiscard]] std::int64_t weights(std::int64_t a, std::int64_t b) const noexcept { return between(weights_, a, b); }
  /// Bytes per micro-batch if every layer keeps as little as it can.
  [[nodiscard]] std::int64_t leanest(std::int64_t a, std::int64_t b) const noexcept { return between(leanest_, a, b); }
  /// The point of their front with the least extra time, without making that front.
  [[nodiscard]] level_point quickest(std::int64_t a, std::int64_t b) const noexcept {
    return {between(quickest_bytes_, a, b), between(quickest_extra_, a, b)};
  }
  /// What all layers take besides if each runs at its slowest level.
  [[nodiscard]] ticks most_extra() const noexcept {
    ticks sum = 0;
    for (const std::uint32_t kind : kind_of_) sum += levels_[kind].back().extra;
    return sum;
  }
  /// Whether some front, or all of them, grew beyond the limit; from then on answers are possible, not always the best.
  [[nodiscard]] bool overflowed() const noexcept { return overflowed_; }
  /// How many points all fronts have together.
  [[nodiscard]] std::size_t points() const noexcept { return points_; }

  /// A number for the layers [a, b): those of the same piece have the same.
  [[nodiscard]] std::uint32_t piece(std::int64_t a, std::int64_t b) { return row_to(a, b)[at(b - a)]->id; }
  [[nodiscard]] const level_front& of(std::int64_t a, std::int64_t b) {
    const piece_row& row = row_to(a, b);
    if (row[at(b - a)]->front.empty()) make_front(row, at(b - a));
    return row[at(b - a)]->front;
  }

  /// The level of each layer in [a, b) behind a point of their front. Layers of one kind that stand together have their
  /// dearest levels first, as frameworks count them.
  [[nodiscard]] std::vector<std::uint32_t> levels_of(std::int64_t a, std::int64_t b, level_point point) {
    std::vector<std::uint32_t> chosen(at(b - a));
    for (std::int64_t end = b; end > a; --end) {
      const bool all_quickest = point == quickest(a, end);
      for (const level_point& x : levels_[kind_of(end - 1)]) {
        const level_point rest{point.bytes - x.bytes, point.extra - x.extra};
        if (!all_quickest && !has_point(of(a, end - 1), rest)) continue;
        chosen[at(end - 1 - a)] = number_of_level(kinds_[kind_of(end - 1)], x);
        point = rest;
        break;
      }
    }
    for (std::int64_t begin = a; begin < b;) {
      std::int64_t end = begin + 1;
      while (end < b && kind_of(end) == kind_of(begin)) ++end;
      const layer& here = kinds_[kind_of(begin)];
      std::sort(&chosen[at(begin - a)], &chosen[at(begin - a)] + (end - begin), [&](std::uint32_t x, std::uint32_t y) {
        return here.levels[x].extra != here.levels[y].extra ? here.levels[x].extra > here.levels[y].extra : x < y;
      });
      begin = end;
    }
    return chosen;
  }

 private:
  struct layers_piece {
    std::uint32_t id, last;           // its own number; the kind of its last layer
    level_front front;                // empty: not made yet
    std::vector<layers_piece*> next;  // those with one layer more
  };
  using piece_row = std::vector<layers_piece*>;

  /// Most points of a front; more means layers so different that no exact answer is at hand.
  static constexpr std::size_t max_front = std::size_t{1} << 17;
  /// Most points of all fronts, 128 MiB of them; beyond it each further front keeps few.
  static constexpr std::size_t max_points = std::size_t{1} << 23;
  static constexpr std::size_t few_points = 128;

  [[nodiscard]] static std::size_t at(std::int64_t i) noexcept { return static_cast<std::size_t>(i); }
  [[nodiscard]] static std::int64_t between(const std::vector<std::int64_t>& sums, std::int64_t a,
                                            std::int64_t b) noexcept {
    return sums[at(b)] - sums[at(a)];
  }
  [[nodiscard]] static bool has_point(const level_front& front, const level_point& x) noexcept {
    const level_point* found = cheapest(front, x.bytes);
    return found != nullptr && *found == x;
  }
  [[nodiscard]] static std::uint32_t number_of_level(const layer& of, const level_point& x) noexcept {
    std::uint32_t k = 0;
    while (of.levels[k].kept.count() != x.bytes || of.levels[k].extra.count() != x.extra) ++k;
    return k;
  }
  [[nodiscard]] std::uint32_t number_of(const layer& x) {
    const auto known = std::find(kinds_.begin(), kinds_.end(), x);
    const auto number = static_cast<std::uint32_t>(known - kinds_.begin());
    if (known != kinds_.end()) return number;
    kinds_.push_back(x);
    level_front front;
    for (std::uint32_t k = 0; k < x.levels.size(); ++k)
      front.push_back({x.levels[k].kept.count(), x.levels[k].extra.count()});
    keep_front(front);
    levels_.push_back(front);
    return number;
  }
  /// The pieces from `a` on, up to b at least.
  [[nodiscard]] const piece_row& row_to(std::int64_t a, std::int64_t b) {
    const std::int64_t from = uniform() ? 0 : a;
    piece_row& row = rows_[at(from)];
    while (static_cast<std::int64_t>(row.size()) <= b - a) {
      const std::uint32_t kind = kind_of_[at(from) + row.size() - 1];
      auto& next = row.back()->next;
      auto found = std::find_if(next.begin(), next.end(), [&](const layers_piece* x) { return x->last == kind; });
      if (found == next.end()) {
        pieces_.push_back({static_cast<std::uint32_t>(pieces_.size()), kind, {}, {}});
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
      const std::size_t most = points_ < max_points ? max_front : few_points;
      while (front.size() > most) thin_out(front);
      front.shrink_to_fit();
      points_ += front.size();
    }
  }
  /// Keeps every other point: still plans, no longer all of them.
  void thin_out(level_front& front) {
    overflowed_ = true;
    const level_point leanest = front.back();
    for (std::size_t i = 0; 2 * i < front.size(); ++i) front[i] = front[2 * i];
    front.resize((front.size() + 1) / 2);
    front.back() = leanest;
  }

  std::vector<layer> kinds_;
  std::vector<level_front> levels_;  // of one layer, by kind
  std::vector<std::uint32_t> kind_of_;
  std::vector<std::int64_t> time_{0}, weights_{0}, leanest_{0}, quickest_bytes_{0}, quickest_extra_{0};
  std::deque<layers_piece> pieces_;
  std::vector<piece_row> rows_;  // by begin (one row if all layers are equal), by length
  std::size_t points_ = 0;       // of all fronts
  bool overflowed_ = false;
};

}  // namespace hocket::inline HOCKET_ABI::planner::detail
