// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Programs that say everything a host can say, and an interpreter that compares every op with every earlier one and
// knows nothing of last writers, sinks or gates.
#pragma once
#include <hocket/graph/dependencies.hpp>
#include <hocket/testing/graph_laws.hpp>

#include <algorithm>
#include <vector>

namespace rules {

using hocket::node_id;
using hocket::graph::barrier;
using hocket::graph::dependency_options;
using hocket::graph::edge;
using hocket::graph::op_kind;
using hocket::graph::ordered_resource;
using hocket::graph::rule;
using hocket::testing::graph_oracle;
using hocket::testing::random_source;

struct op {
  std::vector<std::uint64_t> in, out, inplace;
  std::vector<ordered_resource> uses;
  std::vector<node_id> after, outlives;
  hocket::graph::barrier separates = hocket::graph::barrier::none;
  bool starts = false;
};
// Variables from 1000 on are views and fused buffers: of the parts listed here.
struct program {
  std::vector<op> ops;
  std::vector<std::vector<std::uint64_t>> parts;
};

}  // namespace rules

template <>
struct hocket::graph_access<rules::program> {
  using node = std::uint32_t;
  static std::size_t node_count(const rules::program& p) { return p.ops.size(); }
  static void for_each_read(const rules::program& p, node n, auto&& f) {
    for (auto v : p.ops[n].in) f(v);
  }
  static void for_each_write(const rules::program& p, node n, auto&& f) {
    for (auto v : p.ops[n].out) f(v);
  }
  static void for_each_inplace(const rules::program& p, node n, auto&& f) {
    for (auto v : p.ops[n].inplace) f(v);
  }
  static void for_each_part(const rules::program& p, std::uint64_t v, auto&& f) {
    if (v >= 1000)
      for (auto part : p.parts[v - 1000]) f(part);
  }
  static void for_each_resource(const rules::program& p, node n, auto&& f) {
    for (auto r : p.ops[n].uses) f(r);
  }
  static void for_each_control(const rules::program& p, node n, auto&& f) {
    for (auto a : p.ops[n].after) f(a);
  }
  static void for_each_lifetime(const rules::program& p, node n, auto&& f) {
    for (auto a : p.ops[n].outlives) f(a);
  }
  static graph::barrier barrier(const rules::program& p, node n) { return p.ops[n].separates; }
  static bool starts(const rules::program& p, node n) { return p.ops[n].starts; }
};

namespace rules {

using set = std::vector<std::uint64_t>;

inline bool meet(const set& x, const set& y) {
  return std::any_of(x.begin(), x.end(), [&](auto v) { return std::find(y.begin(), y.end(), v) != y.end(); });
}

inline set storage(const rules::program& p, const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b) {
  set cells;
  for (const auto* list : {&a, &b}) {
    for (const std::uint64_t v : *list) {
      if (v < 1000 || p.parts[v - 1000].empty()) cells.push_back(v);
      else cells.insert(cells.end(), p.parts[v - 1000].begin(), p.parts[v - 1000].end());
    }
  }
  return cells;
}

// Does some rule order op a before the later op b? The rules one by one, as their definitions say.
inline std::vector<rule> rules_between(const program& p, const dependency_options& o, node_id a, node_id b) {
  const op &x = p.ops[a], &y = p.ops[b];
  const set xr = storage(p, x.in, x.inplace), xw = storage(p, x.out, x.inplace);
  const set yr = storage(p, y.in, y.inplace), yw = storage(p, y.out, y.inplace);
  std::vector<rule> found;
  if (meet(xw, yr)) found.push_back(rule::read_after_write);
  if (meet(xw, yw)) found.push_back(rule::write_after_write);
  if (meet(xr, yw)) found.push_back(rule::write_after_read);
  if (o.sequential) found.push_back(rule::sequential);
  for (const ordered_resource& r : x.uses)
    for (const ordered_resource& s : y.uses)
      if (r.kind == s.kind && r.id == s.id && o.chains(r.kind))
        found.push_back(r.kind == op_kind::random ? rule::random : r.kind == op_kind::io ? rule::io : rule::collective);
  if (o.control && std::find(y.after.begin(), y.after.end(), a) != y.after.end()) found.push_back(rule::control);
  if (o.barriers && (x.separates == barrier::after || x.separates == barrier::both || y.separates == barrier::before ||
                     y.separates == barrier::both))
    found.push_back(rule::barrier);
  return found;
}

// All pairs that the rules order, in the order of time; false if that is impossible.
inline bool happens_before(const program& p, const dependency_options& o, std::vector<edge>& edges) {
  const auto count = static_cast<node_id>(p.ops.size());
  edges.clear();
  for (node_id b = 0; b < count; ++b) {
    for (node_id a = 0; a < b; ++a)
      if (!rules_between(p, o, a, b).empty()) edges.push_back({a, b});
    for (const node_id a : p.ops[b].after)
      if (o.control && a > b) edges.push_back({a, b});
  }
  if (graph_oracle(count, edges).has_cycle()) return false;
  std::vector<bool> waits(count);
  for (const edge& e : edges) waits[e.target] = true;
  for (node_id r = 0; r < count && o.start_up; ++r) {
    if (!p.ops[r].starts) continue;
    for (node_id b = 0; b < count; ++b)
      if (r != b && !waits[b] && !graph_oracle(count, edges).reaches(b, r)) edges.push_back({r, b});
  }
  return true;
}

inline program random_program(random_source& random, std::size_t count) {
  program p;
  const std::size_t variables = 1 + random.below(25);
  for (int i = 0; i < 6; ++i) {  // views overlap each other and plain variables
    p.parts.emplace_back();
    for (std::uint32_t k = random.below(4); k-- > 0;) p.parts.back().push_back(random.below(variables));
  }
  const auto any = [&]() -> std::uint64_t {
    return random.below(4) == 0 ? 1000 + random.below(6) : random.below(variables);
  };
  const bool late = random.below(4) == 0;
  for (std::size_t i = 0; i < count; ++i) {
    op o;
    for (std::uint32_t k = random.below(3); k-- > 0;) o.in.push_back(any());
    for (std::uint32_t k = random.below(2); k-- > 0;) o.out.push_back(any());
    if (random.below(5) == 0) o.inplace.push_back(any());
    for (std::uint32_t k = random.below(3); k-- > 0;)
      o.uses.push_back({static_cast<op_kind>(random.below(4)), random.below(2)});
    if (i != 0 && random.below(6) == 0) o.after.push_back(random.below(i));
    if (late && i + 1 < count && random.below(12) == 0)
      o.after.push_back(static_cast<node_id>(i + 1 + random.below(count - i - 1)));
    if (random.below(10) == 0) o.separates = static_cast<barrier>(random.below(4));
    if (i != 0 && random.below(4) == 0) o.outlives.push_back(random.below(i));
    o.starts = random.below(8) == 0;
    p.ops.push_back(o);
  }
  return p;
}

inline dependency_options random_options(random_source& random) {
  const auto flip = [&] { return random.below(2) == 0; };
  return {.collectives = flip(),
          .random = flip(),
          .io = flip(),
          .sequential = random.below(12) == 0,
          .start_up = flip(),
          .barriers = flip(),
          .control = flip(),
          .reasons = flip()};
}

}  // namespace rules
