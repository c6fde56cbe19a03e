// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The CSV forms of graphs: what comes in goes out unchanged, bad cells are named, and on the golden programs the
// whole way from text to pruned edges gives the unique answer.
#include <hocket/core/message.hpp>
#include <hocket/graph/dependencies.hpp>
#include <hocket/graph/stream_plan.hpp>
#include <hocket/testing/graph_laws.hpp>
#include <hocket/text/edges_csv.hpp>
#include <hocket/text/ops_csv.hpp>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "catch.hpp"

using hocket::node_id;
using hocket::graph::dependency_options;
using hocket::text::parse_edges_csv;
using hocket::text::parse_ops_csv;
using hocket::text::parse_pairs_csv;

namespace {

std::string data(const std::string& name) {
  std::ifstream file(HOCKET_TEST_DATA "/graph/" + name, std::ios::binary);
  REQUIRE(file.good());
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string ops_error(const std::string& rows) {
  const auto r = parse_ops_csv("op,stream,kind,reads,writes\n" + rows);
  return r ? "no error" : message(r.error());
}
std::string columns_error(const std::string& columns, const std::string& rows) {
  const auto r = parse_ops_csv("op,stream,kind,reads,writes" + columns + "\n" + rows);
  return r ? "no error" : message(r.error());
}
std::string edges_error(const std::string& rows) {
  const auto r = parse_edges_csv("source,target\n" + rows);
  return r ? "no error" : message(r.error());
}

}  // namespace

TEST_CASE("golden programs: both rule sets, byte for byte", "[text][graph]") {
  struct golden {
    const char* name;
    std::size_t before[2], waits;
  };
  // Waits and edges before pruning of the large program were counted elsewhere: see tests/data/graph/README.md.
  for (const golden& g : {golden{"gpt_small", {0, 0}, 0}, golden{"gpt_two_steps_6391", {15993, 16291}, 1008}}) {
    const std::string name = g.name, csv = data(name + ".ops.csv");
    const auto program = parse_ops_csv(csv);
    REQUIRE(program);
    CHECK(write_ops_csv(*program) == csv);
    for (const bool ordered : {false, true}) {
      const auto deps = dependencies(*program, ordered ? dependency_options::ordered() : dependency_options::data());
      REQUIRE(deps);
      if (g.waits != 0) CHECK(deps->rule_edges() == g.before[ordered ? 1 : 0]);
      CHECK(hocket::text::write_edges_csv(deps->graph().edges()) ==
            data(name + ".reduction." + (ordered ? "ordered" : "data") + ".csv"));
      const auto plan = hocket::graph::stream_plan::make(deps->graph(), *program);
      REQUIRE(plan);
      if (g.waits != 0) CHECK(plan->waits().size() == g.waits);
    }
  }
}

TEST_CASE("edges come in any order, with any line ends", "[text]") {
  const auto e = parse_edges_csv("\xef\xbb\xbfsource,target\r\n4,0\r\n1,2\r\n4,0\r\n\r\n");
  REQUIRE(e);
  CHECK(e->node_count == 5);
  CHECK(e->edges == std::vector<hocket::graph::edge>{{4, 0}, {1, 2}, {4, 0}});
  CHECK(parse_edges_csv("source,target")->node_count == 0);
  CHECK(hocket::text::write_edges_csv(e->edges) == "source,target\n4,0\n1,2\n4,0\n");
}

TEST_CASE("bad rows are named by line and cell", "[text]") {
  CHECK(edges_error("0,1\n1,x\n") == "line 3, column 2: \"x\" is not a whole number in range");
  CHECK(edges_error("0,1\n-1,1\n") == "line 3, column 1: \"-1\" is not a whole number in range");
  CHECK(edges_error("0,1\n\n1,1\n") == "line 3: expected 2 columns, found 1");
  CHECK(edges_error("0,1,2") == "line 2: expected 2 columns, found 3");
  CHECK(edges_error("0,16777216") == "line 2: 16777216 exceeds the limit of 16777215 (target)");
  CHECK(edges_error("99999999999999999999,0") ==
        "line 2, column 1: \"99999999999999999999\" is not a whole number in range");
  CHECK(edges_error("4294967295,0") == "line 2, column 1: \"4294967295\" is not a whole number in range");
  CHECK(edges_error("0 ,1") == "line 2, column 1: \"0 \" is not a whole number in range");
  CHECK(parse_edges_csv("").error().code == hocket::errc::malformed);
  CHECK(parse_edges_csv("a,b\n0,1\n").error() == hocket::error(hocket::errc::malformed, 1, 1).with("a,b"));

  const auto pairs = parse_pairs_csv("source,target\n0,1\n2,5\n", 3);
  REQUIRE_FALSE(pairs);
  CHECK(message(pairs.error()) == "line 3, column 2 (target): node 5 does not exist: the graph has 3 nodes");
  CHECK(parse_pairs_csv("source,target\n0,2\n", 3)->size() == 1);

  CHECK(ops_error("0,0,compute,1 2,3\n") == "no error");
  CHECK(ops_error("0,0,compute,1  2 ,3\n") == "no error");
  CHECK(ops_error("1,0,compute,,\n") ==
        "line 2, column 1: op is 1, but rows are numbered from 0 in program order: 0 was expected");
  CHECK(ops_error("0,0,gemm,,\n") ==
        "line 2, column 3: \"gemm\" is no kind of op: write compute, collective, random or io");
  CHECK(ops_error("0,65536,compute,,\n") == "line 2, column 2: stream 65536 exceeds the limit of 65535");
  CHECK(ops_error("0,0,compute,1 two,\n") == "line 2, column 4: \"two\" is not a whole number in range");
  CHECK(ops_error("0,0,compute,,4294967295\n") == "line 2, column 5: \"4294967295\" is not a whole number in range");
  CHECK(ops_error("0,0,compute,1\n") == "line 2: expected 5 columns, found 4");
}

TEST_CASE("optional columns of programs: what they say, and back again", "[text]") {
  const std::string csv =
      "op,stream,kind,reads,writes,rings,starts,aliases,read_ranges,write_ranges\n"
      "0,0,io,,1 2,,1,,,7:0-16\n"
      "1,1,collective,1,1,3 4,0,20=1 20=2,,\n"
      "2,0,compute,20,,,0,30=20,7:0-8 7:12-18446744073709551615,7:4-6\n";
  const auto t = parse_ops_csv(csv);
  REQUIRE(t);
  CHECK(write_ops_csv(*t) == csv);
  CHECK((t->starts(0) && !t->starts(1) && !t->starts(2)));
  CHECK((t->rings(0).empty() && t->rings(1).size() == 2 && t->rings(1)[1] == 4));
  CHECK((t->parts(30).size() == 2 && t->parts(30)[0] == 1 && t->parts(30)[1] == 2 && t->parts(1).empty()));
  CHECK((t->read_ranges(2).size() == 2 && t->read_ranges(2)[1].end == ~std::uint64_t{0}));
  CHECK(t->write_ranges(1).empty());

  // In any order, and only what a program needs.
  const auto some = parse_ops_csv("op,stream,kind,reads,writes,write_ranges,starts\n0,0,compute,,,1:2-3,\n");
  REQUIRE(some);
  CHECK(write_ops_csv(*some) == "op,stream,kind,reads,writes,write_ranges\n0,0,compute,,,1:2-3\n");

  const auto timed = parse_ops_csv("op,stream,kind,reads,writes,us\n0,0,compute,,,\n1,0,compute,,,70\n");
  REQUIRE(timed);
  CHECK((timed->has_us() && timed->us(0) == 0 && timed->us(1) == 70 && !some->has_us()));
  CHECK(write_ops_csv(*timed) == "op,stream,kind,reads,writes,us\n0,0,compute,,,0\n1,0,compute,,,70\n");
  CHECK(parse_ops_csv("op,stream,kind,reads,writes,us\n0,0,compute,,,1.5\n").error().code == hocket::errc::bad_number);
  const std::string sized =
      "op,stream,kind,reads,writes,bytes\n0,0,compute,,,\n1,0,compute,,3 4,70 9223372036854775807\n";
  const auto large = parse_ops_csv(sized);
  REQUIRE(large);
  CHECK((large->has_bytes() && large->bytes(0).empty() && large->bytes_of(1, 3) == 70 && large->bytes_of(1, 5) == 0));
  CHECK(write_ops_csv(*large) == sized);
  const auto code = [](const std::string& cell) {
    return parse_ops_csv("op,stream,kind,reads,writes,bytes\n0,0,compute,,3," + cell + "\n").error().code;
  };
  CHECK(code("9223372036854775808") == hocket::errc::bad_number);
  CHECK(code("-1") == hocket::errc::bad_number);
  CHECK(code("1 1") == hocket::errc::other_write_count);
}

TEST_CASE("bad words of optional columns are named by line and column", "[text]") {
  CHECK(columns_error(",ring", "") == "line 1, column 6: \"ring\" is not understood");
  CHECK(columns_error(",rings,rings", "") == "line 1, column 7: the table has \"rings\" already, as column 6");
  CHECK(columns_error(",rings,kind", "") == "line 1, column 7: the table has \"kind\" already, as column 3");
  CHECK(columns_error(",rings,", "") == "line 1, column 7: \"\" is not understood");
  CHECK(columns_error("x", "") == "line 1, column 1: \"op,stream,kind,reads,writesx\" is not understood");
  CHECK(columns_error(",rings", "0,0,io,,\n") == "line 2: expected 6 columns, found 5");
  CHECK(columns_error(",rings", "0,0,io,,,1 b\n") == "line 2, column 6: \"b\" is not a whole number in range");
  CHECK(columns_error(",starts", "0,0,io,,,yes\n") == "line 2, column 6: \"yes\" is neither 0 nor 1");
  CHECK(columns_error(",starts", "0,0,io,,,2\n") == "line 2, column 6: \"2\" is neither 0 nor 1");
  for (const char* const bad :
       {"1:2", "1:2-2", "1:3-2", "1-2-3", "1:2-3x", ":2-3", "1:2-18446744073709551616", "-1:2-3"})
    CHECK(columns_error(",starts,read_ranges", std::string("0,0,io,,,1,0:1-2 ") + bad + "\n") ==
          std::string("line 2, column 7: \"") + bad +
              "\" is no range of bytes: write space:first-end, with the end above the first byte");
  for (const char* const bad : {"1", "1=", "=1", "1=1", "1=2=3", "4294967295=1"})
    CHECK(columns_error(",aliases", std::string("0,0,io,,,4=5 ") + bad + "\n") ==
          std::string("line 2, column 6: \"") + bad +
              "\" is no alias: write variable=part, two different numbers below 4294967295");
  // A variable has its parts before it is one, so there is no cycle.
  for (const char* const bad : {"5=6", "5=4"})
    CHECK(columns_error(",aliases", std::string("0,0,io,,,4=5 ") + bad + "\n") ==
          std::string("line 2, column 6: \"") + bad +
              "\" comes too late or closes a cycle: variable 5 is a part of another already");
}

namespace {

// What an op of a random program does, apart from any parser: the bits of storage that it touches, and its rings.
struct plain_op {
  std::uint64_t reads = 0, writes = 0, rings = 0;
};

// Variables 0-9 are storage; 10-12 views of one each; 13 a buffer of three; 14 a view of that. Bytes 0-31 of space 5.
constexpr std::uint64_t bits_of(std::uint32_t variable) {
  constexpr std::uint64_t buffer = 0b1011000;
  if (variable < 10) return std::uint64_t{1} << variable;
  return variable < 13 ? std::uint64_t{1} << (variable - 10) : buffer;
}

std::string random_ops(std::vector<plain_op>& model, hocket::testing::random_source& random) {
  std::string csv = "op,stream,kind,reads,writes,rings,aliases,read_ranges,write_ranges\n";
  for (std::size_t i = 0; i < model.size(); ++i) {
    plain_op& op = model[i];
    std::string cells[4];
    for (int c = 0; c < 4; ++c) {
      std::uint64_t& bits = c % 2 == 0 ? op.reads : op.writes;
      if (random.below(3) != 0) continue;
      if (c < 2) {
        const std::uint32_t v = random.below(15);
        bits |= bits_of(v);
        cells[c] = std::to_string(v);
      } else {
        const std::uint32_t first = random.below(31), end = first + 1 + random.below(32 - first);
        for (std::uint32_t byte = first; byte < end; ++byte) bits |= std::uint64_t{1} << (byte + 16);
        cells[c] = "5:" + std::to_string(first) + "-" + std::to_string(end);
      }
    }
    std::string rings;
    for (std::uint32_t r = 0; r < 3; ++r)
      if (random.below(6) == 0) {
        op.rings |= std::uint64_t{1} << r;
        rings += std::to_string(r) + " ";
      }
    const char* const kind = random.below(2) == 0 ? "compute" : "collective";
    if (*kind == 'c' && kind[2] == 'l' && rings.empty()) op.rings = 1;
    csv += std::to_string(i) + ",0," + kind + "," + cells[0] + "," + cells[1] + "," + rings + "," +
           (i + 1 == model.size() ? "10=0 11=1 12=2 13=3 13=4 13=6 14=13" : "") + "," + cells[2] + "," + cells[3] +
           "\n";
  }
  return csv;
}

}  // namespace

TEST_CASE("programs with rings, aliases and ranges: dependencies against all pairs", "[text][graph]") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    hocket::testing::random_source random(seed);
    std::vector<plain_op> model(40);
    const auto program = parse_ops_csv(random_ops(model, random));
    REQUIRE(program);
    for (const bool ordered : {false, true}) {
      std::vector<hocket::graph::edge> edges;
      for (node_id b = 0; b < model.size(); ++b)
        for (node_id a = 0; a < b; ++a) {
          const plain_op &x = model[a], &y = model[b];
          const bool hazard = (x.writes & (y.reads | y.writes)) != 0 || (x.reads & y.writes) != 0;
          if (hazard || (ordered && (x.rings & y.rings) != 0)) edges.push_back({a, b});
        }
      const auto deps = dependencies(*program, ordered ? dependency_options::ordered() : dependency_options::data());
      REQUIRE(deps);
      CHECK(hocket::testing::broken_law(deps->graph(), hocket::testing::graph_oracle(model.size(), edges)).empty());
    }
  }
}

