// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/arithmetic.hpp>
#include <hocket/timeline/detail/rows.hpp>
#include <hocket/timeline/detail/writing.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <string>
#include <utility>
#include <vector>

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

/// Writes one timeline as text.
class ascii_writer {
 public:
  ascii_writer(const timeline& t, const ascii_options& options)
      : t_(t),
        rows_(rows_of(t)),
        columns_((std::max)(options.columns, min_columns)),
        begin_(t.begin()),
        length_(t.makespan()),
        curve_rows_((std::min)(options.curve_rows, max_curve_rows)) {
    for (std::uint32_t lane = 0; lane < t.lane_count(); ++lane) gutter_ = (std::max)(gutter_, t.lane_name(lane).size());
    gutter_ = (std::min)(gutter_, max_gutter);
    for (const auto& p : rows_.spans) {
      const ticks width = p.span.finish - p.span.start;
      if (width == 0) continue;
      per_tick_ = (std::max)(per_tick_, ceil_div(static_cast<ticks>(label_of(p.span).size()) + 1, width));
    }
    is_to_scale_ = length_ > 0 && length_ <= columns_ / per_tick_;
    width_ = static_cast<std::size_t>(is_to_scale_ ? length_ * per_tick_ : columns_);
    if (curve_rows_ > 0) levels_ = levels_of(t);
    for (const auto& lane : levels_)
      for (const level& l : lane) highest_ = (std::max)(highest_, l.value);
  }

  std::string operator()() {
    for (std::uint32_t lane = 0; lane < t_.lane_count(); ++lane) {
      for (std::uint32_t row = 0; row < rows_.row_count[lane]; ++row) put_row(lane, row);
      if (curve_rows_ == 0) continue;
      put_ascii_curve(out_, levels_[lane], highest_, curve_rows_, gutter_ + 2, width_,
                      [this](std::size_t x) { return end_of(x); });
    }
    put_summary();
    return std::move(out_);
  }

 private:
  static constexpr std::uint32_t min_columns = 20, max_curve_rows = 20;
  static constexpr std::size_t max_gutter = 40;  // longer names are cut

  [[nodiscard]] static std::string label_of(const timeline::span& s) {
    std::string label(bar_text(s.kind).empty() ? to_string(s.kind).substr(0, 1) : bar_text(s.kind));
    if (s.chunk % 2 != 0)
      for (char& c : label) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    if (s.micro_batch >= 0) put(label, s.micro_batch);
    return label;
  }
  /// The time at the end of a column.
  [[nodiscard]] ticks end_of(std::size_t x) const noexcept {
    const auto next = static_cast<ticks>(x + 1);
    if (is_to_scale_) return begin_ + next / per_tick_ + (next % per_tick_ != 0);
    return begin_ + static_cast<ticks>(static_cast<double>(next) * static_cast<double>(length_) / columns_);
  }

  void put_row(std::uint32_t lane, std::uint32_t row) {
    std::string line = to_printable(row == 0 ? cut_text(t_.lane_name(lane), gutter_) : "");
    line.resize(gutter_ + 2, ' ');
    std::string cells(width_, is_to_scale_ ? ' ' : '.');
    if (is_to_scale_)
      for (std::size_t x = 0; x < width_; x += static_cast<std::size_t>(per_tick_)) cells[x] = '.';
    std::vector<ticks> filled(is_to_scale_ ? 0 : width_, 0);
    for (std::size_t i = rows_.first[lane]; i < rows_.first[lane + 1]; ++i) {
      const auto& placed = rows_.spans[i];
      if (placed.row != row || placed.span.finish == placed.span.start) continue;
      if (is_to_scale_) draw(placed.span, cells);
      else draw_largest(placed.span, cells, filled);
    }
    while (!cells.empty() && cells.back() == ' ') cells.pop_back();
    put_all(out_, line, cells, "\n");
  }
  void draw(const timeline::span& s, std::string& cells) const {
    const std::string label = label_of(s);
    const auto from = static_cast<std::size_t>((s.start - begin_) * per_tick_);
    const auto to = static_cast<std::size_t>((s.finish - begin_) * per_tick_);
    for (std::size_t x = from; x + 1 < to; ++x) cells[x] = x - from < label.size() ? label[x - from] : '-';
    cells[to - 1] = ' ';
  }
  /// A column shows the bar that fills most of it.
  void draw_largest(const timeline::span& s, std::string& cells, std::vector<ticks>& filled) const {
    const std::string label = label_of(s);
    const ticks start = s.start - begin_, finish = s.finish - begin_;
    const double scale = static_cast<double>(columns_) / static_cast<double>(length_);
    for (auto x = static_cast<std::size_t>(static_cast<double>(start) * scale); x < width_; ++x) {
      const auto left = static_cast<ticks>(static_cast<double>(x) / scale);
      const auto right = static_cast<ticks>(static_cast<double>(x + 1) / scale);
      if (finish <= left) break;
      const ticks share = (std::min)(finish, right) - (std::max)(start, left);
      if (share <= filled[x] && cells[x] != '.') continue;
      filled[x] = share;
      cells[x] = label[0];
    }
  }
  void put_summary() {
    put_all(out_, std::string(gutter_ + 2, ' '), "makespan ", length_, " ticks, ");
    if (is_to_scale_) {
      put_all(out_, per_tick_, per_tick_ == 1 ? " column per tick" : " columns per tick");
    } else if (length_ > 0 && length_ < columns_) {
      put_all(out_, "each tick about ", (columns_ + length_ / 2) / length_, " columns");
    } else {
      const ticks about = (length_ + columns_ / 2) / columns_;
      put_all(out_, "each column about ", about, about == 1 ? " tick" : " ticks");
    }
    for (const auto& m : t_.marks()) {
      out_ += "; ";
      append_printable(out_, m.label);
      put_all(out_, " ", m.at - begin_);
    }
    out_ += '\n';
  }

  const timeline& t_;
  const span_rows rows_;
  const std::uint32_t columns_;
  const ticks begin_, length_;
  const std::uint32_t curve_rows_;
  std::size_t gutter_ = 0, width_ = 0;
  ticks per_tick_ = 1;  // columns a tick, such that every label and a space fit into its bar
  bool is_to_scale_ = false;
  std::pmr::vector<std::pmr::vector<level>> levels_;
  std::int64_t highest_ = 1;
  std::string out_;
};

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
  return detail::ascii_writer(t, options)();
}

}  // namespace hocket::inline HOCKET_ABI
