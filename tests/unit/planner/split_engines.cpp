// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Each engine of the stage split alone, against brute force on small questions.
#include <hocket/pipeline/schedules/interleaved.hpp>
#include <hocket/pipeline/schedules/zbv.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "catch.hpp"
#include "split_plain.hpp"

using namespace plain;
namespace detail = hocket::planner::detail;
namespace pipeline = hocket::pipeline;

namespace {

constexpr int cases = optimised ? 1'000 : 100;
constexpr ticks none = std::numeric_limits<ticks>::max();

/// Calls `use` with every list of so many numbers, the i-th below `most(i)`.
template <class Most, class Use>
void for_every_choice(std::size_t size, const Most& most, const Use& use) {
  std::vector<std::uint32_t> chosen(size, 0);
  for (bool more = true; more;) {
    use(chosen);
    std::size_t i = 0;
    while (i < size && ++chosen[i] == most(i)) chosen[i++] = 0;
    more = i < size;
  }
}

/// Whether so many bytes by chunk fit into the room at each of the rank's counts.
bool fits(const in_flight_profile& held, std::uint32_t rank, const std::vector<std::int64_t>& kept, std::int64_t left) {
  for (std::uint32_t k = 0; k < held.times(rank); ++k) {
    std::int64_t bytes = 0;
    for (std::uint32_t c = 0; c < held.chunks(); ++c) bytes += held.at(rank, k)[c] * kept[c];
    if (bytes > left) return false;
  }
  return true;
}

/// The least extra time of the layers of some segments on the chunks of a rank, over every choice of levels.
ticks least_extra(const in_flight_profile& held, std::uint32_t rank, const std::vector<layer>& layers,
                  const std::vector<detail::segment>& parts, std::int64_t left) {
  std::vector<std::size_t> own;
  std::vector<std::uint32_t> chunk;
  for (std::uint32_t c = 0; c < parts.size(); ++c)
    for (std::int64_t i = parts[c].begin; i < parts[c].end; ++i) {
      own.push_back(static_cast<std::size_t>(i));
      chunk.push_back(c);
    }
  ticks least = none;
  const auto levels = [&](std::size_t i) { return layers[own[i]].levels.size(); };
  for_every_choice(own.size(), levels, [&](const std::vector<std::uint32_t>& chosen) {
    ticks extra = 0;
    std::vector<std::int64_t> kept(parts.size(), 0);
    for (std::size_t i = 0; i < own.size(); ++i) {
      extra += layers[own[i]].levels[chosen[i]].extra;
      kept[chunk[i]] += layers[own[i]].levels[chosen[i]].bytes;
    }
    if (extra < least && fits(held, rank, kept, left)) least = extra;
  });
  return least;
}

layer some_layer(draws& draw, std::int64_t byte = 1, ticks tick = 1) {
  layer x{tick * draw(1, 9), byte * draw(0, 4), {}};
  for (int k = draw(1, 3); k > 0; --k) x.levels.push_back({byte * draw(1, 12), tick * draw(0, 9)});
  return x;
}

}  // namespace

