// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/config.hpp>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace hocket::inline HOCKET_ABI::pipeline {

/// What a rank does in one step. `backward` is the whole backward pass of a chunk; `input_grad` and `weight_grad` are
/// its two halves, which zero-bubble schedules run apart. The rest are the steps around them that runtimes list too.
enum class action_kind : std::uint8_t {
  forward,
  backward,
  input_grad,
  weight_grad,
  send_forward,
  recv_forward,
  send_backward,
  recv_backward,
  unshard,      ///< gather the sharded weights of a stage
  reshard,      ///< let them go
  reduce_grad,  ///< reduce the gradients of a stage over its data-parallel group
  recompute,
  offload,
  reload,
  optimizer,
  idle,
  post_validation,  ///< judge the step after the fact, and take it back if it was wrong; only as a stage_action
};
/// The last kind in the order of their numbers.
inline constexpr action_kind last_action_kind = action_kind::post_validation;

/// True for the four kinds that compute: they occupy the rank and carry a micro-batch.
[[nodiscard]] constexpr bool is_compute(action_kind kind) noexcept { return kind <= action_kind::weight_grad; }
/// True for the four transfers of activations and gradients.
[[nodiscard]] constexpr bool is_transfer(action_kind kind) noexcept {
  return kind >= action_kind::send_forward && kind <= action_kind::recv_backward;
}

/// True for what begins the way back of a micro-batch through a stage: what the stage before it waits for.
[[nodiscard]] constexpr bool starts_backward(action_kind kind) noexcept {
  return kind == action_kind::backward || kind == action_kind::input_grad;
}
/// True for what ends it, and lets the activation go.
[[nodiscard]] constexpr bool ends_activation(action_kind kind) noexcept {
  return kind == action_kind::backward || kind == action_kind::weight_grad;
}

/// Its name as it is spelt above, such as "input_grad".
[[nodiscard]] constexpr std::string_view to_string(action_kind kind) noexcept {
  constexpr std::string_view names[] = {
      "forward",       "backward",      "input_grad", "weight_grad", "send_forward",   "recv_forward",
      "send_backward", "recv_backward", "unshard",    "reshard",     "reduce_grad",    "recompute",
      "offload",       "reload",        "optimizer",  "idle",        "post_validation"};
  return names[static_cast<std::size_t>(kind)];
}

/// One step of one rank in 32 bits: kind, chunk and micro-batch. Which stage that is follows from the rank and the
/// placement, so a list of actions is the same data on a rank whatever the rank is called.
///
///     constexpr hocket::pipeline::action a{hocket::pipeline::action_kind::forward, 1, 7};   // second chunk,
///     micro-batch 7 static_assert(sizeof a == 4 && a.chunk() == 1 && hocket::pipeline::action::from_bits(a.bits()) ==
///     a);
class action {
 public:
  /// What one micro-batch more adds to bits().
  static constexpr std::uint32_t next_micro_batch = 1;

  constexpr action() noexcept = default;
  /// Preconditions: chunk < 64, micro_batch < 2^21, kind <= action_kind::idle.
  /// @param joined  this action and the next one in the list run at the same time (a forward beside a backward)
  constexpr action(action_kind kind, std::uint32_t chunk, std::uint32_t micro_batch, bool joined = false) noexcept
      : bits_(micro_batch | chunk << 21 | static_cast<std::uint32_t>(joined) << 27 |
              static_cast<std::uint32_t>(kind) << 28) {
    HOCKET_ASSERT(chunk < 64 && micro_batch < (1u << 21) && kind <= action_kind::idle);
  }

  [[nodiscard]] constexpr action_kind kind() const noexcept { return static_cast<action_kind>(bits_ >> 28); }
  [[nodiscard]] constexpr bool joined() const noexcept { return (bits_ >> 27 & 1u) != 0; }
  [[nodiscard]] constexpr std::uint32_t chunk() const noexcept { return bits_ >> 21 & 63u; }
  [[nodiscard]] constexpr std::uint32_t micro_batch() const noexcept { return bits_ & ((1u << 21) - 1); }

  /// The encoding, high bit first: kind 4, joined 1, chunk 6, micro-batch 21. Stable within a minor version.
  [[nodiscard]] constexpr std::uint32_t bits() const noexcept { return bits_; }
  [[nodiscard]] static constexpr action from_bits(std::uint32_t bits) noexcept {
    action a;
    a.bits_ = bits;
    return a;
  }
  constexpr auto operator<=>(const action&) const noexcept = default;

 private:
  std::uint32_t bits_ = static_cast<std::uint32_t>(action_kind::idle) << 28;
};

/// One step in 64 bits that means the same on every rank: kind, stage, micro-batch, sequence slice, direction. The form
/// for tables, files and messages between ranks.
class stage_action {
 public:
  /// The micro-batch of steps that have none, such as `unshard`.
  static constexpr std::uint32_t no_micro_batch = (1u << 22) - 1;
  /// What one micro-batch more adds to bits().
  static constexpr std::uint64_t next_micro_batch = std::uint64_t{1} << 16;

  constexpr stage_action() noexcept = default;
  /// Preconditions: stage < 2^16, micro_batch < 2^22, slice < 2^16, direction < 2.
  /// @param slice      part of the sequence, where a micro-batch is cut along it
  /// @param direction  1 for the second, reversed pipeline of bidirectional schedules
  constexpr stage_action(action_kind kind, std::uint32_t stage, std::uint32_t micro_batch, std::uint32_t slice = 0,
                         std::uint32_t direction = 0, bool joined = false) noexcept
      : bits_(std::uint64_t{slice} | micro_batch * next_micro_batch | std::uint64_t{stage} << 38 |
              std::uint64_t{joined} << 54 | std::uint64_t{direction} << 55 | static_cast<std::uint64_t>(kind) << 58) {
    HOCKET_ASSERT(stage < (1u << 16) && micro_batch < (1u << 22) && slice < (1u << 16) && direction < 2);
  }

  [[nodiscard]] constexpr action_kind kind() const noexcept { return static_cast<action_kind>(bits_ >> 58); }
  [[nodiscard]] constexpr std::uint32_t direction() const noexcept { return bits_ >> 55 & 1u; }
  [[nodiscard]] constexpr bool joined() const noexcept { return (bits_ >> 54 & 1u) != 0; }
  [[nodiscard]] constexpr std::uint32_t stage() const noexcept { return bits_ >> 38 & 0xffffu; }
  [[nodiscard]] constexpr std::uint32_t micro_batch() const noexcept { return bits_ / next_micro_batch & 0x3fffffu; }
  [[nodiscard]] constexpr std::uint32_t slice() const noexcept { return bits_ & 0xffffu; }

  /// The encoding, high bit first: kind 6, flags 4 (two free, direction, joined), stage 16, micro-batch 22, slice 16.
  [[nodiscard]] constexpr std::uint64_t bits() const noexcept { return bits_; }
  [[nodiscard]] static constexpr stage_action from_bits(std::uint64_t bits) noexcept {
    stage_action a;
    a.bits_ = bits;
    return a;
  }
  /// Another kind of the same stage, micro-batch, slice and direction; not joined.
  [[nodiscard]] constexpr stage_action with_kind(action_kind kind) const noexcept {
    return {kind, stage(), micro_batch(), slice(), direction()};
  }
  constexpr auto operator<=>(const stage_action&) const noexcept = default;

 private:
  std::uint64_t bits_ = static_cast<std::uint64_t>(action_kind::idle) << 58;
};

}  // namespace hocket::inline HOCKET_ABI::pipeline
