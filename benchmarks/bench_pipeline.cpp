// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How fast a schedule's view is against the list it stands for, written down: ratios of things that run by turns in one
// process. Needs no benchmark framework.   bench_pipeline
#include <hocket/pipeline.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <vector>

#include "measure.hpp"

using namespace hocket::pipeline;

namespace {

double now() { return bench::now() * 1e-3; }  // seconds

template <class T>
void keep(const T& value) {
  asm volatile("" : : "r"(&value) : "memory");
}

/// By value, so that a sum may live in a register until then.
void keep_sum(std::uint32_t sum) { asm volatile("" : : "r"(sum)); }

/// The median of the ratios a / b, each from a turn in which both run.
struct ratio {
  double median, first, second;  // and the best time of each, per item, in ns
};
ratio by_turns(std::size_t items, const std::function<void()>& a, const std::function<void()>& b) {
  const auto timed = [](const std::function<void()>& f) {
    const double from = now();
    f();
    return now() - from;
  };
  a();
  b();
  std::vector<double> ratios;
  double best_a = 1e9, best_b = 1e9;
  for (int turn = 0; turn < 41; ++turn) {
    const double x = timed(a), y = timed(b);
    ratios.push_back(x / y);
    best_a = (std::min)(best_a, x);
    best_b = (std::min)(best_b, y);
  }
  std::nth_element(ratios.begin(), ratios.begin() + 20, ratios.end());
  const double ns = 1e9 / static_cast<double>(items);
  return {ratios[20], best_a * ns, best_b * ns};
}

void report(const char* what, const char* shape_name, const ratio& r) {
  std::printf("%-34s %-26s %6.2f   (%.3f ns against %.3f)\n", what, shape_name, r.median, r.first, r.second);
}

void measure(const char* shape_name, const interleaved& plan, std::uint32_t rank) {
  const std::uint32_t size = plan.size(rank);
  std::vector<action> table(plan.rank(rank).begin(), plan.rank(rank).end()), copy(size);
  const int repeats = static_cast<int>(4'000'000 / size) + 1;
  const std::size_t items = std::size_t{size} * static_cast<std::size_t>(repeats);
  const auto copying = [&] {
    for (int i = 0; i < repeats; ++i) {
      std::memcpy(copy.data(), table.data(), size * sizeof(action));
      keep(copy[0]);
    }
  };
  const auto walking = [&] {
    for (int i = 0; i < repeats; ++i) {
      std::uint32_t sum = 0;
      for (const action a : plan.rank(rank)) sum += a.bits();
      keep_sum(sum);
    }
  };
  const auto reading = [&] {  // what is written down, by the same loop
    for (int i = 0; i < repeats; ++i) {
      std::uint32_t sum = 0;
      for (const action a : table) sum += a.bits();
      keep_sum(sum);
    }
  };
  const auto filling = [&] {
    for (int i = 0; i < repeats; ++i) {
      fill(plan, rank, std::span<action>(copy), 0);
      keep(copy[0]);
    }
  };
  const ratio walk = by_turns(items, walking, copying);
  report("walk over the view / memcpy", shape_name, walk);
  std::printf("%-34s %-26s %6.2f   must <= 2 ns an action  %s\n", "walk over the view", shape_name, walk.first,
              walk.first <= 2 ? "ok" : "MISSED");
  report("that loop over the table / memcpy", shape_name, by_turns(items, reading, copying));
  report("block fill / memcpy", shape_name, by_turns(items, filling, copying));
  if (copy != table) std::printf("fill is WRONG\n");

  // Both make their random steps themselves, as a look-up needs a step to look up.
  const auto view = plan.rank(rank);
  constexpr int looks = 1 << 20;
  const auto at_random = [size](const auto& list) {
    std::uint32_t sum = 0;
    std::uint64_t seed = 1;
    for (int i = 0; i < looks; ++i) {
      seed = seed * 6364136223846793005u + 1442695040888963407u;
      sum += list[static_cast<std::size_t>((seed >> 32) * size >> 32)].bits();
    }
    keep_sum(sum);
  };
  const auto computed = [&] { at_random(view); };
  const auto looked_up = [&] { at_random(table); };
  report("random access / table look-up", shape_name, by_turns(looks, computed, looked_up));
}

}  // namespace

int main() {
  const auto note = interleaved::make({.ranks = 8, .chunks = 4, .micro_batches = 2'053}).value();
  measure("p 8 v 4 m 2053, rank 0", note, 0);
  measure("p 8 v 4 m 2053, rank 5", note, 5);
  const auto even = interleaved::make({.ranks = 16, .chunks = 4, .micro_batches = 1'024}).value();
  measure("p 16 v 4 m 1024, rank 3", even, 3);
  const auto large = interleaved::make({.ranks = 1'024, .chunks = 4, .micro_batches = 1 << 20}).value();
  measure("p 1024 v 4 m 2^20, rank 9", large, 9);
}
