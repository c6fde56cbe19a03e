// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/graph/op_kind.hpp>

namespace hocket::inline HOCKET_ABI::graph {

/// Which orders hold beyond those that reads and writes imply, each of them a switch. The first three need a policy
/// with `kind` or `for_each_resource`, without which dependencies answers errc::kind_not_told; the start-up rule needs
/// `starts`, else it is errc::starts_not_told. Barriers and control edges do nothing without the policy's member.
struct dependency_options {
  bool collectives = false;  ///< collectives run in program order, so that every rank enters them alike
  bool random = false;       ///< random ops run in program order, so that their numbers repeat
  bool io = false;           ///< io ops run in program order
  bool sequential = false;   ///< all ops run in program order: for hunting a missing dependency
  bool start_up = false;     ///< ops that wait for nothing wait for the ops that `starts` names, as far as possible
  bool barriers = true;      ///< what the policy's `barrier` says
  bool control = true;       ///< what the policy's `for_each_control` says
  bool reasons = false;      ///< remember why each kept edge exists: dependency_graph::why

  /// The reads and writes alone.
  [[nodiscard]] static constexpr dependency_options data() noexcept { return {}; }
  /// Collectives chained among themselves, random ops chained among themselves.
  [[nodiscard]] static constexpr dependency_options ordered() noexcept { return {.collectives = true, .random = true}; }

  [[nodiscard]] constexpr bool chains(op_kind k) const noexcept {
    return (k == op_kind::collective && collectives) || (k == op_kind::random && random) || (k == op_kind::io && io);
  }
};

}  // namespace hocket::inline HOCKET_ABI::graph
