// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/config.hpp>

#include <cstdint>

namespace hocket::inline HOCKET_ABI::pipeline::detail {

/// Micro-batches of one chunk that stand next to each other in an order of forwards or backwards.
struct order_run {
  std::uint32_t chunk = 0;
  std::uint32_t micro_batch = 0;  ///< the first of them
  std::uint32_t length = 0;       ///< from there on
  std::uint32_t before = 0;       ///< how many stand before the first, next to it
  friend constexpr bool operator==(const order_run&, const order_run&) = default;
};

/// The order of forwards when groups come in two sizes: `first_count` groups of `first_size`, then groups of
/// `second_size`, of which the last may be smaller. Group after group, chunk after chunk, micro-batch after
/// micro-batch. Backwards take the same order with chunks counted from the end.
struct grouped_order {
  std::uint32_t chunks = 1;
  std::uint32_t micro_batches = 1;
  std::uint32_t first_count = 0;
  std::uint32_t first_size = 1;
  std::uint32_t second_size = 1;

  /// Precondition: k < chunks · micro_batches. O(1).
  [[nodiscard]] constexpr order_run at(std::uint32_t k) const noexcept {
    const std::uint32_t head = first_count * first_size;
    const bool early = k < head * chunks;
    const std::uint32_t size = early ? first_size : second_size, base = early ? 0 : head;
    const std::uint32_t y = k - base * chunks, group = y / (size * chunks), x = y - group * size * chunks;
    const std::uint32_t offset = base + group * size, left = micro_batches - offset, width = left < size ? left : size;
    const std::uint32_t chunk = x / width, place = x - chunk * width;
    return {chunk, offset + place, width - place, place};
  }
  /// The k with at(k) == {chunk, j}. O(1).
  [[nodiscard]] constexpr std::uint32_t inverse(std::uint32_t chunk, std::uint32_t j) const noexcept {
    const std::uint32_t head = first_count * first_size;
    const std::uint32_t size = j < head ? first_size : second_size, base = j < head ? 0 : head;
    const std::uint32_t offset = base + (j - base) / size * size, left = micro_batches - offset;
    return chunks * offset + chunk * (left < size ? left : size) + (j - offset);
  }
};

/// The order of forwards under `groups::list`: as grouped_order, but for any sizes, by binary search in their running
/// totals. O(log groups).
struct listed_order {
  std::uint32_t chunks = 1;
  const std::uint32_t* ends = nullptr;
  std::uint32_t count = 0;

  [[nodiscard]] constexpr order_run at(std::uint32_t k) const noexcept {
    const std::uint32_t g = group_of(k / chunks), offset = g == 0 ? 0 : ends[g - 1], width = ends[g] - offset;
    const std::uint32_t x = k - offset * chunks, chunk = x / width, place = x - chunk * width;
    return {chunk, offset + place, width - place, place};
  }
  [[nodiscard]] constexpr std::uint32_t inverse(std::uint32_t chunk, std::uint32_t j) const noexcept {
    const std::uint32_t g = group_of(j), offset = g == 0 ? 0 : ends[g - 1], width = ends[g] - offset;
    return chunks * offset + chunk * width + (j - offset);
  }

 private:
  /// The first group that ends after j.
  [[nodiscard]] constexpr std::uint32_t group_of(std::uint32_t j) const noexcept {
    std::uint32_t low = 0, high = count - 1;
    while (low < high) {
      const std::uint32_t middle = low + (high - low) / 2;
      if (ends[middle] > j) high = middle;
      else low = middle + 1;
    }
    return low;
  }
};

/// The order of forwards that is optimal in time and memory (docs/least_memory.md). The first group of `head`
/// micro-batches is spread over windows, one per chunk but the last: `wider` of window + 1 steps, then of `window`. The
/// other groups follow in plain order, of which the first fills the holes that the windows leave. Backwards are the
/// same read from the end, with the groups in reverse.
/// Preconditions: head <= window, head + the first size of `rest` > window.
struct spread_order {
  std::uint32_t chunks = 1;
  std::uint32_t window = 1;
  std::uint32_t wider = 0;
  std::uint32_t head = 1;
  grouped_order rest{};  ///< of the micro-batches from `head` on

  /// Precondition: k < chunks · micro-batches. O(1).
  [[nodiscard]] constexpr order_run at(std::uint32_t k) const noexcept {
    const std::uint32_t plain = start(chunks - 1) + head;  // from here on nothing is mixed
    if (k >= plain) return moved(rest.at(k - chunks * head), ~std::uint32_t{0}, k - plain);
    const std::uint32_t wide = wider * (window + 1);
    const std::uint32_t c = k < wide ? k / (window + 1) : wider + (k - wide) / window, x = k - start(c);
    if (x < head) return {c, x, head - x, x};
    return moved(rest.at(k - (c + 1) * head), start(c + 1) - k, x - head);  // holes of this window
  }
  /// The k with at(k) == {chunk, j}. O(1).
  [[nodiscard]] constexpr std::uint32_t inverse(std::uint32_t chunk, std::uint32_t j) const noexcept {
    if (j < head) return start(chunk) + j;
    const std::uint32_t y = rest.inverse(chunk, j - head), holes = window - head, wide = wider * (holes + 1);
    if (y >= wide + (chunks - 1 - wider) * holes) return y + chunks * head;
    const std::uint32_t c = y < wide ? y / (holes + 1) : wider + (y - wide) / holes;
    return y + (c + 1) * head;
  }

 private:
  /// A run of `rest`, of which no more than `length` and `before` stand next to each other here.
  [[nodiscard]] constexpr order_run moved(order_run x, std::uint32_t length, std::uint32_t before) const noexcept {
    x.micro_batch += head;
    if (length < x.length) x.length = length;
    if (before < x.before) x.before = before;
    return x;
  }
  /// Where the window of a chunk begins.
  [[nodiscard]] constexpr std::uint32_t start(std::uint32_t chunk) const noexcept {
    return chunk * window + (chunk < wider ? chunk : wider);
  }
};

}  // namespace hocket::inline HOCKET_ABI::pipeline::detail
