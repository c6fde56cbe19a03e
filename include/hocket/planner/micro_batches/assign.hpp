// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/arithmetic.hpp>
#include <hocket/core/detail/checked_answer.hpp>
#include <hocket/core/int128.hpp>
#include <hocket/core/result.hpp>
#include <hocket/core/ticks.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner {

/// Which data-parallel pipeline runs which micro-batch in which step: the question. All pipelines wait for each other
/// at the end of a step, so a step takes as long as its longest pipeline.
struct assignment_problem {
  std::vector<ticks> times;    ///< of each micro-batch, where it takes longest, >= 0
  std::int64_t pipelines = 1;  ///< data-parallel replicas
  std::int64_t steps = 1;
  bool equal_counts = true;       ///< every pipeline runs equally many in each step, as schedules want it
  bool keep_steps = false;        ///< micro-batches are listed step by step, and stay in theirs
  std::int64_t budget = 200'000;  ///< partial assignments looked at, for a proof
};

/// Where a micro-batch runs.
struct micro_batch_place {
  std::uint32_t step = 0, pipeline = 0;
  friend constexpr bool operator==(const micro_batch_place&, const micro_batch_place&) = default;
};

struct assignment_plan {
  std::vector<micro_batch_place> places;  ///< of each micro-batch
  ticks total = 0;                        ///< the sum over steps of the longest pipeline's work
  ticks lower_bound = 0;                  ///< no assignment has less
  bool proved = false;                    ///< the two are equal
};

/// Most micro-batches of a problem, and the longest time of one: sums fit.
inline constexpr std::int64_t max_assigned = 1 << 16;
inline constexpr ticks max_micro_batch_time = ticks{1} << 45;

namespace detail {

/// Loads of steps x pipelines. Item i is the i-th longest micro-batch.
class assignment_search {
 public:
  assignment_search(std::vector<ticks> longest_first, std::int64_t steps, std::int64_t pipelines, bool equal_counts)
      : times_(std::move(longest_first)),
        steps_(static_cast<std::size_t>(steps)),
        pipelines_(static_cast<std::size_t>(pipelines)),
        room_(equal_counts ? times_.size() / bins() : times_.size()),
        equal_(equal_counts) {}

  [[nodiscard]] ticks lower_bound() const {
    int128 sum = 0;
    for (const ticks t : times_) sum += t;
    const auto wide = static_cast<int128>(pipelines_);
    const auto bound = static_cast<ticks>((sum + wide - 1) / wide);
    ticks heads = times_.front();
    if (equal_) {        // steps of longest ones together have the least sum of longest ones
      ticks beside = 0;  // whatever runs with it
      for (std::size_t i = 1; i < room_; ++i) beside += times_[times_.size() - i];
      heads = 0;
      for (std::size_t i = 0; i < times_.size(); i += room_ * pipelines_) heads += times_[i] + beside;
    } else if (steps_ == 1 && times_.size() > pipelines_) {
      heads = (std::max)(heads, times_[pipelines_ - 1] + times_[pipelines_]);  // two of the first share a pipeline
    }
    return (std::max)(bound, heads);
  }

