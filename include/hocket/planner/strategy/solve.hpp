// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/result.hpp>
#include <hocket/cost/machine.hpp>
#include <hocket/planner/search_watch.hpp>
#include <hocket/planner/strategy/detail/strategy_parts.hpp>
#include <hocket/planner/strategy/strategy.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner {

namespace detail {

[[nodiscard]] inline bool is_faster(const scored_strategy& a, const scored_strategy& b) noexcept {
  return a.cost.step != b.cost.step ? a.cost.step < b.cost.step : a.cost.memory < b.cost.memory;
}

[[nodiscard]] inline bool is_sooner_at_least(const scored_strategy& a, const scored_strategy& b) noexcept {
  return a.cost.least < b.cost.least;
}

/// Adds a strategy to a front, which is by rising time and falling memory, unless another is as fast with as little
/// memory. Those that it beats leave. Of equal ones the first stays.
inline void put_in_front(std::vector<scored_strategy>& front, const scored_strategy& x) {
  const auto at = std::partition_point(front.begin(), front.end(),
                                       [&](const scored_strategy& y) { return y.cost.step <= x.cost.step; });
  if (at != front.begin() && std::prev(at)->cost.memory <= x.cost.memory) return;
  auto first = at;
  while (first != front.begin() && std::prev(first)->cost.step == x.cost.step) --first;  // same time, more memory
  auto last = at;
  while (last != front.end() && last->cost.memory >= x.cost.memory) ++last;
  if (first == last) {
    front.insert(at, x);
    return;
  }
  *first = x;
  front.erase(first + 1, last);
}

[[nodiscard]] inline cost::replay_set replayed_by(cost::replay_set replay, const strategy& s) noexcept {
  replay.activation = replay.activation || s.replay_activation;
  return replay;
}

[[nodiscard]] inline result<strategy_cost> price_alone(const strategy_problem& problem, const strategy& s) {
  using form = list_prices;
  const cost::layer_list& m = problem.model;
  const cluster& on = problem.cluster;
  cost::training t = problem.training;
  t.micro_batch = s.micro_batch;
  if (const auto ok = form::check(m, t, s.how); !ok) return ok.error();
  const auto layer = form::prices_of_layers(m, t, s.how, on.rates, replayed_by(problem.replay, s));
  if (!layer) return layer.error();
  const auto n = form::prices_of_parameters(m, s.how);
  if (!n) return n.error();
  const auto state = prices_of_states(form::ends_of(m, t, s.how), on.rates);
  if (!state) return state.error();
  const strategy_cost price =
      price_of(s, t, on.rates, *layer, *n, *state, form::shapes_of(m, s.how), held_in_closed_form{});
  if (price.step == endless_step) return step_too_long();
  return price;
}

template <held_policy H, watch_policy W>
class strategy_finder {
  using form = list_prices;

 public:
  strategy_finder(const cost::layer_list& m, const strategy_problem& of, const H& held, const W& watch)
      : m_(m),
        t_(of.training),
        on_(of.cluster),
        space_(of.space),
        replay_(of.replay),
        compared_(of.compared),
        by_level_(of.by_level),
        held_(held),
        watch_(watch) {}

  [[nodiscard]] result<strategy_plan> operator()() {
    const std::int64_t all = on_.devices;
    const auto cut_choices = static_cast<std::int64_t>(space_.tensor.size() * space_.context.size());
    std::int64_t seen = 0;
    for (const std::int64_t tp : space_.tensor)
      for (const std::int64_t cp : space_.context) {
        if (!watch_({seen++, cut_choices})) report_.stopped = true;
        if (report_.stopped) break;
        if (all % (tp * cp) != 0) continue;  // does not spread over all devices: not a strategy
        for (std::int64_t pp = 1; pp <= all / (tp * cp); ++pp) {
          if (all / (tp * cp) % pp != 0) continue;
          if (const auto& some = space_.pipeline;
              !some.empty() && std::find(some.begin(), some.end(), pp) == some.end())
            continue;
          s_ = {};
          s_.how.tp = tp;
          s_.how.cp = cp;
          s_.how.pp = pp;
          s_.how.dp = all / (tp * cp * pp);
          if (const auto ok = cuts(); !ok) return ok.error();
        }
      }
    if (too_long_) return *too_long_;
    finish();
    return std::move(report_);
  }

