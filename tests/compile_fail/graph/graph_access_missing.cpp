// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: hocket: no policy tells what the ops of this host type read and write. Specialise hocket::graph_access<G>
// with: using node = std::uint32_t; static std::size_t node_count(const G&); static void for_each_read(const G&, node,
// auto&& f); static void for_each_write(const G&, node, auto&& f); or pass such a policy as the last argument
#include <hocket/graph/dependencies.hpp>

struct program {};

#ifdef CORRECTED
template <>
struct hocket::graph_access<program> {
  using node = std::uint32_t;
  static std::size_t node_count(const program&) { return 0; }
  static void for_each_read(const program&, node, auto&&) {}
  static void for_each_write(const program&, node, auto&&) {}
};
#endif

bool f(const program& p) { return hocket::graph::dependencies(p).has_value(); }
