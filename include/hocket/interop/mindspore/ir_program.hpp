// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/ids.hpp>
#include <hocket/core/result.hpp>
#include <hocket/graph/access.hpp>
#include <hocket/interop/mindspore/detail/string_table.hpp>
#include <hocket/interop/mindspore/ir_reader.hpp>
#include <hocket/interop/mindspore/ir_type.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace hocket::inline HOCKET_ABI::mindspore {

/// Which part of the step a node belongs to, as the dump tells.
enum class ir_phase : std::uint8_t {
  forward,
  recomputed,  ///< a second copy of a forward op, run by the backward pass: cnode_attrs duplicated
  backward,    ///< scope Gradients/..., or forward_unique_id
  optimizer    ///< scope .../optimizer-Adam/...
};

[[nodiscard]] constexpr std::string_view to_string(ir_phase p) noexcept {
  constexpr std::string_view names[] = {"forward", "recomputed", "backward", "optimizer"};
  return names[static_cast<std::size_t>(p)];
}

/// What stands at one place of an operand list.
struct ir_operand {
  enum class kind : std::uint8_t {
    node,       ///< value: its number in the program
    parameter,  ///< value: its number in the program
    graph,      ///< value: its number; what is handed on to be called
    constant,   ///< value: its text
    monad,      ///< UMonad[U], IOMonad[IO]: the state that the graph begins with
    outside     ///< of a piece of a dump: %N that it does not define; value: numbered from 0
  };
  kind what = kind::constant;
  std::uint32_t value = 0;
};

/// A node: texts and types by number, so that a program of millions of nodes stays small.
struct ir_node {
  std::uint32_t operation = 0;  ///< as written
  std::uint32_t primitive = 0;  ///< MatMul for PrimFunc_MatMul; "call" for calls
  std::uint32_t name = 0, instance = 0, scope = 0;
  std::uint32_t graph = 0;
  std::int64_t line = 0, number = -1;
  std::uint32_t callee = no_id;  ///< the graph of `call @graph`
  ir_phase phase = ir_phase::forward;
  bool is_call = false;        ///< of a graph, or of a function that another node gives
  bool has_full_name = false;  ///< the scope ends with the op's own name
};

struct ir_parameter {
  std::uint32_t name = 0;  ///< net.emb
  std::uint32_t type = 0;
  std::uint32_t graph = 0;
  std::int64_t line = 0;
};

struct ir_graph {
  std::uint32_t name = 0;
  std::uint32_t parent = no_id;
  std::uint32_t first_node = 0, node_count = 0;
  std::int64_t line = 0;
};

namespace detail {
class ir_builder;
class call_follower;

// Lists of different lengths, one after the other: list i is [begin[i], begin[i + 1]).
template <class T>
struct list_of_lists {
  std::vector<T> values;
  std::vector<std::size_t> begin{0};

  void end_list() { begin.push_back(values.size()); }
  [[nodiscard]] std::span<const T> operator[](std::size_t i) const noexcept {
    return std::span<const T>(values).subspan(begin[i], begin[i + 1] - begin[i]);
  }
};

}  // namespace detail

/// A dump as a program: graphs, their nodes in the order of the file, which is topological in each graph, with operands
/// resolved, and what each node reads and writes. Through graph_access it is a host graph like any other:
///
///     const auto program = hocket::mindspore::parse_ir(text);
///     const auto deps = hocket::graph::dependencies(*program);   // of the entry graph
///     deps->reaches(a, b);
///
/// **Variables.** Node n writes variable n. Parameter p is variable node_count() + p, an operand from outside a piece
/// of a dump comes behind these. A node reads its operands; through a Ref type also the parameter that it names. Ops
/// that update in place (Adam, Assign) write that parameter too. Order through UpdateState and Depend is data flow
/// through the monad. An element that TupleGetItem takes out of a MakeTuple is read from the node that made it, without
/// the other elements. A call reads what the called graphs capture, and writes the parameters that they write.
class ir_program {
 public:
  [[nodiscard]] std::size_t node_count() const noexcept { return nodes_.size(); }
  [[nodiscard]] const ir_node& node(std::size_t n) const& noexcept { return nodes_[n]; }
  /// At least one: a dump without a graph is refused.
  [[nodiscard]] std::span<const ir_graph> graphs() const& noexcept { return graphs_; }
  [[nodiscard]] std::span<const ir_parameter> parameters() const& noexcept { return parameters_; }
  [[nodiscard]] const ir_counts& counts() const& noexcept { return counts_; }
  /// The graph that the dump names as its entry; in a piece of a dump its only one.
  [[nodiscard]] std::uint32_t entry() const noexcept { return entry_; }
  /// False for a piece of a dump.
  [[nodiscard]] bool is_whole() const noexcept { return is_whole_; }

