// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Recomputation and collectives of dumps written for the purpose; the real ones are asked by tests/command_line.
#include <hocket/core/message.hpp>
#include <hocket/interop/mindspore/collectives.hpp>
#include <hocket/interop/mindspore/parse_ir.hpp>
#include <hocket/interop/mindspore/recomputation.hpp>

#include <algorithm>
#include <string>
#include <vector>

#include "catch.hpp"

namespace {

namespace ms = hocket::mindspore;

ms::ir_program program_of(const std::string& text) {
  auto p = ms::parse_ir(text);
  if (!p) FAIL(message(p.error()));
  return std::move(*p);
}
// One statement: its number, op, operands, attributes, and the kilobytes that it makes.
std::string node(int number, const std::string& op, const std::string& operands, int kilobytes,
                 const std::string& attributes = "",
                 const std::string& scope = "Default/net/layers-CellList/0-Layer/") {
  const std::string type = "<Tensor[Int8], (" + std::to_string(kilobytes) + ", 1024)>";
  const std::string n = std::to_string(number);
  return "%" + n + "(n" + n + ") = " + op + "(" + operands + ") {instance name: " + op + n + "} " + attributes + "\n" +
         "  : (" + type + ") -> (" + type + ")\n  # Fullname with scope: (" + scope + op + "-op" + n + ")\n";
}
const std::string marked = "cnode_attrs: {recompute: Bool(1)}";
const std::string backward = "Gradients/Default/";

}  // namespace

TEST_CASE("a mark whose result something unmarked keeps, and the fewest marks that help", "[mindspore]") {
  // 0 -> 1 (marked) -> 2 -> 3, and the backward pass reads 3: of 2 and 3, both are needed.
  const std::string text = node(0, "MatMul", "%90", 1) + node(1, "Mul", "%0", 2, marked) + node(2, "Neg", "%1", 4) +
                           node(3, "Exp", "%2", 8) + node(4, "Log", "%3", 1) +
                           node(5, "LogGrad", "%4, %3", 1, "", backward) +
                           node(6, "MulGrad", "%5, %0", 1, "", backward);
  const auto p = program_of(text);
  const auto r = ms::explain_recomputation(p);
  REQUIRE(r);
  REQUIRE(r->marks.size() == 1);
  CHECK(r->marks[0].what == ms::recompute_mark::outcome::kept_behind);
  CHECK(r->marks[0].kept_by == 3);
  CHECK(r->marks[0].missing == std::vector<std::uint32_t>{2, 3});
  // What the backward pass reads: of 4 its result, too.
  CHECK(r->kept_without == (1 + 8 + 1) * 1024);
  CHECK(r->freed() == 0);
  REQUIRE(r->further.size() == 2);
  CHECK(r->further_is_fewest);
  CHECK(r->further[0].text == "Neg2");
  CHECK(r->further[1].text == "Exp3");
  CHECK(r->kept_with_further == (1 + 1) * 1024);
  REQUIRE(r->missing.size() == 2);
  CHECK(r->missing[0].frees == 0);
  CHECK(r->missing[1].frees == (8 - 4) * 1024);
}

TEST_CASE("a copy in the dump stands for its original when asked what was without it", "[mindspore]") {
  const std::string ids = "recompute_sub_graph: U64(0), recompute_id: I64(1)";
  const std::string text =
      node(0, "MatMul", "%90", 1) + node(1, "Mul", "%0", 8, "cnode_attrs: {recompute: Bool(1), " + ids + "}") +
      node(2, "Log", "%1", 1) + node(3, "LogGrad", "%2", 1, "", backward) + "%4(d) = Depend(%0, %3)\n" +
      node(5, "Mul", "%4", 8, "cnode_attrs: {duplicated: Bool(1), " + ids + "}") +
      node(6, "MulGrad", "%5, %3", 1, "", backward);
  const auto p = program_of(text);
  CHECK(p.node(5).phase == ms::ir_phase::recomputed);
  const auto r = ms::explain_recomputation(p);
  REQUIRE(r);
  CHECK(r->copy_count == 1);
  CHECK(r->other_copy_count == 0);
  CHECK(r->marks[0].duplicated);
  CHECK(r->marks[0].what == ms::recompute_mark::outcome::computed_again);
  CHECK(r->marks[0].frees == (8 - 1) * 1024);
  // Without: 8 from 1 on to 6, with 2 and 3, and 6's own 1. With: 1 of 0 stays; the peak is 1 + 8 + 1.
  CHECK(r->peak_without.bytes == (8 + 1 + 1) * 1024);
  CHECK(r->peak_with.bytes == (1 + 8 + 1) * 1024);
}

