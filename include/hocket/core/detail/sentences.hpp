// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/error.hpp>

#include <cstddef>
#include <string_view>

namespace hocket::inline HOCKET_ABI::detail {

struct error_sentence {
  errc code;
  std::string_view text;  // {0} … {3} stand for the offending values, {w} for the offending word
};

// One for each code, in their order.
inline constexpr error_sentence error_sentences[] = {
    {errc::overflow, "{w}: the result does not fit 64 bits (operands {0} and {1})"},
    {errc::out_of_range, "{w} is {0}, but must lie in [{1}, {2}]"},
    {errc::invalid_argument, "{w}: {0} is not allowed here"},
    {errc::out_of_memory, "out of memory while growing {w} to {0}"},
    {errc::limit_exceeded, "{w}: {0} exceeds the limit of {1}"},
    {errc::wrong_answer, "defect of hocket, please report it: {w} is {0} in the answer, but must lie in [{1}, {2}]"},
    {errc::cycle, "edge {0} -> {1} would close a cycle: {1} already happens before {0}"},
    {errc::self_edge, "node {0} cannot happen before itself"},
    {errc::unknown_node, "node {0} does not exist: the graph has {1} nodes"},
    {errc::bad_order, "node {0} has predecessor {1}, but predecessors must come earlier in program order"},
    {errc::unknown_node_in_line, "line {0}, column {1} ({w}): node {2} does not exist: the graph has {3} nodes"},
    {errc::misnumbered_op,
     "line {0}, column 1: op is {1}, but rows are numbered from 0 in program order: {2} was expected"},
    {errc::not_periodic,
     "the two steps differ: op {0} is waited for before op {1} in one of them and not in the other"},
    {errc::dropped_edges_not_logged,
     "edge {0} -> {1} cannot be erased: call log_dropped_edges() before adding nodes, so that what it made redundant "
     "can return"},
    {errc::no_such_edge, "edge {0} -> {1} was never added, or is erased already"},
    {errc::stale_snapshot, "the graph was rolled back behind this snapshot, cleared or built anew since"},
    {errc::fusion_closes_cycle,
     "nodes {0} and {2} cannot be fused: node {1} runs between them and is not fused with them"},
    {errc::kind_not_told,
     "the option {w} chains ops of one kind, but the policy has neither kind nor for_each_resource"},
    {errc::bad_range,
     "op {0} touches the bytes from {1} to {2}, which is no range: the end must lie above the first byte"},
    {errc::range_beyond_space, "op {0} touches bytes of space {1} up to {2}, but it has {3} bytes"},
    {errc::wrong_node_count, "the policy says that there are {0} ops, but for_each_node visits {1}"},
    {errc::unordered_access,
     "ops {0} and {1} touch the same memory ({2}), one of them writes, and nothing keeps them in order"},
    {errc::wrong_length, "{0} {w} are given, but {1} are needed: one for each op"},
    {errc::starts_not_told,
     "the option start_up makes ops wait for those that start the step, but the policy has no starts"},
    {errc::other_op_count, "the order knows {0} ops, but the program has {1}"},
    {errc::cap_below_bytes,
     "a cap of {0} bytes is too low: the smallest order found needs {1}, and none less than {2}"},
    {errc::cap_below_time, "a cap of {0} is too short: the fastest order found takes {1}, and none less than {2}"},
    {errc::group_closes_cycle, "op {0} waits for a group of ops that waits for it: the group cannot stay together"},
    {errc::group_on_two_streams,
     "ops {0} and {1} are one group, but the first is pinned to stream {2} and the second to stream {3}"},
    {errc::bad_shape, "a pipeline of {0} ranks, {1} chunks and {2} micro-batches is not possible: {w}"},
    {errc::bad_groups, "the micro-batch groups add up to {0}, but there are {1} micro-batches"},
    {errc::incomplete_schedule, "rank {0} never runs {w} of stage {1} for micro-batch {2}"},
    {errc::duplicate_action, "rank {0} runs {w} of stage {1} for micro-batch {2} twice, again at step {3}"},
    {errc::misplaced_action, "line {0}, cell {3}: stage {1} also runs on line {2}, but a stage lives on one rank"},
    {errc::misordered_action, "rank {0}, step {3}: {w} of stage {1}, micro-batch {2} comes before what it needs"},
    {errc::deadlock, "the schedule deadlocks: rank {0} waits at step {1} for stage {2}, micro-batch {3}"},
    {errc::local_transfer, "rank {0}, step {3}: {w} of stage {1}, micro-batch {2} has no other rank at its far end"},
    {errc::unknown_schedule,
     "there is no schedule \"{w}\"; known are gpipe, 1f1b, eager-1f1b, interleaved, looped-bfs, seq-1f1b, zb-h1, "
     "zb-h2, interleaved-zb, zbv, v-half, v-min, dualpipe and dualpipev"},
    {errc::unknown_groups,
     "groups \"{w}\": expected balanced, last, first, paper, least-memory, auto or sizes such as 3,4,2"},
    {errc::not_an_option, "this schedule has no {w}"},
    {errc::cap_too_small, "rank {0} has a cap of {1}, but needs at least {2}: an activation for each of its chunks"},
    {errc::untimed_action, "the costs have no time for {w} of stage {0}"},
    {errc::slot_taken, "rank {0}, step {1}: a receive goes to slot {2} of its pool, which is read until step {3}"},
    {errc::no_feasible_pieces,
     "a request of {0} tokens cannot be cut into pieces of {1} to {2} tokens that are multiples of {3}"},
    {errc::bad_cost, "{w}: a cost must be finite and not negative (at {0} rows)"},
    {errc::no_feasible_tiling, "no tiling of {0} rows has tiles of at least {1} rows and at most {2} tiles"},
    {errc::too_many_tiles, "{0} tiles are needed, but at most {1} can be held"},
    {errc::decreasing_cost, "{w}: the time falls between size {0} and size {1}, but a larger size cannot cost less"},
    {errc::bad_sample, "sample {0}: its {w} must be finite and positive"},
    {errc::contradictory_samples,
     "the samples of size {0} contradict each other: half of their times or more lie beyond a factor of 2 around the "
     "median"},
    {errc::bad_model, "the model is not possible: {w} is {0}"},
    {errc::missing_field, "the config has no field \"{w}\""},
    {errc::contradictory_field, "the config contradicts itself: \"{w}\" is {0}, but the other fields imply {1}"},
    {errc::unknown_architecture, "unknown architecture \"{w}\""},
    {errc::indivisible, "{w}: {0} is not divisible by {1}"},
    {errc::undefined_value, "{w}: the formula divides by zero or does not fit 128 bits"},
    {errc::not_whole, "{w}: the formula gives a fraction, not a whole number"},
    {errc::unknown_value, "the config's field \"{w}\" has a value that its model_type does not allow"},
    {errc::bad_rate, "a machine cannot have {w}: rates and seconds are finite and at least 0, overlaps from 0 to 1"},
    {errc::unknown_symbol,
     "the formula needs \"{w}\", but no config of the environment has a whole number of that name"},
    {errc::unknown_layer, "the config's {w} (layer {0}) is no kind of layer that its model_type has"},
    {errc::backend_failed, "the backend failed with status {0} at command {1} (op {2}, stream {3})"},
    {errc::unrecorded_event, "command {0} waits for event {1}, which no earlier command records"},
    {errc::stream_out_of_range, "command {0} names stream {1}, but there are {2} streams"},
    {errc::too_many_events, "the plan needs {0} events, but the device has room for {1}"},
    {errc::event_not_created, "event {0} of {1} cannot be created: the backend failed with status {2}"},
    {errc::outside_capture,
     "command {0} is on stream {1}, which nothing has brought into the capture: it must first wait for an event of "
     "stream 0"},
    {errc::unjoined_stream, "command {0} is on stream {1}, and stream 0, where the capture ends, never waits for it"},
    {errc::bad_transfer, "rank {0}, step {1}: {w}"},
    {errc::unmatched_transfer, "rank {0}, step {1}: {w} rank {2} has no other end there"},
    {errc::mismatched_transfer, "what rank {0} sends at step {1} is not what rank {2} then expects, at its step {3}"},
    {errc::transfer_deadlock,
     "the transfers deadlock: rank {0} waits at step {1} for step {3} of rank {2}, which waits itself"},
    {errc::malformed, "line {0}, column {1}: \"{w}\" is not understood"},
    {errc::missing_column, "line {0}: expected {1} columns, found {2}"},
    {errc::bad_number, "line {0}, column {1}: \"{w}\" is not a whole number in range"},
    {errc::unknown_token, "line {0}, cell {1}: unknown token \"{w}\""},
    {errc::uneven_rows, "line {0} has {1} cells, but {2} were expected"},
    {errc::too_large, "line {0}: {1} exceeds the limit of {2} ({w})"},
    {errc::other_separator, "line {0}, cell {1}: \"{w}\" is several actions: cells are separated by commas here"},
    {errc::other_dialect,
     "line {0}, cell {1}: \"{w}\" is no action such as 3F12, and the file no list in PyTorch's dialect"},
    {errc::empty_list, "line {0} holds no action: each line is the list of a rank"},
    {errc::unclosed_bracket, "line {0}, column {1}: what is opened here is not closed: {w}"},
    {errc::mismatched_bracket, "line {0}, column {1}: \"{w}\" does not close what is opened in column {2}"},
    {errc::bad_attribute, "line {0}, column {1}: \"{w}\" is no attribute such as \"fusion: I64(0)\""},
    {errc::truncated, "the text ends in line {0}, before {w}"},
    {errc::wrong_count, "the text ends in line {0} with {2} {w}, but says that it has {1}"},
    {errc::unknown_operand, "line {0}, column {1}: {w} is used, but not defined before"},
    {errc::unknown_table, "line {0}, column 1: no table of a known profiler begins with \"{w}\""},
    {errc::no_such_column, "line {0}: the table has no column \"{w}\""},
    {errc::duplicate_column, "line {0}, column {1}: the table has \"{w}\" already, as column {2}"},
    {errc::bad_decimal, "line {0}, column {1}: \"{w}\" is no decimal number in range"},
    {errc::ill_formed_json, "line {0}, column {1}: {w}"},
    {errc::stream_too_large, "line {0}, column 2: stream {1} exceeds the limit of {2}"},
    {errc::unknown_kind, "line {0}, column {1}: \"{w}\" is no kind of op: write compute, collective, random or io"},
    {errc::not_a_flag, "line {0}, column {1}: \"{w}\" is neither 0 nor 1"},
    {errc::not_a_range,
     "line {0}, column {1}: \"{w}\" is no range of bytes: write space:first-end, with the end above the first byte"},
    {errc::not_an_alias,
     "line {0}, column {1}: \"{w}\" is no alias: write variable=part, two different numbers below 4294967295"},
    {errc::late_parts,
     "line {0}, column {1}: \"{w}\" comes too late or closes a cycle: variable {2} is a part of another already"},
    {errc::unknown_op, "line {0}, column {1}: \"{w}\" is no op of a rank, such as all_reduce, send, record or wait"},
    {errc::unknown_communicator, "line {0}, column {1}: no line before makes a communicator \"{w}\""},
    {errc::peer_out_of_range, "line {0}: the peer of some of the ranks {w} is no rank"},
    {errc::other_write_count,
     "line {0}, column {1}: {2} sizes are given, but the op writes {3} variables: one for each of them"},
    {errc::does_not_fit, "nothing fits: in {w} rank {0} lacks {1} bytes, though every layer keeps as little as it can"},
    {errc::other_ranks, "memory is given for {0} ranks, but the schedule has {1}"},
    {errc::layout_lacks, "the layout has no {w}"},
    {errc::layout_count, "the layout has {0} {w}, but the model has {1}"},
    {errc::offset_sum, "the offsets add up to {0}, but must add up to {1}: {2} layers over {3} stages leave that many"},
    {errc::bad_communicator, "communicator \"{w}\" has the member {0}, but ranks count from 0 and there are {1}"},
    {errc::empty_communicator, "communicator \"{w}\" has a group without members"},
    {errc::member_twice, "rank {0} is twice a member of communicator \"{w}\""},
    {errc::bad_rank_op, "rank {0}, op {1} of its list: {w}"},
};

[[nodiscard]] consteval bool error_codes_ascend() noexcept {
  for (std::size_t i = 1; i < std::size(error_sentences); ++i)
    if (error_sentences[i - 1].code >= error_sentences[i].code) return false;
  return true;
}
static_assert(error_codes_ascend(), "a code has two sentences, or stands in the wrong place");

/// The sentence with the values and the word of an error in their places: put(char) for its letters,
/// word(std::string_view), number(std::int64_t).
template <class Put, class Word, class Number>
void render(std::string_view text, const error& e, Put&& put, Word&& word, Number&& number) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool placeholder = text[i] == '{' && i + 2 < text.size() && text[i + 2] == '}';
    if (!placeholder) {
      put(text[i]);
      continue;
    }
    if (text[i + 1] == 'w') word(e.word());
    else number(e.values[static_cast<std::size_t>(text[i + 1] - '0')]);
    i += 2;
  }
}

}  // namespace hocket::inline HOCKET_ABI::detail

namespace hocket::inline HOCKET_ABI {

/// The English sentence of an error, with {0} … {3} for the offending values and {w} for the offending word.
/// Kept apart from the rendering so that it is constexpr and can be translated or logged as a key.
[[nodiscard]] constexpr std::string_view sentence(errc code) noexcept {
  for (const detail::error_sentence& s : detail::error_sentences)
    if (s.code == code) return s.text;
  return "unknown error";
}

}  // namespace hocket::inline HOCKET_ABI
