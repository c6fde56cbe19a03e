// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The fewest bytes that can be alive while some op runs, by a minimum cut.
#pragma once
#include <hocket/core/ids.hpp>
#include <hocket/graph/detail/flat_lists.hpp>
#include <hocket/graph/detail/live_values.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace hocket::inline HOCKET_ABI::graph::detail {

// The least cut between two vertices, by shortest augmenting paths (E. A. Dinic 1970).
class minimum_cut {
 public:
  explicit minimum_cut(std::size_t vertices) : first_(vertices, none) {}

  void add(std::size_t from, std::size_t to, std::int64_t room) {
    arcs_.push_back({to, first_[from], room});
    first_[from] = arcs_.size() - 1;
    arcs_.push_back({from, first_[to], 0});
    first_[to] = arcs_.size() - 1;
  }

  [[nodiscard]] std::int64_t solve(std::size_t source, std::size_t sink) {
    std::int64_t flow = 0;
    while (levels(source, sink)) {
      at_ = first_;
      while (const std::int64_t more = push(source, sink)) flow += more;
    }
    return flow;
  }

 private:
  static constexpr std::size_t none = ~std::size_t{0};
  struct arc {
    std::size_t to, next;
    std::int64_t room;
  };

  [[nodiscard]] bool levels(std::size_t source, std::size_t sink) {
    level_.assign(first_.size(), none);
    level_[source] = 0;
    queue_.assign(1, source);
    for (std::size_t i = 0; i < queue_.size() && level_[sink] == none; ++i)
      for (std::size_t a = first_[queue_[i]]; a != none; a = arcs_[a].next) {
        if (arcs_[a].room == 0 || level_[arcs_[a].to] != none) continue;
        level_[arcs_[a].to] = level_[queue_[i]] + 1;
        queue_.push_back(arcs_[a].to);
      }
    return level_[sink] != none;
  }

  // One path from source to sink along ascending levels, without recursion; 0 if there is none left.
  [[nodiscard]] std::int64_t push(std::size_t source, std::size_t sink) {
    path_.clear();
    for (std::size_t v = source; v != sink;) {
      std::size_t& a = at_[v];
      while (a != none && (arcs_[a].room == 0 || level_[arcs_[a].to] != level_[v] + 1)) a = arcs_[a].next;
      if (a != none) {
        path_.push_back(a);
        v = arcs_[a].to;
        continue;
      }
      if (path_.empty()) return 0;
      level_[v] = none;  // leads nowhere
      v = arcs_[path_.back() ^ 1].to;
      path_.pop_back();
    }
    std::int64_t most = (std::numeric_limits<std::int64_t>::max)();
    for (const std::size_t a : path_) most = (std::min)(most, arcs_[a].room);
    for (const std::size_t a : path_) {
      arcs_[a].room -= most;
      arcs_[a ^ 1].room += most;
    }
    return most;
  }

  std::vector<std::size_t> first_, at_, level_, queue_, path_;
  std::vector<arc> arcs_;  // each next to its reverse
};

// The least bytes alive while op x runs, over all sets of ops that may have run before it. A value counts unless all
// its ops are on one side (and it is not there before, or after). Two vertices a value, so that a value that is cut
// counts once, however many ops touch it:
//
//   op done -> value begun -(bytes)-> value needed -> op to come        done: the side of the source
[[nodiscard]] inline std::int64_t least_bytes_at(const flat_lists& ups, const live_values& values,
                                                 std::span<const node_id> ops, std::size_t nodes, node_id x) {
  constexpr std::int64_t endless = (std::numeric_limits<std::int64_t>::max)() / 4;
  const std::size_t begun = nodes, needed = nodes + values.size(), source = needed + values.size(), sink = source + 1;
  // Earlier than x, and later, for sure.
  std::vector<unsigned char> before(nodes), after(nodes);
  before[x] = after[x] = true;
  for (std::size_t i = ops.size(); i-- > 0;)
    if (before[ops[i]])
      for (const node_id a : ups.of(ops[i])) before[a] = true;
  for (const node_id b : ops)
    for (const node_id a : ups.of(b)) after[b] = after[b] || after[a];
  minimum_cut cut(sink + 1);
  for (const node_id b : ops) {
    if (b == x) continue;
    if (before[b]) cut.add(source, b, endless);
    else if (after[b]) cut.add(b, sink, endless);
    else
      for (const node_id a : ups.of(b)) cut.add(b, a, endless);  // if b has run, a has
  }
  std::int64_t sure = values.always;
  for (std::size_t v = 0; v < values.size(); ++v) {
    const std::span<const node_id> touch = values.ops.of(v);
    if (std::find(touch.begin(), touch.end(), x) != touch.end()) {
      sure += values.bytes[v];
      continue;
    }
    cut.add(begun + v, needed + v, values.bytes[v]);
    if (values.before[v]) cut.add(source, begun + v, endless);
    if (values.after[v]) cut.add(needed + v, sink, endless);
    for (const node_id b : touch) {
      cut.add(b, begun + v, endless);
      cut.add(needed + v, b, endless);
    }
  }
  return sure + cut.solve(source, sink);
}

}  // namespace hocket::inline HOCKET_ABI::graph::detail
