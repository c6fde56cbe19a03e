// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// hocket planner search: which parallel strategies fit a cluster, ranked, and why the others do not.
#include <hocket/planner/plan/simulated_strategies.hpp>
#include <hocket/timeline/svg.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "command.hpp"
#include "cost_fit.hpp"
#include "cost_input.hpp"
#include "json_fields.hpp"
#include "planner.hpp"
#include "terminal.hpp"

namespace hocket_cli {
namespace {

namespace planner = hocket::planner;
namespace cost = hocket::cost;

struct options {
  std::string model, training, cluster, machine, format = "text", out, devices, compare;
  std::size_t top = 12;
};

struct question {
  planner::cluster on;
  planner::strategy_space space;
};

std::optional<std::int64_t> first_repeated(const std::vector<std::int64_t>& list) {
  for (auto x = list.begin(); x != list.end(); ++x)
    if (std::find(list.begin(), x, *x) != x) return *x;
  return std::nullopt;
}

/// "rates" of a cluster file: a linear machine.
cost::machine read_rates(const json_object& v) {
  const json_object r =
      v.object("rates", {"gemm_tflops", "attention_tflops", "memory_gb_per_s", "tensor_gb_per_s", "expert_gb_per_s",
                         "pipeline_gb_per_s", "data_gb_per_s", "data_overlap", "expert_overlap"});
  cost::machine m;
  // Rates of no machine would print figures without digits that mean something.
  const auto rate = [&](const char* key) {
    const double value = r.positive(key);
    if (value < 1e-6 || value > 1e12) r.fail_at(key, "must be from 1e-6 to 1e12");
    return value;
  };
  const auto overlap = [&](const char* key) {
    const double value = r.number_or(key, 0);
    if (value < 0 || value > 1) r.fail_at(key, "must lie in [0, 1]");
    return value;
  };
  m.gemm_flops = rate("gemm_tflops") * 1e12;
  m.attention_flops = r.has("attention_tflops") ? rate("attention_tflops") * 1e12 : m.gemm_flops;
  m.memory_bytes = rate("memory_gb_per_s") * 1e9;
  m.tensor_bytes = rate("tensor_gb_per_s") * 1e9;
  m.data_bytes = rate("data_gb_per_s") * 1e9;
  m.pipeline_bytes = r.has("pipeline_gb_per_s") ? rate("pipeline_gb_per_s") * 1e9 : m.data_bytes;
  m.expert_bytes = r.has("expert_gb_per_s") ? rate("expert_gb_per_s") * 1e9 : m.data_bytes;
  m.data_overlap = overlap("data_overlap");
  m.expert_overlap = overlap("expert_overlap");
  return m;
}

/// @param machine   what --machine says, in place of the file's; empty: nothing
/// @param training  its machine runs the step if the cluster's file names none
question read_cluster(const std::string& file, const std::string& machine, const training_input& training,
                      const std::string& training_file) {
  const nlohmann::json whole = read_json_file(file);
  const json_object v(
      whole, file, "",
      {"version", "devices", "devices_per_node", "memory_gib", "reserve_gib", "machine", "rates", "space", "notes"});
  question q;
  q.on.devices = v.integer("devices", 1, std::int64_t{1} << 20);
  q.on.devices_per_node = v.integer_or("devices_per_node", 8, 1, std::int64_t{1} << 20);
  q.on.memory = read_memory(v);
  if (v.has("machine") && v.has("rates")) v.fail_at("rates", "and \"machine\" say the same: leave one out");
  if (training.on && (v.has("machine") || v.has("rates")))
    fail(training_file + ": \"machine\" has no meaning here: the rates are those of " + file);
  if (!machine.empty()) q.on.rates = read_machine(machine_of_option(machine), machine, "").rates;
  else if (training.on) q.on.rates = training.on->rates;
  else if (v.has("machine")) q.on.rates = read_machine(v.at("machine"), file, "").rates;
  else q.on.rates = read_rates(v);
  if (!v.has("space")) return q;
  const json_object s = v.object("space", {"tensor", "context", "expert", "expert_tensor", "chunks", "micro_batches",
                                           "copies", "zero", "zero_bubble"});
  const auto sizes = [&](const char* key, std::vector<std::int64_t>& list, std::int64_t least = 1,
                         std::int64_t most = 1'000'000) {
    if (!s.has(key)) return;
    list = s.integers(key, least, most, 64);
    if (list.empty()) s.fail_at(key, "is empty");
    if (const auto x = first_repeated(list)) s.fail_at(key, "holds " + std::to_string(*x) + " twice");
  };
  sizes("tensor", q.space.tensor);
  sizes("context", q.space.context);
  sizes("expert", q.space.expert);
  sizes("expert_tensor", q.space.expert_tensor);
  sizes("chunks", q.space.chunks);
  sizes("micro_batches", q.space.micro_batches);
  sizes("copies", q.space.copies);
  std::vector<std::int64_t> zeros;
  sizes("zero", zeros, 0, 3);
  if (!zeros.empty()) q.space.zeros.clear();
  for (const std::int64_t z : zeros) q.space.zeros.push_back(static_cast<cost::zero>(z));
  q.space.zero_bubble = s.boolean_or("zero_bubble", true);
  return q;
}

std::string schedule_of(const planner::strategy& s) {
  if (s.how.pp == 1) return "none";
  return s.how.vp == 1 ? (s.zero_bubble ? "zb-h1" : "1f1b") : s.zero_bubble ? "interleaved-zb" : "interleaved";
}
std::string recompute_of(const planner::strategy& s) {
  constexpr const char* names[] = {"none", "selective", "full"};
  return s.replay_activation ? "silu-mul" : names[static_cast<std::size_t>(s.how.recompute)];
}

/// At least a nanosecond: a division by it is finite.
double seconds_of(const planner::scored_strategy& x) {
  return static_cast<double>(std::max(x.cost.step, std::chrono::nanoseconds(1)).count()) / 1e9;
}

nlohmann::json as_json(const planner::scored_strategy& x, double tokens) {
  const cost::parallel& p = x.of.how;
  const double seconds = seconds_of(x);
  return {{"tp", p.tp},
          {"cp", p.cp},
          {"pp", p.pp},
          {"vp", p.vp},
          {"dp", p.dp},
          {"ep", p.ep},
          {"etp", p.etp},
          {"zero", static_cast<int>(p.zero)},
          {"micro_batch", x.of.micro_batch},
          {"sequence_parallel", p.sequence_parallel},
          {"copies", p.copies},
          {"recompute", recompute_of(x.of)},
          {"schedule", schedule_of(x.of)},
          {"step_seconds", seconds},
          {"tokens_per_second_per_device", tokens / seconds},
          {"bytes", x.cost.memory.count()}};
}

std::string line_of(const planner::scored_strategy& x, double tokens) {
  const cost::parallel& p = x.of.how;
  char text[256];
  const double seconds = seconds_of(x);
  std::snprintf(text, sizeof text,
                "%10.4f %9.0f %8.2f  %3lld %3lld %3lld %3lld %5lld %3lld  %4d %5lld  %-3s %6lld  %-9s %s\n", seconds,
                tokens / seconds, static_cast<double>(x.cost.memory.count()) / bytes_per_gib,
                static_cast<long long>(p.tp), static_cast<long long>(p.cp), static_cast<long long>(p.pp),
                static_cast<long long>(p.vp), static_cast<long long>(p.dp), static_cast<long long>(p.ep),
                static_cast<int>(p.zero), static_cast<long long>(x.of.micro_batch), p.sequence_parallel ? "yes" : "no",
                static_cast<long long>(p.copies), recompute_of(x.of).c_str(), schedule_of(x.of).c_str());
  return text;
}

/// Says how many of `lines` are not shown.
std::string left_out(std::size_t lines, std::size_t top) {
  return lines > top ? "       ... " + std::to_string(lines - top) + " more (--top)\n" : "";
}

/// A front, or the part of one that is on so many devices.
struct series {
  std::int64_t devices = 0;
  std::vector<planner::scored_strategy> points;
};

/// Step time against memory, a dot for each strategy of a front, a line and a colour for each number of devices.
std::string as_svg(const std::vector<series>& fronts, const cost::device_memory& memory, const std::string& title) {
  double slowest = 0, fastest = 0;
  for (const series& front : fronts)
    for (const auto& x : front.points) {
      const double s = static_cast<double>(x.cost.step.count()) / 1e9;
      slowest = s > slowest ? s : slowest;
      fastest = fastest == 0 || s < fastest ? s : fastest;
    }
  const double span = slowest > fastest ? slowest - fastest : 1, most = static_cast<double>(memory.usable().count());
  const auto number = [](double x) {
    char text[32];
    std::snprintf(text, sizeof text, "%.2f", x);
    return std::string(text);
  };
  std::string svg =
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 800 440\" font-family=\"sans-serif\" font-size=\"12\">\n"
      "<rect width=\"800\" height=\"440\" fill=\"#ffffff\"/>\n<text x=\"20\" y=\"24\" font-size=\"15\">";
  svg += hocket::xml_text(title);
  svg +=
      "</text>\n<text x=\"400\" y=\"430\" text-anchor=\"middle\">step time, s</text>\n"
      "<text x=\"16\" y=\"44\">GiB of the fullest rank</text>\n";
  const auto x_of = [&](const planner::scored_strategy& x) {
    return number(80 + 680 * (static_cast<double>(x.cost.step.count()) / 1e9 - fastest) / span);
  };
  const auto y_of = [&](double bytes) { return number(390 - 330 * bytes / most); };
  for (int i = 0; i <= 4; ++i) {
    svg += "<text x=\"70\" y=\"" + y_of(most * i / 4) + "\" text-anchor=\"end\">" +
           number(most * i / 4 / bytes_per_gib) + "</text>\n<text x=\"" + number(80 + 170.0 * i) +
           "\" y=\"408\" text-anchor=\"middle\">" + number(fastest + span * i / 4) + "</text>\n";
  }
  svg += "<line x1=\"80\" x2=\"760\" y1=\"60\" y2=\"60\" stroke=\"#b02a2a\"/>\n";
  constexpr const char* colours[] = {"#5b7fb5", "#c27c2c", "#4f9a5c", "#a0548f",
                                     "#7a6a4f", "#3f9aa0", "#b5534f", "#606060"};
  std::size_t shown = 0;
  for (const series& front : fronts) {
    if (front.points.empty()) continue;
    const std::string colour = colours[shown % std::size(colours)];
    if (fronts.size() > 1)
      svg += "<text x=\"790\" y=\"" + number(76 + 14.0 * static_cast<double>(shown)) +
             "\" text-anchor=\"end\" fill=\"" + colour + "\">" + std::to_string(front.devices) + " devices</text>\n";
    ++shown;
    svg += "<polyline fill=\"none\" stroke=\"" + colour + "\" points=\"";
    for (const auto& x : front.points) svg += x_of(x) + "," + y_of(static_cast<double>(x.cost.memory.count())) + " ";
    svg += "\"/>\n";
    for (const auto& x : front.points) {
      const cost::parallel& p = x.of.how;
      svg += "<circle cx=\"" + x_of(x) + "\" cy=\"" + y_of(static_cast<double>(x.cost.memory.count())) +
             "\" r=\"4\" fill=\"" + colour + "\"><title>" + std::to_string(front.devices) + " devices: tp " +
             std::to_string(p.tp) + " pp " + std::to_string(p.pp) + " vp " + std::to_string(p.vp) + " dp " +
             std::to_string(p.dp) + " zero " + std::to_string(static_cast<int>(p.zero)) + " recompute " +
             recompute_of(x.of) + "</title></circle>\n";
    }
  }
  return svg + "</svg>\n";
}

/// The counts of --devices: a list, or "up-to": powers of two up to the cluster, and the cluster.
std::vector<std::int64_t> device_counts(const options& o, std::int64_t most) {
  std::vector<std::int64_t> counts;
  if (o.devices == "up-to") {
    for (std::int64_t n = 1; n < most; n *= 2) counts.push_back(n);
    counts.push_back(most);
    return counts;
  }
  counts = number_list("--devices", o.devices, 1, most,
                       "up-to, or numbers from 1 to the cluster's " + std::to_string(most) + " such as 4,8,16");
  if (const auto x = first_repeated(counts))
    throw CLI::ValidationError("--devices", "holds " + std::to_string(*x) + " twice");
  if (counts.size() > 64) throw CLI::ValidationError("--devices", "has more than 64 numbers");
  return counts;
}

/// What an error of the search may be due to.
std::string files_of(const options& o) { return o.model + " with " + o.training + " on " + o.cluster; }

planner::strategy_problem problem_of(const options& o, const model_input& model, const training_input& training,
                                     const question& q) {
  return {padded(model.layers, training, o.training), training.step, q.on, q.space};
}

void search_counts(const options& o, const model_input& model, const training_input& training, const question& q) {
  const cost::training& t = training.step;
  const auto counts = device_counts(o, q.on.devices);
  const planner::strategy_problem problem = problem_of(o, model, training, q);
  auto report = value_or_fail(planner::solve(problem, counts), files_of(o));
  report.front = planner::simulated_front(problem, report, counts);
  if (report.front.empty()) fail("no strategy fits on any of these numbers of devices");
  const double tokens = static_cast<double>(t.global_batch) * static_cast<double>(t.sequence);
  const std::string format = form(o.format);
  std::string data;
  if (format == "svg") {
    std::vector<series> fronts;  // the front comes by numbers of devices
    for (const auto& x : report.front) {
      if (fronts.empty() || fronts.back().devices != x.devices) fronts.push_back({x.devices, {}});
      fronts.back().points.push_back(x.best);
    }
    data = as_svg(fronts, q.on.memory, "Strategies by number of devices");
  } else if (format == "json") {
    nlohmann::json out = {{"version", 1}};
    for (const auto& x : report.front) {
      out["front"].push_back(as_json(x.best, tokens / static_cast<double>(x.devices)));
      out["front"].back()["devices"] = x.devices;
    }
    for (std::size_t i = 0; i < counts.size(); ++i)
      out["counts"].push_back({{"devices", counts[i]},
                               {"named", report.counts[i].named},
                               {"evaluated", report.counts[i].evaluated},
                               {"fitting", report.counts[i].fitting}});
    data = out.dump(2) + "\n";
  } else {
    std::string& text = data;
    text =
        "No other that fits is as fast with as little memory on as few devices\n\ndevices    step_s  tok/s/dev      "
        "GiB   "
        "tp  cp  pp  vp    dp  ep  zero batch  sp  copies  recompute schedule\n";
    std::size_t lines = 0;
    std::int64_t before = 0;
    for (const auto& x : report.front) {
      if (x.devices != before) {
        text += left_out(lines, o.top);
        lines = 0;
      }
      before = x.devices;
      if (++lines > o.top) continue;
      char head[32];
      std::snprintf(head, sizeof head, "%7lld", static_cast<long long>(x.devices));
      text += head + line_of(x.best, tokens / static_cast<double>(x.devices));
    }
    text += left_out(lines, o.top) + "\n";
    for (std::size_t i = 0; i < counts.size(); ++i)
      text += std::to_string(counts[i]) + " devices: " + std::to_string(report.counts[i].named) + " named, " +
              std::to_string(report.counts[i].evaluated) + " evaluated, " + std::to_string(report.counts[i].fitting) +
              " fit\n";
  }
  give(o.out, data,
       "counts=" + std::to_string(counts.size()) + " front=" + std::to_string(report.front.size()) +
           " fewest_devices=" + std::to_string(report.front.front().devices));
}

/// A layout that is given, among all strategies.
struct compared_layout {
  planner::scored_strategy layout;  ///< simulated
  bool fits = false;
  std::int64_t rank = 0;  ///< among those that fit, by formula
};
compared_layout compare_with(const options& o, planner::strategy_problem& problem, const cost::training& t) {
  compared_layout out;
  out.layout.of.how = read_parallel(read_json_file(o.compare), o.compare);
  out.layout.of.micro_batch = t.micro_batch;
  if (const std::int64_t has = out.layout.of.how.devices(); has != problem.cluster.devices)
    fail(o.compare + ": is of " + std::to_string(has) + " devices, but " + o.cluster + " has " +
         std::to_string(problem.cluster.devices));
  const planner::step_problem q = planner::step_of(problem, out.layout.of);
  const auto plan = value_or_fail(planner::plan_step(q, {.record = false}), o.compare);
  planner::strategy_cost& cost = out.layout.cost;
  cost = value_or_fail(planner::price_of_strategy(problem, out.layout.of), o.compare);
  problem.compared = cost.step;
  cost.step = std::chrono::nanoseconds(std::llround(plan.step->step_time().count() * 1e9));
  cost.memory = planner::bytes_up(plan.fullest().peak.total_bytes());
  out.fits = plan.fits(q.memory);
  return out;
}

/// What is proved of the first of a front, in words.
std::string proof_of(const planner::strategy_plan& report) {
  if (report.stopped) return "Stopped: the best until then.";
  const std::int64_t open = planner::possibly_quicker(report);
  if (open == 0)
    return "No other that fits by formula is quicker than the first: each does at least its time of work on its "
           "busiest "
           "rank.";
  return std::to_string(open) + (report.by_least.size() < planner::most_by_least ? "" : " or more") +
         " others might be quicker than the first by what their busiest rank does alone.";
}

std::string report_as_json(const planner::strategy_plan& report, double tokens,
                           const std::optional<compared_layout>& given) {
  nlohmann::json out = {
      {"version", 1},
      {"named", report.named},
      {"evaluated", report.evaluated},
      {"fitting", report.fitting},
      {"simulated", planner::most_kept},
      {"certificate", "every named strategy is priced by formula or rejected with a reason; the front is simulated"},
      {"proof", proof_of(report)}};
  if (given) {
    out["compared"] = as_json(given->layout, tokens);
    out["compared"]["fits"] = given->fits;
    out["compared"]["rank"] = given->rank;
    out["compared"]["of_best"] = seconds_of(given->layout) / seconds_of(report.front.front());
  }
  for (const auto& x : report.front) out["front"].push_back(as_json(x, tokens));
  for (const auto& x : report.best_beyond_memory) out["fastest_that_does_not_fit"] = as_json(x, tokens);
  for (std::size_t i = 0; i < planner::rejection_count; ++i)
    out["rejected"][std::string(to_string(static_cast<planner::rejection>(i)))] = report.rejected[i];
  return out.dump(2) + "\n";
}

std::string report_as_text(const planner::strategy_plan& report, double tokens, const std::string& title,
                           std::size_t top, const std::optional<compared_layout>& given) {
  std::string why = "Rejected\n";
  for (std::size_t i = 0; i < planner::rejection_count; ++i) {
    char line[160];
    std::snprintf(line, sizeof line, "%10lld  %s\n", static_cast<long long>(report.rejected[i]),
                  std::string(to_string(static_cast<planner::rejection>(i))).c_str());
    why += line;
  }
  const std::string head =
      "    step_s  tok/s/dev      GiB   tp  cp  pp  vp    dp  ep  zero batch  sp  copies  recompute schedule\n";
  std::string text = title + ": no other that fits is as fast with as little memory\n\n" + head;
  for (std::size_t i = 0; i < report.front.size() && i < top; ++i) text += line_of(report.front[i], tokens);
  text += left_out(report.front.size(), top);
  for (const auto& x : report.best_beyond_memory)
    text += "\nFastest of those that do not fit\n" + head + line_of(x, tokens);
  if (given) {
    char line[160];
    std::snprintf(line, sizeof line,
                  "\nGiven: number %lld of those that fit, by formula; simulated %.3f x the first%s\n",
                  static_cast<long long>(given->rank), seconds_of(given->layout) / seconds_of(report.front.front()),
                  given->fits ? "" : "; it does not fit");
    text += line + head + line_of(given->layout, tokens);
  }
  text += "\n" + why + "\n" + std::to_string(report.named) + " named, " + std::to_string(report.evaluated) +
          " evaluated, " + std::to_string(report.fitting) +
          " fit by formula. Each is priced by formula or rejected; the front and the " +
          std::to_string(planner::most_kept) + " fastest are simulated.\n" + proof_of(report) + "\n";
  return text;
}

void search(const options& o) {
  const model_input model = read_model(read_json_file(o.model), o.model);
  const training_input training = read_training(read_json_file(o.training), model.layers, o.training);
  const question q = read_cluster(o.cluster, o.machine, training, o.training);
  if (cost::product_flops(q.on.rates, training.step.precision) <= 0)
    fail(o.training + ": \"precision\" is " + std::string(to_string(training.step.precision)) +
         ", for which the machine has no rate");
  if (!o.devices.empty()) return search_counts(o, model, training, q);
  planner::strategy_problem problem = problem_of(o, model, training, q);
  std::optional<compared_layout> given;
  if (!o.compare.empty()) given = compare_with(o, problem, training.step);
  const auto searched = [&] {
    const search_guard watch;
    auto plan = value_or_fail(planner::solve(problem, planner::held_in_closed_form{}, watch), files_of(o));
    plan = planner::with_simulated_front(problem, std::move(plan), watch);
    plan.stopped = plan.stopped || search_guard::interrupted();
    return plan;
  };
  const planner::strategy_plan report = searched();
  if (given) given->rank = report.faster + 1;
  if (report.named == 0)
    fail(o.cluster + ": no sizes of \"space.tensor\" and \"space.context\" divide the " + std::to_string(q.on.devices) +
         " devices");
  const double tokens = static_cast<double>(training.step.global_batch) * static_cast<double>(training.step.sequence) /
                        static_cast<double>(q.on.devices);
  std::string reasons;
  for (std::size_t i = 0; i < planner::rejection_count; ++i)
    if (report.rejected[i] > 0)
      reasons += "; " + std::to_string(report.rejected[i]) + " x " +
                 std::string(to_string(static_cast<planner::rejection>(i)));
  if (report.front.empty())
    fail("none of " + std::to_string(report.named) + " strategies fits: " + std::to_string(report.evaluated) +
         " are possible, " +
         (report.evaluated > 0
              ? "each needs more memory than " + std::to_string(q.on.memory.usable().count()) + " bytes"
              : "so the devices do not suit this step" + reasons));
  const std::string title = "Strategies on " + std::to_string(q.on.devices) + " devices";
  const auto& best = report.front.front();
  char line[256];
  std::snprintf(line, sizeof line, "named=%lld evaluated=%lld fitting=%lld front=%zu best_step_s=%.6f best_bytes=%lld",
                static_cast<long long>(report.named), static_cast<long long>(report.evaluated),
                static_cast<long long>(report.fitting), report.front.size(),
                static_cast<double>(best.cost.step.count()) / 1e9, static_cast<long long>(best.cost.memory.count()));
  const std::string format = form(o.format);
  give(o.out,
       format == "svg"    ? as_svg({{q.on.devices, report.front}}, q.on.memory, title)
       : format == "json" ? report_as_json(report, tokens, given)
                          : report_as_text(report, tokens, title, o.top, given),
       line);
}

}  // namespace

void add_planner_search(CLI::App& planner_command) {
  auto o = std::make_shared<options>();
  CLI::App* c =
      planner_command.add_subcommand("search", "Strategies that fit, ranked, with the reason for each rejection");
  c->add_option("model,--model", o->model, "The model's config.json as published")->required()->type_name("CONFIG");
  c->add_option("training,--training", o->training, "Training JSON; micro_batch is chosen")
      ->required()
      ->type_name("FILE");
  c->add_option("cluster,--cluster", o->cluster, "Cluster JSON: devices, memory, rates (docs/file_forms.md)")
      ->required()
      ->type_name("FILE");
  add_machine(*c, o->machine);
  CLI::Option* several =
      c->add_option("--devices", o->devices,
                    "Compare numbers of devices: a list such as 4,8,16, or up-to for powers of two up to the cluster");
  several->type_name("LIST");
  c->add_option("--compare", o->compare,
                "Parallel JSON of a layout: where it stands among all, and how far from the best")
      ->type_name("FILE")
      ->excludes(several);
  c->add_option("--top", o->top, "Lines of the front in the text (12)")->type_name("N")->check(CLI::Range(1, 1000));
  c->add_option("--format", o->format, "text (the default), json or svg (the Pareto front)")
      ->check(CLI::IsMember({"text", "json", "svg"}));
  add_out(*c, o->out);
  c->callback([o] { search(*o); });
}

}  // namespace hocket_cli
