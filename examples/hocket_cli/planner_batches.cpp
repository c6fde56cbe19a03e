// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `hocket planner batches`: micro-batches that differ: who runs which, in which order, and which split and recompute
// choice bear it best.
#include <hocket/cost/model/micro_batch_lengths.hpp>
#include <hocket/pipeline/any_schedule.hpp>
#include <hocket/planner/micro_batches/prices.hpp>
#include <hocket/planner/micro_batches/robust.hpp>
#include <hocket/planner/split/layout.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>

#include "batch_lengths.hpp"
#include "cost_fit.hpp"
#include "cost_input.hpp"
#include "json_fields.hpp"
#include "planner.hpp"
#include "terminal.hpp"

namespace hocket_cli {
namespace {

namespace cost = hocket::cost;
namespace pipeline = hocket::pipeline;
namespace planner = hocket::planner;
using hocket::ticks;

struct options {
  std::string model, training, parallel, machine, schedule, format = "text", out;
  length_options lengths;
  memory_option memory;
};

/// All that the files say.
struct question {
  cost::layer_list list;
  training_input training;
  cost::parallel parallel;
  cost::replay_set replay;
  std::vector<micro_batch_documents> draws;
  std::optional<pipeline::any_schedule> schedule;
  std::vector<std::uint32_t> in_flight;
  std::int64_t steps = 1;
  bool keep_steps = false;
  std::int64_t capacity = 0;  ///< bytes that tensors may take; 0: not asked
  std::string file;           ///< that messages name

