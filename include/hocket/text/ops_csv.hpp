// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/result.hpp>
#include <hocket/graph/op_kind.hpp>
#include <hocket/graph/storage_range.hpp>
#include <hocket/graph/stream_plan.hpp>
#include <hocket/text/detail/csv_scanner.hpp>
#include <hocket/text/ops_table.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace hocket::inline HOCKET_ABI::text {

/// The first line of an ops CSV, which may go on with any of ops_csv_columns, each once and in any order.
inline constexpr std::string_view ops_csv_header = "op,stream,kind,reads,writes";
inline constexpr std::string_view ops_csv_columns[] = {"rings",        "starts", "aliases", "read_ranges",
                                                       "write_ranges", "us",     "bytes"};

namespace detail {

// f(word) for each of the words in a cell, until it says no; is the word that it refused, or empty.
template <class F>
[[nodiscard]] std::string_view first_bad_word(std::string_view cell, F&& f) {
  while (!cell.empty()) {
    const std::size_t space = cell.find(' ');
    const std::string_view word = cell.substr(0, space);
    cell.remove_prefix(space == std::string_view::npos ? cell.size() : space + 1);
    if (!word.empty() && !f(word)) return word;
  }
  return {};
}

// The numbers of a word such as 0:4096-8192, separated by just these characters.
template <std::size_t Count>
[[nodiscard]] bool numbers_of(std::string_view word, std::string_view separators, std::uint64_t (&out)[Count]) {
  for (std::size_t i = 0; i < Count; ++i) {
    const char* const begin = word.data();
    const auto [at, why] = std::from_chars(begin, begin + word.size(), out[i]);
    if (why != std::errc{}) return false;
    word.remove_prefix(static_cast<std::size_t>(at - begin));
    if (i + 1 == Count) return word.empty();
    if (!word.starts_with(separators[i])) return false;
    word.remove_prefix(1);
  }
  return true;
}

// Numbers separated by spaces.
[[nodiscard]] inline result<void> numbers(const csv_scanner& in, std::string_view cell, std::int64_t column,
                                          std::vector<std::uint32_t>& out) {
  out.clear();
  result<void> outcome;
  const std::string_view bad = first_bad_word(cell, [&](std::string_view word) {
    const auto number = in.number(word, column, no_id - 1);
    if (number) out.push_back(*number);
    else outcome = number.error();
    return number.has_value();
  });
  return bad.empty() ? result<void>{} : outcome;
}

// Ranges of bytes, space:first-end, separated by spaces, to the end of `out`.
[[nodiscard]] inline result<void> ranges(const csv_scanner& in, std::string_view cell, std::int64_t column,
                                         std::vector<graph::storage_range>& out) {
  const std::string_view bad = first_bad_word(cell, [&](std::string_view word) {
    std::uint64_t n[3];
    const bool good = numbers_of(word, ":-", n) && n[1] < n[2];
    if (good) out.push_back({n[0], n[1], n[2]});
    return good;
  });
  if (bad.empty()) return {};
  return error{errc::not_a_range, in.line(), column}.with(bad);
}

// Aliases, variable=part, separated by spaces, of the last op.
[[nodiscard]] inline result<void> aliases(const csv_scanner& in, std::string_view cell, std::int64_t column,
                                          ops_table& table) {
  std::uint64_t n[2] = {};
  bool is_alias = true;
  const std::string_view bad = first_bad_word(cell, [&](std::string_view word) {
    is_alias = numbers_of(word, "=", n) && n[0] < no_id && n[1] < no_id && n[0] != n[1];
    return is_alias && table.add_alias({static_cast<std::uint32_t>(n[0]), static_cast<std::uint32_t>(n[1])});
  });
  if (bad.empty()) return {};
  if (!is_alias) return error{errc::not_an_alias, in.line(), column}.with(bad);
  return error{errc::late_parts, in.line(), column, static_cast<std::int64_t>(n[0])}.with(bad);
}

// How large each variable is that the last op writes.
[[nodiscard]] inline result<void> sizes(const csv_scanner& in, std::string_view cell, std::int64_t column,
                                        ops_table& table) {
  if (cell.empty()) return {};
  std::vector<std::int64_t> all;
  const std::string_view bad = first_bad_word(cell, [&](std::string_view word) {
    std::uint64_t n[1];
    const bool good = numbers_of(word, "", n) && n[0] <= std::uint64_t{(std::numeric_limits<std::int64_t>::max)()};
    if (good) all.push_back(static_cast<std::int64_t>(n[0]));
    return good;
  });
  if (!bad.empty()) return error{errc::bad_number, in.line(), column}.with(bad);
  const auto writes = std::ssize(table.writes(static_cast<node_id>(table.size() - 1)));
  if (std::ssize(all) != writes) return error{errc::other_write_count, in.line(), column, std::ssize(all), writes};
  table.set_bytes(all);
  return {};
}

// What a cell of an optional column says about the last op.
[[nodiscard]] inline result<void> read_option(const csv_scanner& in, std::string_view name, std::string_view cell,
                                              std::int64_t column, ops_table& table) {
  if (name == "rings") {
    std::vector<std::uint32_t> rings;
    const auto read = numbers(in, cell, column, rings);
    if (read) table.add_rings(rings);
    return read;
  }
  if (name == "read_ranges" || name == "write_ranges") {
    std::vector<graph::storage_range> bytes;
    const auto read = ranges(in, cell, column, bytes);
    if (read) name == "read_ranges" ? table.add_read_ranges(bytes) : table.add_write_ranges(bytes);
    return read;
  }
  if (name == "aliases") return aliases(in, cell, column, table);
  if (name == "bytes") return sizes(in, cell, column, table);
  if (name == "us") {
    if (cell.empty()) return {};
    const auto us = in.number(cell, column, no_id - 1);
    if (!us) return us.error();
    table.set_us(*us);
    return {};
  }
  if (cell == "1") table.set_starts();
  else if (!cell.empty() && cell != "0") return error{errc::not_a_flag, in.line(), column}.with(cell);
  return {};
}

// The column with this name among those of the header and the optional ones so far, from 1; 0 if there is none.
[[nodiscard]] inline std::int64_t column_of(std::string_view name, const std::vector<std::string_view>& optional) {
  constexpr std::string_view required[] = {"op", "stream", "kind", "reads", "writes"};
  const auto fixed = std::find(std::begin(required), std::end(required), name) - std::begin(required);
  if (fixed != std::ssize(required)) return fixed + 1;
  const auto at = std::find(optional.begin(), optional.end(), name) - optional.begin();
  return at == std::ssize(optional) ? 0 : std::ssize(required) + at + 1;
}

// The optional columns that the first line names.
[[nodiscard]] inline result<std::vector<std::string_view>> ops_columns(csv_scanner& in) {
  std::string_view line = in.at_end() ? std::string_view{} : in.next_line();
  if (!line.starts_with(ops_csv_header)) return error{errc::malformed, 1, 1}.with(line);
  const std::string_view whole = line;
  line.remove_prefix(ops_csv_header.size());
  if (!line.empty() && line.front() != ',') return error{errc::malformed, 1, 1}.with(whole);
  std::vector<std::string_view> names;
  while (!line.empty()) {
    line.remove_prefix(1);
    const std::string_view name = line.substr(0, line.find(','));
    line.remove_prefix(name.size());
    const bool known =
        std::find(std::begin(ops_csv_columns), std::end(ops_csv_columns), name) != std::end(ops_csv_columns);
    const auto column = static_cast<std::int64_t>(6 + names.size());
    if (const std::int64_t first = column_of(name, names); first != 0)
      return error{errc::duplicate_column, 1, column, first}.with(name);
    if (!known) return error{errc::malformed, 1, column}.with(name);
    names.push_back(name);
  }
  return names;
}

}  // namespace detail

