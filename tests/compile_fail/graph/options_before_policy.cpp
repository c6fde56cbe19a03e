// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The policy comes right after the host, and the options after it.
// expect: hocket: dependencies takes the policy before the options: dependencies(host, policy, options)
#include <hocket/graph.hpp>

struct program {};

template <>
struct hocket::graph_access<program> {
  using node = std::uint32_t;
  static std::size_t node_count(const program&) { return 2; }
  static void for_each_read(const program&, node, auto&&) {}
  static void for_each_write(const program&, node, auto&&) {}
};

using policy = hocket::graph_access<program>;

bool f(const program& p, const hocket::graph::dependency_options& options) {
#ifdef CORRECTED
  return hocket::graph::dependencies(p, policy{}, options).has_value();
#else
  return hocket::graph::dependencies(p, options, policy{}).has_value();
#endif
}
