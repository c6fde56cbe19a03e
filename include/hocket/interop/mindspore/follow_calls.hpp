// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/ids.hpp>
#include <hocket/core/result.hpp>
#include <hocket/interop/mindspore/ir_program.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::mindspore {

struct follow_options {
  std::size_t max_nodes = std::size_t{1} << 24;  ///< of the answer: calls of calls multiply
  /// Also at most 2^20 and so many nodes of the answer for each node of the program: a few lines that call each other
  /// twice must not take gigabytes. Steps of pipelines call the graph of a layer for each layer and micro-batch.
  std::size_t max_growth = 256;
};

/// A program without calls, and what became of these.
struct followed_program {
  ir_program program;               ///< of one graph
  std::size_t followed_count = 0;   ///< calls that gave way to the nodes of their graph
  std::size_t remaining_count = 0;  ///< calls that are still nodes: of functions that the dump does not tell
  std::size_t left_out_count = 0;   ///< nodes of graphs that no followed call reaches
};

namespace detail {

// Copies the entry graph node by node; in place of a call come the nodes of its graph. A frame is one call that is
// followed:
//
//   entry        %0 = MatMul(...)   %1 = call @g(%0)   %2 = Neg(%1)
//   frame of g                      para9 -> %0;  %0 = Exp(para9);  Return(%0)
//   answer       MatMul             Exp(MatMul)        Neg(Exp)
class call_follower {
 public:
  call_follower(const ir_program& from, const follow_options& options)
      : from_(from), max_nodes_(limit_of(from.node_count(), options)) {}

  [[nodiscard]] result<followed_program> operator()() {
    ir_program& to = to_;
    to.texts_ = from_.texts_;
    to.types_ = from_.types_;
    to.counts_ = from_.counts_;
    to.is_whole_ = from_.is_whole_;
    to.outside_count_ = from_.outside_count_;
    to.parameters_ = from_.parameters_;
    reached_.assign(from_.graphs_.size(), false);
    first_parameter_.assign(from_.graphs_.size(), 0);
    for (std::size_t p = from_.parameters_.size(); p > 0; --p) first_parameter_[from_.parameters_[p - 1].graph] = p - 1;
    ir_graph entry = from_.graphs_[from_.entry_];
    entry.first_node = 0;
    frames_.push_back({from_.entry_, {}, {}, {}});
    if (const auto ok = copy_graph(); !ok) return ok.error();
    entry.node_count = static_cast<std::uint32_t>(to.nodes_.size());
    to.graphs_.push_back(entry);
    for (ir_parameter& p : to.parameters_) p.graph = 0;
    renumber();
    for (std::size_t g = 0; g < reached_.size(); ++g)
      if (!reached_[g]) left_out_count_ += from_.graphs_[g].node_count;
    return followed_program{std::move(to_), followed_count_, remaining_count_, left_out_count_};
  }

 private:
  struct past_call {
    std::uint32_t graph;
    std::vector<ir_operand> given;
    ir_operand gives;
  };
  struct frame {
    std::uint32_t graph;
    std::vector<ir_operand> given;     // to its parameters, in their order
    std::vector<ir_operand> stand_in;  // per node of the graph, what it is in the answer
    std::vector<past_call> called;     // calls of this graph that are done
  };
  static constexpr std::size_t deepest = 256;

  [[nodiscard]] static std::size_t limit_of(std::size_t nodes, const follow_options& options) {
    constexpr std::size_t any_dump = std::size_t{1} << 20;  // some 140 MB
    const std::size_t most = (std::min)(options.max_nodes, std::size_t{no_id - 1});
    if (most <= any_dump || nodes >= (most - any_dump) / (std::max)(options.max_growth, std::size_t{1})) return most;
    return any_dump + nodes * options.max_growth;
  }

