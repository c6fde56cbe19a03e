// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/cost/blocks/block_terms.hpp>
#include <hocket/cost/formula/reflect.hpp>

#include <cstdint>

namespace hocket::inline HOCKET_ABI::cost {

/// Where a norm stands, for what is kept: before the attention, between attention and FFN, behind either.
enum class norm_place : std::uint8_t { first, between, behind };

/// Norms of the residual stream.  Source: arXiv:1910.07467, arXiv:1607.06450.
struct norms {
  std::int64_t count = 1;
  std::int64_t norm_weights = 1;  ///< vectors per norm: 1 RMSNorm, 2 LayerNorm, 0 without weights
  norm_place place = norm_place::first;
  friend constexpr bool operator==(const norms&, const norms&) = default;
};

}  // namespace hocket::inline HOCKET_ABI::cost
HOCKET_DETAIL_STRUCT(hocket::cost::norms, count, norm_weights, place);

namespace hocket::inline HOCKET_ABI::cost::letters::blocks::norms_terms {

inline constexpr auto parameters = [] {
  return terms(weights("norms", L * (n * n_w * h), n * n_w, literal(1), "arXiv:1910.07467"));
}();
inline constexpr auto saved = [] {
  using detail::saved::kept_unless_full, detail::saved::region, detail::saved::tensor, detail::saved::unless;
  constexpr auto wide = 4 * byte * (s * b * h);
  constexpr auto input = n * choose(wide_norm * (1 - r_cast), detail::blocks::stream_of(h), wide);
  constexpr auto kept = choose(named("place", "place"), kept_unless_full, unless(r_output), kept_unless_full);
  return terms(tensor("norms, inputs", input, kept, region, "arXiv:2205.05198 section 4.1", layer_operation::cast));
}();

inline constexpr auto moved = [] {
  return terms(detail::blocks::moves("norms", 2 * n * detail::blocks::stream_of(1 * h), literal(1),
                                     detail::saved::region, detail::flop::replays(r_norm), layer_operation::norm));
}();

}  // namespace hocket::inline HOCKET_ABI::cost::letters::blocks::norms_terms

namespace hocket::inline HOCKET_ABI::cost {

template <>
struct formulas_of<norms> {
  static constexpr block_terms lists() noexcept {
    return {.parameters = letters::blocks::norms_terms::parameters,
            .saved = letters::blocks::norms_terms::saved,
            .moved = letters::blocks::norms_terms::moved};
  }
};

}  // namespace hocket::inline HOCKET_ABI::cost
