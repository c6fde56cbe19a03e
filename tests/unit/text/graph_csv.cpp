// SPDX-License-Identifier: Apache-2.0
// The CSV forms of graphs: what comes in goes out unchanged, bad cells are named, and on the golden programs the
// whole way from text to pruned edges gives the unique answer.
#include <hocket/core/message.hpp>
#include <hocket/graph/dependencies.hpp>
#include <hocket/graph/stream_plan.hpp>
#include <hocket/text/edges_csv.hpp>
#include <hocket/text/ops_csv.hpp>

#include <fstream>
#include <sstream>
#include <string>

#include "catch.hpp"

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
        "line 2: op is 1, but rows are numbered from 0 in program order: 0 was expected");
  CHECK(ops_error("0,0,gemm,,\n") == "line 2, cell 3: unknown token \"gemm\"");
  CHECK(ops_error("0,65536,compute,,\n") == "line 2: 65536 exceeds the limit of 65535 (stream)");
  CHECK(ops_error("0,0,compute,1 two,\n") == "line 2, column 4: \"two\" is not a whole number in range");
  CHECK(ops_error("0,0,compute,,4294967295\n") == "line 2, column 5: \"4294967295\" is not a whole number in range");
  CHECK(ops_error("0,0,compute,1\n") == "line 2: expected 5 columns, found 4");
}

TEST_CASE("waits as CSV", "[text]") {
  const hocket::graph::stream_wait waits[] = {{0, 3, 1, 2}};
  CHECK(hocket::text::write_waits_csv(waits) == "recorder,waiter,record_stream,wait_stream\n0,3,1,2\n");
}
