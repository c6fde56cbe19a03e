// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/pipeline/detail/phases.hpp>

#include <algorithm>
#include <cstdint>

namespace hocket::inline HOCKET_ABI::pipeline {

/// 1F1B: one chunk per rank; rank r runs p - 1 - r forwards, then forward and backward in turn. The least makespan of
/// any schedule with one chunk, at min(m, p - r) activations, for every m >= 1, also m < p.
/// With `kappa` 2 the warm-up is twice as long (Eager 1F1B): the same makespan without latency, more of the latency
/// hidden, at up to p - 1 - r activations more.
/// Source: PipeDream-Flush (Narayanan et al. 2021, arXiv:2006.09503); docs/pipeline.md.
///
///     constexpr auto plan = hocket::pipeline::one_f_one_b::make({.ranks = 4, .micro_batches = 8}).value();
///     static_assert(plan.rank(0).size() == 16 && plan.counts(0).warm_up == 3 && plan.peak_in_flight(0) == 4);
class one_f_one_b : public detail::phased<one_f_one_b> {
 public:
  constexpr one_f_one_b() noexcept = default;

  /// @param kappa  1, or 2 for Eager 1F1B
  /// Errors: errc::bad_shape if chunks != 1 or the shape is out of range; errc::out_of_range for kappa.
  [[nodiscard]] static constexpr result<one_f_one_b> make(const shape& s, std::uint32_t kappa = 1) noexcept {
    if (const auto ok = check(s); !ok) return ok.error();
    if (s.chunks != 1)
      return error{errc::bad_shape, s.ranks, s.chunks, s.micro_batches}.with("1f1b has one chunk per rank");
    if (kappa < 1 || kappa > 2) return error{errc::out_of_range, kappa, 1, 2}.with("kappa");
    one_f_one_b plan;
    plan.ranks_ = static_cast<std::uint32_t>(s.ranks);
    plan.micro_batches_ = static_cast<std::uint32_t>(s.micro_batches);
    plan.kappa_ = kappa;
    return plan;
  }

  [[nodiscard]] constexpr std::uint32_t ranks() const noexcept { return ranks_; }
  [[nodiscard]] constexpr std::uint32_t chunks() const noexcept { return 1; }
  [[nodiscard]] constexpr std::uint32_t micro_batches() const noexcept { return micro_batches_; }
  [[nodiscard]] constexpr loop_placement placement() const noexcept { return {ranks_}; }

  /// Steps of warm-up, steady state and drain. The warm-up is min(m, kappa (p - 1 - rank)).
  [[nodiscard]] constexpr step_counts counts(std::uint32_t rank) const noexcept {
    return detail::alternation_counts(micro_batches_, warm_up(rank));
  }

  [[nodiscard]] constexpr std::uint32_t size(std::uint32_t) const noexcept { return 2 * micro_batches_; }
  friend constexpr bool operator==(const one_f_one_b&, const one_f_one_b&) = default;

 private:
  friend class detail::phased<one_f_one_b>;

  [[nodiscard]] constexpr std::uint32_t warm_up(std::uint32_t rank) const noexcept {
    return (std::min)(kappa_ * (ranks_ - 1 - rank), micro_batches_);
  }
  [[nodiscard]] constexpr detail::phase_list phases(std::uint32_t rank) const noexcept {
    return detail::alternation(micro_batches_, warm_up(rank));
  }
  std::uint32_t ranks_ = 1;
  std::uint32_t micro_batches_ = 1;
  std::uint32_t kappa_ = 1;
};

}  // namespace hocket::inline HOCKET_ABI::pipeline
