// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/time.hpp>
#include <hocket/curve/isotonic.hpp>
#include <hocket/interop/ascend/operator_totals.hpp>
#include <hocket/interop/ascend/profile.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <tuple>
#include <vector>

namespace hocket::inline HOCKET_ABI::ascend {

/// Measured times of products with one right matrix, by the rows of the left one: what a fit of a tiling's cost curve
/// starts from (the MC2 guide cuts M into 256, 512, 768, ... and measures each).
struct product_samples {
  std::int64_t batch = 1, inner = 0, columns = 0;
  std::vector<curve::sample> samples;  ///< size: rows; by size, then by time
};

/// The products of one type of op, one entry for each right matrix, that with most samples first. O(k log k).
///
///     const auto groups = hocket::ascend::sample_products(profile.kernels, "MatMulV2");
///     const auto curve = hocket::curve::fit_isotonic(groups.front().samples);
[[nodiscard]] inline std::vector<product_samples> sample_products(std::span<const kernel> kernels,
                                                                  std::string_view type) {
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, product_samples> all;
  for (const kernel& k : kernels) {
    if (k.type != type) continue;
    const auto p = product_of(k);
    if (!p) continue;
    product_samples& s = all[{p->batch, p->inner, p->columns}];
    s.batch = p->batch;
    s.inner = p->inner;
    s.columns = p->columns;
    s.samples.push_back({.size = static_cast<double>(p->rows), .us = microseconds(k.duration).count()});
  }
  std::vector<product_samples> out;
  for (auto& [key, group] : all) {
    std::sort(group.samples.begin(), group.samples.end(), [](const curve::sample& a, const curve::sample& b) {
      return a.size != b.size ? a.size < b.size : a.us < b.us;
    });
    out.push_back(std::move(group));
  }
  std::sort(out.begin(), out.end(), [](const product_samples& a, const product_samples& b) {
    if (a.samples.size() != b.samples.size()) return a.samples.size() > b.samples.size();
    return std::tuple(a.batch, a.inner, a.columns) < std::tuple(b.batch, b.inner, b.columns);
  });
  return out;
}

/// Bytes that a run of a collective moved over links, each counted once: SDMA is the sum of others.
[[nodiscard]] inline bytes moved_bytes(const collective_run& run) noexcept {
  bytes parts{}, sum{};
  for (const link_use& l : run.links) (l.transport == "SDMA" ? sum : parts) += l.size;
  return (std::max)(parts, sum);
}

/// Measured times of the runs of a collective whose names begin so (`hcom_allReduce_`), by the bytes moved.
/// Runs that moved nothing are left out. O(r log r).
[[nodiscard]] inline std::vector<curve::sample> sample_collectives(std::span<const collective_run> runs,
                                                                   std::string_view name) {
  std::vector<curve::sample> out;
  for (const collective_run& r : runs)
    if (r.name.starts_with(name) && moved_bytes(r).count() > 0 && r.elapsed.count() > 0)
      out.push_back({.size = static_cast<double>(moved_bytes(r).count()), .us = microseconds(r.elapsed).count()});
  std::sort(out.begin(), out.end(), [](const curve::sample& a, const curve::sample& b) {
    return a.size != b.size ? a.size < b.size : a.us < b.us;
  });
  return out;
}

}  // namespace hocket::inline HOCKET_ABI::ascend
