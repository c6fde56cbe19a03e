// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/pipeline/run.hpp>
#include <hocket/pipeline/workspace.hpp>

#include <cstdint>
#include <memory_resource>
#include <string_view>
#include <vector>

namespace hocket::inline HOCKET_ABI::pipeline {

namespace detail {

struct cycle_sink {
  std::pmr::vector<blocked>* cycle = nullptr;
  void on_action(std::uint32_t, std::uint32_t, stage_action, ticks, ticks) const noexcept {}
  void on_blocked(const auto& b) const {  // a template: compiled only where it is called
    if (cycle != nullptr) cycle->push_back(b);
  }
};

}  // namespace detail

/// Whether a schedule can be trusted with a training step. Every forward and every backward (whole, or both halves) of
/// every stage must run exactly once, on the rank of its stage; running the lists in order must never block for ever.
/// Transfers are assumed to be buffered, as in every runtime with asynchronous sends.
/// @param witness  after errc::deadlock: the shortest cycle of ranks that wait for each other
/// Errors: errc::duplicate_action, incomplete_schedule, misplaced_action, out_of_range (a stage or micro-batch that the
/// shape does not have), deadlock, limit_exceeded. Complexity: O(actions).
///
///     const auto plan = hocket::pipeline::interleaved::make({5, 2, 7}, hocket::pipeline::groups::paper()).value();
///     hocket::pipeline::check(plan).error().code == hocket::errc::deadlock;
template <schedule S>
[[nodiscard]] result<void> check(const S& plan, std::pmr::vector<blocked>* witness = nullptr,
                                 std::pmr::memory_resource* memory = std::pmr::get_default_resource()) {
  if (witness != nullptr) witness->clear();
  workspace room{std::pmr::polymorphic_allocator<std::byte>(memory)};
  const auto ran = run(plan, costs{}, room, detail::cycle_sink{witness});
  if (!ran) return ran.error();
  return {};
}

// Not a schedule: the member that is missing in place of "no matching function".
template <class S>
  requires(!schedule<S>)
result<void> check(const S&, std::pmr::vector<blocked>* = nullptr, std::pmr::memory_resource* = nullptr) {
  static_assert(detail::is_schedule<S>());
  return {};
}

}  // namespace hocket::inline HOCKET_ABI::pipeline
