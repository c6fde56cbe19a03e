// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/pipeline/detail/interleaved_order.hpp>
#include <hocket/pipeline/detail/phases.hpp>
#include <hocket/pipeline/schedules/groups.hpp>

#include <cstdint>

namespace hocket::inline HOCKET_ABI::pipeline {

/// How far the ranks of an interleaved schedule run ahead.
struct interleaved_options {
  /// Forwards that rank r runs ahead per rank below it: 1 suffices for the least makespan, 2 (Megatron-LM, PyTorch,
  /// Paddle) hides more latency at p - 1 - r activations more. 0: 2, but 1 with least_memory and capped, which allow
  /// no other.
  std::uint32_t kappa = 0;
  /// One forward more before the first backward, so that the two of a step can overlap (Megatron-LM's
  /// expert-parallel overlap). 0 or 1; 0 with least_memory and capped.
  std::uint32_t extra = 0;
};

/// What is known in O(1) about running the lists of an interleaved schedule in order.
enum class interleaved_outlook : std::uint8_t {
  optimal,    ///< reaches makespan_bound (least_memory: at its ratio f : b, else it runs but may be longer)
  runs,       ///< runs to the end, above makespan_bound (capped: at capped_makespan_bound)
  deadlocks,  ///< some rank waits for ever
  unknown,    ///< a list with groups smaller than min(m, p): simulate it
};

/// Interleaved 1F1B ("virtual pipeline"): v chunks per rank, so that the pipeline fills v times faster, for every
/// number of micro-batches, also those that p does not divide and those below p. A small value; every question below is
/// answered in O(1) (O(log groups) for groups::list), also in a constant expression.
/// Source: Narayanan et al. 2021, arXiv:2104.04473, for p | m; docs/pipeline.md for the rest, with proofs.
///
///     using namespace hocket::pipeline;
///     constexpr auto plan = interleaved::make({.ranks = 4, .chunks = 2, .micro_batches = 9}).value();
///     static_assert(plan.rank(0).size() == 36 && plan.rank(0)[5] == action(action_kind::forward, 1, 0));
///     constexpr auto least = interleaved::make({.ranks = 4, .chunks = 2, .micro_batches = 9}, groups::least_memory());
///     static_assert(plan.peak_in_flight(0) == 12 && least->peak_in_flight(0) == 8);
class interleaved : public detail::phased<interleaved> {
 public:
  constexpr interleaved() noexcept = default;

  /// Errors: errc::bad_shape. errc::bad_groups if a list does not add up to m or has an empty group. errc::out_of_range
  /// for kappa, extra and a cap that no order of this kind meets. errc::bad_cost for f or b < 1. errc::overflow if p·f
  /// does not fit.
  [[nodiscard]] static constexpr result<interleaved> make(const shape& s, const groups& g = groups::balanced(),
                                                          const interleaved_options& o = {}) noexcept {
    const auto order = detail::interleaved_order::make(s, g, o.kappa, o.extra);
    if (!order) return order.error();
    interleaved plan;
    plan.order_ = *order;
    return plan;
  }

  [[nodiscard]] constexpr std::uint32_t ranks() const noexcept { return order_.ranks; }
  [[nodiscard]] constexpr std::uint32_t chunks() const noexcept { return order_.chunks; }
  [[nodiscard]] constexpr std::uint32_t micro_batches() const noexcept { return order_.micro_batches; }
  [[nodiscard]] constexpr loop_placement placement() const noexcept { return {order_.ranks}; }

  /// Steps of warm-up, steady state and drain. The warm-up is min(mv, (v-1)·(largest group) + kappa (p-1-rank) +
  /// extra).
  [[nodiscard]] constexpr step_counts counts(std::uint32_t rank) const noexcept {
    return detail::alternation_counts(order_.count(), order_.warm_up(rank));
  }

  [[nodiscard]] constexpr std::uint32_t size(std::uint32_t) const noexcept { return 2 * order_.count(); }

 private:
  friend class detail::phased<interleaved>;
  friend constexpr const detail::interleaved_order& order_of(const interleaved& plan) noexcept { return plan.order_; }

  [[nodiscard]] constexpr detail::phase_list phases(std::uint32_t rank) const noexcept {
    return detail::alternation(order_.count(), order_.warm_up(rank));
  }
  [[nodiscard]] constexpr detail::action_run<action> run_from(std::uint32_t, const detail::phase_list::lane& lane,
                                                              std::uint32_t index) const noexcept {
    return order_.run_from(lane.kind, index);
  }
  [[nodiscard]] constexpr detail::phase_list::place place_of(std::uint32_t, action a) const noexcept {
    return order_.place_of(a);
  }
  detail::interleaved_order order_;
};

/// With which options it was made, a kappa of 0 replaced by the one that was taken.
[[nodiscard]] constexpr interleaved_options options_of(const interleaved& plan) noexcept {
  return {.kappa = order_of(plan).kappa, .extra = order_of(plan).extra};
}

/// Whether the lists can run, and how well. O(1), O(groups) for groups::list.
[[nodiscard]] constexpr interleaved_outlook outlook_of(const interleaved& plan) noexcept {
  const detail::interleaved_order& order = order_of(plan);
  const std::uint32_t p = order.ranks, v = order.chunks, m = order.micro_batches, rest = m % p;
  if (order.rule == groups::rule::capped) return interleaved_outlook::runs;
  if (order.rule == groups::rule::paper && m > p && rest != 0 && v > 1) {
    // With kappa 1 the order always runs; with 2, exactly these remainders deadlock (docs/pipeline.md, "The paper's
    // order"; tests simulate every shape in their range).
    const bool stuck = order.kappa == 2 && rest + 3 <= p && std::uint64_t{rest} * (v - 1) >= 2u + order.extra;
    return stuck ? interleaved_outlook::deadlocks : interleaved_outlook::runs;
  }
  if (order.rule == groups::rule::list) {
    const std::uint32_t least = m < p ? m : p;
    for (std::uint32_t j = 0; j < order.first_count; ++j)
      if (order.ends[j] - (j == 0 ? 0 : order.ends[j - 1]) < least)
        return v == 1 ? interleaved_outlook::optimal : interleaved_outlook::unknown;
  }
  return interleaved_outlook::optimal;
}

}  // namespace hocket::inline HOCKET_ABI::pipeline
