// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every cost policy of the library obeys the laws; for each law there is a policy that breaks it, and is told so.
#include <hocket/testing/cost_policy_laws.hpp>

#include <hocket/pipeline/any_schedule.hpp>
#include <hocket/pipeline/passes.hpp>

#include <chrono>
#include <string>
#include <vector>

#include "catch.hpp"

namespace wrong_costs {
namespace {

using namespace hocket::pipeline;
using hocket::ticks;
using hocket::testing::broken_halves;
using hocket::testing::broken_law;

const one_f_one_b plan = one_f_one_b::make({.ranks = 2, .micro_batches = 3}).value();

struct spoilt : costs {
  ticks instead = 0;  // of the last backward
  explicit spoilt(ticks t) : instead(t) {}
  [[nodiscard]] ticks duration(stage_action a) const {
    return a == stage_action(action_kind::backward, 1, 2) ? instead : costs::duration(a);
  }
};
struct spoilt_apart : spoilt {
  using spoilt::spoilt;
  static constexpr bool same_for_micro_batches = false;
};
struct moody : costs {
  mutable int asked = 0;
  [[nodiscard]] ticks duration(stage_action a) const { return costs::duration(a) + (++asked > 9 ? 1 : 0); }
};
struct forgetful : costs {
  [[nodiscard]] static bool knows(stage_action a) { return a.micro_batch() < 2; }
};
struct asymmetric : costs {
  [[nodiscard]] static ticks latency(std::uint32_t from, std::uint32_t to) { return from < to ? 3 : -1; }
};
struct moody_link : costs {
  mutable ticks last = 0;
  [[nodiscard]] ticks latency(std::uint32_t, std::uint32_t) const { return ++last; }
};
struct backwards_link : costs {
  [[nodiscard]] static ticks transfer(stage_action, std::uint32_t from, std::uint32_t to) { return from < to ? 1 : -7; }
};
struct no_unit : costs {
  static constexpr std::int64_t ticks_per_second = 0;
};
struct hasty_pairs : costs {
  [[nodiscard]] static ticks joined(stage_action, stage_action) { return 1; }
};
struct leaky : costs {
  std::int64_t given = 0;
  explicit leaky(std::int64_t bytes) : given(bytes) {}
  [[nodiscard]] std::int64_t memory_change(stage_action a) const {
    if (a.kind() == action_kind::forward) return 10;
    return a.kind() == action_kind::backward ? -given : 0;
  }
};

}  // namespace
}  // namespace wrong_costs

TEST_CASE("the library's cost policies obey the laws over its schedules", "[testing]") {
  using namespace wrong_costs;
  using namespace std::chrono_literals;
  for (const std::string_view name : schedule_names)
    for (std::int64_t p = 1; p <= 5; ++p)
      for (std::int64_t m = 2; m <= 10; m += 2) {
        const auto made = any_schedule::make(name, {p, default_chunks(name), m});
        if (!made) continue;
        INFO(name << " p " << p << " m " << m);
        const std::size_t stages = static_cast<std::size_t>(p * default_chunks(name));
        const std::vector<ticks> each(stages, 5), units(stages * static_cast<std::size_t>(m), 7);
        const std::vector<std::int64_t> bytes(stages, 4096);
        const costs plain{.forward = 2, .backward = {3, 2, 5}, .hop = 1};
        REQUIRE(broken_law(plain, *made) == "");
        REQUIRE(broken_law(costs{.overlap = 10}, *made) == "");
        const costs_in<std::chrono::microseconds> measured{26ms, {30ms, 22ms, 52ms}, 849us};
        REQUIRE(broken_law(measured, *made) == "");
        REQUIRE(broken_law(stage_costs{each, each, each, each, 1}, *made) == "");
        const auto apart = static_cast<std::uint32_t>(m);
        REQUIRE(broken_law(unit_costs{units, units, units, units, apart, 1, 2}, *made) == "");
        REQUIRE(broken_law(with_links<costs>{plain, bytes, 64}, *made) == "");
        REQUIRE(broken_law(with_memory<costs>{plain, bytes}, *made) == "");
        REQUIRE(broken_halves(plain, static_cast<std::uint32_t>(stages), apart) == "");
      }
}

TEST_CASE("costs with times that cannot be", "[testing]") {
  using namespace wrong_costs;
  CHECK(broken_law(costs{}, plan) == "");
  CHECK(broken_law(spoilt(-4), plan) == "the backward of stage 1, micro-batch 2 takes -4 ticks");
  CHECK(broken_law(spoilt(9), plan) ==
        "same_for_micro_batches, but the backward of stage 1, micro-batch 2 takes 9 ticks and micro-batch 0 takes 2");
  CHECK(broken_law(spoilt_apart(9), plan) == "");
  CHECK(broken_law(moody{}, plan) == "the backward of stage 0, micro-batch 1 takes another time when asked again");
  CHECK(broken_law(forgetful{}, plan) == "knows() denies the forward of stage 0, micro-batch 2");
  CHECK(broken_law(costs{.forward = ticks{1} << 61}, plan) == "all durations together overflow the clock");
  CHECK(broken_law(no_unit{}, plan) == "ticks_per_second is 0");
}

TEST_CASE("links and pairs that cannot be", "[testing]") {
  using namespace wrong_costs;
  CHECK(broken_law(asymmetric{}, plan) == "the latency from rank 1 to 0 is -1 ticks");
  CHECK(broken_law(moody_link{}, plan) == "the latency from rank 0 to 1 is another one when asked again");
  CHECK(broken_law(backwards_link{}, plan) ==
        "the transfer after the backward of stage 1, micro-batch 0 takes -7 ticks");
  const auto pairs = any_schedule::make("dualpipev", {2, 2, 6}).value();
  REQUIRE(broken_law(costs{}, pairs) == "");
  const std::string broken = broken_law(hasty_pairs{}, pairs);
  CHECK(broken.find("take") != std::string::npos);
  CHECK(broken.find("but 1 at once") != std::string::npos);
}

TEST_CASE("bytes that are kept or were never there", "[testing]") {
  using namespace wrong_costs;
  CHECK(broken_law(leaky(10), plan) == "");
  CHECK(broken_law(leaky(8), plan) == "the backward of stage 0, micro-batch 0 leaves 2 bytes behind");
  CHECK(broken_law(leaky(12), plan) == "the backward of stage 0, micro-batch 0 lets go 12 bytes and leaves -2");
  const std::int64_t all[] = {100, 100}, some[] = {10, 10};
  const with_memory<costs> checkpointed{{}, all, some};  // lets go what nothing recomputes
  CHECK(broken_law(checkpointed, plan) == "the backward of stage 0, micro-batch 0 lets go 100 bytes and leaves -90");
}

TEST_CASE("a backward against its halves", "[testing]") {
  using namespace wrong_costs;
  CHECK(broken_halves(costs{}, 2, 2) == "");
  CHECK(broken_halves(costs{.backward = 3}, 2, 2) == "");
  CHECK(broken_halves(costs{.backward = {1, 1, 3}}, 2, 2) ==
        "the backward of stage 0, micro-batch 0 takes 3 ticks, its halves 1 and 1");
  CHECK(broken_halves(costs{.backward = {4, 1, 3}}, 1, 1) ==
        "the backward of stage 0, micro-batch 0 takes 3 ticks, its halves 4 and 1");
}
