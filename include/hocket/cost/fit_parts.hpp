// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/cost/fit_machine.hpp>
#include <hocket/cost/machines.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

/// What training reaches of data sheets, fitted to measured steps: one set of parts for a family of devices.
namespace hocket::inline HOCKET_ABI::cost {

/// A measured step on a device whose data sheet is known.
struct sheet_step {
  measured_step step;
  machines::data_sheet sheet;
};

/// A part of reached_parts that a fit may move, and the range outside of which it would no longer be what its name
/// says.
struct fitted_part {
  double machines::reached_parts::* member;
  double least, most;
};
/// All of them. Source of the ranges: memory and products in 16 bits reach at least 0.6 of a data sheet in published
/// micro-benchmarks; hops and launches are microseconds.
inline constexpr fitted_part fitted_parts[] = {{&machines::reached_parts::gemm, 0.6, 0.95},
                                               {&machines::reached_parts::fp8, 0.4, 0.9},
                                               {&machines::reached_parts::mxfp8, 0.4, 0.9},
                                               {&machines::reached_parts::nvfp4, 0.3, 0.9},
                                               {&machines::reached_parts::attention, 0.3, 0.8},
                                               {&machines::reached_parts::memory, 0.6, 0.95},
                                               {&machines::reached_parts::fast_link, 0.4, 0.95},
                                               {&machines::reached_parts::network, 0.4, 0.95},
                                               {&machines::reached_parts::block_seconds, 1e-6, 1e-5},
                                               {&machines::reached_parts::fast_hop, 2e-6, 5e-5},
                                               {&machines::reached_parts::network_hop, 5e-6, 1e-4},
                                               {&machines::reached_parts::tensor_overlap, 0, 0.95},
                                               {&machines::reached_parts::pipeline_overlap, 0, 0.95},
                                               {&machines::reached_parts::data_overlap, 0, 0.95},
                                               {&machines::reached_parts::expert_overlap, 0, 0.6},
                                               {&machines::reached_parts::launch_seconds, 3e-6, 3e-5},
                                               {&machines::reached_parts::expert_launches, 0, 40},
                                               {&machines::reached_parts::kernel_seconds, 1e-6, 1e-5},
                                               {&machines::reached_parts::spread, 0, 0.01}};

/// Parts in the middle of their ranges: where a fit begins that must know nothing of the steps it is judged by.
[[nodiscard]] constexpr machines::reached_parts middle_parts(bool sends_once) noexcept {
  machines::reached_parts out;
  for (const fitted_part& each : fitted_parts) out.*each.member = (each.least + each.most) / 2;
  out.sends_once = sends_once;
  return out;
}

namespace detail {
/// Mean absolute error of some parts. Steps alike in all but their time count as one by the square root of their
/// number: they are other releases of the same software.
class parts_judge {
 public:
  explicit parts_judge(std::span<const sheet_step> steps, step_predictor predict) : predict_(predict) {
    for (const sheet_step& each : steps) {
      const auto same =
          std::find_if(groups_.begin(), groups_.end(), [&](const group& g) { return alike(*g.of, each); });
      if (same == groups_.end()) groups_.push_back({&each, {each.step.step_time.count()}});
      else same->seconds.push_back(each.step.step_time.count());
    }
  }
  [[nodiscard]] double operator()(const machines::reached_parts& parts) const {
    double sum = 0, weight = 0;
    for (const group& each : groups_) {
      const auto took = predict_(each.of->step, machine_of(each.of->sheet, parts));
      if (!took) return (std::numeric_limits<double>::max)();
      const double rows = static_cast<double>(each.seconds.size());
      for (const double measured : each.seconds) sum += std::abs(took->count() / measured - 1) / std::sqrt(rows);
      weight += std::sqrt(rows);
    }
    return weight > 0 ? sum / weight : 0;
  }

 private:
  struct group {
    const sheet_step* of;
    std::vector<double> seconds;
  };
  static bool alike(const sheet_step& a, const sheet_step& b) {
    return a.sheet == b.sheet && a.step.parallel == b.step.parallel && a.step.training == b.step.training &&
           a.step.model == b.step.model;
  }
  std::vector<group> groups_;
  step_predictor predict_;
};
}  // namespace detail

/// The parts with the least mean error on some steps, found by moving one part at a time: each by a quarter of its
/// range up or down, as long as that helps, then by half as much. No part leaves its range. The answer depends on
/// nothing but its arguments.
/// @param start  where the search begins: middle_parts, if the fit is to be judged by other steps
/// Complexity: some hundred predictions of every step.
///
///     const auto parts = fit_parts(steps, middle_parts(true), closed_form_seconds);
///     const machine on = machine_of(machines::h100_sheet, parts);
[[nodiscard]] inline machines::reached_parts fit_parts(std::span<const sheet_step> steps, machines::reached_parts start,
                                                       step_predictor predict = closed_form_seconds) {
  const detail::parts_judge error_of(steps, predict);
  double best = error_of(start);
  constexpr int halvings = 5;  // from a quarter to a sixty-fourth
  double share = 0.5;
  for (int k = 0; k < halvings; ++k) {
    share /= 2;
    for (bool better = true; better;) {
      better = false;
      for (const fitted_part& each : fitted_parts)
        for (const double way : {1.0, -1.0}) {
          machines::reached_parts moved = start;
          const double to = start.*each.member + way * share * (each.most - each.least);
          moved.*each.member = (std::min)((std::max)(to, each.least), each.most);
          const double error = error_of(moved);
          if (!(error < best)) continue;
          best = error;
          start = moved;
          better = true;
        }
    }
  }
  return start;
}

}  // namespace hocket::inline HOCKET_ABI::cost