TEST_CASE("ops that start a step, from a file", "[text][graph]") {
  const auto program = parse_ops_csv(
      "op,stream,kind,reads,writes,starts\n0,0,io,,1,1\n1,0,compute,1,2,\n2,0,compute,,3,0\n3,0,compute,3,4,0\n");
  REQUIRE(program);
  dependency_options options;
  CHECK_FALSE(dependencies(*program, options).value().reaches(0, 2));
  options.start_up = true;
  CHECK(dependencies(*program, options).value().reaches(0, 2));
  CHECK(dependencies(*program, options).value().edge_count() == 3);
}

TEST_CASE("a program that is cut keeps what its first ops say", "[text]") {
  auto t = parse_ops_csv(
               "op,stream,kind,reads,writes,rings,starts,aliases,read_ranges\n0,0,io,1,,2,1,3=1,0:0-1\n"
               "1,0,io,1,4,5,1,3=2,0:2-3\n")
               .value();
  t.cut(1);
  CHECK(write_ops_csv(t) == "op,stream,kind,reads,writes,rings,starts,aliases,read_ranges\n0,0,io,1,,2,1,3=1,0:0-1\n");
  CHECK(t.parts(3).size() == 1);
}

// Against the same rows read alone; and what is added behind the cut stands where it belongs.
TEST_CASE("a program that is cut anywhere is the program of its first rows, and grows on", "[text]") {
  const std::string header = "op,stream,kind,reads,writes,rings,starts,aliases,read_ranges,write_ranges\n";
  const std::string rows[] = {"0,3,io,1 5,,2,1,30=1,0:0-1,\n", "1,0,compute,,6,,,,,1:0-4\n",
                              "2,2,collective,5,4 7,5 6,1,31=2 31=5,0:2-3,1:2-3 1:5-6\n", "3,1,random,,,,1,,,\n",
                              "4,0,io,7,5,1,,32=7,0:1-2,\n"};
  const auto first = [&](std::size_t count) {
    std::string csv = header;
    for (std::size_t i = 0; i < count; ++i) csv += rows[i];
    return parse_ops_csv(csv).value();
  };
  for (std::size_t left = 0; left <= 6; ++left) {
    auto t = first(5);
    t.cut(left);
    const std::size_t kept = (std::min)(left, std::size_t{5});
    const auto alone = first(kept);
    CHECK(t.size() == kept);
    CHECK(t.streams().size() == kept);
    CHECK(write_ops_csv(t) == write_ops_csv(alone));
    CHECK((t.has_rings() == alone.has_rings() && t.has_starts() == alone.has_starts()));
    CHECK((t.has_aliases() == alone.has_aliases() && t.has_read_ranges() == alone.has_read_ranges()));
    CHECK(t.has_write_ranges() == alone.has_write_ranges());
    auto grown = alone;
    const std::vector<std::uint32_t> reads{8, 9}, writes{10};
    const hocket::graph::storage_range bytes[] = {{2, 3, 4}};
    for (auto* each : {&t, &grown}) {
      each->add(6, hocket::graph::op_kind::io, reads, writes);
      each->add_rings(writes);
      each->set_starts();
      each->add_read_ranges(bytes);
      each->add_write_ranges(bytes);
      CHECK(each->add_alias({40, 9}));
    }
    CHECK(write_ops_csv(t) == write_ops_csv(grown));
    CHECK(t.stream(static_cast<node_id>(kept)) == 6);
    CHECK(t.parts(40).size() == 1);
  }
  const hocket::text::ops_table::alias none;
  CHECK((none.variable == 0 && none.part == 0));
}

