// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What nodes of a dump read and write, and the order that follows, against a closure that is computed here.
#include <hocket/core/message.hpp>
#include <hocket/graph/dependencies.hpp>
#include <hocket/interop/mindspore/parse_ir.hpp>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "catch.hpp"

namespace {

namespace ms = hocket::mindspore;

std::string text_of_dump(const std::string& name) {
  std::ifstream file(std::string(HOCKET_TEST_DATA) + "/mindspore/" + name + ".ir", std::ios::binary);
  REQUIRE(file);
  return {std::istreambuf_iterator<char>(file), {}};
}

using bits = std::vector<bool>;

// Who must run before whom, from the text of a dump of one graph, by another way than the library's: each %N and each
// weight that a line mentions, and for each weight who may update it.
std::vector<bits> closure_of(const std::string& text) {
  std::vector<bits> before;
  std::map<std::string, std::size_t> named;
  std::map<std::string, std::vector<std::size_t>> readers;
  std::map<std::string, std::size_t> writer;
  std::map<std::size_t, std::vector<std::string>> tuples;
  std::size_t at = text.find("\nsubgraph @");
  at = text.find('\n', at + 1) + 1;
  for (; text[at] != '}'; at = text.find('\n', at) + 1) {
    if (text.compare(at, 3, "  %") != 0 && text.compare(at, 3, "  R") != 0) continue;
    const std::string line = text.substr(at, text.find('\n', at) - at);
    const std::size_t types_at = text.find('\n', at) + 1;
    const std::string types = text.substr(types_at, text.find('\n', types_at) - types_at);
    const std::size_t equals = line.find(" = ");
    const std::size_t name_at = line[2] == '%' ? equals + 3 : 2;
    const std::size_t open = line.find('(', name_at);
    const std::string op = line.substr(name_at, open - name_at);
    std::vector<std::string> operands(1);
    int depth = 0;
    for (std::size_t i = open + 1; depth >= 0; ++i) {
      depth += line[i] == '(' || line[i] == '[';
      depth -= line[i] == ')' || line[i] == ']';
      if (depth == 0 && line[i] == ',') operands.emplace_back();
      else if (depth >= 0 && line[i] != ' ') operands.back() += line[i];
    }
    const std::size_t n = before.size();
    bits mine(n, false);
    const auto after = [&](std::size_t other) {
      mine[other] = true;
      for (std::size_t k = 0; k < other; ++k)
        if (before[other][k]) mine[k] = true;
    };
    if (op == "MakeTuple") tuples[n] = operands;
    if (op == "TupleGetItem" && named.count(operands[0]) != 0 && tuples.count(named[operands[0]]) != 0)
      operands = {tuples[named[operands[0]]][static_cast<std::size_t>(std::stoi(operands[1].substr(4)))]};
    std::size_t type_at = 0;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (named.count(operands[i]) != 0) after(named[operands[i]]);
      // The i-th type: those of operands begin with "(<" or " <" outside brackets.
      std::string key;
      for (int d = 0; type_at < types.size(); ++type_at) {
        if (types[type_at] == '<') ++d;
        if (types[type_at] == '<' && d == 1) key = types.substr(type_at);
        if (types[type_at] == '>') --d;
        if (types[type_at] == '>' && d == 0) break;
      }
      ++type_at;
      key = key.substr(
          0, key.find("> ") == std::string::npos ? key.find(">)") : (std::min)(key.find(">,"), key.find(">)")));
      if (key.rfind("<Ref[", 0) != 0) continue;
      key = key.substr(key.find("ref_key=") + 8);
      key = key.substr(0, key.find_first_of(",>"));
      if (writer.count(key) != 0) after(writer[key]);
      const bool updates =
          (op == "Adam" && i < 3) || (i == 0 && (op == "PrimFunc_Assign" || op == "PrimFunc_AssignAdd"));
      if (updates)
        for (const std::size_t r : readers[key]) after(r);
    }
    type_at = 0;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const std::size_t ref = types.find("ref_key=", type_at);
      const bool is_ref = ref != std::string::npos && ref < types.find(" -> ");
      if (!is_ref) break;
      const std::string key = types.substr(ref + 8, types.find_first_of(",>", ref) - ref - 8);
      readers[key].push_back(n);
      type_at = ref + 8;
    }
    for (std::size_t i = 0, from = 0; i < 3 && (op == "Adam" || op.rfind("PrimFunc_Assign", 0) == 0); ++i) {
      from = types.find("ref_key=", from) + 8;
      const std::string key = types.substr(from, types.find_first_of(",>", from) - from);
      writer[key] = n;
      readers[key].clear();
      if (op != "Adam") break;
    }
    if (line[2] == '%') named[line.substr(2, line.find('(') - 2)] = n;
    before.push_back(mine);
  }
  return before;
}

