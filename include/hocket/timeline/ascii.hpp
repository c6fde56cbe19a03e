// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/core/arithmetic.hpp>
#include <hocket/timeline/detail/rows.hpp>
#include <hocket/timeline/detail/writing.hpp>

#include <cstdint>
#include <string>

namespace hocket::inline HOCKET_ABI {

struct ascii_options {
  std::uint32_t columns = 160;  ///< width of the bars, at least 20
  /// Lines under a lane for what it holds over time, where changes were added; at most 20.
  std::uint32_t curve_rows = 0;
};

namespace detail {

/// The lines under a lane that show its quantity. @param end_of  column -> the time at its end
template <class EndOf>
void put_ascii_curve(std::string& out, const std::pmr::vector<detail::level>& levels, std::int64_t highest,
                     std::uint32_t rows, std::size_t gutter, std::size_t width, const EndOf& end_of) {
  std::int64_t peak = 0;
  for (const detail::level& l : levels) peak = l.value > peak ? l.value : peak;
  if (peak <= 0 || rows == 0) return;
  std::string heights(width, '\0');  // in half lines
  std::size_t next = 0;
  std::int64_t held = 0;
  for (std::size_t x = 0; x < width; ++x) {
    std::int64_t most = held;  // the highest in the column
    for (bool first = true; next < levels.size() && levels[next].at < end_of(x); ++next, first = false) {
      held = levels[next].value;
      most = first && levels[next].at <= (x == 0 ? levels[next].at : end_of(x - 1)) ? held : held > most ? held : most;
    }
    if (most > 0)
      heights[x] = static_cast<char>(static_cast<double>(most) / static_cast<double>(highest) * 2 * rows + 0.999);
  }
  for (std::uint32_t row = rows; row-- > 0;) {
    std::string line(gutter, ' ');
    for (const char height : heights) {
      const auto h = static_cast<std::uint32_t>(static_cast<unsigned char>(height));
      line += h >= 2 * row + 2 ? '#' : h == 2 * row + 1 ? ':' : ' ';
    }
    if (row == 0) put_all(line, "  holds at most ", peak);
    while (!line.empty() && line.back() == ' ') line.pop_back();
    out += line += '\n';
  }
}

}  // namespace detail

/// The timeline as text, a line per lane. Where there is room every bar shows its kind and micro-batch (F3, B3;
/// odd chunks in lower case) to scale; else every column shows the bar that fills most of it. '.' is idle.
/// Complexity: O(s log s + lanes · columns).
///
///     rank 0  F0 F1 F2 .  .  .  B0 B1 B2
///     rank 1  .  F0 B0 F1 B1 F2 B2 .  .
///
/// With curve_rows, '#' is what a lane holds, on one scale for all lanes; ':' half a line of it:
///
///     rank 0  F0 F1 B0---F2 B1---
///             :::##########::::::  holds at most 2
[[nodiscard]] inline std::string to_ascii(const timeline& t, const ascii_options& options = {}) {
  const std::uint32_t columns = options.columns < 20 ? 20 : options.columns;
  const detail::span_rows rows = detail::rows_of(t);
  const ticks begin = t.begin(), length = t.makespan();
  std::size_t gutter = 0;
  for (std::uint32_t lane = 0; lane < t.lane_count(); ++lane)
    gutter = t.lane_name(lane).size() > gutter ? t.lane_name(lane).size() : gutter;
  gutter = gutter < 40 ? gutter : 40;

  const auto label_of = [](const timeline::span& s) {
    std::string label(detail::bar_text(s.kind).empty() ? to_string(s.kind).substr(0, 1) : detail::bar_text(s.kind));
    if (s.chunk % 2 != 0)
      for (char& c : label) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    if (s.micro_batch >= 0) detail::put(label, s.micro_batch);
    return label;
  };
  // Columns per tick such that every label and a space fit into its bar.
  ticks per_tick = 1;
  for (const auto& p : rows.spans) {
    const ticks width = p.span.finish - p.span.start;
    if (width > 0) {
      const ticks wanted = ceil_div(static_cast<ticks>(label_of(p.span).size()) + 1, width);
      per_tick = wanted > per_tick ? wanted : per_tick;
    }
  }
  const bool to_scale = length > 0 && length <= columns / per_tick;
  const auto width = static_cast<std::size_t>(to_scale ? length * per_tick : columns);
  const std::uint32_t curve_rows = options.curve_rows < 20 ? options.curve_rows : 20;
  const auto levels = curve_rows > 0 ? detail::levels_of(t) : std::pmr::vector<std::pmr::vector<detail::level>>();
  std::int64_t highest = 1;
  for (const auto& lane : levels)
    for (const detail::level& l : lane) highest = l.value > highest ? l.value : highest;
  const auto end_of = [&](std::size_t x) {
    if (to_scale) return begin + static_cast<ticks>(x + 1) / per_tick + (static_cast<ticks>(x + 1) % per_tick != 0);
    return begin + static_cast<ticks>(static_cast<double>(x + 1) * static_cast<double>(length) / columns);
  };

  std::string out;
  for (std::uint32_t lane = 0; lane < t.lane_count(); ++lane) {
    for (std::uint32_t row = 0; row < rows.row_count[lane]; ++row) {
      std::string line(row == 0 ? detail::cut_text(t.lane_name(lane), gutter) : "");
      for (char& c : line) c = static_cast<unsigned char>(c) < 0x20 ? '?' : c;
      line.resize(gutter + 2, ' ');
      std::string cells(width, to_scale ? ' ' : '.');
      if (to_scale)
        for (std::size_t x = 0; x < width; x += static_cast<std::size_t>(per_tick)) cells[x] = '.';
      std::pmr::vector<ticks> filled(to_scale ? 0 : width, 0);
      for (std::size_t i = rows.first[lane]; i < rows.first[lane + 1]; ++i) {
        const auto& [s, at_row, added] = rows.spans[i];
        if (at_row != row || s.finish == s.start) continue;
        const std::string label = label_of(s);
        if (to_scale) {
          const auto from = static_cast<std::size_t>((s.start - begin) * per_tick);
          const auto to = static_cast<std::size_t>((s.finish - begin) * per_tick);
          for (std::size_t x = from; x + 1 < to; ++x) cells[x] = x - from < label.size() ? label[x - from] : '-';
          cells[to - 1] = ' ';
          continue;
        }
        const double scale = static_cast<double>(columns) / static_cast<double>(length);
        for (auto x = static_cast<std::size_t>(static_cast<double>(s.start - begin) * scale); x < width; ++x) {
          const auto left = static_cast<ticks>(static_cast<double>(x) / scale),
                     right = static_cast<ticks>(static_cast<double>(x + 1) / scale);
          const ticks from = s.start - begin > left ? s.start - begin : left;
          const ticks to = s.finish - begin < right ? s.finish - begin : right;
          if (s.finish - begin <= left) break;
          if (to - from > filled[x] || cells[x] == '.') {
            filled[x] = to - from;
            cells[x] = label[0];
          }
        }
      }
      while (!cells.empty() && cells.back() == ' ') cells.pop_back();
      out += line += cells;
      out += '\n';
    }
    if (curve_rows > 0) detail::put_ascii_curve(out, levels[lane], highest, curve_rows, gutter + 2, width, end_of);
  }
  detail::put_all(out, std::string(gutter + 2, ' '), "makespan ", length, " ticks, ");
  if (to_scale) detail::put_all(out, per_tick, per_tick == 1 ? " column per tick" : " columns per tick");
  else if (length > 0 && length < columns)
    detail::put_all(out, "each tick about ", (columns + length / 2) / length, " columns");
  else {
    const ticks about = (length + columns / 2) / columns;
    detail::put_all(out, "each column about ", about, about == 1 ? " tick" : " ticks");
  }
  for (const auto& m : t.marks()) {
    out += "; ";
    for (const char c : m.label) out += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
    detail::put_all(out, " ", m.at - begin);
  }
  out += '\n';
  return out;
}

}  // namespace hocket::inline HOCKET_ABI
