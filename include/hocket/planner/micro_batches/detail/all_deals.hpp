// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/planner/micro_batches/order.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner::detail {

/// Few micro-batches: every set that a pipeline can have, in its best order, and the best way to deal such sets out.
/// Sets are masks of bits, one for each micro-batch.
///
/// | table | at a set | says |
/// |---|---|---|
/// | pipeline_ | of `each` | its makespan in the best order |
/// | step_ | of `each` x k | the least longest pipeline of k that share it |
/// | steps_ | of `each` x pipelines x k | the least sum of k steps |
class all_deals {
 public:
  static constexpr std::size_t most = 12;  // micro-batches: 3^12 pairs of sets

  all_deals(std::size_t count, std::size_t pipelines, std::size_t steps)
      : count_(count), each_(count / (pipelines * steps)), in_step_(count / steps) {}

  /// Simulated runs that solve() needs; the largest number if there are too many micro-batches.
  [[nodiscard]] std::int64_t runs() const {
    if (count_ > most) return (std::numeric_limits<std::int64_t>::max)();
    std::int64_t out = 1;
    for (std::size_t i = 0; i < each_; ++i) out *= static_cast<std::int64_t>(count_ - i);
    return out;
  }
  /// The best deal: the micro-batches of each step and pipeline.
  /// @param keep_steps  the first micro-batches stay in the first step, and so on
  template <pipeline::schedule S>
  result<std::vector<std::vector<std::uint32_t>>> solve(const S& schedule, const micro_batch_times& times,
                                                        bool keep_steps) {
    pipeline_.assign(std::size_t{1} << count_, none);
    for (std::uint32_t set = 0; set < pipeline_.size(); ++set) {
      if (size(set) != each_) continue;
      const auto best = order_micro_batches(schedule, times, members(set));
      if (!best) return best.error();
      pipeline_[set] = best->makespan;
    }
    fill_steps();
    return dealt(keep_steps);
  }

 private:
  static constexpr ticks none = (std::numeric_limits<ticks>::max)();
  [[nodiscard]] static std::size_t size(std::uint32_t set) { return static_cast<std::size_t>(std::popcount(set)); }
  [[nodiscard]] std::vector<std::uint32_t> members(std::uint32_t set) const {
    std::vector<std::uint32_t> out;
    for (std::uint32_t j = 0; j < count_; ++j)
      if ((set >> j & 1u) != 0) out.push_back(j);
    return out;
  }
  /// The subset of so many, with the first member of the set, that makes value(subset, rest) least; 0: the set is
  /// empty.
  template <class Value>
  [[nodiscard]] std::uint32_t best_part(std::uint32_t set, std::size_t of, const Value& value) const {
    const std::uint32_t first = set & (0u - set);
    std::uint32_t best = 0;
    for (std::uint32_t part = set; part != 0; part = (part - 1) & set)
      if ((part & first) != 0 && size(part) == of && (best == 0 || value(part, set ^ part) < value(best, set ^ best)))
        best = part;
    return best;
  }
  [[nodiscard]] ticks in_a_step(std::uint32_t part, std::uint32_t rest) const {
    return (std::max)(pipeline_[part], step_[rest]);
  }
  [[nodiscard]] ticks in_steps(std::uint32_t part, std::uint32_t rest) const { return step_[part] + steps_[rest]; }
  [[nodiscard]] std::uint32_t pipeline_of(std::uint32_t set) const {
    return best_part(set, each_, [&](std::uint32_t part, std::uint32_t rest) { return in_a_step(part, rest); });
  }
  [[nodiscard]] std::uint32_t step_of(std::uint32_t set) const {
    return best_part(set, in_step_, [&](std::uint32_t part, std::uint32_t rest) { return in_steps(part, rest); });
  }
  void fill_steps() {
    step_.assign(pipeline_.size(), 0);
    steps_.assign(pipeline_.size(), 0);
    for (std::uint32_t set = 1; set < step_.size(); ++set) {
      if (size(set) % each_ != 0 || size(set) > in_step_) continue;
      const std::uint32_t part = pipeline_of(set);
      step_[set] = in_a_step(part, set ^ part);
    }
    for (std::uint32_t set = 1; set < steps_.size(); ++set) {
      if (size(set) % in_step_ != 0) continue;
      const std::uint32_t part = step_of(set);
      steps_[set] = in_steps(part, set ^ part);
    }
  }
  [[nodiscard]] std::vector<std::vector<std::uint32_t>> dealt(bool keep_steps) const {
    std::vector<std::vector<std::uint32_t>> out;
    const std::uint32_t of_a_step = (1u << in_step_) - 1;
    for (std::uint32_t left = static_cast<std::uint32_t>(step_.size() - 1); left != 0;) {
      std::uint32_t step = keep_steps ? left & (of_a_step << std::countr_zero(left)) : step_of(left);
      left ^= step;
      while (step != 0) {
        const std::uint32_t part = pipeline_of(step);
        out.push_back(members(part));
        step ^= part;
      }
    }
    return out;
  }

  std::size_t count_, each_, in_step_;
  std::vector<ticks> pipeline_, step_, steps_;
};

}  // namespace hocket::inline HOCKET_ABI::planner::detail
