// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/result.hpp>
#include <hocket/interop/ascend/rank_steps.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::ascend {

/// A rank that others of its stage wait for: its own time (computing, data, idle) is longer than theirs.
struct slow_rank {
  std::size_t rank = 0;                   ///< its place in the list
  step_part part = step_part::computing;  ///< what of its own time is most above the others: computing, copying, idle
  nanoseconds own{}, others{};            ///< own time of its mean step; the median of the others'
  nanoseconds part_own{}, part_others{};  ///< the same of the part
  nanoseconds waiting{};                  ///< how much longer the others' exposed communication is
  std::size_t longest_in = 0, steps = 0;  ///< of the steps that all ranks of the stage have: in how many it is longest
};

/// A stage of a pipeline, or all ranks where stages are not told.
struct stage_times {
  std::int64_t stage = -1;
  std::size_t ranks = 0;
  nanoseconds own{}, computing{}, receiving{};  ///< of mean steps, the median over ranks
  /// The longest own time of a step above the median rank's, in the median step: what the stage loses to differences
  /// between its ranks, whichever of them is slow.
  nanoseconds imbalance{};
  std::size_t steps = 0;  ///< that all its ranks have
};

struct slow_rank_options {
  std::int64_t least_percent = 5;  ///< that an own time must be above the others'
};

namespace detail {

/// The ranks of each stage, by their places.
[[nodiscard]] inline std::map<std::int64_t, std::vector<std::size_t>> ranks_by_stage(
    std::span<const rank_steps> ranks) {
  std::map<std::int64_t, std::vector<std::size_t>> out;
  for (std::size_t i = 0; i < ranks.size(); ++i)
    if (!ranks[i].steps.empty()) out[ranks[i].stage].push_back(i);
  return out;
}

/// The own times of a step, in the order of the ranks; of the steps that all these ranks have once.
[[nodiscard]] inline std::vector<std::vector<nanoseconds>> common_steps(std::span<const rank_steps> ranks,
                                                                        std::span<const std::size_t> of) {
  std::map<std::int64_t, std::vector<nanoseconds>> by_step;
  for (const std::size_t r : of)
    for (const rank_step& s : ranks[r].steps) by_step[s.step].push_back(s.own());
  std::vector<std::vector<nanoseconds>> out;
  for (auto& [step, times] : by_step)
    if (times.size() == of.size()) out.push_back(std::move(times));
  return out;
}

/// The median of sorted times without the one at `place`.
[[nodiscard]] inline nanoseconds median_without(std::span<const nanoseconds> sorted, std::size_t place) noexcept {
  if (sorted.size() < 2) return {};
  const std::size_t middle = (sorted.size() - 2) / 2;
  return sorted[middle + (place <= middle ? 1u : 0u)];
}

/// For each of some ranks a time of its mean step, and the median of the others'.
struct beside_others {
  std::vector<nanoseconds> own, others;

  template <class F>
  beside_others(std::span<const rank_step> means, std::span<const std::size_t> of, F&& time_of) {
    for (const std::size_t r : of) own.push_back(time_of(means[r]));
    std::vector<nanoseconds> sorted = own;
    std::sort(sorted.begin(), sorted.end());
    for (const nanoseconds t : own) {
      const auto place = static_cast<std::size_t>(std::lower_bound(sorted.begin(), sorted.end(), t) - sorted.begin());
      others.push_back(median_without(sorted, place));
    }
  }
};

/// The mean step of each rank: parts of means add up, those of medians would not.
[[nodiscard]] inline std::vector<rank_step> mean_steps(std::span<const rank_steps> ranks) {
  std::vector<rank_step> out;
  for (const rank_steps& r : ranks) out.push_back({-1, mean_of_steps(r.steps).parts});
  return out;
}

/// Finds the part that is most above the others', for those of the slow ranks that are among some ranks.
inline void find_parts(std::span<const rank_step> means, std::span<const std::size_t> of,
                       std::vector<slow_rank>& slow_ranks) {
  constexpr step_part own_parts[] = {step_part::computing, step_part::copying, step_part::idle};
  for (const step_part part : own_parts) {
    const beside_others times(means, of, [part](const rank_step& s) { return s.of(part); });
    for (slow_rank& slow : slow_ranks) {
      const auto at = std::lower_bound(of.begin(), of.end(), slow.rank);
      if (at == of.end() || *at != slow.rank) continue;
      const auto i = static_cast<std::size_t>(at - of.begin());
      if (part != own_parts[0] && times.own[i] - times.others[i] <= slow.part_own - slow.part_others) continue;
      slow.part = part;
      slow.part_own = times.own[i];
      slow.part_others = times.others[i];
    }
  }
}

}  // namespace detail

