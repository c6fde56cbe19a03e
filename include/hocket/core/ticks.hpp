// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/config.hpp>

#include <cstdint>

namespace hocket::inline HOCKET_ABI {

/// Time as an integer. Decisions are made in ticks, so that every rank and machine decides alike; real-valued curves
/// are rounded once, at the border. A tick has the unit that the caller chose. Where a duration leaves its component it
/// is a std::chrono duration instead (core/time.hpp), so that two units cannot be mixed without a word.
using ticks = std::int64_t;

}  // namespace hocket::inline HOCKET_ABI
