// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lists of layers as a step uses them, and their reports.
#pragma once
#include <hocket/cost/report.hpp>

#include <optional>
#include <vector>

#include "cost_input.hpp"

namespace hocket_cli {

/// A model with the vocabulary that a step pads, and with its prediction modules. Ends the command if the vocabulary
/// is smaller than the model's.
hocket::cost::layer_list padded(const hocket::cost::layer_list& list, const training_input& t, std::string_view file);
/// Prediction modules, each with the last layer, which attends to all tokens there: as to_layers has them.
void add_predictions(hocket::cost::layer_list& list, std::int64_t modules);

[[nodiscard]] bool has_experts(const hocket::cost::layer_list& list);
/// "dense", "experts" or "prediction".
[[nodiscard]] std::string kind_of(const hocket::cost::rank_run& run);

/// Bytes of one rank for the sets of weights that several layers share, should it hold a copy of each.
hocket::cost::rational static_bytes_of_sets(const hocket::cost::layer_list& list, const hocket::cost::training& t,
                                            const hocket::cost::parallel& p, std::string_view file);

/// How a list stands on its pipeline, where that is not evenly and by 1F1B.
struct list_stages {
  std::vector<std::int64_t> sizes;               ///< layers of each stage
  std::vector<hocket::cost::held_share> passes;  ///< what each rank holds in flight
};
/// The report of a model, in `context` also what goes with it. Ends the command if the sizes do not fit together.
hocket::cost::report make_report(const hocket::cost::layer_list& list, report_context& context, std::string_view file,
                                 const list_stages& on = {});

/// The conventions that MFU is told in beside the one given.
std::vector<hocket::cost::convention> other_conventions(const hocket::cost::convention& own);
/// FLOPs of a step by the other conventions.
std::vector<hocket::cost::flop_count> other_counts(const hocket::cost::layer_list& list, const report_context& context,
                                                   std::string_view file);

}  // namespace hocket_cli
