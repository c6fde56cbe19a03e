// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/ids.hpp>
#include <hocket/core/result.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace hocket::inline HOCKET_ABI::graph::detail {

// One per op, each no_id or a stream that there is; or none at all.
[[nodiscard]] inline result<void> check_pins(std::size_t nodes, std::int64_t streams,
                                             std::span<const stream_id> pinned) {
  if (!pinned.empty() && pinned.size() != nodes)
    return error{errc::wrong_length, std::ssize(pinned), static_cast<std::int64_t>(nodes)}.with("pinned");
  for (std::size_t b = 0; b < pinned.size(); ++b)
    if (pinned[b] != no_id && pinned[b] >= streams)
      return error{errc::out_of_range, pinned[b], 0, streams - 1}.with("pinned stream of op " + std::to_string(b));
  return {};
}

}  // namespace hocket::inline HOCKET_ABI::graph::detail
