// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/config.hpp>

#include <cstddef>
#include <cstdint>

namespace hocket::inline HOCKET_ABI::graph {

/// What an op uses besides its variables: the kinds that have an order of their own.
enum class op_kind : std::uint8_t {
  compute,     ///< nothing
  collective,  ///< a communication ring: all ranks must enter its operations in the same order
  random,      ///< the state of a random generator: another order gives other numbers
  io,          ///< files, logs, prints
};
inline constexpr std::size_t op_kind_count = 4;

}  // namespace hocket::inline HOCKET_ABI::graph
