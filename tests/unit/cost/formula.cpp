// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <hocket/core/message.hpp>
#include <hocket/cost/formula/derivative.hpp>
#include <hocket/cost/formula/print.hpp>
#include <hocket/cost/model/flops.hpp>
#include <hocket/cost/model/in_flight.hpp>
#include <hocket/cost/model/list_stages.hpp>
#include <hocket/cost/model/packing.hpp>
#include <hocket/cost/model/parameters.hpp>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "calculator.hpp"
#include "catch.hpp"

namespace cost = hocket::cost;
using namespace hocket::cost::letters;
using cost::FLOP;
using cost::style;
using hocket::errc, hocket::message;

namespace {

const cost::model llama_7b{
    .layers = 32, .hidden = 4096, .heads = 32, .kv_heads = 32, .head_dim = 128, .ffn = 11008, .vocabulary = 32000};
const cost::training step{.sequence = 4096, .micro_batch = 2, .global_batch = 64};

}  // namespace

TEST_CASE("a formula prints as papers write it", "[cost]") {
  CHECK(print(2 * FLOP * B * s * h * V) == "2*B*s*h*V");
  CHECK(print(2 * FLOP * B * s * h * V, style::latex) == "2\\,B\\,s\\,h\\,V");
  CHECK(print(72 * FLOP * B * L * s * squared(h) * (1 + s / (6 * h) + V / (12 * h * L))) ==
        "72*B*L*s*h^2*(1 + s/(6*h) + V/(12*h*L))");
  CHECK(print(squared(s) / 2, style::latex) == "\\frac{s^2}{2}");
  CHECK(print(a - (g - d)) == "a - (g - d)");
  CHECK(print((a + g) * d / (tp * cp)) == "(a + g)*d/(tp*cp)");
  CHECK(print(f_e + r_q, style::latex) == "f_{e} + r_{q}");
  CHECK(print(least(tp, g) + divide_up(L, pp)) == "min(tp, g) + ceil(L/pp)");
  CHECK(print(choose(sp, 1, tp)) == "(tp if sp else 1)");
}

TEST_CASE("with numbers, a formula prints what to type into a calculator", "[cost]") {
  const cost::environment numbers(llama_7b, step);
  CHECK(print(2 * FLOP * B * s * h * V, style::numbers, numbers) == "2*64*4096*4096*32000");
  const cost::convention half{.attention = cost::attention_count::causal_half};
  const cost::environment counted(llama_7b, step, half);
  const auto core = 2 * FLOP * B * a * d * cost::detail::flop::attended;
  CHECK(print(core, style::text, counted) == "2*B*a*d*kappa");
  CHECK(print_definitions(core, style::text, counted) == "kappa = s^2/2");
  CHECK(print(core, style::numbers, counted) == "2*64*32*128*8388608");
  cost::training none = step;
  none.sequence = 0;
  CHECK(print(2 * FLOP * B * s * h, style::numbers, cost::environment(llama_7b, none)) == "2*64*0*4096");
  // A name that stands there twice is told once.
  const auto twice = cost::define("u", s * s) * h + cost::define("u", s * s) * V;
  CHECK(print_definitions(twice, style::text, counted) == "u = s^2");
  // Of a choice the case that is taken, alone.
  const auto either = choose(L, cost::define("u", s * s), cost::define("w", h + V));
  for (const auto& [layers, said] : {std::pair{0, "u = s^2"}, {1, "w = h + V"}}) {
    cost::model m = llama_7b;
    m.layers = layers;
    CHECK(print_definitions(either, style::text, cost::environment(m, step)) == said);
  }
  CHECK(print_definitions(either, style::text, {}) == "w = h + V; u = s^2");
}