// A program of graphs that call each other, in circles too, and name each other's nodes and parameters. Variables:
// "w", which is updated, "a0" the parameter of graph 0, "n0_1" its second statement, "r0" its Return.
struct statement_of_graph {
  std::string text;
  std::vector<std::string> reads, writes;
  std::vector<std::size_t> calls{};  // graphs
};
using calling_graphs = std::vector<std::vector<statement_of_graph>>;

std::string number_of(std::size_t n) { return std::to_string(n); }

calling_graphs random_graphs(std::mt19937& random) {
  const auto below = [&](std::size_t n) { return std::size_t{random()} % n; };
  calling_graphs out(1 + below(4));
  const std::string w = "<Ref[Tensor[Float32]], (2), ref_key=w>";
  for (std::size_t g = 0; g < out.size(); ++g) {
    const std::string own = "a" + number_of(g), own_text = "%para" + number_of(10 + g) + "_a";
    std::size_t partial = 0, partial_of = 0, called = 0, called_of = 0;
    for (std::size_t i = 0, count = 1 + below(4); i < count; ++i) {
      const std::string name = "n" + number_of(g) + "_" + number_of(i),
                        start = "%" + number_of(i) + "(" + name + ") = ";
      const std::size_t other = below(out.size()), kind = below(9);
      statement_of_graph s{{}, {own}, {name}};
      if (kind == 0) {
        s.text = "Neg(" + own_text + ")";
      } else if (kind == 1) {
        s.text = "Neg($(@g" + number_of(other) + ":para" + number_of(10 + other) + "_a))";
        s.reads = {"a" + number_of(other)};
      } else if (kind == 2) {
        s.text = "Assign(%para1_w, " + own_text + ", UMonad[U])\n      : (" + w +
                 ", <Tensor[Float32], (2)>, <UMonad, NoShape>) -> (<Bool, NoShape>)";
        s.reads.push_back("w");
        s.writes.push_back("w");
      } else if (kind == 3) {
        s.text = "call @g" + number_of(other) + "(" + own_text + ")";
        s.calls = {other};
        called = i + 1;
        called_of = other;
      } else if (kind == 7) {  // a graph that is handed on may be called, too
        const std::size_t given = below(out.size());
        s.text = "call @g" + number_of(other) + "(@g" + number_of(given) + ", " + own_text + ")";
        s.calls = {other, given};
      } else if (kind == 8 && called > 0) {  // what a call gives is a function
        s.text = "%" + number_of(called - 1) + "(" + own_text + ")";
        s.reads.push_back("n" + number_of(g) + "_" + number_of(called - 1));
        s.calls = {called_of};
      } else if (kind == 4) {
        s.text = "Partial(@g" + number_of(other) + ", " + own_text + ")";
        s.calls = {other};
        partial = i + 1;
        partial_of = other;
      } else if (kind == 5 && partial > 0) {
        const std::string known = below(2) == 0 ? "" : "[@@g" + number_of(partial_of) + "]";
        s.text = "%" + number_of(partial - 1) + known + "(" + own_text + ")";
        s.reads.push_back("n" + number_of(g) + "_" + number_of(partial - 1));
        s.calls = {partial_of};
      } else {  // the first statement of any graph
        s.text = "Neg($(@g" + number_of(other) + ":n" + number_of(other) + "_0))";
        s.reads = {"n" + number_of(other) + "_0"};
      }
      s.text = start + s.text;
      out[g].push_back(s);
    }
    const std::size_t last = out[g].size() - 1;
    out[g].push_back(
        {"Return(%" + number_of(last) + ")", {"n" + number_of(g) + "_" + number_of(last)}, {"r" + number_of(g)}});
  }
  return out;
}

bool is_of_graph(const std::string& variable, std::size_t g) {
  return variable == "a" + number_of(g) || variable == "r" + number_of(g) ||
         variable.rfind("n" + number_of(g) + "_", 0) == 0;
}

