// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/ids.hpp>
#include <hocket/core/result.hpp>
#include <hocket/interop/mindspore/detail/ir_captures.hpp>
#include <hocket/interop/mindspore/detail/string_table.hpp>
#include <hocket/interop/mindspore/ir_program.hpp>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::mindspore::detail {

// Collects what a reader tells into a program; finish() resolves what was mentioned before it was defined, and works
// out reads and writes. The maps are only looked up, never walked through.
class ir_builder {
 public:
  result<void> entry(std::string_view name) {
    entry_name_ = texts().add(name);
    return {};
  }
  result<void> parameter(const ir_parameter_view& p) {
    const auto type = type_of(p.type, p.line, p.column);
    if (!type) return type.error();
    return add_parameter(p.name, *type, 0, p.line);
  }
  result<void> begin_graph(const ir_heading_view& g);
  result<void> statement(const ir_statement_view& s);
  result<void> end_graph() {
    ir_graph& g = program_.graphs_.back();
    g.node_count = static_cast<std::uint32_t>(program_.nodes_.size()) - g.first_node;
    return {};
  }
  [[nodiscard]] result<ir_program> finish(const ir_counts& counts);

 private:
  // A graph, or a node or parameter of an outer graph: named before it was defined, perhaps.
  struct mention {
    enum class place { operand, function, callee, alternative };
    place where;
    std::size_t at;             // of the operand, or of the node, that it stands for
    std::uint32_t graph, name;  // texts; name 0: the graph itself
    std::int64_t line, column;
  };

  // "para3" of "para3_net.emb": the number is the parameter's, the name may differ from place to place.
  [[nodiscard]] static std::string_view key_of_parameter(std::string_view written) noexcept {
    return written.substr(0, written.find('_'));
  }
  [[nodiscard]] string_table& texts() noexcept { return program_.texts_; }
  [[nodiscard]] std::uint32_t here() const noexcept { return static_cast<std::uint32_t>(program_.graphs_.size()) - 1; }

  result<void> add_parameter(std::string_view written, std::uint32_t type, std::uint32_t graph, std::int64_t line);
  result<std::uint32_t> type_of(std::string_view text, std::int64_t line, std::int64_t column);
  result<void> add_types(std::string_view list, const ir_statement_view& s, list_of_lists<std::uint32_t>& out);
  result<ir_operand> operand_of(std::string_view text, const ir_statement_view& s);
  ir_operand mentioned(std::string_view graph, std::string_view name, std::string_view text,
                       const ir_statement_view& s);
  ir_operand outside(std::string_view text);
  result<void> add_function(const ir_statement_view& s, ir_node& node);
  result<void> add_operands(const ir_statement_view& s, ir_node& node);
  result<void> add_attributes(const ir_statement_view& s);
  [[nodiscard]] ir_phase phase_of(std::size_t n) const noexcept;

  result<void> resolve_mentions();
  result<void> resolve_graphs();
  result<void> find_effects();
  void own_effects(std::size_t n, ir_captures::set& reads, ir_captures::set& writes) const;
  void called_graphs(std::size_t n, ir_captures::set& out, int depth) const;
  [[nodiscard]] std::uint32_t variable_of(const ir_operand& o) const noexcept;
  [[nodiscard]] ir_operand element_taken(std::size_t n) const noexcept;
  [[nodiscard]] std::uint32_t parameter_called(std::string_view name) const noexcept;
  [[nodiscard]] bool updates(std::size_t n, std::size_t operand) const noexcept;

  ir_program program_;
  string_table type_texts_;  // text i is type i
  std::uint32_t entry_name_ = 0;
  std::unordered_map<std::uint32_t, std::uint32_t> node_by_number_;     // of the graph that is read
  std::unordered_map<std::uint32_t, std::uint32_t> parameter_by_key_;   // para3
  std::unordered_map<std::uint32_t, std::uint32_t> parameter_by_name_;  // net.emb
  std::unordered_map<std::uint32_t, std::uint32_t> graph_by_name_, outside_by_text_;
  std::unordered_map<std::uint64_t, std::uint32_t> node_by_name_;  // graph's and node's text
  std::vector<mention> mentions_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> parents_;  // graph, text of its parent's name
  std::vector<ir_operand> functions_;                             // per node: what a call through a value calls
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> alternatives_;  // node, graphs: it calls one of them
};

