// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/ids.hpp>
#include <hocket/core/result.hpp>
#include <hocket/cost/model/collective_of_layout.hpp>
#include <hocket/interop/mindspore/detail/brackets.hpp>
#include <hocket/interop/mindspore/ir_dataflow.hpp>
#include <hocket/interop/mindspore/ir_program.hpp>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace hocket::inline HOCKET_ABI::mindspore {

/// A strategy: into how many parts each dimension of each operand is cut. `((2, 4), (1, 4))`.
using ir_strategy = std::vector<std::vector<std::int64_t>>;

/// Reads `((2, 4), (1, 4))`; nothing for another form (None, layouts of names).
[[nodiscard]] inline std::optional<ir_strategy> parse_strategy(std::string_view text) {
  constexpr auto plain = detail::brackets::without_angles;
  const auto inside = [](std::string_view t) -> std::optional<std::string_view> {
    if (t.size() < 2 || t.front() != '(' || t.back() != ')') return std::nullopt;
    return t.substr(1, t.size() - 2);
  };
  const auto all = inside(detail::trim(text));
  if (!all || !detail::skip_brackets(text, text.find('('), plain).good) return std::nullopt;
  ir_strategy out;
  for (std::string_view rest = *all; !rest.empty();) {
    const std::string_view part = detail::next_part(rest, plain);
    if (part.empty() && rest.empty()) break;  // "((2, 1),)"
    const auto cuts = inside(part);
    if (!cuts) return std::nullopt;
    auto& operand = out.emplace_back();
    for (std::string_view words = *cuts; !words.empty();) {
      const std::string_view word = detail::next_part(words, plain);
      if (word.empty() && words.empty()) break;
      std::int64_t cut = 0;
      const auto [end, why] = std::from_chars(word.data(), word.data() + word.size(), cut);
      if (why != std::errc{} || end != word.data() + word.size() || cut < 1) return std::nullopt;
      operand.push_back(cut);
    }
  }
  return out;
}

/// Why a collective is in a dump.
enum class collective_reason : std::uint8_t {
  partial_sums,     ///< the op before it was cut along what it sums over: expected
  gradient_mirror,  ///< gradients of a weight that several ranks hold: expected
  redistribution,   ///< the layout that one op gives is not the one that the next op wants
  stage_border,     ///< Send, Receive: between pipeline stages: expected
  not_explained
};
[[nodiscard]] constexpr std::string_view to_string(collective_reason r) noexcept {
  constexpr std::string_view names[] = {"partial_sums", "gradient_mirror", "redistribution", "stage_border",
                                        "not_explained"};
  return names[static_cast<std::size_t>(r)];
}

/// One collective of a dump.
struct ir_collective {
  std::uint32_t node = 0;
  std::string group;                ///< as the dump calls it
  std::vector<std::int64_t> ranks;  ///< empty if the dump does not list them
  std::int64_t rank_count = 0;      ///< 0: not told
  std::int64_t bytes = 0;           ///< of the tensor that this rank gives, for Receive that it gets
  bool bytes_known = false;         ///< false: the dump does not tell the type, or not each length of it
  std::uint32_t producer = no_id;   ///< node: the op that makes the tensor
  /// The next ops before and behind it that have a strategy.
  std::uint32_t layout_before = no_id, layout_behind = no_id;
  collective_reason reason = collective_reason::not_explained;
  bool is_backward = false;  ///< of the backward pass: of a collective of the forward pass, or a mirror
  std::string why;           ///< one phrase
};

namespace detail {

class collective_reader {
 public:
  explicit collective_reader(const ir_program& program) : program_(program), users_(program.node_count()) {}

  [[nodiscard]] std::vector<ir_collective> operator()() {
    for (std::uint32_t n = 0; n < program_.node_count(); ++n)
      for (const ir_operand& o : program_.operands(n))
        if (o.what == ir_operand::kind::node) users_[o.value].push_back(n);
    for (std::uint32_t n = 0; n < program_.node_count(); ++n)
      if (is_collective(program_.primitive(n))) read(n);
    for (std::size_t i = 0; i < found_.size(); ++i)
      if (const std::string id = text_of(found_[i].node, "unique_id"); !found_[i].is_backward && !id.empty())
        forward_by_id_.emplace(id, i);
    for (ir_collective& c : found_) judge_backward(c);
    return std::move(found_);
  }

 private:
  [[nodiscard]] std::string text_of(std::uint32_t n, std::string_view key) const {
    std::string_view value = program_.attribute(n, key).value_or("");
    if (value.size() >= 2 && value.front() == '"' && value.back() == '"') value = value.substr(1, value.size() - 2);
    return std::string(value);
  }
  // "(0, 1, 2)" or "0-1-2".
  [[nodiscard]] static std::vector<std::int64_t> numbers_in(std::string_view text) {
    std::vector<std::int64_t> out;
    for (std::size_t at = 0; at < text.size();) {
      std::int64_t number = 0;
      const auto [end, why] = std::from_chars(text.data() + at, text.data() + text.size(), number);
      if (why != std::errc{} || number < 0) {
        ++at;
        continue;
      }
      out.push_back(number);
      at = static_cast<std::size_t>(end - text.data()) + 1;
    }
    return out;
  }

