// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Model, training and parallel files as values, and cost reports as text: shared by `hocket cost` and `hocket plan`.
#pragma once
#include <hocket/cost/model/utilization.hpp>
#include <hocket/cost/step_report.hpp>

#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hocket_cli {

/// A machine as data: one of hocket::cost::machines by name, or rates from a file.
struct machine_input {
  std::string name, source;
  hocket::cost::machine rates;
  double worst_error = 0;  ///< relative, of its fit; 0: none
};
/// A name of hocket::cost::machines, or an object with name, source and rates.
machine_input read_machine(const nlohmann::json& machine, std::string_view file, const std::string& path);
/// A number of a machine as files call it.
struct machine_number {
  const char* key;
  double hocket::cost::machine::* member;
};
std::vector<machine_number> machine_numbers();

class json_object;
/// "memory_gib" and "reserve_gib" of a cluster: the memory of one device. Ends the command if nothing is left.
hocket::cost::device_memory read_memory(const json_object& cluster);

/// A training file. Absent fields keep the defaults below; an unknown field is an error.
struct training_input {
  hocket::cost::training step;
  hocket::cost::convention counted{};
  std::int64_t padded_vocabulary = 0;        ///< 0: as in the model
  std::int64_t predictions = 0;              ///< multi-token-prediction modules, each with a layer as the last one
  double step_seconds = 0, peak_tflops = 0;  ///< both or neither: a measured or assumed step
  std::optional<machine_input> on;           ///< predicts seconds, if given
};

/// What is computed again by stage and layer, as a file has it: it means something once the model is known.
///
///     "recompute": [4, 0]                                 whole layers: the first 4 of stage 0, none of stage 1
///     "select_recompute": ["activation"]                  an operation, in every layer
///     "select_recompute": {"feed_forward\\.mul": [20, 8], "norm": [[0, 2], []]}   by stage: so many, or these layers
struct recompute_lists {
  nlohmann::json whole, select;  ///< null: not given
  std::string file;              ///< that has them
};
/// Patterns of reshapes that a list with feed_forward\.mul lacks. Where linear cells take three dimensions, the
/// reshapes before and behind the activation keep its tensors unless they are recomputed, too (the tuning guide's
/// case).
std::vector<std::string> missing_reshapes(const recompute_lists& lists);
/// The plan that the lists make; ends the command with a sentence that names the field and the numbers.
hocket::cost::recompute_plan read_lists(const recompute_lists& lists, std::span<const hocket::cost::rank_layers> ranks,
                                        const hocket::cost::replay_set& replay);

/// An encoder of a multimodal model: its parameters are none of the language model's.
struct counted_encoder {
  std::string name, architecture;
  std::int64_t parameters = 0;
};
/// A published model: its layers, what it is called, and what its config left unsaid.
struct model_input {
  hocket::cost::layer_list layers;
  std::string architecture;
  std::vector<std::string> assumed;
  std::vector<counted_encoder> encoders{};  ///< of a multimodal config
};
/// Each reader ends the command with one sentence that names the file and the field.
model_input read_model(const nlohmann::json& config, std::string_view file);
/// @param path   of the object within the file, "" if it is the whole file
/// @param lists  takes "recompute" and "select_recompute" as they stand, see recompute_lists; null: unknown fields
/// @param takes_muon  whether the optimizer may be muon: its states are those of a list of layers
training_input read_training(const nlohmann::json& training, const hocket::cost::layer_list& model,
                             std::string_view file, const std::string& path = "", recompute_lists* lists = nullptr,
                             bool takes_muon = false);
/// @param replay  takes the operations of the field "replay"; without it there is no such field
hocket::cost::parallel read_parallel(const nlohmann::json& parallel, std::string_view file,
                                     const std::string& path = "", hocket::cost::replay_set* replay = nullptr,
                                     recompute_lists* lists = nullptr);

/// Ends the command where a machine lacks a rate that a step needs.
void need_rates(const machine_input& on, bool has_experts, const hocket::cost::parallel& p, std::string_view file);

/// What is printed around a report.
struct report_context {
  std::string title;
  std::vector<std::string> assumed;  ///< defaults the model's config left unsaid
  std::int64_t router_biases = 0;    ///< of the parameters
  std::vector<counted_encoder> encoders{};
  std::optional<training_input> training;
  hocket::cost::parallel parallel{};
  hocket::cost::replay_set replay{};
  recompute_lists lists{};
  std::vector<hocket::cost::plan_row> plan{};           ///< set by make_report, if there are lists
  std::optional<hocket::cost::step_prediction> step{};  ///< set by make_report, if a machine is given
};
std::string report_as_text(const hocket::cost::report& report, const report_context& context);
std::string report_as_json(const hocket::cost::report& report, const report_context& context);
std::string report_as_latex(const hocket::cost::report& report, const report_context& context);

/// The value of a term as people read it: whole numbers in groups of three digits, others with six digits.
std::string value_of(const hocket::cost::report_line& line);
/// A part of a predicted step, in words and as files call it.
struct named_part {
  const char *name, *key;
  double seconds;
};
std::vector<named_part> parts_of(const hocket::cost::step_parts& parts);
/// Model and hardware FLOPs over what the devices could do in a measured step, in words with the convention.
struct utilizations {
  std::string mfu, hfu;
  double mfu_ratio = 0, hfu_ratio = 0;
};
/// Nothing without a measured step.
std::optional<utilizations> utilizations_of(const hocket::cost::report& report, const report_context& context);
/// "parameters=… flops_per_step=… max_bytes_per_rank=… peak_bytes_per_rank=…": the summary line. The first counts
/// states and saved tensors, the second also what lives for a moment.
std::string report_summary(const hocket::cost::report& report, const report_context& context = {});
/// The rank with the highest peak; the first of several.
std::size_t fullest_rank(const hocket::cost::report& report);

}  // namespace hocket_cli
