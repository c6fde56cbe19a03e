// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/result.hpp>
#include <hocket/interop/mindspore/detail/brackets.hpp>
#include <hocket/interop/mindspore/ir_statement.hpp>

#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <system_error>

namespace hocket::inline HOCKET_ABI::mindspore {

/// A parameter of the dump: `%para3_net.emb: <Ref[Tensor[Float16]], ...>`.
struct ir_parameter_view {
  std::int64_t line = 0;
  std::string_view name;    ///< para3_net.emb
  std::string_view type;    ///< of graphs within, empty
  std::int64_t column = 1;  ///< of the type
};
/// `subgraph @name parent: [subgraph @parent](%para72_x, ...) {`; entry and fragments: no parent.
struct ir_heading_view {
  std::int64_t line = 0;
  std::string_view name, parent;
  std::string_view parameters;  ///< list
};

/// What a dump says of itself, and what was found. -1: not said.
struct ir_counts {
  std::int64_t lines = 0, graphs = 0, nodes = 0, parameters = 0;
  std::int64_t said_graphs = -1, said_nodes = -1, said_parameters = -1;
  std::int64_t said_all_nodes = -1;  ///< with constants and parameters, which the dump does not list
};

struct ir_reader_options {
  std::size_t longest_line = std::size_t{1} << 26;  ///< in bytes: what bounds the reader's memory
};

/// What a reader calls, in the order of the file; an error ends the reading and comes back from feed or finish.
template <class V>
concept ir_visitor = requires(V& v, const ir_parameter_view& p, const ir_heading_view& g, const ir_statement_view& s,
                              std::string_view name) {
  { v.entry(name) } -> std::same_as<result<void>>;
  { v.parameter(p) } -> std::same_as<result<void>>;
  { v.begin_graph(g) } -> std::same_as<result<void>>;
  { v.statement(s) } -> std::same_as<result<void>>;
  { v.end_graph() } -> std::same_as<result<void>>;
};

/// Reads a dump of MindSpore's IR (`MS_DEV_SAVE_GRAPHS=1`, files `*.ir`), statement by statement, from pieces of text
/// that may be cut anywhere. Its memory is that of the longest statement, so that a dump of any size can be read.
/// A piece of a dump, from some `%N(` on, is read as well: one graph without a name.
///
/// Errors, each with its line, most with the column:
/// - errc::malformed, errc::unclosed_bracket, errc::mismatched_bracket: a line that is none of the grammar's;
/// - errc::too_large: a line longer than the option says;
/// - errc::truncated, errc::wrong_count: the text ends within a graph, or lacks what its counting lines say.
/// After an error the reader must not be fed again.
///
///     ir_reader reader(visitor);
///     while (read(chunk)) if (const auto ok = reader.feed(chunk); !ok) return ok.error();
///     if (const auto ok = reader.finish(); !ok) return ok.error();
template <class Visitor>
class ir_reader {
 public:
  explicit ir_reader(Visitor& visitor, const ir_reader_options& options = {}) : visitor_(visitor), options_(options) {
    static_assert(ir_visitor<Visitor>, "ir_reader: the visitor lacks a member of ir_visitor");
  }

  [[nodiscard]] const ir_counts& counts() const& noexcept { return counts_; }
  void counts() const&& = delete;

  /// The next piece of the text.
  [[nodiscard]] result<void> feed(std::string_view chunk) {
    while (!chunk.empty()) {
      const void* const end = std::memchr(chunk.data(), '\n', chunk.size());
      const std::size_t length =
          end == nullptr ? chunk.size() : static_cast<std::size_t>(static_cast<const char*>(end) - chunk.data());
      if (started_.size() + length > options_.longest_line)
        return error{errc::too_large, counts_.lines + 1, static_cast<std::int64_t>(started_.size() + length),
                     static_cast<std::int64_t>(options_.longest_line)}
            .with("bytes in a line");
      if (end == nullptr) {
        started_.append(chunk);
        return {};
      }
      const result<void> ok =
          started_.empty() ? take_line(chunk.substr(0, length)) : finish_line(chunk.substr(0, length));
      if (!ok) return ok;
      chunk.remove_prefix(length + 1);
    }
    return {};
  }