// Whether a graph, or one that it calls, reads or writes a variable of none of the graphs on the way.
bool captures(const calling_graphs& graphs, std::size_t g, const std::string& variable, bool writes,
              std::set<std::size_t>& seen) {
  if (is_of_graph(variable, g) || !seen.insert(g).second) return false;
  for (const statement_of_graph& s : graphs[g]) {
    const auto& own = writes ? s.writes : s.reads;
    if (std::find(own.begin(), own.end(), variable) != own.end()) return true;
    for (const std::size_t other : s.calls)
      if (captures(graphs, other, variable, writes, seen)) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("the order of real dumps is the closure of their text", "[mindspore]") {
  for (const char* const name : {"select_fp16", "full_fp32", "tensor_parallel", "pipeline_rank0"}) {
    INFO(name);
    const std::string text = text_of_dump(name);
    const auto p = ms::parse_ir(text);
    REQUIRE(p);
    const auto deps = hocket::graph::dependencies(*p);
    REQUIRE(deps);
    const std::vector<bits> before = closure_of(text);
    REQUIRE(before.size() == p->node_count());
    std::size_t different = 0, ordered = 0;
    for (hocket::node_id b = 0; b < before.size(); ++b)
      for (hocket::node_id a = 0; a < b; ++a) {
        ordered += before[b][a];
        different += deps->reaches(a, b) != before[b][a];
      }
    CHECK(different == 0);
    CHECK(ordered > before.size());
    // The reduction: what is ordered with nothing in between.
    std::vector<hocket::graph::edge> kept;
    for (hocket::node_id a = 0; a < before.size(); ++a)
      for (hocket::node_id b = a + 1; b < before.size(); ++b) {
        bool direct = before[b][a];
        for (hocket::node_id k = a + 1; direct && k < b; ++k) direct = !(before[k][a] && before[b][k]);
        if (direct) kept.push_back({a, b});
      }
    CHECK(deps->graph().edges() == kept);
  }
}

TEST_CASE("ops that update in place come after the readers of the old value", "[mindspore]") {
  const auto p = ms::parse_ir(text_of_dump("select_fp32"));
  REQUIRE(p);
  const auto deps = hocket::graph::dependencies(*p);
  REQUIRE(deps);
  std::size_t adams = 0;
  for (hocket::node_id n = 0; n < p->node_count(); ++n) {
    const std::string_view primitive = p->primitive(n);
    if (primitive == "Adam") ++adams;
    const std::size_t expected = primitive == "Adam" ? 4 : primitive.starts_with("Assign") ? 2 : 1;
    CHECK(p->writes(n).size() == expected);
    if (primitive != "Load") continue;
    const auto weight = p->variable_of_parameter(p->operands(n)[0].value);
    for (hocket::node_id other = 0; other < p->node_count(); ++other)
      if (const auto w = p->writes(other); std::find(w.begin(), w.end(), weight) != w.end())
        CHECK((deps->reaches(n, other) || deps->reaches(other, n)));
  }
  CHECK(adams == 21);
}

TEST_CASE("an element of a tuple does not wait for the others", "[mindspore]") {
  const auto p = ms::parse_ir(
      "%0(a) = Neg(%9)\n%1(b) = Abs(%9)\n%2(t) = MakeTuple(%0, %1)\n%3(x) = TupleGetItem(%2, I64(1))\n%4(y) = "
      "Neg(%3)\n");
  REQUIRE(p);
  const auto deps = hocket::graph::dependencies(*p);
  REQUIRE(deps);
  CHECK(deps->reaches(1, 4));
  CHECK_FALSE(deps->reaches(0, 4));
}

TEST_CASE("a call has the effects of the graphs behind it", "[mindspore]") {
  const auto p = ms::parse_ir(
      "# IR entry: @main\n# Total subgraphs: 3\n# Total params: 2\n# Params:\n"
      "%para1_w: <Ref[Tensor[Float32]], (2), ref_key=w>\n%para2_x: <Tensor[Float32], (2)>\n"
      "subgraph @inner parent: [subgraph @main](%para3_v) {\n"
      "  %0(a) = Assign($(@main:para1_w), %para3_v, UMonad[U])\n"
      "      : (<Ref[Tensor[Float32]], (2), ref_key=w>, <Tensor[Float32], (2)>, <UMonad, NoShape>) -> (<Bool, "
      "NoShape>)\n"
      "  Return(%0)\n"
      "}\n"
      "subgraph @middle parent: [subgraph @main](%para4_v) {\n"
      "  %0(b) = call @inner($(@main:seen))\n"
      "  Return(%0)\n"
      "}\n"
      "subgraph @main() {\n"
      "  %0(seen) = Neg(%para2_x)\n"
      "  %1(first) = Load(%para1_w, UMonad[U])\n"
      "      : (<Ref[Tensor[Float32]], (2), ref_key=w>, <UMonad, NoShape>) -> (<Tensor[Float32], (2)>)\n"
      "  %2(f) = Partial(@middle, %para2_x)\n"
      "  %3(second) = Load(%para1_w, UMonad[U])\n"
      "      : (<Ref[Tensor[Float32]], (2), ref_key=w>, <UMonad, NoShape>) -> (<Tensor[Float32], (2)>)\n"
      "  %4(called) = %2()\n"
      "  Return(%4)\n"
      "}\n");
  if (!p) FAIL(message(p.error()));
  const auto deps = hocket::graph::dependencies(*p);
  REQUIRE(deps);
  CHECK(deps->reaches(0, 2));  // what the inner graph captures
  CHECK(deps->reaches(1, 4));  // both loads see the weight before the call may update it
  CHECK(deps->reaches(3, 4));
  CHECK(deps->reaches(2, 4));
  CHECK_FALSE(deps->reaches(0, 1));
}

TEST_CASE("a call of one function of several has the effects of each", "[mindspore]") {
  const std::string branches =
      "# IR entry: @main\n# Total subgraphs: 3\n# Total params: 2\n# Params:\n"
      "%para1_w: <Ref[Tensor[Float32]], (2), ref_key=w>\n%para2_x: <Tensor[Float32], (2)>\n"
      "subgraph @yes parent: [subgraph @main]() {\n"
      "  %0(a) = Assign($(@main:para1_w), %para2_x, UMonad[U])\n"
      "      : (<Ref[Tensor[Float32]], (2), ref_key=w>, <Tensor[Float32], (2)>, <UMonad, NoShape>) -> (<Bool, "
      "NoShape>)\n"
      "  Return(%0)\n"
      "}\n"
      "subgraph @no parent: [subgraph @main]() {\n"
      "  %0(b) = Neg($(@main:seen))\n"
      "  Return(%0)\n"
      "}\n"
      "subgraph @main() {\n"
      "  %0(seen) = Neg(%para2_x)\n"
      "  %1(first) = Load(%para1_w, UMonad[U])\n"
      "      : (<Ref[Tensor[Float32]], (2), ref_key=w>, <UMonad, NoShape>) -> (<Tensor[Float32], (2)>)\n";
  const std::string by_switch =
      "  %2(f) = Switch(%para2_x, @yes, @no)\n  %3(called) = %2[@FuncUnion(@yes, @no)]()\n  Return(%3)\n}\n";
  const std::string by_parameter =
      "  %2(f) = Neg(%para2_x)\n  %3(called) = Parameter_5[@FuncUnion(@yes, @no)](%2)\n  Return(%3)\n}\n";
  for (const std::string& end : {by_switch, by_parameter}) {
    INFO(end);
    const auto p = ms::parse_ir(branches + end);
    if (!p) FAIL(message(p.error()));
    CHECK(p->primitive(p->node_count() - 2) == "call");
    const auto deps = hocket::graph::dependencies(*p);
    REQUIRE(deps);
    CHECK(deps->reaches(0, 3));  // what the second captures
    CHECK(deps->reaches(1, 3));  // the load sees the weight before the first may update it
    CHECK_FALSE(deps->reaches(0, 1));
  }
  // 2.10.0: the overflow branch of loss scaling, and an `if` and a `while` of the network.
  for (const char* const name : {"loss_scale", "control_flow"}) {
    std::ifstream in(std::string(HOCKET_TEST_DATA) + "/mindspore/" + name + ".ir", std::ios::binary);
    const auto p = ms::parse_ir(std::string(std::istreambuf_iterator<char>(in), {}));
    if (!p) FAIL(message(p.error()));
    CHECK(p->graphs().size() > 2);
    CHECK(hocket::graph::dependencies(*p));
  }
}

TEST_CASE("a call reads and writes what the graphs behind it capture, however they call each other", "[mindspore]") {
  std::mt19937 random(31);
  for (int round = 0; round < 500; ++round) {
    const calling_graphs graphs = random_graphs(random);
    std::vector<std::size_t> printed(graphs.size());  // the order of the dump
    for (std::size_t g = 0; g < printed.size(); ++g) printed[g] = g;
    std::shuffle(printed.begin(), printed.end(), random);
    std::string text = "# IR entry: @g0\n%para1_w: <Ref[Tensor[Float32]], (2), ref_key=w>\n";
    std::vector<std::string> names, parameters{"w"};  // of variables, as the program numbers them
    std::vector<std::pair<std::size_t, const statement_of_graph*>> nodes;
    for (const std::size_t g : printed) {
      parameters.push_back("a" + number_of(g));
      text += "subgraph @g" + number_of(g) + "(%para" + number_of(10 + g) + "_a) {\n";
      for (const statement_of_graph& s : graphs[g]) {
        text += "  " + s.text + "\n";
        names.push_back(s.writes[0]);
        nodes.emplace_back(g, &s);
      }
      text += "}\n";
    }
    INFO(text);
    const auto p = ms::parse_ir(text);
    if (!p) FAIL(message(p.error()));
    REQUIRE(p->node_count() == names.size());
    names.insert(names.end(), parameters.begin(), parameters.end());
    REQUIRE(p->variable_count() == names.size());
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      const auto& [g, s] = nodes[n];
      std::set<std::string> reads(s->reads.begin(), s->reads.end()), writes(s->writes.begin(), s->writes.end());
      for (std::size_t v = 0; v < names.size(); ++v)
        for (const std::size_t other : s->calls) {
          std::set<std::size_t> seen_reading, seen_writing;
          const bool is_later = v >= n && v < nodes.size() && is_of_graph(names[v], g);  // of the same graph
          if (!is_later && captures(graphs, other, names[v], false, seen_reading)) reads.insert(names[v]);
          if (captures(graphs, other, names[v], true, seen_writing)) writes.insert(names[v]);
        }
      std::set<std::string> found_reads, found_writes;
      for (const std::uint32_t v : p->reads(n)) found_reads.insert(names[v]);
      for (const std::uint32_t v : p->writes(n)) found_writes.insert(names[v]);
      CHECK(found_reads == reads);
      CHECK(found_writes == writes);
      CHECK(p->reads(n).size() == reads.size());
      CHECK(p->writes(n).size() == writes.size());
    }
  }
}

TEST_CASE("a function that a function gives, up to seven times, has the effects of the first", "[mindspore]") {
  std::string text =
      "# IR entry: @main\nsubgraph @g() {\n  %0(a) = Neg($(@main:seen))\n  Return(%0)\n}\n"
      "subgraph @main() {\n  %0(seen) = Neg(I64(1))\n  %1(f) = call @g()\n";
  for (int n = 2; n < 9; ++n) text += "  %" + std::to_string(n) + "(f) = %" + std::to_string(n - 1) + "()\n";
  const auto p = ms::parse_ir(text + "  Return(%8)\n}\n");
  REQUIRE(p);
  for (std::size_t n = 3; n < 11; ++n) {  // main's nodes from the call on, behind two of g
    const auto reads = p->reads(n);
    CHECK(std::find(reads.begin(), reads.end(), 2u) != reads.end());
  }
}

TEST_CASE("a small text cannot ask for captured variables without end", "[mindspore]") {
  // A chain of 8193 graphs, each calling the one before, the first of which reads 2^13 values of the entry.
  constexpr int values = 1 << 13;
  std::string text = "# IR entry: @main\nsubgraph @g0() {\n";
  for (int i = 0; i < values; ++i)
    text += "  %" + std::to_string(i) + "(o) = Neg($(@main:v" + std::to_string(i) + "))\n";
  text += "  Return(%0)\n}\n";
  for (int g = 1; g <= values; ++g)
    text +=
        "subgraph @g" + std::to_string(g) + "() {\n  %0(c) = call @g" + std::to_string(g - 1) + "()\n  Return(%0)\n}\n";
  text += "subgraph @main() {\n";
  for (int i = 0; i < values; ++i) text += "  %" + std::to_string(i) + "(v" + std::to_string(i) + ") = Neg(I64(1))\n";
  text += "  Return(%0)\n}\n";
  const auto p = ms::parse_ir(text);
  REQUIRE_FALSE(p);
  CHECK(message(p.error()) == "variables that called graphs capture: 67117056 exceeds the limit of 67108864");
}
