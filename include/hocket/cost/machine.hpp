// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/result.hpp>
#include <hocket/cost/formula/evaluate.hpp>
#include <hocket/cost/formula/reflect.hpp>

#include <charconv>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>

namespace hocket::inline HOCKET_ABI::cost {

/// What one device does in a second, for each kind of work of a step: the linear hardware policy. Rates are sustained
/// ones, fitted or measured; the formulas of a step's time (step_time.hpp) name them and hold no number of their own.
/// Richer policies are in measured_hardware.hpp.
struct machine {
  double gemm_flops = 0;       ///< FLOP/s of matrix products
  double attention_flops = 0;  ///< FLOP/s inside attention
  double memory_bytes = 0;     ///< byte/s of element-wise work and of the optimizer
  double tensor_bytes = 0;     ///< byte/s that a rank sends to its tensor- and context-parallel group
  double expert_bytes = 0;     ///< byte/s to its expert-parallel group
  double pipeline_bytes = 0;   ///< byte/s to the next stage
  double data_bytes = 0;       ///< byte/s to its data-parallel group
  double host_bytes = 0;       ///< byte/s to the host's memory
  double data_overlap = 0;     ///< the part of the step's data-parallel transfers that hides behind compute, 0 to 1
  double expert_overlap = 0;   ///< the same of the experts' exchange
  double host_overlap = 1;     ///< the same of offloaded tensors
  // What the host adds to a step.
  double load_seconds = 0;    ///< until the step's data are on the device, as far as nothing hides it
  double post_seconds = 0;    ///< after the optimizer: checks, synchronisation, logging
  double launch_seconds = 0;  ///< of the host for one kernel of a layer; shows only where it exceeds the device's time
  double launches = 0;        ///< kernels per layer and pass
};

/// A machine as data: the rates, where they come from, and how far predictions with them are off.
struct machine_data {
  std::string_view name;  ///< literal
  machine rates;
  double mean_error = 0, worst_error = 0;  ///< relative, of the fit against its own measurements; 0: no fit
  std::string_view source;                 ///< literal
};

}  // namespace hocket::inline HOCKET_ABI::cost

HOCKET_DETAIL_STRUCT(hocket::cost::machine, gemm_flops, attention_flops, memory_bytes, tensor_bytes, expert_bytes,
                     pipeline_bytes, data_bytes, host_bytes, data_overlap, expert_overlap, host_overlap, load_seconds,
                     post_seconds, launch_seconds, launches);

namespace hocket::inline HOCKET_ABI::cost {

/// Whether a machine can be one: rates and seconds are finite and not negative, overlaps at most 1. That a rate which
/// is needed is 0 shows where it is needed. Errors: errc::bad_rate, naming the member and its value. O(members).
///
///     check(machine{.gemm_flops = 1e15}) && !check(machine{.data_overlap = 1.5});
[[nodiscard]] inline result<void> check(const machine& on) {
  using members = detail::members_of<machine>;
  const auto numbers = members::numbers(on);
  for (std::size_t at = 0; at < numbers.size(); ++at) {
    const double x = numbers[at].real;
    const std::string_view name = members::names[at].text;
    const double most = name.ends_with("overlap") ? 1 : (std::numeric_limits<double>::max)();
    if (x >= 0 && x <= most) continue;
    std::string text(name);
    char digits[32];
    text.append(" = ").append(digits, std::to_chars(digits, digits + sizeof digits, x).ptr);
    return error{errc::bad_rate}.with(text);
  }
  return {};
}

}  // namespace hocket::inline HOCKET_ABI::cost
