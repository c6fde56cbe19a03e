// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The verdicts against all interleavings, on programs by lot.
#include <hocket/ranks.hpp>

#include <cstdint>
#include <map>
#include <string>

#include "catch.hpp"
#include "unit/ranks/explorer.hpp"
#include "unit/ranks/random_program.hpp"

namespace {

using hocket::ranks::verdict;

struct tally {
  std::map<verdict, int> verdicts;
  int not_explored = 0;
  int wide = 0;  // may hang with few slots, and is safe with more
};

void judge(std::uint64_t seed, const random_ranks::sizes& s, tally& t) {
  const auto job = random_ranks::make(seed, s);
  const auto m = random_ranks::machine_by_lot(seed);
  const auto found = hocket::ranks::check(job, m);
  INFO("seed " << seed);
  REQUIRE(found);
  ++t.verdicts[found->says];
  if (found->says == verdict::mismatch) {
    CHECK(!explorer::all_meet(job, m));
    return;
  }
  if (!s.threads) CHECK(explorer::all_meet(job, m));
  if (found->enough_slots > 0) {
    auto wide = m;
    wide.slots = static_cast<std::uint32_t>(found->enough_slots);
    CHECK(hocket::ranks::check(job, wide)->says == verdict::safe);
    CHECK_FALSE(explorer::explore(job, wide, 2500).can_hang);
    t.wide += found->says == verdict::may_hang;
  }
  const auto truth = explorer::explore(job, m, 2500);
  if (!truth.complete) {
    ++t.not_explored;
    return;
  }
  INFO("says " << to_string(found->says) << " by " << to_string(found->why) << ", can finish " << truth.can_finish
               << ", can hang " << truth.can_hang);
  if (found->says == verdict::safe) CHECK(!truth.can_hang);
  if (found->says == verdict::hangs) CHECK(!truth.can_finish);
  if (found->says == verdict::may_hang) {
    CHECK(truth.can_hang);
    CHECK(replay_hangs(job, m, *found));
  }
  if (found->says == verdict::hangs || found->says == verdict::may_hang) CHECK(!found->cycle.empty());
}

TEST_CASE("ranks: verdicts of programs by lot are those of all interleavings", "[ranks]") {
  tally t;
  for (std::uint64_t seed = 0; seed < 700; ++seed) judge(seed, {}, t);
  CHECK(t.verdicts[verdict::safe] > 200);
  CHECK(t.verdicts[verdict::hangs] > 80);
  CHECK(t.verdicts[verdict::may_hang] > 20);
  CHECK(t.wide > 10);
  CHECK(t.verdicts[verdict::mismatch] > 80);
  CHECK(t.not_explored < 60);
  CHECK(t.verdicts[verdict::not_proved] < 60);
}

TEST_CASE("ranks: the same with two host threads on a rank", "[ranks]") {
  tally t;
  for (std::uint64_t seed = 0; seed < 600; ++seed) judge(seed, {2, 2, true}, t);
  CHECK(t.verdicts[verdict::safe] > 50);
  CHECK(t.verdicts[verdict::may_hang] > 50);
  CHECK(t.not_explored < 60);
}

}  // namespace
