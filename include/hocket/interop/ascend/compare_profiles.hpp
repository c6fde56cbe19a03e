// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/interop/ascend/operator_totals.hpp>
#include <hocket/interop/ascend/profile.hpp>
#include <hocket/interop/ascend/rank_steps.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::ascend {

/// Ops of one kind in two measurements; times and calls are those of a mean step.
struct operator_difference {
  std::string type, shapes;  ///< shapes are empty unless they were asked for
  bool communicates = false;
  nanoseconds before{}, after{};
  double calls_before = 0, calls_after = 0;

  [[nodiscard]] constexpr nanoseconds change() const noexcept { return after - before; }
  /// The part of the change that comes from the number of calls, at what a call took before; the rest is that calls
  /// take another time. All of it where only one measurement has the kind.
  [[nodiscard]] nanoseconds change_by_calls() const noexcept {
    if (calls_before <= 0 || calls_after <= 0) return change();
    const double each = static_cast<double>(before.count()) / calls_before;
    return nanoseconds(static_cast<std::int64_t>(each * (calls_after - calls_before)));
  }
};

/// Times in which nothing runs, of a mean step.
struct gap_sum {
  double count = 0;
  nanoseconds total{};
};

/// Two measurements of one program: before a change and after it, on two machines, or of two ranks.
struct profile_difference {
  mean_step before, after;
  std::vector<operator_difference> operators;  ///< the biggest change first, whichever its sign; of equals by name
  gap_sum gaps_before, gaps_after;
  bytes peak_before{}, peak_after{};  ///< allocated; 0: not told
};

struct compare_options {
  bool by_shape = false;
  nanoseconds least_gap{100'000};
};

namespace detail {

/// The kernels of the steps that a mean is of.
[[nodiscard]] inline std::vector<kernel> kernels_of_mean(const profile& p, std::span<const rank_step> steps) {
  std::set<std::int64_t> left_out;
  for (const std::size_t i : outliers_of(steps)) left_out.insert(steps[i].step);
  std::vector<kernel> out;
  for (const kernel& k : p.kernels)
    if (!left_out.contains(k.step)) out.push_back(k);
  return out;
}
[[nodiscard]] inline gap_sum gaps_of_mean(std::span<const kernel> kernels, std::size_t steps, nanoseconds least) {
  gap_sum out;
  for (const idle_gap& g : find_gaps(kernels, least)) {
    if (kernels[g.before].step != kernels[g.behind].step) continue;  // it belongs to no step
    out.count += 1;
    out.total = capped_sum(out.total, g.length());
  }
  if (steps == 0) return out;
  out.count /= static_cast<double>(steps);
  out.total /= static_cast<std::int64_t>(steps);
  return out;
}
[[nodiscard]] inline bytes peak_of(const profile& p) noexcept {
  bytes peak{};
  for (const memory_sample& m : p.memory) peak = (std::max)(peak, m.allocated);
  return peak;
}

}  // namespace detail

/// Sets two measurements side by side. The parts of the mean steps add up to them, so that their changes explain that
/// of the step; times of ops may overlap and need not add up. O(k log k) for k kernels.
///
///     const auto d = hocket::ascend::compare_profiles(before, after);
///     d.after.of(step_part::span) - d.before.of(step_part::span);
///     d.operators[0].type;  // what changed most
[[nodiscard]] inline profile_difference compare_profiles(const profile& before, const profile& after,
                                                         const compare_options& options = {}) {
  profile_difference out;
  std::map<std::tuple<bool, std::string, std::string>, operator_difference> operators;
  for (const bool is_after : {false, true}) {
    const profile& p = is_after ? after : before;
    const std::vector<rank_step> steps = steps_of(p);
    mean_step& mean = is_after ? out.after : out.before;
    mean = mean_of_steps(steps);
    const std::vector<kernel> kernels = detail::kernels_of_mean(p, steps);
    (is_after ? out.gaps_after : out.gaps_before) = detail::gaps_of_mean(kernels, mean.steps, options.least_gap);
    (is_after ? out.peak_after : out.peak_before) = detail::peak_of(p);
    const auto count = static_cast<std::int64_t>((std::max)(mean.steps, std::size_t{1}));
    for (const operator_total& t : total_operators(kernels, options.by_shape)) {
      operator_difference& one = operators[{t.communicates, t.type, t.shapes}];
      one.type = t.type;
      one.shapes = t.shapes;
      one.communicates = t.communicates;
      nanoseconds& time = is_after ? one.after : one.before;
      time = capped_sum(time, t.total / count);  // a type may run on several cores
      (is_after ? one.calls_after : one.calls_before) += static_cast<double>(t.count) / static_cast<double>(count);
    }
  }
  for (auto& [key, one] : operators) out.operators.push_back(std::move(one));
  const auto size_of_change = [](const operator_difference& d) {
    return d.change().count() < 0 ? -d.change() : d.change();
  };
  std::sort(out.operators.begin(), out.operators.end(), [&](const auto& a, const auto& b) {
    const nanoseconds x = size_of_change(a), y = size_of_change(b);
    return x != y ? x > y : std::tie(a.communicates, a.type, a.shapes) < std::tie(b.communicates, b.type, b.shapes);
  });
  return out;
}

}  // namespace hocket::inline HOCKET_ABI::ascend
