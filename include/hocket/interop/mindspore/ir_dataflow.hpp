// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/ids.hpp>
#include <hocket/interop/mindspore/ir_program.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace hocket::inline HOCKET_ABI::mindspore {

/// The entry graph of a program as memory sees it: ops that run, and the values that they make. Nodes that only order
/// or pass on (Load, UpdateState, Depend, MakeTuple, TupleGetItem) are looked through; weights and inputs stay in
/// memory anyhow and are no values; a Reshape names its input's memory anew.
struct ir_dataflow {
  struct value {
    std::int64_t bytes = 0;
    std::uint32_t op = 0;       ///< that makes it
    std::uint32_t storage = 0;  ///< the value whose memory it is: its own number, unless it is a view
  };
  std::vector<std::uint32_t> nodes;  ///< per op, its number in the program
  std::vector<value> values;
  detail::list_of_lists<std::uint32_t> reads, writes;  ///< per op, values
  std::vector<std::uint32_t> op_of_node;               ///< no_id for what is looked through
  /// An op that a back end splits off a node: it waits for `after` alone, and the node waits for it.
  struct split_op {
    std::uint32_t op, after, before;  ///< the last two are nodes
  };
  std::vector<split_op> splits;
  std::vector<std::int64_t> scratch;  ///< per op, bytes that it takes while it runs and gives back

  [[nodiscard]] std::size_t op_count() const noexcept { return nodes.size(); }
};

/// Who runs the dump, where it matters for memory.
enum class ir_back_end : std::uint8_t {
  device,  ///< each node is one kernel
  /// MindSpore's CPU back end has no kernel for SiLUGrad. It computes sigmoid(x) by itself, and that as soon as x is
  /// there: in the forward pass, unless x is recomputed. (2.10.0: graph_build has a Sigmoid of the forward's tensor.)
  /// Of its two products one more tensor is there for a moment, as SiLU's own sigmoid is. The softmax with cross
  /// entropy has a workspace of the logits' size. (Both: the steps of the profiler's memory record at the peaks.)
  cpu
};

/// Whether a primitive only orders or passes on what others make.
[[nodiscard]] constexpr bool is_looked_through(std::string_view primitive) noexcept {
  for (const std::string_view p :
       {"Load", "UpdateState", "Depend", "MakeTuple", "TupleGetItem", "Return", "MakeList", "ListGetItem"})
    if (primitive == p) return true;
  return false;
}
/// Whether a primitive gives its first input's memory another shape. MindSpore's Ascend back end does not run them.
[[nodiscard]] constexpr bool is_view(std::string_view primitive) noexcept {
  for (const std::string_view p : {"Reshape", "ExpandDims", "Squeeze", "Flatten", "FlattenGrad"})
    if (primitive == p) return true;
  return false;
}

namespace detail {

class dataflow_builder {
 public:
  dataflow_builder(const ir_program& program, std::span<const std::uint32_t> stands_for, ir_back_end back_end)
      : program_(program), stands_for_(stands_for), back_end_(back_end), gives_(program.node_count()) {}

  [[nodiscard]] ir_dataflow operator()() {
    out_.op_of_node.assign(program_.node_count(), no_id);
    const ir_graph& entry = program_.graphs()[program_.entry()];
    for (std::uint32_t n = entry.first_node; n < entry.first_node + entry.node_count; ++n) {
      const bool is_replaced = n < stands_for_.size() && stands_for_[n] != no_id;
      if (is_replaced) gives_[n] = gives_[stands_for_[n]];
      else if (is_looked_through(program_.primitive(n))) look_through(n);
      else add_op(n);
    }
    return std::move(out_);
  }

 private:
  using element = std::vector<std::uint32_t>;  // the values in one element of a tuple; a plain result is one element

  [[nodiscard]] element all_of(const ir_operand& o) const {
    element all;
    if (o.what != ir_operand::kind::node) return all;
    for (const element& e : gives_[o.value]) all.insert(all.end(), e.begin(), e.end());
    return all;
  }

  void look_through(std::uint32_t n) {
    const std::string_view primitive = program_.primitive(n);
    const auto operands = program_.operands(n);
    if (operands.empty()) return;
    if (primitive == "MakeTuple" || primitive == "MakeList") {
      for (const ir_operand& o : operands) gives_[n].push_back(all_of(o));
    } else if (primitive == "Depend" && operands[0].what == ir_operand::kind::node) {
      gives_[n] = gives_[operands[0].value];
    } else if (primitive == "TupleGetItem" || primitive == "ListGetItem") {
      take_element(n);
    }
  }
  void take_element(std::uint32_t n) {
    const auto operands = program_.operands(n);
    if (operands.size() < 2 || operands[0].what != ir_operand::kind::node) return;
    const auto& from = gives_[operands[0].value];
    std::string_view index = operands[1].what == ir_operand::kind::constant ? program_.text(operands[1].value) : "";
    index = index.substr((std::min)(index.size(), index.find('(') + 1));  // I64(1)
    std::size_t i = 0;
    const bool known = std::from_chars(index.data(), index.data() + index.size(), i).ec == std::errc{};
    if (known && i < from.size()) gives_[n].push_back(from[i]);
  }

