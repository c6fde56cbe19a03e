// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <hocket/timeline.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "catch.hpp"
#include "dice.hpp"
#include "scarce_memory.hpp"

using hocket::activity;
using hocket::ticks;
using hocket::timeline;
using hocket_test::dice;
using hocket_test::scarce_memory;
using hocket_test::until_it_succeeds;

TEST_CASE("append changes nothing when memory runs out", "[timeline]") {
  timeline other;
  for (const char* name : {"a lane whose name is on the heap", "another lane whose name is on the heap"}) {
    const auto lane = other.add_lane(name);
    other.add({.start = 0, .finish = 1, .lane = lane});
    other.add_change({.at = 0, .lane = lane, .by = 1});
    other.add_mark(1, "a mark whose label is on the heap");
  }
  scarce_memory memory;
  timeline t(&memory);
  t.add_lane("here");
  const std::size_t failures = until_it_succeeds(
      memory.left, [&] { t.append(other, 5); },
      [&] {
        CHECK(t.lane_count() == 1);
        CHECK(t.spans().empty());
        CHECK(t.changes().empty());
        CHECK(t.marks().empty());
      });
  CHECK(failures > 3);
  CHECK(t.lane_count() == 3);
  CHECK(t.spans().size() == 2);
  CHECK(t.changes().size() == 2);
  CHECK(t.marks().size() == 2);
}

TEST_CASE("append puts everything of the other below, as adding it by hand does", "[timeline]") {
  dice d;
  const auto draw = [&d](timeline& t, timeline& copy, std::uint32_t first, ticks shift) {
    for (std::uint32_t lane = 0; lane < 3; ++lane) {
      t.add_lane("lane");
      copy.add_lane("lane");
    }
    for (int i = 0; i < 20; ++i) {
      const ticks at = d.roll(100), length = d.roll(9);
      const std::uint32_t lane = d.roll(3);
      t.add({.start = at, .finish = at + length, .lane = lane, .micro_batch = 7});
      copy.add({.start = at + shift, .finish = at + length + shift, .lane = first + lane, .micro_batch = 7});
      t.add_change({.at = at, .lane = lane, .by = i});
      copy.add_change({.at = at + shift, .lane = first + lane, .by = i});
      t.add_mark(at, "mark");
      copy.add_mark(at + shift, "mark");
    }
  };
  timeline t, other, wanted;
  draw(t, wanted, 0, 0);
  draw(other, wanted, 3, -40);
  t.append(other, -40);
  REQUIRE(t.lane_count() == 6);
  CHECK(std::ranges::equal(t.spans(), wanted.spans()));
  CHECK(std::ranges::equal(t.changes(), wanted.changes()));
  CHECK(std::ranges::equal(t.marks(), wanted.marks(), {}, &timeline::mark::at, &timeline::mark::at));
}

TEST_CASE("makespan, begin and end of a timeline", "[timeline]") {
  timeline t;
  CHECK(t.makespan() == 0);
  CHECK(t.begin() == 0);
  CHECK(t.end() == 0);
  const auto lane = t.add_lane("a");
  t.add({.start = 7, .finish = 9, .lane = lane});
  t.add({.start = -3, .finish = 2, .lane = lane});
  CHECK(t.begin() == -3);
  CHECK(t.end() == 9);
  CHECK(t.makespan() == 12);
  timeline u;
  u.add_lane("b");
  u.append(t, 10);
  CHECK(u.lane_count() == 2);
  CHECK(u.lane_name(1) == "a");
  CHECK(u.spans()[1] == timeline::span{.start = 7, .finish = 12, .lane = 1});
  u.clear();
  CHECK(u.lane_count() == 0);
  CHECK(u.spans().empty());
}

TEST_CASE("spans, changes and marks of which nothing is said stand at 0 on the first lane", "[timeline]") {
  CHECK(timeline::span{} == timeline::span{.start = 0,
                                           .finish = 0,
                                           .lane = 0,
                                           .kind = activity::compute,
                                           .exposed = false,
                                           .chunk = 0,
                                           .id = 0,
                                           .micro_batch = -1});
  CHECK(timeline::change{} == timeline::change{.at = 0, .lane = 0, .by = 0});
  CHECK(timeline::mark{}.at == 0);
  timeline other, t;
  other.add_lane("a");
  other.add({.start = 3, .finish = 4});
  other.add_change({.at = 2, .by = 1});
  other.add_mark(5, "here");
  t.append(other);  // as it is
  CHECK(t.spans()[0] == other.spans()[0]);
  CHECK(t.changes()[0] == other.changes()[0]);
  CHECK(t.marks()[0].at == 5);
}

