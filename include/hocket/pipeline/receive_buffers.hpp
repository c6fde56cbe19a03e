// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/borrowed.hpp>
#include <hocket/pipeline/action.hpp>

#include <cstdint>
#include <memory_resource>
#include <vector>

namespace hocket::inline HOCKET_ABI::pipeline {

/// Which receives share slots.
enum class slot_pools : std::uint8_t {
  stage_and_kind,  ///< a pool for the activations and one for the gradients of each stage
  kind,            ///< a pool for all activations of a rank and one for all gradients
  rank,            ///< one pool for each rank
};

/// Until when what was received stays where it came.
enum class held_until : std::uint8_t {
  use,  ///< the forward that reads an activation, the backward or input gradient that reads a gradient: the runtime
        ///< copies what it needs later
  backward,  ///< the last half of the backward of the same stage and micro-batch (PyTorch's autograd keeps its inputs)
};

/// How receives share memory.
struct receive_options {
  slot_pools pools = slot_pools::rank;
  held_until activations = held_until::backward;
  held_until gradients = held_until::backward;
  /// Bytes of what stage s sends to stage s + 1, by s: one number for all, or stages - 1 of them. Empty: each counts 1,
  /// and bytes are slots.
  borrowed<std::int64_t> activation_bytes{};
  borrowed<std::int64_t> gradient_bytes{};  ///< of what stage s + 1 sends back to s; empty: as the activations
};

/// A receive, and the slot that it gets.
struct posted_receive {
  static constexpr std::uint32_t nothing = ~std::uint32_t{0};
  stage_action receive;
  std::uint32_t rank = 0;
  std::uint32_t posted = 0;    ///< the step of its rank at which it stands
  std::uint32_t last_use = 0;  ///< the step whose action reads the slot last
  std::uint32_t pool = 0;      ///< index into receive_buffers::pools
  std::uint32_t slot = 0;      ///< number in the pool
  /// The last use of what was in the slot before, or `nothing`. Where transfers have a stream of their own, the receive
  /// must wait for that step.
  std::uint32_t after = nothing;
};

/// Slots that some receives of a rank share.
struct slot_pool {
  static constexpr std::uint32_t any_stage = ~std::uint32_t{0};
  std::uint32_t rank = 0;
  std::uint32_t stage = any_stage;       ///< with slot_pools::stage_and_kind
  std::uint32_t direction = 0;           ///< of that stage
  action_kind kind = action_kind::idle;  ///< recv_forward or recv_backward; idle for both
  std::uint32_t first = 0;               ///< of its slots in receive_buffers::slot_bytes.
  std::uint32_t slots = 0;
  std::int64_t bytes = 0;
  /// No assignment to slots has less. That is `bytes`, but for some pools of several sizes.
  std::int64_t least_bytes = 0;
  /// The step of the receive by which most contents are held at once for the first time: where all have one size, all
  /// slots are taken then, and no fewer do.
  std::uint32_t peak_step = 0;
};

/// Which receive uses which slot.
struct receive_buffers {
  std::pmr::vector<posted_receive> receives;  ///< rank after rank, in the order of their lists
  std::pmr::vector<slot_pool> pools;          ///< rank after rank, stages ascending, activations first; none is empty
  std::pmr::vector<std::int64_t> slot_bytes;  ///< pool after pool

  /// Slots of all ranks.
  [[nodiscard]] std::uint64_t slots() const noexcept {
    std::uint64_t total = 0;
    for (const slot_pool& x : pools) total += x.slots;
    return total;
  }
  /// Bytes of all ranks.
  [[nodiscard]] std::int64_t bytes() const noexcept {
    std::int64_t total = 0;
    for (const slot_pool& x : pools) total += x.bytes;
    return total;
  }
};

}  // namespace hocket::inline HOCKET_ABI::pipeline
