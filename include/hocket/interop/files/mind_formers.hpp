// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/planner/split/solve.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
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

}  // namespace detail

/// Recompute and offsets of a split as MindFormers takes them, in YAML.
/// recompute: layers recomputed whole, by stage: the first so many. select_recompute: for each pattern the layers that
/// run it again, also the first so many of the stage, so those recomputed whole count too; a pattern of all others
/// stands alone. offset: layers more or fewer than an even share. Several chunks: a list of such lists, one per chunk.
/// @param runs  how many layers in a row are equal
[[nodiscard]] inline std::string mind_formers(const std::vector<pasted_level>& levels, const planner::split_plan& plan,
                                              std::uint32_t ranks, std::uint32_t chunks,
                                              std::span<const std::int64_t> runs) {
  using counts = std::vector<std::int64_t>;  // by stage, chunk after chunk
  const std::size_t stages = std::size_t{ranks} * chunks;
  const auto index = [&](const planner::split_stage& s) { return std::size_t{s.chunk} * ranks + s.rank; };
  const auto printed = [&](const counts& of) {
    std::string text = chunks > 1 ? "[" : "";
    for (std::size_t i = 0; i < of.size(); ++i) {
      if (i % ranks == 0) text += i == 0 ? "[" : "], [";
      else text += ", ";
      text += std::to_string(of[i]);
    }
    return text + (chunks > 1 ? "]]" : "]");
  };
  const auto at_level = [&](std::size_t level) {
    counts n(stages);
    for (const planner::split_stage& s : plan.stages)
      n[index(s)] += std::count(s.levels.begin(), s.levels.end(), static_cast<std::uint32_t>(level));
    return n;
  };
  counts size(stages), offset(stages);
  std::int64_t layers = 0;
  for (const planner::split_stage& s : plan.stages) {
    size[index(s)] = s.layers;
    layers += s.layers;
  }
  bool even = true;
  for (std::size_t i = 0; i < stages; ++i) {
    offset[i] = size[i] - layers / static_cast<std::int64_t>(stages);
    even = even && offset[i] == 0;
  }
  std::string text = "recompute_config:\n";
  counts whole(stages), rest = size;
  bool any_whole = false;
  for (std::size_t k = 0; k < levels.size(); ++k) {
    if (!levels[k].whole) continue;
    any_whole = true;
    const counts n = at_level(k);
    for (std::size_t i = 0; i < stages; ++i) {
      whole[i] += n[i];
      rest[i] -= n[i];
    }
  }
  text += "  recompute: " + (any_whole ? printed(whole) : "False") + "\n";
  std::vector<std::pair<std::string, counts>> patterns;  // layers by stage that run it again, and not the whole layer
  for (std::size_t k = 0; k < levels.size(); ++k)
    for (const std::string& x : levels[k].select) {
      if (levels[k].whole) continue;
      std::size_t i = 0;
      while (i < patterns.size() && patterns[i].first != x) ++i;
      if (i == patterns.size()) patterns.push_back({x, counts(stages)});
      const counts n = at_level(k);
      for (std::size_t s = 0; s < stages; ++s) patterns[i].second[s] += n[s];
    }
  bool all = true, none = true;
  for (const auto& [pattern, n] : patterns) {
    all = all && n == rest;
    for (const std::int64_t x : n) none = none && x == 0;
  }
  for (auto& [pattern, n] : patterns)
    for (std::size_t i = 0; i < stages; ++i) n[i] += n[i] > 0 ? whole[i] : 0;
  if (patterns.empty() || none) {
    text += "  select_recompute: False\n";
  } else if (all) {
    text += "  select_recompute: [";
    for (std::size_t i = 0; i < patterns.size(); ++i) text += (i == 0 ? "" : ", ") + detail::in_yaml(patterns[i].first);
    text += "]\n";
  } else {
    text += "  select_recompute:\n";
    for (const auto& [pattern, n] : patterns) text += "    " + detail::in_yaml(pattern) + ": " + printed(n) + "\n";
  }
  std::string unsaid;
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const std::size_t i = index(plan.stages[s]);
    std::vector<std::pair<std::string, std::int64_t>> here;
    for (const auto& [pattern, n] : patterns) here.emplace_back(pattern, n[i]);
    if (!detail::said_by_lists(plan.stages[s], levels, runs, here, whole[i]))
      unsaid += (unsaid.empty() ? "" : ", ") + std::to_string(s);
  }
  if (!unsaid.empty())
    text += "# no such lists say all that is computed again (they take the first layers of a stage): stages " + unsaid +
            "\n";
  if (!even || chunks > 1) text += "model:\n  model_config:\n";
  if (chunks > 1) text += "    pp_interleave_num: " + std::to_string(chunks) + "\n";
  if (!even) text += "    offset: " + printed(offset) + "\n";
  return text;
}

}  // namespace hocket::inline HOCKET_ABI::interop
