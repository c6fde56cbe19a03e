// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Configs of models whose layers differ, and their reports.
#pragma once
#include <hocket/cost/list_report.hpp>
#include <hocket/interop/hugging_face_layers.hpp>

#include <optional>

#include "cost_input.hpp"

namespace hocket_cli {

/// A config whose layers differ; nothing where read_model_config is to read it, and to say what is wrong. Ends the
/// command where only a list of layers could have been read, and cannot.
std::optional<hocket::hugging_face::layer_reading> read_layer_config(const nlohmann::json& config,
                                                                     std::string_view file);
/// As make_report of a model. Seconds and plans by layer are for models of equal layers: asked for, the command ends.
hocket::cost::report make_report(const hocket::cost::layer_list& list, report_context& context, std::string_view file);

}  // namespace hocket_cli
