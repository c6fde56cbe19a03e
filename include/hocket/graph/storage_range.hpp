// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/config.hpp>

#include <algorithm>
#include <array>
#include <cassert>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>

namespace hocket::inline HOCKET_ABI::graph {

/// Bytes that an op touches: what a policy's for_each_read and for_each_write report where variables share memory, in
/// place of a number, a pointer or a name. Two ops are in conflict if a range of one overlaps a range of the other and
/// one of them writes. Variables are storage: once a memory planner has put two tensors into the same bytes, only
/// ranges (or the parts of for_each_part) tell the truth.
///
///     static void for_each_read(const my::program& p, node n, auto&& f) {
///       for (const my::tensor* t : p.ops[n].in) f(hocket::graph::storage_range::of(t->data, t->bytes));
///     }
struct storage_range {
  std::uint64_t space = 0;  ///< the address space or storage: a device, a buffer, a file; any number
  std::uint64_t first = 0;  ///< the first byte: an address, or an offset into the storage
  std::uint64_t end = 0;    ///< one past the last byte; must be above first

  /// The bytes behind a pointer. Precondition: bytes > 0.
  [[nodiscard]] static storage_range of(const void* data, std::size_t bytes, std::uint64_t space = 0) noexcept {
    const auto first = reinterpret_cast<std::uintptr_t>(data);
    return {space, first, first + bytes};
  }

  [[nodiscard]] constexpr bool overlaps(const storage_range& other) const noexcept {
    return space == other.space && first < other.end && other.first < end;
  }
  [[nodiscard]] constexpr auto operator<=>(const storage_range&) const noexcept = default;
};

/// A view into a storage, as tensor libraries describe it. Items of equal index distance follow each other `stride`
/// items apart; a stride may be 0 (broadcast) or negative.
struct strided_view {
  std::uint64_t space = 0;                ///< the storage
  std::uint64_t first = 0;                ///< the byte of the item with all indices 0
  std::uint64_t item_bytes = 1;           ///< of one item; at least 1
  std::span<const std::int64_t> sizes;    ///< per dimension, in items; at most strided_view::most_dimensions
  std::span<const std::int64_t> strides;  ///< per dimension, in items

  static constexpr std::size_t most_dimensions = 16;
};

/// Calls f(storage_range) for the bytes of a view: one range per contiguous run where there are at most `most_runs` of
/// them, else a single range that covers the view, holes included. A cover may order two ops that touch different
/// bytes; it never leaves a conflict out. A view without items has no range.
/// @return true if the ranges are exact, false if one covers them
/// Precondition: as many sizes as strides, at most strided_view::most_dimensions. Complexity: O(dimensions²) + runs.
///
///     // every second row of a 4 x 8 matrix of floats: two runs of 32 bytes
///     const std::int64_t sizes[] = {2, 8}, strides[] = {16, 1};
///     for_each_run({.space = 1, .first = 0, .item_bytes = 4, .sizes = sizes, .strides = strides}, f);
template <class F>
constexpr bool for_each_run(const strided_view& view, F&& f, std::uint64_t most_runs = 64) {
  assert(view.sizes.size() == view.strides.size() && view.sizes.size() <= strided_view::most_dimensions);
  struct dimension {
    std::uint64_t stride = 0;  // in bytes
    std::uint64_t size = 0;
  };
  std::array<dimension, strided_view::most_dimensions> dimensions;
  std::size_t count = 0;
  std::uint64_t first = view.first;
  for (std::size_t d = 0; d < view.sizes.size(); ++d) {
    const std::int64_t size = view.sizes[d], stride = view.strides[d];
    if (size <= 0) return true;
    if (size == 1 || stride == 0) continue;  // all indices are at the same bytes
    const auto forwards = static_cast<std::uint64_t>(stride);
    const std::uint64_t length = (stride < 0 ? 0 - forwards : forwards) * view.item_bytes;
    if (stride < 0) first -= length * static_cast<std::uint64_t>(size - 1);  // begin at the lowest byte
    dimensions[count++] = {length, static_cast<std::uint64_t>(size)};
  }
  std::sort(dimensions.begin(), dimensions.begin() + static_cast<std::ptrdiff_t>(count),
            [](const dimension& a, const dimension& b) { return a.stride < b.stride; });

  // The innermost dimensions that leave no hole make a run.
  std::uint64_t run = view.item_bytes;
  std::size_t inner = 0;
  for (; inner < count && dimensions[inner].stride <= run; ++inner)
    run = (dimensions[inner].size - 1) * dimensions[inner].stride + run;
  std::uint64_t runs = 1, cover = run;
  for (std::size_t d = inner; d < count; ++d) {
    runs = runs > most_runs ? runs : runs * (std::min)(dimensions[d].size, most_runs + 1);
    cover += (dimensions[d].size - 1) * dimensions[d].stride;
  }
  if (runs > most_runs) {
    f(storage_range{view.space, first, first + cover});
    return false;
  }
  std::array<std::uint64_t, strided_view::most_dimensions> index{};
  for (std::uint64_t r = 0; r < runs; ++r) {
    std::uint64_t at = first;
    for (std::size_t d = inner; d < count; ++d) at += index[d] * dimensions[d].stride;
    f(storage_range{view.space, at, at + run});
    for (std::size_t d = inner; d < count && ++index[d] == dimensions[d].size; ++d) index[d] = 0;
  }
  return true;
}

}  // namespace hocket::inline HOCKET_ABI::graph
