// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/planner/strategy/solve.hpp>

#include <cstdint>

/// The guide's hardware as far as it states it, rates assumed (docs/planner.md): nodes of 8.
/// @param gib  of a device, in 2^30 bytes, all of it for training
inline hocket::planner::cluster cluster_of(std::int64_t devices, double gib = 57.2) {
  hocket::cost::machine on;
  on.gemm_flops = 240e12;
  on.attention_flops = 150e12;
  on.memory_bytes = 1.2e12;
  on.tensor_bytes = 150e9;
  on.expert_bytes = 40e9;
  on.pipeline_bytes = 25e9;
  on.data_bytes = 25e9;
  on.data_overlap = 0.7;
  const hocket::bytes all(static_cast<std::int64_t>(gib * 1073741824.0));
  return {devices, 8, {.capacity = all, .reserve = hocket::bytes(0)}, on};
}
