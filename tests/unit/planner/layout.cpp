// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The best layout of stages beside every layout, with memory and without.
#include <hocket/core/message.hpp>
#include <hocket/interop/layout_forms.hpp>
#include <hocket/planner/split/layout.hpp>

#include <algorithm>
#include <optional>
#include <random>
#include <vector>

#include "catch.hpp"

namespace interop = hocket::interop;
namespace planner = hocket::planner;
using hocket::ticks;

namespace {

ticks slowest_stage(const planner::layout_problem& p, const planner::model_layout& x) {
  ticks most = 0;
  std::size_t at = 0;
  for (const planner::layout_stage& s : x.stages) {
    ticks sum = (s.embedding ? p.embedding : 0) + (s.loss ? p.loss : 0) + (s.predictions > 0 ? p.predictions : 0);
    for (std::int64_t n = 0; n < s.layers; ++n) sum += p.layers[at++];
    most = sum > most ? sum : most;
  }
  return most;
}
/// The slowest stage, and the sum of the squares of numbers of layers.
using layout_value = std::pair<ticks, std::int64_t>;
layout_value value_of(const planner::layout_problem& p, const planner::model_layout& x) {
  std::int64_t squares = 0;
  for (const planner::layout_stage& s : x.stages) squares += s.layers * s.layers;
  return {slowest_stage(p, x), squares};
}
/// Every layout that planner::check takes.
void every_layout(const planner::layout_problem& p, planner::model_layout& some, std::int64_t left,
                  layout_value& least) {
  const auto stages = static_cast<std::size_t>(p.ranks * p.chunks);
  if (some.stages.size() == stages) {
    if (left > 0) return;
    some.stages.front().embedding = some.stages.back().loss = true;
    for (std::size_t at = 0; at < (p.prediction_count > 0 ? stages : 1); ++at) {
      some.stages[at].predictions = p.prediction_count;
      if (planner::check(some, p.ranks, static_cast<std::int64_t>(p.layers.size()), p.prediction_count))
        least = (std::min)(least, value_of(p, some));
      some.stages[at].predictions = 0;
    }
    some.stages.back().loss = false;
    return;
  }
  for (std::int64_t here = 0; here <= left; ++here) {
    some.stages.push_back({.layers = here});
    every_layout(p, some, left - here, least);
    some.stages.pop_back();
  }
}

}  // namespace

