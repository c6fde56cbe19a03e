// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/config.hpp>

#include <utility>

namespace hocket::inline HOCKET_ABI::graph::detail {

// A number that is 0 again once it was moved from, as a vector is empty. So a class of both needs no moves of its own.
template <class T>
struct reset_on_move {
  T value{};

  constexpr reset_on_move() noexcept = default;
  constexpr reset_on_move(const reset_on_move&) noexcept = default;
  constexpr reset_on_move(reset_on_move&& other) noexcept : value(std::exchange(other.value, T{})) {}
  constexpr reset_on_move& operator=(const reset_on_move&) noexcept = default;
  constexpr reset_on_move& operator=(reset_on_move&& other) noexcept {
    value = std::exchange(other.value, T{});
    return *this;
  }
  ~reset_on_move() = default;
};

}  // namespace hocket::inline HOCKET_ABI::graph::detail
