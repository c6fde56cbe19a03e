// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What training reaches of a data sheet: found again from steps that it made.
#include <hocket/cost/fit_parts.hpp>
#include <hocket/cost/model/uniform_list.hpp>

#include <cmath>
#include <vector>

#include "catch.hpp"
#include "data/cost/published_shapes.hpp"

namespace cost = hocket::cost;
namespace machines = hocket::cost::machines;

namespace {
/// Steps of two models in several layouts, as a machine of these parts would run them.
std::vector<cost::sheet_step> made_by(const machines::reached_parts& parts) {
  std::vector<cost::sheet_step> out;
  for (const cost::parallel& p :
       {cost::parallel{.dp = 8}, cost::parallel{.tp = 8, .dp = 4}, cost::parallel{.tp = 4, .pp = 4},
        cost::parallel{.pp = 8, .dp = 2, .zero = cost::zero::optimizer}})
    for (const bool fp8 : {false, true})
      for (const std::int64_t micro_batch : {1, 4}) {
        cost::sheet_step one{
            {published::llama_7b, {.sequence = 4096, .micro_batch = micro_batch, .global_batch = 64}, p},
            machines::h100_sheet};
        if (fp8) one.step.training.precision = cost::precision::fp8;
        one.step.step_time = cost::closed_form_seconds(one.step, machine_of(one.sheet, parts)).value();
        out.push_back(one);
      }
  return out;
}
double mean_error(const std::vector<cost::sheet_step>& steps, const machines::reached_parts& parts) {
  double sum = 0;
  for (const cost::sheet_step& each : steps)
    sum += std::abs(cost::prediction_error(each.step, machine_of(each.sheet, parts)).value());
  return sum / static_cast<double>(steps.size());
}
}  // namespace

TEST_CASE("parts that made the steps are found as well as the steps tell them", "[cost][fit]") {
  machines::reached_parts truth = cost::middle_parts(true);
  truth.gemm = 0.7;
  truth.fp8 = 0.55;
  truth.memory = 0.85;
  truth.fast_link = 0.5;
  truth.network = 0.8;
  truth.tensor_overlap = 0.2;
  truth.data_overlap = 0.8;
  const auto steps = made_by(truth);
  const machines::reached_parts start = cost::middle_parts(true);
  const machines::reached_parts found = cost::fit_parts(steps, start);
  CHECK(mean_error(steps, start) > 0.05);
  CHECK(mean_error(steps, found) < 0.01);
  CHECK(cost::fit_parts(steps, start).gemm == found.gemm);  // the same each time
  CHECK(std::abs(found.fp8 - truth.fp8) < 0.05);
  for (const cost::fitted_part& each : cost::fitted_parts) {
    CHECK(found.*each.member >= each.least);
    CHECK(found.*each.member <= each.most);
    CHECK(start.*each.member == (each.least + each.most) / 2);
  }
  CHECK(found.expert_overlap == start.expert_overlap);  // no step has experts
}

TEST_CASE("other releases of one step count by the square root of their number", "[cost][fit]") {
  auto steps = made_by(cost::middle_parts(true));
  steps.resize(2);
  steps[1].step.training.sequence = 2048;
  for (int i = 0; i < 3; ++i) steps.push_back(steps[0]);
  const cost::detail::parts_judge judge(steps, cost::closed_form_seconds);
  const machines::reached_parts other = [] {
    machines::reached_parts x = cost::middle_parts(true);
    x.gemm = 0.95;
    return x;
  }();
  const auto error = [&](std::size_t i) {
    return std::abs(cost::prediction_error(steps[i].step, machine_of(steps[i].sheet, other)).value());
  };
  // Four rows of the first weigh two, the second one.
  CHECK(std::abs(judge(other) - (2 * error(0) + error(1)) / 3) < 1e-12);
}
