// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which storage may be behind a value of Paddle's intermediate representation, through in-place ops, views, buffers,
// lists of tensors, and the bodies of `if` and `while`.
#pragma once
#include <paddle/pir/include/core/block.h>
#include <paddle/pir/include/core/block_argument.h>
#include <paddle/pir/include/core/builtin_type.h>
#include <paddle/pir/include/core/op_operand.h>
#include <paddle/pir/include/core/op_result.h>
#include <paddle/pir/include/core/operation.h>
#include <paddle/pir/include/core/region.h>
#include <paddle/pir/include/core/value.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "paddle_ops.hpp"

namespace example {

/// A tensor: a value, or an element of a value that is a list of tensors.
struct tensor_of {
  ::pir::Value value;
  std::uint32_t element = 0;
  friend bool operator==(const tensor_of&, const tensor_of&) = default;
};

struct hash_tensor {
  std::size_t operator()(const tensor_of& t) const noexcept {
    return std::hash<::pir::Value>()(t.value) + t.element * std::size_t{0x9e3779b97f4a7c15};
  }
};

/// Number of tensors in a value.
inline std::uint32_t tensor_count(::pir::Value v) {
  const auto list = v && v.type() ? v.type().dyn_cast<::pir::VectorType>() : ::pir::VectorType();
  return list ? static_cast<std::uint32_t>(list.size()) : 1;
}

/// f(op) for an op and all ops of its regions, at any depth.
inline void for_each_inner_op(::pir::Operation& op, auto&& f) {
  f(op);
  for (std::uint32_t r = 0; r < op.num_regions(); ++r)
    for (auto& block : op.region(r))
      for (::pir::Operation& inner : block) example::for_each_inner_op(inner, f);
}

/// The tensors that own the storage behind a tensor. A tensor that shares with nobody owns its own. There may be
/// several: of the blocks of an `if` only one runs.
class value_storage {
 public:
  const std::vector<tensor_of>& owners(const tensor_of& t) {
    const auto known = owners_.find(t);
    if (known != owners_.end()) return known->second;
    std::vector<tensor_of> found, stack{t};
    std::unordered_set<tensor_of, hash_tensor> seen{t};
    const auto once = [&seen](std::vector<tensor_of>& to, const tensor_of& next) {
      if (next.value && seen.insert(next).second) to.push_back(next);
    };
    while (!stack.empty()) {
      const tensor_of at = stack.back();
      stack.pop_back();
      if (const auto done = owners_.find(at); done != owners_.end()) {
        for (const tensor_of& owner : done->second)
          if (owner == at) found.push_back(at);
          else once(found, owner);
        continue;
      }
      bool shares = false;
      for_each_source(at, [&](const tensor_of& source) {
        shares = true;
        once(stack, source);
      });
      if (!shares) found.push_back(at);
    }
    return owners_.emplace(t, std::move(found)).first->second;
  }

 private:
  // f(tensor) for each tensor whose storage `t` may have by the op that makes it.
  static void for_each_source(const tensor_of& t, auto&& f) {
    ::pir::Operation* const op = t.value.defining_op();
    if (op == nullptr) return for_each_source_of_argument(t, f);
    const std::uint32_t result = t.value.dyn_cast<::pir::OpResult>().index();
    if (op->num_regions() > 0) return for_each_source_of_region(*op, result, t.element, f);
    const op_traits& traits = traits_of(*op);
    const auto operand = [&](std::uint32_t i) {
      return i < op->num_operands() ? op->operand_source(i) : ::pir::Value();
    };
    const std::string_view name = op->info().name();
    if (name == "builtin.combine") return f(tensor_of{operand(t.element)});
    if (name == "builtin.split") return f(tensor_of{operand(0), result});
    if (name == "builtin.slice") {
      const auto index = op->attribute<::pir::Int32Attribute>("index");
      return f(tensor_of{operand(0), index ? static_cast<std::uint32_t>(index.data()) : 0});
    }
    if (traits.pops) return for_each_pushed(operand(0), result, t.element, f);
    if (traits.coalesces && result == 1) return all_tensors(op->result(0), f);
    for (const auto* const map : {&traits.in_place, &traits.views})
      for (const auto& pair : *map)
        if (pair.result == result) f(tensor_of{operand(pair.operand), t.element});
    if (traits.takes_storage) f(tensor_of{operand(1)});
    if (traits.may_share || (traits.may_be_strided && is_strided(*op)))
      for (std::uint32_t i = 0; i < op->num_operands(); ++i) all_tensors(operand(i), f);
  }

  static void all_tensors(::pir::Value v, auto&& f) {
    for (std::uint32_t k = 0; k < tensor_count(v); ++k) f(tensor_of{v, k});
  }

  // An `if` shares its results with what its blocks yield. A `while` yields whether it goes on, and then the values of
  // the next round; they begin as its operands. Of other ops with regions, arguments may be any operand.
  static void for_each_source_of_region(::pir::Operation& op, std::uint32_t result, std::uint32_t element, auto&& f) {
    const bool loops = op.info().name() == std::string_view("pd_op.while");
    for_each_yielded(op, result + (loops ? 1 : 0), element, f);
    if (loops && result + 1 < op.num_operands()) f(tensor_of{op.operand_source(result + 1), element});
    if (traits_of(op).is_known) return;
    for (std::uint32_t i = 0; i < op.num_operands(); ++i) all_tensors(op.operand_source(i), f);
  }
  static void for_each_source_of_argument(const tensor_of& t, auto&& f) {
    const auto argument = t.value.dyn_cast<::pir::BlockArgument>();
    ::pir::Operation* const op = argument && !argument.is_kwarg() ? argument.owner()->GetParentOp() : nullptr;
    if (op == nullptr) return;
    if (op->info().name() == std::string_view("pd_op.while"))
      return for_each_source_of_region(*op, argument.index(), t.element, f);
    for (std::uint32_t i = 0; i < op->num_operands(); ++i) all_tensors(op->operand_source(i), f);
  }
  static void for_each_yielded(::pir::Operation& op, std::uint32_t position, std::uint32_t element, auto&& f) {
    for (std::uint32_t r = 0; r < op.num_regions(); ++r)
      for (auto& block : op.region(r)) {
        if (block.empty()) continue;
        const ::pir::Operation& last = block.back();
        if (last.info().name() == std::string_view("cf.yield") && position < last.num_operands())
          f(tensor_of{last.operand_source(position), element});
      }
  }
  // What is popped from a stack was pushed to it: operand 0 of a push is the stack's entrance.
  static void for_each_pushed(::pir::Value exit, std::uint32_t position, std::uint32_t element, auto&& f) {
    const ::pir::Operation* const stack = exit ? exit.defining_op() : nullptr;
    if (stack == nullptr || stack->num_results() < 2) return;
    const ::pir::Value entrance = stack->result(1);
    for (auto use = entrance.use_begin(); use != entrance.use_end(); ++use) {
      const ::pir::Operation* const push = use->owner();
      if (push->info().name() == std::string_view("cf.tuple_push") && position + 1 < push->num_operands())
        f(tensor_of{push->operand_source(position + 1), element});
    }
  }

  std::unordered_map<tensor_of, std::vector<tensor_of>, hash_tensor> owners_;  // of the tensors that were asked for
};

}  // namespace example
