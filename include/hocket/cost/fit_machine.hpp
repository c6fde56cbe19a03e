// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/cost/model/list_time.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

namespace hocket::inline HOCKET_ABI::cost {

/// A training step whose time was measured.
struct measured_step {
  layer_list model;
  cost::training training;
  cost::parallel parallel;
  std::vector<rank_layers> ranks{};  ///< as in predict_step; empty: dealt out evenly
  seconds step_time{};
};

namespace detail {
inline result<step_prediction> predicted(const measured_step& step, const machine& on) {
  if (step.ranks.empty()) return predict_step(step.model, step.training, step.parallel, on);
  return predict_step(step.model, step.training, step.parallel, on, step.ranks);
}
}  // namespace detail

/// Predicts a step: planner::simulated_seconds, or the closed form.
using step_predictor = result<seconds> (*)(const measured_step&, const machine&);
/// By predict_step.
[[nodiscard]] inline result<seconds> closed_form_seconds(const measured_step& step, const machine& on) {
  const auto predicted = detail::predicted(step, on);
  if (!predicted) return predicted.error();
  return predicted->step_time();
}

/// The relative error of a prediction, signed: predicted over measured, minus one.
[[nodiscard]] inline result<double> prediction_error(const measured_step& step, const machine& on,
                                                     step_predictor predict = closed_form_seconds) {
  const auto predicted = predict(step, on);
  if (!predicted) return predicted.error();
  return *predicted / step.step_time - 1;
}

namespace detail {
// Least squares of sum_j x[i][j] q[j] = 1 with q >= 0, by dropping the most negative until none is; 0: not needed.
inline std::vector<double> positive_least_squares(const std::vector<std::vector<double>>& x) {
  const std::size_t n = x.front().size();
  std::vector<double> scale(n, 0), out(n, 0);
  std::vector<std::size_t> active;
  for (std::size_t j = 0; j < n; ++j) {
    for (const auto& row : x) scale[j] = row[j] > scale[j] ? row[j] : scale[j];
    if (scale[j] > 0) active.push_back(j);
  }
  while (!active.empty()) {
    const std::size_t k = active.size();
    std::vector<std::vector<double>> a(k, std::vector<double>(k + 1, 0));
    for (std::size_t i = 0; i < k; ++i) {
      for (const auto& row : x) {
        const double left = row[active[i]] / scale[active[i]];
        for (std::size_t j = 0; j < k; ++j) a[i][j] += left * row[active[j]] / scale[active[j]];
        a[i][k] += left;
      }
      a[i][i] += 1e-12;
    }
    for (std::size_t i = 0; i < k; ++i) {
      for (std::size_t r = 0; r < k; ++r) {  // no pivots: the matrix is positive definite
        if (r == i) continue;
        const double f = a[r][i] / a[i][i];
        for (std::size_t j = i; j <= k; ++j) a[r][j] -= f * a[i][j];
      }
    }
    std::size_t worst = k;
    double least = 0;
    for (std::size_t i = 0; i < k; ++i)
      if (const double q = a[i][k] / a[i][i]; q < least) {
        least = q;
        worst = i;
      }
    if (worst == k) {
      for (std::size_t i = 0; i < k; ++i) out[active[i]] = a[i][k] / a[i][i] / scale[active[i]];
      return out;
    }
    active.erase(active.begin() + static_cast<std::ptrdiff_t>(worst));
  }
  return out;
}
}  // namespace detail

/// A rate of a machine that a fit may change: a member, or the byte/s of a level of links.
class machine_rate {
 public:
  constexpr machine_rate(double machine::* member) noexcept : member_(member) {}  // NOLINT(google-explicit-constructor)
  [[nodiscard]] static constexpr machine_rate of_link(std::size_t level) noexcept {
    HOCKET_ASSERT(level < most_link_levels);
    machine_rate out(nullptr);
    out.level_ = level;
    return out;
  }
  [[nodiscard]] constexpr double& in(machine& of) const noexcept {
    return member_ != nullptr ? of.*member_ : of.links[level_].bytes;
  }
  [[nodiscard]] constexpr double in(const machine& of) const noexcept {
    return member_ != nullptr ? of.*member_ : of.links[level_].bytes;
  }

