// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls that are followed, against programs written out by hand and by a second way of expanding them.
#include <hocket/core/message.hpp>
#include <hocket/interop/mindspore/follow_calls.hpp>
#include <hocket/interop/mindspore/parse_ir.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "catch.hpp"

namespace {

namespace ms = hocket::mindspore;

ms::followed_program followed(const std::string& text, const ms::follow_options& options = {}) {
  const auto p = ms::parse_ir(text);
  if (!p) FAIL(message(p.error()));
  auto out = ms::follow_calls(*p, options);
  if (!out) FAIL(message(out.error()));
  return std::move(*out);
}

// The ops of a program with what each reads, variables by number.
std::string described(const ms::ir_program& p) {
  std::string out;
  for (std::uint32_t n = 0; n < p.node_count(); ++n) {
    out += std::string(p.primitive(n)) + ":";
    for (const std::uint32_t v : p.reads(n)) out += " " + std::to_string(v);
    out += " ->";
    for (const std::uint32_t v : p.writes(n)) out += " " + std::to_string(v);
    out += "\n";
  }
  return out;
}

const std::string head = "# IR entry: @main\n";
std::string graph(const std::string& heading, const std::string& body) {
  return "subgraph @" + heading + " {\n" + body + "}\n";
}

// A graph of a made-up program: statement i reads two values, or calls a later graph with them. A value is a parameter
// (0, 1) or a statement's result (2 on).
struct statement {
  int callee = -1;
  int left = 0, right = 0;
};
using made_graph = std::vector<statement>;

std::string written(int g, const made_graph& statements, bool is_main) {
  const std::string base = "%para" + std::to_string(10 * g + 1), other = "%para" + std::to_string(10 * g + 2);
  const auto value = [&](int v) { return v == 0 ? base + "_a" : v == 1 ? other + "_b" : "%" + std::to_string(v - 2); };
  std::string body;
  for (std::size_t i = 0; i < statements.size(); ++i) {
    const statement& s = statements[i];
    const std::string op = s.callee < 0 ? "Op" + std::to_string(g) : "call @g" + std::to_string(s.callee);
    body += "  %" + std::to_string(i) + "(n) = " + op + "(" + value(s.left) + ", " + value(s.right) + ")\n";
  }
  body += "  Return(%" + std::to_string(statements.size() - 1) + ")\n";
  return is_main ? graph("main()", body) : graph("g" + std::to_string(g) + "(" + base + "_a, " + other + "_b)", body);
}

// The same program with every call written out, in one graph: the number of the result.
int expand(const std::vector<made_graph>& graphs, int g, const std::string& a, const std::string& b, std::string& body,
           int& count, std::string& result) {
  std::vector<std::string> values{a, b};
  for (const statement& s : graphs[static_cast<std::size_t>(g)]) {
    const std::string left = values[static_cast<std::size_t>(s.left)],
                      right = values[static_cast<std::size_t>(s.right)];
    if (s.callee >= 0) {
      std::string inner;
      expand(graphs, s.callee, left, right, body, count, inner);
      values.push_back(inner);
      continue;
    }
    body += "  %" + std::to_string(count) + "(n) = Op" + std::to_string(g) + "(" + left + ", " + right + ")\n";
    values.push_back("%" + std::to_string(count++));
  }
  result = values.back();
  return count;
}

// A program with whatever calls may be: of a graph, or of a function that was given its first operand; graphs that read
// a value of the graph around them; tuples that are handed on and taken apart. Values of a graph: 0 and 1 its
// parameters, then its statements.
struct step {
  enum class kind { op, outer, call, partial, value_call, tuple, item } what = kind::op;
  std::size_t left = 0, right = 0;
  std::size_t graph = 0;  // that is called, or whose first statement is read
};
struct nested_graph {
  std::size_t parent = 0;  // its own number: the entry
  std::vector<step> steps{};
};
struct nested_program {
  std::vector<nested_graph> graphs{};
  std::string text{};
  std::map<std::int64_t, int> tag_of_line{};

