// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/config.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::inline HOCKET_ABI::cost {

/// What can be predicted of a step, and measured.
enum class step_quantity : std::uint8_t {
  step,                   ///< seconds of a whole step
  computing,              ///< seconds: forward, backward and optimizer
  forward_backward,       ///< seconds
  optimizer,              ///< seconds
  communication_exposed,  ///< seconds in which a device waits for communication, without pipeline bubbles
  communication_hidden,   ///< seconds of communication behind computing
  bubble,                 ///< seconds that wait for another pipeline stage
  free,                   ///< seconds in which nothing runs: scheduling, and loading of data
  data_loading,           ///< seconds
  scheduling,             ///< seconds
  memory_peak,            ///< bytes of a device
  device_flops            ///< model FLOP per second of a device, in the count of who says it
};
inline constexpr std::size_t step_quantity_count = 12;

[[nodiscard]] constexpr std::string_view to_string(step_quantity q) noexcept {
  constexpr std::string_view names[step_quantity_count] = {
      "step",   "computing", "forward and backward", "optimizer",  "exposed communication", "hidden communication",
      "bubble", "free",      "data loading",         "scheduling", "memory at the peak",    "FLOP/s of a device"};
  return names[static_cast<std::size_t>(q)];
}
/// "second", "byte", "FLOP/s".
[[nodiscard]] constexpr std::string_view unit_name(step_quantity q) noexcept {
  if (q == step_quantity::memory_peak) return "byte";
  return q == step_quantity::device_flops ? "FLOP/s" : "second";
}

/// A predicted or measured value, in the unit of its quantity.
struct step_value {
  step_quantity what = step_quantity::step;
  double value = 0;
  std::string note{};  ///< who says it, or what is in it
};

/// A measured value with what was predicted for it.
struct compared_value {
  step_quantity what = step_quantity::step;
  std::optional<double> predicted{};
  double measured = 0;
  std::string note{}, predicted_note{};

  /// Measured less predicted; 0 without a prediction.
  [[nodiscard]] double difference() const noexcept { return predicted ? measured - *predicted : 0; }
  /// The difference as a share of what was measured: 0.24 if a quarter is missing in the prediction. 0 of nothing.
  [[nodiscard]] double relative() const noexcept { return measured != 0 ? difference() / measured : 0; }
};

/// The biggest difference first, seconds before bytes before rates, and at the end of its unit what was not predicted.
/// Of equals the first stays first. O(n^2).
inline void sort_by_difference(std::vector<compared_value>& values) {
  const auto unit = [](const compared_value& c) {
    return c.what == step_quantity::device_flops ? 2 : c.what == step_quantity::memory_peak ? 1 : 0;
  };
  const auto before = [&](const compared_value& a, const compared_value& b) {
    if (unit(a) != unit(b)) return unit(a) < unit(b);
    if (a.predicted.has_value() != b.predicted.has_value()) return a.predicted.has_value();
    return std::abs(a.difference()) > std::abs(b.difference());
  };
  // Some ten values: each goes behind those that it does not precede.
  for (auto at = values.begin(); at != values.end(); ++at)
    std::rotate(std::upper_bound(values.begin(), at, *at, before), at, at + 1);
}

/// Sets each measured value beside the prediction of its quantity, in the order of sort_by_difference.
/// O(m (p + m)).
///
///     const step_value predicted[] = {{step_quantity::step, 2.0}};
///     const step_value measured[] = {{step_quantity::step, 2.5}};
///     compare_values(predicted, measured)[0].difference() == 0.5;
[[nodiscard]] inline std::vector<compared_value> compare_values(std::span<const step_value> predicted,
                                                                std::span<const step_value> measured) {
  std::vector<compared_value> out;
  for (const step_value& m : measured) {
    compared_value c;
    c.what = m.what;
    c.measured = m.value;
    c.note = m.note;
    const auto same =
        std::find_if(predicted.begin(), predicted.end(), [&](const step_value& p) { return p.what == m.what; });
    if (same != predicted.end()) {
      c.predicted = same->value;
      c.predicted_note = same->note;
    }
    out.push_back(std::move(c));
  }
  sort_by_difference(out);
  return out;
}

}  // namespace hocket::inline HOCKET_ABI::cost
