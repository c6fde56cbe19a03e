// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Many ranks side by side: who is slow, in words, tables and JSON.
#include <hocket/core/printable.hpp>

#include <algorithm>
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

constexpr step_part all_parts[] = {step_part::span,      step_part::computing, step_part::exposed,
                                   step_part::receiving, step_part::copying,   step_part::idle};

std::string ms(nanoseconds t) { return fixed(static_cast<double>(t.count()) / 1e6, 3) + " ms"; }
std::string percent(nanoseconds part, nanoseconds of) {
  const double share = of.count() > 0 ? static_cast<double>(part.count()) / static_cast<double>(of.count()) : 0;
  return fixed(100 * share, 1) + " %";
}
std::string gb_per_s(double rate) { return fixed(rate / 1e9, 2) + " GB/s"; }

const char* what_it_does(step_part part) {
  if (part == step_part::idle) return "is idle (its host does not launch in time)";
  return part == step_part::copying ? "fetches data" : "computes";
}

void put_slow(std::string& out, const ranks_found& found, std::int64_t top) {
  std::int64_t shown = 0;
  for (const ascend::slow_rank& s : found.slow) {
    if (++shown > top) break;
    out += rank_text(found, s.rank) + " is slow: it " + what_it_does(s.part) + " for " + ms(s.part_own) + ", " +
           ms(s.part_own - s.part_others) + " (" + percent(s.part_own - s.part_others, s.part_others) +
           ") longer than the others";
    if (found.ranks[s.rank].stage >= 0 && found.stages.size() > 1)
      out += " of stage " + std::to_string(found.ranks[s.rank].stage);
    if (s.waiting.count() > 0) out += "; they wait " + ms(s.waiting) + " longer in collectives";
    if (s.steps > 1)
      out += "; in " + std::to_string(s.longest_in) + " of " + std::to_string(s.steps) + " steps it is the last";
    out += '\n';
  }
  if (found.slow.size() > static_cast<std::size_t>(top))
    out += std::to_string(found.slow.size()) + " ranks are slow; the first are shown\n";
}

// Where no rank is slow as such: stages, and ranks that are slow in turns.
void put_stages(std::string& out, const ranks_found& found) {
  for (const ascend::stage_times& s : found.stages) {
    const bool in_turns = s.ranks > 1 && s.steps > 1 && s.imbalance > s.own / 20;
    const auto of_stage = [&](const ascend::slow_rank& slow) { return found.ranks[slow.rank].stage == s.stage; };
    if (!in_turns || std::any_of(found.slow.begin(), found.slow.end(), of_stage)) continue;
    if (s.stage >= 0 && found.stages.size() > 1) out += "stage " + std::to_string(s.stage) + ": ";
    out += "ranks are slow in turns: the last of a step takes " + ms(s.imbalance) + " (" + percent(s.imbalance, s.own) +
           ") more than the median rank, and is another from step to step. Work differs, not devices: tokens of "
           "experts, lengths of sequences\n";
  }
  if (found.stages.size() < 2) {
    const bool receives = !found.stages.empty() && found.stages[0].receiving.count() > 0;
    if (receives && found.stages[0].stage < 0)
      out +=
          "ranks wait to receive, as in a pipeline, and its stages are not told: --stages N compares the ranks of "
          "each stage\n";
    return;
  }
  const auto longest = std::max_element(found.stages.begin(), found.stages.end(),
                                        [](const auto& a, const auto& b) { return a.own < b.own; });
  for (const ascend::stage_times& s : found.stages)
    out += "stage " + std::to_string(s.stage) + ": " + std::to_string(s.ranks) + " ranks, computing " +
           ms(s.computing) + ", receiving " + ms(s.receiving) + '\n';
  std::vector<nanoseconds> others;
  for (const ascend::stage_times& s : found.stages)
    if (s.stage != longest->stage) others.push_back(s.own);
  const nanoseconds median = ascend::spread_of(std::move(others)).median;
  if (longest->own - median > median / 20)
    out += "stage " + std::to_string(longest->stage) + " is the longest: " + ms(longest->own - median) + " (" +
           percent(longest->own - median, median) + ") more than the others, which wait for it to receive\n";
}

