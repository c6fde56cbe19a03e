// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/cost/model/activations.hpp>
#include <hocket/cost/model/setting.hpp>
#include <hocket/cost/model/uniform_list.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

// What a list of layers costs: the sums over its blocks and its ends (embedding, final norm, heads, the joint inputs of
// multi-token prediction).
namespace hocket::inline HOCKET_ABI::cost {

/// All that the formulas of a block read beside its own sizes.
struct block_setting {
  part on_rank{.layers = 1};  ///< `layers`: of equal layers, how many
  list_sizes sizes{};
  cost::training training{};
  cost::parallel parallel{};
  convention counted{};
  replay_set replayed{};
};

/// Calls f(const block_terms&, const numbers_view&) for a block, with the numbers of `more` configs, too.
template <class F, class... More>
constexpr void visit_block(const block& b, const block_setting& all, F&& f, const More&... more) {
  std::visit(
      [&]<class Sizes>(const Sizes& sizes) {
        const environment numbers(sizes, all.on_rank, all.sizes, all.training, all.parallel, all.counted, all.replayed,
                                  more...);
        f(formulas_of<Sizes>::lists(), numbers_view(numbers));
      },
      b.what);
}

namespace detail {

[[nodiscard]] constexpr setting setting_of_ends(const layer_list& list, const part& on_rank, const training& t,
                                                const parallel& p, const convention& counted) noexcept {
  part ends = on_rank;
  ends.layers = 0;
  return {.on_rank = ends, .sizes = list.sizes, .training = t, .parallel = p, .counted = counted};
}

/// Adds up a term list of every block of a layer.
constexpr result<rational> sum_over(const layer_blocks& blocks, const block_setting& all,
                                    term_list_view block_terms::* which, bool per_rank) {
  rational sum = 0;
  result<void> ok;
  for (const block& b : blocks) {
    visit_block(b, all, [&](const block_terms& lists, const numbers_view& numbers) {
      const auto one = sum_of(lists.*which, numbers, per_rank);
      if (one) sum = sum + *one;
      else if (ok) ok = one.error();
    });
  }
  if (!ok) return ok.error();
  if (!sum.ok()) return error{errc::undefined_value}.with("a layer");
  return sum;
}
constexpr layer_blocks own_weights(const layer_blocks& blocks) {
  layer_blocks own;
  for (const block& b : blocks)
    if (!b.weights_elsewhere) own.push_back(b);
  return own;
}
/// The same blocks, each with weights of its own.
constexpr layer_blocks all_weights(layer_blocks blocks) {
  for (block& b : blocks) b.weights_elsewhere = false;
  return blocks;
}
/// The blocks that work with none of these sets of weights.
constexpr layer_blocks without_sets(const layer_blocks& blocks, const layer_blocks& sets) {
  layer_blocks out;
  for (const block& b : blocks)
    if (std::none_of(sets.begin(), sets.end(), [&](const block& set) { return set.shares_with(b); })) out.push_back(b);
  return out;
}
/// Adds the sets of weights that blocks take from elsewhere, each once.
constexpr void add_shared(const layer_blocks& blocks, layer_blocks& sets) {
  for (const block& b : blocks) {
    const auto same = [&](const block& x) { return x.shares_with(b); };
    if (!b.weights_elsewhere || std::any_of(sets.begin(), sets.end(), same)) continue;
    sets.push_back(b);
    sets.back().weights_elsewhere = false;
  }
}
/// Every run of a list: front and back are runs of one layer.
template <class F>
constexpr result<void> for_each_run(const layer_list& list, F&& f) {
  const auto once = [&](const layer_blocks& blocks) { return blocks.empty() ? result<void>{} : f(blocks, 1); };
  if (const auto ok = once(list.front); !ok) return ok;
  for (const repeated_layer& each : list.layers)
    if (const auto ok = f(each.blocks, each.count); !ok) return ok;
  for (const repeated_layer& each : list.predictions)
    if (const auto ok = f(each.blocks, each.count); !ok) return ok;
  return once(list.back);
}

/// The sets of weights that several blocks of a list work with.
constexpr layer_blocks shared_sets(const layer_list& list) {
  layer_blocks sets;
  static_cast<void>(detail::for_each_run(list, [&](const layer_blocks& blocks, std::int64_t) -> result<void> {
    add_shared(blocks, sets);
    return {};
  }));
  return sets;
}

constexpr result<void> check_block(const block& b) {
  if (const auto ok = std::visit([](const auto& sizes) { return check_members(sizes); }, b.what); !ok) return ok;
  const auto* const x = std::get_if<mixture>(&b.what);
  if (x != nullptr && x->active_experts > x->experts + x->zero_experts)
    return error{errc::out_of_range, x->active_experts, 0, x->experts + x->zero_experts}.with("active_experts");
  return {};
}

}  // namespace detail

/// Whether a layer is a mixture of experts.
[[nodiscard]] constexpr bool has_experts(const layer_blocks& blocks) noexcept {
  for (const block& b : blocks)
    if (std::holds_alternative<mixture>(b.what)) return true;
  return false;
}

/// Whether any layer of a list is one.
[[nodiscard]] constexpr bool has_experts(const layer_list& list) noexcept {
  return std::any_of(list.layers.begin(), list.layers.end(),
                     [](const repeated_layer& each) { return has_experts(each.blocks); });
}

/// Positions that the first windowed attention of a list sees; 0 if there is none: what cost::packed asks for.
[[nodiscard]] constexpr std::int64_t window_of(const layer_list& list) noexcept {
  std::int64_t window = 0;
  static_cast<void>(detail::for_each_run(list, [&](const layer_blocks& blocks, std::int64_t) -> result<void> {
    for (const block& b : blocks)
      if (const auto* x = std::get_if<attention>(&b.what); x != nullptr && window == 0) window = x->window;
    return {};
  }));
  return window;
}

/// Whether a list can be used: every size is one, every run has a layer, no more experts are active than there are.
/// Errors: errc::out_of_range, naming the first member that is none. O(runs x blocks).
[[nodiscard]] constexpr result<void> check(const layer_list& list) {
  if (list.refused) return *list.refused;
  if (const auto ok = detail::check_members(list.sizes); !ok) return ok;
  const detail::named_size least[] = {{list.sizes.hidden, "hidden"}};
  if (const auto ok = detail::check_range(least, 1); !ok) return ok;
  return detail::for_each_run(list, [&](const layer_blocks& blocks, std::int64_t count) -> result<void> {
    const detail::named_size run[] = {{count, "count of layers"}};
    if (const auto ok = detail::check_range(run, 1); !ok) return ok;
    for (const block& b : blocks)
      if (const auto ok = detail::check_block(b); !ok) return ok;
    return {};
  });
}

/// Parameters of a list: each weight once, and those that one token uses.
/// Errors: those of check; errc::overflow. Complexity: one pass over the formulas per run.
[[nodiscard]] constexpr result<parameter_count> count_parameters(const layer_list& list) {
  if (const auto ok = check(list); !ok) return ok.error();
  const auto ends = total(end_parameter_terms, numbers_of(detail::setting_of_ends(list, part{}, {}, {}, {})));
  if (!ends) return ends.error();
  rational sum = *ends, idle = 0;
  const auto ok = detail::for_each_run(list, [&](const layer_blocks& blocks, std::int64_t count) -> result<void> {
    const block_setting all{.on_rank = {.layers = count}, .sizes = list.sizes};
    const layer_blocks own = detail::own_weights(blocks);
    for (const auto which : {&block_terms::parameters, &block_terms::expert_parameters}) {
      const auto one = detail::sum_over(own, all, which, false);
      if (!one) return one.error();
      sum = sum + *one;
    }
    const auto unused = detail::sum_over(own, all, &block_terms::idle_parameters, false);
    if (!unused) return unused.error();
    idle = idle + *unused;
    return {};
  });
  if (!ok) return ok.error();
  if (!sum.ok() || !sum.is_whole() || sum.num() > (std::numeric_limits<std::int64_t>::max)())
    return error{errc::overflow}.with("parameters");
  return parameter_count{static_cast<std::int64_t>(sum.num()), static_cast<std::int64_t>((sum - idle).num())};
}

/// Those of the parameters that only correct the scores of routers: buffers, which no gradient trains. Model pages
/// count them or leave them out. O(blocks of all runs).
[[nodiscard]] constexpr std::int64_t router_biases(const layer_list& list) {
  std::int64_t sum = 0;
  for (const repeated_layer& run : list.layers)
    for (const block& b : run.blocks) {
      const auto* x = std::get_if<mixture>(&b.what);
      if (x != nullptr && x->router_bias && !b.weights_elsewhere) sum += run.count * (x->experts + x->zero_experts);
    }
  return sum;
}

namespace detail {
/// Parameters of some layers on one rank, not rounded.
struct parameter_sum {
  rational dense = 0, expert = 0;
  constexpr parameter_sum& operator+=(const parameter_sum& x) noexcept {
    dense = dense + x.dense;
    expert = expert + x.expert;
    return *this;
  }
};
constexpr result<parameter_sum> sum_parameters(const layer_list& list, const layer_blocks& blocks, std::int64_t count,
                                               const parallel& p) {
  const block_setting all{.on_rank = {.layers = count}, .sizes = list.sizes, .parallel = p};
  const layer_blocks own = own_weights(blocks);
  const auto dense = sum_over(own, all, &block_terms::parameters, true),
             expert = sum_over(own, all, &block_terms::expert_parameters, true);
  if (!dense) return dense.error();
  if (!expert) return expert.error();
  return parameter_sum{*dense, *expert};
}
/// Shards that do not come out whole are rounded up.
constexpr result<rank_parameters> rounded(const parameter_sum& x) {
  constexpr integer max_count = (std::numeric_limits<std::int64_t>::max)();
  const integer d = x.dense.ceiling().num(), e = x.expert.ceiling().num();
  if (d > max_count || e > max_count) return error{errc::overflow}.with("parameters of a rank");
  return rank_parameters{static_cast<std::int64_t>(d), static_cast<std::int64_t>(e)};
}
}  // namespace detail

/// Whether the FLOPs of packed documents are known: their pairs are counted for one window, and not for choices of a
/// sparse attention or chunks. Errors: errc::invalid_argument. O(layers x blocks).
[[nodiscard]] constexpr result<void> check_packing(const layer_list& list, const training& t) {
  if (t.squared_lengths == 0) return {};
  std::int64_t window = 0;
  bool told = true;
  static_cast<void>(detail::for_each_run(list, [&](const layer_blocks& blocks, std::int64_t) -> result<void> {
    for (const block& b : blocks) {
      if (const auto* x = std::get_if<latent_attention>(&b.what)) told = told && x->selected == 0 && x->window == 0;
      if (std::holds_alternative<compressed_attention>(b.what)) told = false;
      if (std::holds_alternative<native_sparse_attention>(b.what)) told = false;
      const auto* x = std::get_if<attention>(&b.what);
      told = told && (x == nullptr || x->selected == 0);
      if (x == nullptr || x->window == 0) continue;
      told = told && !x->chunked && (window == 0 || window == x->window) && t.windowed_pairs > 0;
      window = x->window;
    }
    return {};
  }));
  if (told) return {};
  return error{errc::invalid_argument, t.squared_lengths}.with("packed documents with such an attention");
}

namespace detail {
/// FLOPs of a step, and of what is computed again.
struct run_flops {
  rational model_step = 0, again = 0;
};
constexpr result<run_flops> flops_of_run(const layer_blocks& blocks, const block_setting& all) {
  run_flops out;
  for (const block& b : blocks)
    visit_block(b, all, [&](const block_terms& lists, const numbers_view& numbers) {
      const auto add = [&](const term_list_view& list, std::int64_t times) {
        for_each_term(list, numbers, [&](const term_view& x) {
          const rational amount = x.amount();
          out.model_step = out.model_step + rational(times) * amount;
          if (const rational more = x.again(); !(more == rational(0))) out.again = out.again + more * amount;
        });
      };
      add(lists.forward, 3);
      add(lists.whole_step, 1);
    });
  if (!out.model_step.ok() || !out.again.ok()) return error{errc::undefined_value}.with("FLOPs of a layer");
  return out;
}
/// Of heads and of the joint inputs of prediction modules, which are done again with their modules.
constexpr result<run_flops> flops_of_ends(const layer_list& list, const training& t, const parallel& p,
                                          const convention& counted) {
  const auto numbers = numbers_of(setting_of_ends(list, part{}, t, p, counted));
  run_flops out;
  for_each_term(end_flop_terms, numbers, [&](const term_view& x) {
    out.model_step = out.model_step + rational(3) * x.amount();
    if (const rational more = x.again(); !(more == rational(0))) out.again = out.again + more * x.amount();
  });
  if (!out.model_step.ok() || !out.again.ok()) return error{errc::undefined_value}.with("FLOPs of the ends");
  return out;
}
}  // namespace detail

/// FLOPs of a step under a convention, forward and backward. Padding of the vocabulary is the caller's: set
/// list.sizes.vocabulary to the padded size first.
/// Errors: those of check; errc::undefined_value.
[[nodiscard]] constexpr result<flop_count> count_flops(const layer_list& list, const training& t, const parallel& p,
                                                       const convention& counted, const replay_set& replayed = {}) {
  if (const auto ok = check(list); !ok) return ok.error();
  if (const auto ok = check(t); !ok) return ok.error();
  if (const auto ok = check(p); !ok) return ok.error();
  if (counted.attention == attention_count::window)
    if (const auto ok = check_packing(list, t); !ok) return ok.error();
  const auto heads = detail::flops_of_ends(list, t, p, counted);
  if (!heads) return heads.error();
  detail::run_flops sum = *heads;
  const auto ok = detail::for_each_run(list, [&](const layer_blocks& blocks, std::int64_t count) -> result<void> {
    const auto one = detail::flops_of_run(blocks, {.on_rank = {.layers = count},
                                                   .sizes = list.sizes,
                                                   .training = t,
                                                   .parallel = p,
                                                   .counted = counted,
                                                   .replayed = replayed});
    if (!one) return one.error();
    sum.model_step = sum.model_step + one->model_step;
    sum.again = sum.again + one->again;
    return {};
  });
  if (!ok) return ok.error();
  const rational hardware = sum.model_step + sum.again;
  if (!hardware.ok()) return error{errc::undefined_value}.with("FLOPs of a step");
  return flop_count{sum.model_step, hardware, counted};
}

/// Bytes that one such layer keeps of one micro-batch on one rank, under the recompute of `p`.
/// Errors: errc::undefined_value.
[[nodiscard]] constexpr result<rational> layer_activation_bytes(const layer_list& list, const layer_blocks& blocks,
                                                                const training& t, const parallel& p,
                                                                const replay_set& replayed = {}) {
  const auto sum = detail::sum_over(blocks, {.sizes = list.sizes, .training = t, .parallel = p, .replayed = replayed},
                                    &block_terms::saved, true);
  if (!sum) return sum;
  const environment numbers(list.sizes, t, p);
  const auto input = rank_total(layer_input_terms, numbers);
  if (!input) return input;
  return *sum + *input;
}

/// Bytes that generation keeps of one sequence of `length` tokens: keys and values, latent vectors, states.
/// @param element_bytes  of keys and values; states of linear attention take 4 where their source says so
/// Errors: errc::undefined_value.
///
///     count_state_bytes(kimi, 131072, 2)
[[nodiscard]] constexpr result<rational> count_state_bytes(const layer_list& list, std::int64_t length,
                                                           std::int64_t element_bytes) {
  rational sum = 0;
  const auto ok = detail::for_each_run(list, [&](const layer_blocks& blocks, std::int64_t count) -> result<void> {
    const block_setting all{.sizes = list.sizes, .training = {.sequence = length, .activation_bytes = element_bytes}};
    const auto one = detail::sum_over(blocks, all, &block_terms::state, false);
    if (!one) return one.error();
    sum = sum + rational(count) * *one;
    return {};
  });
  if (!ok) return ok.error();
  return sum;
}

}  // namespace hocket::inline HOCKET_ABI::cost
