// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `hocket planner layout`: what stands on which stage, as frameworks write it: read, checked, priced, or solved for.
#include <hocket/cost/model/list_time.hpp>
#include <hocket/cost/model/uniform_list.hpp>
#include <hocket/interop/layout_forms.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>

#include "cost_layers.hpp"
#include "fixed.hpp"
#include "json_fields.hpp"
#include "planner.hpp"

namespace hocket_cli {
namespace {

namespace cost = hocket::cost;
namespace interop = hocket::interop;
namespace planner = hocket::planner;

struct options {
  std::string layout, model, training, parallel, format = "text", out;
  std::int64_t predictions = 0;
};

/// Seconds of one micro-batch, both passes, of what stages have.
struct prices {
  std::vector<double> layers;
  double loss = 0, predictions = 0;
};
prices prices_of(const cost::layer_list& list, const training_input& t, const cost::parallel& p,
                 const std::string& file) {
  const cost::machine& rates = t.on->rates;
  const cost::recompute_choice how{p.recompute, {}};
  const auto seconds = [&](const cost::layer_blocks& blocks) {
    return value_or_fail(cost::time_of_layer(list, blocks, t.step, p, rates, how), file).total().count();
  };
  const auto head = [&](const cost::layer_list& some) {
    return value_or_fail(cost::time_of_head(some, t.step, p, rates), file).total().count();
  };
  prices out;
  for (const cost::repeated_layer& each : list.layers)
    out.layers.insert(out.layers.end(), static_cast<std::size_t>(each.count), seconds(each.blocks));
  cost::layer_list alone = list;
  alone.prediction_heads = 0;
  out.loss = head(alone);
  out.predictions = head(list) - out.loss;
  for (const cost::repeated_layer& each : list.predictions)
    out.predictions += static_cast<double>(each.count) * seconds(each.blocks);
  if (!list.front.empty()) out.layers.front() += seconds(list.front);
  if (!list.back.empty()) out.loss += seconds(list.back);
  return out;
}

planner::model_layout solved(const prices& x, const cost::layer_list& list, const cost::parallel& p,
                             const std::string& file) {
  const auto ticks = [](double seconds) { return static_cast<hocket::ticks>(std::llround(seconds * 1e9)); };
  planner::layout_problem problem{.layers = {},
                                  .loss = ticks(x.loss),
                                  .predictions = ticks(x.predictions),
                                  .prediction_count = list.prediction_heads,
                                  .ranks = p.pp,
                                  .chunks = p.vp};
  for (const double one : x.layers) problem.layers.push_back(ticks(one));
  return value_or_fail(planner::solve(problem), file).layout;
}

/// What a rank has of the layers, in model order.
std::vector<cost::rank_layers> ranks_of(const cost::layer_list& list, const planner::model_layout& layout,
                                        const cost::parallel& p, const std::string& file) {
  std::vector<std::int64_t> sizes;
  for (const planner::layout_stage& s : layout.stages) sizes.push_back(s.layers);
  cost::layer_list without = list;
  without.predictions.clear();
  auto ranks = value_or_fail(cost::layers_of_ranks(without, p, sizes), file);
  for (std::size_t s = 0; s < layout.stages.size(); ++s)
    if (layout.stages[s].predictions > 0) {
      auto& on = ranks[s % ranks.size()].layers;
      on.insert(on.end(), list.predictions.begin(), list.predictions.end());
    }
  return ranks;
}

/// Bytes of each rank at its peak by 1F1B.
std::vector<double> peaks_of(const cost::layer_list& list, const planner::model_layout& layout, const training_input& t,
                             const cost::parallel& p, const std::string& file) {
  std::vector<double> bytes;
  for (const cost::rank_layers& on : ranks_of(list, layout, p, file)) {
    const auto held = value_or_fail(cost::held_share_by_1f1b(t.step, p, on.ends.rank), file);
    const auto memory = value_or_fail(cost::memory_of_rank(list, on, t.step, p, held), file);
    bytes.push_back(memory.peak.total_bytes().ceiling().real());
  }
  return bytes;
}

/// What one stage takes for a micro-batch, both passes.
std::vector<double> seconds_of_stages(const planner::model_layout& layout, const prices& x) {
  std::vector<double> seconds;
  auto next = x.layers.begin();
  for (const planner::layout_stage& stage : layout.stages) {
    const auto end = next + static_cast<std::ptrdiff_t>(stage.layers);
    const double ends = (stage.loss ? x.loss : 0) + (stage.predictions > 0 ? x.predictions : 0);
    seconds.push_back(std::accumulate(next, end, ends));
    next = end;
  }
  return seconds;
}

std::string as_text(const planner::model_layout& layout, const std::vector<double>& seconds,
                    const std::vector<double>& bytes) {
  const std::size_t ranks = bytes.size();
  std::string out =
      "layout " + interop::write_megatron_layout(layout) + "\n\n  stage   rank  chunk  layers          ms\n";
  char line[160];
  for (std::size_t s = 0; s < layout.stages.size(); ++s) {
    const planner::layout_stage& stage = layout.stages[s];
    std::snprintf(line, sizeof line, "%7zu%7zu%7zu%8lld%12.3f%s%s%s%s\n", s, s % ranks, s / ranks,
                  static_cast<long long>(stage.layers), seconds[s] * 1e3, stage.embedding ? "  embedding" : "",
                  stage.predictions > 0 ? "  prediction" : "", stage.loss ? "  loss" : "",
                  stage.is_empty() ? "  empty" : "");
    out += line;
  }
  out += "\n   rank  GiB at the peak, by 1F1B\n";
  for (std::size_t r = 0; r < ranks; ++r) {
    std::snprintf(line, sizeof line, "%7zu%18.2f\n", r, bytes[r] / 1073741824.0);
    out += line;
  }
  return out;
}

std::string as_json(const planner::model_layout& layout, const std::vector<double>& seconds,
                    const std::vector<double>& bytes) {
  const std::size_t ranks = bytes.size();
  nlohmann::ordered_json out{{"version", 1}, {"layout", interop::write_megatron_layout(layout)}};
  for (std::size_t s = 0; s < layout.stages.size(); ++s) {
    const planner::layout_stage& stage = layout.stages[s];
    out["stages"].push_back({{"stage", s},
                             {"rank", s % ranks},
                             {"chunk", s / ranks},
                             {"layers", stage.layers},
                             {"embedding", stage.embedding},
                             {"predictions", stage.predictions},
                             {"loss", stage.loss},
                             {"time_us", std::round(seconds[s] * 1e9) / 1e3}});
  }
  for (std::size_t r = 0; r < ranks; ++r)
    out["ranks"].push_back({{"rank", r}, {"peak_bytes", static_cast<std::int64_t>(bytes[r])}});
  return out.dump(1) + "\n";
}

std::string as_offsets(const planner::model_layout& layout, std::size_t ranks, const std::string& file) {
  const auto offsets = value_or_fail(interop::write_offsets(layout), file);
  const bool chunks = offsets.size() > ranks;
  std::string out = chunks ? "offset: [[" : "offset: [";
  for (std::size_t s = 0; s < offsets.size(); ++s) {
    if (s > 0) out += s % ranks == 0 ? "], [" : ", ";
    out += std::to_string(offsets[s]);
  }
  return out + (chunks ? "]]\n" : "]\n");
}

std::string written(const planner::model_layout& layout, const std::vector<double>& seconds,
                    const std::vector<double>& bytes, const std::string& format) {
  if (format == "text") return as_text(layout, seconds, bytes);
  if (format == "json") return as_json(layout, seconds, bytes);
  if (format == "megatron") return interop::write_megatron_layout(layout) + "\n";
  if (format == "mindformers") return as_offsets(layout, bytes.size(), "layout");
  return nlohmann::json(value_or_fail(interop::write_modules(layout), "layout")).dump() + "\n";
}

/// The list in MindFormers' or torchtitan's form: alone, or under its name as YAML or JSON; nothing otherwise.
std::optional<nlohmann::json> list_of(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n", names[] = {"offset", "module_fqns_per_model_part"};
  const auto begin = (std::min)(text.find_first_not_of(blanks), text.size());
  text = text.substr(begin, text.find_last_not_of(blanks) + 1 - begin);
  for (const std::string_view name : names)
    if (text.starts_with(name) && text.substr(name.size()).starts_with(':')) {
      text.remove_prefix((std::min)(text.find_first_not_of(blanks, name.size() + 1), text.size()));
      return parse_json(std::string(text), "layout");
    }
  if (!text.starts_with('[') && !text.starts_with('{')) return std::nullopt;
  nlohmann::json value = parse_json(std::string(text), "layout");
  if (value.is_object()) {
    for (const std::string_view name : names)
      if (value.size() == 1 && value.contains(name)) return nlohmann::json(value.at(name));
    fail("layout: " + shown(value) + " must have \"offset\" or \"module_fqns_per_model_part\", and nothing else");
  }
  return value;
}

/// Megatron-LM's string, or the two lists.
planner::model_layout read_layout(const std::string& text, std::int64_t layers) {
  const auto listed = list_of(text);
  if (!listed) return value_or_fail(interop::read_megatron_layout(text), "layout");
  const nlohmann::json& value = *listed;
  if (!value.is_array()) fail("layout: " + shown(value) + " must be a list");
  std::vector<std::int64_t> offsets;
  std::vector<std::vector<std::string>> modules;
  const auto add = [&](const nlohmann::json& x) {
    const auto n = whole(x);
    if (!n) fail("layout: " + shown(x) + " must be a whole number, or all lists must be of names of modules");
    offsets.push_back(*n);
  };
  for (const nlohmann::json& row : value) {
    if (!row.is_array()) {
      add(row);
      continue;
    }
    const bool names = std::all_of(row.begin(), row.end(), [](const nlohmann::json& x) { return x.is_string(); });
    if (names) modules.push_back(row.get<std::vector<std::string>>());
    else
      for (const nlohmann::json& x : row) add(x);
  }
  if (!offsets.empty() && !modules.empty()) fail("layout: offsets and names of modules do not mix");
  if (!modules.empty()) return value_or_fail(interop::read_modules(modules), "layout");
  return value_or_fail(interop::read_offsets(offsets, layers), "layout");
}

void layout(const options& o) {
  const model_input model = read_any_config(read_json_file(o.model), o.model);
  const training_input t = read_training(read_json_file(o.training), model.numbers.model, o.training);
  if (!t.on) fail(o.training + ": \"machine\" must say how fast the devices are");
  const cost::parallel p = read_parallel(read_json_file(o.parallel), o.parallel);
  cost::layer_list list = padded(model.layers ? *model.layers : cost::to_layers(model.numbers.model), t, o.training);
  if (o.predictions > 0) {
    list.prediction_heads = o.predictions;
    list.predictions = {{list.layers.back().blocks, o.predictions}};
  }
  if (const auto fits = cost::check(list, t.step, p); !fits) fail(o.parallel, fits.error());
  need_rates(*t.on, has_experts(list), p, o.parallel);
  const prices x = prices_of(list, t, p, o.training);
  const planner::model_layout found =
      o.layout.empty() ? solved(x, list, p, o.parallel) : read_layout(o.layout, list.layer_count());
  if (const std::int64_t has = found.prediction_count(); has != list.prediction_heads)
    fail("layout: has " + std::to_string(has) + " prediction modules, but the model has " +
         std::to_string(list.prediction_heads) + ": --predictions says how many");
  if (const auto ok = planner::check(found, p.pp, list.layer_count(), list.prediction_heads); !ok)
    fail("layout", ok.error());
  if (const auto stages = static_cast<std::int64_t>(found.stages.size()); stages != p.pp * p.vp)
    fail("layout: has " + std::to_string(stages) + " stages, but pp x vp of " + o.parallel + " is " +
         std::to_string(p.pp * p.vp));
  const std::vector<double> bytes = peaks_of(list, found, t, p, o.parallel);
  const std::vector<double> seconds = seconds_of_stages(found, x);
  const double all = std::accumulate(seconds.begin(), seconds.end(), 0.0);
  give(o.out, written(found, seconds, bytes, form(o.format)),
       "stages=" + std::to_string(seconds.size()) +
           " slowest_stage_us=" + fixed(*std::max_element(seconds.begin(), seconds.end()) * 1e6, 3) +
           " mean_stage_us=" + fixed(all * 1e6 / static_cast<double>(seconds.size()), 3) +
           " peak_bytes_per_rank=" + fixed(*std::max_element(bytes.begin(), bytes.end()), 0));
}

}  // namespace

void add_planner_layout(CLI::App& planner_command) {
  auto o = std::make_shared<options>();
  CLI::App* c = planner_command.add_subcommand(
      "layout",
      "What stands on which pipeline stage: Megatron, MindFormers or torchtitan's form, priced or solved for");
  c->add_option(
       "layout", o->layout,
       "Et*3|(tt|)*29,m|L, or MindFormers' offset or torchtitan's module_fqns_per_model_part, as YAML or JSON with or "
       "without its name; without a layout the one "
       "with the fastest slowest stage is found")
      ->type_name("LAYOUT");
  c->add_option("--model", o->model, "Hugging Face config.json, as published")->required()->type_name("FILE");
  c->add_option("--training", o->training, "Training JSON with a machine")->required()->type_name("FILE");
  c->add_option("--parallel", o->parallel, "Parallel JSON: tp, pp, vp, …")->required()->type_name("FILE");
  c->add_option("--predictions", o->predictions,
                "Multi-token-prediction modules, each with a layer as the last one (0)")
      ->type_name("N")
      ->check(CLI::Range(0, 64));
  c->add_option("--format", o->format, "text (the default), json, megatron, mindformers or torchtitan")
      ->check(CLI::IsMember({"text", "json", "megatron", "mindformers", "torchtitan"}));
  add_out(*c, o->out);
  c->callback([o] { layout(*o); });
}

}  // namespace hocket_cli
