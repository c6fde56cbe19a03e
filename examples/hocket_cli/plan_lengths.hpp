// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The step of `hocket plan` with micro-batches that differ.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

#include "batch_lengths.hpp"
#include "plan_step.hpp"

namespace hocket_cli {

struct lengths_report {
  std::int64_t micro_batches = 0, steps = 1;
  hocket::planner::micro_batch_plan plan{};
  hocket::ticks alike = 0;  ///< of all steps, if every micro-batch had the mean number of tokens
};
/// The plan's stages and schedule with other micro-batches. Ends the command where their times do not follow from
/// lengths.
lengths_report compare_lengths(const plan_input& in, const step_plan& p, const length_options& o);
std::string lengths_as_text(const lengths_report& r);
/// The report's JSON with the member "lengths".
std::string with_lengths_json(std::string json, const lengths_report& r, std::size_t pipelines);

}  // namespace hocket_cli