  // What an operand of the innermost frame is in the answer. A graph's own names come first, then those of its callers.
  [[nodiscard]] ir_operand stand_in(ir_operand o) const {
    if (o.what == ir_operand::kind::node) {
      const std::uint32_t g = from_.nodes_[o.value].graph;
      const std::size_t at = o.value - from_.graphs_[g].first_node;
      for (auto f = frames_.rbegin(); f != frames_.rend(); ++f)
        if (f->graph == g) return at < f->stand_in.size() ? f->stand_in[at] : ir_operand{};
      return {};
    }
    if (o.what != ir_operand::kind::parameter) return o;
    const std::uint32_t g = from_.parameters_[o.value].graph;
    for (auto f = frames_.rbegin(); f != frames_.rend(); ++f)
      if (f->graph == g && g != from_.entry_) {
        const std::size_t at = o.value - first_parameter_[g];
        return at < f->given.size() ? f->given[at] : ir_operand{};
      }
    return o;
  }

  // The graph that a node calls, and what is given to it before the node's own operands.
  struct callee {
    std::uint32_t graph = no_id;
    std::vector<ir_operand> given;
    bool is_differentiated = false;  // J(@graph): gives a function beside the result
  };
  [[nodiscard]] callee callee_of(std::uint32_t n) const {
    callee out;
    if (!from_.node(n).is_call) return out;
    out.graph = from_.node(n).callee;
    const std::string_view operation = from_.text(from_.node(n).operation);
    if (out.graph != no_id || !operation.starts_with('%')) return out;
    std::int64_t number = 0;
    const char* const end = operation.data() + operation.size();
    if (std::from_chars(operation.data() + 1, end, number).ec != std::errc{}) return out;
    const ir_graph& own = from_.graphs_[from_.node(n).graph];
    for (std::uint32_t f = own.first_node; f < n; ++f) {
      if (from_.node(f).number != number) continue;
      const auto operands = from_.operands(f);
      const std::string_view primitive = from_.primitive(f);
      out.is_differentiated = primitive == "J";
      const bool is_function = out.is_differentiated || primitive == "Partial";
      if (!is_function || operands.empty() || operands[0].what != ir_operand::kind::graph) return out;
      out.graph = operands[0].value;
      for (std::size_t i = 1; i < operands.size(); ++i) out.given.push_back(stand_in(operands[i]));
    }
    return out;
  }
  [[nodiscard]] bool is_running(std::uint32_t graph) const {
    return std::any_of(frames_.begin(), frames_.end(), [&](const frame& f) { return f.graph == graph; });
  }

  [[nodiscard]] result<void> copy_graph() {
    const std::uint32_t g = frames_.back().graph;
    const ir_graph& graph = from_.graphs_[g];
    reached_[g] = true;
    for (std::uint32_t n = graph.first_node; n < graph.first_node + graph.node_count; ++n) {
      const bool is_end = frames_.size() > 1 && from_.primitive(n) == "Return";
      ir_operand is{};
      if (is_end) {
        is = from_.operands(n).empty() ? ir_operand{} : stand_in(from_.operands(n)[0]);
      } else {
        const auto copied = copy_node(n);
        if (!copied) return copied.error();
        is = *copied;
      }
      frames_.back().stand_in.push_back(is);
    }
    return {};
  }

