// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: hocket: the policy has a kind that cannot be used. Write: static hocket::graph::op_kind kind(const G&, node);
#include <hocket/graph/dependencies.hpp>

struct program {};
enum class my_kind { compute, collective };

template <>
struct hocket::graph_access<program> {
  using node = std::uint32_t;
  static std::size_t node_count(const program&) { return 0; }
  static void for_each_read(const program&, node, auto&&) {}
  static void for_each_write(const program&, node, auto&&) {}
#ifdef CORRECTED
  static graph::op_kind kind(const program&, node) { return graph::op_kind::collective; }
#else
  static my_kind kind(const program&, node) { return my_kind::collective; }
#endif
};

bool f(const program& p) { return hocket::graph::dependencies(p).has_value(); }
