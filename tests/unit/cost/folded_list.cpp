// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Folded formulas have the values of the formulas; a folded list has the FLOPs and the memory of the list.
#include <hocket/cost/model/folded_list.hpp>
#include <hocket/cost/model/uniform_list.hpp>

#include <cmath>

#include "catch.hpp"
#include "published_models.hpp"

namespace cost = hocket::cost;

namespace {

bool close(double mine, double exact, double whole_bytes = 0) {
  return std::abs(mine - exact) <= 1e-9 * std::abs(exact) + whole_bytes;
}

/// Thirty layers of which no two are the same, with every kind of attention and of FFN.
cost::layer_list thirty_layers() {
  const cost::norms between{.place = cost::norm_place::between};
  cost::layer_list out{.sizes = {.hidden = 2048, .vocabulary = 151936}};
  for (std::int64_t at = 0; at < 30; ++at) {
    const cost::block mixers[] = {
        cost::attention{.heads = 16, .kv_heads = at % 2 == 0 ? 2 : 4, .head_dim = 128 + at, .gate_width = 4096},
        cost::gated_delta{.key_heads = 16, .value_heads = 32, .key_dim = 128, .value_dim = 64 + at},
        cost::latent_attention{.heads = 32,
                               .kv_rank = 512 + at,
                               .nope_dim = 128,
                               .rope_dim = 64,
                               .value_dim = 128,
                               .selected = at % 2 == 0 ? 512 : 0,
                               .index_heads = at % 2 == 0 ? 16 : 0,
                               .index_dim = at % 2 == 0 ? 64 : 0},
        cost::mamba2{.heads = 64, .head_dim = 64 + at, .groups = 8},
        cost::kimi_delta{.heads = 32, .head_dim = 128 + at}};
    const cost::block ffns[] = {
        cost::feed_forward{.ffn = 8192 + 64 * at},
        cost::mixture{.experts = 64, .active_experts = 8, .expert_ffn = 512 + 8 * at, .shared_ffn = 512}};
    out.add({cost::norms{}, mixers[at % 5], between, ffns[at % 2], cost::hyper_connections{.streams = 1 + at % 3}});
  }
  return out;
}

/// Layers that work with the weights of four attentions and of four mixtures, which the first four have.
cost::layer_list sharing_layers() {
  const cost::attention narrow{.heads = 8, .kv_heads = 4, .head_dim = 64},
      wide{.heads = 16, .kv_heads = 8, .head_dim = 64};
  const cost::mixture experts{.experts = 8, .active_experts = 2, .expert_ffn = 384};
  cost::layer_list out{.sizes = {.hidden = 1024, .vocabulary = 4096}};
  for (std::int64_t at = 0; at < 24; ++at) {
    const bool later = at >= 4;
    out.add({cost::norms{}, cost::block(at % 2 == 0 ? narrow : wide, later, at % 4), cost::norms{},
             cost::block(experts, later, at % 4), cost::feed_forward{.ffn = 256 + 64 * (at % 3)}});
  }
  return out;
}
/// Two kinds of layers with as many weights, of which one has most of them in experts.
cost::layer_list layers_of_a_size() {
  const cost::attention full{.heads = 8, .kv_heads = 4, .head_dim = 64};
  const cost::feed_forward dense{.ffn = 3068};
  const cost::mixture experts{.experts = 6, .active_experts = 2, .expert_ffn = 511};  // 3 x 6 x 511 and 6 of the router
  cost::layer_list out{.sizes = {.hidden = 512, .vocabulary = 4096}};
  for (int at = 0; at < 6; ++at) {
    out.add({cost::norms{}, full, cost::norms{}, dense}, 1 + at % 2);
    out.add({cost::norms{}, full, cost::norms{}, experts}, 1 + at % 3);
  }
  return out;
}

struct compared {
  int flops = 0, memory = 0;
};
/// Every strategy of a small space, by both.
void compare(const cost::layer_list& list, const cost::training& t, compared& count) {
  const auto folded = cost::folded_list::make(list, t, {.attention = cost::attention_count::causal_half});
  REQUIRE(folded.has_value());
  cost::folded_list::scratch room;
  const cost::replay_set sets[] = {
      {}, {.norm = true, .gather = false, .activation = true}, {.qkv = true, .core = true}};
  int turn = 0;
  for (const std::int64_t tp : {1, 2, 4})
    for (const std::int64_t pp : {1, 3, 4})
      for (const std::int64_t vp : {1, 2})
        for (const auto level : {cost::recompute::none, cost::recompute::selective, cost::recompute::full}) {
          ++turn;
          const cost::parallel p{.tp = tp,
                                 .pp = pp,
                                 .vp = pp == 1 ? 1 : vp,
                                 .dp = 4,
                                 .cp = 1 + turn % 2,
                                 .sequence_parallel = turn % 3 == 0,
                                 .zero = static_cast<cost::zero>(turn % 4),
                                 .recompute = level,
                                 .offload_activations = turn % 5 == 0};
          cost::training step = t;
          step.micro_batch = 1 + turn % 2;
          step.global_batch = 48 * step.micro_batch;
          if (!cost::check(list, step, p) || !cost::check_even_stages(list.layer_count(), p)) continue;
          const cost::replay_set& again = sets[turn % 3];
          const auto mine = folded->price(p, {step.micro_batch, step.global_batch}, again, room);
          const auto flops = cost::count_flops(list, step, p, {.attention = cost::attention_count::causal_half}, again);
          CHECK(close(mine.model_flops, flops->model_step.real()));
          CHECK(close(mine.hardware_flops, flops->hardware_step.real()));
          ++count.flops;
          double most = 0, rounding = 0;
          const auto ranks = cost::layers_of_ranks(list, p);
          for (const cost::rank_layers& on : *ranks) {
            const auto passes = cost::held_share_by_1f1b(step, p, on.ends.rank);
            const auto exact = cost::memory_of_rank(list, on, step, p, *passes, again);
            most = (std::max)(most, exact->peak.total_bytes().real());
            rounding = (std::max)(rounding, 24.0 * static_cast<double>(on.layers.size() + 1));
          }
          CHECK(close(mine.peak_bytes, most, rounding));
          ++count.memory;
        }
}

// Numbers for formulas of a test: `known` ones, and ones that vary.
struct fixed_sizes {
  std::int64_t width = 12, groups = 4;
};
struct varied {
  std::int64_t ranks = 1, level = 0;
};

}  // namespace
HOCKET_DETAIL_STRUCT(fixed_sizes, width, groups);
HOCKET_DETAIL_STRUCT(varied, ranks, level);

