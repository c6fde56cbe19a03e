// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Split problems and plans in plain integers, as brute force counts them; solve() translates both ways.
#pragma once
#include <hocket/planner/split/memory_price.hpp>
#include <hocket/planner/split/solve.hpp>

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <random>
#include <span>
#include <vector>

namespace plain {

using hocket::ticks;
using hocket::planner::in_flight_profile;
using hocket::planner::objective;

struct level {
  std::int64_t bytes = 0;
  ticks extra = 0;
  friend bool operator==(const level&, const level&) = default;
};

struct layer {
  ticks time = 0;
  std::int64_t weights = 0;
  std::vector<level> levels;
  friend bool operator==(const layer&, const layer&) = default;
};

struct layer_run {
  layer of;
  std::int64_t count = 1;
};

struct rank_room {
  std::int64_t capacity = 0, fixed = 0;
  ticks time = 0;
};

struct split_problem {
  std::span<const layer_run> layers;
  std::span<const rank_room> ranks;
  const in_flight_profile& in_flight;
  std::int64_t micro_batches = 1;
  objective goal = objective::step_time;
  std::span<const std::int64_t> split{};
  std::int64_t max_on_stage = 0;
  std::int64_t budget = 2'000'000;

  [[nodiscard]] hocket::planner::split_problem with_units() const {
    using hocket::bytes;
    using std::chrono::nanoseconds;
    hocket::planner::split_problem q{.layers = {},
                                     .ranks = {},
                                     .in_flight = in_flight,
                                     .micro_batches = micro_batches,
                                     .goal = goal,
                                     .split = {split.begin(), split.end()},
                                     .max_on_stage = max_on_stage,
                                     .budget = budget};
    for (const layer_run& run : layers) {
      q.layers.push_back({{nanoseconds(run.of.time), bytes(run.of.weights), {}}, run.count});
      for (const level& x : run.of.levels)
        q.layers.back().each.levels.push_back({bytes(x.bytes), nanoseconds(x.extra)});
    }
    for (const rank_room& x : ranks) q.ranks.push_back({bytes(x.capacity), bytes(x.fixed), nanoseconds(x.time)});
    return q;
  }
  /// Every layer by itself.
  [[nodiscard]] std::vector<layer> each() const {
    std::vector<layer> all;
    for (const layer_run& run : layers) all.insert(all.end(), static_cast<std::size_t>(run.count), run.of);
    return all;
  }
};

struct rank_plan {
  ticks time = 0, extra = 0;
  std::int64_t bytes = 0;
};

struct split_plan {
  ticks slowest = 0, total = 0, step_time = 0, lower_bound = 0;
  bool proved = false;
  std::vector<hocket::planner::split_stage> stages;
  std::vector<rank_plan> ranks;
  hocket::planner::split_plan whole;
};

inline hocket::result<split_plan> solve(const split_problem& q) {
  const auto found = hocket::planner::solve(q.with_units());
  if (!found) return found.error();
  split_plan plan{found->slowest.count(),
                  found->total.count(),
                  found->step_time.count(),
                  found->lower_bound.count(),
                  found->proved,
                  found->stages,
                  {},
                  *found};
  for (const auto& x : found->ranks) plan.ranks.push_back({x.time.count(), x.extra.count(), x.used.count()});
  return plan;
}

struct memory_price {
  ticks everywhere = 0;
  std::vector<ticks> on_one_rank;
};

inline hocket::result<memory_price> price_of_memory(const split_problem& q, const split_plan& plan, std::int64_t more) {
  const auto found = hocket::planner::price_of_memory(q.with_units(), plan.whole, hocket::bytes(more));
  if (!found) return found.error();
  memory_price price{found->everywhere.count(), {}};
  for (const auto x : found->on_one_rank) price.on_one_rank.push_back(x.count());
  return price;
}

/// Numbers between two others, both included.
class draws {
 public:
  explicit draws(unsigned seed) : random_(seed) {}
  int operator()(int low, int high) {
    return low + static_cast<int>(random_() % static_cast<unsigned>(high - low + 1));
  }

 private:
  std::mt19937 random_;
};

// Builds that are slow by design, watched or not optimised, take a part of the long tests.
#if !defined(__OPTIMIZE__) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool optimised = false;
#elif defined(__has_feature)
inline constexpr bool optimised = !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer);
#else
inline constexpr bool optimised = true;
#endif

}  // namespace plain
