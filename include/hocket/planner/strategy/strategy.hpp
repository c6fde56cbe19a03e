// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/bytes.hpp>
#include <hocket/core/result.hpp>
#include <hocket/cost/device_memory.hpp>
#include <hocket/cost/machine.hpp>
#include <hocket/cost/model/training.hpp>
#include <hocket/cost/model/uniform_list.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner {

/// The devices that a strategy may use.
struct cluster {
  std::int64_t devices = 1;
  std::int64_t devices_per_node = 8;  ///< tensor parallelism stays within a node
  cost::device_memory memory{};       ///< of one device
  cost::machine rates;
};

/// One way to train on all devices.
struct strategy {
  cost::parallel how;
  std::int64_t micro_batch = 1;
  bool zero_bubble = false;        ///< backwards in two halves (zb-h1, interleaved-zb), else 1F1B or interleaved
  bool replay_activation = false;  ///< SiLU and Mul computed again in every layer
  friend constexpr bool operator==(const strategy&, const strategy&) = default;
};

/// Which strategies are looked at. Every combination of these lists and of the divisors of the devices is named, and
/// each is either evaluated or rejected with its reason. Of combinations that are the same (sharding over one rank,
/// copies without tensor parallelism) one is evaluated, and told as the plain one. No list may hold a value twice.
struct strategy_space {
  std::vector<std::int64_t> tensor{1, 2, 4, 8, 16}, context{1}, expert{1, 2, 4, 8, 16, 32, 64, 128, 256};
  std::vector<std::int64_t> chunks{1, 2, 4, 8}, micro_batches{1, 2, 4, 8}, copies{1, 2};
  std::vector<cost::zero> zeros{cost::zero::none, cost::zero::optimizer, cost::zero::gradients, cost::zero::weights};
  bool zero_bubble = true;                    ///< also schedules with split backwards
  std::vector<std::int64_t> pipeline{};       ///< pipeline sizes; empty: every divisor of the devices
  std::vector<cost::recompute> recomputes{};  ///< empty: every level, and SiLU and Mul alone
  std::vector<bool> sequence{false, true};    ///< sequence parallelism
  /// Ranks over which an expert is cut (etp). Each must divide the tensor-parallel size: others are rejected.
  std::vector<std::int64_t> expert_tensor{1};
};

/// Says how many chunks of activations a rank holds at its peak.
template <class H>
concept held_policy = requires(const H& held, const strategy& s, std::int64_t micro_batches, std::int64_t rank) {
  { held(s, micro_batches, rank) } -> std::convertible_to<std::int64_t>;
};

/// As 1F1B, interleaved and the zero-bubble schedules do: cost::chunks_in_flight, and what pipeline::zero_bubble holds.
struct held_in_closed_form {
  [[nodiscard]] constexpr std::int64_t operator()(const strategy& s, std::int64_t micro_batches,
                                                  std::int64_t rank) const noexcept {
    const std::int64_t pp = s.how.pp, vp = s.how.vp;
    const std::int64_t groups = (std::max)(std::int64_t{1}, micro_batches / pp),
                       largest = (micro_batches + groups - 1) / groups;
    const std::int64_t ahead = s.zero_bubble ? pp : vp == 1 ? pp - rank : 2 * (pp - rank - 1) + 1;
    return (std::min)(micro_batches * vp, ahead + (vp - 1) * largest);
  }
};

/// Why a strategy is not possible, in the order in which it is asked.
enum class rejection : std::uint8_t {
  node,         ///< tensor parallel size beyond a node
  heads,        ///< heads, KV heads, FFN, vocabulary, expert width or sequence do not divide over their ranks
  stages,       ///< more stages than layers, or chunks without a pipeline
  experts,      ///< experts do not divide over ep or etp, ep x etp not the ranks of one stage, or etp not tp
  batch,        ///< the global batch does not divide over micro_batch x dp
  few_batches,  ///< fewer micro-batches than interleaved chunks need: m < pp with vp > 1
  copies,       ///< the tokens of a micro-batch do not divide over its copies
  no_effect,    ///< the same as another strategy: sharding, sequence parallel or copies over one rank
  memory        ///< some rank needs more than a device has
};
inline constexpr std::size_t rejection_count = 9;

