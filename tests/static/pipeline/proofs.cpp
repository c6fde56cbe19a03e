// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the headers promise at compile time.
#include <hocket/pipeline.hpp>

#include <ranges>
#include <type_traits>

namespace {

using namespace hocket::pipeline;

template <class Plan>
constexpr hocket::ticks makespan(const Plan& plan, costs c) {
  constexpr_workspace memory;
  return run(plan, c, memory).value().makespan;
}

// The two shapes that no other system runs well.
static_assert(makespan(interleaved::make({.ranks = 4, .chunks = 2, .micro_batches = 9}).value(), {1, 1}) == 42);
static_assert(makespan(interleaved::make({.ranks = 8, .chunks = 2, .micro_batches = 19}).value(), {1, 1}) == 90);
static_assert(makespan_bound({.ranks = 8, .chunks = 2, .micro_batches = 19}, 1, 1).value() == 90);

// A table of 2,048 actions, simulated and proved optimal in time and memory.
constexpr auto lean = interleaved::make({.ranks = 8, .chunks = 4, .micro_batches = 32}, groups::least_memory()).value();
static_assert(makespan(lean, {1, 1}) == makespan_bound(shape_of(lean), 1, 1).value());
static_assert(lean.peak_in_flight(0) == 32 && lean.peak_in_flight(7) == 25);

// V schedules, DualPipe and slices, in the compiler too.
static_assert(makespan(zbv::make({4, 2, 8}).value(), {}) == 51 && zbv::make({4, 2, 8})->peak_in_flight(3) == 8);
static_assert(makespan(dual_pipe_v::make({3, 2, 6}).value(), {}) == 40);
static_assert(makespan(dual_pipe::make({4, 1, 8}).value(), {}) == 26);
static_assert(makespan(seq_1f1b::make({4, 1, 4}, 2).value(), {}) == 33);
constexpr auto tight = interleaved::make({4, 3, 16}, groups::capped(9)).value();
static_assert(tight.peak_in_flight(0) == 9 &&
              makespan(tight, {1, 1}) == capped_makespan_bound(shape_of(tight), 1, 1, 0, 9).value());
static_assert(counts_of(lean, 7) == step_counts{24, 208, 24});

// The example of docs/pipeline.md: chunks of the forwards of 5 micro-batches on 4 ranks, 2 chunks.
constexpr bool order_is(const interleaved& plan, std::initializer_list<std::uint32_t> chunks) {
  std::uint32_t k = 0;
  for (const std::uint32_t c : chunks)
    if (order_of(plan).at(true, k++).chunk != c) return false;
  return k == plan.chunks() * plan.micro_batches();
}
static_assert(order_is(interleaved::make({.ranks = 4, .chunks = 2, .micro_batches = 5}, groups::least_memory()).value(),
                       {0, 0, 0, 0, 1, 1, 1, 0, 1, 1}));
static_assert(order_is(interleaved::make({.ranks = 4, .chunks = 2, .micro_batches = 9}, groups::least_memory()).value(),
                       {0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1, 1, 0, 0, 1, 1}));

static_assert(!interleaved::make({.ranks = 0, .chunks = 2, .micro_batches = 4}).has_value());
static_assert(interleaved::make({.ranks = 4, .chunks = 65, .micro_batches = 4}).error().code ==
              hocket::errc::bad_shape);
static_assert(outlook_of(interleaved::make({.ranks = 8, .chunks = 2, .micro_batches = 19}, groups::paper()).value()) ==
              interleaved_outlook::deadlocks);

template <class Plan>
constexpr bool good_view() {
  using view = rank_view<Plan>;
  return std::ranges::random_access_range<view> && std::ranges::sized_range<view> && std::ranges::view<view> &&
         std::ranges::common_range<view> && std::ranges::borrowed_range<view> && std::is_trivially_copyable_v<view>;
}
static_assert(good_view<interleaved>() && good_view<one_f_one_b>() && good_view<gpipe>() && good_view<zero_bubble>());
static_assert(good_view<zbv>() && good_view<dual_pipe>() && good_view<dual_pipe_v>() && good_view<seq_1f1b>());
static_assert(std::ranges::range_value_t<rank_view<interleaved>>{}.kind() == action_kind::idle && sizeof(action) == 4);
static_assert(sizeof(stage_action) == 8 && std::is_trivially_copyable_v<stage_action>);

// Pairs, links, bytes and bounds, in the compiler.
constexpr auto pairs = dual_pipe_v::make({4, 2, 8}).value();
constexpr run_summary pairs_ran = [] {
  constexpr_workspace memory;
  return run(pairs, costs{.forward = 4, .backward = 8, .overlap = 75}, memory).value();
}();
static_assert(pairs_ran.gap() >= 0 && pairs_ran.lower_bound == pairs_ran.bounds.largest());
constexpr std::int64_t sizes[] = {4, 4, 4, 4};
constexpr rank_report weighed = [] {
  constexpr_workspace memory;
  const with_memory<with_links<costs>> times{with_links<costs>{costs{.hop = 1}, sizes, 2}, sizes};
  (void)run(one_f_one_b::make({.ranks = 4, .micro_batches = 6}).value(), times, memory).value();
  return memory.lanes[0].report;
}();
static_assert(weighed.peak_bytes == 16 && weighed.idle_by.communication > 0);

}  // namespace
