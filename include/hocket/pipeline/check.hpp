// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/pipeline/run.hpp>

#include <cstdint>
#include <memory_resource>
#include <string_view>
#include <vector>

namespace hocket::inline HOCKET_ABI::pipeline {

namespace detail {

struct cycle_sink {
  std::pmr::vector<blocked>* cycle = nullptr;
  void on_action(std::uint32_t, std::uint32_t, stage_action, ticks, ticks) const noexcept {}
  void on_blocked(const blocked& b) const {
    if (cycle != nullptr) cycle->push_back(b);
  }
};

}  // namespace detail

/// Whether a schedule can be trusted with a training step: every forward and every backward (whole, or both halves) of
/// every stage runs exactly once, on the rank of its stage, and running the lists in order never blocks for ever.
/// Transfers are assumed to be buffered, as in every runtime with asynchronous sends.
/// @param cycle  after errc::deadlock: the shortest cycle of ranks that wait for each other
/// Errors: errc::duplicate_action, incomplete_schedule, misplaced_action, out_of_range (a stage or micro-batch that the
/// shape does not have), deadlock, limit_exceeded. Complexity: O(actions).
///
///     const auto plan = hocket::pipeline::interleaved::make({5, 2, 7}, hocket::pipeline::groups::paper()).value();
///     hocket::pipeline::check(plan).error().code == hocket::errc::deadlock;
template <schedule S>
[[nodiscard]] result<void> check(const S& plan, std::pmr::vector<blocked>* cycle = nullptr,
                                 std::pmr::memory_resource* memory = std::pmr::get_default_resource()) {
  if (cycle != nullptr) cycle->clear();
  const result<std::uint64_t> total = detail::units_of(plan, "stages x micro-batches to check");
  if (!total) return total.error();
  const std::uint32_t stages = plan.ranks() * plan.chunks(), slices = slices_of(plan);
  const std::uint64_t units = std::uint64_t{plan.micro_batches()} * slices;  // per stage
  constexpr std::uint8_t forward = 1, whole = 2, input = 4, weight = 8;
  constexpr std::string_view names[] = {"the forward", "the backward", "the input gradient", "the weight gradient"};
  std::pmr::vector<std::uint8_t> seen(*total, 0, memory);
  const auto place = plan.placement();
  for (std::uint32_t r = 0; r < plan.ranks(); ++r) {
    for (std::uint32_t i = 0; i < plan.size(r); ++i) {
      const stage_action a = stage_action_at(plan, r, i);
      if (!computes(a.kind())) continue;
      if (a.stage() >= stages) return error{errc::out_of_range, a.stage(), 0, std::int64_t{stages} - 1}.with("stage");
      if (a.micro_batch() >= plan.micro_batches() || a.slice() >= slices)
        return error{errc::out_of_range, a.micro_batch(), 0, std::int64_t{plan.micro_batches()} - 1}.with(
            "micro-batch");
      if (place.rank_of(a.stage()) != r)
        return error{errc::misplaced_action, std::int64_t{r} + 1, a.stage(), std::int64_t{place.rank_of(a.stage())} + 1,
                     std::int64_t{i} + 1};
      std::uint8_t& s = seen[std::size_t{a.stage()} * units + std::size_t{a.micro_batch()} * slices + a.slice()];
      const auto k = static_cast<unsigned>(a.kind());
      const std::uint8_t excludes[] = {forward, whole | input | weight, whole | input, whole | weight};
      if ((s & excludes[k]) != 0) return error{errc::duplicate_action, r, a.stage(), a.micro_batch(), i}.with(names[k]);
      s = static_cast<std::uint8_t>(s | 1u << k);
    }
  }
  for (std::uint64_t x = 0; x < *total; ++x) {
    const auto s = static_cast<std::uint32_t>(x / units), j = static_cast<std::uint32_t>(x % units) / slices;
    unsigned missing = 4;
    if ((seen[x] & forward) == 0) missing = 0;
    else if ((seen[x] & (whole | input)) == 0) missing = 1;
    else if ((seen[x] & (whole | weight)) == 0) missing = 3;
    if (missing < 4) return error{errc::incomplete_schedule, place.rank_of(s), s, j}.with(names[missing]);
  }
  workspace room{std::pmr::polymorphic_allocator<std::byte>(memory)};
  const auto ran = run(plan, costs{}, room, detail::cycle_sink{cycle});
  if (!ran) return ran.error();
  return {};
}

}  // namespace hocket::inline HOCKET_ABI::pipeline
