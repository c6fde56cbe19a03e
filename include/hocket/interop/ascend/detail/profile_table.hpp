// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/result.hpp>
#include <hocket/interop/ascend/detail/decimal.hpp>
#include <hocket/interop/ascend/profile.hpp>
#include <hocket/text/detail/csv_scanner.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::ascend::detail {

/// Bytes of a name that a file writes once and that each of many runs then holds: a small file stays small in memory.
inline constexpr std::int64_t max_shared_name = 1'024;

/// errc::too_large for a longer one.
[[nodiscard]] inline result<void> check_shared_name(std::string_view name, std::int64_t line) {
  const auto size = static_cast<std::int64_t>(name.size());
  if (size <= max_shared_name) return {};
  return error{errc::too_large, line, size, max_shared_name}.with("bytes of a name");
}

/// A column that a table has, with what one of its unit is: `Duration(us)` is "duration" in units of 1,000 ns.
struct table_column {
  static constexpr std::size_t none = static_cast<std::size_t>(-1);
  std::size_t place = none;
  std::int64_t factor = 1;

  [[nodiscard]] constexpr bool is_there() const noexcept { return place != none; }
};

/// What a unit in the brackets of a column's name is: nanoseconds of a time, bytes of a size. 0: no unit.
/// A profiler's MB and KB of memory are powers of two.
[[nodiscard]] constexpr std::int64_t unit_of(std::string_view unit) noexcept {
  constexpr std::pair<std::string_view, std::int64_t> units[] = {
      {"ns", 1},    {"us", 1'000},   {"ms", 1'000'000}, {"s", 1'000'000'000},
      {"kb", 1024}, {"mb", 1 << 20}, {"byte", 1},       {"b", 1}};
  for (const auto& [name, factor] : units)
    if (unit == name) return factor;
  return 0;
}

/// The names of a table's columns: small letters, without the unit.
class table_header {
 public:
  static constexpr std::int64_t max_columns = 1'024;  ///< each name is compared with all before it

  /// Errors: errc::duplicate_column, errc::too_large beyond max_columns.
  [[nodiscard]] static result<table_header> make(const std::vector<std::string_view>& cells) {
    table_header out;
    const auto found = static_cast<std::int64_t>(cells.size());
    if (found > max_columns) return error{errc::too_large, 1, found, max_columns}.with("columns");
    out.size_ = cells.size();
    for (std::size_t i = 0; i < cells.size(); ++i) {
      column c{{}, {i, 0}};
      for (const char letter : cells[i])
        c.name += letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
      const std::size_t bracket = c.name.rfind('(');
      if (bracket != std::string::npos && c.name.back() == ')') {
        const std::string_view all = c.name;
        c.at.factor = unit_of(all.substr(bracket + 1, all.size() - bracket - 2));
        if (c.at.factor != 0) c.name.resize(bracket);
      }
      for (const column& other : out.columns_)
        if (!c.name.empty() && other.name == c.name)
          return error{errc::duplicate_column, 1, static_cast<std::int64_t>(i) + 1,
                       static_cast<std::int64_t>(other.at.place) + 1}
              .with(cells[i]);
      out.columns_.push_back(std::move(c));
    }
    return out;
  }

  /// The first of these names that the table has.
  [[nodiscard]] table_column find(std::initializer_list<std::string_view> names) const noexcept {
    for (const std::string_view name : names)
      for (const column& c : columns_)
        if (c.name == name) return c.at;
    return {};
  }
  /// The same, and a unit where the name has none.
  [[nodiscard]] table_column find(std::initializer_list<std::string_view> names, std::int64_t factor) const noexcept {
    table_column c = find(names);
    if (c.factor == 0) c.factor = factor;
    return c;
  }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  struct column {
    std::string name;
    table_column at;
  };
  std::vector<column> columns_;
  std::size_t size_ = 0;
};

/// The cells of one row, and where it stands. Keeps the first error, so that a form reads like a list of its columns.
class table_row {
 public:
  table_row(const std::vector<std::string_view>& cells, std::int64_t line) noexcept : cells_(&cells), line_(line) {}

