// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A host's own program type, and all that it writes so that hocket can see it.
#pragma once
#include <hocket/graph/access.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace my {
struct op {
  std::vector<int> in, out;
};
struct program {
  std::vector<op> ops;
};
}  // namespace my

template <>
struct hocket::graph_access<my::program> {
  using node = std::uint32_t;
  static std::size_t node_count(const my::program& p) { return p.ops.size(); }
  static void for_each_read(const my::program& p, node n, auto&& f) {
    for (auto v : p.ops[n].in) f(v);
  }
  static void for_each_write(const my::program& p, node n, auto&& f) {
    for (auto v : p.ops[n].out) f(v);
  }
};
