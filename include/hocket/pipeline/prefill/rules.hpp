// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/pipeline/prefill/problem.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <vector>

namespace hocket::inline HOCKET_ABI::pipeline {

/// How sizes of pieces are chosen.
enum class prefill_rule : std::uint8_t {
  equal,        ///< all pieces have one size: what engines do by default
  equal_times,  ///< each piece takes as long on the first stage as the first one of `base` tokens
  smoothed,     ///< from `base` a part of the way to equal times: SGLang and vllm-ascend, with factor 0.65 or others
  searched,     ///< by solve_prefill
};
/// Its name as it is spelt above.
[[nodiscard]] constexpr std::string_view to_string(prefill_rule rule) noexcept {
  constexpr std::string_view names[] = {"equal", "equal_times", "smoothed", "searched"};
  return names[static_cast<std::size_t>(rule)];
}

/// How far SGLang's published settings go from equal sizes (0) to equal times (1).
inline constexpr double usual_smooth_factor = 0.65;

namespace detail {

/// The most tokens of a piece after `before` others that take at most `most` on the first stage; at least 1.
template <prefill_cost_policy C>
[[nodiscard]] std::int64_t tokens_within(const C& costs, std::int64_t before, std::int64_t left, ticks most) {
  std::int64_t low = 1, high = left;
  while (low < high) {
    const std::int64_t middle = low + (high - low + 1) / 2;
    if (costs.duration(0, prefill_piece{.before = before, .tokens = middle}) <= most) low = middle;
    else high = middle - 1;
  }
  return low;
}

}  // namespace detail

/// Appends the sizes that a rule gives one request: whole multiples of the alignment, at least one of them, until the
/// rest fits into a piece. As in the engines, only the alignment and the greatest size of `sizes` bind.
/// @param base    tokens of the first piece: the engine's chunk size, >= 1
/// @param factor  for prefill_rule::smoothed, in [0, 1]
/// Precondition: rule is not `searched`. Complexity: O(pieces · log(tokens)).
/// Source: vllm-ascend, "Dynamic Chunked Pipeline Parallel" (design document); SGLang, "Pipeline Parallelism for Long
/// Context"; docs/prefill.md.
///
///     std::vector<std::int64_t> sizes;
///     append_by_rule({.tokens = 5000}, {.align = 64}, costs, prefill_rule::equal, 2048, 1, sizes);  // 2048 2048 904
template <prefill_cost_policy C, class Vector>
void append_by_rule(const prefill_request& request, const prefill_sizes& sizes, const C& costs, prefill_rule rule,
                    std::int64_t base, double factor, Vector& out) {
  HOCKET_ASSERT(rule != prefill_rule::searched && base >= 1);
  const ticks target = costs.duration(0, prefill_piece{.before = 0, .tokens = base});
  std::int64_t done = 0;
  while (done < request.tokens) {
    const std::int64_t left = request.tokens - done;
    std::int64_t x = base;
    if (rule != prefill_rule::equal) {
      // Not capped by what is left: the last piece is no reason to make the others shorter.
      const std::int64_t same = detail::tokens_within(costs, request.cached + done, (std::max)(left, base), target);
      const double part = rule == prefill_rule::smoothed ? factor : 1;
      x = base + static_cast<std::int64_t>(std::floor(part * static_cast<double>(same - base)));
    }
    if (sizes.greatest > 0) x = (std::min)(x, sizes.greatest);
    x = (std::max)(x / sizes.align * sizes.align, sizes.align);
    x = (std::min)(x, left);
    out.push_back(x);
    done += x;
  }
}

}  // namespace hocket::inline HOCKET_ABI::pipeline
