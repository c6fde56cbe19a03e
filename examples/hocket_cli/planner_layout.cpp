// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `hocket planner layout`: what stands on which stage, as frameworks write it: read, checked, priced, or solved for.
#include <hocket/cost/model/list_time.hpp>
#include <hocket/cost/model/uniform_list.hpp>
#include <hocket/interop/hybrid_letters.hpp>
#include <hocket/interop/layout_forms.hpp>
#include <hocket/planner/plan/simulated_step.hpp>
#include <hocket/planner/split/layout_run.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>

#include "cost_fit.hpp"
#include "cost_input.hpp"
#include "json_fields.hpp"
#include "planner.hpp"

namespace hocket_cli {
namespace {

namespace cost = hocket::cost;
namespace interop = hocket::interop;
namespace planner = hocket::planner;

struct options {
  std::string layout, model, training, parallel, machine, format = "text", out;
  std::int64_t predictions = 0;
  memory_option memory;  ///< of a rank; not given: memory is not looked at
};

/// How the model is spread, with the operations that every layer computes again beside the level.
struct spread : cost::parallel {
  cost::replay_set replay;
};

/// Seconds of one micro-batch, both passes, of what stages have; the hop between two ranks.
struct prices {
  std::vector<double> layers;
  double loss = 0, predictions = 0, hop = 0;
  double forward = 0;  ///< of all layers
};
prices prices_of(const cost::layer_list& list, const training_input& t, const spread& p, const std::string& file) {
  const cost::machine& rates = t.on->rates;
  const cost::recompute_choice how{p.recompute, p.replay};
  prices out;
  const auto seconds = [&](const cost::layer_blocks& blocks) {
    return value_or_fail(cost::time_of_layer(list, blocks, t.step, p, rates, how), file).total().count();
  };
  const auto head = [&](const cost::layer_list& some) {
    return value_or_fail(cost::time_of_head(some, t.step, p, rates), file).total().count();
  };
  for (const cost::repeated_layer& each : list.layers) {
    const auto time = value_or_fail(cost::time_of_layer(list, each.blocks, t.step, p, rates, how), file);
    out.layers.insert(out.layers.end(), static_cast<std::size_t>(each.count), time.total().count());
    out.forward += static_cast<double>(each.count) * planner::passes_of(1, time).forward.count();
  }
  cost::layer_list alone = list;
  alone.sizes.prediction_heads = 0;
  out.loss = head(alone);
  out.predictions = head(list) - out.loss;
  for (const cost::repeated_layer& each : list.predictions)
    out.predictions += static_cast<double>(each.count) * seconds(each.blocks);
  if (!list.front.empty()) out.layers.front() += seconds(list.front);
  if (!list.back.empty()) out.loss += seconds(list.back);
  if (p.pp > 1) out.hop = cost::time_of_hop(list, t.step, p, rates).count();
  return out;
}

/// What ranks have room for, and what layers weigh, by 1F1B. Every rank keeps room for the moments of the largest
/// layer, and for every set of weights that several layers share.
void set_memory(planner::layout_problem& problem, const cost::layer_list& list, const training_input& t,
                const spread& p, const cost::device_memory& on, const std::string& file) {
  const auto up = [](const cost::rational& x) { return hocket::bytes(static_cast<std::int64_t>(x.ceiling().num())); };
  const cost::recompute_choice how{p.recompute, p.replay};
  const cost::rational of_sets = value_or_fail(cost::static_bytes(list, cost::shared_weights(list), t.step, p), file);
  const auto weight = [&](const cost::layer_blocks& blocks) -> planner::layout_bytes {
    const cost::layer_blocks own = cost::own_of_layer(list, blocks);
    return {up(value_or_fail(cost::static_bytes(list, own, t.step, p), file)),
            up(value_or_fail(cost::layer_activation_bytes(list, blocks, t.step, p, p.replay), file))};
  };
  for (const cost::repeated_layer& each : list.layers)
    problem.layer_bytes.insert(problem.layer_bytes.end(), static_cast<std::size_t>(each.count), weight(each.blocks));
  for (const cost::repeated_layer& each : list.predictions) {
    const planner::layout_bytes one = weight(each.blocks);
    problem.prediction_bytes.states += each.count * one.states;
    problem.prediction_bytes.kept += each.count * one.kept;
  }
  for (std::int64_t rank = 0; rank < p.pp; ++rank) {
    const cost::held_share held = value_or_fail(cost::held_share_by_1f1b(t.step, p, rank), file);
    cost::rank_layers stage;
    stage.ends = {.first = rank == 0, .last = rank + 1 == p.pp, .rank = rank};
    const auto memory = [&](const cost::rational& passes) {
      return value_or_fail(cost::memory_of_rank(list, stage, t.step, p, {passes, held.embedding_passes}), file).peak;
    };
    if (stage.ends.first && !list.front.empty()) stage.layers.push_back({list.front, 1, how});
    if (stage.ends.last && !list.back.empty()) stage.layers.push_back({list.back, 1, how});
    const cost::memory_peak own = memory(held.layers);
    for (const auto* runs : {&list.layers, &list.predictions})
      for (const cost::repeated_layer& each : *runs) stage.layers.push_back({each.blocks, 1, how});
    cost::memory_peak fixed = memory(0);  // with the moments of all layers
    fixed.static_bytes = own.static_bytes + of_sets;
    fixed.kept_bytes = own.kept_bytes;
    problem.rooms.push_back(
        {on.usable(), up(fixed.total_bytes()), static_cast<std::int64_t>(held.layers.ceiling().num())});
  }
}

hocket::ticks nanoseconds(double seconds) { return static_cast<hocket::ticks>(std::llround(seconds * 1e9)); }

/// Which layout is best, as planner has the question.
planner::layout_problem problem_of(const prices& x, const cost::layer_list& list, const training_input& t,
                                   const spread& p, const std::optional<cost::device_memory>& on,
                                   const std::string& file) {
  planner::layout_problem problem{.layers = {},
                                  .loss = nanoseconds(x.loss),
                                  .predictions = nanoseconds(x.predictions),
                                  .prediction_count = list.sizes.prediction_heads,
                                  .ranks = p.pp,
                                  .chunks = p.vp};
  for (const double one : x.layers) problem.layers.push_back(nanoseconds(one));
  if (on) set_memory(problem, list, t, p, *on, file);
  return problem;
}
[[noreturn]] void fail_no_layout(const planner::layout_problem& problem, const hocket::error& why,
                                 const std::optional<cost::device_memory>& on, const std::string& file) {
  if (why.code != hocket::errc::does_not_fit) fail(file, why);
  const hocket::bytes least = value_or_fail(planner::least_capacity(problem), file) + on->reserve;
  const auto gib = [](hocket::bytes size) { return static_cast<double>(size.count()) / bytes_per_gib; };
  fail(file + ": no layout fits into " + fixed(gib(on->capacity), 3) + " GiB a rank by 1F1B, " +
       fixed(gib(on->reserve), 3) + " of them in reserve: the least that one needs is " +
       fixed(std::ceil(gib(least) * 1e3) / 1e3, 3) + " GiB");
}

/// The schedule that runs a layout: 1F1B, with several chunks interleaved. Nothing where it is too long to try layouts
/// on, or where there are too few micro-batches for any.
std::optional<hocket::pipeline::interleaved> schedule_of(const training_input& t, const spread& p) {
  constexpr std::int64_t most_passes = std::int64_t{1} << 20;
  const std::int64_t micro_batches = planner::micro_batches_of(t.step, p);
  const auto usual = planner::usual_schedule(p, micro_batches);
  if (!usual || micro_batches > most_passes / (2 * p.pp * p.vp)) return std::nullopt;
  return *usual;
}
planner::layout_run run_of(const prices& x) {
  constexpr std::int64_t parts = 4096;
  const double all = std::accumulate(x.layers.begin(), x.layers.end(), 0.0);
  const std::int64_t forward = all > 0 ? std::llround((std::min)(x.forward / all, 0.5) * parts) : parts / 3;
  return {.hop = nanoseconds(x.hop), .forward_parts = forward, .whole_parts = parts};
}

/// A layout, and what of its step is known.
struct chosen_layout {
  planner::model_layout layout;
  std::optional<hocket::ticks> step, bound;  ///< nanoseconds of all micro-batches; the bound of a layout that is found
};
chosen_layout solved(const planner::layout_problem& problem, const planner::layout_run& how,
                     const std::optional<hocket::pipeline::interleaved>& schedule,
                     const std::optional<cost::device_memory>& on, const std::string& file) {
  if (!schedule) {
    auto fastest = planner::solve(problem);
    if (!fastest) fail_no_layout(problem, fastest.error(), on, file);
    return {std::move(fastest->layout), {}, {}};
  }
  auto shortest = planner::solve(problem, *schedule, how);
  if (!shortest) fail_no_layout(problem, shortest.error(), on, file);
  return {std::move(shortest->layout), shortest->makespan, shortest->lower_bound};
}
/// What one stage takes for a micro-batch, both passes: the sum of what `unit` makes of the seconds of each part.
template <class Unit>
auto times_of_stages(const planner::model_layout& layout, const prices& x, const Unit& unit) {
  std::vector<decltype(unit(x.loss))> times;
  auto next = x.layers.begin();
  for (const planner::layout_stage& stage : layout.stages) {
    const auto end = next + static_cast<std::ptrdiff_t>(stage.layers);
    auto sum = unit(stage.loss ? x.loss : 0) + unit(stage.predictions > 0 ? x.predictions : 0);
    for (; next != end; ++next) sum += unit(*next);
    times.push_back(sum);
  }
  return times;
}
/// The step of a layout that is given, in the nanoseconds in which one is searched for.
hocket::ticks step_of(const planner::model_layout& layout, const prices& x,
                      const hocket::pipeline::interleaved& schedule, const std::string& file) {
  return value_or_fail(planner::makespan_of(schedule, times_of_stages(layout, x, nanoseconds), run_of(x)), file);
}
/// What is known of the step, for the summary line.
std::string step_summary(const chosen_layout& x) {
  std::string out;
  const auto us = [](hocket::ticks t) { return fixed(static_cast<double>(t) / 1e3, 3); };
  if (x.step) out += " makespan_us=" + us(*x.step);
  if (x.bound) out += " lower_bound_us=" + us(*x.bound) + " proved=" + (x.step == x.bound ? "yes" : "no");
  return out;
}

/// What a rank has of the layers, in model order.
std::vector<cost::rank_layers> ranks_of(const cost::layer_list& list, const planner::model_layout& layout,
                                        const spread& p, const std::string& file) {
  std::vector<std::int64_t> sizes;
  for (const planner::layout_stage& s : layout.stages) sizes.push_back(s.layers);
  cost::layer_list without = list;
  without.predictions.clear();
  auto ranks = value_or_fail(cost::layers_of_ranks(without, p, sizes, p.replay), file);
  for (std::size_t s = 0; s < layout.stages.size(); ++s)
    if (layout.stages[s].predictions > 0) {
      for (const cost::repeated_layer& each : list.predictions)
        ranks[s % ranks.size()].layers.push_back(
            {each.blocks, each.count, {p.recompute, p.replay}, cost::run_place::prediction});
    }
  return ranks;
}

/// Bytes of each rank at its peak by 1F1B.
std::vector<double> peaks_of(const cost::layer_list& list, const planner::model_layout& layout, const training_input& t,
                             const spread& p, const std::string& file) {
  std::vector<double> bytes;
  for (const cost::rank_layers& on : ranks_of(list, layout, p, file)) {
    const auto held = value_or_fail(cost::held_share_by_1f1b(t.step, p, on.ends.rank), file);
    const auto memory = value_or_fail(cost::memory_of_rank(list, on, t.step, p, held), file);
    bytes.push_back(memory.peak.total_bytes().ceiling().real());
  }
  return bytes;
}

/// The letters of all layers. Ends the command at a layer that has none.
std::string letters_of(const cost::layer_list& list) {
  const auto letters = interop::letters_of(list);
  if (!letters)
    fail("layout: layer " + std::to_string(letters.error().values[0]) +
         " has no letters in hybrid patterns, which are for Mamba, gated delta nets, attention, FFNs and experts, "
         "each after a norm of its own");
  return *letters;
}
/// The letters of a prediction module; empty if there is none.
std::string letters_of_modules(const cost::layer_list& list) {
  std::string out;
  if (list.predictions.empty()) return out;
  for (const char letter : interop::letters_of(list.predictions.front().blocks))
    if (letter != '?') out += letter;
  return out;
}
/// Megatron-LM's hybrid pattern, which must be the model's; its modules become those of a model that has none.
planner::model_layout read_hybrid(const std::string& text, cost::layer_list& list) {
  const interop::hybrid_pattern pattern = value_or_fail(interop::read_hybrid_pattern(text), "layout");
  const std::string own = letters_of(list);
  for (std::size_t at = 0; at < std::min(own.size(), pattern.kinds.size()); ++at)
    if (own[at] != pattern.kinds[at])
      fail("layout: layer " + std::to_string(at) + " is " + pattern.kinds[at] + ", but the model has " + own[at]);
  const std::int64_t modules = pattern.layout.prediction_count();
  if (modules == 0) return pattern.layout;
  if (list.sizes.prediction_heads > 0) {
    if (const std::string has = letters_of_modules(list); has != pattern.prediction)
      fail("layout: prediction modules have layers " + pattern.prediction +
           ", but those of --predictions and of the "
           "training file have " +
           has);
    return pattern.layout;
  }
  cost::layer_blocks blocks;
  for (const char letter : pattern.prediction) {
    const auto same = std::find_if(list.layers.begin(), list.layers.end(), [&](const cost::repeated_layer& x) {
      return interop::letters_of(x.blocks) == std::string(1, letter);
    });
    if (same == list.layers.end())
      fail("layout: prediction modules have layers " + std::string(1, letter) + ", but the model has none");
    blocks.insert(blocks.end(), same->blocks.begin(), same->blocks.end());
  }
  list.sizes.prediction_heads = modules;
  list.predictions = {{blocks, modules}};
  return pattern.layout;
}
/// A layout in layers of the model as one in the sub-layers of hybrid patterns.
planner::model_layout in_sub_layers(planner::model_layout layout, const cost::layer_list& whole) {
  std::vector<std::int64_t> parts;  // of each layer
  for (const cost::repeated_layer& each : whole.layers)
    parts.insert(parts.end(), static_cast<std::size_t>(each.count),
                 static_cast<std::int64_t>(interop::sub_layers_of(each.blocks).size()));
  auto next = parts.begin();
  for (planner::layout_stage& stage : layout.stages) {
    const auto end = next + static_cast<std::ptrdiff_t>(std::min<std::int64_t>(stage.layers, parts.end() - next));
    stage.layers = std::accumulate(next, end, std::int64_t{0}) + (stage.layers - (end - next));
    next = end;
  }
  return layout;
}
/// Megatron-LM's hybrid pattern of a layout.
std::string as_hybrid(const planner::model_layout& layout, const cost::layer_list& list) {
  const interop::hybrid_pattern out{layout, letters_of(list), letters_of_modules(list)};
  return value_or_fail(interop::write_hybrid_pattern(out), "layout");
}

/// The layout as Megatron-LM takes it: its layout string, whose prediction modules have layers like the last one
/// (--predictions). What others have, only the hybrid pattern says that named them.
bool has_own_modules(const cost::layer_list& list) {
  if (list.predictions.empty()) return false;
  cost::layer_list usual = list;
  add_predictions(usual, list.sizes.prediction_heads);
  return list.predictions.front().blocks != usual.predictions.front().blocks;
}
std::string pasted(const planner::model_layout& layout, const cost::layer_list& list) {
  return has_own_modules(list) ? as_hybrid(layout, list) : interop::write_megatron_layout(layout);
}

std::string as_text(const planner::model_layout& layout, const cost::layer_list& list,
                    const std::vector<double>& seconds, const std::vector<double>& bytes) {
  const std::size_t ranks = bytes.size();
  std::string out = "layout " + pasted(layout, list) + "\n\n  stage   rank  chunk  layers          ms\n";
  char line[160];
  for (std::size_t s = 0; s < layout.stages.size(); ++s) {
    const planner::layout_stage& stage = layout.stages[s];
    std::snprintf(line, sizeof line, "%7zu%7zu%7zu%8lld%12.3f%s%s%s%s\n", s, s % ranks, s / ranks,
                  static_cast<long long>(stage.layers), seconds[s] * 1e3, stage.embedding ? "  embedding" : "",
                  stage.predictions > 0 ? "  prediction" : "", stage.loss ? "  loss" : "",
                  stage.is_empty() ? "  empty" : "");
    out += line;
  }
  out += layout.stages.size() > ranks ? "\n   rank  GiB at the peak, by interleaved 1F1B\n"
                                      : "\n   rank  GiB at the peak, by 1F1B\n";
  for (std::size_t r = 0; r < ranks; ++r) {
    std::snprintf(line, sizeof line, "%7zu%18.2f\n", r, bytes[r] / bytes_per_gib);
    out += line;
  }
  return out;
}

std::string as_json(const planner::model_layout& layout, const cost::layer_list& list,
                    const std::vector<double>& seconds, const std::vector<double>& bytes) {
  const std::size_t ranks = bytes.size();
  nlohmann::ordered_json out{{"version", 1}, {"layout", pasted(layout, list)}};
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

std::string written(const planner::model_layout& layout, const cost::layer_list& list,
                    const std::vector<double>& seconds, const std::vector<double>& bytes, const std::string& format) {
  if (format == "text") return as_text(layout, list, seconds, bytes);
  if (format == "json") return as_json(layout, list, seconds, bytes);
  if (format == "megatron" && has_own_modules(list))
    fail(
        "layout: Megatron-LM's layout string cannot say that prediction modules have other layers than the last one: "
        "--format hybrid does");
  if (format == "megatron") return interop::write_megatron_layout(layout) + "\n";
  if (format == "hybrid") return as_hybrid(layout, list) + "\n";
  if (format == "mindformers") return as_offsets(layout, bytes.size(), "layout");
  if (format == "bridge") return nlohmann::json(interop::write_bridge_layout(layout)).dump() + "\n";
  return nlohmann::json(value_or_fail(interop::write_modules(layout), "layout")).dump() + "\n";
}

void layout(const options& o) {
  const model_input model = read_model(read_json_file(o.model), o.model);
  const training_input t = read_training(with_machine(read_json_file(o.training), o.machine), model.layers, o.training);
  if (!t.on) fail(o.training + ": \"machine\" must say how fast the devices are");
  spread p;
  static_cast<cost::parallel&>(p) = read_parallel(read_json_file(o.parallel), o.parallel, "", &p.replay);
  cost::layer_list list = padded(model.layers, t, o.training);
  if (o.predictions > 0 && t.predictions > 0 && o.predictions != t.predictions)
    fail("--predictions is " + std::to_string(o.predictions) + ", but " + o.training + " has " +
         std::to_string(t.predictions));
  if (o.predictions > 0) add_predictions(list, o.predictions);
  const cost::layer_list whole = list;
  const bool by_letter = interop::is_hybrid_pattern(o.layout) || form(o.format) == "hybrid";
  if (by_letter) list = interop::by_sub_layer(list);
  if (const auto fits = cost::check(list, t.step, p); !fits) fail(o.parallel, fits.error());
  need_rates(*t.on, has_experts(list), p, o.parallel);
  std::optional<planner::model_layout> given;
  if (interop::is_hybrid_pattern(o.layout)) given = read_hybrid(o.layout, list);
  const prices x = prices_of(list, t, p, o.training);
  std::optional<cost::device_memory> memory;
  if (o.memory.given()) memory = o.memory.memory();
  if (!given && !o.layout.empty()) {
    given = value_or_fail(interop::read_layout(o.layout, whole.layer_count()), "layout");
    if (const auto ok = planner::check(*given, p.pp, whole.layer_count(), list.sizes.prediction_heads);
        !ok && by_letter)
      fail("layout", ok.error());
    if (by_letter) given = in_sub_layers(*std::move(given), whole);
  }
  const auto schedule = schedule_of(t, p);
  chosen_layout chosen;
  if (given) chosen.layout = *given;
  else chosen = solved(problem_of(x, list, t, p, memory, o.parallel), run_of(x), schedule, memory, o.parallel);
  const planner::model_layout& found = chosen.layout;
  if (const std::int64_t has = found.prediction_count(); has != list.sizes.prediction_heads)
    fail("layout: has " + std::to_string(has) + " prediction modules, but the model has " +
         std::to_string(list.sizes.prediction_heads) + ": --predictions says how many");
  if (const auto ok = planner::check(found, p.pp, list.layer_count(), list.sizes.prediction_heads); !ok)
    fail("layout", ok.error());
  if (const auto stages = static_cast<std::int64_t>(found.stages.size()); stages != p.pp * p.vp)
    fail("layout: has " + std::to_string(stages) + " stages, but pp x vp of " + o.parallel + " is " +
         std::to_string(p.pp * p.vp));
  const std::vector<double> bytes = peaks_of(list, found, t, p, o.parallel);
  for (std::size_t r = 0; memory && r < bytes.size(); ++r)
    if (!memory->fits(hocket::bytes(static_cast<std::int64_t>(bytes[r]))))
      fail(o.parallel + ": with this layout rank " + std::to_string(r) + " needs " +
           fixed(std::ceil(bytes[r] / bytes_per_gib * 1e3) / 1e3, 3) + " GiB, and --memory-gib is " +
           fixed(o.memory.gib, 3) + ", " + fixed(o.memory.reserve_gib, 3) + " of them in reserve");
  const std::vector<double> seconds = times_of_stages(found, x, [](double one) { return one; });
  if (schedule && !chosen.step) chosen.step = step_of(found, x, *schedule, o.parallel);
  const double all = std::accumulate(seconds.begin(), seconds.end(), 0.0);
  give(o.out, written(found, list, seconds, bytes, form(o.format)),
       "stages=" + std::to_string(seconds.size()) +
           " slowest_stage_us=" + fixed(*std::max_element(seconds.begin(), seconds.end()) * 1e6, 3) +
           " mean_stage_us=" + fixed(all * 1e6 / static_cast<double>(seconds.size()), 3) +
           " peak_bytes_per_rank=" + fixed(*std::max_element(bytes.begin(), bytes.end()), 0) + step_summary(chosen));
}

}  // namespace

void add_planner_layout(CLI::App& planner_command) {
  auto o = std::make_shared<options>();
  CLI::App* c = planner_command.add_subcommand(
      "layout",
      "What stands on which pipeline stage: Megatron, MindFormers or torchtitan's form, priced or solved for");
  c->add_option("layout", o->layout,
                "Et*3|(tt|)*29,m|L, a hybrid pattern M-M-|M-M*-/MM/MM, or MindFormers' offset, torchtitan's "
                "module_fqns_per_model_part or Megatron-Bridge's list of words, as YAML or JSON with or "
                "without its name; without a layout the one "
                "whose step by 1F1B, with several chunks interleaved, is shortest is found")
      ->type_name("LAYOUT");
  c->add_option("--model", o->model, "Hugging Face config.json, as published")->required()->type_name("FILE");
  c->add_option("--training", o->training, "Training JSON with a machine")->required()->type_name("FILE");
  c->add_option("--parallel", o->parallel, "Parallel JSON: tp, pp, vp, …")->required()->type_name("FILE");
  add_machine(*c, o->machine);
  c->add_option("--predictions", o->predictions,
                "Multi-token-prediction modules, each with a layer as the last one (0)")
      ->type_name("N")
      ->check(CLI::Range(0, 64));
  add_memory(*c, o->memory, "Memory of a device: only layouts that fit by 1F1B, with one chunk a rank (not looked at)");
  c->add_option("--format", o->format,
                "text (the default), json, megatron, hybrid (letters of layers), mindformers, torchtitan or bridge "
                "(lists of words)")
      ->check(CLI::IsMember({"text", "json", "megatron", "hybrid", "mindformers", "torchtitan", "bridge"}));
  add_out(*c, o->out);
  c->callback([o] { layout(*o); });
}

}  // namespace hocket_cli
