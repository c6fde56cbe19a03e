// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The split of the layers in `hocket plan`: layers as the formulas of `cost` price them, and the planner's choice.
#include <hocket/cost/model/layer_cost.hpp>
#include <hocket/cost/model/partition.hpp>
#include <hocket/cost/model/peak_memory.hpp>
#include <hocket/cost/model/step_time.hpp>

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

cost::model model_of(const plan_input& in) {
  cost::model m = in.model.model;
  if (in.training.padded_vocabulary > 0) m.vocabulary = in.training.padded_vocabulary;
  return m;
}
std::int64_t dense_layers(const cost::model& m) { return m.layers - m.moe_layers; }

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

/// Parts of the model as the planner cut it.
void set_parts(const plan_input& in, layer_split& split) {
  const cost::model m = model_of(in);
  const std::int64_t dense = dense_layers(m), stages = in.parallel.pp * in.parallel.vp;
  split.by_rank.assign(static_cast<std::size_t>(in.parallel.pp), {});
  for (cost::part& x : split.by_rank) x.first = x.last = false;
  split.by_stage.clear();
  for (std::int64_t s = 0; s < stages; ++s) {
    const planner::split_stage& stage = split.plan.stages[static_cast<std::size_t>(s)];
    const std::int64_t begin = stage.first_layer, end = begin + stage.layers;
    const auto above = [&](std::int64_t x) { return x > dense ? x - dense : 0; };
    cost::part part{.layers = stage.layers,
                    .moe_layers = above(end) - above(begin),
                    .window_layers = end * m.window_layers / m.layers - begin * m.window_layers / m.layers,
                    .first = s == 0,
                    .last = s + 1 == stages,
                    .rank = stage.rank};
    split.by_stage.push_back(part);
    cost::part& rank = split.by_rank[stage.rank];
    rank.layers += part.layers;
    rank.moe_layers += part.moe_layers;
    rank.window_layers += part.window_layers;
    rank.first = rank.first || part.first;
    rank.last = rank.last || part.last;
    rank.rank = stage.rank;
  }
}

cost::parallel with_level(const plan_input& in, cost::recompute level) {
  cost::parallel p = in.parallel;
  p.recompute = level;
  return p;
}
/// Bytes of the embedding and the head's tensors.
cost::rational ends_of(const plan_input& in, const cost::part& on_rank, std::int64_t embedded) {
  cost::part ends = on_rank;
  ends.layers = ends.moe_layers = ends.window_layers = 0;
  return value_or_fail(cost::activation_bytes(model_of(in), in.training.step, with_level(in, cost::recompute::none),
                                              ends, {0, 0, on_rank.first ? embedded : 0}),
                       in.file);
}
cost::rational kept_by_layer(const plan_input& in, const cost::recompute_choice& how, bool experts) {
  return value_or_fail(
      cost::layer_activation_bytes(model_of(in), in.training.step, with_level(in, how.level), experts, how.operations),
      in.file);
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

struct rank_bytes {
  cost::rank_parameters parameters;
  cost::rational fixed, kept, beside;  ///< states; what layers keep; ends and a layer that is recomputed
  std::int64_t passes = 0, moe_passes = 0, embedded = 0;
};
rank_bytes bytes_of(const plan_input& in, const layer_split& split, const planner::in_flight_profile& held,
                    std::uint32_t rank) {
  const cost::model m = model_of(in);
  const cost::part& part = split.by_rank[rank];
  rank_bytes out;
  out.parameters = value_or_fail(cost::count_rank_parameters(m, in.parallel, part), in.file);
  out.fixed = value_or_fail(cost::static_bytes(out.parameters, in.training.step, in.parallel), in.file);
  const std::uint32_t chunks = held.chunks();
  std::vector<cost::rational> chunk_bytes(chunks, cost::rational(0));
  std::vector<std::int64_t> layers(chunks, 0), experts(chunks, 0);
  for (std::size_t s = 0; s < split.by_stage.size(); ++s) {
    const planner::split_stage& stage = split.plan.stages[s];
    if (stage.rank != rank) continue;
    layers[stage.chunk] = split.by_stage[s].layers;
    experts[stage.chunk] = split.by_stage[s].moe_layers;
    for (std::size_t w = 0; w < split.ways.size(); ++w)
      for (const bool moe : {false, true})
        if (const std::int64_t n = split.layers_of(s, w, moe, dense_layers(m)); n > 0)
          chunk_bytes[stage.chunk] =
              chunk_bytes[stage.chunk] + kept_by_layer(in, split.ways[w].how, moe) * cost::rational(n);
  }
  out.kept = 0;
  for (std::uint32_t k = 0; k < held.times(rank); ++k) {
    const auto counts = held.at(rank, k);
    cost::rational sum = 0;
    std::int64_t passes = 0, moe = 0;
    for (std::uint32_t c = 0; c < chunks; ++c) {
      sum = sum + chunk_bytes[c] * cost::rational(std::int64_t{counts[c]});
      passes += counts[c] * layers[c];
      moe += counts[c] * experts[c];
    }
    if (k == 0 || out.kept < sum) {
      out.kept = sum;
      out.passes = passes;
      out.moe_passes = moe;
    }
  }
  out.embedded = part.first ? most_held(held, rank, held.chunk_of(0)) : 0;
  out.beside = ends_of(in, part, out.embedded);
  if (runs_whole_layers_again(split, rank)) out.beside = out.beside + kept_by_layer(in, {}, part.moe_layers > 0);
  return out;
}

/// The two moments of the peak, without what layers keep, which is by level.
cost::memory_peak moments_of(const plan_input& in, const cost::part& on_rank, bool whole, std::int64_t embedded) {
  return value_or_fail(cost::peak_memory(model_of(in), in.training.step,
                                         with_level(in, whole ? cost::recompute::full : cost::recompute::none), on_rank,
                                         {0, 0, embedded}),
                       in.file);
}
cost::memory_peak peak_of(const plan_input& in, const layer_split& split, std::uint32_t rank, const rank_bytes& b) {
  cost::memory_peak peak = moments_of(in, split.by_rank[rank], runs_whole_layers_again(split, rank), b.embedded);
  peak.kept_bytes = peak.kept_bytes + b.kept;
  return peak;
}

}  // namespace

