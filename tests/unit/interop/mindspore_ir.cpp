// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Dumps as MindSpore prints them, read whole and in pieces; and what is said about those that are wrong.
#include <hocket/core/message.hpp>
#include <hocket/interop/mindspore/parse_ir.hpp>

#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "catch.hpp"

namespace mindspore = hocket::mindspore;
using mindspore::parse_ir;
using mindspore::parse_ir_type;

namespace {

const char* const dumps[] = {"loss_scale",  "control_flow",   "optimizer_parallel",  "pipeline_rank4",
                             "bootstrap",   "type_inference", "tensor_parallel",     "pipeline_rank0",
                             "select_fp16", "select_fp32",    "select_reshape_fp16", "select_reshape_fp32",
                             "full_fp32"};

std::string dump(const std::string& name) {
  std::ifstream file(std::string(HOCKET_TEST_DATA) + "/mindspore/" + name + ".ir", std::ios::binary);
  REQUIRE(file);
  return {std::istreambuf_iterator<char>(file), {}};
}
std::string refusal(std::string_view text) {
  const auto r = parse_ir(text);
  return r ? "accepted" : message(r.error());
}
std::int64_t number_after(const std::string& text, const std::string& key) {
  return std::stoll(text.substr(text.find(key) + key.size()));
}
// Everything that a program says, as text.
std::string listing(const mindspore::ir_program& p) {
  std::string out;
  for (std::size_t n = 0; n < p.node_count(); ++n) {
    out += std::to_string(p.node(n).line) + ' ' + std::string(p.primitive(n)) + ' ' + std::string(p.scope(n)) + ' ' +
           std::string(p.instance(n)) + ' ' + std::string(to_string(p.node(n).phase)) + ' ' +
           std::to_string(p.output_bytes(n));
    for (const auto& o : p.operands(n)) out += ' ' + std::to_string(int(o.what)) + ':' + std::to_string(o.value);
    p.for_each_attribute(n, [&](auto key, auto value) { out += ' ' + std::string(key) + '=' + std::string(value); });
    for (const auto v : p.reads(n)) out += " r" + std::to_string(v);
    for (const auto v : p.writes(n)) out += " w" + std::to_string(v);
    out += '\n';
  }
  return out;
}

// A dump of one graph: the lines of its body in between.
std::string whole(const std::string& body, int nodes) {
  return "# IR entry: @g\n# Total subgraphs: 1\n\n# Total params: 2\n# Params:\n"
         "%para1_x: <Tensor[Float32], (2, 3)>\n"
         "%para2_w: <Ref[Tensor[Float32]], (2, 3), ref_key=w, is_parameter, is_inplace>  :  has_default\n\n"
         "Node counting information:\nTotal number of nodes: 99\nTotal number of cnodes: " +
         std::to_string(nodes) + "\n\nsubgraph attr:\nsubgraph instance: g : 0x1\nsubgraph @g() {\n" + body + "}\n\n\n";
}

}  // namespace

TEST_CASE("all nodes of a dump are read, and every operand is resolved", "[mindspore]") {
  for (const char* const name : dumps) {
    INFO(name);
    const std::string text = dump(name);
    const auto p = parse_ir(text);
    REQUIRE(p);
    CHECK(static_cast<std::int64_t>(p->node_count()) == number_after(text, "Total number of cnodes: "));
    CHECK(static_cast<std::int64_t>(p->graphs().size()) == number_after(text, "Total subgraphs: "));
    CHECK(p->counts().said_all_nodes == number_after(text, "Total number of nodes: "));
    CHECK(p->counts().parameters == number_after(text, "Total params: "));
    CHECK(p->is_whole());
    std::size_t without_scope = 0;
    for (std::size_t n = 0; n < p->node_count(); ++n) {
      without_scope += p->scope(n).empty();
      for (const auto& o : p->operands(n)) {
        CHECK(o.what != mindspore::ir_operand::kind::outside);
        if (o.what != mindspore::ir_operand::kind::constant) continue;
        CHECK(p->text(o.value) != "");
        CHECK(p->text(o.value).front() != '%');
        CHECK(p->text(o.value).front() != '$');
      }
    }
    CHECK(without_scope == 0);
  }
}

TEST_CASE("pieces of any length give the same program", "[mindspore]") {
  const std::string text = dump("bootstrap");
  const std::string expected = listing(*parse_ir(text));
  std::string with_returns;
  for (const char c : text) with_returns += c == '\n' ? std::string("\r\n") : std::string(1, c);
  CHECK(listing(*parse_ir(with_returns)) == expected);
  const std::string large = dump("select_fp32"), expected_large = listing(*parse_ir(large));
  for (const std::size_t length : {std::size_t{1}, std::size_t{7}, std::size_t{4096}, std::size_t{100003}}) {
    INFO(length);
    mindspore::ir_program_reader reader;
    for (std::size_t at = 0; at < large.size(); at += length)
      REQUIRE(reader.feed(std::string_view(large).substr(at, length)));
    const auto p = reader.finish();
    REQUIRE(p);
    CHECK(listing(*p) == expected_large);
  }
}

