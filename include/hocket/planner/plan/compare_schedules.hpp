// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/pipeline/any_schedule.hpp>
#include <hocket/pipeline/run.hpp>
#include <hocket/planner/plan/step_plan.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Every schedule of the library on the stages of a step.
namespace hocket::inline HOCKET_ABI::planner {
// NOLINTBEGIN(bugprone-unchecked-optional-access): what is read there, check() or the caller has seen

/// A schedule on the stages of a step.
struct compared_schedule {
  std::string schedule, groups;  ///< groups: of interleaved with several chunks
  std::int64_t chunks = 1, micro_batches = 1;
  ticks makespan = 0, lower_bound = 0;  ///< nanoseconds
  std::int64_t bytes = 0;               ///< on the fullest rank
  std::uint32_t peak = 0;               ///< most activations on a rank
  bool fits = false;
  bool best = false;  ///< fits, and no other with as many micro-batches is both as quick and as lean
};
struct schedule_comparison {
  std::vector<compared_schedule> rows;
  std::size_t impossible = 0;  ///< schedules that do not exist for a shape
  std::size_t left_out = 0;    ///< too much work
};

/// Groups that interleaved is compared with.
inline constexpr std::array<std::string_view, 5> compared_groups{"balanced", "last", "first", "paper", "least-memory"};

namespace detail {

/// Chunks that divide the layers no more finely than one each.
[[nodiscard]] inline std::vector<std::int64_t> compared_chunks(const step_problem& q) {
  std::vector<std::int64_t> out{q.parallel.vp};
  if (q.measured || !q.split.empty()) return out;
  for (const std::int64_t v : {1, 2, 4})
    if (v != q.parallel.vp && q.parallel.pp * v <= q.model.layer_count()) out.push_back(v);
  return out;
}

/// Bytes of the fullest rank under a schedule, whatever its placement.
[[nodiscard]] inline result<std::int64_t> fullest_under(const step_problem& q,
                                                        std::span<const cost::rank_layers> stages,
                                                        const pipeline::any_schedule& plan) {
  const std::vector<cost::rank_layers> ranks = ranks_of_schedule(stages, plan);
  std::int64_t most = 0;
  for (std::uint32_t r = 0; r < ranks.size(); ++r) {
    const cost::held_share passes = share_of(q, plan, plan.peak_in_flight(r));
    const auto memory = cost::memory_of_rank(q.model, ranks[r], q.training, q.parallel, passes);
    if (!memory) return memory.error();
    most = (std::max)(most, bytes_up(memory->peak.total_bytes()).count());
  }
  return most;
}

/// Compares schedules, with a bound on the work: simulated actions, so that every machine compares the same.
class schedule_comparer {
 public:
  explicit schedule_comparer(const step_problem& q) : q_(q) {}

  [[nodiscard]] result<void> add(std::int64_t chunks, std::int64_t micro_batches) {
    step_problem with = q_;
    with.parallel.vp = chunks;
    const auto stages = layers_of_stages(with.model, with.parallel, with.split, with.replay);
    if (!stages) return stages.error();
    const auto times = times_of_stages(with, *stages);
    if (!times) return times.error();
    const auto now = ticks_of(*times, hop_of(with));
    if (!now) return now.error();
    const pipeline::shape shape{q_.parallel.pp, chunks, micro_batches};
    for (const std::string_view name : pipeline::schedule_names)
      for (const std::string_view groups : compared_groups) {
        const bool grouped = name == "interleaved" && chunks > 1;
        if (!grouped && groups != "balanced") continue;
        if (const auto ok = add_one(with, *stages, *now, name, groups, shape); !ok) return ok;
      }
    return {};
  }

  [[nodiscard]] schedule_comparison outcome() {
    for (compared_schedule& x : out_.rows)
      x.best = x.fits && std::none_of(out_.rows.begin(), out_.rows.end(), [&](const compared_schedule& y) {
                 return y.micro_batches == x.micro_batches && y.makespan <= x.makespan && y.bytes <= x.bytes &&
                        (y.makespan < x.makespan || y.bytes < x.bytes);
               });
    return std::move(out_);
  }

 private:
  static constexpr std::int64_t most_actions = std::int64_t{1} << 21;  // about a second of work
  static constexpr std::int64_t most_built = std::int64_t{1} << 24;    // v-half and v-min take O(p m (p + m))

  [[nodiscard]] bool too_long(std::string_view name, const pipeline::shape& s) const {
    const bool built = name == "v-half" || name == "v-min";
    return 3 * s.ranks * s.chunks * s.micro_batches > room_ ||
           (built && s.ranks * s.micro_batches > most_built / (s.ranks + s.micro_batches));
  }

  [[nodiscard]] result<void> add_one(const step_problem& with, std::span<const cost::rank_layers> stages,
                                     const stage_ticks& now, std::string_view name, std::string_view groups,
                                     const pipeline::shape& s) {
    if (too_long(name, s)) {
      ++out_.left_out;
      return {};
    }
    pipeline::any_schedule_options with_groups{.groups = std::string(groups)};
    if (name == "interleaved" && groups == q_.schedule.groups) with_groups.kappa = q_.schedule.kappa;
    with_groups.times = {.forward = now.forward.front(), .backward = now.backward.front()};
    const auto plan = pipeline::any_schedule::make(name, s, with_groups);
    if (!plan) {
      ++out_.impossible;
      return {};
    }
    room_ -= 3 * s.ranks * s.chunks * s.micro_batches;
    const auto ran = pipeline::run(*plan, now.costs(), space_);
    if (!ran) {
      ++out_.impossible;
      return {};
    }
    const auto bytes = fullest_under(with, stages, *plan);
    if (!bytes) return bytes.error();
    compared_schedule x{.schedule = std::string(name),
                        .groups = name == "interleaved" && s.chunks > 1 ? std::string(groups) : "",
                        .chunks = s.chunks,
                        .micro_batches = s.micro_batches,
                        .makespan = ran->makespan,
                        .lower_bound = ran->lower_bound,
                        .bytes = *bytes};
    for (std::uint32_t r = 0; r < plan->ranks(); ++r) x.peak = (std::max)(x.peak, plan->peak_in_flight(r));
    x.fits = q_.memory.fits(hocket::bytes(x.bytes));
    out_.rows.push_back(std::move(x));
    return {};
  }

  const step_problem& q_;
  schedule_comparison out_;
  std::int64_t room_ = most_actions;
  pipeline::workspace space_;
};

}  // namespace detail

/// Every schedule of the library on the stages of a step, for several numbers of micro-batches and chunks: those of the
/// step first. Layers are dealt out evenly, or as the problem gives them.
/// Errors: those of the formulas. Complexity: at most 2^21 simulated actions; the rest is counted in `left_out`.
///
///     for (const auto& row : planner::compare_schedules(q)->rows)
///       if (row.best) std::println("{} {} s", row.schedule, row.makespan / 1e9);
[[nodiscard]] inline result<schedule_comparison> compare_schedules(const step_problem& q) {
  detail::schedule_comparer all(q);
  const std::int64_t m = q.micro_batches();
  std::vector<std::int64_t> batches{m, 2 * m, 4 * m};
  if (m > 1) batches.push_back(m / 2);
  for (const std::int64_t some : batches)
    for (const std::int64_t chunks : detail::compared_chunks(q))
      if (const auto ok = all.add(chunks, some); !ok) return ok.error();
  return all.outcome();
}

// NOLINTEND(bugprone-unchecked-optional-access)
}  // namespace hocket::inline HOCKET_ABI::planner
