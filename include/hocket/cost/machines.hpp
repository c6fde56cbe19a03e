// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/cost/machine.hpp>

#include <string_view>

/// Machines as data. Each says where its numbers come from; none is read by a formula unless it is passed.
/// What a data sheet says is an upper bound. What training reaches of it is fitted to published runs of a family of
/// devices (tests/data/published, docs/published_runs.md), and stands for the software of those runs.
namespace hocket::inline HOCKET_ABI::cost::machines {

/// What a data sheet says of a device: dense FLOP/s, byte/s, byte/s that a device sends in one direction.
struct data_sheet {
  double bf16 = 0, fp8 = 0, fp4 = 0;
  double memory = 0;
  double cores = 0;
  std::int64_t node = 8;  ///< devices that the fast link joins
  double fast_link = 0;
  double network = 0;  ///< of a device's share of the network between nodes
  double host = 5e10;
  friend constexpr bool operator==(const data_sheet&, const data_sheet&) = default;
};

/// What training reaches of a data sheet, as parts of it, and what comes on top.
struct reached_parts {
  double gemm = 0, fp8 = 0, mxfp8 = 0, nvfp4 = 0, attention = 0, memory = 0, fast_link = 0, network = 0;
  double block_seconds = 0, fast_hop = 0, network_hop = 0;
  double tensor_overlap = 0, context_overlap = 0, pipeline_overlap = 0, data_overlap = 0, expert_overlap = 0;
  double launch_seconds = 0, expert_launches = 0, kernel_seconds = 0, spread = 0;
  bool sends_once = true;
};

/// A machine from both.
[[nodiscard]] constexpr machine machine_of(const data_sheet& sheet, const reached_parts& part) noexcept {
  constexpr double kernels_of_a_layer = 20;  // of a pass: Transformer Engine's fused ones
  constexpr std::int64_t any_number = std::int64_t{1} << 31;
  machine out;
  out.gemm_flops = part.gemm * sheet.bf16;
  out.attention_flops = part.attention * sheet.bf16;
  out.memory_bytes = part.memory * sheet.memory;
  out.host_bytes = sheet.host;
  out.fp8_flops = part.fp8 * sheet.fp8;
  out.mxfp8_flops = part.mxfp8 * sheet.fp8;
  out.nvfp4_flops = part.nvfp4 * sheet.fp4;
  out.cores = sheet.cores;
  out.block_seconds = part.block_seconds;
  out.tensor_overlap = part.tensor_overlap;
  out.context_overlap = part.context_overlap;
  out.pipeline_overlap = part.pipeline_overlap;
  out.data_overlap = part.data_overlap;
  out.expert_overlap = part.expert_overlap;
  out.sends_once = part.sends_once;
  out.launch_seconds = part.launch_seconds;
  out.launches = kernels_of_a_layer;
  out.expert_launches = part.expert_launches;
  out.kernel_seconds = part.kernel_seconds;
  out.spread = part.spread;
  out.links[0] = {sheet.node, part.fast_link * sheet.fast_link, part.fast_hop};
  out.links[1] = {any_number, part.network * sheet.network, part.network_hop};
  return out;
}

/// Megatron-LM of 2021 and 2022 on A100: attention in several kernels, little overlap of
/// tensor-parallel transfers.
inline constexpr reached_parts of_ampere{.gemm = 0.801,
                                         .attention = 0.7,
                                         .memory = 0.902,
                                         .fast_link = 0.71,
                                         .network = 0.6,
                                         .block_seconds = 4.66e-6,
                                         .fast_hop = 2.25e-5,
                                         .network_hop = 5e-6,
                                         .tensor_overlap = 0.205,
                                         .context_overlap = 0.5,
                                         .pipeline_overlap = 0.872,
                                         .data_overlap = 0.617,
                                         .expert_overlap = 0.2,
                                         .launch_seconds = 1e-5,
                                         .expert_launches = 10,
                                         .kernel_seconds = 3.29e-6,
                                         .spread = 0.01,
                                         .sends_once = false};
/// NeMo 24.07 to Megatron-Bridge 26.06 on H100 in FP8 with current scaling; Meta's Llama 3 in bf16.
inline constexpr reached_parts of_hopper{.gemm = 0.6,
                                         .fp8 = 0.8,
                                         .mxfp8 = 0.8,
                                         .attention = 0.595,
                                         .memory = 0.6,
                                         .fast_link = 0.5,
                                         .network = 0.774,
                                         .block_seconds = 6e-6,
                                         .fast_hop = 2.5e-5,
                                         .network_hop = 5e-5,
                                         .tensor_overlap = 0.792,
                                         .context_overlap = 0,
                                         .pipeline_overlap = 0.776,
                                         .data_overlap = 0.935,
                                         .expert_overlap = 0.1,
                                         .launch_seconds = 1.54e-5,
                                         .expert_launches = 32.5,
                                         .kernel_seconds = 4.71e-6,
                                         .spread = 0.000913};
/// NeMo 25.02 to Megatron-Bridge 26.08 on B200, B300, GB200 and GB300.
inline constexpr reached_parts of_blackwell{.gemm = 0.6,
                                            .fp8 = 0.8,
                                            .mxfp8 = 0.8,
                                            .nvfp4 = 0.71,
                                            .attention = 0.7,
                                            .memory = 0.626,
                                            .fast_link = 0.92,
                                            .network = 0.6,
                                            .block_seconds = 5.6e-6,
                                            .fast_hop = 2.5e-5,
                                            .network_hop = 5e-5,
                                            .tensor_overlap = 0.794,
                                            .context_overlap = 0,
                                            .pipeline_overlap = 0.831,
                                            .data_overlap = 0.379,
                                            .expert_overlap = 0.1,
                                            .launch_seconds = 1.63e-5,
                                            .expert_launches = 20.4,
                                            .kernel_seconds = 1.73e-6,
                                            .spread = 0.01};
/// DeepSeek's own software on H800: DualPipe hides the exchange of experts.
inline constexpr reached_parts of_dual_pipe = [] {
  reached_parts out = of_hopper;
  out.expert_overlap = 0.95;
  return out;
}();
/// No published runs: what A100 reaches, products a fifth less. An assumption, to be replaced by `hocket cost fit`.
inline constexpr reached_parts assumed = [] {
  reached_parts out = of_ampere;
  out.gemm = 0.64;
  out.attention = 0.45;
  out.fp8 = 0.5;
  return out;
}();

// clang-format off
inline constexpr data_sheet a100_40_sheet{.bf16 = 312e12, .memory = 1.555e12, .cores = 108, .fast_link = 3e11, .network = 2.5e10, .host = 3.2e10};
inline constexpr data_sheet a100_80_sheet{.bf16 = 312e12, .memory = 2.039e12, .cores = 108, .fast_link = 3e11, .network = 2.5e10, .host = 3.2e10};
inline constexpr data_sheet h100_sheet{.bf16 = 989.4e12, .fp8 = 1978.9e12, .memory = 3.35e12, .cores = 132, .fast_link = 4.5e11, .network = 5e10};
inline constexpr data_sheet h200_sheet{.bf16 = 989.4e12, .fp8 = 1978.9e12, .memory = 4.8e12, .cores = 132, .fast_link = 4.5e11, .network = 5e10};
inline constexpr data_sheet h800_sheet{.bf16 = 989.4e12, .fp8 = 1978.9e12, .memory = 3.35e12, .cores = 132, .fast_link = 2e11, .network = 5e10};
inline constexpr data_sheet h20_sheet{.bf16 = 148e12, .fp8 = 296e12, .memory = 4e12, .cores = 78, .fast_link = 4.5e11, .network = 5e10};
inline constexpr data_sheet b200_sheet{.bf16 = 2250e12, .fp8 = 4500e12, .fp4 = 9000e12, .memory = 8e12, .cores = 148, .fast_link = 9e11, .network = 5e10};
inline constexpr data_sheet b300_sheet{.bf16 = 2250e12, .fp8 = 4500e12, .fp4 = 13500e12, .memory = 8e12, .cores = 148, .fast_link = 9e11, .network = 1e11};
inline constexpr data_sheet gb200_sheet{.bf16 = 2500e12, .fp8 = 5000e12, .fp4 = 10000e12, .memory = 8e12, .cores = 152, .node = 72, .fast_link = 9e11, .network = 5e10, .host = 2e11};
inline constexpr data_sheet gb300_sheet{.bf16 = 2500e12, .fp8 = 5000e12, .fp4 = 15000e12, .memory = 8e12, .cores = 152, .node = 72, .fast_link = 9e11, .network = 1e11, .host = 2e11};
inline constexpr data_sheet mi300x_sheet{.bf16 = 1307.4e12, .fp8 = 2614.9e12, .memory = 5.3e12, .cores = 304, .fast_link = 4.48e11, .network = 5e10};
inline constexpr data_sheet ascend_910b_sheet{.bf16 = 376e12, .memory = 1.6e12, .cores = 24, .fast_link = 1.96e11, .network = 2.5e10, .host = 3.2e10};
inline constexpr data_sheet ascend_910c_sheet{.bf16 = 752e12, .memory = 3.2e12, .cores = 48, .node = 384, .fast_link = 3.92e11, .network = 5e10, .host = 3.2e10};
// clang-format on

inline constexpr std::string_view fitted_on_ampere =
    "NVIDIA A100 data sheet; parts reached fitted to arXiv:2104.04473, 2205.05198, 2201.11990";
inline constexpr std::string_view fitted_on_hopper =
    "NVIDIA Hopper data sheets; parts reached fitted to NeMo 24.07 to Megatron-Bridge 26.06, arXiv:2407.21783";
inline constexpr std::string_view fitted_on_blackwell =
    "NVIDIA Blackwell data sheets; parts reached fitted to NeMo 25.02 to Megatron-Bridge 26.08";

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

/// What a name stands for.
struct named_machine {
  std::string_view key;  ///< literal: "h100_sxm"
  machine_data data;
  /// Memory of a device in GiB that a process can have, rounded down: less than the data sheet's. 0: not known.
  /// Sources: what the driver reports of A100 and H100 (modal-labs/modal-client 2797), B200 (pytorch/ao 4002), MI300X
  /// (ROCm/legacy-rocm-build 4750), and of 910B with what it takes for itself (vllm-project/vllm-ascend 1903; 910C is
  /// two of these). Of H800 the same as of H100. Of the others it is a figure below the data sheet's.
  std::int64_t memory_gib = 0;
};
/// All machines of this header, by the names that files use.
inline constexpr named_machine all[] = {
    {"a100_sxm_40", {"A100 SXM 40 GB", machine_of(a100_40_sheet, of_ampere), 0.044, 0.235, fitted_on_ampere}, 39},
    {"a100_sxm_80", {"A100 SXM 80 GB", machine_of(a100_80_sheet, of_ampere), 0.044, 0.235, fitted_on_ampere}, 79},
    {"h100_sxm", {"H100 SXM", machine_of(h100_sheet, of_hopper), 0.065, 0.398, fitted_on_hopper}, 79},
    {"h200", {"H200", machine_of(h200_sheet, of_hopper), 0.065, 0.398, fitted_on_hopper}, 139},
    {"h800",
     {"H800, DualPipe", machine_of(h800_sheet, of_dual_pipe), 0.065, 0.398, "as h100_sxm; arXiv:2412.19437"},
     79},
    {"h20", {"H20", machine_of(h20_sheet, of_hopper), 0.065, 0.398, fitted_on_hopper}, 95},
    {"b200", {"B200", machine_of(b200_sheet, of_blackwell), 0.125, 0.513, fitted_on_blackwell}, 178},
    {"b300", {"B300", machine_of(b300_sheet, of_blackwell), 0.125, 0.513, fitted_on_blackwell}, 267},
    {"gb200_nvl72", {"GB200 NVL72", machine_of(gb200_sheet, of_blackwell), 0.125, 0.513, fitted_on_blackwell}, 184},
    {"gb300_nvl72", {"GB300 NVL72", machine_of(gb300_sheet, of_blackwell), 0.125, 0.513, fitted_on_blackwell}, 267},
    {"mi300x",
     {"MI300X", machine_of(mi300x_sheet, assumed), 0, 0, "AMD MI300X data sheet; parts reached are assumed"},
     191},
    {"ascend_910b",
     {"Ascend 910B", machine_of(ascend_910b_sheet, assumed), 0, 0,
      "published figures of Atlas 800T A2: 376 TFLOP/s, 1.6 TB/s, 7 x 28 GB/s, 200 Gbit/s; parts reached are assumed"},
     60},
    {"ascend_910c",
     {"Ascend 910C", machine_of(ascend_910c_sheet, assumed), 0, 0,
      "arXiv:2506.12708 (CloudMatrix384), table 1; parts reached are assumed"},
     121},
    {"b200_fitted", b200_fitted, 178},
    {"a100_peak", a100_peak, 79},
    {"guide_device", guide_device}};

/// The data sheet of a machine, and the family of devices that its parts were fitted to.
struct sheet_of_machine {
  std::string_view key;  ///< literal, as in `all`
  data_sheet sheet;
  std::string_view family;  ///< literal
};
/// Machines whose parts are fitted to published runs.
inline constexpr sheet_of_machine fitted_sheets[] = {
    {"a100_sxm_80", a100_80_sheet, "A100"},    {"h100_sxm", h100_sheet, "H100"},
    {"b200", b200_sheet, "Blackwell"},         {"b300", b300_sheet, "Blackwell"},
    {"gb200_nvl72", gb200_sheet, "Blackwell"}, {"gb300_nvl72", gb300_sheet, "Blackwell"}};

/// The machine of a name; nullptr if there is none. O(machines).
///
///     static_assert(hocket::cost::machines::find("h100_sxm")->rates.cores == 132);
[[nodiscard]] constexpr const machine_data* find(std::string_view key) noexcept {
  for (const named_machine& each : all)
    if (each.key == key) return &each.data;
  return nullptr;
}

/// How many devices the fast link of a machine joins: its innermost level of links. 8 where it has no levels.
///
///     using namespace hocket::cost::machines;
///     static_assert(node_of(find("gb200_nvl72")->rates) == 72 && node_of(a100_peak.rates) == 8);
[[nodiscard]] constexpr std::int64_t node_of(const machine& rates) noexcept {
  constexpr std::int64_t usual = 8;
  return rates.links[0].ranks > 1 ? rates.links[0].ranks : usual;
}

}  // namespace hocket::inline HOCKET_ABI::cost::machines
