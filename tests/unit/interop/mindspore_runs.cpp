// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Programs made at random: the order in which their ops run and the peak of their memory, by other means than the
// library's; and what a reader counts and marks.
#include <hocket/core/message.hpp>
#include <hocket/interop/mindspore/ir_peak.hpp>
#include <hocket/interop/mindspore/parse_ir.hpp>
#include <hocket/interop/mindspore/recomputation.hpp>

#include <algorithm>
#include <functional>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "catch.hpp"

namespace {
namespace runs {

namespace ms = hocket::mindspore;

/// One statement of a random program.
struct statement {
  enum class kind { op, view, depend, tuple, item, silu_grad, update } what = kind::op;
  std::vector<int> operands{};  // numbers of statements
  int element = 0;              // of an item
  int kilobytes = 1;
};
std::string type_of(int kilobytes) { return "<Tensor[Int8], (" + std::to_string(kilobytes) + ", 1024)>"; }

/// What a statement gives: an element for a tensor, several for a tuple, each with the ops behind it.
struct program {
  std::vector<statement> statements;
  [[nodiscard]] bool runs(int n) const {
    const auto what = statements[static_cast<std::size_t>(n)].what;
    return what == statement::kind::op || what == statement::kind::view || what == statement::kind::silu_grad;
  }
  [[nodiscard]] std::string text() const {
    std::string out;
    for (std::size_t n = 0; n < statements.size(); ++n) {
      const statement& s = statements[n];
      static constexpr const char* names[] = {"Add",          "Reshape",  "Depend",     "MakeTuple",
                                              "TupleGetItem", "SiLUGrad", "UpdateState"};
      std::string operands;
      for (const int o : s.operands) operands += (operands.empty() ? "%" : ", %") + std::to_string(o);
      if (s.operands.empty()) operands = "%900";
      if (s.what == statement::kind::item) operands += ", I64(" + std::to_string(s.element) + ")";
      const std::string number = std::to_string(n);
      out += "%" + number + "(n" + number + ") = " + names[static_cast<std::size_t>(s.what)] + "(" + operands + ")\n";
      std::string inputs = type_of(s.kilobytes);
      for (std::size_t more = s.what == statement::kind::item ? 0 : 1; more < s.operands.size(); ++more)
        inputs += ", " + type_of(s.kilobytes);
      out += "  : (" + inputs + ") -> (" + type_of(s.kilobytes) + ")\n";
    }
    return out;
  }
  /// Ops that must have run before a statement's result is there: those that it names, through what runs not.
  void add_before(int n, std::set<int>& out) const {
    const statement& s = statements[static_cast<std::size_t>(n)];
    std::vector<int> from = s.operands;
    if (s.what == statement::kind::item) {
      const statement& of = statements[static_cast<std::size_t>(s.operands[0])];
      if (of.what == statement::kind::tuple) from = {of.operands[static_cast<std::size_t>(s.element)]};
    }
    for (const int o : from)
      if (runs(o)) out.insert(o);
      else add_before(o, out);
  }
};

program random_program(std::mt19937& random, bool with_silu) {
  program out;
  const int count = 4 + static_cast<int>(random() % 24);
  for (int n = 0; n < count; ++n) {
    statement s;
    s.kilobytes = 1 + static_cast<int>(random() % 5);
    const auto any = [&] { return static_cast<int>(random() % static_cast<unsigned>(n)); };
    std::vector<int> tuples;
    for (int t = 0; t < n; ++t)
      if (out.statements[static_cast<std::size_t>(t)].what == statement::kind::tuple) tuples.push_back(t);
    const auto plain = [&] {  // not a tuple
      int o = any();
      while (out.statements[static_cast<std::size_t>(o)].what == statement::kind::tuple) o = any();
      return o;
    };
    const auto kind = static_cast<int>(n < 2 ? 0 : random() % 10);
    using what = statement::kind;
    if (kind < 4) {
      for (auto reads = n == 0 ? 0 : random() % 3; reads > 0; --reads) s.operands.push_back(plain());
    } else if (kind == 4) {
      s.what = what::view;
      s.operands = {plain()};
    } else if (kind == 5) {
      s.what = what::depend;
      s.operands = {plain(), plain()};
    } else if (kind == 6) {
      s.what = what::tuple;
      s.operands = {plain(), plain(), plain()};
    } else if (kind == 7 && !tuples.empty()) {
      s.what = what::item;
      s.operands = {tuples[random() % tuples.size()]};
      s.element = static_cast<int>(random() % 3);
    } else if (kind == 8 && with_silu) {
      s.what = what::silu_grad;
      s.operands = {plain(), plain()};
    } else {
      s.operands = {plain()};
    }
    out.statements.push_back(s);
  }
  return out;
}

ms::ir_program read(const std::string& text) {
  auto p = ms::parse_ir(text);
  if (!p) FAIL(message(p.error()));
  return std::move(*p);
}

/// The same with the sigmoid that MindSpore's CPU splits off each SiLUGrad: ops are twice their statement's number, one
/// more for those that stand behind their sigmoid.
std::vector<int> served_on_cpu(const program& p) {
  std::vector<int> order;
  std::set<int> started, done;
  const auto start_ready = [&] {
    for (int op = 0; op < 2 * static_cast<int>(p.statements.size()); ++op) {
      const int n = op / 2;
      const statement& s = p.statements[static_cast<std::size_t>(n)];
      const bool splits = s.what == statement::kind::silu_grad, is_sigmoid = splits && op % 2 == 0;
      if (!p.runs(n) || op % 2 != (splits && !is_sigmoid ? 1 : 0) || started.count(op) != 0) continue;
      std::set<int> before;
      if (!is_sigmoid) p.add_before(n, before);
      else if (p.runs(s.operands[1])) before.insert(s.operands[1]);
      else p.add_before(s.operands[1], before);
      bool is_ready = !splits || is_sigmoid || done.count(op - 1) != 0;
      for (const int b : before)
        is_ready =
            is_ready &&
            done.count(2 * b +
                       (p.statements[static_cast<std::size_t>(b)].what == statement::kind::silu_grad ? 1 : 0)) != 0;
      if (!is_ready) continue;
      order.push_back(op);
      started.insert(op);
    }
  };
  start_ready();
  for (std::size_t at = 0; at < order.size(); ++at) {
    done.insert(order[at]);
    start_ready();
  }
  return order;
}

/// First come, first served: each op starts when all before it are done; of those that become ready at once, the first
/// of the dump.
std::vector<int> served(const program& p) {
  std::vector<int> order;
  std::set<int> started;
  const auto start_ready = [&](const std::set<int>& done) {
    for (int n = 0; n < static_cast<int>(p.statements.size()); ++n) {
      if (!p.runs(n) || started.count(n) != 0) continue;
      std::set<int> before;
      p.add_before(n, before);
      if (!std::includes(done.begin(), done.end(), before.begin(), before.end())) continue;
      order.push_back(n);
      started.insert(n);
    }
  };
  std::set<int> done;
  start_ready(done);
  for (std::size_t at = 0; at < order.size(); ++at) {
    done.insert(order[at]);
    start_ready(done);
  }
  return order;
}

TEST_CASE("ops run first come, first served", "[mindspore]") {
  std::mt19937 random(101);
  for (int round = 0; round < 300; ++round) {
    const program made = random_program(random, true);
    const auto p = read(made.text());
    const auto flow = ms::dataflow_of(p);
    std::vector<int> order;
    for (const std::uint32_t op : ms::run_order(p, flow)) order.push_back(static_cast<int>(flow.nodes[op]));
    INFO(made.text());
    CHECK(order == served(made));
    for (std::size_t op = 0; op < flow.op_count(); ++op) {  // each value once
      const auto reads = flow.reads[op];
      CHECK(std::adjacent_find(reads.begin(), reads.end(), std::greater_equal<>()) == reads.end());
    }
    const auto on_cpu = ms::dataflow_of(p, {}, ms::ir_back_end::cpu);
    std::vector<int> ops;
    for (const std::uint32_t op : ms::run_order(p, on_cpu)) {
      const auto n = on_cpu.nodes[op];
      const bool splits = made.statements[n].what == statement::kind::silu_grad;
      ops.push_back(2 * static_cast<int>(n) + (splits && on_cpu.op_of_node[n] == op ? 1 : 0));
    }
    CHECK(ops == served_on_cpu(made));
  }
}

TEST_CASE("a value lives from the op that makes it to the last that reads it or a view of it", "[mindspore]") {
  std::mt19937 random(102);
  for (int round = 0; round < 300; ++round) {
    const program made = random_program(random, false);
    const auto p = read(made.text());
    const auto flow = ms::dataflow_of(p);
    const auto order = ms::run_order(p, flow);
    INFO(made.text());
    // Which statement's memory each statement's tensor is, and who reads it.
    const int count = static_cast<int>(made.statements.size());
    std::vector<int> place(static_cast<std::size_t>(count), -1);
    for (std::size_t k = 0; k < order.size(); ++k) place[flow.nodes[order[k]]] = static_cast<int>(k);
    const auto made_by = [&](int n) {  // through Depend and items
      while (true) {
        const statement& s = made.statements[static_cast<std::size_t>(n)];
        if (s.what == statement::kind::depend) n = s.operands[0];
        else if (s.what == statement::kind::item)
          n = made.statements[static_cast<std::size_t>(s.operands[0])].operands[static_cast<std::size_t>(s.element)];
        else return n;
      }
    };
    const auto memory_of = [&](int n) {
      n = made_by(n);
      while (made.statements[static_cast<std::size_t>(n)].what == statement::kind::view)
        n = made_by(made.statements[static_cast<std::size_t>(n)].operands[0]);
      return n;
    };
    std::vector<int> last(static_cast<std::size_t>(count), -1);
    for (int n = 0; n < count; ++n) {
      if (!made.runs(n)) continue;
      const int own = place[static_cast<std::size_t>(n)];
      auto& of_own = last[static_cast<std::size_t>(memory_of(n))];
      of_own = std::max(of_own, own);
      for (const int o : made.statements[static_cast<std::size_t>(n)].operands) {
        auto& of_read = last[static_cast<std::size_t>(memory_of(o))];
        of_read = std::max(of_read, own);
      }
    }
    std::int64_t most = 0;
    std::size_t at_most = 0;
    for (std::size_t k = 0; k < order.size(); ++k) {
      std::int64_t live = 0;
      std::size_t values = 0;
      for (int n = 0; n < count; ++n) {
        if (!made.runs(n) || memory_of(n) != n) continue;
        const bool there = place[static_cast<std::size_t>(n)] <= static_cast<int>(k) &&
                           static_cast<int>(k) <= last[static_cast<std::size_t>(n)];
        if (there) live += 1024 * made.statements[static_cast<std::size_t>(n)].kilobytes;
        values += there ? 1 : 0;
      }
      if (live > most) {
        most = live;
        at_most = k;
      }
      std::int64_t alive = 0;
      const auto found = ms::alive_at(flow, order, static_cast<std::uint32_t>(k));
      for (const std::uint32_t v : found) alive += flow.values[v].bytes;
      CHECK(alive == live);
      CHECK(found.size() == values);
      CHECK(std::is_sorted(found.begin(), found.end()));
    }
    const auto peak = ms::peak_of(flow, order);
    CHECK(peak.bytes == most);
    if (most > 0) CHECK(peak.place == at_most);
    if (most > 0) CHECK(peak.node == flow.nodes[order[at_most]]);
  }
}

TEST_CASE("MindSpore's CPU computes sigmoids as soon as it can, and takes room for what it expands", "[mindspore]") {
  // 0 gives x; 1 to 3 pass the time; 4 is SiLUGrad(3, x): its sigmoid of x runs right behind 0, beside 1.
  const program made{{{.kilobytes = 2},
                      {.operands = {0}, .kilobytes = 1},
                      {.operands = {1}, .kilobytes = 1},
                      {.operands = {2}, .kilobytes = 3},
                      {.what = statement::kind::silu_grad, .operands = {3, 0}, .kilobytes = 3}}};
  const auto p = read(made.text());
  const auto device = ms::dataflow_of(p), cpu = ms::dataflow_of(p, {}, ms::ir_back_end::cpu);
  CHECK(device.op_count() == 5);
  CHECK(device.splits.empty());
  REQUIRE(cpu.op_count() == 6);
  REQUIRE(cpu.splits.size() == 1);
  CHECK(cpu.splits[0].after == 0);
  CHECK(cpu.splits[0].before == 4);
  std::vector<std::uint32_t> nodes;
  const auto order = ms::run_order(p, cpu);
  for (const std::uint32_t op : order) nodes.push_back(cpu.nodes[op]);
  CHECK(nodes == std::vector<std::uint32_t>{0, 1, 4, 2, 3, 4});
  CHECK(order[2] == cpu.splits[0].op);
  // The same behind another graph of the dump.
  std::string behind = "# IR entry: @main\nsubgraph @g() {\n  Return(I64(1))\n}\nsubgraph @main() {\n", line;
  std::istringstream lines(made.text());
  while (std::getline(lines, line)) behind += "  " + line + "\n";
  behind.replace(behind.find("%900"), 4, "I64(1)");
  const auto second = read(behind + "  Return(%4)\n}\n");
  const auto of_second = ms::dataflow_of(second, {}, ms::ir_back_end::cpu);
  CHECK(ms::run_order(second, of_second) == order);
  // The sigmoid is as large as x, and there until the gradient; that takes its input's 3 kB more while it runs.
  CHECK(cpu.values[cpu.writes[cpu.splits[0].op][0]].bytes == 2 * 1024);
  const auto peak = ms::peak_of(cpu, order);
  CHECK(peak.bytes == (2 + 2 + 3 + 3 + 3) * 1024);  // x, sigmoid, dy, result, scratch
  CHECK(peak.node == 4);
  CHECK(ms::peak_of(device, ms::run_order(p, device)).bytes == (2 + 3 + 3) * 1024);
  // A softmax with cross entropy takes a workspace of its logits, SiLU its own sigmoid.
  for (const char* const name : {"SiLU", "SoftmaxCrossEntropyWithLogits", "Mul"}) {
    std::string text = program{{{.kilobytes = 2}, {.operands = {0}, .kilobytes = 5}}}.text();
    text.replace(text.rfind("Add"), 3, name);
    const auto one = read(text);
    const auto flow = ms::dataflow_of(one, {}, ms::ir_back_end::cpu);
    CHECK(flow.scratch == std::vector<std::int64_t>{0, std::string(name) == "Mul" ? 0 : 5 * 1024});
    CHECK(ms::dataflow_of(one).scratch == std::vector<std::int64_t>{0, 0});
  }
}

TEST_CASE("what a piece of a dump names without showing it is counted once", "[mindspore]") {
  const auto p =
      read("%3(a) = Add(%1, %2)\n%4(b) = Add(%1, %3)\n%5(c) = Add(%7, %para1_x)\n%6(d) = Add(%para1_x, %2)\n");
  std::set<std::uint32_t> outside;
  for (std::size_t n = 0; n < p.node_count(); ++n)
    for (const auto& o : p.operands(n))
      if (o.what == ms::ir_operand::kind::outside) outside.insert(o.value);
  CHECK(outside == std::set<std::uint32_t>{0, 1, 2, 3});
  CHECK(p.operands(0)[0].value == p.operands(1)[0].value);
  CHECK(p.operands(2)[1].value == p.operands(3)[0].value);
  std::set<std::uint32_t> variables;
  for (std::size_t n = 0; n < p.node_count(); ++n)
    for (const std::uint32_t v : p.reads(n)) variables.insert(v);
  CHECK(variables.size() == 5);  // four from elsewhere, and a
  CHECK(*variables.rbegin() + 1 == p.variable_count());
}

TEST_CASE("of the references that an op takes, it updates those that are marked", "[mindspore]") {
  const std::string w = "<Ref[Tensor[Float32]], (2), ref_key=w", v = "<Ref[Tensor[Float32]], (2), ref_key=v",
                    monad = "<UMonad, NoShape>",
                    head =
                        "# IR entry: @main\n# Total subgraphs: 1\n# Total params: 2\n"
                        "# Params:\n%para1_w: <Ref[Tensor[Float32]], (2), ref_key=w>\n"
                        "%para2_v: <Ref[Tensor[Float32]], (2), ref_key=v>\n"
                        "subgraph @main() {\n";
  const auto writes = [&](const std::string& op, bool first, bool second, bool ordered) {
    const std::string marked = ", is_inplace>";
    const auto p = read(head + "  %0(a) = " + op + "(%para1_w, %para2_v" + (ordered ? ", UMonad[U]" : "") +
                        ")\n      : (" + w + (first ? marked : ">") + ", " + v + (second ? marked : ">") +
                        (ordered ? ", " + monad : "") + ") -> (<Tensor[Float32], (2)>)\n  Return(%0)\n}\n");
    std::set<std::uint32_t> out;
    for (const std::uint32_t x : p.writes(0)) out.insert(x);
    std::string names;
    if (out.count(p.variable_of_parameter(0)) != 0) names += "w";
    if (out.count(p.variable_of_parameter(1)) != 0) names += "v";
    return names;
  };
  CHECK(writes("Custom", true, false, true) == "w");
  CHECK(writes("Custom", false, true, true) == "v");
  CHECK(writes("Custom", true, true, true) == "wv");
  CHECK(writes("Custom", false, false, true) == "wv");  // an older dump, which marks nothing
  CHECK(writes("Custom", true, true, false).empty());   // without a monad there is no side effect
  CHECK(writes("Load", true, true, true).empty());
  CHECK(writes("Assign", true, true, true) == "w");
  CHECK(writes("AssignAdd", false, false, true) == "w");
  CHECK(writes("ApplyMomentum", false, false, true) == "wv");
}

TEST_CASE("what is updated in place takes no memory of its own", "[mindspore]") {
  const std::string ref = "<Ref[Tensor[Int8]], (2, 1024), ref_key=w>", plain = type_of(2);
  const auto p =
      read("# IR entry: @main\n%para1_w: " + ref +
           "\nsubgraph @main() {\n  %0(a) = Neg(I64(1))\n      : (<Int64, NoShape>) -> (" + plain +
           ")\n  %1(b) = Assign(%para1_w, %0)\n      : (" + ref + ", " + plain + ") -> (" + plain +
           ")\n  %2(c) = Custom(%para1_w, %0, UMonad[U])\n      : (" + ref + ", " + plain +
           ", <UMonad, NoShape>) -> (<Tuple[Tensor[Int8]*2], TupleShape((2, 1024), (3))>)\n  Return(%2)\n}\n");
  const auto flow = ms::dataflow_of(p);
  std::vector<std::int64_t> bytes;
  for (const auto& v : flow.values) bytes.push_back(v.bytes);
  CHECK(bytes == std::vector<std::int64_t>{2048, 0, 0, 0});
}

TEST_CASE("results whose size a dump does not tell are counted", "[mindspore]") {
  const auto count = [](const std::string& types) {
    return ms::count_unknown_sizes(
        read("%0(a) = Custom(%1)\n" + (types.empty() ? "" : "  : (" + type_of(1) + ") -> (" + types + ")\n")), 0);
  };
  CHECK(count("") == 1);
  CHECK(count(type_of(1)) == 0);
  CHECK(count("<Tensor[Int8], (-1, 2)>") == 1);
  CHECK(count("<Tensor[Strange], (2)>") == 1);
  CHECK(count("<null>") == 1);
  CHECK(count("<Func, NoShape>") == 0);
  // What is updated in place has the size of the parameter.
  CHECK(ms::count_unknown_sizes(read("%0(a) = Assign(%para1_w, %1)\n  : (<Ref[Tensor[Int8]], (2), ref_key=w>, " +
                                     type_of(1) + ") -> (<Tensor[Int8], (-1)>)\n"),
                                0) == 0);
  CHECK(count("<Tuple[Tensor[Int8]*2], TupleShape((2), (-1))>") == 1);
  CHECK(count("<Tensor[Int8], (-1)>, <null>, " + type_of(1)) == 2);
}

TEST_CASE("bits of element types, known and not", "[mindspore]") {
  for (const char* const family : {"Float", "BFloat", "Int", "UInt", "Uint", "Complex", "F", "BF", "I", "U"})
    for (const int bits : {1, 4, 8, 16, 32, 64, 128}) CHECK(ms::bits_of(family + std::to_string(bits)) == bits);
  CHECK(ms::bits_of("Int129") == 0);
  CHECK(ms::bits_of("Float9999999") == 0);
  CHECK(ms::bits_of("Bool") == 8);
  CHECK(ms::bits_of("Float8E4M3FN") == 8);
  CHECK(ms::bits_of("Float8E5M2") == 8);
  CHECK(ms::bits_of("HiFloat8") == 8);
  for (const char* const none : {"", "Int", "Float", "String", "Fload16", "8", "Float8E4", "Boolean"}) {
    INFO(none);
    CHECK(ms::bits_of(none) == 0);
  }
}

TEST_CASE("tuples of tuples are read to a depth", "[mindspore]") {
  const auto nested = [](int depth) {
    std::string type = "Tensor[Int8]";
    for (int n = 0; n < depth; ++n) type = "Tuple[" + type + "]";
    return ms::parse_ir_type("<" + type + ">").has_value();
  };
  for (int depth = 0; depth < 40; ++depth) CHECK(nested(depth) == (depth < 32));
}

TEST_CASE("a type that is none is refused where it goes wrong", "[mindspore]") {
  const auto column = [](const std::string& text) {
    const auto type = ms::parse_ir_type(text);
    return type ? -1 : type.error().values[1];
  };
  CHECK(column("<Tensor[Float32], (2)> x>") == 23);  // what follows the end
  CHECK(column("<Tensor[Float32), (2)>") == 16);     // closes nothing
  CHECK(column("<Tensor[Float32], (2x)>") == 19);
  CHECK(column("<Tuple[Tensor[Int8]], TupleShape((2), (3))>") == 38);
  // In a dump the column is that of the line.
  const auto p = ms::parse_ir("%0(a) = Add(%1, %2)\n      : (<Tensor[Int8], (2)>, <Tensor[Int8], (2x)>) -> (<Bool>)\n");
  REQUIRE(!p);
  CHECK(message(p.error()) == "line 2, column 46: \"(2x)\" is not understood");
}

}  // namespace runs
}  // namespace
