// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/cost/model/list_time.hpp>
#include <hocket/planner/strategy/solve.hpp>

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <variant>
#include <vector>

// Strategies of a model whose layers differ: times and bytes of every layer follow from the list.
namespace hocket::inline HOCKET_ABI::planner {

/// As strategy_problem, of a list of layers.
using list_strategy_problem = strategy_problem_of<cost::layer_list>;

namespace detail {

/// A list: as many kinds as it has different layers.
template <>
struct priced<cost::layer_list> {
  [[nodiscard]] static result<void> check(const cost::layer_list& list) { return cost::check(list); }
  [[nodiscard]] static result<void> check(const cost::layer_list& list, const cost::training& t,
                                          const cost::parallel& p) {
    if (const auto ok = cost::check(list, t, p); !ok) return ok;
    return cost::check_even_stages(list.layer_count(), p);
  }
  [[nodiscard]] static cost::layer_list without_predictions(cost::layer_list list) {
    list.predictions.clear();
    list.prediction_heads = 0;
    return list;
  }
  [[nodiscard]] static std::int64_t layer_count(const cost::layer_list& list) { return list.layer_count(); }
  [[nodiscard]] static bool has_experts(const cost::layer_list& list) {
    return !for_each_mixture(list, [](const cost::mixture&) { return false; });
  }
  [[nodiscard]] static bool experts_divide(const cost::layer_list& list, std::int64_t ep) {
    return for_each_mixture(list, [ep](const cost::mixture& x) { return x.experts % ep == 0; });
  }
  [[nodiscard]] static cost::setting ends_of(const cost::layer_list& list, const cost::training& t,
                                             const cost::parallel& p) {
    return cost::detail::setting_of_ends(list, {}, t, p, {});
  }

  [[nodiscard]] static result<layer_prices> prices_of_layers(const cost::layer_list& list, const cost::training& t,
                                                             const cost::parallel& p, const cost::machine& on,
                                                             const cost::replay_set& replay) {
    layer_prices out;
    cost::parallel whole = p;
    whole.recompute = cost::recompute::none;
    const cost::block_setting one_layer{
        .on_rank = {.layers = 1}, .sizes = list.sizes, .training = t, .parallel = p, .replayed = replay};
    for (const cost::layer_blocks& blocks : kinds_of(list)) {
      kind_prices& one = out.kinds.emplace_back();
      const auto took = cost::time_of_layer(list, blocks, t, p, on, {p.recompute, replay});
      const auto kept = cost::layer_activation_bytes(list, blocks, t, p, replay),
                 moment = cost::detail::moment_of(blocks, one_layer);
      if (!took) return took.error();
      if (!kept) return kept.error();
      if (!moment) return moment.error();
      one.seconds = took->total().count();
      one.bytes = kept->real();
      one.moment = moment->real();
      if (out.kinds.size() == 1) out.forward_share = took->forward / took->total();
      if (p.recompute != cost::recompute::full) continue;
      const auto all = cost::layer_activation_bytes(list, blocks, t, whole, replay);
      if (!all) return all.error();
      one.whole = all->real();
    }
    out.kinds.resize(out.kinds.size() + shared_of(list).size());  // a copy of weights takes no time, and keeps nothing
    const auto head = cost::time_of_head(list, t, p, on);
    if (!head) return head.error();
    out.head = head->total().count();
    cost::setting ends = ends_of(list, t, p);
    price_ends(ends, out);
    const std::vector<cost::layer_blocks> kinds = kinds_of(list);
    for (std::size_t at = 0; at < kinds.size(); ++at) {
      ends.model.hidden = list.sizes.hidden * cost::streams_behind(list.sizes, kinds[at]);
      out.kinds[at].hop = price_of_hop(ends, on);
    }
    out.known = true;
    return out;
  }

  [[nodiscard]] static result<parameter_prices> prices_of_parameters(const cost::layer_list& list,
                                                                     const cost::parallel& p) {
    parameter_prices out;
    for (const cost::layer_blocks& blocks : kinds_of(list)) {
      const auto one = parameters_of(list, blocks, p), all = parameters_of(list, cost::detail::all_weights(blocks), p);
      if (!one) return one.error();
      if (!all) return all.error();
      out.kinds.push_back({static_cast<double>(one->dense), static_cast<double>(one->expert),
                           static_cast<double>(all->dense), static_cast<double>(all->expert)});
    }
    for (const cost::block& set : shared_of(list)) {
      const auto one = parameters_of(list, {set}, p);
      if (!one) return one.error();
      out.kinds.push_back({static_cast<double>(one->dense), static_cast<double>(one->expert)});
    }
    const auto ends = [&](bool first, bool last) {
      return cost::count_rank_parameters(cost::detail::ends_of(list), p, {.first = first, .last = last});
    };
    const auto first = ends(true, false), last = ends(false, true), both = ends(true, true);
    for (const auto* x : {&first, &last, &both})
      if (!*x) return x->error();
    out.first = static_cast<double>(first->dense);
    out.last = static_cast<double>(last->dense);
    out.both = static_cast<double>(both->dense);
    return out;
  }

