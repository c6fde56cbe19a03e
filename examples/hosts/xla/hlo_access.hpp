// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// hocket's view of an XLA computation: its instructions in post order, numbered, and what each of them waits for. The
// file to copy into your project.
#pragma once
#include <hocket/graph/access.hpp>

#include <cstddef>
#include <vector>

#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"

struct hlo_order {
  using node = const xla::HloInstruction*;
  std::vector<xla::HloInstruction*> instructions;  // by number
  std::vector<hocket::node_id> numbers;            // by local_id

  explicit hlo_order(const xla::HloComputation& c) : instructions(c.MakeInstructionPostOrder()) {
    numbers.reserve(instructions.size());
    for (std::size_t i = 0; i < instructions.size(); ++i) {
      const auto id = static_cast<std::size_t>(instructions[i]->local_id());
      if (id >= numbers.size()) numbers.resize(id + 1, hocket::no_id);
      numbers[id] = static_cast<hocket::node_id>(i);
    }
  }
  std::size_t node_count(const xla::HloComputation&) const { return instructions.size(); }
  // An instruction of another computation has no number.
  std::size_t index_of(const xla::HloComputation& c, node n) const {
    const auto id = static_cast<std::size_t>(n->local_id());
    return n->parent() == &c && id < numbers.size() ? numbers[id] : hocket::no_id;
  }
  void for_each_node(const xla::HloComputation&, auto&& f) const {
    for (const node n : instructions) f(n);
  }
  static void for_each_predecessor(const xla::HloComputation&, node n, auto&& f) {
    for (const node operand : n->operands()) f(operand);
    for (const node before : n->control_predecessors()) f(before);
  }
};
