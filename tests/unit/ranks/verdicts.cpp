// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Verdicts by hand, and what is said about them.
#include <hocket/ranks.hpp>

#include <cstdint>
#include <string>

#include "catch.hpp"

namespace ranks = hocket::ranks;
using ranks::machine;
using ranks::program;
using ranks::verdict;

namespace {

struct told {
  verdict says;
  std::string text;
};
told tell(const program& job, const machine& m = ranks::nccl()) {
  const auto a = check(job, m);
  REQUIRE(a);
  if (a->says == verdict::may_hang) CHECK(replay_hangs(job, m, *a));
  return {a->says, sentence(job, *a)};
}

program two_communicators(bool same_order) {
  program job(2);
  const auto tensor = job.communicator("tensor", {0, 1}), data = job.communicator("data", {0, 1});
  job.rank(0).all_reduce(tensor).on(1).all_reduce(data);
  if (same_order) job.rank(1).all_reduce(tensor).on(1).all_reduce(data);
  else job.rank(1).on(1).all_reduce(data).on(0).all_reduce(tensor);
  return job;
}

TEST_CASE("ranks: two communicators on two streams", "[ranks]") {
  const auto may = tell(two_communicators(true));
  CHECK(may.says == verdict::may_hang);
  CHECK(may.text.find("waits for the slot of rank") != std::string::npos);
  CHECK(tell(two_communicators(true), ranks::nccl_implicit_order()).says == verdict::safe);
  CHECK(tell(two_communicators(false), ranks::nccl_implicit_order()).says == verdict::may_hang);
  CHECK(tell(two_communicators(false), machine{}).says == verdict::safe);
  CHECK(tell(two_communicators(false), machine{.slots = 2}).says == verdict::safe);
  CHECK(tell(two_communicators(false), machine{.order = ranks::launch_order::serial}).says == verdict::hangs);
  CHECK(tell(two_communicators(false), machine{.enqueue_returns = false}).says == verdict::hangs);
}

TEST_CASE("ranks: an event orders two communicators", "[ranks]") {
  program job(2);
  const auto tensor = job.communicator("tensor", {0, 1}), data = job.communicator("data", {0, 1});
  job.all_ranks().all_reduce(tensor).record(0).on(1).wait(0).all_reduce(data);
  const auto a = check(job);
  CHECK(a->says == verdict::safe);
  CHECK(a->why == ranks::reason::slots);
}

TEST_CASE("ranks: one rank waits for its device, the other launches more", "[ranks]") {
  program job(2);
  job.rank(0).all_reduce(ranks::world).synchronize_device().all_reduce(ranks::world);
  job.rank(1).barrier();
  const auto t = tell(job);
  CHECK(
      t.text ==
      "mismatch: call 1 of world: rank 0 calls all_reduce of world (op 0), but rank 1 calls barrier of world (op 0)\n");
}

TEST_CASE("ranks: a call that nobody comes to", "[ranks]") {
  program job(4);
  job.all_ranks().all_to_all(ranks::world);
  job.ranks_from_to(0, 2).all_to_all(ranks::world);
  CHECK(tell(job).text ==
        "mismatch: call 2 of world: ranks 0-2 call all_to_all of world (op 1), but rank 3 never comes\n");
  program alone(2);
  alone.rank(0).send(1, 64);
  CHECK(
      tell(alone).text ==
      "mismatch: rank 0's send to rank 1 (op 0) has no other end: rank 1 never comes to receive number 1 of that pair "
      "and tag\n");
}

TEST_CASE("ranks: both send first", "[ranks]") {
  program job(2);
  job.rank(0).send(1, 64).receive(1, 64);
  job.rank(1).send(0, 64).receive(0, 64);
  const auto t = tell(job);
  CHECK(t.says == verdict::hangs);
  CHECK(
      t.text ==
      "hangs: nothing that it needs is scarce and nobody races, so it runs one way\n"
      "  rank 0's stream 0 at send to rank 1 (op 0) waits for receive from rank 0 (op 1) of rank 1, which comes after "
      "rank 1's stream 0 at send to rank 0 (op 0)\n"
      "  rank 1's stream 0 at send to rank 0 (op 0) waits for receive from rank 1 (op 1) of rank 0, which comes after "
      "rank 0's stream 0 at send to rank 1 (op 0)\n");
  CHECK(tell(job, ranks::mpi()).says == verdict::may_hang);
  CHECK(tell(job, machine{.surely_buffered_below = 100}).says == verdict::safe);
  program grouped(2);
  grouped.rank(0).group_begin().send(1, 64).receive(1, 64).group_end();
  grouped.rank(1).group_begin().send(0, 64).receive(0, 64).group_end();
  CHECK(tell(grouped).says == verdict::safe);
}

TEST_CASE("ranks: events that nobody records", "[ranks]") {
  program job(1);
  job.rank(0).wait(3).compute();
  CHECK(tell(job).says == verdict::safe);
  const auto t = tell(job, ranks::hccl());
  CHECK(t.says == verdict::hangs);
  CHECK(t.text.find("waits for an event that nobody records") != std::string::npos);
}

TEST_CASE("ranks: streams that share a hardware queue", "[ranks]") {
  program job(2);
  job.rank(0).all_reduce(ranks::world).record(0).on(1).wait(0).on(2).send(1, 8, 0, job.communicator("p2p", {0, 1}));
  job.rank(1).on(2).receive(0, 8, 0, job.find_communicator("p2p")).record(1).on(0).wait(1).all_reduce(ranks::world);
  CHECK(tell(job, machine{}).says == verdict::safe);
  const auto t = tell(job, machine{.hardware_queues = 1});
  CHECK(t.says == verdict::hangs);
  CHECK(t.text.find("ahead of it in the same hardware queue") != std::string::npos);
}

TEST_CASE("ranks: a thousand ranks are told as one", "[ranks]") {
  program job(1024);
  const auto data = job.communicator("data", {0});
  (void)data;
  for (int i = 0; i < 10; ++i) job.all_ranks().all_reduce(ranks::world);
  job.ranks_from_to(512, 1023).barrier();
  CHECK(tell(job).text ==
        "mismatch: call 11 of world: ranks 0-511 never come, but ranks 512-1023 call barrier of world (op 10)\n");
}

}  // namespace