std::int64_t layer_split::layers_of(std::size_t stage, std::size_t number, bool experts, std::int64_t dense) const {
  const planner::split_stage& s = plan.stages[stage];
  std::int64_t n = 0;
  for (std::size_t i = 0; i < s.levels.size(); ++i)
    n += s.levels[i] == number && (s.first_layer + static_cast<std::int64_t>(i) >= dense) == experts ? 1 : 0;
  return n;
}

std::optional<layer_split> plan_split(const plan_input& in, const planner::in_flight_profile& held,
                                      std::string& why_even,
                                      const std::function<double(const layer_split&)>& seconds_of_step) {
  if (in.layers || (!in.search_split && in.split.empty())) return std::nullopt;
  const cost::model m = model_of(in);
  const std::int64_t stages = in.parallel.pp * in.parallel.vp;
  layer_split out;
  out.ways = ways_of(in);
  if (m.mtp_layers > 0) why_even = "the model has multi-token-prediction modules";
  else if (in.parallel.offload_activations) why_even = "activations are offloaded";
  else if (in.forward_us) why_even = "stage times are measured, not those of layers";
  if (!why_even.empty() && in.split.empty()) return std::nullopt;
  if (!why_even.empty()) fail(in.file + ": \"pipeline.split\" cannot be used: " + why_even);
  const auto rates = in.training.on ? in.training.on->rates : cost::machine{};
  const bool choose = in.training.on.has_value();

  std::vector<planner::split_layers> runs;
  bool whole = false;
  cost::rational transient = 0;  // a layer that is recomputed whole
  for (const cost::layer_run& run : cost::layer_runs(m)) {
    const bool experts = run.kind == cost::layer_kind::experts;
    if (!experts && run.kind != cost::layer_kind::dense) continue;
    planner::split_layers one;
    one.count = run.count;
    const auto none = value_or_fail(cost::count_rank_parameters(m, in.parallel, {0, 0, 0, false, false, 0}), in.file),
               layer = value_or_fail(
                   cost::count_rank_parameters(m, in.parallel, {1, experts ? 1 : 0, 0, false, false, 0}), in.file);
    one.each.weights = hocket::bytes(ceiling(value_or_fail(
        cost::static_bytes({layer.dense - none.dense, layer.expert - none.expert}, in.training.step, in.parallel),
        in.file)));
    const auto seconds = [&](const cost::recompute_choice& how) {
      if (!choose) return 0.0;
      return value_or_fail(cost::time_of_layer(m, in.training.step, in.parallel, rates, run.kind, how), in.file)
          .total()
          .count();
    };
    const double base = seconds({});
    one.each.time = std::chrono::nanoseconds(choose ? std::llround(base * 1e9) : 1);
    for (const layer_split::way& x : out.ways) {
      const double extra = (seconds(x.how) - base) * 1e9;
      one.each.levels.push_back({hocket::bytes(ceiling(kept_by_layer(in, x.how, experts))),
                                 std::chrono::nanoseconds(std::llround(extra > 0 ? extra : 0))});
      whole = whole || x.how.level == cost::recompute::full;
    }
    const cost::rational kept = kept_by_layer(in, {}, experts);
    transient = transient < kept ? kept : transient;
    runs.push_back(one);
  }

  const auto p = static_cast<std::uint32_t>(in.parallel.pp);
  std::vector<planner::rank_room> rooms(p);
  std::vector<hocket::bytes> fixed_with_whole(p);
  for (std::uint32_t r = 0; r < p; ++r) {
    cost::part ends{
        .first = held.rank_of(0) == r, .last = held.rank_of(static_cast<std::uint32_t>(stages - 1)) == r, .rank = r};
    const auto n = value_or_fail(cost::count_rank_parameters(m, in.parallel, ends), in.file);
    const std::int64_t embedded = ends.first ? most_held(held, r, held.chunk_of(0)) : 0;
    rooms[r].capacity = hocket::bytes(in.memory_bytes);
    const std::int64_t states = ceiling(value_or_fail(cost::static_bytes(n, in.training.step, in.parallel), in.file)),
                       beside = ceiling(ends_of(in, ends, embedded));
    ends.layers = 1;
    ends.moe_layers = m.moe_layers > 0 ? 1 : 0;
    const auto at_peak = [&](bool again) {
      const cost::memory_peak x = moments_of(in, ends, again, embedded);
      return ceiling(x.total_bytes() - x.static_bytes);
    };
    rooms[r].fixed = hocket::bytes(states + std::max(beside, at_peak(false)) + 1);
    fixed_with_whole[r] = hocket::bytes(states + std::max(beside + ceiling(transient), at_peak(true)) + 1);
    if (ends.last && choose)
      rooms[r].time = std::chrono::nanoseconds(std::llround(
          value_or_fail(cost::time_of_layer(m, in.training.step, in.parallel, rates, cost::layer_kind::head, {}),
                        in.file)
              .total()
              .count() *
          1e9));
  }

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
  set_parts(in, out);
  if (!choose) return out;
  why_even.clear();
  // The planner's step time is that of equal stages. With one chunk it is close; with several, stages may differ much,
  // so plans with ever longer stages are simulated, and the shortest step is taken.
  const auto measured = [&](planner::split_plan x) {
    layer_split other = out;
    other.plan = std::move(x);
    set_parts(in, other);
    other.step_seconds =
        in.parallel.vp == 1 ? static_cast<double>(other.plan.step_time.count()) * 1e-9 : seconds_of_step(other);
    return other;
  };
  out = measured(out.plan);
  if (out.searched && in.parallel.vp > 1)
    for (std::int64_t more = 0; more <= 3; ++more) {
      q.max_on_stage = hocket::ceil_div(m.layers, stages) + more;
      if (auto other = solve({})) {
        layer_split some = measured(std::move(*other));
        if (some.step_seconds < out.step_seconds) out = std::move(some);
      }
    }
  q.max_on_stage = 0;
  std::vector<std::int64_t> even;
  for (std::int64_t s = 0; s < stages; ++s) even.push_back(m.layers / stages + (s < m.layers % stages ? 1 : 0));
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

bool timed_by_the_machine(const plan_input& in) {
  return in.training.on && !in.forward_us && (in.layers || in.model.model.mtp_layers == 0);
}

namespace {

/// Times of one stage, layer kind by layer kind.
class stage_sum {
 public:
  explicit stage_sum(const plan_input& in) : in_(in), m_(model_of(in)) {}
  void add(cost::layer_kind kind, std::int64_t count, const cost::recompute_choice& how) {
    if (count == 0) return;
    sum_ += static_cast<double>(count) *
            value_or_fail(cost::time_of_layer(m_, in_.training.step, in_.parallel, in_.training.on->rates, kind, how),
                          in_.file);
  }
  /// Collectives that show are as many in the backward pass as in the forward pass.
  [[nodiscard]] step_plan::stage of(std::int64_t layers) const {
    return {layers, (sum_.forward + sum_.exposed / 2).count() * 1e6,
            (sum_.backward + sum_.again + sum_.exposed / 2).count() * 1e6};
  }

 private:
  const plan_input& in_;
  cost::model m_;
  cost::layer_time sum_;
};

}  // namespace

std::vector<step_plan::stage> times_of_split(const plan_input& in, const layer_split& split) {
  const std::int64_t dense = dense_layers(model_of(in));
  std::vector<step_plan::stage> stages;
  for (std::size_t s = 0; s < split.by_stage.size(); ++s) {
    stage_sum sum(in);
    for (std::size_t w = 0; w < split.ways.size(); ++w) {
      sum.add(cost::layer_kind::dense, split.layers_of(s, w, false, dense), split.ways[w].how);
      sum.add(cost::layer_kind::experts, split.layers_of(s, w, true, dense), split.ways[w].how);
    }
    if (split.by_stage[s].last) sum.add(cost::layer_kind::head, 1, {});
    stages.push_back(sum.of(split.by_stage[s].layers));
  }
  return stages;
}

std::vector<step_plan::stage> times_of_even_stages(const plan_input& in, const std::vector<cost::part>& parts) {
  const cost::recompute_choice how{in.parallel.recompute, {}};
  std::vector<step_plan::stage> stages;
  for (const cost::part& x : parts) {
    stage_sum sum(in);
    sum.add(cost::layer_kind::dense, x.layers - x.moe_layers, how);
    sum.add(cost::layer_kind::experts, x.moe_layers, how);
    if (x.last) sum.add(cost::layer_kind::head, 1, {});
    stages.push_back(sum.of(x.layers));
  }
  return stages;
}

cost::step_prediction step_of_split(const plan_input& in, const layer_split& split) {
  const std::int64_t dense = dense_layers(model_of(in));
  std::vector<cost::stage_layers> stages(split.by_rank.size());
  for (std::size_t s = 0; s < split.by_stage.size(); ++s) {
    cost::stage_layers& rank = stages[static_cast<std::size_t>(split.by_stage[s].rank)];
    if (split.by_stage[s].first) rank.push_back({cost::layer_kind::embedding, 1, {}});
    for (std::size_t w = 0; w < split.ways.size(); ++w) {
      if (const auto n = split.layers_of(s, w, false, dense); n > 0)
        rank.push_back({cost::layer_kind::dense, n, split.ways[w].how});
      if (const auto n = split.layers_of(s, w, true, dense); n > 0)
        rank.push_back({cost::layer_kind::experts, n, split.ways[w].how});
    }
    if (split.by_stage[s].last) rank.push_back({cost::layer_kind::head, 1, {}});
  }
  return value_or_fail(
      cost::predict_step(model_of(in), in.training.step, in.parallel, in.training.on->rates, std::move(stages)),
      in.file);
}

bool split_fits(const plan_input& in, const layer_split& split, const planner::in_flight_profile& held) {
  for (std::uint32_t r = 0; r < held.ranks(); ++r) {
    const rank_bytes b = bytes_of(in, split, held, r);
    const cost::rational whole = b.fixed + b.kept + b.beside, peak = peak_of(in, split, r, b).total_bytes();
    if ((whole < peak ? peak : whole).real() > static_cast<double>(in.memory_bytes)) return false;
  }
  return true;
}

void put_split_into_report(const plan_input& in, const layer_split& split, const planner::in_flight_profile& held,
                           step_plan& out) {
  const cost::model m = model_of(in);
  out.cost_context.peaks.clear();
  for (std::uint32_t r = 0; r < held.ranks(); ++r) {
    const rank_bytes b = bytes_of(in, split, held, r);
    cost::rank_memory& memory = out.cost.memory[r];
    memory.on_rank = split.by_rank[r];
    memory.in_flight = {b.passes, b.moe_passes, b.embedded};
    memory.parameters = b.parameters;
    memory.static_bytes = b.fixed;
    memory.activation_bytes = b.kept + b.beside;
    out.cost_context.peaks.push_back(peak_of(in, split, r, b));
  }
  // Terms of the even split have no place in this report.
  std::erase_if(out.cost.lines, [](const cost::report_line& line) {
    return line.group == "static bytes, rank 0" || line.group == "seconds of a step" ||
           line.group == "seconds of a micro-batch on the busiest rank";
  });
  if (out.cost.flops) {  // the work done again, by the layers of each level
    std::int64_t all = 0;
    cost::rational again = 0;
    const auto hardware = [&](const cost::recompute_choice& how) {
      return value_or_fail(
                 cost::count_flops(m, in.training.step, with_level(in, how.level), in.training.counted, how.operations),
                 in.file)
          .hardware_step;
    };
    const cost::rational base = hardware({});
    for (std::size_t w = 0; w < split.ways.size(); ++w) {
      std::int64_t n = 0;
      for (const planner::split_stage& s : split.plan.stages)
        n += std::count(s.levels.begin(), s.levels.end(), static_cast<std::uint32_t>(w));
      all += n;
      if (n > 0) again = again + (hardware(split.ways[w].how) - base) * cost::rational(n);
    }
    out.cost.flops->hardware_step = base + again / cost::rational(all);
  }
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
