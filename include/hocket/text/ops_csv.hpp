// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/core/result.hpp>
#include <hocket/graph/access.hpp>
#include <hocket/graph/op_kind.hpp>
#include <hocket/graph/stream_plan.hpp>
#include <hocket/text/detail/csv_scanner.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::inline HOCKET_ABI::text {

/// A program as flat arrays, which is what an ops CSV describes: per op its stream, its kind, and the variables it
/// reads and writes.
class ops_table {
 public:
  [[nodiscard]] std::size_t size() const noexcept { return kinds_.size(); }
  [[nodiscard]] graph::op_kind kind(node_id op) const noexcept { return kinds_[op]; }
  [[nodiscard]] stream_id stream(node_id op) const noexcept { return streams_[op]; }
  [[nodiscard]] std::span<const stream_id> streams() const& noexcept { return streams_; }
  [[nodiscard]] std::span<const std::uint32_t> reads(node_id op) const& noexcept { return list(2 * std::size_t{op}); }
  [[nodiscard]] std::span<const std::uint32_t> writes(node_id op) const& noexcept {
    return list(2 * std::size_t{op} + 1);
  }
  void streams() const&& = delete;
  void reads(node_id) const&& = delete;
  void writes(node_id) const&& = delete;
  /// Adds the next op of the program.
  void add(stream_id stream, graph::op_kind kind, std::span<const std::uint32_t> reads,
           std::span<const std::uint32_t> writes) {
    variables_.insert(variables_.end(), reads.begin(), reads.end());
    begin_.push_back(variables_.size());
    variables_.insert(variables_.end(), writes.begin(), writes.end());
    begin_.push_back(variables_.size());
    streams_.push_back(stream);
    kinds_.push_back(kind);
  }
  /// Room for so many ops.
  void reserve(std::size_t ops) {
    kinds_.reserve(ops);
    streams_.reserve(ops);
    variables_.reserve(4 * ops);
    begin_.reserve(2 * ops + 1);
  }
  /// Keeps the first ops only.
  void cut(std::size_t ops) {
    if (ops >= size()) return;
    kinds_.resize(ops);
    streams_.resize(ops);
    begin_.resize(2 * ops + 1);
    variables_.resize(begin_.back());
  }

 private:
  [[nodiscard]] std::span<const std::uint32_t> list(std::size_t i) const noexcept {
    return {variables_.data() + begin_[i], begin_[i + 1] - begin_[i]};
  }

  std::vector<graph::op_kind> kinds_;
  std::vector<stream_id> streams_;
  std::vector<std::uint32_t> variables_;
  std::vector<std::size_t> begin_{0};  // reads of op i: from [2i], its writes: from [2i + 1]
};

/// The first line of an ops CSV.
inline constexpr std::string_view ops_csv_header = "op,stream,kind,reads,writes";

namespace detail {

// Numbers separated by spaces.
[[nodiscard]] inline result<void> numbers(const csv_scanner& in, std::string_view cell, std::int64_t column,
                                          std::vector<std::uint32_t>& out) {
  out.clear();
  while (!cell.empty()) {
    const std::size_t space = cell.find(' ');
    const std::string_view word = cell.substr(0, space);
    cell.remove_prefix(space == std::string_view::npos ? cell.size() : space + 1);
    if (word.empty()) continue;
    const auto number = in.number(word, column, no_id - 1);
    if (!number) return number.error();
    out.push_back(*number);
  }
  return {};
}

}  // namespace detail

/// Reads `op,stream,kind,reads,writes` rows in program order: op counts from 0; kind is compute, collective, random or
/// io; reads and writes are variable numbers separated by spaces.
/// @return errc::malformed for another header; errc::missing_column, errc::bad_number, errc::unknown_token,
///         errc::misnumbered_op, errc::too_large (a stream past stream_limit), each with its line
/// Complexity: linear in the text.
///
///     const auto program = text::parse_ops_csv("op,stream,kind,reads,writes\n0,0,compute,,1\n1,0,random,1,2 3\n");
///     const auto deps = graph::dependencies(*program);
[[nodiscard]] inline result<ops_table> parse_ops_csv(std::string_view csv) {
  detail::csv_scanner in(csv);
  if (const auto r = in.header(ops_csv_header); !r) return r.error();
  ops_table table;
  std::string_view cells[5];
  std::vector<std::uint32_t> reads, writes;
  while (!in.at_end()) {
    if (const auto r = in.next_row(cells); !r) return r.error();
    const auto op = in.number(cells[0], 1, no_id - 1);
    if (!op) return op.error();
    if (*op != table.size())
      return error{errc::misnumbered_op, in.line(), *op, static_cast<std::int64_t>(table.size())};
    const auto stream = in.number(cells[1], 2, no_id - 1);
    if (!stream) return stream.error();
    if (*stream >= stream_limit) return error{errc::too_large, in.line(), *stream, stream_limit - 1}.with("stream");
    const std::optional<graph::op_kind> kind = graph::parse_op_kind(cells[2]);
    if (!kind) return error{errc::unknown_token, in.line(), 3}.with(cells[2]);
    if (const auto r = detail::numbers(in, cells[3], 4, reads); !r) return r.error();
    if (const auto r = detail::numbers(in, cells[4], 5, writes); !r) return r.error();
    table.add(*stream, *kind, reads, writes);
  }
  return table;
}

/// The CSV form of a program; parse_ops_csv reads it back.
[[nodiscard]] inline std::string write_ops_csv(const ops_table& table) {
  std::string out(ops_csv_header);
  out += '\n';
  const auto list = [&](std::span<const std::uint32_t> variables) {
    for (std::size_t i = 0; i < variables.size(); ++i) {
      if (i != 0) out += ' ';
      detail::append_number(out, variables[i]);
    }
  };
  for (node_id op = 0; op < table.size(); ++op) {
    detail::append_number(out, op);
    out += ',';
    detail::append_number(out, table.stream(op));
    out += ',';
    out += graph::to_string(table.kind(op));
    out += ',';
    list(table.reads(op));
    out += ',';
    list(table.writes(op));
    out += '\n';
  }
  return out;
}

}  // namespace hocket::inline HOCKET_ABI::text

namespace hocket::inline HOCKET_ABI {

template <>
struct graph_access<text::ops_table> {
  using node = node_id;
  static std::size_t node_count(const text::ops_table& t) noexcept { return t.size(); }
  template <class F>
  static void for_each_read(const text::ops_table& t, node n, F&& f) {
    for (const std::uint32_t v : t.reads(n)) f(v);
  }
  template <class F>
  static void for_each_write(const text::ops_table& t, node n, F&& f) {
    for (const std::uint32_t v : t.writes(n)) f(v);
  }
  static graph::op_kind kind(const text::ops_table& t, node n) noexcept { return t.kind(n); }
  static stream_id stream(const text::ops_table& t, node n) noexcept { return t.stream(n); }
};

}  // namespace hocket::inline HOCKET_ABI
