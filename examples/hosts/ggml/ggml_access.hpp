// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// hocket's view of a ggml graph, before and after ggml's allocator has put tensors into the same memory: what an op
// touches are bytes. The file to copy into your project.
#pragma once
#include <ggml-impl.h>

#include <hocket/graph/access.hpp>
#include <hocket/graph/storage_range.hpp>

template <>
struct hocket::graph_access<ggml_cgraph> {
  using node = int;
  static std::size_t node_count(const ggml_cgraph& g) { return static_cast<std::size_t>(g.n_nodes); }
  static void for_each_read(const ggml_cgraph& g, node n, auto&& f) {
    for (const ggml_tensor* source : g.nodes[n]->src)
      if (source != nullptr) touch(g.nodes[n], source, f);
  }
  static void for_each_write(const ggml_cgraph& g, node n, auto&& f) { touch(g.nodes[n], g.nodes[n], f); }

 private:
  // Views, reshapes and permutations compute nothing. A strided tensor is covered from its first to its last byte.
  static void touch(const ggml_tensor* op, const ggml_tensor* what, auto&& f) {
    if (ggml_op_is_empty(op->op) || ggml_nbytes(what) == 0) return;
    f(graph::storage_range::of(what->data, ggml_nbytes(what)));
  }
};
