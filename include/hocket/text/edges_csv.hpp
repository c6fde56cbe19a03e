// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/result.hpp>
#include <hocket/graph/edge.hpp>
#include <hocket/graph/stream_plan.hpp>
#include <hocket/text/detail/csv_scanner.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::inline HOCKET_ABI::text {

/// What an edges CSV holds.
struct edge_table {
  std::size_t node_count = 0;  ///< one more than the highest id
  std::vector<graph::edge> edges;
};

/// The highest id an edges CSV may name by default: one stray cell must not size a graph.
inline constexpr node_id edges_csv_highest_id = (1u << 24) - 1;

/// The first line of an edges CSV, and of a pairs CSV.
inline constexpr std::string_view edges_csv_header = "source,target";

namespace detail {

// Reads `source,target` rows after that header; check(id, column) for each id, then row(edge).
template <class Check, class Row>
[[nodiscard]] result<void> read_edge_rows(csv_scanner& in, const Check& check, const Row& row) {
  if (const auto r = in.header(edges_csv_header); !r) return r.error();
  std::string_view cells[2];
  while (!in.at_end()) {
    if (const auto r = in.next_row(cells); !r) return r.error();
    node_id ends[2] = {};
    for (std::int64_t column = 1; column <= 2; ++column) {
      const auto id = in.number(cells[column - 1], column, no_id - 1);
      if (!id) return id.error();
      if (const result<void> fits = check(*id, column); !fits) return fits.error();
      ends[column - 1] = *id;
    }
    row(graph::edge{ends[0], ends[1]});
  }
  return {};
}

[[nodiscard]] constexpr std::string_view edge_column(std::int64_t column) noexcept {
  return column == 1 ? "source" : "target";
}

}  // namespace detail

/// Reads `source,target` rows (after that header) in any order; ids count from 0. Cycles are not looked for here.
/// @return errc::malformed for another header; errc::missing_column, errc::bad_number with line and column;
///         errc::too_large for an id above `highest_id`
/// Complexity: linear in the text.
///
///     text::parse_edges_csv("source,target\n0,1\n1,2\n")->node_count == 3;
[[nodiscard]] inline result<edge_table> parse_edges_csv(std::string_view csv,
                                                        node_id highest_id = edges_csv_highest_id) {
  detail::csv_scanner in(csv);
  edge_table table;
  const auto check = [&](node_id id, std::int64_t column) -> result<void> {
    if (id > highest_id) return error{errc::too_large, in.line(), id, highest_id}.with(detail::edge_column(column));
    if (table.node_count <= id) table.node_count = id + std::size_t{1};
    return {};
  };
  const auto read = detail::read_edge_rows(in, check, [&](const graph::edge& e) { table.edges.push_back(e); });
  if (!read) return read.error();
  return table;
}

/// Reads pairs of nodes to ask about: the same form, but each id must be one of the graph's.
/// @return as parse_edges_csv; errc::unknown_node_in_line for an id >= node_count
[[nodiscard]] inline result<std::vector<graph::edge>> parse_pairs_csv(std::string_view csv, std::size_t node_count) {
  detail::csv_scanner in(csv);
  std::vector<graph::edge> pairs;
  const auto check = [&](node_id id, std::int64_t column) -> result<void> {
    if (id < node_count) return {};
    return error{errc::unknown_node_in_line, in.line(), column, id, static_cast<std::int64_t>(node_count)}.with(
        detail::edge_column(column));
  };
  const auto read = detail::read_edge_rows(in, check, [&](const graph::edge& e) { pairs.push_back(e); });
  if (!read) return read.error();
  return pairs;
}

/// `source,target` and one row per edge, in the order given.
[[nodiscard]] inline std::string write_edges_csv(std::span<const graph::edge> edges) {
  std::string out = "source,target\n";
  for (const graph::edge& e : edges) {
    detail::append_number(out, e.source);
    out += ',';
    detail::append_number(out, e.target);
    out += '\n';
  }
  return out;
}

/// `recorder,waiter,record_stream,wait_stream` and one row per wait, in the order given.
[[nodiscard]] inline std::string write_waits_csv(std::span<const graph::stream_wait> waits) {
  std::string out = "recorder,waiter,record_stream,wait_stream\n";
  for (const graph::stream_wait& w : waits) {
    const std::uint32_t cells[] = {w.recorder, w.waiter, w.record_stream, w.wait_stream};
    for (const std::uint32_t cell : cells) {
      detail::append_number(out, cell);
      out += ',';
    }
    out.back() = '\n';
  }
  return out;
}

}  // namespace hocket::inline HOCKET_ABI::text