// ---- names

inline result<void> ir_builder::begin_graph(const ir_heading_view& g) {
  program_.is_whole_ = entry_name_ != 0;
  const std::uint32_t name = texts().add(g.name);
  const auto number = static_cast<std::uint32_t>(program_.graphs_.size());
  ir_graph graph;
  graph.name = name;
  graph.first_node = static_cast<std::uint32_t>(program_.nodes_.size());
  graph.line = g.line;
  program_.graphs_.push_back(graph);
  graph_by_name_.emplace(name, number);
  if (!g.parent.empty()) parents_.emplace_back(number, texts().add(g.parent));
  node_by_number_.clear();
  std::string_view rest = g.parameters;
  while (!rest.empty()) {
    std::string_view written = next_part(rest, brackets::without_angles);
    written = written.substr(0, written.find(' '));  // 1.x may say the type here
    if (written.starts_with('%')) written.remove_prefix(1);
    if (const auto ok = add_parameter(written, 0, number, g.line); !ok) return ok;
  }
  return {};
}

// `written`: para3_net.emb.
inline result<void> ir_builder::add_parameter(std::string_view written, std::uint32_t type, std::uint32_t graph,
                                              std::int64_t line) {
  const std::uint32_t text = texts().add(key_of_parameter(written));
  const auto number = static_cast<std::uint32_t>(program_.parameters_.size());
  if (!parameter_by_key_.emplace(text, number).second) return {};  // 1.x lists those of the entry twice
  const std::size_t underline = written.find('_');
  const std::string_view name = underline == std::string_view::npos ? written : written.substr(underline + 1);
  const std::uint32_t name_text = texts().add(name);
  program_.parameters_.push_back({name_text, type, graph, line});
  parameter_by_name_.emplace(name_text, number);
  return {};
}

inline result<std::uint32_t> ir_builder::type_of(std::string_view text, std::int64_t line, std::int64_t column) {
  const std::uint32_t number = type_texts_.add(text);
  if (number < program_.types_.size()) return number;
  auto type = parse_ir_type(text);
  if (!type) return error{errc::malformed, line, column + type.error().values[1] - 1}.with(type.error().word());
  program_.types_.push_back(std::move(*type));
  return number;
}

inline result<void> ir_builder::add_types(std::string_view list, const ir_statement_view& s,
                                          list_of_lists<std::uint32_t>& out) {
  while (!list.empty()) {
    const std::string_view text = next_part(list, brackets::with_angles);
    const auto type = type_of(text, s.types_line, 1 + (text.data() - s.types.data()));
    if (!type) return type.error();
    out.values.push_back(*type);
  }
  return {};
}

// ---- statements

inline result<void> ir_builder::statement(const ir_statement_view& s) {
  if (program_.nodes_.size() >= no_id - 1) return error{errc::limit_exceeded, s.line, no_id - 1}.with("nodes");
  const auto n = static_cast<std::uint32_t>(program_.nodes_.size());
  ir_node node;
  node.operation = texts().add(s.operation);
  node.name = texts().add(s.name);
  node.instance = texts().add(s.instance);
  node.scope = texts().add(s.scope);
  node.graph = here();
  node.line = s.line;
  node.number = s.number;
  node.has_full_name = s.has_full_name;
  if (const auto ok = add_operands(s, node); !ok) return ok;
  if (const auto ok = add_attributes(s); !ok) return ok;
  if (const auto ok = add_types(s.inputs, s, program_.input_types_); !ok) return ok;
  const std::size_t types = program_.input_types_.values.size() - program_.input_types_.begin.back();
  if (types != program_.operands_[n].size())  // nothing can be said of a single operand
    program_.input_types_.values.resize(program_.input_types_.begin.back());
  program_.input_types_.end_list();
  if (const auto ok = add_types(s.outputs, s, program_.output_types_); !ok) return ok;
  program_.output_types_.end_list();
  node.primitive = texts().add(primitive_of(s.operation));
  program_.nodes_.push_back(node);
  program_.nodes_.back().phase = phase_of(n);
  if (s.number >= 0) node_by_number_[static_cast<std::uint32_t>(s.number)] = n;
  if (!s.name.empty()) node_by_name_.emplace(std::uint64_t{program_.graphs_.back().name} << 32 | node.name, n);
  return {};
}

