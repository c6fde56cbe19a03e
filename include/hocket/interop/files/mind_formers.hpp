// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/planner/split/solve.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::interop {

/// What a level of recompute is in a configuration of MindFormers.
struct pasted_level {
  std::vector<std::string> select;  ///< patterns of operations
  bool whole = false;
  bool no_pattern = false;  ///< computes something again that has no pattern here
};

namespace detail {

// Whether lists by stage say what a stage does. They take its first layers: so many whole, and of each pattern so many
// from the same start on. Of equal layers it does not matter which.
inline bool said_by_lists(const planner::split_stage& stage, const std::vector<pasted_level>& levels,
                          std::span<const std::int64_t> runs,
                          const std::vector<std::pair<std::string, std::int64_t>>& patterns, std::int64_t whole) {
  std::vector<std::pair<std::size_t, std::vector<bool>>> planned, listed;  // kind of layer; whole, patterns
  std::size_t kind = 0;
  std::int64_t end = runs.empty() ? 0 : runs[0];
  for (std::int64_t i = 0; i < stage.layers; ++i) {
    while (stage.first_layer + i >= end && kind + 1 < runs.size()) end += runs[++kind];
    const pasted_level& level = levels[stage.levels[static_cast<std::size_t>(i)]];
    if (level.no_pattern) return false;
    std::vector<bool> does{level.whole}, says{i < whole};
    for (const auto& [pattern, count] : patterns) {
      const auto& select = level.select;
      does.push_back(!level.whole && std::find(select.begin(), select.end(), pattern) != select.end());
      says.push_back(i >= whole && i < count);
    }
    planned.emplace_back(kind, std::move(does));
    listed.emplace_back(kind, std::move(says));
  }
  std::sort(planned.begin(), planned.end());
  std::sort(listed.begin(), listed.end());
  return planned == listed;
}

// A text as a string of YAML.
inline std::string in_yaml(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? "''" : std::string(1, c);
  return out + "'";
}

/// Numbers of layers by stage, chunk after chunk.
using stage_counts = std::vector<std::int64_t>;

/// A split as the lists of MindFormers.
class formers_lists {
 public:
  formers_lists(const std::vector<pasted_level>& levels, const planner::split_plan& plan, std::uint32_t ranks,
                std::uint32_t chunks)
      : plan_(plan), ranks_(ranks), chunks_(chunks), size_(std::size_t{ranks} * chunks), whole_(size_.size()) {
    for (const planner::split_stage& s : plan.stages) size_[index(s)] = s.layers;
    rest_ = size_;
    for (std::size_t k = 0; k < levels.size(); ++k)
      if (levels[k].whole) add_whole(k);
    for (std::size_t k = 0; k < levels.size(); ++k)
      if (!levels[k].whole) add_patterns(levels[k], k);
    for (const auto& [pattern, n] : patterns_) {
      all_ = all_ && n == rest_;
      none_ = none_ && std::all_of(n.begin(), n.end(), [](std::int64_t x) { return x == 0; });
    }
    for (auto& [pattern, n] : patterns_)
      for (std::size_t i = 0; i < n.size(); ++i) n[i] += n[i] > 0 ? whole_[i] : 0;
  }

