// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/result.hpp>
#include <hocket/planner/split/layout.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// Pipeline layouts as lists of words by stage, which Megatron-LM takes from Python and Megatron-Bridge's recipes hold.
namespace hocket::inline HOCKET_ABI::interop {

namespace detail {

inline constexpr std::int64_t max_layout_stages = 1 << 16, max_layout_layers = 1 << 20;

/// The layout that letters say: E embedding, t layer, m prediction module, L loss, | the end of a stage. Errors:
/// errc::invalid_argument naming what stands in the wrong order; errc::layout_lacks; errc::limit_exceeded.
[[nodiscard]] inline result<planner::model_layout> layout_of_letters(std::string_view letters) {
  constexpr std::string_view order = "EtmL";
  planner::model_layout out;
  out.stages.emplace_back();
  std::size_t reached = 0;
  std::int64_t ends[2] = {0, 0};
  for (const char c : letters) {
    if (c == '|') {
      if (static_cast<std::int64_t>(out.stages.size()) == max_layout_stages)
        return error{errc::limit_exceeded, max_layout_stages + 1, max_layout_stages}.with("stages");
      out.stages.emplace_back();
      continue;
    }
    const std::size_t which = order.find(c);
    const auto stage = static_cast<std::int64_t>(out.stages.size() - 1);
    if (which < reached || (which == reached && (c == 'L' || c == 'E') && ends[c == 'L' ? 1 : 0] > 0))
      return error{errc::invalid_argument, stage}.with(std::string(1, c) + " in the wrong place, stage");
    reached = which;
    planner::layout_stage& to = out.stages.back();
    if (c == 't') ++to.layers;
    if (c == 'm') ++to.predictions;
    if (c == 'E') to.embedding = ++ends[0] > 0;
    if (c == 'L') to.loss = ++ends[1] > 0;
  }
  if (ends[0] == 0) return error{errc::layout_lacks}.with("E, the embedding: it begins stage 0");
  if (ends[1] == 0) return error{errc::layout_lacks}.with("L, the loss: it ends the last stage");
  const std::int64_t most = (std::max)(out.layer_count(), out.prediction_count());
  if (most > max_layout_layers)
    return error{errc::limit_exceeded, most, max_layout_layers}.with("layers or prediction modules");
  return out;
}

/// A word of such lists and its letter.
struct layout_word {
  std::string_view word;  ///< literal
  char letter;
};
inline constexpr layout_word layout_words[] = {{"embedding", 'E'}, {"decoder", 't'}, {"mtp", 'm'}, {"loss", 'L'}};

/// Lists of words, or of such lists, with Python's + and *: [["embedding"] + ["decoder"] * 2] + [["decoder"] * 3] * 7.
class layout_expression {
 public:
  explicit layout_expression(std::string_view text) : text_(text) {}
  /// The letters of all stages, | between them.
  [[nodiscard]] result<std::string> operator()() {
    value out;
    if (const auto ok = sum(out, 0); !ok) return ok.error();
    if (skip(); at_ < text_.size()) return refuse("after the list").error();
    if (!out.nested) return refuse("words, not stages").error();
    std::string letters;
    for (const std::string& stage : out.stages) letters += (&stage == &out.stages.front() ? "" : "|") + stage;
    return letters;
  }