 private:
  struct table {
    cost::parallel key;
    parameter_prices parameters;
    std::vector<layer_prices> list;
  };
  struct variant {
    bool sequence_parallel;
    std::int64_t copies;
    cost::recompute level;
    bool replay;
  };

  // Strategies below one node of the enumeration, for counting what is rejected as a whole.
  [[nodiscard]] std::int64_t per_cut() const {
    return static_cast<std::int64_t>(levels_.size() * space_.zeros.size()) * (space_.zero_bubble ? 2 : 1);
  }
  [[nodiscard]] std::int64_t per_batch() const {
    return static_cast<std::int64_t>(space_.sequence.size() * space_.copies.size()) * per_cut();
  }
  [[nodiscard]] std::int64_t inner() const {
    return static_cast<std::int64_t>(space_.micro_batches.size()) * per_batch();
  }
  [[nodiscard]] std::vector<variant> levels() const {
    std::vector<variant> list;
    using cost::recompute;
    list.push_back({false, 1, recompute::none, false});
    list.push_back({false, 1, recompute::none, true});
    if (!t_.flash_attention) list.push_back({false, 1, recompute::selective, false});
    list.push_back({false, 1, recompute::full, false});
    if (const auto& some = space_.recomputes; !some.empty())
      std::erase_if(list, [&](const variant& x) {
        return x.replay || std::find(some.begin(), some.end(), x.level) == some.end();
      });
    return list;
  }
  void reject(rejection why, std::int64_t count) { report_.rejected[static_cast<std::size_t>(why)] += count; }

  [[nodiscard]] result<void> cuts() {
    const cost::parallel& p = s_.how;
    const bool mixes = form::has_experts(m_);
    const auto experts = mixes ? space_.expert : std::vector<std::int64_t>{1};
    const auto cut_over = mixes ? space_.expert_tensor : std::vector<std::int64_t>{1};
    const auto below = static_cast<std::int64_t>(experts.size() * cut_over.size() * space_.chunks.size()) * inner();
    if (p.tp > on_.devices_per_node) {
      reject(rejection::node, below);
      return result<void>{};
    }
    cost::training t = t_;
    t.micro_batch = t.global_batch = 1;
    cost::parallel shape = p;
    shape.pp = shape.dp = 1;
    if (!form::check(m_, t, shape)) {
      reject(rejection::heads, below);
      return result<void>{};
    }
    cost::parallel one_chunk = p;
    one_chunk.vp = 1;
    if (!cost::check_even_stages(form::layer_count(m_), one_chunk)) {
      reject(rejection::stages, below);
      return result<void>{};
    }
    for (const std::int64_t ep : experts)
      for (const std::int64_t etp : cut_over) {
        s_.how.ep = ep;
        s_.how.etp = etp;
        if (!form::experts_divide(m_, ep, etp) || (p.dp * p.cp * p.tp) % (ep * etp) != 0 || p.tp % etp != 0) {
          reject(rejection::experts, static_cast<std::int64_t>(space_.chunks.size()) * inner());
          continue;
        }
        if (const auto ok = chunks_of_cut(); !ok) return ok;
      }
    return {};
  }

  [[nodiscard]] result<void> chunks_of_cut() {
    const cost::parallel& p = s_.how;
    const result<table*> cut = table_of_cut();
    if (!cut) return cut.error();
    states_.clear();
    for (const cost::zero zero : space_.zeros) {
      cost::parallel at = s_.how;
      at.zero = shards() ? zero : cost::zero::none;
      const auto state = prices_of_states(form::ends_of(m_, t_, at), on_.rates);
      if (!state) return state.error();
      states_.push_back(*state);
    }
    for (const std::int64_t vp : space_.chunks) {
      s_.how.vp = vp;
      if (!cost::check_even_stages(form::layer_count(m_), p) || (vp > 1 && p.pp == 1)) {
        reject(rejection::stages, inner());
        continue;
      }
      const rank_shapes shapes = form::shapes_of(m_, s_.how);
      if (const auto ok = batches(**cut, shapes); !ok) return ok;
    }
    return {};
  }

