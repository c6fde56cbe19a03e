// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/ids.hpp>
#include <hocket/core/result.hpp>
#include <hocket/core/time.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace hocket::inline HOCKET_ABI {

/// What a bar of a timeline stands for: it decides the colour, and whether the time counts as computing.
enum class activity : std::uint8_t {
  forward,
  backward,
  input_grad,
  weight_grad,
  compute,
  communication,
  optimizer,
  wait,
  other,
  recompute  ///< a forward again, for its backward
};
inline constexpr std::size_t activity_count = 10;
[[nodiscard]] constexpr std::string_view to_string(activity kind) noexcept {
  constexpr std::string_view names[activity_count] = {"forward", "backward",      "input gradient", "weight gradient",
                                                      "compute", "communication", "optimizer",      "wait",
                                                      "other",   "recompute"};
  return names[static_cast<std::size_t>(kind)];
}

/// Spans on lanes: the one form in which simulated, predicted and measured runs are compared, analysed and drawn.
/// A lane is a rank, a stream or a thread; a span is one piece of work on it. Spans may be added in any order. Times
/// are ticks, and the timeline says how long one is. Names and labels are copied. Allocates from the given memory
/// resource; const members are safe for concurrent readers.
///
///     lane 0 "rank 0"   |F0 |F1 |     |B0     |        span: [start, finish) of a lane, with a kind
///     lane 1 "rank 1"       |F0 |B0     |F1 |          change: +1 at a moment of a lane
///                                     ^ "lower bound"  mark: a moment of all lanes
///
/// | invariant | kept by |
/// |---|---|
/// | every span and change is on a lane that exists | add, add_change |
/// | no span finishes before it starts | add |
/// | ticks_per_second >= 1 | whoever sets it |
///
///     hocket::timeline t;
///     auto gpu = t.add_lane("rank 0");
///     t.add({.start = 0, .finish = 5, .lane = gpu, .kind = hocket::activity::forward, .micro_batch = 3});
///     t.makespan() == 5;
class timeline {
 public:
  struct span {
    ticks start = 0;
    ticks finish = 0;  ///< exclusive; finish >= start
    std::uint32_t lane = 0;
    activity kind = activity::compute;
    bool exposed = false;           ///< communication that no computing hides: drawn hatched
    std::uint16_t chunk = 0;        ///< shade within a kind: model chunk, stream, phase
    std::uint32_t id = 0;           ///< what the host calls the work: op, stage, tile
    std::int32_t micro_batch = -1;  ///< number printed in the bar; -1: none
    friend constexpr bool operator==(const span&, const span&) = default;
  };

  /// A quantity of a lane, such as activations or bytes held, changes at a moment. It starts at 0.
  struct change {
    ticks at = 0;
    std::uint32_t lane = 0;
    std::int64_t by = 0;
    friend constexpr bool operator==(const change&, const change&) = default;
  };
  /// A moment worth a line across all lanes, such as a lower bound.
  struct mark {
    ticks at = 0;
    std::pmr::string label;
  };

  explicit timeline(std::pmr::memory_resource* memory = std::pmr::get_default_resource())
      : lanes_(memory), spans_(memory), changes_(memory), marks_(memory) {}

  /// Ticks in one second; exporters turn ticks into microseconds with it. Default 10^6: a tick is a microsecond.
  std::int64_t ticks_per_second = 1'000'000;
  /// A duration in this timeline's ticks, and back. A whole number of periods is rounded towards zero, a floating one
  /// to the nearest tick.
  template <class Rep, class Period>
  [[nodiscard]] constexpr ticks to_ticks(std::chrono::duration<Rep, Period> t) const noexcept {
    if constexpr (std::is_floating_point_v<Rep>) {
      const double in_ticks = static_cast<double>(t.count()) * static_cast<double>(ticks_per_second) *
                              static_cast<double>(Period::num) / static_cast<double>(Period::den);
      return static_cast<ticks>(in_ticks < 0 ? in_ticks - 0.5 : in_ticks + 0.5);
    } else {
      const auto periods = static_cast<ticks>(t.count());
      const ticks whole = periods / Period::den, rest = periods % Period::den;
      return (whole * ticks_per_second + rest * ticks_per_second / Period::den) * Period::num;
    }
  }
  [[nodiscard]] constexpr seconds to_seconds(ticks t) const noexcept {
    return seconds(static_cast<double>(t) / static_cast<double>(ticks_per_second));
  }

