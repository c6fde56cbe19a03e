// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads ONNX models, derives which node must run before which, and compares with all pairs of each graph.
#include <hocket/core/message.hpp>
#include <hocket/graph.hpp>

#include <cstdio>
#include <fstream>
#include <vector>

#include "../timing.hpp"
#include "onnx_access.hpp"

namespace {

struct tally {
  std::size_t models = 0, nodes = 0, edges = 0, kept = 0, ordered = 0, wrong = 0, bytes = 0;
  double us = 0;
};

bool shares_name(const auto& outputs, const auto& inputs) {
  for (const std::string& out : outputs)
    for (const std::string& in : inputs)
      if (!out.empty() && out == in) return true;
  return false;
}

// An oracle that knows names alone. In ONNX a name is written once, so only a read after its write orders two nodes.
std::vector<std::vector<bool>> closure(const onnx::GraphProto& g) {
  const int nodes = g.node_size();
  std::vector<std::vector<bool>> before(static_cast<std::size_t>(nodes),
                                        std::vector<bool>(static_cast<std::size_t>(nodes)));
  for (int b = 0; b < nodes; ++b) {
    std::vector<bool>& row = before[static_cast<std::size_t>(b)];
    for (int a = b; a-- > 0;) {
      const bool random = g.node(a).op_type().starts_with("Random") && g.node(b).op_type().starts_with("Random");
      if (!random && !shares_name(g.node(a).output(), g.node(b).input())) continue;
      row[static_cast<std::size_t>(a)] = true;
      for (int c = 0; c < a; ++c)
        if (before[static_cast<std::size_t>(a)][static_cast<std::size_t>(c)]) row[static_cast<std::size_t>(c)] = true;
    }
  }
  return before;
}

// Returns whether the file was a model with a right answer.
bool examine(const char* path, tally& all) {
  onnx::ModelProto model;
  std::ifstream in(path, std::ios::binary);
  if (!in || !model.ParseFromIstream(&in)) {
    std::fprintf(stderr, "%s is no ONNX model\n", path);
    return false;
  }
  const onnx::GraphProto& graph = model.graph();
  const auto deps = hocket::graph::dependencies(graph, {.random = true});
  if (!deps) {
    std::fprintf(stderr, "%s: %s\n", path, message(deps.error()).c_str());
    return false;
  }
  const std::vector<std::vector<bool>> truth = closure(graph);
  std::size_t wrong = 0;
  for (hocket::node_id b = 0; b < deps->node_count(); ++b)
    for (hocket::node_id a = 0; a < deps->node_count(); ++a) {
      all.ordered += truth[b][a] ? 1u : 0u;
      wrong += truth[b][a] != deps->reaches(a, b) ? 1u : 0u;
    }
  ++all.models;
  all.nodes += deps->node_count();
  all.edges += deps->rule_edges();
  all.kept += deps->edge_count();
  all.wrong += wrong;
  all.bytes += deps->graph().bytes();
  all.us += timing::least_us([&] { return hocket::graph::dependencies(graph, {.random = true}).has_value(); });
  return wrong == 0;
}

}  // namespace

int main(int argc, char** argv) {
  tally all;
  bool right = argc > 1;
  for (int i = 1; i < argc; ++i) right = examine(argv[i], all) && right;
  if (argc < 2) std::fprintf(stderr, "usage: onnx_host MODEL.onnx…\n");
  std::printf("%zu models, %zu nodes, %zu dependencies, %zu kept, %zu ordered pairs, %zu wrong\n", all.models,
              all.nodes, all.edges, all.kept, all.ordered, all.wrong);
  const double nodes = all.nodes == 0 ? 1 : static_cast<double>(all.nodes);
  std::printf("adapter and dependencies: %.2f us a node, %.0f bytes\n", all.us / nodes,
              static_cast<double>(all.bytes) / nodes);
  return right ? 0 : 1;
}
