// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/planner/split/detail/level_front.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner::detail {

/// Weights of the maximal counts of a rank such that a layer costs about the same in whichever chunk it lies: those
/// that make the cheapest chunk as dear as can be. That is a matrix game, solved by fictitious play: chunks and counts
/// answer in turn what the other side has played so far. Any weights give a bound; these give a sharp one.
/// @param held  the counts, by chunk; those of the chunks from `from` on count
[[nodiscard]] inline std::vector<std::int64_t> even_weights(const std::vector<std::vector<std::int64_t>>& held,
                                                            std::size_t from) {
  constexpr int rounds = 1000;  // the cheapest chunk is then within about a thousandth of the best
  std::vector<std::int64_t> weights(held.size(), 0);
  std::vector<std::int64_t> of_count(held.size(), 0);                 // in the chunks played so far
  std::vector<std::int64_t> of_chunk(held.front().size() - from, 0);  // at the counts played so far
  for (int round = 0; round < rounds; ++round) {
    const auto dearest = std::max_element(of_count.begin(), of_count.end()) - of_count.begin();
    ++weights[static_cast<std::size_t>(dearest)];
    for (std::size_t c = 0; c < of_chunk.size(); ++c) of_chunk[c] += held[static_cast<std::size_t>(dearest)][from + c];
    const auto cheapest = std::min_element(of_chunk.begin(), of_chunk.end()) - of_chunk.begin();
    for (std::size_t k = 0; k < held.size(); ++k) of_count[k] += held[k][from + static_cast<std::size_t>(cheapest)];
  }
  return weights;
}

/// What layers on the chunks of a rank from `from` on must compute again at the least, however they are dealt out. For
/// any weights of the rank's maximal counts, bytes in the cheapest chunk are the best case, and what they may be at
/// most is a look into the front of all those layers.
class count_bound {
 public:
  /// @param held  the maximal counts, by chunk
  count_bound(const std::vector<std::vector<std::int64_t>>& held, std::size_t from) : from_(from) {
    weigh(held, even_weights(held, from));
    if (from > 0) weigh(held, even_weights(held, 0));
    for (std::size_t k = 0; k < held.size(); ++k) {
      std::vector<std::int64_t> one(held.size(), 0);
      one[k] = 1;
      weigh(held, one);
    }
  }
  /// @param all   the front of all layers
  /// @param lean  the least bytes that a layer keeps: one is on each chunk
  /// @param left  bytes for what layers keep, by count
  /// @return `never` if they do not fit
  [[nodiscard]] ticks least_extra(const level_front& all, std::int64_t lean,
                                  const std::vector<std::int64_t>& left) const {
    ticks most = all.front().extra;
    for (const view& x : views_) {
      int128 room = -int128{x.over} * lean;
      for (std::size_t k = 0; k < left.size(); ++k) room += int128{x.weights[k]} * left[k];
      if (room < 0) return never;
      if (x.least == 0 || room / x.least >= all.front().bytes) continue;
      const level_point* at = cheapest(all, static_cast<std::int64_t>(room / x.least));
      if (at == nullptr) return never;
      most = (std::max)(most, at->extra);
    }
    return most;
  }

 private:
  struct view {
    std::vector<std::int64_t> weights;  // by count
    std::int64_t least = 0, over = 0;   // weight of the cheapest chunk; of the others together, above that
  };

  void weigh(const std::vector<std::vector<std::int64_t>>& held, const std::vector<std::int64_t>& weights) {
    view x{weights, never, 0};
    std::int64_t sum = 0;
    for (std::size_t c = from_; c < held.front().size(); ++c) {
      std::int64_t of = 0;
      for (std::size_t k = 0; k < held.size(); ++k) of += weights[k] * held[k][c];
      x.least = (std::min)(x.least, of);
      sum += of;
    }
    x.over = sum - static_cast<std::int64_t>(held.front().size() - from_) * x.least;
    views_.push_back(x);
  }

  std::size_t from_;
  std::vector<view> views_;
};

}  // namespace hocket::inline HOCKET_ABI::planner::detail
