// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cost_layers.hpp"

#include <hocket/cost/model/list_time.hpp>

#include <utility>

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

model_input read_any_config(const json& config, std::string_view file) {
  auto list = read_layer_config(config, file);
  if (!list) {
    model_input out{read_model_config(config, file), std::nullopt};
    value_or_fail(cost::count_parameters(out.numbers.model), file);  // what is wrong with it is not the step's fault
    return out;
  }
  value_or_fail(cost::count_parameters(list->layers), file);
  model_input out;
  out.numbers.model = cost::windowed_ends_of(list->layers);
  out.numbers.architecture = list->architecture;
  out.numbers.assumed = list->assumed;
  out.layers = std::move(list->layers);
  return out;
}

cost::layer_list padded(const cost::layer_list& list, const training_input& t, std::string_view file) {
  cost::layer_list out = list;
  if (t.padded_vocabulary != 0) out.sizes.vocabulary = t.padded_vocabulary;
  if (out.sizes.vocabulary < list.sizes.vocabulary)
    fail(std::string(file) + ": \"padded_vocabulary\" is " + std::to_string(t.padded_vocabulary) +
         ", smaller than the model's vocabulary of " + std::to_string(list.sizes.vocabulary));
  if (t.predictions > 0) {
    add_predictions(out, t.predictions);
  }
  return out;
}

void add_predictions(cost::layer_list& list, std::int64_t modules) {
  cost::layer_blocks blocks = list.layers.back().blocks;
  for (cost::block& b : blocks)
    if (auto* const attention = std::get_if<cost::attention>(&b.what)) attention->window = 0;
  list.prediction_heads = modules;
  list.predictions = {{std::move(blocks), modules}};
}

bool has_experts(const cost::layer_list& list) {
  for (const cost::repeated_layer& each : list.layers)
    for (const cost::block& b : each.blocks)
      if (std::holds_alternative<cost::mixture>(b.what)) return true;
  return false;
}

cost::rational static_bytes_of_sets(const cost::layer_list& list, const cost::training& t, const cost::parallel& p,
                                    std::string_view file) {
  const auto sum = value_or_fail(cost::detail::sum_parameters(list, cost::detail::shared_sets(list), 1, p), file);
  return value_or_fail(cost::static_bytes(value_or_fail(cost::detail::rounded(sum), file), t, p), file);
}

cost::report make_report(const cost::layer_list& list, report_context& context, std::string_view file,
                         const list_stages& on) {
  if (!context.training) return value_or_fail(cost::make_report(list), file);
  const training_input& t = *context.training;
  const cost::layer_list whole = padded(list, t, file);
  if (t.step.muon && (!context.lists.whole.is_null() || !context.lists.select.is_null()))
    fail(context.lists.file + ": recompute lists by stage do not go with \"optimizer\": \"muon\"");
  if (!context.lists.whole.is_null() || !context.lists.select.is_null())
    fail(context.lists.file + ": recompute lists by stage are for models of equal layers only");
  const cost::report published = value_or_fail(cost::make_report(list), file);
  cost::report r = value_or_fail(
      cost::make_report(whole, t.step, context.parallel, t.counted, context.replay, on.sizes, on.passes), file);
  if (t.on) {
    need_rates(*t.on, has_experts(whole), context.parallel, file);
    context.step = value_or_fail(cost::predict_step(whole, t.step, context.parallel, t.on->rates,
                                                    {context.parallel.recompute, context.replay}, on.sizes),
                                 file);
  }
  std::erase_if(r.lines, [](const cost::report_line& line) { return line.group.starts_with("parameters"); });
  r.lines.insert(r.lines.begin(), published.lines.begin(), published.lines.end());
  r.parameters = published.parameters;
  return r;
}

std::vector<cost::convention> other_conventions(const cost::convention& own) {
  std::vector<cost::convention> out;
  for (const auto attention : {cost::attention_count::full, cost::attention_count::causal_half}) {
    cost::convention c = own;
    c.attention = attention;
    if (attention != own.attention) out.push_back(c);
  }
  return out;
}

std::vector<cost::flop_count> other_counts(const cost::layer_list& list, const report_context& context,
                                           std::string_view file) {
  std::vector<cost::flop_count> out;
  const training_input& t = *context.training;
  for (const cost::convention& c : other_conventions(t.counted))
    out.push_back(value_or_fail(cost::count_flops(list, t.step, context.parallel, c), file));
  return out;
}

}  // namespace hocket_cli
