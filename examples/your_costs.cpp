// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A host has measured its stages and links: its table becomes a cost policy of a dozen lines. The laws judge it for the
// schedule at hand, and a table with a hole is told where the hole is.
#include <hocket/pipeline.hpp>
#include <hocket/testing/cost_policy_laws.hpp>

#include <array>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

namespace my {

/// What the host's profiler wrote: microseconds and bytes of each stage, and how fast each link between devices is.
struct profile {
  struct stage {
    double forward_us = 0, backward_us = 0;
    long long activation_bytes = 0, boundary_bytes = 0;
  };
  std::map<int, stage> stages;
  std::map<std::array<int, 2>, double> gb_per_s;  // of the links that were measured
};

/// How hocket sees it: in ticks of a nanosecond. What was not measured stays unknown; no number is made up.
struct measured_costs {
  static constexpr bool same_for_micro_batches = true;
  static constexpr std::int64_t ticks_per_second = 1'000'000'000;
  const profile* its;

  [[nodiscard]] const profile::stage* of(hocket::pipeline::stage_action a) const {
    const auto found = its->stages.find(static_cast<int>(a.stage()));
    return found == its->stages.end() ? nullptr : &found->second;
  }
  [[nodiscard]] bool knows(hocket::pipeline::stage_action a) const { return of(a) != nullptr; }
  [[nodiscard]] hocket::ticks duration(hocket::pipeline::stage_action a) const {
    const bool forward = a.kind() == hocket::pipeline::action_kind::forward;
    return static_cast<hocket::ticks>(1e3 * (forward ? of(a)->forward_us : of(a)->backward_us) + 0.5);
  }
  [[nodiscard]] static hocket::ticks latency(std::uint32_t, std::uint32_t) { return 5'000; }
  [[nodiscard]] hocket::ticks transfer(hocket::pipeline::stage_action a, std::uint32_t from, std::uint32_t to) const {
    const auto link = its->gb_per_s.find({static_cast<int>(from), static_cast<int>(to)});
    const double rate = link == its->gb_per_s.end() ? 10 : link->second;  // bytes a nanosecond
    return static_cast<hocket::ticks>(static_cast<double>(of(a)->boundary_bytes) / rate + 0.5);
  }
  [[nodiscard]] std::int64_t memory_change(hocket::pipeline::stage_action a) const {
    if (a.kind() == hocket::pipeline::action_kind::forward) return of(a)->activation_bytes;
    return a.kind() == hocket::pipeline::action_kind::backward ? -of(a)->activation_bytes : 0;
  }
};

}  // namespace my

int main() {
  using namespace hocket;
  const my::profile measured{{{0, {812.5, 1530, 64 << 20, 8 << 20}},
                              {1, {790, 1502.25, 60 << 20, 8 << 20}},
                              {2, {790, 1498, 60 << 20, 8 << 20}},
                              {3, {955, 1871, 80 << 20, 8 << 20}}},
                             {{{0, 1}, 180}, {{1, 0}, 180}, {{1, 2}, 23}, {{2, 1}, 23}, {{2, 3}, 180}, {{3, 2}, 180}}};
  const auto plan = pipeline::one_f_one_b::make({.ranks = 4, .micro_batches = 8}).value();
  const std::string lawful = testing::broken_law(my::measured_costs{&measured}, plan);

  my::profile with_hole = measured;
  with_hole.stages.erase(2);
  const std::string broken = testing::broken_law(my::measured_costs{&with_hole}, plan);
  std::printf("with a hole: %s\n", broken.c_str());

  const auto run = pipeline::simulate(plan, my::measured_costs{&measured});
  if (!lawful.empty() || !run) {
    std::printf("refused: %s\n", lawful.c_str());
    return 1;
  }
  std::printf("makespan %.3f ms, at least %.3f; rank 0 holds %lld MiB at most\n",
              static_cast<double>(run->makespan) * 1e-6, static_cast<double>(run->lower_bound) * 1e-6,
              static_cast<long long>(run->ranks[0].peak_bytes >> 20));
  return broken == "knows() denies the forward of stage 2, micro-batch 0" ? 0 : 1;
}
