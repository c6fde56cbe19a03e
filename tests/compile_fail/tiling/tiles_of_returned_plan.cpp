// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The plan would be gone with the expression.
// expect: tiles
// expect: deleted
#include <hocket/tiling.hpp>

#include <cstdint>

std::int64_t f(const hocket::tiling::any_problem& p) {
#ifdef CORRECTED
  const auto plan = hocket::tiling::solve(p).value();
  const auto tiles = plan.tiles();
#else
  const auto tiles = hocket::tiling::solve(p).value().tiles();
#endif
  return tiles.front();
}
