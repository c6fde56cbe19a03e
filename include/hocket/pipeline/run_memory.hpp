// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/result.hpp>
#include <hocket/core/ticks.hpp>
#include <hocket/pipeline/action.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>  // and with it std::allocator and std::allocator_traits, for less than <memory>

namespace hocket::inline HOCKET_ABI::pipeline {

/// Where the idle time of a rank comes from, in ticks, told in two ways that both add up to all of it.
struct idle_split {
  ticks warm_up = 0;        ///< before its first backward
  ticks steady = 0;         ///< between that and its last forward
  ticks drain = 0;          ///< after its last forward, to the end of the run
  ticks dependency = 0;     ///< while another rank still computes what it needs, or nothing is left to do
  ticks communication = 0;  ///< while what it needs is on its way
  friend constexpr bool operator==(const idle_split&, const idle_split&) = default;
};

/// What one rank did in a simulated run.
struct rank_report {
  ticks busy = 0;                    ///< time spent in actions
  ticks idle = 0;                    ///< makespan - busy
  ticks finish = 0;                  ///< end of its last action
  std::uint32_t peak_in_flight = 0;  ///< most activations held: forwards whose backward, or weight_grad, is not done
  std::int64_t peak_bytes = 0;       ///< the same in bytes, where the cost policy knows them (memory_change)
  idle_split idle_by{};              ///< where `idle` comes from
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

namespace detail {

using constexpr_allocator = std::allocator<std::byte>;

/// A set of numbers below a limit. Schedules add them in one direction, one by one, so that two bounds say it all;
/// what is added in another order turns the set into a bit per number.
struct unit_set {
  static constexpr std::size_t no_bits = ~std::size_t{0};
  std::uint32_t low = 0, high = 0;  // the numbers in [low, high), unless there are bits
  std::size_t bits = no_bits;       // index of the first word
  std::uint32_t size = 0;
};

/// A result that its receiver has not used yet.
struct waiting_result {
  static constexpr std::uint64_t none = ~std::uint64_t{0};
  std::uint64_t number = none;  // which: stage, way and unit
  ticks ready = 0;              // when it can be used
  ticks travel = 0;             // how long it was on its way
};

}  // namespace detail

/// The memory of a simulation, reusable from run to run: O(ranks + stages), and 50 to 100 bytes for each result that
/// waits at the same time. Where a stage takes its micro-batches in no order, it also needs a bit for each of them.
/// With std::allocator it works in constant expressions.
template <class Allocator>
class basic_workspace {
 public:
  template <class T>
  using vector = std::vector<T, typename std::allocator_traits<Allocator>::template rebind_alloc<T>>;

  static constexpr std::uint32_t none = ~std::uint32_t{0};

  struct lane {
    std::uint32_t step = 0;
    std::uint32_t size = 0;
    stage_action now, beside;  // at `step`, and the other of a pair
    bool pair = false;
    bool waits = false;  // for a result of another rank
    bool backwards_began = false;
    std::int64_t in_flight = 0;
    std::int64_t bytes = 0;
    ticks computing = 0;  // of busy: in ops that compute, none of which can precede the rank's first forward
    ticks undecided = 0;  // idle time since the last forward: steady if another follows, else drain
    ticks head = 0, tail = 0;
    rank_report report;
  };
  struct stage {
    std::uint32_t rank = 0;
    ticks forward_hop = 0, backward_hop = 0;                // from the stage before, from the stage after
    std::uint32_t forward_link = 0, backward_link = 0;      // over which they come
    std::uint32_t forward_sender = 0, backward_sender = 0;  // ranks of those stages
    detail::unit_set forwards, backwards, weights;          // done
    ticks work = 0;                                         // of its rank in its forwards and backwards
    ticks head = 0;                                         // least time before its first forward can start
    ticks tail = 0;                                         // least time after its last backward
    bool fused = false, split = false;
  };

  struct link {
    std::uint32_t to = 0;       // rank
    std::uint32_t next = none;  // link of the same sender
    ticks free_from = 0;
    ticks work = 0;                                    // of all transfers
    ticks head = (std::numeric_limits<ticks>::max)();  // least time before its first transfer can start
    ticks tail = (std::numeric_limits<ticks>::max)();  // least time after its last
  };

  constexpr explicit basic_workspace(const Allocator& from = {})
      : lanes(from), stages(from), entries(from), words(from), links(from), runnable(from), later(from) {}

  vector<lane> lanes;                      // by rank
  vector<stage> stages;                    // by direction, then stage
  vector<detail::waiting_result> entries;  // a hash table: detail/run_results.hpp
  vector<std::uint64_t> words;             // of all sets with bits
  vector<link> links;                      // between ranks, each way, if transfers have a time of their own
  vector<std::uint32_t> runnable, later;   // ranks that can go on: this turn, the next

  constexpr void reset(std::size_t stage_count, std::size_t rank_count) {
    lanes.assign(rank_count, lane{});
    stages.assign(stage_count, stage{});
    words.clear();
    links.clear();
    runnable.clear();
    later.clear();
    runnable.reserve(rank_count);
    later.reserve(rank_count);
  }
};

/// For static_assert: `constexpr_workspace memory; run(plan, costs{}, memory);`
using constexpr_workspace = basic_workspace<detail::constexpr_allocator>;

}  // namespace hocket::inline HOCKET_ABI::pipeline
