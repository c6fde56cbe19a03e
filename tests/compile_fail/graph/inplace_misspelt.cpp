// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An optional member with nearly the right name is not ignored.
// expect: hocket: the policy has a for_each_in_place, which nobody calls: the optional member is called for_each_inplace
#include <hocket/graph/dependencies.hpp>

struct program {};

template <>
struct hocket::graph_access<program> {
  using node = std::uint32_t;
  static std::size_t node_count(const program&) { return 0; }
  static void for_each_read(const program&, node, auto&&) {}
  static void for_each_write(const program&, node, auto&&) {}
#ifdef CORRECTED
  static void for_each_inplace(const program&, node, auto&&) {}
#else
  static void for_each_in_place(const program&, node, auto&&) {}
#endif
};

bool f(const program& p) { return hocket::graph::dependencies(p).has_value(); }
