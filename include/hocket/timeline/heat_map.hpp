// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/timeline/detail/svg_writing.hpp>
#include <hocket/timeline/detail/writing.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace hocket::inline HOCKET_ABI {

/// A table of numbers to be drawn: a row for each rank and a column for each step, or ranks against ranks.
struct heat_map {
  std::string title, subtitle;  ///< escaped
  std::vector<std::string> rows, columns;
  std::vector<double> values;         ///< row by row, rows times columns; negative: not told
  std::string unit;                   ///< after numbers: `ms`
  std::string row_word, column_word;  ///< what rows and columns are: `rank`, `step`
};

struct heat_map_options {
  std::uint32_t width = 1400;     ///< of the picture, in pixels
  std::size_t max_rows = 256;     ///< more are drawn as groups of neighbours, each as deep as its highest number
  std::size_t max_columns = 200;  ///< the same
};

namespace detail {

class heat_map_writer {
 public:
  heat_map_writer(const heat_map& map, const heat_map_options& options)
      : map_(map),
        columns_(map.columns.size(), options.max_columns),
        rows_(map.rows.size(), options.max_rows),
        width_(100 * static_cast<std::int64_t>((std::max)(options.width, 300u))) {
    for (const double v : map.values) {
      if (v < 0) continue;
      least_ = is_empty_ ? v : (std::min)(least_, v);
      most_ = (std::max)(most_, v);
      is_empty_ = false;
    }
    std::size_t name = 4;
    for (const std::string& row : map.rows) name = (std::max)(name, row.size());
    left_ = 4'000 + 680 * static_cast<std::int64_t>((std::min)(name, max_name));
  }