TEST_CASE("the layout found is as fast as any", "[planner][layout]") {
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
    layout_value least{ticks{1} << 40, 0};
    every_layout(p, some, static_cast<std::int64_t>(p.layers.size()), least);
    const auto best = planner::solve(p);
    REQUIRE(best.has_value());
    INFO(interop::write_megatron_layout(best->layout));
    CHECK(planner::check(best->layout, p.ranks, static_cast<std::int64_t>(p.layers.size()), p.prediction_count));
    CHECK(slowest_stage(p, best->layout) == best->slowest);
    CHECK(value_of(p, best->layout) == least);  // of the fastest, numbers of layers as even as can be
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

namespace {
/// The least bytes of the fullest rank over every way to cut the items, layers and the modules, into stages.
hocket::bytes least_of_all_cuts(const planner::layout_problem& p) {
  std::vector<planner::layout_bytes> items = p.layer_bytes;
  if (p.prediction_count > 0) items.push_back(p.prediction_bytes);
  hocket::bytes least{std::int64_t{1} << 40};
  const auto cut = [&](auto&& self, std::size_t stage, std::size_t from, hocket::bytes fullest) -> void {
    if (stage == p.rooms.size()) {
      if (from == items.size()) least = std::min(least, fullest);
      return;
    }
    hocket::bytes used = p.rooms[stage].fixed;
    for (std::size_t to = from;; ++to) {
      self(self, stage + 1, to, std::max(fullest, used));
      if (to == items.size()) return;
      used = used + items[to].states + p.rooms[stage].in_flight * items[to].kept;
    }
  };
  cut(cut, 0, 0, hocket::bytes());
  return least;
}
}  // namespace

TEST_CASE("the layout found fits, and none that fits is faster", "[planner][layout]") {
  std::mt19937 random(25);
  int fitting = 0, tight = 0;
  for (int n = 0; n < 600; ++n) {
    planner::layout_problem p;
    p.ranks = 1 + static_cast<std::int64_t>(random() % 4);
    p.layers.resize(1 + random() % 6);
    for (ticks& t : p.layers) t = static_cast<ticks>(random() % 20);
    p.loss = static_cast<ticks>(random() % 40);
    p.prediction_count = static_cast<std::int64_t>(random() % 2);
    p.predictions = p.prediction_count * static_cast<ticks>(random() % 30);
    const auto some_bytes = [&](unsigned most) { return hocket::bytes(static_cast<std::int64_t>(random() % most)); };
    for (std::size_t i = 0; i < p.layers.size(); ++i) p.layer_bytes.push_back({some_bytes(10), some_bytes(5)});
    p.prediction_bytes = {some_bytes(10), some_bytes(5)};
    for (std::int64_t r = 0; r < p.ranks; ++r) p.rooms.push_back({some_bytes(80), some_bytes(10), p.ranks - r});
    // Every way to cut the items, layers and the modules, into stages.
    const std::size_t items = p.layers.size() + (p.prediction_count > 0 ? 1 : 0);
    std::optional<ticks> least;
    std::vector<std::size_t> cuts(static_cast<std::size_t>(p.ranks) + 1, items);
    const auto cut = [&](auto&& self, std::size_t stage, std::size_t from, ticks slowest) -> void {
      if (stage == static_cast<std::size_t>(p.ranks)) {
        if (from == items && (!least || slowest < *least)) least = slowest;
        return;
      }
      hocket::bytes used = p.rooms[stage].fixed;
      ticks time = stage + 1 == static_cast<std::size_t>(p.ranks) ? p.loss : 0;
      for (std::size_t to = from;; ++to) {
        if (used > p.rooms[stage].capacity) return;
        self(self, stage + 1, to, std::max(slowest, time));
        if (to == items) return;
        const bool module = to == p.layers.size();
        const planner::layout_bytes& x = module ? p.prediction_bytes : p.layer_bytes[to];
        used = used + x.states + p.rooms[stage].in_flight * x.kept;
        time += module ? p.predictions : p.layers[to];
      }
    };
    cut(cut, 0, 0, 0);
    const auto best = planner::solve(p);
    CHECK(best.has_value() == least.has_value());
    CHECK(planner::least_capacity(p).value() == least_of_all_cuts(p));
    if (!best) {
      CHECK(best.error().code == hocket::errc::does_not_fit);
      // With so many bytes more the rank is no longer in the way, with one less it is.
      const auto [rank, lack] = std::pair(best.error().values[0], best.error().values[1]);
      REQUIRE(lack > 0);
      hocket::bytes& room = p.rooms[static_cast<std::size_t>(rank)].capacity;
      room += hocket::bytes(lack - 1);
      const auto still = planner::solve(p);
      REQUIRE(!still.has_value());
      CHECK((still.error().values[0] == rank && still.error().values[1] == 1));
      room += hocket::bytes(1);
      const auto more = planner::solve(p);
      CHECK((more.has_value() || more.error().values[0] >= rank));
      ++tight;
      continue;
    }
    CHECK(best->slowest == *least);
    CHECK(slowest_stage(p, best->layout) == best->slowest);
    ++fitting;
  }
  CHECK(fitting > 50);
  CHECK(tight > 20);
  CHECK(planner::layout_room{}.in_flight == 1);
  for (const std::int64_t one : {0, 1})
    CHECK(planner::least_capacity({.layers = {1}, .layer_bytes = {{hocket::bytes(one), {}}}, .rooms = {{}}}).value() ==
          hocket::bytes(one));
  {  // 2^62 bytes in flight, and one more
    planner::layout_problem p{.layers = std::vector<ticks>(4096, 1)};
    constexpr hocket::bytes most(std::int64_t{1} << 50);
    p.layer_bytes.assign(4096, {hocket::bytes(), most});
    p.rooms = {{most, hocket::bytes(), 1}};
    CHECK(planner::solve(p).error().code == hocket::errc::does_not_fit);
    p.layer_bytes[7].states = hocket::bytes(1);
    CHECK(planner::solve(p).error().code == hocket::errc::overflow);
  }
  CHECK(planner::solve({.layers = {1}, .ranks = 1, .chunks = 2, .layer_bytes = {{}}, .rooms = {{}}}).error().code ==
        hocket::errc::invalid_argument);
  CHECK(planner::solve({.layers = {1}, .ranks = 1, .layer_bytes = {{}}}).error().code == hocket::errc::bad_shape);
  CHECK(planner::solve({.layers = {1}, .ranks = 1, .layer_bytes = {{hocket::bytes(-1), {}}}, .rooms = {{}}})
            .error()
            .code == hocket::errc::out_of_range);
}
