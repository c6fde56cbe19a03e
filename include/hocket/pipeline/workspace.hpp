// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/pipeline/run_memory.hpp>

#include <cstddef>
#include <memory_resource>

namespace hocket::inline HOCKET_ABI::pipeline {

/// The memory of simulations, from a memory resource. Apart from the rest of a run, which needs no pmr header:
/// a proof in the compiler is that much quicker.
///
///     hocket::pipeline::workspace memory;   // or memory(&my_resource); reusable from run to run
///     const auto ran = run(plan, hocket::pipeline::costs{}, memory);
using workspace = basic_workspace<std::pmr::polymorphic_allocator<std::byte>>;

}  // namespace hocket::inline HOCKET_ABI::pipeline
