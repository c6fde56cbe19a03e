// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/config.hpp>

#include <concepts>
#include <cstdint>

namespace hocket::inline HOCKET_ABI::planner {

/// How far a search has come.
struct search_progress {
  std::int64_t done = 0;  ///< of its budget, in the unit of that search
  std::int64_t all = 0;   ///< what it may spend; it may end sooner
};

/// Looks on at a search. It is asked now and then, and its `false` ends the search with the best found so far. A search
/// that is never stopped gives the same answer on every machine; where one is stopped depends on the clock.
///
///     std::atomic<bool> stop = false;   // or a std::stop_token
///     hocket::planner::solve(problem, costs, [&](hocket::planner::search_progress) { return !stop; });
template <class W>
concept watch_policy = requires(const W& watch, search_progress at) {
  { watch(at) } -> std::convertible_to<bool>;
};

/// Lets a search run to its end.
struct unwatched {
  constexpr bool operator()(search_progress /*at*/) const noexcept { return true; }
};

}  // namespace hocket::inline HOCKET_ABI::planner
