// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/curve/any_curve.hpp>
#include <hocket/tiling/problem.hpp>

#include <vector>

namespace hocket::inline HOCKET_ABI::tiling {

/// A problem read at run time: any number of phases up to max_phases, each with any of the stored curves.
/// Policies take it like one whose types are known.
using any_problem = problem<std::vector<phase<curve::any_curve>>>;

}  // namespace hocket::inline HOCKET_ABI::tiling