TEST_CASE("what computes: all but communication, waiting and the unknown", "[timeline]") {
  for (std::size_t k = 0; k < hocket::activity_count; ++k) {
    const auto kind = static_cast<activity>(k);
    const bool not_computing = kind == activity::communication || kind == activity::wait || kind == activity::other;
    INFO(hocket::to_string(kind));
    CHECK(hocket::computes(kind) == !not_computing);
  }
}

TEST_CASE("many changes at one moment are one level", "[timeline]") {
  timeline t;
  t.add({.start = 0, .finish = 9, .lane = t.add_lane("lane")});
  for (int i = 0; i < 300; ++i) t.add_change({.at = 5, .lane = 0, .by = 2});
  const auto levels = hocket::detail::levels_of(t);
  REQUIRE(levels[0].size() == 1);
  CHECK((levels[0][0].at == 5 && levels[0][0].value == 600));
}

TEST_CASE("use and exposure equal a count of every tick", "[timeline]") {
  dice d;
  for (int round = 0; round < 200; ++round) {
    timeline t;
    for (int lane = 0; lane < 3; ++lane) t.add_lane("lane");
    const std::uint32_t spans = d.roll(12);
    for (std::uint32_t i = 0; i < spans; ++i) {
      const ticks start = ticks{d.roll(40)} - 20;  // a lane may begin before time 0, and with nothing
      t.add({.start = start,
             .finish = start + d.roll(9),
             .lane = d.roll(3),
             .kind = static_cast<activity>(d.roll(hocket::activity_count)),
             .chunk = 0});
    }
    for (int i = 0; i < 6; ++i) t.add_change({.at = d.roll(40), .lane = d.roll(3), .by = std::int64_t{d.roll(9)} - 4});
    const auto during = [](const timeline::span& s, ticks x) { return s.start <= x && x < s.finish; };
    const std::uint32_t device[] = {0, 2};
    hocket::exposure expected{};
    std::vector<hocket::lane_use> use(3);
    for (ticks x = t.begin(); x < t.end(); ++x) {
      bool computing = false, communicating = false;
      for (std::uint32_t lane = 0; lane < 3; ++lane) {
        bool busy = false, computes = false;
        for (const auto& s : t.spans()) {
          if (s.lane != lane || !during(s, x)) continue;
          busy |= s.kind != activity::wait;
          computes |= hocket::computes(s.kind);
          if (lane != 1) communicating |= s.kind == activity::communication;
        }
        use[lane].busy += busy;
        use[lane].idle += !busy;
        use[lane].computing += computes;
        if (lane != 1) computing |= computes;
      }
      expected.computing += computing;
      expected.communicating += communicating;
      expected.exposed += communicating && !computing;
    }
    const auto found = hocket::exposure_of(t, device);
    CHECK(found.computing == expected.computing);
    CHECK(found.communicating == expected.communicating);
    CHECK(found.exposed == expected.exposed);
    const auto uses = hocket::lane_uses(t);
    for (std::uint32_t lane = 0; lane < 3; ++lane) {
      std::vector<ticks> ends;
      for (const auto& s : t.spans())
        if (s.lane == lane) ends.push_back(s.finish);
      CHECK(uses[lane].finish == (ends.empty() ? 0 : *std::max_element(ends.begin(), ends.end())));
      CHECK(uses[lane].busy == use[lane].busy);
      CHECK(uses[lane].idle == use[lane].idle);
      CHECK(uses[lane].computing == use[lane].computing);
      std::int64_t peak = 0;
      for (ticks x = 0; x < 41; ++x) {
        std::int64_t held = 0;
        for (const auto& c : t.changes()) held += c.lane == lane && c.at <= x ? c.by : 0;
        peak = held > peak ? held : peak;
      }
      CHECK(uses[lane].peak == peak);
    }
    // rows: spans of one row of a lane do not overlap
    const auto rows = hocket::detail::rows_of(t);
    CHECK(rows.spans.size() == t.spans().size());
    for (const auto& a : rows.spans)
      for (const auto& b : rows.spans)
        if (a.added < b.added && a.span.lane == b.span.lane && a.row == b.row)
          CHECK((a.span.finish <= b.span.start || b.span.finish <= a.span.start));
  }
}

TEST_CASE("durations of any kind become ticks", "[timeline]") {
  using namespace std::chrono_literals;
  hocket::timeline t;  // of microseconds
  CHECK(t.to_ticks(26ms) == 26'000);
  CHECK(t.to_ticks(1999ns) == 1);
  CHECK(t.to_ticks(hocket::seconds(0.5)) == 500'000);
  CHECK(t.to_ticks(hocket::seconds(1.9)) == 1'900'000);
  CHECK(t.to_ticks(hocket::microseconds(26.6)) == 27);
  CHECK(t.to_ticks(hocket::microseconds(-26.6)) == -27);
  CHECK(t.to_seconds(t.to_ticks(hocket::seconds(2.25))).count() == 2.25);
}
