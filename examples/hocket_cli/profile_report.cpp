// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The answers of `hocket profile`, as text and as JSON.
#include <hocket/interop/ascend/link_rates.hpp>
#include <hocket/interop/ascend/operator_totals.hpp>
#include <hocket/interop/ascend/profile_samples.hpp>
#include <hocket/interop/ascend/rank_steps.hpp>
#include <hocket/interop/ascend/step_breakdown.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <vector>

#include "ir.hpp"
#include "profile_ranks.hpp"

namespace hocket_cli {

namespace ascend = hocket::ascend;
using ascend::kernel_phase;
using ascend::nanoseconds;
using nlohmann::ordered_json;

namespace {

double as_ms(nanoseconds t) { return static_cast<double>(t.count()) / 1e6; }
double as_us(nanoseconds t) { return static_cast<double>(t.count()) / 1e3; }
std::string ms(nanoseconds t) { return left(fixed(as_ms(t), 3), 11) + " ms"; }
double share(nanoseconds part, nanoseconds of) {
  return of.count() > 0 ? static_cast<double>(part.count()) / static_cast<double>(of.count()) : 0;
}
std::string percent(nanoseconds part, nanoseconds of) { return left(fixed(100 * share(part, of), 1), 6) + " %"; }
// A foreign name on one line.
std::string plain(std::string_view text) { return hocket::to_printable(text); }
std::string padded(std::string text, std::size_t width) {
  text.resize((std::max)(width, text.size()), ' ');
  return text;
}

// A line of the list that a step is taken apart into.
struct part {
  const char* name;
  nanoseconds time;
};
std::vector<part> parts_of(const ascend::step_breakdown& b, bool all = false) {
  std::vector<part> parts = {{"data", b.copying},
                             {"forward", b.of(kernel_phase::forward)},
                             {"recomputed", b.of(kernel_phase::recomputed)},
                             {"forward or recomputed", b.of(kernel_phase::forward_or_recomputed)},
                             {"backward", b.of(kernel_phase::backward)},
                             {"forward and backward", b.of(kernel_phase::forward_or_backward)},
                             {"optimizer", b.of(kernel_phase::optimizer)},
                             {"communication, exposed", b.exposed - b.exposed_receives},
                             {"waiting to receive", b.exposed_receives},
                             {"idle: scheduling", b.idle}};
  if (!all) std::erase_if(parts, [](const part& p) { return p.time.count() == 0; });
  return parts;
}

void put_step(std::string& out, const ascend::step_breakdown& b) {
  out += (b.step >= 0 ? "step " + std::to_string(b.step) : std::string("all ops")) + ": " + fixed(as_ms(b.span), 3) +
         " ms, " + std::to_string(b.kernel_count) + " ops\n";
  for (const part& p : parts_of(b)) out += "  " + padded(p.name, 24) + ms(p.time) + percent(p.time, b.span) + '\n';
  out += "  computing" + std::string(15, ' ') + ms(b.computing) + "; communication hidden beside it " +
         fixed(as_ms(b.hidden()), 3) + " ms\n";
}

// Many steps are one table: each part's median and spread, and the steps that are far above the others.
void put_many_steps(std::string& out, const std::vector<ascend::step_breakdown>& steps, const profile_question& q) {
  std::map<std::string, std::vector<nanoseconds>> times;  // by the name of a part
  std::vector<ascend::rank_step> own;
  for (const auto& b : steps) {
    for (const part& p : parts_of(b)) times[p.name].push_back(p.time);
    own.push_back(ascend::step_of(b));
  }
  for (auto& [name, of] : times) of.resize(steps.size());  // a step without the part: 0
  out += std::to_string(steps.size()) + " steps (ms)" + std::string(12, ' ') +
         "  median      least    quarter   3 quarters       most\n";
  const auto row = [&out](const std::string& name, const ascend::time_spread& s) {
    out += "  " + padded(name, 24);
    for (const nanoseconds t : {s.median, s.least, s.lower, s.upper, s.most}) out += left(fixed(as_ms(t), 3), 11);
    out += '\n';
  };
  row("step", ascend::spread_of(own, ascend::step_part::span));
  for (const part& p : parts_of(ascend::step_breakdown{}, true))
    if (const auto at = times.find(p.name); at != times.end()) row(p.name, ascend::spread_of(at->second));
  row("computing", ascend::spread_of(own, ascend::step_part::computing));
  const auto outliers = ascend::outliers_of(own);
  for (std::size_t i = 0; i < outliers.size() && i < static_cast<std::size_t>(q.top); ++i)
    out += "  far above the others: step " + std::to_string(own[outliers[i]].step) + ", " +
           fixed(as_ms(own[outliers[i]].of(ascend::step_part::span)), 3) + " ms\n";
  if (outliers.size() > static_cast<std::size_t>(q.top))
    out += "  ... " + std::to_string(outliers.size()) + " steps are far above the others\n";
  out += "  --step N takes one of them apart\n";
}

void put_operators(std::string& out, const ascend::profile& p, const profile_question& q) {
  const auto totals = ascend::total_operators(p.kernels, q.by == "shape");
  for (const bool communicates : {false, true}) {
    nanoseconds sum{};
    for (const auto& t : totals)
      if (t.communicates == communicates) sum = ascend::capped_sum(sum, t.total);
    if (sum.count() == 0) continue;
    out += communicates ? "\ncollectives that took most:\n" : "\nops that took most (of all ops' time):\n";
    std::int64_t shown = 0;
    for (const auto& t : totals) {
      if (t.communicates != communicates || ++shown > q.top) continue;
      out += ms(t.total) + percent(t.total, sum) + left(std::to_string(t.count), 6) + " x  " + plain(t.type);
      if (!t.shapes.empty()) out += " [" + plain(t.shapes) + "]";
      if (!t.core.empty() && !communicates) out += " on " + plain(t.core);
      if (t.flops > 0) out += ", " + fixed(t.flops_per_second() / 1e12, 3) + " TFLOP/s";
      if (t.flops > 0 && t.known != t.total)
        out += " (of " + fixed(100 * share(t.known, t.total), 0) + " % of its time)";
      out += '\n';
    }
  }
}

void put_runs(std::string& out, const ascend::profile& p, const profile_dump& dump, const profile_question& q) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < p.kernels.size(); ++i)
    if (dump.node_of[i] != hocket::no_id) order.push_back(i);
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const auto &x = p.kernels[a], &y = p.kernels[b];
    return x.duration != y.duration ? x.duration > y.duration : a < b;
  });
  out += "\nruns that took most, of the " + std::to_string(dump.joined) + " of " + std::to_string(p.kernels.size()) +
         " that are in the dump:\n";
  for (std::size_t i = 0; i < order.size() && i < static_cast<std::size_t>(q.top); ++i) {
    const ascend::kernel& k = p.kernels[order[i]];
    const std::uint32_t n = dump.node_of[order[i]];
    out += ms(k.duration) + "  " + plain(k.name) + '\n';
    out += std::string(16, ' ') + "line " + std::to_string(dump.program.node(n).line);
    if (!k.input_shapes.empty()) out += ", inputs " + plain(k.input_shapes);
    if (const auto cuts = dump.program.attribute(n, "in_strategy")) out += ", strategy " + plain(*cuts);
    const auto product = ascend::product_of(k);
    const auto time = static_cast<double>(k.duration.count());
    if (product && time > 0) out += ", " + fixed(static_cast<double>(product->flops()) / time / 1e3, 3) + " TFLOP/s";
    out += '\n';
  }
}

