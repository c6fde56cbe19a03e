// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/config.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace hocket::inline HOCKET_ABI {

/// Up to `most` of the lanes 0 … count - 1, in order: the first, the last, and others evenly between them; all if there
/// are no more, the first alone if most is 1. Precondition: most >= 1. Complexity: O(most).
///
///     evenly_spaced(10, 4) == std::vector<std::uint32_t>{0, 3, 6, 9};
[[nodiscard]] inline std::vector<std::uint32_t> evenly_spaced(std::size_t count, std::size_t most) {
  const std::size_t shown = count < most ? count : most;
  std::vector<std::uint32_t> lanes;
  lanes.reserve(shown);
  for (std::size_t i = 0; i < shown; ++i)
    lanes.push_back(static_cast<std::uint32_t>(shown == 1 ? 0 : i * (count - 1) / (shown - 1)));
  return lanes;
}

}  // namespace hocket::inline HOCKET_ABI
