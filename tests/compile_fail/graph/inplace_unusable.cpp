// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An optional member whose parameters do not fit is not ignored, even if it is a template.
// expect: hocket: the policy has a for_each_inplace that cannot be used. Write: static void for_each_inplace(const G&,
// node, auto&& f); it calls f(variable)
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
  static void for_each_inplace(program&, node, auto&&) {}
#endif
};

bool f(const program& p) { return hocket::graph::dependencies(p).has_value(); }
