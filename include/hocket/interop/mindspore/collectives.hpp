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
  /// Optimizer parallelism (ZeRO): each rank holds a part of a weight, so the forward pass gathers the weight, and the
  /// backward pass leaves each rank its part of the gradient: expected.
  optimizer_shards,
  /// Sequence parallelism: rows that the ranks hold apart are gathered for a product whose columns the same ranks cut:
  /// expected.
  sequence_shards,
  redistribution,  ///< the layout that one op gives is not the one that the next op wants
  stage_border,    ///< Send, Receive: between pipeline stages: expected
  not_explained
};
inline constexpr std::size_t collective_reason_count = 7;
[[nodiscard]] constexpr std::string_view to_string(collective_reason r) noexcept {
  constexpr std::string_view names[collective_reason_count] = {"partial_sums",    "gradient_mirror", "optimizer_shards",
                                                               "sequence_shards", "redistribution",  "stage_border",
                                                               "not_explained"};
  return names[static_cast<std::size_t>(r)];
}

/// One collective of a dump.
struct ir_collective {
  std::uint32_t node = 0;
  std::string group;                ///< as the dump calls it
  std::vector<std::int64_t> ranks;  ///< empty if the dump does not list them, and of Send and Receive
  std::int64_t rank_count = 0;      ///< 0: not told
  std::int64_t peer = -1;           ///< of Send and Receive: the other rank; -1: not told
  std::int64_t bytes = 0;           ///< of the tensor that this rank gives, for Receive that it gets
  bool bytes_known = false;         ///< false: the dump does not tell the type, or not each length of it
  std::uint32_t producer = no_id;   ///< node: the op that makes the tensor
  /// The next op before it that has a strategy, and the next behind it that wants another layout than that one gives;
  /// if none does, the next that has a strategy.
  std::uint32_t layout_before = no_id, layout_behind = no_id;
  std::size_t operand_behind = 0;  ///< of layout_behind: the operand that the tensor becomes
  collective_reason reason = collective_reason::not_explained;
  /// Of an AllReduce: the slice that alone reads its result. A ReduceScatter would do, with half the bytes on each
  /// link.
  std::uint32_t only_slice = no_id;
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
    if (receives || program_.primitive(n) == "Send") find_peer(c, receives ? "src_rank" : "dest_rank");
    const auto types = program_.input_types(n);
    const auto told = receives || types.empty() ? program_.output_types(n) : types.first(1);
    c.bytes_known = !told.empty();
    for (const std::uint32_t t : told) {
      c.bytes += program_.type(t).bytes;
      c.bytes_known = c.bytes_known && is_size_known(program_.type(t));
    }
    if (!program_.operands(n).empty()) c.producer = made_by(program_.operands(n)[0]);
    c.layout_before = layout_before(n);
    find_layout_behind(c);
    if (program_.primitive(n) == "AllReduce") c.only_slice = only_slice(n);
    c.is_backward = program_.node(n).phase == ir_phase::backward;
    judge(c);
    found_.push_back(std::move(c));
  }

  // Two ranks out of the group: the other one is named by its place in the group.
  void find_peer(ir_collective& c, std::string_view key) const {
    const auto place = numbers_in(after_bracket(program_.attribute(c.node, key).value_or("")));
    if (!place.empty()) {
      const auto at = static_cast<std::size_t>(place.front());
      c.peer = at < c.ranks.size() ? c.ranks[at] : place.front();
    }
    c.ranks.clear();
    c.rank_count = 2;
  }
  // "4)" of "I64(4)".
  [[nodiscard]] static std::string_view after_bracket(std::string_view constant) noexcept {
    return constant.substr(constant.find('(') + 1);
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

  // A node that is reached by an operand, or over its result.
  struct step {
    std::uint32_t node;
    std::size_t operand;
  };
  static constexpr std::size_t farthest = 64;  // nodes: a redistribution is a handful

  // The nearest node with a strategy before a collective, over what redistribution puts in; no_id if none is near.
  [[nodiscard]] std::uint32_t layout_before(std::uint32_t from) const {
    std::vector<std::uint32_t> open{from};
    for (std::size_t i = 0; i < open.size() && i < farthest; ++i) {
      const std::uint32_t n = open[i];
      if (n != from && program_.attribute(n, "in_strategy")) return n;
      for (const ir_operand& o : program_.operands(n))
        if (o.what == ir_operand::kind::node) open.push_back(o.value);
    }
    return no_id;
  }
  // The same behind it. An op whose operand is cut as `given` cuts it is no reason for a collective: MindSpore moves a
  // Cast behind the gather that stood behind it, and the op that wants another layout is farther on.
  void find_layout_behind(ir_collective& c) const {
    const auto given = c.layout_before == no_id ? std::nullopt : layout_given(c.layout_before);
    std::vector<step> open{{c.node, 0}};
    for (std::size_t i = 0; i < open.size() && i < farthest; ++i) {
      const auto [n, operand] = open[i];
      if (i > 0 && program_.attribute(n, "in_strategy")) {
        const auto wanted = layout_wanted(n, operand);
        if (c.layout_behind == no_id) {
          c.layout_behind = n;
          c.operand_behind = operand;
        }
        if (!given || !wanted || *wanted != *given) {
          c.layout_behind = n;
          c.operand_behind = operand;
          return;
        }
        if (!keeps_layout(program_.primitive(n))) continue;
      }
      for (const std::uint32_t user : users_[n]) open.push_back({user, operand_of(user, n)});
    }
  }
  [[nodiscard]] std::size_t operand_of(std::uint32_t user, std::uint32_t n) const {
    const auto operands = program_.operands(user);
    std::size_t at = 0;
    while (at < operands.size() && (operands[at].what != ir_operand::kind::node || operands[at].value != n)) ++at;
    return at;
  }

  using cuts = std::vector<std::int64_t>;  // of one tensor, by dimension

  [[nodiscard]] std::optional<cuts> layout_wanted(std::uint32_t n, std::size_t operand) const {
    const auto strategy = parse_strategy(strategy_text(n));
    if (!strategy || operand >= strategy->size()) return std::nullopt;
    return (*strategy)[operand];
  }
  // How the result of an op is cut: of products, of ops with one tensor, and of those that go element by element.
  [[nodiscard]] std::optional<cuts> layout_given(std::uint32_t n) const {
    const auto strategy = parse_strategy(strategy_text(n));
    if (!strategy || strategy->empty()) return std::nullopt;
    if (const auto product = product_cuts(n, *strategy)) {
      cuts out((*strategy)[0].begin(), (*strategy)[0].end() - 2);
      out.push_back(product->left_rows);
      out.push_back(product->right_columns);
      return out;
    }
    return keeps_layout(program_.primitive(n)) ? std::optional(widest(*strategy)) : std::nullopt;
  }
  // Whether a result is cut as the operands are.
  [[nodiscard]] static bool keeps_layout(std::string_view primitive) noexcept {
    for (const std::string_view p :
         {"Cast", "Add", "Mul",    "Sub",  "Div",   "RealDiv", "FloorDiv", "SiLU", "ReLU",    "GeLU",
          "Gelu", "Neg", "Square", "Sqrt", "Rsqrt", "Exp",     "Sigmoid",  "Tanh", "Softmax", "Dropout"})
      if (primitive == p) return true;
    return false;
  }
  // Operands with fewer dimensions are repeated along the first ones.
  [[nodiscard]] static cuts widest(const ir_strategy& strategy) {
    cuts out;
    for (const cuts& operand : strategy) {
      if (operand.size() > out.size()) out.insert(out.begin(), operand.size() - out.size(), 1);
      const std::size_t first = out.size() - operand.size();
      for (std::size_t d = 0; d < operand.size(); ++d) out[first + d] = (std::max)(out[first + d], operand[d]);
    }
    return out;
  }
  [[nodiscard]] static std::string text_of_cuts(const cuts& all) {
    std::string out = "(";
    for (std::size_t d = 0; d < all.size(); ++d) out += (d == 0 ? "" : ", ") + std::to_string(all[d]);
    return out + ")";
  }

  void judge(ir_collective& c) const {
    const std::string_view instance = program_.instance(c.node);
    const std::string_view primitive = program_.primitive(c.node);
    if (primitive == "Send" || primitive == "Receive") {
      c.reason = collective_reason::stage_border;
      c.why = "between pipeline stages";
    } else if (instance.find("parallel_optimizer") != std::string_view::npos) {
      c.reason = collective_reason::optimizer_shards;
      c.why = (c.is_backward ? "gradient of " : "gathers ") + weight_text(c.node) + ", of which each rank holds a part";
    } else if (instance.find("mirror") != std::string_view::npos) {
      c.reason = collective_reason::gradient_mirror;
      c.why = "gradient of " + weight_text(c.node) + ", which these ranks all hold";
    } else if (instance.find("redistribution_op") != std::string_view::npos) {
      c.reason = gathers_sequence(c) ? collective_reason::sequence_shards : collective_reason::redistribution;
      c.why = misfit_text(c);
      if (c.reason == collective_reason::sequence_shards)
        c.why = "rows of a column-parallel product: " + c.why.substr(c.why.find(": ") + 2);
    } else if (!judge_product(c) && !judge_reduction(c) && c.why.empty()) {
      c.why = "nothing before it was cut along what it sums over";
    }
  }
  [[nodiscard]] std::string weight_text(std::uint32_t n) const {
    const std::string weight = text_of(n, "mirror_user_id");
    return weight.empty() ? "a weight" : weight;
  }
  // How the ranks cut the op's operands, as the dump writes it; empty if it does not.
  [[nodiscard]] std::string strategy_text(std::uint32_t n) const {
    return std::string(program_.attribute(n, "in_strategy").value_or(""));
  }
  [[nodiscard]] std::string layout_text(std::uint32_t n) const {
    if (n == no_id) return "what has no strategy";
    return std::string(program_.primitive(n)) + " " + strategy_text(n);
  }

  // Whether an AllGather puts the rows together that sequence parallelism spread over the ranks which cut the columns
  // of the product that reads them. No other strategy spares it: each rank needs all rows for its columns.
  [[nodiscard]] bool gathers_sequence(const ir_collective& c) const {
    if (program_.primitive(c.node) != "AllGather" || c.layout_before == no_id || c.layout_behind == no_id) return false;
    const auto given = layout_given(c.layout_before);
    const auto strategy = parse_strategy(strategy_text(c.layout_behind));
    const auto product = strategy ? product_cuts(c.layout_behind, *strategy) : std::nullopt;
    if (!given || given->empty() || given->back() != 1 || !product || c.operand_behind != 0) return false;
    std::int64_t rows = 1;
    for (const std::int64_t cut : *given) rows *= cut;
    return c.rank_count > 1 && product->left_inner == 1 && product->right_columns == c.rank_count &&
           rows == product->left_rows * c.rank_count;
  }

  // The slice that alone reads what a node makes, over what only gives it another shape or type; no_id: others read it.
  [[nodiscard]] std::uint32_t only_slice(std::uint32_t n) const {
    for (std::size_t steps = 0; steps < farthest; ++steps) {
      if (users_[n].size() != 1) return no_id;
      n = users_[n].front();
      const std::string_view primitive = program_.primitive(n);
      if (primitive == "StridedSlice" || primitive == "Slice" || primitive == "SliceExt") return n;
      if (!is_view(primitive) && primitive != "Cast") return no_id;
    }
    return no_id;
  }

  [[nodiscard]] std::string misfit_text(const ir_collective& c) const {
    const auto given = c.layout_before == no_id ? std::nullopt : layout_given(c.layout_before);
    const auto wanted = c.layout_behind == no_id ? std::nullopt : layout_wanted(c.layout_behind, c.operand_behind);
    return "layouts do not fit: " + layout_text(c.layout_before) + " gives" +
           (given ? " " + text_of_cuts(*given) : "") + ", " + layout_text(c.layout_behind) + " wants" +
           (wanted ? " " + text_of_cuts(*wanted) : "");
  }

  [[nodiscard]] bool is_transposed(std::uint32_t n, std::size_t operand, std::string_view key,
                                   std::string_view other_key) const {
    for (const std::string_view k : {key, other_key})
      if (program_.has_flag(n, k)) return true;
    const auto operands = program_.operands(n);
    return operand < operands.size() && operands[operand].what == ir_operand::kind::constant &&
           is_true(program_.text(operands[operand].value));
  }

  // How the factors of a matrix product are cut; nothing for another op, and for a strategy of other dimensions.
  [[nodiscard]] std::optional<cost::matmul_layout> product_cuts(std::uint32_t n, const ir_strategy& strategy) const {
    if (program_.primitive(n) != "MatMul" && program_.primitive(n) != "BatchMatMul") return std::nullopt;
    if (strategy.size() < 2 || strategy[0].size() < 2 || strategy[1].size() < 2) return std::nullopt;
    const auto& left = strategy[0];
    const auto& right = strategy[1];
    const std::int64_t last[] = {left[left.size() - 2], left.back(), right[right.size() - 2], right.back()};
    const bool a = is_transposed(n, 2, "transpose_a", "transpose_x1"), b = is_transposed_right(n);
    return cost::matmul_layout{.left_rows = a ? last[1] : last[0],
                               .left_inner = a ? last[0] : last[1],
                               .right_inner = b ? last[3] : last[2],
                               .right_columns = b ? last[2] : last[3]};
  }
  [[nodiscard]] bool is_transposed_right(std::uint32_t n) const {
    return is_transposed(n, 3, "transpose_b", "transpose_x2");
  }

  // Partial sums of a matrix product, by its strategy. True if that settles it.
  [[nodiscard]] bool judge_product(ir_collective& c) const {
    const std::uint32_t n = c.producer;
    const auto strategy = n == no_id ? std::nullopt : parse_strategy(strategy_text(n));
    const auto factors = strategy ? product_cuts(n, *strategy) : std::nullopt;
    if (!factors) return false;
    cost::matmul_layout layout = *factors;
    const bool scatters = program_.primitive(c.node) == "ReduceScatter";
    if (scatters) layout.rows_wanted = layout.left_rows * layout.left_inner;
    const auto expected = cost::expected_collective(layout);
    const std::string cut = std::string(program_.primitive(n)) + " " + strategy_text(n) +
                            (is_transposed_right(n) ? " with transpose_b" : "");
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
    std::int64_t parts = 1;
    const auto operands = program_.operands(n);
    const bool has_axes = operands.size() > 1 && operands[1].what == ir_operand::kind::constant;
    const auto axes = has_axes ? axes_in(program_.text(operands[1].value)) : std::vector<std::int64_t>{};
    const auto dimensions = static_cast<std::int64_t>((*strategy)[0].size());
    for (std::int64_t d = 0; d < dimensions; ++d)
      for (const std::int64_t axis : axes)
        if (axis == d || axis + dimensions == d) parts *= (*strategy)[0][static_cast<std::size_t>(d)];
    if (parts < 2 || (c.rank_count != 0 && parts != c.rank_count)) return false;
    c.reason = collective_reason::partial_sums;
    c.why = "partial results of " + std::string(primitive) + " " + strategy_text(n) + " over an axis that is cut";
    return true;
  }
  // "(I64(0), I64(-1))", up to version 2.0 "(0, -1)".
  [[nodiscard]] static std::vector<std::int64_t> axes_in(std::string_view text) {
    constexpr std::string_view type = "I64(";
    std::vector<std::int64_t> out;
    while (!text.empty()) {
      const std::size_t at = text.starts_with(type) ? type.size() : 0;
      std::int64_t axis = 0;
      const auto [end, why] = std::from_chars(text.data() + at, text.data() + text.size(), axis);
      if (why == std::errc{}) out.push_back(axis);
      text.remove_prefix(why == std::errc{} ? static_cast<std::size_t>(end - text.data()) : 1);
    }
    return out;
  }

  // A collective of the backward pass has the reason of the forward one that it belongs to.
  void judge_backward(ir_collective& c) const {
    const bool is_named = c.reason == collective_reason::gradient_mirror ||
                          c.reason == collective_reason::optimizer_shards ||
                          c.reason == collective_reason::stage_border;
    if (!c.is_backward || is_named) return;
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
/// (mirrors, gathered shards, redistributions) is believed; partial sums are checked by cost::expected_collective
/// against the strategy of the product before. Complexity: O(nodes + collectives log collectives).
///
///     for (const auto& c : list_collectives(*parse_ir(text))) to_string(c.reason);
[[nodiscard]] inline std::vector<ir_collective> list_collectives(const ir_program& program) {
  return detail::collective_reader(program)();
}

}  // namespace hocket::inline HOCKET_ABI::mindspore
