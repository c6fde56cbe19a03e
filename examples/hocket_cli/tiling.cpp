// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <memory>

#include "command.hpp"
#include "json_fields.hpp"
#include "tiling_problem.hpp"

namespace hocket_cli {
namespace {

namespace tiling = hocket::tiling;

struct solve_options {
  std::string problem, policy = "auto", out;
};

void solve(const solve_options& o) {
  tiling::policy by = tiling::policy::automatic;
  for (int i = 0; i <= static_cast<int>(tiling::policy::pinned); ++i)
    if (name(static_cast<tiling::policy>(i)) == o.policy) by = static_cast<tiling::policy>(i);
  if (by == tiling::policy::pinned)
    throw failure{2, "hocket tiling solve --policy " + o.policy + ": not yet"};

  const std::string where = o.problem == "-" ? "standard input" : o.problem;
  const tiling::any_problem p = read_tiling_problem(parse_json(read_file(o.problem), where), where);
  const tiling::plan plan = value_or_fail(tiling::solve(p, by), where);
  write_file(o.out, tiling_answer(plan).dump() + "\n");
  std::fprintf(stderr, "tiles=%zu predicted_us=%.3f serial_us=%.3f lower_bound_us=%.3f gap=%.4f policy=%s\n",
               plan.tiles().size(), static_cast<double>(plan.predicted) / static_cast<double>(tiling::ticks_per_us),
               static_cast<double>(plan.serial) / static_cast<double>(tiling::ticks_per_us),
               static_cast<double>(plan.lower_bound) / static_cast<double>(tiling::ticks_per_us), plan.gap(),
               o.policy.c_str());
}

}  // namespace

void add_tiling(CLI::App& app) {
  CLI::App* parent = app.add_subcommand("tiling", "How to cut a fused operator so that computing hides communicating");
  parent->require_subcommand(1);

  auto options = std::make_shared<solve_options>();
  CLI::App* command = parent->add_subcommand("solve", "Tile lengths for a problem, as JSON");
  command->add_option("--problem", options->problem, "JSON file, - for standard input (form: docs/tiling.md)")
      ->required()
      ->type_name("FILE");
  command->add_option("--policy", options->policy, "Who decides")
      ->check(CLI::IsMember(
          {"auto", "documented", "documented-min", "one-plus-n", "lot", "exact", "uniform", "none", "pinned"}))
      ->capture_default_str();
  add_out(*command, options->out);
  command->callback([options] { solve(*options); });

  add_not_yet(*parent, "fit", "A cost curve from measured samples");
}

}  // namespace hocket_cli
