// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/pipeline/schedule.hpp>

#include <cstdint>
#include <optional>

namespace hocket::inline HOCKET_ABI::launch::detail {

/// What goes from one rank to another, as its receiver calls it: recv_forward (recv_backward) of the receiving stage.
struct pipeline_transfer {
  pipeline::stage_action received;
  std::uint32_t from = 0;
  std::uint32_t to = 0;
};

/// What the actions of a schedule hand to each other across ranks.
template <pipeline::schedule S>
class pipeline_flow {
 public:
  using action = pipeline::stage_action;
  using action_kind = pipeline::action_kind;

  explicit pipeline_flow(const S& plan) : plan_(&plan), stages_(plan.ranks() * plan.chunks()) {}

  [[nodiscard]] std::uint32_t stages() const noexcept { return stages_; }

  /// What a computing action hands to another rank.
  [[nodiscard]] std::optional<pipeline_transfer> output(action a) const {
    if (a.kind() == action_kind::forward) return between(true, a.stage(), a.stage() + 1, a);
    if (makes_gradients(a)) return between(false, a.stage(), a.stage() - 1, a);
    return {};
  }
  /// What a computing action needs from another rank.
  [[nodiscard]] std::optional<pipeline_transfer> input(action a) const {
    if (a.kind() == action_kind::forward) return between(true, a.stage() - 1, a.stage(), a);
    if (makes_gradients(a)) return between(false, a.stage() + 1, a.stage(), a);
    return {};
  }
  /// What a send or receive of a list with transfers stands for.
  [[nodiscard]] std::optional<pipeline_transfer> listed(action a) const {
    const bool forward = a.kind() == action_kind::send_forward || a.kind() == action_kind::recv_forward;
    const std::uint32_t step = forward ? 1u : ~0u;  // to the next stage, or to the one before
    if (is_send(a)) return between(forward, a.stage(), a.stage() + step, a);
    return between(forward, a.stage() - step, a.stage(), a);
  }
  [[nodiscard]] static bool is_send(action a) noexcept {
    return a.kind() == action_kind::send_forward || a.kind() == action_kind::send_backward;
  }

 private:
  [[nodiscard]] static bool makes_gradients(action a) noexcept {
    return a.kind() == action_kind::backward || a.kind() == action_kind::input_grad;
  }
  // Nothing if one of the stages does not exist (also the one before stage 0), or both are on one rank.
  [[nodiscard]] std::optional<pipeline_transfer> between(bool forward, std::uint32_t sender, std::uint32_t receiver,
                                                         action a) const {
    if (sender >= stages_ || receiver >= stages_) return {};
    const std::uint32_t from = rank_of(sender, a);
    const std::uint32_t to = rank_of(receiver, a);
    if (from == to) return {};
    const action_kind kind = forward ? action_kind::recv_forward : action_kind::recv_backward;
    return pipeline_transfer{{kind, receiver, a.micro_batch(), a.slice(), a.direction()}, from, to};
  }
  [[nodiscard]] std::uint32_t rank_of(std::uint32_t stage, action a) const {
    return pipeline::rank_of(plan_->placement(), plan_->ranks(), stage, a.direction());
  }

  const S* plan_;
  std::uint32_t stages_;
};

}  // namespace hocket::inline HOCKET_ABI::launch::detail
