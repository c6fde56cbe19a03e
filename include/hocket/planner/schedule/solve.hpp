// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/pipeline/bound.hpp>
#include <hocket/pipeline/check.hpp>
#include <hocket/pipeline/schedules/dual_pipe.hpp>
#include <hocket/pipeline/schedules/gpipe.hpp>
#include <hocket/pipeline/schedules/interleaved.hpp>
#include <hocket/pipeline/schedules/one_f_one_b.hpp>
#include <hocket/pipeline/schedules/v_memory.hpp>
#include <hocket/pipeline/schedules/zbv.hpp>
#include <hocket/pipeline/schedules/zero_bubble.hpp>
#include <hocket/pipeline/simulate.hpp>
#include <hocket/pipeline/table.hpp>
#include <hocket/planner/schedule/detail/beam_rounds.hpp>
#include <hocket/planner/schedule/detail/list_scheduler.hpp>
#include <hocket/planner/schedule/detail/modulo_search.hpp>
#include <hocket/planner/schedule/detail/order_search.hpp>
#include <hocket/planner/schedule/detail/rank_blocks.hpp>
#include <hocket/planner/schedule/detail/rank_window.hpp>
#include <hocket/planner/schedule/detail/round_search.hpp>
#include <hocket/planner/schedule/detail/target_search.hpp>
#include <hocket/planner/schedule/detail/window_bound.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner {

/// Where the stages of a searched schedule live.
enum class stage_order : std::uint8_t {
  loop,  ///< stage c·p + rank
  v      ///< odd chunks walk back
};

/// The question of find_schedule().
struct schedule_question {
  pipeline::shape shape;
  stage_order order = stage_order::loop;
  bool split_backward = true;  ///< backwards in two halves (zero bubble), else whole
  /// Most activations that each rank may hold, counted as simulate() does; empty: no limit.
  std::span<const std::uint32_t> cap{};
  /// Of partial schedules: beams branch one and a half as many to four times as many, searches that learn look at some
  /// forty rises of bounds for each, and blocks of ranks take as long. All beyond 2^40, weeks of it, is the same.
  std::int64_t budget = 4'000'000;
};

/// A schedule, and what is known of how good it is.
struct found_schedule {
  pipeline::table_schedule plan;
  ticks makespan = 0;
  ticks lower_bound = 0;        ///< no schedule of this question is shorter
  bool proved = false;          ///< makespan == lower_bound: nothing better exists
  std::string_view from;        ///< what found it: "1f1b", …, "greedy", "learning"
  std::int64_t expansions = 0;  ///< decisions of searches that learn; 0 if none was needed, or none applies
  /// How far from the bound, as a share of it.
  [[nodiscard]] double gap() const noexcept {
    return lower_bound > 0 ? static_cast<double>(makespan - lower_bound) / static_cast<double>(lower_bound) : 0;
  }
};

namespace detail {

/// The best schedule seen, as lists.
template <pipeline::cost_policy C>
class schedule_finder {
 public:
  schedule_finder(const schedule_question& q, const C& costs) : q_(q), costs_(costs) {
    const auto p = static_cast<std::uint32_t>(q.shape.ranks), v = static_cast<std::uint32_t>(q.shape.chunks);
    in_.ranks = p, in_.stages = p * v, in_.micro_batches = static_cast<std::uint32_t>(q.shape.micro_batches);
    in_.split = q.split_backward;
    in_.owned.resize(p);
    for (std::uint32_t s = 0; s < in_.stages; ++s) {
      const std::uint32_t r = q.order == stage_order::v ? pipeline::v_placement{p}.rank_of(s) : s % p;
      in_.rank_of.push_back(r), in_.owned[r].push_back(s);
      using pipeline::action_kind;
      in_.forward.push_back(costs.duration({action_kind::forward, s, 0}));
      in_.backward.push_back(costs.duration({in_.split ? action_kind::input_grad : action_kind::backward, s, 0}));
      in_.weight.push_back(in_.split ? costs.duration({action_kind::weight_grad, s, 0}) : 0);
    }
    in_.hop = p > 1 ? costs.latency(0, 1) : 0;
    const std::uint32_t all = v * in_.micro_batches;
    in_.cap.assign(p, all);
    for (std::size_t r = 0; r < q.cap.size(); ++r) in_.cap[r] = q.cap[r] < all ? q.cap[r] : all;
    for (std::uint32_t s = 0; s < in_.stages; ++s)
      for (const ticks t : {in_.forward[s], in_.backward[s], in_.weight[s]}) unit_ = std::gcd(unit_, t);
    unit_ = std::gcd(unit_, in_.hop);
    if (unit_ == 0) unit_ = 1;
    for (auto* times : {&in_.forward, &in_.backward, &in_.weight})
      for (ticks& t : *times) t /= unit_;
    in_.hop /= unit_;
  }

