// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/graph/dag.hpp>
#include <hocket/graph/edge.hpp>
#include <hocket/text/detail/csv_scanner.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::inline HOCKET_ABI::text {

/// Names a node by its number.
struct number_names {
  [[nodiscard]] std::string operator()(node_id n) const {
    std::string name;
    detail::append_number(name, n);
    return name;
  }
};
/// Labels no edge.
struct no_labels {
  [[nodiscard]] std::string_view operator()(const graph::edge&) const noexcept { return {}; }
};

namespace detail {

// Foreign text inside a quoted string of DOT. A backslash would start an escape of labels; a raw line break is legal in
// the language, but not in every reader of it.
inline void append_dot(std::string& out, std::string_view text) {
  for (const char c : text) {
    const auto u = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') out += "\\n";
    else out += u < 0x20 || u == 0x7f ? '?' : c;
  }
}

template <class Label>
void append_dot_edge(std::string& out, const graph::edge& e, bool pruned, const Label& label) {
  out += "  ";
  append_number(out, e.source);
  out += " -> ";
  append_number(out, e.target);
  const std::string text(label(e));
  if (!text.empty() || pruned) out += " [";
  if (!text.empty()) {
    out += "label=\"";
    append_dot(out, text);
    out += pruned ? "\", " : "\"";
  }
  if (pruned) out += "style=dashed, color=gray, constraint=false";
  if (!text.empty() || pruned) out += ']';
  out += ";\n";
}

template <class Name>
void append_dot_nodes(std::string& out, std::size_t nodes, const Name& name) {
  out += "digraph hocket {\n  node [shape=box, fontname=\"sans-serif\"];\n  edge [fontname=\"sans-serif\"];\n";
  for (std::size_t n = 0; n < nodes; ++n) {
    out += "  ";
    append_number(out, static_cast<node_id>(n));
    out += " [label=\"";
    append_dot(out, name(static_cast<node_id>(n)));
    out += "\"];\n";
  }
}

}  // namespace detail

/// A small graph in the language of Graphviz, edges in the order given: for eyes, `dot -Tsvg` makes a picture of it.
/// Names and labels may hold anything: they are escaped.
/// @param name   name(node_id) gives text; by default the number
/// @param label  label(edge) gives text, such as the variable behind the edge; empty for none
/// Precondition: ends < nodes. Complexity: linear in the text.
///
///     text::write_dot(3, *graph::rule_edges(program), [&](node_id n) { return program.ops[n].name; });
template <class Name = number_names, class Label = no_labels>
[[nodiscard]] std::string write_dot(std::size_t nodes, std::span<const graph::edge> edges, const Name& name = {},
                                    const Label& label = {}) {
  std::string out;
  detail::append_dot_nodes(out, nodes, name);
  for (const graph::edge& e : edges) detail::append_dot_edge(out, e, false, label);
  out += "}\n";
  return out;
}

/// A small dag: its kept edges, and dashed the distinct ones of `offered` that it pruned, both by source, then target.
///
///     text::write_dot(deps->graph(), *graph::rule_edges(program));
template <class Index, class Name = number_names, class Label = no_labels>
[[nodiscard]] std::string write_dot(const graph::dag<Index>& g, std::span<const graph::edge> offered = {},
                                    const Name& name = {}, const Label& label = {}) {
  const std::vector<graph::edge> kept = g.edges();
  std::vector<graph::edge> pruned;
  for (const graph::edge& e : offered)
    if (!std::binary_search(kept.begin(), kept.end(), e)) pruned.push_back(e);
  std::sort(pruned.begin(), pruned.end());
  pruned.erase(std::unique(pruned.begin(), pruned.end()), pruned.end());
  std::string out;
  detail::append_dot_nodes(out, g.node_count(), name);
  for (const graph::edge& e : kept) detail::append_dot_edge(out, e, false, label);
  for (const graph::edge& e : pruned) detail::append_dot_edge(out, e, true, label);
  out += "}\n";
  return out;
}

}  // namespace hocket::inline HOCKET_ABI::text