TEST_CASE("every printed line comes to the value it is printed with", "[cost]") {
  for (const auto attention : {cost::attention_count::full, cost::attention_count::causal_half,
                               cost::attention_count::causal_exact, cost::attention_count::window}) {
    cost::model m = llama_7b;
    m.moe_layers = 4;
    m.experts = 8;
    m.active_experts = 2;
    m.expert_ffn = 1408;
    m.shared_ffn = 2816;
    m.window = 1024;
    m.window_layers = 16;
    const cost::layer_list list = m;
    int lines = 0;
    const auto check = [&](const cost::term_view& t, const cost::numbers_view& numbers) {
      const std::string line = print(t.formula, style::numbers, numbers);
      INFO(t.name << ": " << line);
      const double value = cost::exact(t.formula, numbers).value().real();
      CHECK(std::abs(calculator(line).value() - value) <= 1e-12 * value);
      CHECK(t.amount().real() == value);
      ++lines;
    };
    const auto check_all = [&](const cost::term_list_view& terms, const cost::numbers_view& numbers) {
      cost::for_each_term(terms, numbers, [&](const cost::term_view& t) { check(t, numbers); });
    };
    const cost::setting ends{.sizes = list.sizes, .training = step, .counted = {.attention = attention}};
    const auto of_ends = numbers_of(ends);
    check_all(cost::end_parameter_terms, of_ends);
    check_all(cost::end_flop_terms, of_ends);
    const cost::block_setting layer{
        .on_rank = {.layers = 8}, .sizes = list.sizes, .training = step, .counted = {.attention = attention}};
    for (const auto& blocks : {list.layers.front().blocks, list.layers.back().blocks})
      for (const cost::block& each : blocks)
        cost::visit_block(each, layer, [&](const cost::block_terms& lists, const cost::numbers_view& numbers) {
          check_all(lists.parameters, numbers);
          check_all(lists.expert_parameters, numbers);
          check_all(lists.forward, numbers);
        });
    CHECK(lines >= 30);
  }
}

TEST_CASE("values are exact, and overflow is an error", "[cost]") {
  const cost::environment numbers(llama_7b, step);
  CHECK(cost::whole(2 * FLOP * B * s * h * V, numbers).value() == cost::integer{2} * 64 * 4096 * 4096 * 32000);
  CHECK(to_string(cost::exact(s / (6 * h) + V, numbers).value()) == "192001/6");
  const auto fraction = cost::whole(s / (3 * h), numbers);
  REQUIRE(!fraction);
  CHECK(fraction.error().code == hocket::errc::not_whole);

  cost::model huge = llama_7b;
  huge.hidden = std::int64_t{1} << 62;
  const cost::environment far(huge, step);
  CHECK(cost::to_string(cost::whole(h * h, far).value()) == "21267647932558653966460912964485513216");
  const auto over = cost::whole(h * h * h, far);
  REQUIRE(!over);
  CHECK(over.error().code == hocket::errc::undefined_value);
  CHECK(message(over.error()) == "value: the formula divides by zero or does not fit 128 bits");
  CHECK(cost::exact(s / (h - h), numbers).error().code == hocket::errc::undefined_value);
  CHECK(cost::exact(least(s / (h - h), s), numbers).error().code == hocket::errc::undefined_value);
  CHECK(cost::exact(choose(L, 1, 2), numbers).error().code == hocket::errc::undefined_value);
  const auto unknown = cost::exact(V, cost::environment(step));
  REQUIRE(!unknown);
  CHECK(unknown.error().code == errc::unknown_symbol);
  CHECK(unknown.error().word() == "vocabulary");
  CHECK(cost::count_parameters(huge).error().code == hocket::errc::out_of_range);
  huge.layers = huge.hidden = huge.ffn = (std::int64_t{1} << 31) - 1;  // sizes, but their product passes 2^63
  CHECK(cost::count_parameters(huge).error().code == hocket::errc::overflow);
}

TEST_CASE("a real quotient is rounded up wherever it has a fraction", "[cost]") {
  cost::model m = llama_7b;
  const auto up = [&m](std::int64_t hidden, std::int64_t vocabulary) {
    m.hidden = hidden;
    m.vocabulary = vocabulary;
    return cost::real(divide_up(h * h, V), cost::environment(m));
  };
  CHECK(up(3, 2) == 5);
  CHECK(up(4, 2) == 8);
  CHECK(up(3, -2) == -4);
  CHECK(up(std::int64_t{1} << 40, 1) == std::ldexp(1.0, 80));  // no 64-bit integer holds it
  CHECK(std::isinf(up(3, 0)));
  CHECK(std::isnan(up(0, 0)));
}