  /// The end of the text: says whether it was whole.
  [[nodiscard]] result<void> finish() {
    if (!started_.empty()) {
      if (const auto ok = finish_line({}); !ok) return ok;
    }
    if (in_rows_) return error{errc::truncated, counts_.lines}.with("the rows of a constant");
    if (place_ == place::start) return error{errc::truncated, counts_.lines}.with("a graph");
    if (place_ == place::fragment) return end_graph();
    if (place_ == place::graph) return error{errc::truncated, counts_.lines}.with("the } of a graph");
    if (counts_.graphs == 0) return error{errc::truncated, counts_.lines}.with("a graph");  // though it said 0
    return check_counts();
  }

 private:
  enum class place { start, header, settings, graph, fragment };

  [[nodiscard]] result<void> finish_line(std::string_view end) {
    started_.append(end);
    const std::string line = std::move(started_);
    started_ = {};
    return take_line(line);
  }

  [[nodiscard]] result<void> take_line(std::string_view line) {
    ++counts_.lines;
    if (line.ends_with('\r')) line.remove_suffix(1);
    switch (place_) {
      case place::start: return take_first(line);
      case place::header: return take_header(line);
      case place::settings: {
        if (line == "}") place_ = place::header;
        return {};
      }
      default: return take_body(line);
    }
  }

  [[nodiscard]] error bad(std::string_view line, std::size_t at = 0) const noexcept {
    return error{errc::malformed, counts_.lines, static_cast<std::int64_t>(at) + 1}.with(
        detail::first_word(line.substr(at)));
  }

  [[nodiscard]] static bool is_numbered(std::string_view text) noexcept {
    if (text.size() < 2 || text[0] != '%' || text[1] < '0' || text[1] > '9') return false;
    const std::size_t digits = text.find_first_not_of("0123456789", 1);
    return digits != std::string_view::npos && text[digits] == '(';
  }

  [[nodiscard]] result<void> take_first(std::string_view line) {
    if (line.starts_with("\xef\xbb\xbf")) line.remove_prefix(3);
    if (detail::trim(line).empty()) return {};
    const bool is_dump =
        line.starts_with("# IR entry") || line.starts_with("#IR entry") || line.starts_with("subgraph ");
    if (is_dump) {
      place_ = place::header;
      return take_header(line);
    }
    if (!is_numbered(detail::trim(line))) return bad(line);
    place_ = place::fragment;
    ++counts_.graphs;
    if (const auto ok = visitor_.begin_graph({counts_.lines, {}, {}, {}}); !ok) return ok;
    return take_body(line);
  }

  // Lines outside graphs. What the grammar has for people (settings of a graph, orders, comments) is passed over.
  [[nodiscard]] result<void> take_header(std::string_view line) {
    if (line.starts_with("%para")) return take_parameter(line);
    if (line.starts_with("subgraph @")) return take_heading(line);
    if (line.starts_with("jit config {")) place_ = place::settings;
    if (line.starts_with('%') || line.starts_with('}')) return bad(line);
    std::string_view key = line.substr(0, line.find(':'));
    if (key.size() == line.size()) return {};
    const std::string_view value = detail::trim(line.substr(key.size() + 1));
    if (key.starts_with('#')) key.remove_prefix(1);
    key = detail::trim(key);
    if (key == "IR entry" && value.starts_with('@')) return visitor_.entry(value.substr(1));
    if (key == "Total subgraphs" || key == "Total subgraph") return take_count(line, value, counts_.said_graphs);
    if (key == "Total params") return take_count(line, value, counts_.said_parameters);
    if (key == "Total number of cnodes") return take_count(line, value, counts_.said_nodes);
    if (key == "Total number of nodes") return take_count(line, value, counts_.said_all_nodes);
    return {};
  }
  [[nodiscard]] result<void> take_count(std::string_view line, std::string_view value, std::int64_t& out) {
    const auto [end, why] = std::from_chars(value.data(), value.data() + value.size(), out);
    if (why == std::errc{} && end == value.data() + value.size() && out >= 0) return {};
    return error{errc::bad_number, counts_.lines, 1 + (value.data() - line.data())}.with(detail::first_word(value));
  }

