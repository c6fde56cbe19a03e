// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Times and memory of XLA's reachability map beside hocket's, in one process, round by round in turn, medians. Memory
// is reused: malloc keeps what a round frees. Build includes the post order and the adapter.
#include <malloc.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "combiner.hpp"
#include "hlo_module.hpp"
#include "hocket_reachability.hpp"
#include "newest_rows.hpp"
#include "random_changes.hpp"
#include "xla/hlo/analysis/hlo_reachability.h"

namespace {

// Microseconds of this thread.
double now() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_nsec) * 1e-3;
}
double time_of(auto&& work) {
  const double start = now();
  work();
  return now() - start;
}
double median(std::vector<double> times) {
  if (times.empty()) return 0;
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}
double mean(const std::vector<double>& times) {
  return std::accumulate(times.begin(), times.end(), 0.0) / static_cast<double>(times.size());
}
std::size_t held() {
  const struct mallinfo2 m = mallinfo2();
  return m.uordblks + m.hblkhd;
}
// What is held while the value lives.
double megabytes_of(auto&& make) {
  const std::size_t before = held();
  const auto value = make();
  return static_cast<double>(held() - before) * 1e-6;
}

// Medians of several things measured in turn.
template <std::size_t N>
std::array<double, N> in_turn(int rounds, const std::array<std::function<void()>, N>& work) {
  std::array<std::vector<double>, N> times;
  for (int r = 0; r < rounds; ++r)
    for (std::size_t k = 0; k < N; ++k) times[k].push_back(time_of(work[k]));
  std::array<double, N> medians;
  for (std::size_t k = 0; k < N; ++k) medians[k] = median(times[k]);
  return medians;
}

void print_build(const std::string& name, const xla::HloComputation& c) {
  std::size_t edges = 0;
  for (const xla::HloInstruction* i : c.instructions())
    hlo_order::for_each_predecessor(c, i, [&edges](const xla::HloInstruction*) { ++edges; });
  const auto [order, theirs, newest, ours] =
      in_turn<4>(31, {[&] { hlo_order{c}; }, [&] { xla::HloReachabilityMap::Build(&c); },
                      [&] { example::newest_rows{c}; }, [&] { xla::HocketReachabilityMap::Build(&c); }});
  const double their_memory = megabytes_of([&] { return xla::HloReachabilityMap::Build(&c); });
  const double our_memory = megabytes_of([&] { return xla::HocketReachabilityMap::Build(&c); });
  std::printf("| %s | %lld | %zu | %.0f | %.0f | %.0f | %.0f | %.2f | %.2f | %.2f | %.2f |\n", name.c_str(),
              static_cast<long long>(c.instruction_count()), edges, order, theirs, newest, ours, theirs / ours,
              newest / ours, their_memory, our_memory);
}

void print_queries(const std::string& name, const xla::HloComputation& c) {
  const auto theirs = xla::HloReachabilityMap::Build(&c);
  const auto ours = xla::HocketReachabilityMap::Build(&c);
  const example::newest_rows newest(c);
  const example::instructions all = c.MakeInstructionPostOrder();
  std::mt19937 random(1);
  std::vector<example::pair> pairs(1 << 18);
  for (example::pair& p : pairs) p = {all[random() % all.size()], all[random() % all.size()]};
  std::array<std::size_t, 3> yes{};
  const auto ask = [&](std::size_t k, auto&& reaches) {
    for (const example::pair& p : pairs) yes[k] += reaches(p.left, p.right) ? 1u : 0u;
  };
  const auto times = in_turn<3>(7, {[&] { ask(0, [&](auto* a, auto* b) { return theirs->IsReachable(a, b); }); },
                                    [&] { ask(1, [&](auto* a, auto* b) { return newest.reaches(a, b); }); },
                                    [&] { ask(2, [&](auto* a, auto* b) { return ours->IsReachable(a, b); }); }});
  const double nanoseconds = 1e3 / static_cast<double>(pairs.size());
  std::printf("| %s | %.1f | %.1f | %.1f |%s", name.c_str(), times[0] * nanoseconds, times[1] * nanoseconds,
              times[2] * nanoseconds, yes[0] == yes[1] && yes[0] == yes[2] ? "" : " DIFFERENT ANSWERS |");
}