  [[nodiscard]] result<ir_operand> copy_node(std::uint32_t n) {
    callee called = callee_of(n);
    const bool follow = called.graph != no_id && frames_.size() < deepest && !is_running(called.graph);
    if (!follow) {
      remaining_count_ += from_.node(n).is_call ? std::size_t{1} : std::size_t{0};
      return add(n, {});
    }
    ++followed_count_;
    for (const ir_operand& o : from_.operands(n)) called.given.push_back(stand_in(o));
    frame inner{called.graph, std::move(called.given), {}, {}};
    // Before the gradient is taken the loss stands there twice: @graph(x), and J(@graph)(x) beside its derivative.
    const past_call* const same = called.is_differentiated ? find_same(inner) : nullptr;
    if (same != nullptr) return add(n, same->gives);
    frames_.push_back(std::move(inner));
    if (const auto ok = copy_graph(); !ok) return ok.error();
    inner = std::move(frames_.back());
    frames_.pop_back();
    const ir_operand gives = inner.stand_in.empty() ? ir_operand{} : inner.stand_in.back();
    frames_.back().called.push_back({inner.graph, std::move(inner.given), gives});
    if (!called.is_differentiated) return gives;
    return add(n, gives);
  }
  // A call of this frame that gave the same graph the same, what only orders aside.
  [[nodiscard]] const past_call* find_same(const frame& f) const {
    const auto& past = frames_.back().called;
    const auto is_same = [&](const past_call& p) {
      return p.graph == f.graph && std::equal(p.given.begin(), p.given.end(), f.given.begin(), f.given.end(),
                                              [&](const ir_operand& a, const ir_operand& b) {
                                                const bool both_order = only_orders(a) && only_orders(b);
                                                return both_order || (a.what == b.what && a.value == b.value);
                                              });
    };
    const auto at = std::find_if(past.begin(), past.end(), is_same);
    return at == past.end() ? nullptr : &*at;
  }
  [[nodiscard]] bool only_orders(const ir_operand& o) const {
    if (o.what == ir_operand::kind::monad) return true;
    const ir_program& to = to_;
    return o.what == ir_operand::kind::node && to.text(to.nodes_[o.value].primitive) == "UpdateState";
  }

  [[nodiscard]] ir_operand element(std::uint32_t n, ir_operand tuple) const {
    const auto operands = from_.operands(n);
    const bool takes =
        from_.primitive(n) == "TupleGetItem" && operands.size() > 1 && tuple.what == ir_operand::kind::node &&
        to_.text(to_.nodes_[tuple.value].primitive) == "MakeTuple" && operands[1].what == ir_operand::kind::constant;
    if (!takes) return {};
    std::string_view index = from_.text(operands[1].value);
    const std::size_t open = index.find('(');
    index = open == std::string_view::npos ? index : index.substr(open + 1);
    std::size_t i = 0;
    if (std::from_chars(index.data(), index.data() + index.size(), i).ec != std::errc{}) return {};
    const auto elements = to_.operands(tuple.value);
    return i < elements.size() ? elements[i] : ir_operand{};
  }

  // Copies a node with its operands as they are in the answer, and `also`, if that is a node.
  [[nodiscard]] result<ir_operand> add(std::uint32_t n, ir_operand also) {
    ir_program& to = to_;
    if (to.nodes_.size() >= max_nodes_)
      return error{errc::limit_exceeded, static_cast<std::int64_t>(max_nodes_) + 1,
                   static_cast<std::int64_t>(max_nodes_)}
          .with("nodes with all calls followed");
    const auto number = static_cast<std::uint32_t>(to.nodes_.size());
    const auto operands = from_.operands(n);
    if (also.what == ir_operand::kind::node) to.operands_.values.push_back(also);
    for (const ir_operand& o : operands) to.operands_.values.push_back(stand_in(o));
    to.operands_.end_list();
    if (also.what != ir_operand::kind::node) append(to.input_types_, from_.input_types(n));
    to.input_types_.end_list();
    append(to.output_types_, from_.output_types(n));
    to.output_types_.end_list();
    append(to.attributes_, from_.attributes_[n]);
    to.attributes_.end_list();
    add_effects(n, number, also);
    ir_node node = from_.nodes_[n];
    node.graph = 0;
    node.number = number;
    node.callee = no_id;
    to.nodes_.push_back(node);
    return ir_operand{ir_operand::kind::node, number};
  }
  template <class T>
  static void append(list_of_lists<T>& to, std::span<const T> list) {
    to.values.insert(to.values.end(), list.begin(), list.end());
  }

