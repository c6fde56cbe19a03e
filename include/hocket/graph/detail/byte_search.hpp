// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The order of the fewest bytes of a small program, proved.
#pragma once
#include <hocket/core/ids.hpp>
#include <hocket/graph/detail/byte_order.hpp>
#include <hocket/graph/detail/flat_lists.hpp>
#include <hocket/graph/detail/live_values.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <queue>
#include <span>
#include <unordered_set>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::graph::detail {

// The most ops that byte_search takes: a set of them is a word.
inline constexpr std::size_t byte_search_ops = 64;

// Best-first search over the sets of ops that are done: the set whose worst moment so far is the least comes next, so
// the first to hold all ops is the best. An op that is free (byte_order.hpp) is the only one tried.
class byte_search {
 public:
  byte_search(const flat_lists& ups, const live_values& values, std::span<const node_id> ops, std::size_t nodes)
      : values_(values), ops_(ops), needs_(ops.size()), touches_(values.size()) {
    std::vector<std::size_t> bit(nodes);
    for (std::size_t i = 0; i < ops.size(); ++i) bit[ops[i]] = i;
    for (std::size_t i = 0; i < ops.size(); ++i)
      for (const node_id a : ups.of(ops[i])) needs_[i] |= one(bit[a]);
    for (std::size_t v = 0; v < values.size(); ++v)
      for (const node_id b : values.ops.of(v)) touches_[v] |= one(bit[b]);
  }

  // Replaces `best` by a smaller order, if there is one. @return whether best is then proved, within so many sets
  [[nodiscard]] bool improve(sized_order& best, std::size_t sets) {
    const std::uint64_t all = ops_.size() == 64 ? ~std::uint64_t{0} : one(ops_.size()) - 1;
    found_.push_back({0, alive(0, 0), 0, 0});
    push(0);
    while (!open_.empty()) {
      const std::size_t at = open_.top().second;
      open_.pop();
      const state from = found_[at];
      if (from.peak >= best.peak) return true;
      if (!seen_.insert(from.done).second) continue;
      if (from.done == all) {
        best = order_to(at);
        return true;
      }
      if (seen_.size() > sets) return false;
      expand(from, at, best.peak);
    }
    return true;
  }

 private:
  struct state {
    std::uint64_t done;
    std::int64_t peak;
    std::size_t before;  // the state before it
    std::size_t op;      // that led here
  };
  using entry = std::pair<std::int64_t, std::size_t>;  // peak, state: the least first, of equals the later found
  struct worse {
    [[nodiscard]] bool operator()(const entry& a, const entry& b) const noexcept {
      return a.first != b.first ? a.first > b.first : a.second < b.second;
    }
  };

  [[nodiscard]] static std::uint64_t one(std::size_t bit) noexcept { return std::uint64_t{1} << bit; }
  void push(std::size_t at) { open_.emplace(found_[at].peak, at); }

  // The bytes alive when `done` has run, while the ops of `now` run.
  [[nodiscard]] std::int64_t alive(std::uint64_t done, std::uint64_t now) const {
    std::int64_t sum = values_.always;
    for (std::size_t v = 0; v < touches_.size(); ++v) {
      const bool begun = values_.before[v] || (touches_[v] & (done | now)) != 0;
      const bool over = !values_.after[v] && (touches_[v] & ~done) == 0;
      if (begun && !over) sum += values_.bytes[v];
    }
    return sum;
  }

  void expand(const state& from, std::size_t at, std::int64_t below) {
    const std::int64_t now = alive(from.done, 0);
    const std::size_t first = found_.size();
    for (std::size_t i = 0; i < ops_.size(); ++i) {
      if ((from.done & one(i)) != 0 || (needs_[i] & ~from.done) != 0) continue;
      const std::int64_t during = alive(from.done, one(i));
      const std::int64_t peak = (std::max)(from.peak, during);
      const std::uint64_t next = from.done | one(i);
      if (peak >= below) continue;
      const bool free = peak == from.peak && alive(next, 0) <= now;
      if (free) found_.resize(first);
      found_.push_back({next, peak, at, i});
      if (free) break;
    }
    for (std::size_t k = first; k < found_.size(); ++k) push(k);
  }

  [[nodiscard]] sized_order order_to(std::size_t at) const {
    sized_order out{{}, found_[at].peak};
    for (; found_[at].done != 0; at = found_[at].before) out.order.push_back(ops_[found_[at].op]);
    std::reverse(out.order.begin(), out.order.end());
    return out;
  }

  const live_values& values_;  ///< literal: lives as long as the call
  std::span<const node_id> ops_;
  std::vector<std::uint64_t> needs_, touches_;
  std::vector<state> found_;
  std::priority_queue<entry, std::vector<entry>, worse> open_;
  std::unordered_set<std::uint64_t> seen_;  // asked, never walked: the answer does not depend on hashes
};

}  // namespace hocket::inline HOCKET_ABI::graph::detail
