// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Recompute and offsets of a split as MindFormers takes them.
#pragma once
#include <hocket/planner/split/solve.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace hocket_cli {

/// What a MindFormers user pastes: recompute, select_recompute and offset, as lists by stage.
struct pasted_level {
  std::vector<std::string> select;  ///< patterns of operations
  bool whole = false;
  bool no_pattern = false;  ///< computes something again that has no pattern here
};
/// @param runs  how many layers in a row are equal
std::string mind_formers(const std::vector<pasted_level>& levels, const hocket::planner::split_plan& plan,
                         std::uint32_t ranks, std::uint32_t chunks, std::span<const std::int64_t> runs);

}  // namespace hocket_cli