inline result<void> ir_builder::add_operands(const ir_statement_view& s, ir_node& node) {
  std::string_view rest = s.operands;
  while (!rest.empty()) {
    const auto operand = operand_of(next_part(rest, brackets::without_angles), s);
    if (!operand) return operand.error();
    program_.operands_.values.push_back(*operand);
  }
  program_.operands_.end_list();
  return add_function(s, node);
}

// What is called: `call @graph`, `%3`, `%3[@@graph]`, `$(@graph:node)`, `Parameter_486[@@graph]`, and of graphs among
// which a Switch decides `%3[@FuncUnion(@a, @b)]`.
inline result<void> ir_builder::add_function(const ir_statement_view& s, ir_node& node) {
  constexpr std::string_view direct = "call @", known = "[@@", one_of = "[@FuncUnion(";
  std::string_view called = s.operation;
  const std::size_t bracket = called.find("[@");
  node.is_call = primitive_of(called) == "call";
  functions_.emplace_back();
  if (!node.is_call) return {};
  const std::size_t n = functions_.size() - 1;
  const auto add_mention = [&](std::string_view graph, mention::place where) {
    mentioned(graph, {}, graph, s);
    mentions_.back().where = where;
    mentions_.back().at = n;
  };
  if (called.starts_with(direct)) add_mention(called.substr(direct.size()), mention::place::callee);
  const std::string_view which = bracket == std::string_view::npos ? std::string_view{} : called.substr(bracket);
  if (which.starts_with(known))
    add_mention(which.substr(known.size(), which.find(']') - known.size()), mention::place::callee);
  if (which.starts_with(one_of) && which.ends_with(")]")) {
    std::string_view graphs = which.substr(one_of.size(), which.size() - one_of.size() - 2);
    while (!graphs.empty()) {
      const std::string_view graph = next_part(graphs, brackets::without_angles);
      if (graph.starts_with('@')) add_mention(graph.substr(1), mention::place::alternative);
    }
  }
  called = called.substr(0, bracket);
  if (!called.starts_with('%') && !called.starts_with('$')) return {};
  const std::size_t before = mentions_.size();
  const auto function = operand_of(called, s);
  if (!function) return function.error();
  functions_[n] = *function;
  if (mentions_.size() == before) return {};
  mentions_.back().where = mention::place::function;
  mentions_.back().at = n;
  return {};
}

inline result<ir_operand> ir_builder::operand_of(std::string_view text, const ir_statement_view& s) {
  using kind = ir_operand::kind;
  const error unknown = error{errc::unknown_operand, s.line, s.column_of(text)}.with(first_word(text));
  for (const std::string_view monad : {"UMonad[U]", "IOMonad[IO]", "U", "IO"})  // the last two up to version 2.0
    if (text == monad) return ir_operand{kind::monad, 0};
  if (text.starts_with('@')) return mentioned(text.substr(1), {}, text, s);
  if (text.starts_with("$(@") && text.ends_with(')')) {
    const std::string_view inside = text.substr(3, text.size() - 4);
    const std::size_t colon = inside.find(':');
    if (colon == std::string_view::npos) return unknown;
    return mentioned(inside.substr(0, colon), inside.substr(colon + 1), text, s);
  }
  if (text.starts_with("%para")) {
    const auto known = parameter_by_key_.find(texts().find(key_of_parameter(text.substr(1))));
    if (known != parameter_by_key_.end()) return ir_operand{kind::parameter, known->second};
    if (program_.is_whole_) return unknown;
    return outside(text);
  }
  if (text.starts_with('%')) {
    std::uint32_t number = 0;
    const auto [end, why] = std::from_chars(text.data() + 1, text.data() + text.size(), number);
    if (why != std::errc{} || end != text.data() + text.size()) return unknown;
    const auto known = node_by_number_.find(number);
    if (known != node_by_number_.end()) return ir_operand{kind::node, known->second};
    if (program_.is_whole_) return unknown;
    return outside(text);
  }
  if (is_misread_constant(text)) return error{errc::malformed, s.line, s.column_of(text)}.with(first_word(text));
  return ir_operand{kind::constant, texts().add(text)};
}

