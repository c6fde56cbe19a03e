// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Pipeline layouts: those of Megatron-LM's own tests, round trips, refusals, and the best one beside brute force.
#include <hocket/core/message.hpp>
#include <hocket/interop/layout_forms.hpp>

#include <random>

#include "catch.hpp"

namespace interop = hocket::interop;
namespace planner = hocket::planner;
using hocket::ticks;

namespace {

std::vector<std::int64_t> layers_of(const planner::model_layout& x) {
  std::vector<std::int64_t> out;
  for (const planner::layout_stage& s : x.stages) out.push_back(s.layers);
  return out;
}
ticks slowest_of(const planner::layout_problem& p, const planner::model_layout& x) {
  ticks most = 0;
  std::size_t at = 0;
  for (const planner::layout_stage& s : x.stages) {
    ticks sum = (s.embedding ? p.embedding : 0) + (s.loss ? p.loss : 0) + (s.predictions > 0 ? p.predictions : 0);
    for (std::int64_t n = 0; n < s.layers; ++n) sum += p.layers[at++];
    most = sum > most ? sum : most;
  }
  return most;
}
/// Every layout that planner::check takes.
void brute_force(const planner::layout_problem& p, planner::model_layout& some, std::int64_t left, ticks& least) {
  const auto stages = static_cast<std::size_t>(p.ranks * p.chunks);
  if (some.stages.size() == stages) {
    if (left > 0) return;
    some.stages.front().embedding = some.stages.back().loss = true;
    for (std::size_t at = 0; at < (p.prediction_count > 0 ? stages : 1); ++at) {
      some.stages[at].predictions = p.prediction_count;
      if (planner::check(some, p.ranks, static_cast<std::int64_t>(p.layers.size()), p.prediction_count))
        least = (std::min)(least, slowest_of(p, some));
      some.stages[at].predictions = 0;
    }
    some.stages.back().loss = false;
    return;
  }
  for (std::int64_t here = 0; here <= left; ++here) {
    some.stages.push_back({.layers = here});
    brute_force(p, some, left - here, least);
    some.stages.pop_back();
  }
}

}  // namespace

TEST_CASE("Megatron-LM's own layouts are read", "[interop][layouts]") {
  // Its test_pipeline_layout.py, 8 layers on 4 ranks with 2 chunks; and the example of its docstring, 61 layers.
  const auto last = interop::read_megatron_layout("E|t*3|(t|)*5mL");
  REQUIRE(last.has_value());
  CHECK(layers_of(*last) == std::vector<std::int64_t>{0, 3, 1, 1, 1, 1, 1, 0});
  CHECK(last->stages.back() == planner::layout_stage{.predictions = 1, .loss = true});
  CHECK(planner::check(*last, 4, 8, 1));
  const auto with_a_layer = interop::read_megatron_layout("E|t*3|(t|)*4tm|L");
  CHECK(layers_of(*with_a_layer) == std::vector<std::int64_t>{0, 3, 1, 1, 1, 1, 1, 0});
  CHECK(with_a_layer->stages[6].predictions == 1);
  CHECK(planner::check(*with_a_layer, 4, 8, 1));
  const auto alone = interop::read_megatron_layout("E|t*3|(t|)*3tt|m|L");
  CHECK(layers_of(*alone) == std::vector<std::int64_t>{0, 3, 1, 1, 1, 2, 0, 0});
  CHECK(planner::check(*alone, 4, 8, 1));
  const auto deep = interop::read_megatron_layout("Et*3|(tt|)*29,m|L");
  CHECK(deep->stages.size() == 32);
  CHECK(planner::check(*deep, 16, 61, 1));
  CHECK(planner::check(*deep, 32, 61, 1));
  CHECK(interop::read_megatron_layout("(Et|)*1,(tt|tt|)*2,L")->stages.size() == 6);
  CHECK(interop::read_megatron_layout("E|*2,t*1,2|L")->layer_count() == 12);  // commas go first, also among digits
}

TEST_CASE("a layout is written as it is read", "[interop][layouts]") {
  for (const char* text :
       {"Et*3|(tt|)*29,m|L", "E|t*3|(t|)*5,mL", "EtL", "Et||tt|L", "E|(|)*2,t*7mmL", "E|(t*3|)*2,tL", "Ett|tt|ttL"}) {
    INFO(text);
    const auto read = interop::read_megatron_layout(text);
    REQUIRE(read.has_value());
    CHECK(interop::write_megatron_layout(*read) == text);
  }
  std::mt19937 random(7);
  for (int n = 0; n < 500; ++n) {
    planner::model_layout some;
    some.stages.resize(1 + random() % 9);
    for (planner::layout_stage& s : some.stages) s.layers = static_cast<std::int64_t>(random() % 4);
    some.stages.front().embedding = some.stages.back().loss = true;
    const auto text = interop::write_megatron_layout(some);
    INFO(text);
    CHECK(interop::read_megatron_layout(text).value() == some);
    CHECK(interop::read_offsets(*interop::write_offsets(some), some.layer_count()).value() == some);
    CHECK(interop::read_modules(*interop::write_modules(some)).value() == some);
  }
}

