// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every schedule of the library on the stages of a plan, for the page's comparison.
#include <hocket/pipeline/any_schedule.hpp>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "command.hpp"
#include "plan_page.hpp"

namespace hocket_cli {
namespace {

namespace pipeline = hocket::pipeline;

// Simulated actions of all rows together: about a second of work.
constexpr std::int64_t most_actions = std::int64_t{1} << 21;
// v-half and v-min are built in O(p m (p + m)).
constexpr std::int64_t most_built = std::int64_t{1} << 24;

/// Times of the stages of so many chunks a rank, in nanoseconds. A backward is the gradient of the input and, as long
/// as a forward, that of the weights.
struct stage_ticks {
  std::vector<hocket::ticks> forward, backward, input_grad, weight_grad;
  hocket::ticks hop = 0;

  stage_ticks(const std::vector<step_plan::stage>& stages, double hop_us) {
    const auto ns = [](double us) { return std::max<hocket::ticks>(1, std::llround(us * 1000)); };
    for (const auto& s : stages) {
      forward.push_back(ns(s.forward_us));
      backward.push_back(std::max<hocket::ticks>(2, ns(s.backward_us)));
      weight_grad.push_back(std::min(forward.back(), backward.back() - 1));
      input_grad.push_back(backward.back() - weight_grad.back());
    }
    hop = ns(hop_us);
  }
  [[nodiscard]] pipeline::stage_costs costs() const {
    return {.forward = forward, .backward = backward, .input_grad = input_grad, .weight_grad = weight_grad, .hop = hop};
  }
};

/// Chunks that divide the layers no more finely than one each.
std::vector<std::int64_t> chunk_counts(const plan_input& in) {
  std::vector<std::int64_t> counts{in.parallel.vp};
  for (const std::int64_t v : {1, 2, 4})
    if (v != in.parallel.vp && in.parallel.pp * v <= in.model.layers.layer_count() && !in.forward_us &&
        in.split.empty())
      counts.push_back(v);
  return counts;
}

class comparing {
 public:
  explicit comparing(const plan_input& in) : in_(in) {}

  void add(std::int64_t chunks, std::int64_t micro_batches) {
    plan_input with = in_;
    with.parallel.vp = chunks;
    const stage_ticks times(times_of_stages(with), boundary_hop_us(with));
    for (const std::string_view name : pipeline::schedule_names) {
      const bool grouped = name == "interleaved" && chunks > 1;
      for (const char* groups : {"balanced", "last", "first", "paper", "least-memory"})
        if (grouped || std::string_view(groups) == "balanced")
          add_one(with, times, name, groups, {in_.parallel.pp, chunks, micro_batches});
    }
  }

  [[nodiscard]] comparison outcome() {
    mark_best();
    return std::move(out_);
  }

 private:
  void add_one(const plan_input& with, const stage_ticks& times, std::string_view name, const char* groups,
               const pipeline::shape& s) {
    const std::int64_t actions = 3 * s.ranks * s.chunks * s.micro_batches;
    const bool built = name == "v-half" || name == "v-min";
    if (actions > room_ || (built && s.ranks * s.micro_batches > most_built / (s.ranks + s.micro_batches))) {
      ++out_.left_out;
      return;
    }
    pipeline::any_schedule_options with_groups{.groups = groups};
    if (name == "interleaved" && std::string_view(groups) == in_.groups) with_groups.kappa = in_.kappa;
    with_groups.times = {.forward = times.forward.front(), .backward = times.backward.front()};
    const auto plan = pipeline::any_schedule::make(name, s, with_groups);
    if (!plan) {
      ++out_.impossible;
      return;
    }
    room_ -= actions;
    const auto ran = pipeline::run(*plan, times.costs(), space_);
    if (!ran) {
      ++out_.impossible;
      return;
    }
    compared_schedule x{.schedule = std::string(name),
                        .groups = name == "interleaved" && s.chunks > 1 ? groups : "",
                        .chunks = s.chunks,
                        .micro_batches = s.micro_batches,
                        .makespan = ran->makespan,
                        .lower_bound = ran->lower_bound,
                        .bytes = bytes_under(with, *plan)};
    for (std::uint32_t r = 0; r < plan->ranks(); ++r) x.peak = std::max(x.peak, plan->peak_in_flight(r));
    x.fits = in_.memory.fits(hocket::bytes(x.bytes));
    out_.rows.push_back(std::move(x));
  }

  // Of those with as many micro-batches: no other is both as quick and as lean.
  void mark_best() {
    for (compared_schedule& x : out_.rows)
      x.best = x.fits && std::none_of(out_.rows.begin(), out_.rows.end(), [&](const compared_schedule& y) {
                 return y.micro_batches == x.micro_batches && y.makespan <= x.makespan && y.bytes <= x.bytes &&
                        (y.makespan < x.makespan || y.bytes < x.bytes);
               });
  }

  const plan_input& in_;
  comparison out_;
  std::int64_t room_ = most_actions;
  pipeline::workspace space_;
};

}  // namespace

comparison compare_schedules(const plan_input& in) {
  comparing all(in);
  const std::int64_t m = in.micro_batches();
  std::vector<std::int64_t> batches{m, 2 * m, 4 * m};  // what the file says first: it is never left out
  if (m > 1) batches.push_back(m / 2);
  for (const std::int64_t some : batches)
    for (const std::int64_t chunks : chunk_counts(in)) all.add(chunks, some);
  return all.outcome();
}

}  // namespace hocket_cli