  /// Adds a lane and returns its number, counted from 0.
  std::uint32_t add_lane(std::string_view name) {
    lanes_.emplace_back(name);
    return static_cast<std::uint32_t>(lanes_.size() - 1);
  }
  /// Adds a span. Preconditions: its lane exists; finish >= start.
  void add(const span& s) {
    HOCKET_ASSERT(s.lane < lanes_.size() && s.finish >= s.start);
    spans_.push_back(s);
  }

  /// Adds a change of the lane's quantity; changes may come in any order. Precondition: its lane exists.
  void add_change(const change& c) {
    HOCKET_ASSERT(c.lane < lanes_.size());
    changes_.push_back(c);
  }
  /// Adds a line across all lanes.
  void add_mark(ticks at, std::string_view label) {
    marks_.push_back({at, std::pmr::string(label, marks_.get_allocator().resource())});
  }
  /// Adds the lanes of `other` below these, with all they carry, and its marks. `shift` ticks are added to every time.
  /// Precondition: its ticks are as long as these. Changes nothing if memory runs out.
  void append(const timeline& other, ticks shift = 0) {
    HOCKET_ASSERT(&other != this && other.ticks_per_second == ticks_per_second);
    const auto first = static_cast<std::uint32_t>(lanes_.size());
    taking_back undo{*this, lanes_.size(), spans_.size(), changes_.size(), marks_.size()};
    for (const auto& name : other.lanes_) lanes_.emplace_back(name);
    for (span s : other.spans_) {
      s.start += shift;
      s.finish += shift;
      s.lane += first;
      spans_.push_back(s);
    }
    for (change c : other.changes_) {
      c.at += shift;
      c.lane += first;
      changes_.push_back(c);
    }
    for (const mark& m : other.marks_) add_mark(m.at + shift, m.label);
    undo.armed = false;
  }

  [[nodiscard]] std::size_t lane_count() const noexcept { return lanes_.size(); }
  [[nodiscard]] std::string_view lane_name(std::uint32_t lane) const& { return lanes_[lane]; }
  std::string_view lane_name(std::uint32_t lane) const&& = delete;  // views of a timeline do not outlive it
  [[nodiscard]] std::span<const span> spans() const& noexcept { return spans_; }
  std::span<const span> spans() const&& = delete;
  [[nodiscard]] std::span<const change> changes() const& noexcept { return changes_; }
  std::span<const change> changes() const&& = delete;
  [[nodiscard]] std::span<const mark> marks() const& noexcept { return marks_; }
  std::span<const mark> marks() const&& = delete;
  void reserve(std::size_t spans) { spans_.reserve(spans); }
  void clear() noexcept {
    lanes_.clear();
    spans_.clear();
    changes_.clear();
    marks_.clear();
  }
  /// The table of invariants above, for tests. O(spans + changes).
  [[nodiscard]] bool check_invariants() const noexcept {
    bool sound = ticks_per_second >= 1;
    for (const span& s : spans_) sound = sound && s.lane < lanes_.size() && s.finish >= s.start;
    for (const change& c : changes_) sound = sound && c.lane < lanes_.size();
    return sound;
  }

  /// First start to last finish, in ticks; 0 if empty. O(spans).
  [[nodiscard]] ticks makespan() const noexcept { return spans_.empty() ? 0 : end() - begin(); }
  /// The earliest start, 0 if empty. O(spans).
  [[nodiscard]] ticks begin() const noexcept {
    ticks t = spans_.empty() ? 0 : spans_.front().start;
    for (const span& s : spans_) t = s.start < t ? s.start : t;
    return t;
  }
  /// The latest finish, 0 if empty. O(spans).
  [[nodiscard]] ticks end() const noexcept {
    ticks t = spans_.empty() ? 0 : spans_.front().finish;
    for (const span& s : spans_) t = s.finish > t ? s.finish : t;
    return t;
  }

 private:
  // Cuts back to the sizes noted, unless all went well.
  struct taking_back {
    timeline& t;
    std::size_t lanes, spans, changes, marks;
    bool armed = true;
    ~taking_back() {
      if (!armed) return;
      const auto cut = [](auto& all, std::size_t size) {
        all.erase(all.begin() + static_cast<std::ptrdiff_t>(size), all.end());
      };
      cut(t.lanes_, lanes);
      cut(t.spans_, spans);
      cut(t.changes_, changes);
      cut(t.marks_, marks);
    }
  };
  std::pmr::vector<std::pmr::string> lanes_;
  std::pmr::vector<span> spans_;
  std::pmr::vector<change> changes_;
  std::pmr::vector<mark> marks_;
};

}  // namespace hocket::inline HOCKET_ABI