  [[nodiscard]] std::vector<std::size_t> around(std::size_t g) const {  // and itself
    std::vector<std::size_t> out{g};
    while (graphs[out.back()].parent != out.back()) out.push_back(graphs[out.back()].parent);
    return out;
  }
};

std::string operation_of(const step& s, std::size_t g, const std::string& left, const std::string& right) {
  const std::string both = "(" + left + ", " + right + ")", graph = "@g" + std::to_string(s.graph);
  switch (s.what) {
    case step::kind::op: return "Op" + std::to_string(g) + both;
    case step::kind::outer:
      return "Op" + std::to_string(g) + "(" + left + ", $(" + graph + ":v" + std::to_string(s.graph) + "))";
    case step::kind::call: return "call " + graph + both;
    case step::kind::partial: return "Partial(" + graph + ", " + left + ")";
    case step::kind::value_call: return left + "(" + right + ")";
    case step::kind::tuple: return "MakeTuple" + both;
    default: return "TupleGetItem(" + left + ", I64(" + std::to_string(s.right) + "))";
  }
}

void write(nested_program& p) {
  std::int64_t line = 1;
  int tag = 0;
  const auto add = [&](const std::string& text) {
    p.text += text + "\n";
    ++line;
  };
  add("# IR entry: @g0");
  add("%para1_a: <Tensor[Int8], (2)>");
  add("%para2_b: <Tensor[Int8], (2)>");
  for (std::size_t g = 0; g < p.graphs.size(); ++g) {
    const std::string a = "%para" + std::to_string(10 * g + 1) + "_a", b = "%para" + std::to_string(10 * g + 2) + "_b";
    const auto value = [&](std::size_t v) { return v == 0 ? a : v == 1 ? b : "%" + std::to_string(v - 2); };
    add("subgraph @g" + std::to_string(g) + (g == 0 ? "() {" : "(" + a + ", " + b + ") {"));
    const auto& steps = p.graphs[g].steps;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const std::string name = i == 0 ? "v" + std::to_string(g) : "n" + std::to_string(i);
      const std::string type = "<Tensor[Int8], (" + std::to_string(++tag) + ")>";
      p.tag_of_line[line] = tag;
      const std::string right = steps[i].what == step::kind::item ? "" : value(steps[i].right);
      add("  %" + std::to_string(i) + "(" + name + ") = " + operation_of(steps[i], g, value(steps[i].left), right) +
          " cnode_attrs: {tag: I64(" + std::to_string(tag) + ")}");
      const bool has_one = steps[i].what == step::kind::value_call;
      add("      : (" + type + (has_one ? ")" : ", " + type + ")") + " -> (" + type + ")");
    }
    add("  Return(%" + std::to_string(steps.size() - 1) + ")");
    add("}");
  }
}

nested_program random_nested(std::mt19937& random) {
  const auto below = [&](std::size_t n) { return std::size_t{random()} % n; };
  nested_program out;
  const std::size_t count = 1 + below(5);
  for (std::size_t g = 0; g < count; ++g) {
    out.graphs.push_back({g == 0 ? 0 : below(g)});
    out.graphs.back().steps.push_back({});
  }
  std::vector<bool> gives_tuple(count, false);
  for (std::size_t g = count; g-- > 0;) {
    auto& steps = out.graphs[g].steps;
    const auto around = out.around(g);
    std::vector<std::size_t> callable, plain{0, 1, 2}, tuples;
    for (std::size_t other = g + 1; other < count; ++other)
      if (std::find(around.begin(), around.end(), out.graphs[other].parent) != around.end()) callable.push_back(other);
    for (std::size_t more = below(5); more > 0; --more) {
      step s{.left = plain[below(plain.size())], .right = plain[below(plain.size())]};
      const std::size_t kind = below(7);
      if (kind == 1 && around.size() > 1) {
        s.what = step::kind::outer;
        s.graph = around[1 + below(around.size() - 1)];
      } else if ((kind == 2 || kind == 3) && !callable.empty()) {
        s.what = kind == 2 ? step::kind::call : step::kind::partial;
        s.graph = callable[below(callable.size())];
        if (kind == 3) {
          steps.push_back(s);
          s = {step::kind::value_call, steps.size() + 1, s.right, s.graph};
        }
      } else if (kind == 4) {
        s.what = step::kind::tuple;
      } else if (kind > 4 && !tuples.empty()) {
        s = {step::kind::item, tuples[below(tuples.size())], below(2)};
      }
      const bool is_tuple = s.what == step::kind::tuple ||
                            ((s.what == step::kind::call || s.what == step::kind::value_call) && gives_tuple[s.graph]);
      steps.push_back(s);
      (is_tuple ? tuples : plain).push_back(steps.size() + 1);
    }
    gives_tuple[g] = !tuples.empty() && tuples.back() == steps.size() + 1;
  }
  write(out);
  return out;
}

