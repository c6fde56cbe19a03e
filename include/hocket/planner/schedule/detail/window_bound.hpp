// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/planner/schedule/detail/list_scheduler.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner::detail {

/// The earliest end of a set of actions of one rank as actions come and go: a balanced tree over their earliest starts
/// (P. Vilím, O(n log n) filtering algorithms for unary resource constraint, CPAIOR 2004). The set is black; of the
/// gray actions it tells which one, taken in addition, makes the end latest.
class end_tree {
 public:
  static constexpr ticks low = -partial_schedule::never;
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  void reset(std::size_t leaves) {
    for (first_ = 1; first_ < leaves;) first_ *= 2;
    nodes_.assign(2 * first_, node{});
  }
  void black(std::uint32_t leaf, ticks start, ticks time) {
    set(leaf, {time, start + time, time, start + time, none, none});
  }
  void gray(std::uint32_t leaf, ticks start, ticks time) { set(leaf, {0, low, time, start + time, leaf, leaf}); }
  void clear(std::uint32_t leaf) { set(leaf, node{}); }
  [[nodiscard]] ticks end() const noexcept { return nodes_[1].end; }
  [[nodiscard]] ticks gray_end() const noexcept { return nodes_[1].gray_end; }
  [[nodiscard]] std::uint32_t gray_leaf() const noexcept { return nodes_[1].end_of; }

 private:
  struct node {
    ticks sum = 0, end = low, gray_sum = 0, gray_end = low;
    std::uint32_t sum_of = none, end_of = none;  // the gray leaf in them
  };
  void set(std::size_t leaf, const node& x) {
    std::size_t at = first_ + leaf;
    nodes_[at] = x;
    for (at /= 2; at > 0; at /= 2) {
      const node &l = nodes_[2 * at], &r = nodes_[2 * at + 1];
      node& u = nodes_[at];
      u.sum = l.sum + r.sum, u.end = (std::max)(r.end, l.end + r.sum);
      const bool right = l.sum + r.gray_sum > l.gray_sum + r.sum;
      u.gray_sum = right ? l.sum + r.gray_sum : l.gray_sum + r.sum, u.sum_of = right ? r.sum_of : l.sum_of;
      u.gray_end = r.gray_end, u.end_of = r.end_of;
      if (l.end + r.gray_sum > u.gray_end) u.gray_end = l.end + r.gray_sum, u.end_of = r.sum_of;
      if (l.gray_end + r.sum > u.gray_end) u.gray_end = l.gray_end + r.sum, u.end_of = l.end_of;
    }
  }
  std::size_t first_ = 1;
  std::vector<node> nodes_;
};

/// Proves that no schedule ends by a target: every action has an earliest start and a latest end, and these windows
/// shrink until nothing changes or one is too short. What shrinks them: what an action needs and what needs it; that a
/// rank does one thing at a time (edge finding and detectable precedences, both ways in time; and all that precedes an
/// action on its rank fits before it); and the caps, as precedences: while rank r has not run the backward j of chunk
/// d, no later one either, so so many activations are held that forward k of chunk c has no room.
class window_bound {
 public:
  explicit window_bound(const search_input& in) : in_(in), each_(std::size_t{in.stages} * in.micro_batches) {
    kinds_ = in.split ? 3 : 2;
    const std::size_t all = kinds_ * each_;
    time_.resize(all), local_.resize(all), after_.resize(all), before_.resize(all), ops_.resize(in.ranks);
    for (std::uint32_t s = 0; s < in.stages; ++s)
      for (std::uint32_t k = 0; k < in.micro_batches; ++k) {
        for (std::uint32_t kind = 0; kind < kinds_; ++kind) {
          const std::uint32_t a = id(kind, s, k);
          time_[a] = in.time(kind, s);
          auto& mine = ops_[in.rank_of[s]];
          local_[a] = static_cast<std::uint32_t>(mine.size());
          mine.push_back(a);
          if (k > 0) link(id(kind, s, k - 1), a, 0);
        }
        if (s > 0) link(id(0, s - 1, k), id(0, s, k), in.hop_between(s - 1, s));
        if (s > 0) link(id(1, s, k), id(1, s - 1, k), in.hop_between(s - 1, s));
        link(id(0, s, k), id(1, s, k), 0);
        if (in.split) link(id(1, s, k), id(2, s, k), 0);
      }
    for (std::uint32_t r = 0; r < in.ranks; ++r) add_caps(r);
    sort();
    for (std::uint32_t r = 0; r < in.ranks; ++r) add_sweeps(r);
  }