inline ir_operand ir_builder::mentioned(std::string_view graph, std::string_view name, std::string_view text,
                                        const ir_statement_view& s) {
  mentions_.push_back({mention::place::operand, program_.operands_.values.size(), texts().add(graph), texts().add(name),
                       s.line, s.column_of(text)});
  return ir_operand{};
}

inline ir_operand ir_builder::outside(std::string_view text) {
  const auto number = static_cast<std::uint32_t>(program_.outside_count_);
  const auto [at, is_new] = outside_by_text_.emplace(texts().add(text), number);
  if (is_new) ++program_.outside_count_;
  return ir_operand{ir_operand::kind::outside, at->second};
}

inline result<void> ir_builder::add_attributes(const ir_statement_view& s) {
  for (std::string_view list : {s.primitive_attributes, s.node_attributes, s.primal_attributes, s.layout})
    while (!list.empty()) {
      const auto a = next_attribute(list, s);
      if (!a) return a.error();
      constexpr std::string_view misread_group = "\"hcel_world_group\"";  // of a scanned text: hccl
      if (a->value == misread_group)
        return error{errc::bad_attribute, s.line, s.column_of(a->key)}.with(first_word(a->value));
      program_.attributes_.values.push_back({texts().add(a->key), texts().add(a->value)});
    }
  program_.attributes_.end_list();
  return {};
}

inline ir_phase ir_builder::phase_of(std::size_t n) const noexcept {
  std::string_view scope = program_.scope(n);
  constexpr std::string_view of_recomputed_cell = "recompute_";
  if (scope.starts_with(of_recomputed_cell)) scope.remove_prefix(of_recomputed_cell.size());
  if (program_.has_flag(n, "duplicated")) return ir_phase::recomputed;
  if (scope.starts_with("Gradients/") || program_.attribute(n, "forward_unique_id").has_value())
    return ir_phase::backward;
  if (scope.find("/optimizer-") != std::string_view::npos) return ir_phase::optimizer;
  return ir_phase::forward;
}

// ---- what was mentioned before it was defined

inline result<void> ir_builder::resolve_mentions() {
  for (const mention& m : mentions_) {
    ir_operand found;
    const auto graph = graph_by_name_.find(m.graph);
    const auto node = node_by_name_.find(std::uint64_t{m.graph} << 32 | m.name);
    const auto parameter = parameter_by_key_.find(texts().find(key_of_parameter(texts()[m.name])));
    if (m.name == 0 && graph != graph_by_name_.end()) found = {ir_operand::kind::graph, graph->second};
    else if (m.name != 0 && node != node_by_name_.end()) found = {ir_operand::kind::node, node->second};
    else if (m.name != 0 && parameter != parameter_by_key_.end())
      found = {ir_operand::kind::parameter, parameter->second};
    else if (program_.is_whole_)
      return error{errc::unknown_operand, m.line, m.column}.with(first_word(texts()[m.name == 0 ? m.graph : m.name]));
    if (m.where == mention::place::operand) program_.operands_.values[m.at] = found;
    else if (m.where == mention::place::function) functions_[m.at] = found;
    else if (found.what == ir_operand::kind::graph && m.where == mention::place::callee)
      program_.nodes_[m.at].callee = found.value;
    else if (found.what == ir_operand::kind::graph)
      alternatives_[static_cast<std::uint32_t>(m.at)].push_back(found.value);
  }
  return {};
}

inline result<void> ir_builder::resolve_graphs() {
  for (const auto& [graph, name] : parents_)
    if (const auto parent = graph_by_name_.find(name); parent != graph_by_name_.end())
      program_.graphs_[graph].parent = parent->second;
  if (entry_name_ == 0) return {};
  const auto entry = graph_by_name_.find(entry_name_);
  if (entry == graph_by_name_.end())
    return error{errc::truncated, program_.counts_.lines}.with(first_word(texts()[entry_name_]));
  program_.entry_ = entry->second;
  for (ir_parameter& p : program_.parameters_)
    if (p.type != 0) p.graph = program_.entry_;
  return {};
}