TEST_CASE("the levels of one rank: exact on two chunks, nearly so on more", "[planner][split]") {
  draws draw(29);
  int again = 0;
  int best_found = 0;
  int best_missed = 0;
  for (int n = 0; n < cases; ++n) {
    INFO("case " << n);
    const auto v = static_cast<std::uint32_t>(draw(1, 4));
    const auto p = static_cast<std::uint32_t>(draw(1, 4));
    const std::int64_t byte = draw(0, 1) == 0 ? 1 : 100'000'007;
    const ticks tick = draw(0, 1) == 0 ? 1 : 1'000'003;
    std::vector<layer_run> runs;
    for (int layers = static_cast<int>(p * v) + draw(0, 4); layers > 0; --layers)
      runs.push_back({some_layer(draw, byte, tick), 1});
    const auto held = in_flight_profile::make(pipeline::interleaved::make({p, v, 2 * p}).value()).value();
    const std::vector<rank_room> rooms(p, rank_room{byte * draw(10, 200), 0, 0});
    const split_problem plain{.layers = runs, .ranks = rooms, .in_flight = held, .micro_batches = 2 * std::int64_t{p}};
    const auto problem = plain.with_units();
    const detail::split_numbers q(problem);
    detail::segment_fronts fronts(problem.layers);
    detail::rank_levels choose(q, fronts);
    const auto r = static_cast<std::uint32_t>(draw(0, static_cast<int>(p) - 1));
    std::vector<detail::segment> parts;
    for (std::int64_t at = 0; parts.size() < v; at = parts.back().end) {
      const std::int64_t most = fronts.layers() - at - static_cast<std::int64_t>(v - 1 - parts.size());
      parts.push_back({at, at + std::min(most, std::int64_t{draw(1, 3)})});
    }
    const ticks least = least_extra(held, r, plain.each(), parts, rooms[r].capacity - choose.constant(r, parts));
    const auto answer = choose(r, parts);
    REQUIRE((least == none) == (answer.extra == detail::never));
    if (least == none) continue;
    std::vector<std::int64_t> kept;
    for (const auto& x : answer.points) kept.push_back(x.bytes);
    CHECK(fits(held, r, kept, rooms[r].capacity - choose.constant(r, parts)));
    CHECK(answer.extra >= least);
    if (v <= 2) CHECK(answer.extra == least);
    else ++(answer.extra == least ? best_found : best_missed);
    again += least > 0 ? 1 : 0;
  }
  CHECK(again > cases / 3);
  CHECK(best_found > 10 * best_missed);
}

