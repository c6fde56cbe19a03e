// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/result.hpp>
#include <hocket/curve/affine.hpp>
#include <hocket/curve/combinators.hpp>

#include <cstdint>
#include <limits>

namespace hocket::inline HOCKET_ABI::curve {

/// The device of a matrix product: what it can do and in which blocks it works.
struct matmul_device {
  double tflops = 0;       ///< 10^12 operations per second that a full wave reaches
  double gb_per_s = 0;     ///< memory; 0: not a limit
  double launch_us = 0;    ///< before the first block
  std::int64_t cores = 1;  ///< blocks that run at the same time
  std::int64_t block_rows = 128, block_columns = 256;
};

/// [rows, k] x [k, n] as a function of the rows: launch + the larger of the arithmetic, which comes in whole waves of
/// `cores` blocks, and the memory traffic. The last wave costs as much as a full one, so time is a staircase.
/// An aggregate, so that measured numbers can be written in place; `of` computes them from a device.
/// Source: Williams et al. 2009, "Roofline"; NVIDIA, "Matrix multiplication background", wave quantisation.
///
///     constexpr auto f = hocket::curve::matmul_roofline::of(
///         4096, 4096, 2, {.tflops = 300, .launch_us = 6, .cores = 20});
///     static_assert(f.time(1) == f.time(128) && f.time(129) > f.time(128));
struct matmul_roofline {
  double launch_us = 0;
  double wave_us = 0;        ///< one wave, all cores busy
  double column_blocks = 1;  ///< blocks per row of blocks
  double cores = 1;
  double block_rows = 128;
  double weights_us = 0;  ///< reading what does not depend on the rows
  double us_per_row = 0;  ///< reading and writing a row

  /// Preconditions: k, n, bytes and the numbers of the device positive (gb_per_s may be 0, launch_us not negative).
  [[nodiscard]] static constexpr matmul_roofline of(std::int64_t k, std::int64_t n, std::int64_t element_bytes,
                                                    const matmul_device& on) noexcept {
    HOCKET_ASSERT(k >= 1 && n >= 1 && element_bytes >= 1 && on.tflops > 0 && on.cores >= 1);
    const auto kd = static_cast<double>(k), nd = static_cast<double>(n), bytes = static_cast<double>(element_bytes);
    const auto rows = static_cast<double>(on.block_rows), columns = static_cast<double>(on.block_columns);
    const auto cores = static_cast<double>(on.cores);
    const double per_byte = on.gb_per_s > 0 ? 1 / (on.gb_per_s * 1e3) : 0;
    return {.launch_us = on.launch_us,
            .wave_us = cores * 2 * rows * columns * kd / (on.tflops * 1e6),
            .column_blocks = round_up(nd / columns),
            .cores = cores,
            .block_rows = rows,
            .weights_us = bytes * kd * nd * per_byte,
            .us_per_row = bytes * (kd + nd) * per_byte};
  }

  [[nodiscard]] constexpr double time(double rows) const noexcept {
    const double waves = round_up(round_up(rows / block_rows) * column_blocks / cores);
    const double work = waves * wave_us, memory = weights_us + us_per_row * rows;
    return launch_us + (work < memory ? memory : work);
  }
};

/// errc::bad_cost unless every number is finite and not negative and blocks and cores are positive.
[[nodiscard]] constexpr result<void> check(const matmul_roofline& f) noexcept {
  for (const double x : {f.launch_us, f.wave_us, f.column_blocks, f.cores, f.block_rows, f.weights_us, f.us_per_row})
    if (!is_cost(x)) return error{errc::bad_cost}.with("matrix product");
  if (f.column_blocks == 0 || f.cores == 0 || f.block_rows == 0) return error{errc::bad_cost}.with("matrix product");
  return {};
}

}  // namespace hocket::inline HOCKET_ABI::curve