  /// Empty for a column that is not there, and for N/A.
  [[nodiscard]] std::string_view text(table_column c) noexcept {
    if (!c.is_there()) return {};
    furthest_ = (std::max)(furthest_, c.place);
    const std::string_view cell = (*cells_)[c.place];
    return cell == "N/A" || cell == "NA" || cell == "null" || cell == "None" ? std::string_view{} : cell;
  }
  /// A number of the column's unit; it must be there.
  [[nodiscard]] std::int64_t number(table_column c) noexcept {
    if (!c.is_there()) return 0;
    furthest_ = (std::max)(furthest_, c.place);
    const auto value = parse_scaled((*cells_)[c.place], c.factor);
    if (!value) fail(errc::bad_decimal, c);
    return value.value_or(0);
  }
  /// The same, not negative; 0 for what is refused, so that the rest of the row can be computed with.
  [[nodiscard]] std::int64_t count(table_column c) noexcept {
    const std::int64_t value = number(c);
    if (value >= 0) return value;
    fail(errc::bad_decimal, c);
    return 0;
  }
  /// `otherwise` for an empty cell and N/A.
  [[nodiscard]] std::int64_t count_or(table_column c, std::int64_t otherwise) noexcept {
    return text(c).empty() ? otherwise : count(c);
  }
  [[nodiscard]] nanoseconds time(table_column c) noexcept { return nanoseconds(count(c)); }
  /// Computed by subtraction in some profilers, so that it may be below zero by rounding.
  [[nodiscard]] nanoseconds difference(table_column c) noexcept { return nanoseconds(text(c).empty() ? 0 : number(c)); }

  void fail(errc code, table_column c) noexcept {
    if (!failed_) why_ = error{code, line_, static_cast<std::int64_t>(c.place) + 1}.with((*cells_)[c.place]);
    failed_ = true;
  }
  [[nodiscard]] std::int64_t line() const noexcept { return line_; }
  /// Whether the last cell was read.
  [[nodiscard]] bool reads_last() const noexcept { return furthest_ + 1 == cells_->size(); }
  [[nodiscard]] result<void> verdict() const noexcept { return failed_ ? result<void>(why_) : result<void>(); }

 private:
  const std::vector<std::string_view>* cells_;
  std::int64_t line_;
  std::size_t furthest_ = 0;  // the last of the cells that were read
  error why_{};
  bool failed_ = false;
};

/// Reads all rows of a table behind its header: read(row) for each. A last line without a newline is whole if it has
/// all columns, and `read` did not read the last of them: 51 may be the beginning of 510.
/// Errors: errc::truncated for another last line without a newline, errc::missing_column for a row of another length,
/// errc::unclosed_bracket, errc::too_large, and what the cells say.
template <class Read>
[[nodiscard]] result<void> read_rows(text::detail::csv_scanner& in, std::string_view whole, std::size_t width,
                                     const profile_options& options, Read&& read) {
  std::vector<std::string_view> cells;
  bool is_whole = whole.ends_with('\n');
  for (std::size_t rows = 1; !in.at_end(); ++rows) {
    if (const auto ok = in.next_quoted_row(',', cells); !ok) return ok;
    const auto found = static_cast<std::int64_t>(cells.size()), wanted = static_cast<std::int64_t>(width);
    // A comma at the end of each row, but not of the header, is no cell.
    if (found == wanted + 1 && cells.back().empty()) cells.pop_back();
    else if (found != wanted) return error{errc::missing_column, in.line(), wanted, found};
    if (rows > options.max_rows)
      return error{errc::too_large, in.line(), static_cast<std::int64_t>(rows),
                   static_cast<std::int64_t>(options.max_rows)}
          .with("rows");
    table_row row(cells, in.line());
    if (const auto ok = read(row); !ok) return ok;
    if (const auto ok = row.verdict(); !ok) return ok;
    is_whole = is_whole || (in.at_end() && !row.reads_last());
  }
  if (!is_whole) return error{errc::truncated, in.line()}.with("the end of the line");
  return {};
}

}  // namespace hocket::inline HOCKET_ABI::ascend::detail
