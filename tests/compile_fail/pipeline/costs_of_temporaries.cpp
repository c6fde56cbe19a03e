// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lists of times and sizes are kept, so they must have a name.
// deep: four mistakes, one after the other
// expect: stage_costs
// expect: unit_costs
// expect: with_links
// expect: with_memory
// expect: borrowed
#include <hocket/pipeline/costs.hpp>

#include <vector>

using namespace hocket::pipeline;

std::vector<hocket::ticks> measured();
std::vector<std::int64_t> sizes();

hocket::ticks f(stage_action a) {
#ifdef CORRECTED
  const std::vector<hocket::ticks> times = measured();
  const std::vector<std::int64_t> bytes = sizes();
  const stage_costs by_stage{.forward = times, .backward = times};
  const unit_costs by_unit{.forward = times, .backward = times};
  const with_links<costs> linked{costs{}, bytes};
  const with_memory<costs> weighed{costs{}, bytes};
#else
  const stage_costs by_stage{.forward = measured(), .backward = measured()};
  const unit_costs by_unit{.forward = measured(), .backward = measured()};
  const with_links<costs> linked{costs{}, sizes()};
  const with_memory<costs> weighed{costs{}, sizes()};
#endif
  return by_stage.duration(a) + by_unit.duration(a) + linked.duration(a) + weighed.duration(a);
}