  [[nodiscard]] result<found_schedule> operator()() {
    // Budgets of searches that learn: twice for shorter schedules, for better parts, for the bound. As was best on
    // questions of up to 32 stages under all caps.
    constexpr std::int64_t shorter = 3, parts = 12, refuted = 18;
    const tails ends(in_);
    ticks bound = ends.forward[0] * unit_;
    for (std::uint32_t r = 0; r < in_.ranks; ++r) bound = (std::max)(bound, rank_window(in_, r) * unit_);
    bound = (std::max)(bound, memory_bound());
    seeds(bound);
    if constexpr (pipeline::detail::linked_costs<C>) closed_ = {actions_, ends_, makespan_, from_};
    greedy(ends, bound);
    if (makespan_ > bound) periodic();
    if (makespan_ > bound) moves(bound);
    if (makespan_ > bound) windows(bound, first_part_);
    const ticks before = makespan_;
    if (makespan_ > bound) learn(&target_search::shorten, shorter * whole_budget_, bound);
    if (makespan_ > bound) rounds(bound, makespan_ < before ? 3 : 8);
    if (makespan_ > bound) learn(&target_search::improve, parts * whole_budget_, bound);
    if (makespan_ > bound) learn(&target_search::shorten, shorter * whole_budget_, bound);
    // Nearer to the best, targets are closer to each other.
    if (makespan_ > bound) windows(bound, 3 * whole_budget_ / 2);
    if (makespan_ > bound) learn(&target_search::refute, refuted * whole_budget_, bound);
    return answer(bound);
  }

 private:
  /// The best schedule as a table, and what the costs say of it.
  [[nodiscard]] result<found_schedule> answer(ticks bound) {
    auto table = pipeline::table_schedule::make(actions_, ends_);
    if (!table) return table.error();
    auto ran = pipeline::simulate(*table, costs_);
    if (!ran) return ran.error();
    if constexpr (pipeline::detail::linked_costs<C>) {  // transfers take their turns, which only closed forms have seen
      if (ran->makespan > closed_.makespan) {
        from_ = closed_.from;
        table = pipeline::table_schedule::make(closed_.actions, closed_.ends);
        if (!table) return table.error();
        ran = pipeline::simulate(*table, costs_);
        if (!ran) return ran.error();
      }
    }
    bound = (std::min)((std::max)(bound, ran->lower_bound), ran->makespan);
    return found_schedule{std::move(*table), ran->makespan, bound, ran->makespan == bound, from_, expansions_};
  }

  /// docs/pipeline.md, "Least memory": what a cap costs where all stages take equally long and backwards are whole.
  [[nodiscard]] ticks memory_bound() const {
    if (!is_loop() || in_.split) return 0;
    for (std::uint32_t s = 1; s < in_.stages; ++s)
      if (in_.forward[s] != in_.forward[0] || in_.backward[s] != in_.backward[0]) return 0;
    ticks bound = 0;
    for (std::uint32_t r = 0; r < in_.ranks; ++r) {
      const auto b = pipeline::capped_makespan_bound(q_.shape, in_.forward[0] * unit_, in_.backward[0] * unit_, r,
                                                     std::int64_t{in_.cap[r]});
      if (b) bound = (std::max)(bound, *b);
    }
    return bound;
  }