/// Reads `op,stream,kind,reads,writes` rows in program order: op counts from 0; kind is compute, collective, random or
/// io; reads and writes are variable numbers separated by spaces. The header may name further columns:
///
/// * `rings`: numbers of the communication rings that the op uses, of the generators of a random op, of the files of an
///   io op; none is number 0.
/// * `starts`: 1 if the op starts the step, else 0 or nothing.
/// * `aliases`: `view=base` or `buffer=tensor`, for the whole program: what touches the one touches the other.
/// * `read_ranges`, `write_ranges`: bytes as `space:first-end`, where end is one past the last.
/// * `us`: how long the op takes, in whole microseconds; nothing is 0.
/// * `bytes`: how large each variable is that the op writes, in the order of `writes`; nothing is 0 each.
/// @return errc::malformed for another header, errc::duplicate_column; errc::missing_column, errc::bad_number,
///         errc::unknown_kind, errc::misnumbered_op, errc::stream_too_large; of the further columns errc::not_a_flag,
///         errc::not_a_range, errc::not_an_alias, errc::late_parts, errc::other_write_count; each with its line and
///         column
/// Complexity: linear in the text; aliases O(log) each.
///
///     const auto program = text::parse_ops_csv("op,stream,kind,reads,writes\n0,0,compute,,1\n1,0,random,1,2 3\n");
///     const auto deps = graph::dependencies(*program);
[[nodiscard]] inline result<ops_table> parse_ops_csv(std::string_view csv) {
  detail::csv_scanner in(csv);
  const auto columns = detail::ops_columns(in);
  if (!columns) return columns.error();
  ops_table table;
  std::vector<std::string_view> cells(5 + columns->size());
  std::vector<std::uint32_t> reads, writes;
  while (!in.at_end()) {
    if (const auto r = in.next_row(cells); !r) return r.error();
    const auto op = in.number(cells[0], 1, no_id - 1);
    if (!op) return op.error();
    if (*op != table.size())
      return error{errc::misnumbered_op, in.line(), *op, static_cast<std::int64_t>(table.size())};
    const auto stream = in.number(cells[1], 2, no_id - 1);
    if (!stream) return stream.error();
    if (*stream >= stream_limit) return error{errc::stream_too_large, in.line(), *stream, stream_limit - 1};
    const std::optional<graph::op_kind> kind = graph::parse_op_kind(cells[2]);
    if (!kind) return error{errc::unknown_kind, in.line(), 3}.with(cells[2]);
    if (const auto r = detail::numbers(in, cells[3], 4, reads); !r) return r.error();
    if (const auto r = detail::numbers(in, cells[4], 5, writes); !r) return r.error();
    table.add(*stream, *kind, reads, writes);
    for (std::size_t c = 5; c < cells.size(); ++c) {
      const std::string_view name = (*columns)[c - 5];
      const auto r = detail::read_option(in, name, cells[c], static_cast<std::int64_t>(c + 1), table);
      if (!r) return r.error();
    }
  }
  return table;
}

