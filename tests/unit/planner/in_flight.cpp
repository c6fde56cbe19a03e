// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What ranks hold in flight: the profile against simulations and step-by-step counts.
#include <hocket/pipeline/schedules/dual_pipe.hpp>
#include <hocket/pipeline/schedules/gpipe.hpp>
#include <hocket/pipeline/schedules/interleaved.hpp>
#include <hocket/pipeline/schedules/one_f_one_b.hpp>
#include <hocket/pipeline/schedules/v_memory.hpp>
#include <hocket/pipeline/schedules/zbv.hpp>
#include <hocket/pipeline/schedules/zero_bubble.hpp>
#include <hocket/pipeline/simulate.hpp>
#include <hocket/planner/split/in_flight.hpp>

#include <algorithm>
#include <random>
#include <vector>

#include "catch.hpp"

using hocket::planner::in_flight_profile;
namespace pipeline = hocket::pipeline;

TEST_CASE("a profile is what a simulation counts", "[planner][in_flight]") {
  for (const std::uint32_t p : {1u, 2u, 4u, 7u})
    for (const std::uint32_t v : {1u, 2u, 3u})
      for (const std::uint32_t m : {1u, 3u, 8u, 13u}) {
        const auto plan = pipeline::interleaved::make({p, v, m}).value();
        const auto profile = in_flight_profile::make(plan).value();
        for (std::uint32_t r = 0; r < p; ++r) {
          std::uint32_t peak = 0;
          for (std::uint32_t k = 0; k < profile.times(r); ++k) {
            std::uint32_t sum = 0;
            for (const std::uint32_t n : profile.at(r, k)) sum += n;
            peak = std::max(peak, sum);
          }
          CHECK(peak == plan.peak_in_flight(r));
        }
      }
  const auto quick = in_flight_profile::make_one_f_one_b(5, 3).value();
  const auto read = in_flight_profile::make(pipeline::one_f_one_b::make({5, 1, 3}).value()).value();
  for (std::uint32_t r = 0; r < 5; ++r) CHECK(quick.at(r, 0)[0] == read.at(r, 0)[0]);
}

namespace {

/// The most bytes that a rank holds at any time, chunk by chunk: from the profile, and step by step from the list.
template <class Plan>
void check_bytes(const Plan& plan, std::mt19937& random) {
  const auto profile = in_flight_profile::make(plan).value();
  const std::uint32_t v = plan.chunks();
  const auto place = plan.placement();
  std::vector<std::int64_t> size(v), count(v);
  for (int draw = 0; draw < 4; ++draw) {
    for (auto& x : size) x = static_cast<std::int64_t>(random() % 20);
    for (std::uint32_t r = 0; r < plan.ranks(); ++r) {
      std::int64_t now = 0, most = 0, told = 0;
      count.assign(v, 0);
      for (std::uint32_t i = 0; i < plan.size(r); ++i) {
        const auto a = pipeline::stage_action_at(plan, r, i);
        const std::uint32_t c = place.chunk_of(a.stage());
        if (a.kind() == pipeline::action_kind::forward) {
          now += size[c];
          ++count[c];
        } else if (a.kind() == pipeline::action_kind::backward || a.kind() == pipeline::action_kind::weight_grad) {
          now -= size[c];
          --count[c];
        }
        most = std::max(most, now);
      }
      for (std::uint32_t k = 0; k < profile.times(r); ++k) {
        std::int64_t sum = 0;
        for (std::uint32_t c = 0; c < v; ++c) sum += size[c] * profile.at(r, k)[c];
        told = std::max(told, sum);
      }
      CHECK(told == most);
    }
  }
}

}  // namespace