TEST_CASE("a program has a graph: text without one is refused", "[mindspore]") {
  STATIC_REQUIRE_FALSE(std::is_default_constructible_v<mindspore::ir_program>);
  for (const char* const text :
       {"", "\n", "\r\n\n", "subgraph attr:\n", "subgraph \n# Total subgraphs: 0\n", "# IR entry: @g\n",
        "# IR entry: g\n# Total subgraphs: 0\n# Total params: 0\nTotal number of cnodes: 0\n"}) {
    INFO(text);
    CHECK(refusal(text).find(", before a graph") != std::string::npos);
  }
}

TEST_CASE("a dump that is cut off is refused wherever it is cut", "[mindspore]") {
  const std::string text = dump("bootstrap");
  const std::size_t end = text.find("\n}\n") + 2;
  for (std::size_t length = 0; length < end; ++length) {
    INFO(length);
    CHECK_FALSE(parse_ir(std::string_view(text).substr(0, length)));
  }
  CHECK(parse_ir(std::string_view(text).substr(0, end)));
  const std::string large = dump("type_inference");  // of 133 graphs, some are missing
  const std::size_t border = large.find("subgraph @", large.size() / 2);
  CHECK(refusal(std::string_view(large).substr(0, border)).find("subgraphs, but says that it has 133") !=
        std::string::npos);
}

TEST_CASE("types say element, shape, bytes and whose memory they are", "[mindspore]") {
  using kind = mindspore::ir_type::kind;
  struct {
    const char* text;
    kind what;
    const char* element;
    std::int64_t bytes;
    std::vector<std::int64_t> shape;
  } const types[] = {
      {"<Tensor[Float16], (2, 128)>", kind::tensor, "Float16", 512, {2, 128}},
      {"<Tensor[Float32], ()>", kind::tensor, "Float32", 4, {}},
      {"<Tensor[BFloat16], (3)>", kind::tensor, "BFloat16", 6, {3}},
      {"<Tensor[Bool], (3,)>", kind::tensor, "Bool", 3, {3}},
      {"<Tensor[Int4], (3)>", kind::tensor, "Int4", 2, {3}},
      {"<Tensor[Complex64], (3)>", kind::tensor, "Complex64", 24, {3}},
      {"<Tensor[Float32], (0, 8)>", kind::tensor, "Float32", 0, {0, 8}},
      {"<Tensor[Float32], (-1, 8)>", kind::tensor, "Float32", 0, {-1, 8}},
      {"<Tensor[Float32], (s1, 8)>", kind::tensor, "Float32", 0, {-1, 8}},
      {"<Tensor[Float32]x[const vector][2, 3]>", kind::tensor, "Float32", 24, {2, 3}},
      {"<Ref[Tensor[Int32]], (1), ref_key=global_step, is_parameter>", kind::tensor, "Int32", 4, {1}},
      {"<Int64, NoShape, value=...>", kind::scalar, "Int64", 0, {}},
      {"<UMonad, NoShape>", kind::monad, "UMonad", 0, {}},
      {"<Func, NoShape>", kind::other, "Func", 0, {}},
      {"<null>", kind::other, "null", 0, {}},
      {"<Tuple[Tensor[Float16]*3], TupleShape((2, 3), (2, 3), (4))>", kind::tuple, "Tuple", 32, {}},
      {"<Tuple[Tensor[Float32],Tensor[Int8]*2], TupleShape((2), (3), (4)), elements_use_flags={[const vector]{1, 1}}>",
       kind::tuple,
       "Tuple",
       15,
       {}},
      {"<Tuple[Tuple[Tensor[Int8]*2],Bool], TupleShape(TupleShape((3), (4)), NoShape)>", kind::tuple, "Tuple", 7, {}},
      {"<Tuple[Tensor[Int8]*0], TupleShape()>", kind::tuple, "Tuple", 0, {}},
      {"<Tensor[Int8], (576460752303423488)>", kind::tensor, "Int8", std::int64_t{1} << 59, {std::int64_t{1} << 59}},
      {"<Tuple[], TupleShape()>", kind::tuple, "Tuple", 0, {}},
  };
  for (const auto& t : types) {
    INFO(t.text);
    const auto type = parse_ir_type(t.text);
    REQUIRE(type);
    CHECK(type->what == t.what);
    CHECK(type->element == t.element);
    CHECK(type->bytes == t.bytes);
    CHECK(type->shape == t.shape);
  }
  const auto reference = parse_ir_type("<Ref[Tensor[Int32]], (1), ref_key=:global_step, is_parameter, is_inplace>");
  CHECK(reference->reference);
  CHECK(reference->in_place);
  CHECK(reference->reference_to == "global_step");
  CHECK_FALSE(parse_ir_type("<Tensor[Float32], (-1, 8)>")->bytes_known);
  for (const char* const bad :
       {"", "<", "Tensor[Float32], (2)", "<Tensor[Int8], (576460752303423489)>", "<Tensor[Float32], (2)",
        "<Tensor[Float32), (2)>", "<Tensor[Float32], (2x)>",
        "<Tensor[Float32], (9223372036854775807, 9223372036854775807)>", "<Tensor[Float32], (99999999999999999999)>",
        "<Tuple[Tensor[Int8]*999999999999], TupleShape((2), (3))>", "<Tuple[Tensor[Int8]*3], TupleShape((2), (3))>",
        "<Tuple[Tensor[Int8]], TupleShape((2), (3))>"}) {
    INFO(bad);
    CHECK_FALSE(parse_ir_type(bad));
  }
}