void put_gaps(std::string& out, const ascend::profile& p, const profile_question& q) {
  const auto gaps = ascend::find_gaps(p.kernels, nanoseconds(static_cast<std::int64_t>(q.gap_us * 1000)));
  if (gaps.empty()) return;
  nanoseconds sum{};
  for (const auto& g : gaps) sum += g.length();
  out += "\nnothing runs for at least " + fixed(q.gap_us, 0) + " us: " + std::to_string(gaps.size()) + " times, " +
         fixed(as_ms(sum), 3) + " ms\n";
  for (std::size_t i = 0; i < gaps.size() && i < static_cast<std::size_t>(q.top); ++i) {
    const auto &before = p.kernels[gaps[i].before], &behind = p.kernels[gaps[i].behind];
    out += ms(gaps[i].length()) + "  between " + plain(before.name) + " and " + plain(behind.name);
    out += before.step != behind.step ? ", between steps\n" : "\n";
  }
}

void put_exposed(std::string& out, const ascend::profile& p, const profile_question& q) {
  const auto exposed = ascend::find_exposed(p.kernels);
  if (exposed.empty()) return;
  out += "\nexposed communication, and what could have covered it:\n";
  for (std::size_t i = 0; i < exposed.size() && i < static_cast<std::size_t>(q.top); ++i) {
    const auto& e = exposed[i];
    const auto& k = p.kernels[e.kernel];
    out += ms(e.exposed) + " of " + fixed(as_ms(k.duration), 3) + "  " + plain(k.name);
    if (e.before != e.no_kernel) out += ", behind " + plain(p.kernels[e.before].name);
    if (e.behind != e.no_kernel) out += ", before " + plain(p.kernels[e.behind].name);
    out += "\n" + std::string(16, ' ');
    out += e.computing_behind.count() == 0
             ? "nothing computes between it and the next collective\n"
             : fixed(as_ms(e.computing_behind), 3) + " ms of computing follow before the next collective\n";
  }
}

