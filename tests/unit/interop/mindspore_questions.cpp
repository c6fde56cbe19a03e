// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Recomputation and collectives of dumps written for the purpose; the real ones are asked by tests/command_line.
#include <hocket/core/message.hpp>
#include <hocket/interop/mindspore/collectives.hpp>
#include <hocket/interop/mindspore/parse_ir.hpp>
#include <hocket/interop/mindspore/recomputation.hpp>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <tuple>
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

TEST_CASE("a copy stands for the op with its numbers, else for the last that reads the same", "[mindspore]") {
  const auto ids = [](int graph, int id) {
    return "recompute_sub_graph: U64(" + std::to_string(graph) + "), recompute_id: I64(" + std::to_string(id) + ")";
  };
  const auto mark = [](const std::string& more) {
    return "cnode_attrs: {recompute: Bool(1)" + (more.empty() ? "" : ", " + more) + "}";
  };
  const auto copy = [](const std::string& more) {
    return "cnode_attrs: {duplicated: Bool(1)" + (more.empty() ? "" : ", " + more) + "}";
  };
  struct {
    std::string text, duplicated;
    std::size_t copies, others;
  } const cases[] = {
      {node(0, "Neg", "%90", 1, mark("")), "0", 0, 0},
      {node(0, "Neg", "%90", 1, mark("")) + node(1, "Neg", "%90", 1, copy("")), "1", 1, 0},
      {node(0, "Neg", "%90", 1, mark("")) + node(1, "Neg", "%91", 1, copy("")), "0", 1, 0},
      {node(0, "Neg", "%90", 1, mark("")) + node(1, "Exp", "%90", 1, copy("")), "0", 1, 0},
      // A second copy, and one of a node that does not run.
      {node(0, "Neg", "%90", 1, mark("")) + node(1, "Neg", "%90", 1, copy("")) + node(2, "Neg", "%90", 1, copy("")),
       "1", 2, 1},
      {node(0, "Load", "%90", 1) + node(1, "Neg", "%0", 1, mark("")) + node(2, "Load", "%90", 1, copy("")), "0", 1, 1},
      // Of two that read the same the last; numbers tell better.
      {node(0, "Neg", "%90", 1, mark("")) + node(1, "Neg", "%90", 1, mark("")) + node(2, "Neg", "%90", 1, copy("")),
       "01", 1, 0},
      {node(0, "Neg", "%90", 1, mark(ids(0, 1))) + node(1, "Neg", "%90", 1, mark(ids(1, 1))) +
           node(2, "Neg", "%90", 1, copy(ids(0, 1))),
       "10", 1, 0},
      {node(0, "Neg", "%90", 1, mark(ids(0, 1))) + node(1, "Neg", "%90", 1, mark(ids(0, 2))) +
           node(2, "Neg", "%90", 1, copy(ids(0, 1))),
       "10", 1, 0},
      {node(0, "Neg", "%90", 1, mark(ids(0, 1))) + node(1, "Neg", "%90", 1, copy(ids(0, 7))), "1", 1, 0},
      // The first operand from outside is not the first node.
      {node(0, "Neg", "%90", 1, mark("")) + node(1, "Neg", "%0", 1, mark("")) + node(2, "Neg", "%90", 1, copy("")),
       "10", 1, 0},
      {node(0, "Neg", "%90", 1, mark(ids(0, 1))) + node(1, "Neg", "%91", 1, copy("recompute_id: I64(1)")), "0", 1, 0},
      // What waits by Depend reads the same; so does a copy that reads a copy.
      {node(0, "Neg", "%90", 1, mark("")) + node(1, "Exp", "%0", 1, mark("")) + "%2(d) = Depend(%0, %1)\n" +
           node(3, "Exp", "%2", 1, copy("")),
       "01", 1, 0},
      {node(0, "Neg", "%90", 1, mark("")) + node(1, "Exp", "%0", 1, mark("")) + "%2(d) = Depend(%1, %0)\n" +
           node(3, "Exp", "%2", 1, copy("")),
       "00", 1, 0},
      {node(0, "Neg", "%90", 1, mark("")) + node(1, "Exp", "%0", 1, mark("")) + "%2(d) = Depend(%0, UMonad[U])\n" +
           node(3, "Exp", "%2", 1, copy("")),
       "01", 1, 0},
      {node(0, "Neg", "I64(1)", 1, mark("")) + node(1, "Exp", "%0", 1) + "%2(d) = Depend(I64(1), %0)\n" +
           node(3, "Neg", "%2", 1, copy("")),
       "0", 1, 0},
      {node(0, "Neg", "%90", 1, mark("")) + node(1, "Exp", "%0", 1, mark("")) + node(2, "Neg", "%90", 1, copy("")) +
           node(3, "Exp", "%2", 1, copy("")),
       "11", 2, 0},
  };
  for (const auto& each : cases) {
    INFO(each.text);
    const auto p = program_of(each.text);
    const auto r = ms::explain_recomputation(p);
    REQUIRE(r);
    std::string duplicated;
    for (const ms::recompute_mark& m : r->marks) duplicated += m.duplicated ? "1" : "0";
    CHECK(duplicated == each.duplicated);
    CHECK(r->copy_count == each.copies);
    CHECK(r->other_copy_count == each.others);
  }
}

