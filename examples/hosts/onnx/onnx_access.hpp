// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// hocket's view of an ONNX graph. The file to copy into your project.
#pragma once
#include <onnx/onnx_pb.h>

#include <hocket/graph/access.hpp>
#include <hocket/graph/op_kind.hpp>

template <>
struct hocket::graph_access<onnx::GraphProto> {
  using node = int;
  static std::size_t node_count(const onnx::GraphProto& g) { return static_cast<std::size_t>(g.node_size()); }
  static void for_each_read(const onnx::GraphProto& g, node n, auto&& f) {
    for (const std::string& name : g.node(n).input())
      if (!name.empty()) f(name);  // an optional input that is left out has an empty name
  }
  static void for_each_write(const onnx::GraphProto& g, node n, auto&& f) {
    for (const std::string& name : g.node(n).output())
      if (!name.empty()) f(name);
  }
  static graph::op_kind kind(const onnx::GraphProto& g, node n) {
    return g.node(n).op_type().starts_with("Random") ? graph::op_kind::random : graph::op_kind::compute;
  }
};