  [[nodiscard]] result<void> batches(table& cut, const rank_shapes& shapes) {
    const cost::parallel& p = s_.how;
    for (std::size_t b = 0; b < space_.micro_batches.size(); ++b) {
      s_.micro_batch = space_.micro_batches[b];
      if (t_.global_batch % (s_.micro_batch * p.dp) != 0) {
        reject(rejection::batch, per_batch());
        continue;
      }
      const std::int64_t m = t_.global_batch / (s_.micro_batch * p.dp);
      if (p.vp > 1 && m < p.pp) {
        reject(rejection::few_batches, per_batch());
        continue;
      }
      for (std::size_t q = 0; q < space_.sequence.size(); ++q)
        for (std::size_t c = 0; c < space_.copies.size(); ++c) {
          s_.how.sequence_parallel = p.tp > 1 && space_.sequence[q];
          s_.how.copies = p.tp > 1 ? space_.copies[c] : 1;
          if (p.tp == 1 && q + c > 0) {
            reject(rejection::no_effect, per_cut());
            continue;
          }
          if (p.sequence_parallel && t_.sequence / p.cp % p.tp != 0) {
            reject(rejection::heads, per_cut());
            continue;
          }
          if (s_.micro_batch * (t_.sequence / p.cp) % p.copies != 0) {
            reject(rejection::copies, per_cut());
            continue;
          }
          for (std::size_t k = 0; k < levels_.size(); ++k) {
            s_.how.recompute = levels_[k].level;
            s_.replay_activation = levels_[k].replay;
            const result<const layer_prices*> layer = prices(cut, b, q, c, k);
            if (!layer) return layer.error();
            states(cut.parameters, **layer, shapes);
          }
        }
    }
    return {};
  }

  void states(const parameter_prices& n, const layer_prices& layer, const rank_shapes& shapes) {
    for (std::size_t z = 0; z < space_.zeros.size(); ++z) {
      s_.how.zero = shards() ? space_.zeros[z] : cost::zero::none;
      for (const bool zero_bubble : {false, true}) {
        if (zero_bubble && !space_.zero_bubble) continue;
        s_.zero_bubble = zero_bubble;
        if ((zero_bubble && s_.how.pp == 1) || (z > 0 && !shards())) {
          reject(rejection::no_effect, 1);
          continue;
        }
        ++report_.evaluated;
        const strategy_cost price = price_of(s_, t_, on_.rates, layer, n, states_[z], shapes, held_);
        if (price.step == endless_step && !too_long_) too_long_ = why_too_long();
        consider({s_, price});
      }
    }
  }
  /// Prices per way to cut a layer; pipeline and data-parallel sizes do not change them.
  [[nodiscard]] result<table*> table_of_cut() {
    for (table& x : tables_)
      if (x.key.tp == s_.how.tp && x.key.cp == s_.how.cp && x.key.ep == s_.how.ep && x.key.etp == s_.how.etp) return &x;
    const auto n = form::prices_of_parameters(m_, s_.how);
    if (!n) return n.error();
    const std::size_t variants =
        space_.micro_batches.size() * space_.sequence.size() * space_.copies.size() * levels_.size();
    tables_.push_back({s_.how, *n, std::vector<layer_prices>(variants)});
    return &tables_.back();
  }
  [[nodiscard]] result<const layer_prices*> prices(table& cut, std::size_t b, std::size_t q, std::size_t c,
                                                   std::size_t k) {
    const std::size_t index = ((b * space_.sequence.size() + q) * space_.copies.size() + c) * levels_.size() + k;
    layer_prices& known = cut.list[index];
    if (!known.known) {
      cost::training t = t_;
      t.micro_batch = s_.micro_batch;
      cost::parallel p = s_.how;
      p.pp = 2;
      p.dp = 1;
      p.zero = cost::zero::none;
      const auto made = form::prices_of_layers(m_, t, p, on_.rates, replayed_by(replay_, s_));
      if (!made) return made.error();
      known = *made;
    }
    return &known;
  }

