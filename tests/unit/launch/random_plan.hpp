// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Random programs and naive plans for them, written without any planner of the library: one wait per cross-stream edge.
#pragma once
#include <hocket/launch/backends/host.hpp>
#include <hocket/launch/backends/inline.hpp>
#include <hocket/launch/backends/recording.hpp>
#include <hocket/launch/capture.hpp>
#include <hocket/launch/drive.hpp>
#include <hocket/launch/event_pool.hpp>
#include <hocket/launch/fenced.hpp>
#include <hocket/launch/reuse_events.hpp>
#include <hocket/launch/single_wait_list.hpp>
#include <hocket/launch/timeline_trace.hpp>

#include <cstdint>
#include <random>
#include <set>
#include <vector>

#include "issue_order.hpp"

namespace launch_test {

using namespace hocket::launch;
using hocket::node_id;
using hocket::stream_id;

inline constexpr std::uint16_t thread_counts[] = {1, 2, 8};

struct random_program {
  std::vector<std::vector<node_id>> predecessors;  // ascending in program order
  std::vector<std::uint16_t> stream;
  std::uint16_t streams = 1;
};

inline random_program make_program(unsigned seed, std::size_t ops, std::uint16_t streams, unsigned max_in = 3) {
  std::minstd_rand random(seed + 1);
  random_program p;
  p.streams = streams;
  p.predecessors.resize(ops);
  for (std::size_t v = 0; v < ops; ++v) {
    p.stream.push_back(static_cast<std::uint16_t>(random() % streams));
    if (v == 0) continue;
    for (unsigned k = static_cast<unsigned>(random() % (max_in + 1)); k > 0; --k) {
      const std::size_t reach = v < 40 ? v : 40;
      p.predecessors[v].push_back(static_cast<node_id>(v - 1 - random() % reach));
    }
  }
  return p;
}

// The ancestors of each op, by brute force.
inline std::vector<std::vector<bool>> closure(const random_program& p) {
  std::vector<std::vector<bool>> before(p.predecessors.size(), std::vector<bool>(p.predecessors.size()));
  for (std::size_t v = 0; v < p.predecessors.size(); ++v)
    for (const node_id u : p.predecessors[v]) {
      before[v][u] = true;
      for (std::size_t w = 0; w < u; ++w)
        if (before[u][w]) before[v][w] = true;
    }
  return before;
}

inline std::vector<command> naive_commands(const random_program& p) {
  std::vector<bool> recorded(p.predecessors.size());
  for (std::size_t v = 0; v < p.predecessors.size(); ++v)
    for (const node_id u : p.predecessors[v])
      if (p.stream[u] != p.stream[v]) recorded[u] = true;
  std::vector<command> out;
  for (std::size_t v = 0; v < p.predecessors.size(); ++v) {
    for (const node_id u : p.predecessors[v])
      if (p.stream[u] != p.stream[v]) out.push_back(wait_event(u, p.stream[v]));
    out.push_back(run_op(static_cast<node_id>(v), p.stream[v]));
    if (recorded[v]) out.push_back(record_event(static_cast<node_id>(v), p.stream[v]));
  }
  return out;
}

inline command_list naive_list(const random_program& p) {
  std::vector<command> commands = naive_commands(p);
  // Event ids must lie below the number of commands; each op is a command, so node numbers do.
  return command_list::make(commands, p.streams).value();
}

// What each op computes: a value that depends on everything before it, so that one missed dependency changes it.
inline std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}
struct values {
  const random_program* program;
  std::vector<std::uint64_t> out;
  explicit values(const random_program& p) : program(&p), out(p.predecessors.size()) {}
  void run(node_id v) {
    std::uint64_t x = v + 1;
    for (const node_id u : program->predecessors[v]) x = mix(x + out[u]);
    out[v] = x;  // a plain store: ThreadSanitizer reports any reader that is not ordered
  }
};
inline std::vector<std::uint64_t> expected_values(const random_program& p) {
  values v(p);
  for (std::size_t i = 0; i < v.out.size(); ++i) v.run(static_cast<node_id>(i));
  return v.out;
}

// Edges that a measured run violated: the successor started before the predecessor finished.
inline std::size_t violations(const hocket::timeline& t, const random_program& p) {
  std::vector<hocket::ticks> start(p.predecessors.size(), -1), finish(p.predecessors.size(), -1);
  for (const auto& s : t.spans()) {
    start[s.id] = s.start;
    finish[s.id] = s.finish;
  }
  std::size_t bad = 0;
  for (std::size_t v = 0; v < p.predecessors.size(); ++v) {
    if (start[v] < 0) ++bad;
    for (const node_id u : p.predecessors[v])
      if (start[v] < finish[u]) ++bad;
  }
  return bad;
}

// The most records that wait at one place of the list for a later wait: no colouring can do with fewer events.
inline std::size_t peak(const command_list& list) {
  std::size_t most = 0;
  for (std::size_t at = 0; at < list.size(); ++at) {
    std::set<std::size_t> live;
    for (std::size_t w = at + 1; w < list.size(); ++w) {
      if (list[w].kind != command_kind::wait) continue;
      for (std::size_t r = w; r-- > 0;) {
        if (list[r].kind != command_kind::record || list[r].id != list[w].id) continue;
        if (r <= at) live.insert(r);
        break;
      }
    }
    most = live.size() > most ? live.size() : most;
  }
  return most;
}

}  // namespace launch_test
