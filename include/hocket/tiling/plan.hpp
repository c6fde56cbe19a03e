// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/fingerprint.hpp>
#include <hocket/core/result.hpp>
#include <hocket/core/time.hpp>
#include <hocket/tiling/problem.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>

namespace hocket::inline HOCKET_ABI::tiling {

/// Who decides; the words in brackets are those of `to_string` and of the tool. "The document" is the case of MC2
/// operators in Huawei's CANN, Ascend C best practices; docs/tiling.md goes through its rule step by step.
enum class policy : std::uint8_t {
  automatic,       ///< [auto] never worse than any other but exact whose tiles the problem allows
  documented,      ///< [documented] the document's rule, with the largest of its three short tiles, as in its example
  documented_min,  ///< [documented-min] the document's rule to the letter: the smallest of the three
  one_plus_n,      ///< [one-plus-n] the best of one tile and n equal ones, in either order
  lot_streaming,   ///< [lot] growing or shrinking tiles
  exact,           ///< [exact] the optimum, proved
  uniform,         ///< [uniform] the best number of tiles that are equal, up to one unit
  none,            ///< [none] not cut
  pinned,          ///< [pinned] lengths that depend on k and n alone
};
inline constexpr std::size_t policy_count = 9;
[[nodiscard]] constexpr std::string_view to_string(policy p) noexcept {
  constexpr std::string_view names[policy_count] = {"auto",  "documented", "documented-min", "one-plus-n", "lot",
                                                    "exact", "uniform",    "none",           "pinned"};
  return names[static_cast<std::size_t>(p)];
}
[[nodiscard]] constexpr std::optional<policy> parse_policy(std::string_view text) noexcept {
  for (std::size_t i = 0; i < policy_count; ++i)
    if (text == to_string(static_cast<policy>(i))) return static_cast<policy>(i);
  return std::nullopt;
}

/// How much `policy::exact` may do before it gives up: counts and not seconds, so that every rank gives up alike.
struct exact_options {
  std::int64_t units = 4096;                    ///< rows / align
  std::int64_t states = std::int64_t{1} << 21;  ///< states kept, 8 bytes each and 8 a phase
  std::int64_t steps = std::int64_t{1} << 29;   ///< tiles tried behind a state, and states compared; seconds
};

/// What a caller may want to know about how a plan came about; combined in a flag_set.
enum class flag : std::uint32_t {
  uncut = 1u << 0,           ///< one tile
  optimal = 2,               ///< no tiling of this problem is faster, under its own costs
  extrapolated = 4,          ///< a tile lies outside of the sizes a cost curve is good for
  max_tiles_exceeded = 8,    ///< more tiles than the problem allows (documented rule only: it knows no cap)
  short_covers_all = 16,     ///< documented rule: the short tile would be the whole axis
  long_tile_raised = 32,     ///< documented rule: balancing gave less than one aligned tile, one was taken
  single_long_tile = 64,     ///< documented rule: not even one long tile fitted, the rest became it
  long_tile_vanished = 128,  ///< documented rule: the rest is shorter than one aligned tile
  short_is_longest = 256,    ///< documented rule: after rounding, the "short" tile is the longest
};
inline constexpr std::size_t flag_count = 9;
[[nodiscard]] constexpr std::string_view to_string(flag f) noexcept {
  constexpr std::string_view names[flag_count] = {"uncut",
                                                  "optimal",
                                                  "extrapolated",
                                                  "max_tiles_exceeded",
                                                  "short_covers_all",
                                                  "long_tile_raised",
                                                  "single_long_tile",
                                                  "long_tile_vanished",
                                                  "short_is_longest"};
  return names[std::countr_zero(static_cast<std::uint32_t>(f))];
}
class flag_set {
 public:
  constexpr flag_set& set(flag f, bool on = true) noexcept {
    if (on) bits_ |= static_cast<std::uint32_t>(f);
    return *this;
  }
  [[nodiscard]] constexpr bool has(flag f) const noexcept { return (bits_ & static_cast<std::uint32_t>(f)) != 0; }
  [[nodiscard]] constexpr std::uint32_t bits() const noexcept { return bits_; }
  friend constexpr bool operator==(flag_set, flag_set) = default;

