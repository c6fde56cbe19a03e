// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/config.hpp>

#if !HOCKET_HAS_INT128
#include <hocket/core/detail/two_words.hpp>
#endif

namespace hocket::inline HOCKET_ABI {

/// A signed whole number of 128 bits, for products that 64 bits do not hold: bytes by times, lengths by times, the
/// FLOPs of a training step. It is the compiler's own where there is one, and two words of 64 bits elsewhere (32-bit
/// targets, MSVC), with the same values. Every integer converts to it; back, and to double, write static_cast.
///
///     static_assert(static_cast<std::int64_t>(hocket::int128{1'000'000'000'000} * 1'000'000'000'000 >> 64) == 54210);
#if HOCKET_HAS_INT128
__extension__ using int128 = __int128;  // -Wpedantic wants the mark
#else
using int128 = detail::two_words;
#endif

}  // namespace hocket::inline HOCKET_ABI