std::string moved_text(hocket::bytes size, nanoseconds transit) {
  std::string out = with_commas(size.count()) + " bytes in " + fixed(as_ms(transit), 3) + " ms";
  const double rate = static_cast<double>(size.count()) / static_cast<double>(transit.count());
  return transit.count() > 0 ? out + ", " + fixed(rate, 2) + " GB/s" : out;
}

void put_tables(std::string& out, const ascend::profile& p, const profile_question& q) {
  if (!p.steps.empty()) {
    out +=
        "\nas the profiler itself says (ms):\n  " + padded("", 24) + "  computing    exposed     hidden       free\n";
    for (const auto& s : p.steps) {
      std::string name = s.kind.empty() ? "step " + s.step : s.kind + ' ' + s.index;
      if (name == "step ") name = "all steps";
      out += "  " + padded(plain(name), 24);
      for (const nanoseconds t : {s.computing, s.exposed, s.overlapped, s.free}) out += left(fixed(as_ms(t), 3), 11);
      out += '\n';
    }
  }
  if (!p.totals.empty()) {
    std::vector<ascend::op_total> totals = p.totals;
    nanoseconds sum{};
    for (const auto& t : totals) sum = ascend::capped_sum(sum, t.total);
    std::sort(totals.begin(), totals.end(), [](const auto& a, const auto& b) {
      return a.total != b.total ? a.total > b.total : a.type + a.name < b.type + b.name;
    });
    out += "\nops that took most, from the table of totals:\n";
    for (std::size_t i = 0; i < totals.size() && i < static_cast<std::size_t>(q.top); ++i)
      out += ms(totals[i].total) + percent(totals[i].total, sum) + left(std::to_string(totals[i].count), 6) + " x  " +
             plain(totals[i].name.empty() ? totals[i].type : totals[i].name) + '\n';
  }
  if (!p.memory.empty()) {
    const auto most = std::max_element(p.memory.begin(), p.memory.end(),
                                       [](const auto& a, const auto& b) { return a.allocated < b.allocated; });
    const auto kept = std::max_element(p.memory.begin(), p.memory.end(),
                                       [](const auto& a, const auto& b) { return a.reserved < b.reserved; });
    out += "\nmemory: at most " + with_commas(most->allocated.count()) + " bytes allocated, " +
           with_commas(kept->reserved.count()) + " reserved\n";
  }
  if (p.collectives.empty()) return;
  out += "\ncollectives, from communication.json:\n";
  std::vector<ascend::collective_run> runs = p.collectives;
  std::sort(runs.begin(), runs.end(), [](const auto& a, const auto& b) {
    return a.elapsed != b.elapsed ? a.elapsed > b.elapsed : std::tie(a.start, a.name) < std::tie(b.start, b.name);
  });
  for (std::size_t i = 0; i < runs.size() && i < static_cast<std::size_t>(q.top); ++i) {
    const auto& r = runs[i];
    out += ms(r.elapsed) + "  " + plain(r.name) + (r.rank < 0 ? "" : " of rank " + std::to_string(r.rank)) +
           ": waits " + fixed(as_ms(r.wait), 3) + ", moves " + moved_text(moved_bytes(r), r.transit) + '\n';
  }
}

