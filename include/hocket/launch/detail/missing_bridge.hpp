// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/result.hpp>
#include <hocket/launch/command.hpp>

// What a call finds where its bridge is not included: a sentence in place of "not a member". Every overload of a bridge
// is better for its own arguments: it is no template, and anything is better than the ellipsis.
namespace hocket::inline HOCKET_ABI::launch {

namespace detail {

template <class Plan>
inline constexpr bool is_bridged = false;

}  // namespace detail

template <class Plan>
result<command_list> from_graph(const Plan&, ...) {
  static_assert(detail::is_bridged<Plan>,
                "hocket: from_graph takes a graph::stream_plan or steady_stream_plan, not a result of one, and is in a "
                "header of its own: #include <hocket/launch/bridges/graph.hpp>");
  return error{errc::invalid_argument};
}

template <class Plan>
result<command_list> from_tiling(const Plan&, ...) {
  static_assert(detail::is_bridged<Plan>,
                "hocket: from_tiling takes a tiling::plan, not a result of one, and the stream of each phase. It is in "
                "a header of its own: #include <hocket/launch/bridges/tiling.hpp>");
  return error{errc::invalid_argument};
}

}  // namespace hocket::inline HOCKET_ABI::launch
