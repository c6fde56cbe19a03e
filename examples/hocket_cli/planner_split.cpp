// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// hocket planner split: a problem file, the best split, what other choices cost, and what to paste into MindFormers.
#include <hocket/pipeline.hpp>
#include <hocket/pipeline/any_schedule.hpp>
#include <hocket/planner.hpp>
#include <hocket/timeline/svg.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <memory>
#include <numeric>
#include <optional>

#include <hocket/interop/files/mind_formers.hpp>

#include "command.hpp"
#include "json_fields.hpp"

namespace hocket_cli {
namespace {

namespace pipeline = hocket::pipeline;
namespace planner = hocket::planner;
using hocket::bytes;
using hocket::ticks;
using std::chrono::nanoseconds;

struct options {
  std::string problem, out, format = "text";
};

struct level_name {
  std::string name;
  std::vector<std::string> select;  ///< MindFormers patterns
  bool whole = false;               ///< MindFormers recomputes the whole layer
};

/// The problem, and what the file says besides.
struct problem {
  std::string file, title, schedule;
  std::vector<planner::split_layers> runs;
  std::vector<planner::rank_room> rooms;
  std::vector<std::int64_t> split;
  std::int64_t max_on_stage = 0;
  std::vector<level_name> levels;
  std::vector<nanoseconds> beside;  ///< time of each stage besides its layers
  std::optional<pipeline::any_schedule> lists;
  planner::in_flight_profile held;
  std::int64_t slices = 1;  ///< of a micro-batch; what layers take and keep is that of one
  bool paired = false;
  std::int64_t micro_batches = 1;
  bytes more_bytes{std::int64_t{1} << 30};
  planner::objective goal = planner::objective::step_time;
  double tokens = 0;  ///< per device and step; 0: unknown

