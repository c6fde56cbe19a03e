// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/pipeline/prefill/detail/scheduler.hpp>
#include <hocket/pipeline/prefill/problem.hpp>
#include <hocket/pipeline/table.hpp>
#include <hocket/timeline/timeline.hpp>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::pipeline {

/// What happened when, in a forward-only pipeline.
struct prefill_run {
  std::uint32_t ranks = 1;
  std::uint32_t stages = 1;
  std::pmr::vector<prefill_piece> pieces;
  std::pmr::vector<ticks> starts;            ///< by piece · stages + stage
  std::pmr::vector<ticks> finishes;          ///< the same
  std::pmr::vector<std::uint32_t> sequence;  ///< piece · stages + stage, in an order in which they can run
  std::pmr::vector<std::uint32_t> rank_of;   ///< by stage
  std::pmr::vector<ticks> ends;              ///< when the last piece of each request leaves the last stage, by request
  std::pmr::vector<ticks> waits;             ///< the same, from its arrival on: its time to first token

  /// When the last request ends.
  [[nodiscard]] ticks last_end() const noexcept {
    ticks last = 0;
    for (const ticks x : ends) last = x > last ? x : last;
    return last;
  }
  /// The mean time to first token.
  [[nodiscard]] double mean_wait() const noexcept {
    double sum = 0;
    for (const ticks x : waits) sum += static_cast<double>(x);
    return sum / static_cast<double>(waits.size());
  }
  /// How long a rank computes.
  [[nodiscard]] ticks busy(std::uint32_t rank) const noexcept {
    ticks sum = 0;
    for (std::size_t i = 0; i < starts.size(); ++i)
      if (rank_of[i % stages] == rank) sum += finishes[i] - starts[i];
    return sum;
  }
};

/// Runs pieces of given sizes, each as early as its rank and its input allow.
/// @param sizes  tokens of each piece, all pieces of the first request first. Only their sums are checked here: sizes
///               need not obey problem.sizes, so that what another tool does can be run, too.
/// @param order  which piece comes first where a rank with several chunks has a choice
/// Errors: those of check(problem); errc::out_of_range if sizes do not add up to the requests; invalid_argument for
/// times that are negative or above max_prefill_time; limit_exceeded for too many pieces.
/// Complexity: O(pieces · stages · chunks); memory O(pieces · stages).
///
///     const prefill_request prompt[] = {{.tokens = 3000}};
///     const std::int64_t sizes[] = {2000, 1000};
///     run_prefill({.ranks = 4, .requests = prompt}, all, sizes)->last_end();
template <prefill_cost_policy C>
[[nodiscard]] result<prefill_run> run_prefill(const prefill_problem& problem, const C& costs,
                                              std::span<const std::int64_t> sizes,
                                              prefill_order order = prefill_order::deepest_first,
                                              std::pmr::memory_resource* memory = std::pmr::get_default_resource()) {
  if (const auto ok = check(problem); !ok) return ok.error();
  if (const auto ok = detail::check_pieces(static_cast<std::int64_t>(sizes.size()), problem.stages()); !ok)
    return ok.error();
  detail::prefill_scheduler<C> scheduler(problem, costs, memory);
  if (const auto ok = scheduler.set_sizes(sizes); !ok) return ok.error();
  const auto stages = problem.stages();
  prefill_run run{static_cast<std::uint32_t>(problem.ranks),
                  stages,
                  std::pmr::vector<prefill_piece>(scheduler.pieces(), memory),
                  std::pmr::vector<ticks>(sizes.size() * stages, 0, memory),
                  std::pmr::vector<ticks>(sizes.size() * stages, 0, memory),
                  std::pmr::vector<std::uint32_t>(memory),
                  std::pmr::vector<std::uint32_t>(memory),
                  std::pmr::vector<ticks>(problem.requests.size(), 0, memory),
                  std::pmr::vector<ticks>(problem.requests.size(), 0, memory)};
  run.sequence.reserve(run.starts.size());
  for (std::uint32_t s = 0; s < stages; ++s) run.rank_of.push_back(problem.rank_of(s));
  const auto ran = scheduler(order, [&](std::uint32_t piece, std::uint32_t stage, ticks start, ticks finish) {
    const std::uint32_t i = piece * stages + stage;
    run.sequence.push_back(i);
    run.starts[i] = start;
    run.finishes[i] = finish;
  });
  if (!ran) return ran.error();
  for (std::size_t k = 0; k < run.pieces.size(); ++k) {
    const std::uint32_t r = run.pieces[k].request;
    run.ends[r] = run.finishes[(k + 1) * stages - 1];
    run.waits[r] = run.ends[r] - problem.requests[r].arrival;
  }
  return run;
}

/// The list of every rank: a forward for each piece, as the micro-batch of its number. `lower` adds the transfers.
/// Errors: errc::bad_shape beyond the limits of a table.
[[nodiscard]] inline result<table_schedule> lists_of(const prefill_run& run) {
  std::pmr::memory_resource* const memory = run.sequence.get_allocator().resource();
  std::pmr::vector<stage_action> actions(memory);
  std::pmr::vector<std::uint32_t> ends(memory);
  actions.reserve(run.sequence.size());
  for (std::uint32_t rank = 0; rank < run.ranks; ++rank) {
    for (const std::uint32_t i : run.sequence)
      if (run.rank_of[i % run.stages] == rank)
        actions.push_back({action_kind::forward, i % run.stages, i / run.stages});
    ends.push_back(static_cast<std::uint32_t>(actions.size()));
  }
  return table_schedule::make(actions, ends, memory);
}

/// A lane per rank with a bar for each piece; the number in it is that of the piece, the shade that of the chunk. Lanes
/// and bars are added to `into`.
inline void draw(const prefill_run& run, timeline& into) {
  const auto first = static_cast<std::uint32_t>(into.lane_count());
  for (std::uint32_t r = 0; r < run.ranks; ++r) {
    char name[24] = "rank ";
    const auto end = std::to_chars(name + 5, name + sizeof name, r).ptr;
    into.add_lane(std::string_view(name, static_cast<std::size_t>(end - name)));
  }
  for (const std::uint32_t i : run.sequence) {
    if (run.finishes[i] == run.starts[i]) continue;
    const std::uint32_t stage = i % run.stages;
    into.add({.start = run.starts[i],
              .finish = run.finishes[i],
              .lane = first + run.rank_of[stage],
              .kind = activity::forward,
              .chunk = static_cast<std::uint16_t>(stage / run.ranks),
              .id = stage,
              .micro_batch = static_cast<std::int32_t>(i / run.stages)});
  }
}

}  // namespace hocket::inline HOCKET_ABI::pipeline
