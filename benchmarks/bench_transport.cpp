// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The targets of transports and of pipelines that really run: each line is a ratio of two things that ran by turns.
// bench_transport [--benchmark_filter=REGEX]      starts itself under mpirun for the lines that need two processes
#include <hocket/launch/backends/host.hpp>
#include <hocket/launch/bridges/pipeline_runner.hpp>
#include <hocket/launch/bridges/pipeline_streams.hpp>
#include <hocket/launch/timeline_trace.hpp>
#include <hocket/launch/transports/in_process.hpp>
#include <hocket/pipeline/schedules/interleaved.hpp>
#include <hocket/pipeline/schedules/one_f_one_b.hpp>
#include <hocket/pipeline/schedules/zero_bubble.hpp>
#include <hocket/pipeline/simulate.hpp>
#include <hocket/pipeline/table.hpp>
#if defined(HOCKET_BENCH_MPIEXEC)
#include <hocket/launch/transports/mpi.hpp>
#endif

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <regex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

namespace {

using namespace hocket;
using pipeline::stage_action;
using clock_type = std::chrono::steady_clock;

std::regex wanted(".*");
bool is_wanted(const std::string& name) { return std::regex_search(name, wanted); }

double median(std::vector<double> v) {
  std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2), v.end());
  return v[v.size() / 2];
}
double quartile(std::vector<double> v) {
  std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(v.size() / 4), v.end());
  return v[v.size() / 4];
}
void line(const std::string& name, const std::string& what, double measured, const char* must, const char* aim) {
  std::printf("%-34s %-46s %10.4g %-7s must %-9s aim %s\n", name.c_str(), what.c_str(), measured, "x", must, aim);
  std::fflush(stdout);
}

// About `units` microseconds of arithmetic that nothing can skip.
std::uint64_t sink = 0;
std::uint64_t work(int units) {
  std::uint64_t x = 88172645463325252ull;
  for (int i = 0; i < units * 600; ++i) {
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
  }
  return x;
}

// What each action took.
struct measured_costs {
  std::unordered_map<std::uint64_t, ticks> of;
  static std::uint64_t key(int kind, std::uint32_t stage, std::uint32_t micro_batch) {
    return static_cast<std::uint64_t>(kind) << 56 | std::uint64_t{stage} << 32 | micro_batch;
  }
  [[nodiscard]] ticks duration(stage_action a) const {
    const auto at = of.find(key(static_cast<int>(a.kind()), a.stage(), a.micro_batch()));
    return at == of.end() ? 0 : at->second;
  }
  [[nodiscard]] ticks latency(std::uint32_t, std::uint32_t) const { return 0; }
};

// A span's id is its stage.
double over_simulation(const pipeline::table_schedule& plan, const timeline& t) {
  measured_costs costs;
  for (const timeline::span& s : t.spans())
    costs.of[costs.key(static_cast<int>(s.kind), s.id, static_cast<std::uint32_t>(s.micro_batch))] = s.finish - s.start;
  const auto run = pipeline::simulate(plan, costs);
  return run ? static_cast<double>(t.makespan()) / static_cast<double>(run->makespan) : 0;
}

std::vector<std::pair<std::string, pipeline::table_schedule>> balanced_schedules() {
  const auto table = [](const auto& plan) { return pipeline::table_schedule::make_copy(plan.value()).value(); };
  std::vector<std::pair<std::string, pipeline::table_schedule>> all;
  all.emplace_back("1f1b", table(pipeline::one_f_one_b::make({2, 1, 16})));
  all.emplace_back("interleaved", table(pipeline::interleaved::make({2, 2, 9})));
  all.emplace_back("zb-h1", table(pipeline::zero_bubble::make_h1({2, 1, 16})));
  return all;
}
constexpr int unit = 300;  // microseconds of a forward
int units_of(pipeline::action_kind kind) { return kind == pipeline::action_kind::backward ? 2 * unit : unit; }

constexpr int rounds = 31;

