// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/detail/checked_answer.hpp>
#include <hocket/pipeline/run.hpp>
#include <hocket/pipeline/workspace.hpp>
#include <hocket/planner/detail/random_numbers.hpp>
#include <hocket/planner/micro_batches/times.hpp>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner {

struct order_options {
  std::int64_t budget = 5'040;  ///< simulated runs: all orders of seven different micro-batches
};

/// In which order a pipeline runs its micro-batches.
struct order_plan {
  std::vector<std::uint32_t> order;  ///< order[i] runs as the i-th: an index of the times
  ticks makespan = 0;
  ticks lower_bound = 0;  ///< no order of the same micro-batches is shorter; the makespan if all were tried
  bool proved = false;    ///< the two are equal
  friend bool operator==(const order_plan&, const order_plan&) = default;
};

namespace detail {

/// Runs a schedule with micro-batches in one order after another, and keeps the best.
template <pipeline::schedule S>
class order_search {
 public:
  order_search(const S& schedule, const micro_batch_times& times, std::int64_t budget)
      : schedule_(schedule), times_(times), left_(budget) {}

  /// Errors of the run. An order that is no longer allowed by the budget is not tried.
  result<void> attempt(const std::vector<std::uint32_t>& order) {
    if (best.makespan > 0 && (left_ <= 0 || best.makespan == best.lower_bound)) return {};
    --left_;
    const auto ran = pipeline::run(schedule_, micro_batch_costs_view{&times_, order}, room_);
    if (!ran) return ran.error();
    last_ = ran->makespan;
    if (best.order.empty() || ran->makespan < best.makespan) {
      best.order = order;
      best.makespan = ran->makespan;
    }
    best.lower_bound = ran->lower_bound;  // that of all orders
    return {};
  }
  [[nodiscard]] bool goes_on() const { return left_ > 0 && best.makespan != best.lower_bound; }
  [[nodiscard]] ticks last() const { return last_; }  ///< makespan of the last attempt

  order_plan best;

 private:
  const S& schedule_;
  const micro_batch_times& times_;
  std::int64_t left_;
  ticks last_ = 0;
  pipeline::workspace room_;
};

/// Numbers of the different micro-batches among some: equal ones have one number.
inline std::vector<std::uint32_t> kinds_of(const micro_batch_times& times, std::span<const std::uint32_t> which) {
  const auto same = [&](std::uint32_t a, std::uint32_t b) {
    for (std::size_t s = 0; s < times.stages; ++s) {
      const std::size_t x = s * times.count + a, y = s * times.count + b;
      if (times.forward[x] != times.forward[y] || times.backward[x] != times.backward[y]) return false;
    }
    return true;
  };
  std::vector<std::uint32_t> kinds;
  for (std::size_t i = 0; i < which.size(); ++i) {
    std::size_t first = 0;
    while (!same(which[first], which[i])) ++first;
    kinds.push_back(static_cast<std::uint32_t>(first));
  }
  return kinds;
}
/// How many orders there are, at most `most + 1`.
inline std::int64_t order_count(std::vector<std::uint32_t> kinds, std::int64_t most) {
  std::sort(kinds.begin(), kinds.end());
  int128 count = 1;
  std::int64_t alike = 0;
  for (std::size_t i = 0; i < kinds.size(); ++i) {  // whole at every i, and never less than before
    alike = i > 0 && kinds[i] == kinds[i - 1] ? alike + 1 : 1;
    count = count * static_cast<int128>(i + 1) / alike;
    if (count > most) return most + 1;
  }
  return static_cast<std::int64_t>(count);
}

template <pipeline::schedule S>
result<void> try_all_orders(order_search<S>& search, std::span<const std::uint32_t> which,
                            std::vector<std::uint32_t> kinds) {
  std::sort(kinds.begin(), kinds.end());
  do {
    std::vector<std::uint32_t> order;
    for (const std::uint32_t first : kinds) order.push_back(which[first]);  // one of each kind stands for all
    if (const auto ok = search.attempt(order); !ok) return ok;
  } while (search.goes_on() && std::next_permutation(kinds.begin(), kinds.end()));
  return {};
}
/// Moves from the best order on: two change places, or one goes elsewhere. A move is taken unless the order is then
/// longer than that of 40 moves ago (late acceptance), so that the search leaves small valleys.
template <pipeline::schedule S>
result<void> move_about(order_search<S>& search, std::size_t count) {
  constexpr std::size_t memory = 40;
  random_numbers draw(count);
  std::vector<std::uint32_t> now = search.best.order;
  ticks last = search.best.makespan;
  std::vector<ticks> before(memory, last);
  for (std::size_t move = 0; search.goes_on(); ++move) {
    std::vector<std::uint32_t> next = now;
    const auto from = draw.below(static_cast<std::uint32_t>(count)), to = draw.below(static_cast<std::uint32_t>(count));
    if (from == to) continue;
    const auto at = [&](std::uint32_t i) { return next.begin() + static_cast<std::ptrdiff_t>(i); };
    if (draw.below(2) == 0) std::swap(next[from], next[to]);
    else if (from < to) std::rotate(at(from), at(from) + 1, at(to) + 1);
    else std::rotate(at(to), at(from), at(from) + 1);
    if (const auto ok = search.attempt(next); !ok) return ok;
    ticks& old = before[move % memory];
    if (search.last() <= last || search.last() <= old) {
      now = std::move(next);
      last = search.last();
    }
    old = last;
  }
  return {};
}
/// Ascending, descending, longest in the middle, longest at the ends; then moves.
template <pipeline::schedule S>
result<void> try_some_orders(order_search<S>& search, const micro_batch_times& times,
                             std::span<const std::uint32_t> which) {
  std::vector<std::uint32_t> up(which.begin(), which.end());
  const auto work = [&](std::uint32_t j) {
    ticks sum = 0;
    for (std::size_t s = 0; s < times.stages; ++s)
      sum += times.forward[s * times.count + j] + times.backward[s * times.count + j];
    return sum;
  };
  std::sort(up.begin(), up.end(), [&](std::uint32_t a, std::uint32_t b) {
    const ticks x = work(a), y = work(b);
    return x != y ? x < y : a < b;
  });
  const std::vector<std::uint32_t> down(up.rbegin(), up.rend());
  const auto hill_of = [](const std::vector<std::uint32_t>& from) {
    std::vector<std::uint32_t> hill, back;
    for (std::size_t i = 0; i < from.size(); ++i) (i % 2 == 0 ? hill : back).push_back(from[i]);
    hill.insert(hill.end(), back.rbegin(), back.rend());
    return hill;
  };
  for (const auto& order : {up, down, hill_of(up), hill_of(down)})
    if (const auto ok = search.attempt(order); !ok) return ok;
  return move_about(search, which.size());
}
/// The order of a plan whose equal micro-batches are one of their kind, with each of them by itself again.
inline void tell_apart(std::vector<std::uint32_t>& order, std::span<const std::uint32_t> which,
                       std::span<const std::uint32_t> kinds) {
  std::vector<bool> used(which.size(), false);
  for (std::uint32_t& at : order) {
    std::size_t kind = 0;
    while (which[kind] != at) ++kind;
    std::size_t i = 0;
    while (used[i] || kinds[i] != kinds[kind]) ++i;
    used[i] = true;
    at = which[i];
  }
}

/// Whether an order has each of these micro-batches once and takes as long as it says: the check that
/// order_micro_batches ends with. Errors: those of pipeline::run; errc::wrong_answer. O(actions).
/// @param sorted  the micro-batches, ascending
template <pipeline::schedule S>
[[nodiscard]] result<void> check_answer(const S& schedule, const micro_batch_times& times,
                                        std::span<const std::uint32_t> sorted, const order_plan& plan) {
  using hocket::detail::expect_equal;
  std::vector<std::uint32_t> ordered = plan.order;
  std::sort(ordered.begin(), ordered.end());
  const auto wanted = static_cast<std::int64_t>(sorted.size()), found = static_cast<std::int64_t>(ordered.size());
  if (const auto ok = expect_equal(found, wanted, "the number of ordered micro-batches"); !ok) return ok;
  for (std::size_t i = 0; i < sorted.size(); ++i)
    if (const auto ok = expect_equal(ordered[i], sorted[i], "an ordered micro-batch"); !ok) return ok;
  pipeline::workspace room;
  const auto ran = pipeline::run(schedule, micro_batch_costs_view{&times, plan.order}, room);
  if (!ran) return ran.error();
  if (const auto ok = expect_equal(plan.makespan, ran->makespan, "the makespan"); !ok) return ok;
  return hocket::detail::expect_within(plan.lower_bound, 0, ran->makespan, "the lower bound");
}

}  // namespace detail

