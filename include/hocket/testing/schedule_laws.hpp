// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What every schedule must obey, checked by the slowest and plainest means: so that a host can test its own schedule
// class in its own project, with any test framework.
#pragma once
#include <hocket/core/message.hpp>
#include <hocket/pipeline/facts.hpp>
#include <hocket/pipeline/rank_view.hpp>
#include <hocket/pipeline/schedule.hpp>
#include <hocket/pipeline/shape.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::testing {

namespace detail {

/// "backward of stage 3, micro-batch 5"
[[nodiscard]] inline std::string name_of(pipeline::stage_action a) {
  std::string name(to_string(a.kind()));
  name += " of stage " + std::to_string(a.stage()) + ", micro-batch " + std::to_string(a.micro_batch());
  if (a.slice() > 0) name += ", slice " + std::to_string(a.slice());
  if (a.direction() > 0) name += ", second direction";
  return name;
}

template <pipeline::schedule S>
class schedule_laws {
 public:
  using value = decltype(std::declval<const S&>().at(0, 0));
  using stage_action = pipeline::stage_action;
  using action_kind = pipeline::action_kind;

  /// Precondition: the shape is one.
  explicit schedule_laws(const S& plan)
      : plan_(plan),
        ranks_(plan.ranks()),
        stages_(plan.ranks() * plan.chunks()),
        micro_batches_(plan.micro_batches()),
        slices_(pipeline::slices_of(plan)),
        directions_(pipeline::directions_of(plan)),
        lists_(plan.ranks()) {
    for (std::uint32_t r = 0; r < ranks_; ++r)
      for (std::uint32_t i = 0, size = plan.size(r); i < size; ++i) lists_[r].push_back(plan.at(r, i));
  }

  /// Stages and (rank, chunk) pairs are a bijection; the second direction gives each rank as many stages.
  [[nodiscard]] std::string placement() const {
    const auto& place = plan_.placement();
    for (std::uint32_t s = 0; s < stages_; ++s) {
      const std::uint32_t rank = place.rank_of(s), chunk = place.chunk_of(s);
      const std::string home = "rank " + std::to_string(rank) + ", chunk " + std::to_string(chunk);
      if (rank >= ranks_ || chunk >= plan_.chunks())
        return "the placement puts stage " + std::to_string(s) + " on " + home + ", which the shape does not have";
      if (const std::uint32_t back = place.stage(rank, chunk); back != s)
        return "the placement puts stage " + std::to_string(s) + " on " + home + ", but has stage " +
               std::to_string(back) + " there";
    }
    std::vector<std::uint32_t> held(ranks_);
    for (std::uint32_t s = 0; s < stages_ && directions_ == 2; ++s) {
      const std::uint32_t rank = pipeline::rank_of(place, ranks_, s, 1);
      if (rank >= ranks_ || ++held[rank] > plan_.chunks())
        return "the placement puts stage " + std::to_string(s) + " of the second direction on rank " +
               std::to_string(rank) + ", which has no room for it";
    }
    return {};
  }

  /// Every piece of work is in range, on the rank of its stage, and there exactly once.
  [[nodiscard]] std::string every_action_once() const {
    std::vector<std::uint8_t> seen(unit_count());  // bits of part_of
    for (std::uint32_t r = 0; r < ranks_; ++r) {
      for (std::uint32_t i = 0; i < lists_[r].size(); ++i) {
        if (!is_compute(lists_[r][i].kind())) continue;
        if (!in_range(lists_[r][i])) return at(r, i) + " is not in the shape";
        const stage_action a = pipeline::to_stage_action(plan_, r, lists_[r][i]);
        const std::uint32_t home = pipeline::rank_of(plan_.placement(), ranks_, a.stage(), a.direction());
        if (home != r) return at(r, i) + " belongs to rank " + std::to_string(home);
        std::uint8_t& parts = seen[unit_of(a)];
        if ((parts & part_of(a)) != 0) return at(r, i) + " has run already";
        parts = static_cast<std::uint8_t>(parts | part_of(a));
      }
    }
    for (std::size_t u = 0; u < seen.size(); ++u) {
      const int missing = ~seen[u] & all_parts;
      if (missing == 0) continue;
      action_kind kind = action_kind::backward;
      if ((missing & forward_part) != 0) kind = action_kind::forward;
      else if (missing == input_part) kind = action_kind::input_grad;
      else if (missing == weight_part) kind = action_kind::weight_grad;
      return "nothing runs the " + name_of(action_at(u, kind));
    }
    return {};
  }

