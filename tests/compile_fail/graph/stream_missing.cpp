// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: hocket: the policy does not say on which stream an op runs. Add to hocket::graph_access<G>: static
// hocket::stream_id stream(const G&, node);
#include <hocket/graph/stream_plan.hpp>

struct program {};

template <>
struct hocket::graph_access<program> {
  using node = std::uint32_t;
  static std::size_t node_count(const program&) { return 0; }
#ifdef CORRECTED
  static hocket::stream_id stream(const program&, node) { return 0; }
#endif
};

bool f(const program& p) { return hocket::graph::stream_plan::make(hocket::graph::dag<>{}, p).has_value(); }
