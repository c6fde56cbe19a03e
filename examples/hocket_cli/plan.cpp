// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <hocket/timeline/chrome_trace.hpp>
#include <hocket/timeline/svg.hpp>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>
#ifndef _WIN32
#include <sys/wait.h>
#include <unistd.h>
#endif

#include "command.hpp"
#include "cost_fit.hpp"
#include "measured.hpp"
#include "plan_lengths.hpp"
#include "plan_page.hpp"
#include "plan_start.hpp"
#include "plan_step.hpp"

namespace hocket_cli {
namespace {

struct options {
  std::string file, out;
  plan_wishes wishes;
  measured_options measured;
  length_options lengths;
  bool open = false, init = false;
};

/// Shows a page where there is a desktop; says why not otherwise.
void open_in_browser(const std::filesystem::path& page) {
  const bool desktop = std::getenv("DISPLAY") != nullptr || std::getenv("WAYLAND_DISPLAY") != nullptr;
  if (!desktop) {
    std::fprintf(stderr, "no desktop to open %s on: DISPLAY and WAYLAND_DISPLAY are not set\n", page.string().c_str());
    return;
  }
#ifdef _WIN32
  std::fprintf(stderr, "--open needs xdg-open: open %s yourself\n", page.string().c_str());
#else
  const pid_t child = fork();  // no shell: a file name is one argument, whatever is in it
  if (child == 0) {
    execlp("xdg-open", "xdg-open", page.c_str(), static_cast<char*>(nullptr));
    _exit(127);
  }
  int status = -1;
  if (child < 0 || waitpid(child, &status, 0) < 0 || status != 0)
    std::fprintf(stderr, "xdg-open could not open %s\n", page.string().c_str());
#endif
}

/// What the changes say that a reader of the text alone must know.
std::string said_of(const tried_changes& tried) {
  std::string out;
  for (const planned_change& x : tried.possible) {
    if (x.what != hocket::planner::offload_change) continue;
    char line[200];
    std::snprintf(line, sizeof line,
                  "A change: %s takes %.6f s a step, with %.2f GiB on the fullest rank; `hocket planner offload` says "
                  "which\n\n",
                  x.what.c_str(), x.step_seconds, static_cast<double>(x.bytes) / 1073741824.0);
    out += line;
  }
  if (!tried.nothing_fits()) return out;
  return out + "Nothing that was tried fits: neither this plan nor any of " + std::to_string(tried.possible.size()) +
         " changes of it, which report.html lists\n\n";
}

/// The pictures of a pipeline, and what they leave out of a large one, in words.
struct drawings {
  std::string svg, trace, left_out;
};
drawings draw(const plan_input& in, const hocket::timeline& t) {
  if (const std::string undrawn = why_undrawn(in); !undrawn.empty())
    return {"", "", "timeline.svg, trace.json, schedule.csv: " + undrawn + "\n\n"};
  const hocket::svg_options as_svg{.title = in.title, .seconds = true};
  const hocket::chrome_trace_options as_trace{.process = "pipeline, simulated", .most_events = 280'000};  // 32 MiB
  drawings out{hocket::to_svg(t, as_svg), hocket::to_chrome_trace(t, as_trace), ""};
  if (const std::string said = left_out_of_svg(t, as_svg); !said.empty())
    out.left_out += "timeline.svg: " + said + '\n';
  if (const std::string said = left_out_of_chrome_trace(t, as_trace); !said.empty())
    out.left_out += "trace.json: " + said + '\n';
  if (!out.left_out.empty()) out.left_out += '\n';
  return out;
}

/// Writes all files of a plan. report.html is the last: a folder that has it is whole.
void write_files(const std::string& folder, const step_plan& p, drawings drawn, std::string text, std::string json,
                 std::string page) {
  std::vector<named_data> files{{"report.txt", std::move(text)}, {"report.json", std::move(json)}};
  std::vector<std::string> outdated;
  if (p.schedule_csv.empty()) {
    outdated = {"timeline.svg", "trace.json", "schedule.csv"};
  } else {
    files.push_back({"timeline.svg", std::move(drawn.svg)});
    files.push_back({"trace.json", std::move(drawn.trace)});
    files.push_back({"schedule.csv", p.schedule_csv});
  }
  if (p.tile_timeline)
    files.push_back({"tiles.svg", hocket::to_svg(*p.tile_timeline, {.title = "Fused operator, cut", .seconds = true})});
  else outdated.emplace_back("tiles.svg");
  files.push_back({"report.html", std::move(page)});
  write_folder(folder, files, outdated);
}

void plan(const options& o) {
  const started_plan started = start_plan(o.file, o.wishes);
  plan_input in = read_plan(started.plan, o.file);
  settle(in);
  const step_plan p = plan_step(in);

  const schedule_comparison schedules = compare_schedules(in);
  const tried_changes tried = try_changes(in, p, schedules);

  std::string text = plan_as_text(in, p), json = plan_as_json(in, p, schedules, tried);
  std::size_t figures = text.find("\nCost\n") + 1;  // those that people look for; every term stands in the report
  const bool writes = !o.out.empty();
  drawings drawn = writes ? draw(in, p.timeline) : drawings{};
  const std::string said = said_of(tried) + drawn.left_out;
  text.insert(figures, said);
  figures += said.size();
  std::string shown = text.substr(0, figures);
  std::optional<measured_report> measured;
  if (!o.measured.files.empty()) {
    const std::vector<hocket::cost::flop_count> counts =
        hocket::interop::other_counts(in.model, p.cost_context, in.file, command_errors());
    measured = compare_measured(o.measured, p.cost, p.cost_context, static_cast<double>(p.run.makespan) / 1e9, counts);
    const std::string compared = measured_as_text(*measured).substr(1) + '\n';
    shown += compared;
    text.insert(figures, compared);
    json = with_measured_json(std::move(json), *measured);
  }
  if (!o.lengths.lengths.empty()) {
    const lengths_report lengths = compare_lengths(in, p, o.lengths);
    const std::string told = lengths_as_text(lengths);
    shown += told;
    text.insert(figures, told);
    json = with_lengths_json(std::move(json), lengths, static_cast<std::size_t>(in.parallel.dp));
  }
  const std::string assumed = assumed_as_text(started.assumed);
  shown.insert(0, assumed);
  json = with_assumed_json(std::move(json), started.assumed);
  if (writes)
    write_files(o.out, p, std::move(drawn), assumed + text, json,
                plan_as_page(in, p, schedules, tried, measured ? &*measured : nullptr));

  bool fits = true;
  for (const auto& m : p.cost.memory) fits = fits && in.fits(m);
  char edges[128] = "", line[256];
  if (p.graph)
    std::snprintf(edges, sizeof edges, "edges=%zu kept=%zu waits=%zu ", p.graph->rule_edges, p.graph->kept_edges,
                  p.graph->waits);
  std::snprintf(line, sizeof line, "makespan_us=%.1f lower_bound_us=%.1f bubble=%.4f ",
                static_cast<double>(p.run.makespan) / 1e3, static_cast<double>(p.run.lower_bound) / 1e3,
                p.run.bubble());
  give("", this_run().json ? json : shown, edges + (line + report_summary(p.cost) + " fits=" + (fits ? "yes" : "no")));
  if (o.open) open_in_browser(std::filesystem::absolute(o.out) / "report.html");
}

}  // namespace

void add_plan(CLI::App& app) {
  auto o = std::make_shared<options>();
  CLI::App* command = app.add_subcommand(
      "plan", "The main job: dependencies, schedule, tiles, memory and cost of one training step, with pictures");
  command
      ->add_option("file", o->file,
                   "JSON file that names model, cluster, op graph and cost curves (docs/plan.md); or a model's "
                   "config.json, with --devices and --machine")
      ->type_name("FILE");
  command
      ->add_option("-o,--out", o->out, "Folder for report.html, report.txt, report.json, timeline.svg, trace.json, …")
      ->type_name("DIR");
  command->add_flag("--init", o->init, "Write a plan.json to start from, with its defaults and what they mean");
  add_plan_wishes(*command, o->wishes);
  add_measured(*command, o->measured);
  add_lengths(*command, o->lengths);
  add_json(*command);
  command->add_flag("--open", o->open, "Show report.html in a browser, where there is a desktop");
  command->callback([o] {
    if (o->init) return write_first_files(o->file, o->wishes, o->out);
    if (o->file.empty())
      throw failure{2,
                    "plan needs a FILE: a plan, or a config.json with --devices and --machine; --init writes a plan"};
    if (o->open && o->out.empty()) throw failure{2, "--open shows a page, which needs --out DIR"};
    plan(*o);
  });
}

}  // namespace hocket_cli
