// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/result.hpp>
#include <hocket/launch/detail/transfer_checker.hpp>
#include <hocket/launch/transfer.hpp>

#include <memory_resource>
#include <span>
#include <vector>

namespace hocket::inline HOCKET_ABI::launch {

/// Whether the programs of all ranks fit together, before anything runs: every send meets a receive of the same
/// meaning, in the order of posting, and no rank waits for ever although nothing is buffered. A plan that passes cannot
/// hang by its own fault on any network; one that does not often runs with small messages and hangs with large ones.
/// @param programs  the steps of each rank
/// @param model     how transfers block; see `transfer_model`
/// @param witness   after errc::transfer_deadlock: the shortest cycle of ranks that wait for each other
/// Errors: errc::bad_transfer (a list that makes no sense by itself), unmatched_transfer, mismatched_transfer,
/// transfer_deadlock. Complexity: O(steps + transfers · log transfers).
///
///     using enum hocket::launch::transfer_kind;                  // two ranks that both send before they receive
///     const transfer_command a[] = {{1, 1, 0, 0, send}, {2, 1, 1, 0, recv}};
///     const transfer_command b[] = {{2, 0, 0, 0, send}, {1, 0, 1, 0, recv}};
///     const std::span<const transfer_command> both[] = {a, b};
///     check_transfers(both, transfer_model::in_order).error().code == hocket::errc::transfer_deadlock;
[[nodiscard]] inline result<void> check_transfers(
    std::span<const std::span<const transfer_command>> programs, transfer_model model = transfer_model::posted,
    std::pmr::vector<blocked_transfer>* witness = nullptr,
    std::pmr::memory_resource* memory = std::pmr::get_default_resource()) {
  if (witness != nullptr) witness->clear();
  detail::transfer_checker checker(programs, model, memory);
  if (const auto matched = checker.match(); !matched) return matched.error();
  return checker.play_ranks(witness);
}

}  // namespace hocket::inline HOCKET_ABI::launch
