// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <hocket/graph.hpp>

std::size_t edges_of(const hocket::graph::dag<>& g) { return g.edge_count(); }