void put_arrivals(std::string& out, const ranks_found& found, std::int64_t top) {
  std::vector<std::size_t> order;
  nanoseconds all{};
  for (std::size_t r = 0; r < found.arrivals.size(); ++r) {
    all = ascend::capped_sum(all, found.arrivals[r].waited_for);
    if (found.arrivals[r].last > 0) order.push_back(r);
  }
  if (all.count() == 0) return;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const nanoseconds x = found.arrivals[a].waited_for, y = found.arrivals[b].waited_for;
    return x != y ? x > y : a < b;
  });
  out += "last to come to collectives that ranks have in common:\n";
  for (std::size_t i = 0; i < order.size() && i < static_cast<std::size_t>(top); ++i) {
    const ascend::rank_arrivals& a = found.arrivals[order[i]];
    out += "  " + rank_text(found, order[i]) + ": " + std::to_string(a.last) + " of " + std::to_string(a.common) +
           ", waited for " + ms(a.waited_for) + " longer than for the last but one; waits itself " + ms(a.waits) + '\n';
  }
}

void put_clocks(std::string& out, const ranks_found& found, std::int64_t top) {
  std::vector<std::size_t> order;
  std::string apart;
  for (std::size_t r = 0; r < found.clocks.size(); ++r) {
    if (found.clocks[r].common > 0) order.push_back(r);
    else if (r > 0 && found.arrivals[0].common > 0) apart += (apart.empty() ? "" : ", ") + rank_text(found, r);
  }
  const auto off = [&](std::size_t r) {
    return found.clocks[r].ahead.count() < 0 ? -found.clocks[r].ahead : found.clocks[r].ahead;
  };
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return off(a) != off(b) ? off(a) > off(b) : a < b; });
  for (std::size_t i = 0; i < order.size() && i < static_cast<std::size_t>(top); ++i) {
    const ascend::rank_clock& c = found.clocks[order[i]];
    // Within what single collectives differ by, clocks are alike.
    if (off(order[i]) <= c.scatter * 3) continue;
    out += "the clock of " + rank_text(found, order[i]) + " is " + ms(off(order[i])) +
           (c.ahead.count() < 0 ? " behind that of " : " ahead of that of ") + rank_text(found, c.reference) + ", by " +
           std::to_string(c.common) + " collectives, most within " + ms(c.scatter) + "; it is set right here\n";
  }
  if (!apart.empty())
    out += "no collective in common with earlier ranks, so clocks are taken as they are: " + apart + '\n';
}

void put_outliers(std::string& out, const ranks_found& found, std::int64_t top) {
  struct outlier {
    nanoseconds span;
    std::size_t rank;
    std::int64_t step;
  };
  std::vector<outlier> all;
  std::vector<ascend::rank_step> steps;
  for (std::size_t r = 0; r < found.ranks.size(); ++r) {
    const auto& own = found.ranks[r].steps;
    for (const std::size_t i : ascend::outliers_of(own)) all.push_back({own[i].of(step_part::span), r, own[i].step});
    steps.insert(steps.end(), own.begin(), own.end());
  }
  if (steps.size() == found.ranks.size()) return;
  const ascend::time_spread spread = ascend::spread_of(steps, step_part::span);
  out += "steps: median " + ms(spread.median) + ", half of them " + ms(spread.lower) + " to " + ms(spread.upper) +
         ", all " + ms(spread.least) + " to " + ms(spread.most) + "; " + std::to_string(all.size()) + " of " +
         std::to_string(steps.size()) + " are far above their rank's others\n";
  std::sort(all.begin(), all.end(), [](const outlier& a, const outlier& b) {
    return a.span != b.span ? a.span > b.span : a.rank != b.rank ? a.rank < b.rank : a.step < b.step;
  });
  for (std::size_t i = 0; i < all.size() && i < static_cast<std::size_t>(top); ++i)
    out += "  step " + std::to_string(all[i].step) + " of " + rank_text(found, all[i].rank) + ": " + ms(all[i].span) +
           '\n';
}

