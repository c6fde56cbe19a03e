// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/config.hpp>

#include <concepts>
#include <cstddef>

namespace hocket::inline HOCKET_ABI::launch::detail {

// What backends and transports say about their statuses, and what a trace of either is.

template <class P>
concept has_ok = requires(typename P::status_type status) {
  { P::ok(status) } noexcept -> std::same_as<bool>;
};
template <class P>
concept has_text = requires(typename P::status_type status) {
  { P::text(status) } noexcept -> std::same_as<const char*>;
};

template <class T, class Command>
concept has_begin = requires(T& trace, std::size_t index, const Command& c) {
  { trace.begin(index, c) } noexcept;
};
template <class T, class Command>
concept has_end = requires(T& trace, std::size_t index, const Command& c) {
  { trace.end(index, c) } noexcept;
};

/// Says which member a trace lacks.
template <class T, class Command>
struct checked_trace {
  static_assert(
      has_begin<T, Command>,
      "hocket: a trace needs `void begin(std::size_t index, const command&) noexcept` (transfer_command where "
      "transfers run)");
  static_assert(has_end<T, Command>,
                "hocket: a trace needs `void end(std::size_t index, const command&) noexcept` (transfer_command where "
                "transfers run)");
};

}  // namespace hocket::inline HOCKET_ABI::launch::detail