  /// Keeps the candidates of the fronts.
  void consider(const scored_strategy& x) {
    if (by_level_) put_in_front(report_.front_of_level[static_cast<std::size_t>(x.of.how.recompute)], x);
    if (!on_.memory.fits(x.cost.memory)) {
      reject(rejection::memory, 1);
      if (beyond_.empty() || is_faster(x, beyond_.front())) beyond_.assign(1, x);
      return;
    }
    ++report_.fitting;
    report_.faster += x.cost.step < compared_ ? 1 : 0;
    keep(x);
    keep_by_least(x);
    put_in_front(report_.front, x);
  }
  void keep(const scored_strategy& x) {
    auto& kept = report_.fastest;
    if (kept.size() == most_kept && !is_faster(x, kept.back())) return;
    kept.insert(std::upper_bound(kept.begin(), kept.end(), x, is_faster), x);
    if (kept.size() > most_kept) kept.pop_back();
  }
  /// A strategy of by_least, and how many that fit were named before it: of equal ones the first are kept.
  struct numbered {
    scored_strategy x;
    std::int64_t number;
    [[nodiscard]] bool operator<(const numbered& other) const noexcept {
      return x.cost.least != other.x.cost.least ? x.cost.least < other.x.cost.least : number < other.number;
    }
  };
  /// Twice as many as are wanted are gathered before half of them go: a few comparisons for each that comes.
  void keep_by_least(const scored_strategy& x) {
    if (x.cost.least >= least_dropped_) return;
    low_.push_back({x, report_.fitting});
    if (low_.size() < 2 * most_by_least) return;
    std::nth_element(low_.begin(), low_.begin() + most_by_least, low_.end());
    least_dropped_ = low_[most_by_least].x.cost.least;
    low_.resize(most_by_least);
  }
  void sort_by_least() {
    std::sort(low_.begin(), low_.end());
    if (low_.size() > most_by_least) low_.resize(most_by_least);
    for (const numbered& each : low_) report_.by_least.push_back(each.x);
  }
  /// Whether there are ranks over which a sharding spreads anything.
  [[nodiscard]] bool shards() const noexcept { return s_.how.dp * s_.how.cp > 1; }
  [[nodiscard]] error why_too_long() const {
    const error none{errc::undefined_value};
    if (s_.how.pp > 1 && !on_.rates.has_links() && on_.rates.pipeline_bytes == 0)
      return none.with("pipeline_bytes is 0");
    if (shards() && !on_.rates.has_links() && on_.rates.data_bytes == 0) return none.with("data_bytes is 0");
    return on_.rates.memory_bytes == 0 ? none.with("memory_bytes is 0") : step_too_long();
  }
  void finish() {
    sort_by_least();
    report_.named = report_.fitting;
    for (const std::int64_t of_reason : report_.rejected) report_.named += of_reason;
    if (!beyond_.empty() && (report_.front.empty() || is_faster(beyond_.front(), report_.front.front())))
      report_.best_beyond_memory = beyond_;
  }

  const cost::layer_list& m_;
  const cost::training& t_;
  const cluster& on_;
  const strategy_space& space_;
  const cost::replay_set& replay_;
  std::chrono::nanoseconds compared_;
  bool by_level_;
  const H& held_;
  const W& watch_;
  strategy s_;
  strategy_plan report_;
  std::vector<state_prices> states_;
  std::deque<table> tables_;  // they stay where they are
  std::vector<variant> levels_ = levels();
  std::vector<scored_strategy> beyond_;
  std::vector<numbered> low_;  // of by_least, at most twice as many
  std::chrono::nanoseconds least_dropped_ = (std::chrono::nanoseconds::max)();
  std::optional<error> too_long_;
};

}  // namespace detail

