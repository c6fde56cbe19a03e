// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/result.hpp>
#include <hocket/curve/table.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::curve {

/// One measurement: a size took so many us, `repeats` times over.
struct sample {
  double size = 0;
  double us = 0;
  std::int64_t repeats = 1;
};

/// Samples a fit accepts; keeps sums of squares finite and sorting bounded.
inline constexpr std::size_t max_samples = 1'000'000;

/// What a fit changed about its samples.
enum class repair_kind : std::uint8_t {
  merged,  ///< several samples of one size: the weighted median was taken; `before` is the time furthest from it
  pooled,  ///< a larger size took less time: both were averaged
  slope,   ///< a piece would have fallen: it was made level
  joint,   ///< a piece would have begun below the end of the one before: it was raised
};
[[nodiscard]] constexpr std::string_view to_string(repair_kind k) noexcept {
  constexpr std::string_view names[] = {"merged", "pooled", "slope", "joint"};
  return names[static_cast<std::size_t>(k)];
}
struct repair {
  repair_kind kind;
  double size;
  double before_us, after_us;
};

/// A fitted table and how well it meets its samples. Errors are relative, as fractions.
struct isotonic_fit {
  table curve;
  double mean_error = 0;  ///< over sizes, of the fit against the median of each size
  double worst_error = 0;
  double leave_one_out_error = 0;      ///< mean over inner sizes, each predicted by a fit without it; 0 below 3 sizes
  std::int64_t merged = 0;             ///< samples that shared a size: the weighted median was taken
  std::int64_t pooled = 0;             ///< sizes whose time fell below a smaller size's and was averaged with it
  std::pmr::vector<repair> repairs{};  ///< one for each size that was merged or pooled, in ascending order of size
};

namespace detail {

struct pooled_point {
  double size, us, weight;
};

/// Neighbours that share one fitted value.
struct pooled_block {
  double value, weight;
  std::size_t count;
};

/// Weights are divided by the squared time: a microsecond counts more at small sizes, where it is a larger part.
[[nodiscard]] constexpr pooled_block block_of(const pooled_point& p) noexcept {
  return {p.us, p.us > 0 ? p.weight / (p.us * p.us) : p.weight, 1};
}

/// Two neighbours as one, at their weighted mean.
[[nodiscard]] constexpr pooled_block together(const pooled_block& a, const pooled_block& b) noexcept {
  const double weight = a.weight + b.weight;
  return {(a.value * a.weight + b.value * b.weight) / weight, weight, a.count + b.count};
}

/// Pool adjacent violators: the never-falling values with the least weighted sum of squared relative changes.
inline std::pmr::vector<pooled_block> pooled_blocks(std::span<const pooled_point> points,
                                                    std::pmr::memory_resource* memory) {
  std::pmr::vector<pooled_block> blocks(memory);
  for (const pooled_point& p : points) {
    pooled_block last = block_of(p);
    for (; !blocks.empty() && blocks.back().value > last.value; blocks.pop_back()) last = together(blocks.back(), last);
    blocks.push_back(last);
  }
  return blocks;
}

/// The value of each point.
inline std::pmr::vector<double> values_of(const std::pmr::vector<pooled_block>& blocks,
                                          std::pmr::memory_resource* memory) {
  std::pmr::vector<double> out(memory);
  for (const pooled_block& b : blocks) out.insert(out.end(), b.count, b.value);
  return out;
}

inline std::pmr::vector<double> pool(std::span<const pooled_point> points, std::pmr::memory_resource* memory) {
  return values_of(pooled_blocks(points, memory), memory);
}

/// What the fit of all points but one says at that one. Left out of its block, a point changes this block and those
/// that it is then pooled with, so nothing else is looked at. Ask for points in ascending order.
class unseen_view {
 public:
  unseen_view(const std::pmr::vector<pooled_point>& points, const std::pmr::vector<pooled_block>& blocks,
              std::pmr::memory_resource* memory)
      : points_(points), blocks_(blocks), near_(memory) {}