// Continues the line of print_queries.
void print_updates(const xla::HloComputation& c) {
  const example::instructions all = c.MakeInstructionPostOrder();
  const auto theirs = xla::HloReachabilityMap::Build(&c);
  const auto ours = xla::HocketReachabilityMap::Build(&c);
  std::mt19937 random(2);
  std::vector<example::control_edge> added;
  std::vector<double> their_adds, our_adds, their_removals, our_removals, their_fusions, our_fusions;
  for (int k = 0; k < 100; ++k) {
    const example::control_edge e = example::add_control_edge(all, *theirs, random);
    if (e.after == nullptr) break;
    added.push_back(e);
    their_adds.push_back(time_of([&] { theirs->UpdateReachabilityThroughInstruction(e.after); }));
    our_adds.push_back(time_of([&] { ours->UpdateReachabilityThroughInstruction(e.after); }));
  }
  for (const example::control_edge& e : added) {
    if (!e.before->RemoveControlDependencyTo(e.after).ok()) std::abort();
    their_removals.push_back(time_of([&] { theirs->UpdateReachabilityThroughInstruction(e.after); }));
    our_removals.push_back(time_of([&] { ours->UpdateReachabilityThroughInstruction(e.after); }));
  }
  for (int k = 0; k < 50; ++k) {
    const example::pair p = example::pair_to_fuse(all, random);
    if (p.left == nullptr || example::leads_through_others(all, *theirs, p)) continue;
    their_fusions.push_back(time_of([&] { example::fuse(all, *theirs, p); }));
    our_fusions.push_back(time_of([&] { example::fuse(all, *ours, p); }));
  }
  std::printf(" %.1f | %.1f | %.1f | %.1f | %.1f | %.1f |\n", mean(their_adds), mean(our_adds), mean(their_removals),
              mean(our_removals), mean(their_fusions), mean(our_fusions));
}

void print_combiner(const std::string& path) {
  std::array<std::vector<double>, 2> times;
  std::size_t groups = 0;
  for (int round = 0; round < 3; ++round)
    for (const bool with_hocket : {false, true}) {
      const auto module = example::read_module(path);
      xla::HloComputation& c = example::largest_computation(*module);
      times[with_hocket ? 1 : 0].push_back(
          time_of([&] { groups = example::combine_all_reduces(c, 8, with_hocket).size(); }));
    }
  if (groups < 2) return;
  std::printf("| %s | %zu | %.1f | %.1f | %.2f |\n", example::name_of(path).c_str(), groups, median(times[0]) * 1e-3,
              median(times[1]) * 1e-3, median(times[0]) / median(times[1]));
}

void for_each_computation(std::span<char*> paths, auto&& f) {
  for (const std::string path : paths) {
    const auto module = example::read_module(path);
    if (module != nullptr) f(example::name_of(path), example::largest_computation(*module));
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  const std::span<char*> paths(argv + 1, static_cast<std::size_t>(argc - 1));
  std::puts(
      "| build of | nodes | edges | post order µs | XLA µs | newest µs | hocket µs | XLA / hocket | newest / hocket "
      "| XLA MB | hocket MB |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|");
  for_each_computation(paths, print_build);
  std::puts(
      "\n| changes of | query: XLA ns | newest ns | hocket ns | control edge: XLA µs | hocket µs | taken back: XLA µs "
      "| "
      "hocket µs | fusion: XLA µs | hocket µs |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|");
  for_each_computation(paths, [](const std::string& name, const xla::HloComputation& c) {
    print_queries(name, c);
    print_updates(c);
  });
  std::puts("\n| XLA's combiner on | groups | XLA's map ms | hocket's ms | ratio |\n|---|--:|--:|--:|--:|");
  for (const std::string path : paths) print_combiner(path);
  return 0;
}