TEST_CASE("the tuning guide's excerpt is read as a piece of a dump", "[mindspore]") {
  const char* const text =
      R"(  %13(equiv_180_CNode_16165) = Load(%para6_model.layers.0.attention.wq.weight, UMonad[U]) cnode_attrs: {checkpoint: Bool(1)} cnode_primal_attrs: {unique_id: "782039"}
      : (<Ref[Tensor[Float16]], (512, 4096), ref_key=model.layers.0.attention.wq.weight>, <UMonad, NoShape>) -> (<Tensor[Float16], (512, 4096)>)
      # Fullname with scope: (Default/network-MFPipelineWithLossScaleCell/layers-CellList/0-LLamaDecodeLayer/attention-LLamaAttention/Load-op0)
  %14(equiv_16877_x) = PrimFunc_MatMul(%12, %13, Bool(0), Bool(1)) {instance name: matmul} primitive_attrs: {in_strategy: ((1, 1), (8, 1))} cnode_attrs: {checkpoint: Bool(1)} cnode_primal_attrs: {unique_id: "782146", origin_output_shape: (4096, 4096), micro: I64(0), origin_input_shapes: ((4096, 4096), (4096, 4096))} {in_strategy: ((1, 1), (8, 1))}
      : (<Tensor[Float16], (4096, 4096)>, <Tensor[Float16], (512, 4096)>, <Bool, NoShape>, <Bool, NoShape>) -> (<Tensor[Float16], (4096, 512)>)
      # Fullname with scope: (Default/network-MFPipelineWithLossScaleCell/layers-CellList/0-LLamaDecodeLayer/attention-LLamaAttention/wq-Linear/MatMul-op0)
)";
  const auto p = parse_ir(text);
  REQUIRE(p);
  REQUIRE(p->node_count() == 2);
  CHECK_FALSE(p->is_whole());
  CHECK(p->primitive(1) == "MatMul");
  CHECK(p->instance(1) == "matmul");
  CHECK(p->attribute(1, "in_strategy") == "((1, 1), (8, 1))");
  CHECK(p->attribute(1, "unique_id") == "\"782146\"");
  CHECK(p->has_flag(0, "checkpoint"));
  CHECK(p->output_bytes(1) == 4096 * 512 * 2);
  CHECK(p->operands(1)[0].what == mindspore::ir_operand::kind::outside);
  CHECK(p->operands(1)[1].value == 0);
  CHECK(p->scope(1).ends_with("wq-Linear/MatMul-op0"));
}

TEST_CASE("what the scan of the guide misread is refused with its place", "[mindspore]") {
  const std::string ok = "%101(a) = AllReduce(%100) {instance name: forward_op_1} primitive_attrs: {fusion: I64(0)}\n";
  CHECK(refusal(ok) == "accepted");
  CHECK(refusal(ok + "%102(equiv_loss)) = MatMul(%98, %99)\n") ==
        "line 2, column 17: \") = MatMul(%98, %99)\" is not understood");
  CHECK(refusal(ok + "%102(b) = MatMul(%98) {instance name: matmul) cnode_attrs: {a: Bool(1)}\n") ==
        "line 2, column 45: \")\" does not close what is opened in column 23");
  CHECK(refusal(ok + "%102(b) = MatMul(%98) cnode_attrs: (checkpoint: Bool(1)}\n") ==
        "line 2, column 36: \"(checkpoint: Bool(1)}\" is not understood");
  CHECK(refusal(ok + "%102(b) = MatMul(%98) primitive_attrs: {in strategy: ((1, 4), (1,4))}\n") ==
        "line 2, column 41: \"in strategy: ((1, 4), (1,4))\" is no attribute such as \"fusion: I64(0)\"");
  CHECK(refusal(ok + "%102(b) = AllReduce(%98) primitive_attrs: {fusion: 164(0)}\n") ==
        "line 2, column 44: \"fusion: 164(0)\" is no attribute such as \"fusion: I64(0)\"");
  CHECK(refusal(ok + "%102(b) = Cast(%98, 164(43))\n") == "line 2, column 21: \"164(43)\" is not understood");
  CHECK(refusal(ok + "%102(b) = AllReduce(%98) primitive_attrs: {group: \"hcel_world_group\"}\n") ==
        "line 2, column 44: \"\"hcel_world_group\"\" is no attribute such as \"fusion: I64(0)\"");
}