  /// Microseconds at point i without it. Precondition: it has neighbours. O(points of its block and of those pooled).
  [[nodiscard]] double operator()(std::size_t i) {
    for (; first_ + blocks_[at_].count <= i; ++at_) first_ += blocks_[at_].count;
    const std::size_t end = first_ + blocks_[at_].count;
    left_ = at_;
    near_begin_ = first_;
    near_.clear();
    for (std::size_t j = first_; j < end; ++j)
      if (j != i) push(block_of(points_[j]));
    std::size_t right = at_ + 1;
    if (i + 1 == end) push(blocks_[right++]);  // the neighbour is in it
    for (; right < blocks_.size() && near_.back().value > blocks_[right].value; ++right) push(blocks_[right]);
    const pooled_point &before = points_[i - 1], &after = points_[i + 1];
    const double low = i == near_begin_ ? blocks_[left_ - 1].value : value(i - 1), high = value(i);
    return low + (high - low) * ((points_[i].size - before.size) / (after.size - before.size));
  }

 private:
  /// Behind near_, or behind the blocks left of it.
  void push(pooled_block b) {
    for (; !near_.empty() && near_.back().value > b.value; near_.pop_back()) b = together(near_.back(), b);
    if (near_.empty())
      for (; left_ > 0 && blocks_[left_ - 1].value > b.value; --left_) {
        near_begin_ -= blocks_[left_ - 1].count;
        b = together(blocks_[left_ - 1], b);
      }
    near_.push_back(b);
  }
  /// Of a point by its number among the others.
  [[nodiscard]] double value(std::size_t number) const noexcept {
    std::size_t end = near_begin_;
    for (const pooled_block& b : near_) {
      end += b.count;
      if (end > number) return b.value;
    }
    return near_.back().value;
  }

  const std::pmr::vector<pooled_point>& points_;
  const std::pmr::vector<pooled_block>& blocks_;  ///< of all points
  std::size_t at_ = 0, first_ = 0;                ///< the block of the point asked for last, and where it begins
  std::pmr::vector<pooled_block> near_;           ///< what changed: [left_, …) of blocks_, without the point
  std::size_t left_ = 0, near_begin_ = 0;         ///< the first block in near_, and where it begins
};

/// One point per size, ascending: the weighted median of its samples. Appends what it merged to `repairs`.
inline result<std::pmr::vector<pooled_point>> medians(std::span<const sample> samples,
                                                      std::pmr::vector<repair>& repairs,
                                                      std::pmr::memory_resource* memory) {
  if (samples.size() < 2 || samples.size() > max_samples)
    return error{errc::out_of_range, static_cast<std::int64_t>(samples.size()), 2,
                 static_cast<std::int64_t>(max_samples)}
        .with("number of samples");
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const sample& s = samples[i];
    const auto number = static_cast<std::int64_t>(i + 1);
    if (!is_cost(s.size) || s.size == 0) return error{errc::bad_sample, number}.with("size");
    if (!is_cost(s.us) || s.us == 0) return error{errc::bad_sample, number}.with("time");
    if (s.repeats < 1) return error{errc::invalid_argument, s.repeats}.with("repeats of a sample");
  }
  std::pmr::vector<sample> sorted(samples.begin(), samples.end(), memory);
  std::sort(sorted.begin(), sorted.end(), [](const sample& a, const sample& b) {
    return a.size != b.size ? a.size < b.size : a.us != b.us ? a.us < b.us : a.repeats < b.repeats;
  });
  std::pmr::vector<pooled_point> points(memory);
  for (std::size_t i = 0; i < sorted.size();) {
    std::size_t end = i;
    double weight = 0;
    while (end < sorted.size() && sorted[end].size == sorted[i].size)
      weight += static_cast<double>(sorted[end++].repeats);
    double below = 0;  // the weighted median: the first time that has half of the weight at or below it
    std::size_t middle = i;
    while ((below += static_cast<double>(sorted[middle].repeats)) < weight / 2) ++middle;
    const double median = sorted[middle].us;
    double far = 0;
    for (std::size_t j = i; j < end; ++j)
      if (sorted[j].us > 2 * median || 2 * sorted[j].us < median) far += static_cast<double>(sorted[j].repeats);
    if (far * 2 >= weight) {
      const double at = sorted[i].size < 9e18 ? sorted[i].size : 9e18;
      return error{errc::contradictory_samples, static_cast<std::int64_t>(at)};
    }
    if (end - i > 1) {
      const double low = sorted[i].us, high = sorted[end - 1].us;
      repairs.push_back({repair_kind::merged, sorted[i].size, median / low > high / median ? low : high, median});
    }
    points.push_back({sorted[i].size, median, weight});
    i = end;
  }
  if (points.size() < 2)
    return error{errc::out_of_range, static_cast<std::int64_t>(points.size()), 2,
                 static_cast<std::int64_t>(max_samples)}
        .with("number of different sizes");
  return points;
}

