// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How long a tick is, the timeline says.
// expect: duration
#include <hocket/timeline.hpp>

#include <chrono>

void f(hocket::timeline& t) {
  using namespace std::chrono_literals;
#ifdef CORRECTED
  t.add({.start = 0, .finish = t.to_ticks(5us), .lane = 0});
#else
  t.add({.start = 0, .finish = 5us, .lane = 0});
#endif
}
