// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A member that would start the step, by another name. Data may be called start.
// expect: hocket: the policy has a start or start_up, which nobody calls: the optional member is called
// expect: starts, and start_up is an option of dependencies
#include <hocket/graph/dependencies.hpp>

struct program {};

template <>
struct hocket::graph_access<program> {
  using node = std::uint32_t;
  static std::size_t node_count(const program&) { return 0; }
  static void for_each_read(const program&, node, auto&&) {}
  static void for_each_write(const program&, node, auto&&) {}
#ifdef CORRECTED
  std::uint32_t start = 0;
  static bool starts(const program&, node) { return true; }
#else
  static bool start(const program&, node) { return true; }
#endif
};

bool f(const program& p) { return hocket::graph::dependencies(p).has_value(); }
