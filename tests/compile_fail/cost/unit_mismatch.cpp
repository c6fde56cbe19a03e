// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: both sides of +, -, min, max and all cases of choose must have one unit
// Bytes and FLOPs do not add up.
#include <hocket/cost/formula/expression.hpp>

inline constexpr auto s = hocket::cost::named("sequence", "s");

#ifdef CORRECTED
inline constexpr auto sum = 2 * hocket::cost::FLOP * s + hocket::cost::FLOP * s;
#else
inline constexpr auto sum = 2 * hocket::cost::FLOP * s + hocket::cost::byte * s;
#endif
