// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Bytes that every order needs.
#pragma once
#include <hocket/core/ids.hpp>
#include <hocket/graph/detail/flat_lists.hpp>
#include <hocket/graph/detail/live_values.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace hocket::inline HOCKET_ABI::graph::detail {

// What is alive while an op runs, in any order: a value that the op touches, and one that is touched (or was there)
// before it and is touched (or stays) after it.
class byte_bound {
 public:
  byte_bound(const flat_lists& ups, const flat_lists& downs, const live_values& values, std::size_t nodes)
      : ups_(ups), downs_(downs), values_(values), side_(nodes), met_(values.size()) {}

  // Searches both ways from b.
  [[nodiscard]] std::int64_t at(node_id b) {
    std::int64_t sum = values_.always;
    for (const std::size_t v : touched_) met_[v] = 0;
    for (const node_id x : reached_) side_[x] = 0;
    touched_.clear();
    reached_.clear();
    meet(b, both);
    search(ups_, b, earlier);
    search(downs_, b, later);
    for (const std::size_t v : touched_) {
      const bool starts = values_.before[v] || (met_[v] & earlier) != 0;
      const bool ends = values_.after[v] || (met_[v] & later) != 0;
      if (starts && ends) sum += values_.bytes[v];
    }
    return sum;
  }

 private:
  enum : unsigned char { earlier = 1, later = 2, both = 3 };

  void meet(node_id x, unsigned char side) {
    side_[x] = side;
    reached_.push_back(x);
    for (const node_id v : values_.values.of(x)) {
      if (met_[v] == 0) touched_.push_back(v);
      met_[v] = static_cast<unsigned char>(met_[v] | side);
    }
  }

  void search(const flat_lists& next, node_id from, unsigned char side) {
    std::size_t at = reached_.size();
    for (const node_id y : next.of(from))
      if (side_[y] == 0) meet(y, side);
    for (; at < reached_.size(); ++at)
      for (const node_id y : next.of(reached_[at]))
        if (side_[y] == 0) meet(y, side);
  }

  const flat_lists& ups_;            ///< literal: these three live as long as the call
  const flat_lists& downs_;          ///< literal
  const live_values& values_;        ///< literal
  std::vector<unsigned char> side_;  // by op: before b, after it, or 0
  std::vector<unsigned char> met_;   // by value: on which sides it is touched
  std::vector<node_id> reached_;
  std::vector<std::size_t> touched_;
};

// No order needs fewer bytes. Looks at each op by itself, and at as many as `steps` allow from both sides: those where
// the given order needs most.
[[nodiscard]] inline std::int64_t least_bytes(const flat_lists& ups, const flat_lists& downs, const live_values& values,
                                              std::span<const node_id> given, std::size_t nodes, std::size_t steps) {
  struct need {
    std::int64_t bytes;
    node_id op;
  };
  std::vector<need> needs;
  live_bytes live(values);
  std::int64_t least = live.now();  // what is there before
  std::size_t per_op = given.size();
  for (const node_id b : given) {
    per_op += ups.count(b) + downs.count(b) + values.values.count(b);
    live.start(b);
    needs.push_back({live.now(), b});
    live.retire(b);
    std::int64_t own = values.always;
    for (const node_id v : values.values.of(b)) own += values.bytes[v];
    least = (std::max)(least, own);
  }
  least = (std::max)(least, live.now());  // what is left after
  const std::size_t looks = (std::min)(needs.size(), 4 + steps / (per_op + 1));
  const auto larger = [](const need& a, const need& b) { return a.bytes != b.bytes ? a.bytes > b.bytes : a.op < b.op; };
  std::partial_sort(needs.begin(), needs.begin() + static_cast<std::ptrdiff_t>(looks), needs.end(), larger);
  byte_bound bound(ups, downs, values, nodes);
  for (std::size_t i = 0; i < looks && needs[i].bytes > least; ++i) least = (std::max)(least, bound.at(needs[i].op));
  return least;
}

}  // namespace hocket::inline HOCKET_ABI::graph::detail
