// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The targets of the launch component that need no device, each beside what was measured: ratios of two things that run
// by turns in one process.   bench_launch [--benchmark_filter=REGEX]
// One thread: processor time of that thread, median of the rounds. Several threads: the wall, and the best round, since
// what other programs on the machine take away is not ours.
#include <hocket/graph.hpp>
#include <hocket/launch.hpp>
#include <hocket/launch/backends/host.hpp>
#include <hocket/launch/bridges/graph.hpp>
#include <hocket/testing/launch_benchmark.hpp>
#include <hocket/text/ops_csv.hpp>

#include <time.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <functional>
#include <iterator>
#include <mutex>
#include <new>
#include <random>
#include <regex>
#include <string>
#include <thread>
#include <vector>

namespace {
std::atomic<std::size_t> allocations{0};
}
[[gnu::noinline]] void* operator new(std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* p = std::malloc(size == 0 ? 1 : size)) return p;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }

namespace {

using namespace hocket;
using namespace hocket::launch;

double seconds(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}
double thread_time() { return seconds(CLOCK_THREAD_CPUTIME_ID); }
double process_time() { return seconds(CLOCK_PROCESS_CPUTIME_ID); }
double wall() { return seconds(CLOCK_MONOTONIC); }

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

// Seconds of ours and of theirs, by turns, the order changing from round to round.
struct pair_of_times {
  double ours, theirs;
};
template <class Ours, class Theirs>
pair_of_times by_turns(int rounds, double (*clock)(), bool best, Ours ours, Theirs theirs) {
  std::vector<double> a, b;
  const auto timed = [clock](auto& f) {
    const double start = clock();
    f();
    return clock() - start;
  };
  ours();
  theirs();
  for (int r = 0; r < rounds; ++r) {
    if (r % 2 == 0) a.push_back(timed(ours));
    b.push_back(timed(theirs));
    if (r % 2 != 0) a.push_back(timed(ours));
  }
  if (best) return {*std::min_element(a.begin(), a.end()), *std::min_element(b.begin(), b.end())};
  return {median(a), median(b)};
}

void print(const char* name, double value, const char* unit, const char* must, const char* aim) {
  std::printf("launch  %-66s %9.4g %-4s must %-9s aim %s\n", name, value, unit, must, aim);
  std::fflush(stdout);
}

// ---- one thread

[[gnu::noinline]] int call(int a, int b, int turns) noexcept {
  asm volatile("" : "+r"(a), "+r"(b));
  for (int i = 0; i < turns; ++i) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#else
    asm volatile("yield");
#endif
  }
  return 0;
}
int turns = 0;  // what a call into the driver takes
[[gnu::noinline]] int c_record(int e, int s) noexcept { return call(e, s, turns); }
[[gnu::noinline]] int c_wait(int s, int e) noexcept { return call(s, e, turns); }
[[gnu::noinline]] int c_launch(int op, int s) noexcept { return call(op, s, turns); }

struct c_backend {
  using stream_type = int;
  using event_type = int;
  using status_type = int;
  int record(int e, int s) noexcept { return c_record(e, s); }
  int wait(int s, int e) noexcept { return c_wait(s, e); }
  static bool ok(int status) noexcept { return status == 0; }
  static const char* text(int) noexcept { return ""; }
};

// What somebody would write for this plan by hand: the same calls, the failures looked at, nothing else. Both loops
// begin a cache line: where a loop lies is worth up to 15 % here, and has nothing to do with what it is.
[[gnu::noinline, gnu::aligned(64)]] std::size_t by_hand(std::span<const command> commands, std::span<const int> streams,
                                                        std::span<const int> events) {
  for (std::size_t i = 0; i < commands.size(); ++i) {
    const command& c = commands[i];
    int status = 0;
    if (c.kind == command_kind::run) status = c_launch(static_cast<int>(c.id), streams[c.stream]);
    else if (c.kind == command_kind::record) status = c_record(events[c.id], streams[c.stream]);
    else status = c_wait(streams[c.stream], events[c.id]);
    if (status != 0) return i;
  }
  return commands.size();
}
[[gnu::noinline, gnu::aligned(64)]] std::size_t by_drive(const command_list& list, std::span<const int> streams,
                                                         std::span<const int> events) {
  c_backend b;
  return drive(b, list, streams, events, [](node_id op, int s) { return c_launch(static_cast<int>(op), s); }).issued;
}

