// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/pipeline/prefill/detail/search.hpp>
#include <hocket/pipeline/prefill/detail/stream_bound.hpp>
#include <hocket/pipeline/prefill/plan.hpp>
#include <hocket/pipeline/prefill/run.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <span>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::pipeline {

namespace detail {

template <prefill_cost_policy C>
class prefill_solver {
 public:
  prefill_solver(const prefill_problem& problem, const C& costs, const prefill_options& options,
                 std::pmr::memory_resource* memory)
      : problem_(problem),
        costs_(costs),
        options_(options),
        memory_(memory),
        search_(problem, costs, options, memory),
        bound_(problem, memory),
        kinds_(memory),
        kind_of_(memory) {}

  [[nodiscard]] result<prefill_plan> operator()() {
    make_candidates();
    std::pmr::vector<prefill_peer> peers(memory_);
    for (const prefill_rule rule : {prefill_rule::equal, prefill_rule::equal_times, prefill_rule::smoothed})
      add_peer(rule, peers);
    choose_candidates();
    for (std::size_t r = 0; r < kind_of_.size() && !is_proved(); ++r) search_.improve(r, kinds_[kind_of_[r]]->cuts());
    if (problem_.chunks > 1 && !is_proved()) try_all();
    const bool exhausted = !is_proved() && problem_.chunks == 1 && search_all();
    return finish(std::move(peers), exhausted);
  }

 private:
  using candidates = request_candidates<C>;

