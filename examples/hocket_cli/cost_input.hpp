// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Files of a model, its training and its layout, and reports of their cost: the readers and writers of hocket::interop
// where the first mistake ends the command.
#pragma once
#include <hocket/interop/files/cost_answer.hpp>
#include <hocket/interop/files/device_memory_fields.hpp>
#include <hocket/interop/files/report_json.hpp>
#include <hocket/interop/files/report_latex.hpp>
#include <hocket/interop/files/report_parts.hpp>
#include <hocket/interop/files/report_text.hpp>

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "failure.hpp"
#include "json_fields.hpp"

namespace hocket_cli {

using hocket::interop::add_predictions, hocket::interop::cost_answer, hocket::interop::cost_files,
    hocket::interop::fullest_rank, hocket::interop::json_text, hocket::interop::kind_of, hocket::interop::machine_input,
    hocket::interop::missing_reshapes, hocket::interop::model_input, hocket::interop::named_part,
    hocket::interop::other_conventions, hocket::interop::parts_of, hocket::interop::read_memory,
    hocket::interop::recompute_lists, hocket::interop::report_as_json, hocket::interop::report_as_latex,
    hocket::interop::report_as_text, hocket::interop::report_context, hocket::interop::report_summary,
    hocket::interop::training_input, hocket::interop::utilizations_of, hocket::interop::value_of;

inline machine_input read_machine(const nlohmann::json& machine, std::string_view file, const std::string& path) {
  return hocket::interop::read_machine(machine, file, path, command_errors());
}
inline model_input read_model(const nlohmann::json& config, std::string_view file) {
  return hocket::interop::read_model(config, file, command_errors());
}
inline training_input read_training(const nlohmann::json& training, const hocket::cost::layer_list& model,
                                    std::string_view file, const std::string& path = "",
                                    recompute_lists* lists = nullptr, bool takes_muon = false) {
  return hocket::interop::read_training(training, model, file, path, lists, takes_muon, command_errors());
}
inline hocket::cost::parallel read_parallel(const nlohmann::json& parallel, std::string_view file,
                                            const std::string& path = "", hocket::cost::replay_set* replay = nullptr,
                                            recompute_lists* lists = nullptr) {
  return hocket::interop::read_parallel(parallel, file, path, replay, lists, command_errors());
}
inline hocket::cost::recompute_plan read_lists(const recompute_lists& lists,
                                               std::span<const hocket::cost::rank_layers> ranks,
                                               const hocket::cost::replay_set& replay) {
  return hocket::interop::read_lists(lists, ranks, replay, command_errors());
}
inline void need_rates(const machine_input& on, bool has_experts, const hocket::cost::parallel& p,
                       std::string_view file) {
  hocket::interop::need_rates(on, has_experts, p, file, command_errors());
}
inline hocket::cost::layer_list padded(const hocket::cost::layer_list& list, const training_input& t,
                                       std::string_view file) {
  return hocket::interop::padded(list, t, file, command_errors());
}
inline hocket::cost::report make_report(const hocket::cost::layer_list& list, report_context& context,
                                        std::string_view file) {
  return hocket::interop::make_report(list, context, file, command_errors());
}
inline cost_answer answer_of(const cost_files& files) { return hocket::interop::answer_of(files, command_errors()); }

}  // namespace hocket_cli
