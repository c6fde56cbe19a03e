// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls that are followed, against programs written out by hand and by a second way of expanding them.
#include <hocket/core/message.hpp>
#include <hocket/interop/mindspore/follow_calls.hpp>
#include <hocket/interop/mindspore/parse_ir.hpp>

#include <cstdint>
#include <random>
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
  const auto unused = followed(head + graph("main()", "  Return(I64(1))\n") +
                               graph("g(%para3_x)", "  %0(n) = Exp(%para3_x)\n  Return(%0)\n"));
  CHECK(unused.left_out_count == 2);
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
