// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// hocket profile: where the time of a measured step went.
#include "profile.hpp"

#include <hocket/interop/ascend/join_ir.hpp>
#include <hocket/interop/ascend/profile_samples.hpp>
#include <hocket/interop/ascend/profile_timeline.hpp>
#include <hocket/interop/ascend/step_breakdown.hpp>
#include <hocket/timeline/chrome_trace.hpp>
#include <hocket/timeline/svg.hpp>

#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ir.hpp"
#include "profile_ranks.hpp"

namespace hocket_cli {

namespace ascend = hocket::ascend;

namespace {

void draw(const ascend::profile& p, const profile_question& q) {
  if (q.svg.empty() && q.trace.empty()) return;
  if (p.kernels.empty()) fail("there is nothing to draw: no file holds runs of ops");
  const hocket::timeline drawn = value_or_fail(ascend::to_timeline(p.kernels), q.files.front());
  std::vector<std::string> names;
  for (const ascend::kernel& k : p.kernels) names.push_back(k.name);
  names.emplace_back("nothing runs");
  const ascend::step_breakdown b = ascend::break_down(p.kernels);
  const auto ms = [](ascend::nanoseconds t) { return fixed(static_cast<double>(t.count()) / 1e6, 2) + " ms"; };
  const std::string words = ms(b.span) + ": computing " + ms(b.computing) + ", exposed communication " + ms(b.exposed) +
                            ", nothing runs " + ms(b.idle);
  const auto say = [](const std::string& file, const std::string& left_out) {
    if (!left_out.empty()) std::fprintf(stderr, "%s is not whole: %s\n", file.c_str(), left_out.c_str());
  };
  if (!q.svg.empty()) {
    const hocket::svg_options as_svg{
        .title = q.files.front(), .subtitle = words, .seconds = true, .shade = "layer", .names = names};
    write_file(q.svg, to_svg(drawn, as_svg));
    say(q.svg, left_out_of_svg(drawn, as_svg));
  }
  if (!q.trace.empty()) {
    const hocket::chrome_trace_options as_trace{.process = q.files.front(), .names = names};
    write_file(q.trace, to_chrome_trace(drawn, as_trace));
    say(q.trace, left_out_of_chrome_trace(drawn, as_trace));
  }
}

void only_step(ascend::profile& p, std::int64_t step) {
  if (step < 0) return;
  std::erase_if(p.kernels, [&](const ascend::kernel& k) { return k.step != step; });
  if (p.kernels.empty()) fail("no op belongs to step " + std::to_string(step));
}

std::optional<profile_dump> join_dump(ascend::profile& p, const profile_question& q) {
  if (q.dump.empty()) return std::nullopt;
  if (p.kernels.empty()) fail("--ir joins runs of ops with a dump, but no file holds any");
  profile_dump dump{read_dump(q.dump), {}, 0};
  ascend::ir_join join = ascend::join_ir(p.kernels, dump.program);
  if (join.joined == 0)
    fail(q.dump + ": no op of the profile has its full scope in this dump, as in " + p.kernels.front().name);
  for (std::size_t i = 0; i < p.kernels.size(); ++i) {
    if (join.node_of[i] == hocket::no_id) continue;
    ascend::take_shapes(p.kernels[i], dump.program, join.node_of[i]);
    ascend::take_phase(p.kernels[i], dump.program, join.node_of[i]);
  }
  dump.node_of = std::move(join.node_of);
  dump.joined = join.joined;
  return dump;
}

// The pictures of many ranks.
void draw_ranks(const ranks_found& found, const profile_question& q) {
  if (!q.svg.empty()) write_file(q.svg, picture_of_ranks(found));
  if (!q.links_svg.empty()) write_file(q.links_svg, picture_of_links(found.links));
}

// Folders of several ranks: one after the other, so that memory holds the files of one.
void run_ranks(const profile_question& q, std::vector<rank_files>& ranks) {
  if (!q.dump.empty() || !q.samples.empty() || !q.trace.empty())
    fail("--ir, --samples and --trace are for one rank, but the folders hold " + std::to_string(ranks.size()) + ": " +
         ranks[0].name + ", " + ranks[1].name + (ranks.size() > 2 ? ", ..." : ""));
  ranks_found found;
  for (rank_files& rank : ranks) {
    found.add(rank, read_for(rank, q));
  }
  found.compare(q.stages);
  draw_ranks(found, q);
  give(q.out, form(q.format) == "json" ? ranks_as_json(found) : ranks_as_text(found, q.top),
       "ranks=" + std::to_string(found.ranks.size()) + " slow_ranks=" + std::to_string(found.slow.size()) +
           " slow_links=" + std::to_string(found.slow_links.size()) +
           " unused_files=" + std::to_string(found.unused.size()));
}

void run(const profile_question& q) {
  if (!q.against.empty()) return compare_measurements(q);
  std::vector<rank_files> ranks = ranks_of(q.files);
  if (ranks.size() > 1) return run_ranks(q, ranks);
  ascend::profile p = read_for(ranks.front(), q);
  const std::optional<profile_dump> dump = join_dump(p, q);
  if (!q.samples.empty()) write_file(q.samples, profile_samples(p, q));
  draw(p, q);
  if (!q.links_svg.empty()) write_file(q.links_svg, picture_of_links(ascend::sum_links(p.links)));
  const ascend::step_breakdown b = ascend::break_down(p.kernels);
  const auto ms = [](ascend::nanoseconds t) { return static_cast<double>(t.count()) / 1e6; };
  char line[320];
  std::snprintf(line, sizeof line,
                "ops=%zu steps=%zu totals=%zu collectives=%zu memory=%zu span_ms=%.3f computing_ms=%.3f "
                "exposed_ms=%.3f idle_ms=%.3f",
                p.kernels.size(), p.kernels.empty() ? p.steps.size() : ascend::break_down_steps(p.kernels).size(),
                p.totals.size(), p.collectives.size(), p.memory.size(), ms(b.span), ms(b.computing), ms(b.exposed),
                ms(b.idle));
  const std::vector<std::string>& unused = ranks.front().unused;
  give(q.out, form(q.format) == "json" ? profile_as_json(p, dump, q, unused) : profile_as_text(p, dump, q, unused),
       line);
}

void add_picture_options(CLI::App& command, profile_question& q) {
  command.add_option("--svg", q.svg, "Draw what ran into FILE; of many ranks, their times in each step")
      ->type_name("FILE")
      ->check(has_folder);
  command.add_option("--links-svg", q.links_svg, "Draw what links between ranks reach")
      ->type_name("FILE")
      ->check(has_folder);
  command.add_option("--trace", q.trace, "The same as a trace for ui.perfetto.dev")
      ->type_name("FILE")
      ->check(has_folder);
  CLI::Option* samples = command.add_option("--samples", q.samples, "Write the samples CSV of hocket tiling fit")
                             ->type_name("FILE")
                             ->check(has_folder);
  CLI::Option* of = command.add_option("--samples-of", q.samples_of,
                                       "Type of a matrix product (MatMulV2), or of a collective (hcom_allReduce_)");
  of->type_name("TYPE")->needs(samples);
  samples->needs(of);
  command
      .add_option("--samples-shape", q.samples_shape, "Inner length and columns of the products, if there are several")
      ->type_name("K,N")
      ->needs(of);
  command
      .add_option("--bytes-per-row", q.bytes_per_row, "Of a collective: sizes in rows of so many bytes, not in bytes")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40))
      ->type_name("N")
      ->needs(of);
}

}  // namespace

