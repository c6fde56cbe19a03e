// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/timeline/timeline.hpp>

#include <algorithm>
#include <cstdint>
#include <memory_resource>
#include <string_view>
#include <vector>

namespace hocket::inline HOCKET_ABI::detail {

/// What bars of an activity show before the micro-batch; empty where the colour says enough.
[[nodiscard]] constexpr std::string_view bar_text(activity kind) noexcept {
  constexpr std::string_view texts[activity_count] = {"F", "B", "I", "W", "", "C", "O", "", "", "R"};
  return texts[static_cast<std::size_t>(kind)];
}

/// The spans of a timeline ordered by lane and start, each with the row of its lane in which it can be drawn without
/// covering another: spans that overlap get rows of their own.
struct span_rows {
  struct placed {
    timeline::span span;
    std::uint32_t row = 0;
    std::uint32_t added = 0;  ///< its place among the timeline's spans
  };
  std::pmr::vector<placed> spans;             ///< by lane, start, finish, then as added
  std::pmr::vector<std::size_t> first;        ///< spans of lane l are [first[l], first[l + 1])
  std::pmr::vector<std::uint32_t> row_count;  ///< rows of each lane, at least 1
};

/// O(s log s + s r) for s spans on r rows.
[[nodiscard]] inline span_rows rows_of(const timeline& t,
                                       std::pmr::memory_resource* memory = std::pmr::get_default_resource()) {
  span_rows rows{std::pmr::vector<span_rows::placed>(memory), std::pmr::vector<std::size_t>(memory),
                 std::pmr::vector<std::uint32_t>(memory)};
  rows.spans.reserve(t.spans().size());
  for (const auto& s : t.spans()) rows.spans.push_back({s, 0, static_cast<std::uint32_t>(rows.spans.size())});
  std::sort(rows.spans.begin(), rows.spans.end(), [](const auto& a, const auto& b) {
    if (a.span.lane != b.span.lane) return a.span.lane < b.span.lane;
    if (a.span.start != b.span.start) return a.span.start < b.span.start;
    if (a.span.finish != b.span.finish) return a.span.finish < b.span.finish;
    return a.added < b.added;
  });
  rows.first.assign(t.lane_count() + 1, rows.spans.size());
  rows.row_count.assign(t.lane_count(), 1);
  std::pmr::vector<ticks> free_from(memory);
  for (std::size_t i = 0, lane = 0; lane < t.lane_count(); ++lane) {
    rows.first[lane] = i;
    free_from.clear();
    for (; i < rows.spans.size() && rows.spans[i].span.lane == lane; ++i) {
      auto& [s, row, added] = rows.spans[i];
      while (row < free_from.size() && free_from[row] > s.start) ++row;
      if (row == free_from.size()) free_from.push_back(0);
      free_from[row] = s.finish;
    }
    if (!free_from.empty()) rows.row_count[lane] = static_cast<std::uint32_t>(free_from.size());
  }
  return rows;
}

/// One step of a lane's quantity: from `at` on it is `value`.
struct level {
  ticks at = 0;
  std::int64_t value = 0;
};

/// The quantity of every lane over time, by lane. What is let go at a moment goes before what is taken at it.
/// O(c log c) for c changes.
[[nodiscard]] inline std::pmr::vector<std::pmr::vector<level>> levels_of(
    const timeline& t, std::pmr::memory_resource* memory = std::pmr::get_default_resource()) {
  std::pmr::vector<timeline::change> changes(t.changes().begin(), t.changes().end(), memory);
  std::sort(changes.begin(), changes.end(), [](const auto& a, const auto& b) {
    if (a.lane != b.lane) return a.lane < b.lane;
    return a.at != b.at ? a.at < b.at : a.by < b.by;
  });
  std::pmr::vector<std::pmr::vector<level>> lanes(t.lane_count(), memory);
  for (const auto& c : changes) {
    auto& levels = lanes[c.lane];
    const std::int64_t value = (levels.empty() ? 0 : levels.back().value) + c.by;
    if (!levels.empty() && levels.back().at == c.at) levels.back().value = value;
    else levels.push_back({c.at, value});
  }
  return lanes;
}

}  // namespace hocket::inline HOCKET_ABI::detail