  [[nodiscard]] planner::split_problem question() const {
    return {.layers = runs,
            .ranks = rooms,
            .in_flight = held,
            .micro_batches = micro_batches,
            .goal = goal,
            .split = split,
            .max_on_stage = max_on_stage};
  }
  [[nodiscard]] std::int64_t layers() const {
    std::int64_t n = 0;
    for (const auto& run : runs) n += run.count;
    return n;
  }
  /// Layers of the longest stage of an even split.
  [[nodiscard]] std::int64_t even_share() const {
    return hocket::ceil_div(layers(), static_cast<std::int64_t>(held.ranks()) * held.chunks());
  }
  /// Whether tokens a second can be said.
  [[nodiscard]] bool has_rate(nanoseconds step_time) const { return tokens > 0 && step_time > nanoseconds(0); }
  /// Whether a plan is the one with the shortest simulated step; else that of a formula.
  [[nodiscard]] bool is_simulated() const;
};
/// Seconds of one step, of a time of a plan, which may be that of several.
double seconds_of(nanoseconds time, const planner::split_plan& plan) {
  return static_cast<double>(time.count()) / (static_cast<double>(plan.steps) * 1e9);
}

double gib_of(bytes b) { return static_cast<double>(b.count()) / bytes_per_gib; }
double milliseconds_of(nanoseconds t) { return static_cast<double>(t.count()) / 1e6; }
double microseconds_of(nanoseconds t) { return static_cast<double>(t.count()) / 1e3; }

nanoseconds time_at(const json_object& in, const char* key, bool needed = true) {
  const double us = needed ? in.number(key) : in.number_or(key, 0);
  if (us < 0 || us > 1e12) in.fail_at(key, "must lie in [0, 1e12] microseconds");
  return nanoseconds(std::llround(us * 1e3));
}

std::uint64_t actions_of(const pipeline::any_schedule& plan) {
  std::uint64_t actions = 0;
  for (std::uint32_t r = 0; r < plan.ranks(); ++r) actions += plan.size(r);
  return actions;
}

pipeline::any_schedule read_schedule(const json_object& v, const std::string& name, const pipeline::shape& s,
                                     std::int64_t slices) {
  std::string names;
  bool known = false;
  for (const std::string_view x : pipeline::schedule_names) {
    known = known || x == name;
    names += (names.empty() ? "" : ", ") + std::string(x);
  }
  if (!known) v.fail_at("schedule", "must be one of: " + names);
  const bool loop = name == "gpipe" && s.chunks > 1;
  auto plan = pipeline::any_schedule::make(loop ? "looped-bfs" : name, s, {.slices = slices});
  if (!plan) v.fail_at("schedule", "is not possible: " + message(plan.error()));
  const std::uint64_t actions = actions_of(*plan);
  if (actions > (1u << 26)) v.fail_at("schedule", "has " + std::to_string(actions) + " actions: too many");
  return std::move(plan).value();
}

planner::in_flight_profile held_of(const pipeline::any_schedule& plan, const std::string& file) {
  if (plan.directions() == 2) return value_or_fail(planner::in_flight_profile::make_pairs(plan), file);
  return value_or_fail(plan.visit([](const auto& x) { return planner::in_flight_profile::make(x); }), file);
}

constexpr std::int64_t most_bytes = std::int64_t{1} << 50;

/// The schedule's lists, and what its ranks hold.
void read_lists(problem& p, const json_object& v) {
  const std::int64_t ranks = v.integer("ranks", 1, 4096),
                     chunks = v.integer_or("chunks", pipeline::default_chunks(v.text_or("schedule", "")), 1,
                                           pipeline::max_chunks);
  p.micro_batches = v.integer("micro_batches", 1, pipeline::max_micro_batches);
  p.schedule = v.text_or("schedule", chunks > 1 ? "interleaved" : "1f1b");
  if (v.has("slices") && p.schedule != "seq-1f1b") v.fail_at("slices", "is only for seq-1f1b");
  p.slices = v.integer_or("slices", 1, 1, pipeline::max_slices);
  p.lists = read_schedule(v, p.schedule, {ranks, chunks, p.micro_batches}, p.slices);
  p.held = held_of(*p.lists, p.file);
  p.paired = p.schedule == "dualpipe";  // ranks r and p - 1 - r hold the same two stages
  p.micro_batches = p.paired ? p.micro_batches / 2 : p.micro_batches * p.slices;
}

void read_capacity(problem& p, const json_object& v) {
  const std::int64_t ranks = v.integer("ranks", 1, 4096);
  if (v.has("capacity_gib") == v.has("capacity_bytes"))
    v.fail_at("capacity_gib", "or \"capacity_bytes\" must be given, and not both");
  const char* const key = v.has("capacity_gib") ? "capacity_gib" : "capacity_bytes";
  const double unit = v.has("capacity_gib") ? bytes_per_gib : 1;
  std::vector<double> capacity(static_cast<std::size_t>(ranks), 0.0);
  if (v.at(key).is_array()) {
    capacity = v.numbers(key, 4096);
    if (static_cast<std::int64_t>(capacity.size()) != ranks)
      v.fail_at(key, "has " + std::to_string(capacity.size()) + " numbers for " + std::to_string(ranks) + " ranks");
  } else {
    capacity.assign(capacity.size(), v.number(key));
  }
  for (const double x : capacity) {
    if (!(x >= 0) || x * unit > static_cast<double>(most_bytes)) v.fail_at(key, "must lie in [0, 2^50 bytes]");
    p.rooms.push_back({bytes(static_cast<std::int64_t>(x * unit)), bytes(), nanoseconds(0)});
  }
  for (std::size_t r = 0; p.paired && r < p.rooms.size() / 2; ++r)
    p.rooms[r].capacity = std::min(p.rooms[r].capacity, p.rooms[p.rooms.size() - 1 - r].capacity);
  p.rooms.resize(p.held.ranks());
}

/// Bytes and times of what lies beside the layers: on every rank, on the first and on the last stage.
void read_beside(problem& p, const json_object& v) {
  const auto beside = [&](const char* name, auto&& use) {
    if (!v.has(name)) return;
    const json_object in = v.object(name, {"bytes", "time_us"});
    use(bytes(in.integer_or("bytes", 0, 0, most_bytes)), time_at(in, "time_us", false) / p.slices);
  };
  const std::uint32_t stages = p.held.ranks() * p.held.chunks();
  p.beside.resize(stages);
  const auto add = [&](std::uint32_t stage, bytes more, nanoseconds time) {
    planner::rank_room& room = p.rooms[p.held.rank_of(stage)];
    room.fixed += more;
    room.time += time;
    p.beside[stage] += time;
  };
  beside("every", [&](bytes more, nanoseconds time) {
    for (std::uint32_t s = 0; s < stages; ++s)
      if (p.held.chunk_of(s) == 0) add(s, more, time);
  });
  beside("first", [&](bytes more, nanoseconds time) { add(0, more, time); });
  beside("last", [&](bytes more, nanoseconds time) { add(stages - 1, more, time); });
}

level_name read_level_name(const json_object& one, std::size_t k) {
  level_name name;
  name.name = one.line_or("name", "level " + std::to_string(k));
  name.whole = one.boolean_or("whole", false);
  if (one.has("select")) {
    const nlohmann::json& select = one.at("select");
    if (!select.is_array()) one.fail_at("select", "must be an array of patterns");
    for (const nlohmann::json& x : select) {
      if (!x.is_string() || !hocket::is_printable(x.get_ref<const std::string&>()))
        one.fail_at("select", "holds " + shown(x) + ", but must hold patterns, each on one line");
      name.select.push_back(x.get<std::string>());
    }
  }
  return name;
}

void read_layers(problem& p, const json_object& v) {
  const nlohmann::json& layers = v.at("layers");
  if (!layers.is_array() || layers.empty()) v.fail_at("layers", "must be an array of runs of equal layers");
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const std::string path = "layers[" + std::to_string(i) + "]";
    const json_object in(layers[i], p.file, path, {"count", "time_us", "weights_bytes", "levels"});
    planner::split_layers run;
    run.count = in.integer_or("count", 1, 1, 4096);
    run.each.time = time_at(in, "time_us") / p.slices;
    run.each.weights = bytes(in.integer("weights_bytes", 0, most_bytes));
    const nlohmann::json& levels = in.at("levels");
    if (!levels.is_array() || levels.empty() || levels.size() > planner::max_levels)
      in.fail_at("levels", "must be an array of 1 to 8 levels");
    if (i > 0 && levels.size() != p.levels.size()) in.fail_at("levels", "must be as many as those of layers[0]");
    for (std::size_t k = 0; k < levels.size(); ++k) {
      const json_object one(levels[k], p.file, path + ".levels[" + std::to_string(k) + "]",
                            {"name", "bytes", "extra_us", "select", "whole"});
      run.each.levels.push_back({bytes(hocket::ceil_div(one.integer("bytes", 0, most_bytes), p.slices)),
                                 time_at(one, "extra_us", false) / p.slices});
      const level_name name = read_level_name(one, k);
      for (std::size_t other = 0; i == 0 && other < k; ++other)
        if (p.levels[other].name == name.name) one.fail_at("name", "is that of another level, too");
      if (i == 0) p.levels.push_back(name);
      else if (name.name != p.levels[k].name) one.fail_at("name", "must be that of layers[0]: levels are numbered");
    }
    p.runs.push_back(run);
  }
}

problem read_problem(const std::string& file) {
  const nlohmann::json whole = read_json_file(file);
  const json_object v(whole, file, "",
                      {"version", "title", "schedule", "ranks", "chunks", "micro_batches", "objective", "capacity_gib",
                       "capacity_bytes", "slices", "layers", "every", "first", "last", "split", "most_on_stage",
                       "more_gib", "tokens", "notes"});
  problem p;
  p.file = file;
  p.title = v.line_or("title", "stage split");
  read_lists(p, v);
  p.goal = v.choice_or("objective", {"step_time", "slowest_rank"}, 0) == 0 ? planner::objective::step_time
                                                                           : planner::objective::slowest_rank;
  read_capacity(p, v);
  read_beside(p, v);
  read_layers(p, v);
  if (v.has("split") && v.at("split").empty()) v.fail_at("split", "is empty");
  if (v.has("split")) p.split = v.integers("split", 1, 4096, 65536);
  const std::int64_t split_layers = std::accumulate(p.split.begin(), p.split.end(), std::int64_t{0});
  if (v.has("split") && split_layers != p.layers())
    v.fail_at("split", "is " + shown(v.at("split")) + ": " + std::to_string(split_layers) +
                           " layers, but \"layers\" has " + std::to_string(p.layers()));
  if (v.has("most_on_stage")) p.max_on_stage = v.integer("most_on_stage", 1, 4096);
  if (p.max_on_stage > 0 && p.max_on_stage < p.even_share())
    v.fail_at("most_on_stage", "must be at least " + std::to_string(p.even_share()) + ": " +
                                   std::to_string(p.layers()) + " layers on " + std::to_string(p.beside.size()) +
                                   " stages");
  const double more = v.number_or("more_gib", 1);
  if (!(more >= 0) || more > 1e6) v.fail_at("more_gib", "must lie in [0, 1000000]");
  p.more_bytes = bytes(static_cast<std::int64_t>(more * bytes_per_gib));
  if (v.has("tokens")) p.tokens = v.positive("tokens");
  if (p.tokens > 1e15) v.fail_at("tokens", "must be at most 1e15");
  return p;
}

/// A schedule that takes long to run is not run for each split. Nor is it where the slowest rank alone counts.
bool problem::is_simulated() const {
  constexpr std::uint64_t most_actions = 1'000'000;
  return goal == planner::objective::step_time && actions_of(*lists) <= most_actions;
}

/// The file has one time for a layer: a third of it is taken as its forward.
hocket::result<planner::split_plan> solved(const problem& p, const planner::split_problem& q) {
  if (!p.is_simulated()) return planner::solve(q);
  return planner::solve(q, *p.lists, {.beside = p.beside});
}

/// One line of the comparison: what a simpler rule would give.
struct variant {
  std::string name;
  std::optional<planner::split_plan> plan;
  std::string why_not;
};

planner::split_problem with_split(planner::split_problem given, const std::vector<std::int64_t>& split) {
  given.split = split;
  return given;
}

/// From the level that keeps least, everywhere, to the free choice: each line allows more than the one before.
std::vector<variant> variants_of(const problem& p, const planner::split_plan& best) {
  std::vector<variant> list;
  const auto add = [&](std::string name, const planner::split_problem& q) {
    auto plan = solved(p, q);
    variant x;
    x.name = std::move(name);
    if (plan) x.plan = std::move(*plan);
    else x.why_not = message(plan.error());
    list.push_back(std::move(x));
  };
  const auto stages = static_cast<std::int64_t>(p.held.ranks()) * p.held.chunks();
  std::vector<std::int64_t> even;
  for (std::int64_t s = 0; s < stages; ++s) even.push_back(p.layers() / stages + (s < p.layers() % stages ? 1 : 0));
  const planner::split_problem q = p.question();
  for (std::size_t k = p.levels.size(); k-- > 0;) {
    std::vector<planner::split_layers> one = p.runs;
    for (auto& run : one) run.each.levels = {run.each.levels[static_cast<std::uint32_t>(k)]};
    planner::split_problem all = with_split(q, even);
    all.layers = one;
    add("every layer " + p.levels[k].name + ", even split", all);
    if (list.back().plan)  // its only level stands for level k
      for (auto& stage : list.back().plan->stages)
        stage.levels.assign(stage.levels.size(), static_cast<std::uint32_t>(k));
  }
  for (std::size_t k = p.levels.size() - 1; k-- > 1;) {  // all levels from k on
    std::vector<planner::split_layers> some = p.runs;
    for (auto& run : some) {
      planner::level_list levels;
      for (std::size_t x = k; x < p.levels.size(); ++x)
        levels.push_back(run.each.levels[static_cast<std::uint32_t>(x)]);
      run.each.levels = levels;
    }
    planner::split_problem lean = with_split(q, even);
    lean.layers = some;
    add(p.levels[k].name + " or more on every layer, even split", lean);
    if (list.back().plan)
      for (auto& stage : list.back().plan->stages)
        for (auto& level : stage.levels) level += static_cast<std::uint32_t>(k);
  }
  add("best levels, even split", with_split(q, even));
  list.push_back({p.split.empty() ? "best levels, best split" : "best levels, given split", best, ""});
  return list;
}

std::string padded(std::string text, std::size_t width, bool left = false) {
  if (text.size() < width) text.insert(left ? text.size() : 0, width - text.size(), ' ');
  return text;
}
/// "[4, 0]": layers of each rank at a level; of more ranks than a line holds, "[17, 3 on each of 31]".
std::string by_rank(const problem& p, const planner::split_plan& plan, std::size_t level) {
  const std::uint32_t n = p.held.ranks(), most_in_a_line = 16;
  std::string text = "[";
  for (std::uint32_t r = 0, end = 0; r < n; r = end) {
    const auto layers = plan.layers_at(r, static_cast<std::uint32_t>(level));
    for (end = r + 1;
         n > most_in_a_line && end < n && plan.layers_at(end, static_cast<std::uint32_t>(level)) == layers;)
      ++end;
    text += (r == 0 ? "" : ", ") + std::to_string(layers);
    if (end - r > 1) text += " on each of " + std::to_string(end - r);
  }
  return text + "]";
}

std::string mind_formers(const problem& p, const planner::split_plan& plan) {
  std::vector<hocket::interop::pasted_level> levels;
  for (const level_name& x : p.levels) levels.push_back({x.select, x.whole, false});
  std::vector<std::int64_t> runs;
  for (const auto& run : p.runs) {
    runs.push_back(run.count);
    for (std::size_t k = 0; k < levels.size(); ++k)
      if (run.each.levels[static_cast<std::uint32_t>(k)].extra > nanoseconds(0) && !levels[k].whole &&
          levels[k].select.empty())
        levels[k].no_pattern = true;
  }
  if (p.paired) {  // by stage of one direction
    planner::split_plan flat = plan;
    for (std::uint32_t s = 0; s < flat.stages.size(); ++s) {
      flat.stages[s].rank = s;
      flat.stages[s].chunk = 0;
    }
    return hocket::interop::mind_formers(levels, flat, static_cast<std::uint32_t>(flat.stages.size()), 1, runs);
  }
  return hocket::interop::mind_formers(levels, plan, p.held.ranks(), p.held.chunks(), runs);
}

std::string as_text(const problem& p, const planner::split_plan& plan, const planner::memory_price& price,
                    const std::vector<variant>& variants) {
  std::string text = p.title + "\n\n";
  if (p.paired)
    text +=
        "dualpipe: each rank here is the pair of ranks r and p-1-r, which hold the same two stages: all parameters "
        "lie on two ranks\n\n";
  if (p.slices > 1)
    text += "seq-1f1b: times and bytes of a slice are taken as " + std::to_string(p.slices) +
            " equal parts of those of a micro-batch\n\n";
  text += "Stage  rank  layers          ";
  for (const auto& level : p.levels) text += padded(level.name, 12);
  text += "\n";
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const auto& stage = plan.stages[s];
    text += padded(std::to_string(s), 5) + padded(std::to_string(stage.rank), 6) +
            padded(std::to_string(stage.layers), 8) + "  " +
            padded(std::to_string(stage.first_layer) + ".." + std::to_string(stage.first_layer + stage.layers - 1), 8,
                   true);
    for (std::size_t k = 0; k < p.levels.size(); ++k) {
      std::int64_t n = 0;
      for (const std::uint32_t x : stage.levels) n += x == k ? 1 : 0;
      text += padded(std::to_string(n), 12);
    }
    text += "\n";
  }
  text += "\nRank    time_ms   of it again   memory_gib   capacity_gib   unused_gib\n";
  for (std::size_t r = 0; r < plan.ranks.size(); ++r) {
    const auto& rank = plan.ranks[r];
    text += padded(std::to_string(r), 4) + padded(fixed(milliseconds_of(rank.time), 3), 11) +
            padded(fixed(milliseconds_of(rank.extra), 3), 14) + padded(fixed(gib_of(rank.used), 3), 13) +
            padded(fixed(gib_of(p.rooms[r].capacity), 3), 15) + padded(fixed(gib_of(rank.unused), 3), 13) + "\n";
  }
  text += "\nStep " + fixed(seconds_of(plan.step_time, plan), 3) + " s";
  if (p.has_rate(plan.step_time))
    text += ", " + fixed(p.tokens / seconds_of(plan.step_time, plan), 0) + " tokens/s/device";
  if (p.is_simulated()) text += ", simulated without hops, a third of a layer's time as its forward";
  if (plan.proved) text += "; no split and no levels are better in this model (proved)\n";
  else if (p.goal == planner::objective::step_time)
    text += "; the bound is " + fixed(seconds_of(plan.lower_bound, plan), 3) + " s (budget used up)\n";
  else
    text += "; the slowest rank takes " + fixed(milliseconds_of(plan.slowest), 3) + " ms, the bound is " +
            fixed(milliseconds_of(plan.lower_bound), 3) + " ms (budget used up)\n";
  text += "\nPrice of memory: " + fixed(gib_of(price.more), 3) + " GiB more saves " +
          fixed(seconds_of(price.everywhere, plan), 3) + " s a step on every rank" +
          (price.on_one_rank.empty() ? "" : ";");
  for (std::size_t r = 0; r < price.on_one_rank.size(); ++r)
    text += " rank " + std::to_string(r) + ": " + fixed(seconds_of(price.on_one_rank[r], plan), 3) + " s";
  text += "\n\nOther choices                                   step_s  tokens/s/device  layers by level and rank\n";
  for (const variant& x : variants) {
    text += padded(x.name, 43, true);
    if (!x.plan) {
      text += "  " + x.why_not + "\n";
      continue;
    }
    const double s = seconds_of(x.plan->step_time, *x.plan);
    text += padded(fixed(s, 3), 11) + padded(p.has_rate(x.plan->step_time) ? fixed(p.tokens / s, 0) : "-", 17) + " ";
    for (std::size_t k = p.levels.size(); k-- > 0;) text += " " + p.levels[k].name + " " + by_rank(p, *x.plan, k);
    text += "\n";
  }
  return text + "\nFor MindFormers\n" + mind_formers(p, plan);
}

