// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cost_layers.hpp"

#include "failure.hpp"

namespace hocket_cli {
namespace cost = hocket::cost;
using nlohmann::json;

std::optional<hocket::hugging_face::layer_reading> read_layer_config(const json& config, std::string_view file) {
  if (!config.is_object()) return std::nullopt;
  const auto flat = hocket::hugging_face::read_config(config);
  if (flat) return std::nullopt;
  auto read = hocket::hugging_face::read_layers(config);
  if (read) return *std::move(read);
  if (flat.error().code != hocket::errc::unknown_architecture) return std::nullopt;
  const auto text = config.find("text_config");
  const bool is_inner = text != config.end() && text->is_object() && text->contains("model_type");
  fail_config(is_inner ? *text : config, file, read.error());
}

cost::report make_report(const cost::layer_list& list, report_context& context, std::string_view file) {
  if (!context.training) return value_or_fail(cost::make_report(list), file);
  const training_input& t = *context.training;
  cost::layer_list padded = list;
  if (t.padded_vocabulary != 0) padded.sizes.vocabulary = t.padded_vocabulary;
  if (padded.sizes.vocabulary < list.sizes.vocabulary)
    fail(std::string(file) + ": \"padded_vocabulary\" is " + std::to_string(t.padded_vocabulary) +
         ", smaller than the model's vocabulary of " + std::to_string(list.sizes.vocabulary));
  if (t.on) fail(std::string(file) + ": \"machine\": seconds are predicted for models of equal layers only");
  if (!context.lists.whole.is_null() || !context.lists.select.is_null())
    fail(context.lists.file + ": recompute lists by stage are for models of equal layers only");
  const cost::report published = value_or_fail(cost::make_report(list), file);
  cost::report r = value_or_fail(cost::make_report(padded, t.step, context.parallel, t.counted, context.replay), file);
  for (const cost::rank_layers& on : value_or_fail(cost::layers_of_ranks(padded, context.parallel), file)) {
    const auto passes = value_or_fail(cost::held_share_by_1f1b(t.step, context.parallel, on.ends.rank), file);
    context.peaks.push_back(
        value_or_fail(cost::memory_of_rank(padded, on, t.step, context.parallel, passes, context.replay), file).peak);
  }
  std::erase_if(r.lines, [](const cost::report_line& line) { return line.group.starts_with("parameters"); });
  r.lines.insert(r.lines.begin(), published.lines.begin(), published.lines.end());
  r.parameters = published.parameters;
  return r;
}

}  // namespace hocket_cli