 private:
  /// A list: of words, or of stages. One without a word may be either.
  struct value {
    bool nested = false;
    std::string words;  ///< their letters
    std::vector<std::string> stages;
    [[nodiscard]] bool is_empty() const { return words.empty() && stages.empty(); }
    [[nodiscard]] std::int64_t size() const {
      std::int64_t all = static_cast<std::int64_t>(words.size());
      for (const std::string& stage : stages) all += static_cast<std::int64_t>(stage.size()) + 1;
      return all;
    }
  };
  void skip() {
    constexpr std::string_view blanks = " \t\r\n";
    while (at_ < text_.size() && blanks.find(text_[at_]) != std::string_view::npos) ++at_;
  }
  [[nodiscard]] bool next(char c) {
    skip();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  [[nodiscard]] result<void> refuse(const char* what) const {
    return error{errc::invalid_argument, static_cast<std::int64_t>(at_)}.with(std::string(what) + ", character");
  }
  result<void> sum(value& out, int depth) {
    do {
      value part;
      if (const auto ok = product(part, depth); !ok) return ok;
      if (const auto ok = append(part, out); !ok) return ok;
    } while (next('+'));
    return {};
  }
  result<void> append(const value& part, value& out) {
    if (!part.is_empty() && !out.is_empty() && part.nested != out.nested) return refuse("a word beside a list");
    if (out.is_empty()) out.nested = part.nested;
    if (part.size() + out.size() > 2 * max_layout_layers)
      return error{errc::limit_exceeded, part.size() + out.size(), 2 * max_layout_layers}.with("words of a layout");
    out.words += part.words;
    out.stages.insert(out.stages.end(), part.stages.begin(), part.stages.end());
    return {};
  }
  result<void> product(value& out, int depth) {
    value one;
    if (next('(')) {
      if (depth > max_depth) return refuse("too many brackets");
      if (const auto ok = sum(one, depth + 1); !ok) return ok;
      if (!next(')')) return refuse("no )");
    } else if (const auto ok = list(one, depth); !ok) {
      return ok;
    }
    std::int64_t times = 1;
    if (next('*')) {
      skip();
      const std::size_t first = at_;
      times = 0;
      for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9' && times <= max_layout_layers; ++at_)
        times = times * 10 + (text_[at_] - '0');
      if (at_ == first) return refuse("* without a number");
    }
    if (times > max_layout_layers || times * (std::max)(one.size(), std::int64_t{1}) > 2 * max_layout_layers)
      return error{errc::limit_exceeded, times, max_layout_layers}.with("times a list");
    for (std::int64_t n = 0; n < times; ++n)
      if (const auto ok = append(one, out); !ok) return ok;
    return {};
  }
  result<void> list(value& out, int depth) {
    if (!next('[')) return refuse("no list");
    if (depth > max_depth) return refuse("too many brackets");
    while (!next(']')) {
      skip();
      value item;
      const bool word = at_ < text_.size() && (text_[at_] == '"' || text_[at_] == '\'');
      const auto ok = word ? quoted(item) : stage(item, depth);
      if (!ok) return ok;
      if (const auto added = append(item, out); !added) return added;
      if (next(',')) continue;
      if (!next(']')) return refuse("no ] or ,");
      return {};
    }
    return {};
  }
  /// A list in a list: one stage.
  result<void> stage(value& out, int depth) {
    value inner;
    if (const auto ok = sum(inner, depth + 1); !ok) return ok;
    if (inner.nested) return refuse("a list in a list of lists");
    out.nested = true;
    out.stages.push_back(inner.words);
    return {};
  }
  result<void> quoted(value& out) {
    const std::size_t close = text_.find(text_[at_], at_ + 1);
    if (close == std::string_view::npos) return refuse("a quote without end");
    const std::string word = text_.substr(at_ + 1, close - at_ - 1);
    for (const layout_word& each : layout_words)
      if (each.word == word) out.words = each.letter;
    if (out.words.empty()) return refuse("unknown word of a layout");
    at_ = close + 1;
    return {};
  }
  static constexpr int max_depth = 6;

  std::string text_;
  std::size_t at_ = 0;
};

}  // namespace detail

/// Whether a list is meant as one of words by stage. O(characters).
[[nodiscard]] inline bool is_bridge_layout(std::string_view text) noexcept {
  return std::any_of(std::begin(detail::layout_words), std::end(detail::layout_words), [&](const auto& each) {
    for (std::size_t at = text.find(each.word); at != std::string_view::npos; at = text.find(each.word, at + 1)) {
      const std::size_t end = at + each.word.size();
      const bool closed = at > 0 && end < text.size() && text[at - 1] == text[end];
      if (closed && (text[end] == '"' || text[end] == '\'')) return true;
    }
    return false;
  });
}
/// Reads pipeline_model_parallel_layout as Megatron-Bridge's recipes write it: a list for each stage, in model order,
/// of the words "embedding", "decoder", "mtp", "loss"; Python's + and * between lists are taken. Errors: those of
/// layout_of_letters; errc::invalid_argument naming what stands there and its place. O(stages + layers).
/// Source: Megatron-LM, pipeline_parallel_layer_layout.py.
///
///     read_bridge_layout(R"([["embedding"] + ["decoder"] * 2, ["decoder", "loss"]])")->layer_count() == 3
[[nodiscard]] inline result<planner::model_layout> read_bridge_layout(std::string_view text) {
  const auto letters = detail::layout_expression(text)();
  if (!letters) return letters.error();
  return detail::layout_of_letters(*letters);
}
/// The list that read_bridge_layout reads, each word written out. O(stages + layers).
[[nodiscard]] inline std::vector<std::vector<std::string>> write_bridge_layout(const planner::model_layout& x) {
  std::vector<std::vector<std::string>> out;
  for (const planner::layout_stage& s : x.stages) {
    std::vector<std::string>& words = out.emplace_back();
    if (s.embedding) words.emplace_back("embedding");
    words.insert(words.end(), static_cast<std::size_t>(s.layers), "decoder");
    words.insert(words.end(), static_cast<std::size_t>(s.predictions), "mtp");
    if (s.loss) words.emplace_back("loss");
  }
  return out;
}

}  // namespace hocket::inline HOCKET_ABI::interop
