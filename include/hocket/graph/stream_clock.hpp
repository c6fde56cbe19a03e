// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/core/ids.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <vector>

namespace hocket::inline HOCKET_ABI::graph {

/// Streams are numbered below this: a stray id must not size an allocation.
inline constexpr stream_id stream_limit = 1u << 16;

/// What the device guarantees: the order "dependencies ∪ each stream's FIFO", for ops in program order on streams.
/// That is a different relation from `dag::reaches`, which knows dependencies alone: two ops on one stream are always
/// ordered here, whether or not they touch the same data. So it can say which waits are needed and which buffers may
/// be reused by stream order; it cannot say what a change of streams would allow. Hence it is no reachability_index.
///
/// Each op carries a clock: for every stream, how many of its ops are done when the op is done. Rows are padded to a
/// multiple of 8 streams.
///
/// A call that fails or throws changes nothing. Const members are safe for concurrent readers.
/// Memory: 34 bytes a node up to 8 streams, 32 more for each further 8.
/// Source: vector clocks (Fidge 1988, Mattern 1989), with streams as processes; docs/graph.md, "Stream plans" (proof).
///
///     hocket::graph::stream_clock order(2);
///     const auto a = order.append(0, {}).value();
///     const auto b = order.append(1, {}).value();
///     const auto c = order.append(0, std::array{b}).value();    // one wait: stream 0 for b
///     order.reaches(a, c) && order.reaches(b, c) && !order.ordered(a, b);    // a before c by FIFO alone
class stream_clock {
 public:
  /// @param streams  ops run on streams 0 … streams - 1. Precondition: streams <= stream_limit
  explicit stream_clock(std::size_t streams, std::pmr::memory_resource* memory = std::pmr::get_default_resource())
      : rows_(memory), streams_(memory), tails_(streams, no_id, memory), width_((streams + 7) / 8) {
    HOCKET_ASSERT(streams <= stream_limit);
  }

  /// Adds the next op of the program, which runs on `stream` after `preds` (any order, repetitions allowed).
  /// @param wait  called with each predecessor for which the stream has to wait for an event, later ones first: exactly
  ///              those that neither FIFO nor another predecessor implies
  /// @return its id; errc::out_of_range for the stream; errc::bad_order if a predecessor is not an earlier op;
  ///         errc::limit_exceeded past 2^32 - 2 ops
  /// Complexity: O(p + (1 + waits) · streams) for p predecessors in ascending or descending order, else O(p log p)
  /// more.
  template <class Wait>
  result<node_id> append(stream_id stream, std::span<const node_id> preds, Wait&& wait) {
    const result<node_id> id = to_id(node_count(), "number of ops");
    if (!id) return id;
    if (stream >= tails_.size())
      return error{errc::out_of_range, stream, 0, static_cast<std::int64_t>(tails_.size()) - 1}.with("stream");
    bool ascends = true, descends = true;
    for (std::size_t k = 0; k < preds.size(); ++k) {
      if (preds[k] >= *id) return error{errc::bad_order, *id, preds[k]};
      ascends = ascends && (k == 0 || preds[k - 1] <= preds[k]);
      descends = descends && (k == 0 || preds[k - 1] >= preds[k]);
    }
    // Past its end the table holds anything; this row is written whole. It grows by some rows at a time.
    if (const std::size_t need = (*id + std::size_t{1}) * width_; rows_.size() < need) {
      const std::size_t more = need + 63 * width_;
      rows_.resize(more <= rows_.capacity() ? more : need <= rows_.capacity() ? rows_.capacity() : need);
    }
    block* const now = row(*id);
    if (tails_[stream] != no_id) std::copy_n(row(tails_[stream]), width_, now);
    else std::fill_n(now, width_, block{});
    const auto offer = [&](node_id a) {
      if (entry(now, streams_[a]) >= own(a)) return;
      join(now, row(a));
      wait(a);
    };
    if (ascends) {
      for (std::size_t k = preds.size(); k-- > 0;) offer(preds[k]);
    } else if (descends) {
      for (const node_id a : preds) offer(a);
    } else {
      std::pmr::vector<node_id> sorted(preds.begin(), preds.end(), rows_.get_allocator().resource());
      std::sort(sorted.begin(), sorted.end(), [](node_id x, node_id y) { return x > y; });
      for (const node_id a : sorted) offer(a);
    }
    ++now[stream / 8][stream % 8];
    streams_.push_back(static_cast<std::uint16_t>(stream));  // the last step that may throw
    tails_[stream] = *id;
    return id;
  }
  result<node_id> append(stream_id stream, std::span<const node_id> preds) {
    return append(stream, preds, [](node_id) {});
  }

  /// Does a finish before b starts, on any machine that honours dependencies and FIFO? Strict: reaches(a, a) is false.
  /// Precondition: both exist. O(1).
  [[nodiscard]] bool reaches(node_id a, node_id b) const noexcept {
    HOCKET_ASSERT(a < node_count() && b < node_count());
    return a != b && entry(row(b), streams_[a]) >= own(a);
  }
  /// Does either happen before the other? O(1).
  [[nodiscard]] bool ordered(node_id a, node_id b) const noexcept { return reaches(a, b) || reaches(b, a); }
  /// How many ops of `stream` are done when b is done, b included. Precondition: both exist. O(1).
  [[nodiscard]] std::uint32_t done(node_id b, stream_id stream) const noexcept {
    HOCKET_ASSERT(b < node_count() && stream < stream_count());
    return entry(row(b), stream);
  }

  [[nodiscard]] std::size_t node_count() const noexcept { return streams_.size(); }
  [[nodiscard]] std::size_t stream_count() const noexcept { return tails_.size(); }
  [[nodiscard]] stream_id stream_of(node_id op) const noexcept { return streams_[op]; }
  /// The last op of a stream so far; no_id if it has none.
  [[nodiscard]] node_id last_of(stream_id stream) const noexcept { return tails_[stream]; }
  /// Memory held.
  [[nodiscard]] std::size_t bytes() const noexcept {
    return rows_.capacity() * sizeof(block) + streams_.capacity() * sizeof(std::uint16_t) +
           tails_.capacity() * sizeof(node_id);
  }
  void reserve(std::size_t nodes) {
    rows_.reserve(nodes * width_);
    streams_.reserve(nodes);
  }
  /// No ops; the same streams. Keeps its memory.
  void clear() noexcept {
    streams_.clear();
    std::fill(tails_.begin(), tails_.end(), no_id);
  }

 private:
  using block = std::array<std::uint32_t, 8>;

  [[nodiscard]] block* row(node_id n) noexcept { return rows_.data() + n * width_; }
  [[nodiscard]] const block* row(node_id n) const noexcept { return rows_.data() + n * width_; }
  [[nodiscard]] static std::uint32_t entry(const block* of, stream_id stream) noexcept {
    return of[stream / 8][stream % 8];
  }
  // One more than the op's place on its own stream.
  [[nodiscard]] std::uint32_t own(node_id a) const noexcept { return entry(row(a), streams_[a]); }
  void join(block* now, const block* then) const noexcept {
    for (std::size_t w = 0; w < width_; ++w) {
      block x = now[w];
      const block y = then[w];
      for (std::size_t j = 0; j < 8; ++j) x[j] = x[j] < y[j] ? y[j] : x[j];
      now[w] = x;
    }
  }

  std::pmr::vector<block> rows_;             // width_ blocks a node, perhaps more rows than nodes
  std::pmr::vector<std::uint16_t> streams_;  // of each node
  std::pmr::vector<node_id> tails_;
  std::size_t width_;
};

}  // namespace hocket::inline HOCKET_ABI::graph
