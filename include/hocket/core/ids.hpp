// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/result.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>

namespace hocket::inline HOCKET_ABI {

/// Vertex of a host graph; in program order ids ascend from 0.
using node_id = std::uint32_t;
/// A FIFO queue of device work, counted from 0.
using stream_id = std::uint32_t;
/// A record on one stream that other streams wait for, counted from 0.
using event_id = std::uint32_t;

/// "No such node / stream / event": never a valid id.
inline constexpr std::uint32_t no_id = (std::numeric_limits<std::uint32_t>::max)();

/// Streams are numbered below this. It halves a command, and a stray number must not size an allocation. No device
/// offers more than 2,048 streams.
inline constexpr stream_id stream_limit = 1u << 16;

/// errc::limit_exceeded for more than `stream_limit` streams.
[[nodiscard]] constexpr result<void> check_stream_count(std::size_t count) noexcept {
  if (count <= stream_limit) return {};
  return error{errc::limit_exceeded, static_cast<std::int64_t>(count), std::int64_t{stream_limit}}.with("streams");
}

/// `value` as a 32-bit id, or errc::limit_exceeded. Ids are 32 bits because indexes are half the size with them;
/// sizes are 64 bits, so every crossing from one to the other goes through here.
template <std::integral Integer>
[[nodiscard]] constexpr result<std::uint32_t> to_id(Integer value, std::string_view what) noexcept {
  if (std::cmp_less(value, 0) || std::cmp_greater_equal(value, no_id))
    return error{errc::limit_exceeded, static_cast<std::int64_t>(value), static_cast<std::int64_t>(no_id) - 1}.with(
        what);
  return static_cast<std::uint32_t>(value);
}

}  // namespace hocket::inline HOCKET_ABI