nlohmann::json plan_as_json(const problem& p, const planner::split_plan& plan) {
  nlohmann::json out;
  out["step_seconds"] = seconds_of(plan.step_time, plan);
  if (p.has_rate(plan.step_time)) out["tokens_per_second_per_device"] = p.tokens / seconds_of(plan.step_time, plan);
  out["slowest_rank_us"] = microseconds_of(plan.slowest);
  if (p.goal == planner::objective::step_time) out["lower_bound_seconds"] = seconds_of(plan.lower_bound, plan);
  else out["slowest_rank_lower_bound_us"] = microseconds_of(plan.lower_bound);
  out["proved"] = plan.proved;
  for (const auto& s : plan.stages) {
    nlohmann::json counts;
    for (std::size_t k = 0; k < p.levels.size(); ++k) {
      std::int64_t n = 0;
      for (const std::uint32_t x : s.levels) n += x == k ? 1 : 0;
      counts[p.levels[k].name] = n;
    }
    out["stages"].push_back({{"rank", s.rank},
                             {"chunk", s.chunk},
                             {"first_layer", s.first_layer},
                             {"layers", s.layers},
                             {"levels", s.levels},
                             {"layers_at", counts}});
  }
  for (std::size_t r = 0; r < plan.ranks.size(); ++r) {
    const auto& rank = plan.ranks[r];
    out["ranks"].push_back({{"time_us", microseconds_of(rank.time)},
                            {"again_us", microseconds_of(rank.extra)},
                            {"bytes", rank.used.count()},
                            {"capacity_bytes", p.rooms[r].capacity.count()},
                            {"unused_bytes", rank.unused.count()}});
  }
  return out;
}

