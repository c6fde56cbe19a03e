// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/cost/formula/number.hpp>
#include <hocket/cost/model/optimizer_parallel.hpp>

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

// Muon: one moment per weight, and an update that needs whole matrices.
namespace hocket::inline HOCKET_ABI::cost {

/// The optimizer Muon, with AdamW for what is no matrix of a layer: embeddings, head, norms, biases.
/// Source: arXiv:2502.16982 (Moonlight); the iteration: Jordan et al., "Muon", 2024.
struct muon {
  std::int64_t steps = 5;       ///< of the Newton-Schulz iteration
  rational momentum_bytes = 4;  ///< of a weight under Muon; AdamW's two take training::moment_bytes
};

/// Whether Muon updates weights of this shape: matrices, but for embeddings and the head.
[[nodiscard]] constexpr bool is_under_muon(const weight_shape& w) noexcept {
  if (w.first < 2 || w.rest < 2) return false;
  return w.name != "token embedding" && w.name != "position embedding" && w.name != "output head";
}

/// FLOPs of one update of one such matrix: each step squares the smaller Gram matrix and multiplies twice with the
/// larger side, 4 m^2 n + 2 m^3 for m <= n.
///
///     static_assert(newton_schulz_flops({.first = 2, .rest = 3}, 5).num() == 5 * (4 * 4 * 3 + 2 * 8));
[[nodiscard]] constexpr rational newton_schulz_flops(const weight_shape& w, std::int64_t steps) noexcept {
  const rational m((std::min)(w.first, w.rest)), n((std::max)(w.first, w.rest));
  return rational(steps) * (rational(4) * m * m * n + rational(2) * m * m * m);
}

/// Matrices dealt out whole to ranks, since their update cannot be cut.
struct muon_shards {
  std::int64_t matrices = 0, others = 0;  ///< elements under Muon, under AdamW
  std::int64_t held = 0;                  ///< elements of whole matrices on the fullest rank
  std::int64_t least_held = 0;            ///< what no deal can go below: the mean, or the largest matrix
  rational flops;                         ///< of all updates of a step
  rational most_flops;                    ///< of those of one rank
  friend constexpr bool operator==(const muon_shards&, const muon_shards&) = default;
};

namespace detail {
inline constexpr std::int64_t max_dealt = 1 << 22;  // matrices: those of a thousand layers with a thousand experts
}

/// Deals whole matrices out to so many ranks, the longest first to the rank with the least work: at most 4/3 of the
/// least possible (Graham 1969). Work is FLOPs of updates, so that ranks finish together; `held` is what that leaves
/// on the fullest rank.
/// Precondition: sizes of shapes are in [0, 2^31).
/// Errors: errc::out_of_range unless 1 <= ways <= 2^22; errc::limit_exceeded for more than 2^22 matrices;
/// errc::overflow.
/// Complexity: O(matrices log ranks).
///
///     shard_whole(weight_shapes(m, p), p.dp)->held
[[nodiscard]] inline result<muon_shards> shard_whole(std::span<const weight_shape> shapes, std::int64_t ways,
                                                     const muon& how = {}) {
  constexpr integer max_elements = (std::numeric_limits<std::int64_t>::max)();
  if (ways < 1 || ways > detail::max_dealt) return error{errc::out_of_range, ways, 1, detail::max_dealt}.with("ranks");
  muon_shards out;
  std::vector<weight_shape> matrices;
  std::int64_t count = 0, largest = 0;
  integer elements = 0;
  for (const weight_shape& w : shapes) {
    elements += integer{w.first} * w.rest * w.count;
    if (elements > max_elements) return error{errc::overflow}.with("elements under Muon");
    if (!is_under_muon(w)) {
      out.others += w.elements();
      continue;
    }
    count += w.count;
    if (count > detail::max_dealt) return error{errc::limit_exceeded, count, detail::max_dealt}.with("matrices");
    out.matrices += w.elements();
    largest = (std::max)(largest, w.first * w.rest);
    matrices.push_back(w);
  }
  std::sort(matrices.begin(), matrices.end(), [](const weight_shape& x, const weight_shape& y) {
    const rational of_x = newton_schulz_flops(x, 1), of_y = newton_schulz_flops(y, 1);
    return !(of_x == of_y) ? of_y < of_x : x.first > y.first;
  });
  struct rank_load {
    integer flops = 0;
    std::int64_t rank = 0, held = 0;
    bool operator>(const rank_load& x) const noexcept { return flops != x.flops ? flops > x.flops : rank > x.rank; }
  };
  std::priority_queue<rank_load, std::vector<rank_load>, std::greater<>> ranks;
  for (std::int64_t rank = 0; rank < ways; ++rank) ranks.push({.rank = rank});
  for (const weight_shape& w : matrices) {
    const rational each = newton_schulz_flops(w, how.steps);
    out.flops = out.flops + rational(w.count) * each;
    if (!out.flops.ok()) return error{errc::overflow}.with("FLOPs of Muon");
    for (std::int64_t at = 0; at < w.count; ++at) {
      rank_load least = ranks.top();
      ranks.pop();
      least.flops += each.num();
      least.held += w.first * w.rest;
      ranks.push(least);
    }
  }
  integer most = 0;
  for (; !ranks.empty(); ranks.pop()) {
    out.held = (std::max)(out.held, ranks.top().held);
    most = (std::max)(most, ranks.top().flops);
  }
  out.most_flops = rational::whole(most);
  out.least_held = (std::max)((out.matrices + ways - 1) / ways, largest);
  return out;
}

/// Bytes of optimizer states on the fullest of `ways` ranks that share them: the momentum of its whole matrices, and
/// its part of AdamW's moments; with the master copies of both.
///
///     static_bytes of weights and gradients aside, what Muon needs in place of 12 bytes a parameter
[[nodiscard]] constexpr rational muon_state_bytes(const muon_shards& x, std::int64_t ways, const training& t,
                                                  const muon& how = {}) noexcept {
  HOCKET_ASSERT(ways >= 1);
  return rational(x.held) * (how.momentum_bytes + t.master_bytes) +
         rational(x.others) * (t.moment_bytes + t.master_bytes) / rational(ways);
}

/// Bytes a rank gets for the updates if states are cut element by element all the same (ZeRO), and matrices must be
/// gathered: the other ranks' momentum of all matrices, in 16 bits. 0 where matrices are dealt out whole.
/// Source: arXiv:2502.16982 section 3.3, "DP gather".
[[nodiscard]] constexpr rational muon_gathered_bytes(const muon_shards& x, std::int64_t ways) noexcept {
  HOCKET_ASSERT(ways >= 1);
  return rational(2) * rational(x.matrices) * rational(ways - 1) / rational(ways);
}

}  // namespace hocket::inline HOCKET_ABI::cost
