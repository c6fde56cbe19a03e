// SPDX-License-Identifier: Apache-2.0
// The two fast ways through a list against at(rank, step): walking from any step, and filling any stretch.
#include <hocket/pipeline.hpp>

#include <type_traits>
#include <vector>

#include "catch.hpp"

using namespace hocket::pipeline;

namespace {

template <class Plan>
bool walks_like_at(const Plan& plan) {
  using value = decltype(plan.at(0, 0));
  std::vector<value> room;
  for (std::uint32_t r = 0; r < plan.ranks(); ++r) {
    const std::uint32_t size = plan.size(r);
    if constexpr (std::is_same_v<Plan, interleaved>)
      for (std::uint32_t i = 0; i < size; ++i)
        if (plan.rank(r)[i] != plan.at(r, i)) return false;
    if constexpr (repeating_schedule<Plan>) {
      std::uint32_t step = 0;
      bool same = true;
      for_each_repeat(plan, r, [&](auto period, std::uint32_t times, std::uint32_t later) {
        for (std::uint32_t k = 0; k < times; ++k)
          for (const action a : period) {
            same = same && step < size && action::from_bits(a.bits() + k * later) == plan.at(r, step);
            ++step;
          }
      });
      if (!same || step != size) return false;
    }
    for (const std::uint32_t first : {0u, 1u, size / 3, size / 2 + 1, size - 1, size}) {
      std::uint32_t i = first;
      for (const value a : rank_cursor(plan, r, first))
        if (i >= size || a != plan.at(r, i++)) return false;
      if (i != size) return false;
      rank_cursor(plan, r, first).for_each([&](value a) { i -= a == plan.at(r, first + (size - i)) ? 1 : 0; });
      if (i != first) return false;
      std::uint32_t at = 0;
      if (first == 0)
        for_each_block(plan, r, [&](auto block) {
          for (const value a : block) i += a == plan.at(r, at++) ? 1 : 0;
        });
      if (first == 0 && (at != size || i != size)) return false;
      for (const std::uint32_t length : {size + 3, size / 2, 3u, 0u}) {
        const value untouched(action_kind::idle, 7, 7);
        room.assign(length + 1, untouched);
        const std::size_t count = fill(plan, r, std::span<value>(room.data(), length), first);
        if (count != (length < size - first ? length : size - first) || room[count] != untouched) return false;
        for (std::size_t k = 0; k < count; ++k)
          if (room[k] != plan.at(r, first + static_cast<std::uint32_t>(k))) return false;
      }
    }
  }
  return true;
}

template <class Plan>
constexpr bool walks_in_the_compiler(const Plan& plan, std::uint32_t rank) {
  std::uint32_t i = 0;
  for (const action a : rank_cursor(plan, rank))
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

TEST_CASE("cursor and fill give what at gives", "[pipeline]") {
  for (std::int64_t p = 1; p <= 6; ++p)
    for (std::int64_t v = 1; v <= 4; ++v)
      for (std::int64_t m = 1; m <= 6 * p + 3; ++m) {
        INFO("p " << p << " v " << v << " m " << m);
        if (m > 2 * p && (m + p + v) % 3 != 0) continue;
        for (const auto rule : {groups::balanced(), groups::last(), groups::first(), groups::paper(),
                                groups::least_memory(1, 2), groups::capped(v * p - p / 2)})
          for (const std::uint32_t kappa : {1u, 2u})
            if (const auto plan = interleaved::make({p, v, m}, rule, {.kappa = kappa})) REQUIRE(walks_like_at(*plan));
        std::vector<std::uint32_t> ends;
        for (std::int64_t x = m % 3 + 1; x < m; x += 2 + x % 3) ends.push_back(static_cast<std::uint32_t>(x));
        ends.push_back(static_cast<std::uint32_t>(m));
        REQUIRE(walks_like_at(interleaved::make({p, v, m}, groups::list(ends)).value()));
        REQUIRE(walks_like_at(gpipe::make_looped_bfs({p, v, m}).value()));
        REQUIRE(walks_like_at(gpipe::make_f_then_b({p, v, m}).value()));
        if (v == 1)
          for (const std::uint32_t kappa : {1u, 2u})
            REQUIRE(walks_like_at(one_f_one_b::make({p, 1, m}, kappa).value()));
      }
  // Long enough for blocks that are made from the block before, with two sizes of groups.
  for (const std::int64_t m : {1'000, 1'013, 1'024}) {
    REQUIRE(walks_like_at(interleaved::make({4, 2, m}).value()));
    REQUIRE(walks_like_at(interleaved::make({4, 2, m}, groups::last()).value()));
    REQUIRE(walks_like_at(interleaved::make({4, 3, m}, groups::first(), {.kappa = 1}).value()));
  }
  // Periods that fill the cursor's block twice, once, to the last action, and not at all; with two sizes of groups.
  for (const shape& s : {shape{32, 3, 291}, shape{32, 6, 256}, shape{33, 6, 230}, shape{48, 4, 500}})
    REQUIRE(walks_like_at(interleaved::make(s).value()));
}

TEST_CASE("cursor and fill of zero bubble, V, DualPipe, slices, tables and schedules by name", "[pipeline]") {
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
    REQUIRE(walks_like_at(
        any_schedule::make(name, {4, default_chunks(name), 150}, {.slices = name[0] == 's' ? 3 : 1}).value()));
  // Several blocks of the cursor.
  REQUIRE(walks_like_at(zbv::make({4, 2, 500}).value()));
  for (const std::int64_t m : {500, 501, 503}) REQUIRE(walks_like_at(zero_bubble::make_interleaved({4, 3, m}).value()));
  for (const std::int64_t p : {4, 13}) REQUIRE(walks_like_at(zero_bubble::make_h2({p, 1, 300}).value()));
  REQUIRE(walks_like_at(dual_pipe::make({4, 1, 500}).value()));
}

TEST_CASE("at divides by multiplying: every size of group and number of chunks", "[pipeline]") {
  for (const std::uint32_t d : {1u, 2u, 3u, 5u, 7u, 63u, 64u, 641u, 65'535u, 65'536u, 1'234'567u, 2'097'152u})
    for (const std::uint32_t q : {0u, 1u, 2u, 1'000u, 4'294'967'295u / d})
      for (const std::uint32_t rest : {0u, 1u, d / 2, d - 1}) {
        if (rest >= d || std::uint64_t{q} * d + rest > 0xffffffffu) continue;
        CHECK(detail::divided(q * d + rest, detail::division_factor(d)) == q);
      }
  for (std::uint32_t d = 1; d <= 64; ++d)
    for (const std::uint32_t q : {0u, 1u, 2u, 1'000u, ((1u << 27) - 1) / d})
      for (const std::uint32_t rest : {0u, d / 2, d - 1}) {
        const std::uint32_t x = q * d + rest;
        if (x < 1u << 27) CHECK(detail::divided_by_chunks(x, detail::chunks_factor(d)) == q);
      }
}