std::string link_name(const ascend::rank_link& l) {
  return std::to_string(l.from) + " -> " + std::to_string(l.to) + "  " + hocket::to_printable(l.transport);
}

void put_links(std::string& out, const ranks_found& found, std::int64_t top) {
  if (!found.compared_rates.empty()) out += "bandwidth by transport and size (medians of ranks; the lowest rank):\n";
  for (const ascend::rank_rates& r : found.compared_rates) {
    out += "  " + hocket::to_printable(r.transport) + " from " + with_commas(r.from_bytes) +
           " bytes: " + gb_per_s(r.median) + " in " + std::to_string(r.runs) + " runs; " + gb_per_s(r.least) + " on " +
           rank_text(found, r.least_rank) + (r.is_slow() ? ": slow" : "") + '\n';
  }
  std::size_t shown = 0;
  for (const ascend::slow_link& s : found.slow_links) {
    if (++shown > static_cast<std::size_t>(top)) break;
    out += "the link " + link_name(found.links[s.link]) + " is slow: " + gb_per_s(s.rate) + ", its like reach " +
           gb_per_s(s.median) + " in the median\n";
  }
}

void put_missing(std::string& out, const ranks_found& found, std::int64_t top) {
  if (found.missing.empty()) return;
  out += "ranks without a profile: ";
  for (std::size_t i = 0; i < found.missing.size() && i < static_cast<std::size_t>(top); ++i)
    out += (i == 0 ? "" : ", ") + std::to_string(found.missing[i]);
  if (found.missing.size() > static_cast<std::size_t>(top))
    out += ", ... (" + std::to_string(found.missing.size()) + ")";
  out += '\n';
}

}  // namespace

std::string verdict_text(const ranks_found& found, std::int64_t top) {
  std::string out;
  put_slow(out, found, top);
  put_stages(out, found);
  if (out.empty() && found.ranks.size() > 1) out += "no rank is slow: own times differ by less than 5 %\n";
  put_arrivals(out, found, top);
  put_clocks(out, found, top);
  put_outliers(out, found, top);
  put_links(out, found, top);
  put_missing(out, found, top);
  return out;
}

std::string ranks_as_text(const ranks_found& found, std::int64_t top) {
  std::string out =
      std::to_string(found.ranks.size()) + " ranks, means of their steps without those far above the others (ms)\n";
  out += "       step  computing    exposed  receiving       data       idle  steps\n";
  std::vector<std::vector<nanoseconds>> columns(ascend::step_part_count);
  const auto row = [](auto&& time_of) {
    std::string line;
    for (std::size_t part = 0; part < ascend::step_part_count; ++part)
      line += left(fixed(static_cast<double>(time_of(part).count()) / 1e6, 3), 11);
    return line;
  };
  for (const ascend::rank_steps& r : found.ranks) {
    const ascend::mean_step mean = ascend::mean_of_steps(r.steps);
    out += row([&](std::size_t part) {
      columns[part].push_back(mean.of(all_parts[part]));
      return columns[part].back();
    });
    out += left(std::to_string(r.steps.size()), 7) + "  " + hocket::to_printable(r.name) + '\n';
  }
  const auto foot = [&](const char* name, auto member) {
    out += row([&](std::size_t part) { return ascend::spread_of(columns[part]).*member; });
    out += std::string(7, ' ') + "  " + name + '\n';
  };
  foot("most", &ascend::time_spread::most);
  foot("median", &ascend::time_spread::median);
  foot("least", &ascend::time_spread::least);
  return out + '\n' + verdict_text(found, top) + unused_text(found.unused);
}

