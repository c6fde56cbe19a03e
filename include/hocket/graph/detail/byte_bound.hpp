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

// An op, and bytes that are alive while it runs.
struct byte_need {
  std::int64_t bytes = 0;
  node_id op = 0;
};
[[nodiscard]] inline bool needs_more(const byte_need& a, const byte_need& b) noexcept {
  return a.bytes != b.bytes ? a.bytes > b.bytes : a.op < b.op;
}
// The first so many by need, the greatest first.
[[nodiscard]] inline std::vector<byte_need> greatest_needs(std::vector<byte_need> all, std::size_t count) {
  count = (std::min)(count, all.size());
  std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count), all.end(), needs_more);
  all.resize(count);
  return all;
}
// What is alive at each op of an order, one after the other.
[[nodiscard]] inline std::vector<byte_need> needs_in_order(const live_values& values, std::span<const node_id> order) {
  std::vector<byte_need> needs;
  needs.reserve(order.size());
  live_bytes live(values);
  for (const node_id b : order) {
    live.start(b);
    needs.push_back({live.now(), b});
    live.retire(b);
  }
  return needs;
}

// No order needs fewer bytes than `least`; by the same reasoning, what has to be alive at some ops.
struct byte_bounds {
  std::int64_t least = 0;
  std::vector<byte_need> at;
};

// Looks at each op by itself, and at as many as `steps` allow from both sides: those where the given order needs most.
[[nodiscard]] inline byte_bounds bound_bytes(const flat_lists& ups, const flat_lists& downs, const live_values& values,
                                             std::span<const node_id> given, std::size_t nodes, std::size_t steps) {
  byte_bounds out;
  live_bytes live(values);
  out.least = live.now();  // what is there before
  std::size_t per_op = given.size();
  for (const node_id b : given) {
    per_op += ups.count(b) + downs.count(b) + values.values.count(b);
    live.start(b);
    live.retire(b);
    std::int64_t own = values.always;
    for (const node_id v : values.values.of(b)) own += values.bytes[v];
    out.least = (std::max)(out.least, own);
  }
  out.least = (std::max)(out.least, live.now());  // what is left after
  byte_bound bound(ups, downs, values, nodes);
  for (const byte_need& need : greatest_needs(needs_in_order(values, given), 4 + steps / (per_op + 1))) {
    if (need.bytes <= out.least) break;
    out.at.push_back({bound.at(need.op), need.op});
    out.least = (std::max)(out.least, out.at.back().bytes);
  }
  return out;
}

}  // namespace hocket::inline HOCKET_ABI::graph::detail