  void read(std::uint32_t n) {
    ir_collective c;
    c.node = n;
    c.group = text_of(n, "group");
    for (const std::string_view key : {"group_rank_ids", "rank_list", "group_ranks"})
      if (c.ranks.empty()) c.ranks = numbers_in(text_of(n, key));
    c.rank_count = static_cast<std::int64_t>(c.ranks.size());
    if (c.rank_count == 0) {  // "4-6301172352641561019": size and hash
      const auto [end, why] = std::from_chars(c.group.data(), c.group.data() + c.group.size(), c.rank_count);
      if (why != std::errc{} || end == c.group.data() + c.group.size() || *end != '-') c.rank_count = 0;
    }
    const bool receives = program_.primitive(n) == "Receive";
    const auto types = program_.input_types(n);
    const auto told = receives || types.empty() ? program_.output_types(n) : types.first(1);
    c.bytes_known = !told.empty();
    for (const std::uint32_t t : told) {
      c.bytes += program_.type(t).bytes;
      c.bytes_known = c.bytes_known && is_size_known(program_.type(t));
    }
    if (!program_.operands(n).empty()) c.producer = made_by(program_.operands(n)[0]);
    c.layout_before = next_with_layout(n, true);
    c.layout_behind = next_with_layout(n, false);
    c.is_backward = program_.node(n).phase == ir_phase::backward;
    judge(c);
    found_.push_back(std::move(c));
  }

  [[nodiscard]] static bool is_size_known(const ir_type& type) {
    return type.bytes_known && (type.what == ir_type::kind::tensor || type.what == ir_type::kind::tuple);
  }

  [[nodiscard]] std::uint32_t made_by(ir_operand o) const {
    while (o.what == ir_operand::kind::node) {
      if (!is_looked_through(program_.primitive(o.value))) return o.value;
      if (program_.operands(o.value).empty()) return no_id;
      o = program_.operands(o.value)[0];
    }
    return no_id;
  }

  // The nearest node with a strategy, over what redistribution puts in; no_id if there is none near.
  [[nodiscard]] std::uint32_t next_with_layout(std::uint32_t from, bool before) const {
    constexpr std::size_t farthest = 64;  // nodes: a redistribution is a handful
    std::vector<std::uint32_t> open{from};
    for (std::size_t i = 0; i < open.size() && i < farthest; ++i) {
      const std::uint32_t n = open[i];
      if (n != from && program_.attribute(n, "in_strategy")) return n;
      if (before) {
        for (const ir_operand& o : program_.operands(n))
          if (o.what == ir_operand::kind::node) open.push_back(o.value);
      } else {
        open.insert(open.end(), users_[n].begin(), users_[n].end());
      }
    }
    return no_id;
  }

  void judge(ir_collective& c) const {
    const std::string_view instance = program_.instance(c.node);
    const std::string_view primitive = program_.primitive(c.node);
    if (primitive == "Send" || primitive == "Receive") {
      c.reason = collective_reason::stage_border;
      c.why = "between pipeline stages";
    } else if (instance.find("mirror") != std::string_view::npos) {
      c.reason = collective_reason::gradient_mirror;
      const std::string weight = text_of(c.node, "mirror_user_id");
      c.why = "gradient of " + (weight.empty() ? "a weight" : weight) + ", which these ranks all hold";
    } else if (instance.find("redistribution_op") != std::string_view::npos) {
      c.reason = collective_reason::redistribution;
      c.why =
          "layouts do not fit: " + layout_text(c.layout_before) + " gives, " + layout_text(c.layout_behind) + " wants";
    } else if (!judge_product(c) && !judge_reduction(c) && c.why.empty()) {
      c.why = "nothing before it was cut along what it sums over";
    }
  }
  // How the ranks cut the op's operands, as the dump writes it; empty if it does not.
  [[nodiscard]] std::string strategy_text(std::uint32_t n) const {
    return std::string(program_.attribute(n, "in_strategy").value_or(""));
  }
  [[nodiscard]] std::string layout_text(std::uint32_t n) const {
    if (n == no_id) return "what has no strategy";
    return std::string(program_.primitive(n)) + " " + strategy_text(n);
  }

  [[nodiscard]] bool is_transposed(std::uint32_t n, std::size_t operand, std::string_view key,
                                   std::string_view other_key) const {
    for (const std::string_view k : {key, other_key})
      if (program_.has_flag(n, k)) return true;
    const auto operands = program_.operands(n);
    return operand < operands.size() && operands[operand].what == ir_operand::kind::constant &&
           program_.text(operands[operand].value) == "Bool(1)";
  }

