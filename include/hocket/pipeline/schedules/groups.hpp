// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/borrowed.hpp>
#include <hocket/core/result.hpp>
#include <hocket/core/ticks.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <type_traits>
#include <vector>

namespace hocket::inline HOCKET_ABI::pipeline {

/// The sizes of groups of micro-batches, for groups::list. Owns what a schedule looks up: where each group ends.
///
///     const hocket::pipeline::group_sizes sizes{3, 4, 2};       // 9 micro-batches
///     const auto plan = hocket::pipeline::interleaved::make({3, 2, 9}, hocket::pipeline::groups::list(sizes));
class group_sizes {
 public:
  group_sizes() = default;
  group_sizes(std::initializer_list<std::uint32_t> sizes)
      : group_sizes(std::span<const std::uint32_t>(sizes.begin(), sizes.size())) {}
  explicit group_sizes(std::span<const std::uint32_t> sizes) {
    ends_.reserve(sizes.size());
    std::uint32_t end = 0;
    for (const std::uint32_t size : sizes) {
      end = size > no_such_end - end ? no_such_end : end + size;
      ends_.push_back(end);
    }
  }
  /// How many groups.
  [[nodiscard]] constexpr std::size_t size() const noexcept { return ends_.size(); }
  /// The micro-batches of all groups up to each: {3, 7, 9}.
  [[nodiscard]] constexpr std::span<const std::uint32_t> running_totals() const& noexcept { return ends_; }
  void running_totals() const&& = delete;

 private:
  static constexpr std::uint32_t no_such_end = 0xffff'ffff;  // more micro-batches than any shape has
  std::vector<std::uint32_t> ends_;
};

/// How the m micro-batches of an interleaved schedule are cut into groups. A rank runs a group through its first chunk,
/// then through its second, and so on, before it turns to the next group. If p divides m every rule but `list` means
/// groups of p; otherwise they differ in memory and in how much latency they hide (docs/pipeline.md has the table).
/// All but `paper` and some lists reach the least makespan for every m >= 1.
class groups {
 public:
  enum class rule : std::uint8_t { balanced, last, first, paper, least_memory, capped, list };

  /// ⌊m/p⌋ groups as equal as possible. The default: least memory among rules with groups of at least p, so it also
  /// hides latency. Contains what PyTorch allows (⌊m/p⌋ divides m).
  [[nodiscard]] static constexpr groups balanced() noexcept { return groups(rule::balanced); }
  /// Groups of p, the last takes the remainder too: p + m mod p.
  [[nodiscard]] static constexpr groups last() noexcept { return groups(rule::last); }
  /// Groups of p, the first takes the remainder too: what Paddle's dynamic engine does.
  [[nodiscard]] static constexpr groups first() noexcept { return groups(rule::first); }
  /// Groups of p and a small last one of m mod p, as in the Megatron-LM paper's order. It idles, and for most
  /// remainders it deadlocks: see outlook_of. For comparison with systems that emit it.
  [[nodiscard]] static constexpr groups paper() noexcept { return groups(rule::paper); }
  /// The least makespan with the least memory on every rank, v·p - rank activations for m >= p, both proved optimal
  /// for chunks that take f and b ticks. Built for one ratio f : b and run at another it is a few per cent longer but
  /// never deadlocks. It hides less latency. Preconditions: f, b > 0.
  [[nodiscard]] static constexpr groups least_memory(ticks f = 1, ticks b = 1) noexcept {
    groups g(rule::least_memory);
    g.forward_ = f;
    g.backward_ = b;
    return g;
  }
  /// The least makespan that is possible with at most `activations` held on rank 0 (one less on each rank below), for
  /// chunks that take f and b ticks: each activation less than v·p costs one beat of f + b. From v·p on it is
  /// least_memory. Where m cannot be cut for so low a cap, make() says the lowest that it can be cut for.
  /// Preconditions: f, b > 0.
  [[nodiscard]] static constexpr groups capped(std::int64_t activations, ticks f = 1, ticks b = 1) noexcept {
    groups g = least_memory(f, b);
    g.rule_ = rule::capped;
    g.cap_ = activations;
    return g;
  }
  /// Any sizes. Borrowed: they must be named, and outlive the schedule and its views.
  [[nodiscard]] static constexpr groups list(const group_sizes& sizes) noexcept {
    groups g(rule::list);
    g.ends_ = sizes.running_totals();
    return g;
  }
  static groups list(const group_sizes&& sizes) = delete;
  template <class Sizes>
  static groups list(const Sizes&) {
    static_assert(!std::is_object_v<Sizes>,
                  "hocket: groups::list borrows a group_sizes. Write: const group_sizes sizes(your_list); "
                  "and then groups::list(sizes)");
    return balanced();
  }

  [[nodiscard]] constexpr rule kind() const noexcept { return rule_; }
  [[nodiscard]] constexpr ticks forward() const noexcept { return forward_; }
  [[nodiscard]] constexpr ticks backward() const noexcept { return backward_; }
  [[nodiscard]] constexpr std::int64_t cap() const noexcept { return cap_; }
  [[nodiscard]] constexpr std::span<const std::uint32_t> running_totals() const noexcept { return ends_; }

 private:
  constexpr explicit groups(rule r) noexcept : rule_(r) {}
  rule rule_;
  ticks forward_ = 1;
  ticks backward_ = 1;
  std::int64_t cap_ = 0;
  borrowed<std::uint32_t> ends_{};
};

}  // namespace hocket::inline HOCKET_ABI::pipeline
