// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/result.hpp>
#include <hocket/interop/bridge_layout.hpp>
#include <hocket/planner/split/layout.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

// Pipeline layouts as frameworks write them: Megatron-LM's strings and lists, MindFormers' offsets, torchtitan's lists
// of modules.
namespace hocket::inline HOCKET_ABI::interop {

namespace detail {

/// Writes out what `*n` repeats: x*n for one character, (…)*n for several, which may hold x*n again.
class layout_unroller {
 public:
  explicit layout_unroller(std::string_view text) {
    for (const char c : text)
      if (c != ',') text_ += c;  // commas are for people, also between digits
  }
  [[nodiscard]] result<std::string> operator()() {
    std::string out;
    while (at_ < text_.size()) {
      std::string unit;
      if (text_[at_] == '(') {
        ++at_;
        while (at_ < text_.size() && text_[at_] != ')')
          if (const auto ok = one(unit); !ok) return ok.error();
        if (at_ == text_.size() || unit.empty()) return error{errc::invalid_argument, number()}.with("( at character");
        ++at_;
        if (at_ == text_.size() || text_[at_] != '*')
          return error{errc::invalid_argument, number()}.with(") without * at character");
        if (const auto ok = repeated(unit, out); !ok) return ok.error();
      } else if (const auto ok = one(out); !ok) {
        return ok.error();
      }
    }
    return out;
  }

 private:
  [[nodiscard]] std::int64_t number() const noexcept { return static_cast<std::int64_t>(at_); }
  /// A character with what follows it.
  result<void> one(std::string& out) {
    const char c = text_[at_];
    constexpr std::string_view known = "EtmL|";
    if (known.find(c) == std::string_view::npos)
      return error{errc::invalid_argument, number()}.with(std::string(1, c) + " at character");
    ++at_;
    const std::string unit(1, c);
    if (at_ < text_.size() && text_[at_] == '*') return repeated(unit, out);
    return append(unit, 1, out);
  }
  result<void> repeated(const std::string& unit, std::string& out) {
    ++at_;
    std::int64_t times = 0;
    const std::size_t first = at_;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9' && times <= max_layout_layers; ++at_)
      times = times * 10 + (text_[at_] - '0');
    if (at_ == first) return error{errc::invalid_argument, number()}.with("* without a number at character");
    return append(unit, times, out);
  }
  static result<void> append(const std::string& unit, std::int64_t times, std::string& out) {
    const std::int64_t length = static_cast<std::int64_t>(out.size()) + times * static_cast<std::int64_t>(unit.size());
    if (times > max_layout_layers || length > 2 * max_layout_layers)
      return error{errc::limit_exceeded, length, 2 * max_layout_layers}.with("characters of a layout");
    for (std::int64_t n = 0; n < times; ++n) out += unit;
    return {};
  }