void host_pipelines() {
  for (const auto& [schedule, plan] : balanced_schedules()) {
    const std::string name = "transport/pipeline/" + schedule;
    if (!is_wanted(name)) continue;
    const auto streams = launch::pipeline_streams::make(plan).value();
    auto device = launch::host_backend::start(2).value();
    const auto transfers = launch::from_pipeline(plan).value();
    auto group = launch::in_process_group::start(2).value();
    std::vector<double> by_events, by_transport;
    for (int r = 0; r < rounds; ++r) {
      launch::timeline_trace trace(streams.commands);
      std::uint64_t sums[2] = {};
      (void)device.run(
          streams.commands, [&](node_id k, stream_id s) { sums[s] += work(units_of(streams.actions[k].kind())); },
          trace);
      sink += sums[0] + sums[1];
      timeline t;
      for (int k = 0; k < 2; ++k) t.add_lane("");
      const timeline raw = trace.timeline();
      for (timeline::span s : raw.spans()) {
        const stage_action a = streams.actions[s.id];
        s.kind = static_cast<activity>(a.kind());
        s.id = a.stage();
        s.micro_batch = static_cast<std::int32_t>(a.micro_batch());
        t.add(s);
      }
      by_events.push_back(over_simulation(plan, t));

      std::vector<launch::pipeline_trace> traces;
      for (std::uint32_t k = 0; k < 2; ++k) traces.emplace_back(transfers, k, clock_type::time_point{});
      const auto body = [&](std::uint32_t rank) {
        launch::pipeline_runner runner(transfers, rank, group.rank(rank));
        std::vector<char> memory(65536);
        (void)runner.run([&](stage_action) { return launch::transfer_memory{memory.data(), memory.size()}; },
                         [&](stage_action a) { sums[rank] += work(units_of(a.kind())); }, traces[rank]);
      };
      std::thread other(body, 1u);
      body(0);
      other.join();
      sink += sums[0] + sums[1];
      timeline u;
      u.ticks_per_second = 1'000'000'000;
      for (std::uint32_t k = 0; k < 2; ++k) traces[k].add_to(u, u.add_lane(""), plan);
      by_transport.push_back(over_simulation(plan, u));
    }
    line(name, "host backend / simulated, median", median(by_events), "<= 1.05", "<= 1.02");
    line(name, "  lower quartile (the quieter runs)", quartile(by_events), "-", "-");
    line(name, "in-process transport / simulated, median", median(by_transport), "<= 1.05", "<= 1.02");
    line(name, "  lower quartile", quartile(by_transport), "-", "-");
  }
}

#if defined(HOCKET_BENCH_MPIEXEC)

// Both ranks send and receive at once. Raw: Isend, Irecv, Waitall. Ours: send, recv, wait, wait.
void mpi_exchange(MPI_Comm comm, int rank) {
  const int peer = 1 - rank;
  for (const int bytes : {8, 1024, 4096, 65536, 1 << 20}) {
    std::vector<char> out(static_cast<std::size_t>(bytes), 'x'), in(out);
    const int batch = bytes <= 4096 ? 2000 : bytes <= 65536 ? 200 : 20;
    const auto raw = [&] {
      for (int i = 0; i < batch; ++i) {
        MPI_Request q[2];
        MPI_Irecv(in.data(), bytes, MPI_BYTE, peer, 5, comm, &q[0]);
        MPI_Isend(out.data(), bytes, MPI_BYTE, peer, 5, comm, &q[1]);
        MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
      }
    };
    const auto ours = [&](launch::mpi_transport t) {
      const auto n = static_cast<std::size_t>(bytes);
      for (int i = 0; i < batch; ++i) {
        launch::mpi_transport::request_type q[2];
        (void)t.recv(in.data(), n, static_cast<std::uint32_t>(peer), 5, {}, q[0]);
        (void)t.send(out.data(), n, static_cast<std::uint32_t>(peer), 5, {}, q[1]);
        (void)t.wait(q[0]);
        (void)t.wait(q[1]);
      }
    };
    const auto timed = [&](const auto& f) {
      MPI_Barrier(comm);
      const auto start = clock_type::now();
      f();
      return std::chrono::duration<double, std::micro>(clock_type::now() - start).count() / batch;
    };
    std::vector<double> times[3];
    for (int r = 0; r < 61; ++r) {
      const auto forever = launch::mpi_transport::make(comm).value(),
                 limited = launch::mpi_transport::make(comm, {.time_limit = std::chrono::seconds(60)}).value();
      for (int k = 0; k < 3; ++k) {
        const int which = (k + r) % 3;
        times[which].push_back(which == 0   ? timed(raw)
                               : which == 1 ? timed([&] { ours(forever); })
                                            : timed([&] { ours(limited); }));
      }
    }
    if (rank != 0) continue;
    const std::string name = "transport/mpi/" + std::to_string(bytes);
    std::printf("# %d bytes: raw %.2f us an exchange (median; %.2f in the quieter quarter)\n", bytes, median(times[0]),
                quartile(times[0]));
    line(name, "no time limit / raw, median", median(times[1]) / median(times[0]), "<= 1.05", "-");
    line(name, "  lower quartiles", quartile(times[1]) / quartile(times[0]), "-", "-");
    line(name, "with a time limit / raw, median", median(times[2]) / median(times[0]), "<= 1.05", "-");
    line(name, "  lower quartiles", quartile(times[2]) / quartile(times[0]), "-", "-");
  }
}