/// The ranks that others wait for, the one that costs most first, of equals the earlier. Only ranks of one stage are
/// compared: those of different stages do different work. Complexity: O(s log s) for s steps of all ranks.
///
///     for (const auto& slow : hocket::ascend::find_slow_ranks(ranks))
///       ranks[slow.rank].name, slow.own - slow.others;
[[nodiscard]] inline std::vector<slow_rank> find_slow_ranks(std::span<const rank_steps> ranks,
                                                            const slow_rank_options& options = {}) {
  const std::vector<rank_step> means = detail::mean_steps(ranks);
  std::vector<slow_rank> out;
  for (const auto& [stage, of] : detail::ranks_by_stage(ranks)) {
    if (of.size() < 2) continue;
    const detail::beside_others own(means, of, [](const rank_step& s) { return s.own(); });
    const detail::beside_others exposed(means, of, [](const rank_step& s) { return s.of(step_part::exposed); });
    const auto common = detail::common_steps(ranks, of);
    for (std::size_t i = 0; i < of.size(); ++i) {
      if (own.own[i] - own.others[i] <= own.others[i] / 100 * options.least_percent) continue;
      slow_rank slow;
      slow.rank = of[i];
      slow.own = own.own[i];
      slow.others = own.others[i];
      slow.waiting = exposed.others[i] - exposed.own[i];
      slow.steps = common.size();
      for (const auto& step : common)
        slow.longest_in += step[i] == *std::max_element(step.begin(), step.end()) ? 1u : 0u;
      out.push_back(slow);
    }
    detail::find_parts(means, of, out);
  }
  std::sort(out.begin(), out.end(), [](const slow_rank& a, const slow_rank& b) {
    const nanoseconds x = a.own - a.others, y = b.own - b.others;
    return x != y ? x > y : a.rank < b.rank;
  });
  return out;
}

/// Each stage of the pipeline, in their order. O(s log s) for s steps of all ranks.
[[nodiscard]] inline std::vector<stage_times> times_of_stages(std::span<const rank_steps> ranks) {
  const std::vector<rank_step> means = detail::mean_steps(ranks);
  std::vector<stage_times> out;
  for (const auto& [stage, of_stage] : detail::ranks_by_stage(ranks)) {
    const std::vector<std::size_t>& of = of_stage;  // not every compiler captures a structured binding
    const auto over_ranks = [&](auto&& time_of) {
      return spread_of(detail::beside_others(means, of, time_of).own).median;
    };
    stage_times one;
    one.stage = stage;
    one.ranks = of.size();
    one.own = over_ranks([](const rank_step& s) { return s.own(); });
    one.computing = over_ranks([](const rank_step& s) { return s.of(step_part::computing); });
    one.receiving = over_ranks([](const rank_step& s) { return s.of(step_part::receiving); });
    std::vector<nanoseconds> lost;
    for (const auto& step : detail::common_steps(ranks, of)) {
      const time_spread spread = spread_of(step);
      lost.push_back(spread.most - spread.median);
    }
    one.steps = lost.size();
    one.imbalance = spread_of(std::move(lost)).median;
    out.push_back(one);
  }
  return out;
}

/// Gives each rank the stage that it has where `stages` stages of a pipeline lie one after the other in the order of
/// the ranks' numbers, as MindSpore and Megatron-LM place them.
/// @param rank_count  of the whole job
/// Errors: errc::indivisible if the stages do not divide the ranks, errc::out_of_range for a rank without a number
/// below `rank_count`. O(ranks).
[[nodiscard]] inline result<void> number_stages(std::span<rank_steps> ranks, std::int64_t stages,
                                                std::int64_t rank_count) {
  if (stages < 1 || rank_count % stages != 0)
    return error{errc::indivisible, rank_count, stages}.with("ranks by stages");
  for (const rank_steps& r : ranks)
    if (r.rank < 0 || r.rank >= rank_count)
      return error{errc::out_of_range, r.rank, 0, rank_count - 1}.with("number of a rank");
  for (rank_steps& r : ranks) r.stage = r.rank / (rank_count / stages);
  return {};
}

/// The stage of the rank that wrote a profile, where the profile names its pipeline's group (as Megatron-LM and
/// PyTorch's device meshes describe it): the place of the rank among the group's. -1: not told. O(groups).
[[nodiscard]] inline std::int64_t stage_in_groups(const profile& p) {
  for (const rank_group& g : p.groups) {
    std::string words;
    for (const char c : g.description) words += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    if (words != "pp" && words != "mesh_pp" && !words.starts_with("pipeline")) continue;
    const auto at = std::find(g.ranks.begin(), g.ranks.end(), p.rank);
    if (p.rank >= 0 && at != g.ranks.end()) return at - g.ranks.begin();
  }
  return -1;
}

}  // namespace hocket::inline HOCKET_ABI::ascend
