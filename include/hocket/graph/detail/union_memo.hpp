// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/config.hpp>

#include <cstddef>
#include <cstdint>

namespace hocket::inline HOCKET_ABI::graph::detail {

// The latest unions among those whose operands share a hash. No block that it names will ever be written to again.
// The same pairs come back as long as results do: a program that repeats itself, such as the next micro-batch over
// the same weights, gets the blocks that it got the first time. So few entries of a program may be lost.
struct alignas(64) union_memo {
  struct entry {
    std::uint32_t u = 0, v = 0, joint = 0;
  };
  entry latest[5];

  [[nodiscard]] std::uint32_t find(std::uint32_t u, std::uint32_t v) noexcept {
    for (std::size_t i = 0; i < 5; ++i) {
      if (latest[i].u != u || latest[i].v != v) continue;
      const entry found = latest[i];
      for (; i != 0; --i) latest[i] = latest[i - 1];
      latest[0] = found;
      return found.joint;
    }
    return 0;
  }
  void put(entry e) noexcept {
    for (std::size_t i = 4; i != 0; --i) latest[i] = latest[i - 1];
    latest[0] = e;
  }
};

}  // namespace hocket::inline HOCKET_ABI::graph::detail
