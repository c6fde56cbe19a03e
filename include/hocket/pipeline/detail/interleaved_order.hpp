// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/config.hpp>

#include <cstdint>

namespace hocket::inline HOCKET_ABI::pipeline {

/// A chunk of the model and a micro-batch.
struct chunk_batch {
  std::uint32_t chunk = 0;
  std::uint32_t micro_batch = 0;
  friend constexpr bool operator==(const chunk_batch&, const chunk_batch&) = default;
};

namespace detail {

/// Division by a number d that is known early: x / d == divided(x, division_factor(d)) for all 32-bit x and d.
/// With M = floor((2^64 - 1) / d), (x + 1) M / 2^64 lies below (x + 1) / d by less than 1 / d and more than nothing.
[[nodiscard]] constexpr std::uint64_t division_factor(std::uint32_t d) noexcept { return ~std::uint64_t{0} / d; }
[[nodiscard]] constexpr std::uint32_t divided(std::uint32_t x, std::uint64_t factor) noexcept {
  __extension__ using wide = unsigned __int128;
  return static_cast<std::uint32_t>(static_cast<wide>(std::uint64_t{x} + 1) * factor >> 64);
}

/// The same for x < 2^27 and d <= 64, by a shorter multiplication: x (2^34 / d + 1) errs by less than 2^34 / d.
[[nodiscard]] constexpr std::uint64_t chunks_factor(std::uint32_t d) noexcept {
  return (std::uint64_t{1} << 34) / d + 1;
}
[[nodiscard]] constexpr std::uint32_t divided_by_chunks(std::uint32_t x, std::uint64_t factor) noexcept {
  return static_cast<std::uint32_t>(x * factor >> 34);
}

}  // namespace detail

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
  [[nodiscard]] constexpr chunk_batch at(std::uint32_t k) const noexcept {
    const std::uint32_t head = first_count * first_size;
    const bool early = k < head * chunks;
    const std::uint32_t size = early ? first_size : second_size, base = early ? 0 : head;
    const std::uint32_t y = k - base * chunks, group = y / (size * chunks), x = y - group * size * chunks;
    const std::uint32_t offset = base + group * size, left = micro_batches - offset, width = left < size ? left : size;
    return {x / width, offset + x % width};
  }
  /// Micro-batches that stand next to position k in their group: at k and after it, or at k and before it.
  [[nodiscard]] constexpr std::uint32_t stretch(std::uint32_t k, bool after) const noexcept {
    const std::uint32_t head = first_count * first_size, j = at(k).micro_batch;
    const std::uint32_t size = j < head ? first_size : second_size, base = j < head ? 0 : head;
    const std::uint32_t offset = base + (j - base) / size * size, left = micro_batches - offset;
    return after ? offset + (left < size ? left : size) - j : j - offset + 1;
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

  [[nodiscard]] constexpr chunk_batch at(std::uint32_t k) const noexcept {
    const std::uint32_t g = group_of(k / chunks), offset = g == 0 ? 0 : ends[g - 1], width = ends[g] - offset;
    const std::uint32_t x = k - offset * chunks;
    return {x / width, offset + x % width};
  }
  /// The size of the group that begins with micro-batch j.
  [[nodiscard]] constexpr std::uint32_t size_from(std::uint32_t j) const noexcept { return ends[group_of(j)] - j; }
  /// The number of the group that holds position k.
  [[nodiscard]] constexpr std::uint32_t group_at(std::uint32_t k) const noexcept { return group_of(k / chunks); }
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
  [[nodiscard]] constexpr chunk_batch at(std::uint32_t k) const noexcept {
    std::uint32_t y = k - chunks * head;
    if (k < start(chunks - 1) + head) {
      const std::uint32_t wide = wider * (window + 1);
      const std::uint32_t c = k < wide ? k / (window + 1) : wider + (k - wide) / window, x = k - start(c);
      if (x < head) return {c, x};
      y = k - (c + 1) * head;
    }
    const chunk_batch z = rest.at(y);
    return {z.chunk, head + z.micro_batch};
  }
  /// As grouped_order::stretch.
  [[nodiscard]] constexpr std::uint32_t stretch(std::uint32_t k, bool after) const noexcept {
    const std::uint32_t plain = start(chunks - 1) + head;  // from here on nothing is mixed
    if (k >= plain) {
      const std::uint32_t inside = rest.stretch(k - chunks * head, after);
      return after || inside < k - plain + 1 ? inside : k - plain + 1;
    }
    const std::uint32_t wide = wider * (window + 1);
    const std::uint32_t c = k < wide ? k / (window + 1) : wider + (k - wide) / window, x = k - start(c);
    if (x < head) return after ? head - x : x + 1;
    const std::uint32_t inside = rest.stretch(k - (c + 1) * head, after);
    const std::uint32_t holes = after ? start(c + 1) - k : x - head + 1;  // of this window
    return inside < holes ? inside : holes;
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
  /// Where the window of a chunk begins.
  [[nodiscard]] constexpr std::uint32_t start(std::uint32_t chunk) const noexcept {
    return chunk * window + (chunk < wider ? chunk : wider);
  }
};

}  // namespace hocket::inline HOCKET_ABI::pipeline
