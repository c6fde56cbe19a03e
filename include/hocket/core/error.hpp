// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/config.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace hocket::inline HOCKET_ABI {

/// What went wrong with data that the caller could not have checked by type. One block per component; numbers are
/// stable within a minor version. `sentence(code)` says what each means.
enum class errc : std::uint16_t {
  // any component
  overflow = 1,
  out_of_range,
  invalid_argument,
  out_of_memory,
  limit_exceeded,
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
  // planner
  does_not_fit = 700,
  other_ranks,
};

/// The English sentence of an error, with {0} … {3} for the offending values and {w} for the offending word.
/// Kept apart from the rendering so that it is constexpr and can be translated or logged as a key.
/// As long as there are codes: one line each.
// NOLINTNEXTLINE(readability-function-size)
[[nodiscard]] constexpr std::string_view sentence(errc code) noexcept {
  switch (code) {
    case errc::overflow: return "{w}: the result does not fit 64 bits (operands {0} and {1})";
    case errc::out_of_range: return "{w} is {0}, but must lie in [{1}, {2}]";
    case errc::invalid_argument: return "{w}: {0} is not allowed here";
    case errc::out_of_memory: return "out of memory while growing {w} to {0}";
    case errc::limit_exceeded: return "{w}: {0} exceeds the limit of {1}";
    case errc::cycle: return "edge {0} -> {1} would close a cycle: {1} already happens before {0}";
    case errc::self_edge: return "node {0} cannot happen before itself";
    case errc::unknown_node: return "node {0} does not exist: the graph has {1} nodes";
    case errc::bad_order: return "node {0} has predecessor {1}, but predecessors must come earlier in program order";
    case errc::unknown_node_in_line:
      return "line {0}, column {1} ({w}): node {2} does not exist: the graph has {3} nodes";
    case errc::misnumbered_op:
      return "line {0}: op is {1}, but rows are numbered from 0 in program order: {2} was expected";
    case errc::not_periodic:
      return "the two steps differ: op {0} is waited for before op {1} in one of them and not in the other";
    case errc::dropped_edges_not_logged:
      return "edge {0} -> {1} cannot be erased: call log_dropped_edges() before adding nodes, so that what it made "
             "redundant can return";
    case errc::no_such_edge: return "edge {0} -> {1} was never added, or is erased already";
    case errc::stale_snapshot: return "the graph was rolled back behind this snapshot, cleared or built anew since";
    case errc::fusion_closes_cycle:
      return "nodes {0} and {2} cannot be fused: node {1} runs between them and is not fused with them";
    case errc::kind_not_told:
      return "the option {w} chains ops of one kind, but the policy has neither kind nor for_each_resource";
    case errc::bad_shape: return "a pipeline of {0} ranks, {1} chunks and {2} micro-batches is not possible: {w}";
    case errc::bad_groups: return "the micro-batch groups add up to {0}, but there are {1} micro-batches";
    case errc::incomplete_schedule: return "rank {0} never runs {w} of stage {1} for micro-batch {2}";
    case errc::duplicate_action: return "rank {0} runs {w} of stage {1} for micro-batch {2} twice, again at step {3}";
    case errc::misplaced_action:
      return "line {0}, cell {3}: stage {1} also runs on line {2}, but a stage lives on one rank";
    case errc::misordered_action:
      return "rank {0}, step {3}: {w} of stage {1}, micro-batch {2} comes before what it needs";
    case errc::deadlock: return "the schedule deadlocks: rank {0} waits at step {1} for stage {2}, micro-batch {3}";
    case errc::local_transfer:
      return "rank {0}, step {3}: {w} of stage {1}, micro-batch {2} has no other rank at its far end";
    case errc::unknown_schedule:
      return "there is no schedule \"{w}\"; known are gpipe, 1f1b, eager-1f1b, interleaved, looped-bfs, seq-1f1b, "
             "zb-h1, zb-h2, interleaved-zb, zbv, v-half, v-min, dualpipe and dualpipev";
    case errc::unknown_groups:
      return "groups \"{w}\": expected balanced, last, first, paper, least-memory, auto or sizes such as 3,4,2";
    case errc::not_an_option: return "this schedule has no {w}";
    case errc::cap_too_small:
      return "rank {0} has a cap of {1}, but needs at least {2}: an activation for each of its chunks";
    case errc::untimed_action: return "the costs have no time for {w} of stage {0}";
    case errc::bad_cost: return "{w}: a cost must be finite and not negative (at {0} rows)";
    case errc::no_feasible_tiling: return "no tiling of {0} rows has tiles of at least {1} rows and at most {2} tiles";
    case errc::too_many_tiles: return "{0} tiles are needed, but at most {1} can be held";
    case errc::bad_sample: return "sample {0}: its {w} must be finite and positive";
    case errc::contradictory_samples:
      return "the samples of size {0} contradict each other: half of their times or more lie beyond a factor of 2 "
             "around "
             "the median";
    case errc::decreasing_cost:
      return "{w}: the time falls between size {0} and size {1}, but a larger size cannot cost less";
    case errc::bad_model: return "the model is not possible: {w} is {0}";
    case errc::missing_field: return "the config has no field \"{w}\"";
    case errc::contradictory_field:
      return "the config contradicts itself: \"{w}\" is {0}, but the other fields imply {1}";
    case errc::unknown_architecture: return "unknown architecture \"{w}\"";
    case errc::indivisible: return "{w}: {0} is not divisible by {1}";
    case errc::undefined_value: return "{w}: the formula divides by zero or does not fit 128 bits";
    case errc::not_whole: return "{w}: the formula gives a fraction, not a whole number";
    case errc::unknown_value: return "the config's field \"{w}\" has a value that its model_type does not allow";
    case errc::bad_rate:
      return "a machine cannot have {w}: rates and seconds are finite and at least 0, overlaps from 0 to 1";
    case errc::backend_failed: return "the backend failed with status {0} at command {1} (op {2}, stream {3})";
    case errc::unrecorded_event: return "command {0} waits for event {1}, which no earlier command records";
    case errc::stream_out_of_range: return "command {0} names stream {1}, but there are {2} streams";
    case errc::too_many_events: return "the plan needs {0} events, but the device has room for {1}";
    case errc::event_not_created: return "event {0} of {1} cannot be created: the backend failed with status {2}";
    case errc::outside_capture:
      return "command {0} is on stream {1}, which nothing has brought into the capture: it must first wait for an "
             "event of stream 0";
    case errc::unjoined_stream:
      return "command {0} is on stream {1}, and stream 0, where the capture ends, never waits for it";
    case errc::bad_transfer: return "rank {0}, step {1}: {w}";
    case errc::unmatched_transfer: return "rank {0}, step {1}: {w} rank {2} has no other end there";
    case errc::mismatched_transfer:
      return "what rank {0} sends at step {1} is not what rank {2} then expects, at its step {3}";
    case errc::transfer_deadlock:
      return "the transfers deadlock: rank {0} waits at step {1} for step {3} of rank {2}, which waits itself";
    case errc::malformed: return "line {0}, column {1}: \"{w}\" is not understood";
    case errc::missing_column: return "line {0}: expected {1} columns, found {2}";
    case errc::bad_number: return "line {0}, column {1}: \"{w}\" is not a whole number in range";
    case errc::unknown_token: return "line {0}, cell {1}: unknown token \"{w}\"";
    case errc::other_separator:
      return "line {0}, cell {1}: \"{w}\" is several actions: cells are separated by commas here";
    case errc::other_dialect:
      return "line {0}, cell {1}: \"{w}\" is no action such as 3F12, and the file no list in PyTorch's dialect";
    case errc::empty_list: return "line {0} holds no action: each line is the list of a rank";
    case errc::uneven_rows: return "line {0} has {1} cells, but {2} were expected";
    case errc::does_not_fit:
      return "nothing fits: in {w} rank {0} lacks {1} bytes, though every layer keeps as little as it can";
    case errc::other_ranks: return "memory is given for {0} ranks, but the schedule has {1}";
    case errc::too_large: return "line {0}: {1} exceeds the limit of {2} ({w})";
  }
  return "unknown error";
}

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
    for (std::size_t i = 0; i < text.size() && i + 1 < word_capacity; ++i) e.letters[i] = text[i];
    return e;
  }

  [[nodiscard]] constexpr std::string_view word() const& noexcept {
    std::size_t n = 0;
    while (n < word_capacity && letters[n] != '\0') ++n;
    return {letters.data(), n};
  }
  void word() && = delete;

  friend constexpr bool operator==(const error&, const error&) = default;
};

}  // namespace hocket::inline HOCKET_ABI