  [[nodiscard]] static rank_shapes shapes_of(const cost::layer_list& list, const cost::parallel& p) {
    rank_shapes out;
    const std::vector<cost::layer_blocks> kinds = kinds_of(list);
    const cost::layer_blocks shared = shared_of(list);
    const auto counted = [&](const cost::layer_blocks& blocks, std::int64_t count) {
      const auto kind = std::find(kinds.begin(), kinds.end(), blocks) - kinds.begin();
      return kind_count{static_cast<std::size_t>(kind), static_cast<double>(count)};
    };
    const auto ranks = cost::layers_of_ranks(list, p);
    if (!ranks) return out;  // an even deal of a checked list has no error
    for (const cost::rank_layers& x : *ranks) {
      std::vector<kind_count> layers;
      for (auto each = x.layers.rbegin(); each != x.layers.rend(); ++each) {
        const kind_count next = counted(each->blocks, each->count);
        if (!layers.empty() && layers.back().kind == next.kind) layers.back().count += next.count;
        else layers.push_back(next);
      }
      for (const cost::block& set :
           cost::detail::copies_on(x)) {  // behind its layers: of them, as whole passes are dealt out
        const auto at = std::find_if(shared.begin(), shared.end(), [&](const auto& y) { return y.shares_with(set); });
        layers.push_back({kinds.size() + static_cast<std::size_t>(at - shared.begin()), 1});
      }
      out.add({.layers = static_cast<double>(x.layer_count),
               .rank = x.ends.rank,
               .first = x.ends.first,
               .last = x.ends.last},
              layers);
    }
    static_cast<void>(
        cost::detail::for_each_run(list, [&](const cost::layer_blocks& blocks, std::int64_t count) -> result<void> {
          out.all.push_back(counted(blocks, count));
          return {};
        }));
    return out;
  }

 private:
  /// Its different layers, in the order in which they come first.
  [[nodiscard]] static std::vector<cost::layer_blocks> kinds_of(const cost::layer_list& list) {
    std::vector<cost::layer_blocks> kinds;
    static_cast<void>(
        cost::detail::for_each_run(list, [&](const cost::layer_blocks& blocks, std::int64_t) -> result<void> {
          if (std::find(kinds.begin(), kinds.end(), blocks) == kinds.end()) kinds.push_back(blocks);
          return {};
        }));
    return kinds;
  }
  /// The sets of weights that several of its layers work with: kinds of their own, behind those of layers.
  [[nodiscard]] static cost::layer_blocks shared_of(const cost::layer_list& list) {
    return cost::detail::shared_sets(list);
  }
  [[nodiscard]] static result<cost::rank_parameters> parameters_of(const cost::layer_list& list,
                                                                   const cost::layer_blocks& blocks,
                                                                   const cost::parallel& p) {
    const auto sum = cost::detail::sum_parameters(list, blocks, 1, p);
    if (!sum) return sum.error();
    return cost::detail::rounded(*sum);
  }
  /// Whether f says so of every mixture.
  template <class F>
  [[nodiscard]] static bool for_each_mixture(const cost::layer_list& list, F&& f) {
    bool all = true;
    static_cast<void>(
        cost::detail::for_each_run(list, [&](const cost::layer_blocks& blocks, std::int64_t) -> result<void> {
          for (const cost::block& b : blocks)
            if (const auto* x = std::get_if<cost::mixture>(&b.what)) all = all && f(*x);
          return {};
        }));
    return all;
  }
};

}  // namespace detail

/// As price_of_strategy of a model by its numbers of layers, and for the same model written as a list the same. But
/// windows stand where the list has them, and only a list counts the gates of shared experts.
[[nodiscard]] inline result<strategy_cost> price_of_strategy(const list_strategy_problem& problem, const strategy& s) {
  return detail::price_alone(problem, s);
}

/// As solve(strategy_problem): every strategy of the space, evaluated or rejected.
/// Complexity: that, and one pass over the formulas per different layer and way to cut it.
///
///     const auto found = hocket::planner::solve(
///         hocket::planner::list_strategy_problem{.model = list, .training = t, .cluster = {.devices = 64, …}});
template <class H = held_in_closed_form>
  requires(!std::convertible_to<const H&, std::span<const std::int64_t>>)
[[nodiscard]] result<strategy_plan> solve(const list_strategy_problem& problem, const H& held = {}) {
  return detail::find_strategies(problem, held);
}
/// As solve(strategy_problem, device_counts).
template <held_policy H = held_in_closed_form>
[[nodiscard]] result<device_plan> solve(const list_strategy_problem& problem,
                                        std::span<const std::int64_t> device_counts, const H& held = {}) {
  return detail::find_on_counts(problem, device_counts, held);
}

}  // namespace hocket::inline HOCKET_ABI::planner
