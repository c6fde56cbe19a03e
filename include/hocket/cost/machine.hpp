// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/result.hpp>
#include <hocket/cost/formula/evaluate.hpp>
#include <hocket/cost/formula/reflect.hpp>
#include <hocket/cost/model/training.hpp>

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace hocket::inline HOCKET_ABI::cost {

/// One level of the links between devices: devices in blocks of `ranks` in a row reach each other at this rate.
///
///     | 8 devices | 8 devices | …   links[0] = {8, 4.5e11, 2e-6}: inside a block of 8
///     |     a cluster of 16,384   | links[1] = {16384, 5e10, 5e-6}: between blocks
struct link_level {
  std::int64_t ranks = 0;  ///< in a block of this level; 0: there is no such level
  double bytes = 0;        ///< byte/s that a device sends
  double seconds = 0;      ///< of one hop, however little is sent
  friend constexpr bool operator==(const link_level&, const link_level&) = default;
};
inline constexpr std::size_t most_link_levels = 4;

/// What one device does in a second, for each kind of work of a step, and what the host and other devices add. Rates
/// are what large work reaches. The formulas of a step's time (step_formulas.hpp) name them and hold no number of their
/// own. What is 0 is not there: a machine of the first seven rates alone is linear. Measured curves in place of rates
/// are in measured_hardware.hpp.
struct machine {
  double gemm_flops = 0;       ///< FLOP/s of matrix products in 16 bits
  double attention_flops = 0;  ///< FLOP/s inside attention
  double memory_bytes = 0;     ///< byte/s that kernels read and write
  // Links, by the group of ranks that sends. Not read where there are `links`.
  double tensor_bytes = 0;    ///< byte/s that a rank sends to its tensor- and context-parallel group
  double expert_bytes = 0;    ///< byte/s to its expert-parallel group
  double pipeline_bytes = 0;  ///< byte/s to the next stage
  double data_bytes = 0;      ///< byte/s to its data-parallel group
  double host_bytes = 0;      ///< byte/s to the host's memory
  // Products in narrower formats. 0: not known.
  double fp8_flops = 0, mxfp8_flops = 0, nvfp4_flops = 0;
  // Products by their shape: blocks of the result, as many at the same time as there are cores. 0 cores: all alike.
  double cores = 0;  ///< that work on one block each
  double block_rows = 128, block_columns = 128;
  double block_seconds = 0;  ///< of a block before its first and after its last multiplication
  // The part of each kind of transfer that hides behind compute, 0 to 1, as far as there is compute.
  double tensor_overlap = 0, context_overlap = 0, pipeline_overlap = 0;
  double data_overlap = 0;
  double expert_overlap = 0;
  double host_overlap = 1;  ///< of offloaded tensors
  bool sends_once = false;  ///< an exchange of experts sends a token once to each block of links[0] that it goes to
  // What the host adds to a step.
  double load_seconds = 0;     ///< until the step's data are on the device, as far as nothing hides it
  double post_seconds = 0;     ///< after the optimizer: checks, synchronisation, logging
  double launch_seconds = 0;   ///< of the host for one kernel of a layer; shows only where it exceeds the device's time
  double launches = 0;         ///< kernels per layer and pass
  double expert_launches = 0;  ///< and more for each expert that a rank holds of the layer
  double kernel_seconds = 0;   ///< of the device between two kernels
  /// Standard deviation of a device's time, as a part of it: all wait for the slowest, which of W devices is
  /// sqrt(2 ln W) deviations late.
  double spread = 0;
  std::array<link_level, most_link_levels> links{};  ///< from the innermost

  [[nodiscard]] constexpr bool has_links() const noexcept { return links[0].ranks > 0; }
  friend constexpr bool operator==(const machine&, const machine&) = default;
};

/// FLOP/s of large products in a format; 0 if the machine does not say. O(1).
[[nodiscard]] constexpr double product_flops(const machine& on, precision format) noexcept {
  switch (format) {
    case precision::bf16: return on.gemm_flops;
    case precision::fp8: return on.fp8_flops;
    case precision::mxfp8: return on.mxfp8_flops;
    case precision::nvfp4: return on.nvfp4_flops;
  }
  return 0;
}

/// A machine as data: the rates, where they come from, and how far predictions with them are off.
struct machine_data {
  std::string_view name;  ///< literal
  machine rates;
  double mean_error = 0, worst_error = 0;  ///< relative, of the fit against its own measurements; 0: no fit
  std::string_view source;                 ///< literal
};

}  // namespace hocket::inline HOCKET_ABI::cost

HOCKET_DETAIL_STRUCT(hocket::cost::machine, gemm_flops, attention_flops, memory_bytes, tensor_bytes, expert_bytes,
                     pipeline_bytes, data_bytes, host_bytes, fp8_flops, mxfp8_flops, nvfp4_flops, cores, block_rows,
                     block_columns, block_seconds, tensor_overlap, context_overlap, pipeline_overlap, data_overlap,
                     expert_overlap, host_overlap, load_seconds, post_seconds, launch_seconds, launches,
                     expert_launches, kernel_seconds, spread);

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
  std::int64_t inner = 0;
  for (const link_level& level : on.links) {
    if (level.ranks == 0) break;
    if (level.ranks <= inner)
      return error{errc::out_of_range, level.ranks, inner + 1, (std::numeric_limits<std::int64_t>::max)()}.with(
          "ranks of a level of links");
    inner = level.ranks;
    const double most = (std::numeric_limits<double>::max)();
    if (!(level.bytes > 0 && level.bytes <= most && level.seconds >= 0 && level.seconds <= most))
      return error{errc::bad_rate}.with("a level of links");
  }
  return {};
}

}  // namespace hocket::inline HOCKET_ABI::cost