// What the program gives, by running it call by call. Equal numbers are equal expressions of the entry's parameters.
struct expressions {
  std::map<std::string, int> known;
  std::map<int, std::vector<int>> elements;  // of tuples
  int of(const std::string& op, const std::vector<int>& operands) {
    std::string text = op;
    for (const int o : operands) text += " " + std::to_string(o);
    const int number = known.emplace(text, static_cast<int>(known.size())).first->second;
    if (op == "MakeTuple") elements[number] = operands;
    return number;
  }
};
struct interpreter {
  const nested_program& program;
  expressions& all;
  std::map<std::size_t, int> first{};  // statement of each graph that runs
  std::size_t calls = 0;
  std::set<std::size_t> reached{};

  int run(std::size_t g, int a, int b) {
    reached.insert(g);
    std::vector<int> values{a, b};
    for (const step& s : program.graphs[g].steps) {
      const std::string op = "Op" + std::to_string(g);
      const auto left = s.what == step::kind::value_call ? 0 : values[s.left];
      switch (s.what) {
        case step::kind::op: values.push_back(all.of(op, {left, values[s.right]})); break;
        case step::kind::outer: values.push_back(all.of(op, {left, first.at(s.graph)})); break;
        case step::kind::call:
          ++calls;
          values.push_back(run(s.graph, left, values[s.right]));
          break;
        case step::kind::partial: values.push_back(left); break;  // what is called with it
        case step::kind::value_call:
          ++calls;
          values.push_back(run(s.graph, values[s.left], values[s.right]));
          break;
        case step::kind::tuple: values.push_back(all.of("MakeTuple", {left, values[s.right]})); break;
        case step::kind::item: values.push_back(all.elements.at(left)[s.right]); break;
      }
      if (values.size() == 3) first[g] = values.back();
    }
    return values.back();
  }
};

}  // namespace

TEST_CASE("calls of calls give what the program written out gives", "[mindspore]") {
  std::mt19937 random(23);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  for (int round = 0; round < 300; ++round) {
    const int count = 1 + below(5);
    std::vector<made_graph> graphs(static_cast<std::size_t>(count));
    for (int g = 0; g < count; ++g) {
      const int length = 1 + below(4);
      for (int i = 0; i < length; ++i) {
        const bool calls = g + 1 < count && below(2) == 0;
        const int callee = calls ? g + 1 + below(count - g - 1) : -1;
        const int left = below(2 + i);
        graphs[static_cast<std::size_t>(g)].push_back({callee, left, below(2 + i)});
      }
    }
    const std::string parameters = "%para1_a: <Tensor[Int8], (2)>\n%para2_b: <Tensor[Int8], (2)>\n";
    std::string text = head + parameters, body, result;
    for (int g = 0; g < count; ++g) text += written(g, graphs[static_cast<std::size_t>(g)], g == 0);
    int nodes = 0;
    expand(graphs, 0, "%para1_a", "%para2_b", body, nodes, result);
    const auto plain = ms::parse_ir(head + parameters + graph("main()", body + "  Return(" + result + ")\n"));
    REQUIRE(plain);
    const auto whole = followed(text);
    CHECK(described(whole.program) == described(*plain));
    CHECK(whole.remaining_count == 0);
    CHECK(whole.program.graphs().size() == 1);
  }
}