  [[nodiscard]] bool is_proved() const {
    const int128 least = problem_.goal == prefill_goal::last_end ? int128{bound_.last_end()} : bound_.sum_of_ends();
    return search_.best() <= least;
  }
  /// Requests of one length share their candidates.
  void make_candidates() {
    const auto& requests = problem_.requests;
    const std::int64_t share = options_.budget / static_cast<std::int64_t>(requests.size());
    for (std::size_t r = 0; r < requests.size(); ++r) {
      std::size_t kind = 0;
      while (kind < kinds_.size() &&
             (first_[kind].tokens != requests[r].tokens || first_[kind].cached != requests[r].cached))
        ++kind;
      if (kind == kinds_.size()) {
        kinds_.push_back(std::make_unique<candidates>(problem_, costs_, static_cast<std::uint32_t>(r), share, memory_));
        first_.push_back(requests[r]);
        (*kinds_.back())();
      }
      kind_of_.push_back(kind);
      bound_.add(kinds_[kind]->bound(), requests[r], kinds_[kind]->lower_bound());
    }
  }
  /// Chunk sizes that the rules are tried with: the engine's, or a series that doubles in two steps.
  [[nodiscard]] std::pmr::vector<std::int64_t> bases() const {
    std::pmr::vector<std::int64_t> all(memory_);
    if (options_.base > 0) {
      all.push_back(options_.base);
      return all;
    }
    std::int64_t longest = 1;
    for (const prefill_request& x : problem_.requests) longest = (std::max)(longest, x.tokens);
    if (problem_.sizes.greatest > 0) longest = (std::min)(longest, problem_.sizes.greatest);
    const std::int64_t unit = problem_.sizes.align;
    for (std::int64_t x = unit; x < longest; x *= 2) {
      // Not so short that pieces are hardly more than some hundreds.
      if (longest / x > most_peer_pieces) continue;
      all.push_back(x);
      if (x / 2 * 3 < longest && x % (2 * unit) == 0) all.push_back(x / 2 * 3);
    }
    all.push_back(longest);
    return all;
  }
  void add_peer(prefill_rule rule, std::pmr::vector<prefill_peer>& peers) {
    prefill_peer best{.rule = rule};
    int128 best_value = 0;
    prefill_order best_order{};
    std::int64_t most = (std::min)(max_prefill_pieces, max_prefill_runs / problem_.stages());
    std::pmr::vector<cut_list> plan(memory_), best_plan(memory_);
    for (const std::int64_t base : bases()) {
      if (best.pieces > 0 && search_.is_out_of_budget(8)) break;
      plan.assign(problem_.requests.size(), cut_list(memory_));
      std::int64_t pieces = 0;
      bool allowed = true;
      for (std::size_t r = 0; r < plan.size() && pieces <= most; ++r) {
        append_by_rule(problem_.requests[r], problem_.sizes, costs_, rule, base, options_.smooth_factor, plan[r]);
        pieces += static_cast<std::int64_t>(plan[r].size());
        allowed = allowed && kinds_[kind_of_[r]]->cuts().is_allowed(plan[r]);
      }
      if (pieces > most) continue;
      judge(plan, {.rule = rule, .base = base, .pieces = pieces, .allowed = allowed}, best_value, best, best_plan,
            best_order);
    }
    if (best.pieces == 0) return;
    cut_list flat(memory_);
    for (const cut_list& x : best_plan) flat.insert(flat.end(), x.begin(), x.end());
    const auto run = run_prefill(problem_, costs_, flat, best_order, memory_);
    if (!run) return;  // a piece takes too long; the plan's own run says so if that is its best
    best.last_end = run->last_end();
    best.mean_wait = run->mean_wait();
    peers.push_back(best);
  }
  /// Offers what a rule made to the search; keeps it if it is the rule's best.
  void judge(const std::pmr::vector<cut_list>& plan, prefill_peer now, int128& best_value, prefill_peer& best,
             std::pmr::vector<cut_list>& best_plan, prefill_order& best_order) {
    for (const prefill_order order : orders()) {
      const int128 value = search_.value(plan, order);
      if (now.allowed) search_.offer(plan, order, value);
      if (best.pieces > 0 && value >= best_value) continue;
      best_value = value;
      best = now;
      best_plan = plan;
      best_order = order;
    }
  }
  [[nodiscard]] std::span<const prefill_order> orders() const {
    static constexpr prefill_order both[] = {prefill_order::deepest_first, prefill_order::shallowest_first};
    return std::span(both).first(problem_.chunks > 1 ? 2 : 1);
  }
  /// Each request cut as it would be alone, then request by request whatever is better for all.
  void choose_candidates() {
    std::pmr::vector<cut_list> plan(memory_);
    for (const std::size_t kind : kind_of_) plan.push_back(kinds_[kind]->found()[kinds_[kind]->best_index()]);
    for (const prefill_order order : orders()) search_.offer(plan, order, search_.value(plan, order));
    const std::size_t most_rounds = kind_of_.size() > 1 || problem_.chunks > 1 ? 4 : 0;
    for (std::size_t round = 0; round < most_rounds && !is_proved(); ++round) {
      bool better = false;
      for (std::size_t r = 0; r < kind_of_.size(); ++r)
        for (const cut_list& x : kinds_[kind_of_[r]]->found())
          if (!search_.is_out_of_budget() && search_.offer(r, x)) better = true;
      if (!better) break;
    }
  }
  /// With several chunks: all ways to cut, if they are few, in both orders.
  void try_all() {
    std::int64_t cuts = 0;
    for (const prefill_request& x : problem_.requests) cuts += (x.tokens - 1) / problem_.sizes.align;
    if (cuts > most_cuts_to_try) return;
    std::pmr::vector<cut_list> plan(1, cut_list(memory_), memory_);
    try_rest(plan, 0);
  }
  /// All ways to go on after some tokens of the last request of a plan.
  void try_rest(std::pmr::vector<cut_list>& plan, std::int64_t done) {
    const std::size_t r = plan.size() - 1;
    const std::int64_t left = problem_.requests[r].tokens - done, unit = problem_.sizes.align;
    for (std::int64_t x = unit; x < left + unit; x += unit) {
      plan[r].push_back((std::min)(x, left));
      if (x < left) {
        try_rest(plan, done + x);
      } else if (kinds_[kind_of_[r]]->cuts().is_allowed(plan[r])) {
        offer_or_go_on(plan);
      }
      plan[r].pop_back();
    }
  }
  void offer_or_go_on(std::pmr::vector<cut_list>& plan) {
    if (plan.size() == problem_.requests.size()) {
      for (const prefill_order order : orders()) search_.offer(plan, order, search_.value(plan, order));
      return;
    }
    plan.emplace_back();
    try_rest(plan, 0);
    plan.pop_back();
  }
  /// With one chunk: all ways to cut, if they are few. @return whether nothing better exists
  [[nodiscard]] bool search_all() {
    std::int64_t places = 0;
    for (const prefill_request& x : problem_.requests)
      places += (x.tokens + problem_.sizes.align - 1) / problem_.sizes.align;
    if (places > most_places_to_search) return false;
    int128 known = search_.best();
    cut_list best(memory_);
    label_search<C> labels(problem_, costs_, memory_);
    const bool all = labels(known, best, 4 * options_.budget);
    if (best.empty()) return all;
    std::pmr::vector<cut_list> plan(1, cut_list(memory_), memory_);
    std::int64_t done = 0;
    for (const std::int64_t x : best) {
      plan.back().push_back(x);
      done += x;
      if (done < problem_.requests[plan.size() - 1].tokens || plan.size() == problem_.requests.size()) continue;
      plan.emplace_back();
      done = 0;
    }
    search_.offer(plan, prefill_order::deepest_first, search_.value(plan, prefill_order::deepest_first));
    return all;
  }
  [[nodiscard]] result<prefill_plan> finish(std::pmr::vector<prefill_peer> peers, bool exhausted) {
    prefill_plan plan{.sizes = cut_list(memory_), .peers = std::move(peers)};
    for (const cut_list& x : search_.plan()) plan.sizes.insert(plan.sizes.end(), x.begin(), x.end());
    plan.order = search_.order();
    const auto run = run_prefill(problem_, costs_, plan.sizes, plan.order, memory_);
    if (!run) return run.error();
    plan.last_end = run->last_end();
    plan.mean_wait = run->mean_wait();
    plan.lower_bound = bound_.last_end();
    plan.least_mean_wait = bound_.mean_wait();
    plan.proved = exhausted || is_proved();
    if (plan.proved && problem_.goal == prefill_goal::last_end) plan.lower_bound = plan.last_end;
    if (plan.proved && problem_.goal == prefill_goal::mean_end) plan.least_mean_wait = plan.mean_wait;
    plan.rule = prefill_rule::searched;
    for (const prefill_peer& x : plan.peers)
      if (x.allowed && x.last_end == plan.last_end && x.mean_wait == plan.mean_wait &&
          plan.rule == prefill_rule::searched)
        plan.rule = x.rule;
    return plan;
  }

