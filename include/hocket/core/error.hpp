// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/config.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace hocket::inline HOCKET_ABI {

/// What went wrong with data that the caller could not have checked by type. One block per component; numbers are
/// stable within a minor version. core/message.hpp has a sentence for each.
enum class errc : std::uint16_t {
  // any component
  overflow = 1,
  out_of_range,
  invalid_argument,
  out_of_memory,
  limit_exceeded,
  wrong_answer,
  // graph
  cycle = 100,
  self_edge,
  unknown_node,
  bad_order,
  unknown_node_in_line,
  misnumbered_op,
  not_periodic,
  dropped_edges_not_logged,
  no_such_edge,
  stale_snapshot,
  fusion_closes_cycle,
  kind_not_told,
  bad_range,
  range_beyond_space,
  wrong_node_count,
  unordered_access,
  wrong_length,
  starts_not_told,
  other_op_count,
  cap_below_bytes,
  cap_below_time,
  group_closes_cycle,
  group_on_two_streams,
  // pipeline
  bad_shape = 200,
  bad_groups,
  incomplete_schedule,
  duplicate_action,
  misplaced_action,
  misordered_action,
  deadlock,
  local_transfer,
  unknown_schedule,
  unknown_groups,
  not_an_option,
  cap_too_small,
  untimed_action,
  slot_taken,
  no_feasible_pieces,
  // curve and tiling
  bad_cost = 300,
  no_feasible_tiling,
  too_many_tiles,
  decreasing_cost,
  bad_sample,
  contradictory_samples,
  // cost
  bad_model = 400,
  missing_field,
  contradictory_field,
  unknown_architecture,
  indivisible,
  undefined_value,
  not_whole,
  unknown_value,
  bad_rate,
  unknown_symbol,
  unknown_layer,
  // launch
  backend_failed = 500,
  unrecorded_event,
  stream_out_of_range,
  too_many_events,
  event_not_created,
  outside_capture,
  unjoined_stream,
  bad_transfer = 520,
  unmatched_transfer,
  mismatched_transfer,
  transfer_deadlock,
  // text
  malformed = 600,
  missing_column,
  bad_number,
  unknown_token,
  uneven_rows,
  too_large,
  other_separator,
  other_dialect,
  empty_list,
  unclosed_bracket,
  mismatched_bracket,
  bad_attribute,
  truncated,
  wrong_count,
  unknown_operand,
  unknown_table,
  no_such_column,
  duplicate_column,
  bad_decimal,
  ill_formed_json,
  stream_too_large,
  unknown_kind,
  not_a_flag,
  not_a_range,
  not_an_alias,
  late_parts,
  unknown_op,
  unknown_communicator,
  peer_out_of_range,
  other_write_count,
  // planner
  does_not_fit = 700,
  other_ranks,
  layout_lacks,
  layout_count,
  offset_sum,
  // ranks
  bad_communicator = 800,
  empty_communicator,
  member_twice,
  bad_rank_op,
};

/// Why a call failed: a code, up to four offending integers, and the first characters of an offending word.
/// Trivially copyable, without allocation, so `result<T>` stays usable in constant expressions and across ABIs; render
/// it with `message(e)` (core/message.hpp). A witness that needs more room, such as a cycle, is returned beside it.
struct error {
  static constexpr std::size_t word_capacity = 40;

  errc code = errc::invalid_argument;
  std::array<char, word_capacity> letters{};  ///< NUL-padded; cut to word_capacity - 1 characters
  std::array<std::int64_t, 4> values{};

  constexpr error() = default;
  constexpr explicit error(errc c, std::int64_t v0 = 0, std::int64_t v1 = 0, std::int64_t v2 = 0,
                           std::int64_t v3 = 0) noexcept
      : code(c), values{v0, v1, v2, v3} {}

  /// The same error, naming `text` (a field, a token, an action) in its sentence.
  [[nodiscard]] constexpr error with(std::string_view text) const noexcept {
    error e = *this;
    e.letters = {};
    std::size_t length = text.size() < word_capacity ? text.size() : word_capacity - 1;
    if (length < text.size())  // not within a character of UTF-8
      while (length > 0 && (static_cast<unsigned char>(text[length]) & 0xc0u) == 0x80u) --length;
    for (std::size_t i = 0; i < length; ++i) e.letters[i] = text[i];
    return e;
  }

  [[nodiscard]] constexpr std::string_view word() const& noexcept {
    std::size_t n = 0;
    while (n < word_capacity && letters[n] != '\0') ++n;
    return {letters.data(), n};
  }
  void word() const&& = delete;

  friend constexpr bool operator==(const error&, const error&) = default;
};

}  // namespace hocket::inline HOCKET_ABI
