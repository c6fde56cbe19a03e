// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/cost/machine.hpp>

/// Machines as data. Each says where its numbers come from; none is read by a formula unless it is passed.
namespace hocket::inline HOCKET_ABI::cost::machines {

/// NVIDIA B200, eight in one node, bf16, Megatron-LM with Transformer Engine. Four rates are fitted (fit_machine) to
/// the 18 dense rows of the published measurements; memory and pipeline are the vendor's HBM and NVLink figures.
inline constexpr machine_data b200_fitted{"B200, fitted",
                                          {.gemm_flops = 1.0251e15,
                                           .attention_flops = 9.084e14,
                                           .memory_bytes = 8e12,
                                           .tensor_bytes = 2.574e11,
                                           .expert_bytes = 2.574e11,
                                           .pipeline_bytes = 9e11,
                                           .data_bytes = 3.832e11,
                                           .host_bytes = 6.4e10},
                                          0.0233,
                                          0.0737,
                                          "MooreThreads/SimuMax docs/b200 (measured step times), least squares"};

/// NVIDIA A100 80 GB as its data sheet has it: what a roofline calls ideal. Attention runs at the same peak.
inline constexpr machine_data a100_peak{
    "A100 80 GB, data sheet",
    {.gemm_flops = 312e12,
     .attention_flops = 312e12,
     .memory_bytes = 2.039e12,
     .tensor_bytes = 3e11,
     .expert_bytes = 3e11,
     .pipeline_bytes = 2.5e10,
     .data_bytes = 2.5e10,
     .host_bytes = 3.2e10},
    0,
    0,
    "NVIDIA A100 data sheet: bf16 dense, HBM2e, NVLink per direction, one 200 Gbit/s port, PCIe 4 x16"};

/// The device of the MindFormers tuning guide, whose peak and links the guide does not state: a peak of 380 TFLOP/s is
/// what its throughput and utilization figures imply (docs/cost.md), memory and links are assumptions.
/// Calibrate gemm_flops and attention_flops on one measured run before use.
inline constexpr machine_data guide_device{
    "device of the MindFormers guide, implied",
    {.gemm_flops = 380e12,
     .attention_flops = 380e12,
     .memory_bytes = 1.6e12,
     .tensor_bytes = 1.96e11,
     .expert_bytes = 1.96e11,
     .pipeline_bytes = 2e10,
     .data_bytes = 1.96e11,
     .host_bytes = 3.2e10},
    0,
    0,
    "peak implied by the guide's figures; memory 1.6 TB/s and links 7 x 28 GB/s in a node, 20 GB/s between: assumed"};

}  // namespace hocket::inline HOCKET_ABI::cost::machines
