// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A part of a variable is refused for the same reason as a variable.
// deep: two functions of the host are on the way
// expect: hocket: the policy reports a char* as a variable, which may be a text or an address. Write
#include <hocket/graph/dependencies.hpp>

#include <string_view>

struct program {
  const char* storage_of[2];
};

template <>
struct hocket::graph_access<program> {
  using node = std::uint32_t;
  static std::size_t node_count(const program&) { return 2; }
  static void for_each_read(const program&, node, auto&&) {}
  static void for_each_write(const program&, node n, auto&& f) { f(n); }
  static void for_each_part(const program& p, std::uint32_t v, auto&& f) {
#ifdef CORRECTED
    f(std::string_view(p.storage_of[v]));
#else
    f(p.storage_of[v]);
#endif
  }
};

bool f(const program& p) { return hocket::graph::dependencies(p).has_value(); }
