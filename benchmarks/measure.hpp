// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The clock of the benchmarks.
#pragma once
#include <chrono>
#if defined(__unix__)
#include <time.h>
#endif

namespace bench {

/// Milliseconds of processor time of this thread, the kernel's part (page faults) included: other programs on the
/// machine count less than on a wall clock.
inline double now() {
#if defined(__unix__) && defined(CLOCK_THREAD_CPUTIME_ID)
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) * 1e-6;
#else
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
#endif
}

}  // namespace bench