TEST_CASE("there are as many nodes as the highest id says, in whatever order ids come", "[text]") {
  for (node_id a = 0; a < 4; ++a)
    for (node_id b = 0; b < 4; ++b)
      for (node_id c = 0; c < 4; ++c) {
        const std::vector<hocket::graph::edge> edges{{a, b}, {b, c}};
        const auto read = parse_edges_csv(hocket::text::write_edges_csv(edges)).value();
        CHECK(read.node_count == std::size_t{1} + (std::max)({a, b, c}));
        CHECK(read.edges == edges);
      }
}

TEST_CASE("the highest id that is allowed, and the next", "[text]") {
  CHECK(parse_edges_csv("source,target\n5,0\n", 5)->node_count == 6);
  CHECK(parse_edges_csv("source,target\n6,0\n", 5).error().code == hocket::errc::too_large);
  CHECK(parse_pairs_csv("source,target\n2,0\n", 3).has_value());
  CHECK(parse_pairs_csv("source,target\n3,0\n", 3).error().code == hocket::errc::unknown_node_in_line);
}

// Each column named twice, behind 0 … 2 others: the sentence names both places.
TEST_CASE("a column that stands twice is named with the place where it stood first", "[text]") {
  std::vector<std::string> names = {"op", "stream", "kind", "reads", "writes", "rings", "starts", "aliases"};
  for (std::size_t first = 0; first < names.size(); ++first)
    for (std::size_t last = (std::max)(first + 1, std::size_t{5}); last <= names.size(); ++last) {
      std::string header;
      for (std::size_t i = 0; i < last; ++i) header += names[i] + ",";
      const auto e = parse_ops_csv(header + names[first] + "\n").error();
      CHECK(e.code == hocket::errc::duplicate_column);
      CHECK(e.values[1] == static_cast<std::int64_t>(last + 1));
      CHECK(e.values[2] == static_cast<std::int64_t>(first + 1));
    }
}