namespace {

// A forward pass at random, each op with one result, and who of the backward pass reads it.
struct random_pass {
  std::vector<std::vector<std::uint32_t>> reads{};  // per op, ops
  std::vector<int> kilobytes{};
  std::vector<bool> is_marked{}, is_needed{};
  std::vector<std::string> patterns{};
  std::string text{};
  struct outcome {
    std::set<std::uint32_t> again{}, kept{};
    std::int64_t bytes = 0;
  };
  // A needed result is kept, or made again from what its op reads.
  [[nodiscard]] outcome with(const std::vector<bool>& marks) const {
    outcome out;
    std::vector<bool> wanted = is_needed;
    for (std::uint32_t o = static_cast<std::uint32_t>(reads.size()); o-- > 0;) {
      if (!wanted[o]) continue;
      (marks[o] ? out.again : out.kept).insert(o);
      if (!marks[o]) out.bytes += 1024 * kilobytes[o];
      if (marks[o])
        for (const std::uint32_t from : reads[o]) wanted[from] = true;
    }
    return out;
  }
  // What is not marked on each of the shortest ways from an op to one whose result is kept.
  [[nodiscard]] std::set<std::vector<std::uint32_t>> ways_to_keeper(std::uint32_t from,
                                                                    const std::set<std::uint32_t>& kept) const {
    std::vector<std::vector<std::uint32_t>> ways{{from}};
    while (!ways.empty()) {
      std::vector<std::vector<std::uint32_t>> longer;
      std::set<std::vector<std::uint32_t>> found;
      for (const auto& way : ways)
        for (std::uint32_t next = 0; next < reads.size(); ++next) {
          if (std::find(reads[next].begin(), reads[next].end(), way.back()) == reads[next].end()) continue;
          longer.push_back(way);
          longer.back().push_back(next);
          if (kept.count(next) == 0) continue;
          std::vector<std::uint32_t> missing;
          for (const std::uint32_t o : longer.back())
            if (o != from && !is_marked[o]) missing.push_back(o);
          found.insert(missing);
        }
      if (!found.empty()) return found;
      ways = longer;
    }
    return {};
  }
};

random_pass random_forward(std::mt19937& random) {
  const auto below = [&](unsigned n) { return static_cast<int>(random() % n); };
  random_pass out;
  const int count = 4 + below(8);
  for (int o = 0; o < count; ++o) {
    std::vector<std::uint32_t> reads;
    for (int more = o == 0 ? 0 : 1 + below(2); more > 0; --more)
      reads.push_back(static_cast<std::uint32_t>(below(static_cast<unsigned>(o))));
    std::string operands = "%90";
    for (const std::uint32_t from : reads) operands += ", %" + std::to_string(from);
    out.reads.push_back(reads);
    out.kilobytes.push_back(1 + below(8));
    out.is_marked.push_back(below(3) == 0);
    out.is_needed.push_back(false);
    const std::string name = "op" + std::to_string(below(4)), layer = std::to_string(below(3));
    const bool in_layer = below(5) > 0;
    out.patterns.push_back(in_layer ? name : "net\\." + name);
    std::string text = node(o, "Mul", operands, out.kilobytes.back(), out.is_marked.back() ? marked : "",
                            in_layer ? "Default/layers-CellList/" + layer + "-Layer/" : "Default/net-Net/");
    text.replace(text.find("{instance name: Mul"), 19 + std::to_string(o).size(), "{instance name: " + name);
    out.text += text;
  }
  const int last = 1 + below(4);
  for (int b = 0; b < last; ++b) {
    const int read = below(static_cast<unsigned>(count));
    out.is_needed[static_cast<std::size_t>(read)] = true;
    const std::string operands = "%" + std::to_string(read) + ", %" + std::to_string(b == 0 ? read : count + b - 1);
    out.text += node(count + b, "MulGrad", operands, 1, "", backward);
  }
  return out;
}

}  // namespace

