// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How long a host's answer takes, in processor time, which other programs on the machine lengthen least.
#pragma once
#include <time.h>

namespace timing {

inline double processor_us() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_nsec) / 1e3;
}

/// The least of nine times of f, after one that warms up.
template <class F>
double least_us(F&& f) {
  f();
  double least = 1e18;
  for (int i = 0; i < 9; ++i) {
    const double start = processor_us();
    f();
    const double took = processor_us() - start;
    least = took < least ? took : least;
  }
  return least;
}

}  // namespace timing
