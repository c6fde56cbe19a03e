// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// f takes one variable at a time.
// expect: hocket: the policy calls f with more or less than one variable. Write: f(variable)
#include <hocket/graph.hpp>

struct program {};

template <>
struct hocket::graph_access<program> {
  using node = std::uint32_t;
  static std::size_t node_count(const program&) { return 2; }
  static void for_each_read(const program&, node n, auto&& f) {
#ifdef CORRECTED
    f(n);
#else
    f(n, 0);
#endif
  }
  static void for_each_write(const program&, node, auto&&) {}
};

bool f(const program& p) { return hocket::graph::dependencies(p).has_value(); }