  // "%para3_net.emb: <type>  :  has_default", in 1.x "%para3_net.emb : <type>".
  [[nodiscard]] result<void> take_parameter(std::string_view line) {
    const std::size_t colon = line.find(": <");
    if (colon == std::string_view::npos) return bad(line);
    detail::line_scanner in(line, counts_.lines);
    in.skip(colon + 2);
    if (const auto type = in.bracketed(detail::brackets::with_angles); !type) return type.error();
    ++counts_.parameters;
    const std::string_view name = detail::trim(line.substr(1, colon - 1));
    return visitor_.parameter(
        {counts_.lines, name, line.substr(colon + 2, in.at() - colon - 2), static_cast<std::int64_t>(colon) + 3});
  }

  [[nodiscard]] result<void> take_heading(std::string_view line) {
    constexpr std::string_view word = "subgraph @", parent = " parent: [subgraph @";
    detail::line_scanner in(line, counts_.lines);
    in.skip(word.size());
    const std::size_t end = line.find_first_of(" (", word.size());
    if (end == std::string_view::npos || end == word.size()) return bad(line);
    ir_heading_view out{counts_.lines, line.substr(word.size(), end - word.size()), {}, {}};
    in.skip(end - word.size());
    if (in.take(parent)) {
      const std::size_t close = line.find(']', in.at());
      if (close == std::string_view::npos) return bad(line, in.at());
      out.parent = line.substr(in.at(), close - in.at());
      in.skip(close + 1 - in.at());
    }
    in.skip_spaces();
    if (in.done() || in.rest().front() != '(') return bad(line, in.at() < line.size() ? in.at() : 0);
    const auto parameters = in.bracketed();
    if (!parameters) return parameters.error();
    out.parameters = *parameters;
    if (detail::trim(in.rest()) != "{") return bad(line, in.at() < line.size() ? in.at() : 0);
    place_ = place::graph;
    ++counts_.graphs;
    return visitor_.begin_graph(out);
  }

  // Lines of a graph. In a whole dump a statement is indented by two blanks; in a piece of one it begins with %N(.
  [[nodiscard]] result<void> take_body(std::string_view line) {
    if (in_rows_) return take_rows(line);
    const std::size_t indent = line.find_first_not_of(" \t");
    if (indent == std::string_view::npos) return {};
    const char first = line[indent];
    if (first == '#') {
      take_comment(line.substr(indent));
      return {};
    }
    if (first == ':') {
      take_types(line, indent);
      return {};
    }
    if (first == '}' && indent == 0) return end_graph();
    const bool is_fragment = place_ == place::fragment;
    if (is_fragment && scope_follows_ && first == '(') {
      take_scope(line.substr(indent), true);
      return {};
    }
    const bool is_statement = is_fragment
                                ? is_numbered(line.substr(indent)) || line.substr(indent).starts_with("Return(")
                                : indent == 2 && line.starts_with("  ");
    if (!is_statement && is_fragment) return bad(line, indent);
    if (!is_statement) return {};  // the lines of a comment: the counting lines tell what is missing
    if (const auto ok = flush(); !ok) return ok;
    statement_.assign(line);
    statement_line_ = counts_.lines;
    find_rows(line);
    return {};
  }

  // A constant of two or more dimensions goes over several lines, with its rows in brackets, and the statement goes on
  // behind them:
  //   %14(x) = PrimFunc_Mul(Tensor(shape=[2, 2], dtype=Float32, value=
  // [[ 0.00000000e+00  1.00000000e+00]
  //  [ 2.00000000e+00  3.00000000e+00]]), %13)
  [[nodiscard]] result<void> take_rows(std::string_view line) {
    const std::string_view rows = detail::trim(line);
    if (open_rows_ == 0 && !rows.empty() && rows.front() != '[') return bad(line);
    const std::size_t length = statement_.size() + 1 + line.size();
    if (length > options_.longest_line)
      return error{errc::too_large, counts_.lines, static_cast<std::int64_t>(length),
                   static_cast<std::int64_t>(options_.longest_line)}
          .with("bytes in a statement");
    statement_.append(" ").append(line);
    for (std::size_t i = 0; i < line.size() && in_rows_; ++i) {
      open_rows_ += line[i] == '[' ? 1 : line[i] == ']' ? -1 : 0;
      in_rows_ = line[i] != ']' || open_rows_ > 0;
    }
    if (!in_rows_) find_rows(line);
    return {};
  }
  // Whether the rows of a constant follow this line.
  void find_rows(std::string_view line) noexcept {
    in_rows_ = line.ends_with("value=");
    open_rows_ = 0;
  }

