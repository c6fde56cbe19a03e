// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/planner/plan/step_plan.hpp>
#include <hocket/planner/search_watch.hpp>
#include <hocket/planner/strategy/solve.hpp>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

// The sizes that a step leaves open: the strategy search says which are quick, plan_step which is the quickest.
namespace hocket::inline HOCKET_ABI::planner {
// NOLINTBEGIN(bugprone-unchecked-optional-access): what is read there, check() or the caller has seen

/// What of a step is open.
struct open_sizes {
  bool tp = false, pp = false, vp = false, cp = false, ep = false, etp = false;
  bool zero = false, recompute = false, sequence_parallel = false, copies = false, micro_batch = false;
  std::int64_t stages = 0;         ///< pp * vp, if that is given; 0: it is not
  std::int64_t micro_batches = 0;  ///< of a pipeline, if that is given; 0: it is not
};

/// The answer of choose_sizes.
struct sizes_answer {
  std::optional<step_problem> chosen;  ///< with the quickest sizes that fit; absent: none do
  strategy_plan searched;              ///< what was compared, by formula
  std::size_t planned = 0;             ///< of them, how many were planned, split and simulated by themselves
  std::size_t planned_that_fit = 0;
  /// Of those that fit by formula: planned or not, none is quicker than the chosen. With an open split nothing is
  /// proved so: the bounds are those of stages dealt out evenly.
  bool covered = false;
  bool stopped = false;           ///< the watch ended the search: the chosen is the best until then
  std::size_t without_split = 0;  ///< with an open split: candidates that might have become the quickest by theirs
  seconds step_time{};            ///< of the chosen
  bytes memory{};                 ///< of its fullest rank
};

namespace detail {

/// Every choice that agrees with what is given.
[[nodiscard]] inline strategy_space space_of(const step_problem& q, const open_sizes& open) {
  const cost::parallel& p = q.parallel;
  strategy_space space{.context = {p.cp}, .expert = {p.ep}, .zero_bubble = false, .expert_tensor = {p.etp}};
  if (open.cp) space.context = {1, 2, 4, 8, 16};
  if (open.ep) space.expert = strategy_space{}.expert;
  if (open.etp) space.expert_tensor = {1, 2, 4, 8};
  if (!open.tp) space.tensor = {p.tp};
  if (!open.pp) space.pipeline = {p.pp};
  if (!open.vp) space.chunks = {p.vp};
  else if (q.schedule.name == "1f1b" || q.schedule.name == "gpipe") space.chunks = {1};
  if (!open.zero) space.zeros = {p.zero};
  if (!open.copies) space.copies = {p.copies};
  if (!open.sequence_parallel) space.sequence = {p.sequence_parallel};
  if (!open.micro_batch) space.micro_batches = {q.training.micro_batch};
  using cost::recompute;
  space.recomputes = {p.recompute};
  if (open.recompute) space.recomputes = {recompute::none, recompute::selective, recompute::full};
  return space;
}

/// The parts of a space in which every strategy has the stages and micro-batches that are given.
[[nodiscard]] inline std::vector<strategy_space> parts_of_space(const step_problem& q, const strategy_space& space,
                                                                const open_sizes& open, std::int64_t devices) {
  if (open.stages == 0 && open.micro_batches == 0) return {space};
  std::vector<strategy_space> parts;
  const std::int64_t batch = q.training.global_batch;
  const auto agrees = [&](std::int64_t stages, std::int64_t sequences) {
    if (open.stages > 0 && stages != open.stages) return false;
    return open.micro_batches == 0 || (batch % sequences == 0 && batch / sequences == open.micro_batches);
  };
  const auto add = [&](std::int64_t tp, std::int64_t cp, std::int64_t pp, std::int64_t dp) {
    for (const std::int64_t vp : space.chunks)
      for (const std::int64_t one : space.micro_batches) {
        if (!agrees(pp * vp, one * dp)) continue;
        strategy_space& part = parts.emplace_back(space);
        part.tensor = {tp};
        part.context = {cp};
        part.pipeline = {pp};
        part.chunks = {vp};
        part.micro_batches = {one};
      }
  };
  for (const std::int64_t tp : space.tensor)
    for (const std::int64_t cp : space.context) {
      if (devices % (tp * cp) != 0) continue;
      const std::int64_t rest = devices / (tp * cp);
      for (std::int64_t pp = 1; pp <= rest; ++pp)
        if (rest % pp == 0 && (space.pipeline.empty() || space.pipeline.front() == pp)) add(tp, cp, pp, rest / pp);
    }
  return parts;
}

/// The answers for several parts as that for one space.
[[nodiscard]] inline strategy_plan joined(std::vector<strategy_plan> parts) {
  if (parts.size() == 1) return std::move(parts.front());
  strategy_plan all;
  auto& beyond = all.best_beyond_memory;
  for (const strategy_plan& one : parts) {
    all.named += one.named;
    all.evaluated += one.evaluated;
    all.fitting += one.fitting;
    all.faster += one.faster;
    all.stopped = all.stopped || one.stopped;
    for (std::size_t i = 0; i < rejection_count; ++i) all.rejected[i] += one.rejected[i];
    for (const auto& x : one.front) put_in_front(all.front, x);
    for (std::size_t level = 0; level < one.front_of_level.size(); ++level)
      for (const auto& x : one.front_of_level[level]) put_in_front(all.front_of_level[level], x);
    for (const auto& x : one.fastest)
      all.fastest.insert(std::upper_bound(all.fastest.begin(), all.fastest.end(), x, is_faster), x);
    for (const auto& x : one.by_least)
      all.by_least.insert(std::upper_bound(all.by_least.begin(), all.by_least.end(), x, is_sooner_at_least), x);
    for (const auto& x : one.best_beyond_memory)
      if (beyond.empty() || is_faster(x, beyond.front())) beyond.assign(1, x);
  }
  if (all.fastest.size() > most_kept) all.fastest.resize(most_kept);
  if (all.by_least.size() > most_by_least) all.by_least.resize(most_by_least);
  if (!beyond.empty() && !all.front.empty() && !is_faster(beyond.front(), all.front.front())) beyond.clear();
  return all;
}

/// The problem with the sizes of a strategy.
[[nodiscard]] inline step_problem with_sizes(step_problem q, const strategy& s) {
  cost::parallel& p = q.parallel;
  p.tp = s.how.tp;
  p.pp = s.how.pp;
  p.vp = s.how.vp;
  p.dp = s.how.dp;
  p.cp = s.how.cp;
  p.ep = s.how.ep;
  p.etp = s.how.etp;
  p.zero = s.how.zero;
  p.recompute = s.how.recompute;
  p.copies = s.how.copies;
  p.sequence_parallel = s.how.sequence_parallel;
  q.training.micro_batch = s.micro_batch;
  return q;
}

/// A step that no plan of these sizes is shorter than: a layer takes at least what it takes without recompute, and the
/// busiest rank at least the mean of all.
[[nodiscard]] inline double least_step(step_problem q) {
  q.parallel.recompute = cost::recompute::none;
  const auto step = cost::predict_step(q.model, q.training, q.parallel, *q.on);
  if (!step) return 0;
  double all = 0;
  for (const cost::layer_time& rank : step->rank_times) all += rank.total().count() - step->numbers.hop_seconds;
  return static_cast<double>(q.micro_batches()) * all / static_cast<double>(q.parallel.pp) +
         step->parts.optimizer.count();
}

/// Chooses sizes of one step.
template <watch_policy W>
class sizes_chooser {
 public:
  sizes_chooser(const step_problem& q, const open_sizes& open, std::int64_t devices, std::int64_t devices_per_node,
                const W& watch)
      : q_(q),
        open_(open),
        devices_(devices),
        devices_per_node_(devices_per_node),
        watch_(watch),
        space_(space_of(q, open)) {}