std::string as_json(const problem& p, const planner::split_plan& plan, const planner::memory_price& price,
                    const std::vector<variant>& variants) {
  nlohmann::json out = plan_as_json(p, plan);
  if (p.is_simulated()) out["simulated_seconds"] = out["step_seconds"];
  out["version"] = 1;
  out["title"] = p.title;
  if (p.paired) out["ranks_are_pairs"] = true;
  nlohmann::json one = nlohmann::json::array();
  for (const nanoseconds t : price.on_one_rank) one.push_back(seconds_of(t, plan));
  out["price_of_memory"] = {{"bytes", price.more.count()},
                            {"seconds_on_every_rank", seconds_of(price.everywhere, plan)},
                            {"seconds_on_one_rank", one}};
  for (const variant& x : variants) {
    nlohmann::json line = x.plan ? plan_as_json(p, *x.plan) : nlohmann::json{{"why_not", x.why_not}};
    line["name"] = x.name;
    out["other_choices"].push_back(line);
  }
  out["mind_formers"] = mind_formers(p, plan);
  return out.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

/// A bar per rank: weights and the rest below, activations above, against the capacity.
std::string as_svg(const problem& p, const planner::split_plan& plan) {
  const std::size_t n = plan.ranks.size();
  const double width = 900, left = 70, top = 40, height = 300, each = (width - left - 20) / static_cast<double>(n);
  double most = 1;
  for (std::size_t r = 0; r < n; ++r)
    most = std::fmax(most, static_cast<double>(std::max(p.rooms[r].capacity, plan.ranks[r].used).count()));
  const auto y_of = [&](double size) { return fixed(top + height * (1 - size / most), 1); };
  std::string svg =
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 900 400\" font-family=\"sans-serif\" "
      "font-size=\"12\">\n<rect width=\"900\" height=\"400\" fill=\"#ffffff\"/>\n<text x=\"20\" y=\"22\" "
      "font-size=\"15\">";
  svg += hocket::xml_text(p.title);
  svg += "</text>\n";
  for (int i = 0; i <= 4; ++i) {
    const double size = most * i / 4;
    svg +=
        "<text x=\"60\" y=\"" + y_of(size) + "\" text-anchor=\"end\">" + fixed(size / bytes_per_gib, 1) + "</text>\n";
  }
  for (std::size_t r = 0; r < n; ++r) {
    std::int64_t constant = p.rooms[r].fixed.count(), layer = 0;
    for (const auto& s : plan.stages) {
      if (s.rank != r) continue;
      layer = 0;
      for (const auto& run : p.runs)
        for (std::int64_t i = 0; i < run.count; ++i, ++layer)
          if (layer >= s.first_layer && layer < s.first_layer + s.layers) constant += run.each.weights.count();
    }
    const double x = left + each * static_cast<double>(r), w = each * 0.8;
    const auto bar = [&](double from, double to, const char* colour) {
      svg += "<rect x=\"" + fixed(x, 1) + "\" y=\"" + y_of(to) + "\" width=\"" + fixed(w, 1) + "\" height=\"" +
             fixed(height * (to - from) / most, 1) + "\" fill=\"" + colour + "\"/>\n";
    };
    const auto kept = static_cast<double>(plan.ranks[r].used.count());
    bar(0, static_cast<double>(constant), "#5b7fb5");
    bar(static_cast<double>(constant), kept, "#e3a857");
    const std::string line = y_of(static_cast<double>(p.rooms[r].capacity.count()));
    svg += "<line x1=\"" + fixed(x - 2, 1) + "\" x2=\"" + fixed(x + w + 2, 1) + "\" y1=\"" + line + "\" y2=\"" + line +
           "\" stroke=\"#b02a2a\" stroke-width=\"2\"/>\n";
    if (n <= 32)
      svg +=
          "<text x=\"" + fixed(x + w / 2, 1) + "\" y=\"358\" text-anchor=\"middle\">" + std::to_string(r) + "</text>\n";
  }
  return svg +
         "<text x=\"70\" y=\"384\">GiB by rank: <tspan fill=\"#5b7fb5\">weights and what does not depend on the "
         "micro-batches</tspan>, <tspan fill=\"#b07a20\">activations</tspan>, <tspan fill=\"#b02a2a\">capacity"
         "</tspan></text>\n</svg>\n";
}

void split(const options& o) {
  const problem p = read_problem(o.problem);
  const planner::split_problem q = p.question();
  const auto plan = solved(p, q);
  if (!plan) fail(o.problem, plan.error());
  const bool ask_each = p.rooms.size() <= 64;
  const auto price = value_or_fail(
      p.is_simulated() ? planner::price_of_memory(q, *p.lists, {.beside = p.beside}, *plan, p.more_bytes, ask_each)
                       : planner::price_of_memory(q, *plan, p.more_bytes, ask_each),
      o.problem);
  const bool of_steps = p.goal == planner::objective::step_time;
  std::string more = of_steps ? " bound_s=" + fixed(seconds_of(plan->lower_bound, *plan), 6)
                              : " bound_ms=" + fixed(milliseconds_of(plan->lower_bound), 6);
  if (p.is_simulated()) more += " simulated_s=" + fixed(seconds_of(plan->step_time, *plan), 6);
  const std::string format = form(o.format);
  give(o.out,
       format == "svg"    ? as_svg(p, *plan)
       : format == "json" ? as_json(p, *plan, price, variants_of(p, *plan))
                          : as_text(p, *plan, price, variants_of(p, *plan)),
       "step_s=" + fixed(seconds_of(plan->step_time, *plan), 6) + " slowest_rank_ms=" +
           fixed(milliseconds_of(plan->slowest), 6) + more + " proved=" + (plan->proved ? "yes" : "no") +
           " one_more_saves_s=" + fixed(seconds_of(price.everywhere, *plan), 6));
}

}  // namespace

void add_planner_split(CLI::App& planner_command) {
  auto o = std::make_shared<options>();
  CLI::App* command = planner_command.add_subcommand(
      "split", "Which layers run on which stage, and what each computes again, to fit memory in the least time");
  command->add_option("problem,--problem", o->problem, "JSON: layers, levels, schedule, capacity (docs/file_forms.md)")
      ->required()
      ->type_name("FILE");
  command->add_option("--format", o->format, "text (the default), json or svg (memory against capacity)")
      ->check(CLI::IsMember({"text", "json", "svg"}));
  add_out(*command, o->out);
  command->callback([o] { split(*o); });
}

}  // namespace hocket_cli
