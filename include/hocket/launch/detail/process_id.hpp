// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/config.hpp>

#include <cstdint>

#if defined(__unix__) || defined(__APPLE__)
#include <unistd.h>
#endif

namespace hocket::inline HOCKET_ABI::launch::detail {

/// The number of this process, by which what has threads of its own tells a forked child, where they do not run; 0
/// where there is no fork.
[[nodiscard]] inline std::int64_t process_id() noexcept {
#if defined(__unix__) || defined(__APPLE__)
  return static_cast<std::int64_t>(::getpid());
#else
  return 0;
#endif
}

}  // namespace hocket::inline HOCKET_ABI::launch::detail
