// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/time.hpp>
#include <hocket/cost/formula/print.hpp>
#include <hocket/cost/model/list_cost.hpp>
#include <hocket/cost/model/measured_run.hpp>

#include <cstdint>
#include <string>

namespace hocket::inline HOCKET_ABI::cost {

/// FLOPs per second per device over the peak: F / (T W P).
/// Needs: run.  Source: arXiv:2204.02311 appendix B (MFU), arXiv:2205.05198 section 6.3 (HFU).
inline constexpr auto utilization_formula = letters::F_step / (letters::T * letters::W * letters::P);

/// Which FLOPs a utilization counts: those of the model, or also those that were computed twice.
enum class work : std::uint8_t { model, hardware };

/// MFU or HFU, inseparable from what was counted: the kind of work is in the type, the convention and the peak in the
/// value. It converts to no number and prints with its convention; two of one type compare only through `convert`.
template <work Work>
class utilization {
 public:
  constexpr utilization(double ratio, const convention& counted, double peak_flops) noexcept
      : ratio_(ratio), counted_(counted), peak_(peak_flops) {}

  /// The ratio itself (0.55, not 55 %), for code that keeps the convention elsewhere.
  [[nodiscard]] constexpr double ratio_by_convention() const noexcept { return ratio_; }
  [[nodiscard]] constexpr convention counted() const noexcept { return counted_; }
  [[nodiscard]] constexpr double peak_flops() const noexcept { return peak_; }

 private:
  double ratio_;
  convention counted_;
  double peak_;
};
using mfu = utilization<work::model>;
using hfu = utilization<work::hardware>;

/// "MFU 41.7 % (attention full, peak 312 TFLOP/s)"; an HFU also names its recompute count. What no device can reach
/// says so: only a count of more than is computed (full, of causal attention) can honestly exceed the peak.
template <work Work>
[[nodiscard]] std::string to_string(const utilization<Work>& u) {
  const auto fixed = [](double x) {  // one decimal, rounded half up; no locale, no stream
    const auto tenths = static_cast<std::int64_t>(x * 10 + 0.5);
    return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10);
  };
  std::string s = Work == work::model ? "MFU " : "HFU ";
  s += fixed(u.ratio_by_convention() * 100) + " % (attention " + std::string(to_string(u.counted().attention));
  if (Work == work::hardware) s += ", recompute " + std::string(to_string(u.counted().replay));
  s += ", peak " + fixed(u.peak_flops() / 1e12) + " TFLOP/s)";
  if (u.ratio_by_convention() > 1) s += ": above the peak, so the time, the peak, the devices or the count is wrong";
  return s;
}

/// The utilization of counted FLOPs: those of a plan (recompute_plan.hpp), or with operations computed again by name.
/// Preconditions: devices > 0, step_time > 0, peak_flops > 0.
template <work Work>
[[nodiscard]] constexpr utilization<Work> utilization_of(const flop_count& f, std::int64_t devices, seconds step_time,
                                                         double peak_flops) noexcept {
  HOCKET_ASSERT(devices > 0 && step_time.count() > 0 && peak_flops > 0);
  const measured_run measured{(Work == work::model ? f.model_step : f.hardware_step).real(), step_time.count(),
                              peak_flops, devices};
  return utilization<Work>(real(utilization_formula, environment(measured)), f.counted, peak_flops);
}

/// The utilization of a step that took `step_time` on p.devices() devices of the given peak (FLOP/s of the type
/// used). The peak is an input: vendors' figures differ by type and sparsity. Preconditions: step_seconds > 0,
/// peak_flops > 0.
template <work Work>
[[nodiscard]] constexpr result<utilization<Work>> utilization_of(const layer_list& m, const training& t,
                                                                 const parallel& p, const convention& counted,
                                                                 seconds step_time, double peak_flops) noexcept {
  HOCKET_ASSERT(step_time.count() > 0 && peak_flops > 0);
  const auto f = count_flops(m, t, p, counted);
  if (!f) return f.error();
  return utilization_of<Work>(*f, p.devices(), step_time, peak_flops);
}

/// The same run under another convention: what a figure of one paper means in the words of another.
template <work Work>
[[nodiscard]] constexpr result<utilization<Work>> convert(const utilization<Work>& u, const convention& to,
                                                          const layer_list& m, const training& t,
                                                          const parallel& p) noexcept {
  const auto old_count = count_flops(m, t, p, u.counted()), new_count = count_flops(m, t, p, to);
  if (!old_count) return old_count.error();
  if (!new_count) return new_count.error();
  const auto of = [](const flop_count& f) { return (Work == work::model ? f.model_step : f.hardware_step).real(); };
  return utilization<Work>(u.ratio_by_convention() * of(*new_count) / of(*old_count), to, u.peak_flops());
}

}  // namespace hocket::inline HOCKET_ABI::cost
