// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/result.hpp>
#include <hocket/interop/mindspore/detail/brackets.hpp>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <system_error>

namespace hocket::inline HOCKET_ABI::mindspore {

/// One node of a dump as its lines say it: a view of the reader's text, valid until the reader reads on.
///
///     %14(equiv_y) = PrimFunc_MatMul(%12, %13, Bool(0), Bool(1)) {instance name: matmul} primitive_attrs: {...}
///      |  name       operation       operands                     instance               primitive_attributes
///         : (<Tensor[Float16], (4, 8)>, ...) -> (<Tensor[Float16], (4, 4)>)
///            inputs                              outputs
///         # Fullname with scope: (Default/.../wq-Linear/MatMul-op0)
///                                 scope
struct ir_statement_view {
  std::int64_t line = 0;       ///< of the file, from 1
  std::string_view text;       ///< that line
  std::int64_t number = -1;    ///< N of %N; -1 where there is none, as of Return
  std::string_view name;       ///< without brackets
  std::string_view operation;  ///< as written: PrimFunc_MatMul, or a call: `%3`
  std::string_view operands;   ///< list
  std::string_view instance;   ///< the name that the cell gave the primitive, or why a collective was put in
  std::string_view primitive_attributes, node_attributes, primal_attributes;  ///< lists of key: value
  std::string_view layout;           ///< in_strategy, out_strategy, ... at the end; in 1.x strategy
  std::int64_t types_line = 0;       ///< 0: the dump has no types
  std::string_view types;            ///< that line
  std::string_view inputs, outputs;  ///< lists of types
  std::string_view scope;            ///< Default/network-Loss/.../MatMul-op0
  bool has_full_name = false;        ///< false: backend passes print the scope without the op's own name

  /// Of a part of the first line, from 1.
  [[nodiscard]] std::int64_t column_of(std::string_view part) const noexcept { return 1 + (part.data() - text.data()); }
};

namespace detail {

// Walks one line and remembers its place, for errors.
class line_scanner {
 public:
  line_scanner(std::string_view line, std::int64_t number) noexcept : all_(line), number_(number) {}