command_list mixed_list(std::size_t ops, std::uint16_t streams, unsigned seed) {
  std::minstd_rand random(seed);
  std::vector<command> out;
  std::vector<std::uint16_t> on;
  for (std::size_t v = 0; v < ops; ++v) {
    on.push_back(static_cast<std::uint16_t>(random() % streams));
    if (v > 8 && random() % 2 == 0) {
      const auto u = static_cast<node_id>(v - 1 - random() % 8);
      if (on[u] != on[v]) out.push_back(wait_event(u, on[v]));
    }
    out.push_back(run_op(static_cast<node_id>(v), on[v]));
    out.push_back(record_event(static_cast<node_id>(v), on[v]));
  }
  return reuse_events(command_list::make(out, streams).value());
}

void drive_rows() {
  const auto list = mixed_list(3300, 4, 1);
  const std::vector<int> streams{1, 2, 3, 4};
  std::vector<int> events(list.event_count());
  std::size_t sink = 0;
  const auto row = [&](const char* name, int t, int repeat, const char* must, const char* aim) {
    turns = t;
    const auto r = by_turns(
        41, thread_time, false,
        [&] {
          for (int i = 0; i < repeat; ++i) sink += by_drive(list, streams, events);
        },
        [&] {
          for (int i = 0; i < repeat; ++i) sink += by_hand(list.commands(), streams, events);
        });
    std::printf("# %zu commands, %.1f ns a call by hand\n", list.size(),
                1e9 * r.theirs / static_cast<double>(repeat) / static_cast<double>(list.size()));
    print(name, r.ours / r.theirs, "x", must, aim);
  };
  row("drive / hand-written loop, calls of 100 ns and more", 12, 1, "<= 1.01", "1.00");
  row("drive / hand-written loop, calls that do nothing", 0, 30, "<= 1.15", "<= 1.05");

  turns = 0;
  timeline_trace clocks(list);
  c_backend b;
  const auto op = [](node_id o, int s) { return c_launch(static_cast<int>(o), s); };
  const auto per_command = [&](auto& trace) {
    const auto r = by_turns(
        31, thread_time, false,
        [&] {
          for (int i = 0; i < 20; ++i)
            sink += drive(b, list, std::span<const int>(streams), std::span<const int>(events), op, trace).issued;
        },
        [&] {
          for (int i = 0; i < 20; ++i) sink += by_drive(list, streams, events);
        });
    return 1e9 * (r.ours - r.theirs) / 20 / static_cast<double>(list.size());
  };
  print("trace on: timeline_trace (two readings of the clock), more per command", per_command(clocks), "ns", "-", "-");
  if (sink == 0) std::puts("");
}

[[gnu::noinline]] std::uint64_t busy(std::uint64_t x, int rounds) noexcept {  // 1.5 to 3 ns a round
  for (int i = 0; i < rounds; ++i) x = (x ^ (x >> 29)) * 0xbf58476d1ce4e5b9u;
  return x;
}

void inline_row() {
  const auto list = mixed_list(3300, 4, 2);
  inline_backend b(list.event_count());
  std::uint64_t x = 1;
  const auto r = by_turns(
      41, thread_time, false,
      [&] {
        for (int i = 0; i < 4; ++i) static_cast<void>(drive(b, list, [&](node_id, stream_id) { x = busy(x, 40); }));
      },
      [&] {
        for (int i = 0; i < 4; ++i)
          for (std::uint32_t op = 0; op < list.op_count(); ++op) x = busy(x, 40);
      });
  std::printf("# ops of %.0f ns, %.2f other commands an op\n", 1e9 * r.theirs / 4 / list.op_count(),
              static_cast<double>(list.size()) / list.op_count() - 1);
  print("inline backend / bare loop, ops of 50 ns and more", r.ours / r.theirs, "x", "<= 1.02", "-");
  if (x == 0) std::puts("");
}

// ---- threads

void replay_row() {
  constexpr std::uint32_t ops = 20000;
  std::vector<command> commands;
  for (node_id op = 0; op < ops; ++op) commands.push_back(run_op(op, 0));
  const auto list = command_list::make(commands, 1).value();
  auto device = host_backend::start(1).value();
  std::uint64_t x = 1;
  const auto body = [&](node_id, stream_id) { x = busy(x, 160); };
  const auto r = by_turns(
      41, wall, true, [&] { static_cast<void>(device.run(list, body)); },
      [&] {
        for (std::uint32_t op = 0; op < ops; ++op) x = busy(x, 160);
      });
  std::printf("# ops of %.0f ns\n", 1e9 * r.theirs / ops);
  print("host replay / bare loop, 1 stream, ops of 300 ns", r.ours / r.theirs, "x", "<= 1.05", "<= 1.02");
  if (x == 0) std::puts("");
}