/// By size; of one size, what was done first comes first.
[[nodiscard]] constexpr bool in_order(const repair& a, const repair& b) noexcept {
  return a.size != b.size ? a.size < b.size : a.kind < b.kind;
}

/// |found / measured - 1|.
[[nodiscard]] constexpr double relative(double found, double measured) noexcept {
  const double d = (found - measured) / measured;
  return d < 0 ? -d : d;
}

}  // namespace detail

/// The never-falling curve through measurements: the median of each size, then isotonic regression (pool adjacent
/// violators), then straight lines. It follows protocol switches that no single polynomial follows, and repairs noise
/// such as 29, 24, 25 us at growing sizes, which a solver could not use as it is.
/// @param samples  in any order; sizes and times in the caller's units and us
/// Errors: errc::out_of_range for fewer than two sizes or more than max_samples samples, errc::invalid_argument for
/// repeats below 1. errc::bad_sample has the number of a sample (from 1) whose size or time is not finite and positive.
/// errc::contradictory_samples has a size at which half of the times or more are beyond a factor of 2 around their
/// median. O(n log n), plus O(n^2) for the leave-one-out error up to 1,000 sizes; above, it is taken at 1,000 evenly
/// spread ones, and beyond 20,000 sizes at fewer, so that the work stays the same.
[[nodiscard]] inline result<isotonic_fit> fit_isotonic(
    std::span<const sample> samples, std::pmr::memory_resource* memory = std::pmr::get_default_resource()) {
  std::pmr::vector<repair> repairs(memory);
  auto merged = detail::medians(samples, repairs, memory);
  if (!merged) return merged.error();
  const std::pmr::vector<detail::pooled_point>& points = *merged;
  const std::pmr::vector<detail::pooled_block> blocks = detail::pooled_blocks(points, memory);
  const std::pmr::vector<double> us = detail::values_of(blocks, memory);
  std::pmr::vector<double> sizes(memory);
  sizes.reserve(points.size());
  for (const detail::pooled_point& p : points) sizes.push_back(p.size);
  auto fitted = table::make(sizes, us, memory);
  if (!fitted) return fitted.error();
  isotonic_fit out{std::move(fitted).value()};
  out.merged = static_cast<std::int64_t>(samples.size() - points.size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    const detail::pooled_point& p = points[i];
    const double e = detail::relative(us[i], p.us);
    out.mean_error += e / static_cast<double>(points.size());
    if (e > out.worst_error) out.worst_error = e;
    if (us[i] == p.us) continue;
    ++out.pooled;
    repairs.push_back({repair_kind::pooled, p.size, p.us, us[i]});
  }
  std::sort(repairs.begin(), repairs.end(), detail::in_order);
  out.repairs = std::move(repairs);
  // Each try may cost all points: a million of them are tried at 20.
  const std::size_t tries = std::clamp<std::size_t>(20'000'000 / points.size(), 16, 1000);
  const std::size_t step = points.size() / tries + 1;
  std::int64_t tried = 0;
  detail::unseen_view unseen(points, blocks, memory);
  for (std::size_t i = 1; i + 1 < points.size(); i += step) {
    out.leave_one_out_error += detail::relative(unseen(i), points[i].us);
    ++tried;
  }
  if (tried > 0) out.leave_one_out_error /= static_cast<double>(tried);
  return out;
}

}  // namespace hocket::inline HOCKET_ABI::curve
