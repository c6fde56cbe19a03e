// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstdint>

namespace hocket_test {

/// A small generator of our own, so that every platform sees the same cases.
struct dice {
  std::uint64_t state = 1;
  std::uint32_t roll(std::uint32_t below) {
    state = state * 6'364'136'223'846'793'005u + 1'442'695'040'888'963'407u;
    return static_cast<std::uint32_t>(state >> 33) % below;
  }
};

}  // namespace hocket_test