[[nodiscard]] constexpr std::string_view to_string(rejection why) noexcept {
  constexpr std::string_view text[rejection_count] = {
      "tensor parallel size beyond a node",
      "heads, KV heads, FFN, vocabulary, expert width or sequence do not divide",
      "more stages than layers, or chunks without a pipeline",
      "experts do not divide over ep or etp, ep x etp not a stage's ranks, or etp not tp",
      "the global batch does not divide over micro_batch x dp",
      "interleaved chunks with fewer micro-batches than stages",
      "the tokens of a micro-batch do not divide over its copies",
      "no effect: sharding, sequence parallel or copies over a single rank",
      "a rank needs more memory than a device has"};
  return text[static_cast<std::size_t>(why)];
}

/// Which way to train is best?  solve(problem) names every strategy of the space, and evaluates or rejects it.
struct strategy_problem {
  cost::layer_list model;   ///< multi-token-prediction modules are left out
  cost::training training;  ///< micro_batch is chosen, the rest given
  planner::cluster cluster;
  strategy_space space{};
  cost::replay_set replay{};            ///< what every layer computes again beside the level of a strategy
  std::chrono::nanoseconds compared{};  ///< a step: strategy_plan::faster says how many that fit are shorter
  bool by_level = false;                ///< whether strategy_plan::front_of_level is wanted, too
};

/// What a strategy costs: step time, and memory of its fullest rank at its peak (cost::peak_memory).
struct strategy_cost {
  std::chrono::nanoseconds step{};
  bytes memory{};
  /// No simulation of this strategy on stages dealt out evenly is shorter: the busiest rank does its work, and what
  /// happens once per step and never hides takes its time.
  std::chrono::nanoseconds least{};
};
struct scored_strategy {
  strategy of;
  strategy_cost cost;
};

/// Strategies that a plan keeps beside its front.
inline constexpr std::size_t most_kept = 32;
/// Strategies that a plan keeps by their least step.
inline constexpr std::size_t most_by_least = 1024;

/// The answer of solve(strategy_problem).
struct strategy_plan {
  /// Of strategies that fit: no other is as fast with as little memory. Fastest first; the first is the best.
  std::vector<scored_strategy> front;
  /// The fastest that fit, at most most_kept: what a simulation may put into another order.
  std::vector<scored_strategy> fastest;
  /// Those that fit with the smallest least step, at most most_by_least, smallest first: if the last of them cannot
  /// beat a step that was found, or if there are fewer, none that is not listed can.
  std::vector<scored_strategy> by_least;
  /// If it is asked for: the front of each level of recompute, by its value, whether strategies fit or not. It is what
  /// a split starts from, which recomputes some layers alone.
  std::array<std::vector<scored_strategy>, 3> front_of_level;
  /// The fastest that does not fit, and so what memory costs. Empty if all fit.
  std::vector<scored_strategy> best_beyond_memory;
  std::array<std::int64_t, rejection_count> rejected{};
  std::int64_t named = 0;      ///< = evaluated + rejected before evaluation
  std::int64_t evaluated = 0;  ///< time and memory computed: all that are legal
  std::int64_t fitting = 0;
  std::int64_t faster = 0;  ///< of those that fit: by formula shorter than the step of strategy_problem::compared
  bool stopped = false;     ///< the watch ended the search: what follows from all strategies is not proved
};

/// A strategy on so many devices.
struct scored_on_devices {
  std::int64_t devices = 0;
  scored_strategy best;
};

/// The answer of solve(strategy_problem, device_counts).
struct device_plan {
  /// Of all counts together: no other that fits is as fast with as little memory on as few devices. Fewest devices
  /// first, then fastest.
  std::vector<scored_on_devices> front;
  std::vector<strategy_plan> counts;  ///< each count by itself, in the order asked for
};

}  // namespace hocket::inline HOCKET_ABI::planner