void mpi_pipelines(MPI_Comm comm, int rank) {
  for (const auto& [schedule, plan] : balanced_schedules()) {
    const auto program = launch::from_pipeline(plan).value();
    launch::pipeline_runner runner(program, static_cast<std::uint32_t>(rank),
                                   launch::mpi_transport::make(comm, {.time_limit = std::chrono::seconds(60)}).value());
    std::vector<char> memory(65536);
    std::vector<double> ratios;
    for (int r = 0; r < rounds; ++r) {
      launch::pipeline_trace trace(program, static_cast<std::uint32_t>(rank), clock_type::time_point{});
      MPI_Barrier(comm);
      (void)runner.run([&](stage_action) { return launch::transfer_memory{memory.data(), memory.size()}; },
                       [&](stage_action a) { sink += work(units_of(a.kind())); }, trace);
      timeline mine, all;
      mine.ticks_per_second = 1'000'000'000;
      trace.add_to(mine, mine.add_lane(""), plan);
      std::vector<std::int64_t> flat, theirs;
      for (const timeline::span& s : mine.spans())
        for (const std::int64_t x :
             {s.start, s.finish, std::int64_t(s.kind), std::int64_t(s.id), std::int64_t(s.micro_batch)})
          flat.push_back(x);
      theirs.resize(flat.size());  // the two ranks have as many actions
      const int count = static_cast<int>(flat.size());
      MPI_Sendrecv(flat.data(), count, MPI_INT64_T, 1 - rank, 9, theirs.data(), count, MPI_INT64_T, 1 - rank, 9, comm,
                   MPI_STATUS_IGNORE);
      for (std::uint32_t k = 0; k < 2; ++k) {
        all.add_lane("");
        const auto& from = k == 0 ? flat : theirs;
        for (std::size_t i = 0; i < from.size(); i += 5)
          all.add({.start = from[i],
                   .finish = from[i + 1],
                   .lane = k,
                   .kind = static_cast<activity>(from[i + 2]),
                   .id = static_cast<std::uint32_t>(from[i + 3]),
                   .micro_batch = static_cast<std::int32_t>(from[i + 4])});
      }
      ratios.push_back(over_simulation(plan, all));
    }
    if (rank != 0) continue;
    line("transport/pipeline/" + schedule, "processes over MPI / simulated, median", median(ratios), "<= 1.05",
         "<= 1.02");
    line("transport/pipeline/" + schedule, "  lower quartile", quartile(ratios), "-", "-");
  }
}

#endif

}  // namespace

int main(int argc, char** argv) {
  bool as_process = false;
  std::string filter;
  for (int i = 1; i < argc; ++i) {
    if (std::strncmp(argv[i], "--benchmark_filter=", 19) == 0) filter = argv[i] + 19;
    if (std::strcmp(argv[i], "--as-process") == 0) as_process = true;
  }
  if (!filter.empty()) wanted = std::regex(filter);
  if (!as_process && !is_wanted("transport/mpi") && !is_wanted("transport/pipeline")) return 0;
#if defined(HOCKET_BENCH_MPIEXEC)
  if (as_process) {
    MPI_Init(&argc, &argv);
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (is_wanted("transport/mpi")) mpi_exchange(MPI_COMM_WORLD, rank);
    if (is_wanted("transport/pipeline")) mpi_pipelines(MPI_COMM_WORLD, rank);
    MPI_Finalize();
    return sink == 42;
  }
#endif
  host_pipelines();
#if defined(HOCKET_BENCH_MPIEXEC)
  setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
  setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
  const std::string command = std::string(HOCKET_BENCH_MPIEXEC " -n 2 ") + argv[0] + " --as-process" +
                              (filter.empty() ? "" : " '--benchmark_filter=" + filter + "'");
  if (std::system(command.c_str()) != 0) std::puts("# mpirun failed");
#else
  std::puts("# built without MPI: no lines for processes");
#endif
  return sink == 42;
}