TEST_CASE("spellings of older versions", "[mindspore]") {
  const char* const text =
      "#IR entry      : @1_construct.15\n"
      "#attrs         :\n"
      "check_set_strategy_valid_once_only : 1\n"
      "#Total params  : 2\n\n"
      "%para1_x : <Tensor[Float32]x[const vector][2, 3]>\n"
      "%para2_net.w : <Ref[Tensor(F32)]x[const vector][2, 3]>  :  has_default\n\n"
      "#Total subgraph : 2\n\n"
      "subgraph attr:\n"
      "Undeterminate : 0\n"
      "subgraph @2_inner.22(%para3_x, %para4_y) {\n"
      "  %0([CNode]23) = S-Prim-Add{prim_type=1}(%para3_x, %para4_y) primitive_attrs: {output_names: [output]}\n"
      "      : (<Tensor[Float32]x[const vector][2, 3]>, <Tensor[Float32]x[const vector][2, 3]>) -> "
      "(<Tensor[Float32]x[const vector][2, 3]>)\n"
      "      # In file train.py(34)/        a = self.add(x, 1)/\n"
      "      # fullname_with_scope: (Default/Add-op0)\n"
      "  Return(%0)\n"
      "      : (<Tensor[Float32]x[const vector][2, 3]>)\n"
      "}\n"
      "# order:\n#   1: @2_inner.22:[CNode]23\n\n"
      "subgraph attr:\n"
      "subgraph @1_construct.15() {\n"
      "  %0([CNode]5) = call @2_inner.22(%para1_x, %para2_net.w) { strategy: ((1, 1), (1, 1)) }\n"
      "      : (<Tensor[Float32]x[const vector][2, 3]>, <Ref[Tensor(F32)]x[const vector][2, 3]>) -> "
      "(<Tensor[Float32]x[const vector][2, 3]>)\n"
      "      : (Default/network-Net)\n"
      "  Return(%0)\n"
      "      : (<Tensor[Float32]x[const vector][2, 3]>)\n"
      "}\n";
  const auto p = parse_ir(text);
  if (!p) FAIL(message(p.error()));
  CHECK(p->node_count() == 4);
  CHECK(p->primitive(0) == "Add");
  CHECK(p->scope(0) == "Default/Add-op0");
  CHECK(p->output_bytes(0) == 24);
  CHECK(p->node(2).is_call);
  CHECK(p->node(2).callee == 0);
  CHECK(p->entry() == 1);
  CHECK(p->scope(2) == "Default/network-Net");
  CHECK(p->attribute(2, "strategy") == "((1, 1), (1, 1))");
}

TEST_CASE("a constant of two dimensions goes over several lines of a statement", "[mindspore]") {
  const auto p = parse_ir(dump("loss_scale"));
  if (!p) FAIL(message(p.error()));
  std::size_t found = 0;
  for (std::size_t n = 0; n < p->node_count(); ++n)
    for (const auto& o : p->operands(n)) {
      if (o.what != mindspore::ir_operand::kind::constant) continue;
      const std::string_view constant = p->text(o.value);
      if (!constant.starts_with("Tensor(shape=[2, 2]")) continue;
      ++found;
      CHECK(constant ==
            "Tensor(shape=[2, 2], dtype=Float32, value= [[ 0.00000000e+00  1.00000000e+00]  [ 2.00000000e+00  "
            "3.00000000e+00]])");
      CHECK(p->primitive(n) == "Mul");
      CHECK(p->operands(n).size() == 2);
      CHECK(p->attribute(n, "checkpoint") == "Bool(1)");
    }
  CHECK(found == 2);
  // Two constants in one statement, the second of three dimensions.
  const std::string two =
      "%0(a) = Add(Tensor(shape=[1, 2], value=\n[[1 2]]), Tensor(shape=[1, 2, 1], value=\n[[[1]\n\n  [2]]]), %9)\n"
      "%1(b) = Neg(%0)\n";
  const auto both = parse_ir(two);
  if (!both) FAIL(message(both.error()));
  CHECK(both->node_count() == 2);
  CHECK(both->operands(0).size() == 3);
  CHECK(refusal("%0(a) = Neg(Tensor(shape=[1, 2], value=\n# In file x\n") ==
        "line 2, column 1: \"# In file x\" is not understood");
  CHECK(refusal("%0(a) = Neg(Tensor(shape=[1, 2], value=\n[[1\n") ==
        "the text ends in line 2, before the rows of a constant");
  mindspore::ir_program_reader reader({.longest_line = 48});
  REQUIRE(reader.feed("%0(a) = Neg(Tensor(shape=[9, 2], value=\n[[1 2]\n"));
  const auto long_one = reader.feed(" [3 4]\n");
  REQUIRE_FALSE(long_one);
  CHECK(message(long_one.error()) == "line 3: 53 exceeds the limit of 48 (bytes in a statement)");
}