TEST_CASE("the peak is that of every order of time, looked at op by op", "[mindspore]") {
  std::string text;
  for (int i = 0; i < 40; ++i)
    text += node(i, "Add", "%" + std::to_string(i < 2 ? 90 : i / 2) + ", %" + std::to_string(i == 0 ? 90 : i - 1),
                 1 + (i * 7) % 5);
  const auto p = program_of(text);
  const auto flow = ms::dataflow_of(p);
  const auto order = ms::run_order(p, flow);
  REQUIRE(order.size() == 40);
  std::int64_t most = 0;
  for (std::size_t at = 0; at < order.size(); ++at) {
    std::int64_t live = 0;
    for (std::uint32_t v = 0; v < flow.values.size(); ++v) {
      std::size_t first = order.size(), last = 0;
      for (std::size_t k = 0; k < order.size(); ++k) {
        const auto reads = flow.reads[order[k]], writes = flow.writes[order[k]];
        const bool touches = std::find(reads.begin(), reads.end(), v) != reads.end() ||
                             std::find(writes.begin(), writes.end(), v) != writes.end();
        if (touches) first = (std::min)(first, k);
        if (touches) last = k;
      }
      if (first <= at && at <= last) live += flow.values[v].bytes;
    }
    most = (std::max)(most, live);
  }
  CHECK(ms::peak_of(flow, order).bytes == most);
}

TEST_CASE("strategies and places", "[mindspore]") {
  CHECK(ms::parse_strategy("((2, 4), (1,4))") == ms::ir_strategy{{2, 4}, {1, 4}});
  CHECK(ms::parse_strategy("((2), ())") == ms::ir_strategy{{2}, {}});
  CHECK(ms::parse_strategy("((2, 1),)") == ms::ir_strategy{{2, 1}});
  for (const char* const bad : {"", "None", "(2, 4)", "((2, 4)", "((2, x))", "((0, 1))", "((2, -1))"}) {
    INFO(bad);
    CHECK_FALSE(ms::parse_strategy(bad));
  }
  const auto p = program_of(
      "%0(a) = PrimFunc_Reshape(%9) {instance name: reshape}\n"
      "# Fullname with scope: "
      "(Default/net-Llama/layers-CellList/11-DecoderLayer/feed_forward-FF/w1-Linear/Reshape-op1)\n"
      "%1(b) = PrimFunc_Reshape(%0) {instance name: redistribution_op_7}\n"
      "# Scope: (Default/net-Llama/layers-CellList/3-DecoderLayer/add-Add)\n"
      "%2(c) = Cast(%0) {instance name: cast}\n# Fullname with scope: (Default/net-Llama/norm_out-RMSNorm/Cast-op0)\n");
  CHECK(ms::place_of(p, 0).layer == "11");
  CHECK(ms::place_of(p, 0).pattern == "feed_forward\\.w1\\.reshape");
  CHECK_FALSE(ms::place_of(p, 0).guessed);
  CHECK(ms::place_of(p, 1).pattern == "add\\.reshape");
  CHECK(ms::place_of(p, 1).guessed);
  CHECK(ms::place_of(p, 2).layer.empty());
  CHECK(ms::place_of(p, 2).pattern == "net\\.norm_out\\.cast");
}

TEST_CASE("a collective is explained by what was cut before it", "[mindspore]") {
  const auto reason = [](const std::string& strategy, const std::string& collective) {
    const auto p =
        program_of("%0(a) = PrimFunc_MatMul(%8, %9, Bool(0), Bool(0)) primitive_attrs: {in_strategy: " + strategy +
                   "}\n%1(b) = " + collective + "(%0) primitive_attrs: {group: \"4-123\"}\n");
    const auto found = ms::list_collectives(p);
    REQUIRE(found.size() == 1);
    CHECK(found[0].rank_count == 4);
    return found[0].reason;
  };
  using enum ms::collective_reason;
  CHECK(reason("((2, 4), (4, 1))", "AllReduce") == partial_sums);
  CHECK(reason("((1, 4), (4, 2))", "ReduceScatter") == partial_sums);
  CHECK(reason("((2, 4), (4, 1))", "AllGather") == not_explained);
  CHECK(reason("((4, 1), (1, 1))", "AllReduce") == not_explained);
  CHECK(reason("((1, 2), (2, 1))", "AllReduce") == not_explained);  // two ranks would do
  CHECK(reason("None", "AllReduce") == not_explained);
}
