// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/planner/split/detail/level_front.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner::detail {

/// The maximal counts of a rank, by chunk.
inline std::vector<std::vector<std::int64_t>> counts_of(const in_flight_profile& profile, std::uint32_t rank) {
  std::vector<std::vector<std::int64_t>> counts;
  for (std::uint32_t k = 0; k < profile.times(rank); ++k) {
    const auto at = profile.at(rank, k);
    counts.emplace_back(at.begin(), at.end());
  }
  return counts;
}

/// Weights of the maximal counts of a rank such that a layer costs about the same in whichever chunk it lies: those
/// that make the cheapest chunk as dear as can be (a matrix game, by regret matching in integers). Any weights give a
/// bound; these give a sharp one.
inline std::vector<std::int64_t> even_weights(const std::vector<std::vector<std::int64_t>>& held, std::size_t from) {
  constexpr std::int64_t unit = 1 << 12;
  constexpr int rounds = 256;
  const std::size_t times = held.size(), chunks = held.front().size() - from;
  std::vector<std::int64_t> row(times, unit / static_cast<std::int64_t>(times) + 1), column(chunks, 1), sum(times, 0);
  std::vector<std::int64_t> row_regret(times, 0), column_regret(chunks, 0), row_value(times), column_value(chunks);
  const auto matched = [](std::vector<std::int64_t>& mix, const std::vector<std::int64_t>& regret) {
    std::int64_t all = 0;
    for (const std::int64_t x : regret) all += x;
    if (all == 0) return;
    for (std::size_t i = 0; i < mix.size(); ++i) mix[i] = static_cast<std::int64_t>(wide{regret[i]} * unit / all);
  };
  for (int round = 1; round <= rounds; ++round) {
    std::int64_t rows = 0, columns = 0;
    wide value = 0;
    for (const std::int64_t x : row) rows += x;
    for (std::size_t c = 0; c < chunks; ++c) {
      column_value[c] = 0;
      for (std::size_t k = 0; k < times; ++k) column_value[c] += row[k] * held[k][from + c];
    }
    for (const std::int64_t x : column) columns += x;
    for (std::size_t c = 0; c < chunks; ++c) value += wide{column_value[c]} * column[c];
    for (std::size_t c = 0; c < chunks; ++c)  // the columns want little
      column_regret[c] =
          (std::max)(std::int64_t{0}, column_regret[c] + static_cast<std::int64_t>(value / columns) - column_value[c]);
    matched(column, column_regret);
    columns = 0, value = 0;
    for (const std::int64_t x : column) columns += x;
    if (columns == 0) column.assign(chunks, 1);
    for (std::size_t k = 0; k < times; ++k) {
      row_value[k] = 0;
      for (std::size_t c = 0; c < chunks; ++c) row_value[k] += column[c] * held[k][from + c];
      value += wide{row_value[k]} * row[k];
    }
    for (std::size_t k = 0; k < times; ++k)  // the rows want much
      row_regret[k] =
          (std::max)(std::int64_t{0}, row_regret[k] + row_value[k] - static_cast<std::int64_t>(value / rows));
    matched(row, row_regret);
    rows = 0;
    for (const std::int64_t x : row) rows += x;
    if (rows == 0) row.assign(times, 1);
    for (std::size_t k = 0; k < times; ++k) sum[k] += row[k] * round;
  }
  std::int64_t most = 1;
  for (const std::int64_t x : sum) most = (std::max)(most, x);
  for (std::int64_t& x : sum) x = static_cast<std::int64_t>(wide{x} * unit / most);
  return sum;
}

/// What layers on the chunks of a rank from `from` on must compute again at the least, however they are dealt out. For
/// any weights of the rank's maximal counts, bytes in the cheapest chunk are the best case, and what they may be at
/// most is a look into the front of all those layers.
class count_bound {
 public:
  /// @param held  the maximal counts, by chunk
  count_bound(const std::vector<std::vector<std::int64_t>>& held, std::size_t from) : from_(from) {
    weigh(held, even_weights(held, from));
    for (std::size_t k = 0; k < held.size(); ++k) {
      std::vector<std::int64_t> one(held.size(), 0);
      one[k] = 1;
      weigh(held, one);
    }
  }
  void weigh(const std::vector<std::vector<std::int64_t>>& held, const std::vector<std::int64_t>& weights) {
    view x{weights, 0, 0};
    std::int64_t sum = 0;
    for (std::size_t c = from_; c < held.front().size(); ++c) {
      std::int64_t of = 0;
      for (std::size_t k = 0; k < held.size(); ++k) of += weights[k] * held[k][c];
      x.least = c == from_ || of < x.least ? of : x.least, sum += of;
    }
    x.over = sum - static_cast<std::int64_t>(held.front().size() - from_) * x.least;
    views_.push_back(x);
  }
  /// The weights that make all chunks about equally dear.
  [[nodiscard]] const std::vector<std::int64_t>& even() const noexcept { return views_.front().weights; }

  /// @param all   the front of all layers
  /// @param lean  the least bytes that a layer keeps: one is on each chunk
  /// @param left  bytes for what layers keep, by count
  /// @return `never` if they do not fit
  [[nodiscard]] ticks least_extra(const level_front& all, std::int64_t lean,
                                  const std::vector<std::int64_t>& left) const {
    ticks most = all.front().extra;
    for (const view& x : views_) {
      wide room = -wide{x.over} * lean;
      for (std::size_t k = 0; k < left.size(); ++k) room += wide{x.weights[k]} * left[k];
      if (room < 0) return never;
      if (x.least == 0) continue;
      room /= x.least;
      if (room >= all.front().bytes) continue;
      const level* at = cheapest(all, static_cast<std::int64_t>(room));
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
  std::size_t from_;
  std::vector<view> views_;
};

}  // namespace hocket::inline HOCKET_ABI::planner::detail
