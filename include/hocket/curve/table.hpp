// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/borrowed.hpp>
#include <hocket/core/result.hpp>
#include <hocket/curve/affine.hpp>
#include <hocket/curve/cost_curve.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory_resource>
#include <span>
#include <vector>

namespace hocket::inline HOCKET_ABI::curve {

/// Measured points joined by straight lines: constant below the first size, on along the last line above the last.
/// It does not own its points, and takes no temporary ones; `table` owns its own. Constant expressions may use it over
/// constexpr arrays.
class table_view {
 public:
  /// Errors: errc::invalid_argument for no points, unequal counts or sizes that do not ascend; errc::bad_cost for a
  /// time that is not finite or negative; errc::decreasing_cost where a larger size took less time (repair such points
  /// first, for example by isotonic regression). O(points).
  [[nodiscard]] static constexpr result<table_view> make(borrowed<double> sizes, borrowed<double> us) noexcept {
    if (sizes.empty() || sizes.size() != us.size())
      return hocket::error{errc::invalid_argument, static_cast<std::int64_t>(us.size())}.with(
          "number of times in a table");
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      if (!is_cost(sizes[i]) || (i > 0 && !(sizes[i - 1] < sizes[i])))
        return hocket::error{errc::invalid_argument, static_cast<std::int64_t>(i)}.with("size at table index");
      if (!is_cost(us[i])) return hocket::error{errc::bad_cost, to_integer(sizes[i])}.with("table");
      if (i > 0 && us[i] < us[i - 1])
        return hocket::error{errc::decreasing_cost, to_integer(sizes[i - 1]), to_integer(sizes[i])}.with("table");
    }
    return table_view(sizes, us);
  }

  /// Microseconds by linear interpolation. O(log points).
  [[nodiscard]] constexpr double time(double size) const noexcept {
    if (!(size > sizes_.front()) || sizes_.size() == 1) return us_.front();
    std::size_t low = 0, high = sizes_.size() - 1;  // sizes_[low] < size
    while (high - low > 1) {
      const std::size_t middle = low + (high - low) / 2;
      if (sizes_[middle] < size) low = middle;
      else high = middle;
    }
    if (size == sizes_[high]) return us_[high];  // a measured point is returned as measured, without rounding
    return us_[low] + (us_[high] - us_[low]) * ((size - sizes_[low]) / (sizes_[high] - sizes_[low]));
  }

  /// From the first measured size to the last.
  [[nodiscard]] constexpr interval domain() const noexcept { return {sizes_.front(), sizes_.back()}; }
  [[nodiscard]] constexpr std::span<const double> sizes() const noexcept { return sizes_; }
  [[nodiscard]] constexpr std::span<const double> us() const noexcept { return us_; }

 private:
  friend class table;
  // For messages only: a size >= 0 as a whole number, without undefined behaviour far out.
  [[nodiscard]] static constexpr std::int64_t to_integer(double x) noexcept {
    return x < 9e18 ? static_cast<std::int64_t>(x) : (std::numeric_limits<std::int64_t>::max)();
  }
  constexpr table_view(std::span<const double> sizes, std::span<const double> us) noexcept : sizes_(sizes), us_(us) {}
  std::span<const double> sizes_, us_;
};

/// A table that owns its points. Copying allocates from the default memory resource.
class table {
 public:
  /// As table_view::make, copying the points. Allocates from `memory`.
  [[nodiscard]] static result<table> make(std::span<const double> sizes, std::span<const double> us,
                                          std::pmr::memory_resource* memory = std::pmr::get_default_resource()) {
    if (auto checked = table_view::make(sizes, us); !checked) return checked.error();
    return table{sizes, us, memory};
  }
  [[nodiscard]] table_view view() const& noexcept { return table_view(sizes_, us_); }
  table_view view() const&& = delete;  // it would outlive the points
  [[nodiscard]] double time(double size) const noexcept { return view().time(size); }
  [[nodiscard]] interval domain() const noexcept { return {sizes_.front(), sizes_.back()}; }

 private:
  table(std::span<const double> sizes, std::span<const double> us, std::pmr::memory_resource* memory)
      : sizes_(sizes.begin(), sizes.end(), memory), us_(us.begin(), us.end(), memory) {}
  std::pmr::vector<double> sizes_, us_;
};

}  // namespace hocket::inline HOCKET_ABI::curve
