// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Is it a name, or the address of a buffer? Read as a name, three zeroed buffers were one variable.
// expect: hocket: the policy reports a char* as a variable, which may be a text or an address. Write
#include <hocket/graph.hpp>

#include <vector>

struct program {
  std::vector<std::vector<char*>> buffers;
};

template <>
struct hocket::graph_access<program> {
  using node = std::uint32_t;
  static std::size_t node_count(const program& p) { return p.buffers.size(); }
  static void for_each_read(const program&, node, auto&&) {}
  static void for_each_write(const program& p, node n, auto&& f) {
#ifdef CORRECTED
    for (char* b : p.buffers[n]) f(static_cast<const void*>(b));
#else
    for (char* b : p.buffers[n]) f(b);
#endif
  }
};

bool f(const program& p) { return hocket::graph::dependencies(p).has_value(); }