  std::string text_;
  std::size_t at_ = 0;
};

inline void append_repeated(std::string& out, char what, std::int64_t times) {
  if (times <= 2) out.append(static_cast<std::size_t>(times), what);
  else out += std::string(1, what) + "*" + std::to_string(times);
}

}  // namespace detail

/// Reads Megatron-LM's --pipeline-model-parallel-layout: E embedding, t layer, m prediction module, L loss, | the end
/// of a stage; x*n and (…)*n repeat, commas mean nothing. Errors: errc::invalid_argument naming the character and its
/// place without commas, or what stands in the wrong order; errc::layout_lacks; errc::limit_exceeded. What depends on
/// the model is for planner::check. Complexity: O(stages + layers). Source: Megatron-LM
/// pipeline_parallel_layer_layout.py.
///
///     read_megatron_layout("Et*3|(tt|)*29,m|L")->stages.size() == 32
[[nodiscard]] inline result<planner::model_layout> read_megatron_layout(std::string_view text) {
  const auto letters = detail::layout_unroller(text)();
  if (!letters) return letters.error();
  return detail::layout_of_letters(*letters);
}

/// The string that read_megatron_layout reads, short: equal stages in a row as (…)*n.
[[nodiscard]] inline std::string write_megatron_layout(const planner::model_layout& x) {
  std::vector<std::string> stages;
  for (const planner::layout_stage& s : x.stages) {
    std::string one = s.embedding ? "E" : "";
    detail::append_repeated(one, 't', s.layers);
    detail::append_repeated(one, 'm', s.predictions);
    if (s.loss) one += 'L';
    stages.push_back(one);
  }
  std::string out;
  for (std::size_t at = 0; at < stages.size();) {
    std::size_t same = at;
    while (same < stages.size() && stages[same] == stages[at]) ++same;
    const bool last = same == stages.size();
    const std::size_t ended = same - at - (last ? 1 : 0);  // the last stage has no | behind it
    if (ended > 1) out += "(" + stages[at] + "|)*" + std::to_string(ended) + (last && stages[at].empty() ? "" : ",");
    else if (ended == 1) out += stages[at] + "|";
    if (last) out += stages[at];
    at = same;
  }
  return out;
}

/// MindFormers' "offset": by how many layers each stage has more than layers / stages, rounded down; in model order, so
/// with several chunks the list of each chunk is one after the other. The embedding stands on the first stage, the head
/// on the last.  Errors: errc::out_of_range for a stage of less than no layers, errc::offset_sum if the offsets do
/// not add up to the rest.  Source: MindFormers parallel configuration, pp_interleave_num and offset.
[[nodiscard]] inline result<planner::model_layout> read_offsets(std::span<const std::int64_t> offsets,
                                                                std::int64_t layers) {
  const auto stages = static_cast<std::int64_t>(offsets.size());
  if (stages < 1 || stages > detail::max_layout_stages)
    return error{errc::out_of_range, stages, 1, detail::max_layout_stages}.with("stages of offset");
  if (layers < 0 || layers > detail::max_layout_layers)
    return error{errc::out_of_range, layers, 0, detail::max_layout_layers}.with("layers");
  planner::model_layout out;
  std::int64_t sum = 0;
  for (const std::int64_t more : offsets) {
    if (more < -(layers / stages) || more > layers)
      return error{errc::out_of_range, more, -(layers / stages), layers}.with("offset of a stage");
    sum += more;
    out.stages.push_back({.layers = layers / stages + more});
  }
  if (sum != layers % stages) return error{errc::offset_sum, sum, layers % stages, layers, stages};
  out.stages.front().embedding = true;
  out.stages.back().loss = true;
  return out;
}
/// Errors: errc::invalid_argument for prediction modules, which offsets do not place. O(stages).
[[nodiscard]] inline result<std::vector<std::int64_t>> write_offsets(const planner::model_layout& x) {
  if (x.prediction_count() > 0 || x.stages.empty())
    return error{errc::invalid_argument, x.prediction_count()}.with("prediction modules in offset");
  const std::int64_t even = x.layer_count() / static_cast<std::int64_t>(x.stages.size());
  std::vector<std::int64_t> out;
  for (const planner::layout_stage& s : x.stages) out.push_back(s.layers - even);
  return out;
}

/// torchtitan's module_fqns_per_model_part: the names of the modules of each stage.
/// Errors: errc::invalid_argument for prediction modules, which it has no name for.
///
///     (*write_modules(layout))[0] == std::vector<std::string>{"tok_embeddings", "layers.0", "layers.1"}
[[nodiscard]] inline result<std::vector<std::vector<std::string>>> write_modules(const planner::model_layout& x) {
  if (x.prediction_count() > 0)
    return error{errc::invalid_argument, x.prediction_count()}.with("prediction modules in module lists");
  std::vector<std::vector<std::string>> out;
  std::int64_t layer = 0;
  for (const planner::layout_stage& s : x.stages) {
    std::vector<std::string>& names = out.emplace_back();
    if (s.embedding) names.emplace_back("tok_embeddings");
    for (std::int64_t n = 0; n < s.layers; ++n) names.push_back("layers." + std::to_string(layer++));
    if (!s.loss) continue;
    names.emplace_back("norm");
    names.emplace_back("output");
  }
  return out;
}
/// Errors: errc::invalid_argument naming a module that is none, or that does not come next in the model;
/// errc::layout_lacks.
[[nodiscard]] inline result<planner::model_layout> read_modules(std::span<const std::vector<std::string>> stages) {
  planner::model_layout out;
  std::int64_t next = -1;  // the embedding, layers from 0, then below the ends
  constexpr std::int64_t norm_seen = -2, all_seen = -3;
  for (const std::vector<std::string>& names : stages) {
    planner::layout_stage& to = out.stages.emplace_back();
    for (const std::string& name : names) {
      if (name == "tok_embeddings" && next == -1) {
        to.embedding = true;
        next = 0;
      } else if (next >= 0 && name == "layers." + std::to_string(next)) {
        ++to.layers;
        ++next;
      } else if (name == "norm" && next >= 0) {
        next = norm_seen;
      } else if ((name == "output" || name == "lm_head") && next == norm_seen) {
        to.loss = true;
        next = all_seen;
      } else {
        return error{errc::invalid_argument, static_cast<std::int64_t>(out.stages.size()) - 1}.with(name + ", stage");
      }
    }
  }
  if (next == -1) return error{errc::layout_lacks}.with("tok_embeddings: it begins stage 0");
  if (next >= 0) return error{errc::layout_lacks}.with("norm: it follows the last layer");
  if (next != all_seen) return error{errc::layout_lacks}.with("output (or lm_head): it ends the stages");
  return out;
}

namespace detail {

/// A list of numbers, or of names, or of lists of one of them, as JSON, YAML and TOML write lists on one line or more.
class layout_list {
 public:
  std::vector<std::int64_t> numbers;
  std::vector<std::vector<std::string>> names;  ///< by stage