 private:
  double machine::* member_;
  std::size_t level_ = 0;
};

namespace detail {
/// Mean and worst relative error of a machine on measured steps, into it.
inline result<void> add_errors(std::span<const measured_step> steps, step_predictor predict, machine_data& to) {
  to.mean_error = to.worst_error = 0;
  for (const measured_step& s : steps) {
    const auto e = prediction_error(s, to.rates, predict);
    if (!e) return e.error();
    const double size = std::abs(*e);
    to.mean_error += size / static_cast<double>(steps.size());
    to.worst_error = size > to.worst_error ? size : to.worst_error;
  }
  return {};
}
/// How a step's time changes with each inverse rate, over what those rates explain of the measured time. The changes
/// are those of the closed form: a simulation counts whole nanoseconds.
inline result<std::vector<double>> slopes_of(const measured_step& s, std::span<const machine_rate> rates,
                                             const machine& on, step_predictor predict) {
  const auto base = detail::predicted(s, on);
  if (!base) return base.error();
  std::vector<double> row;
  double linear = 0;
  for (const machine_rate& rate : rates) {
    // d seconds / d (1 / rate), from a change too small to move the busiest rank.
    machine nudged = on;
    constexpr double no_time = 1e-18;  // seconds of a FLOP or byte: no device is as fast
    const double inverse = 1 / rate.in(nudged), change = inverse > no_time ? inverse * 1e-6 : no_time;
    rate.in(nudged) = 1 / (inverse + change);
    const auto moved = detail::predicted(s, nudged);
    if (!moved) return moved.error();
    row.push_back((moved->step_time() - base->step_time()).count() / (1 / rate.in(nudged)-inverse));
    linear += row.back() * inverse;
  }
  const auto whole = predict(s, on);
  if (!whole) return whole.error();
  const double rest = whole->count() - linear;  // what the fitted rates do not explain stays as it is
  for (double& v : row) v /= s.step_time.count() - rest;
  return row;
}
/// The machine a part of the way to the inverse rates that would meet the steps best.
inline machine moved_towards(machine on, std::span<const machine_rate> rates, const std::vector<double>& inverse,
                             const std::vector<std::vector<double>>& slopes, double part) {
  for (std::size_t j = 0; j < rates.size(); ++j) {
    if (std::none_of(slopes.begin(), slopes.end(), [&](const auto& row) { return row[j] != 0; })) continue;
    double& rate = rates[j].in(on);
    const double to = part * inverse[j] + (1 - part) / rate;
    constexpr double most = (std::numeric_limits<double>::max)();
    rate = to > 1 / most ? 1 / to : most;
  }
  return on;
}
}  // namespace detail

/// The rates of a machine that meet measured steps best: least squares of the relative error over the inverse rates,
/// none of them negative. A step's time is linear in the inverse rates but for what is the busiest, the slower of two,
/// or hidden: so the fit is repeated, and goes only as far as the mean error falls (at most 16 times). Rates not named
/// keep the value of `start`.
/// @param rates  what to fit, at most 6 are sensible: {&machine::gemm_flops, machine_rate::of_link(0), …}
/// @param predict  what the errors are those of
/// @return the machine with the mean and worst relative error on these same steps. A rate that no step needs stays as
/// it is; one that would come out negative is the largest double, so that its work takes no time. Held-out errors: fit
/// without some steps and ask prediction_error for them.
/// Errors: errc::out_of_range with fewer steps than rates; errc::bad_cost for a time that is not positive; those of
/// predict.
[[nodiscard]] inline result<machine_data> fit_machine(std::span<const measured_step> steps,
                                                      std::span<const machine_rate> rates, const machine& start,
                                                      step_predictor predict = closed_form_seconds) {
  if (steps.size() < rates.size() || rates.empty())
    return error{errc::out_of_range, static_cast<std::int64_t>(steps.size()), static_cast<std::int64_t>(rates.size()),
                 (std::numeric_limits<std::int32_t>::max)()}
        .with("measured steps");
  for (const measured_step& s : steps)
    if (const double x = s.step_time.count(); !(x > 0) || x - x != 0)
      return error{errc::bad_cost}.with("seconds of a measured step");
  machine_data best{"fitted", start, 0, 0, "least squares over measured steps"};
  if (const auto ok = detail::add_errors(steps, predict, best); !ok) return ok.error();
  constexpr int max_rounds = 16, max_halvings = 8;
  for (int round = 0; round < max_rounds; ++round) {
    std::vector<std::vector<double>> slopes;
    for (const measured_step& s : steps) {
      auto row = detail::slopes_of(s, rates, best.rates, predict);
      if (!row) return row.error();
      slopes.push_back(std::move(*row));
    }
    const std::vector<double> inverse = detail::positive_least_squares(slopes);
    bool better = false;
    double part = 1;
    for (int halving = 0; halving < max_halvings && !better; ++halving, part /= 2) {
      machine_data next = best;
      next.rates = detail::moved_towards(best.rates, rates, inverse, slopes, part);
      if (const auto ok = detail::add_errors(steps, predict, next); !ok) return ok.error();
      better = next.mean_error < best.mean_error * (1 - 1e-12);
      if (better) best = next;
    }
    if (!better) break;
  }
  return best;
}
[[nodiscard]] inline result<machine_data> fit_machine(std::span<const measured_step> steps,
                                                      std::span<double machine::* const> rates, const machine& start) {
  const std::vector<machine_rate> named(rates.begin(), rates.end());
  return fit_machine(steps, std::span<const machine_rate>(named), start);
}

/// A prediction with the band of the fit behind it.
struct time_band {
  seconds least{}, expected{}, most{};
};
/// Puts the worst error of a fit around a time: measured times of the kind that was fitted lay within it.
[[nodiscard]] constexpr time_band with_band(seconds predicted, const machine_data& fitted) noexcept {
  return {predicted / (1 + fitted.worst_error), predicted, predicted / (1 - fitted.worst_error)};
}

}  // namespace hocket::inline HOCKET_ABI::cost