  /// True if there is no schedule of at most `target` ticks; false says nothing.
  /// Complexity: O(passes · actions · (chunks + log actions)).
  [[nodiscard]] bool refutes(ticks target) {
    target_ = target, start_.assign(time_.size(), 0), end_.assign(time_.size(), target);
    seen_.assign(in_.ranks, -1);
    return refutes_narrowed();
  }
  /// An action starts so early, and ends so late, if there is a schedule within the target that was asked about last.
  void narrow(std::uint32_t kind, std::uint32_t s, std::uint32_t k, ticks earliest_start, ticks latest_end) {
    const std::uint32_t a = id(kind, s, k);
    start_[a] = (std::max)(start_[a], earliest_start), end_[a] = (std::min)(end_[a], latest_end);
  }
  /// The same of that target, within windows that have been narrowed.
  [[nodiscard]] bool refutes_narrowed() {
    constexpr int passes = 100;
    if (order_.size() != time_.size()) return false;  // the caps leave no order: for others to tell
    for (int pass = 0; pass < passes; ++pass) {
      for (const std::uint32_t a : order_)
        for (const edge& x : after_[a]) start_[x.to] = (std::max)(start_[x.to], start_[a] + time_[a] + x.lag);
      for (std::size_t i = order_.size(); i-- > 0;)
        for (const edge& x : after_[order_[i]])
          end_[order_[i]] = (std::min)(end_[order_[i]], end_[x.to] - time_[x.to] - x.lag);
      bool changed = false;
      for (std::uint32_t r = 0; r < in_.ranks; ++r) {
        const ticks left = room(r);
        if (left == seen_[r]) continue;  // as windows only shrink: none has
        seen_[r] = left;
        if (!shrink(r, changed)) return true;
      }
      if (!changed) return false;
    }
    return false;
  }

  /// The window of an action under the target that refutes() was asked about last, if it did not.
  [[nodiscard]] ticks earliest_start(std::uint32_t kind, std::uint32_t s, std::uint32_t k) const {
    return start_[id(kind, s, k)];
  }
  [[nodiscard]] ticks latest_end(std::uint32_t kind, std::uint32_t s, std::uint32_t k) const {
    return end_[id(kind, s, k)];
  }
  /// The windows of a rank, all lengths together.
  [[nodiscard]] ticks room(std::uint32_t r) const {
    ticks sum = 0;
    for (const std::uint32_t a : ops_[r]) sum += end_[a] - start_[a];
    return sum;
  }

 private:
  struct edge {
    std::uint32_t to;
    ticks lag;
  };
  struct step {
    std::uint32_t op;  // by number on its rank
    bool ask;          // raise this one, or add it to what precedes
  };
  using sweep = std::vector<step>;

