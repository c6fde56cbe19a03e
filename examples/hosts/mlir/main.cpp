// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads MLIR files, derives for each function which operation must run before which, and compares with all pairs, by
// MLIR's own alias analysis.
#include <mlir/Analysis/AliasAnalysis.h>
#include <mlir/Dialect/Affine/IR/AffineOps.h>
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Bufferization/IR/Bufferization.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/Dialect/Linalg/IR/Linalg.h>
#include <mlir/Dialect/Math/IR/Math.h>
#include <mlir/Dialect/MemRef/IR/MemRef.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Dialect/Tensor/IR/Tensor.h>
#include <mlir/IR/BuiltinOps.h>
#include <mlir/IR/MLIRContext.h>
#include <mlir/Parser/Parser.h>

#include <hocket/core/message.hpp>
#include <hocket/graph.hpp>

#include <algorithm>
#include <cstdio>
#include <vector>

#include "../timing.hpp"
#include "mlir_access.hpp"

namespace {

using access = hocket::graph_access<mlir::Block>;

struct tally {
  std::size_t functions = 0, operations = 0, kept = 0, ordered = 0, wrong = 0, waits = 0, bytes = 0;
  double us = 0;
};

// Does `user` use a result of `maker`, itself or in a region of its own?
bool uses(mlir::Operation* maker, mlir::Operation* user) {
  bool found = false;
  user->walk([&](mlir::Operation* inner) {
    for (const mlir::Value v : inner->getOperands()) found = found || v.getDefiningOp() == maker;
  });
  return found;
}

// An effect on memory that MLIR can name, as the adapter takes it.
bool is_known(const mlir::MemoryEffects::EffectInstance& e) { return e.getValue() && access::memory_of(e.getValue()); }

bool may_share(mlir::AliasAnalysis& alias, mlir::Value a, mlir::Value b) {
  const mlir::Value x = *access::memory_of(a), y = *access::memory_of(b);
  const bool arguments = llvm::isa<mlir::BlockArgument>(x) && llvm::isa<mlir::BlockArgument>(y);
  if (arguments) return x == y;  // the adapter takes different arguments for different memory
  return !alias.alias(a, b).isNo();
}

bool conflict(mlir::AliasAnalysis& alias, mlir::Operation* a, mlir::Operation* b) {
  const auto first = mlir::getEffectsRecursively(a), second = mlir::getEffectsRecursively(b);
  if (!first) return !second || !second->empty();
  if (!second) return !first->empty();
  for (const auto& x : *first)
    for (const auto& y : *second) {
      if (!is_known(x) || !is_known(y)) return true;
      const bool reads =
          llvm::isa<mlir::MemoryEffects::Read>(x.getEffect()) && llvm::isa<mlir::MemoryEffects::Read>(y.getEffect());
      if (!reads && may_share(alias, x.getValue(), y.getValue())) return true;
    }
  return false;
}

std::vector<std::vector<bool>> closure(mlir::Operation* function, const std::vector<mlir::Operation*>& ops) {
  mlir::AliasAnalysis alias(function);
  std::vector<std::vector<bool>> before(ops.size(), std::vector<bool>(ops.size()));
  for (std::size_t b = 0; b < ops.size(); ++b)
    for (std::size_t a = b; a-- > 0;) {
      if (!uses(ops[a], ops[b]) && !conflict(alias, ops[a], ops[b])) continue;
      before[b][a] = true;
      for (std::size_t c = 0; c < a; ++c)
        if (before[a][c]) before[b][c] = true;
    }
  return before;
}

// Returns whether the answer is right.
bool examine(mlir::func::FuncOp function, tally& all) {
  mlir::Block& block = function.getBody().front();
  const auto deps = hocket::graph::dependencies(block);
  if (!deps) {
    std::fprintf(stderr, "%s: %s\n", function.getName().str().c_str(), message(deps.error()).c_str());
    return false;
  }
  std::vector<mlir::Operation*> ops;
  access::for_each_node(block, [&ops](mlir::Operation* op) { ops.push_back(op); });
  const std::vector<std::vector<bool>> truth = closure(function, ops);
  std::size_t wrong = 0;
  for (hocket::node_id b = 0; b < ops.size(); ++b)
    for (hocket::node_id a = 0; a < ops.size(); ++a) {
      all.ordered += truth[b][a] ? 1u : 0u;
      if (truth[b][a] == deps->reaches(a, b)) continue;
      ++wrong;
      std::fprintf(stderr, "%s: operations %u and %u: %s\n", function.getName().str().c_str(), a, b,
                   truth[b][a] ? "not ordered" : "ordered without need");
    }
  const auto streams = hocket::graph::assign_streams(deps->graph(), 2).value();
  const auto plan = hocket::graph::stream_plan::make(deps->graph(), streams).value();
  ++all.functions;
  all.operations += ops.size();
  all.kept += deps->edge_count();
  all.waits += plan.waits().size();
  all.bytes += deps->graph().bytes();
  all.us += timing::least_us([&] { return hocket::graph::dependencies(block).has_value(); });
  all.wrong += wrong;
  return wrong == 0;
}

}  // namespace

int main(int argc, char** argv) {
  mlir::DialectRegistry registry;
  registry.insert<mlir::affine::AffineDialect, mlir::arith::ArithDialect, mlir::bufferization::BufferizationDialect,
                  mlir::func::FuncDialect, mlir::linalg::LinalgDialect, mlir::math::MathDialect,
                  mlir::memref::MemRefDialect, mlir::scf::SCFDialect, mlir::tensor::TensorDialect>();
  mlir::MLIRContext context(registry);
  tally all;
  bool right = argc > 1;
  for (int i = 1; i < argc; ++i) {
    auto module = mlir::parseSourceFile<mlir::ModuleOp>(argv[i], &context);
    right = module && right;
    if (!module) continue;  // MLIR has said why
    module->walk([&](mlir::func::FuncOp function) {
      if (!function.isExternal()) right = examine(function, all) && right;
    });
  }
  if (argc < 2) std::fprintf(stderr, "usage: mlir_host FILE.mlir…\n");
  std::printf(
      "%zu functions, %zu operations, %zu dependencies kept, %zu ordered pairs, %zu wrong; %zu waits on 2 streams\n",
      all.functions, all.operations, all.kept, all.ordered, all.wrong, all.waits);
  const double operations = all.operations == 0 ? 1 : static_cast<double>(all.operations);
  std::printf("adapter and dependencies: %.2f us an operation, %.0f bytes\n", all.us / operations,
              static_cast<double>(all.bytes) / operations);
  return right ? 0 : 1;
}