TEST_CASE("a program computes the same when its calls are followed, whatever the calls", "[mindspore]") {
  std::mt19937 random(29);
  std::size_t all_calls = 0;
  for (int round = 0; round < 1000; ++round) {
    const nested_program made = random_nested(random);
    INFO(made.text);
    expressions all;
    interpreter runs{made, all};
    const int a = all.of("a", {}), b = all.of("b", {});
    const int expected = runs.run(0, a, b);
    const auto whole = followed(made.text);
    const ms::ir_program& p = whole.program;
    CHECK(whole.followed_count == runs.calls);
    CHECK(whole.remaining_count == 0);
    std::size_t unreached = 0;
    for (std::size_t g = 0; g < made.graphs.size(); ++g)
      if (runs.reached.count(g) == 0) unreached += made.graphs[g].steps.size() + 1;
    CHECK(whole.left_out_count == unreached);
    all_calls += runs.calls;
    using kind = ms::ir_operand::kind;
    const auto variable = [&](const ms::ir_operand& o) {
      return o.what == kind::node ? o.value : p.variable_of_parameter(o.value);
    };
    std::vector<int> values;
    for (std::uint32_t n = 0; n < p.node_count(); ++n) {
      const auto operands = p.operands(n);
      const std::string op(p.primitive(n));
      std::vector<int> given;
      std::set<std::uint32_t> reads;
      for (const auto& o : operands) {
        if (o.what == kind::node) given.push_back(values[o.value]);
        if (o.what == kind::parameter) given.push_back(o.value == 0 ? a : b);
        if (o.what == kind::node || o.what == kind::parameter) reads.insert(variable(o));
      }
      if (op == "TupleGetItem") {
        const std::size_t element = p.text(operands[1].value) == "I64(0)" ? 0 : 1;
        reads = {variable(p.operands(operands[0].value)[element])};
        values.push_back(all.elements.at(given[0])[element]);
      } else {
        values.push_back(op == "Return" ? given.at(0) : all.of(op, given));
      }
      const auto found = p.reads(n);
      if (op != "Partial") CHECK(std::set<std::uint32_t>(found.begin(), found.end()) == reads);
      CHECK(found.size() == std::set<std::uint32_t>(found.begin(), found.end()).size());
      const auto writes = p.writes(n);
      CHECK(std::vector<std::uint32_t>(writes.begin(), writes.end()) == std::vector<std::uint32_t>{n});
      CHECK(p.node(n).graph == 0);
      CHECK(p.node(n).number == n);
      if (op == "Return") continue;
      // A node keeps its line, types and attributes.
      const int tag = made.tag_of_line.at(p.node(n).line);
      CHECK(p.output_bytes(n) == tag);
      CHECK(p.attribute(n, "tag") == "I64(" + std::to_string(tag) + ")");
      CHECK(p.input_types(n).size() == operands.size());
    }
    CHECK(values.back() == expected);
    CHECK(p.graphs()[0].node_count == p.node_count());
    CHECK(p.graphs()[0].first_node == 0);
  }
  CHECK(all_calls > 400);
}

TEST_CASE("a tuple that a call gives is taken apart", "[mindspore]") {
  const auto whole =
      followed(head + graph("main()", "  %0(n) = call @g(I64(1))\n  %1(n) = TupleGetItem(%0, I64(1))\n  Return(%1)\n") +
               graph("g(%para3_x)",
                     "  %0(n) = Exp(%para3_x)\n  %1(n) = Log(%para3_x)\n  %2(n) = MakeTuple(%0, %1)\n  Return(%2)\n"));
  CHECK(described(whole.program) ==
        "Exp: -> 0\nLog: -> 1\nMakeTuple: 0 1 -> 2\nTupleGetItem: 1 -> 3\nReturn: 3 -> 4\n");
  CHECK(whole.followed_count == 1);
}