  [[nodiscard]] std::uint32_t id(std::uint32_t kind, std::uint32_t s, std::uint32_t k) const noexcept {
    return static_cast<std::uint32_t>(kind * each_ + std::size_t{s} * in_.micro_batches + k);
  }
  [[nodiscard]] std::uint32_t rank_of(std::uint32_t a) const noexcept {
    return in_.rank_of[a % each_ / in_.micro_batches];
  }
  void link(std::uint32_t a, std::uint32_t b, ticks lag) {
    after_[a].push_back({b, lag});
    before_[b].push_back(a);
  }
  /// When forward k of chunk c runs, each chunk up to c has run k + 1 forwards, and none more than k backwards from c
  /// down. Were backward j of chunk d still to come, then so would be those of the chunks below d.
  void add_caps(std::uint32_t r) {
    const auto& owned = in_.owned[r];
    const auto v = static_cast<std::int64_t>(owned.size()), m = std::int64_t{in_.micro_batches};
    const auto at = [&](std::uint32_t kind, std::int64_t c, std::int64_t k) {
      return id(kind, owned[static_cast<std::size_t>(c)], static_cast<std::uint32_t>(k));
    };
    for (std::int64_t c = 0; c < v; ++c)
      for (std::int64_t k = 0; k < m; ++k)
        for (std::int64_t d = 0; d < v; ++d) {
          const std::int64_t cap = in_.cap[r], taken = (c + 1) * (k + 1), share = (std::min)(c, d) + 1;
          const std::int64_t over = taken - (c > d ? (c - d) * k : 0) - cap;
          if (over > 0) link(at(1, d, (over - 1) / share), at(0, c, k), 0);
          // A weight gradient follows its backward, but those of different chunks have no order.
          if (in_.split && d <= c && taken - c * k > cap) link(at(2, d, taken - c * k - cap - 1), at(0, c, k), 0);
        }
  }
  void sort() {
    std::vector<std::size_t> open(time_.size());
    for (std::uint32_t a = 0; a < time_.size(); ++a) {
      open[a] = before_[a].size();
      if (open[a] == 0) order_.push_back(a);
    }
    for (std::size_t i = 0; i < order_.size(); ++i)
      for (const edge& x : after_[order_[i]])
        if (--open[x.to] == 0) order_.push_back(x.to);
  }
  /// For every chain of like actions of a chunk: what precedes each on its rank, and what follows, which only grows.
  void add_sweeps(std::uint32_t r) {
    const auto& owned = in_.owned[r];
    const auto v = static_cast<std::uint32_t>(owned.size());
    const std::uint32_t m = in_.micro_batches;
    before_sweeps_.emplace_back(), after_sweeps_.emplace_back();
    for (std::uint32_t c = 0; c < v; ++c)
      for (std::uint32_t kind = 0; kind < kinds_; ++kind) {
        sweep list;
        std::vector<char> in_list(ops_[r].size(), 0);
        const auto add = [&](std::uint32_t a) {
          if (in_list[local_[a]] != 0) return;
          in_list[local_[a]] = 1;
          list.push_back({local_[a], false});
        };
        for (std::uint32_t k = 0; k < m; ++k) {
          const std::uint32_t a = id(kind, owned[c], k);
          for (std::uint32_t d = 0; d < v; ++d) {
            if (kind > 0 || d < c) add(id(0, owned[d], k));
            if ((kind == 1 && d > c) || (kind == 2 && d >= c)) add(id(1, owned[d], k));
          }
          if (k > 0) add(id(kind, owned[c], k - 1));
          for (const std::uint32_t b : before_[a])  // the caps' among them
            if (rank_of(b) == r)
              for (std::uint32_t i = b - b % m; i <= b; ++i) add(i);
          list.push_back({local_[a], true});
        }
        before_sweeps_[r].push_back(list);
        list.clear(), in_list.assign(in_list.size(), 0);
        for (std::uint32_t k = m; k-- > 0;) {
          const std::uint32_t a = id(kind, owned[c], k);
          for (std::uint32_t d = 0; d < v; ++d) {
            if (kind == 0 && d > c) add(id(0, owned[d], k));
            if (kind == 0 || (kind == 1 && d < c)) add(id(1, owned[d], k));
            if (in_.split && (kind == 0 || (kind == 1 && d <= c))) add(id(2, owned[d], k));
          }
          if (k + 1 < m) add(id(kind, owned[c], k + 1));
          for (const edge& x : after_[a])
            if (rank_of(x.to) == r)
              for (std::uint32_t i = x.to; i < x.to - x.to % m + m; ++i) add(i);
          list.push_back({local_[a], true});
        }
        after_sweeps_[r].push_back(list);
      }
  }

