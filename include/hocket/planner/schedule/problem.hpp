// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/result.hpp>
#include <hocket/core/ticks.hpp>
#include <hocket/pipeline/shape.hpp>
#include <hocket/pipeline/table.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner {

/// Where the stages of a searched schedule live.
enum class stage_order : std::uint8_t {
  loop,  ///< stage c·p + rank
  v      ///< odd chunks walk back
};

[[nodiscard]] constexpr std::string_view to_string(stage_order order) noexcept {
  return order == stage_order::v ? "v" : "loop";
}
[[nodiscard]] constexpr std::optional<stage_order> parse_stage_order(std::string_view text) noexcept {
  for (const stage_order order : {stage_order::loop, stage_order::v})
    if (text == to_string(order)) return order;
  return std::nullopt;
}

/// Which schedule is wanted: for solve(problem, costs).
struct schedule_problem {
  pipeline::shape shape;
  stage_order order = stage_order::loop;
  bool split_backward = true;  ///< backwards in two halves (zero bubble), else whole
  /// Most activations that each rank may hold, counted as simulate() does; empty: no limit.
  std::vector<std::uint32_t> memory_cap{};
  /// Partial schedules that beams may branch; moves take up to 400 times as many steps. 0: closed forms, rules and
  /// bounds alone.
  std::int64_t budget = 4'000'000;
};

/// Most forwards of a schedule that is searched for.
inline constexpr std::int64_t max_searched_forwards = std::int64_t{1} << 22;

/// Whether there can be a schedule. Errors: errc::bad_shape, also for caps that are not one per rank; cap_too_small for
/// a cap below the chunks of a rank (all others can be kept); invalid_argument for a negative budget; limit_exceeded
/// beyond max_searched_forwards.
[[nodiscard]] inline result<void> check(const schedule_problem& problem) {
  const pipeline::shape& shape = problem.shape;
  if (const auto ok = pipeline::check(shape); !ok) return ok.error();
  const auto& caps = problem.memory_cap;
  if (!caps.empty() && static_cast<std::int64_t>(caps.size()) != shape.ranks)
    return error{errc::bad_shape, shape.ranks, shape.chunks, shape.micro_batches}.with("one cap per rank, or none");
  for (std::size_t rank = 0; rank < caps.size(); ++rank)
    if (caps[rank] < shape.chunks)
      return error{errc::cap_too_small, static_cast<std::int64_t>(rank), caps[rank], shape.chunks};
  if (problem.budget < 0) return error{errc::invalid_argument, problem.budget}.with("a negative budget");
  const std::int64_t forwards = shape.stages() * shape.micro_batches;
  if (forwards > max_searched_forwards)
    return error{errc::limit_exceeded, forwards, max_searched_forwards}.with("stages x micro-batches to search");
  return {};
}

/// A schedule, and what is known of how good it is.
struct schedule_plan {
  pipeline::table_schedule schedule;
  ticks makespan = 0;
  ticks lower_bound = 0;        ///< no schedule of this problem is shorter
  bool proved = false;          ///< makespan == lower_bound: nothing better exists
  std::string_view found_by{};  ///< literal: "1f1b", …, "greedy", "periodic", "moves", "beams"
  std::int64_t expansions = 0;  ///< partial schedules that beams branched
  bool stopped = false;         ///< the watch ended the search: more time may find better, and a higher bound

  /// How far from the bound, as a share of it.
  [[nodiscard]] double gap() const noexcept {
    return lower_bound > 0 ? static_cast<double>(makespan - lower_bound) / static_cast<double>(lower_bound) : 0;
  }
};

}  // namespace hocket::inline HOCKET_ABI::planner
