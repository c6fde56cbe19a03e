// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Two measurements side by side, and what explains the difference.
#include <hocket/core/printable.hpp>
#include <hocket/interop/ascend/compare_profiles.hpp>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ir.hpp"
#include "profile_ranks.hpp"

namespace hocket_cli {

namespace ascend = hocket::ascend;
using ascend::nanoseconds;
using ascend::step_part;
using nlohmann::ordered_json;

namespace {

constexpr step_part parts_of_step[] = {step_part::computing, step_part::exposed, step_part::receiving,
                                       step_part::copying, step_part::idle};

double as_us(nanoseconds t) { return static_cast<double>(t.count()) / 1e3; }
std::string in_ms(nanoseconds t) { return fixed(static_cast<double>(t.count()) / 1e6, 3); }
std::string signed_ms(nanoseconds t) { return (t.count() > 0 ? "+" : "") + in_ms(t); }
nanoseconds size_of(nanoseconds t) { return t.count() < 0 ? -t : t; }

std::string signed_percent(nanoseconds change, nanoseconds of) {
  if (of.count() == 0) return change.count() == 0 ? "" : "new";
  const double share = 100 * static_cast<double>(change.count()) / static_cast<double>(of.count());
  return (share > 0 ? "+" : "") + fixed(share, 1) + " %";
}

std::string wide(const std::string& name) {
  constexpr std::size_t width = 26;
  return name + std::string(name.size() < width ? width - name.size() : 1, ' ');
}

void put_row(std::string& out, const std::string& name, nanoseconds before, nanoseconds after) {
  out += wide(name) + left(in_ms(before), 11) + left(in_ms(after), 11) + left(signed_ms(after - before), 12) +
         left(signed_percent(after - before, before), 10) + '\n';
}

const char* name_of(step_part part) {
  constexpr const char* names[] = {"step",   "  computing",       "  communication, exposed", "  waiting to receive",
                                   "  data", "  idle: scheduling"};
  return names[static_cast<std::size_t>(part)];
}

std::string sides(const ascend::mean_step& m) {
  std::string out = std::to_string(m.steps) + (m.steps == 1 ? " step" : " steps");
  if (m.left_out > 0) out += " (without " + std::to_string(m.left_out) + " far above the others)";
  return out;
}

void put_parts(std::string& out, const ascend::mean_step& before, const ascend::mean_step& after) {
  out += "mean of " + sides(before) + " before, of " + sides(after) + " after (ms)\n";
  out += std::string(26, ' ') + "     before      after      change\n";
  put_row(out, name_of(step_part::span), before.of(step_part::span), after.of(step_part::span));
  std::vector<step_part> order(std::begin(parts_of_step), std::end(parts_of_step));
  const auto change = [&](step_part p) { return after.of(p) - before.of(p); };
  std::erase_if(order, [&](step_part p) { return before.of(p).count() == 0 && after.of(p).count() == 0; });
  std::sort(order.begin(), order.end(), [&](step_part a, step_part b) {
    return size_of(change(a)) != size_of(change(b)) ? size_of(change(a)) > size_of(change(b)) : a < b;
  });
  for (const step_part p : order) put_row(out, name_of(p), before.of(p), after.of(p));
  const nanoseconds whole = change(step_part::span);
  if (order.empty() || whole.count() == 0) return;
  const double share = 100 * static_cast<double>(change(order[0]).count()) / static_cast<double>(whole.count());
  out += "the biggest part is" + std::string(name_of(order[0])).substr(1) + ": " + signed_ms(change(order[0])) +
         " of " + signed_ms(whole) + " ms (" + fixed(share, 1) + " %)\n";
}

std::string calls_text(const ascend::operator_difference& d) {
  const auto calls = [](double n) { return n == std::floor(n) ? fixed(n, 0) : fixed(n, 1); };
  if (d.calls_before <= 0) return "new, " + calls(d.calls_after) + " x";
  if (d.calls_after <= 0) return "gone, " + calls(d.calls_before) + " x";
  const double a = as_us(d.before) / d.calls_before, b = as_us(d.after) / d.calls_after;
  std::string out =
      calls(d.calls_before) + " x " + fixed(a, 1) + " us -> " + calls(d.calls_after) + " x " + fixed(b, 1) + " us";
  if (d.calls_before != d.calls_after) out += ", " + signed_ms(d.change_by_calls()) + " by the number of calls";
  return out;
}

void put_operators(std::string& out, const ascend::profile_difference& d, std::int64_t top) {
  for (const bool communicates : {false, true}) {
    std::int64_t shown = 0;
    for (const ascend::operator_difference& one : d.operators) {
      if (one.communicates != communicates || one.change().count() == 0 || shown == top) continue;
      if (shown++ == 0)
        out += communicates ? "\ncollectives whose time changed most (ms of a step):\n"
                            : "\nops whose time changed most (ms of a step):\n";
      const std::string shapes = one.shapes.empty() ? "" : " [" + hocket::to_printable(one.shapes) + "]";
      out += left(in_ms(one.before), 11) + left(in_ms(one.after), 11) + left(signed_ms(one.change()), 12) + "  " +
             hocket::to_printable(one.type) + shapes + ": " + calls_text(one) + '\n';
    }
  }
}

std::string difference_text(const ascend::profile_difference& d, const profile_question& q) {
  std::string out;
  put_parts(out, d.before, d.after);
  put_operators(out, d, q.top);
  if (d.gaps_before.total.count() > 0 || d.gaps_after.total.count() > 0)
    out += "\nnothing runs for at least " + fixed(q.gap_us, 0) + " us: " + fixed(d.gaps_before.count, 1) + " times, " +
           in_ms(d.gaps_before.total) + " ms of a step -> " + fixed(d.gaps_after.count, 1) + " times, " +
           in_ms(d.gaps_after.total) + " ms\n";
  if (d.peak_before.count() > 0 && d.peak_after.count() > 0)
    out += "\nmemory: at most " + with_commas(d.peak_before.count()) + " bytes allocated -> " +
           with_commas(d.peak_after.count()) + '\n';
  return out;
}

ordered_json parts_json(const ascend::mean_step& m) {
  return {{"steps", m.steps},
          {"left_out", m.left_out},
          {"span_us", as_us(m.of(step_part::span))},
          {"computing_us", as_us(m.of(step_part::computing))},
          {"exposed_us", as_us(m.of(step_part::exposed))},
          {"exposed_receives_us", as_us(m.of(step_part::receiving))},
          {"data_us", as_us(m.of(step_part::copying))},
          {"idle_us", as_us(m.of(step_part::idle))}};
}

std::string difference_json(const ascend::profile_difference& d) {
  ordered_json out = {{"version", 1}, {"before", parts_json(d.before)}, {"after", parts_json(d.after)}};
  for (const ascend::operator_difference& one : d.operators) {
    ordered_json row = {{"type", one.type},
                        {"communicates", one.communicates},
                        {"before_us", as_us(one.before)},
                        {"after_us", as_us(one.after)},
                        {"change_us", as_us(one.change())},
                        {"calls_before", one.calls_before},
                        {"calls_after", one.calls_after},
                        {"change_by_calls_us", as_us(one.change_by_calls())}};
    if (!one.shapes.empty()) row["input_shapes"] = one.shapes;
    out["operators"].push_back(std::move(row));
  }
  const auto gaps = [](const ascend::gap_sum& g) {
    return ordered_json{{"count", g.count}, {"total_us", as_us(g.total)}};
  };
  out["gaps"] = {{"before", gaps(d.gaps_before)}, {"after", gaps(d.gaps_after)}};
  if (d.peak_before.count() > 0) out["memory"]["before_bytes"] = d.peak_before.count();
  if (d.peak_after.count() > 0) out["memory"]["after_bytes"] = d.peak_after.count();
  return json_text(out);
}

// Ranks by their numbers, or by their order where a name tells none.
struct rank_pair {
  std::string name;
  ascend::mean_step before, after;
};

std::vector<rank_pair> pairs_of(const ranks_found& before, const ranks_found& after) {
  std::vector<rank_pair> out;
  const auto has_numbers = [](const ranks_found& f) {
    return std::all_of(f.ranks.begin(), f.ranks.end(), [](const auto& r) { return r.rank >= 0; });
  };
  const bool by_number = has_numbers(before) && has_numbers(after);
  for (std::size_t a = 0; a < before.ranks.size(); ++a)
    for (std::size_t b = 0; b < after.ranks.size(); ++b)
      if (by_number ? before.ranks[a].rank == after.ranks[b].rank : a == b)
        out.push_back({rank_text(before, a), ascend::mean_of_steps(before.ranks[a].steps),
                       ascend::mean_of_steps(after.ranks[b].steps)});
  if (out.empty()) fail("the two measurements have no rank in common");
  return out;
}

std::string ranks_text(const std::vector<rank_pair>& pairs, std::size_t before, std::size_t after) {
  std::string out = std::to_string(before) + " ranks before, " + std::to_string(after) + " after, " +
                    std::to_string(pairs.size()) + " in both: mean steps, and the change of their parts (ms)\n";
  out += "     before      after      change  computing    exposed  receiving       data       idle\n";
  for (const rank_pair& p : pairs) {
    const auto change = [&p](step_part part) { return p.after.of(part) - p.before.of(part); };
    out += left(in_ms(p.before.of(step_part::span)), 11) + left(in_ms(p.after.of(step_part::span)), 11) +
           left(signed_ms(change(step_part::span)), 12);
    for (const step_part part : parts_of_step) out += left(signed_ms(change(part)), 11);
    out += "  " + p.name + '\n';
  }
  return out;
}

ranks_found read_ranks(std::vector<rank_files>& files, const profile_question& q) {
  ranks_found found;
  for (rank_files& rank : files) found.add(rank, read_for(rank, q));
  found.compare(q.stages);
  return found;
}

std::string change_summary(const ascend::mean_step& before, const ascend::mean_step& after) {
  const nanoseconds a = before.of(step_part::span), b = after.of(step_part::span);
  return "before_ms=" + in_ms(a) + " after_ms=" + in_ms(b) + " change_ms=" + in_ms(b - a);
}

void compare_one(rank_files& before, rank_files& after, const profile_question& q) {
  const ascend::profile a = read_for(before, q), b = read_for(after, q);
  const ascend::compare_options how{q.by == "shape", nanoseconds(static_cast<std::int64_t>(q.gap_us * 1000))};
  const ascend::profile_difference d = ascend::compare_profiles(a, b, how);
  if (d.before.steps == 0 || d.after.steps == 0)
    fail((d.before.steps == 0 ? before : after).files.front() + ": holds neither runs of ops nor times of steps");
  std::vector<std::string> unused = before.unused;
  unused.insert(unused.end(), after.unused.begin(), after.unused.end());
  give(q.out, form(q.format) == "json" ? difference_json(d) : difference_text(d, q) + unused_text(unused),
       change_summary(d.before, d.after));
}

}  // namespace

void compare_measurements(const profile_question& q) {
  if (!q.dump.empty() || !q.samples.empty() || !q.svg.empty() || !q.trace.empty() || !q.links_svg.empty())
    fail("--against compares two measurements: --ir, --samples, --svg, --links-svg and --trace are for one");
  std::vector<rank_files> before = ranks_of(q.files), after = ranks_of(q.against);
  if (before.size() == 1 && after.size() == 1) return compare_one(before[0], after[0], q);
  const ranks_found a = read_ranks(before, q), b = read_ranks(after, q);
  const std::vector<rank_pair> pairs = pairs_of(a, b);
  if (form(q.format) == "json") {
    ordered_json out = {{"version", 1}};
    for (const rank_pair& p : pairs)
      out["ranks"].push_back({{"name", p.name}, {"before", parts_json(p.before)}, {"after", parts_json(p.after)}});
    give(q.out, json_text(out), "ranks=" + std::to_string(pairs.size()));
    return;
  }
  std::string text = ranks_text(pairs, a.ranks.size(), b.ranks.size());
  text += "\nbefore:\n" + verdict_text(a, q.top) + "\nafter:\n" + verdict_text(b, q.top);
  give(q.out, text, "ranks=" + std::to_string(pairs.size()));
}

}  // namespace hocket_cli