  /// On each rank a backward comes after its forward, and a weight gradient after its input gradient.
  [[nodiscard]] std::string order_of_each_rank() const {
    for (std::uint32_t r = 0; r < ranks_; ++r) {
      std::vector<std::uint8_t> done(unit_count());
      for (std::uint32_t i = 0; i < lists_[r].size(); ++i) {
        const stage_action a = pipeline::to_stage_action(plan_, r, lists_[r][i]);
        if (!is_compute(a.kind())) continue;
        std::uint8_t& parts = done[unit_of(a)];
        if (starts_backward(a.kind()) && (parts & forward_part) == 0) return at(r, i) + " comes before its forward";
        if (a.kind() == action_kind::weight_grad && (parts & input_part) == 0)
          return at(r, i) + " comes before its input gradient";
        parts = static_cast<std::uint8_t>(parts | part_of(a));
      }
    }
    return {};
  }

  /// Running all lists in order never blocks for ever: each rank goes on as far as it can, until none can.
  [[nodiscard]] std::string no_deadlock() const {
    std::vector<std::uint8_t> done(unit_count());
    std::vector<std::uint32_t> step(ranks_);
    std::string waiting;
    for (bool moved = true; moved;) {
      moved = false;
      waiting.clear();
      for (std::uint32_t r = 0; r < ranks_; ++r) {
        const std::uint32_t before = step[r];
        const std::string missing = advance(r, step[r], done);
        moved = moved || step[r] != before;
        if (waiting.empty()) waiting = missing;
      }
    }
    return waiting.empty() ? waiting : "deadlock: " + waiting;
  }

  /// Every way to read a list gives the same actions, and gives them again.
  [[nodiscard]] std::string reading() const {
    for (std::uint32_t r = 0; r < ranks_; ++r) {
      const std::vector<value>& list = lists_[r];
      const auto size = static_cast<std::uint32_t>(list.size());
      if (plan_.size(r) != size) return "size(" + std::to_string(r) + ") changes from call to call";
      for (std::uint32_t i = size; i-- > 0;)
        if (plan_.at(r, i) != list[i]) return at(r, i) + " is another action when it is read again";
      std::uint32_t i = 0;
      for (const stage_action a : pipeline::stage_list(plan_, r)) {
        if (i >= size || a != pipeline::to_stage_action(plan_, r, list[i]))
          return at(r, i) + " differs between walking and at";
        ++i;
      }
      if (i != size) return "walking over rank " + std::to_string(r) + " ends at step " + std::to_string(i);
      if (std::string broken = filling(r); !broken.empty()) return broken;
      if constexpr (requires { plan_.rank(r).begin() + 1; })
        if (std::string broken = random_access(r); !broken.empty()) return broken;
    }
    return {};
  }

  /// What the schedule says of its lists without reading them is true.
  [[nodiscard]] std::string facts() const {
    for (std::uint32_t r = 0; r < ranks_; ++r) {
      const std::string here = "(" + std::to_string(r) + ") is ";
      if (const std::uint32_t said = pipeline::peak_of(plan_, r), counted = peak(r); said != counted)
        return "peak_in_flight" + here + std::to_string(said) + ", but the list holds " + std::to_string(counted);
      if constexpr (requires(value a) { plan_.step_of(r, a); }) {
        for (std::uint32_t i = 0; i < lists_[r].size(); ++i)
          if (is_compute(lists_[r][i].kind()) && plan_.step_of(r, lists_[r][i]) != i)
            return at(r, i) + " is at step " + std::to_string(plan_.step_of(r, lists_[r][i])) + " by step_of";
      }
      const pipeline::step_counts counts = pipeline::counts_of(plan_, r);
      if (counts.size() != lists_[r].size())
        return "counts" + here + std::to_string(counts.size()) + " steps, but the list has " +
               std::to_string(lists_[r].size());
      for (std::uint32_t i = 0; i < counts.warm_up; ++i)
        if (starts_backward(lists_[r][i].kind())) return at(r, i) + " is in the warm-up by counts";
      for (std::uint32_t i = counts.warm_up + counts.steady; i < counts.size(); ++i)
        if (lists_[r][i].kind() == action_kind::forward) return at(r, i) + " is in the drain by counts";
    }
    for (std::uint32_t r = 0; r < ranks_; ++r)
      if (const std::uint32_t again = pipeline::peak_of(plan_, r); again != peak(r))
        return "peak_in_flight(" + std::to_string(r) + ") is " + std::to_string(again) + " when it is asked again";
    return {};
  }

 private:
  static constexpr std::uint8_t forward_part = 1, input_part = 2, weight_part = 4, all_parts = 7;

