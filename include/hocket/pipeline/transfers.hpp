// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/pipeline/rank_view.hpp>
#include <hocket/pipeline/schedule.hpp>

#include <cstdint>

namespace hocket::inline HOCKET_ABI::pipeline {

/// True for the two sends. Precondition: is_transfer(kind).
[[nodiscard]] constexpr bool is_send(action_kind kind) noexcept {
  return kind == action_kind::send_forward || kind == action_kind::send_backward;
}

/// The other end of a transfer: the receive of a send, the send of a receive.
/// Precondition: is_transfer(a.kind()), and the stage at the other end exists.
///
///     constexpr hocket::pipeline::stage_action send{hocket::pipeline::action_kind::send_forward, 3, 7};
///     static_assert(far_end(send) == hocket::pipeline::stage_action(hocket::pipeline::action_kind::recv_forward, 4,
///     7));
[[nodiscard]] constexpr stage_action far_end(stage_action a) noexcept {
  const auto moved = [&](action_kind kind, std::uint32_t stage) {
    return stage_action(kind, stage, a.micro_batch(), a.slice(), a.direction());
  };
  switch (a.kind()) {
    case action_kind::send_forward: return moved(action_kind::recv_forward, a.stage() + 1);
    case action_kind::recv_forward: return moved(action_kind::send_forward, a.stage() - 1);
    case action_kind::send_backward: return moved(action_kind::recv_backward, a.stage() - 1);
    default: return moved(action_kind::send_backward, a.stage() + 1);
  }
}
/// Whether the stage at the other end of a transfer exists among `stages`.
[[nodiscard]] constexpr bool has_far_end(stage_action a, std::uint32_t stages) noexcept {
  const bool up = a.kind() == action_kind::send_forward || a.kind() == action_kind::recv_backward;
  return up ? a.stage() + 1 < stages : a.stage() > 0;
}

/// The send of what a forward or a backward makes, the receive of what it needs, and the action whose result a send
/// sends. They need not exist: see needs_send, needs_receive.
[[nodiscard]] constexpr stage_action send_of(stage_action a) noexcept {
  return a.with_kind(a.kind() == action_kind::forward ? action_kind::send_forward : action_kind::send_backward);
}
[[nodiscard]] constexpr stage_action receive_of(stage_action a) noexcept {
  return a.with_kind(a.kind() == action_kind::forward ? action_kind::recv_forward : action_kind::recv_backward);
}
[[nodiscard]] constexpr stage_action producer_of(stage_action send) noexcept {
  return send.with_kind(send.kind() == action_kind::send_forward ? action_kind::forward : action_kind::backward);
}

namespace detail {

template <schedule S>
[[nodiscard]] constexpr bool goes_to_another_rank(const S& plan, stage_action transfer) noexcept {
  if (!has_far_end(transfer, plan.ranks() * plan.chunks())) return false;
  const auto place = plan.placement();
  return rank_of(place, plan.ranks(), transfer.stage(), transfer.direction()) !=
         rank_of(place, plan.ranks(), far_end(transfer).stage(), transfer.direction());
}

}  // namespace detail

/// Whether `a` makes something that another rank needs.
template <schedule S>
[[nodiscard]] constexpr bool needs_send(const S& plan, stage_action a) noexcept {
  return is_compute(a.kind()) && a.kind() != action_kind::weight_grad && detail::goes_to_another_rank(plan, send_of(a));
}
/// Whether `a` needs something that another rank makes.
template <schedule S>
[[nodiscard]] constexpr bool needs_receive(const S& plan, stage_action a) noexcept {
  return is_compute(a.kind()) && a.kind() != action_kind::weight_grad &&
         detail::goes_to_another_rank(plan, receive_of(a));
}
/// Whether the lists hold any send or receive. O(actions).
template <schedule S>
[[nodiscard]] constexpr bool has_transfers(const S& plan) noexcept {
  for (std::uint32_t r = 0; r < plan.ranks(); ++r)
    for (const stage_action a : stage_list(plan, r))
      if (is_transfer(a.kind())) return true;
  return false;
}

}  // namespace hocket::inline HOCKET_ABI::pipeline