  [[nodiscard]] result<sizes_answer> operator()() {
    auto found = search();
    if (!found) return found.error();
    out_.searched = *std::move(found);
    std::vector<strategy> candidates;
    const auto add = [&](const strategy& s) {
      const auto same = [&](strategy other) {
        if (q_.search_split) other.how.recompute = s.how.recompute;  // the split chooses it by itself
        return other == s;
      };
      if (std::none_of(candidates.begin(), candidates.end(), same)) candidates.push_back(s);
    };
    for (const scored_strategy& x : out_.searched.fastest) add(x.of);
    for (const std::vector<scored_strategy>& front : out_.searched.front_of_level)
      for (const scored_strategy& x : front) add(x.of);
    plan(candidates);
    if (!q_.search_split) cover(candidates);
    return std::move(out_);
  }

 private:
  struct candidate {
    step_problem q;
    double seconds;  ///< with the best levels on even stages; a bound if that does not fit
    bool fits;
  };

  /// Every strategy, and where a split is open the fronts of all levels, too: what fits depends on the split.
  [[nodiscard]] result<strategy_plan> search() const {
    const cluster on{devices_, devices_per_node_, q_.memory, *q_.on};
    const auto held = [&](const strategy& s, std::int64_t micro_batches, std::int64_t rank) -> std::int64_t {
      if (q_.schedule.name == "search") return held_in_closed_form{}(s, micro_batches, rank);
      step_problem one = with_sizes(q_, s);
      one.training.global_batch = micro_batches * one.training.micro_batch * one.parallel.dp;
      const auto plan = schedule_of(one, {.forward = 1, .backward = 2});
      return plan ? plan->peak_in_flight(static_cast<std::uint32_t>(rank))
                  : held_in_closed_form{}(s, micro_batches, rank);
    };
    std::vector<strategy_plan> parts;
    for (const strategy_space& part : parts_of_space(q_, space_, open_, devices_)) {
      const strategy_problem problem{q_.model, q_.training, on, part, q_.replay, {}, q_.search_split};
      auto one = planner::solve(problem, held, watch_);
      if (!one) return one.error();
      parts.push_back(*std::move(one));
    }
    return joined(std::move(parts));
  }

