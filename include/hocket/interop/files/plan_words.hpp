// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/cost/model/recompute_choice.hpp>
#include <hocket/interop/files/fixed.hpp>
#include <hocket/interop/files/mind_formers.hpp>
#include <hocket/interop/files/plan_answer.hpp>
#include <hocket/interop/files/plan_file.hpp>
#include <hocket/planner/plan/choose_sizes.hpp>
#include <hocket/planner/plan/layer_split.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// What a plan says, in the words that its text and its JSON share.
namespace hocket::inline HOCKET_ABI::interop {

/// The value of an open field, as the file would say it.
/// @param key  one of plan_input::open
[[nodiscard]] inline std::string chosen(const plan_input& in, const plan_answer& plan, const std::string& key) {
  constexpr const char* levels[] = {"none", "selective", "full"};
  const cost::parallel& p = in.parallel;
  if (key == "recompute" && plan.split) return "by_stage";
  if (key == "recompute") return levels[static_cast<std::size_t>(p.recompute)];
  if (key == "sequence_parallel") return p.sequence_parallel ? "true" : "false";
  return std::to_string(key == "tp"       ? p.tp
                        : key == "pp"     ? p.pp
                        : key == "vp"     ? p.vp
                        : key == "cp"     ? p.cp
                        : key == "ep"     ? p.ep
                        : key == "etp"    ? p.etp
                        : key == "zero"   ? static_cast<std::int64_t>(p.zero)
                        : key == "copies" ? p.copies
                                          : in.training.micro_batch);
}

/// What was not looked at: sizes that the file says, and those that no search tries.
[[nodiscard]] inline std::string held_fixed(const plan_input& in, const plan_answer& plan) {
  std::string out;
  for (const char* key : {"tp", "pp", "vp", "cp", "ep", "etp", "zero", "sequence_parallel", "copies", "micro_batch"})
    if (!in.is_open(key) && in.is_choice(key)) out += std::string(key) + " " + chosen(in, plan, key) + ", ";
  return out + "sequences " + std::to_string(in.training.global_batch);
}

/// A level of recompute of a split: "none", "activation", "selective" or "full", apart from what every layer computes
/// again.
/// @param everywhere  the operations that every layer computes again, whatever its level
[[nodiscard]] inline std::string level_name(const cost::recompute_choice& how, const cost::replay_set& everywhere) {
  if (how.level == cost::recompute::full) return "full";
  if (how.level == cost::recompute::selective) return "selective";
  return how.operations.activation && !everywhere.activation ? "activation" : "none";
}

/// The lists of a split for MindFormers.
[[nodiscard]] inline std::string pasted_lists(const plan_input& in, const planner::layer_split& split) {
  const std::vector<std::string> activation{R"(feed_forward\.mul)", R"(feed_forward\.w1\.activation)",
                                            R"(feed_forward\.w1\.reshape)", R"(feed_forward\.w2\.reshape)"};
  std::vector<pasted_level> levels;
  for (const cost::recompute_choice& how : split.levels) {
    const bool whole = how.level == cost::recompute::full;
    cost::replay_set others = how.operations;
    others.activation = false;
    const bool no_pattern = how.level == cost::recompute::selective || !(others == cost::replay_set{});
    const bool selects = !whole && how.operations.activation;
    levels.push_back({selects ? activation : std::vector<std::string>{}, whole, no_pattern && !whole});
  }
  std::vector<std::int64_t> runs;
  for (const cost::repeated_layer& each : in.model.layers) runs.push_back(each.count);
  return mind_formers(levels, split.plan, static_cast<std::uint32_t>(in.parallel.pp),
                      static_cast<std::uint32_t>(in.parallel.vp), runs);
}

/// Layers of a stage at a level.
[[nodiscard]] inline std::int64_t layers_at(const planner::split_stage& stage, std::size_t level) {
  return std::count(stage.levels.begin(), stage.levels.end(), static_cast<std::uint32_t>(level));
}
/// The bound on the step of a split, in seconds.
[[nodiscard]] inline double bound_seconds(const planner::layer_split& s) {
  return static_cast<double>(s.plan.lower_bound.count()) / 1e9;
}
/// The step of a strategy by formula, in seconds, and the bytes of its fullest rank, in GiB.
[[nodiscard]] inline double seconds_by_formula(const planner::scored_strategy& x) {
  return static_cast<double>(x.cost.step.count()) / 1e9;
}
[[nodiscard]] inline double gib_by_formula(const planner::scored_strategy& x) {
  return static_cast<double>(x.cost.memory.count()) / bytes_per_gib;
}

/// What is proved of the chosen sizes.
/// @param splits  whether the split was open, too
[[nodiscard]] inline std::string proof_of(const planner::sizes_answer& sizes, bool splits) {
  if (sizes.stopped) return "none: stopped, the best until then";
  if (splits && sizes.without_split > 0)
    return "none: by their bounds " + std::to_string(sizes.without_split) +
           " more sizes might be quicker with a split of their own";
  if (splits)
    return "by its bound no candidate is quicker with another split; which sizes are candidates is not proved";
  if (sizes.covered)
    return "every other that fits by formula does at least this much work on its busiest rank, or was simulated";
  return "none: others may be quicker than their formula says";
}

}  // namespace hocket::inline HOCKET_ABI::interop
