// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lists of layers as a step uses them, and their reports.
#pragma once
#include <hocket/cost/report.hpp>
#include <hocket/planner/plan/step_plan.hpp>

#include <optional>
#include <vector>

#include "cost_input.hpp"

namespace hocket_cli {

/// A model with the vocabulary that a step pads, and with its prediction modules. Ends the command if the vocabulary
/// is smaller than the model's.
hocket::cost::layer_list padded(const hocket::cost::layer_list& list, const training_input& t, std::string_view file);
/// Prediction modules, each with the last layer, which attends to all tokens there: as to_layers has them.
void add_predictions(hocket::cost::layer_list& list, std::int64_t modules);

/// "dense", "experts" or "prediction".
[[nodiscard]] std::string kind_of(const hocket::cost::rank_run& run);

/// The report of a model, in `context` also what goes with it. Ends the command if the sizes do not fit together.
hocket::cost::report make_report(const hocket::cost::layer_list& list, report_context& context, std::string_view file);
/// The same of a planned step: what stands on its ranks, what they hold, the time of the whole.
hocket::cost::report make_report(const hocket::cost::layer_list& list, report_context& context, std::string_view file,
                                 const hocket::planner::step_plan& plan);

/// The conventions that MFU is told in beside the one given.
std::vector<hocket::cost::convention> other_conventions(const hocket::cost::convention& own);
/// FLOPs of a step by the other conventions.
std::vector<hocket::cost::flop_count> other_counts(const hocket::cost::layer_list& list, const report_context& context,
                                                   std::string_view file);

}  // namespace hocket_cli