  /// Errors: errc::invalid_argument, naming what stands there and its place.
  [[nodiscard]] static result<layout_list> read(std::string_view text) {
    layout_list out(text);
    if (const auto ok = out.list(0); !ok) return ok.error();
    out.skip();
    if (out.at_ < text.size()) return out.refuse("behind the list").error();
    if (!out.numbers.empty() && !out.names.empty())
      return error{errc::invalid_argument, static_cast<std::int64_t>(out.names.size())}.with(
          "names of modules beside offsets, stages");
    return out;
  }

 private:
  explicit layout_list(std::string_view text) : text_(text) {}
  void skip() {
    constexpr std::string_view blanks = " \t\r\n";
    while (at_ < text_.size() && blanks.find(text_[at_]) != std::string_view::npos) ++at_;
  }
  [[nodiscard]] result<void> refuse(const char* what) const {
    return error{errc::invalid_argument, static_cast<std::int64_t>(at_)}.with(std::string(what) + ", character");
  }
  [[nodiscard]] bool next(char c) {
    skip();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  result<void> list(int depth) {
    if (!next('[')) return refuse("no list");
    if (depth > 1) return refuse("a list in a list of lists");
    bool named = false;
    if (next(']')) {
      if (depth == 1) names.emplace_back();
      return {};
    }
    do {
      skip();
      if (next(']')) return {};  // a comma may stand behind the last
      const bool is_list = at_ < text_.size() && text_[at_] == '[';
      const auto ok = is_list ? list(depth + 1) : item(depth, named);
      if (!ok) return ok;
    } while (next(','));
    if (!next(']')) return refuse("no ] or ,");
    return {};
  }
  /// A number, or the name of a module in quotes or without.
  result<void> item(int depth, bool& named) {
    skip();
    const std::size_t first = at_;
    std::string word;
    if (at_ < text_.size() && (text_[at_] == '"' || text_[at_] == '\'')) {
      const std::size_t close = text_.find(text_[at_], at_ + 1);
      if (close == std::string_view::npos) return refuse("a quote without end");
      word = text_.substr(at_ + 1, close - at_ - 1);
      at_ = close + 1;
    } else {
      constexpr std::string_view ends = ",] \t\r\n[\"'{}";
      while (at_ < text_.size() && ends.find(text_[at_]) == std::string_view::npos) word += text_[at_++];
      std::int64_t number = 0;
      const auto [end, why] = std::from_chars(word.data(), word.data() + word.size(), number);
      if (!word.empty() && why == std::errc{} && end == word.data() + word.size()) {
        if (static_cast<std::int64_t>(numbers.size()) == max_layout_stages)
          return error{errc::limit_exceeded, max_layout_stages + 1, max_layout_stages}.with("stages");
        numbers.push_back(number);
        return {};
      }
    }
    const auto is_name = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
    };
    const bool name = depth == 1 && !word.empty() && std::all_of(word.begin(), word.end(), is_name) &&
                      !(word[0] >= '0' && word[0] <= '9');
    if (!name) {
      at_ = first;
      return refuse("no number, no module name");
    }
    if (!named) names.emplace_back();
    named = true;
    names.back().push_back(std::move(word));
    return {};
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

/// The list under one of the names that frameworks give it, or alone; nothing if the text is no list.
[[nodiscard]] inline result<std::string_view> text_of_list(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n",
                             names[] = {"offset", "module_fqns_per_model_part", "pipeline_model_parallel_layout"};
  const auto trim = [&] {
    const auto begin = (std::min)(text.find_first_not_of(blanks), text.size());
    text = text.substr(begin, text.find_last_not_of(blanks) + 1 - begin);
  };
  trim();
  const bool object = text.starts_with('{') && text.ends_with('}');
  if (object) {
    text = text.substr(1, text.size() - 2);
    trim();
  }
  for (const std::string_view name : names)
    for (const std::string_view quote : {"", "\"", "'"}) {
      const std::size_t length = name.size() + 2 * quote.size();
      if (text.size() < length || !text.starts_with(quote) || text.substr(quote.size(), name.size()) != name ||
          text.substr(quote.size() + name.size(), quote.size()) != quote)
        continue;
      const std::string_view whole = text;
      text.remove_prefix(length);
      trim();
      if (!text.starts_with(':') && !text.starts_with('=')) {
        text = whole;
        continue;
      }
      text.remove_prefix(1);
      trim();
      return text;
    }
  if (object) return error{errc::layout_lacks}.with("offset or module_fqns_per_model_part");
  return text.starts_with('[') ? text : std::string_view();
}
}  // namespace detail

/// Reads a layout in any of the forms: Megatron-LM's string or list, MindFormers' offsets, torchtitan's lists of
/// modules; the lists alone or under their names, as YAML, JSON or TOML write them.
/// @param layers  of the model: offsets are told beside its even share
/// Errors: those of the forms; errc::invalid_argument naming what is no list and its place; names beside offsets.
///
///     read_layout("offset: [1, 0, 0, -1]", 40)->stages[0].layers == 11
[[nodiscard]] inline result<planner::model_layout> read_layout(std::string_view text, std::int64_t layers) {
  const auto list = detail::text_of_list(text);
  if (!list) return list.error();
  if (list->data() == nullptr) return read_megatron_layout(text);
  if (is_bridge_layout(*list)) return read_bridge_layout(*list);
  const auto read = detail::layout_list::read(*list);
  if (!read) return read.error();
  if (!read->names.empty()) return read_modules(read->names);
  return read_offsets(read->numbers, layers);
}

/// Megatron-LM's --hybrid-override-pattern: a letter per layer (hybrid_letters.hpp), | the end of a stage, and for each
/// prediction module its layers behind a /.
struct hybrid_pattern {
  planner::model_layout layout;
  std::string kinds;       ///< of each layer: M Mamba, G gated delta net, * attention, - FFN, E mixture of experts
  std::string prediction;  ///< of each layer of a module; empty if there is none
  friend bool operator==(const hybrid_pattern&, const hybrid_pattern&) = default;
};
inline constexpr std::string_view hybrid_letters = "MG*-E";
/// Whether a text is meant as such a pattern, right or wrong, and not as --pipeline-model-parallel-layout: that begins
/// with an E, which may stand for experts here, and has a t or an L. O(characters).
[[nodiscard]] constexpr bool is_hybrid_pattern(std::string_view text) noexcept {
  constexpr std::string_view own = "MG*-", both = "E|/", theirs = "tLm(";
  if (text.empty() || text.find_first_of(" \t\r\n") != std::string_view::npos) return false;
  if (own.find(text.front()) != std::string_view::npos) return true;
  return both.find(text.front()) != std::string_view::npos && text.find_first_of(theirs) == std::string_view::npos;
}
/// Errors: errc::invalid_argument naming the character and its place, or the module that is unlike the first;
/// errc::limit_exceeded; errc::layout_lacks if there is no layer. O(characters).
/// Source: Megatron-LM mamba_hybrid_layer_allocation.py.
///
///     read_hybrid_pattern("M-M-|M-M*-/MM/MM")->layout.prediction_count() == 2
[[nodiscard]] inline result<hybrid_pattern> read_hybrid_pattern(std::string_view text) {
  hybrid_pattern out;
  const std::size_t behind = (std::min)(text.find('/'), text.size());
  out.layout.stages.emplace_back().embedding = true;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    const bool letter = hybrid_letters.find(c) != std::string_view::npos;
    if (!letter && c != '/' && (c != '|' || at > behind))
      return error{errc::invalid_argument, static_cast<std::int64_t>(at)}.with(std::string(1, c) + " at character");
    if (at >= behind) continue;
    if (static_cast<std::int64_t>(at) == detail::max_layout_layers)
      return error{errc::limit_exceeded, detail::max_layout_layers + 1, detail::max_layout_layers}.with("layers");
    if (!letter && static_cast<std::int64_t>(out.layout.stages.size()) == detail::max_layout_stages)
      return error{errc::limit_exceeded, detail::max_layout_stages + 1, detail::max_layout_stages}.with("stages");
    if (!letter) {
      out.layout.stages.emplace_back();
      continue;
    }
    ++out.layout.stages.back().layers;
    out.kinds += c;
  }
  if (out.kinds.empty()) return error{errc::layout_lacks}.with("layer: M, G, *, - or E");
  planner::layout_stage& last = out.layout.stages.back();
  last.loss = true;
  for (std::string_view rest = text.substr(behind); !rest.empty();) {
    rest.remove_prefix(1);
    const std::string_view one = rest.substr(0, rest.find('/'));
    if (last.predictions == 0) out.prediction = one;
    if (one.empty() || one != out.prediction)
      return error{errc::invalid_argument, last.predictions}.with("a module unlike the first: module");
    ++last.predictions;
    rest.remove_prefix(one.size());
  }
  return out;
}
/// The pattern that read_hybrid_pattern reads. Megatron-LM has all modules on the last stage.
/// Errors: errc::layout_count unless there is a letter per layer, and letters of modules where there are modules;
/// errc::invalid_argument for modules on another stage.
[[nodiscard]] inline result<std::string> write_hybrid_pattern(const hybrid_pattern& x) {
  const auto letters = static_cast<std::int64_t>(x.kinds.size());
  if (x.layout.stages.empty() || letters != x.layout.layer_count())
    return error{errc::layout_count, x.layout.layer_count(), letters}.with("layers");
  const std::int64_t modules = x.layout.stages.back().predictions;
  if (modules != x.layout.prediction_count() || (modules > 0 && x.prediction.empty()))
    return error{errc::invalid_argument, x.layout.prediction_count()}.with("predictions before the last stage");
  std::string out;
  std::size_t at = 0;
  for (const planner::layout_stage& s : x.layout.stages) {
    if (&s != &x.layout.stages.front()) out += '|';
    out.append(x.kinds, at, static_cast<std::size_t>(s.layers));
    at += static_cast<std::size_t>(s.layers);
  }
  for (std::int64_t n = 0; n < modules; ++n) out += '/' + x.prediction;
  return out;
}

}  // namespace hocket::inline HOCKET_ABI::interop
