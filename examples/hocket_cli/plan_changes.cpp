// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What would help: the plan made again with one thing changed.
#include <algorithm>
#include <functional>
#include <utility>

#include "command.hpp"
#include "cost_layers.hpp"
#include "plan_page.hpp"

namespace hocket_cli {
namespace {

namespace cost = hocket::cost;

// Simulated actions of all changes together: a few seconds of work.
constexpr std::int64_t most_actions = std::int64_t{1} << 22;

struct change {
  std::string what, family;
  std::function<void(plan_input&)> make;
};

double tokens_of(const plan_input& in) {
  return static_cast<double>(in.training.step.global_batch) * static_cast<double>(in.training.step.sequence);
}

planned_change priced(const plan_input& in, const step_plan& p) {
  planned_change out;
  out.step_seconds = predicted_step_seconds(in, p);
  out.seconds_per_token = out.step_seconds / tokens_of(in);
  out.fits = true;
  for (const auto& m : p.cost.memory) {
    out.bytes = std::max(out.bytes, static_cast<std::int64_t>(m.peak.total_bytes().ceiling().num()));
    out.fits = out.fits && in.fits(m);
  }
  return out;
}

void add_schedules(std::vector<change>& all, const plan_input& in) {
  const auto named = [&](std::string what, const char* schedule, const char* groups) {
    if (in.schedule == schedule && (in.groups == groups || in.parallel.vp == 1)) return;
    all.push_back({std::move(what), "schedule", [schedule, groups](plan_input& x) {
                     x.schedule = schedule;
                     x.groups = groups;
                     x.kappa = 0;
                   }});
  };
  if (in.schedule != "search")
    all.push_back({"search for the schedule", "schedule", [](plan_input& x) { x.schedule = "search"; }});
  if (in.parallel.vp == 1) {
    named("schedule 1f1b", "1f1b", "balanced");
    named("schedule gpipe", "gpipe", "balanced");
    return;
  }
  for (const char* groups : {"balanced", "last", "first", "paper", "least-memory"})
    named(std::string("schedule interleaved, groups ") + groups, "interleaved", groups);
}

void set_chunks(plan_input& in, std::int64_t chunks) {
  in.parallel.vp = chunks;
  if (chunks > 1 && in.schedule != "search") in.schedule = "interleaved";
}

void add_batches(std::vector<change>& all, const plan_input& in) {
  const cost::training& t = in.training.step;
  if (t.global_batch <= INT32_MAX)
    all.push_back({"global batch " + std::to_string(2 * t.global_batch) + ": twice the micro-batches", "global batch",
                   [](plan_input& x) { x.training.step.global_batch *= 2; }});
  if (in.forward_us) return;
  for (const std::int64_t size : {2 * t.micro_batch, t.micro_batch / 2})
    if (size > 0 && t.global_batch % (size * in.parallel.dp) == 0)
      all.push_back({"micro-batch size " + std::to_string(size), "micro-batch size",
                     [size](plan_input& x) { x.training.step.micro_batch = size; }});
}

void add_recompute(std::vector<change>& all, const plan_input& in) {
  using cost::recompute;
  constexpr const char* names[] = {"none", "selective", "full"};
  for (const recompute level : {recompute::none, recompute::selective, recompute::full})
    if (level != in.parallel.recompute)
      all.push_back(
          {std::string("recompute ") + names[static_cast<std::size_t>(level)], "recompute", [level](plan_input& x) {
             x.parallel.recompute = level;
             std::erase(x.open, "recompute");
           }});
}

/// One size twice as large, another half.
void add_sizes(std::vector<change>& all, const plan_input& in) {
  struct axis {
    const char* name;
    std::int64_t cost::parallel::* size;
  };
  constexpr axis axes[] = {{"tp", &cost::parallel::tp},
                           {"pp", &cost::parallel::pp},
                           {"dp", &cost::parallel::dp},
                           {"cp", &cost::parallel::cp}};
  for (const axis& up : axes)
    for (const axis& down : axes) {
      const std::int64_t more = in.parallel.*up.size * 2, less = in.parallel.*down.size / 2;
      if (up.size == down.size || in.parallel.*down.size % 2 != 0) continue;
      if (up.size == &cost::parallel::tp && more > in.devices_per_node) continue;
      all.push_back({std::string(up.name) + " " + std::to_string(more) + ", " + down.name + " " + std::to_string(less),
                     "parallel sizes", [up, down, more, less](plan_input& x) {
                       x.parallel.*up.size = more;
                       x.parallel.*down.size = less;
                     }});
    }
}

/// Experts over twice or half as many ranks, or cut into twice or half as many parts: the devices stay.
void add_expert_sizes(std::vector<change>& all, const plan_input& in) {
  struct axis {
    const char* name;
    std::int64_t cost::parallel::* size;
  };
  constexpr axis axes[] = {{"ep", &cost::parallel::ep}, {"etp", &cost::parallel::etp}};
  for (const axis& each : axes) {
    const std::int64_t now = in.parallel.*each.size;
    for (const std::int64_t size : {2 * now, now / 2}) {
      if (size == 0 || (size < now && now % 2 != 0)) continue;
      all.push_back({each.name + (" " + std::to_string(size)), "expert sizes",
                     [each, size](plan_input& x) { x.parallel.*each.size = size; }});
    }
  }
}

std::vector<change> changes_of(const plan_input& in) {
  std::vector<change> all;
  if (!in.forward_us) add_recompute(all, in);  // first: it is what makes a plan fit
  add_schedules(all, in);
  add_batches(all, in);
  if (in.forward_us) return all;      // measured times are those of these stages
  if (!in.split.empty()) return all;  // as are the layers that a file gives them
  for (const std::int64_t chunks : {2 * in.parallel.vp, in.parallel.vp / 2})
    if (chunks > 0)
      all.push_back({std::to_string(chunks) + (chunks == 1 ? " chunk a rank" : " chunks a rank"), "chunks",
                     [chunks](plan_input& x) { set_chunks(x, chunks); }});
  if (!in.training.on) return all;
  add_sizes(all, in);
  if (has_experts(in.model.layers)) add_expert_sizes(all, in);
  const int level = static_cast<int>(in.parallel.zero);
  if (in.parallel.dp > 1 && level < 3)
    all.push_back({"zero " + std::to_string(level + 1), "zero",
                   [level](plan_input& x) { x.parallel.zero = static_cast<cost::zero>(level + 1); }});
  return all;
}

/// What changes_of() leaves out for want of something in the plan file.
std::vector<std::string> not_tried(const plan_input& in) {
  if (in.forward_us)
    return {
        "Recompute, sizes of micro-batches, chunks, tp, pp, dp, cp, ep, etp and zero: \"pipeline.forward_us\" and "
        "\"pipeline.backward_us\" are times of the stages as they are, and say nothing of others."};
  if (!in.split.empty())
    return {
        "Chunks, tp, pp, dp, cp, ep, etp and zero: \"pipeline.split\" gives the layers of these stages, and of no "
        "others."};
  if (!in.training.on)
    return {
        "tp, pp, dp, cp, ep, etp and zero: the plan file has no \"training.machine\", so nothing says what "
        "communication between "
        "devices costs."};
  if (!has_experts(in.model.layers)) return {"ep and etp: the model has no experts."};
  return {};
}

bool better(const planned_change& a, const planned_change& b) {
  if (a.fits != b.fits) return a.fits;
  if (!a.fits && a.bytes != b.bytes) return a.bytes < b.bytes;
  if (a.seconds_per_token != b.seconds_per_token) return a.seconds_per_token < b.seconds_per_token;
  if (a.bytes != b.bytes) return a.bytes < b.bytes;
  return a.what < b.what;
}

/// Whether a change is worth a card: faster and fitting, or fitting at all, or leaner.
bool helps(const planned_change& x, const planned_change& now) {
  constexpr double felt = 0.999;  // a thousandth is not
  if (!now.fits) return x.fits || static_cast<double>(x.bytes) < felt * static_cast<double>(now.bytes);
  return x.fits && x.seconds_per_token < felt * now.seconds_per_token;
}

/// Schedules that a plan file has no name for, on the same stages.
void add_other_schedules(tried_changes& out, const plan_input& in, const step_plan& p, const comparison& others) {
  for (const compared_schedule& x : others.rows) {
    const bool named = x.schedule == "1f1b" || x.schedule == "gpipe" || x.schedule == "interleaved";
    if (named || x.micro_batches != in.micro_batches() || x.chunks != in.parallel.vp) continue;
    planned_change one;
    one.what = "schedule " + x.schedule;
    one.family = "schedule";
    one.step_seconds = predicted_step_seconds(in, p, x.makespan);
    one.seconds_per_token = one.step_seconds / tokens_of(in);
    one.bytes = x.bytes;
    one.fits = x.fits;
    out.possible.push_back(std::move(one));
  }
}

void recommend(tried_changes& out) {
  std::vector<std::string> families;
  const auto take = [&](auto&& good) {
    for (std::size_t i = 0; i < out.possible.size() && out.best.size() < 3; ++i) {
      const planned_change& x = out.possible[i];
      if (std::find(families.begin(), families.end(), x.family) != families.end() || !good(x)) continue;
      families.push_back(x.family);
      out.best.push_back(i);
    }
  };
  take([&](const planned_change& x) { return helps(x, out.now); });
  // Room is the next best thing: at most a twentieth slower, and at least a twentieth leaner.
  take([&](const planned_change& x) {
    return x.fits && x.seconds_per_token < 1.05 * out.now.seconds_per_token &&
           static_cast<double>(x.bytes) < 0.95 * static_cast<double>(out.now.bytes);
  });
}

}  // namespace

tried_changes try_changes(const plan_input& in, const step_plan& p, const comparison& others) {
  tried_changes out;
  out.now = priced(in, p);
  std::int64_t room = most_actions;
  for (const change& each : changes_of(in)) {
    plan_input changed = in;
    each.make(changed);
    const std::int64_t actions =
        2 * changed.parallel.pp * changed.parallel.vp * std::max<std::int64_t>(1, changed.micro_batches());
    if (actions > room) {
      ++out.left_out;
      continue;
    }
    room -= actions;
    try {
      planned_change result = priced(changed, plan_pipeline_and_cost(changed));
      result.what = each.what;
      result.family = each.family;
      out.possible.push_back(std::move(result));
    } catch (const failure&) {
      ++out.refused;
    }
  }
  if (may_offload(in, out.now)) {
    try {
      out.possible.push_back(with_offload(in));
      out.possible.back().seconds_per_token = out.possible.back().step_seconds / tokens_of(in);
    } catch (const failure&) {
      ++out.refused;
    }
  }
  if (!p.split) add_other_schedules(out, in, p, others);
  std::sort(out.possible.begin(), out.possible.end(), better);
  recommend(out);
  out.not_tried = not_tried(in);
  return out;
}

bool nothing_fits(const tried_changes& tried) {
  if (tried.now.fits) return false;
  return std::none_of(tried.possible.begin(), tried.possible.end(), [](const planned_change& x) { return x.fits; });
}

}  // namespace hocket_cli
