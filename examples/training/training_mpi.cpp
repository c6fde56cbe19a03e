// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The same training with ranks as processes:   mpirun -n 4 training_mpi [FOLDER] [die RANK HOW]
//
// `die` is for tests of what happens to the others when RANK is killed (HOW = kill), leaves without a word (exit) or
// stops (hang) in the middle of a step.
#include <hocket/core/message.hpp>
#include <hocket/launch/bridges/pipeline_runner.hpp>
#include <hocket/launch/transports/mpi.hpp>
#include <hocket/pipeline/facts.hpp>
#include <hocket/pipeline/schedule.hpp>

#include <unistd.h>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "rank.hpp"

using namespace training;
namespace launch = hocket::launch;

namespace {

int rank = 0, ranks = 0;

// All ranks' numbers, one after another, on rank 0.
std::vector<double> gathered(const std::vector<double>& mine) {
  const int count = static_cast<int>(mine.size());
  std::vector<int> counts(static_cast<std::size_t>(ranks)), places(counts);
  MPI_Gather(&count, 1, MPI_INT, counts.data(), 1, MPI_INT, 0, MPI_COMM_WORLD);
  int total = 0;
  for (int r = 0; rank == 0 && r < ranks; ++r) {
    places[std::size_t(r)] = total;
    total += counts[std::size_t(r)];
  }
  std::vector<double> all(static_cast<std::size_t>(total));
  MPI_Gatherv(mine.data(), count, MPI_DOUBLE, all.data(), counts.data(), places.data(), MPI_DOUBLE, 0, MPI_COMM_WORLD);
  return all;
}

// Every rank sends (stage, numbers) of its stages; rank 0 puts them in the order of the model.
std::vector<double> by_stage(const rank_state& state, bool weights) {
  std::vector<double> mine;
  for (std::size_t i = 0; i < state.stages().size(); ++i) {
    const auto x = weights ? state.weights(i) : state.gradients(i);
    mine.push_back(state.stages()[i]);
    mine.push_back(static_cast<double>(x.size()));
    mine.insert(mine.end(), x.begin(), x.end());
  }
  const std::vector<double> all = gathered(mine);
  std::vector<std::vector<double>> parts(256);
  for (std::size_t i = 0; i < all.size(); i += 2 + static_cast<std::size_t>(all[i + 1]))
    parts[static_cast<std::size_t>(all[i])].assign(
        all.begin() + static_cast<std::ptrdiff_t>(i + 2),
        all.begin() + static_cast<std::ptrdiff_t>(i + 2 + std::size_t(all[i + 1])));
  std::vector<double> out;
  for (const auto& part : parts) out.insert(out.end(), part.begin(), part.end());
  return out;
}

// The spans of all ranks on rank 0; the steady clock is that of the machine, the same for its processes.
hocket::timeline gathered(const launch::pipeline_trace& trace, const table_schedule& plan) {
  hocket::timeline mine, all;
  mine.ticks_per_second = 1'000'000'000;
  trace.add_to(mine, mine.add_lane("mine"), plan);
  std::vector<double> flat;
  for (const auto& s : mine.spans())
    for (const double x : {double(s.start), double(s.finish), double(rank), double(s.kind), double(s.chunk),
                           double(s.id), double(s.micro_batch)})
      flat.push_back(x);
  flat = gathered(flat);
  all.ticks_per_second = 1'000'000'000;
  for (int r = 0; r < ranks; ++r) all.add_lane("rank " + std::to_string(r));
  for (std::size_t i = 0; i + 7 <= flat.size(); i += 7)
    all.add({.start = static_cast<hocket::ticks>(flat[i]),
             .finish = static_cast<hocket::ticks>(flat[i + 1]),
             .lane = static_cast<std::uint32_t>(flat[i + 2]),
             .kind = static_cast<hocket::activity>(static_cast<int>(flat[i + 3])),
             .chunk = static_cast<std::uint16_t>(flat[i + 4]),
             .id = static_cast<std::uint32_t>(flat[i + 5]),
             .micro_batch = static_cast<std::int32_t>(flat[i + 6])});
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const std::vector<std::string> words(argv + 1, argv + argc);
  const bool dying = words.size() >= 3 && words[words.size() - 3] == "die";
  const std::string folder = words.size() % 3 == 1 ? words[0] : "";
  const int victim = dying ? std::atoi(words[words.size() - 2].c_str()) : -1;
  if (ranks != 4) {
    if (rank == 0) std::puts("run it with 4 processes: mpirun -n 4 training_mpi");
    MPI_Finalize();
    return 2;
  }
  MPI_Comm own = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &own);

  const config c;
  const outcome expected = rank == 0 ? train_serially(c) : outcome{};
  bool good = true;
  for (const auto& [name, plan] : schedules()) {
    const auto program = launch::from_pipeline(plan).value();
    const auto time_limit = dying ? std::chrono::seconds(2) : std::chrono::seconds(60);
    launch::pipeline_runner runner(program, static_cast<std::uint32_t>(rank),
                                   launch::mpi_transport::make(own, {.time_limit = time_limit}).value());

    // All ranks must follow the same plan.
    const std::uint64_t print = hocket::pipeline::fingerprint_of(plan);
    std::uint64_t low = 0, high = 0;
    MPI_Allreduce(&print, &low, 1, MPI_UINT64_T, MPI_MIN, own);
    MPI_Allreduce(&print, &high, 1, MPI_UINT64_T, MPI_MAX, own);
    if (low != high) MPI_Abort(own, 3);

    rank_state state(c, plan, rank);
    std::int64_t origin = launch::pipeline_trace::clock::now().time_since_epoch().count();
    MPI_Bcast(&origin, 1, MPI_INT64_T, 0, own);
    using clock = launch::pipeline_trace::clock;
    launch::pipeline_trace trace(program, static_cast<std::uint32_t>(rank), clock::time_point(clock::duration(origin)));
    int computed = 0;
    for (int step = 0; step < steps_of_training; ++step) {
      state.begin_step(step);
      const auto compute = [&](stage_action a) {
        if (rank == victim && ++computed == 7) {
          std::printf("rank %d dies now\n", rank);
          std::fflush(stdout);
          if (words.back() == "kill") std::raise(SIGKILL);
          if (words.back() == "exit") _exit(0);
          for (;;) ::pause();
        }
        state.compute(a);
      };
      const auto done = runner.run([&](stage_action a) { return state.memory(a); }, compute, trace);
      if (!done) {
        // The others cannot go on either: say why, then end the job.
        std::printf("%s\n", runner.message(done).c_str());
        std::fflush(stdout);
        // Ranks further away run out of time at about the same moment: the one that nobody hears of is the culprit.
        std::this_thread::sleep_for(std::chrono::milliseconds(500));
        runner.transport().abort();
      }
      state.end_step();
    }
    outcome got{state.losses(), by_stage(state, false), by_stage(state, true)};
    got.losses = gathered(got.losses);
    const hocket::timeline measured = gathered(trace, plan);
    if (rank == 0) {
      std::printf("%s: 4 processes, %u chunks, %u micro-batches\n", name.c_str(), plan.chunks(), plan.micro_batches());
      good &= same("processes over MPI", got, expected, keeps_order_of_summation(plan));
      good &= compare_with_simulation(plan, measured, folder.empty() ? "" : folder + "/" + name + ".mpi");
    }
  }
  if (rank == 0) std::puts(good ? "ok" : "FAILED");
  int all_good = good;
  MPI_Bcast(&all_good, 1, MPI_INT, 0, own);
  MPI_Comm_free(&own);
  MPI_Finalize();
  return all_good ? 0 : 1;
}
