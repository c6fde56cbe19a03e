// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/cost/model/config.hpp>
#include <hocket/cost/model/flops.hpp>
#include <hocket/cost/model/symbols.hpp>

#include <string_view>

/// How ranks that share a sequence compute its attention: what they exchange, and what lies about meanwhile. Queries,
/// keys, values and the attention's output are each 1/cp of the sequence on a rank.
namespace hocket::inline HOCKET_ABI::cost {

[[nodiscard]] constexpr std::string_view to_string(context_exchange how) noexcept {
  switch (how) {
    case context_exchange::ring: return "p2p";
    case context_exchange::all_gather: return "all_gather";
    case context_exchange::all_to_all: return "a2a";
  }
  return "";
}

namespace detail::context {

using letters::a, letters::b, letters::c, letters::cp, letters::cp_exchange, letters::d, letters::d_n, letters::d_r,
    letters::d_v, letters::g, letters::latent, letters::s, letters::tp;
inline constexpr auto by_ring = choose(cp_exchange, 1, 0, 0) * (cp - 1);
inline constexpr auto by_gather = choose(cp_exchange, 0, 1, 0) * (cp - 1);
inline constexpr auto by_heads = choose(cp_exchange, 0, 0, 1) * (cp - 1);

/// Bytes of one rank's part of a sequence. Latent attention exchanges the expanded heads. KV heads are copied, not
/// divided, once there are fewer of them than tensor-parallel ranks.
inline constexpr auto keys_values = c * (element * (2 * s * b * choose(latent, g* d, a*(d_n + d_r + d_v) / 2))) /
                                    (cp * choose(latent, least(tp, g), tp));
inline constexpr auto queries = c * (element * (s * b * a * choose(latent, d, d_n + d_r))) / (cp * tp);
inline constexpr auto outputs = c * (element * (s * b * a * choose(latent, d, d_v))) / (cp * tp);
/// The exchange happens again with the attention.
inline constexpr auto again = choose(letters::recomputed, flop::core_by_name, 1, 1);

inline constexpr std::string_view ring_attention = "arXiv:2310.01889", llama3 = "arXiv:2407.21783 section 3.3.2",
                                  ulysses = "arXiv:2309.14509 section 3";

}  // namespace detail::context
}  // namespace hocket::inline HOCKET_ABI::cost
