// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/config.hpp>
#include <hocket/cost/formula/reflect.hpp>

#include <string_view>

namespace hocket::inline HOCKET_ABI::cost {

/// What one device does in a second, for each kind of work of a step: the linear hardware policy. Rates are sustained
/// ones, fitted or measured; the formulas of a step's time (step_time.hpp) name them and hold no number of their own.
/// Richer policies are in policy.hpp.
struct machine {
  double gemm_flops = 0;       ///< FLOP/s of matrix products
  double attention_flops = 0;  ///< FLOP/s inside attention
  double memory_bytes = 0;     ///< byte/s of element-wise work and of the optimizer
  double tensor_bytes = 0;     ///< byte/s that a rank sends to its tensor- and context-parallel group
  double expert_bytes = 0;     ///< byte/s to its expert-parallel group
  double pipeline_bytes = 0;   ///< byte/s to the next stage
  double data_bytes = 0;       ///< byte/s to its data-parallel group
  double host_bytes = 0;       ///< byte/s to the host's memory
  double data_overlap = 0;     ///< the part of the step's data-parallel transfers that hides behind compute, 0 to 1
  double expert_overlap = 0;   ///< the same of the experts' exchange
  double host_overlap = 1;     ///< the same of offloaded tensors
  // What the host adds to a step.
  double load_seconds = 0;    ///< until the step's data are on the device, as far as nothing hides it
  double post_seconds = 0;    ///< after the optimizer: checks, synchronisation, logging
  double launch_seconds = 0;  ///< of the host for one kernel of a layer; shows only where it exceeds the device's time
  double launches = 0;        ///< kernels per layer and pass
};

/// A machine as data: the rates, where they come from, and how far predictions with them are off.
struct machine_data {
  std::string_view name;
  machine rates;
  double mean_error = 0, worst_error = 0;  ///< relative, of the fit against its own measurements; 0: no fit
  std::string_view source;
};

}  // namespace hocket::inline HOCKET_ABI::cost

HOCKET_COST_STRUCT(hocket::cost::machine, gemm_flops, attention_flops, memory_bytes, tensor_bytes, expert_bytes,
                   pipeline_bytes, data_bytes, host_bytes, data_overlap, expert_overlap, host_overlap, load_seconds,
                   post_seconds, launch_seconds, launches);
