// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A stream that may be missing is no stream.
// expect: hocket: the policy has a stream that cannot be used. Write: static hocket::stream_id stream(const G&, node);
#include <hocket/graph.hpp>

#include <optional>

struct program {};

template <>
struct hocket::graph_access<program> {
  using node = std::uint32_t;
  static std::size_t node_count(const program&) { return 2; }
  static void for_each_read(const program&, node, auto&&) {}
  static void for_each_write(const program&, node, auto&&) {}
#ifdef CORRECTED
  static hocket::stream_id stream(const program&, node) { return 1; }
#else
  static std::optional<hocket::stream_id> stream(const program&, node) { return 1; }
#endif
};

bool f(const hocket::graph::dag<>& g, const program& p) { return hocket::graph::stream_plan::make(g, p).has_value(); }