// A ring of threads that pass a turn on by mutex and condition variable.
double condvar_ring(unsigned threads, unsigned hops) {
  struct place {
    std::mutex mutex;
    std::condition_variable cv;
    unsigned turn = 0;
  };
  std::vector<place> places(threads);
  std::vector<std::thread> team;
  const double start = wall();
  for (unsigned t = 0; t < threads; ++t)
    team.emplace_back([&, t] {
      for (unsigned hop = t; hop < hops; hop += threads) {
        std::unique_lock lock(places[t].mutex);
        places[t].cv.wait(lock, [&] { return places[t].turn == hop; });
        lock.unlock();
        place& next = places[(t + 1) % threads];
        {
          const std::lock_guard other(next.mutex);
          next.turn = hop + 1;
        }
        next.cv.notify_one();
      }
    });
  for (auto& one : team) one.join();
  return wall() - start;
}

// Short rounds and many: on a busy machine some fall where both threads have a processor.
void hop_rows() {
  const auto row = [](const char* name, std::uint16_t streams, unsigned hops, const char* must, const char* aim) {
    const auto list = testing::ring_list(streams, hops);
    auto device = host_backend::start(streams).value();
    const auto nothing = [](node_id, stream_id) {};
    const auto r = by_turns(
        101, wall, true, [&] { static_cast<void>(device.run(list, nothing)); },
        [&] { static_cast<void>(condvar_ring(streams, hops)); });
    std::printf("# %u streams: %.0f ns a hop, by mutex and condition variable %.0f ns\n", streams, 1e9 * r.ours / hops,
                1e9 * r.theirs / hops);
    print(name, r.ours / r.theirs, "x", must, aim);
  };
  row("hot cross-stream hop / mutex + condition variable", 2, 2000, "<= 0.05", "<= 0.033");
  row("the same with 8 streams (more than cores here)", 8, 2000, "<= 1", "-");
}

void waiting_row() {
  const auto list = command_list::make(std::vector{run_op(0, 0), record_event(0, 0), wait_event(0, 1)}, 2).value();
  auto device = host_backend::start(2).value();
  const auto sleepy = [](node_id, stream_id) { std::this_thread::sleep_for(std::chrono::milliseconds(1)); };
  constexpr int times = 100;
  const auto r = by_turns(
      5, process_time, true,
      [&] {
        for (int i = 0; i < times; ++i) static_cast<void>(device.run(list, sleepy));
      },
      [&] {
        for (int i = 0; i < times; ++i) {
          std::atomic<bool> done{false};
          std::thread other([&] {
            sleepy(0, 0);
            done = true;
          });
          while (!done) {
          }
          other.join();
        }
      });
  std::printf(
      "# waiting for 1 ms burns %.0f us of processor time, start and end of the run included; spinning %.0f us\n",
      1e6 * r.ours / times, 1e6 * r.theirs / times);
  print("processor time burnt while waiting 1 ms / spinning", r.ours / r.theirs, "x", "<= 0.1", "-");
}