/// What is looked at must mean something: devices, memory, sizes of the step and of the space, each choice once.
[[nodiscard]] inline result<void> check(const strategy_problem& problem) {
  constexpr std::int64_t max_choice = std::int64_t{1} << 20;
  const cluster& on = problem.cluster;
  if (on.devices < 1 || on.devices > max_choice)
    return error{errc::out_of_range, on.devices, 1, max_choice}.with("devices");
  constexpr std::int64_t max_bytes = (std::numeric_limits<std::int64_t>::max)();
  const std::int64_t capacity = on.memory.capacity.count(), reserve = on.memory.reserve.count();
  if (capacity < 1) return error{errc::out_of_range, capacity, 1, max_bytes}.with("memory of a device");
  if (reserve < 0 || reserve >= capacity)
    return error{errc::out_of_range, reserve, 0, capacity - 1}.with("reserve of a device's memory");
  if (on.devices_per_node < 1)
    return error{errc::out_of_range, on.devices_per_node, 1, max_choice}.with("devices_per_node");
  if (const auto ok = cost::check(on.rates); !ok) return ok;
  if (const auto ok = detail::list_prices::check(problem.model); !ok) return ok;
  using cost::detail::max_size;
  const auto size = [](std::int64_t x) { return x >= 1 && x <= max_size; };
  const cost::training& t = problem.training;
  if (!size(t.sequence)) return error{errc::out_of_range, t.sequence, 1, max_size}.with("sequence");
  if (!size(t.global_batch)) return error{errc::out_of_range, t.global_batch, 1, max_size}.with("global_batch");
  const auto once = [](const auto& list) -> result<void> {
    for (auto x = list.begin(); x != list.end(); ++x)
      if (std::find(list.begin(), x, *x) != x)
        return error{errc::invalid_argument, static_cast<std::int64_t>(*x)}.with("a choice of the space twice");
    return {};
  };
  const strategy_space& space = problem.space;
  for (const auto* list : {&space.pipeline, &space.tensor, &space.context, &space.expert, &space.chunks,
                           &space.micro_batches, &space.copies, &space.expert_tensor}) {
    for (const std::int64_t x : *list)
      if (x < 1 || x > max_choice) return error{errc::out_of_range, x, 1, max_choice}.with("a size of the space");
    if (const auto ok = once(*list); !ok) return ok;
  }
  if (const auto ok = once(space.sequence); !ok) return ok;
  if (const auto ok = once(space.zeros); !ok) return ok;
  return once(space.recomputes);
}

namespace detail {

template <class H, watch_policy W>
[[nodiscard]] result<strategy_plan> find_strategies(const strategy_problem& problem, const H& held, const W& watch) {
  static_assert(held_policy<H>,
                "hocket::planner: what a rank holds is said by `std::int64_t operator()(const strategy&, std::int64_t "
                "micro_batches, std::int64_t rank) const`");
  if (const auto ok = check(problem); !ok) return ok.error();
  const cost::layer_list m = list_prices::without_predictions(problem.model);
  return strategy_finder<H, W>(m, problem, held, watch)();
}

template <class H>
[[nodiscard]] result<device_plan> find_on_counts(strategy_problem problem, std::span<const std::int64_t> device_counts,
                                                 const H& held) {
  device_plan all;
  const auto before = [](const scored_on_devices& a, const scored_on_devices& b) {
    if (a.devices != b.devices) return a.devices < b.devices;
    if (a.best.cost.step != b.best.cost.step) return a.best.cost.step < b.best.cost.step;
    return a.best.cost.memory < b.best.cost.memory;
  };
  for (const std::int64_t n : device_counts) {
    problem.cluster.devices = n;
    auto one = find_strategies(problem, held, unwatched{});
    if (!one) return one.error();
    for (const scored_strategy& x : one->front) {
      const scored_on_devices next{n, x};
      all.front.insert(std::upper_bound(all.front.begin(), all.front.end(), next, before), next);
    }
    all.counts.push_back(std::move(*one));
  }
  // What comes before has no more devices, so it alone can rule out what comes after.
  std::vector<scored_on_devices> front;
  for (const scored_on_devices& x : all.front) {
    bool ruled_out = false;
    for (const scored_on_devices& y : front)
      ruled_out = ruled_out || (y.best.cost.step <= x.best.cost.step && y.best.cost.memory <= x.best.cost.memory);
    if (!ruled_out) front.push_back(x);
  }
  all.front = std::move(front);
  return all;
}

}  // namespace detail