TEST_CASE("MindSpore 2.0 writes constants without their types", "[mindspore]") {
  const auto p = parse_ir(dump("select_version_2_0"));
  if (!p) FAIL(message(p.error()));
  std::size_t marks = 0, copies = 0, monads = 0;
  for (std::size_t n = 0; n < p->node_count(); ++n) {
    marks += p->has_flag(n, "recompute") && !p->has_flag(n, "duplicated");
    copies += p->has_flag(n, "duplicated");
    CHECK((p->node(n).phase == mindspore::ir_phase::recomputed) == p->has_flag(n, "duplicated"));
    for (const auto& o : p->operands(n)) monads += o.what == mindspore::ir_operand::kind::monad;
  }
  CHECK(marks == 4);
  CHECK(copies == 4);
  CHECK(monads > 0);
  // Its first passes call constants.
  const auto early = parse_ir("%0(a) = Tensor(shape=[], dtype=Float32, value=0)(%9) {instance name: x}\n");
  if (!early) FAIL(message(early.error()));
  CHECK(early->primitive(0) == "Tensor");
  CHECK(early->operands(0).size() == 1);
  CHECK(early->instance(0) == "x");
}

TEST_CASE("lines of kernels, symbols and comments stand between types and scope", "[mindspore]") {
  const auto p =
      parse_ir(whole("  %0(a) = PrimFunc_Cast(%para1_x) cnode_attrs: {x: I64(1)} {in_strategy: ((1, 1))}  \n"
                     "      : (<Tensor[Float32], (2, 3)>) -> (<Tensor[Float16], (2, 3)>)\n"
                     "      : ([s1, 3]) -> ([s1, 3])\n"
                     "      : (<Float32xDefaultFormat[const vector]{2, 3}>) -> (<Float16xDefaultFormat{2}>)\n"
                     "      : (Tensor) -> (Tensor)\n"
                     "      # Scope: (Gradients/Default/net)\n"
                     "      # Comment:\n"
                     "      a ) line } of a comment\n"
                     "  Return(%0)\n"
                     "      : (<Tensor[Float16], (2, 3)>)\n",
                     2));
  REQUIRE(p);
  CHECK(p->output_bytes(0) == 12);
  CHECK(p->scope(0) == "Gradients/Default/net");
  CHECK_FALSE(p->node(0).has_full_name);
  CHECK(p->node(0).phase == mindspore::ir_phase::backward);
}

TEST_CASE("bad dumps: one sentence with the place", "[mindspore]") {
  const std::string end = "  Return(%0)\n";
  const std::string load = "  %0(a) = Load(%para2_w, UMonad[U])\n";
  CHECK(refusal(whole(load + end, 2)) == "accepted");
  CHECK(refusal("") == "the text ends in line 0, before a graph");
  CHECK(refusal("Step Id,Device_id,Name\n1,2,3\n") == "line 1, column 1: \"Step Id,Device_id,Name\" is not understood");
  CHECK(refusal("%0 = kernel_graph_0_HostDSActor(param_x)\n") ==
        "line 1, column 1: \"%0 = kernel_graph_0_HostDSActor(param_\" is not understood");
  CHECK(refusal(whole(load + end, 3)) == "the text ends in line 20 with 2 cnodes, but says that it has 3");
  CHECK(refusal(whole(load + "  %1(b) = Neg(%7)\n" + end, 3)) ==
        "line 17, column 15: %7 is used, but not defined before");
  CHECK(refusal(whole(load + "  %1(b) = Neg(%para7_q)\n" + end, 3)) ==
        "line 17, column 15: %para7_q is used, but not defined before");
  CHECK(refusal(whole(load + "  %1(b) = call @h(%0)\n" + end, 3)) ==
        "line 17, column 17: h is used, but not defined before");
  CHECK(refusal(whole(load + "  %1(b) = Neg(%0\n" + end, 3)) ==
        "line 17, column 14: what is opened here is not closed: (%0");
  CHECK(refusal(whole(load + "  %1(b) = Neg(%0) what\n" + end, 3)) == "line 17, column 19: \"what\" is not understood");
  CHECK(refusal(whole(load + "  %1(b) = Neg(%0)\n      : (<Tensor[Float32], (2)) -> (<x>)\n" + end, 3)) ==
        "line 18, column 31: \")\" does not close what is opened in column 10");
  std::string dumped = whole(load + end, 2);
  dumped.replace(dumped.find("subgraphs: 1"), 12, "subgraphs: x");
  CHECK(refusal(dumped) == "line 2, column 20: \"x\" is not a whole number in range");
  const auto long_line = parse_ir(whole(load + end, 2), {.longest_line = 30});
  REQUIRE_FALSE(long_line);
  CHECK(message(long_line.error()) == "line 6: 35 exceeds the limit of 30 (bytes in a line)");
  CHECK_FALSE(parse_ir(whole(load + "  %1(b) = Neg(" + std::string(100000, '(') + "\n" + end, 3)));
}

