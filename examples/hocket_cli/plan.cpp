// SPDX-License-Identifier: Apache-2.0
#include <hocket/timeline/chrome_trace.hpp>
#include <hocket/timeline/svg.hpp>

#include <cstdio>
#include <filesystem>
#include <memory>

#include "command.hpp"
#include "plan_step.hpp"

namespace hocket_cli {
namespace {

struct options {
  std::string file, out;
};

void plan(const options& o) {
  plan_input in = read_plan(o.file);
  settle(in);
  const step_plan p = plan_step(in);

  std::error_code failed;
  std::filesystem::create_directories(o.out, failed);
  if (failed) fail("cannot make the folder " + o.out + ": " + failed.message());
  const auto write = [&](const char* name, const std::string& data) {
    write_file((std::filesystem::path(o.out) / name).string(), data);
  };
  const std::string text = plan_as_text(in, p);
  write("report.txt", text);
  write("report.json", plan_as_json(in, p));
  write("timeline.svg", hocket::to_svg(p.timeline, {.title = in.title, .seconds = true}));
  write("trace.json", hocket::to_chrome_trace(p.timeline, {.process = "pipeline, simulated"}));
  write("schedule.csv", p.schedule_csv);
  if (p.tile_timeline)
    write("tiles.svg", hocket::to_svg(*p.tile_timeline, {.title = "Fused operator, cut", .seconds = true}));

  // The figures that people look for; every term stands in the report.
  write_file("", std::string_view(text).substr(0, text.find("\nCost\n") + 1));
  bool fits = true;
  for (const auto& m : p.cost.memory) fits = fits && in.fits(m);
  std::fprintf(stderr, "edges=%zu kept=%zu waits=%zu makespan_us=%.1f lower_bound_us=%.1f bubble=%.4f %s fits=%s\n",
               p.graph.rule_edges, p.graph.kept_edges, p.graph.waits, static_cast<double>(p.run.makespan) / 1e3,
               static_cast<double>(p.run.lower_bound) / 1e3, p.run.bubble(), report_summary(p.cost).c_str(),
               fits ? "yes" : "no");
}

}  // namespace

void add_plan(CLI::App& app) {
  auto o = std::make_shared<options>();
  CLI::App* command = app.add_subcommand(
      "plan", "The main job: dependencies, schedule, tiles, memory and cost of one training step, with pictures");
  command->add_option("file", o->file, "JSON file that names model, cluster, op graph and cost curves (docs/plan.md)")
      ->required()
      ->type_name("FILE");
  command->add_option("--out", o->out, "Folder for report.txt, report.json, timeline.svg, trace.json, …")
      ->required()
      ->type_name("DIR");
  command->callback([o] { plan(*o); });
}

}  // namespace hocket_cli
