// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/ids.hpp>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>

namespace hocket::inline HOCKET_ABI::ranks {

/// What a rank does in one step of its list. Those up to `barrier` are collectives.
enum class op_kind : std::uint8_t {
  all_reduce,
  all_gather,
  all_gather_v,  ///< with `_v`: the members' counts may differ
  reduce_scatter,
  reduce_scatter_v,
  all_to_all,
  all_to_all_v,
  broadcast,
  reduce,
  gather,
  scatter,
  barrier,
  send,
  receive,
  compute,      ///< work of the rank's own on a stream
  record,       ///< notes in an event what its stream has been given so far
  wait,         ///< its stream goes on when the last record of the event, if any, is reached
  group_begin,  ///< the calls up to group_end are posted together
  group_end,
  synchronize_stream,  ///< the host goes on when the stream has done what it was given so far
  synchronize_event,   ///< the host goes on when the last record of the event, if any, is reached
  synchronize_device,  ///< the host goes on when all streams have done what they were given so far
};

namespace detail {

inline constexpr std::string_view op_names[] = {"all_reduce",
                                                "all_gather",
                                                "all_gather_v",
                                                "reduce_scatter",
                                                "reduce_scatter_v",
                                                "all_to_all",
                                                "all_to_all_v",
                                                "broadcast",
                                                "reduce",
                                                "gather",
                                                "scatter",
                                                "barrier",
                                                "send",
                                                "receive",
                                                "compute",
                                                "record",
                                                "wait",
                                                "group_begin",
                                                "group_end",
                                                "synchronize_stream",
                                                "synchronize_event",
                                                "synchronize_device"};

}  // namespace detail

/// The name of an op in files and sentences.
[[nodiscard]] constexpr std::string_view to_string(op_kind kind) noexcept {
  return detail::op_names[static_cast<std::size_t>(kind)];
}
/// The op of that name, if there is one.
[[nodiscard]] constexpr std::optional<op_kind> parse_op_kind(std::string_view name) noexcept {
  for (std::size_t i = 0; i < std::size(detail::op_names); ++i)
    if (detail::op_names[i] == name) return static_cast<op_kind>(i);
  return std::nullopt;
}

/// Whether all members of a communicator take part.
[[nodiscard]] constexpr bool is_collective(op_kind kind) noexcept { return kind <= op_kind::barrier; }
/// Whether another rank takes part.
[[nodiscard]] constexpr bool is_communication(op_kind kind) noexcept { return kind <= op_kind::receive; }
/// Whether the host hands it to a stream, and goes on.
[[nodiscard]] constexpr bool is_enqueued(op_kind kind) noexcept { return kind <= op_kind::wait; }
/// Whether one member is special.
[[nodiscard]] constexpr bool has_root(op_kind kind) noexcept {
  return kind >= op_kind::broadcast && kind <= op_kind::scatter;
}
/// Whether each member may give another count.
[[nodiscard]] constexpr bool has_counts(op_kind kind) noexcept {
  return kind == op_kind::all_gather_v || kind == op_kind::reduce_scatter_v || kind == op_kind::all_to_all_v;
}

/// Type of the elements of a collective: only compared.
enum class element_type : std::uint8_t {
  not_specified,
  int8,
  uint8,
  int32,
  int64,
  float8,
  float16,
  bfloat16,
  float32,
  float64,
};

namespace detail {

inline constexpr std::string_view element_names[] = {"",       "int8",    "uint8",    "int32",   "int64",
                                                     "float8", "float16", "bfloat16", "float32", "float64"};

}  // namespace detail

/// The name of a type; empty if not specified.
[[nodiscard]] constexpr std::string_view to_string(element_type type) noexcept {
  return detail::element_names[static_cast<std::size_t>(type)];
}
/// The type of that name, if there is one.
[[nodiscard]] constexpr std::optional<element_type> parse_element_type(std::string_view name) noexcept {
  for (std::size_t i = 0; i < std::size(detail::element_names); ++i)
    if (detail::element_names[i] == name) return static_cast<element_type>(i);
  return std::nullopt;
}

/// When the host goes on after a call.
enum class host_return : std::uint8_t {
  by_machine,     ///< as machine::enqueue_returns says
  at_once,        ///< when the call is enqueued
  when_complete,  ///< when the call is complete: a blocking call
};

/// A communicator of a program, or several of one name with no rank in two of them, counted from 0. 0 is the world.
using communicator_id = std::uint32_t;
/// The communicator of all ranks.
inline constexpr communicator_id world = 0;

/// One step of a rank. Which members count depends on the kind; the others stay 0.
struct op {
  op_kind kind = op_kind::compute;
  element_type type = element_type::not_specified;  ///< of a collective
  std::uint8_t thread = 0;                          ///< host thread that does it
  host_return returns = host_return::by_machine;
  stream_id stream = 0;              ///< that it is enqueued on; of synchronize_stream the one waited for
  communicator_id communicator = 0;  ///< of a collective, a send, a receive
  std::uint32_t peer = 0;            ///< rank at the other end; of a collective with a root, the root
  std::uint32_t tag = 0;             ///< of a send or a receive; the event of record, wait, synchronize_event
  std::uint32_t name = 0;            ///< in program::name; 0: none
  std::uint64_t count = 0;           ///< elements of a collective, bytes of a send or a receive; 0: not specified

  friend constexpr bool operator==(const op&, const op&) = default;
};

}  // namespace hocket::inline HOCKET_ABI::ranks