TEST_CASE("recomputation of random forward passes: what is kept, what keeps it, and the fewest patterns that help",
          "[mindspore]") {
  using outcome = ms::recompute_mark::outcome;
  std::mt19937 random(37);
  std::size_t helped = 0;
  for (int round = 0; round < 600; ++round) {
    const random_pass made = random_forward(random);
    INFO(made.text);
    const auto p = program_of(made.text);
    const auto r = ms::explain_recomputation(p);
    REQUIRE(r);
    const auto now = made.with(made.is_marked);
    CHECK(r->kept_without == made.with(std::vector<bool>(made.reads.size(), false)).bytes);
    CHECK(r->kept_with == now.bytes);
    CHECK(r->predicted_count == now.again.size());
    for (const auto& [back_end, with, without] :
         {std::tuple{ms::ir_back_end::device, r->peak_with, r->peak_without},
          {ms::ir_back_end::cpu, r->cpu_peak_with, r->cpu_peak_without}}) {  // there are no copies
      const auto flow = ms::dataflow_of(p, {}, back_end);
      const auto peak = ms::peak_of(flow, ms::run_order(p, flow));
      CHECK(with.bytes == peak.bytes);
      CHECK(without.bytes == peak.bytes);
    }
    const auto frees = [&](std::uint32_t o) {
      std::vector<bool> with = made.is_marked, without = made.is_marked;
      with[o] = true;
      without[o] = false;
      return made.with(without).bytes - made.with(with).bytes;
    };
    std::size_t at = 0;
    std::set<std::uint32_t> missing;
    for (std::uint32_t o = 0; o < made.reads.size(); ++o) {
      if (!made.is_marked[o]) continue;
      REQUIRE(at < r->marks.size());
      const ms::recompute_mark& m = r->marks[at++];
      CHECK(m.node == o);
      const bool is_again = now.again.count(o) != 0;
      const auto ways = is_again ? std::set<std::vector<std::uint32_t>>{} : made.ways_to_keeper(o, now.kept);
      CHECK(m.what == (is_again ? outcome::computed_again : ways.empty() ? outcome::not_read : outcome::kept_behind));
      CHECK(m.frees == (is_again ? frees(o) : 0));
      CHECK((m.kept_by == hocket::no_id) == ways.empty());
      CHECK((ways.empty() ? m.missing.empty() : ways.count(m.missing) == 1));
      if (!ways.empty()) CHECK(m.missing.back() == m.kept_by);
      missing.insert(m.missing.begin(), m.missing.end());
    }
    CHECK(at == r->marks.size());
    std::vector<std::string> patterns;
    REQUIRE(r->missing.size() == missing.size());
    for (std::size_t i = 0; i < r->missing.size(); ++i) {
      CHECK(missing.count(r->missing[i].node) == 1);
      CHECK(r->missing[i].frees == frees(r->missing[i].node));
      const std::string& pattern = made.patterns[r->missing[i].node];
      if (std::find(patterns.begin(), patterns.end(), pattern) == patterns.end()) patterns.push_back(pattern);
    }
    // All sets of patterns: the fewest with which every mark comes true that is read at all.
    std::size_t fewest = missing.empty() ? 0 : patterns.size() + 1;
    const auto marks_with = [&](const std::set<std::string>& chosen) {
      std::vector<bool> marks = made.is_marked;
      for (const std::uint32_t o : missing)
        if (chosen.count(made.patterns[o]) != 0) marks[o] = true;
      return marks;
    };
    const auto all_true = [&](const std::set<std::string>& chosen) {
      const auto then = made.with(marks_with(chosen));
      return std::all_of(r->marks.begin(), r->marks.end(), [&](const ms::recompute_mark& m) {
        return m.what == outcome::not_read || then.again.count(m.node) != 0;
      });
    };
    for (std::size_t set = 1; set < std::size_t{1} << patterns.size(); ++set) {
      std::set<std::string> chosen;
      for (std::size_t i = 0; i < patterns.size(); ++i)
        if ((set >> i & 1) != 0) chosen.insert(patterns[i]);
      if (all_true(chosen)) fewest = (std::min)(fewest, chosen.size());
    }
    std::set<std::string> chosen;
    for (const ms::recompute_pattern& each : r->further) {
      chosen.insert(each.text);
      CHECK(each.in_layer == (each.text.find("net") == std::string::npos));
      CHECK(each.layers.empty() != each.in_layer);
      CHECK_FALSE(each.guessed);
    }
    CHECK(r->further_is_fewest);
    CHECK(chosen.size() == r->further.size());
    CHECK(r->kept_with_further == made.with(marks_with(chosen)).bytes);
    if (fewest <= patterns.size()) CHECK(chosen.size() == fewest);
    if (fewest <= patterns.size() && fewest > 0) CHECK(all_true(chosen));
    if (fewest > patterns.size()) CHECK(chosen.size() == patterns.size());
    helped += fewest > 0 && fewest < patterns.size() ? 1 : 0;
  }
  CHECK(helped > 10);
}