  /// The problem of a strategy. A schedule is searched for once the sizes stand, and measured passes say nothing of
  /// other sizes.
  [[nodiscard]] step_problem usual(const strategy& s) const {
    step_problem out = with_sizes(q_, s);
    out.measured.reset();
    if (out.schedule.name == "search") out.schedule = usual_choice(out.parallel);
    return out;
  }

  /// Plans a candidate, and takes it if it fits and is shorter than what was taken.
  /// @return its step; nothing if it does not fit
  [[nodiscard]] std::optional<double> try_one(const step_problem& q, split_effort effort) {
    const auto plan = plan_step(q, {.record = false, .effort = effort});
    if (!plan || !plan->step || !plan->fits(q_.memory)) return std::nullopt;
    const seconds step = plan->step->step_time();
    if (!out_.chosen || step < out_.step_time) {
      out_.step_time = step;
      out_.memory = bytes_up(plan->fullest().peak.total_bytes());
      out_.chosen = q;
      out_.chosen->schedule = q_.schedule;
      out_.chosen->measured = q_.measured;
    }
    return step.count();
  }

  /// Plans what may still be quicker than what was found, by its least step, until nothing is left that may.
  void cover(const std::vector<strategy>& planned) {
    constexpr std::int64_t most_passes = std::int64_t{1} << 23;  // a second or two
    const std::vector<scored_strategy>& some = out_.searched.by_least;
    std::int64_t passes = 0;
    for (const scored_strategy& x : some) {
      if (!goes_on(passes, static_cast<std::size_t>(most_passes))) return;
      if (out_.chosen && seconds(x.cost.least).count() >= out_.step_time.count()) break;
      if (std::find(planned.begin(), planned.end(), x.of) != planned.end()) continue;
      const step_problem q = usual(x.of);
      const std::int64_t of_this = passes_of_step(q);
      passes += of_this;
      if (of_this > most_recorded || passes > most_passes) return;
      ++out_.planned;
      if (try_one(q, split_effort::levels)) ++out_.planned_that_fit;
    }
    const bool all_listed = static_cast<std::int64_t>(some.size()) == out_.searched.fitting;
    const bool last_is_slower =
        !some.empty() && out_.chosen && seconds(some.back().cost.least).count() >= out_.step_time.count();
    out_.covered = (all_listed || last_is_slower) && !out_.searched.stopped;
  }
  [[nodiscard]] bool goes_on(std::int64_t done, std::size_t all) {
    out_.stopped = out_.stopped || !watch_({done, static_cast<std::int64_t>(all)});
    return !out_.stopped || !out_.chosen;
  }

