// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "plan_step.hpp"

namespace hocket_cli {
// NOLINTBEGIN(bugprone-unchecked-optional-access): what is read there, the caller has seen
namespace {

namespace cost = hocket::cost;
namespace planner = hocket::planner;
using hocket::interop::bound_seconds, hocket::interop::chosen, hocket::interop::gib_by_formula,
    hocket::interop::held_fixed, hocket::interop::layers_at, hocket::interop::level_name, hocket::interop::pasted_lists,
    hocket::interop::proof_of, hocket::interop::seconds_by_formula;

[[gnu::format(printf, 2, 3)]] void line(std::string& out, const char* format, ...) {
  std::va_list values, again;
  va_start(values, format);
  va_copy(again, values);
  const int length = std::vsnprintf(nullptr, 0, format, values);  // titles and file names are as long as they are
  const std::size_t at = out.size();
  if (length > 0) out.resize(at + static_cast<std::size_t>(length) + 1);
  if (length > 0) std::vsnprintf(out.data() + at, static_cast<std::size_t>(length) + 1, format, again);
  va_end(again);
  va_end(values);
  if (length > 0) out.back() = '\n';  // in the place of the terminator
  else out += '\n';
}

double ms(hocket::ticks ns) { return static_cast<double>(ns) / 1e6; }
double us(hocket::microseconds t) { return t.count(); }
double gib(const cost::rational& bytes) { return bytes.real() / bytes_per_gib; }
double above(double x, double bound) { return bound > 0 ? (x / bound - 1) * 100 : 0; }

void graph_section(std::string& out, const plan_input& in, const step_plan& p) {
  if (!p.graph) return;
  const auto& g = *p.graph;
  line(out, "Dependencies of %s (%s rules)", in.ops_file.c_str(), in.ordered ? "ordered" : "data");
  line(out, "  ops                    %9zu on %zu streams", g.ops, g.streams);
  line(out, "  edges before pruning   %9zu", g.rule_edges);
  line(out, "  edges after pruning    %9zu  (the transitive reduction)", g.kept_edges);
  line(out, "  between streams        %9zu", g.cross_stream_edges);
  line(out, "  event waits needed     %9zu  (the fewest that keep the order)", g.waits);
  out += '\n';
}

void pipeline_section(std::string& out, const plan_input& in, const step_plan& p) {
  line(out, "Pipeline: %s%s%s, %lld ranks x %lld chunks, %lld micro-batches", in.schedule.name.c_str(),
       in.schedule.name == "interleaved" ? ", groups " : "",
       in.schedule.name == "interleaved" ? in.schedule.groups.c_str() : "", static_cast<long long>(in.parallel.pp),
       static_cast<long long>(in.parallel.vp), static_cast<long long>(in.micro_batches()));
  if (!p.found_by.empty())
    line(out, "  schedule               searched for (none is named), found by: %s", p.found_by.c_str());
  const auto& s = p.stages;
  line(out, "  stage times            forward %.3f ms, backward %.3f ms; last stage %.3f and %.3f (%s)",
       s.front().forward.count() * 1e3, s.front().backward.count() * 1e3, s.back().forward.count() * 1e3,
       s.back().backward.count() * 1e3,
       in.measured             ? "measured"
       : in.timed_by_machine() ? "predicted from the rates of the machine"
                               : "predicted from FLOPs, peak and efficiency");
  line(out, "  hop between ranks      %.3f ms", p.hop.count() * 1e3);
  line(out, "  makespan               %9.3f ms", ms(p.run.makespan));
  line(out, "  lower bound            %9.3f ms  (makespan is %.2f %% above)", ms(p.run.lower_bound),
       above(static_cast<double>(p.run.makespan), static_cast<double>(p.run.lower_bound)));
  line(out, "  bubble                 %9.2f %%", p.run.bubble() * 100);
  line(out, "  rank      busy ms      idle ms   peak in flight (chunks)");
  for (std::size_t r = 0; r < p.run.ranks.size(); ++r)
    line(out, "  %4zu %12.3f %12.3f %12u", r, ms(p.run.ranks[r].busy), ms(p.run.ranks[r].idle),
         p.run.ranks[r].peak_in_flight);
  if (p.calls) line(out, "  calls of all ranks     %s (hocket ranks)", p.calls->summary().c_str());
  out += '\n';
}

// Which layers each stage runs, what they compute again, and the lists to paste.
void split_section(std::string& out, const plan_input& in, const step_plan& p) {
  if (!p.why_even.empty()) line(out, "Split: even, because %s\n", p.why_even.c_str());
  if (!p.split) return;
  const planner::layer_split& s = *p.split;
  std::vector<std::string> names;
  for (const cost::recompute_choice& how : s.levels) names.push_back(level_name(how, in.replay));
  line(out, "Split of the layers: %s", s.searched ? "searched for, because the file leaves it open" : "as given");
  std::string head = "  stage   rank   layers";
  for (const auto& name : names) head += std::string(name.size() < 11 ? 12 - name.size() : 1, ' ') + name;
  line(out, "%s", head.c_str());
  for (std::size_t i = 0; i < s.plan.stages.size(); ++i) {
    const auto& stage = s.plan.stages[i];
    char text[64];
    std::snprintf(text, sizeof text, "  %5zu %6u %8lld", i, stage.rank, static_cast<long long>(stage.layers));
    std::string row = text;
    for (std::size_t w = 0; w < names.size(); ++w) {
      std::snprintf(text, sizeof text, "%*lld", static_cast<int>(std::max<std::size_t>(12, names[w].size() + 1)),
                    static_cast<long long>(layers_at(stage, w)));
      row += text;
    }
    line(out, "%s", row.c_str());
  }
  if (s.step_seconds > 0) {
    line(out, "  all micro-batches      %9.3f s, simulated%s", s.step_seconds,
         s.plan.proved ? ", proved: under this schedule no split and no levels are shorter" : "");
    if (!s.plan.proved) line(out, "  no shorter than        %9.3f s", bound_seconds(s));
    if (s.even_seconds > 0) line(out, "  the even split         %9.3f s with its best levels", s.even_seconds);
    else line(out, "  the even split         does not fit, whatever is computed again");
  }
  line(out, "  for MindFormers");
  out += pasted_lists(in, s);
  out += '\n';
}

void tiling_section(std::string& out, const plan_input& in, const step_plan& p) {
  if (!p.tiles) return;
  const auto& t = *p.tiles;
  line(out, "Fused operator: %lld rows, k %lld, n %lld", static_cast<long long>(in.fused->axis.rows),
       static_cast<long long>(in.fused->shape.k), static_cast<long long>(in.fused->shape.n));
  std::string tiles;
  for (const std::int64_t rows : t.tiles()) tiles += (tiles.empty() ? "" : " + ") + std::to_string(rows);
  line(out, "  tiles                  %s", tiles.c_str());
  line(out, "  predicted              %9.1f us", us(t.predicted));
  line(out, "  not cut                %9.1f us  (cutting saves %.1f %%)", us(t.serial),
       us(t.serial) > 0 ? (1 - us(t.predicted) / us(t.serial)) * 100 : 0);
  line(out, "  lower bound            %9.1f us", us(t.lower_bound));
  out += '\n';
}

void memory_section(std::string& out, const plan_input& in, const step_plan& p) {
  const double capacity = static_cast<double>(in.memory.capacity.count()) / bytes_per_gib,
               reserve = static_cast<double>(in.memory.reserve.count()) / bytes_per_gib;
  line(out, "Memory of each pipeline rank at its peak, GiB: of %.1f, %.1f are in reserve", capacity, reserve);
  line(out, "  rank   layers       states  activations   for a moment        peak   fits");
  for (const auto& m : p.cost.memory)
    line(out, "  %4lld %8lld %12.2f %12.2f %14.2f %11.2f   %s", static_cast<long long>(m.on_rank.rank),
         static_cast<long long>(m.on_rank.layers), gib(m.peak.static_bytes), gib(m.peak.kept_bytes),
         gib(m.peak.workspace_bytes + m.peak.transient_bytes()), gib(m.peak.total_bytes()), in.fits(m) ? "yes" : "NO");
  const cost::rank_memory& fullest = p.fullest();
  const double left = capacity - reserve - gib(fullest.peak.total_bytes());
  line(out, "  rank %lld needs most, %.*s: %.2f GiB are %s", static_cast<long long>(fullest.on_rank.rank),
       static_cast<int>(to_string(fullest.peak.moment()).size()), to_string(fullest.peak.moment()).data(),
       std::abs(left), left < 0 ? "missing" : "left");
  out += '\n';
}

// The one figure of the page. The report of costs has the same step by formulas, which take the bubble as even.
void step_section(std::string& out, const plan_input& in, const step_plan& p) {
  if (!has_predicted_step(p)) return;
  const double whole = seconds_of(p);
  line(out, "Step, predicted for %s", in.told.on->name.c_str());
  for (const named_part& x : predicted_step_parts(in, p))
    line(out, "  %-31s %9.4f s %6.1f %%", x.name, x.seconds, 100 * x.seconds / whole);
  line(out, "  %-31s %9.4f s", "step", whole);
  line(out, "  %-31s %9.1f", "tokens/s per device", tokens_per_second_per_device(in, whole));
  out += '\n';
}

// What the file left open, what was chosen for it, and what it was chosen from.
void choice_section(std::string& out, const plan_input& in, const step_plan& p) {
  if (!in.sizes) return;
  const planner::strategy_plan& c = in.sizes->searched;
  line(out, "Chosen, because the file leaves it open: the fastest that fits");
  for (const std::string& key : in.open) line(out, "  %-22s %s", key.c_str(), chosen(in, p, key).c_str());
  line(out, "  held fixed             %s", held_fixed(in, p).c_str());
  line(out, "  predicted step         %9.3f s with %.2f GiB on the fullest rank, %lld data-parallel ranks",
       seconds_of(p), gib(p.fullest().peak.total_bytes()), static_cast<long long>(in.parallel.dp));
  line(out, "  compared               %9lld named, %lld possible, %lld fit: each priced by formula or rejected",
       static_cast<long long>(c.named), static_cast<long long>(c.evaluated), static_cast<long long>(c.fitting));
  if (in.search_split)
    line(out, "  split by themselves    %9zu sizes, those quick or lean if all layers are alike; %zu fit",
         in.sizes->planned, in.sizes->planned_that_fit);
  else
    line(out, "  simulated              %9zu, the fastest by formula first; %zu fit", in.sizes->planned,
         in.sizes->planned_that_fit);
  line(out, "  proof                  %s", proof_of(*in.sizes, in.search_split).c_str());
  if (!c.front.empty())
    line(out, "  all layers alike       %9.3f s with %.2f GiB, by formula", seconds_by_formula(c.front.front()),
         gib_by_formula(c.front.front()));
  if (!c.front.empty())
    line(out, "  the leanest            %9.3f s with %.2f GiB, by formula", seconds_by_formula(c.front.back()),
         gib_by_formula(c.front.back()));
  for (const auto& x : c.best_beyond_memory)
    line(out, "  with more memory       %9.3f s with %.2f GiB, by formula", seconds_by_formula(x), gib_by_formula(x));
  for (std::size_t i = 0; i < planner::rejection_count; ++i)
    if (c.rejected[i] > 0)
      line(out, "  rejected               %9lld %s", static_cast<long long>(c.rejected[i]),
           std::string(to_string(static_cast<planner::rejection>(i))).c_str());
  out += '\n';
}

}  // namespace

std::string plan_as_text(const plan_input& in, const step_plan& p) {
  std::string out;
  line(out, "%s", in.title.c_str());
  line(out, "%lld devices: tp %lld, pp %lld, dp %lld, %lld chunks; global batch %lld x %lld tokens",
       static_cast<long long>(in.devices), static_cast<long long>(in.parallel.tp),
       static_cast<long long>(in.parallel.pp), static_cast<long long>(in.parallel.dp),
       static_cast<long long>(in.parallel.vp), static_cast<long long>(in.training.global_batch),
       static_cast<long long>(in.training.sequence));
  out += '\n';
  choice_section(out, in, p);
  graph_section(out, in, p);
  split_section(out, in, p);
  pipeline_section(out, in, p);
  step_section(out, in, p);
  memory_section(out, in, p);
  tiling_section(out, in, p);
  return out + "Cost\n" + report_as_text(p.cost, p.cost_context);
}

// NOLINTEND(bugprone-unchecked-optional-access)
}  // namespace hocket_cli