/// The best order of some micro-batches in a pipeline. Every order is tried if the budget allows; else the given one,
/// four by length, then moves until the budget ends.
/// @param schedule  of as many micro-batches; one direction
/// @param which     those micro-batches, each once, as they are given
/// Errors: those of check and of pipeline::run; errc::bad_shape for other numbers of stages or micro-batches, and for
/// schedules of two directions; errc::out_of_range for an invalid index; errc::wrong_answer for a plan that fails its
/// last check, which would be a defect. Complexity: budget x O(actions).
///
///     const std::uint32_t which[] = {0, 1, 2};
///     planner::order_micro_batches(schedule, times, which)->order
template <pipeline::schedule S>
[[nodiscard]] result<order_plan> order_micro_batches(const S& schedule, const micro_batch_times& times,
                                                     std::span<const std::uint32_t> which,
                                                     const order_options& options = {}) {
  if (const auto ok = check(times); !ok) return ok.error();
  const auto stages = static_cast<std::size_t>(schedule.ranks()) * schedule.chunks();
  const error wrong{errc::bad_shape, schedule.ranks(), schedule.chunks(), schedule.micro_batches()};
  if (stages != times.stages) return wrong.with("the times are of other stages");
  if (schedule.micro_batches() != which.size()) return wrong.with("another number is to be ordered");
  if (pipeline::directions_of(schedule) > 1) return wrong.with("the schedule has two directions");
  std::vector<std::uint32_t> seen(which.begin(), which.end());
  std::sort(seen.begin(), seen.end());
  for (std::size_t i = 0; i < seen.size(); ++i)
    if (seen[i] >= times.count || (i > 0 && seen[i] == seen[i - 1]))
      return error{errc::out_of_range, seen[i], 0, static_cast<std::int64_t>(times.count) - 1}.with("micro-batch");
  const std::int64_t budget = (std::max)(options.budget, std::int64_t{0});
  detail::order_search<S> search(schedule, times, budget + 1);  // and the given one
  const std::vector<std::uint32_t> kinds = detail::kinds_of(times, which);
  const bool all = detail::order_count(kinds, budget) <= budget;
  auto ok = search.attempt(std::vector<std::uint32_t>(which.begin(), which.end()));
  if (ok && search.goes_on())
    ok = all ? detail::try_all_orders(search, which, kinds) : detail::try_some_orders(search, times, which);
  if (!ok) return ok.error();
  order_plan out = std::move(search.best);
  detail::tell_apart(out.order, which, kinds);
  if (all) out.lower_bound = out.makespan;
  out.proved = out.makespan == out.lower_bound;
  if (const auto right = detail::check_answer(schedule, times, seen, out); !right) return right.error();
  return out;
}

}  // namespace hocket::inline HOCKET_ABI::planner
