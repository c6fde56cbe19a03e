// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Neither edges nor effects: nothing can be judged.
// expect: hocket: the policy has no for_each_read that can be called on a const policy with a node
#include <hocket/testing/access_laws.hpp>

struct program {};

template <>
struct hocket::graph_access<program> {
  using node = std::uint32_t;
  static std::size_t node_count(const program&) { return 0; }
#ifdef CORRECTED
  static void for_each_read(const program&, node, auto&&) {}
  static void for_each_write(const program&, node, auto&&) {}
#endif
};

std::string f(const program& p) { return hocket::testing::broken_law(p, hocket::graph_access<program>{}); }
