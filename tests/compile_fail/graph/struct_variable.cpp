// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An object cannot name a variable; its number can.
// expect: hocket: the policy reports a variable of a type that cannot name one. Report an integer, an enumeration, a
// pointer, a std::string, a std::string_view or a hocket::graph::storage_range
#include <hocket/graph.hpp>

#include <vector>

struct tensor {
  int id;
};
struct program {
  std::vector<std::vector<tensor>> reads;
};

template <>
struct hocket::graph_access<program> {
  using node = std::uint32_t;
  static std::size_t node_count(const program& p) { return p.reads.size(); }
  static void for_each_read(const program& p, node n, auto&& f) {
#ifdef CORRECTED
    for (const tensor& t : p.reads[n]) f(t.id);
#else
    for (const tensor& t : p.reads[n]) f(t);
#endif
  }
  static void for_each_write(const program&, node, auto&&) {}
};

bool f(const program& p) { return hocket::graph::dependencies(p).has_value(); }