  /// Keeps the closed form if it is the shortest yet within the caps. Those of large questions take long to simulate,
  /// so none is looked at once one meets the bound. A whole backward becomes its two halves in a row, which may let the
  /// next stage start sooner; actions that would run at once run one after the other.
  template <class Plan>
  void seed(const result<Plan>& plan, std::string_view name) {
    if (!plan || (!actions_.empty() && makespan_ <= enough_)) return;
    std::vector<pipeline::stage_action> actions;
    std::vector<std::uint32_t> ends;
    for (std::uint32_t r = 0; r < plan->ranks(); ++r) {
      for (std::uint32_t i = 0; i < plan->size(r); ++i) {
        const pipeline::stage_action a = pipeline::stage_action_at(*plan, r, i);
        if (in_.split && a.kind() == pipeline::action_kind::backward) {
          actions.push_back({pipeline::action_kind::input_grad, a.stage(), a.micro_batch()});
          actions.push_back({pipeline::action_kind::weight_grad, a.stage(), a.micro_batch()});
        } else {
          actions.push_back({a.kind(), a.stage(), a.micro_batch()});
        }
      }
      ends.push_back(static_cast<std::uint32_t>(actions.size()));
    }
    take(std::move(actions), std::move(ends), name);
  }
  /// Keeps the lists if they run within the caps and are the shortest yet. @return whether they run within the caps
  bool take(std::vector<pipeline::stage_action> actions, std::vector<std::uint32_t> ends, std::string_view name) {
    const auto table = pipeline::table_schedule::make(actions, ends);
    if (!table) return false;
    const auto ran = pipeline::simulate(*table, costs_);
    if (!ran) return false;
    for (std::uint32_t r = 0; r < in_.ranks; ++r)
      if (ran->ranks[r].peak_in_flight > in_.cap[r]) return false;
    if (!actions_.empty() && ran->makespan >= makespan_) return true;
    actions_ = std::move(actions), ends_ = std::move(ends);
    from_ = name, makespan_ = ran->makespan;
    return true;
  }
  [[nodiscard]] bool is_loop() const noexcept { return q_.order == stage_order::loop || q_.shape.chunks == 1; }
  /// Each micro-batch by itself holds as many activations as a rank has chunks: within any cap.
  void one_at_a_time() {
    using pipeline::action_kind;
    std::vector<pipeline::stage_action> actions;
    std::vector<std::uint32_t> ends;
    for (const auto& owned : in_.owned) {
      for (std::uint32_t k = 0; k < in_.micro_batches; ++k) {
        for (const std::uint32_t s : owned) actions.push_back({action_kind::forward, s, k});
        for (std::size_t c = owned.size(); c-- > 0;) {
          actions.push_back({in_.split ? action_kind::input_grad : action_kind::backward, owned[c], k});
          if (in_.split) actions.push_back({action_kind::weight_grad, owned[c], k});
        }
      }
      ends.push_back(static_cast<std::uint32_t>(actions.size()));
    }
    take(std::move(actions), std::move(ends), "one at a time");
  }
  void seeds(ticks bound) {
    enough_ = bound;
    const pipeline::shape& s = q_.shape;
    const std::uint32_t least = *std::min_element(in_.cap.begin(), in_.cap.end());
    if (is_loop()) {
      if (in_.split) {
        if (s.chunks == 1)
          seed(pipeline::zero_bubble::make_h1(s), "zb-h1"), seed(pipeline::zero_bubble::make_h2(s), "zb-h2");
        seed(pipeline::zero_bubble::make_interleaved(s), "interleaved-zb");
      }
      if (s.chunks == 1) {
        seed(pipeline::one_f_one_b::make(s, 1), "1f1b"), seed(pipeline::one_f_one_b::make(s, 2), "eager-1f1b");
        seed(pipeline::gpipe::make(s), "gpipe");
      }
      using pipeline::groups;
      ticks forward = 0, backward = 0;  // of all stages
      for (std::uint32_t x = 0; x < in_.stages; ++x)
        forward += in_.forward[x], backward += in_.backward[x] + in_.weight[x];
      for (const auto& [f, b] : {std::pair{forward, backward}, {1, 1}, {1, 2}}) {
        if (f < 1 || b < 1) continue;
        seed(pipeline::interleaved::make(s, groups::least_memory(f, b)), "interleaved, least-memory groups");
        seed(pipeline::interleaved::make(s, groups::capped(least, f, b)), "interleaved, capped groups");
      }
      for (const groups& cut : {groups::balanced(), groups::last(), groups::first(), groups::paper()})
        for (const std::uint32_t kappa : {1u, 2u})
          seed(pipeline::interleaved::make(s, cut, {.kappa = kappa}), "interleaved");
      // Caps that differ by rank may ask for smaller groups: all of one size; of large questions only of powers of two.
      constexpr std::int64_t few = 1 << 14, many = 1 << 18;
      const std::int64_t each = s.stages() * s.micro_batches;
      std::vector<std::uint32_t> ends;
      for (std::uint32_t size = 1; size <= in_.micro_batches; ++size) {
        if (each * size > few && (each > many || !std::has_single_bit(size))) continue;
        ends.clear();
        for (std::uint32_t end = size; end < in_.micro_batches; end += size) ends.push_back(end);
        ends.push_back(in_.micro_batches);
        for (const std::uint32_t kappa : {1u, 2u})
          seed(pipeline::interleaved::make(s, groups::list(ends), {.kappa = kappa}), "interleaved");
      }
      seed(pipeline::gpipe::make_looped_bfs(s), "looped-bfs");
    } else if (s.chunks == 2 && in_.split) {
      seed(pipeline::zbv::make(s), "zbv"), seed(pipeline::dual_pipe_v::make(s), "dualpipev");
      seed(pipeline::make_v_schedule(s, pipeline::v_memory::half), "v-half"),
          seed(pipeline::make_v_schedule(s, pipeline::v_memory::third), "v-min");
    }
    if (actions_.empty()) one_at_a_time();
  }
  [[nodiscard]] std::pair<std::vector<pipeline::stage_action>, std::vector<std::uint32_t>> by_rank(
      const std::vector<placed>& list) const {
    std::vector<std::vector<pipeline::stage_action>> rows(in_.ranks);
    for (const placed& x : list) rows[x.rank].push_back({x.kind, x.stage, x.micro_batch});
    std::vector<pipeline::stage_action> actions;
    std::vector<std::uint32_t> ends;
    for (const auto& row : rows) {
      actions.insert(actions.end(), row.begin(), row.end());
      ends.push_back(static_cast<std::uint32_t>(actions.size()));
    }
    return {std::move(actions), std::move(ends)};
  }
  void keep(const std::vector<placed>& list, ticks makespan, std::string_view name) {
    if (makespan >= makespan_) return;
    std::tie(actions_, ends_) = by_rank(list);
    makespan_ = makespan, from_ = name;
  }
  /// The three best greedy or periodic schedules of different lengths: moves start from them too.
  void remember(const std::vector<placed>& list, ticks makespan) {
    std::size_t at = 0;
    while (at < starts_.size() && starts_[at].first < makespan) ++at;
    if (at == 3 || (at < starts_.size() && starts_[at].first == makespan)) return;
    starts_.insert(starts_.begin() + static_cast<std::ptrdiff_t>(at), {makespan, list});
    if (starts_.size() > 3) starts_.pop_back();
  }
  /// All rules, until one meets the bound; of very large questions the first ones. A run visits each rank per action.
  void greedy(const tails& ends, ticks bound) {
    constexpr std::int64_t most_visits = 400'000'000;
    const std::int64_t each = std::int64_t{in_.stages} * in_.micro_batches * (in_.split ? 3 : 2) * in_.ranks;
    std::int64_t left = most_visits;
    partial_schedule plan(in_);
    const std::uint32_t all = in_.micro_batches * static_cast<std::uint32_t>(q_.shape.chunks);
    using order = greedy_rule::order;
    for (const order first : {order::backward_first, order::alternate, order::longest_tail, order::forward_first})
      for (const bool eager : {false, true})
        for (const bool deepest : {false, true})
          for (const std::uint32_t lead : {0u, 1u, 2u, in_.ranks / 2, in_.ranks, 2 * in_.ranks, all}) {
            if ((eager && !in_.split) || (deepest && q_.shape.chunks == 1)) continue;
            if (makespan_ <= bound || left < each) return;
            left -= each;
            plan.reset();
            if (!run_greedy(plan, ends, {first, eager, deepest, lead})) continue;
            keep(plan.list, plan.finish() * unit_, "greedy");
            remember(plan.list, plan.finish());
          }
  }
  /// Where memory is scarce: periods of one micro-batch, of two, and so on; of very large questions of one.
  void periodic() {
    constexpr std::uint32_t most_together = 4;
    constexpr std::int64_t many_actions = 1'000'000, few_tries = 64;
    bool scarce = false;
    for (std::uint32_t r = 0; r < in_.ranks; ++r) scarce |= in_.is_scarce(r);
    if (!scarce) return;
    modulo_search search(in_);
    for (std::uint32_t together = 1; together <= most_together; ++together) {
      if (together > 1 && static_cast<std::int64_t>(actions_.size()) > many_actions) return;
      const std::int64_t steps = few_tries * static_cast<std::int64_t>(actions_.size()) / in_.micro_batches * together +
                                 (std::min)(INT64_C(4'000'000), 10 * whole_budget_);
      if (!search(together, steps)) continue;
      auto [list, ends] = by_rank(search.list());
      if (take(std::move(list), std::move(ends), "periodic"))
        remember(search.list(), run_in_order(in_, search.list()).finish);
    }
  }
  /// The best schedule, rank by rank.
  [[nodiscard]] std::vector<placed> best() const {
    std::vector<placed> list;
    std::uint32_t r = 0;
    for (std::uint32_t i = 0; i < actions_.size(); ++i) {
      while (i >= ends_[r]) ++r;
      list.push_back({r, actions_[i].stage(), actions_[i].micro_batch(), actions_[i].kind()});
    }
    return list;
  }
  /// Moves actions of the best schedule, and of the best greedy one of each other kind, along the critical path.
  void moves(ticks bound) {
    constexpr std::int64_t most = 60'000'000, per_branch = 400;
    const std::int64_t all = (std::min)(most, whole_budget_ * per_branch);
    const ticks enough = in_units(bound);
    starts_.insert(starts_.begin(), {makespan_ / unit_, best()});
    order_search search(in_);
    for (const auto& from : starts_) {
      const ticks found = search(from.second, all / static_cast<std::int64_t>(starts_.size()), enough);
      if (found * unit_ < makespan_) keep(search.list(), found * unit_, "moves");
    }
  }
  /// A few rounds over rules, then, for so many halves of the budget, beams; of a little budget more goes into them.
  void rounds(ticks& bound, std::int64_t halves) {
    const ticks enough = in_units(bound);
    const auto take = [&](ticks found, const std::vector<placed>& list) {
      if (found < partial_schedule::never && found * unit_ < makespan_) keep(list, found * unit_, "rounds");
    };
    round_search rules(in_);
    take(rules(5 * (std::min)(INT64_C(400'000), whole_budget_) / 2, enough), rules.list());
    if (makespan_ <= bound) return;
    beam_rounds beams(in_, is_long() ? nullptr : &blocks());
    take(beams(best(), halves * (whole_budget_ / 2 + first_part_), enough), beams.list());
    bound = (std::max)(bound, beams.bound() * unit_);
  }
  /// Of very long schedules windows are not asked for: what they would add to the closed forms falls with 1/m, and a
  /// pass over an action takes about 1.5 µs, and more with the chunks.
  [[nodiscard]] bool is_long() const noexcept {
    return actions_.size() > 20'000 || actions_.size() * static_cast<std::size_t>(q_.shape.chunks) > 200'000;
  }
  /// The least whole number of units that is no less.
  [[nodiscard]] ticks in_units(ticks t) const noexcept { return t / unit_ + (t % unit_ != 0 ? 1 : 0); }
  [[nodiscard]] rank_blocks& blocks() {
    if (!blocks_) blocks_.emplace(in_);
    return *blocks_;
  }
  /// The largest target that the windows of actions refute, by bisection, or blocks of ranks within them.
  void windows(ticks& bound, std::int64_t budget) {
    constexpr std::int64_t steps_per_branch = 100;
    if (is_long()) return;
    window_bound& search = blocks().windows();
    ticks low = in_units(bound), high = search.refutes(low) ? makespan_ / unit_ : low;
    while (low < high) {
      const ticks target = low + (high - low) / 2;
      if (search.refutes(target)) low = target + 1;
      else high = target;
    }
    bound = (std::max)(bound, blocks()(low, makespan_ / unit_, steps_per_branch * budget) * unit_);
  }
  /// Searches that learn: for shorter schedules, or for a better bound.
  void learn(void (target_search::*what)(std::int64_t), std::int64_t steps, ticks& bound) {
    if (is_long() || steps <= static_cast<std::int64_t>(actions_.size()) || !learning_search::applies(in_)) return;
    if (!targets_) targets_.emplace(in_, blocks());
    targets_->know(best(), makespan_ / unit_, in_units(bound));
    (*targets_.*what)(steps);
    keep(targets_->list(), targets_->makespan() * unit_, "learning");
    bound = (std::max)(bound, targets_->bound() * unit_);
    expansions_ = targets_->branches();
  }

  const schedule_question& q_;
  const C& costs_;
  search_input in_;
  ticks unit_ = 0;
  std::int64_t whole_budget_ = (std::min)(INT64_C(1) << 40, q_.budget);  // the budget, so that products of it fit
  std::int64_t first_part_ = (std::min)(INT64_C(100'000), whole_budget_), expansions_ = 0;
  std::vector<pipeline::stage_action> actions_;
  std::vector<std::uint32_t> ends_;
  ticks makespan_ = 0, enough_ = 0;
  struct lists {
    std::vector<pipeline::stage_action> actions{};
    std::vector<std::uint32_t> ends{};
    ticks makespan = 0;
    std::string_view from{};
  };
  lists closed_;  // the best closed form, if transfers occupy links
  std::optional<target_search> targets_;
  std::optional<rank_blocks> blocks_;
  std::string_view from_;
  std::vector<std::pair<ticks, std::vector<placed>>> starts_;
};

}  // namespace detail

/// A schedule for these costs within a cap on the activations of each rank: the best of the closed forms that keep the
/// cap, of greedy and periodic ones, of moves and beams, and of searches that learn from their dead ends, with a lower
/// bound. Never worse than the best closed form under the same cap (of interleaved: with every rule for groups, those
/// for a ratio of times with the ratio of all stages, 1 : 1 and 1 : 2, and groups of one size: all sizes up to 16,384
/// pieces of work for all sizes so far, then powers of two). The answer is an ordinary table: check, simulate, draw,
/// export it. Micro-batches are taken to be alike: of each stage the times of micro-batch 0 count, and one latency for
/// all hops. That transfers occupy a link, if the costs say so, is simulated, but not searched for.
/// @param costs  durations of forward and, as asked, of backward or input_grad and weight_grad, by stage
/// Errors: errc::bad_shape; cap_too_small for a cap below the chunks of a rank (all others can be kept); limit_exceeded
/// beyond 2^22 forwards, or times that add up to more than 2^60; invalid_argument for a negative time or budget;
/// untimed_action if the costs know that they have no time for one (halves of backwards, where these are split).
/// Complexity: O(rules · actions · ranks), and `budget` branches.
///
///     const std::uint32_t cap[] = {6, 6, 6, 6};
///     const auto found = hocket::planner::find_schedule({.shape = {4, 2, 4}, .order = hocket::planner::stage_order::v,
///                                                        .cap = cap}, hocket::pipeline::costs{});
///     found->makespan == 29 && found->proved;
template <pipeline::cost_policy C>
[[nodiscard]] result<found_schedule> find_schedule(const schedule_question& q, const C& costs) {
  if (const auto ok = pipeline::check(q.shape); !ok) return ok.error();
  const error bad{errc::bad_shape, q.shape.ranks, q.shape.chunks, q.shape.micro_batches};
  if (!q.cap.empty() && static_cast<std::int64_t>(q.cap.size()) != q.shape.ranks)
    return bad.with("one cap per rank, or none");
  for (std::size_t r = 0; r < q.cap.size(); ++r)
    if (q.cap[r] < q.shape.chunks)
      return error{errc::cap_too_small, static_cast<std::int64_t>(r), q.cap[r], q.shape.chunks};
  if (q.budget < 0) return error{errc::invalid_argument, q.budget}.with("a negative budget");
  if (q.shape.stages() * q.shape.micro_batches > (std::int64_t{1} << 22))
    return error{errc::limit_exceeded, q.shape.stages() * q.shape.micro_batches, std::int64_t{1} << 22}.with(
        "stages x micro-batches to search");
  std::int64_t total = 0;
  using pipeline::action_kind;
  const auto add = [&](ticks t, const char* of) -> result<void> {  // so often at the most
    constexpr ticks most = detail::partial_schedule::never / 2;
    const ticks often = 2 * q.shape.micro_batches;
    if (t < 0) return error{errc::invalid_argument, t}.with(of);
    if (t > most / often) return error{errc::limit_exceeded, t, most / often}.with(of);
    total += t * often;
    if (total > most) return error{errc::limit_exceeded, total, most}.with("all times of a schedule, twice");
    return {};
  };
  const auto word = [](action_kind kind) {
    return kind == action_kind::forward    ? "a forward"
         : kind == action_kind::backward   ? "a whole backward"
         : kind == action_kind::input_grad ? "an input gradient"
                                           : "a weight gradient";
  };
  for (std::uint32_t s = 0; s < q.shape.stages(); ++s) {
    for (const action_kind kind :
         {action_kind::forward, action_kind::backward, action_kind::input_grad, action_kind::weight_grad}) {
      if (q.split_backward ? kind == action_kind::backward
                           : kind == action_kind::input_grad || kind == action_kind::weight_grad)
        continue;
      if constexpr (requires { costs.knows(pipeline::stage_action{}); })
        if (!costs.knows({kind, s, 0})) return error{errc::untimed_action, s}.with(word(kind));
      if (const auto ok = add(costs.duration({kind, s, 0}), word(kind)); !ok) return ok.error();
    }
    if (q.shape.ranks == 1) continue;
    if (const auto ok = add(costs.latency(0, 1), "a hop"); !ok) return ok.error();
  }
  return detail::schedule_finder<C>(q, costs)();
}

}  // namespace hocket::inline HOCKET_ABI::planner