  /// Plans all candidates on even stages, and if the split is open the most promising of them with one of their own.
  void plan(const std::vector<strategy>& strategies) {
    constexpr int most_split = 6;
    std::vector<candidate> all;
    std::int64_t done = 0;
    for (const strategy& s : strategies) {
      if (!goes_on(done++, strategies.size())) return;
      step_problem q = usual(s);
      if (passes_of_step(q) > most_recorded) continue;
      const double bound = least_step(q);
      if (!q_.search_split && out_.chosen && bound >= out_.step_time.count()) continue;
      ++out_.planned;
      const std::optional<double> step = try_one(q, split_effort::levels);
      if (step) ++out_.planned_that_fit;
      all.push_back({std::move(q), step.value_or(bound), step.has_value()});
    }
    if (!q_.search_split) return;
    const auto before = [](const candidate& a, const candidate& b) {
      return a.fits != b.fits ? a.fits : a.seconds < b.seconds;
    };
    std::vector<candidate> ordered;
    for (candidate& each : all)
      ordered.insert(std::upper_bound(ordered.begin(), ordered.end(), each, before), std::move(each));
    int split = 0;
    for (const candidate& each : ordered) {
      if (!goes_on(split, most_split)) return;
      if (out_.chosen && least_step(each.q) >= out_.step_time.count()) continue;  // no split makes it the quickest
      if (split == most_split) ++out_.without_split;
      else split += try_one(each.q, split_effort::quick) ? 1 : 0;
    }
  }

  const step_problem& q_;
  const open_sizes& open_;
  std::int64_t devices_, devices_per_node_;
  const W& watch_;
  strategy_space space_;
  sizes_answer out_;
};

}  // namespace detail

/// Chooses what a step leaves open: every strategy of the space is priced by formula, the fastest of them are planned
/// (split, scheduled, simulated), and the quickest that fits is taken. Sizes that are not open stay as `q` has them.
/// Where no split is open, the rest of the space is covered: what might be quicker by its least step is planned, too.
/// @param watch  asked before each plan; once there is a best so far, its false ends the search
/// Precondition: q.on. Errors: those of solve(strategy_problem).
/// Complexity: that of the search, and at most most_kept plans; with an open split also those of its fronts.
///
///     const auto sizes = planner::choose_sizes(q, {.tp = true, .pp = true, .micro_batch = true}, 2048);
///     const auto plan = planner::plan_step(*sizes->chosen);
template <watch_policy W = unwatched>
[[nodiscard]] result<sizes_answer> choose_sizes(const step_problem& q, const open_sizes& open, std::int64_t devices,
                                                std::int64_t devices_per_node = 8, const W& watch = {}) {
  return detail::sizes_chooser<W>(q, open, devices, devices_per_node, watch)();
}

// NOLINTEND(bugprone-unchecked-optional-access)
}  // namespace hocket::inline HOCKET_ABI::planner
