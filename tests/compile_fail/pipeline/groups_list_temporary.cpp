// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: deleted
#include <hocket/pipeline/schedules/interleaved.hpp>

using namespace hocket::pipeline;

auto plan() {
#ifdef CORRECTED
  static const group_sizes sizes{5, 4};
  return interleaved::make({4, 2, 9}, groups::list(sizes));
#else
  return interleaved::make({4, 2, 9}, groups::list({5, 4}));
#endif
}