  static constexpr std::int64_t most_peer_pieces = 512;
  static constexpr std::int64_t most_places_to_search = 256;
  static constexpr std::int64_t most_cuts_to_try = 11;  // 2^11 ways

  const prefill_problem& problem_;
  const C& costs_;
  const prefill_options& options_;
  std::pmr::memory_resource* memory_;
  prefill_search<C> search_;
  stream_bound<C> bound_;
  std::pmr::vector<std::unique_ptr<candidates>> kinds_;  // one for each length
  std::pmr::vector<prefill_request> first_{memory_};     // that has this length
  std::pmr::vector<std::size_t> kind_of_;                // by request
};

}  // namespace detail

/// Sizes of pieces with which requests pass a forward-only pipeline soonest: chunked prefill.
///
/// One request on stages that are alike, with costs that tell their least work: the best number of pieces and sizes
/// whose longest one is shortest, with a proof where `per_token_before` is 0 and links are not full. Else the best of
/// such sizes and of the rules of production, bettered by small moves; of short requests, all ways to cut are searched.
/// It is never worse than a rule whose sizes are allowed.
/// @param problem  ranks, chunks, requests in the order in which they run, limits of sizes, the goal
/// @param costs    `prefill_costs`, or the host's own policy
/// Errors: those of check(problem) and run_prefill. errc::out_of_range for options.
/// Complexity: about options.budget times of a piece, some milliseconds; then O(pieces · stages).
/// Source: docs/prefill.md (bound, proof, what the search does not do).
///
///     const prefill_times stage[] = {{.fixed = 2000, .per_token = 30, .per_pair = 0.001}};
///     const prefill_request prompt[] = {{.tokens = 131'072}};
///     const auto plan = solve_prefill({.ranks = 8, .requests = prompt, .sizes = {.align = 256}},
///                                     prefill_costs{.stages = stage}).value();
///     plan.proved && plan.last_end == plan.lower_bound;
template <prefill_cost_policy C>
[[nodiscard]] result<prefill_plan> solve_prefill(const prefill_problem& problem, const C& costs,
                                                 const prefill_options& options = {},
                                                 std::pmr::memory_resource* memory = std::pmr::get_default_resource()) {
  if (const auto ok = check(problem); !ok) return ok.error();
  if (!(options.smooth_factor >= 0 && options.smooth_factor <= 1))
    return error{errc::out_of_range, static_cast<std::int64_t>(options.smooth_factor), 0, 1}.with("the smooth factor");
  if (options.base < 0 || options.base > max_prefill_tokens)
    return error{errc::out_of_range, options.base, 0, max_prefill_tokens}.with("the base of rules");
  if (options.budget < 0) return error{errc::out_of_range, options.budget, 0, INT64_MAX}.with("the budget");
  return detail::prefill_solver<C>(problem, costs, options, memory)();
}

}  // namespace hocket::inline HOCKET_ABI::pipeline