  [[nodiscard]] std::string_view text(std::uint32_t number) const& noexcept { return texts_[number]; }
  [[nodiscard]] std::string_view primitive(std::size_t n) const& noexcept { return texts_[nodes_[n].primitive]; }
  [[nodiscard]] std::string_view instance(std::size_t n) const& noexcept { return texts_[nodes_[n].instance]; }
  [[nodiscard]] std::string_view scope(std::size_t n) const& noexcept { return texts_[nodes_[n].scope]; }
  [[nodiscard]] std::span<const ir_operand> operands(std::size_t n) const& noexcept { return operands_[n]; }
  /// Types of the operands: as many as operands, or none where the dump has no types.
  [[nodiscard]] std::span<const std::uint32_t> input_types(std::size_t n) const& noexcept { return input_types_[n]; }
  /// Types of the results: one, but for a Return and dumps without types, which have none.
  [[nodiscard]] std::span<const std::uint32_t> output_types(std::size_t n) const& noexcept { return output_types_[n]; }
  [[nodiscard]] const ir_type& type(std::uint32_t number) const& noexcept { return types_[number]; }
  /// Bytes of what a node gives; 0 where the dump does not tell.
  [[nodiscard]] std::int64_t output_bytes(std::size_t n) const noexcept {
    std::int64_t sum = 0;
    for (const std::uint32_t t : output_types(n)) sum += types_[t].bytes;
    return sum;
  }

  /// The value of an attribute as written (`I64(0)`, `"text"`), from whichever list of the node has it; empty optional
  /// if none has. O(attributes of the node).
  [[nodiscard]] std::optional<std::string_view> attribute(std::size_t n, std::string_view key) const& noexcept {
    const std::uint32_t number = texts_.find(key);  // of no text: 0, which no key has
    for (const attribute_texts& a : attributes_[n])
      if (a.key == number) return texts_[a.value];
    return std::nullopt;
  }
  /// Whether a Bool attribute is there and true.
  [[nodiscard]] bool has_flag(std::size_t n, std::string_view key) const noexcept {
    const std::uint32_t number = texts_.find(key);
    for (const attribute_texts& a : attributes_[n])
      if (a.key == number && is_true(texts_[a.value])) return true;
    return false;
  }
  /// f(key, value) for each attribute of a node, in the order of the dump.
  template <class F>
  void for_each_attribute(std::size_t n, F&& f) const {
    for (const attribute_texts& a : attributes_[n]) f(texts_[a.key], texts_[a.value]);
  }

  [[nodiscard]] std::size_t variable_count() const noexcept {
    return nodes_.size() + parameters_.size() + outside_count_;
  }
  [[nodiscard]] std::uint32_t variable_of_parameter(std::size_t p) const noexcept {
    return static_cast<std::uint32_t>(nodes_.size() + p);
  }
  [[nodiscard]] std::span<const std::uint32_t> reads(std::size_t n) const& noexcept { return reads_[n]; }
  [[nodiscard]] std::span<const std::uint32_t> writes(std::size_t n) const& noexcept { return writes_[n]; }

  // Views of this object's memory.
  void node(std::size_t) const&& = delete;
  void graphs() const&& = delete;
  void parameters() const&& = delete;
  void text(std::uint32_t) const&& = delete;
  void primitive(std::size_t) const&& = delete;
  void scope(std::size_t) const&& = delete;
  void operands(std::size_t) const&& = delete;
  void reads(std::size_t) const&& = delete;
  void writes(std::size_t) const&& = delete;

 private:
  friend class detail::ir_builder;
  friend class detail::call_follower;
  ir_program() = default;  // without graphs: only while it is built
  struct attribute_texts {
    std::uint32_t key, value;
  };

  detail::string_table texts_;
  std::vector<ir_type> types_ = std::vector<ir_type>(1);  // number 0: not said
  std::vector<ir_node> nodes_;
  std::vector<ir_parameter> parameters_;
  std::vector<ir_graph> graphs_;
  detail::list_of_lists<ir_operand> operands_;
  detail::list_of_lists<std::uint32_t> input_types_, output_types_;
  detail::list_of_lists<attribute_texts> attributes_;
  detail::list_of_lists<std::uint32_t> reads_, writes_;
  std::size_t outside_count_ = 0;
  std::uint32_t entry_ = 0;
  bool is_whole_ = true;
  ir_counts counts_;
};

/// One graph of a program as a host graph of its own: its nodes from 0.
struct ir_graph_view {
  const ir_program* program;
  std::uint32_t graph;
};

}  // namespace hocket::inline HOCKET_ABI::mindspore

namespace hocket::inline HOCKET_ABI {

template <>
struct graph_access<mindspore::ir_graph_view> {
  using node = node_id;
  static std::size_t node_count(const mindspore::ir_graph_view& g) noexcept {
    return g.program->graphs()[g.graph].node_count;
  }
  template <class F>
  static void for_each_read(const mindspore::ir_graph_view& g, node n, F&& f) {
    for (const std::uint32_t v : g.program->reads(g.program->graphs()[g.graph].first_node + n)) f(v);
  }
  template <class F>
  static void for_each_write(const mindspore::ir_graph_view& g, node n, F&& f) {
    for (const std::uint32_t v : g.program->writes(g.program->graphs()[g.graph].first_node + n)) f(v);
  }
};

/// The entry graph.
template <>
struct graph_access<mindspore::ir_program> {
  using node = node_id;
  using view = graph_access<mindspore::ir_graph_view>;
  static std::size_t node_count(const mindspore::ir_program& p) noexcept { return view::node_count({&p, p.entry()}); }
  template <class F>
  static void for_each_read(const mindspore::ir_program& p, node n, F&& f) {
    view::for_each_read({&p, p.entry()}, n, f);
  }
  template <class F>
  static void for_each_write(const mindspore::ir_program& p, node n, F&& f) {
    view::for_each_write({&p, p.entry()}, n, f);
  }
};

}  // namespace hocket::inline HOCKET_ABI
