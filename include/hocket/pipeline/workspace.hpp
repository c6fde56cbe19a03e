// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/core/ticks.hpp>
#include <hocket/pipeline/action.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <vector>

namespace hocket::inline HOCKET_ABI::pipeline {

/// What one rank did in a simulated run.
struct rank_report {
  ticks busy = 0;                    ///< time spent in actions
  ticks idle = 0;                    ///< makespan - busy
  ticks finish = 0;                  ///< end of its last action
  std::uint32_t peak_in_flight = 0;  ///< most activations held: forwards whose backward, or weight_grad, is not done
  friend constexpr bool operator==(const rank_report&, const rank_report&) = default;
};

/// One link of a deadlock: `rank` cannot start `action` at `step`, because it needs `needs`, which stands further down
/// in the list of rank `holder`, itself blocked.
struct blocked {
  std::uint32_t rank = 0;
  std::uint32_t step = 0;
  stage_action action;
  stage_action needs;
  std::uint32_t holder = 0;
  friend constexpr bool operator==(const blocked&, const blocked&) = default;
};

/// The memory of a simulation, reusable from run to run: two times per (stage, micro-batch, slice), and O(ranks +
/// stages) besides. With std::allocator it works in constant expressions.
template <class Allocator>
class basic_workspace {
  template <class T>
  using vector = std::vector<T, typename std::allocator_traits<Allocator>::template rebind_alloc<T>>;

 public:
  struct lane {
    std::uint32_t step = 0;
    std::uint32_t mark = 0;
    std::int64_t in_flight = 0;
    ticks computing = 0;  // of busy: in ops that compute, none of which can precede the rank's first forward
    rank_report report;
  };
  struct stage {
    ticks work = 0;  // time its rank spends in its forwards and its (input-gradient) backwards
    ticks head = 0;  // least time before its first forward can start
    ticks tail = 0;  // least time after its last backward
    bool fused = false, split = false;
  };

  constexpr explicit basic_workspace(const Allocator& from = {})
      : forward_end(from), backward_end(from), lanes(from), stages(from), runnable(from) {}

  vector<ticks> forward_end;  // >= 0: when it ended; -1: not yet; -2 - r: not yet, and rank r waits for it
  vector<ticks> backward_end;
  vector<lane> lanes;
  vector<stage> stages;
  vector<std::uint32_t> runnable;

  constexpr void reset(std::size_t units, std::size_t stage_count, std::size_t rank_count) {
    forward_end.assign(units, -1);
    backward_end.assign(units, -1);
    lanes.assign(rank_count, lane{});
    stages.assign(stage_count, stage{});
    runnable.clear();
    runnable.reserve(rank_count);
  }
};

using workspace = basic_workspace<std::pmr::polymorphic_allocator<std::byte>>;
/// For static_assert: `constexpr_workspace memory; run(plan, costs{}, memory);`
using constexpr_workspace = basic_workspace<std::allocator<std::byte>>;

}  // namespace hocket::inline HOCKET_ABI::pipeline