ascend::profile read_for(rank_files& rank, const profile_question& q) {
  ascend::profile p = read_profiles(rank);
  only_step(p, q.step);
  return p;
}

void add_profile(CLI::App& app) {
  const auto q = std::make_shared<profile_question>();
  CLI::App* command = app.add_subcommand("profile", "Where the time of a measured step went, from files of a profiler");
  command
      ->add_option(
          "files", q->files,
          "Files of one rank and run: kernel_details.csv, op_summary_*.csv, op_statistic.csv, trace_view.json,\n"
          "step_trace_time.csv, communication.json, memory_record.csv, cpu_op_*, traces of PyTorch; - for one;\n"
          "or folders as profilers write them, of one rank or of many")
      ->type_name("FILE...")
      ->required();
  command
      ->add_option(
          "--against", q->against,
          "Files or folders of another measurement: the files before, these after, and what explains the change")
      ->type_name("FILE...");
  command->add_option("--ir", q->dump, "A dump of MindSpore's IR of the same run: inputs and strategy beside each op")
      ->type_name("DUMP");
  command->add_option("--top", q->top, "So many ops, gaps and collectives")
      ->check(CLI::Range(1, 100000))
      ->type_name("N");
  command->add_option("--by", q->by, "Add up ops by type, or by type and shapes")
      ->check(CLI::IsMember(std::vector<std::string>{"type", "shape"}))
      ->capture_default_str();
  command->add_option("--gap-us", q->gap_us, "Least length of a gap, microseconds")
      ->check(is_number(0, 1e12, "number from 0 to 10^12"))
      ->capture_default_str();
  command->add_option("--step", q->step, "This step alone")->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 62));
  command
      ->add_option("--stages", q->stages,
                   "Of many ranks: so many pipeline stages, one after the other in the order of the ranks' numbers")
      ->check(CLI::Range(1, 1'000'000))
      ->type_name("N");
  command->add_option("--format", q->format, "text or json")
      ->check(CLI::IsMember(std::vector<std::string>{"text", "json"}))
      ->capture_default_str();
  add_picture_options(*command, *q);
  add_out(*command, q->out);
  command->callback([q] { run(*q); });
}

}  // namespace hocket_cli
