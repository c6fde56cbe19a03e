// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/graph/dense_index.hpp>

namespace hocket::inline HOCKET_ABI::graph {

/// The index of a dag whose author does not want to choose.
using auto_index = dense_index;

}  // namespace hocket::inline HOCKET_ABI::graph