  [[nodiscard]] const cost::machine& rates() const { return training.on->rates; }
  /// What the file says is computed again, of every layer.
  [[nodiscard]] cost::recompute_choice how() const { return {parallel.recompute, replay}; }
};

/// A split with what is computed again, in words.
struct choice {
  std::string split, again;
  std::vector<cost::stage_choice> stages;
};

struct answer {
  planner::micro_batch_plan plan;        ///< of the first draw under the chosen stages
  ticks alike = 0;                       ///< the step if all micro-batches were of the mean length, all steps together
  double beside = 0;                     ///< seconds of a step beside the pipeline
  std::vector<std::int64_t> peak_bytes;  ///< of each rank, worst of all draws
  std::vector<choice> choices;
  planner::robust_plan scores;
  std::size_t chosen = 0;
  std::size_t draws = 0;  ///< compared; fewer than asked for after Ctrl-C
};

/// A division, since 1e-9 is no double: a product would show it in the last digit.
double seconds_of(double nanoseconds) { return nanoseconds / 1e9; }
double seconds_of(ticks t) { return seconds_of(static_cast<double>(t)); }

pipeline::any_schedule schedule_of(const options& o, const cost::parallel& p, std::int64_t micro_batches) {
  const std::string name = !o.schedule.empty() ? o.schedule : p.vp > 1 ? "interleaved" : "1f1b";
  auto made = pipeline::any_schedule::make(name, {p.pp, p.vp, micro_batches});
  if (!made) fail(o.parallel + ": schedule " + name + ": " + message(made.error()));
  return std::move(*made);
}

question read_question(const options& o) {
  question q;
  const model_input model = read_model(read_json_file(o.model), o.model);
  q.training = read_training(with_machine(read_json_file(o.training), o.machine), model.layers, o.training);
  if (!q.training.on) fail(o.training + ": \"machine\" must say how fast the devices are");
  q.parallel = read_parallel(read_json_file(o.parallel), o.parallel, "", &q.replay);
  q.list = padded(model.layers, q.training, o.training);
  q.file = o.parallel;
  const cost::training& t = q.training.step;
  if (const auto fits = cost::check(q.list, t, q.parallel); !fits) fail(o.parallel, fits.error());
  if (const auto even = cost::check_even_stages(q.list.layer_count(), q.parallel); !even)
    fail(o.parallel, even.error());
  need_rates(*q.training.on, has_experts(q.list), q.parallel, o.parallel);
  if (o.lengths.lengths.empty()) fail("--lengths must say how long the documents are");
  check_documents(q.training, o.training);
  const std::int64_t all = t.global_batch / t.micro_batch;
  q.steps = o.lengths.steps;
  q.keep_steps = o.lengths.keep_steps;
  q.draws = read_lengths(o.lengths, t.sequence * t.micro_batch, all * q.steps);
  q.schedule = schedule_of(o, q.parallel, all / q.parallel.dp);
  for (std::uint32_t r = 0; r < q.schedule->ranks(); ++r) q.in_flight.push_back(q.schedule->peak_in_flight(r));
  if (o.memory.given()) q.capacity = o.memory.memory().usable().count();
  return q;
}

cost::micro_batch_prices prices_of(const question& q, const std::vector<cost::stage_choice>& stages,
                                   const micro_batch_documents& batches) {
  return value_or_fail(cost::price_micro_batches(q.list, q.training.step, q.parallel, q.rates(), stages, batches),
                       q.file);
}
std::vector<std::int64_t> bytes_of(const question& q, const std::vector<cost::stage_choice>& stages,
                                   const micro_batch_documents& batches, const cost::micro_batch_prices& prices) {
  return value_or_fail(cost::peak_bytes(q.list, q.training.step, q.parallel, stages, batches, prices, q.in_flight),
                       q.file);
}
planner::micro_batch_plan planned(const question& q, const cost::micro_batch_prices& prices, std::int64_t actions) {
  const planner::micro_batch_problem problem{.times = value_or_fail(planner::times_of(prices), q.file),
                                             .pipelines = q.parallel.dp,
                                             .steps = q.steps,
                                             .keep_steps = q.keep_steps,
                                             .actions = actions};
  return q.schedule->visit([&](const auto& plan) { return value_or_fail(planner::solve(problem, plan), q.file); });
}

/// Bytes of each rank: the worst of these draws.
std::vector<std::int64_t> worst_bytes(const question& q, const std::vector<cost::stage_choice>& stages,
                                      std::span<const micro_batch_documents> draws) {
  std::vector<std::int64_t> worst(q.in_flight.size(), 0);
  for (const micro_batch_documents& draw : draws) {
    const auto bytes = bytes_of(q, stages, draw, prices_of(q, stages, draw));
    for (std::size_t r = 0; r < worst.size(); ++r) worst[r] = std::max(worst[r], bytes[r]);
  }
  return worst;
}

/// The least layers computed again whole on every rank with which it fits every draw: the same number on each stage of
/// a rank. What never fits has all.
void fit_whole_layers(const question& q, std::vector<cost::stage_choice>& stages) {
  const std::size_t ranks = q.in_flight.size();
  std::vector<std::int64_t> least(ranks, 0), enough(ranks, 0);
  for (std::size_t s = 0; s < stages.size(); ++s) enough[s % ranks] = std::max(enough[s % ranks], stages[s].layers);
  const auto set = [&](const std::vector<std::int64_t>& whole) {
    for (std::size_t s = 0; s < stages.size(); ++s) stages[s].whole = std::min(whole[s % ranks], stages[s].layers);
  };
  set(least);
  const auto without = worst_bytes(q, stages, q.draws);
  for (std::size_t r = 0; r < ranks; ++r)
    if (without[r] <= q.capacity) enough[r] = 0;
  while (least != enough) {
    std::vector<std::int64_t> middle(ranks);
    for (std::size_t r = 0; r < ranks; ++r) middle[r] = (least[r] + enough[r]) / 2;
    set(middle);
    const auto bytes = worst_bytes(q, stages, q.draws);
    for (std::size_t r = 0; r < ranks; ++r) {
      if (least[r] == enough[r]) continue;
      if (bytes[r] <= q.capacity) enough[r] = middle[r];
      else least[r] = middle[r] + 1;
    }
  }
  set(enough);
}

/// Layers of each stage whose slowest is fastest: for the mean of all micro-batches, or for the longest of each layer.
std::vector<std::int64_t> balanced(const question& q, bool for_the_longest) {
  question layer_by_layer = q;
  layer_by_layer.parallel.pp = q.list.layer_count();
  layer_by_layer.parallel.vp = 1;
  layer_by_layer.training.on->rates.pipeline_bytes = 1e30;  // no hops between layers of a stage
  const auto stages = cost::even_choices(q.list, layer_by_layer.parallel, q.how());
  std::vector<double> sums(stages.size(), 0);
  for (const micro_batch_documents& draw : q.draws) {
    const auto prices = prices_of(layer_by_layer, stages, draw);
    for (std::size_t s = 0; s < stages.size(); ++s)
      for (std::size_t j = 0; j < prices.count; ++j) {
        const double one = (prices.at(s, j).forward + prices.at(s, j).backward).count();
        sums[s] = for_the_longest ? std::max(sums[s], one) : sums[s] + one;
      }
  }
  planner::layout_problem problem{.layers = {}, .ranks = q.parallel.pp, .chunks = q.parallel.vp};
  for (const double one : sums) problem.layers.push_back(std::llround(one * 1e9));
  std::vector<std::int64_t> out;
  const auto solved = value_or_fail(planner::solve(problem), q.file);
  for (const planner::layout_stage& s : solved.layout.stages) out.push_back(s.layers);
  return out;
}

std::string list_of(const std::vector<cost::stage_choice>& stages, std::int64_t cost::stage_choice::* what) {
  std::string out = "[";
  for (const cost::stage_choice& s : stages) out += (out.size() > 1 ? ", " : "") + std::to_string(s.*what);
  return out + "]";
}

/// With a capacity: even and balanced splits, each with what the file says, with whole layers as needed, and with those
/// beside SiLU and Mul. Without: the even split with what the file says.
std::vector<choice> choices_of(const question& q) {
  const auto even = cost::even_choices(q.list, q.parallel, q.how());
  std::vector<choice> out{{"even", std::string(to_string(q.how())), even}};
  if (q.capacity == 0) return out;
  out.clear();
  cost::replay_set with_activation = q.replay;
  with_activation.activation = true;
  const auto add_split = [&](const std::string& name, const std::vector<std::int64_t>& sizes) {
    for (const choice& x : out) {
      bool same = true;
      for (std::size_t s = 0; s < sizes.size(); ++s) same = same && x.stages[s].layers == sizes[s];
      if (same) return;
    }
    for (const auto& [again, how] :
         {std::pair{"", q.how()}, std::pair{"activation, ", cost::recompute_choice{{}, with_activation}}}) {
      choice some{name, "", {}};
      for (const std::int64_t n : sizes) some.stages.push_back({n, 0, how});
      if (*again == 0) {
        some.again = std::string(to_string(how));
        out.push_back(some);
      }
      if (how.level == cost::recompute::full) continue;
      if (*again != 0 && how == q.how()) continue;  // the file says it already
      fit_whole_layers(q, some.stages);
      some.again = (*again != 0 ? std::string(to_string(how)) + ", " : "") +
                   ("whole " + list_of(some.stages, &cost::stage_choice::whole));
      const bool any = std::any_of(some.stages.begin(), some.stages.end(), [](const auto& s) { return s.whole > 0; });
      if (any || *again != 0) out.push_back(some);
    }
  };
  std::vector<std::int64_t> sizes;
  for (const cost::stage_choice& s : even) sizes.push_back(s.layers);
  add_split("even", sizes);
  const auto by_mean = balanced(q, false), by_longest = balanced(q, true);
  const auto named = [](const char* what, const std::vector<std::int64_t>& list) {
    std::string text = what;
    for (const std::int64_t n : list) text += (text.back() == ' ' ? "" : ",") + std::to_string(n);
    return text;
  };
  const auto usable = [](const auto& list) {
    return std::all_of(list.begin(), list.end(), [](auto n) { return n > 0; });
  };
  if (usable(by_mean)) add_split(named("mean ", by_mean), by_mean);
  if (usable(by_longest)) add_split(named("longest ", by_longest), by_longest);
  return out;
}

/// The step if every micro-batch had the mean number of tokens, each one document.
ticks alike_of(const question& q, const std::vector<cost::stage_choice>& stages) {
  const micro_batch_documents& draw = q.draws.front();
  std::int64_t sum = 0;
  for (const auto& documents : draw) sum += tokens_of(documents);
  const auto count = static_cast<std::int64_t>(draw.size());
  const micro_batch_documents mean(draw.size(), {std::max((sum + count / 2) / count, std::int64_t{1})});
  return planned(q, prices_of(q, stages, mean), 0).total;
}

/// How each choice does on each draw, draw by draw: Ctrl-C leaves whole draws, at least the first. `first` becomes the
/// choices' plans of that one.
std::vector<std::vector<planner::draw_outcome>> outcomes_of(const question& q, const std::vector<choice>& choices,
                                                            std::vector<planner::micro_batch_plan>& first) {
  const std::int64_t actions = q.capacity > 0 ? 1'000'000 : 40'000'000;
  std::vector<std::vector<planner::draw_outcome>> out;
  hocket::planner::search_progress at{.all = static_cast<std::int64_t>(choices.size() * q.draws.size())};
  const search_guard watch;
  for (const micro_batch_documents& draw : q.draws) {
    std::vector<planner::draw_outcome> one_draw;
    for (const choice& x : choices) {
      if (!watch(at) && !out.empty()) return out;
      const auto prices = prices_of(q, x.stages, draw);
      auto plan = planned(q, prices, actions);
      planner::draw_outcome one{plan.total, {}};
      if (q.capacity > 0)
        for (const std::int64_t b : bytes_of(q, x.stages, draw, prices))
          one.lacking = std::max(one.lacking, hocket::bytes(b - q.capacity));
      if (out.empty()) first.push_back(std::move(plan));
      one_draw.push_back(one);
      ++at.done;
    }
    out.push_back(std::move(one_draw));
  }
  return out;
}

answer answer_of(const question& q) {
  answer out;
  out.choices = choices_of(q);
  std::vector<planner::micro_batch_plan> first;
  const auto outcomes = outcomes_of(q, out.choices, first);
  out.draws = outcomes.size();
  out.scores = value_or_fail(
      planner::choose_robustly(
          out.choices.size(), out.draws,
          [&](std::size_t c, std::size_t d) -> hocket::result<planner::draw_outcome> { return outcomes[d][c]; }),
      q.file);
  out.chosen = out.scores.best_mean.value_or(0);
  const auto& stages = out.choices[out.chosen].stages;
  out.plan = std::move(first[out.chosen]);
  out.alike = alike_of(q, stages);
  out.peak_bytes = worst_bytes(q, stages, std::span(q.draws).first(out.draws));
  std::vector<std::int64_t> sizes;
  for (const auto& s : stages) sizes.push_back(s.layers);
  out.beside = cost::beside_pipeline(
                   value_or_fail(cost::predict_step(q.list, q.training.step, q.parallel, q.rates(), sizes), q.file))
                   .count();
  return out;
}

std::string as_text(const question& q, const answer& a) {
  char line[256];
  std::int64_t least = tokens_of(q.draws[0][0]), most = least;
  for (const auto& documents : q.draws[0]) {
    least = std::min(least, tokens_of(documents));
    most = std::max(most, tokens_of(documents));
  }
  std::snprintf(line, sizeof line, "%zu micro-batches of %lld to %lld tokens, %lld pipelines, %lld steps, %s\n\n",
                q.draws[0].size(), static_cast<long long>(least), static_cast<long long>(most),
                static_cast<long long>(q.parallel.dp), static_cast<long long>(q.steps),
                std::string(q.schedule->name()).c_str());
  std::string out = line;
  out += "  pipeline of all steps             seconds\n";
  for (const named_time& x : named_times(a.plan, a.alike)) {
    std::snprintf(line, sizeof line, "  %-30s%11.4f\n", x.name, seconds_of(x.time));
    out += line;
  }
  std::snprintf(line, sizeof line, "  beside it, each step          %11.4f\n", a.beside);
  out += line;
  if (q.capacity > 0 || q.draws.size() > 1) {
    out += "\n  split                     computed again                       mean s    worst s  fit  GiB lacking\n";
    for (std::size_t c = 0; c < a.choices.size(); ++c) {
      const planner::choice_score& x = a.scores.scores[c];
      const char* mark = c == a.scores.best_mean  ? (c == a.scores.best_worst ? "  best" : "  best mean")
                       : c == a.scores.best_worst ? "  best worst"
                                                  : "";
      std::snprintf(line, sizeof line, "  %-26s%-33s%10.4f%11.4f%5zu%13.2f%s\n", a.choices[c].split.c_str(),
                    a.choices[c].again.c_str(), seconds_of(x.mean_time), seconds_of(x.worst_time), x.fitting,
                    static_cast<double>(x.most_lacking.count()) / bytes_per_gib, mark);
      out += line;
    }
  }
  out += "\n  rank  GiB at the peak\n";
  for (std::size_t r = 0; r < a.peak_bytes.size(); ++r) {
    std::snprintf(line, sizeof line, "%6zu%17.2f\n", r, static_cast<double>(a.peak_bytes[r]) / bytes_per_gib);
    out += line;
  }
  out += "\n  step  pipeline      seconds  micro-batches in order\n";
  for (std::size_t at = 0; at < a.plan.runs.size(); ++at) {
    const auto pipelines = static_cast<std::size_t>(q.parallel.dp);
    std::snprintf(line, sizeof line, "%6zu%10zu%13.4f ", at / pipelines, at % pipelines,
                  seconds_of(a.plan.runs[at].makespan));
    out += line;
    for (const std::uint32_t j : a.plan.runs[at].order) out += " " + std::to_string(j);
    out += "\n";
  }
  return out;
}

std::string as_json(const question& q, const answer& a) {
  nlohmann::ordered_json out{
      {"version", 1}, {"schedule", q.schedule->name()}, {"pipelines", q.parallel.dp}, {"steps", q.steps}};
  for (const named_time& x : named_times(a.plan, a.alike)) out[std::string(x.key) + "_seconds"] = seconds_of(x.time);
  out["beside_seconds"] = a.beside;
  out["proved"] = a.plan.proved;
  for (const auto& documents : q.draws[0])
    out["micro_batches"].push_back({{"tokens", tokens_of(documents)}, {"documents", documents}});
  const auto pipelines = static_cast<std::size_t>(q.parallel.dp);
  for (std::size_t at = 0; at < a.plan.runs.size(); ++at)
    out["runs"].push_back({{"step", at / pipelines},
                           {"pipeline", at % pipelines},
                           {"seconds", seconds_of(a.plan.runs[at].makespan)},
                           {"order_proved", a.plan.runs[at].order_proved},
                           {"order", a.plan.runs[at].order}});
  for (std::size_t r = 0; r < a.peak_bytes.size(); ++r)
    out["ranks"].push_back({{"rank", r}, {"peak_bytes", a.peak_bytes[r]}});
  for (std::size_t c = 0; c < a.choices.size(); ++c) {
    const planner::choice_score& x = a.scores.scores[c];
    std::vector<std::int64_t> layers, whole;
    for (const auto& s : a.choices[c].stages) {
      layers.push_back(s.layers);
      whole.push_back(s.whole);
    }
    out["choices"].push_back({{"split", a.choices[c].split},
                              {"again", a.choices[c].again},
                              {"layers", layers},
                              {"whole", whole},
                              {"mean_seconds", seconds_of(x.mean_time)},
                              {"worst_seconds", seconds_of(x.worst_time)},
                              {"worst_draw", x.worst_draw},
                              {"fitting_draws", x.fitting},
                              {"lacking_bytes", x.most_lacking.count()},
                              {"best_mean", c == a.scores.best_mean},
                              {"best_worst", c == a.scores.best_worst}});
  }
  if (a.draws < q.draws.size()) out["stopped"] = true;
  return out.dump(1) + "\n";
}

void batches(const options& o) {
  const question q = read_question(o);
  const answer a = answer_of(q);
  if (q.capacity > 0 && !a.scores.best_mean)
    fail(o.parallel + ": no choice fits every draw into " + fixed(o.memory.gib, 2) + " GiB, " +
         fixed(o.memory.reserve_gib, 2) + " of them in reserve: the best lacks " +
         std::to_string(std::min_element(a.scores.scores.begin(), a.scores.scores.end(),
                                         [](const auto& x, const auto& y) { return x.most_lacking < y.most_lacking; })
                            ->most_lacking.count()) +
         " bytes");
  give(o.out, form(o.format) == "json" ? as_json(q, a) : as_text(q, a),
       "micro_batches=" + std::to_string(q.draws[0].size()) + " draws=" + std::to_string(a.draws) + " listed_us=" +
           fixed(seconds_of(a.plan.listed_total) * 1e6, 1) + " chosen_us=" + fixed(seconds_of(a.plan.total) * 1e6, 1) +
           " lower_bound_us=" + fixed(seconds_of(a.plan.lower_bound) * 1e6, 1) + " proved=" +
           (a.plan.proved ? "yes" : "no") + (a.draws < q.draws.size() ? " stopped=yes (Ctrl-C: the best so far)" : ""));
}

}  // namespace

void add_planner_batches(CLI::App& planner_command) {
  auto o = std::make_shared<options>();
  CLI::App* c = planner_command.add_subcommand(
      "batches", "Micro-batches of unequal lengths: who runs which in which order, and what split bears them");
  c->add_option("model,--model", o->model, "Hugging Face config.json, as published")->required()->type_name("FILE");
  c->add_option("training,--training", o->training, "Training JSON with a machine")->required()->type_name("FILE");
  c->add_option("parallel,--parallel", o->parallel, "Parallel JSON: tp, pp, vp, dp, …")->required()->type_name("FILE");
  add_machine(*c, o->machine);
  add_lengths(*c, o->lengths);
  c->add_option("--draws", o->lengths.draws, "Draws with seeds from --seed on, over which choices are compared (1)")
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1000}));
  c->add_option("--schedule", o->schedule, "Of each pipeline (1f1b; with chunks interleaved)")
      ->type_name("NAME")
      ->check(CLI::IsMember(
          {"gpipe", "1f1b", "eager-1f1b", "interleaved", "looped-bfs", "zb-h1", "zb-h2", "interleaved-zb"}));
  add_memory(*c, o->memory,
             "Memory of a device: splits and recompute choices are compared, and the best of those that fit is taken");
  c->add_option("--format", o->format, "text (the default) or json")->check(CLI::IsMember({"text", "json"}));
  add_out(*c, o->out);
  c->callback([o] { batches(*o); });
}

}  // namespace hocket_cli