inline result<ir_program> ir_builder::finish(const ir_counts& counts) {
  program_.counts_ = counts;
  if (const auto ok = resolve_mentions(); !ok) return ok.error();
  if (const auto ok = resolve_graphs(); !ok) return ok.error();
  if (const auto ok = find_effects(); !ok) return ok.error();
  return std::move(program_);
}

// ---- reads and writes

inline std::uint32_t ir_builder::variable_of(const ir_operand& o) const noexcept {
  switch (o.what) {
    case ir_operand::kind::node: return o.value;
    case ir_operand::kind::parameter: return program_.variable_of_parameter(o.value);
    case ir_operand::kind::outside:
      return static_cast<std::uint32_t>(program_.nodes_.size() + program_.parameters_.size() + o.value);
    default: return no_id;
  }
}

// The operand of a MakeTuple that a TupleGetItem takes out of it; a constant, if it is not known.
inline ir_operand ir_builder::element_taken(std::size_t n) const noexcept {
  const auto own = program_.operands(n);
  if (program_.primitive(n) != "TupleGetItem" || own.size() < 2) return {};
  if (own[0].what != ir_operand::kind::node || own[1].what != ir_operand::kind::constant) return {};
  if (program_.primitive(own[0].value) != "MakeTuple") return {};
  std::string_view index = program_.text(own[1].value);  // I64(1)
  const std::size_t open = index.find('(');
  index = open == std::string_view::npos ? index : index.substr(open + 1);
  std::size_t i = 0;
  if (std::from_chars(index.data(), index.data() + index.size(), i).ec != std::errc{}) return {};
  const auto elements = program_.operands(own[0].value);
  return i < elements.size() ? elements[i] : ir_operand{};
}

inline std::uint32_t ir_builder::parameter_called(std::string_view name) const noexcept {
  const auto at = parameter_by_name_.find(program_.texts_.find(name));
  return name.empty() || at == parameter_by_name_.end() ? no_id : at->second;
}

// Whether an op updates the parameter behind a Ref operand. Of those that are not listed here, what has a side effect
// takes a monad, and updates what is marked is_inplace, or, in older dumps that mark nothing, all that it takes.
inline bool ir_builder::updates(std::size_t n, std::size_t operand) const noexcept {
  const std::string_view primitive = program_.primitive(n);
  for (const std::string_view reads_only : {"Load", "UpdateState", "Depend", "MakeTuple", "TupleGetItem", "Return",
                                            "call", "Partial", "Switch", "AllReduce", "AllGather", "ReduceScatter"})
    if (primitive == reads_only) return false;
  for (const std::string_view updates_first : {"Assign", "AssignAdd", "AssignSub"})
    if (primitive == updates_first) return operand == 0;
  for (const std::string_view optimizer : {"Adam", "AdamWeightDecay", "FusedAdam", "FusedAdamWeightDecay"})
    if (primitive == optimizer) return operand < 3;
  if (primitive == "ApplyMomentum") return operand < 2;
  const auto types = program_.input_types(n);
  bool has_monad = false, is_marked = false;
  for (const std::uint32_t t : types) {
    has_monad = has_monad || program_.type(t).what == ir_type::kind::monad;
    is_marked = is_marked || (program_.type(t).reference && program_.type(t).in_place);
  }
  return has_monad && (!is_marked || program_.type(types[operand]).in_place);
}

