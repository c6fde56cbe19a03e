// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/ids.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory_resource>
#include <span>
#include <vector>

namespace hocket::inline HOCKET_ABI::graph {

/// What the device guarantees: the order "dependencies ∪ each stream's FIFO", for ops in program order on streams.
/// That is a different relation from `dag::reaches`, which knows dependencies alone: two ops on one stream are always
/// ordered here, whether or not they touch the same data. So it can say which waits are needed and which buffers may
/// be reused by stream order; it cannot say what a change of streams would allow. Hence it is no reachability_index.
///
/// Each op carries a clock: for every stream, how many of its ops are done when the op is done. An op that waits for no
/// other stream knows of those what the op before it knew, and shares its row. Rows are padded to a multiple of 8
/// streams.
///
/// A call that fails or throws changes nothing. Const members are safe for concurrent readers.
/// Memory: 12 bytes a node, and for each that has to wait 32 bytes up to 8 streams, 32 more for each further 8.
/// Source: vector clocks (Fidge 1988, Mattern 1989), with streams as processes; docs/graph.md, "Stream plans" (proof).
///
///     hocket::graph::stream_clock order(2);
///     const auto a = order.append(0, {}).value();
///     const auto b = order.append(1, {}).value();
///     const auto c = order.append(0, {b}).value();    // one wait: stream 0 for b
///     order.reaches(a, c) && order.reaches(b, c) && !order.ordered(a, b);    // a before c by FIFO alone
class stream_clock {
 public:
  /// @param streams  ops run on streams 0 … streams - 1. Precondition: streams <= stream_limit
  explicit stream_clock(std::size_t streams, std::pmr::memory_resource* memory = std::pmr::get_default_resource())
      : rows_(memory), ops_(memory), tails_(streams, no_id, memory), width_((streams + 7) / 8) {
    HOCKET_ASSERT(streams <= stream_limit);
  }

  /// Adds the next op of the program, which runs on `stream` after `preds` (any order, repetitions allowed).
  /// @return its id; errc::out_of_range for the stream; errc::bad_order if a predecessor is not an earlier op;
  ///         errc::limit_exceeded past 2^32 - 2 ops
  /// Complexity: O(p · streams) for p predecessors; in ascending order, those that a later one implies take O(1).
  result<node_id> append(stream_id stream, std::span<const node_id> preds) {
    const result<node_id> id = to_id(node_count(), "number of ops");
    if (!id) return id;
    if (stream >= tails_.size())
      return error{errc::out_of_range, stream, 0, static_cast<std::int64_t>(tails_.size()) - 1}.with("stream");
    for (const node_id a : preds)
      if (a >= *id) return error{errc::bad_order, *id, a};
    if (rows_.empty()) rows_.resize(width_);  // row 0: nothing is done
    state now = tails_[stream] == no_id ? state{} : ops_[tails_[stream]];
    for (std::size_t k = preds.size(); k-- > 0;) {  // later ones are likely to imply earlier ones
      const state& before = ops_[preds[k]];
      if (before.stream == stream || entry(now.row, before.stream) >= before.count) continue;
      if (now.row != row_count_) {  // a row of its own, behind those in use
        if (rows_.size() == row_count_ * width_) rows_.resize(rows_.size() + width_);
        std::copy_n(row(now.row), width_, row(row_count_));
        now.row = static_cast<std::uint32_t>(row_count_);
      }
      join(row(now.row), row(before.row));
      row(now.row)[before.stream / 8][before.stream % 8] = before.count;  // its row may not have that
    }
    ++now.count;
    now.stream = static_cast<std::uint16_t>(stream);
    ops_.push_back(now);  // the last step that may throw
    if (now.row == row_count_) ++row_count_;
    tails_[stream] = *id;
    return id;
  }
  result<node_id> append(stream_id stream, std::initializer_list<node_id> preds) {
    return append(stream, std::span<const node_id>(preds.begin(), preds.size()));
  }

  /// Does a finish before b starts, on any machine that honours dependencies and FIFO? Strict: reaches(a, a) is false.
  /// Precondition: both exist. O(1).
  [[nodiscard]] bool reaches(node_id a, node_id b) const noexcept {
    HOCKET_ASSERT(a < node_count() && b < node_count());
    return a != b && done(b, ops_[a].stream) >= ops_[a].count;
  }
  /// Does either happen before the other? O(1).
  [[nodiscard]] bool ordered(node_id a, node_id b) const noexcept { return reaches(a, b) || reaches(b, a); }
  /// How many ops of `stream` are done when b is done, b included. Precondition: both exist. O(1).
  [[nodiscard]] std::uint32_t done(node_id b, stream_id stream) const noexcept {
    HOCKET_ASSERT(b < node_count() && stream < stream_count());
    return ops_[b].stream == stream ? ops_[b].count : entry(ops_[b].row, stream);
  }

  [[nodiscard]] std::size_t node_count() const noexcept { return ops_.size(); }
  [[nodiscard]] std::size_t stream_count() const noexcept { return tails_.size(); }
  [[nodiscard]] stream_id stream_of(node_id op) const noexcept { return ops_[op].stream; }
  /// The last op of a stream so far; no_id if it has none.
  [[nodiscard]] node_id last_of(stream_id stream) const noexcept { return tails_[stream]; }
  /// Memory held.
  [[nodiscard]] std::size_t bytes() const noexcept {
    return rows_.capacity() * sizeof(block) + ops_.capacity() * sizeof(state) + tails_.capacity() * sizeof(node_id);
  }
  /// Room for so many nodes, a fourth of which have to wait: in training programs it is one in six to nine.
  void reserve(std::size_t nodes) {
    rows_.reserve((nodes / 4 + 1) * width_);
    ops_.reserve(nodes);
  }
  /// No ops; the same streams. Keeps its memory.
  void clear() noexcept {
    ops_.clear();
    row_count_ = 1;
    std::fill(tails_.begin(), tails_.end(), no_id);
  }

 private:
  using block = std::array<std::uint32_t, 8>;

  struct state {
    std::uint32_t row = 0;    // what is done of other streams; of the op's own it says nothing
    std::uint32_t count = 0;  // ops of its own stream, itself included
    std::uint16_t stream = 0;
  };

  [[nodiscard]] block* row(std::size_t r) noexcept { return rows_.data() + r * width_; }
  [[nodiscard]] std::uint32_t entry(std::size_t r, stream_id stream) const noexcept {
    return rows_[r * width_ + stream / 8][stream % 8];
  }
  void join(block* now, const block* then) const noexcept {
    for (std::size_t w = 0; w < width_; ++w) {
      block x = now[w];
      const block y = then[w];
      for (std::size_t j = 0; j < 8; ++j) x[j] = x[j] < y[j] ? y[j] : x[j];
      now[w] = x;
    }
  }

  std::pmr::vector<block> rows_;  // width_ blocks each; past row_count_ anything
  std::pmr::vector<state> ops_;
  std::pmr::vector<node_id> tails_;
  std::size_t width_;
  std::size_t row_count_ = 1;
};

}  // namespace hocket::inline HOCKET_ABI::graph