TEST_CASE("lines that a reader refuses, each with its place", "[mindspore]") {
  const std::string graph = "subgraph @g() {\n  %0(a) = Neg(I64(1))\n  Return(%0)\n}\n";
  struct {
    std::string text, said;
  } const cases[] = {
      {graph, "accepted"},
      {"\xef\xbb\xbf" + graph, "accepted"},
      {"\n \t\n# IR entry: @g\n" + graph, "accepted"},
      {"#IR entry : @g\nanything: else\nand this\n" + graph, "accepted"},
      {"# IR entry: @g\njit config {\n% no parameter\n} not its end\n}\n" + graph, "accepted"},
      {"# IR entry: @g\njit config {\n}\n% no parameter\n" + graph,
       "line 4, column 1: \"% no parameter\" is not understood"},
      {"%0(a) = Neg(" + std::string(300, '('), "line 1, column 268: \"(\" does not close what is opened in column 267"},
      {"# IR entry: @g\n" + graph + "subgraph @h() {\n  %1(a) = Neg(%0)\n}\n",
       "line 7, column 15: %0 is used, but not defined before"},
      {"# IR entry: @g\n}\n" + graph, "line 2, column 1: \"}\" is not understood"},
      {"# IR entry: @h\n" + graph, "the text ends in line 5, before h"},
      {"# Total subgraphs: 1\n" + graph, "line 1, column 1: \"# Total subgraphs: 1\" is not understood"},
      {"# IR entry: @g\n# Total subgraphs: 1\n" + graph, "accepted"},
      {"# IR entry: @g\n# Total subgraphs: 2\n" + graph,
       "the text ends in line 6 with 1 subgraphs, but says that it has 2"},
      {"# IR entry: @g\n#Total subgraph : 0\n" + graph,
       "the text ends in line 6 with 1 subgraphs, but says that it has 0"},
      {"# IR entry: @g\n# Total params: 1\n" + graph, "the text ends in line 6 with 0 params, but says that it has 1"},
      {"# IR entry: @g\nTotal number of cnodes: 0\n" + graph,
       "the text ends in line 6 with 2 cnodes, but says that it has 0"},
      {"# IR entry: @g\n# Total params: \n" + graph, "line 2, column 17: \"\" is not a whole number in range"},
      {"# IR entry: @g\n# Total params:  1x\n" + graph, "line 2, column 18: \"1x\" is not a whole number in range"},
      {"# IR entry: @g\n# Total params: -1\n" + graph, "line 2, column 17: \"-1\" is not a whole number in range"},
      {"# IR entry: @g\nTotal number of nodes: 99999999999999999999\n" + graph,
       "line 2, column 24: \"99999999999999999999\" is not a whole number in range"},
      {"# IR entry: @g\n%para1_x: <Tensor[Int8], (2)>\n" + graph, "accepted"},
      {"# IR entry: @g\n%para1_x : <Tensor[Int8], (2)>  :  has_default\n" + graph, "accepted"},
      {"# IR entry: @g\n%para1_x\n" + graph, "line 2, column 1: \"%para1_x\" is not understood"},
      {"# IR entry: @g\n%para1_x: <Tensor[Int8], (2)\n" + graph,
       "line 2, column 11: what is opened here is not closed: <Tensor[Int8], (2)"},
      {"# IR entry: @g\n%para1_x: <Tensor[Int8], (2x)>\n" + graph, "line 2, column 26: \"(2x)\" is not understood"},
      {"subgraph @g {\n}\n", "line 1, column 13: \"{\" is not understood"},
      {"subgraph @g\n}\n", "line 1, column 1: \"subgraph @g\" is not understood"},
      {"subgraph @() {\n}\n", "line 1, column 1: \"subgraph @() {\" is not understood"},
      {"subgraph @g(%para1_a {\n}\n", "line 1, column 22: what is opened here is not closed: {"},
      {"subgraph @g() [\n}\n", "line 1, column 14: \" [\" is not understood"},
      {"subgraph @g()\n}\n", "line 1, column 1: \"subgraph @g()\" is not understood"},
      {"subgraph @g parent: [subgraph @h() {\n}\n", "line 1, column 32: \"h() {\" is not understood"},
      {"subgraph @g parent: [subgraph @h] {\n}\n", "line 1, column 35: \"{\" is not understood"},
      {"subgraph @g parent: [subgraph @h]() {\n}\n", "accepted"},
      {"subgraph @g() {\n  Return(I64(1))\n", "the text ends in line 2, before the } of a graph"},
      {"%0(a) = Neg(%1)", "accepted"},
      {"  %0(a) = Neg(%1)", "accepted"},
      {"%0(a) = Neg(%1)\n}\n", "accepted"},
      {"%x(a) = Neg(%1)\n", "line 1, column 1: \"%x(a) = Neg(%1)\" is not understood"},
      {"%12 = Neg(%1)\n", "line 1, column 1: \"%12 = Neg(%1)\" is not understood"},
      {"%12", "line 1, column 1: \"%12\" is not understood"},
      {"%", "line 1, column 1: \"%\" is not understood"},
      {"%0(a) = Neg(%1)\n  what\n", "line 2, column 3: \"what\" is not understood"},
      {"%0(a) = Neg(%1)\nReturn(%0)\n", "accepted"},
      {"%0(a) = Neg(%1)\n  (Default/net)\n", "line 2, column 3: \"(Default/net)\" is not understood"},
      {"%0(a) = Neg(%1)\n  # Fullname with scope:\n  (Default/net)\n", "accepted"},
      {"%0(a) = Neg(%1)\n  # Fullname with scope:\n  # Comment\n  (Default/net)\n",
       "line 4, column 3: \"(Default/net)\" is not understood"},
  };
  for (const auto& each : cases) {
    INFO(each.text);
    CHECK(refusal(each.text) == each.said);
  }
}

