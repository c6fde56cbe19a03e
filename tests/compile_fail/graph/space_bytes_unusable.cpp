// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A size of spaces that would be ignored without a word.
// expect: hocket: the policy has a space_bytes that cannot be used. Write: static std::uint64_t space_bytes(const G&,
// std::uint64_t space);
#include <hocket/graph/dependencies.hpp>

struct program {};

template <>
struct hocket::graph_access<program> {
  using node = std::uint32_t;
  static std::size_t node_count(const program&) { return 0; }
  static void for_each_read(const program&, node, auto&&) {}
  static void for_each_write(const program&, node, auto&&) {}
#ifdef CORRECTED
  static std::uint64_t space_bytes(const program&, std::uint64_t) { return 64; }
#else
  static std::uint64_t space_bytes(const program&) { return 64; }
#endif
};

bool f(const program& p) { return hocket::graph::dependencies(p).has_value(); }
