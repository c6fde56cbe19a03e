// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Steps without end, with faults among them, on every backend and on pipelines over the in-process transport:
//   soak [SECONDS] [SEED]      600 seconds, seed 1
// Every value that a step computes is compared. Memory must be flat: the most that the second half of the time holds is
// at most a little above the most that the first half held. Exit status 0 if all that is so.
#include <hocket/pipeline/schedules/one_f_one_b.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "device_rig.hpp"
#include "transport_test.hpp"

namespace {

using namespace launch_test;
using clock_type = std::chrono::steady_clock;

/// Resident memory in KiB; 0 where the system does not say.
std::size_t resident() {
  std::FILE* const file = std::fopen("/proc/self/status", "r");
  if (file == nullptr) return 0;
  char line[256];
  unsigned long found = 0;
  while (std::fgets(line, sizeof line, file) != nullptr)
    if (std::sscanf(line, "VmRSS: %lu", &found) == 1) break;
  static_cast<void>(std::fclose(file));
  return found;
}

/// What has happened so far.
struct tally {
  std::uint64_t commands = 0;
  std::uint64_t steps = 0;
  std::uint64_t faults = 0;
  std::string wrong;  // the first thing that was not right

  void expect(bool good, const char* what) {
    if (!good && wrong.empty()) wrong = what;
  }
};

/// A random program, its plan, and what it must compute.
struct job {
  explicit job(unsigned seed)
      : program(make_program(seed, 24, static_cast<std::uint16_t>(2 + seed % 2))),
        list(reuse_events(fenced(naive_list(program)).value())),
        expected(expected_values(program)) {}
  random_program program;
  command_list list;
  std::vector<std::uint64_t> expected;
};

/// Values that also depend on the step before: a step that is lost, comes twice or overlaps with another shows.
struct step_values {
  explicit step_values(const random_program& p) : program(&p), out(p.predecessors.size()) {}
  void run(node_id v) {
    std::uint64_t x = out[v] + v + 1;
    for (const node_id u : program->predecessors[v]) x = mix(x + out[u]);
    out[v] = mix(x);
  }
  void run_all(int times) {
    for (int i = 0; i < times; ++i)
      for (std::size_t v = 0; v < out.size(); ++v) run(static_cast<node_id>(v));
  }
  const random_program* program;
  std::vector<std::uint64_t> out;
};

/// Whole lists on threads, several in flight; now and then an op fails, or all is cancelled.
class on_threads {
 public:
  void run(const job& j, std::minstd_rand& random, tally& t) {
    constexpr int in_flight = 40;
    const auto fault = random() % 8;
    step_values v(j.program);
    step_values expected(j.program);
    expected.run_all(in_flight);
    const auto bad = static_cast<node_id>(random() % j.program.predecessors.size());
    const auto body = [&](node_id op, stream_id) {
      if (fault == 0 && op == bad) return 1;
      v.run(op);
      return 0;
    };
    for (int i = 0; i < in_flight; ++i) t.expect(device_.submit(j.list, body) == host_status::ok, "submit");
    if (fault == 1) device_.cancel();
    const host_report report = device_.synchronize();
    t.commands += in_flight * j.list.size();
    t.steps += in_flight;
    t.faults += fault < 2;
    if (fault == 0) t.expect(report.status == host_status::op_failed && report.op == bad, "the op that failed");
    else if (fault == 1) t.expect(report || report.status == host_status::cancelled, "a cancelled step");
    else t.expect(report && v.out == expected.out, "values on threads");
  }

 private:
  host_backend device_ = host_backend::start(2).value();
};

/// The same lists in one thread.
class in_line {
 public:
  void run(const job& j, std::minstd_rand&, tally& t) {
    constexpr int times = 40;
    for (int i = 0; i < times; ++i) {
      inline_backend b(j.list.event_count());
      values v(j.program);
      const auto done = drive(b, j.list, [&v](node_id op, stream_id) { v.run(op); });
      t.expect(done && v.out == j.expected, "values in one thread");
    }
    t.commands += times * j.list.size();
    t.steps += times;
  }
};

/// Driven on a vendor's backend over the fake device; now and then a call fails, and the next step is whole again.
template <class B>
class on_device {
 public:
  explicit on_device(std::size_t streams) : rig_(streams) {}
  void run(const job& j, std::minstd_rand& random, tally& t) {
    constexpr int times = 10;
    const auto list = fitted<B>(j.list);
    event_pool<B> events(rig_.backend);
    t.expect(static_cast<bool>(events.prepare(list)), "events");
    values v(j.program);
    kernels<B, values> launch(v, j.program.predecessors.size());
    for (int i = 0; i < times; ++i) {
      const bool fails = i == 0 && random() % 8 == 0;
      if (fails) fake::fail_next(random() % list.size());
      const auto done = drive(rig_.backend, list, rig_.streams, events.events(), launch);
      t.expect(B::ok(rig_.synchronize()), "synchronize");
      t.commands += done.issued;
      ++t.steps;
      t.faults += fails;
      t.expect(done ? v.out == j.expected : fails, "values on the fake device");
      if (done) continue;
      // Events that a wait resets may be left set by a step that was cut off.
      events = event_pool<B>(rig_.backend);
      t.expect(static_cast<bool>(events.prepare(list)), "events after a fault");
    }
  }

