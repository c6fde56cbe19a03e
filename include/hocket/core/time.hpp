// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/config.hpp>
#include <hocket/core/ticks.hpp>

#include <chrono>
#include <cstdint>
#include <ratio>

namespace hocket::inline HOCKET_ABI {

/// What tile plans are made in: fine enough for the shortest tile, and 64 bits of it are 106 days.
using picoseconds = std::chrono::duration<std::int64_t, std::pico>;

/// Real-valued seconds, as formulas give them. Literals such as `1.5s` and `26ms` convert to it.
using seconds = std::chrono::duration<double>;

/// Real-valued microseconds, as cost curves give them.
using microseconds = std::chrono::duration<double, std::micro>;

}  // namespace hocket::inline HOCKET_ABI