class mutex_queue {  // one function object per task under a mutex, as many executors have it
 public:
  mutex_queue()
      : thread_([this] {
          for (;;) {
            std::function<void()> task;
            {
              std::unique_lock lock(mutex_);
              changed_.wait(lock, [this] { return !tasks_.empty(); });
              task = std::move(tasks_.front());
              tasks_.pop_front();
            }
            if (!task) return;
            task();
          }
        }) {}
  ~mutex_queue() {
    push(nullptr);
    thread_.join();
  }
  void push(std::function<void()> task) {
    {
      const std::lock_guard lock(mutex_);
      tasks_.push_back(std::move(task));
    }
    changed_.notify_one();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  std::thread thread_;
};

void enqueue_rows() {
  constexpr int ops = 20000;
  auto device = host_backend::start(1).value();
  std::uint64_t done = 0;
  const auto work = [p = &done] { ++*p; };
  const auto ours = [&] {
    for (int i = 0; i < ops; ++i) static_cast<void>(device.enqueue(device.stream(0), work));
  };
  mutex_queue queue;
  std::atomic<int> left{0};
  const auto theirs = [&] {
    left = 1;
    for (int i = 0; i < ops; ++i) queue.push(work);
    queue.push([&left] { left = 0; });
  };
  std::vector<double> a, b;  // the producer's time; the queues run dry in between
  for (int round = 0; round < 21; ++round) {
    double start = thread_time();
    ours();
    a.push_back(thread_time() - start);
    static_cast<void>(device.synchronize());
    start = thread_time();
    theirs();
    b.push_back(thread_time() - start);
    while (left != 0) std::this_thread::yield();
  }
  std::printf("# the producer's time per op: eager %.1f ns, mutex queue %.1f ns\n", 1e9 * median(a) / ops,
              1e9 * median(b) / ops);
  print("eager enqueue / mutex queue", median(a) / median(b), "x", "-", "-");
}

// ---- counted, not timed

void counting_rows() {
  for (const char* name : {"gpt2_small", "llama2_13b_stage", "transformer_base"}) {
    std::ifstream file(HOCKET_OPS_DATA + std::string("/") + name + ".ops.csv");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const auto ops = text::parse_ops_csv(text);
    if (!ops || ops->size() == 0) {
      std::printf("# %s cannot be read\n", name);
      continue;
    }
    const auto deps = graph::dependencies(*ops).value();
    const auto row = [&](const std::string& how, const graph::stream_plan& plan) {
      const auto list = reuse_events(launch::from_graph(plan).value());
      std::printf("# %s, %s: %zu ops, %zu cross-stream edges, %u waits, %u events\n", name, how.c_str(),
                  plan.node_count(), plan.cross_stream_edges(), list.wait_count(), list.event_count());
      print((std::string(name) + ", " + how + ": waits / one per cross-stream edge").c_str(),
            static_cast<double>(list.wait_count()) / static_cast<double>(plan.cross_stream_edges()), "x", "report",
            "the minimum, proved");
    };
    row("as captured", graph::stream_plan::make(deps.graph(), *ops).value());
    std::minstd_rand random(1);
    std::vector<stream_id> streams;
    for (std::size_t i = 0; i < ops->size(); ++i) streams.push_back(static_cast<stream_id>(random() % 4));
    row("on 4 at random", graph::stream_plan::make(deps.graph(), std::span<const stream_id>(streams)).value());
  }
  const auto list = fenced(mixed_list(300, 3, 4)).value();
  auto device = host_backend::start(3).value();
  event_pool events(device);
  static_cast<void>(events.prepare(list));
  const auto body = [](node_id, stream_id) {};
  const auto op = [&](node_id, host_stream s) { return device.enqueue(s, [] {}); };
  // The queues grow to what they may ever hold. Each stream has two that it exchanges at every look: one look more
  // makes it the other one's turn.
  for (int i = 0; i < 2; ++i) {
    for (const host_stream s : device.streams()) static_cast<void>(device.enqueue(s, [] {}));
    static_cast<void>(device.synchronize());
    std::atomic<bool> go{false};
    std::atomic<int> held{0};
    for (const host_stream s : device.streams())
      static_cast<void>(device.enqueue(s, [&go, &held] {
        ++held;
        while (!go) std::this_thread::yield();
      }));
    while (held != 3) std::this_thread::yield();
    static_cast<void>(drive(device, list, device.streams(), events.events(), op));
    go = true;
    static_cast<void>(device.synchronize());
  }
  static_cast<void>(device.run(list, body));
  const std::size_t before = allocations;
  for (int i = 0; i < 50; ++i) {
    static_cast<void>(device.run(list, body));
    static_cast<void>(drive(device, list, device.streams(), events.events(), op));
    static_cast<void>(device.synchronize());
  }
  print("allocations in 50 replays and 50 eager drives", static_cast<double>(allocations - before), "", "0", "0");
}

}  // namespace

int main(int argc, char** argv) {
  std::regex filter(".*");
  for (int i = 1; i < argc; ++i)
    if (std::strncmp(argv[i], "--benchmark_filter=", 19) == 0) filter = std::regex(argv[i] + 19);
  const struct {
    const char* name;
    void (*run)();
  } groups[] = {{"launch/drive", drive_rows},     {"launch/inline", inline_row},   {"launch/replay", replay_row},
                {"launch/hop", hop_rows},         {"launch/waiting", waiting_row}, {"launch/enqueue", enqueue_rows},
                {"launch/counted", counting_rows}};
  std::printf("# %u processors\n", std::thread::hardware_concurrency());
  for (const auto& group : groups)
    if (std::regex_search(group.name, filter)) group.run();
  return 0;
}
