// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/config.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace hocket::inline HOCKET_ABI::graph {

/// What an op uses besides its variables: the kinds that have an order of their own.
enum class op_kind : std::uint8_t {
  compute,     ///< nothing
  collective,  ///< a communication ring: all ranks must enter its operations in the same order
  random,      ///< the state of a random generator: another order gives other numbers
  io,          ///< files, logs, prints
};
inline constexpr std::size_t op_kind_count = 4;

namespace detail {
inline constexpr std::string_view op_kind_names[op_kind_count] = {"compute", "collective", "random", "io"};
}

[[nodiscard]] constexpr std::string_view to_string(op_kind k) noexcept {
  return detail::op_kind_names[static_cast<std::size_t>(k)];
}
[[nodiscard]] constexpr std::optional<op_kind> parse_op_kind(std::string_view text) noexcept {
  for (const std::string_view& name : detail::op_kind_names)
    if (name == text) return static_cast<op_kind>(&name - detail::op_kind_names);
  return std::nullopt;
}

}  // namespace hocket::inline HOCKET_ABI::graph
