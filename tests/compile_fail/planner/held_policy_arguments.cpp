// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: what a rank holds is said by `std::int64_t operator()(const strategy&, std::int64_t micro_batches,
// std::int64_t rank) const` The policy does not take the rank.
#include <hocket/planner/strategy/solve.hpp>

namespace planner = hocket::planner;
struct held {
#ifdef CORRECTED
  std::int64_t operator()(const planner::strategy&, std::int64_t micro_batches, std::int64_t) const {
    return micro_batches;
  }
#else
  std::int64_t operator()(const planner::strategy&, std::int64_t micro_batches) const { return micro_batches; }
#endif
};
auto plan(const planner::strategy_problem& problem) { return planner::solve(problem, held{}); }
