// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The two ways through a list against at(rank, step): walking from any step, and filling any stretch.
#include <hocket/pipeline.hpp>

#include <type_traits>
#include <vector>

#include "catch.hpp"

using namespace hocket::pipeline;

namespace {

template <class Plan>
bool walks_like_at(const Plan& plan) {
  using value = detail::action_of<Plan>;
  std::vector<value> room;
  for (std::uint32_t r = 0; r < plan.ranks(); ++r) {
    const std::uint32_t size = plan.size(r);
    for (const std::uint32_t first : {0u, 1u, size / 3, size / 2 + 1, size - 1, size}) {
      detail::list_position<Plan> position(plan, r, first);
      for (std::uint32_t i = first; i < size; ++i) {
        if (position.step() != i || position.read(plan) != plan.at(r, i)) return false;
        if constexpr (detail::fills<Plan>)
          if (!position.check_invariants(plan)) return false;
        position.advance(plan);
      }
      if (position.step() != (first < size ? size : first)) return false;
      for (const std::uint32_t length : {size + 3, size / 2, 3u, 0u}) {
        const value untouched(action_kind::idle, 7, 7);
        room.assign(length + 1, untouched);
        const std::size_t count = fill(plan, r, std::span<value>(room.data(), length), first);
        if (count != (length < size - first ? length : size - first) || room[count] != untouched) return false;
        for (std::size_t k = 0; k < count; ++k)
          if (room[k] != plan.at(r, first + static_cast<std::uint32_t>(k))) return false;
      }
    }
    std::uint32_t i = 0;
    for (const auto a : plan.rank(r))
      if (i >= size || a != plan.at(r, i++)) return false;
    if (i != size) return false;
    i = 0;
    for (const stage_action a : stage_list(plan, r))
      if (a != stage_action_at(plan, r, i++)) return false;
    std::vector<stage_action> wide(size);
    if (fill(plan, r, std::span(wide), 0) != size) return false;
    for (i = 0; i < size; ++i)
      if (wide[i] != stage_action_at(plan, r, i)) return false;
  }
  return true;
}

/// The same for what has no views.
bool reads_like_at(const any_schedule& plan) {
  std::vector<stage_action> list;
  for (std::uint32_t r = 0; r < plan.ranks(); ++r) {
    list.resize(plan.size(r));
    if (fill(plan, r, std::span(list), 0) != list.size()) return false;
    std::uint32_t i = 0;
    for (const stage_action a : stage_list(plan, r)) {
      if (a != plan.at(r, i) || a != list[i]) return false;
      ++i;
    }
  }
  return true;
}

template <class Plan>
constexpr bool walks_in_the_compiler(const Plan& plan, std::uint32_t rank) {
  std::uint32_t i = 0;
  for (const action a : plan.rank(rank))
    if (a != plan.at(rank, i++)) return false;
  action room[64];
  const std::size_t count = fill(plan, rank, std::span<action>(room), 5);
  for (std::size_t k = 0; k < count; ++k)
    if (room[k] != plan.at(rank, 5 + static_cast<std::uint32_t>(k))) return false;
  return i == plan.size(rank) && count == 64;
}
static_assert(walks_in_the_compiler(interleaved::make({4, 2, 33}).value(), 1));
static_assert(walks_in_the_compiler(interleaved::make({4, 2, 33}, groups::least_memory(1, 2)).value(), 0));
static_assert(walks_in_the_compiler(one_f_one_b::make({4, 1, 40}).value(), 2));
static_assert(walks_in_the_compiler(gpipe::make_looped_bfs({2, 3, 17}).value(), 0));
static_assert(walks_in_the_compiler(zero_bubble::make_interleaved({4, 2, 17}).value(), 1));
static_assert(walks_in_the_compiler(zbv::make({4, 2, 17}).value(), 1));
static_assert(interleaved::make({4, 2, 33}).value().rank(1)[40] == interleaved::make({4, 2, 33}).value().at(1, 40));

}  // namespace