// As profilers write them.
TEST_CASE("rows of quoted cells", "[text]") {
  const auto row = [](std::string_view text, char separator = ',') {
    hocket::text::detail::csv_scanner in(text);
    std::vector<std::string_view> cells;
    const auto read = in.next_quoted_row(separator, cells);
    if (read) return cells;
    CHECK(read.error().code == hocket::errc::unclosed_bracket);
    return std::vector<std::string_view>{"unclosed", cells[static_cast<std::size_t>(read.error().values[1]) - 1]};
  };
  using cells = std::vector<std::string_view>;
  CHECK(row("a,b") == cells{"a", "b"});
  CHECK(row(",") == cells{"", ""});
  CHECK(row("\" \t\",x") == cells{"", "x"});
  CHECK(row("\"1736.5\t\", \"a,b\" ,\"\"\"4096,12288\"\"\"\r\n") == cells{"1736.5", "a,b", "4096,12288"});
  CHECK(row("a;\"b;c\";d", ';') == cells{"a", "b;c", "d"});
  hocket::text::detail::csv_scanner two("a,b,c\nd\n");
  cells kept;
  REQUIRE(two.next_quoted_row(',', kept));
  REQUIRE(two.next_quoted_row(',', kept));
  CHECK(kept == cells{"d"});  // nothing of the row before
  CHECK(row("a,\"b,c") == cells{"unclosed", "b,c"});
  CHECK(row("\"a") == cells{"unclosed", "a"});
}