 private:
  std::uint32_t bits_ = 0;
};

/// Where a lower bound comes from.
enum class bound_kind : std::uint8_t {
  none,      ///< no bound was found: lower_bound is 0
  envelope,  ///< each phase is busy at least as long as the convex envelope of its costs says
  proved,    ///< a search that saw every tiling: the bound is the makespan
};

[[nodiscard]] constexpr std::string_view to_string(bound_kind b) noexcept {
  constexpr std::string_view names[] = {"none", "envelope", "proved"};
  return names[static_cast<std::size_t>(b)];
}

/// The form that fused operators take: `tile_count` tiles of `tile_rows`, then `tail_count` tiles of `tail_rows`.
/// In the operators' own words tileM, tileNum, tailM, tailNum.
struct two_runs {
  std::int64_t tile_rows = 0, tile_count = 0, tail_rows = 0, tail_count = 0;
  friend constexpr bool operator==(const two_runs&, const two_runs&) = default;
};

/// How an operator is cut. A value without allocation, the same on every rank for the same problem.
class plan {
 public:
  picoseconds predicted{0};    ///< makespan under the problem's costs
  picoseconds serial{0};       ///< time without cutting
  picoseconds lower_bound{0};  ///< no tiling takes less; 0 if no bound was found
  policy decided_by = policy::none;
  bound_kind bound = bound_kind::none;
  flag_set flags;

  /// Lengths in rows, in execution order.
  [[nodiscard]] constexpr std::span<const std::int64_t> tiles() const& noexcept { return {tiles_.data(), count_}; }
  std::span<const std::int64_t> tiles() const&& = delete;  // it would outlive the plan

  /// (predicted - lower_bound) / lower_bound: how far from the optimum this can be at most; infinity without a bound.
  [[nodiscard]] constexpr double gap() const noexcept {
    if (lower_bound.count() <= 0) return predicted.count() == 0 ? 0 : std::numeric_limits<double>::infinity();
    return static_cast<double>((predicted - lower_bound).count()) / static_cast<double>(lower_bound.count());
  }
  /// As at most two runs of equal tiles, or errc::invalid_argument (with the number of runs) if there are more.
  /// O(tiles).
  [[nodiscard]] constexpr result<two_runs> as_two_runs() const noexcept {
    std::int64_t runs = 0;
    two_runs r;
    for (std::size_t i = 0; i < count_; ++i) {
      if (i == 0 || tiles_[i] != tiles_[i - 1]) ++runs;
      if (runs > 2) continue;
      (runs == 1 ? r.tile_rows : r.tail_rows) = tiles_[i];
      ++(runs == 1 ? r.tile_count : r.tail_count);
    }
    if (runs > 2) return error{errc::invalid_argument, runs}.with("number of runs of equal tiles");
    return r;
  }
  /// A digest of the lengths, by which ranks compare plans. O(tiles).
  [[nodiscard]] constexpr std::uint64_t fingerprint() const noexcept {
    hocket::fingerprint f;
    for (const std::int64_t rows : tiles()) f.add(static_cast<std::uint64_t>(rows));
    return f.value();
  }

  /// Precondition: room for one more.
  constexpr void append(std::int64_t rows) noexcept {
    HOCKET_ASSERT(count_ < tile_capacity);
    tiles_[count_++] = rows;
  }
  constexpr void assign(std::span<const std::int64_t> tiles) noexcept {
    HOCKET_ASSERT(tiles.size() <= tile_capacity);
    count_ = 0;
    for (const std::int64_t rows : tiles) tiles_[count_++] = rows;
  }

 private:
  std::array<std::int64_t, tile_capacity> tiles_{};
  std::size_t count_ = 0;
};

}  // namespace hocket::inline HOCKET_ABI::tiling