namespace detail {

// Writes items with spaces between them; write(item) each.
template <class T, class F>
void append_words(std::string& out, std::span<const T> items, F&& write) {
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i != 0) out += ' ';
    write(items[i]);
  }
}
inline void append_numbers(std::string& out, std::span<const std::uint32_t> numbers) {
  append_words(out, numbers, [&out](std::uint32_t n) { append_number(out, n); });
}
inline void append_sizes(std::string& out, std::span<const std::int64_t> sizes) {
  append_words(out, sizes, [&out](std::int64_t n) { append_number(out, static_cast<std::uint64_t>(n)); });
}
inline void append_ranges(std::string& out, std::span<const graph::storage_range> ranges) {
  append_words(out, ranges, [&out](const graph::storage_range& r) {
    append_number(out, r.space);
    out += ':';
    append_number(out, r.first);
    out += '-';
    append_number(out, r.end);
  });
}
inline void append_aliases(std::string& out, std::span<const ops_table::alias> aliases) {
  append_words(out, aliases, [&out](const ops_table::alias& a) {
    append_number(out, a.variable);
    out += '=';
    append_number(out, a.part);
  });
}

}  // namespace detail

/// The CSV form of a program, with the optional columns that it needs; parse_ops_csv reads it back.
[[nodiscard]] inline std::string write_ops_csv(const ops_table& table) {
  const bool has[] = {table.has_rings(),        table.has_starts(), table.has_aliases(), table.has_read_ranges(),
                      table.has_write_ranges(), table.has_us(),     table.has_bytes()};
  std::string out(ops_csv_header);
  for (std::size_t c = 0; c < std::size(has); ++c)
    if (has[c]) out.append(",").append(ops_csv_columns[c]);
  out += '\n';
  for (node_id op = 0; op < table.size(); ++op) {
    detail::append_number(out, op);
    out += ',';
    detail::append_number(out, table.stream(op));
    out += ',';
    out += graph::to_string(table.kind(op));
    out += ',';
    detail::append_numbers(out, table.reads(op));
    out += ',';
    detail::append_numbers(out, table.writes(op));
    for (std::size_t c = 0; c < std::size(has); ++c) {
      if (!has[c]) continue;
      out += ',';
      if (c == 0) detail::append_numbers(out, table.rings(op));
      if (c == 1) out += table.starts(op) ? '1' : '0';
      if (c == 2) detail::append_aliases(out, table.aliases(op));
      if (c == 3) detail::append_ranges(out, table.read_ranges(op));
      if (c == 4) detail::append_ranges(out, table.write_ranges(op));
      if (c == 5) detail::append_number(out, table.us(op));
      if (c == 6) detail::append_sizes(out, table.bytes(op));
    }
    out += '\n';
  }
  return out;
}

}  // namespace hocket::inline HOCKET_ABI::text
