// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Nanoseconds do not fit into whole microseconds.
// expect: duration
#include <hocket/pipeline/costs.hpp>

#include <chrono>

using namespace std::chrono_literals;
using hocket::pipeline::costs_in;

#ifdef CORRECTED
inline constexpr costs_in<std::chrono::nanoseconds> times{.forward = 26ms, .hop = 849ns};
#else
inline constexpr costs_in<std::chrono::microseconds> times{.forward = 26ms, .hop = 849ns};
#endif