  /// Longest processing time first into all bins of all steps, bins of like load then share a step.
  void start_with_longest_first() {
    std::vector<std::size_t> bin_of = fill(0, times_.size(), bins());
    std::vector<ticks> loads(bins(), 0);
    for (std::size_t i = 0; i < times_.size(); ++i) loads[bin_of[i]] += times_[i];
    std::vector<std::size_t> by_load(bins()), place(bins());
    std::iota(by_load.begin(), by_load.end(), std::size_t{0});
    std::sort(by_load.begin(), by_load.end(),
              [&](std::size_t a, std::size_t b) { return loads[a] != loads[b] ? loads[a] > loads[b] : a < b; });
    for (std::size_t b = 0; b < bins(); ++b) place[by_load[b]] = b;
    for (std::size_t& b : bin_of) b = place[b];
    keep_if_better(bin_of);
  }
  /// The longest micro-batches in one step, the next in another; longest first in each. Needs equal counts.
  void start_with_like_in_a_step() {
    const std::size_t in_step = room_ * pipelines_;
    std::vector<std::size_t> bin_of(times_.size());
    for (std::size_t step = 0; step < steps_; ++step) {
      const std::vector<std::size_t> here = fill(step * in_step, (step + 1) * in_step, pipelines_);
      for (std::size_t i = 0; i < in_step; ++i) bin_of[step * in_step + i] = step * pipelines_ + here[i];
    }
    keep_if_better(bin_of);
  }
  /// Exchanges that shorten a step, or even out its loads.
  void improve(std::int64_t exchanges) {
    take(best_);
    for (bool better = true; better && exchanges > 0;) {
      better = false;
      for (std::size_t i = 0; i < times_.size() && exchanges > 0; ++i)
        for (std::size_t j = i + 1; j < times_.size() && exchanges > 0; ++j, --exchanges)
          if (times_[i] != times_[j] && try_exchange(i, j)) better = true;
    }
    keep_if_better(bin_of_);
  }
  /// Every assignment that can still win. Whether it saw all.
  bool search(std::int64_t budget) {
    if (times_.size() > max_depth) return false;
    loads_.assign(bins(), 0);
    counts_.assign(bins(), 0);
    bin_of_.assign(times_.size(), 0);
    budget_ = budget;
    descend(0);
    return budget_ > 0;
  }

  [[nodiscard]] ticks total() const { return best_total_; }
  [[nodiscard]] micro_batch_place place(std::size_t item) const {
    return {static_cast<std::uint32_t>(best_[item] / pipelines_), static_cast<std::uint32_t>(best_[item] % pipelines_)};
  }

 private:
  static constexpr std::size_t max_depth = 64;  // of the recursion: beyond, no search ends anyway

  [[nodiscard]] std::size_t bins() const { return steps_ * pipelines_; }
  /// Each item, longest first, to the bin with the least load that has room.
  [[nodiscard]] std::vector<std::size_t> fill(std::size_t first, std::size_t end, std::size_t bin_count) const {
    std::vector<ticks> loads(bin_count, 0);
    std::vector<std::size_t> counts(bin_count, 0), out;
    for (std::size_t i = first; i < end; ++i) {
      std::size_t least = bin_count;
      for (std::size_t b = 0; b < bin_count; ++b)
        if (counts[b] < room_ && (least == bin_count || loads[b] < loads[least])) least = b;
      loads[least] += times_[i];
      ++counts[least];
      out.push_back(least);
    }
    return out;
  }
  [[nodiscard]] ticks longest(std::size_t step) const {
    ticks most = 0;
    for (std::size_t b = step * pipelines_; b < (step + 1) * pipelines_; ++b) most = (std::max)(most, loads_[b]);
    return most;
  }
  [[nodiscard]] ticks sum_of_longest() const {
    ticks sum = 0;
    for (std::size_t step = 0; step < steps_; ++step) sum += longest(step);
    return sum;
  }
  void take(const std::vector<std::size_t>& bin_of) {
    bin_of_ = bin_of;
    loads_.assign(bins(), 0);
    for (std::size_t i = 0; i < times_.size(); ++i) loads_[bin_of[i]] += times_[i];
  }
  void keep_if_better(const std::vector<std::size_t>& bin_of) {
    take(bin_of);
    const ticks now = sum_of_longest();
    if (!best_.empty() && now >= best_total_) return;
    best_total_ = now;
    best_ = bin_of;
  }
  /// Of the two steps: the longest pipelines, then the squares of the two loads.
  struct unevenness {
    ticks longest;
    int128 squares;
  };
  [[nodiscard]] unevenness of(std::size_t a, std::size_t b) const {
    const std::size_t x = a / pipelines_, y = b / pipelines_;
    return {longest(x) + (x == y ? 0 : longest(y)), int128{loads_[a]} * loads_[a] + int128{loads_[b]} * loads_[b]};
  }
  bool try_exchange(std::size_t i, std::size_t j) {
    const std::size_t a = bin_of_[i], b = bin_of_[j];
    if (a == b) return false;
    const unevenness before = of(a, b);
    const ticks less = times_[i] - times_[j];
    loads_[a] -= less;
    loads_[b] += less;
    const unevenness after = of(a, b);
    if (after.longest < before.longest || (after.longest == before.longest && after.squares < before.squares)) {
      std::swap(bin_of_[i], bin_of_[j]);
      return true;
    }
    loads_[a] += less;
    loads_[b] -= less;
    return false;
  }
  /// Whether an earlier bin is in the same state, so that both lead to the same assignments.
  [[nodiscard]] bool repeats(std::size_t bin) const {
    const std::size_t step = bin / pipelines_, begin = step * pipelines_;
    for (std::size_t b = begin; b < bin; ++b)
      if (loads_[b] == loads_[bin] && counts_[b] == counts_[bin]) return true;
    for (std::size_t other = 0; other < step; ++other) {
      bool same = true;
      for (std::size_t b = 0; b < pipelines_ && same; ++b)
        same = loads_[other * pipelines_ + b] == loads_[begin + b] &&
               counts_[other * pipelines_ + b] == counts_[begin + b];
      if (same) return true;
    }
    return false;
  }
  void descend(std::size_t item) {
    if (budget_ <= 0) return;
    --budget_;
    if (item == times_.size()) {
      const ticks now = sum_of_longest();
      if (now >= best_total_) return;
      best_total_ = now;
      best_ = bin_of_;
      return;
    }
    for (std::size_t b = 0; b < bins(); ++b) {
      if (counts_[b] == room_ || repeats(b)) continue;
      loads_[b] += times_[item];
      ++counts_[b];
      bin_of_[item] = b;
      if (sum_of_longest() < best_total_) descend(item + 1);
      loads_[b] -= times_[item];
      --counts_[b];
    }
  }

