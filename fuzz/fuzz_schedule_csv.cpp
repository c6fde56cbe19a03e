// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Any bytes as a pipeline schedule: refused with a sentence, or read so that writing and reading again changes nothing;
// and one that passes its check can be simulated, in no less than the lower bound.
#include "fuzz.hpp"

#include <hocket/pipeline.hpp>
#include <hocket/text/schedule_csv.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hocket;
  const auto table = text::parse_schedule_csv(fuzz::text(data, size));
  if (!table) {
    fuzz::require(!message(table.error()).empty());
    return 0;
  }
  const auto written = text::write_schedule_csv(*table);
  const auto again = text::parse_schedule_csv(written);
  fuzz::require(again && text::write_schedule_csv(*again) == written);

  const auto checked = pipeline::check(*table);
  if (!checked) {
    fuzz::require(!message(checked.error()).empty());
    return 0;
  }
  const auto run = pipeline::simulate(*table, pipeline::costs{});
  fuzz::require(run && run->makespan >= run->lower_bound);
  return 0;
}
