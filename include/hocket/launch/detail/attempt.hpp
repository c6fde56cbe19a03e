// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/config.hpp>

namespace hocket::inline HOCKET_ABI::launch::detail {

/// Calls f(), which may run out of memory (or threads), and says whether it got through. Under -fno-exceptions the
/// standard library ends the program instead.
template <class F>
[[nodiscard]] bool attempt(F&& f) noexcept {
#if HOCKET_HAS_EXCEPTIONS
  try {
    f();
  } catch (...) {
    return false;
  }
#else
  f();
#endif
  return true;
}

}  // namespace hocket::inline HOCKET_ABI::launch::detail