  std::vector<ticks> times_;
  std::size_t steps_, pipelines_, room_;
  bool equal_;
  std::vector<ticks> loads_;
  std::vector<std::size_t> counts_, bin_of_, best_;
  ticks best_total_ = 0;
  std::int64_t budget_ = 0;
};

[[nodiscard]] inline result<void> check_times(std::span<const ticks> times) {
  if (times.empty() || static_cast<std::int64_t>(times.size()) > max_assigned)
    return error{errc::out_of_range, static_cast<std::int64_t>(times.size()), 1, max_assigned}.with("micro-batches");
  for (const ticks t : times)
    if (t < 0 || t > max_micro_batch_time)
      return error{errc::out_of_range, t, 0, max_micro_batch_time}.with("time of a micro-batch");
  return {};
}

/// Adds the answer for some micro-batches, as if they were all.
inline void assign_some(const assignment_problem& q, std::size_t first, std::size_t end, std::int64_t steps,
                        std::uint32_t first_step, assignment_plan& out) {
  std::vector<std::size_t> order;
  for (std::size_t i = first; i < end; ++i) order.push_back(i);
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return q.times[a] != q.times[b] ? q.times[a] > q.times[b] : a < b; });
  std::vector<ticks> sorted;
  for (const std::size_t i : order) sorted.push_back(q.times[i]);
  assignment_search search(sorted, steps, q.pipelines, q.equal_counts);
  const ticks bound = search.lower_bound();
  search.start_with_longest_first();
  if (q.equal_counts && search.total() > bound) search.start_with_like_in_a_step();
  if (search.total() > bound) search.improve(q.budget * 16);
  const bool all = search.total() == bound || search.search(q.budget);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const micro_batch_place at = search.place(i);
    out.places[order[i]] = {at.step + first_step, at.pipeline};
  }
  out.total += search.total();
  out.lower_bound += all ? search.total() : bound;
}

