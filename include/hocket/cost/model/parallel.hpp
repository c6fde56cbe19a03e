// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/config.hpp>
#include <hocket/cost/formula/reflect.hpp>

#include <cstdint>
#include <string_view>

namespace hocket::inline HOCKET_ABI::cost {

/// What the backward pass computes again: nothing; the core of the attention; whole layers, from their input.
enum class recompute : std::uint8_t { none, selective, full };
/// What optimizer sharding over data-parallel ranks divides: nothing; optimizer states; also gradients; also weights.
enum class zero : std::uint8_t { none, optimizer, gradients, weights };

/// How context-parallel ranks, each with a part of the sequence, see each other's keys and values. Megatron-LM's
/// cp_comm_type: p2p, all_gather, a2a.
enum class context_exchange : std::uint8_t {
  ring,        ///< blocks of keys and values pass from rank to rank while attention works on the one before
  all_gather,  ///< every rank gathers all keys and values of its layer
  all_to_all   ///< Ulysses: parts of the sequence are exchanged for heads, and back; heads must divide over cp
};

[[nodiscard]] constexpr std::string_view to_string(context_exchange how) noexcept {
  switch (how) {
    case context_exchange::ring: return "p2p";
    case context_exchange::all_gather: return "all_gather";
    case context_exchange::all_to_all: return "a2a";
  }
  return "";
}

/// How the model is spread. devices() ranks in all.
struct parallel {
  std::int64_t tp = 1, pp = 1, vp = 1, dp = 1, cp = 1, ep = 1;
  std::int64_t etp = 1;            ///< tensor parallel size inside an expert
  std::int64_t copies = 1;         ///< of a layer's work, whose collectives hide behind each other's compute
  bool sequence_parallel = false;  ///< norms and residuals are split over tp, too
  cost::zero zero = cost::zero::none;
  cost::recompute recompute = cost::recompute::none;
  bool offload_optimizer = false;    ///< master weights and moments live on the host
  bool offload_activations = false;  ///< what layers keep moves to the host until it is needed
  context_exchange cp_exchange = context_exchange::ring;

  [[nodiscard]] constexpr std::int64_t devices() const noexcept { return tp * pp * dp * cp; }
  friend constexpr bool operator==(const parallel&, const parallel&) = default;
};

}  // namespace hocket::inline HOCKET_ABI::cost

HOCKET_DETAIL_STRUCT(hocket::cost::parallel, tp, pp, vp, dp, cp, ep, etp, copies, sequence_parallel, zero, recompute,
                     offload_optimizer, offload_activations, cp_exchange);
