// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Differences as CSV, graphs as DOT. DOT is read back by a reader of its own, so that no name can break out of its
// quotes.
#include <hocket/text/comparison_csv.hpp>
#include <hocket/text/graph_dot.hpp>

#include <array>
#include <string>
#include <vector>

#include "catch.hpp"

using hocket::node_id;
using hocket::graph::edge;

namespace {

hocket::graph::dag<> dag_of(std::size_t nodes, const std::vector<edge>& edges) {
  hocket::graph::dag<> g;
  REQUIRE(g.assign(nodes, edges));
  return g;
}

// The quoted strings of a DOT text with their escapes undone, and the text without them. Empty `rest` if a string is
// never closed or a line break or control character stands in one.
struct quoted {
  std::vector<std::string> strings;
  std::string rest;
};

quoted read(const std::string& dot) {
  quoted out;
  for (std::size_t i = 0; i < dot.size(); ++i) {
    if (dot[i] != '"') {
      out.rest += dot[i];
      continue;
    }
    std::string text;
    for (++i; i < dot.size() && dot[i] != '"'; ++i) {
      if (static_cast<unsigned char>(dot[i]) < 0x20 || dot[i] == 0x7f) return {};
      if (dot[i] == '\\') {
        ++i;
        text += dot[i] == 'n' ? '\n' : dot[i];
      } else {
        text += dot[i];
      }
    }
    if (i == dot.size()) return {};
    out.strings.push_back(text);
    out.rest += "TEXT";
  }
  return out;
}

}  // namespace

TEST_CASE("differences as CSV", "[text][graph]") {
  const auto ours = dag_of(5, {{0, 1}, {1, 2}, {3, 4}});
  const std::vector<edge> theirs{{1, 2}, {0, 1}, {0, 2}, {2, 3}, {4, 3}};
  const auto c = hocket::graph::compare(ours, theirs);
  REQUIRE(c);
  CHECK(hocket::text::write_comparison_csv(*c) ==
        "difference,source,target,path_in,path\n"
        "missing_order,3,4,theirs,4 3\n"
        "extra_order,2,3,theirs,2 3\n"
        "extra_order,4,3,ours,3 4\n"
        "redundant_edge,0,2,theirs,0 1 2\n");
  CHECK(hocket::text::write_comparison_csv({}) == "difference,source,target,path_in,path\n");
  const auto none = hocket::graph::compare(ours, std::vector<edge>{});
  REQUIRE(none);
  CHECK(hocket::text::write_comparison_csv(*none) ==
        "difference,source,target,path_in,path\n"
        "missing_order,0,1,ours,0 1\nmissing_order,1,2,ours,1 2\nmissing_order,3,4,ours,3 4\n");
}

TEST_CASE("a graph as DOT, before and after pruning", "[text][graph]") {
  const std::vector<edge> offered{{1, 2}, {0, 2}, {0, 1}, {0, 2}};
  const std::string head =
      "digraph hocket {\n  node [shape=box, fontname=\"sans-serif\"];\n  edge [fontname=\"sans-serif\"];\n"
      "  0 [label=\"0\"];\n  1 [label=\"1\"];\n  2 [label=\"2\"];\n";
  CHECK(hocket::text::write_dot(3, offered) == head + "  1 -> 2;\n  0 -> 2;\n  0 -> 1;\n  0 -> 2;\n}\n");
  const auto g = dag_of(3, offered);
  CHECK(hocket::text::write_dot(g) == head + "  0 -> 1;\n  1 -> 2;\n}\n");
  CHECK(hocket::text::write_dot(g, offered) ==
        head + "  0 -> 1;\n  1 -> 2;\n  0 -> 2 [style=dashed, color=gray, constraint=false];\n}\n");
  const auto why = [](const edge& e) { return e.source == 0 ? "x \"0\"" : ""; };
  CHECK(hocket::text::write_dot(g, offered, hocket::text::number_names{}, why) ==
        head +
            "  0 -> 1 [label=\"x \\\"0\\\"\"];\n  1 -> 2;\n"
            "  0 -> 2 [label=\"x \\\"0\\\"\", style=dashed, color=gray, constraint=false];\n}\n");
  CHECK(hocket::text::write_dot(0, {}) ==
        "digraph hocket {\n  node [shape=box, fontname=\"sans-serif\"];\n  edge [fontname=\"sans-serif\"];\n}\n");
}

TEST_CASE("no name breaks out of its quotes", "[text][graph]") {
  const std::array<std::string, 6> names{"plain",         "say \"hi\"\\", "]; evil -> node [label=\"x",
                                         "two\nlines\\n", "\\N\\",        "<b>\xc3\xa9</b>"};
  std::vector<edge> edges;
  for (node_id n = 1; n < names.size(); ++n) edges.push_back({n - 1, n});
  const auto name = [&](node_id n) { return names[n]; };
  const auto label = [&](const edge& e) { return names[e.source]; };
  const quoted with = read(hocket::text::write_dot(names.size(), edges, name, label));
  std::vector<std::string> expected{"sans-serif", "sans-serif"};
  expected.insert(expected.end(), names.begin(), names.end());
  expected.insert(expected.end(), names.begin(), names.end() - 1);
  CHECK(with.strings == expected);
  const quoted plain =
      read(hocket::text::write_dot(names.size(), edges, [](node_id) { return "n"; }, [](const edge&) { return "e"; }));
  CHECK(with.rest == plain.rest);

  const quoted control = read(hocket::text::write_dot(1, {}, [](node_id) { return std::string("a\x01\x7f\0b", 5); }));
  REQUIRE(control.strings.size() == 3);
  CHECK(control.strings[2] == "a???b");
}