  std::string operator()() {
    constexpr std::int64_t top = 9'500, most_height = 2'600, least_height = 400, most_picture = 120'000;
    const auto rows = static_cast<std::int64_t>(rows_.count());
    height_ = (std::clamp)(most_picture / (std::max)(rows, std::int64_t{1}), least_height, most_height);
    const std::int64_t bottom = top + height_ * rows;
    head(bottom + 7'500);
    for (std::size_t row = 0; row < rows_.count(); ++row) draw_row(row, top + height_ * static_cast<std::int64_t>(row));
    draw_columns(bottom);
    scale(bottom + 4'500);
    out_ += "</svg>\n";
    return std::move(out_);
  }

 private:
  static constexpr std::size_t max_name = 40;

  // Neighbours that are drawn as one.
  class groups {
   public:
    groups(std::size_t size, std::size_t most)
        : size_(size), each_(most == 0 || size <= most ? 1 : (size + most - 1) / most) {}
    [[nodiscard]] std::size_t count() const noexcept { return (size_ + each_ - 1) / each_; }
    [[nodiscard]] std::size_t begin(std::size_t group) const noexcept { return group * each_; }
    [[nodiscard]] std::size_t end(std::size_t group) const noexcept { return (std::min)(size_, (group + 1) * each_); }

   private:
    std::size_t size_, each_;
  };

  void head(std::int64_t height) {
    put_all(out_, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"", pixels{width_}, "\" height=\"", pixels{height},
            "\" viewBox=\"0 0 ", pixels{width_}, " ", pixels{height},
            "\" font-family=\"Inter,'Helvetica Neue',Arial,'DejaVu Sans',sans-serif\" font-size=\"11\">\n");
    put_all(out_, "<rect width=\"", pixels{width_}, "\" height=\"", pixels{height}, "\" fill=\"#fff\"/>\n");
    text(2'000, 3'000, "font-size=\"18\" font-weight=\"700\" fill=\"#14202e\"", map_.title);
    text(2'000, 5'000, "font-size=\"12.5\" fill=\"#57606a\"", map_.subtitle);
  }
  void text(std::int64_t x, std::int64_t y, std::string_view style, std::string_view words) {
    put_all(out_, "<text x=\"", pixels{x}, "\" y=\"", pixels{y}, "\" ", style, ">");
    put_xml(out_, words);
    out_ += "</text>\n";
  }
  [[nodiscard]] std::int64_t x_of(std::size_t column) const noexcept {
    const auto count = static_cast<std::int64_t>((std::max)(columns_.count(), std::size_t{1}));
    const std::int64_t room = (std::min)(width_ - left_ - 2'000, count * 8'000);
    return left_ + room * static_cast<std::int64_t>(column) / count;
  }
  void draw_row(std::size_t row, std::int64_t y) {
    const std::string name = name_of(rows_, row, map_.rows);
    if (height_ >= 1'000 || row % 4 == 0)
      text(left_ - 800, y + height_ / 2 + 380, "text-anchor=\"end\" fill=\"#24292f\"", cut_text(name, max_name));
    for (std::size_t column = 0; column < columns_.count(); ++column) draw_cell(row, column, y, name);
  }
  void draw_cell(std::size_t row, std::size_t column, std::int64_t y, const std::string& row_name) {
    const double value = highest(row, column);
    if (value < 0) return;
    const std::int64_t x = x_of(column), right = x_of(column + 1);
    const colour fill = fill_of(value);
    put_all(out_, "<rect x=\"", pixels{x}, "\" y=\"", pixels{y}, "\" width=\"", pixels{right - x}, "\" height=\"",
            pixels{height_}, "\" fill=\"", hex{fill}, "\"><title>");
    put_xml(out_, map_.row_word + ' ' + row_name + ", " + map_.column_word + ' ' +
                      name_of(columns_, column, map_.columns) + ": " + number(value) + ' ' + map_.unit);
    out_ += "</title></rect>\n";
    constexpr std::int64_t room_for_number = 4'500, height_for_number = 1'400;
    if (right - x < room_for_number || height_ < height_for_number) return;
    std::string style;
    put_all(style, "text-anchor=\"middle\" pointer-events=\"none\" fill=\"", hex{ink_on(fill)}, "\"");
    text((x + right) / 2, y + height_ / 2 + 380, style, number(value));
  }
  // Negative where nothing is told.
  [[nodiscard]] double highest(std::size_t row, std::size_t column) const noexcept {
    double out = -1;
    for (std::size_t r = rows_.begin(row); r < rows_.end(row); ++r)
      for (std::size_t c = columns_.begin(column); c < columns_.end(column); ++c) {
        const std::size_t at = r * map_.columns.size() + c;
        if (at < map_.values.size()) out = (std::max)(out, map_.values[at]);
      }
    return out;
  }
  void draw_columns(std::int64_t bottom) {
    constexpr std::size_t most_names = 24;
    const std::size_t each = (columns_.count() + most_names - 1) / most_names;
    for (std::size_t column = 0; column < columns_.count(); column += (std::max)(each, std::size_t{1}))
      text((x_of(column) + x_of(column + 1)) / 2, bottom + 1'600, "text-anchor=\"middle\" fill=\"#57606a\"",
           cut_text(map_.columns[columns_.begin(column)], 12));
    text(left_, bottom + 3'000, "fill=\"#57606a\"", map_.column_word);
    text(left_ - 800, 9'000, "text-anchor=\"end\" fill=\"#57606a\"", map_.row_word);
  }
  void scale(std::int64_t y) {
    if (is_empty_) return;
    constexpr std::uint32_t swatches = 8;
    std::int64_t x = left_;
    for (std::uint32_t i = 0; i < swatches; ++i, x += 2'400)
      put_all(out_, "<rect x=\"", pixels{x}, "\" y=\"", pixels{y}, "\" width=\"24\" height=\"12\" fill=\"",
              hex{colour_of(activity::compute, i, swatches)}, "\"/>\n");
    std::string words = number(least_) + " to " + number(most_) + ' ' + map_.unit;
    if (rows_.count() < map_.rows.size() || columns_.count() < map_.columns.size())
      words += "; neighbours are drawn as one, by the highest number";
    text(x + 800, y + 1'000, "fill=\"#57606a\"", words);
  }
  [[nodiscard]] colour fill_of(double value) const noexcept {
    constexpr std::uint32_t shades = 64;
    const double share = most_ > least_ ? (value - least_) / (most_ - least_) : 0;
    return colour_of(activity::compute, static_cast<std::uint32_t>(share * (shades - 1) + 0.5), shades);
  }
  [[nodiscard]] static std::string name_of(const groups& of, std::size_t group, const std::vector<std::string>& names) {
    const std::size_t begin = of.begin(group), end = of.end(group);
    return end - begin == 1 ? names[begin] : names[begin] + " to " + names[end - 1];
  }
  [[nodiscard]] static std::string number(double value) {
    constexpr double most = 1e15;
    std::string out;
    put_scaled(out, static_cast<std::int64_t>((std::min)(value, most) * 1'000 + 0.5), 3);
    return out;
  }

  const heat_map& map_;
  groups columns_, rows_;
  std::int64_t width_, left_ = 0, height_ = 0;
  double least_ = 0, most_ = 0;
  bool is_empty_ = true;
  std::string out_;
};

}  // namespace detail

/// The table as a picture in SVG 1.1: a cell is the deeper the higher its number, and shows it where the pointer rests
/// and where there is room. A value that is not given leaves its place empty. The same numbers give the same bytes.
/// O(cells).
///
///     hocket::heat_map map{.title = "ranks", .rows = {"0", "1"}, .columns = {"1"}, .values = {3, 5}, .unit = "ms"};
///     std::string picture = hocket::to_svg(map);
[[nodiscard]] inline std::string to_svg(const heat_map& map, const heat_map_options& options = {}) {
  return detail::heat_map_writer(map, options)();
}

}  // namespace hocket::inline HOCKET_ABI
