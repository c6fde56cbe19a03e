// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// XLA's own combiner of collectives (xla/service/collective_combiner_utils.h) twice: as it is, and with hocket's map in
// place of XLA's. Nothing of it is copied: the header is read a second time, under other names.
#pragma once
#include "hocket_reachability.hpp"
#include "xla/hlo/analysis/hlo_reachability.h"
#include "xla/service/collective_combiner_utils.h"

#undef XLA_SERVICE_COLLECTIVE_COMBINER_UTILS_H_
#define HloReachabilityMap HocketReachabilityMap
#define CombineInstructionsByKey CombineInstructionsByKeyWithHocket
#include "xla/service/collective_combiner_utils.h"
#undef HloReachabilityMap
#undef CombineInstructionsByKey

#include <optional>
#include <string>
#include <vector>

#include "xla/hlo/ir/hlo_instructions.h"

namespace example {

using groups = std::vector<std::vector<std::string>>;

/// Fuses the all-reduces of a computation, at most so many into one, and returns which: by XLA's map or by hocket's.
inline groups combine_all_reduces(xla::HloComputation& c, int at_most, bool with_hocket) {
  groups found;
  const auto key = [](const xla::HloInstruction* i) -> std::optional<int> {
    if (i->opcode() != xla::HloOpcode::kAllReduce || !i->shape().IsArray()) return std::nullopt;
    return static_cast<int>(i->shape().element_type());
  };
  const auto combine = [&](absl::Span<xla::HloInstruction* const> group) -> absl::Status {
    found.emplace_back();
    std::vector<xla::HloInstruction*> operands;
    std::vector<const xla::Shape*> shapes;
    for (xla::HloInstruction* i : group) {
      found.back().emplace_back(i->name());
      operands.push_back(i->mutable_operand(0));
      shapes.push_back(&i->shape());
    }
    const xla::Shape all = xla::ShapeUtil::MakeTupleShapeWithPtrs(shapes);
    xla::HloInstruction* const one = c.AddInstruction(group.front()->CloneWithNewOperands(all, operands));
    for (std::size_t k = 0; k < group.size(); ++k) {
      auto part = xla::HloInstruction::CreateGetTupleElement(group[k]->shape(), one, static_cast<int64_t>(k));
      TF_RETURN_IF_ERROR(group[k]->ReplaceAllUsesWith(c.AddInstruction(std::move(part))));
      TF_RETURN_IF_ERROR(c.RemoveInstruction(group[k]));
    }
    return absl::OkStatus();
  };
  constexpr int64_t any_size = int64_t{1} << 40;
  const auto done = with_hocket ? xla::CombineInstructionsByKeyWithHocket<int>(&c, key, combine, any_size, at_most)
                                : xla::CombineInstructionsByKey<int>(&c, key, combine, any_size, at_most);
  if (!done.ok()) found.assign(1, {std::string(done.status().message())});
  return found;
}

}  // namespace example
