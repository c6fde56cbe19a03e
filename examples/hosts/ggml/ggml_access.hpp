// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// hocket's view of a ggml graph, before and after ggml's allocator has put tensors into the same memory: what an op
// touches are bytes. The file to copy into your project.
#pragma once
#include <ggml-backend.h>
#include <ggml-impl.h>

#include <hocket/graph/access.hpp>
#include <hocket/graph/rule.hpp>
#include <hocket/graph/storage_range.hpp>

#include <cstdint>

template <>
struct hocket::graph_access<ggml_cgraph> {
  using node = int;
  static std::size_t node_count(const ggml_cgraph& g) { return static_cast<std::size_t>(g.n_nodes); }
  static void for_each_read(const ggml_cgraph& g, node n, auto&& f) {
    for (const ggml_tensor* source : g.nodes[n]->src)
      if (source != nullptr) touch(g.nodes[n], source, f);
  }
  static void for_each_write(const ggml_cgraph& g, node n, auto&& f) {
    const ggml_tensor* const op = g.nodes[n];
    touch(op, op, f);
    if (op->op != GGML_OP_OPT_STEP_ADAMW) return;
    touch(op, op->src[2], f);  // both moments are updated where they are
    touch(op, op->src[3], f);
  }
  // A function of the user's may do anything.
  static graph::barrier barrier(const ggml_cgraph& g, node n) {
    const ggml_op op = g.nodes[n]->op;
    const bool custom = op == GGML_OP_CUSTOM || (op >= GGML_OP_MAP_CUSTOM1 && op <= GGML_OP_MAP_CUSTOM3);
    return custom ? graph::barrier::both : graph::barrier::none;
  }

 private:
  // Views, reshapes and permutations compute nothing. A strided tensor is covered from its first to its last byte. A
  // tensor without memory has the empty range, which `dependencies` refuses: its bytes are not known yet.
  static void touch(const ggml_tensor* op, const ggml_tensor* what, auto&& f) {
    if (ggml_op_is_empty(op->op) || ggml_nbytes(what) == 0) return;
    if (what->data == nullptr) return f(graph::storage_range{});
    f(graph::storage_range::of(what->data, ggml_nbytes(what), space_of(what)));
  }
  // The host's memory is one space. In a device's buffer an address says nothing outside of it.
  static std::uint64_t space_of(const ggml_tensor* t) {
    const ggml_backend_buffer_t buffer = t->view_src != nullptr ? t->view_src->buffer : t->buffer;
    if (buffer == nullptr || ggml_backend_buffer_is_host(buffer)) return 0;
    return reinterpret_cast<std::uintptr_t>(buffer);
  }
};
