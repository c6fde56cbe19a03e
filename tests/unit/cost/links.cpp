// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Collectives over levels of links, against counting what each rank sends where.
#include <hocket/cost/links.hpp>
#include <hocket/cost/machines.hpp>

#include <cmath>
#include <random>
#include <vector>

#include "catch.hpp"

namespace {
namespace links {

namespace cost = hocket::cost;
using cost::collective;

constexpr cost::machine three_levels = [] {
  cost::machine on;
  on.links[0] = {4, 9e11, 1e-6};
  on.links[1] = {16, 1e11, 4e-6};
  on.links[2] = {256, 2.5e10, 1e-5};
  return on;
}();

/// The level of the smallest block that holds two devices.
std::size_t level_between(const cost::machine& on, std::int64_t a, std::int64_t b) {
  std::size_t level = 0;
  while (level + 1 < on.links.size() && on.links[level + 1].ranks > 0 &&
         a / on.links[level].ranks != b / on.links[level].ranks)
    ++level;
  return level;
}

/// Seconds of the busiest level of an all-to-all without copies: every rank sends each other rank its part.
double all_to_all_by_counting(const cost::machine& on, double bytes, std::int64_t ranks, std::int64_t stride) {
  double slowest = 0;
  for (std::size_t level = 0; level < on.links.size(); ++level) {
    double sent = 0;
    for (std::int64_t to = 1; to < ranks; ++to)
      if (level_between(on, 0, to * stride) == level) sent += bytes / static_cast<double>(ranks);
    if (sent > 0) slowest = std::fmax(slowest, sent / on.links[level].bytes);
  }
  return slowest;
}

TEST_CASE("an all-to-all sends each level what goes to ranks of other blocks", "[cost][links]") {
  cost::machine on = three_levels;
  for (cost::link_level& level : on.links) level.seconds = 0;
  for (const std::int64_t stride : {1, 2, 4, 16})
    for (const std::int64_t ranks : {2, 4, 8, 16, 32, 64}) {
      if (ranks * stride > 256) continue;
      INFO(ranks << " ranks, stride " << stride);
      const double took =
          cost::seconds_over_links(on, {collective::all_to_all, 1e9, 1}, {.ranks = ranks, .stride = stride}).count();
      CHECK(std::abs(took / all_to_all_by_counting(on, 1e9, ranks, stride) - 1) < 1e-12);
    }
}

TEST_CASE("an all-gather brings each block what it lacks once, by all of the group's links", "[cost][links]") {
  cost::machine on = three_levels;
  for (cost::link_level& level : on.links) level.seconds = 0;
  const auto took = [&](collective kind, std::int64_t ranks, std::int64_t stride) {
    return cost::seconds_over_links(on, {kind, 8e9}, {ranks, stride}).count();
  };
  const auto close = [](double a, double b) { return std::abs(a / b - 1) < 1e-12; };
  CHECK(close(took(collective::all_gather, 4, 1), 8e9 * 3 / 4 / 9e11));
  // 16 ranks in 4 blocks of 4: a block lacks 3/4 of it, and its 4 links share that.
  CHECK(close(took(collective::all_gather, 16, 1), 8e9 * 3 / 4 / 4 / 1e11));
  // One rank a block: each link carries all that its block lacks.
  CHECK(close(took(collective::all_gather, 4, 4), 8e9 * 3 / 4 / 1e11));
  CHECK(close(took(collective::all_gather, 16, 16), 8e9 * 15 / 16 / 2.5e10));
  CHECK(close(took(collective::all_reduce, 16, 1), 2 * took(collective::reduce_scatter, 16, 1)));
  CHECK(took(collective::all_reduce, 1, 1) == 0);
  // Beyond the outermost level there is no slower link.
  CHECK(close(took(collective::all_gather, 512, 1), 8e9 * (1 - 16.0 / 512) / 16 / 2.5e10));
}

/// Distinct blocks that copies of a token go to, drawn at random: the mean of many tokens.
double distinct_by_drawing(std::int64_t places, std::int64_t copies) {
  std::mt19937_64 random(7);
  constexpr int tokens = 20000;
  double sum = 0;
  for (int token = 0; token < tokens; ++token) {
    std::vector<bool> met(static_cast<std::size_t>(places));
    for (std::int64_t copy = 0; copy < copies; ++copy)
      met[static_cast<std::size_t>(random() % static_cast<std::uint64_t>(places))] = true;
    for (const bool one : met) sum += one ? 1 : 0;
  }
  return sum / tokens;
}

TEST_CASE("tokens that are sent once go to each block that they meet once", "[cost][links]") {
  for (const std::int64_t places : {2, 4, 8, 32})
    for (const std::int64_t copies : {1, 4, 8})
      CHECK(std::abs(cost::detail::distinct_places(static_cast<double>(places), static_cast<double>(copies)) /
                         distinct_by_drawing(places, copies) -
                     1) < 0.01);
  cost::machine on = three_levels;
  const cost::collective_call call{collective::all_to_all, 1e9, 8};
  const auto plain = cost::seconds_over_links(on, call, {.ranks = 64});
  on.sends_once = true;
  const auto once = cost::seconds_over_links(on, call, {.ranks = 64});
  CHECK(once < plain);
  // Where a token goes to one rank alone, there is nothing to send once.
  const cost::collective_call one{collective::all_to_all, 1e9, 1};
  CHECK(std::abs(cost::seconds_over_links(on, one, {.ranks = 64}) /
                     cost::seconds_over_links(three_levels, one, {.ranks = 64}) -
                 1) < 1e-9);
}

TEST_CASE("hops: of recursive doubling at each level, one for an all-to-all, the outermost for a send",
          "[cost][links]") {
  const auto latency = [](collective kind, std::int64_t ranks, std::int64_t stride) {
    return cost::seconds_over_links(three_levels, {kind, 1e-9}, {ranks, stride}).count();
  };
  const auto close = [](double a, double b) { return std::abs(a / b - 1) < 1e-9; };
  CHECK(close(latency(collective::all_gather, 4, 1), 2e-6));
  CHECK(close(latency(collective::all_gather, 16, 1), 2e-6 + 8e-6));
  CHECK(close(latency(collective::all_reduce, 32, 1), 2 * (2e-6 + 8e-6 + 1e-5)));
  CHECK(close(latency(collective::all_to_all, 32, 1), 1e-6 + 4e-6 + 1e-5));
  CHECK(close(latency(collective::send, 2, 1), 1e-6));
  CHECK(close(latency(collective::send, 8, 1), 4e-6));  // neighbours 3 and 4 sit in two blocks
  CHECK(close(latency(collective::send, 2, 64), 1e-5));
}

TEST_CASE("levels of links that cannot be are refused", "[cost][links]") {
  cost::machine on = three_levels;
  CHECK(cost::check(on));
  on.links[1].ranks = 4;
  CHECK(cost::check(on).error().word() == "ranks of a level of links");
  on = three_levels;
  on.links[2].bytes = 0;
  CHECK(cost::check(on).error().code == hocket::errc::bad_rate);
  for (const auto& each : cost::machines::all) {
    INFO(each.key);
    CHECK(cost::check(each.data.rates));
    CHECK(cost::machines::find(each.key) == &each.data);
  }
  CHECK(cost::machines::find("none") == nullptr);
  CHECK(cost::machines::node_of(cost::machines::find("gb200_nvl72")->rates) == 72);
  CHECK(cost::machines::node_of(cost::machines::a100_peak.rates) == 8);  // it has no levels
}

}  // namespace links
}  // namespace