  // Variables of the answer while its nodes are still being counted: nodes from 0, parameters and what is outside
  // behind `first_other`.
  static constexpr std::uint32_t first_other = std::uint32_t{1} << 31;
  static void note(ir_operand o, std::size_t parameters, std::vector<std::uint32_t>& set) {
    if (o.what == ir_operand::kind::node) set.push_back(o.value);
    else if (o.what == ir_operand::kind::parameter) set.push_back(first_other + o.value);
    else if (o.what == ir_operand::kind::outside)
      set.push_back(first_other + static_cast<std::uint32_t>(parameters) + o.value);
  }
  [[nodiscard]] ir_operand operand_of_variable(std::uint32_t v) const {
    const auto nodes = static_cast<std::uint32_t>(from_.nodes_.size());
    const auto parameters = static_cast<std::uint32_t>(from_.parameters_.size());
    if (v < nodes) return {ir_operand::kind::node, v};
    if (v < nodes + parameters) return {ir_operand::kind::parameter, v - nodes};
    return {ir_operand::kind::outside, v - nodes - parameters};
  }
  void add_effects(std::uint32_t n, std::uint32_t number, ir_operand also) {
    std::vector<std::uint32_t> reads, writes{number};
    const std::size_t parameters = from_.parameters_.size();
    const auto operands = from_.operands(n);
    const ir_operand taken = operands.empty() ? ir_operand{} : element(n, stand_in(operands[0]));
    note(also, parameters, reads);
    note(taken, parameters, reads);
    for (const std::uint32_t v : from_.reads(n)) {
      const ir_operand own = operand_of_variable(v);
      const bool is_tuple =
          taken.what != ir_operand::kind::constant && own.what == operands[0].what && own.value == operands[0].value;
      if (!is_tuple) note(stand_in(own), parameters, reads);
    }
    for (const std::uint32_t v : from_.writes(n))
      if (v != n) note(stand_in(operand_of_variable(v)), parameters, writes);
    keep(reads, to_.reads_);
    keep(writes, to_.writes_);
  }
  static void keep(std::vector<std::uint32_t>& set, list_of_lists<std::uint32_t>& to) {
    std::sort(set.begin(), set.end());
    set.erase(std::unique(set.begin(), set.end()), set.end());
    append(to, std::span<const std::uint32_t>(set));
    to.end_list();
  }
  void renumber() {
    const auto nodes = static_cast<std::uint32_t>(to_.nodes_.size());
    for (auto* const lists : {&to_.reads_, &to_.writes_})
      for (std::uint32_t& v : lists->values)
        if (v >= first_other) v = v - first_other + nodes;
  }

  const ir_program& from_;
  std::size_t max_nodes_;
  std::vector<frame> frames_;
  std::vector<bool> reached_;                 // per graph
  std::vector<std::size_t> first_parameter_;  // per graph: the parameters of a graph are neighbours
  ir_program to_;
  std::size_t followed_count_ = 0, remaining_count_ = 0, left_out_count_ = 0;
};

}  // namespace detail

/// The program with its calls followed: each call of a graph gives way to the nodes of that graph, its parameters to
/// what was handed on, so that one graph has the whole step. Dumps before the last front-end passes, and those with
/// cells that are compiled once (lazy_inline), need it. Graphs behind `J`, whose gradient is not taken yet, are
/// followed as the forward pass that they are; a Switch is not decided.
/// A node keeps the line that it had, so that one line may stand for several nodes.
/// Errors: errc::limit_exceeded if the answer has more nodes than the options say.
/// Complexity: linear in the answer, times the depth of the calls.
///
///     const auto whole = follow_calls(*parse_ir(text));
///     whole->program.graphs().size() == 1;  whole->remaining_count;
[[nodiscard]] inline result<followed_program> follow_calls(const ir_program& program,
                                                           const follow_options& options = {}) {
  return detail::call_follower(program, options)();
}

}  // namespace hocket::inline HOCKET_ABI::mindspore