TEST_CASE("a forward pass whose gradient is not taken yet stands there once", "[mindspore]") {
  const std::string g = graph("g(%para3_x, %para4_u)", "  %0(n) = Exp(%para3_x)\n  Return(%0)\n");
  const std::string body =
      "  %0(n) = Neg(I64(1))\n  %1(n) = call @g(%0, UMonad[U])\n  %2(n) = UpdateState(UMonad[U], %1)\n  %3(n) = J(@g)\n"
      "  %4(n) = %3(%0, %2)\n  %5(n) = TupleGetItem(%4, I64(1))\n  %6(n) = %5(%0)\n  Return(%6)\n";
  const auto whole = followed(head + graph("main()", body) + g);
  CHECK(described(whole.program) ==
        "Neg: -> 0\nExp: 0 -> 1\nUpdateState: 1 -> 2\nJ: -> 3\ncall: 0 1 2 3 -> 4\n"
        "TupleGetItem: 4 -> 5\ncall: 0 5 -> 6\nReturn: 6 -> 7\n");
  CHECK(whole.followed_count == 2);
  CHECK(whole.remaining_count == 1);
  // Given something else, it is another pass.
  std::string other = body;
  other.replace(other.find("%3(%0, %2)"), 10, "%3(%1, %2)");
  CHECK(described(followed(head + graph("main()", other) + g).program).find("Exp: 1 -> 4") != std::string::npos);
}

TEST_CASE("what cannot be followed stays a call, and what is too large is refused", "[mindspore]") {
  const std::string loop = head + graph("main()", "  %0(n) = call @g(I64(1))\n  Return(%0)\n") +
                           graph("g(%para3_x)", "  %0(n) = Exp(%para3_x)\n  %1(n) = call @g(%0)\n  Return(%1)\n");
  const auto whole = followed(loop);
  CHECK(whole.followed_count == 1);
  CHECK(whole.remaining_count == 1);
  CHECK(described(whole.program) == "Exp: -> 0\ncall: 0 -> 1\nReturn: 1 -> 2\n");
  CHECK(whole.program.node(1).is_call);
  CHECK(whole.program.node(1).callee == hocket::no_id);  // there is one graph
  const auto unused = followed(head + graph("main()", "  Return(I64(1))\n") +
                               graph("g(%para3_x)", "  %0(n) = Exp(%para3_x)\n  Return(%0)\n"));
  CHECK(unused.left_out_count == 2);
  // A piece of a dump has one graph, and what is outside stays there.
  const std::string piece = "%3(a) = Add(%1, %para1_x)\n%4(b) = Add(%3, %2)\n%5(c) = Add(%1, %para2_y)\n";
  CHECK(described(followed(piece).program) == described(*ms::parse_ir(piece)));
  CHECK(described(followed(piece).program) == "Add: 3 4 -> 0\nAdd: 0 5 -> 1\nAdd: 3 6 -> 2\n");
  CHECK(followed(head + graph("g(%para3_x)", "  Return(%para3_x)\n") + graph("main()", "  Return(I64(1))\n"))
            .left_out_count == 1);
  // 30 graphs, each calling the next twice: 2^30 nodes.
  std::string text = head;
  for (int g = 0; g < 30; ++g) {
    const std::string next = "  %0(n) = call @g" + std::to_string(g + 1) + "()\n  %1(n) = call @g" +
                             std::to_string(g + 1) + "()\n  %2(n) = Add(%0, %1)\n  Return(%2)\n";
    text += graph(g == 0 ? "main()" : "g" + std::to_string(g) + "()", next);
  }
  text += graph("g30()", "  %0(n) = Exp(I64(1))\n  Return(%0)\n");
  const auto p = ms::parse_ir(text);
  REQUIRE(p);
  const auto refused = ms::follow_calls(*p, {.max_nodes = 1000});
  REQUIRE(!refused);
  CHECK(message(refused.error()) == "nodes with all calls followed: 1001 exceeds the limit of 1000");
}