TEST_CASE("what a configuration needs to know of a recomputation", "[mindspore]") {
  const auto at = [](const std::string& layer) { return "Default/net/layers-CellList/" + layer + "-Layer/"; };
  const auto micro = [](const std::string& flags, int number) {
    return "cnode_attrs: {" + flags + "micro: I64(" + std::to_string(number) + ")}";
  };
  const std::string text = node(0, "Neg", "%90", 1, micro("recompute: Bool(1), ", 1), "recompute_" + at("4")) +
                           node(1, "Exp", "%0", 1, micro("", 0), at("2")) + node(2, "Log", "%1", 1, "", "Default/") +
                           node(3, "Neg", "%2", 1, micro("recompute: Bool(1), ", 1), "recompute_" + at("4")) +
                           node(4, "LogGrad", "%3", 1, micro("", 7), backward + "layers-CellList/9-Layer/");
  const auto p = program_of(text);
  const auto r = ms::explain_recomputation(p);
  REQUIRE(r);
  CHECK(r->layers == std::vector<std::string>{"4", "2"});
  CHECK(r->micro_batch_count == 2);
  CHECK(r->is_whole_cells);
  CHECK(r->whole_layers == std::vector<std::string>{"4"});
  CHECK(r->marked.empty());
  CHECK(r->unknown_sizes == 0);
  CHECK(r->marked_in_called_graphs == 0);
  // One mark by a pattern, and they are not all of whole cells.
  std::string mixed = text;
  mixed.replace(mixed.rfind("recompute_Default"), 10, "");
  const auto both = ms::explain_recomputation(program_of(mixed));
  CHECK_FALSE(both->is_whole_cells);
  CHECK(both->whole_layers == std::vector<std::string>{"4"});
  REQUIRE(both->marked.size() == 1);
  CHECK(both->marked[0] == ms::recompute_pattern{"Neg3", true, false, {"4"}});
  const auto none = ms::explain_recomputation(program_of(node(0, "Neg", "%90", 1)));
  CHECK_FALSE(none->is_whole_cells);
  CHECK(none->micro_batch_count == 1);
  // Sizes that are not told count in the forward pass alone.
  CHECK(ms::explain_recomputation(program_of("%0(a) = Neg(%90)\n%1(b) = Exp(%0)\n"))->unknown_sizes == 2);
  CHECK(ms::explain_recomputation(program_of("%0(a) = Neg(%90)\n# Scope: (Gradients/x)\n"))->unknown_sizes == 0);
  // Marks of other graphs than the entry are counted and not judged.
  const auto calls = ms::explain_recomputation(
      program_of("# IR entry: @main\nsubgraph @cell(%para1_x) {\n  %0(a) = Neg(%para1_x) " + marked +
                 "\n  %1(b) = Neg(%0) " + marked + "\n  Return(%1)\n}\nsubgraph @main() {\n  %0(a) = Neg(I64(1)) " +
                 marked + "\n  %1(b) = call @cell(%0)\n  Return(%1)\n}\n"));
  REQUIRE(calls);
  CHECK(calls->marked_in_called_graphs == 2);
  CHECK(calls->marks.size() == 1);
}

TEST_CASE("what MindSpore turned off is kept, and no further mark is asked for it", "[mindspore]") {
  const std::string layer = "recompute_Default/net/layers-CellList/0-Layer/";
  const auto attributes = [](const std::string& mark) { return "cnode_attrs: {recompute: " + mark + "}"; };
  for (const char* const off : {"Bool(0)", "false"}) {
    const std::string text = node(0, "Neg", "%90", 1, attributes("Bool(1)"), layer) +
                             node(1, "Add", "%0", 1, attributes(off), layer) +
                             node(2, "AddGrad", "%1", 1, "", backward);
    const auto r = ms::explain_recomputation(program_of(text));
    REQUIRE(r);
    CHECK(r->turned_off == std::vector<std::uint32_t>{1});
    REQUIRE(r->marks.size() == 1);
    CHECK(r->marks[0].what == ms::recompute_mark::outcome::kept_behind);
    CHECK(r->marks[0].kept_by == 1);
    CHECK(r->marks[0].is_forced);
    CHECK(r->marks[0].missing.empty());
    CHECK(r->missing.empty());
    CHECK(r->further.empty());
  }
}

