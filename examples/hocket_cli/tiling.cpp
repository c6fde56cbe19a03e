// SPDX-License-Identifier: Apache-2.0
#include <hocket/text/samples_csv.hpp>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

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
  if (by == tiling::policy::pinned) throw failure{2, "tiling solve --policy " + o.policy + ": not yet"};

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

struct fit_options {
  std::string samples, out;
};

void fit(const fit_options& o) {
  const std::string where = o.samples == "-" ? "standard input" : o.samples;
  const auto samples = value_or_fail(hocket::text::parse_samples_csv(read_file(o.samples)), where);
  const hocket::curve::isotonic_fit fitted = value_or_fail(hocket::curve::fit_isotonic(samples), where);
  const hocket::curve::table_view points = fitted.curve.view();
  nlohmann::ordered_json out;
  out["version"] = 1;
  out["cost"] = {{"type", "table"},
                 {"rows", std::vector<double>(points.sizes().begin(), points.sizes().end())},
                 {"us", std::vector<double>(points.us().begin(), points.us().end())}};
  out["mean_error"] = fitted.mean_error;
  out["worst_error"] = fitted.worst_error;
  out["leave_one_out_error"] = fitted.leave_one_out_error;
  out["merged_samples"] = fitted.merged;
  out["pooled_sizes"] = fitted.pooled;
  write_file(o.out, out.dump() + "\n");
  std::fprintf(stderr, "samples=%zu sizes=%zu mean_error=%.4f worst_error=%.4f leave_one_out_error=%.4f\n",
               samples.size(), points.sizes().size(), fitted.mean_error, fitted.worst_error,
               fitted.leave_one_out_error);
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

  auto fit_from = std::make_shared<fit_options>();
  CLI::App* fit_command = parent->add_subcommand("fit", "A never-falling cost curve from measured samples, as JSON");
  fit_command
      ->add_option("--samples", fit_from->samples, "CSV size,time_us[,repeats] (size: rows), - for standard input")
      ->required()
      ->type_name("FILE");
  add_out(*fit_command, fit_from->out);
  fit_command->callback([fit_from] { fit(*fit_from); });
}

}  // namespace hocket_cli
