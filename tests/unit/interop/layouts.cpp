// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Pipeline layouts: those of Megatron-LM's own tests, round trips, refusals.
#include <hocket/core/message.hpp>
#include <hocket/interop/layout_forms.hpp>

#include <random>

#include "catch.hpp"

namespace interop = hocket::interop;
namespace planner = hocket::planner;

namespace {

std::vector<std::int64_t> layers_of(const planner::model_layout& x) {
  std::vector<std::int64_t> out;
  for (const planner::layout_stage& s : x.stages) out.push_back(s.layers);
  return out;
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

TEST_CASE("a layout is read in any of its forms", "[interop][layouts]") {
  const auto as_megatron = [](const char* text, std::int64_t layers) {
    const auto read = interop::read_layout(text, layers);
    return read ? interop::write_megatron_layout(*read) : message(read.error());
  };
  CHECK(as_megatron("Et*2|t|tt|tL", 6) == "Ett|t|tt|tL");
  for (const char* text : {"[1, 0, 0, -1]", "offset: [1, 0, 0, -1]", "{\"offset\": [1, 0, 0, -1]}",
                           " [[1,0],\n[0,-1]] ", "offset = [1, 0, 0, -1,]", "'offset': [ 1 ,0,0,-1 ]"})
    CHECK(as_megatron(text, 8) == "Et*3|(tt|)*2,tL");
  for (const char* text :
       {"[[\"tok_embeddings\", \"layers.0\"], [], [\"layers.1\", \"norm\", \"output\"]]",
        "module_fqns_per_model_part: [[tok_embeddings, layers.0], [], [layers.1, norm, lm_head]]",
        "module_fqns_per_model_part = [['tok_embeddings', 'layers.0'],\n [], ['layers.1', 'norm', 'output'],]"})
    CHECK(as_megatron(text, 2) == "Et||tL");
  CHECK(as_megatron("[1, a]", 4) == "no number, no module name, character: 4 is not allowed here");
  CHECK(as_megatron("[1", 4) == "no ] or ,, character: 2 is not allowed here");
  CHECK(as_megatron("offset: 3", 4) == "no list, character: 0 is not allowed here");
  CHECK(as_megatron("[1] x", 4) == "behind the list, character: 4 is not allowed here");
  CHECK(as_megatron("[[[1]]]", 4) == "a list in a list of lists, character: 3 is not allowed here");
  CHECK(as_megatron("[1, [norm]]", 4) == "names of modules beside offsets, stages: 1 is not allowed here");
  CHECK(as_megatron("{\"offsets\": [1, -1]}", 4) == "the layout has no offset or module_fqns_per_model_part");
  CHECK(as_megatron("[]", 4).starts_with("stages of offset"));
  CHECK(as_megatron("[99999999999999999999]", 4).starts_with("no number"));
}

TEST_CASE("lists of words by stage are read and written", "[interop][layouts]") {
  const auto same = [](const char* list, const char* text) {
    INFO(list);
    const auto read = interop::read_layout(list, 0);
    REQUIRE(read);
    const auto words = interop::write_bridge_layout(*read);
    CHECK(interop::write_megatron_layout(*read) == text);
    std::string again = "[";
    for (const auto& stage : words) {
      again += again.size() > 1 ? ", [" : "[";
      for (const auto& word : stage) again += (again.back() == '[' ? "'" : ", '") + word + "'";
      again += "]";
    }
    CHECK(interop::read_layout(again + "]", 0).value() == *read);
  };
  same(R"([["embedding", "decoder"], ["decoder", "loss"]])", "Et|tL");
  same(R"([['embedding'] + ['decoder'] * 3, ['decoder'] * 2, [], ['mtp', 'loss'],])", "Et*3|tt||mL");
  same(R"([["embedding"] + ["decoder"] * 4] + [["decoder"] * 4] * 14 + [["decoder"] + ["mtp"] + ["loss"]])",
       "Et*4|(t*4|)*14,tmL");
  same(R"(pipeline_model_parallel_layout = [["embedding"]] + ([["decoder"]] + [[]]) * 2 + [["decoder", "loss"]])",
       "E|t||t||tL");
  const auto why = [](const char* list) { return message(interop::read_layout(list, 0).error()); };
  CHECK(why(R"([["embedding", "decoder"], ["loss"])").find("no ] or ,") != std::string::npos);
  CHECK(why(R"(["embedding", "decoder", "loss"])").find("words, not stages") != std::string::npos);
  CHECK(why(R"([["embedding", ["decoder"]], ["loss"]])").find("a word beside a list") != std::string::npos);
  CHECK(why(R"([[["embedding"]], ["loss"]])").find("a list in a list of lists") != std::string::npos);
  CHECK(why(R"([["embedding"] * , ["loss"]])").find("* without a number") != std::string::npos);
  CHECK(why(R"([["embedding", "decoder"], ["decoder"]])").find("no L, the loss") != std::string::npos);
  CHECK(why(R"([["embedding", "loss"], ["decoder"]])").find("t in the wrong place") != std::string::npos);
  for (const char* large : {R"([["embedding"] + ["decoder"] * 99999999, ["loss"]])",
                            R"([["embedding"], ["loss"]] + [["decoder"] * 1000] * 9999)"})
    CHECK(interop::read_layout(large, 0).error().code == hocket::errc::limit_exceeded);
  CHECK(why(R"([["embedding"], ["loss"]] x)").find("after the list") != std::string::npos);
  CHECK(why(R"([[[[[[[[[["embedding"]]]]]]]]]])").find("too many brackets") != std::string::npos);
}

TEST_CASE("layouts at their limits", "[interop][layouts]") {
  const auto code = [](const std::string& text) {
    const auto read = interop::read_megatron_layout(text);
    return read ? hocket::errc{} : read.error().code;
  };
  // 2^20 layers, 2^21 characters, 2^16 stages.
  CHECK(interop::read_megatron_layout("Et*1048576L")->layer_count() == 1 << 20);
  CHECK(code("Et*1048577L") == hocket::errc::limit_exceeded);
  CHECK(code("Et*600000t*600000L") == hocket::errc::limit_exceeded);
  CHECK(code("Etm*600000m*600000L") == hocket::errc::limit_exceeded);
  CHECK(code("Et*1048575,t*2L") == hocket::errc::limit_exceeded);
  CHECK(code("Et*1048576,t*1048575L") == hocket::errc::limit_exceeded);
  CHECK(code("E(tt)*1048576L") == hocket::errc::limit_exceeded);
  CHECK(interop::read_megatron_layout("Et|*65535L")->stages.size() == 1 << 16);
  CHECK(code("Et|*65536L") == hocket::errc::limit_exceeded);
  CHECK(interop::read_megatron_layout("Et*0|tL")->layer_count() == 1);
  const std::string stages(65535, '|');
  CHECK(interop::read_hybrid_pattern("M" + stages)->layout.stages.size() == 1 << 16);
  CHECK(interop::read_hybrid_pattern("M|" + stages).error().code == hocket::errc::limit_exceeded);
  CHECK(interop::read_hybrid_pattern(std::string(1 << 20, 'M'))->kinds.size() == 1 << 20);
  CHECK(interop::read_hybrid_pattern(std::string((1 << 20) + 1, 'M')).error().code == hocket::errc::limit_exceeded);
  const auto offsets = [](std::vector<std::int64_t> x, std::int64_t layers) {
    return interop::read_offsets(x, layers);
  };
  CHECK(offsets({0}, 1 << 20));
  CHECK(offsets({1 << 20}, (1 << 20) + 1).error().code == hocket::errc::out_of_range);
  CHECK(offsets({0}, -1).error().code == hocket::errc::out_of_range);
  CHECK(offsets({0}, 0));
  CHECK(offsets({-2, 2}, 4));  // a stage without layers
  CHECK(offsets({-3, 3}, 4).error().code == hocket::errc::out_of_range);
  CHECK(offsets({9, -4, -4}, 8).error().code == hocket::errc::out_of_range);
  std::string many = "[0";
  for (int n = 1; n < 65536; ++n) many += ",0";
  CHECK(interop::read_layout(many + "]", 65536)->stages.size() == 65536);
  CHECK(interop::read_layout(many + ",0]", 65537).error().code == hocket::errc::limit_exceeded);
}

TEST_CASE("blanks mean nothing around the words of a list", "[interop][layouts]") {
  const auto layers = [](const char* text) {
    const auto read = interop::read_layout(text, 4);
    return read ? layers_of(*read) : std::vector<std::int64_t>{};
  };
  const std::vector<std::int64_t> expected{3, 1};
  for (const char* text :
       {"[1,-1]", " [1,-1]", "[1,-1]\n", "[ 1 , -1 ]", "offset:[1,-1]", "offset : [1,-1]", "offset\t=\t[1,-1]",
        "{offset:[1,-1]}", "{ offset : [1,-1] }", "{\n  \"offset\": [1, -1]\n}\n", " { 'offset' : [1,-1] } ",
        "[[1],[-1]]", "[1,\n -1,\n]", "[1,-1,]"}) {
    INFO(text);
    CHECK(layers(text) == expected);
  }
  for (const char* text : {"offset", "offsets: [1,-1]", "offset [1,-1]", "\"offset: [1,-1]", "{offset: [1,-1]",
                           "[1;-1]", "[1 -1]", "[1,,-1]", "[,1,-1]", "[\"1\",-1]", "['1,-1]", "[1,-1]]", "(1,-1)"}) {
    INFO(text);
    CHECK(layers(text).empty());
  }
}

TEST_CASE("Megatron-LM's hybrid patterns are read and written", "[interop][layouts]") {
  const auto read = interop::read_hybrid_pattern("M-M-|M-M*-/MM/MM");
  REQUIRE(read);
  CHECK(read->kinds == "M-M-M-M*-");
  CHECK(read->prediction == "MM");
  CHECK(interop::write_megatron_layout(read->layout) == "Et*4|t*5mmL");
  for (const char* text : {"M-M-|M-M*-/MM/MM", "M", "M||*", "|M", "MEMEMEM*E", "GE|*E", "M*M*/M"}) {
    INFO(text);
    CHECK(interop::is_hybrid_pattern(text));
    const auto once = interop::read_hybrid_pattern(text);
    REQUIRE(once);
    CHECK(interop::write_hybrid_pattern(*once).value() == text);
  }
  for (const char* text : {"M-X-|M", "-q", "E*x", "|MX", "Mt|tL"})
    CHECK(interop::is_hybrid_pattern(text));  // wrong ones
  for (const char* text : {"Et*3|tL", "EtL", "", "offset: [1]", "[1]", "|EtL", "E(t|)*3L", "ExL", "(Et|)*1L"})
    CHECK(!interop::is_hybrid_pattern(text));
  const auto why = [](const char* text) { return message(interop::read_hybrid_pattern(text).error()); };
  CHECK(why("M-X") == "X at character: 2 is not allowed here");
  CHECK(why("") == "the layout has no layer: M, G, *, - or E");
  CHECK(why("M/MM/M") == "a module unlike the first: module: 1 is not allowed here");
  CHECK(why("M//") == "a module unlike the first: module: 0 is not allowed here");
  CHECK(why("M/M|M") == "| at character: 3 is not allowed here");
  interop::hybrid_pattern moved = *read;
  moved.layout.stages[0].predictions = 1;
  CHECK(!interop::write_hybrid_pattern(moved));
  moved = interop::read_hybrid_pattern("M/M").value();
  moved.prediction.clear();
  CHECK(interop::write_hybrid_pattern(moved).error().code == hocket::errc::invalid_argument);
  moved = *read;
  moved.kinds += 'M';
  CHECK(interop::write_hybrid_pattern(moved).error().code == hocket::errc::layout_count);
}
