// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/planner/split/detail/level_front.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner::detail {

/// One side of a matrix game: how often each choice is played, by regret matching in integers.
struct game_side {
  static constexpr std::int64_t unit = 1 << 12;

  explicit game_side(std::size_t choices)
      : mix(choices, unit / static_cast<std::int64_t>(choices) + 1), regret(choices, 0) {}

  [[nodiscard]] std::int64_t played() const noexcept {
    std::int64_t sum = 0;
    for (const std::int64_t x : mix) sum += x;
    return sum;
  }
  /// Plays more often what would have been better than the mean. @param sign  1 if much is good, -1 if little is
  void learn(const std::vector<std::int64_t>& values, std::int64_t sign) {
    wide mean = 0;
    for (std::size_t i = 0; i < mix.size(); ++i) mean += wide{values[i]} * mix[i];
    mean /= played();
    std::int64_t all = 0;
    for (std::size_t i = 0; i < mix.size(); ++i) {
      regret[i] = (std::max)(std::int64_t{0}, regret[i] + sign * (values[i] - static_cast<std::int64_t>(mean)));
      all += regret[i];
    }
    for (std::size_t i = 0; all > 0 && i < mix.size(); ++i)
      mix[i] = static_cast<std::int64_t>(wide{regret[i]} * unit / all);
    if (played() == 0) mix.assign(mix.size(), 1);
  }

  std::vector<std::int64_t> mix, regret;
};

/// Weights of the maximal counts of a rank such that a layer costs about the same in whichever chunk it lies: those
/// that make the cheapest chunk as dear as can be (a matrix game). Any weights give a bound; these give a sharp one.
/// @param held  the counts, by chunk; those of the chunks from `from` on count
[[nodiscard]] inline std::vector<std::int64_t> even_weights(const std::vector<std::vector<std::int64_t>>& held,
                                                            std::size_t from) {
  constexpr int rounds = 256;
  const std::size_t times = held.size();
  const std::size_t chunks = held.front().size() - from;
  game_side row(times);
  game_side column(chunks);
  std::vector<std::int64_t> of_row(times);
  std::vector<std::int64_t> of_column(chunks);
  std::vector<std::int64_t> sum(times, 0);
  for (int round = 1; round <= rounds; ++round) {
    for (std::size_t c = 0; c < chunks; ++c) {
      of_column[c] = 0;
      for (std::size_t k = 0; k < times; ++k) of_column[c] += row.mix[k] * held[k][from + c];
    }
    column.learn(of_column, -1);
    for (std::size_t k = 0; k < times; ++k) {
      of_row[k] = 0;
      for (std::size_t c = 0; c < chunks; ++c) of_row[k] += column.mix[c] * held[k][from + c];
    }
    row.learn(of_row, 1);
    for (std::size_t k = 0; k < times; ++k) sum[k] += row.mix[k] * round;
  }
  const std::int64_t most = (std::max)(std::int64_t{1}, *std::max_element(sum.begin(), sum.end()));
  for (std::int64_t& x : sum) x = static_cast<std::int64_t>(wide{x} * game_side::unit / most);
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
      wide room = -wide{x.over} * lean;
      for (std::size_t k = 0; k < left.size(); ++k) room += wide{x.weights[k]} * left[k];
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