TEST_CASE("a short dump whose calls double takes memory by its length", "[mindspore]") {
  const auto doubling = [](int graphs) {
    std::string text = head;
    for (int g = 0; g < graphs; ++g) {
      const std::string next = std::to_string(g + 1);
      text += graph(g == 0 ? "main()" : "g" + std::to_string(g) + "()",
                    "  %0(n) = call @g" + next + "()\n  %1(n) = call @g" + next + "()\n  Return(%1)\n");
    }
    return text + graph("g" + std::to_string(graphs) + "()", "  %0(n) = Exp(I64(1))\n  Return(%0)\n");
  };
  const auto p = ms::parse_ir(doubling(25));  // 2^25 nodes of Exp
  REQUIRE(p);
  const auto refused = ms::follow_calls(*p);
  REQUIRE(!refused);
  const std::string most = std::to_string((1 << 20) + 256 * p->node_count());
  CHECK(message(refused.error()) ==
        "nodes with all calls followed: " + std::to_string((1 << 20) + 256 * p->node_count() + 1) +
            " exceeds the limit of " + most);
  const auto small = ms::parse_ir(doubling(15));
  REQUIRE(small);
  CHECK(ms::follow_calls(*small)->program.node_count() == (1u << 15) + 1);
}

TEST_CASE("calls are followed to a depth, and to as many nodes as the option says", "[mindspore]") {
  // 300 graphs, each with an op and a call of the next.
  std::string text = head;
  for (int g = 0; g < 300; ++g)
    text += graph(g == 0 ? "main()" : "g" + std::to_string(g) + "()",
                  "  %0(n) = Neg(I64(1))\n  %1(n) = call @g" + std::to_string(g + 1) + "()\n  Return(%1)\n");
  text += graph("g300()", "  %0(n) = Exp(I64(1))\n  Return(%0)\n");
  const auto deep = followed(text);
  CHECK(deep.followed_count == 255);
  CHECK(deep.remaining_count == 1);
  CHECK(deep.left_out_count == 44 * 3 + 2);
  CHECK(deep.program.node_count() == 256 + 2);  // ops, the call that remains, and main's Return
  const auto p = ms::parse_ir(text);
  REQUIRE(p);
  CHECK(ms::follow_calls(*p, {.max_nodes = 258}));
  const auto refused = ms::follow_calls(*p, {.max_nodes = 257});
  REQUIRE(!refused);
  CHECK(message(refused.error()) == "nodes with all calls followed: 258 exceeds the limit of 257");
}

