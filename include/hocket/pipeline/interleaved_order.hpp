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

/// The order of forwards that is optimal in time and memory when m > p (docs/pipeline.md, "Least memory"). The first
/// group of `head` micro-batches is spread over windows of p steps, one per chunk, and the second fills the holes; then
/// groups of p, and a last one of `tail`. Backwards are the same read from the end with head and tail exchanged.
struct least_memory_order {
  std::uint32_t ranks = 1;
  std::uint32_t chunks = 1;
  std::uint32_t micro_batches = 2;
  std::uint32_t head = 1;  ///< A
  std::uint32_t tail = 1;  ///< Z, with head + tail = p + the remainder

  [[nodiscard]] constexpr chunk_batch at(std::uint32_t k) const noexcept {
    const std::uint32_t holes = ranks - head, second = second_size();
    if (k < (chunks - 1) * ranks + head) {
      const std::uint32_t c = k / ranks, x = k % ranks;
      if (x < head) return {c, x};
      const std::uint32_t y = c * holes + x - head;
      return {y / second, head + y % second};
    }
    const std::uint32_t y = k - chunks * head, middle = (group_count() - 2) * ranks * chunks;
    if (y < middle) {
      const std::uint32_t t = y / (ranks * chunks), z = y % (ranks * chunks);
      return {z / ranks, head + t * ranks + z % ranks};
    }
    return {(y - middle) / tail, micro_batches - tail + (y - middle) % tail};
  }
  [[nodiscard]] constexpr std::uint32_t inverse(std::uint32_t chunk, std::uint32_t j) const noexcept {
    if (j < head) return chunk * ranks + j;
    const std::uint32_t holes = ranks - head, second = second_size();
    if (j < head + second) {
      const std::uint32_t y = chunk * second + j - head;
      return y < (chunks - 1) * holes ? y / holes * ranks + head + y % holes : y + chunks * head;
    }
    const std::uint32_t last = group_count() - 2, t = (j - head) / ranks < last ? (j - head) / ranks : last;
    const std::uint32_t size = t == last ? tail : ranks, offset = head + t * ranks;
    return chunks * offset + chunk * size + (j - offset);
  }
  /// The order whose reversal the backwards follow.
  [[nodiscard]] constexpr least_memory_order mirrored() const noexcept {
    return {ranks, chunks, micro_batches, tail, head};
  }

 private:
  [[nodiscard]] constexpr std::uint32_t group_count() const noexcept { return (micro_batches + ranks - 1) / ranks; }
  [[nodiscard]] constexpr std::uint32_t second_size() const noexcept { return group_count() == 2 ? tail : ranks; }
};

}  // namespace hocket::inline HOCKET_ABI::pipeline