inline void ir_builder::own_effects(std::size_t n, ir_captures::set& reads, ir_captures::set& writes) const {
  const auto read = [&](std::uint32_t variable) {
    if (variable != no_id) reads.push_back(variable);
  };
  if (const ir_operand element = element_taken(n); variable_of(element) != no_id) {
    read(variable_of(element));
  } else {
    for (const ir_operand& o : program_.operands(n)) read(variable_of(o));
  }
  read(variable_of(functions_[n]));
  writes.push_back(static_cast<std::uint32_t>(n));
  const auto types = program_.input_types(n);
  for (std::size_t i = 0; i < types.size(); ++i) {
    const ir_type& type = program_.type(types[i]);
    if (!type.reference) continue;
    const ir_operand& o = program_.operands(n)[i];
    const std::uint32_t named = parameter_called(type.reference_to);
    std::uint32_t variable = named == no_id ? no_id : program_.variable_of_parameter(named);
    if (variable == no_id && o.what == ir_operand::kind::parameter) variable = variable_of(o);
    if (variable == no_id && o.what == ir_operand::kind::outside) variable = variable_of(o);
    read(variable);
    if (variable != no_id && updates(n, i)) writes.push_back(variable);
  }
}

// The graphs that a node may call: its own, those it hands on, and those behind the function that it calls.
inline void ir_builder::called_graphs(std::size_t n, ir_captures::set& out, int depth) const {
  constexpr int deepest = 8;  // Partial of a Switch of a J: longer chains do not occur
  if (depth == deepest) return;
  if (program_.node(n).callee != no_id) out.push_back(program_.node(n).callee);
  if (const auto some = alternatives_.find(static_cast<std::uint32_t>(n)); some != alternatives_.end())
    out.insert(out.end(), some->second.begin(), some->second.end());
  if (functions_[n].what == ir_operand::kind::node) called_graphs(functions_[n].value, out, depth + 1);
  const bool makes_function = depth == 0 || !program_.node(n).is_call;
  if (!makes_function) return;
  for (const ir_operand& o : program_.operands(n)) {
    if (o.what == ir_operand::kind::graph) out.push_back(o.value);
    if (depth > 0 && o.what == ir_operand::kind::node) called_graphs(o.value, out, depth + 1);
  }
}

inline result<void> ir_builder::find_effects() {
  const auto nodes = static_cast<std::uint32_t>(program_.nodes_.size());
  ir_captures captures(program_.graphs_.size());
  list_of_lists<std::uint32_t> own_reads, own_writes, called;
  const auto is_own = [&](std::uint32_t g, std::uint32_t v) {
    const ir_graph& graph = program_.graphs_[g];
    if (v < nodes) return v >= graph.first_node && v < graph.first_node + graph.node_count;
    const std::size_t p = v - nodes;
    return p < program_.parameters_.size() && program_.parameters_[p].type == 0 && program_.parameters_[p].graph == g;
  };
  ir_captures::set reads, writes, graphs;
  const auto keep = [](ir_captures::set& set, list_of_lists<std::uint32_t>& to) {
    ir_captures::sort_unique(set);
    to.values.insert(to.values.end(), set.begin(), set.end());
    to.end_list();
    set.clear();
  };
  for (std::uint32_t n = 0; n < nodes; ++n) {
    const std::uint32_t g = program_.nodes_[n].graph;
    own_effects(n, reads, writes);
    called_graphs(n, graphs, 0);
    for (const std::uint32_t v : reads)
      if (!is_own(g, v)) captures.add_read(g, v);
    for (const std::uint32_t v : writes)
      if (!is_own(g, v)) captures.add_write(g, v);
    for (const std::uint32_t other : graphs) captures.add_mention(g, other);
    keep(reads, own_reads);
    keep(writes, own_writes);
    keep(graphs, called);
  }
  if (const auto ok = captures.close(is_own); !ok) return ok;
  for (std::uint32_t n = 0; n < nodes; ++n) {
    reads.assign(own_reads[n].begin(), own_reads[n].end());
    writes.assign(own_writes[n].begin(), own_writes[n].end());
    for (const std::uint32_t g : called[n]) {
      for (const std::uint32_t v : captures.reads(g))
        if (v < n || v >= nodes || !is_own(program_.nodes_[n].graph, v)) reads.push_back(v);
      writes.insert(writes.end(), captures.writes(g).begin(), captures.writes(g).end());
    }
    keep(reads, program_.reads_);
    keep(writes, program_.writes_);
  }
  return {};
}

}  // namespace hocket::inline HOCKET_ABI::mindspore::detail