  // The sigmoid(x) of SiLUGrad(dy, x), as an op of its own; the value that it makes, or no_id.
  [[nodiscard]] std::uint32_t split_off(std::uint32_t n) {
    const auto operands = program_.operands(n);
    if (back_end_ != ir_back_end::cpu || program_.primitive(n) != "SiLUGrad" || operands.size() < 2) return no_id;
    const element x = all_of(operands[1]);
    if (x.size() != 1) return no_id;
    const auto op = static_cast<std::uint32_t>(out_.nodes.size());
    const auto v = static_cast<std::uint32_t>(out_.values.size());
    out_.nodes.push_back(n);
    out_.reads.values.push_back(x[0]);
    out_.reads.end_list();
    out_.values.push_back({out_.values[x[0]].bytes, op, v});
    out_.writes.values.push_back(v);
    out_.writes.end_list();
    out_.splits.push_back({op, operands[1].value, n});
    out_.scratch.push_back(0);
    return v;
  }

  // What a kernel takes for itself, besides its results.
  [[nodiscard]] std::int64_t scratch_of(std::uint32_t n) const {
    const std::string_view primitive = program_.primitive(n);
    const bool is_expanded = primitive == "SiLU" || primitive == "SiLUGrad";
    const bool has_workspace = primitive == "SoftmaxCrossEntropyWithLogits";
    const auto types = program_.input_types(n);
    if (back_end_ != ir_back_end::cpu || (!is_expanded && !has_workspace) || types.empty()) return 0;
    return program_.type(types[0]).bytes;
  }

  void add_op(std::uint32_t n) {
    const std::uint32_t split = split_off(n);
    const auto op = static_cast<std::uint32_t>(out_.nodes.size());
    out_.nodes.push_back(n);
    out_.op_of_node[n] = op;
    out_.scratch.push_back(scratch_of(n));
    element read;
    for (const ir_operand& o : program_.operands(n)) {
      const element own = all_of(o);
      read.insert(read.end(), own.begin(), own.end());
    }
    if (split != no_id) read.push_back(split);
    std::sort(read.begin(), read.end());
    read.erase(std::unique(read.begin(), read.end()), read.end());
    out_.reads.values.insert(out_.reads.values.end(), read.begin(), read.end());
    out_.reads.end_list();
    const bool in_place = program_.writes(n).size() > 1;  // its result is the parameter
    const element first = program_.operands(n).empty() ? element{} : all_of(program_.operands(n)[0]);
    const bool view = is_view(program_.primitive(n)) && first.size() == 1;
    for (const std::uint32_t t : program_.output_types(n)) {
      const ir_type& type = program_.type(t);
      if (type.what == ir_type::kind::tuple) {
        for (const ir_type& part : type.parts) add_value(n, op, in_place ? 0 : part.bytes, no_id);
      } else {
        add_value(n, op, in_place ? 0 : type.bytes, view ? first[0] : no_id);
      }
    }
    out_.writes.end_list();
  }
  void add_value(std::uint32_t n, std::uint32_t op, std::int64_t bytes, std::uint32_t view_of) {
    const auto v = static_cast<std::uint32_t>(out_.values.size());
    const std::uint32_t storage = view_of == no_id ? v : out_.values[view_of].storage;
    out_.values.push_back({bytes, op, storage});
    out_.writes.values.push_back(v);
    gives_[n].push_back({v});
  }

  const ir_program& program_;
  std::span<const std::uint32_t> stands_for_;
  ir_back_end back_end_;
  std::vector<std::vector<element>> gives_;  // per node
  ir_dataflow out_;
};

}  // namespace detail

/// How many results of a node count 0 bytes because the dump does not tell their size: there is no type, or a length or
/// an element type is not known. A result that is written in place is its parameter, and no bytes of its own.
/// Complexity: linear in the results.
///
///     unknown += count_unknown_sizes(program, flow.nodes[op]);
[[nodiscard]] inline std::size_t count_unknown_sizes(const ir_program& program, std::uint32_t n) {
  if (program.writes(n).size() > 1) return 0;
  const auto types = program.output_types(n);
  if (types.empty()) return 1;
  return static_cast<std::size_t>(std::count_if(types.begin(), types.end(), [&](std::uint32_t t) {
    const ir_type& type = program.type(t);
    return !type.bytes_known || (type.what == ir_type::kind::other && type.element == "null");
  }));
}

/// @param stands_for  per node, another node that is taken in its place, no_id: none; empty: none at all. What it names
///                    must stand before it. So a step is asked what it would be without recomputation.
/// Complexity: linear in the program, but for tuples, which are copied at each node that passes them on.
[[nodiscard]] inline ir_dataflow dataflow_of(const ir_program& program, std::span<const std::uint32_t> stands_for = {},
                                             ir_back_end back_end = ir_back_end::device) {
  return detail::dataflow_builder(program, stands_for, back_end)();
}

}  // namespace hocket::inline HOCKET_ABI::mindspore
