// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory that runs out at each allocation in turn, whichever way it is asked for: out_of_memory_new.cpp replaces
// operator new of the whole program.
#pragma once
#include <atomic>
#include <cstddef>
#include <new>
#include <string_view>
#include <utility>

#include "catch.hpp"

namespace out_of_memory {

extern std::atomic<long> left;           ///< allocations until one fails; below 0: none does
extern std::atomic<std::size_t> in_use;  ///< allocations that are not given back

struct nothing {
  void operator()() const {}
};

/// Calls make() with one more allocation each time, until it succeeds; unchanged() after each failure. What make()
/// gives must be what it gives with memory enough, and a failure must leave nothing behind.
/// @return the allocations of one call
template <class Make, class Unchanged = nothing>
long exhaust(std::string_view what, Make&& make, Unchanged&& unchanged = {}) {
  const auto wanted = make();
  for (long n = 0;; ++n) {
    const std::size_t before = in_use;
    bool failed = false;
    {
      left = n;
      try {
        const auto made = make();
        left = -1;
        if (!(made == wanted)) FAIL(what << ": another value after a failure, at allocation " << n);
      } catch (const std::bad_alloc&) {
        left = -1;
        failed = true;
      }
    }
    if (in_use != before) FAIL(what << ": something is left behind, at allocation " << n);
    if (!failed) return n;
    unchanged();
    if (n == 200'000) FAIL(what << ": no end");
  }
}

}  // namespace out_of_memory