TEST_CASE("which functions are known, call by call", "[mindspore]") {
  const std::string g = graph("g(%para3_x, %para4_y)", "  %0(n) = Exp(%para3_x, %para4_y)\n  Return(%0)\n"),
                    h = graph("h(%para5_x)", "  %0(n) = Log(%para5_x)\n  Return(%0)\n");
  const auto result = [&](const std::string& body) {
    const auto whole =
        followed(head + "%para1_f: <Func, NoShape>\n" + graph("main()", "  %0(n) = Neg(I64(1))\n" + body) + g + h);
    return described(whole.program) + std::to_string(whole.followed_count) + " followed, " +
           std::to_string(whole.remaining_count) + " remain\n";
  };
  const std::string neg = "Neg: -> 0\n";
  // A function with all of its operands, with one of them, with none.
  CHECK(result("  %1(n) = Partial(@g, %0, %0)\n  %2(n) = %1()\n  Return(%2)\n") ==
        neg + "Partial: 0 -> 1\nExp: 0 -> 2\nReturn: 2 -> 3\n1 followed, 0 remain\n");
  CHECK(result("  %1(n) = Partial(@g)\n  %2(n) = %1(%0, I64(2))\n  Return(%2)\n") ==
        neg + "Partial: -> 1\nExp: 0 -> 2\nReturn: 2 -> 3\n1 followed, 0 remain\n");
  // Too few operands are a constant, as far as is known.
  CHECK(result("  %1(n) = call @g()\n  Return(%1)\n") == neg + "Exp: -> 1\nReturn: 1 -> 2\n1 followed, 0 remain\n");
  // Which of two is called is not decided; nor what a parameter, a result or nothing at all is.
  CHECK(result("  %1(n) = Switch(%0, @g, @h)\n  %2(n) = %1(%0)\n  Return(%2)\n") ==
        neg + "Switch: 0 -> 1\ncall: 0 1 -> 2\nReturn: 2 -> 3\n0 followed, 1 remain\n");
  CHECK(result("  %1(n) = Partial(%0)\n  %2(n) = %1(%0)\n  Return(%2)\n") ==
        neg + "Partial: 0 -> 1\ncall: 0 1 -> 2\nReturn: 2 -> 3\n0 followed, 1 remain\n");
  CHECK(result("  %1(n) = Partial()\n  %2(n) = %1(%0)\n  Return(%2)\n") ==
        neg + "Partial: -> 1\ncall: 0 1 -> 2\nReturn: 2 -> 3\n0 followed, 1 remain\n");
  CHECK(result("  %1(n) = %para1_f(%0)\n  Return(%1)\n") ==
        neg + "call: 0 3 -> 1\nReturn: 1 -> 2\n0 followed, 1 remain\n");
  // Of two functions that which is called.
  CHECK(
      result("  %1(n) = Partial(@g, %0)\n  %2(n) = Partial(@h)\n  %3(n) = %2(%0)\n  %4(n) = %1(%3)\n  Return(%4)\n") ==
      neg + "Partial: 0 -> 1\nPartial: -> 2\nLog: 0 -> 3\nExp: 0 3 -> 4\nReturn: 4 -> 5\n2 followed, 0 remain\n");
  // An element beyond the tuple, or one whose number is not told, is read from the tuple.
  const std::string tuple = "  %1(n) = MakeTuple(%0, I64(2))\n";
  CHECK(result(tuple + "  %2(n) = TupleGetItem(%1, I64(0))\n  Return(%2)\n") ==
        neg + "MakeTuple: 0 -> 1\nTupleGetItem: 0 -> 2\nReturn: 2 -> 3\n0 followed, 0 remain\n");
  for (const char* const index : {"I64(2)", "I64(x)", "%0"}) {
    const std::string also = std::string(index) == "%0" ? "0 1" : "1";
    CHECK(result(tuple + "  %2(n) = TupleGetItem(%1, " + index + ")\n  Return(%2)\n") ==
          neg + "MakeTuple: 0 -> 1\nTupleGetItem: " + also + " -> 2\nReturn: 2 -> 3\n0 followed, 0 remain\n");
  }
}

TEST_CASE("effects of a graph are those of its nodes where it is called", "[mindspore]") {
  const std::string ref = "<Ref[Tensor[Float32]], (2), ref_key=w>";
  const auto whole =
      followed(head + "%para1_w: " + ref + "\n" +
               graph("main()", "  %0(n) = call @g(%para1_w, I64(1))\n  %1(n) = Neg(%0)\n  Return(%1)\n") +
               graph("g(%para3_v, %para4_x)", "  %0(n) = Assign(%para3_v, %para4_x, UMonad[U])\n      : (" + ref +
                                                  ", <Tensor[Float32], (2)>, <UMonad, NoShape>) -> (<Bool, NoShape>)\n"
                                                  "  %1(n) = Load(%para3_v, UMonad[U])\n  Return(%1)\n"));
  // Variables: nodes 0 to 3, then w, v and x.
  CHECK(described(whole.program) == "Assign: 4 -> 0 4\nLoad: 4 -> 1\nNeg: 1 -> 2\nReturn: 2 -> 3\n");
}