  [[nodiscard]] static constexpr std::uint8_t part_of(stage_action a) {
    switch (a.kind()) {
      case action_kind::forward: return forward_part;
      case action_kind::input_grad: return input_part;
      case action_kind::weight_grad: return weight_part;
      case action_kind::backward: return input_part | weight_part;
      default: return 0;
    }
  }
  [[nodiscard]] std::size_t unit_count() const { return std::size_t{directions_} * stages_ * micro_batches_ * slices_; }
  [[nodiscard]] std::size_t unit_of(stage_action a) const {
    const std::size_t stage = std::size_t{a.direction()} * stages_ + a.stage();
    return (stage * micro_batches_ + a.micro_batch()) * slices_ + a.slice();
  }
  [[nodiscard]] stage_action action_at(std::size_t unit, action_kind kind) const {
    const auto slice = static_cast<std::uint32_t>(unit % slices_);
    const auto micro_batch = static_cast<std::uint32_t>(unit / slices_ % micro_batches_);
    const auto stage = static_cast<std::uint32_t>(unit / slices_ / micro_batches_);
    return {kind, stage % stages_, micro_batch, slice, stage / stages_};
  }
  [[nodiscard]] bool in_range(stage_action a) const {
    return a.stage() < stages_ && a.micro_batch() < micro_batches_ && a.slice() < slices_ &&
           a.direction() < directions_;
  }
  [[nodiscard]] bool in_range(pipeline::action a) const {
    return a.chunk() < plan_.chunks() && a.micro_batch() < micro_batches_;
  }
  /// "rank 2, step 5, forward of stage 3, micro-batch 4"
  [[nodiscard]] std::string at(std::uint32_t rank, std::uint32_t step) const {
    std::string place = "rank " + std::to_string(rank) + ", step " + std::to_string(step);
    if (step < lists_[rank].size()) place += ", " + name_of(named(rank, lists_[rank][step]));
    return place;
  }
  [[nodiscard]] stage_action named(std::uint32_t, stage_action a) const { return a; }
  [[nodiscard]] stage_action named(std::uint32_t rank, pipeline::action a) const {
    if (a.chunk() < plan_.chunks()) return pipeline::to_stage_action(plan_, rank, a);
    return {a.kind(), a.chunk() * ranks_ + rank, a.micro_batch()};  // for the sentence that refuses it
  }
  /// 2 where two actions run at once.
  [[nodiscard]] std::uint32_t cell_size(std::uint32_t rank, std::uint32_t step) const {
    return lists_[rank][step].joined() && step + 1 < lists_[rank].size() ? 2 : 1;
  }
  /// Runs a rank from `step` on until something that it needs has not run; says what, or nothing at the end of its
  /// list.
  [[nodiscard]] std::string advance(std::uint32_t rank, std::uint32_t& step, std::vector<std::uint8_t>& done) const {
    while (step < lists_[rank].size()) {
      const std::uint32_t end = step + cell_size(rank, step);
      for (std::uint32_t i = step; i < end; ++i)
        if (std::string missing = missing_for(rank, i, done); !missing.empty()) return missing;
      for (; step < end; ++step) mark(rank, step, done);
    }
    return {};
  }
  void mark(std::uint32_t rank, std::uint32_t step, std::vector<std::uint8_t>& done) const {
    const stage_action a = pipeline::to_stage_action(plan_, rank, lists_[rank][step]);
    if (is_compute(a.kind())) done[unit_of(a)] = static_cast<std::uint8_t>(done[unit_of(a)] | part_of(a));
  }

  /// The first thing that an action needs and that has not run, as a sentence; empty if it can run.
  [[nodiscard]] std::string missing_for(std::uint32_t rank, std::uint32_t step,
                                        const std::vector<std::uint8_t>& done) const {
    const stage_action a = pipeline::to_stage_action(plan_, rank, lists_[rank][step]);
    if (!is_compute(a.kind())) return {};
    const action_kind before = a.kind() == action_kind::weight_grad ? action_kind::input_grad : a.kind();
    const auto lacks = [&](action_kind kind, std::uint32_t stage, std::uint32_t slice) -> std::string {
      const stage_action needed(kind, stage, a.micro_batch(), slice, a.direction());
      const std::uint8_t part = kind == action_kind::forward ? forward_part : input_part;
      if ((done[unit_of(needed)] & part) != 0) return {};
      return at(rank, step) + " waits for the " + name_of(needed);
    };
    std::string missing;
    if (a.kind() == action_kind::forward) {
      if (a.stage() > 0) missing = lacks(before, a.stage() - 1, a.slice());
      if (missing.empty() && a.slice() > 0) missing = lacks(before, a.stage(), a.slice() - 1);
    } else if (starts_backward(a.kind())) {
      missing = lacks(action_kind::forward, a.stage(), a.slice());
      if (missing.empty() && a.stage() + 1 < stages_) missing = lacks(before, a.stage() + 1, a.slice());
      if (missing.empty() && a.slice() + 1 < slices_) missing = lacks(before, a.stage(), a.slice() + 1);
    } else {
      missing = lacks(before, a.stage(), a.slice());
    }
    return missing;
  }

