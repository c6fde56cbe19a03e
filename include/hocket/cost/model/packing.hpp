// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/result.hpp>
#include <hocket/cost/model/model.hpp>
#include <hocket/cost/model/training.hpp>

#include <cstdint>
#include <limits>
#include <span>

namespace hocket::inline HOCKET_ABI::cost {

/// The same step with several documents packed into each sequence: a position attends within its document alone, in
/// windowed layers also no further back than the window. Formulas need only two sums over the documents: the squares
/// of their lengths, and the pairs of positions within the window.
/// @param lengths  tokens of each document of one sequence; they add up to t.sequence
/// @param window   positions that a windowed attention sees (window_of); 0: none
/// Errors: errc::out_of_range for a length that is not in [1, sequence], errc::contradictory_field for another sum,
/// errc::limit_exceeded where the squares pass 2^31 - 1, as every size of a training. O(documents).
///
///     const std::int64_t lengths[] = {1024, 3072};
///     cost::packed({.sequence = 4096}, lengths)->squared_lengths == 1024 * 1024 + 3072 * 3072;
[[nodiscard]] constexpr result<training> packed(training t, std::span<const std::int64_t> lengths,
                                                std::int64_t window = 0) noexcept {
  constexpr std::int64_t max_size = (std::numeric_limits<std::int32_t>::max)();
  std::int64_t sum = 0, squares = 0, pairs = 0;
  for (const std::int64_t length : lengths) {
    if (length < 1 || length > t.sequence)
      return error{errc::out_of_range, length, 1, t.sequence}.with("length of a document");
    sum += length;
    if (sum > t.sequence) break;
    if (length > max_size || length * length > max_size - squares)
      return error{errc::limit_exceeded, length, max_size}.with("sum of squared document lengths");
    squares += length * length;
    const std::int64_t seen = window > 0 && window < length ? window : length;
    pairs += seen * length - seen * (seen - 1) / 2;
  }
  if (sum != t.sequence) return error{errc::contradictory_field, t.sequence, sum}.with("sequence");
  t.squared_lengths = squares;
  t.windowed_pairs = pairs;
  return t;
}

}  // namespace hocket::inline HOCKET_ABI::cost
