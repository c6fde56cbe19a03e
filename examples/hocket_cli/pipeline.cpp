// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <hocket/pipeline.hpp>
#include <hocket/text/schedule_csv.hpp>
#include <hocket/timeline.hpp>

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>
#include <variant>
#include <vector>

#include "command.hpp"
#include "guesses.hpp"
#include "picture.hpp"
#include "pipeline_input.hpp"
#include "planner.hpp"

namespace hocket_cli {
namespace {

namespace pipeline = hocket::pipeline;
using hocket::ticks;
using options = pipeline_options;

[[noreturn]] void usage(const std::string& sentence) { throw failure{2, sentence}; }

pipeline::costs costs_of(const options& o) {
  const ticks input_grad = o.input_grad.value_or(1), weight_grad = o.weight_grad.value_or(1);
  ticks sum = 0;
  if (!o.backward && !hocket::checked_add(input_grad, weight_grad, sum))
    fail("--input-grad plus --weight-grad does not fit 64 bits");
  return {.forward = o.forward,
          .backward = {input_grad, weight_grad, o.backward.value_or(sum)},
          .hop = o.hop,
          .overlap = o.pair};
}

}  // namespace

pipeline::any_schedule schedule_of(const pipeline_options& o) {
  if (!o.ranks || !o.micro_batches) usage("a schedule by name needs --ranks and --micro-batches");
  const pipeline::shape s{.ranks = *o.ranks,
                          .chunks = o.chunks.value_or(pipeline::default_chunks(o.schedule)),
                          .micro_batches = *o.micro_batches};
  auto plan = pipeline::any_schedule::make(o.schedule, s,
                                           {.groups = o.groups.value_or("balanced"),
                                            .kappa = o.kappa.value_or(0),
                                            .slices = o.slices.value_or(1),
                                            .memory_cap = o.memory_cap.value_or(0),
                                            .times = costs_of(o)});
  using hocket::errc;
  if (plan) return std::move(plan).value();
  const errc code = plan.error().code;
  if (code == errc::unknown_schedule) usage(message(plan.error()) + schedules_near(o.schedule));
  if (code == errc::unknown_groups || code == errc::not_an_option) usage(message(plan.error()));
  fail(message(plan.error()));
}

pipeline::transfer_policy transfers_named(const std::string& name) {
  using enum pipeline::transfer_policy;
  if (name == "eager") return eager;
  if (name == "just-in-time") return just_in_time;
  if (name == "deferred") return deferred;
  if (name == "grouped") return grouped;
  return name == "barrier" ? barrier : none;
}

void add_schedule(CLI::App& command, pipeline_options& o) {
  std::string names;
  for (const auto name : pipeline::schedule_names) names += (names.empty() ? "" : ", ") + std::string(name);
  command.add_option("schedule", o.schedule, "The schedule by name: " + names)
      ->type_name("SCHEDULE")
      ->transform(schedule_named);
  command.add_option("-p,--ranks", o.ranks, "Pipeline ranks p")->type_name("P")->check(fits_64_bits);
  command
      .add_option("-v,--chunks", o.chunks, "Chunks of the model per rank v (1; 2 for zbv, v-half, v-min, dualpipev)")
      ->type_name("V")
      ->check(fits_64_bits);
  command.add_option("-m,--micro-batches", o.micro_batches, "Micro-batches m")->type_name("M")->check(fits_64_bits);
  command.add_option(
      "--groups", o.groups,
      "How interleaved cuts m: balanced, last, first, paper, least-memory, auto, or sizes such as 3,4,2");
  command.add_option("--memory-cap", o.memory_cap, "Most activations on a rank, for --groups least-memory and auto")
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{INT32_MAX}));
  command.add_option("--kappa", o.kappa, "Forwards run ahead per rank below: 2, or 1 for less memory")
      ->check(CLI::Range(1, 2));
  command.add_option("--slices", o.slices, "Sequence slices per micro-batch, for seq-1f1b (1)")
      ->type_name("N")
      ->check(fits_64_bits);
}