  /// Activations held at most, counted: the actions of a pair take theirs before either lets go.
  [[nodiscard]] std::uint32_t peak(std::uint32_t rank) const {
    std::uint32_t held = 0, most = 0;
    for (std::uint32_t i = 0; i < lists_[rank].size();) {
      const std::uint32_t end = i + cell_size(rank, i);
      for (std::uint32_t j = i; j < end; ++j) held += lists_[rank][j].kind() == action_kind::forward ? 1u : 0u;
      most = held > most ? held : most;
      for (; i < end; ++i) held -= ends_activation(lists_[rank][i].kind()) ? 1u : 0u;
    }
    return most;
  }

  [[nodiscard]] std::string filling(std::uint32_t rank) const {
    const std::vector<value>& list = lists_[rank];
    const auto size = static_cast<std::uint32_t>(list.size());
    for (const std::uint32_t first : {0u, 1u, size / 2, size}) {
      for (const std::uint32_t room : {size + 1, size / 2, 1u}) {
        std::vector<value> block(room);
        const std::size_t count = pipeline::fill(plan_, rank, std::span<value>(block), first);
        const std::uint32_t left = first < size ? size - first : 0;
        if (count != (room < left ? room : left))
          return "fill from step " + std::to_string(first) + " of rank " + std::to_string(rank) + " into room for " +
                 std::to_string(room) + " writes " + std::to_string(count);
        for (std::uint32_t i = 0; i < count; ++i)
          if (block[i] != list[first + i]) return at(rank, first + i) + " differs between fill and at";
      }
    }
    return {};
  }

  [[nodiscard]] std::string random_access(std::uint32_t rank) const {
    const std::vector<value>& list = lists_[rank];
    const auto view = plan_.rank(rank);
    const auto begin = view.begin();
    if (view.end() - begin != static_cast<std::ptrdiff_t>(list.size()))
      return "the view of rank " + std::to_string(rank) + " has " + std::to_string(view.end() - begin) + " steps";
    auto back = view.end();
    for (std::uint32_t i = static_cast<std::uint32_t>(list.size()); i-- > 0;) {
      --back;
      if (*back != list[i] || *(begin + i) != list[i] || begin[i] != list[i])
        return at(rank, i) + " differs between the view of the rank and at";
    }
    return {};
  }

  const S& plan_;
  std::uint32_t ranks_, stages_, micro_batches_, slices_, directions_;  // stages of one direction
  std::vector<std::vector<value>> lists_;
};

}  // namespace detail

/// Whether a schedule may be trusted. Shape and placement make sense. Every forward and every backward (whole, or both
/// halves) is there once, in range, on its rank. A backward comes after its forward, a weight gradient after its input
/// gradient, and no rank waits for ever. All ways to read a list agree, and repeat. `peak_in_flight`, `step_of` and
/// `counts` are what the lists say.
/// @return an empty string, or the first law that is broken with its culprit. Complexity: O(ranks · actions).
///
///     CHECK(hocket::testing::broken_law(my_schedule(4, 8)) == "");
template <pipeline::schedule S>
[[nodiscard]] std::string broken_law(const S& plan) {
  if (const auto shaped = check(pipeline::shape_of(plan)); !shaped) return message(shaped.error());
  if (pipeline::slices_of(plan) < 1) return "slices() is 0";
  if (const std::uint32_t d = pipeline::directions_of(plan); d < 1 || d > 2)
    return "directions() is " + std::to_string(d) + ", not 1 or 2";
  const detail::schedule_laws<S> laws(plan);
  std::string broken = laws.placement();
  if (broken.empty()) broken = laws.every_action_once();
  if (broken.empty()) broken = laws.order_of_each_rank();
  if (broken.empty()) broken = laws.no_deadlock();
  if (broken.empty()) broken = laws.reading();
  if (broken.empty()) broken = laws.facts();
  return broken;
}

// Not a schedule: the member that is missing in place of "no matching function".
template <class S>
  requires(!pipeline::schedule<S>)
std::string broken_law(const S&) {
  static_assert(pipeline::detail::is_schedule<S>());
  return {};
}

}  // namespace hocket::inline HOCKET_ABI::testing
