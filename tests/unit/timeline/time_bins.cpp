// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <hocket/timeline.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "catch.hpp"
#include "dice.hpp"

using hocket::activity;
using hocket::ticks;
using hocket::time_bin;
using hocket::time_bins;
using hocket::timeline;
using hocket_test::dice;

namespace {

/// By the definition, tick by tick: the activity of the span that began first of those that are there; `wait` for none.
activity at_tick(const timeline& t, std::uint32_t lane, ticks at) {
  const timeline::span* first = nullptr;
  for (const timeline::span& s : t.spans()) {
    if (s.lane != lane || s.kind == activity::wait || s.start > at || s.finish <= at) continue;
    const bool before =
        first == nullptr || s.start < first->start || (s.start == first->start && s.finish < first->finish);
    if (before) first = &s;
  }
  return first == nullptr ? activity::wait : first->kind;
}

}  // namespace

TEST_CASE("bins of time have what a lane does tick by tick, whatever overlaps", "[timeline]") {
  dice d;
  for (int round = 0; round < 300; ++round) {
    timeline t;
    for (const char* name : {"a", "b"}) t.add_lane(name);
    const bool overlap = round % 2 == 0;
    ticks clock = 0;
    for (int i = 0; i < 14; ++i) {
      const ticks start = overlap ? d.roll(60) : clock + d.roll(4), finish = start + d.roll(overlap ? 20 : 5);
      clock = finish;
      t.add({.start = start - 10, .finish = finish - 10, .lane = d.roll(2), .kind = activity(d.roll(10))});
    }
    const ticks from = static_cast<ticks>(d.roll(30)) - 20, to = from + d.roll(70);
    const std::size_t count = 1 + d.roll(12);
    const time_bins bins(t);
    for (std::uint32_t lane = 0; lane < 2; ++lane) {
      const auto found = bins.of_lane(lane, from, to, count);
      REQUIRE(found.size() == count);
      for (std::size_t i = 0; i < count; ++i) {
        const auto n = static_cast<ticks>(count), k = static_cast<ticks>(i);
        time_bin wanted;
        for (ticks at = from + (to - from) * k / n; at < from + (to - from) * (k + 1) / n; ++at)
          if (const activity kind = at_tick(t, lane, at); kind != activity::wait)
            ++wanted.spent[static_cast<std::size_t>(kind)];
        // Spans that begin and end together may be told in either order.
        CHECK(found[i].busy() == wanted.busy());
        if (!overlap) CHECK(found[i] == wanted);
      }
    }
    if (t.makespan() == 0) continue;
    const auto uses = hocket::lane_uses(t);
    for (std::uint32_t lane = 0; lane < 2; ++lane) {
      ticks busy = 0;
      for (const time_bin& bin : bins.of_lane(lane, t.begin(), t.end(), count)) busy += bin.busy();
      CHECK(busy == uses[lane].busy);
    }
  }
}

TEST_CASE("bins of times that 64 bits just hold", "[timeline]") {
  timeline t;
  t.add_lane("a");
  constexpr ticks end = 4'000'000'000'000'000'000;
  t.add({.start = 0, .finish = end, .lane = 0, .kind = activity::forward});
  ticks busy = 0;
  for (const time_bin& bin : time_bins(t).of_lane(0, 0, end, 997)) {
    busy += bin.busy();
    CHECK(bin.busy() >= end / 997);
    CHECK(bin.busy() <= end / 997 + 1);
  }
  CHECK(busy == end);
  CHECK(time_bins(t).of_lane(0, 5, 5, 3).back().busy() == 0);
}

TEST_CASE("work that is thin everywhere is thin in every bin", "[timeline]") {
  timeline t;
  t.add_lane("a");
  for (ticks i = 0; i < 10'000; ++i) t.add({.start = 100 * i, .finish = 100 * i + 15, .lane = 0});
  for (const time_bin& bin : time_bins(t).of_lane(0, 0, 1'000'000, 50))
    CHECK(bin.spent[static_cast<std::size_t>(activity::compute)] == 3'000);  // 15 % of 20,000
}
