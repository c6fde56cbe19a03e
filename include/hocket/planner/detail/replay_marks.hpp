// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/ids.hpp>
#include <hocket/planner/replay_graph.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner::detail {

/// The bytes that a set of marks keeps, and by how much one mark more or less changes them. replay_graph::effect_of
/// walks all ops for each set; this one counts for each value who wants it, and follows only what a mark changes:
///
///     marked op runs again  <=>  it makes a value that is wanted
///     value is wanted       <=>  the backward pass reads it, or an op that runs again does
///     value is kept         <=>  it is wanted, and its op does not run again; a storage counts once
class replay_marks {
 public:
  /// O(ops + edges).
  replay_marks(const replay_graph& graph, std::span<const std::uint32_t> marked)
      : graph_(graph),
        producer_(graph.value_count()),
        wanters_(graph.value_count(), 0),
        stored_(graph.value_count(), 0),
        is_marked_(graph.op_count(), 0),
        made_(graph.op_count(), 0) {
    for (std::uint32_t v = 0; v < graph.value_count(); ++v) producer_[v] = graph.producer(v);
    for (const std::uint32_t o : marked) is_marked_[o] = 1;
    for (std::uint32_t v = 0; v < graph.value_count(); ++v)
      if (graph.is_needed(v)) change_wanters(v, 1);
    settle();
  }

  [[nodiscard]] std::int64_t kept_bytes() const noexcept { return bytes_; }
  /// Bytes kept if this op's mark were the other way, less those that are kept now. O(edges of what changes).
  [[nodiscard]] std::int64_t change_of(std::uint32_t o) {
    const std::int64_t before = bytes_;
    flip(o);
    const std::int64_t change = bytes_ - before;
    flip(o);
    return change;
  }
  /// Values looked at so far: what all of it has cost.
  [[nodiscard]] std::size_t work() const noexcept { return work_; }

 private:
  [[nodiscard]] bool runs_again(std::uint32_t o) const noexcept { return is_marked_[o] != 0; }

  void flip(std::uint32_t o) {
    const bool was_marked = runs_again(o);
    is_marked_[o] = was_marked ? 0 : 1;
    mine_.assign(graph_.writes(o).begin(), graph_.writes(o).end());
    std::sort(mine_.begin(), mine_.end());  // one that is written twice counts once
    mine_.erase(std::unique(mine_.begin(), mine_.end()), mine_.end());
    work_ += mine_.size();
    for (const std::uint32_t v : mine_)
      if (producer_[v] == o && wanters_[v] > 0) keep(v, was_marked ? 1 : -1);
    if (made_[o] > 0) open_reads(o, was_marked ? -1 : 1);
    settle();
  }
  void open_reads(std::uint32_t o, int by) {
    for (const std::uint32_t x : graph_.reads(o)) open_.emplace_back(x, by);
  }
  void settle() {
    while (!open_.empty()) {
      const auto [v, by] = open_.back();
      open_.pop_back();
      change_wanters(v, by);
    }
  }
  void change_wanters(std::uint32_t v, int by) {
    ++work_;
    const bool was_wanted = wanters_[v] > 0;
    wanters_[v] += by;
    if (was_wanted == (wanters_[v] > 0)) return;
    const std::uint32_t o = producer_[v];
    if (o == no_id) return keep(v, by);
    made_[o] += by;
    if (!runs_again(o)) return keep(v, by);
    if (made_[o] == (by > 0 ? 1 : 0)) open_reads(o, by);  // begins to run, or ends
  }
  void keep(std::uint32_t v, int by) {
    if (graph_.is_resident(v)) return;
    std::int32_t& values = stored_[graph_.storage(v)];
    values += by;
    if (values == (by > 0 ? 1 : 0)) bytes_ += by * graph_.bytes(v);
  }

  const replay_graph& graph_;
  std::vector<std::uint32_t> producer_;  // by value
  std::vector<std::int32_t> wanters_;    // by value: the backward pass, and the reads of ops that run again
  std::vector<std::int32_t> stored_;     // by value that names a storage: values kept in it
  std::vector<char> is_marked_;          // by op
  std::vector<std::int32_t> made_;       // by op: wanted values that it makes
  std::vector<std::pair<std::uint32_t, int>> open_;
  std::vector<std::uint32_t> mine_;
  std::int64_t bytes_ = 0;
  std::size_t work_ = 0;
};

}  // namespace hocket::inline HOCKET_ABI::planner::detail