namespace {

/// Calls use(policy) with the times, links and bytes that the options name, and returns what it returns.
template <class Plan, class Use>
auto with_times(const options& o, const Plan& plan, Use&& use) {
  const std::size_t stages = std::size_t{plan.ranks()} * plan.chunks();
  const bool weighed = !o.activation_bytes.empty();
  if (!weighed && o.transfer == 0) return use(costs_of(o));
  const std::vector<std::int64_t> time(stages, o.transfer);
  const pipeline::with_links<pipeline::costs> links{costs_of(o), time, 1};
  if (!weighed) return use(links);
  std::vector<std::int64_t> bytes = o.activation_bytes;
  if (bytes.size() == 1) bytes.resize(stages, bytes[0]);
  if (bytes.size() != stages)
    usage("--activation-bytes has " + std::to_string(bytes.size()) + " values; give one, or one for each of the " +
          std::to_string(stages) + " stages");
  return use(pipeline::with_memory<pipeline::with_links<pipeline::costs>>{links, bytes});
}

/// The chain of actions that makes the run as long as it is, as CSV.
template <class Plan>
void write_critical_path(const options& o, const Plan& plan) {
  actions_of(plan, 1u << 24, "for a critical path");
  // What is held takes no time.
  options timed = o;
  timed.activation_bytes.clear();
  const auto path = with_times(timed, plan, [&](const auto& times) { return pipeline::critical_path(plan, times); });
  if (!path) fail(message(path.error()));
  const bool sliced = pipeline::slices_of(plan) > 1;
  std::string rows = "rank,step,action,start,finish\n";
  for (const auto& x : *path)
    rows += std::to_string(x.rank) + ',' + std::to_string(x.step) + ',' + hocket::text::action_token(x.action, sliced) +
            ',' + std::to_string(x.start) + ',' + std::to_string(x.finish) + '\n';
  write_file(o.critical_path, rows);
}

/// The simulation of a schedule that has passed its check, or one sentence and exit 1.
template <class Plan>
pipeline::simulation simulated(const options& o, const Plan& plan, hocket::timeline* into) {
  std::pmr::vector<pipeline::blocked> cycle;
  if (!o.table.empty())
    if (const auto ok = pipeline::check(plan, &cycle); !ok) fail_with_cycle(o, plan, ok.error(), cycle);
  auto ran =
      with_times(o, plan, [&](const auto& times) { return pipeline::simulate(plan, times, {.into = into}, &cycle); });
  if (!ran) fail_with_cycle(o, plan, ran.error(), cycle);
  return std::move(ran).value();
}

/// Whether any rank runs an action of this kind.
template <class Plan>
bool runs(const Plan& plan, pipeline::action_kind kind) {
  for (std::uint32_t r = 0; r < plan.ranks(); ++r)
    for (std::uint32_t i = 0; i < plan.size(r); ++i)
      if (plan.at(r, i).kind() == kind) return true;
  return false;
}

/// The summary line. It names the times that were given for actions that the schedule does not have.
template <class Plan>
std::string summary_of(const options& o, const Plan& plan, const pipeline::simulation& ran) {
  char bubble[32];
  std::snprintf(bubble, sizeof bubble, "%.6f", ran.bubble());
  std::string unused;
  const auto name = [&](const char* option) { unused += (unused.empty() ? " unused=" : ",") + std::string(option); };
  if (o.backward && !runs(plan, pipeline::action_kind::backward)) name("--backward");
  if ((o.input_grad || o.weight_grad) && (o.backward || !runs(plan, pipeline::action_kind::backward))) {
    // Without --backward the two make up the whole one.
    if (o.input_grad && !runs(plan, pipeline::action_kind::input_grad)) name("--input-grad");
    if (o.weight_grad && !runs(plan, pipeline::action_kind::weight_grad)) name("--weight-grad");
  }
  return "makespan=" + std::to_string(ran.makespan) + " lower_bound=" + std::to_string(ran.lower_bound) +
         " bubble=" + bubble + unused;
}

constexpr std::uint64_t most_listed = 1u << 26;

template <class Plan>
void write_list(const options& o, const Plan& plan, bool reduce_grad) {
  const std::uint64_t actions = actions_of(plan, most_listed, "to list");
  const bool as_json = form(o.format) == "json";
  if (!as_json) {  // the idle cells of p ranks are some p^2
    std::uint64_t idle = 0;
    for (std::uint32_t r = 0; r < plan.ranks(); ++r) {
      const auto cells = hocket::text::idle_cells_of(plan, r);
      for (std::uint32_t i = 0; i < plan.size(r); ++i) idle += cells.before(i);
    }
    if (idle > most_listed)
      fail(std::to_string(idle) + " idle cells are too many to list (json has none): at most " +
           std::to_string(most_listed));
  }
  std::ostringstream line;
  line << "ranks=" << plan.ranks() << " chunks=" << plan.chunks() << " micro_batches=" << plan.micro_batches()
       << " actions=" << actions << " fingerprint=" << std::hex << pipeline::fingerprint_of(plan) << std::dec;
  if constexpr (requires { outlook_of(plan); })
    if (outlook_of(plan) == pipeline::interleaved_outlook::deadlocks) line << " deadlocks=yes";
  give(o.out,
       as_json ? hocket::text::write_schedule_json(plan)
               : hocket::text::write_schedule_csv(plan, {.reduce_grad = reduce_grad}),
       line.str());
}

void list(const options& o) {
  const pipeline::lowering_options with{.merge_halves = o.merge,
                                        .overlap = o.overlap,
                                        .recompute = o.recompute,
                                        .offload = o.offload,
                                        .unshard = o.unshard,
                                        .reduce_grad = o.reduce_grad,
                                        .transfers = transfers_named(o.comms),
                                        .lookahead = o.lookahead,
                                        .optimizer = o.optimizer,
                                        .post_validation = o.post_validation};
  const bool lowered = o.merge || o.overlap || o.recompute || o.offload > 0 || o.unshard > 0 || o.optimizer ||
                       o.post_validation || with.transfers != pipeline::transfer_policy::none;
  if (o.lookahead > 0 && with.transfers != pipeline::transfer_policy::just_in_time)
    usage("--lookahead goes with --comms just-in-time");
  const auto put = [&](const auto& plan) {
    if (!lowered) return write_list(o, plan, o.reduce_grad);
    actions_of(plan, 1u << 24, "to lower");
    std::pmr::vector<pipeline::blocked> cycle;
    if (with.transfers != pipeline::transfer_policy::none) {
      if (const auto ok = pipeline::check(plan, &cycle); !ok) fail_with_cycle(o, plan, ok.error(), cycle);
      const auto pairs = pipeline::lower(plan, {.merge_halves = o.merge, .overlap = o.overlap});
      if (o.overlap && pairs)  // pairs may wait for themselves
        if (const auto ok = pipeline::check(*pairs, &cycle); !ok) fail_with_cycle(o, *pairs, ok.error(), cycle);
    }
    const auto table = pipeline::lower(plan, with);
    if (!table) fail(message(table.error()));
    write_list(o, *table, false);
  };
  if (!o.table.empty()) return with_schedule(o, put);
  const pipeline::any_schedule chosen = schedule_of(o);
  chosen.visit(put);
}

void simulate(const options& o) {
  with_schedule(o, [&](const auto& plan) {
    const auto ran = simulated(o, plan, nullptr);
    std::string rows = "rank,busy,idle,finish,peak_in_flight";
    if (o.details) rows += ",warm_up,steady,drain,dependency,communication";
    rows += o.activation_bytes.empty() ? "\n" : ",peak_bytes\n";
    for (std::size_t r = 0; r < ran.ranks.size(); ++r) {
      const auto& x = ran.ranks[r];
      rows += std::to_string(r) + ',' + std::to_string(x.busy) + ',' + std::to_string(x.idle) + ',' +
              std::to_string(x.finish) + ',' + std::to_string(x.peak_in_flight);
      const auto& idle = x.idle_by;
      if (o.details)
        for (const ticks t : {idle.warm_up, idle.steady, idle.drain, idle.dependency, idle.communication})
          rows += ',' + std::to_string(t);
      if (!o.activation_bytes.empty()) rows += ',' + std::to_string(x.peak_bytes);
      rows += '\n';
    }
    if (!o.critical_path.empty()) write_critical_path(o, plan);
    give(o.out, rows, summary_of(o, plan, ran));
  });
}

void draw(const options& o) {
  with_schedule(o, [&](const auto& plan) {
    actions_of(plan, 1u << 20, "to draw");
    hocket::timeline drawn;
    const auto ran = simulated(o, plan, &drawn);
    std::string title = (o.table.empty() ? o.schedule : o.table) + " · " + std::to_string(plan.ranks()) + " ranks · " +
                        std::to_string(plan.chunks()) + (plan.chunks() == 1 ? " chunk · " : " chunks · ") +
                        std::to_string(plan.micro_batches()) + " micro-batches";
    if (pipeline::directions_of(plan) > 1) title += " each way";
    if (const std::uint32_t s = pipeline::slices_of(plan); s > 1) title += " of " + std::to_string(s) + " slices";
    if (o.schedule == "interleaved") title += " · groups " + o.groups.value_or("balanced");
    const std::string format = form(picture_format(o.format, o.out));
    const bool trace = format == "trace" || format == "json";  // a trace is JSON
    const hocket::svg_options as_svg{.title = title};
    const hocket::chrome_trace_options as_trace{.process = title};
    const std::string left_out = trace             ? left_out_of_chrome_trace(drawn, as_trace)
                               : format == "ascii" ? std::string()
                                                   : left_out_of_svg(drawn, as_svg);
    if (!left_out.empty()) std::fprintf(stderr, "the picture is not whole: %s\n", left_out.c_str());
    const std::string summary = summary_of(o, plan, ran);
    if (format == "png") return give_png(o.out, to_svg(drawn, as_svg), summary);
    give(o.out,
         trace               ? to_chrome_trace(drawn, as_trace)
         : format == "ascii" ? hocket::to_ascii(drawn, {.curve_rows = 2})
                             : to_svg(drawn, as_svg),
         summary);
  });
}

void check(const options& o) {
  using enum pipeline::communication;
  std::vector<pipeline::communication> models;
  if (o.communication == "buffered" || o.communication == "all") models.push_back(buffered);
  if (o.communication == "rendezvous" || o.communication == "all") models.push_back(rendezvous);
  if (o.communication == "stream" || o.communication == "all") models.push_back(stream);
  if (o.communication == "batched" || o.communication == "all") models.push_back(batched);
  const auto plan = value_or_fail(hocket::text::parse_schedule_csv(read_file(o.table)), o.table);
  for (const pipeline::communication model : models) {
    std::pmr::vector<pipeline::blocked> cycle;
    const auto ok = pipeline::check(plan, model, &cycle);
    if (ok) continue;
    options asked = o;
    constexpr const char* names[] = {"buffered", "rendezvous", "stream", "batched"};
    if (models.size() > 1 && !cycle.empty()) asked.table += std::string(" under ") + names[static_cast<int>(model)];
    fail_with_cycle(asked, plan, ok.error(), cycle);
  }
  std::ostringstream line;
  line << "ranks=" << plan.ranks() << " chunks=" << plan.chunks() << " micro_batches=" << plan.micro_batches()
       << " slices=" << plan.slices();
  give(o.out, this_run().json ? "{\"version\":1,\"ok\":true}\n" : "ok\n", line.str());
}

CLI::App* add(CLI::App& parent, const char* name, const char* description, options& o, void (*run)(const options&)) {
  CLI::App* command = parent.add_subcommand(name, description);
  add_out(*command, o.out);
  command->callback([&o, run] { run(o); });
  return command;
}

void add_costs(CLI::App& command, options& o) {
  constexpr ticks most = INT64_MAX;
  const auto time = [&](const char* name, auto& value, const char* what) {
    command.add_option(name, value, what)->type_name("T")->check(CLI::Range(ticks{0}, most))->check(fits_64_bits);
  };
  time("--forward", o.forward, "Ticks of a chunk's forward (1)");
  time("--backward", o.backward, "Ticks of its whole backward (input-grad + weight-grad)");
  time("--input-grad", o.input_grad, "Ticks of the backward's first half (1)");
  time("--weight-grad", o.weight_grad, "Ticks of its second half (1)");
  time("--hop", o.hop, "Ticks from one rank to another (0)");
}

void add_run(CLI::App& command, options& o) {
  command.add_option("--table", o.table, "A schedule in PyTorch's CSV dialect")->type_name("FILE");
  command.add_option("--transfer", o.transfer, "Ticks for which a transfer occupies the link, before the hop (0)")
      ->type_name("T")
      ->check(CLI::Range(ticks{0}, ticks{1} << 40));
  command.add_option("--pair", o.pair, "Time of two actions at once, in percent of their sum (100)")
      ->type_name("PERCENT")
      ->check(CLI::Range(ticks{1}, ticks{100}));
}

void add_list(CLI::App& group, options& o) {
  CLI::App* c = add(group, "list", "The list of every rank", o, list);
  add_schedule(*c, o);
  add_costs(*c, o);
  c->add_option("--table", o.table, "A schedule in PyTorch's CSV dialect, to lower")->type_name("FILE");
  c->add_option("--comms", o.comms, "Sends and receives: none, eager, just-in-time, deferred, grouped, barrier")
      ->check(CLI::IsMember({"none", "eager", "just-in-time", "deferred", "grouped", "barrier"}));
  add_lookahead(*c, o);
  add_unshard(*c, o);
  c->add_option("--offload", o.offload, "Move activations off the device and back N actions before their use")
      ->type_name("N")
      ->check(CLI::Range(1, 64));
  add_pairing(*c, o);
  c->add_flag("--recompute", o.recompute, "Recompute activations before each backward");
  c->add_flag("--optimizer", o.optimizer, "End each rank with the optimizer");
  c->add_flag("--post-validation", o.post_validation, "and with the validation of its step");
  c->add_option("--format", o.format, "torch (PyTorch's CSV; the default) or json")
      ->check(CLI::IsMember({"torch", "json"}));
  c->add_flag("--reduce-grad", o.reduce_grad,
              "REDUCE_GRAD for each stage: at the end, or after its last backward if anything else is inserted");
}

}  // namespace

