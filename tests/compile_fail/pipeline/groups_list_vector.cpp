// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: hocket: groups::list borrows a group_sizes. Write: const group_sizes sizes(your_list);
#include <hocket/pipeline/schedules/interleaved.hpp>

using namespace hocket::pipeline;

auto plan(const std::vector<std::uint32_t>& list) {
#ifdef CORRECTED
  static const group_sizes sizes(list);
  return interleaved::make({4, 2, 9}, groups::list(sizes));
#else
  return interleaved::make({4, 2, 9}, groups::list(list));
#endif
}
