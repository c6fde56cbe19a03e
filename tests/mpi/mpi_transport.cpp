// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The MPI transport under mpirun with 2 or 4 ranks: sizes on both sides of every threshold of Open MPI, mistakes,
// time limits, and whole pipelines whose numbers must come out as on one thread.
#include <hocket/launch/transports/mpi.hpp>
#include <hocket/pipeline/schedules/dual_pipe.hpp>
#include <hocket/pipeline/schedules/interleaved.hpp>
#include <hocket/pipeline/schedules/one_f_one_b.hpp>
#include <hocket/pipeline/schedules/zero_bubble.hpp>
#include <hocket/pipeline/table.hpp>
#include <hocket/testing/transport_laws.hpp>

#include <cstdio>

#include "transport_test.hpp"

using namespace transport_test;

namespace {

int rank = 0, ranks = 0, failures = 0;

void expect(bool good, const char* what, std::size_t number = 0) {
  if (good) return;
  std::printf("rank %d: FAILED: %s (%zu)\n", rank, what, number);
  ++failures;
}

using request = mpi_transport::request_type;

// All ranks in a ring, both ways at once, all posted before any wait.
void exchange(mpi_transport t) {
  const auto next = static_cast<std::uint32_t>((rank + 1) % ranks),
             last = static_cast<std::uint32_t>((rank + ranks - 1) % ranks);
  for (const std::size_t size : {0u, 8u, 257u, 4097u, 32769u, 1u << 20}) {
    std::vector<unsigned char> out(size), from_last(size), from_next(size);
    for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<unsigned char>(i * 31 + static_cast<std::size_t>(rank));
    for (std::uint32_t step = 0; step < 2; ++step) {
      request q[4];
      const bool posted = t.ok(t.send(out.data(), size, next, 40000 + 2 * step, {}, q[0])) &&
                          t.ok(t.send(out.data(), size, last, 40001 + 2 * step, {}, q[1])) &&
                          t.ok(t.recv(from_last.data(), size, last, 40000 + 2 * step, {}, q[2])) &&
                          t.ok(t.recv(from_next.data(), size, next, 40001 + 2 * step, {}, q[3]));
      expect(posted, "posting", size);
      for (request& x : q) expect(t.ok(t.wait(x)), "waiting", size);
      bool same = true;
      for (std::size_t i = 0; i < size; ++i)
        same = same && from_last[i] == static_cast<unsigned char>(i * 31 + last) &&
               from_next[i] == static_cast<unsigned char>(i * 31 + next);
      expect(same, "what arrived", size);
    }
  }
}

// Mistakes are statuses, and the communicator works on afterwards.
void mistakes(mpi_transport t) {
  const auto other = static_cast<std::uint32_t>(rank ^ 1);
  char out[64] = {}, in[64] = {};
  request q, p;
  expect(!t.ok(t.send(out, 8, 77, 0, {}, q)), "a rank that does not exist");
  expect(t.send(out, std::size_t{1} << 31, other, 0, {}, q) == mpi_status::too_large, "2 GiB");
  // Shorter than expected.
  expect(t.ok(t.send(out, 8, other, 1, {}, q)) && t.ok(t.recv(in, 16, other, 1, {}, p)), "posting");
  expect(t.wait(p) == mpi_status::mismatched_length, "shorter than expected");
  expect(t.ok(t.wait(q)), "the send of that");
  // Longer than expected.
  expect(t.ok(t.send(out, 32, other, 2, {}, q)) && t.ok(t.recv(in, 16, other, 2, {}, p)), "posting");
  const mpi_status longer = t.wait(p);
  expect(!t.ok(longer) && std::string(t.text(longer)) == "MPI: a message longer than expected", "longer than expected");
  expect(t.ok(t.wait(q)), "the send of that");
  // Nobody sends: bounded, and about as long as the limit says.
  mpi_transport brief = mpi_transport::make(t.communicator(), {.time_limit = std::chrono::milliseconds(50)}).value();
  const auto start = std::chrono::steady_clock::now();
  expect(brief.ok(brief.recv(in, 16, other, 3, {}, p)), "posting");
  expect(brief.wait(p) == mpi_status::timed_out, "nobody sends");
  const auto took = std::chrono::steady_clock::now() - start;
  expect(took >= std::chrono::milliseconds(50) && took < std::chrono::seconds(10), "the time limit");
  MPI_Barrier(t.communicator());
  // Late is not never: the same request completes.
  expect(t.ok(t.send(out, 16, other, 3, {}, q)) && t.ok(t.wait(p)) && t.ok(t.wait(q)), "a late answer");
  expect(t.ok(t.progress()), "progress");
  bool done = false;
  request none;
  expect(t.ok(t.test(none, done)) && done, "no transfer is complete");
}

// On a communicator of its own: the last receive of the laws stays posted.
void laws(MPI_Comm comm) {
  MPI_Comm apart = MPI_COMM_NULL;
  MPI_Comm_dup(comm, &apart);
  mpi_transport t = mpi_transport::make(apart, {.time_limit = std::chrono::seconds(3)}).value();
  const std::string broken =
      testing::broken_law(t, static_cast<std::uint32_t>(rank), static_cast<std::uint32_t>(ranks));
  expect(broken.empty(), broken.c_str());
  MPI_Barrier(comm);
}

// One type for all schedules: what runs them is compiled once.
pipeline::table_schedule copy(const pipeline::schedule auto& plan) {
  return pipeline::table_schedule::make_copy(plan).value();
}

void pipeline_run(mpi_transport t, const pipeline::table_schedule& plan, std::size_t words, std::size_t number) {
  const auto me = static_cast<std::uint32_t>(rank);
  for (const from_pipeline_options options :
       {from_pipeline_options{}, from_pipeline_options{.lookahead = 3, .sends_in_flight = 2}}) {
    const auto program = from_pipeline(plan, options).value();
    pipeline_runner runner(program, me, t);
    for (int step = 0; step < 2; ++step) {
      numbers n{plan.ranks() * plan.chunks(), 1, {}, words};
      std::uint64_t mine = 0, total = 0;
      const auto done = runner.run([&](stage_action a) { return n.memory(a); },
                                   [&](stage_action a) {
                                     n.compute(a);
                                     if (a.kind() == action_kind::backward || a.kind() == action_kind::input_grad)
                                       mine += n.sum(numbers::key(2, a.stage(), a));
                                   });
      expect(done.complete && !n.missing, runner.message(done).c_str(), number);
      MPI_Allreduce(&mine, &total, 1, MPI_UINT64_T, MPI_SUM, t.communicator());
      expect(total == serial_sum(plan, words), "the sum of all gradients", number);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm own = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &own);
  const mpi_transport t = mpi_transport::make(own, {.time_limit = std::chrono::seconds(30)}).value();
  exchange(t);
  exchange(mpi_transport::make(own).value());  // without a limit
  mistakes(t);
  MPI_Barrier(own);
  laws(own);
  // 16 KiB and 64 KiB a message: below and above what Open MPI sends eagerly.
  std::size_t number = 0;
  for (const std::size_t words : {4u, 2048u, 8192u}) {
    pipeline_run(t, copy(pipeline::one_f_one_b::make({ranks, 1, 6}).value()), words, number++);
    pipeline_run(t, copy(pipeline::dual_pipe_v::make({ranks, 2, 2 * ranks}).value()), words, number++);
    if (words > 2048) break;
    pipeline_run(t, copy(pipeline::interleaved::make({ranks, 2, 5}).value()), words, number++);
    pipeline_run(t, copy(pipeline::zero_bubble::make_interleaved({ranks, 2, 5}).value()), words, number++);
  }
  int all = 0;
  MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, own);
  if (rank == 0) std::printf(all == 0 ? "ok: %d ranks\n" : "FAILED: %d ranks\n", ranks);
  MPI_Comm_free(&own);
  MPI_Finalize();
  return all == 0 ? 0 : 1;
}