TEST_CASE("views and fill give what at gives", "[pipeline]") {
  for (std::int64_t p = 1; p <= 6; ++p)
    for (std::int64_t v = 1; v <= 4; ++v)
      for (std::int64_t m = 1; m <= 6 * p + 3; ++m) {
        INFO("p " << p << " v " << v << " m " << m);
        if (m > 2 * p && (m + p + v) % 3 != 0) continue;
        for (const auto rule : {groups::balanced(), groups::last(), groups::first(), groups::paper(),
                                groups::least_memory(1, 2), groups::capped(v * p - p / 2)})
          for (const std::uint32_t kappa : {1u, 2u})
            if (const auto plan = interleaved::make({p, v, m}, rule, {.kappa = kappa})) REQUIRE(walks_like_at(*plan));
        std::vector<std::uint32_t> uneven;
        for (std::int64_t left = m, size = m % 3 + 1; left > 0; left -= size, size = 2 + left % 3) {
          if (size > left) size = left;
          uneven.push_back(static_cast<std::uint32_t>(size));
        }
        const group_sizes sizes(uneven);
        REQUIRE(walks_like_at(interleaved::make({p, v, m}, groups::list(sizes)).value()));
        REQUIRE(walks_like_at(gpipe::make_looped_bfs({p, v, m}).value()));
        REQUIRE(walks_like_at(gpipe::make_f_then_b({p, v, m}).value()));
        if (v == 1)
          for (const std::uint32_t kappa : {1u, 2u})
            REQUIRE(walks_like_at(one_f_one_b::make({p, 1, m}, kappa).value()));
      }
  // Several blocks, with two sizes of groups.
  for (const std::int64_t m : {1'000, 1'013, 1'024}) {
    REQUIRE(walks_like_at(interleaved::make({4, 2, m}).value()));
    REQUIRE(walks_like_at(interleaved::make({4, 2, m}, groups::last()).value()));
    REQUIRE(walks_like_at(interleaved::make({4, 3, m}, groups::first(), {.kappa = 1}).value()));
  }
  for (const shape& s : {shape{32, 3, 291}, shape{32, 6, 256}, shape{33, 6, 230}, shape{48, 4, 500}})
    REQUIRE(walks_like_at(interleaved::make(s).value()));
}

TEST_CASE("views and fill of zero bubble, V, DualPipe, slices, tables and schedules by name", "[pipeline]") {
  for (std::int64_t p = 1; p <= 7; ++p)
    for (std::int64_t m = 1; m <= 5 * p + 2; ++m) {
      INFO("p " << p << " m " << m);
      REQUIRE(walks_like_at(zero_bubble::make_h1({p, 1, m}).value()));
      REQUIRE(walks_like_at(zero_bubble::make_h2({p, 1, m}).value()));
      for (const std::int64_t v : {2, 3}) REQUIRE(walks_like_at(zero_bubble::make_interleaved({p, v, m}).value()));
      REQUIRE(walks_like_at(zbv::make({p, 2, m}).value()));
      for (const std::int64_t slices : {1, 3}) REQUIRE(walks_like_at(seq_1f1b::make({p, 1, m}, slices).value()));
      if (m >= 2 * p) REQUIRE(walks_like_at(dual_pipe_v::make({p, 2, m}).value()));
      if (m >= 2 * p && p % 2 == 0 && m % 2 == 0) REQUIRE(walks_like_at(dual_pipe::make({p, 1, m}).value()));
    }
  REQUIRE(walks_like_at(make_v_schedule({5, 2, 11}, v_memory::half).value()));
  for (const char* name : {"interleaved", "zbv", "zb-h1", "dualpipe", "v-min", "seq-1f1b"})
    REQUIRE(reads_like_at(
        any_schedule::make(name, {4, default_chunks(name), 150}, {.slices = name[0] == 's' ? 3 : 1}).value()));
  // Several blocks.
  REQUIRE(walks_like_at(zbv::make({4, 2, 500}).value()));
  for (const std::int64_t m : {500, 501, 503}) REQUIRE(walks_like_at(zero_bubble::make_interleaved({4, 3, m}).value()));
  for (const std::int64_t p : {4, 13}) REQUIRE(walks_like_at(zero_bubble::make_h2({p, 1, 300}).value()));
  REQUIRE(walks_like_at(dual_pipe::make({4, 1, 500}).value()));
}
