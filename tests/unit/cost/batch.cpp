// SPDX-License-Identifier: Apache-2.0
// The batch evaluator against the exact one, configuration by configuration.
#include <hocket/cost/formula/batch.hpp>
#include <hocket/cost/formula/code.hpp>
#include <hocket/cost/formula/print.hpp>
#include <hocket/cost/model/activations.hpp>
#include <hocket/cost/model/static_memory.hpp>

#include <string>
#include <vector>

#include "catch.hpp"

namespace cost = hocket::cost;
using namespace hocket::cost::letters;

TEST_CASE("a batch gives what each configuration gives alone", "[cost]") {
  const cost::model m{.layers = 40,
                      .hidden = 5120,
                      .heads = 40,
                      .kv_heads = 8,
                      .head_dim = 128,
                      .ffn = 13824,
                      .vocabulary = 32000,
                      .moe_layers = 8,
                      .experts = 16,
                      .active_experts = 2,
                      .expert_ffn = 3000};
  const cost::part one{.layers = 1, .moe_layers = 1}, whole = cost::part::whole(m);
  for (const std::size_t count : {1u, 31u, 32u, 33u, 100u}) {  // around the width of a block
    std::vector<cost::training> t;
    std::vector<cost::parallel> p;
    std::vector<double> s_column, tp_column, sp_column, recompute_column, kept(count), weights(count), layers(count);
    for (std::size_t at = 0; at < count; ++at) {
      t.push_back({.sequence = static_cast<std::int64_t>(512 * (at % 7 + 1)), .flash_attention = false});
      p.push_back({.tp = std::int64_t{1} << (at % 4),
                   .sequence_parallel = at % 3 == 0,
                   .recompute = static_cast<cost::recompute>(at % 3)});
      s_column.push_back(static_cast<double>(t[at].sequence));
      tp_column.push_back(static_cast<double>(p[at].tp));
      sp_column.push_back(p[at].sequence_parallel);
      recompute_column.push_back(static_cast<double>(p[at].recompute));
    }
    const cost::replay_set by_level;
    const cost::environment common(one, m, t[0], p[0], by_level);
    const cost::batch all(common, cost::column_of(s, s_column), cost::column_of(tp, tp_column),
                          cost::column_of(sp, sp_column), cost::column_of(recomputed, recompute_column));
    REQUIRE(all.size() == count);
    cost::rank_total(cost::saved_tensor_terms, all, kept);
    cost::total(cost::parameter_terms, cost::batch(cost::environment(whole, m), cost::column_of(tp, tp_column)),
                weights);
    cost::evaluate(divide_up(L * s, 3 * tp) + least(s, greatest(tp, 2)), all, layers);
    for (std::size_t at = 0; at < count; ++at) {
      INFO(count << " configurations, number " << at);
      CHECK(kept[at] == cost::layer_activation_bytes(m, t[at], p[at], true).value().real());
      const cost::environment numbers(one, m, t[at], p[at]);
      CHECK(layers[at] == cost::real(divide_up(L * s, 3 * tp) + least(s, greatest(tp, 2)), numbers));
      const cost::environment spread(whole, m, p[at]);
      CHECK(weights[at] == cost::total(cost::parameter_terms, spread).value().real());
      CHECK(cost::total(cost::parameter_terms, spread).value() == cost::total<cost::parameter_terms>(spread).value());
    }
  }
}

TEST_CASE("a list's table holds what its terms hold: values, text, order", "[cost]") {
  const cost::rank_parameters n{.dense = 1'000'003, .expert = 501};
  const cost::training t{.sequence = 4096};
  for (const auto level : {cost::zero::none, cost::zero::optimizer, cost::zero::gradients, cost::zero::weights}) {
    const cost::parallel p{.tp = 2, .dp = 3, .ep = 1, .zero = level};
    const cost::environment numbers(n, t, p);
    std::vector<std::string> by_terms, by_table;
    cost::for_each_term(cost::static_memory_terms, numbers, [&](const auto& x) {
      by_terms.push_back(std::string(x.name) + print(x.formula, cost::style::numbers, numbers) + " over " +
                         print(x.split, cost::style::latex, numbers) + to_string(exact(x.formula, numbers).value()));
    });
    cost::for_each_term<cost::static_memory_terms>(numbers, [&](const auto& x) {
      by_table.push_back(std::string(x.name) + cost::detail::write(tree_of(x.amount()), cost::style::numbers, true) +
                         " over " + cost::detail::write(tree_of(x.ranks()), cost::style::latex, true) +
                         to_string(x.amount().value()));
    });
    CHECK(by_terms.size() == 8);
    CHECK(by_terms == by_table);
    CHECK(cost::rank_total(cost::static_memory_terms, numbers).value() ==
          cost::rank_total<cost::static_memory_terms>(numbers).value());
  }
  // A number that cannot be had names the term, as ever.
  const cost::parallel none{.dp = 0, .zero = cost::zero::weights};
  const auto failed = cost::rank_total<cost::static_memory_terms>(cost::environment(n, t, none));
  REQUIRE(!failed);
  CHECK(failed.error().code == hocket::errc::undefined_value);
}

TEST_CASE("a selector that names no case gives no number", "[cost]") {
  const std::vector<double> levels{0, 1, 2, 3, 0.5};
  std::vector<double> out(levels.size());
  const cost::model m{.layers = 7};
  const cost::environment common(m);
  const cost::batch all(common, cost::column_of(zero_level, levels));
  cost::evaluate(choose(zero_level, L, 2 * L), all, out);
  CHECK((out[0] == 7 && out[1] == 14));
  CHECK((out[2] != out[2] && out[3] != out[3] && out[4] != out[4]));
}