TEST_CASE("waits as CSV", "[text]") {
  const hocket::graph::stream_wait waits[] = {{0, 3, 1, 2}};
  CHECK(hocket::text::write_waits_csv(waits) == "recorder,waiter,record_stream,wait_stream\n0,3,1,2\n");
}

TEST_CASE("ranges of bytes in a file order the ops that touch them", "[text][graph]") {
  const auto program = parse_ops_csv(
      "op,stream,kind,reads,writes,read_ranges,write_ranges\n0,0,io,,,,5:0-8\n1,0,compute,,,5:7-9,5:20-30\n"
      "2,0,compute,,,5:8-12,6:0-4\n3,0,compute,,,6:3-4 5:29-31,\n4,0,compute,,,,5:0-1 6:4-5\n");
  REQUIRE(program);
  const auto deps = hocket::graph::dependencies(*program).value();
  // Two ops are ordered where a byte of a space is written by one of them; chains add nothing here.
  const std::pair<hocket::node_id, hocket::node_id> ordered[] = {{0, 1}, {1, 3}, {2, 3}, {0, 4}, {0, 3}};
  for (hocket::node_id a = 0; a < 5; ++a)
    for (hocket::node_id b = 0; b < 5; ++b) {
      INFO(a << ' ' << b);
      const bool wanted = std::find(std::begin(ordered), std::end(ordered), std::pair{a, b}) != std::end(ordered);
      CHECK((a != b && deps.reaches(a, b)) == wanted);
    }
}

TEST_CASE("the largest number of a cell, an empty file, line ends of both kinds", "[text]") {
  const auto said = [](std::string_view csv) { return hocket::message(parse_ops_csv(csv).error()); };
  const std::string header = "op,stream,kind,reads,writes\n";
  CHECK(parse_ops_csv(header + "0,0,io,4294967294,1\r\n\r\n\n")->size() == 1);
  CHECK(said(header + "0,0,io,4294967295,1\n").find("line 2, column 4") == 0);
  CHECK(said(header + "0,0,io,00000000001,1\n").find("line 2, column 4") == 0);
  CHECK(said(header + "0,0,io,1x,1\n").find("line 2, column 4") == 0);
  CHECK_FALSE(parse_ops_csv("").has_value());
  CHECK_FALSE(parse_ops_csv("\r\n\n").has_value());
  CHECK(parse_ops_csv("\xef\xbb\xbf" + header + "0,0,io,,1\n")->size() == 1);
  CHECK_FALSE(parse_ops_csv(header + "0,0,io,,1\n\n1,0,io,,1\n").has_value());
}