  /// False if the actions of a rank do not fit their windows.
  bool shrink(std::uint32_t r, bool& changed) {
    const auto& ops = ops_[r];
    const std::size_t n = ops.size();
    early_.resize(n), late_.resize(n), long_.resize(n);
    for (std::size_t i = 0; i < n; ++i) early_[i] = start_[ops[i]], late_[i] = end_[ops[i]], long_[i] = time_[ops[i]];
    if (!raise(before_sweeps_[r])) return false;
    for (std::size_t i = 0; i < n; ++i) {
      if (raised_[i] > start_[ops[i]]) start_[ops[i]] = raised_[i], changed = true;
      early_[i] = target_ - end_[ops[i]], late_[i] = target_ - start_[ops[i]];  // the same with time turned round
    }
    if (!raise(after_sweeps_[r])) return false;
    for (std::size_t i = 0; i < n; ++i)
      if (target_ - raised_[i] < end_[ops[i]]) end_[ops[i]] = target_ - raised_[i], changed = true;
    return true;
  }
  bool raise(const std::vector<sweep>& sweeps) {
    const std::size_t n = early_.size();
    raised_ = early_;
    by_start_.resize(n), leaf_.resize(n);
    std::iota(by_start_.begin(), by_start_.end(), 0u);
    by_end_ = by_first_end_ = by_last_start_ = by_start_;
    const auto sort_by = [](std::vector<std::uint32_t>& x, auto key) {
      std::sort(x.begin(), x.end(),
                [&](std::uint32_t a, std::uint32_t b) { return key(a) != key(b) ? key(a) < key(b) : a < b; });
    };
    const auto first_end = [&](std::uint32_t i) { return early_[i] + long_[i]; };
    const auto last_start = [&](std::uint32_t i) { return late_[i] - long_[i]; };
    sort_by(by_start_, [&](std::uint32_t i) { return early_[i]; });
    sort_by(by_end_, [&](std::uint32_t i) { return late_[i]; });
    sort_by(by_first_end_, first_end), sort_by(by_last_start_, last_start);
    for (std::uint32_t i = 0; i < n; ++i) leaf_[by_start_[i]] = i;
    const auto put = [&](std::uint32_t i) { tree_.black(leaf_[i], early_[i], long_[i]); };
    // Edge finding: what does not fit among all that end by a time comes after them.
    tree_.reset(n);
    for (std::uint32_t i = 0; i < n; ++i) put(i);
    for (std::size_t q = n; q-- > 0;) {
      const std::uint32_t j = by_end_[q];
      if (tree_.end() > late_[j]) return false;
      while (tree_.gray_leaf() != end_tree::none && tree_.gray_end() > late_[j]) {
        const std::uint32_t leaf = tree_.gray_leaf();
        ticks& to = raised_[by_start_[leaf]];
        to = (std::max)(to, tree_.end());
        tree_.clear(leaf);
      }
      tree_.gray(leaf_[j], early_[j], long_[j]);
    }
    // Detectable precedences: what cannot start once this one has ended comes before it.
    tree_.reset(n);
    std::size_t next = 0;
    for (const std::uint32_t i : by_first_end_) {
      for (; next < n && last_start(by_last_start_[next]) < first_end(i); ++next) put(by_last_start_[next]);
      const bool itself = last_start(i) < first_end(i);
      if (itself) tree_.clear(leaf_[i]);
      raised_[i] = (std::max)(raised_[i], tree_.end());
      if (itself) put(i);
    }
    for (const sweep& list : sweeps) {
      tree_.reset(n);
      for (const step& x : list) {
        if (x.ask) raised_[x.op] = (std::max)(raised_[x.op], tree_.end());
        else put(x.op);
      }
    }
    for (std::size_t i = 0; i < n; ++i)
      if (raised_[i] + long_[i] > late_[i]) return false;
    return true;
  }

  const search_input& in_;
  std::size_t each_;
  std::uint32_t kinds_ = 2;
  ticks target_ = 0;
  std::vector<ticks> time_, start_, end_;     // by action
  std::vector<ticks> seen_;                   // by rank: its room when it was last looked at
  std::vector<std::uint32_t> local_, order_;  // by action; a topological order
  std::vector<std::vector<edge>> after_;
  std::vector<std::vector<std::uint32_t>> before_, ops_;          // by action; by rank
  std::vector<std::vector<sweep>> before_sweeps_, after_sweeps_;  // by rank
  end_tree tree_;
  std::vector<ticks> early_, late_, long_, raised_;  // of the rank at hand
  std::vector<std::uint32_t> by_start_, by_end_, by_first_end_, by_last_start_, leaf_;
};

}  // namespace hocket::inline HOCKET_ABI::planner::detail
