// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Configs of models whose layers differ, and their reports.
#pragma once
#include <hocket/cost/list_report.hpp>
#include <hocket/interop/hugging_face_layers.hpp>

#include <optional>
#include <vector>

#include "cost_input.hpp"

namespace hocket_cli {

/// A config whose layers differ; nothing where read_model_config is to read it, and to say what is wrong. Ends the
/// command where only a list of layers could have been read, and cannot.
std::optional<hocket::hugging_face::layer_reading> read_layer_config(const nlohmann::json& config,
                                                                     std::string_view file);
/// A model by its numbers of layers, or as a list: then `numbers` has what is told of both, and the ends.
struct model_input {
  hocket::hugging_face::reading numbers;
  std::optional<hocket::cost::layer_list> layers;
};
/// Either, as the config is. Ends the command as read_model_config.
model_input read_any_config(const nlohmann::json& config, std::string_view file);
/// The same with the vocabulary that a step pads, and with its prediction modules. Ends the command if the vocabulary
/// is smaller than the model's.
hocket::cost::layer_list padded(const hocket::cost::layer_list& list, const training_input& t, std::string_view file);
/// Prediction modules, each with the last layer, which attends to all tokens there: as to_layers has them.
void add_predictions(hocket::cost::layer_list& list, std::int64_t modules);

[[nodiscard]] bool has_experts(const hocket::cost::layer_list& list);

/// Bytes of one rank for the sets of weights that several layers share, should it hold a copy of each.
hocket::cost::rational static_bytes_of_sets(const hocket::cost::layer_list& list, const hocket::cost::training& t,
                                            const hocket::cost::parallel& p, std::string_view file);

/// How a list stands on its pipeline, where that is not evenly and by 1F1B.
struct list_stages {
  std::vector<std::int64_t> sizes;               ///< layers of each stage
  std::vector<hocket::cost::held_share> passes;  ///< what each rank holds in flight
};
/// As make_report of a model. Plans by layer are for models of equal layers: asked for, the command ends.
hocket::cost::report make_report(const hocket::cost::layer_list& list, report_context& context, std::string_view file,
                                 const list_stages& on = {});

/// The conventions that MFU is told in beside the one given.
std::vector<hocket::cost::convention> other_conventions(const hocket::cost::convention& own);
/// FLOPs of a step of a list by the other conventions.
std::vector<hocket::cost::flop_count> other_counts(const hocket::cost::layer_list& list, const report_context& context,
                                                   std::string_view file);

}  // namespace hocket_cli
