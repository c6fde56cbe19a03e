// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/bytes.hpp>
#include <hocket/core/result.hpp>
#include <hocket/core/ticks.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner {

/// How one choice does on one draw of micro-batches.
struct draw_outcome {
  ticks time = 0;
  bytes lacking{};  ///< memory that the fullest rank lacks; 0: it fits
};

/// How one choice (a split, what is computed again) does on all draws.
struct choice_score {
  double mean_time = 0;  ///< ticks
  ticks worst_time = 0;
  std::size_t worst_draw = 0;  ///< the first that takes so long
  std::size_t fitting = 0;     ///< draws that fit
  bytes most_lacking{};        ///< over all draws
};

struct robust_plan {
  std::vector<choice_score> scores;  ///< of each choice
  /// The choices with the least mean and the least worst time of those that fit every draw; none if none does. Of two
  /// alike the first.
  std::optional<std::size_t> best_mean, best_worst;
};

/// Tries every choice on every draw of micro-batches: what is best on average, and what in the worst case, among those
/// that always fit.
/// @param evaluate  `result<draw_outcome> evaluate(std::size_t choice, std::size_t draw)`
/// Errors: those of evaluate; errc::out_of_range without choices or draws. Complexity: choices x draws calls.
template <class Evaluate>
[[nodiscard]] result<robust_plan> choose_robustly(std::size_t choices, std::size_t draws, Evaluate&& evaluate) {
  constexpr std::int64_t most = 1 << 20;
  for (const std::size_t n : {choices, draws})
    if (n < 1 || n > most)
      return error{errc::out_of_range, static_cast<std::int64_t>(n), 1, most}.with("choices or draws");
  robust_plan out;
  for (std::size_t c = 0; c < choices; ++c) {
    choice_score score;
    for (std::size_t d = 0; d < draws; ++d) {
      const result<draw_outcome> one = evaluate(c, d);
      if (!one) return one.error();
      score.mean_time += static_cast<double>(one->time) / static_cast<double>(draws);
      if (d == 0 || one->time > score.worst_time) {
        score.worst_time = one->time;
        score.worst_draw = d;
      }
      if (one->lacking <= bytes{}) ++score.fitting;
      if (one->lacking > score.most_lacking) score.most_lacking = one->lacking;
    }
    out.scores.push_back(score);
    if (score.fitting < draws) continue;
    if (!out.best_mean || score.mean_time < out.scores[*out.best_mean].mean_time) out.best_mean = c;
    if (!out.best_worst || score.worst_time < out.scores[*out.best_worst].worst_time) out.best_worst = c;
  }
  return out;
}

}  // namespace hocket::inline HOCKET_ABI::planner
