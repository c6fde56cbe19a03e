// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// hocket pipeline search: a schedule within a memory cap, with how far it is from the best possible.
#include <hocket/planner/schedule/solve.hpp>
#include <hocket/text/schedule_csv.hpp>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "command.hpp"
#include "json_fields.hpp"
#include "terminal.hpp"

namespace hocket_cli {
namespace {

namespace pipeline = hocket::pipeline;
namespace planner = hocket::planner;
using hocket::ticks;

struct options {
  std::optional<std::int64_t> ranks, micro_batches;
  std::int64_t chunks = 1, budget = 4'000'000;
  std::string costs, cap, placement = "loop", backward = "split", format = "torch", out;
  bool whole_backward = false;
};

/// The cost file: times by stage, in ticks.
struct stage_times {
  std::vector<ticks> forward, backward, input_grad, weight_grad;
  ticks hop = 0;
};

stage_times read_times(const options& o, std::size_t stages) {
  stage_times t;
  if (o.costs.empty()) {
    t.forward.assign(stages, 1);
    t.input_grad = t.weight_grad = t.forward;
    t.backward.assign(stages, 2);
    return t;
  }
  const nlohmann::json whole = read_json_file(o.costs);
  const json_object v(whole, o.costs, "", {"version", "forward", "backward", "input_grad", "weight_grad", "hop"});
  constexpr std::int64_t longest = std::int64_t{1} << 40;
  const auto read = [&](const char* key) {
    if (!v.at(key).is_array()) return std::vector<ticks>(stages, v.integer(key, 0, longest));
    if (v.at(key).size() != stages)
      v.fail_at(key, "has " + std::to_string(v.at(key).size()) + " times for " + std::to_string(stages) + " stages");
    return v.integers(key, 0, longest, stages);
  };
  if (v.has("backward") && (v.has("input_grad") || v.has("weight_grad")))
    v.fail_at("backward", "is whole: give it or \"input_grad\" and \"weight_grad\", not both");
  t.forward = read("forward");
  if (o.backward == "split") {
    t.input_grad = read("input_grad");
    t.weight_grad = read("weight_grad");
    for (std::size_t s = 0; s < stages; ++s) t.backward.push_back(t.input_grad[s] + t.weight_grad[s]);
  } else {
    t.backward = read("backward");
  }
  t.hop = v.integer_or("hop", 0, 0, longest);
  return t;
}

std::vector<std::uint32_t> read_caps(const options& o) {
  if (o.cap.empty()) return {};
  constexpr std::int64_t most = (std::int64_t{1} << 30) - 1;
  const auto numbers = number_list("--memory-cap", o.cap, 0, most,
                                   "one number up to " + std::to_string(most) + ", or one per rank such as 8,8,6,6");
  std::vector<std::uint32_t> caps(numbers.begin(), numbers.end());
  const auto ranks = static_cast<std::size_t>(*o.ranks);
  if (caps.size() == 1) caps.assign(ranks, caps.front());
  if (caps.size() != ranks)
    throw failure{
        2, "--memory-cap has " + std::to_string(caps.size()) + " numbers for " + std::to_string(ranks) + " ranks"};
  return caps;
}

/// The lists, and behind them how far they are from the best possible.
std::string as_json(const planner::schedule_plan& found) {
  std::string text = hocket::text::write_schedule_json(found.schedule);
  text.erase(text.find_last_of('}'));
  nlohmann::ordered_json more = {{"makespan", found.makespan}, {"lower_bound", found.lower_bound},
                                 {"gap", found.gap()},         {"proved", found.proved},
                                 {"found_by", found.found_by}, {"expansions", found.expansions}};
  if (found.stopped) more["stopped"] = true;
  return text + "," + more.dump().substr(1) + "\n";
}

void search(const options& o) {
  const pipeline::shape shape{*o.ranks, o.chunks, *o.micro_batches};
  if (const auto ok = pipeline::check(shape); !ok) fail(message(ok.error()));
  const stage_times t = read_times(o, static_cast<std::size_t>(shape.stages()));
  const std::vector<std::uint32_t> caps = read_caps(o);
  std::optional<search_guard> watch(std::in_place);
  const auto found = planner::solve({.shape = shape,
                                     .order = o.placement == "v" ? planner::stage_order::v : planner::stage_order::loop,
                                     .split_backward = o.backward == "split",
                                     .memory_cap = caps,
                                     .budget = o.budget},
                                    pipeline::stage_costs{.forward = t.forward,
                                                          .backward = t.backward,
                                                          .input_grad = t.input_grad,
                                                          .weight_grad = t.weight_grad,
                                                          .hop = t.hop},
                                    *watch);
  watch.reset();  // what follows is quick
  if (!found) fail(message(found.error()));
  std::string name(found->found_by);
  std::replace(name.begin(), name.end(), ' ', '-');
  char line[256];
  std::snprintf(line, sizeof line, "makespan=%lld lower_bound=%lld gap=%.6f proved=%s from=%s expansions=%lld%s",
                static_cast<long long>(found->makespan), static_cast<long long>(found->lower_bound), found->gap(),
                found->proved ? "yes" : "no", name.c_str(), static_cast<long long>(found->expansions),
                found->stopped ? " stopped=yes (Ctrl-C: the best so far)" : "");
  give(o.out, form(o.format) == "json" ? as_json(*found) : hocket::text::write_schedule_csv(found->schedule, {}), line);
}

}  // namespace

void add_pipeline_search(CLI::App& pipeline_command) {
  auto o = std::make_shared<options>();
  CLI::App* c = pipeline_command.add_subcommand(
      "search", "A schedule found by search, within a memory cap, with its distance from the best possible");
  c->add_option("-p,--ranks", o->ranks, "Pipeline ranks p")->type_name("P")->required()->check(fits_64_bits);
  c->add_option("-v,--chunks", o->chunks, "Chunks of the model per rank v (1)")->type_name("V")->check(fits_64_bits);
  c->add_option("-m,--micro-batches", o->micro_batches, "Micro-batches m")
      ->type_name("M")
      ->required()
      ->check(fits_64_bits);
  c->add_option(
       "--costs", o->costs,
       "JSON: ticks of forward, backward (or input_grad and weight_grad), each one number or one per stage; hop")
      ->type_name("FILE");
  c->add_option("--memory-cap", o->cap, "Most activations a rank holds: one number, or one per rank such as 8,8,6,6")
      ->type_name("N");
  c->add_option("--placement", o->placement, "loop (the default), or v: odd chunks walk back")
      ->check(CLI::IsMember({"loop", "v"}));
  CLI::Option* const whole =
      c->add_flag("--whole-backward", o->whole_backward, "Backwards in one piece (without it: in two halves)");
  // An older name of the flag: elsewhere --backward is ticks.
  c->add_option("--backward", o->backward, "")->check(CLI::IsMember({"split", "whole"}))->excludes(whole)->group("");
  c->add_option("--budget", o->budget,
                "Partial schedules of the beams; scales the other searches and the bounds (4000000)")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 40));
  c->add_option("--format", o->format, "torch (PyTorch's CSV; the default) or json")
      ->check(CLI::IsMember({"torch", "json"}));
  add_out(*c, o->out);
  c->callback([o] {
    if (o->whole_backward) o->backward = "whole";
    search(*o);
  });
}

}  // namespace hocket_cli
