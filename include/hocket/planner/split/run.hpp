// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/result.hpp>
#include <hocket/planner/split/problem.hpp>

#include <chrono>
#include <cstdint>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner {

/// What the run of a split depends on besides the problem and the schedule.
///
///     const planner::split_run how{.hop = 849us, .beside = {0ms, 0ms, 0ms, 5ms}};
struct split_run {
  std::chrono::nanoseconds hop{0};  ///< from the end of an action to what needs it on another rank
  /// Time of each stage besides its layers, in model order, forward and backward of a micro-batch; those of a rank add
  /// up to its `time`. Empty: the time of a rank stands on its first stage, on the rank of the last stage on that one.
  std::vector<std::chrono::nanoseconds> beside{};
  /// The forward is forward_parts / whole_parts of a time without recomputation: a third unless measured otherwise. In
  /// schedules that run weight gradients apart, those take as long as the forward.
  std::int64_t forward_parts = 1, whole_parts = 3;
};

/// Whether a run goes with a problem that passed check(). Errors: errc::out_of_range for a hop or a time below 0 or
/// beyond 2^50 ns, and for another number of times than stages. The same unless 0 <= 2 · forward_parts <= whole_parts
/// <= 4,096. errc::invalid_argument, naming the rank, if times besides do not add up to the rank's. O(stages).
[[nodiscard]] inline result<void> check(const split_problem& q, const split_run& how) {
  constexpr std::int64_t max_parts = 4096;
  if (const auto ok = detail::check_field(how.hop.count(), "hop"); !ok) return ok;
  if (how.whole_parts < 2 || how.whole_parts > max_parts)
    return error{errc::out_of_range, how.whole_parts, 2, max_parts}.with("parts of a whole time");
  if (how.forward_parts < 0 || how.forward_parts > how.whole_parts / 2)
    return error{errc::out_of_range, how.forward_parts, 0, how.whole_parts / 2}.with("parts of a forward");
  if (how.beside.empty()) return {};
  const std::int64_t stages = q.in_flight.stages();
  if (const auto given = static_cast<std::int64_t>(how.beside.size()); given != stages)
    return error{errc::out_of_range, given, stages, stages}.with("number of times beside the layers");
  std::vector<std::int64_t> sums(q.ranks.size(), 0);
  for (std::uint32_t s = 0; s < how.beside.size(); ++s) {
    if (const auto ok = detail::check_field(how.beside[s].count(), "time of a stage"); !ok) return ok;
    sums[q.in_flight.rank_of(s)] += how.beside[s].count();
  }
  for (std::size_t r = 0; r < sums.size(); ++r)
    if (sums[r] != q.ranks[r].time.count())
      return error{errc::invalid_argument, static_cast<std::int64_t>(r)}.with(
          "times beside that are not those of rank");
  return {};
}

}  // namespace hocket::inline HOCKET_ABI::planner