  // Partial sums of a matrix product, by its strategy. True if that settles it.
  [[nodiscard]] bool judge_product(ir_collective& c) const {
    const std::uint32_t n = c.producer;
    if (n == no_id || (program_.primitive(n) != "MatMul" && program_.primitive(n) != "BatchMatMul")) return false;
    const auto strategy = parse_strategy(strategy_text(n));
    if (!strategy || strategy->size() < 2 || (*strategy)[0].size() < 2 || (*strategy)[1].size() < 2) return false;
    const auto& left = (*strategy)[0];
    const auto& right = (*strategy)[1];
    const std::int64_t last[] = {left[left.size() - 2], left.back(), right[right.size() - 2], right.back()};
    const bool a = is_transposed(n, 2, "transpose_a", "transpose_x1"),
               b = is_transposed(n, 3, "transpose_b", "transpose_x2");
    cost::matmul_layout layout{.left_rows = a ? last[1] : last[0],
                               .left_inner = a ? last[0] : last[1],
                               .right_inner = b ? last[3] : last[2],
                               .right_columns = b ? last[2] : last[3]};
    const bool scatters = program_.primitive(c.node) == "ReduceScatter";
    if (scatters) layout.rows_wanted = layout.left_rows * layout.left_inner;
    const auto expected = cost::expected_collective(layout);
    const std::string cut =
        std::string(program_.primitive(n)) + " " + strategy_text(n) + (b ? " with transpose_b" : "");
    if (!expected) return false;
    const auto wanted = scatters ? cost::collective::reduce_scatter : cost::collective::all_reduce;
    const bool is_kind = scatters || program_.primitive(c.node) == "AllReduce";
    if (is_kind && expected->kind == wanted && (c.rank_count == 0 || expected->ranks == c.rank_count)) {
      c.reason = collective_reason::partial_sums;
      c.why = "partial sums of " + cut + ": cut " + std::to_string(expected->ranks) + " times along what it sums over";
      return true;
    }
    c.why = cut + " does not need it: ";
    c.why += expected->kind == cost::collective::none ? "each rank has its whole part"
                                                      : "it needs one of " + std::to_string(expected->ranks) + " ranks";
    return false;
  }

  // Partial sums of ReduceSum and its like, over axes that were cut.
  [[nodiscard]] bool judge_reduction(ir_collective& c) const {
    const std::uint32_t n = c.producer;
    if (n == no_id) return false;
    const std::string_view primitive = program_.primitive(n);
    const bool reduces = primitive.starts_with("Reduce") || primitive == "SumExt" || primitive == "MeanExt";
    const auto strategy = parse_strategy(strategy_text(n));
    if (!reduces || !strategy || strategy->empty() || program_.primitive(c.node) != "AllReduce") return false;
    std::int64_t cuts = 1;
    const auto operands = program_.operands(n);
    const bool has_axes = operands.size() > 1 && operands[1].what == ir_operand::kind::constant;
    const auto axes = has_axes ? axes_in(program_.text(operands[1].value)) : std::vector<std::int64_t>{};
    const auto dimensions = static_cast<std::int64_t>((*strategy)[0].size());
    for (std::int64_t d = 0; d < dimensions; ++d)
      for (const std::int64_t axis : axes)
        if (axis == d || axis + dimensions == d) cuts *= (*strategy)[0][static_cast<std::size_t>(d)];
    if (cuts < 2 || (c.rank_count != 0 && cuts != c.rank_count)) return false;
    c.reason = collective_reason::partial_sums;
    c.why = "partial results of " + std::string(primitive) + " " + strategy_text(n) + " over an axis that is cut";
    return true;
  }
  // "(I64(0), I64(-1))".
  [[nodiscard]] static std::vector<std::int64_t> axes_in(std::string_view text) {
    std::vector<std::int64_t> out;
    constexpr std::string_view type = "I64(";
    for (std::size_t at = text.find(type); at != std::string_view::npos; at = text.find(type, at + 1)) {
      std::int64_t axis = 0;
      const char* const from = text.data() + at + type.size();
      if (std::from_chars(from, text.data() + text.size(), axis).ec == std::errc{}) out.push_back(axis);
    }
    return out;
  }

  // A collective of the backward pass has the reason of the forward one that it belongs to.
  void judge_backward(ir_collective& c) const {
    if (!c.is_backward || c.reason == collective_reason::gradient_mirror || c.reason == collective_reason::stage_border)
      return;
    const auto forward = forward_by_id_.find(text_of(c.node, "forward_unique_id"));
    if (forward == forward_by_id_.end()) return;
    const ir_collective& found = found_[forward->second];
    c.reason = found.reason;
    c.why = "backward of line " + std::to_string(program_.node(found.node).line) + ": " + found.why;
  }

  const ir_program& program_;
  std::vector<std::vector<std::uint32_t>> users_;
  std::vector<ir_collective> found_;
  std::map<std::string, std::size_t> forward_by_id_;
};

}  // namespace detail

/// The collectives of a dump, in its order, each with the reason why it is there. What the parallel passes named
/// (mirrors, redistributions) is believed; partial sums are checked by cost::expected_collective against the strategy
/// of the product before.
/// Complexity: O(nodes + collectives log collectives).
///
///     for (const auto& c : list_collectives(*parse_ir(text))) to_string(c.reason);
[[nodiscard]] inline std::vector<ir_collective> list_collectives(const ir_program& program) {
  return detail::collective_reader(program)();
}

}  // namespace hocket::inline HOCKET_ABI::mindspore