TEST_CASE("a layout that is none is refused, and where", "[interop][layouts]") {
  const auto why = [](const char* text) {
    const auto read = interop::read_megatron_layout(text);
    return read ? std::string() : message(read.error());
  };
  CHECK(why("Etx|L") == "x at character: 2 is not allowed here");
  CHECK(why("E(tt|L") == "( at character: 6 is not allowed here");
  CHECK(why("E()*2L") == "( at character: 2 is not allowed here");
  CHECK(why("E(tt|)L") == ") without * at character: 6 is not allowed here");
  CHECK(why("Et*|L") == "* without a number at character: 3 is not allowed here");
  CHECK(why("E((t)*2)*2L") == "( at character: 2 is not allowed here");
  CHECK(why("tE|L") == "E in the wrong place, stage: 0 is not allowed here");
  CHECK(why("Et|EtL") == "E in the wrong place, stage: 1 is not allowed here");
  CHECK(why("EtL|tL") == "t in the wrong place, stage: 1 is not allowed here");
  CHECK(why("Et|L|L") == "L in the wrong place, stage: 2 is not allowed here");
  CHECK(why("Etm|tL") == "t in the wrong place, stage: 1 is not allowed here");
  CHECK(why("Et") == "the layout has no L, the loss: it ends the last stage");
  CHECK(why("") == "the layout has no E, the embedding: it begins stage 0");
  CHECK(why("Et*99999999999999999999L").find("exceeds the limit of 2097152") != std::string::npos);
  const auto layout = [](const char* text) { return interop::read_megatron_layout(text).value(); };
  const auto bad = [](const auto& checked) { return checked ? std::string() : message(checked.error()); };
  CHECK(bad(planner::check(layout("Et|t|tL"), 2, 3, 0)) == "stages over ranks: 3 is not divisible by 2");
  CHECK(bad(planner::check(layout("Et|t|tL"), 3, 4, 0)) == "the layout has 3 layers, but the model has 4");
  CHECK(bad(planner::check(layout("Et|t|tmL"), 3, 3, 0)) == "the layout has 1 prediction modules, but the model has 0");
  CHECK(bad(planner::check(layout("Et|tm|mL"), 3, 2, 2)) == "predictions of two stages: stage: 2 is not allowed here");
  CHECK(bad(planner::check(layout("Et|tm||L"), 2, 2, 1)).starts_with("predictions before last chunk: stage: 1"));
  CHECK(bad(planner::check(layout("|EtL"), 2, 1, 0)) == "embedding: stage: 0 is not allowed here");
  CHECK(bad(planner::check(layout("EtL|"), 2, 1, 0)) == "loss: stage: 0 is not allowed here");
  CHECK(bad(interop::read_offsets(std::vector<std::int64_t>{1, 1}, 9)) ==
        "the offsets add up to 2, but must add up to 1: 9 layers over 2 stages leave that many");
  CHECK(!interop::read_offsets(std::vector<std::int64_t>{-5, 5}, 8));
  CHECK(!interop::write_offsets(layout("EtmL")));
  CHECK(!interop::read_modules(
      std::vector<std::vector<std::string>>{{"tok_embeddings", "layers.1"}, {"norm", "output"}}));
  using modules = std::vector<std::vector<std::string>>;
  CHECK(bad(interop::read_modules(modules{{"tok_embeddings", "layers.0"}, {"norm"}})) ==
        "the layout has no output (or lm_head): it ends the stages");
  CHECK(bad(interop::read_modules(modules{{"tok_embeddings", "layers.0"}})) ==
        "the layout has no norm: it follows the last layer");
  CHECK(bad(interop::read_modules(modules{{}, {}})) == "the layout has no tok_embeddings: it begins stage 0");
}

TEST_CASE("the layout found is as fast as any", "[interop][layouts]") {
  std::mt19937 random(11);
  for (int n = 0; n < 400; ++n) {
    planner::layout_problem p;
    p.ranks = 1 + static_cast<std::int64_t>(random() % 3);
    p.chunks = 1 + static_cast<std::int64_t>(random() % 2);
    p.layers.resize(1 + random() % 7);
    for (ticks& t : p.layers) t = static_cast<ticks>(random() % 20);
    p.embedding = static_cast<ticks>(random() % 10);
    p.loss = static_cast<ticks>(random() % 40);
    p.prediction_count = static_cast<std::int64_t>(random() % 3);
    p.predictions = p.prediction_count * static_cast<ticks>(random() % 30);
    planner::model_layout some;
    ticks least = ticks{1} << 40;
    brute_force(p, some, static_cast<std::int64_t>(p.layers.size()), least);
    const auto best = planner::solve(p);
    REQUIRE(best.has_value());
    INFO(interop::write_megatron_layout(best->layout));
    CHECK(planner::check(best->layout, p.ranks, static_cast<std::int64_t>(p.layers.size()), p.prediction_count));
    CHECK(slowest_of(p, best->layout) == best->slowest);
    CHECK(best->slowest == least);
  }
  // Equal times: even; a head as long as two layers takes their place.
  const auto even = planner::solve({.layers = std::vector<ticks>(12, 10), .ranks = 4});
  CHECK(interop::write_megatron_layout(even->layout) == "Et*3|(t*3|)*2,t*3L");
  const auto head = planner::solve({.layers = std::vector<ticks>(14, 10), .loss = 20, .ranks = 4});
  CHECK(interop::write_megatron_layout(head->layout) == "Et*4|(t*4|)*2,ttL");
  CHECK(planner::solve({.layers = {1}, .ranks = 0}).error().code == hocket::errc::out_of_range);
  CHECK(planner::solve({.layers = {-1}}).error().code == hocket::errc::out_of_range);
  CHECK(planner::solve({.layers = std::vector<ticks>(60'000, 1), .ranks = 300}).error().code ==
        hocket::errc::limit_exceeded);
}
