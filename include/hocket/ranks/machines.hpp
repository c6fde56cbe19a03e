// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/ranks/machine.hpp>

#include <optional>
#include <span>
#include <string_view>

namespace hocket::inline HOCKET_ABI::ranks {

/// Why a rule of a machine is as it is.
struct rule_source {
  std::string_view member;    ///< literal; of `machine`
  std::string_view sentence;  ///< literal; what is known, in our words
  std::string_view source;    ///< literal; where it stands
};

/// A machine with a name, and a source for each of its rules.
struct named_machine {
  std::string_view name;  ///< literal
  machine rules;
  std::span<const rule_source> sources;  ///< literal
};

namespace detail {

inline constexpr std::string_view nccl_concurrent =
    "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/usage/communicators.html";
inline constexpr std::string_view nccl_streams =
    "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/usage/streams.html";
inline constexpr std::string_view nccl_environment =
    "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html";
inline constexpr std::string_view cuda_guide = "https://docs.nvidia.com/cuda/cuda-c-programming-guide/";
inline constexpr std::string_view cuda_runtime =
    "https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__STREAM.html";

inline constexpr rule_source of_nccl[] = {
    {"enqueue_returns", "a call returns when the operation is enqueued on the stream", nccl_streams},
    {"serial_communicators", "the operations of a communicator are issued in one order, the same on all ranks",
     nccl_concurrent},
    {"slots",
     "operations of several communicators need a common order on all ranks, because nothing promises that the device "
     "runs two at once",
     nccl_concurrent},
    {"unrecorded_events_block", "a wait for an event that was not recorded does nothing", cuda_runtime},
    {"hardware_queues", "the number of connections from the host to a device, 8 by default, bounds concurrency",
     cuda_guide},
};
inline constexpr rule_source of_nccl_implicit[] = {
    {"order",
     "with NCCL_LAUNCH_ORDER_IMPLICIT=1, operations of several communicators on a device are ordered as the host "
     "launched them (NCCL 2.26 and later)",
     nccl_environment},
    {"enqueue_returns", "as nccl", nccl_streams},
};
inline constexpr rule_source of_one_queue[] = {
    {"hardware_queues", "CUDA_DEVICE_MAX_CONNECTIONS=1: kernels of all streams are handed over in one order",
     cuda_guide},
    {"slots", "as nccl", nccl_concurrent},
};
inline constexpr rule_source of_nccl_lazy[] = {
    {"connects_on_first_use",
     "PyTorch makes a communicator when it is first used, for transfers one for each pair of ranks, and its members "
     "wait "
     "for each other there",
     "https://github.com/NVIDIA/Megatron-LM/pull/5240"},
    {"slots", "as nccl", nccl_concurrent},
};
inline constexpr rule_source of_rccl[] = {
    {"enqueue_returns", "the interface and its rules are NCCL's", "https://rocm.docs.amd.com/projects/rccl/en/latest/"},
    {"slots", "three communicators of one job hang without an order of their own",
     "https://github.com/ROCm/rccl/issues/2191"},
    {"hardware_queues", "GPU_MAX_HW_QUEUES, 4 by default, queues of a device",
     "https://rocm.docs.amd.com/projects/HIP/en/latest/reference/env_variables.html"},
};
inline constexpr rule_source of_hccl[] = {
    {"enqueue_returns", "a call returns when the operation is enqueued on the stream",
     "https://www.hiascend.com/document"},
    {"unrecorded_events_block", "a wait for an event that is not recorded waits for its record, until a timeout",
     "https://www.hiascend.com/document"},
};
inline constexpr rule_source of_gloo[] = {
    {"enqueue_returns", "a collective blocks its caller; asynchronous work runs in threads of the process group",
     "https://github.com/pytorch/gloo/blob/main/docs/readme.md"},
    {"serial_communicators", "collectives of one context are told apart by their tag, not by one running at a time",
     "https://github.com/pytorch/gloo/blob/main/docs/algorithms.md"},
};
inline constexpr std::string_view mpi_standard = "https://www.mpi-forum.org/docs/mpi-4.1/mpi41-report.pdf";
inline constexpr rule_source of_mpi[] = {
    {"enqueue_returns", "a blocking call returns when its buffer can be used again (section 3.4)", mpi_standard},
    {"serial_communicators", "matching follows the order of calls; progress of other calls does not (section 3.5)",
     mpi_standard},
    {"perhaps_buffered_below", "a standard send may be buffered, or may wait for its receive (section 3.4)",
     mpi_standard},
    {"longer_receives", "a receive buffer may be longer than the message (section 3.2.4)", mpi_standard},
};

}  // namespace detail

/// NVIDIA's library, as documented: calls of two communicators run at once perhaps, but nothing promises it.
[[nodiscard]] constexpr machine nccl() noexcept { return {.hardware_queues = 8, .slots = 1}; }
/// The same with NCCL_LAUNCH_ORDER_IMPLICIT=1.
[[nodiscard]] constexpr machine nccl_implicit_order() noexcept {
  return {.order = launch_order::start, .hardware_queues = 8, .slots = 1};
}
/// The same with CUDA_DEVICE_MAX_CONNECTIONS=1.
[[nodiscard]] constexpr machine nccl_one_queue() noexcept { return {.hardware_queues = 1, .slots = 1}; }
/// The same under a framework that makes communicators when they are first used.
[[nodiscard]] constexpr machine nccl_lazy() noexcept {
  return {.connects_on_first_use = true, .hardware_queues = 8, .slots = 1};
}
/// AMD's library.
[[nodiscard]] constexpr machine rccl() noexcept { return {.hardware_queues = 4, .slots = 1}; }
/// Huawei's library, on Ascend.
[[nodiscard]] constexpr machine hccl() noexcept { return {.unrecorded_events_block = true, .slots = 1}; }
/// PyTorch's library for processors; calls block their thread unless the program says otherwise.
[[nodiscard]] constexpr machine gloo() noexcept { return {.enqueue_returns = false, .serial_communicators = false}; }
/// The MPI standard: a program that is safe here is safe on each implementation. Sends may be buffered at any length.
[[nodiscard]] constexpr machine mpi() noexcept {
  return {.enqueue_returns = false,
          .serial_communicators = false,
          .longer_receives = true,
          .perhaps_buffered_below = ~std::uint64_t{0}};
}

/// All machines with a name.
inline constexpr named_machine machines[] = {
    {"nccl", nccl(), detail::of_nccl},
    {"nccl-implicit-order", nccl_implicit_order(), detail::of_nccl_implicit},
    {"nccl-one-queue", nccl_one_queue(), detail::of_one_queue},
    {"nccl-lazy", nccl_lazy(), detail::of_nccl_lazy},
    {"rccl", rccl(), detail::of_rccl},
    {"hccl", hccl(), detail::of_hccl},
    {"gloo", gloo(), detail::of_gloo},
    {"mpi", mpi(), detail::of_mpi},
};
/// The machine of that name, if there is one.
[[nodiscard]] constexpr std::optional<named_machine> find_machine(std::string_view name) noexcept {
  for (const named_machine& m : machines)
    if (m.name == name) return m;
  return std::nullopt;
}

}  // namespace hocket::inline HOCKET_ABI::ranks