/// The time and memory of one strategy, by the formulas of `cost`; the space of the problem does not matter.
/// Errors: those of cost::check; errc::undefined_value; errc::limit_exceeded for a step of more nanoseconds than 64
/// bits hold. Complexity: some dozens of formulas; solve() shares them among all strategies.
[[nodiscard]] inline result<strategy_cost> price_of_strategy(const strategy_problem& problem, const strategy& s) {
  return detail::price_alone(problem, s);
}

/// All strategies of a space on all devices of a cluster, each evaluated or rejected with its reason: the Pareto front
/// of step time and memory, the fastest first. That nothing better exists in the named space holds by exhaustion:
/// named = evaluated + rejected before evaluation, and no bound leaves any out. Layers are dealt out evenly, all
/// recomputed alike; the stage split refines that. Times are integral nanoseconds, ties go to less memory, then to the
/// strategy that is named first, so every machine finds the same.
/// @param held  what each rank holds in flight, where schedules are others than those named by `strategy`
/// @param watch  asked before each pair of tp and cp; where it ends the search, strategy_plan::stopped is true
/// Errors:
/// - errc::out_of_range for devices, memory, sequence or global batch that are none.
/// - errc::invalid_argument for a choice that the space has twice.
/// - errc::bad_rate for a rate, overlap or time of the machine that is none.
/// - errc::undefined_value for a rate that is needed and 0.
/// - errc::limit_exceeded if a step takes more nanoseconds than 64 bits hold.
///
/// Complexity: one pass over the formulas per way to cut a layer, some ten multiplications per strategy and rank kind.
///
///     const auto found = hocket::planner::solve({.model = m, .training = t, .cluster = {.devices = 64, …}});
///     if (!found->front.empty()) found->front.front().of.how.tp;  // else nothing fits: found->rejected says why
template <class H = held_in_closed_form, watch_policy W = unwatched>
  requires(!std::convertible_to<const H&, std::span<const std::int64_t>>)
[[nodiscard]] result<strategy_plan> solve(const strategy_problem& problem, const H& held = {}, const W& watch = {}) {
  return detail::find_strategies(problem, held, watch);
}

/// The same for several numbers of devices, and the Pareto front of step time, memory and devices. The step is the same
/// for all: fewer devices each do more of it.
/// @param device_counts  in any order; problem.cluster.devices does not matter
/// Errors: those of solve(problem); a count on which nothing fits is none: its plan says why.
/// Complexity: that of the searches, and O(front of one count · front).
///
///     const auto found = hocket::planner::solve(problem, {4, 8, 16});
///     found->front.front().devices;   // the fewest on which it fits
template <held_policy H = held_in_closed_form>
[[nodiscard]] result<device_plan> solve(const strategy_problem& problem, std::span<const std::int64_t> device_counts,
                                        const H& held = {}) {
  return detail::find_on_counts(problem, device_counts, held);
}
template <held_policy H = held_in_closed_form>
[[nodiscard]] result<device_plan> solve(const strategy_problem& problem,
                                        std::initializer_list<std::int64_t> device_counts, const H& held = {}) {
  return solve(problem, std::span(device_counts.begin(), device_counts.size()), held);
}

}  // namespace hocket::inline HOCKET_ABI::planner