TEST_CASE("a model that says nothing of its KV heads is refused, not divided by", "[cost]") {
  cost::model m = llama_7b;
  for (const std::int64_t kv_heads : {0, -1}) {
    m.kv_heads = kv_heads;
    const auto r = cost::check(m, step, cost::parallel{});
    REQUIRE(!r);
    CHECK(r.error().code == hocket::errc::out_of_range);
    CHECK(r.error().word() == "kv_heads");
  }
  m.kv_heads = 0;
  m.latent = true;  // latent attention has none
  CHECK(cost::check(m, step, cost::parallel{}));
}

TEST_CASE("the slope is that of the formula; kinks are flagged", "[cost]") {
  const cost::layer_list list = llama_7b;
  const cost::attention attention = std::get<cost::attention>(list.layers.front().blocks[1].what);
  const auto numbers_with = [&](std::int64_t sequence) {
    cost::training t = step;
    t.sequence = sequence;
    return cost::environment(attention, cost::part{.layers = 32}, list.sizes, t, cost::parallel{}, cost::convention{},
                             cost::replay_set{});
  };
  const auto numbers = numbers_with(step.sequence), more = numbers_with(step.sequence + 1),
             less = numbers_with(step.sequence - 1);
  // Against finite differences of the exact value, for every FLOP term, in the sequence length.
  cost::for_each_term(cost::formulas_of<cost::attention>::lists().forward, numbers, [&](const auto& t) {
    INFO(t.name);
    const double difference =
        (cost::exact(t.formula, more).value().real() - cost::exact(t.formula, less).value().real()) / 2;
    const auto slope = partial(t.formula, s, numbers);
    CHECK(std::abs(slope.derivative - difference) <= 1e-9 * std::abs(difference));
    CHECK(!slope.kink);
  });
  CHECK(partial(least(a, g), a, numbers).kink);
  CHECK(!partial(least(a, 2 * g), a, numbers).kink);
  CHECK(partial(s / h, h, numbers).derivative == -1.0 / 4096);
}

TEST_CASE("in flight: the closed forms of 1F1B", "[cost]") {
  const auto chunks = [](std::int64_t ranks, std::int64_t v, std::int64_t m, std::int64_t rank) {
    const cost::part on_rank{.layers = 1, .rank = rank};
    const cost::training t{.sequence = 1, .global_batch = m};
    const cost::parallel p{.pp = ranks, .vp = v};
    return static_cast<int>(cost::whole(cost::chunks_in_flight, cost::environment(on_rank, t, p)).value());
  };
  CHECK(chunks(4, 1, 9, 0) == 4);
  CHECK(chunks(4, 1, 9, 3) == 1);
  CHECK(chunks(4, 1, 2, 0) == 2);
  CHECK(chunks(4, 2, 8, 0) == 11);
  CHECK(chunks(4, 2, 8, 3) == 5);
  CHECK(chunks(4, 2, 4, 0) == 8);
  CHECK(chunks(4, 2, 9, 0) == 12);   // groups of 5 and 4
  CHECK(chunks(7, 2, 18, 0) == 22);  // 9 and 9
  CHECK(chunks(4, 3, 3, 2) == 9);
}

TEST_CASE("fractions are members as well, up to 2^31 - 1", "[cost]") {
  constexpr std::int64_t most = (std::int64_t{1} << 31) - 1;
  cost::training t;
  for (const cost::rational& bytes :
       {cost::rational(1) / cost::rational(2), cost::rational(3) / cost::rational(2),
        cost::rational(33) / cost::rational(32), cost::rational(most), cost::rational(1) / cost::rational(most)}) {
    t.weight_bytes = bytes;
    CHECK(cost::exact(c_w, cost::environment(t)).value() == bytes);
    CHECK(cost::real(c_w, cost::environment(t)) == bytes.real());
  }
  t.weight_bytes = cost::rational(most + 1);
  CHECK(cost::exact(c_w, cost::environment(t)).value() < cost::rational(0));
  CHECK(cost::real(c_w, cost::environment(t)) < 0);
}

TEST_CASE("packed documents: squares add up to 2^31 - 1 at the most", "[cost]") {
  std::vector<std::int64_t> lengths{46340, 296, 20, 5, 2, 1, 1};
  cost::training t{.sequence = 46665};
  CHECK(cost::packed(t, lengths)->squared_lengths == 2147483647);
  lengths.push_back(1);
  ++t.sequence;
  CHECK(cost::packed(t, lengths).error().code == errc::limit_exceeded);
}