TEST_CASE("the pass that copies is told by what it writes, though it copied nothing", "[mindspore]") {
  const auto before = [](const std::string& attributes) {
    return ms::explain_recomputation(program_of(node(0, "Neg", "%90", 1, attributes)))->is_before_copies;
  };
  CHECK(before("primitive_attrs: {recompute: Bool(1)}"));
  CHECK_FALSE(before("primitive_attrs: {recompute: Bool(1)} cnode_attrs: {recompute: Bool(1)}"));
  CHECK_FALSE(before("primitive_attrs: {recompute: Bool(1)} cnode_attrs: {recompute_sub_graph: U64(1)}"));
  CHECK_FALSE(before("cnode_attrs: {need_cse_after_recompute: Bool(1)}"));
}

TEST_CASE("micro-batches stand in a list, and are not layers", "[mindspore]") {
  const auto layer = [](const std::string& scope) { return std::string(ms::find_layer(scope).number); };
  CHECK(layer("Default/network-PipelineCell/micro_inputs-CellList/5-_MicroBatch/StridedSlice-op0").empty());
  CHECK(layer("Default/layers-CellList/12-Layer/experts-CellList/3-Expert/MatMul-op0") == "12");
  CHECK(ms::find_layer("Default/layers-CellList/12-Layer/experts-CellList/3-Expert").inside ==
        "experts-CellList/3-Expert");
  CHECK(ms::find_layer("Default/net-Net").inside == "Default/net-Net");
  CHECK(layer("blocks-SequentialCell/0-Block") == "0");
  CHECK(layer("layers-CellList/x-Layer").empty());
  CHECK(layer("layers-CellList/7").empty());
}

TEST_CASE("more patterns than all sets can be tried of are suggested together", "[mindspore]") {
  for (const int unmarked : {12, 13}) {
    std::string text = node(0, "Neg", "%90", 1, marked);
    for (int i = 1; i <= unmarked; ++i) text += node(i, "Exp", "%" + std::to_string(i - 1), 1);
    text += node(unmarked + 1, "ExpGrad", "%" + std::to_string(unmarked), 1, "", backward);
    const auto r = ms::explain_recomputation(program_of(text));
    REQUIRE(r);
    CHECK(r->further.size() == static_cast<std::size_t>(unmarked));
    CHECK(r->further_is_fewest == (unmarked == 12));
  }
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
  // Whether a matrix is read as it lies or transposed changes nothing but the order of its cuts.
  const auto cut = [](int first, int second) {
    return "(" + std::to_string(first) + ", " + std::to_string(second) + ")";
  };
  const auto product = [&](int rows, int left_inner, int right_inner, int columns, bool a, bool b,
                           const std::string& by) {
    const auto p = program_of("%0(a) = PrimFunc_MatMul(%8, %9, Bool(" + std::to_string(int{a}) + "), Bool(" +
                              std::to_string(int{b}) + ")) primitive_attrs: {in_strategy: (" +
                              (a ? cut(left_inner, rows) : cut(rows, left_inner)) + ", " +
                              (b ? cut(columns, right_inner) : cut(right_inner, columns)) + ")}\n%1(b) = " + by +
                              "(%0) primitive_attrs: {group: \"4-123\"}\n");
    return ms::list_collectives(p)[0].reason;
  };
  for (const char* const by : {"AllReduce", "ReduceScatter"})
    for (int cuts = 0; cuts < 81; ++cuts) {
      const auto digit = [&](int at) { return 1 << (cuts / at % 3); };
      const int rows = digit(1), left = digit(3), right = digit(9), columns = digit(27);
      INFO(by << " " << rows << " " << left << " " << right << " " << columns);
      const auto plain = product(rows, left, right, columns, false, false, by);
      for (const auto& [a, b] : {std::pair{false, true}, {true, false}, {true, true}})
        CHECK(product(rows, left, right, columns, a, b, by) == plain);
      if (left == right) CHECK((plain == partial_sums) == (left == 4));
    }
}
