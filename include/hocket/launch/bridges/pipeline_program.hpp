// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/launch/check_transfers.hpp>
#include <hocket/launch/transfer.hpp>
#include <hocket/pipeline/action.hpp>

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <vector>

namespace hocket::inline HOCKET_ABI::launch {

namespace detail {
class pipeline_step_writer;
}

/// What every rank of a pipeline does, step by step, its transfers included: what `from_pipeline` makes and
/// `pipeline_runner` runs. Immutable.
class pipeline_program {
 public:
  explicit pipeline_program(std::pmr::memory_resource* memory = std::pmr::get_default_resource())
      : steps_(memory), actions_(memory), ends_(memory), requests_(memory) {}

  [[nodiscard]] std::uint32_t ranks() const noexcept { return static_cast<std::uint32_t>(ends_.size()); }

  [[nodiscard]] std::span<const transfer_command> steps(std::uint32_t rank) const& noexcept {
    return std::span(steps_).subspan(start(rank), ends_[rank] - start(rank));
  }
  std::span<const transfer_command> steps(std::uint32_t rank) const&& = delete;

  /// What each step is about: the action of a `run`; for a transfer, the send or receive as pipelines name it
  /// (send_forward of the sending stage, recv_forward of the receiving one, …); of a `wait`, what it waits for.
  [[nodiscard]] std::span<const pipeline::stage_action> actions(std::uint32_t rank) const& noexcept {
    return std::span(actions_).subspan(start(rank), ends_[rank] - start(rank));
  }
  std::span<const pipeline::stage_action> actions(std::uint32_t rank) const&& = delete;

  /// Sends and receives of a rank.
  [[nodiscard]] std::uint32_t request_count(std::uint32_t rank) const noexcept { return requests_[rank]; }

 private:
  friend class detail::pipeline_step_writer;
  [[nodiscard]] std::size_t start(std::uint32_t rank) const noexcept { return rank == 0 ? 0 : ends_[rank - 1]; }

  // One list for all ranks: rank r has the steps from ends_[r - 1] to ends_[r].
  std::pmr::vector<transfer_command> steps_;
  std::pmr::vector<pipeline::stage_action> actions_;
  std::pmr::vector<std::size_t> ends_;
  std::pmr::vector<std::uint32_t> requests_;
};

/// Whether the ranks of a program fit together under another model of blocking than the one `from_pipeline` made them
/// for. See `check_transfers` for lists of steps.
[[nodiscard]] inline result<void> check_transfers(
    const pipeline_program& program, transfer_model model, std::pmr::vector<blocked_transfer>* witness = nullptr,
    std::pmr::memory_resource* memory = std::pmr::get_default_resource()) {
  std::pmr::vector<std::span<const transfer_command>> lists(memory);
  for (std::uint32_t r = 0; r < program.ranks(); ++r) lists.push_back(program.steps(r));
  return check_transfers(lists, model, witness, memory);
}

}  // namespace hocket::inline HOCKET_ABI::launch
