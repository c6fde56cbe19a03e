// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The batch evaluator against the exact one, configuration by configuration.
#include <hocket/cost/formula/batch.hpp>
#include <hocket/cost/formula/print.hpp>
#include <hocket/cost/model/list_cost.hpp>
#include <hocket/cost/model/static_memory.hpp>

#include <string>
#include <vector>

#include "catch.hpp"

namespace cost = hocket::cost;
using namespace hocket::cost::letters;

TEST_CASE("a batch gives what each configuration gives alone", "[cost]") {
  const cost::list_sizes model{.hidden = 5120, .vocabulary = 32000};
  const cost::attention grouped{.heads = 40, .kv_heads = 8, .head_dim = 128};
  const auto formulas = cost::formulas_of<cost::attention>::lists();
  const cost::part one{.layers = 1}, all_layers{.layers = 40};
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
    const cost::environment common(grouped, one, model, t[0], p[0], by_level);
    const cost::batch all(common, cost::column_of(s, s_column), cost::column_of(tp, tp_column),
                          cost::column_of(sp, sp_column), cost::column_of(recomputed, recompute_column));
    REQUIRE(all.size() == count);
    cost::rank_total(formulas.saved, all, kept);
    const cost::environment whole(grouped, all_layers, model);
    cost::total(formulas.parameters, cost::batch(whole, cost::column_of(tp, tp_column)), weights);
    cost::evaluate(divide_up(L * s, 3 * tp) + least(s, greatest(tp, 2)), all, layers);
    for (std::size_t at = 0; at < count; ++at) {
      INFO(count << " configurations, number " << at);
      CHECK(kept[at] == cost::rank_total(formulas.saved, cost::environment(grouped, one, model, t[at], p[at], by_level))
                            .value()
                            .real());
      const cost::environment numbers(one, model, t[at], p[at]);
      CHECK(layers[at] == cost::real(divide_up(L * s, 3 * tp) + least(s, greatest(tp, 2)), numbers));
      const cost::environment spread(grouped, all_layers, model, p[at]);
      CHECK(weights[at] == cost::total(formulas.parameters, spread).value().real());
    }
  }
}

TEST_CASE("a list holds what its terms hold: values, text, order", "[cost]") {
  const cost::training t{.sequence = 4096};
  const auto weights = cost::make_term({.name = "weights", .source = "here"}, c_w * N_r, cost::literal(1), tp);
  const auto experts = cost::make_term({.name = "experts", .by = cost::layer_operation::dispatch}, c_g * N_e, N_e,
                                       choose(zero_level, 1, 1, dp * 2, 1), squared(s));
  const auto both = cost::terms(weights, experts);
  for (const std::int64_t expert : {501, 0}) {
    const cost::rank_parameters held{.dense = 1'000'003, .expert = expert};
    const cost::parallel p{.tp = 2, .dp = 3, .ep = 1, .zero = cost::zero::gradients};
    const cost::environment numbers(held, t, p);
    std::vector<std::string> lines;
    cost::for_each_term(both, numbers, [&](const cost::term_view& x) {
      lines.push_back(std::string(x.name) + ": " + print(x.formula) + " over " + print(x.split) + ", " +
                      to_string(x.amount()) + " " + unit_name(x.unit) + " over " + to_string(x.ranks()) + ", again " +
                      to_string(x.again()) + ", " + std::string(to_string(x.by)));
    });
    std::vector<std::string> expected{"weights: c_w*N_r over tp, 2000006 byte over 2, again 0, none"};
    if (expert > 0)
      expected.push_back(
          "experts: c_g*N_e over (1 if zero = 0; 1 if zero = 1; dp*2 if zero = 2; 1 if zero = 3), 2004 "
          "byte over 6, again 16777216, dispatch");
    CHECK(lines == expected);
    CHECK(cost::total(both, numbers).value() == cost::rational(2'000'006 + 4 * expert));
    CHECK(cost::rank_total(both, numbers).value() == cost::rational(1'000'003) + cost::rational(expert * 4) / 6);
  }
  const cost::rank_parameters held{.dense = 1'000'003, .expert = 501};
  // A number that cannot be had names the term, as ever.
  const cost::parallel none{.dp = 0, .zero = cost::zero::weights};
  const auto failed = cost::rank_total(cost::static_memory_terms, cost::environment(held, t, none));
  REQUIRE(!failed);
  CHECK(failed.error().code == hocket::errc::undefined_value);
}

TEST_CASE("a selector that names no case gives no number", "[cost]") {
  const std::vector<double> levels{0, 1, 2, 3, 0.5};
  std::vector<double> out(levels.size());
  const cost::part of{.layers = 7};
  const cost::environment common(of);
  const cost::batch all(common, cost::column_of(zero_level, levels));
  cost::evaluate(choose(zero_level, L, 2 * L), all, out);
  CHECK((out[0] == 7 && out[1] == 14));
  CHECK((out[2] != out[2] && out[3] != out[3] && out[4] != out[4]));
}