  void take_comment(std::string_view comment) {
    scope_follows_ = false;
    if (!scope_.empty() || comment.size() < 8 || comment.starts_with("# In ")) return;
    const std::size_t colon = comment.find(':');
    if (colon == std::string_view::npos) return;
    const std::string_view key = detail::trim(comment.substr(1, colon - 1));
    const bool full = key == "Fullname with scope" || key == "fullname_with_scope";
    if (!full && key != "Scope" && key != "scope") return;
    const std::string_view value = detail::trim(comment.substr(colon + 1));
    scope_follows_ = value.empty();
    if (!value.empty()) take_scope(value, full);
  }
  void take_scope(std::string_view value, bool full) {
    scope_follows_ = false;
    if (value.starts_with('(') && value.ends_with(')')) value = value.substr(1, value.size() - 2);
    scope_.assign(value);
    scope_is_full_ = full;
  }
  // The first such line has the types; later ones have symbols and kernels' types; in 1.x the scope: ": (Default/x)".
  void take_types(std::string_view line, std::size_t indent) {
    if (types_line_ == 0) {
      types_.assign(line);
      types_line_ = counts_.lines;
      return;
    }
    const std::string_view value = detail::trim(line.substr(indent + 1));
    if (scope_.empty() && value.starts_with("(Default") && value.find("->") == std::string_view::npos)
      take_scope(value, true);
  }

  // Hands the statement on that the lines so far described.
  [[nodiscard]] result<void> flush() {
    if (statement_line_ == 0) return {};
    result<ir_statement_view> s = parse_ir_statement(statement_, statement_line_);
    if (!s) return s.error();
    if (types_line_ != 0)
      if (const auto ok = parse_ir_types(types_, types_line_, *s); !ok) return ok;
    s->scope = scope_;
    s->has_full_name = scope_is_full_;
    ++counts_.nodes;
    const result<void> ok = visitor_.statement(*s);
    statement_line_ = types_line_ = 0;
    scope_.clear();
    scope_is_full_ = scope_follows_ = false;
    return ok;
  }
  [[nodiscard]] result<void> end_graph() {
    if (const auto ok = flush(); !ok) return ok;
    place_ = place::header;
    return visitor_.end_graph();
  }

  [[nodiscard]] result<void> check_counts() const {
    const auto differ = [](std::int64_t said, std::int64_t found) { return said >= 0 && said != found; };
    if (differ(counts_.said_graphs, counts_.graphs))
      return error{errc::wrong_count, counts_.lines, counts_.said_graphs, counts_.graphs}.with("subgraphs");
    if (differ(counts_.said_parameters, counts_.parameters))
      return error{errc::wrong_count, counts_.lines, counts_.said_parameters, counts_.parameters}.with("params");
    if (differ(counts_.said_nodes, counts_.nodes))
      return error{errc::wrong_count, counts_.lines, counts_.said_nodes, counts_.nodes}.with("cnodes");
    return {};
  }

  Visitor& visitor_;
  ir_reader_options options_;
  ir_counts counts_;
  place place_ = place::start;
  std::string started_;  // a line whose end is in a later piece
  // The statement that is being collected; a line of 0: none.
  std::string statement_, types_, scope_;
  std::int64_t statement_line_ = 0, types_line_ = 0;
  bool scope_is_full_ = false, scope_follows_ = false;
  bool in_rows_ = false;        // of a constant of the statement
  std::int64_t open_rows_ = 0;  // brackets
};

}  // namespace hocket::inline HOCKET_ABI::mindspore
