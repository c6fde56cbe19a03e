// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/result.hpp>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

namespace hocket::inline HOCKET_ABI::text::detail {

// Walks the lines of a CSV file of numbers and plain words: LF or CRLF, empty lines only at the end. Quotes are for
// next_quoted_row alone.
class csv_scanner {
 public:
  explicit csv_scanner(std::string_view text) noexcept : rest_(text) {
    if (rest_.starts_with("\xef\xbb\xbf")) rest_.remove_prefix(3);  // a byte order mark, as spreadsheets write it
    while (!rest_.empty() && (rest_.back() == '\n' || rest_.back() == '\r')) rest_.remove_suffix(1);
    done_ = rest_.empty();
  }

  [[nodiscard]] bool at_end() const noexcept { return done_; }
  // Of the line last read, counted from 1.
  [[nodiscard]] std::int64_t line() const noexcept { return line_; }

  // The next line, without its end. Precondition: !at_end().
  [[nodiscard]] std::string_view next_line() noexcept {
    const std::size_t end = rest_.find('\n');
    std::string_view text = rest_.substr(0, end);
    if (end == std::string_view::npos) done_ = true;
    else rest_.remove_prefix(end + 1);
    if (text.ends_with('\r')) text.remove_suffix(1);
    ++line_;
    return text;
  }

  // The next line, cut at its commas into exactly cells.size() cells.
  [[nodiscard]] result<void> next_row(std::span<std::string_view> cells) noexcept {
    std::string_view text = next_line();
    std::size_t found = 0;
    for (;;) {
      const std::size_t comma = text.find(',');
      if (found < cells.size()) cells[found] = text.substr(0, comma);
      ++found;
      if (comma == std::string_view::npos) break;
      text.remove_prefix(comma + 1);
    }
    if (found != cells.size())
      return error{errc::missing_column, line_, static_cast<std::int64_t>(cells.size()),
                   static_cast<std::int64_t>(found)};
    return {};
  }

  // The next line, cut where `separator` stands outside of quotes, whatever the number of cells. Quotes and blanks
  // around a cell are no part of it, however many: "1736413971558972.912<TAB>", """4096,12288""". A quote stays open no
  // longer than its line. Precondition: !at_end().
  template <class Cells>
  [[nodiscard]] result<void> next_quoted_row(char separator, Cells& cells) {
    const std::string_view text = next_line();
    cells.clear();
    bool quoted = false;
    std::size_t begin = 0, opened = 0;
    for (std::size_t at = 0; at <= text.size(); ++at) {
      if (at < text.size() && text[at] == '"') {
        quoted = !quoted;
        opened = cells.size();
      } else if (at == text.size() || (text[at] == separator && !quoted)) {
        cells.push_back(bare(text.substr(begin, at - begin)));
        begin = at + 1;
      }
    }
    if (!quoted) return {};
    return error{errc::unclosed_bracket, line_, static_cast<std::int64_t>(opened) + 1}.with(cells[opened]);
  }

  // The first line must be this one.
  [[nodiscard]] result<void> header(std::string_view expected) noexcept {
    const std::string_view found = done_ ? std::string_view{} : next_line();
    if (found == expected) return {};
    return error{errc::malformed, 1, 1}.with(found);
  }

  // A whole number in [0, limit] from a cell of the line last read; `column` counts from 1.
  [[nodiscard]] result<std::uint32_t> number(std::string_view cell, std::int64_t column,
                                             std::uint32_t limit) const noexcept {
    std::uint64_t value = 0;
    const char* const begin = cell.data();
    const char* const end = begin + cell.size();
    const auto [at, why] = std::from_chars(begin, end, value);
    const bool good = why == std::errc{} && at == end && cell.size() <= 10;
    if (!good || value > limit) return error{errc::bad_number, line_, column}.with(cell);
    return static_cast<std::uint32_t>(value);
  }

 private:
  // Without the quotes and blanks around it.
  [[nodiscard]] static std::string_view bare(std::string_view cell) noexcept {
    constexpr std::string_view around = "\" \t\r";
    const std::size_t first = cell.find_first_not_of(around);
    if (first == std::string_view::npos) return {};
    return cell.substr(first, cell.find_last_not_of(around) + 1 - first);
  }

  std::string_view rest_;
  std::int64_t line_ = 0;
  bool done_ = false;
};

inline void append_number(std::string& out, std::uint64_t value) {
  char digits[20];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  out.append(digits, static_cast<std::size_t>(end - digits));
}

}  // namespace hocket::inline HOCKET_ABI::text::detail
