// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/result.hpp>
#include <hocket/pipeline/schedule.hpp>

#include <cstdint>
#include <string_view>

namespace hocket::inline HOCKET_ABI::pipeline {

/// Most (stage, micro-batch, slice) triples that one run may have.
inline constexpr std::uint64_t max_units = std::uint64_t{1} << 28;

namespace detail {

/// The (stage, micro-batch, slice) triples of a plan, for which a run or a check may need memory. A short list that
/// names a huge micro-batch must not take gigabytes: far more triples than actions cannot be a complete schedule.
template <schedule S>
[[nodiscard]] constexpr result<std::uint64_t> units_of(const S& plan, std::string_view purpose) noexcept {
  const std::uint64_t units = std::uint64_t{plan.ranks()} * plan.chunks() * directions_of(plan) * plan.micro_batches() *
                              std::uint64_t{slices_of(plan)};
  std::uint64_t limit = 0;
  for (std::uint32_t r = 0; r < plan.ranks(); ++r) limit += plan.size(r);
  constexpr std::uint64_t always = std::uint64_t{1} << 20;
  if (limit < always) limit = always;
  if (limit > max_units) limit = max_units;
  if (units > limit)
    return error{errc::limit_exceeded, static_cast<std::int64_t>(units), static_cast<std::int64_t>(limit)}.with(
        purpose);
  return units;
}

/// Whether the shape of a plan has the stage of an action and, if it computes, its micro-batch, slice and direction.
template <schedule S>
[[nodiscard]] constexpr bool in_shape(const S& plan, stage_action a) noexcept {
  if (a.stage() >= plan.ranks() * plan.chunks() || a.direction() >= directions_of(plan)) return false;
  return !is_compute(a.kind()) || (a.micro_batch() < plan.micro_batches() && a.slice() < slices_of(plan));
}

}  // namespace detail

}  // namespace hocket::inline HOCKET_ABI::pipeline