void add_lookahead(CLI::App& command, pipeline_options& o) {
  command
      .add_option("--lookahead", o.lookahead, "With --comms just-in-time: receive N computations ahead of the use (0)")
      ->type_name("N")
      ->check(CLI::Range(0, 1024));
}

void add_pairing(CLI::App& command, pipeline_options& o) {
  command.add_flag("--merge", o.merge, "An input gradient and the weight gradient after it become one backward");
  command.add_flag("--overlap", o.overlap, "A forward and the backward after it become a pair that runs at once");
}

void add_unshard(CLI::App& command, pipeline_options& o) {
  command.add_option("--unshard", o.unshard, "Gather sharded weights, for at most N stages at a time (PyTorch: 3)")
      ->type_name("N")
      ->check(CLI::Range(1, 64));
}

void add_pipeline(CLI::App& app) {
  CLI::App* group = app.add_subcommand("pipeline", "In what order each rank runs its pieces");
  group->require_subcommand(1);
  static options o;  // one sub-command runs per process

  add_list(*group, o);
  CLI::App* c = add(*group, "simulate", "Makespan, idle time and activations held, with the lower bound", o, simulate);
  add_schedule(*c, o);
  add_costs(*c, o);
  add_run(*c, o);
  c->add_flag("--details", o.details, "Also where the idle time comes from");
  c->add_option("--activation-bytes", o.activation_bytes,
                "Bytes that a forward keeps for its backward: one number, or one per stage (1,2,...); adds peak_bytes")
      ->type_name("N,...")
      ->delimiter(',')
      ->expected(1, 65'536)
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 40));
  c->add_option("--critical-path", o.critical_path, "Also the chain of actions that makes the run so long, as CSV")
      ->type_name("FILE")
      ->check(has_folder);

  c = add(*group, "check", "Whether a table is complete and free of deadlock", o, check);
  c->add_option("table,--table", o.table, "A schedule in PyTorch's CSV dialect")->type_name("FILE")->required();
  c->add_option("--communication", o.communication,
                "How transfers block: buffered (the default), rendezvous, stream, batched, or all of them")
      ->check(CLI::IsMember({"buffered", "rendezvous", "stream", "batched", "all"}));

  c = add(*group, "draw", "A picture of a simulated run", o, draw);
  add_schedule(*c, o);
  add_costs(*c, o);
  add_run(*c, o);
  c->add_option("--format", o.format,
                "svg, trace (chrome://tracing, ui.perfetto.dev), ascii or png; not given: what the name of --out ends "
                "in (.svg, .json, .txt, .png), ascii on a terminal, else svg")
      ->check(CLI::IsMember({"svg", "trace", "ascii", "png"}));

  add_pipeline_buffers(*group);
  add_pipeline_ranks(*group);
  add_pipeline_prefill(*group);
  add_pipeline_compare(*group);
  add_pipeline_schedules(*group);
  add_pipeline_search(*group);
}

}  // namespace hocket_cli
