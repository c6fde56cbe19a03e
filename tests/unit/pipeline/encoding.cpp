// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <hocket/core/message.hpp>
#include <hocket/pipeline.hpp>

#include <set>

#include "catch.hpp"

using namespace hocket::pipeline;
using hocket::errc;

TEST_CASE("an action keeps its fields, at their limits too", "[pipeline]") {
  std::set<std::uint32_t> seen;
  for (int kind = 0; kind < 16; ++kind)
    for (const std::uint32_t chunk : {0u, 1u, 63u})
      for (const std::uint32_t j : {0u, 5u, (1u << 21) - 1})
        for (const bool joined : {false, true}) {
          const action a(static_cast<action_kind>(kind), chunk, j, joined);
          CHECK(static_cast<int>(a.kind()) == kind);
          CHECK(a.chunk() == chunk);
          CHECK(a.micro_batch() == j);
          CHECK(a.joined() == joined);
          CHECK(action::from_bits(a.bits()) == a);
          CHECK(seen.insert(a.bits()).second);
        }
}

TEST_CASE("a stage action keeps its fields, at their limits too", "[pipeline]") {
  std::set<std::uint64_t> seen;
  for (const action_kind kind : {action_kind::forward, action_kind::weight_grad, action_kind::idle})
    for (const std::uint32_t stage : {0u, 7u, 65'535u})
      for (const std::uint32_t j : {0u, 9u, stage_action::no_micro_batch})
        for (const std::uint32_t slice : {0u, 65'535u})
          for (const std::uint32_t flags : {0u, 1u, 2u, 3u}) {
            const stage_action a(kind, stage, j, slice, flags & 1, (flags & 2) != 0);
            CHECK(a.kind() == kind);
            CHECK(a.stage() == stage);
            CHECK(a.micro_batch() == j);
            CHECK(a.slice() == slice);
            CHECK(a.direction() == (flags & 1));
            CHECK(a.joined() == ((flags & 2) != 0));
            CHECK(stage_action::from_bits(a.bits()) == a);
            CHECK(seen.insert(a.bits()).second);
          }
}

TEST_CASE("placements are bijections, and neighbours in the model are neighbours in the pipeline", "[pipeline]") {
  const auto check = [](auto place, std::uint32_t p, std::uint32_t v, bool turns) {
    std::set<std::uint32_t> stages;
    for (std::uint32_t r = 0; r < p; ++r)
      for (std::uint32_t c = 0; c < v; ++c) {
        const std::uint32_t s = place.stage(r, c);
        CHECK(s < p * v);
        CHECK(place.rank_of(s) == r);
        CHECK(place.chunk_of(s) == c);
        stages.insert(s);
      }
    CHECK(stages.size() == p * v);
    for (std::uint32_t s = p; s < p * v; s += p) CHECK((place.rank_of(s) == place.rank_of(s - 1)) == (turns || p == 1));
  };
  for (std::uint32_t p = 1; p <= 5; ++p)
    for (std::uint32_t v = 1; v <= 4; ++v) {
      check(loop_placement{p}, p, v, false);
      check(v_placement{p}, p, v, true);
    }
}

TEST_CASE("impossible shapes come back with the reason", "[pipeline]") {
  const auto reason = [](const shape& s) { return hocket::message(check(s).error()); };
  CHECK(reason({.ranks = 4, .chunks = 2, .micro_batches = 0}) ==
        "a pipeline of 4 ranks, 2 chunks and 0 micro-batches is not possible: each must be at least 1");
  CHECK(check({.ranks = 1'024, .chunks = 64, .micro_batches = 2'097'152}).has_value());
  CHECK(check({.ranks = 1'025, .chunks = 64, .micro_batches = 1}).error().code == errc::bad_shape);
  CHECK(check({.ranks = 1, .chunks = 65, .micro_batches = 1}).error().code == errc::bad_shape);
  CHECK(check({.ranks = 1, .chunks = 1, .micro_batches = 2'097'153}).error().code == errc::bad_shape);
  CHECK(check({.ranks = -1, .chunks = 1, .micro_batches = 1}).error().code == errc::bad_shape);
  CHECK(check({.ranks = INT64_MAX, .chunks = 64, .micro_batches = 1}).error().code == errc::bad_shape);
}

TEST_CASE("bounds: overflow and nonsense are errors", "[pipeline]") {
  const shape s{.ranks = 4, .chunks = 2, .micro_batches = 9};
  CHECK(makespan_bound(s, INT64_MAX, 1).error().code == errc::overflow);
  CHECK(makespan_bound(s, INT64_MAX / 2, 1).error().code == errc::overflow);
  CHECK(makespan_bound(s, -1, 1).error().code == errc::invalid_argument);
  CHECK(makespan_bound({.ranks = 4, .chunks = 2, .micro_batches = 3}, 1, 1).value() == 20);
  CHECK(makespan_bound({.ranks = 4, .chunks = 2, .micro_batches = 8}, 1, 2).value() == 57);
  CHECK(split_makespan_bound({.ranks = 4, .micro_batches = 8}, 1, 1, 1).value() == 27);
  CHECK(capped_makespan_bound(s, 1, 1, 0, 8).value() == 42);
  CHECK(capped_makespan_bound(s, 1, 1, 0, 7).value() == 44);
  CHECK(capped_makespan_bound(s, 1, 1, 0, 6).value() == 46);
  CHECK(capped_makespan_bound(s, 1, 1, 0, 18).value() == 42);
  CHECK(capped_makespan_bound(s, 1, 1, 4, 8).error().code == errc::out_of_range);
}