// The ranks of a cluster's table, and who of them is slow.
ranks_found ranks_of_table(const ascend::profile& p, const profile_question& q) {
  ranks_found found;
  found.ranks = ascend::ranks_of_cluster(p);
  for (std::size_t r = 0; r < found.ranks.size(); ++r) found.shared.add_rank({});
  found.op_counts.resize(found.ranks.size());
  found.compare(q.stages);
  return found;
}

void put_links(std::string& out, const ascend::profile& p, const profile_question& q) {
  if (p.links.empty()) return;
  out += "\nlinks between ranks, from communication_matrix.json, longest transit first:\n";
  const auto links = ascend::sum_links(p.links);
  for (std::size_t i = 0; i < links.size() && i < static_cast<std::size_t>(q.top); ++i)
    out += ms(links[i].transit) + "  " + std::to_string(links[i].from) + " -> " + std::to_string(links[i].to) + "  " +
           plain(links[i].transport) + ": " + moved_text(links[i].size, links[i].transit) + '\n';
}

ordered_json step_json(const ascend::step_breakdown& b) {
  ordered_json phases;
  for (std::size_t i = 0; i < ascend::kernel_phase_count; ++i)
    if (const auto phase = static_cast<kernel_phase>(i); computes(phase))
      phases[std::string(to_string(phase))] = as_us(b.of(phase));
  ordered_json out = {{"ops", b.kernel_count},
                      {"span_us", as_us(b.span)},
                      {"computing_us", as_us(b.computing)},
                      {"computing_by_phase_us", phases},
                      {"communication_us", as_us(b.communication)},
                      {"exposed_us", as_us(b.exposed)},
                      {"exposed_receives_us", as_us(b.exposed_receives)},
                      {"hidden_us", as_us(b.hidden())},
                      {"data_us", as_us(b.copying)},
                      {"idle_us", as_us(b.idle)}};
  if (b.step >= 0) out["step"] = b.step;
  return out;
}

ordered_json operators_json(const ascend::profile& p, const profile_question& q) {
  ordered_json out = ordered_json::array();
  for (const auto& t : ascend::total_operators(p.kernels, q.by == "shape")) {
    ordered_json one = {{"type", t.type},
                        {"core", t.core},
                        {"communicates", t.communicates},
                        {"calls", t.count},
                        {"total_us", as_us(t.total)},
                        {"longest_us", as_us(t.longest)}};
    if (!t.shapes.empty()) one["input_shapes"] = t.shapes;
    if (t.flops > 0) one["flops_per_second"] = t.flops_per_second();
    out.push_back(std::move(one));
  }
  return out;
}

ordered_json kernel_json(const ascend::profile& p, std::size_t i) {
  const ascend::kernel& k = p.kernels[i];
  return {{"name", k.name}, {"type", k.type}, {"start_ns", k.start.count()}, {"duration_us", as_us(k.duration)}};
}

}  // namespace

std::string unused_text(const std::vector<std::string>& unused) {
  if (unused.empty()) return {};
  constexpr std::size_t shown = 6;
  std::vector<std::string> once;  // many ranks have files of one name
  for (const std::string& file : unused) once.push_back(file.substr(file.rfind('/') + 1));
  std::sort(once.begin(), once.end());
  once.erase(std::unique(once.begin(), once.end()), once.end());
  std::string names;
  for (std::size_t i = 0; i < once.size() && i < shown; ++i) names += (i == 0 ? "" : ", ") + plain(once[i]);
  if (once.size() > shown) names += ", ... (" + std::to_string(once.size()) + " names)";
  return "# not used: " + names + "\n";
}