namespace {

double us(nanoseconds t) { return static_cast<double>(t.count()) / 1e3; }

ordered_json spread_json(const ascend::time_spread& s) {
  return {{"least_us", us(s.least)}, {"lower_us", us(s.lower)}, {"median_us", us(s.median)},
          {"upper_us", us(s.upper)}, {"most_us", us(s.most)},   {"count", s.count}};
}

ordered_json rank_json(const ranks_found& found, std::size_t rank) {
  const ascend::rank_steps& r = found.ranks[rank];
  ordered_json out = {{"name", r.name}, {"steps", r.steps.size()}, {"ops", found.op_counts[rank]}};
  if (r.rank >= 0) out["rank"] = r.rank;
  if (r.stage >= 0) out["stage"] = r.stage;
  const ascend::mean_step mean = ascend::mean_of_steps(r.steps);
  constexpr const char* keys[] = {"span_us", "computing_us", "exposed_us", "exposed_receives_us", "data_us", "idle_us"};
  for (const step_part part : all_parts) out[keys[static_cast<std::size_t>(part)]] = us(mean.of(part));
  out["step_spread"] = spread_json(ascend::spread_of(r.steps, step_part::span));
  for (const std::size_t i : ascend::outliers_of(r.steps))
    out["outliers"].push_back({{"step", r.steps[i].step}, {"span_us", us(r.steps[i].of(step_part::span))}});
  const ascend::rank_arrivals& a = found.arrivals[rank];
  if (a.common > 0)
    out["collectives"] = {
        {"common", a.common}, {"last", a.last}, {"waits_us", us(a.waits)}, {"waited_for_us", us(a.waited_for)}};
  const ascend::rank_clock& c = found.clocks[rank];
  if (c.common > 0)
    out["clock"] = {
        {"reference", c.reference}, {"ahead_us", us(c.ahead)}, {"scatter_us", us(c.scatter)}, {"common", c.common}};
  return out;
}

}  // namespace

std::string ranks_as_json(const ranks_found& found) {
  ordered_json out = {{"version", 1}, {"ranks", ordered_json::array()}, {"slow_ranks", ordered_json::array()}};
  for (std::size_t r = 0; r < found.ranks.size(); ++r) out["ranks"].push_back(rank_json(found, r));
  for (const ascend::slow_rank& s : found.slow)
    out["slow_ranks"].push_back({{"place", s.rank},
                                 {"name", rank_text(found, s.rank)},
                                 {"part", to_string(s.part)},
                                 {"own_us", us(s.own)},
                                 {"others_us", us(s.others)},
                                 {"part_own_us", us(s.part_own)},
                                 {"part_others_us", us(s.part_others)},
                                 {"waiting_us", us(s.waiting)},
                                 {"longest_in", s.longest_in},
                                 {"steps", s.steps}});
  for (const ascend::stage_times& s : found.stages)
    out["stages"].push_back({{"stage", s.stage},
                             {"ranks", s.ranks},
                             {"own_us", us(s.own)},
                             {"computing_us", us(s.computing)},
                             {"receiving_us", us(s.receiving)},
                             {"imbalance_us", us(s.imbalance)}});
  for (const ascend::rank_rates& r : found.compared_rates)
    out["bandwidth"].push_back({{"transport", r.transport},
                                {"from_bytes", r.from_bytes},
                                {"ranks", r.ranks},
                                {"runs", r.runs},
                                {"bytes_per_second", r.median},
                                {"least", r.least},
                                {"least_rank", rank_text(found, r.least_rank)},
                                {"slow", r.is_slow()}});
  for (const ascend::slow_link& s : found.slow_links)
    out["slow_links"].push_back({{"from", found.links[s.link].from},
                                 {"to", found.links[s.link].to},
                                 {"transport", found.links[s.link].transport},
                                 {"bytes_per_second", s.rate},
                                 {"median", s.median}});
  if (!found.missing.empty()) out["missing_ranks"] = found.missing;
  if (!found.unused.empty()) out["unused_files"] = found.unused;
  return json_text(out);
}

}  // namespace hocket_cli
