// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <hocket/curve.hpp>
#include <hocket/text/samples_csv.hpp>
#include <hocket/timeline/svg.hpp>

#include <cstdio>
#include <memory>
#include <memory_resource>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <hocket/interop/files/tiling_file.hpp>

#include "command.hpp"
#include "json_fields.hpp"

namespace hocket_cli {
namespace {

namespace tiling = hocket::tiling;

struct solve_options {
  std::string problem, policy = "auto", out, svg;
};

void solve(const solve_options& o) {
  const std::string where = o.problem == "-" ? "standard input" : o.problem;
  const tiling::any_problem p =
      hocket::interop::read_tiling_problem(parse_json(read_file(o.problem), where), where, "", command_errors());
  if (o.policy == "exact" && p.slowdown == tiling::contention::while_both)
    fail(where + ": \"contention\" is \"while-both\", but policy exact proves tilings for \"fixed\" alone");
  const tiling::plan plan = value_or_fail(tiling::solve(p, {.policy = tiling::parse_policy(o.policy).value()}), where);
  if (!o.svg.empty()) {
    const hocket::timeline drawn = value_or_fail(tiling::before_and_after(p, plan.tiles()), where);
    write_file(o.svg, hocket::to_svg(drawn, {.title = std::to_string(p.axis.rows) + " rows, " + o.policy + ": " +
                                                      std::to_string(plan.tiles().size()) + " tiles"}));
  }
  char line[256];
  std::snprintf(line, sizeof line, "tiles=%zu predicted_us=%.3f serial_us=%.3f lower_bound_us=%.3f gap=%.4f policy=%s",
                plan.tiles().size(), hocket::microseconds(plan.predicted).count(),
                hocket::microseconds(plan.serial).count(), hocket::microseconds(plan.lower_bound).count(), plan.gap(),
                o.policy.c_str());
  give(o.out, hocket::interop::tiling_answer(plan).dump() + "\n", line);
}

/// Measured times scatter by a few percent, rarely by ten; a curve this far off its own samples is worth a word.
constexpr double doubtful_error = 0.25;

struct fit_options {
  std::string samples, out;
  std::int64_t pieces = 0, advise = 0;
  std::vector<std::int64_t> range;
};

/// `answer` as a line of JSON with the member "repairs", which are written at once: there may be a million.
std::string with_repairs(const nlohmann::ordered_json& answer, std::span<const hocket::curve::repair> repairs) {
  const auto number = [](double x) { return nlohmann::ordered_json(x).dump(); };
  std::string text = answer.dump();
  text.back() = ',';
  text += "\"repairs\":[";
  for (const hocket::curve::repair& r : repairs) {
    if (&r != repairs.data()) text += ',';
    text.append("{\"kind\":\"").append(to_string(r.kind)).append("\",\"size\":").append(number(r.size));
    text.append(",\"from_us\":").append(number(r.before_us)).append(",\"to_us\":").append(number(r.after_us));
    text += '}';
  }
  text += "]}\n";
  return text;
}

template <class Fit>
void add_errors(nlohmann::ordered_json& out, const Fit& fitted) {
  out["mean_error"] = fitted.mean_error;
  out["worst_error"] = fitted.worst_error;
  out["leave_one_out_error"] = fitted.leave_one_out_error;
}

void fit(const fit_options& o) {
  namespace curve = hocket::curve;
  const std::string where = o.samples == "-" ? "standard input" : o.samples;
  const auto samples = table_or_fail(hocket::text::parse_samples_csv(read_file(o.samples)), where,
                                     "size,time_us or size,time_us,repeats");
  nlohmann::ordered_json out;
  std::pmr::vector<curve::repair> repairs;
  out["version"] = 1;
  if (o.pieces > 0) {
    curve::segment_fit fitted = value_or_fail(curve::fit_segments(samples, o.pieces), where);
    nlohmann::ordered_json pieces = nlohmann::ordered_json::array();
    const auto all = fitted.curve.all_pieces();
    for (const curve::segmented::piece& p : std::span(all).first(fitted.curve.size())) {
      nlohmann::ordered_json piece;
      if (p.below != curve::segmented::unbounded) piece["below"] = p.below;
      piece["coefficients"] = p.coefficients;
      pieces.push_back(piece);
    }
    // Over rows: a piece of a file counts MiB, and here a row is one.
    out["cost"] = {{"type", "piecewise"},
                   {"bytes_per_row", 1048576},
                   {"pieces", pieces},
                   {"domain", {fitted.domain.least, fitted.domain.most}}};
    add_errors(out, fitted);
    out["domain"] = {fitted.domain.least, fitted.domain.most};
    repairs = std::move(fitted.repairs);
  } else {
    curve::isotonic_fit fitted = value_or_fail(curve::fit_isotonic(samples), where);
    const curve::table_view points = fitted.curve.view();
    nlohmann::ordered_json& cost = out["cost"];  // piece by piece: lists in braces are copied
    cost["type"] = "table";
    cost["rows"] = points.sizes();
    cost["us"] = points.us();
    add_errors(out, fitted);
    out["merged_samples"] = fitted.merged;
    out["pooled_sizes"] = fitted.pooled;
    repairs = std::move(fitted.repairs);
  }
  if (o.advise > 0) {
    curve::interval wanted{1e300, 0};
    for (const curve::sample& s : samples) {
      wanted.least = s.size < wanted.least ? s.size : wanted.least;
      wanted.most = s.size > wanted.most ? s.size : wanted.most;
    }
    if (!o.range.empty()) wanted = {static_cast<double>(o.range[0]), static_cast<double>(o.range[1])};
    std::vector<double> next(static_cast<std::size_t>(o.advise));
    next.resize(value_or_fail(curve::sizes_to_measure(samples, wanted, next), where));
    out["measure_next"] = next;
  }
  const double off = out["mean_error"].get<double>();
  char line[256];
  std::snprintf(line, sizeof line,
                "samples=%zu mean_error=%.4f worst_error=%.4f leave_one_out_error=%.4f repairs=%zu%s", samples.size(),
                off, out["worst_error"].get<double>(), out["leave_one_out_error"].get<double>(), repairs.size(),
                off > doubtful_error ? " (doubtful: the curve is far off its own samples)" : "");
  give(o.out, with_repairs(out, repairs), line);
}

}  // namespace

void add_tiling(CLI::App& app) {
  CLI::App* parent = app.add_subcommand("tiling", "How to cut a fused operator so that computing hides communicating");
  parent->require_subcommand(1);

  auto options = std::make_shared<solve_options>();
  CLI::App* command = parent->add_subcommand("solve", "Tile lengths for a problem, as JSON");
  command->add_option("problem,--problem", options->problem, "JSON file, - for standard input (form: docs/tiling.md)")
      ->required()
      ->type_name("FILE");
  command->add_option("--policy", options->policy, "Who decides")
      ->check(CLI::IsMember(
          {"auto", "documented", "documented-min", "one-plus-n", "lot", "exact", "uniform", "none", "pinned"}))
      ->capture_default_str();
  command->add_option("--svg", options->svg, "Draw the operator before and after cutting into FILE")
      ->type_name("FILE")
      ->check(has_folder);
  add_out(*command, options->out);
  command->callback([options] { solve(*options); });

  auto fit_from = std::make_shared<fit_options>();
  CLI::App* fit_command = parent->add_subcommand("fit", "A never-falling cost curve from measured samples, as JSON");
  fit_command
      ->add_option("samples,--samples", fit_from->samples,
                   "CSV whose first line is size,time_us[,repeats] (size: rows), - for standard input")
      ->required()
      ->type_name("FILE");
  fit_command->add_option("--pieces", fit_from->pieces, "Straight pieces, at most so many, instead of every point")
      ->check(CLI::Range(1, 8))
      ->type_name("N");
  auto* advise = fit_command->add_option("--advise", fit_from->advise, "Also say which N sizes to measure next")
                     ->check(CLI::Range(1, 1000))
                     ->type_name("N");
  fit_command->add_option("--range", fit_from->range, "Least and largest size of interest (default: as measured)")
      ->expected(2)
      ->needs(advise)
      ->type_name("FROM TO");
  add_out(*fit_command, fit_from->out);
  fit_command->callback([fit_from] { fit(*fit_from); });
}

}  // namespace hocket_cli
