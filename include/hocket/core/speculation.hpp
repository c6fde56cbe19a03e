// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/config.hpp>

#include <type_traits>

namespace hocket::inline HOCKET_ABI {

/// At the head of a long constexpr function: the compiler evaluates it only where a constant is asked for. GCC tries
/// every call whose arguments it knows, for up to 33 million steps (-fconstexpr-ops-limit), whether or not the result
/// must be a constant: half a minute of compile time for a plain `auto plan = solve(problem)`. It does not try what
/// asks whether it is evaluated as a constant. Nothing at run time.
///
///     constexpr int search(int n) { not_on_speculation(); … }
constexpr void not_on_speculation() noexcept {
  if (std::is_constant_evaluated()) return;
}

}  // namespace hocket::inline HOCKET_ABI
