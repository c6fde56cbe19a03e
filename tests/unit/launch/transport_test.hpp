// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs a pipeline on threads with numbers in place of tensors. What a stage makes is a hash of what it got. So a
// transfer to the wrong place, of the wrong micro-batch, or too early shows in the sum at the end.
#pragma once
#include <hocket/launch/bridges/pipeline_runner.hpp>
#include <hocket/launch/transports/in_process.hpp>

#include <atomic>
#include <cstdint>
#include <map>
#include <thread>
#include <vector>

namespace transport_test {

using namespace hocket;
using namespace hocket::launch;
using pipeline::action_kind;
using pipeline::stage_action;

inline std::uint64_t mixed(std::uint64_t x) {
  x ^= x >> 31;
  x *= 0x9e3779b97f4a7c15ull;
  x ^= x >> 29;
  return x * 0xbf58476d1ce4e5b9ull;
}

// The state of one rank: values by (kind, stage, micro-batch, slice).
struct numbers {
  std::uint32_t stages = 1, slices = 1;
  std::map<std::uint64_t, std::vector<std::uint64_t>> at{};
  std::size_t words = 4;
  std::atomic<bool> missing{false};  // a stage read what nobody wrote

  static std::uint64_t key(int which, std::uint32_t stage, stage_action a) {
    return std::uint64_t{a.direction()} << 62 | std::uint64_t(which) << 60 | std::uint64_t{stage} << 40 |
           std::uint64_t{a.micro_batch()} << 16 | a.slice();
  }
  std::vector<std::uint64_t>& value(std::uint64_t k) {
    auto& v = at[k];
    if (v.empty()) v.assign(words, 0);
    return v;
  }
  // What a stage reads is under (0, stage) for activations and (1, stage) for gradients.
  transfer_memory memory(stage_action a) {
    std::uint64_t k = 0;
    if (a.kind() == action_kind::send_forward) k = key(0, a.stage() + 1, a);
    else if (a.kind() == action_kind::send_backward) k = key(1, a.stage() - 1, a);
    else k = key(a.kind() == action_kind::recv_forward ? 0 : 1, a.stage(), a);
    auto& v = value(k);
    return {v.data(), v.size() * sizeof(std::uint64_t)};
  }
  void put(std::uint64_t k, std::uint64_t x) {
    auto& v = value(k);
    for (std::size_t i = 0; i < v.size(); ++i) v[i] = mixed(x + i);
  }
  std::uint64_t sum(std::uint64_t k) {
    std::uint64_t s = 0;
    auto& v = value(k);
    for (std::size_t i = 0; i < v.size(); ++i) {
      s += (i + 1) * v[i];
      missing = missing || v[i] == 0;
    }
    return s;
  }
  void compute(stage_action a) {
    const std::uint32_t s = a.stage();
    const std::uint64_t own =
        std::uint64_t{s} << 32 | a.micro_batch() << 4 | a.slice() | std::uint64_t{a.direction()} << 60;
    if (a.kind() == action_kind::forward) {
      if (s == 0) put(key(0, 0, a), own + 1);
      put(key(0, s + 1, a), sum(key(0, s, a)) * 3 + own);
    } else if (a.kind() == action_kind::backward || a.kind() == action_kind::input_grad) {
      if (s + 1 == stages) put(key(1, s, a), sum(key(0, s + 1, a)));
      const std::uint64_t made = sum(key(0, s + 1, a)) * 5 + sum(key(1, s, a)) * 7 + own;
      put(key(1, s - 1 + 1024 * (s == 0), a), made);
      put(key(2, s, a), made);
    } else if (a.kind() == action_kind::weight_grad) {
      put(key(3, s, a), sum(key(2, s, a)));
    }
  }
};

// What one thread computes that runs every stage of each micro-batch in turn.
template <class S>
std::uint64_t serial_sum(const S& plan, std::size_t words) {
  const std::uint32_t stages = plan.ranks() * plan.chunks();
  numbers n{stages, slices_of(plan), {}, words};
  std::uint64_t total = 0;
  for (std::uint32_t d = 0; d < directions_of(plan); ++d)
    for (std::uint32_t j = 0; j < plan.micro_batches(); ++j) {
      for (std::uint32_t t = 0; t < slices_of(plan); ++t)
        for (std::uint32_t s = 0; s < stages; ++s) n.compute({action_kind::forward, s, j, t, d});
      for (std::uint32_t t = slices_of(plan); t-- > 0;)
        for (std::uint32_t s = stages; s-- > 0;) {
          n.compute({action_kind::backward, s, j, t, d});
          total += n.sum(numbers::key(2, s, {action_kind::backward, s, j, t, d}));
        }
    }
  return total;
}

struct rank_result {
  std::uint64_t total = 0;
  bool complete = false;
  std::string message;
  transfer_outcome<in_process_status> outcome;
};

// Every rank a thread. `fail(rank, action)` != 0 makes the work fail there.
template <class S, class Fail>
std::vector<rank_result> run_threads(const S& plan, const pipeline_program& program, const in_process_group& group,
                                     std::size_t words, Fail fail, int steps = 1) {
  std::vector<rank_result> all(plan.ranks());
  std::vector<std::thread> threads;
  for (std::uint32_t r = 0; r < plan.ranks(); ++r)
    threads.emplace_back([&, r] {
      pipeline_runner runner(program, r, group.rank(r));
      for (int step = 0; step < steps; ++step) {
        numbers n{plan.ranks() * plan.chunks(), slices_of(plan), {}, words};
        all[r].total = 0;
        auto done = runner.run([&](stage_action a) { return n.memory(a); },
                               [&](stage_action a) {
                                 n.compute(a);
                                 if (a.kind() == action_kind::backward || a.kind() == action_kind::input_grad)
                                   all[r].total += n.sum(numbers::key(2, a.stage(), a));
                                 return fail(r, a);
                               });
        all[r].complete = done.complete && !n.missing;
        all[r].message = runner.message(done);
        all[r].outcome = done;
        if (!done) return runner.transport().abort();
      }
    });
  for (auto& t : threads) t.join();
  return all;
}

inline std::uint64_t total_of(const std::vector<rank_result>& all) {
  std::uint64_t sum = 0;
  for (const auto& r : all) sum += r.complete ? r.total : 1;
  return sum;
}

}  // namespace transport_test