TEST_CASE("folded formulas have the values of the formulas", "[cost][folding]") {
  constexpr auto width = cost::named("width", "w"), groups = cost::named("groups", "g");
  constexpr auto ranks = cost::named("ranks", "r"), level = cost::named("level", "l");
  // With all operations; and what has no value where it is not taken.
  constexpr auto all = cost::terms(
      cost::make_term({.name = "a"}, width * ranks + squared(ranks) * groups, cost::literal(1), least(ranks, groups)),
      cost::make_term({.name = "b"}, choose(level, width / ranks, 3 * width, divide_up(width, ranks)),
                      level * (ranks - 1), ranks + groups),
      cost::make_term({.name = "c"}, choose(least(level, 1), 7 * width, width / level), 1 - choose(level, 0, 1, 0),
                      greatest(ranks, 2) * choose(level, 1, ranks, 2)),
      cost::make_term({.name = "d"}, (ranks + level) / (width + groups) + (ranks - width) / squared(groups),
                      cost::literal(1), 3 * width),
      cost::make_term({.name = "never"}, width / ranks, groups - 4, ranks));
  const fixed_sizes known;
  cost::folding many{cost::environment(varied{})};
  const auto whole = many.total(all, cost::environment(known), {});
  const auto shared = many.rank_total(all, {}, cost::environment(known));
  REQUIRE(whole.has_value());
  REQUIRE(shared.has_value());
  std::vector<double> atoms, products;
  for (std::int64_t r = 1; r < 9; ++r)
    for (std::int64_t l = 0; l < 3; ++l) {
      const varied now{r, l};
      const cost::environment open(now);
      const cost::environment numbers_of_both(known, now);
      many.evaluate(open, atoms, products);
      INFO("ranks " << r << ", level " << l);
      CHECK(close(cost::folding::value(*whole, products), cost::total(all, numbers_of_both)->real()));
      CHECK(close(cost::folding::value(*shared, products), cost::rank_total(all, numbers_of_both)->real()));
    }
}

TEST_CASE("a formula that cannot be folded says why", "[cost][folding]") {
  constexpr auto width = cost::named("width", "w"), groups = cost::named("groups", "g");
  constexpr auto by_zero = width / (groups - 4);
  const fixed_sizes known;
  cost::folding many{cost::environment(varied{})};
  CHECK(many.value_of(width, {}, {}).error().code == hocket::errc::unknown_symbol);
  CHECK(many.value_of(by_zero, cost::environment(known), {}).error().code == hocket::errc::undefined_value);
  CHECK(many.value_of(width, cost::environment(known), {}).has_value());
}

TEST_CASE("a folded list costs what the list costs", "[cost][folding][layers]") {
  compared count;
  for (const auto& [name, m] : all_models()) {
    if (m.layers < 8 || name.size() % 8 != 0) continue;  // an eighth of them: each is 50 strategies, exactly
    INFO(name);
    compare(cost::to_layers(m), {.sequence = 1024}, count);
  }
  compare(thirty_layers(), {.sequence = 2048, .flash_attention = false, .dropout = true}, count);
  compare(thirty_layers(), {.sequence = 2048, .workspace = cost::workspace::megatron_te}, count);
  compare(sharing_layers(), {.sequence = 512}, count);
  for (const auto room : {cost::workspace::none, cost::workspace::megatron_te})
    compare(layers_of_a_size(), {.sequence = 512, .workspace = room}, count);
  CHECK(count.flops > 200);
  CHECK(count.memory > 200);
}
