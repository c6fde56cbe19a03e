// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/graph/dependency_options.hpp>

#include "drop_in.hpp"

namespace example {

/// Processor time of this thread, which other processes on the machine do not lengthen.
double now_us();

/// Says on stderr how the edges of a builder differ from ours, and how long each took. With a folder, writes the
/// program and all edges into it.
/// @param paddle_us  how long Paddle's Build took, in microseconds
void compare(const builder& b, const instruction_list& list, const hocket::graph::dependency_options& options,
             double paddle_us, const char* folder);

}  // namespace example