 private:
  rig<B> rig_;
};

/// A pipeline of three ranks over the in-process transport; now and then a rank fails, and all hear of it.
class over_transport {
 public:
  void run(const job&, std::minstd_rand& random, tally& t) {
    using namespace transport_test;
    const auto group =
        in_process_group::start(3, {.sends = random() % 2 == 0 ? completion::rendezvous : completion::buffered})
            .value();
    const bool fails = random() % 8 == 0;
    const auto rank = static_cast<std::uint32_t>(random() % 3);
    const auto all = run_threads(
        plan_, program_, group, 4,
        [&](std::uint32_t r, const stage_action& a) { return fails && r == rank && a.micro_batch() == 3 ? 9 : 0; }, 20);
    for (std::uint32_t r = 0; r < 3; ++r) {
      t.commands += program_.steps(r).size() * (fails ? 1 : 20);
      t.expect(all[r].complete != fails, "ranks that must fail or not");
    }
    t.steps += 20;
    t.faults += fails;
    if (!fails) t.expect(total_of(all) == expected_, "values over a transport");
  }

 private:
  hocket::pipeline::one_f_one_b plan_ = hocket::pipeline::one_f_one_b::make({3, 1, 8}).value();
  pipeline_program program_ = from_pipeline(plan_).value();
  std::uint64_t expected_ = transport_test::serial_sum(plan_, 4);
};

struct halves {
  std::size_t first = 0, second = 0;  // KiB at most
  void look(bool is_second) {
    std::size_t& most = is_second ? second : first;
    most = std::max(most, resident());
  }
  /// Leaks of a byte in ten commands show in ten minutes; an allocator that keeps a little more does not.
  [[nodiscard]] bool flat() const { return second <= first + 4096; }
};

}  // namespace

int main(int argc, char** argv) {
  const long seconds = argc > 1 ? std::strtol(argv[1], nullptr, 10) : 600;
  const unsigned long seed = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 1;
  if (seconds < 1) {
    std::fputs("usage: soak [SECONDS] [SEED]\n", stderr);
    return 2;
  }
  std::minstd_rand random(static_cast<unsigned>(seed));
  std::vector<job> jobs;
  for (unsigned i = 0; i < 16; ++i) jobs.emplace_back(static_cast<unsigned>(seed) * 1000 + i);
  fake::reset();
  tally t;
  halves memory;
  const auto start = clock_type::now();
  const auto total = std::chrono::seconds(seconds);
  {
    on_threads threads;
    in_line one;
    on_device<cuda_backend> cuda(3);
    on_device<ascend_backend> ascend(3);
    on_device<ascend_classic_backend> classic(3);
    over_transport ranks;
    auto told = start;
    for (auto now = start; now - start < total && t.wrong.empty(); now = clock_type::now()) {
      const job& j = jobs[random() % jobs.size()];
      threads.run(j, random, t);
      one.run(j, random, t);
      cuda.run(j, random, t);
      ascend.run(j, random, t);
      classic.run(j, random, t);
      ranks.run(j, random, t);
      memory.look(2 * (now - start) >= total);
      if (now - told < std::chrono::seconds(30)) continue;
      told = now;
      std::fprintf(stderr, "%llu commands\n", static_cast<unsigned long long>(t.commands));
    }
  }
  const double took = std::chrono::duration<double>(clock_type::now() - start).count();
  std::printf(
      "%llu commands, %llu steps, %llu faults in %.0f s; memory %.1f MiB in the first half, %.1f in the second\n",
      static_cast<unsigned long long>(t.commands), static_cast<unsigned long long>(t.steps),
      static_cast<unsigned long long>(t.faults), took, static_cast<double>(memory.first) / 1024,
      static_cast<double>(memory.second) / 1024);
  if (!t.wrong.empty())
    std::printf("WRONG: %s, after %llu steps\n", t.wrong.c_str(), static_cast<unsigned long long>(t.steps));
  if (!memory.flat()) std::printf("WRONG: memory grows\n");
  return t.wrong.empty() && memory.flat() ? 0 : 1;
}
