// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The split of the layers in `hocket plan`: layers as the formulas of `cost` price them, and the planner's choice.
#include <hocket/cost/model/list_time.hpp>
#include <hocket/planner/plan/stage_time.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "command.hpp"
#include "plan_step.hpp"

namespace hocket_cli {

namespace cost = hocket::cost;
namespace planner = hocket::planner;

namespace {

std::int64_t ceiling(const cost::rational& bytes) { return static_cast<std::int64_t>(bytes.ceiling().num()); }

/// What each layer may do: everything if the file leaves it open, else what it says.
std::vector<layer_split::way> ways_of(const plan_input& in) {
  using cost::recompute;
  const cost::training& t = in.training.step;
  const bool open = std::find(in.open.begin(), in.open.end(), "recompute") != in.open.end();
  const std::vector<layer_split::way> all{{"none", {}, {recompute::none, {}}},
                                          {"activation",
                                           {R"(feed_forward\.mul)", R"(feed_forward\.w1\.activation)",
                                            R"(feed_forward\.w1\.reshape)", R"(feed_forward\.w2\.reshape)"},
                                           {recompute::none, {.activation = true}}},
                                          {"selective", {}, {recompute::selective, {}}},
                                          {"full", {}, {recompute::full, {}}}};
  std::vector<layer_split::way> some;
  for (const layer_split::way& x : all) {
    const bool scores = x.how.level == recompute::selective;
    if (open ? !(scores && t.flash_attention) : x.how == cost::recompute_choice{in.parallel.recompute, {}})
      some.push_back(x);
  }
  return some;
}

cost::parallel with_level(const plan_input& in, cost::recompute level) {
  cost::parallel p = in.parallel;
  p.recompute = level;
  return p;
}
cost::rational kept_by_layer(const plan_input& in, const cost::layer_list& list, const cost::layer_blocks& blocks,
                             const cost::recompute_choice& how) {
  return value_or_fail(
      cost::layer_activation_bytes(list, blocks, in.training.step, with_level(in, how.level), how.operations), in.file);
}

/// What stands on each stage and rank as the planner cut it.
void set_parts(const plan_input& in, const cost::layer_list& list, layer_split& split) {
  std::vector<std::int64_t> sizes;
  for (const planner::split_stage& stage : split.plan.stages) sizes.push_back(stage.layers);
  split.by_stage = stages_of(in, list, sizes);
  split.by_rank.assign(static_cast<std::size_t>(in.parallel.pp), {});
  for (cost::rank_layers& x : split.by_rank) x.ends.first = x.ends.last = false;
  for (std::size_t s = 0; s < sizes.size(); ++s) {
    const std::uint32_t rank = split.plan.stages[s].rank;
    split.by_rank[rank] = planner::joined(split.by_rank[rank], split.by_stage[s]);
    split.by_rank[rank].ends.rank = rank;
  }
}

/// Layers in a row that are equal and run alike.
struct alike {
  const cost::layer_blocks* blocks = nullptr;
  std::int64_t count = 0;
  std::size_t way = 0;
};
/// Those of a stage in model order. What belongs to an end is not a layer: it keeps and takes all.
std::vector<alike> layers_of(const cost::layer_list& list, const layer_split& split, std::size_t stage) {
  std::vector<alike> out;
  const planner::split_stage& s = split.plan.stages[stage];
  std::int64_t before = 0;
  for (const cost::repeated_layer& run : list.layers) {
    for (std::int64_t i = 0; i < run.count; ++i) {
      const std::int64_t at = before + i - s.first_layer;
      if (at < 0 || at >= s.layers) continue;
      const std::size_t way = s.levels[static_cast<std::size_t>(at)];
      if (out.empty() || out.back().blocks != &run.blocks || out.back().way != way)
        out.push_back({&run.blocks, 0, way});
      ++out.back().count;
    }
    before += run.count;
  }
  return out;
}
/// What a stage has beside the model's layers: blocks of the first and last stage, and prediction modules.
std::vector<cost::repeated_layer> beside_layers(const cost::layer_list& list, bool first, bool last) {
  std::vector<cost::repeated_layer> out;
  if (first && !list.front.empty()) out.push_back({list.front, 1});
  if (last) out.insert(out.end(), list.predictions.begin(), list.predictions.end());
  if (last && !list.back.empty()) out.push_back({list.back, 1});
  return out;
}

/// Most micro-batches that have passed a chunk of a rank at once.
std::int64_t most_held(const planner::in_flight_profile& held, std::uint32_t rank, std::uint32_t chunk) {
  std::uint32_t most = 0;
  for (std::uint32_t k = 0; k < held.times(rank); ++k) most = std::max(most, held.at(rank, k)[chunk]);
  return most;
}
bool runs_whole_layers_again(const layer_split& split, std::size_t rank) {
  for (const planner::split_stage& s : split.plan.stages)
    for (const std::uint32_t k : s.levels)
      if (s.rank == rank && split.ways[k].how.level == cost::recompute::full) return true;
  return false;
}

/// What stands on a rank whatever its layers keep: states, ends, the moments of the peak.
cost::list_memory without_kept(const plan_input& in, const cost::layer_list& list, const cost::rank_layers& on,
                               bool whole, std::int64_t embedded) {
  const cost::recompute_choice how{whole ? cost::recompute::full : cost::recompute::none, {}};
  return value_or_fail(
      cost::memory_of_rank(list, cost::with_choice(on, how), in.training.step, in.parallel, {0, embedded}), in.file);
}
/// Memory of a rank under a split, at the fullest of its times.
struct rank_bytes {
  cost::list_memory all;
  std::int64_t passes = 0, embedded = 0;
};
rank_bytes bytes_of(const plan_input& in, const cost::layer_list& list, const layer_split& split,
                    const planner::in_flight_profile& held, std::uint32_t rank) {
  rank_bytes out;
  const std::uint32_t chunks = held.chunks();
  std::vector<cost::rational> chunk_bytes(chunks, cost::rational(0));
  std::vector<std::int64_t> layers(chunks, 0);
  for (std::size_t s = 0; s < split.by_stage.size(); ++s) {
    const planner::split_stage& stage = split.plan.stages[s];
    if (stage.rank != rank) continue;
    cost::rational& bytes = chunk_bytes[stage.chunk];
    layers[stage.chunk] = stage.layers;
    for (const alike& some : layers_of(list, split, s))
      bytes = bytes + kept_by_layer(in, list, *some.blocks, split.ways[some.way].how) * cost::rational(some.count);
    for (const auto& more : beside_layers(list, split.by_stage[s].ends.first, split.by_stage[s].ends.last))
      bytes = bytes + kept_by_layer(in, list, more.blocks, {}) * cost::rational(more.count);
  }
  cost::rational kept = 0;
  for (std::uint32_t k = 0; k < held.times(rank); ++k) {
    const auto counts = held.at(rank, k);
    cost::rational sum = 0;
    std::int64_t passes = 0;
    for (std::uint32_t c = 0; c < chunks; ++c) {
      sum = sum + chunk_bytes[c] * cost::rational(std::int64_t{counts[c]});
      passes += counts[c] * layers[c];
    }
    if (k > 0 && !(kept < sum)) continue;
    kept = sum;
    out.passes = passes;
  }
  const cost::rank_layers& on = split.by_rank[rank];
  out.embedded = on.ends.first ? most_held(held, rank, held.chunk_of(0)) : 0;
  out.all = without_kept(in, list, on, runs_whole_layers_again(split, rank), out.embedded);
  out.all.activation_bytes = out.all.activation_bytes + kept;
  out.all.peak.kept_bytes = out.all.peak.kept_bytes + kept;
  return out;
}

/// Layers as the planner takes them: what each takes, weighs and keeps.
std::vector<planner::split_layers> priced_layers(const plan_input& in, const cost::layer_list& list,
                                                 const std::vector<layer_split::way>& ways) {
  std::vector<planner::split_layers> runs;
  const cost::layer_blocks sets = cost::detail::shared_sets(list);  // every rank keeps room for these
  for (const cost::repeated_layer& run : list.layers) {
    const auto seconds = [&](const cost::recompute_choice& how) {
      if (!in.training.on) return 0.0;
      return value_or_fail(
                 cost::time_of_layer(list, run.blocks, in.training.step, in.parallel, in.training.on->rates, how),
                 in.file)
          .total()
          .count();
    };
    planner::split_layers one;
    one.count = run.count;
    const auto n = value_or_fail(
        cost::detail::rounded(value_or_fail(
            cost::detail::sum_parameters(list, cost::detail::without_sets(run.blocks, sets), 1, in.parallel), in.file)),
        in.file);
    one.each.weights =
        hocket::bytes(ceiling(value_or_fail(cost::static_bytes(n, in.training.step, in.parallel), in.file)));
    const double base = seconds({});
    one.each.time = std::chrono::nanoseconds(in.training.on ? std::llround(base * 1e9) : 1);
    for (const layer_split::way& x : ways) {
      const double extra = (seconds(x.how) - base) * 1e9;
      one.each.levels.push_back({hocket::bytes(ceiling(kept_by_layer(in, list, run.blocks, x.how))),
                                 std::chrono::nanoseconds(std::llround(extra > 0 ? extra : 0))});
    }
    runs.push_back(one);
  }
  return runs;
}

/// What each rank has beside the layers that are split.
struct rank_rooms {
  std::vector<planner::rank_room> plain;
  std::vector<hocket::bytes> fixed_with_whole;  ///< where layers are recomputed whole
};
rank_rooms rooms_of(const plan_input& in, const cost::layer_list& list, const planner::in_flight_profile& held) {
  rank_rooms out;
  out.plain.resize(held.ranks());
  out.fixed_with_whole.resize(held.ranks());
  const std::uint32_t last = held.stages() - 1;
  const cost::rational sets = static_bytes_of_sets(list, in.training.step, in.parallel, in.file);
  for (std::uint32_t r = 0; r < held.ranks(); ++r) {
    cost::rank_layers on;
    on.ends = {.first = held.rank_of(0) == r, .last = held.rank_of(last) == r, .rank = r};
    const std::vector<cost::repeated_layer> beside_them = beside_layers(list, on.ends.first, on.ends.last);
    for (const auto& more : beside_them) on.layers.push_back({more.blocks, more.count});
    const std::int64_t embedded = on.ends.first ? most_held(held, r, held.chunk_of(0)) : 0;
    const cost::list_memory ends = without_kept(in, list, on, false, embedded);
    cost::rational kept = 0;
    for (const auto& more : beside_them) {
      const bool front = on.ends.first && more.blocks == list.front;
      kept = kept + kept_by_layer(in, list, more.blocks, {}) *
                        cost::rational(more.count * most_held(held, r, held.chunk_of(front ? 0 : last)));
    }
    // Any of the layers may stand here: the moments are those of the largest.
    for (const cost::repeated_layer& each : list.layers) on.layers.push_back({each.blocks, 1});
    const auto beside = [&](bool whole) {
      const cost::list_memory x = without_kept(in, list, on, whole, embedded);
      return hocket::bytes(ceiling(ends.static_bytes + sets + kept) + ceiling(x.peak.total_bytes() - x.static_bytes) +
                           1);
    };
    out.plain[r].capacity = in.memory.usable();
    out.plain[r].fixed = beside(false);
    out.fixed_with_whole[r] = beside(true);
    if (!in.training.on) continue;
    cost::layer_time time;
    for (const auto& more : beside_layers(list, on.ends.first, on.ends.last))
      time += static_cast<double>(more.count) * value_or_fail(cost::time_of_layer(list, more.blocks, in.training.step,
                                                                                  in.parallel, in.training.on->rates),
                                                              in.file);
    if (on.ends.last)
      time += value_or_fail(cost::time_of_head(list, in.training.step, in.parallel, in.training.on->rates), in.file);
    out.plain[r].time = std::chrono::nanoseconds(std::llround(time.total().count() * 1e9));
  }
  return out;
}

}  // namespace

std::optional<layer_split> plan_split(const plan_input& in, const planner::in_flight_profile& held,
                                      std::string& why_even,
                                      const std::function<double(const layer_split&)>& seconds_of_step) {
  if (!in.search_split && in.split.empty()) return std::nullopt;
  const std::int64_t stages = in.parallel.pp * in.parallel.vp;
  layer_split out;
  out.ways = ways_of(in);
  if (in.parallel.offload_activations) why_even = "activations are offloaded";
  else if (in.forward_us) why_even = "stage times are measured, not those of layers";
  if (!why_even.empty() && in.split.empty()) return std::nullopt;
  if (!why_even.empty()) fail(in.file + ": \"pipeline.split\" cannot be used: " + why_even);
  const bool choose = in.training.on.has_value();
  const cost::layer_list m = list_of(in);
  const auto p = held.ranks();
  const std::vector<planner::split_layers> runs = priced_layers(in, m, out.ways);
  const rank_rooms room = rooms_of(in, m, held);
  const std::vector<planner::rank_room>& rooms = room.plain;
  const std::vector<hocket::bytes>& fixed_with_whole = room.fixed_with_whole;
  const bool whole =
      std::any_of(out.ways.begin(), out.ways.end(), [](const auto& x) { return x.how.level == cost::recompute::full; });

  planner::split_problem q{
      .layers = runs, .ranks = rooms, .in_flight = held, .micro_batches = in.micro_batches(), .split = in.split};
  // A layer that is recomputed whole needs room for all of its tensors once, so plans with such layers are looked for
  // by themselves: with them, every rank keeps that room.
  const auto solve = [&](const std::vector<std::int64_t>& cut) {
    std::optional<planner::split_plan> best;
    std::optional<hocket::error> why;
    bool proved = true;
    std::chrono::nanoseconds bound{0};
    q.split = cut;
    for (const bool with_whole : {false, true}) {
      if (with_whole && !whole) continue;
      std::vector<planner::split_layers> some = runs;
      std::vector<planner::rank_room> roomy = rooms;
      std::vector<std::uint32_t> number;
      for (std::uint32_t k = 0; k < out.ways.size(); ++k)
        if (with_whole || out.ways[k].how.level != cost::recompute::full) number.push_back(k);
      if (number.empty()) continue;
      for (std::size_t i = 0; i < some.size(); ++i) {
        some[i].each.levels = {};
        for (const std::uint32_t k : number) some[i].each.levels.push_back(runs[i].each.levels[k]);
      }
      if (with_whole)
        for (std::uint32_t r = 0; r < p; ++r) roomy[r].fixed = fixed_with_whole[r];
      q.layers = some;
      q.ranks = roomy;
      auto plan = planner::solve(q);
      if (!plan) {
        why = plan.error();
        proved = proved && why->code == hocket::errc::does_not_fit;
        continue;
      }
      proved = proved && plan->proved;
      bound = bound.count() == 0 ? plan->lower_bound : std::min(bound, plan->lower_bound);
      for (planner::split_stage& s : plan->stages)
        for (std::uint32_t& k : s.levels) k = number[k];
      if (!best || plan->step_time < best->step_time) best = std::move(*plan);
    }
    if (best) {
      best->proved = proved;
      best->lower_bound = bound;
      return best;
    }
    if (!in.split.empty() || !in.search_split || !why) return best;
    why_even = "no split fits: " + message(*why);
    return best;
  };
  std::optional<planner::split_plan> plan;
  if (choose) plan = solve(in.split);
  if (!plan && in.split.empty()) return std::nullopt;
  if (!plan) {  // a split that is given, and does not fit, or no rates to choose levels by: the leanest, or the only
                // one
    planner::split_plan as_given;
    std::int64_t layer = 0;
    const auto level = static_cast<std::uint32_t>(out.ways.size() - 1);
    for (std::uint32_t s = 0; s < in.split.size(); ++s) {
      as_given.stages.push_back({held.rank_of(s), held.chunk_of(s), layer, in.split[s],
                                 std::vector<std::uint32_t>(static_cast<std::size_t>(in.split[s]), level)});
      layer += in.split[s];
    }
    plan = std::move(as_given);
  }
  out.plan = std::move(*plan);
  out.searched = in.split.empty();
  set_parts(in, m, out);
  if (!choose) return out;
  why_even.clear();
  // The planner's step time is that of equal stages. With one chunk it is close; with several, stages may differ much,
  // so plans with ever longer stages are simulated, and the shortest step is taken.
  const auto measured = [&](planner::split_plan x) {
    layer_split other = out;
    other.plan = std::move(x);
    set_parts(in, m, other);
    other.step_seconds =
        in.parallel.vp == 1 ? static_cast<double>(other.plan.step_time.count()) / 1e9 : seconds_of_step(other);
    return other;
  };
  out = measured(out.plan);
  if (out.searched && in.parallel.vp > 1)
    for (std::int64_t more = 0; more <= 3; ++more) {
      q.max_on_stage = hocket::ceil_div(m.layer_count(), stages) + more;
      if (auto other = solve({})) {
        layer_split some = measured(std::move(*other));
        if (some.step_seconds < out.step_seconds) out = std::move(some);
      }
    }
  q.max_on_stage = 0;
  std::vector<std::int64_t> even;
  for (std::int64_t s = 0; s < stages; ++s)
    even.push_back(m.layer_count() / stages + (s < m.layer_count() % stages ? 1 : 0));
  if (auto other = solve(even)) {
    layer_split some = measured(std::move(*other));
    out.even_seconds = some.step_seconds;
    if (out.searched && some.step_seconds < out.step_seconds) {
      some.even_seconds = some.step_seconds;
      out = std::move(some);
    }
  }
  why_even.clear();
  return out;
}

bool timed_by_the_machine(const plan_input& in) { return in.training.on && !in.forward_us; }

std::vector<step_plan::stage> times_of_split(const plan_input& in, const layer_split& split) {
  const cost::layer_list list = list_of(in);
  std::vector<step_plan::stage> stages;
  for (std::size_t s = 0; s < split.by_stage.size(); ++s) {
    const cost::rank_layers& on = split.by_stage[s];
    if (!timed_by_the_machine(in)) {
      stages.push_back(counted_stage(in, list, on));
      continue;
    }
    const cost::machine& rates = in.training.on->rates;
    cost::layer_time sum;
    const auto add = [&](const cost::layer_blocks& blocks, std::int64_t count, const cost::recompute_choice& how) {
      sum += static_cast<double>(count) *
             value_or_fail(cost::time_of_layer(list, blocks, in.training.step, in.parallel, rates, how), in.file);
    };
    for (const alike& some : layers_of(list, split, s)) add(*some.blocks, some.count, split.ways[some.way].how);
    for (const auto& more : beside_layers(list, on.ends.first, on.ends.last)) add(more.blocks, more.count, {});
    if (on.ends.last) sum += value_or_fail(cost::time_of_head(list, in.training.step, in.parallel, rates), in.file);
    stages.push_back(timed_stage(on.layer_count, sum));
  }
  return stages;
}

cost::step_prediction step_of_split(const plan_input& in, const layer_split& split) {
  const cost::layer_list list = list_of(in);
  std::vector<cost::rank_layers> ranks(split.by_rank.size());
  for (std::size_t r = 0; r < ranks.size(); ++r) ranks[r].ends = split.by_rank[r].ends;
  for (std::size_t s = 0; s < split.by_stage.size(); ++s) {
    cost::rank_layers& to = ranks[split.plan.stages[s].rank];
    const cost::rank_layers& on = split.by_stage[s];
    to.layer_count += on.layer_count;
    for (const alike& some : layers_of(list, split, s))
      to.layers.push_back({*some.blocks, some.count, split.ways[some.way].how});
    for (const auto& more : beside_layers(list, on.ends.first, on.ends.last))
      to.layers.push_back({more.blocks, more.count});
  }
  return value_or_fail(cost::predict_step(list, in.training.step, in.parallel, in.training.on->rates,
                                          std::span<const cost::rank_layers>(ranks)),
                       in.file);
}

bool split_fits(const plan_input& in, const layer_split& split, const planner::in_flight_profile& held) {
  const cost::layer_list list = list_of(in);
  for (std::uint32_t r = 0; r < held.ranks(); ++r) {
    if (!cost::fits(bytes_of(in, list, split, held, r).all.peak, in.memory)) return false;
  }
  return true;
}

namespace {
/// FLOPs of a step with what the layers of each level do again.
cost::rational hardware_flops(const plan_input& in, const cost::layer_list& list, const layer_split& split,
                              const cost::rational& model_step) {
  cost::rational sum = model_step;
  for (std::size_t s = 0; s < split.by_stage.size(); ++s)
    for (const alike& some : layers_of(list, split, s)) {
      const cost::recompute_choice& how = split.ways[some.way].how;
      sum = sum + value_or_fail(cost::detail::flops_of_run(*some.blocks, {.on_rank = {.layers = some.count},
                                                                          .sizes = list.sizes,
                                                                          .training = in.training.step,
                                                                          .parallel = with_level(in, how.level),
                                                                          .counted = in.training.counted,
                                                                          .replayed = how.operations}),
                                in.file)
                      .again;
    }
  return sum;
}
}  // namespace

void put_split_into_report(const plan_input& in, const layer_split& split, const planner::in_flight_profile& held,
                           step_plan& out) {
  const cost::layer_list list = list_of(in);
  for (std::uint32_t r = 0; r < held.ranks(); ++r) {
    const rank_bytes b = bytes_of(in, list, split, held, r);
    cost::rank_memory& memory = out.cost.memory[r];
    memory.on_rank = split.by_rank[r].ends;
    memory.on_rank.layers = split.by_rank[r].layer_count;
    memory.in_flight = {.layer_passes = b.passes, .embedding_passes = b.embedded};
    memory.parameters = b.all.parameters;
    memory.static_bytes = b.all.static_bytes;
    memory.activation_bytes = b.all.activation_bytes;
    memory.peak = b.all.peak;
  }
  // Terms of the even split have no place in this report.
  std::erase_if(out.cost.lines, [](const cost::report_line& line) {
    return line.group == "static bytes, rank 0" || line.group == "seconds of a step" ||
           line.group == "seconds of a micro-batch on the busiest rank";
  });
  if (out.cost.flops) out.cost.flops->hardware_step = hardware_flops(in, list, split, out.cost.flops->model_step);
  if (in.training.on) out.cost_context.step = step_of_split(in, split);
}

namespace {

// Whether lists by stage say what a stage does. They take its first layers: so many whole, and of each pattern so many
// from the same start on. Of equal layers it does not matter which.
bool said_by_lists(const planner::split_stage& stage, const std::vector<pasted_level>& levels,
                   std::span<const std::int64_t> runs,
                   const std::vector<std::pair<std::string, std::int64_t>>& patterns, std::int64_t whole) {
  std::vector<std::pair<std::size_t, std::vector<bool>>> planned, listed;  // kind of layer; whole, patterns
  std::size_t kind = 0;
  std::int64_t end = runs.empty() ? 0 : runs[0];
  for (std::int64_t i = 0; i < stage.layers; ++i) {
    while (stage.first_layer + i >= end && kind + 1 < runs.size()) end += runs[++kind];
    const pasted_level& level = levels[stage.levels[static_cast<std::size_t>(i)]];
    if (level.no_pattern) return false;
    std::vector<bool> does{level.whole}, says{i < whole};
    for (const auto& [pattern, count] : patterns) {
      const auto& select = level.select;
      does.push_back(!level.whole && std::find(select.begin(), select.end(), pattern) != select.end());
      says.push_back(i >= whole && i < count);
    }
    planned.emplace_back(kind, std::move(does));
    listed.emplace_back(kind, std::move(says));
  }
  std::sort(planned.begin(), planned.end());
  std::sort(listed.begin(), listed.end());
  return planned == listed;
}

// A text as a string of YAML.
std::string in_yaml(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? "''" : std::string(1, c);
  return out + "'";
}

}  // namespace

// recompute: layers recomputed whole, by stage: the first so many. select_recompute: for each pattern the layers that
// run it again, also the first so many of the stage, so those recomputed whole count too; a pattern of all others
// stands alone. offset: layers more or fewer than an even share. Several chunks: a list of such lists, one per chunk.
std::string mind_formers(const std::vector<pasted_level>& levels, const planner::split_plan& plan, std::uint32_t ranks,
                         std::uint32_t chunks, std::span<const std::int64_t> runs) {
  using counts = std::vector<std::int64_t>;  // by stage, chunk after chunk
  const std::size_t stages = std::size_t{ranks} * chunks;
  const auto index = [&](const planner::split_stage& s) { return std::size_t{s.chunk} * ranks + s.rank; };
  const auto printed = [&](const counts& of) {
    std::string text = chunks > 1 ? "[" : "";
    for (std::size_t i = 0; i < of.size(); ++i) {
      if (i % ranks == 0) text += i == 0 ? "[" : "], [";
      else text += ", ";
      text += std::to_string(of[i]);
    }
    return text + (chunks > 1 ? "]]" : "]");
  };
  const auto at_level = [&](std::size_t level) {
    counts n(stages);
    for (const planner::split_stage& s : plan.stages)
      n[index(s)] += std::count(s.levels.begin(), s.levels.end(), static_cast<std::uint32_t>(level));
    return n;
  };
  counts size(stages), offset(stages);
  std::int64_t layers = 0;
  for (const planner::split_stage& s : plan.stages) {
    size[index(s)] = s.layers;
    layers += s.layers;
  }
  bool even = true;
  for (std::size_t i = 0; i < stages; ++i) {
    offset[i] = size[i] - layers / static_cast<std::int64_t>(stages);
    even = even && offset[i] == 0;
  }
  std::string text = "recompute_config:\n";
  counts whole(stages), rest = size;
  bool any_whole = false;
  for (std::size_t k = 0; k < levels.size(); ++k) {
    if (!levels[k].whole) continue;
    any_whole = true;
    const counts n = at_level(k);
    for (std::size_t i = 0; i < stages; ++i) {
      whole[i] += n[i];
      rest[i] -= n[i];
    }
  }
  text += "  recompute: " + (any_whole ? printed(whole) : "False") + "\n";
  std::vector<std::pair<std::string, counts>> patterns;  // layers by stage that run it again, and not the whole layer
  for (std::size_t k = 0; k < levels.size(); ++k)
    for (const std::string& x : levels[k].select) {
      if (levels[k].whole) continue;
      std::size_t i = 0;
      while (i < patterns.size() && patterns[i].first != x) ++i;
      if (i == patterns.size()) patterns.push_back({x, counts(stages)});
      const counts n = at_level(k);
      for (std::size_t s = 0; s < stages; ++s) patterns[i].second[s] += n[s];
    }
  bool all = true, none = true;
  for (const auto& [pattern, n] : patterns) {
    all = all && n == rest;
    for (const std::int64_t x : n) none = none && x == 0;
  }
  for (auto& [pattern, n] : patterns)
    for (std::size_t i = 0; i < stages; ++i) n[i] += n[i] > 0 ? whole[i] : 0;
  if (patterns.empty() || none) {
    text += "  select_recompute: False\n";
  } else if (all) {
    text += "  select_recompute: [";
    for (std::size_t i = 0; i < patterns.size(); ++i) text += (i == 0 ? "" : ", ") + in_yaml(patterns[i].first);
    text += "]\n";
  } else {
    text += "  select_recompute:\n";
    for (const auto& [pattern, n] : patterns) text += "    " + in_yaml(pattern) + ": " + printed(n) + "\n";
  }
  std::string unsaid;
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const std::size_t i = index(plan.stages[s]);
    std::vector<std::pair<std::string, std::int64_t>> here;
    for (const auto& [pattern, n] : patterns) here.emplace_back(pattern, n[i]);
    if (!said_by_lists(plan.stages[s], levels, runs, here, whole[i]))
      unsaid += (unsaid.empty() ? "" : ", ") + std::to_string(s);
  }
  if (!unsaid.empty())
    text += "# no such lists say all that is computed again (they take the first layers of a stage): stages " + unsaid +
            "\n";
  if (!even || chunks > 1) text += "model:\n  model_config:\n";
  if (chunks > 1) text += "    pp_interleave_num: " + std::to_string(chunks) + "\n";
  if (!even) text += "    offset: " + printed(offset) + "\n";
  return text;
}

}  // namespace hocket_cli
