// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Collectives of small dumps: ranks, bytes, who makes them, and why they are there; places.
#include <hocket/core/message.hpp>
#include <hocket/interop/mindspore/collectives.hpp>
#include <hocket/interop/mindspore/parse_ir.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include "catch.hpp"

namespace {
namespace collectives {

namespace ms = hocket::mindspore;
using enum ms::collective_reason;

ms::ir_program read(const std::string& text) {
  auto p = ms::parse_ir(text);
  if (!p) FAIL(message(p.error()));
  return std::move(*p);
}
ms::ir_collective only(const std::string& text) {
  const auto found = ms::list_collectives(read(text));
  REQUIRE(found.size() == 1);
  return found[0];
}

TEST_CASE("a collective's ranks are listed, or in the name of its group, or not told", "[mindspore]") {
  const auto with = [](const std::string& attributes) {
    return only("%0(a) = AllReduce(%9) primitive_attrs: {" + attributes + "}\n");
  };
  using ranks = std::vector<std::int64_t>;
  const auto listed = with("group: \"g\", group_rank_ids: (0, 2, 14)");
  CHECK(listed.ranks == ranks{0, 2, 14});
  CHECK(listed.rank_count == 3);
  CHECK(listed.group == "g");
  CHECK(with("group: \"g\", rank_list: \"0-8-16-24\"").ranks == ranks{0, 8, 16, 24});
  CHECK(with("group: \"g\", group_ranks: \"7\"").ranks == ranks{7});
  CHECK(with("group: \"8-6301172352641561019\"").rank_count == 8);
  CHECK(with("group: \"8-6301172352641561019\"").ranks.empty());
  CHECK(with("group: \"8\"").rank_count == 0);
  CHECK(with("group: \"world\"").rank_count == 0);
  CHECK(with("group: \"8x\"").rank_count == 0);
}

TEST_CASE("a collective's bytes are those of what it gives, of a receive of what it gets", "[mindspore]") {
  const auto typed = [](const std::string& op, const std::string& in, const std::string& out) {
    return only("%0(a) = " + op + "(%9)\n  : (" + in + ") -> (" + out + ")\n");
  };
  const std::string two = "<Tensor[Float32], (2)>", five = "<Tensor[Float16], (5)>";
  CHECK(typed("AllGather", two, five).bytes == 8);
  CHECK(typed("Receive", two, five).bytes == 10);
  CHECK(typed("AllGather", two, five).bytes_known);
  CHECK_FALSE(typed("AllGather", "<Tensor[Float32], (-1)>", five).bytes_known);
  CHECK_FALSE(typed("AllGather", "<Int64, NoShape>", five).bytes_known);
  CHECK(typed("AllReduce", "<Tuple[Tensor[Int8]*2], TupleShape((2), (3))>", five).bytes == 5);
  const auto untold = only("%0(a) = AllReduce(%9)\n");
  CHECK(untold.bytes == 0);
  CHECK_FALSE(untold.bytes_known);
}

TEST_CASE("the op before a collective is found through what only orders", "[mindspore]") {
  const std::string before =
      "%0(m) = MatMul(%8, %9) primitive_attrs: {in_strategy: ((1, 4), (4, 1))}\n%1(d) = Depend(%0, %7)\n"
      "%2(t) = MakeTuple(%1, %7)\n";
  const auto c = only(before +
                      "%3(a) = AllReduce(%2)\n%4(x) = Cast(%3, I64(43))\n"
                      "%5(n) = Neg(%4) primitive_attrs: {in_strategy: ((4, 1))}\n");
  CHECK(c.node == 3);
  CHECK(c.producer == 0);
  CHECK(c.layout_before == 0);
  CHECK(c.layout_behind == 5);
  CHECK(c.reason == partial_sums);
  CHECK(c.why == "partial sums of MatMul ((1, 4), (4, 1)): cut 4 times along what it sums over");
  CHECK_FALSE(c.is_backward);
  const auto outside = only("%3(a) = AllReduce(%2)\n");
  CHECK(outside.producer == hocket::no_id);
  CHECK(outside.layout_before == hocket::no_id);
  CHECK(outside.layout_behind == hocket::no_id);
  CHECK(outside.reason == not_explained);
  CHECK(outside.why == "nothing before it was cut along what it sums over");
}

TEST_CASE("products are judged as their factors lie, transposed or not", "[mindspore]") {
  const auto reason = [](const std::string& strategy, const std::string& flags, const std::string& attributes,
                         const std::string& collective = "AllReduce") {
    return only("%0(a) = PrimFunc_MatMul(%8, %9" + flags + ") primitive_attrs: {in_strategy: " + strategy + attributes +
                "}\n%1(b) = " + collective + "(%0) primitive_attrs: {group: \"4-1\"}\n")
        .reason;
  };
  // A is m x k: cut along k 4 times. B is k x n, or n x k where it is transposed.
  CHECK(reason("((1, 4), (4, 1))", "", "") == partial_sums);
  CHECK(reason("((1, 4), (1, 4))", "", "") == not_explained);
  CHECK(reason("((1, 4), (1, 4))", ", Bool(0), Bool(1)", "") == partial_sums);
  CHECK(reason("((1, 4), (4, 1))", ", Bool(0), Bool(1)", "") == not_explained);
  CHECK(reason("((4, 1), (4, 1))", ", Bool(1), Bool(0)", "") == partial_sums);
  CHECK(reason("((1, 4), (4, 1))", ", Bool(1), Bool(0)", "") == not_explained);
  CHECK(reason("((4, 1), (1, 4))", ", Bool(1), Bool(1)", "") == partial_sums);
  CHECK(reason("((1, 4), (1, 4))", "", ", transpose_b: Bool(1)") == partial_sums);
  CHECK(reason("((1, 4), (1, 4))", "", ", transpose_x2: Bool(1)") == partial_sums);
  CHECK(reason("((4, 1), (4, 1))", "", ", transpose_a: Bool(1)") == partial_sums);
  CHECK(reason("((4, 1), (4, 1))", "", ", transpose_x1: Bool(1)") == partial_sums);
  CHECK(reason("((2, 4), (4, 1))", "", "", "ReduceScatter") == partial_sums);
  CHECK(reason("((2, 4), (4, 1))", "", "", "AllGather") == not_explained);
  CHECK(reason("((1, 2), (2, 1))", "", "") == not_explained);  // of 2 ranks, not 4
  CHECK(reason("((4), (4, 1))", "", "") == not_explained);     // no matrix
  CHECK(reason("((1, 4), (4))", "", "") == not_explained);
  CHECK(reason("((1, 4))", "", "") == not_explained);
  // Batches stand before rows and columns.
  const auto batched = only(
      "%0(a) = BatchMatMul(%8, %9) primitive_attrs: {in_strategy: ((2, 1, 4), (2, 4, 1))}\n%1(b) = AllReduce(%0)\n");
  CHECK(batched.reason == partial_sums);
  const auto needless =
      only("%0(a) = MatMul(%8, %9) primitive_attrs: {in_strategy: ((4, 1), (1, 1))}\n%1(b) = AllReduce(%0)\n");
  CHECK(needless.why == "MatMul ((4, 1), (1, 1)) does not need it: each rank has its whole part");
  const auto fewer = only(
      "%0(a) = MatMul(%8, %9) primitive_attrs: {in_strategy: ((1, 2), (2, 1))}\n"
      "%1(b) = AllReduce(%0) primitive_attrs: {group: \"4-1\"}\n");
  CHECK(fewer.why == "MatMul ((1, 2), (2, 1)) does not need it: it needs one of 2 ranks");
}

TEST_CASE("sums over an axis that is cut need a reduction", "[mindspore]") {
  const auto reason = [](const std::string& op, const std::string& strategy, const std::string& axes,
                         const std::string& group = "4-1") {
    return only("%0(a) = " + op + "(%9, " + axes + ") primitive_attrs: {in_strategy: " + strategy +
                "}\n%1(b) = AllReduce(%0) primitive_attrs: {group: \"" + group + "\"}\n")
        .reason;
  };
  CHECK(reason("ReduceSum", "((4, 2))", "(I64(0))") == partial_sums);
  CHECK(reason("ReduceSum", "((2, 4))", "(I64(1))") == partial_sums);
  CHECK(reason("ReduceSum", "((2, 4))", "(I64(-1))") == partial_sums);
  CHECK(reason("ReduceSum", "((4, 2))", "(I64(-2))") == partial_sums);
  CHECK(reason("ReduceSum", "((2, 2))", "(I64(0), I64(-1))") == partial_sums);
  CHECK(reason("ReduceSum", "((4, 2))", "(I64(1))") == not_explained);  // of 2 ranks, not 4
  CHECK(reason("ReduceSum", "((4, 2))", "(I64(1))", "world") == partial_sums);
  CHECK(reason("ReduceSum", "((4, 1))", "(I64(1))", "world") == not_explained);
  CHECK(reason("SumExt", "((4, 2))", "(I64(0))") == partial_sums);
  CHECK(reason("MeanExt", "((4, 2))", "(I64(0))") == partial_sums);
  CHECK(reason("Neg", "((4, 2))", "(I64(0))") == not_explained);
}

TEST_CASE("collectives that parallel passes put in are known by their names", "[mindspore]") {
  const auto named = [](const std::string& op, const std::string& instance, const std::string& attributes = "") {
    return only("%0(a) = " + op + "(%9) {instance name: " + instance + "} primitive_attrs: {" + attributes + "}\n");
  };
  CHECK(named("Send", "x").reason == stage_border);
  CHECK(named("Receive", "x").reason == stage_border);
  const auto mirror = named("AllReduce", "mirror_op_1", "mirror_user_id: \"wq\"");
  CHECK(mirror.reason == gradient_mirror);
  CHECK(mirror.why == "gradient of wq, which these ranks all hold");
  CHECK(named("AllReduce", "mirror_op_1", "group: \"g\"").why == "gradient of a weight, which these ranks all hold");
  const auto shards = named("AllGather", "parallel_optimizer_allgather_not_recompute", "mirror_user_id: \"wq\"");
  CHECK(shards.reason == optimizer_shards);
  CHECK(shards.why == "gathers wq, of which each rank holds a part");
  const auto scattered = only(
      "%0(a) = ReduceScatter(%9) {instance name: grad_parallel_optimizer_allgather_not_recompute} "
      "cnode_primal_attrs: {forward_unique_id: \"7\", mirror_user_id: \"wq\"}\n");
  CHECK(scattered.reason == optimizer_shards);
  CHECK(scattered.why == "gradient of wq, of which each rank holds a part");
  const auto moved = only(
      "%0(m) = Neg(%8) primitive_attrs: {in_strategy: ((4, 1))}\n%1(a) = AllGather(%0) {instance name: "
      "redistribution_op_7} primitive_attrs: {group: \"g\"}\n%2(n) = Abs(%1) primitive_attrs: {in_strategy: ((1, "
      "4))}\n");
  CHECK(moved.reason == redistribution);
  CHECK(moved.why == "layouts do not fit: Neg ((4, 1)) gives (4, 1), Abs ((1, 4)) wants (1, 4)");
  // MindSpore moves a Cast behind the gather: what wants another layout is the op behind the Cast.
  const auto moved_cast = only(
      "%0(m) = MatMul(%8, %9, Bool(0), Bool(1)) primitive_attrs: {in_strategy: ((2, 1), (2, 1))}\n"
      "%1(a) = AllGather(%0) {instance name: redistribution_op_7} primitive_attrs: {group: \"g\"}\n"
      "%2(c) = Cast(%1, I64(43)) primitive_attrs: {in_strategy: ((2, 2), ())}\n"
      "%3(l) = SoftmaxCrossEntropyWithLogits(%2, %7) primitive_attrs: {in_strategy: ((2, 1), (2, 1))}\n");
  CHECK(moved_cast.layout_behind == 3);
  CHECK(moved_cast.why ==
        "layouts do not fit: MatMul ((2, 1), (2, 1)) gives (2, 2), SoftmaxCrossEntropyWithLogits ((2, 1), (2, 1)) "
        "wants (2, 1)");
  // No op wants another layout: the next is named.
  CHECK(only("%0(m) = Neg(%8) primitive_attrs: {in_strategy: ((4, 1))}\n%1(a) = AllGather(%0) {instance name: "
             "redistribution_op_7}\n%2(n) = Abs(%1) primitive_attrs: {in_strategy: ((4, 1))}\n")
            .layout_behind == 2);
  const auto sent = named("Send", "x", "dest_rank: I64(1), group: \"g\", group_rank_ids: (3, 7)");
  CHECK(sent.peer == 7);
  CHECK(sent.ranks.empty());
  CHECK(named("Receive", "x", "src_rank: I64(5), group: \"g\"").peer == 5);
  CHECK(named("Receive", "x", "src_rank: 5, group: \"g\"").peer == 5);
  CHECK(named("Receive", "x", "group: \"g\"").peer == -1);
  // Of the backward pass: the reason of the forward one that it belongs to.
  const auto all = ms::list_collectives(read(
      "%0(m) = MatMul(%8, %9) primitive_attrs: {in_strategy: ((1, 4), (4, 1))}\n"
      "%1(f) = AllReduce(%0) primitive_attrs: {group: \"4-1\"} cnode_primal_attrs: {unique_id: \"77\"}\n"
      "%2(b) = AllGather(%1) primitive_attrs: {group: \"4-1\"} cnode_primal_attrs: {forward_unique_id: \"77\"}\n"
      "%3(c) = AllGather(%1) primitive_attrs: {group: \"4-1\"} cnode_primal_attrs: {forward_unique_id: \"78\"}\n"));
  REQUIRE(all.size() == 3);
  CHECK_FALSE(all[0].is_backward);
  CHECK(all[1].is_backward);
  CHECK(all[1].reason == partial_sums);
  CHECK(all[1].why == "backward of line 2: " + all[0].why);
  CHECK(all[2].reason == not_explained);
}

}  // namespace collectives
}  // namespace
