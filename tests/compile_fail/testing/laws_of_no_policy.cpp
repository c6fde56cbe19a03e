// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Nothing was specialised.
// expect: hocket: no policy tells what the ops of this host type read and write. Specialise hocket::graph_access<G>
#include <hocket/testing/access_laws.hpp>

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

std::string f(const program& p) { return hocket::testing::broken_law(p, hocket::graph_access<program>{}); }