  [[nodiscard]] std::string recompute() const {
    return "  recompute: " + (any_whole_ ? printed(whole_) : "False") + "\n";
  }
  [[nodiscard]] std::string select() const {
    if (patterns_.empty() || none_) return "  select_recompute: False\n";
    std::string text = "  select_recompute:";
    if (!all_) {
      text += "\n";
      for (const auto& [pattern, n] : patterns_) text += "    " + in_yaml(pattern) + ": " + printed(n) + "\n";
      return text;
    }
    for (std::size_t i = 0; i < patterns_.size(); ++i) text += (i == 0 ? " [" : ", ") + in_yaml(patterns_[i].first);
    return text + "]\n";
  }
  /// A comment that names the stages that no such lists can say.
  [[nodiscard]] std::string unsaid(const std::vector<pasted_level>& levels, std::span<const std::int64_t> runs) const {
    std::string stages;
    for (std::size_t s = 0; s < plan_.stages.size(); ++s) {
      const std::size_t i = index(plan_.stages[s]);
      std::vector<std::pair<std::string, std::int64_t>> here;
      for (const auto& [pattern, n] : patterns_) here.emplace_back(pattern, n[i]);
      if (!said_by_lists(plan_.stages[s], levels, runs, here, whole_[i]))
        stages += (stages.empty() ? "" : ", ") + std::to_string(s);
    }
    if (stages.empty()) return {};
    return "# no such lists say all that is computed again (they take the first layers of a stage): stages " + stages +
           "\n";
  }
  [[nodiscard]] std::string offset() const {
    const std::int64_t layers = std::accumulate(size_.begin(), size_.end(), std::int64_t{0});
    stage_counts offset = size_;
    for (std::int64_t& n : offset) n -= layers / static_cast<std::int64_t>(size_.size());
    const bool even = std::all_of(offset.begin(), offset.end(), [](std::int64_t x) { return x == 0; });
    std::string text;
    if (!even || chunks_ > 1) text += "model:\n  model_config:\n";
    if (chunks_ > 1) text += "    pp_interleave_num: " + std::to_string(chunks_) + "\n";
    if (!even) text += "    offset: " + printed(offset) + "\n";
    return text;
  }

 private:
  [[nodiscard]] std::size_t index(const planner::split_stage& s) const noexcept {
    return std::size_t{s.chunk} * ranks_ + s.rank;
  }
  [[nodiscard]] stage_counts at_level(std::size_t level) const {
    stage_counts n(size_.size());
    for (const planner::split_stage& s : plan_.stages)
      n[index(s)] += std::count(s.levels.begin(), s.levels.end(), static_cast<std::uint32_t>(level));
    return n;
  }
  void add_whole(std::size_t level) {
    any_whole_ = true;
    const stage_counts n = at_level(level);
    for (std::size_t i = 0; i < n.size(); ++i) {
      whole_[i] += n[i];
      rest_[i] -= n[i];
    }
  }
  /// Layers by stage that run a pattern again, and not the whole layer.
  void add_patterns(const pasted_level& level, std::size_t number) {
    const stage_counts n = at_level(number);
    for (const std::string& x : level.select) {
      const auto is_it = [&](const auto& each) { return each.first == x; };
      auto at = std::find_if(patterns_.begin(), patterns_.end(), is_it);
      if (at == patterns_.end()) at = patterns_.insert(at, {x, stage_counts(n.size())});
      for (std::size_t s = 0; s < n.size(); ++s) at->second[s] += n[s];
    }
  }
  /// "[4, 0]", of several chunks "[[4, 0], [3, 1]]".
  [[nodiscard]] std::string printed(const stage_counts& of) const {
    std::string text = chunks_ > 1 ? "[" : "";
    for (std::size_t i = 0; i < of.size(); ++i) {
      if (i % ranks_ == 0) text += i == 0 ? "[" : "], [";
      else text += ", ";
      text += std::to_string(of[i]);
    }
    return text + (chunks_ > 1 ? "]]" : "]");
  }

  const planner::split_plan& plan_;
  std::uint32_t ranks_, chunks_;
  stage_counts size_, whole_, rest_;
  std::vector<std::pair<std::string, stage_counts>> patterns_;
  bool any_whole_ = false, all_ = true, none_ = true;
};

}  // namespace detail

/// Recompute and offsets of a split as MindFormers takes them, in YAML.
/// `recompute` says how many layers each stage recomputes whole: its first ones. `select_recompute` says of each
/// pattern how many layers run it again. These, too, are the first of the stage, so layers recomputed whole count as
/// well. Where all other layers run a pattern again, it is listed without numbers. `offset` has the layers more or
/// fewer than an even share. With several chunks each is a list of such lists, one per chunk.
/// @param runs  how many layers in a row are equal
[[nodiscard]] inline std::string mind_formers(const std::vector<pasted_level>& levels, const planner::split_plan& plan,
                                              std::uint32_t ranks, std::uint32_t chunks,
                                              std::span<const std::int64_t> runs) {
  const detail::formers_lists lists(levels, plan, ranks, chunks);
  return "recompute_config:\n" + lists.recompute() + lists.select() + lists.unsaid(levels, runs) + lists.offset();
}

}  // namespace hocket::inline HOCKET_ABI::interop