/// Whether a plan answers the problem and is what it says of itself: the check that solve() ends with. Errors:
/// errc::wrong_answer. O(micro-batches + steps x pipelines).
[[nodiscard]] inline result<void> check_answer(const assignment_problem& q, const assignment_plan& plan) {
  using hocket::detail::expect_equal;
  using hocket::detail::expect_within;
  const std::size_t n = q.times.size();
  const auto pipelines = static_cast<std::size_t>(q.pipelines);
  const std::size_t bins = static_cast<std::size_t>(q.steps) * pipelines;
  const auto places = static_cast<std::int64_t>(plan.places.size());
  if (const auto ok = expect_equal(places, static_cast<std::int64_t>(n), "the number of places"); !ok) return ok;
  std::vector<ticks> loads(bins, 0);
  std::vector<std::int64_t> counts(bins, 0);
  for (std::size_t i = 0; i < n; ++i) {
    const micro_batch_place at = plan.places[i];
    if (const auto ok = expect_within(at.step, 0, q.steps - 1, "the step of a micro-batch"); !ok) return ok;
    if (const auto ok = expect_within(at.pipeline, 0, q.pipelines - 1, "the pipeline of a micro-batch"); !ok) return ok;
    const auto own_step = static_cast<std::int64_t>(i / (n / (std::min)(n, static_cast<std::size_t>(q.steps))));
    if (q.keep_steps)
      if (const auto ok = expect_equal(at.step, own_step, "the step of a micro-batch"); !ok) return ok;
    loads[at.step * pipelines + at.pipeline] += q.times[i];
    ++counts[at.step * pipelines + at.pipeline];
  }
  ticks total = 0;
  for (std::size_t b = 0; b < bins; b += pipelines) {
    const auto first = loads.begin() + static_cast<std::ptrdiff_t>(b);
    total += *std::max_element(first, first + static_cast<std::ptrdiff_t>(pipelines));
  }
  const auto each = static_cast<std::int64_t>(n / bins);
  for (const std::int64_t count : counts)
    if (q.equal_counts)
      if (const auto ok = expect_equal(count, each, "the micro-batches of a pipeline"); !ok) return ok;
  if (const auto ok = expect_equal(plan.total, total, "the total"); !ok) return ok;
  return expect_within(plan.lower_bound, 0, total, "the lower bound");
}

}  // namespace detail

/// Errors: errc::out_of_range, errc::indivisible for equal counts that there cannot be.
[[nodiscard]] inline result<void> check(const assignment_problem& q) {
  if (const auto ok = detail::check_times(q.times); !ok) return ok;
  const auto count = static_cast<std::int64_t>(q.times.size());
  for (const std::int64_t n : {q.pipelines, q.steps})
    if (n < 1 || n > max_assigned) return error{errc::out_of_range, n, 1, max_assigned}.with("pipelines or steps");
  if (q.pipelines * q.steps > max_assigned)
    return error{errc::out_of_range, q.pipelines * q.steps, 1, max_assigned}.with("pipelines x steps");
  if (q.equal_counts && count % (q.pipelines * q.steps) != 0)
    return error{errc::indivisible, count, q.pipelines * q.steps}.with("micro-batches over pipelines x steps");
  if (q.keep_steps && count % q.steps != 0)
    return error{errc::indivisible, count, q.steps}.with("micro-batches over steps");
  if (q.budget < 0) return error{errc::invalid_argument, q.budget}.with("a negative budget");
  return {};
}

/// Deals micro-batches out to pipelines and steps: longest first to the least load, then exchanges, then, within the
/// budget, every assignment that can still win. With free counts and one step the first alone is at most 4/3 - 1/(3p)
/// of the best (Graham 1969). Steps are free unless `keep_steps`: long micro-batches that share a step wait for no
/// short ones, but then the samples of a step are no longer those that were drawn for it.
/// Errors: those of check; errc::wrong_answer for a plan that fails its last check, which would be a defect.
/// Complexity: O(n x steps x pipelines + budget x steps x pipelines).
///
///     planner::solve(assignment_problem{.times = {7, 5, 4, 4}, .pipelines = 2})->total == 11;
[[nodiscard]] inline result<assignment_plan> solve(const assignment_problem& q) {
  if (const auto ok = check(q); !ok) return ok.error();
  assignment_plan out;
  out.places.resize(q.times.size());
  const std::int64_t groups = q.keep_steps ? q.steps : 1;
  const std::size_t each = q.times.size() / static_cast<std::size_t>(groups);
  for (std::int64_t g = 0; g < groups; ++g) {
    const std::size_t first = static_cast<std::size_t>(g) * each;
    detail::assign_some(q, first, first + each, q.keep_steps ? 1 : q.steps, static_cast<std::uint32_t>(g), out);
  }
  out.proved = out.total == out.lower_bound;
  if (const auto ok = detail::check_answer(q, out); !ok) return ok.error();
  return out;
}

}  // namespace hocket::inline HOCKET_ABI::planner