  [[nodiscard]] std::size_t at() const noexcept { return at_; }
  [[nodiscard]] std::string_view rest() const noexcept { return all_.substr(at_); }
  [[nodiscard]] bool done() const noexcept { return at_ >= all_.size(); }
  void skip(std::size_t count) noexcept { at_ += count; }  // of what is there
  void skip_spaces() noexcept {
    while (!done() && (all_[at_] == ' ' || all_[at_] == '\t')) ++at_;
  }
  [[nodiscard]] bool take(std::string_view word) noexcept {
    if (!rest().starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  // The error that something at a place is not understood.
  [[nodiscard]] error bad(std::size_t at) const noexcept {
    return error{errc::malformed, number_, static_cast<std::int64_t>(at) + 1}.with(first_word(all_.substr(at)));
  }
  [[nodiscard]] error bad() const noexcept { return bad(at_); }

  // What stands between the bracket that follows and the one that closes it.
  [[nodiscard]] result<std::string_view> bracketed(brackets which = brackets::without_angles) noexcept {
    const bracket_end end = skip_brackets(all_, at_, which);
    if (!end.good && end.at >= all_.size())
      return error{errc::unclosed_bracket, number_, static_cast<std::int64_t>(end.opened) + 1}.with(
          first_word(all_.substr(end.opened)));
    if (!end.good)
      return error{errc::mismatched_bracket, number_, static_cast<std::int64_t>(end.at) + 1,
                   static_cast<std::int64_t>(end.opened) + 1}
          .with(all_.substr(end.at, 1));
    const std::string_view inside = all_.substr(at_ + 1, end.at - at_ - 2);
    at_ = end.at;
    return inside;
  }

 private:
  std::string_view all_;
  std::int64_t number_;
  std::size_t at_ = 0;
};

// "%14(equiv_y) = ", which Return lacks.
[[nodiscard]] inline result<void> scan_result(line_scanner& in, ir_statement_view& out) {
  const std::string_view rest = in.rest();
  const bool numbered = rest.size() > 1 && rest[0] == '%' && rest[1] >= '0' && rest[1] <= '9';
  if (!numbered) return {};
  std::uint32_t number = 0;
  const auto [end, why] = std::from_chars(rest.data() + 1, rest.data() + rest.size(), number);
  if (why != std::errc{}) return in.bad();
  const auto digits = static_cast<std::size_t>(end - rest.data());
  const bool named = digits < rest.size() && rest[digits] == '(';
  if (!named && !rest.substr(digits).starts_with(" = ")) return in.bad();
  in.skip(digits);
  if (named) {
    const auto name = in.bracketed();
    if (!name) return name.error();
    out.name = *name;
  }
  if (!in.take(" = ")) return in.bad();
  out.number = number;
  return {};
}

// The operation: up to the '(' of the operands. $(@graph:node) is an operation of its own, and [...] and {...} belong
// to the name: S-Prim-Add{prim_type=1}, %3[@graph].
[[nodiscard]] inline result<void> scan_operation(line_scanner& in, ir_statement_view& out) {
  const std::size_t from = in.at();
  const std::string_view line = in.rest();
  if (in.take("$")) {
    if (const auto outer = in.bracketed(); !outer) return outer.error();
  }
  while (!in.done() && in.rest().front() != '(') {
    const char c = in.rest().front();
    if (c == '{' || c == '[') {
      if (const auto inside = in.bracketed(); !inside) return inside.error();
    } else if (c == ')' || c == '}' || c == ']') {
      return in.bad();
    } else {
      in.skip(1);
    }
  }
  out.operation = line.substr(0, in.at() - from);
  if (out.operation.empty() || out.operation.ends_with(' ') || in.done()) return in.bad(from);
  return {};
}

// What follows the operands: {instance name: x} primitive_attrs: {...} cnode_attrs: {...} {in_strategy: ...}.
[[nodiscard]] inline result<void> scan_attributes(line_scanner& in, ir_statement_view& out) {
  for (in.skip_spaces(); !in.done(); in.skip_spaces()) {
    std::string_view* list = nullptr;
    constexpr std::string_view instance = "{instance name: ";
    if (in.rest().starts_with(instance)) {
      const auto inside = in.bracketed();
      if (!inside) return inside.error();
      out.instance = trim(inside->substr(instance.size() - 1));
      continue;
    }
    if (in.take("primitive_attrs: ")) list = &out.primitive_attributes;
    else if (in.take("cnode_attrs: ")) list = &out.node_attributes;
    else if (in.take("cnode_primal_attrs: ")) list = &out.primal_attributes;
    else list = &out.layout;
    if (in.done() || in.rest().front() != '{') return in.bad();
    const auto inside = in.bracketed();
    if (!inside) return inside.error();
    *list = trim(*inside);
  }
  return {};
}

// Typed constants begin with a letter: what begins with a digit and goes on with '(' was read wrongly (164(0)).
[[nodiscard]] inline bool is_misread_constant(std::string_view value) noexcept {
  std::size_t digits = 0;
  while (digits < value.size() && value[digits] >= '0' && value[digits] <= '9') ++digits;
  return digits > 0 && digits < value.size() && value[digits] == '(';
}

}  // namespace detail

/// The primitive of an operation: MatMul of PrimFunc_MatMul; "call" where a graph or a value is called: `call @graph`,
/// `%3`, `%3[@@graph]`, and `%3[@FuncUnion(@a, @b)]`, a function that is one of several when it runs.
[[nodiscard]] constexpr std::string_view primitive_of(std::string_view operation) noexcept {
  const bool is_call = operation.starts_with("call @") || operation.starts_with('%') || operation.starts_with('$') ||
                       operation.find("[@") != std::string_view::npos;
  if (is_call) return "call";
  for (const std::string_view prefix : {"DoSignaturePrimitive::", "PrimFunc_", "S-Prim-", "S_Prim_"})
    if (operation.starts_with(prefix)) operation.remove_prefix(prefix.size());
  return operation.substr(0, operation.find_first_of("{("));
}

/// Whether a constant is a Bool that is true: `Bool(1)`, up to version 2.0 `true`.
[[nodiscard]] constexpr bool is_true(std::string_view constant) noexcept {
  return constant == "Bool(1)" || constant == "true";
}

/// Whether a primitive talks to other ranks.
[[nodiscard]] constexpr bool is_collective(std::string_view primitive) noexcept {
  for (const std::string_view p :
       {"AllReduce", "AllGather", "ReduceScatter", "AlltoAll", "AlltoAllV", "AllGatherV", "ReduceScatterV", "Broadcast",
        "Reduce", "CollectiveScatter", "CollectiveGather", "Barrier", "Send", "Receive", "NeighborExchange",
        "NeighborExchangeV2", "AllToAllv", "AllToAll"})
    if (primitive == p) return true;
  return false;
}

/// One attribute: `fusion: I64(0)`.
struct ir_attribute_view {
  std::string_view key, value;
};

/// Takes the next attribute off a list of a statement. A part without a key belongs to the value before it.
/// @param list  what is left of one of the statement's lists; empty when there are no more
/// Errors: errc::bad_attribute with line and column for a key that is none (empty, or with a space or bracket within),
/// and for a constant that begins with a digit, as 164(0).
[[nodiscard]] inline result<ir_attribute_view> next_attribute(std::string_view& list,
                                                              const ir_statement_view& statement) {
  const auto key_of = [](std::string_view part) {
    const std::size_t colon = part.find(':');
    return colon == std::string_view::npos ? std::string_view{} : part.substr(0, colon);
  };
  const std::string_view whole = list;
  const std::string_view part = detail::next_part(list, detail::brackets::without_angles);
  const std::string_view key = key_of(part);
  const error bad =
      error{errc::bad_attribute, statement.line, statement.column_of(part)}.with(detail::first_word(part));
  if (key.empty() || key.find_first_of(" ()[]{}<>\",") != std::string_view::npos) return bad;
  std::string_view value = part.substr(key.size() + 1);
  while (!list.empty()) {
    std::string_view after = list;
    const std::string_view next = detail::next_part(after, detail::brackets::without_angles);
    if (!key_of(next).empty()) break;
    const auto first = static_cast<std::size_t>(value.data() - whole.data());
    const auto last = static_cast<std::size_t>(next.data() - whole.data()) + next.size();
    value = whole.substr(first, last - first);
    list = after;
  }
  value = detail::trim(value);
  if (detail::is_misread_constant(value)) return bad;
  return ir_attribute_view{key, value};
}

namespace detail {
// What is called may be a constant with brackets of its own: Tensor(...)(%9).
inline result<std::string_view> scan_operands(line_scanner& in, ir_statement_view& out) {
  const std::size_t begin = in.at() - out.operation.size();
  for (;;) {
    const auto operands = in.bracketed();
    if (!operands || in.done() || in.rest().front() != '(') return operands;
    out.operation = out.text.substr(begin, in.at() - begin);
  }
}
}  // namespace detail

/// Reads the first line of a statement; types and scope are on the lines after it.
/// Errors, each with line and column: errc::malformed, errc::unclosed_bracket, errc::mismatched_bracket.
/// Complexity: linear in the line.
[[nodiscard]] inline result<ir_statement_view> parse_ir_statement(std::string_view text, std::int64_t line = 1) {
  ir_statement_view out;
  out.line = line;
  out.text = text;
  detail::line_scanner in(text, line);
  in.skip_spaces();
  if (const auto ok = detail::scan_result(in, out); !ok) return ok.error();
  if (const auto ok = detail::scan_operation(in, out); !ok) return ok.error();
  const auto operands = detail::scan_operands(in, out);
  if (!operands) return operands.error();
  out.operands = detail::trim(*operands);
  if (const auto ok = detail::scan_attributes(in, out); !ok) return ok.error();
  return out;
}

/// Reads the line with the types of a statement: `: (types) -> (types)`; that of Return has no results.
/// Errors as of parse_ir_statement.
[[nodiscard]] inline result<void> parse_ir_types(std::string_view text, std::int64_t line, ir_statement_view& out) {
  detail::line_scanner in(text, line);
  in.skip_spaces();
  if (!in.take(":")) return in.bad();
  in.skip_spaces();
  if (in.done() || in.rest().front() != '(') return in.bad();
  const auto inputs = in.bracketed(detail::brackets::with_angles);
  if (!inputs) return inputs.error();
  in.skip_spaces();
  if (in.take("->")) {
    in.skip_spaces();
    if (in.done() || in.rest().front() != '(') return in.bad();
    const auto outputs = in.bracketed(detail::brackets::with_angles);
    if (!outputs) return outputs.error();
    out.outputs = detail::trim(*outputs);
    in.skip_spaces();
  }
  if (!in.done()) return in.bad();
  out.inputs = detail::trim(*inputs);
  out.types_line = line;
  out.types = text;
  return {};
}

}  // namespace hocket::inline HOCKET_ABI::mindspore
