// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The vendors' backends on the fake device: what the tests of all three have in common.
#pragma once
#include <hocket/launch/backends/ascend.hpp>
#include <hocket/launch/backends/cuda.hpp>

#include <atomic>
#include <string>
#include <type_traits>
#include <vector>

#include "fake_device.hpp"
#include "random_plan.hpp"

namespace launch_test {

// The list in the form that a backend's events allow.
template <class B>
auto fitted(const command_list& list) {
  if constexpr (wait_resets_event<B>) return single_wait_list::make(list).value();
  else return reuse_events(list);
}

// A stretch of a program's life: makes streams, destroys them.
template <class B>
struct rig {
  B backend;
  std::vector<typename B::stream_type> streams;
  typename B::status_type made{};

  explicit rig(std::size_t count) {
    while (streams.size() < count) {
      typename B::stream_type s{};
      made = backend.create_stream(s);
      if (!B::ok(made)) break;
      streams.push_back(s);
    }
  }
  rig(const rig&) = delete;
  ~rig() {
    for (auto s : streams) static_cast<void>(backend.destroy_stream(s));
  }
  typename B::status_type synchronize() {
    typename B::status_type first{};
    for (auto s : streams) {
      const auto status = backend.synchronize(s);
      if (B::ok(first)) first = status;
    }
    return first;
  }
};

// A kernel per op. Values: anything with run(op).
template <class B, class Values>
struct kernels {
  struct one {
    Values* values;
    node_id op;
  };
  std::vector<one> all;
  node_id faulty = hocket::no_id;
  int fault = 0;

  kernels(Values& v, std::size_t ops) {
    for (std::size_t op = 0; op < ops; ++op) all.push_back({&v, static_cast<node_id>(op)});
  }
  kernels(const kernels&) = delete;
  ~kernels() { fake::settle(); }  // the queues point here
  typename B::status_type operator()(node_id op, typename B::stream_type s) {
    if (op == faulty) return static_cast<typename B::status_type>(fake::launch_faulty(s, fault));
    const auto call = [](void* p) {
      auto* k = static_cast<one*>(p);
      k->values->run(k->op);
    };
    return static_cast<typename B::status_type>(fake::launch(s, call, &all[op]));
  }
};

// For runs that are wrong on purpose: no data race, only wrong values.
struct loose_values {
  const random_program* program;
  std::vector<std::atomic<std::uint64_t>> out;
  explicit loose_values(const random_program& p) : program(&p), out(p.predecessors.size()) {}
  void run(node_id v) {
    std::uint64_t x = v + 1;
    for (const node_id u : program->predecessors[v]) x = mix(x + out[u].load(std::memory_order_relaxed));
    out[v].store(x, std::memory_order_relaxed);
  }
  std::size_t wrong(const std::vector<std::uint64_t>& expected) const {
    std::size_t n = 0;
    for (std::size_t i = 0; i < out.size(); ++i) n += out[i] != expected[i];
    return n;
  }
  void clear() {
    for (auto& x : out) x = 0;
  }
};

}  // namespace launch_test