std::string profile_as_text(const ascend::profile& p, const std::optional<profile_dump>& dump,
                            const profile_question& q, const std::vector<std::string>& unused) {
  std::string out;
  if (!p.kernels.empty()) {
    const auto steps = ascend::break_down_steps(p.kernels);
    nanoseconds undecided{};
    constexpr std::size_t most_single_steps = 8;
    if (steps.size() > most_single_steps) put_many_steps(out, steps, q);
    for (const auto& b : steps) {
      if (steps.size() <= most_single_steps) put_step(out, b);
      undecided = ascend::capped_sum(undecided, b.of(kernel_phase::forward_or_recomputed));
    }
    if (undecided.count() > 0)
      out += "# forward or recomputed: an op and its copy have the same scope; --ir DUMP tells them apart\n";
    put_operators(out, p, q);
    if (dump) put_runs(out, p, *dump, q);
    put_gaps(out, p, q);
    put_exposed(out, p, q);
  }
  put_tables(out, p, q);
  put_links(out, p, q);
  const ranks_found cluster = ranks_of_table(p, q);
  if (cluster.ranks.size() > 1) out += '\n' + verdict_text(cluster, q.top);
  out += unused_text(unused);
  return out.substr(out.starts_with('\n') ? 1 : 0);
}

std::string profile_as_json(const ascend::profile& p, const std::optional<profile_dump>& dump,
                            const profile_question& q, const std::vector<std::string>& unused) {
  ordered_json out = {{"version", 1}};
  if (!unused.empty()) out["unused_files"] = unused;
  for (const auto& b : ascend::break_down_steps(p.kernels)) out["steps"].push_back(step_json(b));
  if (!p.kernels.empty()) out["operators"] = operators_json(p, q);
  for (const auto& g : ascend::find_gaps(p.kernels, nanoseconds(static_cast<std::int64_t>(q.gap_us * 1000))))
    out["gaps"].push_back(
        {{"length_us", as_us(g.length())}, {"before", kernel_json(p, g.before)}, {"behind", kernel_json(p, g.behind)}});
  for (const auto& e : ascend::find_exposed(p.kernels)) {
    ordered_json one = {{"exposed_us", as_us(e.exposed)},
                        {"collective", kernel_json(p, e.kernel)},
                        {"computing_behind_us", as_us(e.computing_behind)}};
    if (e.before != e.no_kernel) one["before"] = kernel_json(p, e.before);
    if (e.behind != e.no_kernel) one["behind"] = kernel_json(p, e.behind);
    out["exposed"].push_back(std::move(one));
  }
  for (std::size_t i = 0; dump && i < p.kernels.size(); ++i) {
    if (dump->node_of[i] == hocket::no_id) continue;
    ordered_json one = kernel_json(p, i);
    one["line"] = dump->program.node(dump->node_of[i]).line;
    one["input_shapes"] = p.kernels[i].input_shapes;
    if (const auto s = dump->program.attribute(dump->node_of[i], "in_strategy")) one["strategy"] = std::string(*s);
    out["joined"].push_back(std::move(one));
  }
  for (const auto& s : p.steps)
    out["profiler_steps"].push_back({{"step", s.step},
                                     {"kind", s.kind},
                                     {"index", s.index},
                                     {"computing_us", as_us(s.computing)},
                                     {"exposed_us", as_us(s.exposed)},
                                     {"hidden_us", as_us(s.overlapped)},
                                     {"free_us", as_us(s.free)}});
  for (const auto& t : p.totals)
    out["totals"].push_back({{"type", t.type}, {"name", t.name}, {"calls", t.count}, {"total_us", as_us(t.total)}});
  for (const auto& c : p.collectives) {
    out["collectives"].push_back({{"name", c.name},
                                  {"group", c.group},
                                  {"elapsed_us", as_us(c.elapsed)},
                                  {"wait_us", as_us(c.wait)},
                                  {"transit_us", as_us(c.transit)},
                                  {"bytes", moved_bytes(c).count()}});
    if (c.rank >= 0) out["collectives"].back()["rank"] = c.rank;
  }
  for (const auto& l : ascend::sum_links(p.links))
    out["links"].push_back({{"from", l.from},
                            {"to", l.to},
                            {"transport", l.transport},
                            {"bytes", l.size.count()},
                            {"transit_us", as_us(l.transit)}});
  std::int64_t allocated = 0, reserved = 0;
  for (const auto& m : p.memory) {
    allocated = (std::max)(allocated, m.allocated.count());
    reserved = (std::max)(reserved, m.reserved.count());
  }
  if (!p.memory.empty()) out["memory"] = {{"peak_allocated_bytes", allocated}, {"peak_reserved_bytes", reserved}};
  return json_text(out);
}

}  // namespace hocket_cli
