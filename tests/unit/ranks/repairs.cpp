// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Repairs: safe by all interleavings, with the same calls, and no wait that could be left out.
#include <hocket/ranks.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "catch.hpp"
#include "unit/ranks/explorer.hpp"
#include "unit/ranks/random_program.hpp"

namespace ranks = hocket::ranks;
using ranks::program;
using ranks::repair_kind;
using ranks::verdict;

namespace {

// The calls of a rank, in any order.
auto calls_of(const program& p, std::uint32_t r) {
  std::vector<std::tuple<ranks::op_kind, std::uint32_t, std::uint32_t, std::uint64_t>> out;
  for (const ranks::op& o : p.list(r))
    if (is_communication(o.kind)) out.emplace_back(o.kind, o.communicator, o.peer, o.count);
  std::sort(out.begin(), out.end());
  return out;
}

TEST_CASE("ranks: a wait orders two communicators, on all ranks alike", "[ranks]") {
  program job(4);
  const auto tensor = job.communicator("tensor", {{0, 1}, {2, 3}}), data = job.communicator("data", {{0, 2}, {1, 3}});
  job.all_ranks().all_reduce(tensor).on(1).all_reduce(data);
  const auto fix = ranks::find_repair(job);
  REQUIRE(fix);
  REQUIRE(fix->repaired);
  CHECK(fix->kind == repair_kind::waits);
  CHECK(fix->steps.size() == 1);
  CHECK(sentence(job, *fix) ==
        "on ranks 0-3: before all_reduce of data (op 1) let its stream wait for that of all_reduce of tensor (op 0)\n");
  CHECK(check(*fix->repaired)->says == verdict::safe);
}

TEST_CASE("ranks: what is safe is left alone, and a mismatch is nobody's to repair", "[ranks]") {
  program job(2);
  job.all_ranks().barrier();
  CHECK(ranks::find_repair(job)->kind == repair_kind::none);
  job.rank(0).barrier();
  CHECK(ranks::find_repair(job)->kind == repair_kind::not_found);
}

TEST_CASE("ranks: repairs of programs by lot", "[ranks]") {
  int repaired = 0, tried = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const program job = random_ranks::make(seed, {3, 2, false});
    const auto m = random_ranks::machine_by_lot(seed);
    const auto before = check(job, m);
    if (before->says == verdict::safe || before->says == verdict::mismatch) continue;
    ++tried;
    const auto fix = ranks::find_repair(job, m);
    REQUIRE(fix);
    if (!fix->repaired) continue;
    ++repaired;
    INFO("seed " << seed << ": " << sentence(job, *fix));
    for (std::uint32_t r = 0; r < job.ranks(); ++r) CHECK(calls_of(*fix->repaired, r) == calls_of(job, r));
    const auto truth = explorer::explore(*fix->repaired, m, 4000);
    if (truth.complete) CHECK(!truth.can_hang);
  }
  CHECK(repaired > tried / 4);
  CHECK(repaired > 10);
}

}  // namespace
