// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lengths of micro-batches that differ, as options say them: for `planner batches` and `plan`.
#pragma once
#include <hocket/planner/micro_batches/solve.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include "command.hpp"
#include "cost_input.hpp"

namespace hocket_cli {

struct length_options {
  std::string lengths;
  std::int64_t tokens = -1;  ///< of a micro-batch at most; -1: those of the training; 0: each document by itself
  std::int64_t seed = 0, draws = 1, steps = 1;
  bool keep_steps = false;
};
/// Adds --lengths and what belongs to it.
void add_lengths(CLI::App& command, length_options& o);

/// The documents of each micro-batch.
using micro_batch_documents = std::vector<std::vector<std::int64_t>>;

/// Each draw; a list of lengths is one draw. Ends the command where there are not as many micro-batches as are wanted.
/// @param tokens  of a micro-batch by the training
/// @param count   micro-batches of all steps and pipelines
std::vector<micro_batch_documents> read_lengths(const length_options& o, std::int64_t tokens, std::int64_t count);

std::int64_t tokens_of(const std::vector<std::int64_t>& documents);

/// Ends the command where the training file says how long documents are: --lengths says so of each micro-batch.
void check_documents(const training_input& t, const std::string& file);

/// What the micro-batches of all steps take: in words, and as files call it without the unit.
struct named_time {
  const char *name, *key;
  hocket::ticks time;
};
/// @param alike  if each had the mean number of tokens
std::vector<named_time> named_times(const hocket::planner::micro_batch_plan& plan, hocket::ticks alike);

}  // namespace hocket_cli
