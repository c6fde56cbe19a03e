// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The three cost models behind tests/data/tiling/optimum.csv, as curves of a host would be written, and its columns.
#pragma once
#include <hocket/tiling.hpp>

#include <array>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace golden {

namespace curve = hocket::curve;
namespace tiling = hocket::tiling;

using fit = curve::piecewise_polynomial<2, 3>;
inline constexpr auto reduce_mib =
    *fit::make({{8, {14.769, 27.0622573, -0.9698202}}, {fit::unbounded, {61.508333, 13.58491263}}});

/// All-reduce of rows of n two-byte numbers.
constexpr auto comm_curve(std::int64_t n) { return curve::mib_of_rows(reduce_mib, static_cast<double>(n) * 2); }

/// Compute models 0, 1, 2: linear; tile-quantised with launch and weight reads; wave-quantised blocks on 20 cores.
struct compute_curve {
  int truth = 0;
  std::int64_t k = 0, n = 0;
  [[nodiscard]] double time(double m) const noexcept {
    const auto kd = static_cast<double>(k), nd = static_cast<double>(n);
    const double weights = 2 * nd * kd / 1.2e6;
    if (truth == 0) {
      const double rate = std::fmax(128, nd) * std::fmax(128, kd) / (4096 * 1843.2 * 20 * 0.85);
      return std::fmax(128, m) * rate;
    }
    if (truth == 1) return 6 + std::fmax(2 * (std::ceil(m / 128) * 128 + 32) * nd * kd / (0.85 * 313e6), weights);
    const double waves = std::ceil(std::ceil(m / 128) * std::ceil(nd / 256) / 20);
    return 6 + std::fmax(waves * 20 * 2 * 128 * 256 * kd / (0.90 * 313e6), weights);
  }
};

inline auto problem(int truth, std::int64_t m, std::int64_t k, std::int64_t n) {
  return tiling::problem({.rows = m, .align = 128, .max_tiles = 16}, {.k = k, .n = n},
                         tiling::compute(compute_curve{truth, k, n}, truth == 0 ? 1.0 : 1.15),
                         tiling::comm(comm_curve(n), 1.15));
}

/// The rows of a CSV file without quotes, header skipped.
inline std::vector<std::vector<std::string>> read_csv(const std::string& name) {
  std::ifstream file(std::string(HOCKET_TEST_DATA) + "/tiling/" + name);
  std::vector<std::vector<std::string>> rows;
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::vector<std::string> cells;
    std::string cell;
    std::istringstream in(line);
    while (std::getline(in, cell, ',')) cells.push_back(cell);
    if (!line.empty() && line.back() == ',') cells.emplace_back();
    rows.push_back(cells);
  }
  return rows;
}

/// "512+896x4" as lengths.
inline std::vector<std::int64_t> tiles_of(const std::string& text) {
  std::vector<std::int64_t> out;
  std::istringstream in(text);
  std::string part;
  while (std::getline(in, part, '+')) {
    const auto times = part.find('x');
    const std::int64_t count = times == std::string::npos ? 1 : std::stoll(part.substr(times + 1));
    for (std::int64_t i = 0; i < count; ++i) out.push_back(std::stoll(part.substr(0, times)));
  }
  return out;
}

inline double us(hocket::microseconds t) { return t.count(); }

}  // namespace golden
