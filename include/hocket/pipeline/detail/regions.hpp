// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/config.hpp>
#include <hocket/pipeline/action.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace hocket::inline HOCKET_ABI::pipeline::detail {

/// Actions of one kind and chunk that follow each other in an order: `length` of them, each `stride` in bits after the
/// one before (1 for the next micro-batch).
template <class Action>
struct action_run {
  using bits_type = decltype(Action().bits());
  Action first;
  bits_type stride = 1;
  std::uint32_t length = 0;
};

/// Writes out[from], out[from + lanes], … up to the end. @param next_run  the run from the index-th action of a lane on
template <class Action, class NextRun>
constexpr void write_lane(std::span<Action> out, std::size_t from, std::size_t lanes, std::uint32_t index,
                          const NextRun& next_run) noexcept {
  while (from < out.size()) {
    const action_run<Action> run = next_run(index);
    auto bits = run.first.bits();
    const std::size_t places = (out.size() - from + lanes - 1) / lanes;
    const std::uint32_t count = run.length < places ? run.length : static_cast<std::uint32_t>(places);
    for (std::uint32_t k = 0; k < count; ++k) {
      out[from] = Action::from_bits(bits);
      from += lanes;
      bits += run.stride;
    }
    index += count;
  }
}

/// Part of a list in which some lanes take turns. A lane is the forwards, the backwards, … in their order, from
/// `index` on.
struct region {
  static constexpr std::uint32_t max_lanes = 3;
  std::uint32_t steps = 0;
  std::uint32_t lanes = 1;
  action_kind kinds[max_lanes] = {};
  std::uint32_t index[max_lanes] = {};
};

/// A list as a few regions, one after another.
///
///     F0 F1 | B0 F2 B1 F3 | B2 B3         1 lane, 2 lanes, 1 lane
///
/// | invariant                                     |
/// |-----------------------------------------------|
/// | every region has steps, and 1 to 3 lanes      |
/// | size() is the sum of the regions' steps       |
class region_list {
 public:
  /// Appends a region, unless it is empty.
  constexpr void add(const region& r) noexcept {
    if (r.steps == 0) return;
    HOCKET_ASSERT(count_ < max_regions);
    regions_[count_] = r;
    ++count_;
    size_ += r.steps;
  }
  [[nodiscard]] constexpr std::uint32_t size() const noexcept { return size_; }

  /// What stands at a step: the index-th action of a kind.
  struct place {
    action_kind kind;
    std::uint32_t index;
  };
  /// Precondition: step < size(). O(1).
  [[nodiscard]] constexpr place at(std::uint32_t step) const noexcept {
    HOCKET_ASSERT(step < size_);
    const region* x = regions_;
    for (; step >= x->steps; ++x) step -= x->steps;
    const std::uint32_t lane = step % x->lanes;
    return {x->kinds[lane], x->index[lane] + step / x->lanes};
  }

  /// Writes the steps from `first` on, as many as fit and are left; returns how many.
  /// @param run_from  action_run of run_from(kind, index): the index-th action of a kind, and those that follow it
  template <class Action, class RunFrom>
  constexpr std::size_t fill(std::span<Action> out, std::uint32_t first, const RunFrom& run_from) const noexcept {
    std::size_t done = 0;
    for (std::uint32_t i = 0; i < count_ && done < out.size(); ++i) {
      const region& x = regions_[i];
      if (first >= x.steps) {
        first -= x.steps;
        continue;
      }
      const std::size_t left = x.steps - first, room = out.size() - done, count = left < room ? left : room;
      for (std::uint32_t turn = 0; turn < x.lanes && turn < count; ++turn) {
        const std::uint32_t step = first + turn, lane = step % x.lanes;
        write_lane(out.subspan(done, count), turn, x.lanes, x.index[lane] + step / x.lanes,
                   [&](std::uint32_t index) { return run_from(x.kinds[lane], index); });
      }
      done += count;
      first = 0;
    }
    return done;
  }

  /// Whether the table above holds; for tests.
  [[nodiscard]] constexpr bool check_invariants() const noexcept {
    std::uint32_t total = 0;
    for (std::uint32_t i = 0; i < count_; ++i) {
      if (regions_[i].steps == 0 || regions_[i].lanes < 1 || regions_[i].lanes > region::max_lanes) return false;
      total += regions_[i].steps;
    }
    return total == size_;
  }

 private:
  static constexpr std::uint32_t max_regions = 5;
  region regions_[max_regions];
  std::uint32_t count_ = 0;
  std::uint32_t size_ = 0;
};

}  // namespace hocket::inline HOCKET_ABI::pipeline::detail