TEST_CASE("equal layers are dealt out to the chunks of a rank as well as can be", "[planner][split]") {
  draws draw(31);
  int dealt = 0;
  int refused = 0;
  int early = 0;
  for (int n = 0; n < cases / 2; ++n) {
    INFO("case " << n);
    const auto v = static_cast<std::uint32_t>(draw(2, 4));
    const auto p = static_cast<std::uint32_t>(draw(1, 3));
    const int layers = static_cast<int>(v) + draw(0, 3);
    const layer_run runs[] = {{some_layer(draw), layers * static_cast<int>(p)}};
    const auto held = in_flight_profile::make(pipeline::interleaved::make({p, v, 2 * p}).value()).value();
    const std::vector<rank_room> rooms(p);
    const split_problem plain{.layers = runs, .ranks = rooms, .in_flight = held, .micro_batches = 2 * std::int64_t{p}};
    const auto problem = plain.with_units();
    detail::segment_fronts fronts(problem.layers);
    const std::int64_t left = draw(5, 250);
    const auto r = static_cast<std::uint32_t>(draw(0, static_cast<int>(p) - 1));
    // Every way to cut so many layers into chunks, and every choice of levels.
    ticks least = none;
    const auto most = [&](std::size_t) { return static_cast<std::size_t>(layers); };
    for_every_choice(v, most, [&](const std::vector<std::uint32_t>& sizes) {
      std::vector<detail::segment> parts;
      std::int64_t at = 0;
      for (const std::uint32_t size : sizes) {
        parts.push_back({at, at + 1 + size});
        at = parts.back().end;
      }
      if (at == layers) least = std::min(least, least_extra(held, r, plain.each(), parts, left));
    });
    detail::chunk_deal deal(held, r, layers);
    std::int64_t used = 0;
    const auto found = deal(fronts, layers, left, 100'000, used);
    CHECK((found.extra == detail::never) == (least == none));
    CHECK(found.bound == found.extra);
    if (least != none) CHECK(found.extra == least);
    ++(least != none ? dealt : refused);
    const auto ample = deal(fronts, layers, 1'000'000, 100'000, used);  // of ways as good, chunks about alike
    REQUIRE(ample.sizes.size() == v);
    CHECK(*std::max_element(ample.sizes.begin(), ample.sizes.end()) -
              *std::min_element(ample.sizes.begin(), ample.sizes.end()) <=
          1);
    const auto soon = deal(fronts, layers, left, 3, used);  // out of budget: the bound holds
    CHECK((least == none || soon.bound <= least));
    early += soon.bound < soon.extra ? 1 : 0;
    // The least load is the room in which layers that keep one byte each can be dealt out.
    const auto load = deal.least_load(layers, 100'000, used);
    CHECK(load.proved);
    const layer_run ones[] = {{{1, 0, {{1, 0}}}, layers}};
    const split_problem unit{.layers = ones, .ranks = rooms, .in_flight = held, .micro_batches = 1};
    const auto one_byte = unit.with_units();
    detail::segment_fronts units(one_byte.layers);
    CHECK(deal(units, layers, load.load, 100'000, used).extra == 0);
    CHECK(deal(units, layers, load.load - 1, 100'000, used).extra == detail::never);
  }
  CHECK(dealt > cases / 8);
  CHECK(refused > cases / 50);
  CHECK(early > 0);
}

namespace {

struct best_values {
  ticks step = none, slowest = none;
};

/// The best plans over every cut of the model, with the best levels for each.
best_values best_of_every_cut(const split_problem& q) {
  const std::uint32_t p = q.in_flight.ranks();
  const std::uint32_t stages = q.in_flight.stages();
  const std::vector<layer> layers = q.each();
  const auto n = static_cast<std::int64_t>(layers.size());
  best_values best;
  std::vector<std::int64_t> cuts(stages + 1, n);
  const auto look = [&] {
    ticks slowest = 0;
    ticks total = 0;
    for (std::uint32_t r = 0; r < p; ++r) {
      std::vector<detail::segment> parts(q.in_flight.chunks());
      std::int64_t left = q.ranks[r].capacity - q.ranks[r].fixed;
      ticks time = q.ranks[r].time;
      for (std::uint32_t s = 0; s < stages; ++s) {
        if (q.in_flight.rank_of(s) != r) continue;
        parts[q.in_flight.chunk_of(s)] = {cuts[s], cuts[s + 1]};
        for (std::int64_t i = cuts[s]; i < cuts[s + 1]; ++i) {
          left -= layers[static_cast<std::size_t>(i)].weights;
          time += layers[static_cast<std::size_t>(i)].time;
        }
      }
      const ticks extra = left < 0 ? none : least_extra(q.in_flight, r, layers, parts, left);
      if (extra == none) return;
      slowest = std::max(slowest, time + extra);
      total += time + extra;
    }
    best.slowest = std::min(best.slowest, slowest);
    best.step = std::min(best.step, total + (q.micro_batches * q.in_flight.chunks() - 1) * slowest);
  };
  for (std::uint32_t s = 0; s < stages; ++s) cuts[s] = s;
  while (true) {
    look();
    std::uint32_t s = stages - 1;
    while (s > 0 && cuts[s] == n - stages + s) --s;
    if (s == 0) return best;
    ++cuts[s];
    while (++s < stages) cuts[s] = cuts[s - 1] + 1;
  }
}

}  // namespace

TEST_CASE("bounds are below and moves above the best of every cut, and mostly both are near", "[planner][split]") {
  draws draw(23);
  int feasible = 0;
  int moved_best = 0;
  ticks below = 0;  // what bounds lack in thousandths, all together
  for (int n = 0; n < cases; ++n) {
    INFO("case " << n);
    struct form {
      std::uint32_t p, v;
    };
    constexpr form forms[] = {{1, 2}, {2, 2}, {3, 2}, {1, 3}, {2, 3}, {1, 4}};
    const auto [p, v] = forms[draw(0, 5)];
    const std::uint32_t m = p * static_cast<std::uint32_t>(draw(1, 3));
    std::vector<layer_run> runs;
    for (int layers = static_cast<int>(p * v) + draw(0, 3); layers > 0; --layers) runs.push_back({some_layer(draw), 1});
    const auto held = v == 2 && draw(0, 1) == 0
                        ? in_flight_profile::make(pipeline::zbv::make({p, 2, m}).value()).value()
                        : in_flight_profile::make(pipeline::interleaved::make({p, v, m}).value()).value();
    std::vector<rank_room> rooms;
    const int capacity = draw(20, 200);
    for (std::uint32_t r = 0; r < p; ++r) rooms.push_back({capacity + draw(0, 5), draw(0, 3), draw(0, 3)});
    split_problem plain{.layers = runs, .ranks = rooms, .in_flight = held, .micro_batches = m};
    const best_values best = best_of_every_cut(plain);
    for (const objective goal : {objective::step_time, objective::slowest_rank}) {
      plain.goal = goal;
      const auto problem = plain.with_units();
      const detail::split_numbers q(problem);
      detail::segment_fronts fronts(problem.layers);
      detail::rank_levels choose(q, fronts);
      if (best.step == none) continue;
      ++feasible;
      const ticks least = goal == objective::step_time ? best.step : best.slowest;
      CHECK(detail::least_slowest(q, fronts) <= best.slowest);
      // Also where the target is far away, or too low.
      for (const ticks target : {least, least + draw(0, 50), 2 * least, least / 2})
        CHECK(detail::price_bound(q, fronts)(target) <= least);
      const ticks bound = detail::price_bound(q, fronts)(least);
      below += 1000 * (least - bound) / least;
      const ticks base = detail::base_time(q, fronts);
      detail::cut_moves::plan found;
      detail::cut_moves(q, fronts, choose)(detail::even_times(q, fronts), best.slowest, 3'000, found,
                                           [](const auto&) { return false; });
      if (found.cuts.empty()) continue;
      const ticks value = q.value(found.slowest, base + found.extra);
      CHECK(value >= least);
      moved_best += value == least ? 1 : 0;
    }
  }
  CHECK(feasible > cases / 3);
  // As near as they are today.
  INFO("of " << feasible << " moves meet " << moved_best << ", and bounds lack " << below << " thousandths");
  CHECK(moved_best >= (optimised ? 1'778 : feasible * 9 / 10));
  CHECK(below <= (optimised ? 30'229 : 25 * feasible));
}

namespace {

/// Tick by tick, the least time in which all ranks together have room for all layers, and for the longest of them, did
/// each rank get as many of the shortest as it can run.
ticks plain_least_slowest(const split_problem& q) {
  std::vector<ticks> times;
  for (const layer& x : q.each()) times.push_back(x.time);
  std::sort(times.begin(), times.end());
  const auto enough = [&](ticks most) {
    ticks work = 0;
    for (const ticks t : times) work += t;
    for (const rank_room& x : q.ranks) {
      work -= most - x.time;
      if (x.time > most) return false;
    }
    if (work > 0) return false;
    for (std::size_t first = 0; first < times.size(); ++first) {
      if (first > 0 && times[first] == times[first - 1]) continue;
      std::size_t run = 0;
      for (const rank_room& x : q.ranks) {
        ticks left = most - x.time;
        for (std::size_t i = first; i < times.size() && times[i] <= left; ++i, ++run) left -= times[i];
      }
      if (run < times.size() - first) return false;
    }
    return true;
  };
  ticks least = 0;
  while (!enough(least)) ++least;
  return least;
}

}  // namespace

TEST_CASE("one chunk: a path over ranks equals every cut", "[planner][split]") {
  draws draw(37);
  int feasible = 0;
  for (int n = 0; n < cases; ++n) {
    INFO("case " << n);
    const auto p = static_cast<std::uint32_t>(draw(1, 4));
    std::vector<layer_run> runs;
    for (int layers = static_cast<int>(p) + draw(0, 5); layers > 0; --layers) runs.push_back({some_layer(draw), 1});
    const auto m = static_cast<std::uint32_t>(draw(1, 6));
    const auto held = in_flight_profile::make_one_f_one_b(p, m).value();
    std::vector<rank_room> rooms;
    for (std::uint32_t r = 0; r < p; ++r) rooms.push_back({draw(10, 120), draw(0, 3), draw(0, 3)});
    split_problem plain{.layers = runs, .ranks = rooms, .in_flight = held, .micro_batches = m};
    const best_values best = best_of_every_cut(plain);
    for (const objective goal : {objective::step_time, objective::slowest_rank}) {
      plain.goal = goal;
      const auto problem = plain.with_units();
      const detail::split_numbers q(problem);
      detail::segment_fronts fronts(problem.layers);
      detail::rank_levels choose(q, fronts);
      CHECK(detail::least_slowest(q, fronts) == plain_least_slowest(plain));
      const auto found = detail::rank_path(q, fronts, choose)();
      REQUIRE(found.has_value() == (best.step != none));
      if (!found) continue;
      ++feasible;
      CHECK(found->proved);
      ticks slowest = 0;
      ticks sum = 0;
      for (std::uint32_t r = 0; r < p; ++r) {
        const ticks time = choose.base_time(r, found->parts[r]) + found->answers[r].extra;
        slowest = std::max(slowest, time);
        sum += time;
      }
      CHECK(q.value(slowest, sum) == (goal == objective::step_time ? best.step : best.slowest));
    }
  }
  CHECK(feasible > cases / 2);
}
