// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// hocket's view of the operations of an mlir::Block. The file to copy into your project.
#pragma once
#include <mlir/IR/Block.h>
#include <mlir/IR/Operation.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>
#include <mlir/Interfaces/ViewLikeInterface.h>
#include <mlir/Transforms/RegionUtils.h>

#include <hocket/graph/access.hpp>

#include <cstdint>
#include <optional>

/// What an operation reads and writes: values, by their definitions and uses, and the memory behind them, by MLIR's
/// memory effects. Arguments of the block are taken for different memory. An operation whose effects MLIR does not
/// know, or that touches memory of unknown origin, keeps its place among all that touch memory.
template <>
struct hocket::graph_access<mlir::Block> {
  using node = mlir::Operation*;
  static std::size_t node_count(const mlir::Block& block) {
    return const_cast<mlir::Block&>(block).getOperations().size();
  }
  static void for_each_node(const mlir::Block& block, auto&& f) {
    for (mlir::Operation& op : const_cast<mlir::Block&>(block)) f(&op);
  }
  static void for_each_read(const mlir::Block&, node op, auto&& f) {
    for (const mlir::Value v : op->getOperands()) f(v.getAsOpaquePointer());
    llvm::SetVector<mlir::Value> inside;
    mlir::getUsedValuesDefinedAbove(op->getRegions(), inside);
    for (const mlir::Value v : inside) f(v.getAsOpaquePointer());
    touch<true>(op, f);
  }
  static void for_each_write(const mlir::Block&, node op, auto&& f) {
    for (const mlir::Value v : op->getResults()) f(v.getAsOpaquePointer());
    touch<false>(op, f);
  }
  /// What holds the memory of a value: a block's argument or the result of an allocation; none if MLIR cannot tell.
  static std::optional<mlir::Value> memory_of(mlir::Value v) {
    while (auto view = v.getDefiningOp<mlir::ViewLikeOpInterface>()) v = view.getViewSource();
    mlir::Operation* const made_by = v.getDefiningOp();
    if (made_by != nullptr && !mlir::hasEffect<mlir::MemoryEffects::Allocate>(made_by, v)) return std::nullopt;
    return v;
  }

 private:
  // Memory has numbers of its own: those of pointers, which are even, plus one. What touches memory that MLIR can name
  // reads `anywhere`, what touches other memory writes it.
  static constexpr std::uintptr_t anywhere = 1;

  template <bool Reads>
  static void touch(mlir::Operation* op, auto&& f) {
    const auto effects = mlir::getEffectsRecursively(op);
    if (!effects) return f(anywhere);
    for (const mlir::MemoryEffects::EffectInstance& effect : *effects) {
      const auto memory = effect.getValue() ? memory_of(effect.getValue()) : std::nullopt;
      if (!memory || Reads) f(anywhere);
      if (memory && llvm::isa<mlir::MemoryEffects::Read>(effect.getEffect()) == Reads)
        f(reinterpret_cast<std::uintptr_t>(memory->getAsOpaquePointer()) + 1);
    }
  }
};
