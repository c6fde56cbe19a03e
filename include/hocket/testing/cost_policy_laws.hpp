// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What every cost policy of pipelines must obey, for the actions of a schedule: so that a host can test a table of its
// own measurements in its own project, with any test framework.
#pragma once
#include <hocket/core/arithmetic.hpp>
#include <hocket/pipeline/costs.hpp>
#include <hocket/testing/schedule_laws.hpp>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace hocket::inline HOCKET_ABI::testing {

namespace detail {

template <pipeline::cost_policy C, pipeline::schedule S>
class cost_laws {
 public:
  using stage_action = pipeline::stage_action;

  cost_laws(const C& costs, const S& plan) : costs_(costs), plan_(plan) {}

  /// Known, not negative, the same when asked again, and few enough ticks that a run of everything in turn fits.
  [[nodiscard]] std::string times() const {
    ticks total = 0;
    for (std::uint32_t r = 0; r < plan_.ranks(); ++r) {
      for (std::uint32_t i = 0; i < plan_.size(r); ++i) {
        const stage_action a = pipeline::stage_action_at(plan_, r, i);
        if constexpr (requires { costs_.knows(a); })
          if (!costs_.knows(a)) return "knows() denies the " + name_of(a);
        const ticks time = costs_.duration(a);
        if (time < 0) return "the " + name_of(a) + " takes " + std::to_string(time) + " ticks";
        if (costs_.duration(a) != time) return "the " + name_of(a) + " takes another time when asked again";
        if (std::string broken = joined(r, i); !broken.empty()) return broken;
        if (std::string broken = links(r, a); !broken.empty()) return broken;
        if (!checked_add(total, time, total) || total > most_ticks) return "all durations together overflow the clock";
      }
    }
    return {};
  }

  [[nodiscard]] std::string latencies() const {
    for (std::uint32_t from = 0; from < plan_.ranks(); ++from) {
      for (std::uint32_t to = 0; to < plan_.ranks(); ++to) {
        if (from == to) continue;  // nobody asks
        const std::string hop = "the latency from rank " + std::to_string(from) + " to " + std::to_string(to);
        const ticks time = costs_.latency(from, to);
        if (time < 0 || time > most_ticks) return hop + " is " + std::to_string(time) + " ticks";
        if (costs_.latency(from, to) != time) return hop + " is another one when asked again";
      }
    }
    return {};
  }

  /// `same_for_micro_batches`: what it says of the first micro-batch of a stage is true of all.
  [[nodiscard]] std::string uniform() const {
    if constexpr (pipeline::detail::uniform_costs<C>) {
      for (std::uint32_t r = 0; r < plan_.ranks(); ++r) {
        for (std::uint32_t i = 0; i < plan_.size(r); ++i) {
          const stage_action a = pipeline::stage_action_at(plan_, r, i);
          if (!is_compute(a.kind())) continue;
          const stage_action first(a.kind(), a.stage(), 0, 0, a.direction());
          if (costs_.duration(a) != costs_.duration(first))
            return "same_for_micro_batches, but the " + name_of(a) + " takes " + std::to_string(costs_.duration(a)) +
                   " ticks and micro-batch 0 takes " + std::to_string(costs_.duration(first));
        }
      }
    }
    return {};
  }

  /// What a forward takes, and whatever is recomputed, moved out or brought back, is let go by the end.
  [[nodiscard]] std::string memory() const {
    if constexpr (pipeline::detail::byte_costs<C>) {
      const std::size_t units = std::size_t{plan_.micro_batches()} * pipeline::slices_of(plan_);
      const std::size_t stages = std::size_t{plan_.ranks()} * plan_.chunks();
      std::vector<std::int64_t> held(units * stages * pipeline::directions_of(plan_));
      const auto place_of = [&](stage_action a) {
        return (a.direction() * stages + a.stage()) * units + a.micro_batch() * pipeline::slices_of(plan_) + a.slice();
      };
      for (std::uint32_t r = 0; r < plan_.ranks(); ++r) {
        for (std::uint32_t i = 0; i < plan_.size(r); ++i) {
          const stage_action a = pipeline::stage_action_at(plan_, r, i);
          if (a.micro_batch() >= plan_.micro_batches() || a.stage() >= stages) continue;  // of no piece of work
          const std::int64_t change = costs_.memory_change(a);
          if (costs_.memory_change(a) != change) return "the bytes of the " + name_of(a) + " change when asked again";
          std::int64_t& now = held[place_of(a)];
          if (!checked_add(now, change, now)) return "the bytes of the " + name_of(a) + " overflow";
          if (now < 0)
            return "the " + name_of(a) + " lets go " + std::to_string(-change) + " bytes and leaves " +
                   std::to_string(now);
        }
      }
      for (std::uint32_t r = 0; r < plan_.ranks(); ++r) {
        for (std::uint32_t i = 0; i < plan_.size(r); ++i) {
          const stage_action a = pipeline::stage_action_at(plan_, r, i);
          if (ends_activation(a.kind()) && held[place_of(a)] != 0)
            return "the " + name_of(a) + " leaves " + std::to_string(held[place_of(a)]) + " bytes behind";
        }
      }
    }
    return {};
  }

