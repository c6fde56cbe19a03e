// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the adapter reports where a ggml op does more than read its sources and write its own tensor, and where
// addresses say nothing.
#pragma once
#include <ggml-backend-impl.h>
#include <ggml-cpu.h>
#include <ggml.h>

#include <hocket/core/message.hpp>
#include <hocket/graph/dependencies.hpp>

#include <cstdio>
#include <memory>

#include "ggml_access.hpp"

namespace example {

/// A graph whose ops are run in the order of `expand`.
class effects_check {
 public:
  /// Returns how many answers are wrong, and prints a line for each.
  static int run() {
    int wrong = 0;
    wrong += expect("the moments of AdamW are written", moments_are_written());
    wrong += expect("a custom op may touch anything", custom_op_runs_alone());
    wrong += expect("equal addresses in two devices' buffers are different bytes", buffers_are_spaces());
    wrong += expect("a graph without memory is refused", unallocated_graph_is_refused());
    return wrong;
  }

 private:
  using context = std::unique_ptr<ggml_context, decltype(&ggml_free)>;

  static int expect(const char* what, bool holds) {
    std::printf("  %s %s\n", holds ? "ok  " : "FAIL", what);
    return holds ? 0 : 1;
  }
  static context make_context(bool without_memory) {
    return context(ggml_init({std::size_t{1} << 20, nullptr, without_memory}), &ggml_free);
  }
  static ggml_tensor* vector(const context& c, int size = 8) {
    return ggml_new_tensor_1d(c.get(), GGML_TYPE_F32, size);
  }
  // Do three ops wait for each other, the second for the first and the third for the second?
  static bool is_chain(const context& c, ggml_tensor* first, ggml_tensor* second, ggml_tensor* third) {
    ggml_cgraph* const graph = ggml_new_graph(c.get());
    for (ggml_tensor* const op : {first, second, third}) ggml_build_forward_expand(graph, op);
    const auto number = [graph](const ggml_tensor* op) {
      hocket::node_id n = 0;
      while (ggml_graph_node(graph, static_cast<int>(n)) != op) ++n;
      return n;
    };
    const auto deps = hocket::graph::dependencies(*graph);
    return deps && deps->reaches(number(first), number(second)) && deps->reaches(number(second), number(third));
  }

  static bool moments_are_written() {
    const context c = make_context(false);
    bool holds = true;
    for (const bool second_moment : {false, true}) {
      ggml_tensor* const weight = vector(c);
      ggml_set_param(weight);
      ggml_tensor *const mean = vector(c), *const variance = vector(c);
      ggml_tensor* const moment = second_moment ? variance : mean;
      ggml_tensor* const step = ggml_opt_step_adamw(c.get(), weight, vector(c), mean, variance, vector(c, 7));
      holds = holds && is_chain(c, ggml_sqr(c.get(), moment), step, ggml_sqrt(c.get(), moment));
    }
    return holds;
  }
  static bool custom_op_runs_alone() {
    const context c = make_context(false);
    const auto nothing = [](ggml_tensor*, const ggml_tensor*, int, int, void*) {};
    return is_chain(c, ggml_sqr(c.get(), vector(c)), ggml_map_custom1(c.get(), vector(c), nothing, 1, nullptr),
                    ggml_sqr(c.get(), vector(c)));
  }
  static bool buffers_are_spaces() {
    ggml_backend_buffer_type device{};  // without is_host: its addresses are no pointers
    const context c = make_context(true);
    ggml_cgraph* const graph = ggml_new_graph(c.get());
    ggml_backend_buffer buffers[2]{};
    for (ggml_backend_buffer& buffer : buffers) {
      buffer.buft = &device;
      ggml_tensor* const op = ggml_sqr(c.get(), vector(c));
      for (ggml_tensor* const t : {op, op->src[0]}) {
        t->buffer = &buffer;
        t->data = reinterpret_cast<void*>(std::uintptr_t{4096});
      }
      ggml_build_forward_expand(graph, op);
    }
    const auto deps = hocket::graph::dependencies(*graph);
    return deps && deps->edge_count() == 0;
  }
  static bool unallocated_graph_is_refused() {
    const context c = make_context(true);
    ggml_cgraph* const graph = ggml_new_graph(c.get());
    for (int i = 0; i < 2; ++i) ggml_build_forward_expand(graph, ggml_sqr(c.get(), vector(c)));
    const auto deps = hocket::graph::dependencies(*graph);
    if (!deps) std::printf("       %s\n", message(deps.error()).c_str());
    return !deps && deps.error().code == hocket::errc::bad_range;
  }
};

}  // namespace example
