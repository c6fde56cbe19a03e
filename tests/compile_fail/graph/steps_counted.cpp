// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// There are always two steps; the second argument is the policy.
// expect: hocket: a number stands where the policy is passed: the second argument. Leave it out if
#include <hocket/graph/unroll.hpp>

struct program {};

template <>
struct hocket::graph_access<program> {
  using node = std::uint32_t;
  static std::size_t node_count(const program&) { return 0; }
  static void for_each_read(const program&, node, auto&&) {}
  static void for_each_write(const program&, node, auto&&) {}
};

bool f(const program& p) {
#ifdef CORRECTED
  return hocket::graph::dependencies_of_steps(p).has_value();
#else
  return hocket::graph::dependencies_of_steps(p, 2).has_value();
#endif
}