TEST_CASE("packed documents: pairs within the window are those counted one by one", "[cost]") {
  using lengths = std::vector<std::int64_t>;
  for (const std::int64_t window : {1, 3, 8, 100})
    for (const lengths& documents : {lengths{12}, {1, 11}, {4, 4, 4}, {2, 7, 3}, lengths(12, 1)}) {
      const cost::model m{.layers = 1,
                          .hidden = 4,
                          .heads = 1,
                          .kv_heads = 1,
                          .head_dim = 4,
                          .ffn = 4,
                          .vocabulary = 4,
                          .window = window,
                          .window_layers = 1};
      const auto t = cost::packed({.sequence = 12}, documents, window);
      REQUIRE(t);
      std::int64_t pairs = 0, exact = 0;
      for (const std::int64_t length : documents)
        for (std::int64_t x = 0; x < length; ++x)
          for (std::int64_t y = 0; y <= x; ++y) {
            ++exact;
            pairs += x - y < window ? 1 : 0;
          }
      CHECK(t->windowed_pairs == pairs);
      const auto core = [&](cost::attention_count how) {
        return cost::count_flops(m, *t, {}, {.attention = how})->model_step;
      };
      // A pair is 4 d FLOPs forward and three times that with backward.
      CHECK(core(cost::attention_count::causal_exact) - core(cost::attention_count::window) ==
            cost::rational(3 * 4 * 4 * (exact - pairs)));
    }
  const cost::model wide{.layers = 1,
                         .hidden = 4,
                         .heads = 1,
                         .kv_heads = 1,
                         .head_dim = 4,
                         .ffn = 4,
                         .vocabulary = 4,
                         .window = 4,
                         .window_layers = 1};
  const lengths short_by_one{5, 6}, empty{0, 12};
  CHECK(cost::packed({.sequence = 12}, short_by_one, 4).error().code == errc::contradictory_field);
  CHECK(cost::packed({.sequence = 12}, empty, 4).error().code == errc::out_of_range);
  const lengths huge{1 << 20};
  CHECK(cost::packed({.sequence = 1 << 20}, huge, 4).error().code == errc::limit_exceeded);
  const cost::training half{.sequence = 12, .squared_lengths = 72};
  CHECK(!cost::count_flops(wide, half, {}, {.attention = cost::attention_count::window}));
  CHECK(cost::count_flops(wide, half, {}, {.attention = cost::attention_count::causal_exact}));
  CHECK(!cost::check(wide, half, {}));
}

TEST_CASE("splits that no device could run are refused by name", "[cost]") {
  const cost::model m{.layers = 4,
                      .hidden = 64,
                      .heads = 8,
                      .kv_heads = 8,
                      .head_dim = 8,
                      .ffn = 64,
                      .vocabulary = 64,
                      .moe_layers = 4,
                      .experts = 8,
                      .active_experts = 2,
                      .expert_ffn = 64};
  const cost::training t{.sequence = 32, .global_batch = 8};
  const auto why = [&](const cost::parallel& p) { return cost::check(m, t, p).error(); };
  CHECK(why({.ep = 8}).code == errc::indivisible);
  CHECK(message(why({.ep = 8})) == "ranks of a stage over ep x etp: 1 is not divisible by 8");
  CHECK(why({.etp = 4}).code == errc::indivisible);
  CHECK(why({.tp = 2, .pp = 2, .dp = 2, .ep = 8}).code == errc::indivisible);
  CHECK(cost::check(m, t, {.tp = 2, .dp = 4, .ep = 8}));
  CHECK(cost::check(m, t, {.tp = 2, .dp = 4, .ep = 4, .etp = 2}));
  cost::training odd = t;
  odd.sequence = 33;
  CHECK(cost::check(m, odd, {.tp = 2}));
  CHECK(message(cost::check(m, odd, {.tp = 2, .sequence_parallel = true}).error()) ==
        "sequence of a cp rank over tp: 33 is not divisible by 2");
  cost::model learned = m;
  learned.positions = 16;
  CHECK(cost::check(learned, t, {}).error().code == errc::out_of_range);
}