 private:
  static constexpr ticks most_ticks = (std::numeric_limits<ticks>::max)() / 2;  // what a simulated clock may show

  /// Two actions at once take at least the longer of the two.
  [[nodiscard]] std::string joined(std::uint32_t rank, std::uint32_t step) const {
    if constexpr (requires(stage_action a) { costs_.joined(a, a); }) {
      const stage_action a = pipeline::stage_action_at(plan_, rank, step);
      if (!a.joined() || step + 1 >= plan_.size(rank)) return {};
      const stage_action b = pipeline::stage_action_at(plan_, rank, step + 1);
      const ticks x = costs_.duration(a), y = costs_.duration(b), both = costs_.joined(a, b);
      if (both < (x < y ? y : x))
        return "the " + name_of(a) + " and the " + name_of(b) + " take " + std::to_string(x) + " and " +
               std::to_string(y) + " ticks apart, but " + std::to_string(both) + " at once";
    }
    return {};
  }

  [[nodiscard]] std::string links(std::uint32_t rank, stage_action a) const {
    if constexpr (pipeline::detail::linked_costs<C>) {
      const std::uint32_t last = plan_.ranks() * plan_.chunks() - 1;
      const bool sends =
          a.kind() == pipeline::action_kind::forward ? a.stage() < last : starts_backward(a.kind()) && a.stage() > 0;
      if (!sends) return {};
      const std::uint32_t next = a.kind() == pipeline::action_kind::forward ? a.stage() + 1 : a.stage() - 1;
      const std::uint32_t to = pipeline::rank_of(plan_.placement(), plan_.ranks(), next, a.direction());
      if (to == rank) return {};
      const ticks time = costs_.transfer(a, rank, to);
      const std::string transfer = "the transfer after the " + name_of(a);
      if (time < 0 || time > most_ticks) return transfer + " takes " + std::to_string(time) + " ticks";
      if (costs_.transfer(a, rank, to) != time) return transfer + " takes another time when asked again";
    }
    return {};
  }

  const C& costs_;
  const S& plan_;
};

}  // namespace detail

/// Whether a cost policy may time a schedule. Durations, latencies and transfers are known, not negative, the same when
/// asked again, and fit the clock together. `joined` is at least the longer of two. What `same_for_micro_batches` and
/// `ticks_per_second` say is true. Bytes that are taken are let go.
/// @param plan  a schedule that obeys its own laws
/// @return an empty string, or the first law that is broken with its culprit. Complexity: O(actions + ranks²).
///
///     CHECK(hocket::testing::broken_law(my_measured_costs(file), plan) == "");
template <pipeline::cost_policy C, pipeline::schedule S>
[[nodiscard]] std::string broken_law(const C& costs, const S& plan) {
  if constexpr (requires { C::ticks_per_second; })
    if (C::ticks_per_second <= 0) return "ticks_per_second is " + std::to_string(C::ticks_per_second);
  const detail::cost_laws<C, S> laws(costs, plan);
  std::string broken = laws.times();
  if (broken.empty()) broken = laws.latencies();
  if (broken.empty()) broken = laws.uniform();
  if (broken.empty()) broken = laws.memory();
  return broken;
}

// Not costs, or not a schedule: the member that is missing in place of "no matching function".
template <class C, class S>
  requires(pipeline::cost_policy<C> != pipeline::schedule<S>)
std::string broken_law(const C&, const S&) {
  static_assert(pipeline::detail::is_cost_policy<C>() && pipeline::detail::is_schedule<S>());
  return {};
}

/// For policies that time both forms of a backward: the whole is at least its longer half, and at most both halves, for
/// every stage and micro-batch. Not a law for those that leave one form out.
/// @return an empty string, or the first that is not, with its three times. Complexity: O(stages · micro-batches).
template <class C>
[[nodiscard]] std::string broken_halves(const C& costs, std::uint32_t stages, std::uint32_t micro_batches) {
  static_assert(pipeline::detail::is_cost_policy<C>());
  using pipeline::action_kind;
  for (std::uint32_t s = 0; s < stages; ++s) {
    for (std::uint32_t j = 0; j < micro_batches; ++j) {
      const pipeline::stage_action whole(action_kind::backward, s, j);
      const ticks all = costs.duration(whole);
      const ticks x = costs.duration(whole.with_kind(action_kind::input_grad));
      const ticks y = costs.duration(whole.with_kind(action_kind::weight_grad));
      ticks sum = 0;
      if (!checked_add(x, y, sum)) return "the halves of the " + detail::name_of(whole) + " overflow";
      if (all < (x < y ? y : x) || all > sum)
        return "the " + detail::name_of(whole) + " takes " + std::to_string(all) + " ticks, its halves " +
               std::to_string(x) + " and " + std::to_string(y);
    }
  }
  return {};
}

}  // namespace hocket::inline HOCKET_ABI::testing
