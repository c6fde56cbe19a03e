// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/config.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

namespace hocket::inline HOCKET_ABI::pipeline::detail {

/// What `at` of a schedule returns.
template <class S>
using action_of = std::remove_cvref_t<decltype(std::declval<const S&>().at(0, 0))>;

/// A schedule that writes steps in bulk: `fill(rank, out, first)`.
template <class S>
concept fills = requires(const S& s, std::span<action_of<S>> out) {
  { s.fill(0, out, 0) } -> std::convertible_to<std::size_t>;
};

/// A place in the list of one rank. The schedule is not kept: each call takes it. From the first step forward on it
/// reads ahead, a block at a time. To find one place in a closed form takes some divisions; a hundred places at once
/// take little more. Whoever only looks here and there pays nothing for it.
///
///     list     … F5 B2 F6 B3 F7 B4 F8 B5 …
///     block_      [F6 B3 F7 B4]                 used_ of its filled_ actions are behind
///                      ^ step_
///
/// | invariant                                               |
/// |---------------------------------------------------------|
/// | used_ < filled_, and block_[used_] is the action at step_, unless the list has no such step |
template <class S>
class list_position {
 public:
  constexpr list_position() noexcept = default;
  // g++ 12 warns in the host's file where a host's global has the name of a parameter of a template's constructor.
  constexpr list_position(const S& of_plan, std::uint32_t of_rank, std::uint32_t at_step) noexcept
      : rank_(of_rank), step_(at_step) {
    if (at_step >= of_plan.size(of_rank)) return;
    block_[0] = of_plan.at(of_rank, at_step);
    filled_ = 1;
  }
  [[nodiscard]] constexpr std::uint32_t rank() const noexcept { return rank_; }
  [[nodiscard]] constexpr std::uint32_t step() const noexcept { return step_; }
  [[nodiscard]] constexpr action_of<S> read(const S&) const noexcept { return block_[used_]; }
  constexpr void advance(const S& plan) noexcept {
    ++step_;
    ++used_;
    if (used_ >= filled_) [[unlikely]]
      read_ahead(plan);
  }
  /// Whether the table above holds; for tests.
  [[nodiscard]] constexpr bool check_invariants(const S& plan) const noexcept {
    if (step_ >= plan.size(rank_)) return filled_ == 0;
    return used_ < filled_ && filled_ <= room && block_[used_] == plan.at(rank_, step_);
  }

 private:
  static constexpr std::uint32_t room = 256;  // half of it is up to 0.4 ns an action slower
  // Not inlined, so that what a loop does stays in registers.
  [[gnu::noinline]] constexpr void read_ahead(const S& plan) noexcept {
    used_ = 0;
    filled_ = 0;
    const std::uint32_t size = plan.size(rank_);
    if (step_ >= size) return;
    if constexpr (fills<S>) {
      filled_ = static_cast<std::uint32_t>(plan.fill(rank_, std::span<action_of<S>>(block_), step_));
    } else {
      for (; filled_ < room && step_ + filled_ < size; ++filled_) block_[filled_] = plan.at(rank_, step_ + filled_);
    }
  }

  action_of<S> block_[room];
  std::uint32_t rank_ = 0;
  std::uint32_t step_ = 0;
  std::uint32_t used_ = 0;
  std::uint32_t filled_ = 0;
};

}  // namespace hocket::inline HOCKET_ABI::pipeline::detail
