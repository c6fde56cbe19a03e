// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// hocket pipeline compare: the schedules that are named, or what each way to cut micro-batches into groups costs, over
// many shapes.
#include <hocket/pipeline/any_schedule.hpp>
#include <hocket/pipeline/bound.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include "command.hpp"
#include "schedules.hpp"

namespace hocket_cli {
namespace {

namespace pipeline = hocket::pipeline;
using hocket::ticks;

struct comparison {
  std::vector<std::int64_t> ranks, chunks{2}, micro_batches;
  std::vector<std::string> schedules;
  ticks forward = 10, backward = 20, hop = 1;
  std::int64_t memory_cap = 0;
  std::string out;
};

struct policy {
  const char* name;
  const char* groups;
  std::uint32_t kappa;
};
constexpr policy policies[] = {
    {"balanced", "balanced", 2}, {"balanced", "balanced", 1}, {"last", "last", 2},
    {"last", "last", 1},         {"first", "first", 2},       {"first", "first", 1},
    {"paper", "paper", 2},       {"paper", "paper", 1},       {"least-memory", "least-memory", 1},
    {"auto", "auto", 0}};

/// The makespan, or -1 if the schedule deadlocks; any other failure ends the command.
ticks makespan_of(const pipeline::any_schedule& plan, const pipeline::costs& c, pipeline::workspace& room) {
  const auto ran = pipeline::run(plan, c, room);
  if (!ran && ran.error().code != hocket::errc::deadlock) fail(message(ran.error()));
  return ran ? ran->makespan : -1;
}

template <class Plan>
std::uint32_t kappa_of(const Plan& plan) {
  if constexpr (requires { options_of(plan); }) return options_of(plan).kappa;
  else return 0;
}

std::string cell(ticks value) { return value < 0 ? std::string("deadlock") : std::to_string(value); }

void compare(const comparison& o) {
  std::string rows = "ranks,chunks,micro_batches,groups,kappa,peak,lower_bound,makespan,makespan_with_hops,exposed\n";
  pipeline::workspace room;
  std::size_t shapes = 0, lines = 0;
  if (o.ranks.size() * o.chunks.size() * o.micro_batches.size() > 10'000) fail("more than 10000 shapes to compare");
  for (const std::int64_t p : o.ranks)
    for (const std::int64_t v : o.chunks)
      for (const std::int64_t m : o.micro_batches) {
        const pipeline::shape s{.ranks = p, .chunks = v, .micro_batches = m};
        const auto bound = pipeline::makespan_bound(s, o.forward, o.backward);
        if (!bound) fail(message(bound.error()));
        if (p * v * m > (1 << 22)) fail(std::to_string(p * v * m) + " stages x micro-batches are too many to compare");
        ++shapes;
        for (const policy& x : policies) {
          pipeline::any_schedule_options with{.groups = x.groups, .kappa = x.kappa};
          with.times = {.forward = o.forward, .backward = o.backward, .hop = o.hop};
          if (x.kappa == 0 || std::string_view(x.groups) == "least-memory") with.memory_cap = o.memory_cap;
          const auto plan = pipeline::any_schedule::make("interleaved", s, with);
          if (!plan) {
            if (plan.error().code == hocket::errc::out_of_range && o.memory_cap != 0) continue;  // nothing so small
            fail(message(plan.error()));
          }
          pipeline::costs still = with.times;
          still.hop = 0;
          const ticks plain = makespan_of(*plan, still, room), moving = makespan_of(*plan, with.times, room);
          std::uint32_t kappa = x.kappa;
          if (kappa == 0) kappa = plan->visit([](const auto& y) { return kappa_of(y); });
          rows += std::to_string(p) + ',' + std::to_string(v) + ',' + std::to_string(m) + ',' + x.name + ',' +
                  std::to_string(kappa) + ',' + std::to_string(plan->peak_in_flight(0)) + ',' + std::to_string(*bound) +
                  ',' + cell(plain) + ',' + cell(moving) + ',' + (moving < 0 ? "" : std::to_string(moving - plain)) +
                  '\n';
          ++lines;
        }
      }
  give(o.out, rows, "shapes=" + std::to_string(shapes) + " rows=" + std::to_string(lines));
}

}  // namespace

void add_pipeline_compare(CLI::App& group) {
  static comparison o;  // one sub-command runs per process
  CLI::App* c = group.add_subcommand(
      "compare", "Makespan, activations and bubble of schedules, or of every group rule of interleaved, over shapes");
  add_out(*c, o.out);
  c->add_option("schedules", o.schedules,
                "Schedules by name, or all: one row each (without a name: the group rules of interleaved)")
      ->type_name("SCHEDULE...");
  c->add_option("-p,--ranks", o.ranks, "Ranks, for example 4,8")->type_name("P,…")->delimiter(',')->required();
  c->add_option("-v,--chunks", o.chunks, "Chunks per rank (2)")->type_name("V,…")->delimiter(',');
  c->add_option("-m,--micro-batches", o.micro_batches, "Micro-batches, for example 8,9")
      ->type_name("M,…")
      ->delimiter(',')
      ->required();
  constexpr ticks most = INT64_MAX;
  c->add_option("--forward", o.forward, "Ticks of a chunk's forward (10)")->check(CLI::Range(ticks{1}, most));
  c->add_option("--backward", o.backward, "Ticks of its backward (20)")->check(CLI::Range(ticks{1}, most));
  c->add_option("--hop", o.hop, "Ticks from one rank to another (1)")->check(CLI::Range(ticks{0}, most));
  c->add_option("--memory-cap", o.memory_cap, "Most activations on a rank, for least-memory and auto (any)")
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{INT32_MAX}));
  c->footer(
      "Schedules run the same model: a chunk of a rank with v chunks takes 1/v of the rank's --forward and --backward. "
      "The table counts in smaller ticks: scale= of them are one of --forward.");
  c->callback([] {
    if (o.schedules.empty()) return compare(o);
    if (o.memory_cap != 0) throw failure{2, "--memory-cap goes with the group rules: leave the schedules out"};
    compare_named_schedules({o.schedules, o.ranks, o.chunks, o.micro_batches, o.forward, o.backward, o.hop, o.out});
  });
}

}  // namespace hocket_cli