TEST_CASE("a scope is the first that a statement's comments tell", "[mindspore]") {
  const auto scope = [](const std::string& lines) {
    const auto p = parse_ir("%0(a) = Neg(%1)\n" + lines);
    if (!p) return message(p.error());
    return std::string(p->scope(0)) + (p->node(0).has_full_name ? ", full" : "");
  };
  const std::string types = "  : (<Int64, NoShape>) -> (<Int64, NoShape>)\n";
  struct {
    std::string lines, found;
  } const cases[] = {
      {"", ""},
      {"# Fullname with scope: (Default/a)\n", "Default/a, full"},
      {"# fullname_with_scope: (Default/a)\n", "Default/a, full"},
      {"# Scope: (Default/a)\n", "Default/a"},
      {"# scope: Default/a\n", "Default/a"},
      {"# Scope: (Default/a)\n# Fullname with scope: (Default/b)\n", "Default/a"},
      {"# Fullname with scope:\n(Default/a)\n", "Default/a, full"},
      {"# Scope:\n", ""},
      {"# Corresponding forward: (Default/a)\n", ""},
      {"# In file a.py: Scope: x\n# Scope: (b)\n", "b"},
      {"# Scope\n", ""},
      {"#Scope: a\n", "a"},
      {types + ": (Default/a)\n", "Default/a, full"},
      {types + ": (Default/a) -> (Default/b)\n", ""},
      {types + ": (Other/a)\n", ""},
      {types + "# Scope: (Default/b)\n: (Default/a)\n", "Default/b"},
  };
  for (const auto& each : cases) {
    INFO(each.lines);
    CHECK(scope(each.lines) == each.found);
  }
  // The next statement has its own.
  const auto p =
      parse_ir("%0(a) = Neg(%1)\n# Fullname with scope: (Default/a)\n%1(b) = Neg(%0)\n# Scope: (b)\nReturn(%1)\n");
  REQUIRE(p);
  CHECK(p->scope(1) == "b");
  CHECK_FALSE(p->node(1).has_full_name);
  CHECK(p->scope(2).empty());
  const auto full = parse_ir("%0(a) = Neg(%1)\n# Fullname with scope: (Default/a)\n%1(b) = Neg(%0)\n");
  CHECK(full->node(0).has_full_name);
  CHECK_FALSE(full->node(1).has_full_name);
  CHECK(refusal("%0(a) = Neg(%1)\n# Scope:\n%1(b) = Neg(%0)\n(Default)\n") ==
        "line 4, column 1: \"(Default)\" is not understood");
}

