// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Nor is one behind the view of two steps.
// expect: hocket: the policy has a barrier that cannot be used. Write: static hocket::graph::barrier barrier(const G&,
// node);
#include <hocket/graph/dependencies.hpp>
#include <hocket/graph/unroll.hpp>

struct program {};

template <>
struct hocket::graph_access<program> {
  using node = std::uint32_t;
  static std::size_t node_count(const program&) { return 0; }
  static void for_each_read(const program&, node, auto&&) {}
  static void for_each_write(const program&, node, auto&&) {}
#ifdef CORRECTED
  static graph::barrier barrier(const program&, node) { return graph::barrier::none; }
#else
  static graph::barrier barrier(const program&) { return graph::barrier::none; }
#endif
};

bool f(const program& p) { return hocket::graph::dependencies_of_steps(p).has_value(); }