namespace {

/// The same for two directions: rank r has stage r of the first and stage p - 1 - r of the second.
void check_pairs(const pipeline::dual_pipe& plan, std::mt19937& random) {
  const auto profile = in_flight_profile::make_pairs(plan).value();
  const std::uint32_t p = plan.ranks();
  REQUIRE((profile.ranks() == p / 2 && profile.chunks() == 2));
  std::vector<std::int64_t> size(p), most(p / 2), told(p / 2);
  for (auto& x : size) x = static_cast<std::int64_t>(random() % 20);
  for (std::uint32_t r = 0; r < p; ++r) {
    std::int64_t now = 0;
    for (std::uint32_t i = 0; i < plan.size(r); ++i) {
      const auto a = pipeline::stage_action_at(plan, r, i);
      const std::int64_t bytes = size[a.direction() == 0 ? r : p - 1 - r];
      if (a.kind() == pipeline::action_kind::forward) now += bytes;
      else if (a.kind() == pipeline::action_kind::backward || a.kind() == pipeline::action_kind::weight_grad)
        now -= bytes;
      std::int64_t& here = most[std::min(r, p - 1 - r)];
      here = std::max(here, now);
    }
    CHECK(now == 0);
  }
  for (std::uint32_t s = 0; s < p; ++s) CHECK(profile.rank_of(s) == std::min(s, p - 1 - s));
  for (std::uint32_t j = 0; j < p / 2; ++j) {
    for (std::uint32_t k = 0; k < profile.times(j); ++k)
      told[j] = std::max(told[j], size[j] * profile.at(j, k)[0] + size[p - 1 - j] * profile.at(j, k)[1]);
    CHECK(told[j] == most[j]);
  }
}

}  // namespace

TEST_CASE("the kept counts give the most bytes of any chunk sizes", "[planner][in_flight]") {
  std::mt19937 random(5);
  for (const std::int64_t p : {1, 2, 3, 4, 6})
    for (const std::int64_t v : {1, 2, 3, 4})
      for (const std::int64_t m : {1, 2, 5, 8, 12, 17}) {
        const pipeline::shape s{p, v, m};
        INFO("p " << p << " v " << v << " m " << m);
        for (const std::uint32_t kappa : {1u, 2u})
          check_bytes(pipeline::interleaved::make(s, pipeline::groups::balanced(), {.kappa = kappa}).value(), random);
        check_bytes(pipeline::interleaved::make(s, pipeline::groups::least_memory(1, 2)).value(), random);
        check_bytes(pipeline::gpipe::make_looped_bfs(s).value(), random);
        if (const auto plan = pipeline::zero_bubble::make_interleaved(s)) check_bytes(*plan, random);
        if (v != 2) continue;
        if (const auto plan = pipeline::zbv::make(s)) check_bytes(*plan, random);
        if (const auto plan = pipeline::make_v_schedule(s, pipeline::v_memory::half)) check_bytes(*plan, random);
      }
  for (const std::int64_t p : {2, 4, 6, 8})
    for (const std::int64_t m : {2 * p, 2 * p + 2, 4 * p}) {
      check_bytes(pipeline::dual_pipe_v::make({p, 2, m}).value(), random);
      check_pairs(pipeline::dual_pipe::make({p, 1, m}).value(), random);
    }
  // A rank of an interleaved schedule has some 2 v of them, however long it runs.
  const auto held = in_flight_profile::make(pipeline::interleaved::make({16, 8, 256}).value()).value();
  for (std::uint32_t r = 0; r < 16; ++r) CHECK(held.times(r) <= 40);
}

TEST_CASE("pairs of ranks stand as the ranks of a V", "[planner][in_flight]") {
  for (const std::uint32_t p : {2u, 4u, 8u}) {
    const auto pairs = in_flight_profile::make_pairs(pipeline::dual_pipe::make({p, 1, 4 * p}).value()).value();
    REQUIRE(pairs.ranks() == p / 2);
    REQUIRE(pairs.stages() == p);
    const pipeline::v_placement place{p / 2};
    for (std::uint32_t s = 0; s < p; ++s) {
      CHECK(pairs.rank_of(s) == place.rank_of(s));
      CHECK(pairs.chunk_of(s) == place.chunk_of(s));
    }
  }
}

TEST_CASE("profiles of nothing, and pairs of a schedule without any, are refused", "[planner][in_flight]") {
  using hocket::errc;
  CHECK(in_flight_profile::make_counts({}).error().code == errc::bad_shape);
  CHECK(in_flight_profile::make_one_f_one_b(0, 4).error().code == errc::bad_shape);
  CHECK(in_flight_profile::make_one_f_one_b(4, 0).error().code == errc::bad_shape);
  CHECK(in_flight_profile::make_pairs(pipeline::zbv::make({4, 2, 8}).value()).error().code == errc::bad_shape);
  const std::vector<std::uint32_t> held{4, 3, 1};
  const auto profile = in_flight_profile::make_counts(held).value();
  for (std::uint32_t r = 0; r < 3; ++r) CHECK(profile.at(r, 0)[0] == held[r]);
}
