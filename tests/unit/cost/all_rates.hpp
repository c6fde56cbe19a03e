// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A machine all of whose rates differ, so that none can be taken for another.
#pragma once
#include <hocket/cost/fit_machine.hpp>

inline constexpr hocket::cost::machine all_rates{.gemm_flops = 7e14,
                                                 .attention_flops = 5e14,
                                                 .memory_bytes = 3e12,
                                                 .tensor_bytes = 2e11,
                                                 .expert_bytes = 7e10,
                                                 .pipeline_bytes = 5e10,
                                                 .data_bytes = 3e10,
                                                 .host_bytes = 2e10};
