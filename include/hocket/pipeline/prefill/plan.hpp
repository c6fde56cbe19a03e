// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/pipeline/prefill/problem.hpp>
#include <hocket/pipeline/prefill/rules.hpp>

#include <cstdint>
#include <memory_resource>
#include <vector>

namespace hocket::inline HOCKET_ABI::pipeline {

/// How `solve_prefill` searches, and what it compares with.
struct prefill_options {
  std::int64_t base =
      0;  ///< the chunk size of an engine, for the rules; 0: of a series of sizes, the best for each rule
  double smooth_factor = usual_smooth_factor;  ///< of prefill_rule::smoothed, in [0, 1]
  std::int64_t budget = 500'000;               ///< about how many times of a piece on a stage may be looked at, >= 0
};

/// What a rule of production makes of the same problem.
struct prefill_peer {
  prefill_rule rule = prefill_rule::equal;
  std::int64_t base = 0;  ///< its chunk size
  std::int64_t pieces = 0;
  ticks last_end = 0;
  double mean_wait = 0;
  bool allowed = true;  ///< whether its sizes obey the least size of the problem: rules do not know one
};

/// Sizes of pieces, and how good they are.
struct prefill_plan {
  std::pmr::vector<std::int64_t> sizes;                ///< tokens of each piece, all pieces of the first request first
  prefill_order order = prefill_order::deepest_first;  ///< what a rank with several chunks runs first
  prefill_rule rule = prefill_rule::searched;          ///< `searched` where no rule was as good
  ticks last_end = 0;
  double mean_wait = 0;                  ///< mean time to first token
  ticks lower_bound = 0;                 ///< of last_end: no sizes end sooner
  double least_mean_wait = 0;            ///< a lower bound of mean_wait
  bool proved = false;                   ///< no sizes are better for the goal (with several chunks: nor any order)
  std::pmr::vector<prefill_peer> peers;  ///< equal sizes, equal times, smoothed: each with its best base
};

}  // namespace hocket::inline HOCKET_ABI::pipeline