TEST_CASE("operands have types where each has one", "[mindspore]") {
  const auto count = [](const std::string& types) {
    return parse_ir("%0(a) = Add(%1, %2)\n  : (" + types + ") -> (<Bool>)\n")->input_types(0).size();
  };
  CHECK(count("<Bool>, <Int8>") == 2);
  CHECK(count("<Bool>") == 0);
  CHECK(count("<Bool>, <Int8>, <Int8>") == 0);
  CHECK(count("") == 0);
  const auto untyped = parse_ir("# IR entry: @g\nsubgraph @g(%para1_x) {\n  Return(%para1_x)\n}\n");
  REQUIRE(untyped);
  CHECK(untyped->type(untyped->parameters()[0].type).what == mindspore::ir_type::kind::other);
}

TEST_CASE("graphs have the parents that their headings name", "[mindspore]") {
  const auto p = parse_ir(
      "# IR entry: @main\n"
      "subgraph @inner parent: [subgraph @outer](%para1_x) {\n  Return(%para1_x)\n}\n"
      "subgraph @other() {\n  Return(I64(1))\n}\n"
      "subgraph @outer parent: [subgraph @main]() {\n  Return(I64(1))\n}\n"
      "subgraph @lost parent: [subgraph @nowhere]() {\n  Return(I64(1))\n}\n"
      "subgraph @main() {\n  Return(I64(1))\n}\n");
  REQUIRE(p);
  std::vector<std::uint32_t> parents;
  for (const mindspore::ir_graph& g : p->graphs()) parents.push_back(g.parent);
  CHECK(parents == std::vector<std::uint32_t>{2, hocket::no_id, 4, hocket::no_id, hocket::no_id});
}

TEST_CASE("what has no key belongs to the value before it", "[mindspore]") {
  const auto attributes = [](const std::string& list) {
    const auto p = parse_ir("%0(a) = Neg(%1) primitive_attrs: {" + list + "}\n");
    if (!p) return message(p.error());
    std::string out;
    p->for_each_attribute(0, [&](auto key, auto value) { out += std::string(key) + "=" + std::string(value) + ";"; });
    return out;
  };
  CHECK(attributes("a: I64(1), 2, b: (3, 4), c: [5, x: 6], d: \"7, y: 8\"") ==
        "a=I64(1), 2;b=(3, 4);c=[5, x: 6];d=\"7, y: 8\";");
  CHECK(attributes("a: 1,  2 ,(3), b: 4") == "a=1,  2 ,(3);b=4;");
  CHECK(attributes("a: ") == "a=;");
  CHECK(attributes("") == "");
  CHECK(attributes("1, a: 2") == "line 1, column 35: \"1\" is no attribute such as \"fusion: I64(0)\"");
  CHECK(attributes("a: 1, : 2") == "a=1, : 2;");
}

TEST_CASE("a line is as long as the option says, and no longer, however it comes", "[mindspore]") {
  const std::string line = "%0(a) = Neg(%1)", text = "\n" + line + "\n";
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    INFO(cut);
    for (const std::size_t longest : {line.size(), line.size() - 1}) {
      mindspore::ir_program_reader reader({.longest_line = longest});
      auto ok = reader.feed(text.substr(0, cut));
      if (ok) ok = reader.feed(text.substr(cut));
      REQUIRE(ok.has_value() == (longest == line.size()));
      if (ok) CHECK(reader.finish()->node_count() == 1);
      else CHECK(message(ok.error()) == "line 2: 15 exceeds the limit of 14 (bytes in a line)");
    }
  }
}

TEST_CASE("a reader counts what it read and what the text says of itself", "[mindspore]") {
  const auto p = parse_ir(whole("  %0(a) = Neg(%para1_x)\n  Return(%0)\n", 2));
  REQUIRE(p);
  const mindspore::ir_counts& c = p->counts();
  CHECK(c.lines == 20);
  CHECK(c.graphs == 1);
  CHECK(c.nodes == 2);
  CHECK(c.parameters == 2);
  CHECK(c.said_graphs == 1);
  CHECK(c.said_nodes == 2);
  CHECK(c.said_parameters == 2);
  CHECK(c.said_all_nodes == 99);
  const auto piece = parse_ir("%0(a) = Neg(%1)\n");
  CHECK(piece->counts().graphs == 1);
  CHECK(piece->counts().said_graphs == -1);
  CHECK(piece->counts().said_nodes == -1);
  CHECK(piece->counts().said_parameters == -1);
  CHECK(piece->counts().said_all_nodes == -1);
}
