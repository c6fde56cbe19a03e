// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <hocket/timeline.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "catch.hpp"

using hocket::activity;
using hocket::timeline;

namespace {

timeline two_ranks() {
  timeline t;
  for (const char* name : {"rank 0", "rank 1"}) t.add_lane(name);
  t.add({.start = 0, .finish = 1, .lane = 0, .kind = activity::forward, .chunk = 0, .id = 0, .micro_batch = 0});
  t.add({.start = 1, .finish = 2, .lane = 1, .kind = activity::forward, .chunk = 1, .id = 1, .micro_batch = 0});
  t.add({.start = 2, .finish = 4, .lane = 1, .kind = activity::backward, .chunk = 1, .id = 1, .micro_batch = 0});
  t.add({.start = 4, .finish = 6, .lane = 0, .kind = activity::backward, .chunk = 0, .id = 0, .micro_batch = 0});
  t.add_change({.at = 0, .lane = 0, .by = 1});
  t.add_change({.at = 6, .lane = 0, .by = -1});
  t.add_mark(6, "lower bound");
  return t;
}

std::size_t count(std::string_view text, std::string_view part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + part.size())) ++n;
  return n;
}

/// Every opened element is closed in order, and no text holds a bare '<' or '&'.
bool well_formed(std::string_view xml) {
  std::vector<std::string> open;
  for (std::size_t i = 0; i < xml.size(); ++i) {
    if (xml[i] == '&') {
      const std::string_view rest = xml.substr(i);
      bool known = false;
      for (const std::string_view entity : {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"})
        known |= rest.starts_with(entity);
      if (!known) return false;
    }
    if (xml[i] != '<') continue;
    const std::size_t end = xml.find('>', i);
    if (end == std::string_view::npos) return false;
    const std::string_view tag = xml.substr(i + 1, end - i - 1);
    if (tag.find('<') != std::string_view::npos || std::count(tag.begin(), tag.end(), '"') % 2 != 0) return false;
    if (tag[0] == '/') {
      if (open.empty() || open.back() != tag.substr(1)) return false;
      open.pop_back();
    } else if (tag.back() != '/') {
      open.emplace_back(tag.substr(0, tag.find(' ')));
    }
    i = end;
  }
  return open.empty();
}

/// Braces and brackets match outside strings, and strings hold no control characters.
bool balanced_json(std::string_view json) {
  std::string open;
  bool text = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (text) {
      if (static_cast<unsigned char>(c) < 0x20) return false;
      if (c == '\\') ++i;
      else if (c == '"') text = false;
    } else if (c == '"') {
      text = true;
    } else if (c == '{' || c == '[') {
      open += c == '{' ? '}' : ']';
    } else if (c == '}' || c == ']') {
      if (open.empty() || open.back() != c) return false;
      open.pop_back();
    }
  }
  return open.empty() && !text;
}

/// The area that a path "M… …V…H…V…Z" of steps covers above its bottom, in square pixels.
double area_of(std::string_view path) {
  const auto number = [&](std::size_t& at) {
    std::size_t used = 0;
    const double value = std::stod(std::string(path.substr(at, 16)), &used);
    at += used;
    return value;
  };
  std::size_t at = 1;
  double x = number(at), y = number(at), area = 0;
  const double bottom = y;
  while (path[at] != 'Z') {
    const char what = path[at++];
    const double next = number(at);
    if (what == 'H') area += (next - x) * (bottom - y);
    (what == 'H' ? x : y) = next;
  }
  return area;
}

/// Areas of the shares of time in a picture: of each lane the first, which has those of all activities.
std::vector<double> busy_areas(std::string_view svg) {
  std::vector<double> areas;
  bool first = true;
  for (std::size_t at = 0; at < svg.size();) {
    const std::size_t end = svg.find('\n', at);
    const std::string_view line = svg.substr(at, end - at);
    at = end + 1;
    if (line.find("url(#idle)") != std::string_view::npos) first = true;
    if (!line.starts_with("<path d=") || line.find("<title>") == std::string_view::npos || !first) continue;
    areas.push_back(area_of(line.substr(9)));
    first = false;
  }
  return areas;
}

/// Lanes that work in one part of their time, and that part begins later lane by lane.
timeline many_ranks(std::uint32_t lanes, std::int32_t passes) {
  timeline t;
  for (std::uint32_t l = 0; l < lanes; ++l) {
    t.add_lane("rank " + std::to_string(l));
    for (std::int32_t j = 0; j < passes; ++j) {
      const hocket::ticks at = hocket::ticks{37} * l + hocket::ticks{61} * j;
      t.add({.start = at, .finish = at + 10, .lane = l, .kind = activity::forward, .micro_batch = j});
      t.add({.start = at + 10, .finish = at + 30, .lane = l, .kind = activity::backward, .micro_batch = j});
      t.add_change({.at = at, .lane = l, .by = 1 + j % 3});
      t.add_change({.at = at + 30, .lane = l, .by = -1 - j % 3});
    }
  }
  return t;
}

const std::string hostile = "</svg><script>\"'&\\\n\x01";

}  // namespace

TEST_CASE("text: bars to scale, and by column where there is no room", "[timeline]") {
  CHECK(hocket::to_ascii(two_ranks()) ==
        "rank 0  F0 .  .  .  B0---\n"
        "rank 1  .  f0 b0--- .  .\n"
        "        makespan 6 ticks, 3 columns per tick; lower bound 6\n");
  timeline t = two_ranks();
  t.add({.start = 60, .finish = 120, .lane = 0, .kind = activity::communication});
  CHECK(hocket::to_ascii(t, {.columns = 40}) ==
        "rank 0  FB..................CCCCCCCCCCCCCCCCCCCC\n"
        "rank 1  fb......................................\n"
        "        makespan 120 ticks, each column about 3 ticks; lower bound 6\n");
  timeline coarse = two_ranks();
  coarse.add({.start = 6, .finish = 15, .lane = 0, .kind = activity::communication});
  CHECK(hocket::to_ascii(coarse, {.columns = 40}).find("makespan 15 ticks, each tick about 3 columns") !=
        std::string::npos);
  CHECK(hocket::to_ascii(timeline{}) == "  makespan 0 ticks, each column about 0 ticks\n");
}

TEST_CASE("text: what a lane holds under its bars", "[timeline]") {
  timeline t;
  for (const char* name : {"rank 0", "rank 1", "idle"}) t.add_lane(name);
  const auto forward = [&](std::uint32_t lane, hocket::ticks at, std::int32_t j) {
    t.add({.start = at, .finish = at + 1, .lane = lane, .kind = activity::forward, .micro_batch = j});
    t.add_change({.at = at, .lane = lane, .by = 1});
  };
  const auto backward = [&](std::uint32_t lane, hocket::ticks at, std::int32_t j) {
    t.add({.start = at, .finish = at + 2, .lane = lane, .kind = activity::backward, .micro_batch = j});
    t.add_change({.at = at + 2, .lane = lane, .by = -1});
  };
  forward(0, 0, 0);
  forward(0, 1, 1);
  forward(1, 1, 0);
  backward(1, 2, 0);
  backward(0, 4, 0);
  backward(0, 6, 1);
  CHECK(hocket::to_ascii(t, {.curve_rows = 1}) ==
        "rank 0  F0 F1 .  .  B0--- B1---\n"
        "        :::###############::::::  holds at most 2\n"
        "rank 1  .  F0 B0--- .  .  .  .\n"
        "           :::::::::              holds at most 1\n"
        "idle    .  .  .  .  .  .  .  .\n"
        "        makespan 8 ticks, 3 columns per tick\n");
  // Two lines, and columns that are longer than a tick.
  t.add({.start = 8, .finish = 80, .lane = 2, .kind = activity::communication});
  CHECK(hocket::to_ascii(t, {.columns = 40, .curve_rows = 2}) ==
        "rank 0  F.BB....................................\n"
        "        ###\n"
        "        ####                                      holds at most 2\n"
        "rank 1  FB......................................\n"
        "\n"
        "        ##                                        holds at most 1\n"
        "idle    ....CCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCC\n"
        "        makespan 80 ticks, each column about 2 ticks\n");
}

TEST_CASE("SVG: bars, numbers, marks and curves are there, and hostile names stay text", "[timeline]") {
  const std::string svg = hocket::to_svg(two_ranks(), {.title = "two ranks"});
  CHECK(well_formed(svg));
  CHECK(count(svg, "<title>") == 4);
  CHECK(count(svg, "class=\"b\"") == 4);
  CHECK(count(svg, "lower bound 6 ticks") == 1);
  CHECK(count(svg, "makespan 6 ticks · idle 50 %") == 1);
  CHECK(count(svg, "<path") == 1);
  CHECK(count(svg, "in flight 1") == 1);
  CHECK(svg == hocket::to_svg(two_ranks(), {.title = "two ranks"}));

  timeline t;
  t.add_lane(hostile);
  t.add({.start = 0, .finish = 5, .lane = 0});
  t.add_change({.at = 1, .lane = 0, .by = 3});
  t.add_mark(2, hostile);
  const std::string bad = hocket::to_svg(t, {.title = hostile, .subtitle = hostile, .quantity = hostile});
  CHECK(well_formed(bad));
  CHECK(count(bad, "<script>") == 0);
  CHECK(count(bad, "&lt;/svg&gt;&lt;script&gt;") == 5);
  CHECK(well_formed(hocket::to_svg(timeline{})));
}

TEST_CASE("exposed spans are hatched, and spans with names carry them", "[timeline]") {
  timeline t;
  const auto lane = t.add_lane("network");
  t.add({.start = 0, .finish = 6, .lane = lane, .kind = activity::communication, .id = 0});
  t.add({.start = 6, .finish = 9, .lane = lane, .kind = activity::communication, .exposed = true, .id = 1});
  t.add({.start = 9, .finish = 10, .lane = lane, .chunk = 2, .id = 7});
  const std::vector<std::string> names{"all_reduce", hostile};
  const std::string svg = hocket::to_svg(t, {.shade = "layer", .names = names});
  CHECK(well_formed(svg));
  CHECK(count(svg, "url(#exposed)") == 1);
  CHECK(count(svg, "light to deep: first to last layer; hatched: exposed") == 1);
  CHECK(count(svg, "<title>communication · all_reduce · ") == 1);
  CHECK(count(svg, "<title>exposed communication · &lt;/svg&gt;") == 1);
  CHECK(count(svg, "<title>compute · 7 · ") == 1);
  const std::string trace = hocket::to_chrome_trace(t, {.names = names});
  CHECK(balanced_json(trace));
  CHECK(count(trace, "\"name\":\"all_reduce\"") == 1);
  CHECK(count(trace, "\"exposed\":true") == 1);
}

TEST_CASE("SVG: a mark's label that would lie on the one before it is left out", "[timeline]") {
  timeline t;
  t.add({.start = 0, .finish = 1000, .lane = t.add_lane("a")});
  for (const hocket::ticks at : {0, 1, 500, 501, 999, 1000}) t.add_mark(at, "step");
  const std::string svg = hocket::to_svg(t, {.seconds = true});
  CHECK(count(svg, "stroke-dasharray") == 6);
  CHECK(count(svg, "class=\"m\"") == 3);
  CHECK(count(svg, ">time<") == 0);  // the first label stands there
}

TEST_CASE("SVG: numbers that are wide for their bar are written small, and left out where they would not fit",
          "[timeline]") {
  const auto numbers = [](std::int32_t bars, const char* how) {  // bars of 1,232 pixels / bars, numbered from 10 on
    timeline t;
    t.add_lane("rank 0");
    for (std::int32_t i = 0; i < bars; ++i)
      t.add({.start = i, .finish = i + 1, .lane = 0, .kind = activity::forward, .micro_batch = 10 + i % 90});
    return count(hocket::to_svg(t), how);
  };
  CHECK(numbers(70, "class=\"b\"") == 70);
  CHECK(numbers(90, "class=\"b c\"") == 90);
  CHECK(numbers(90, "class=\"b\"") == 0);
  CHECK(numbers(200, "class=\"b c\"") == 0);
}

TEST_CASE("SVG: legend and labels lie inside, whatever the width and the numbers", "[timeline]") {
  for (const std::uint32_t width : {300u, 500u, 700u, 1'000u, 1'400u})
    for (const std::int64_t held : {std::int64_t{1}, std::int64_t{1} << 34, std::int64_t{1} << 62}) {
      timeline t;
      const auto lane = t.add_lane("rank 0");
      for (int k = 0; k < 10; ++k)
        t.add({.start = k, .finish = k + 1, .lane = lane, .kind = static_cast<activity>(k), .chunk = 2});
      t.add_change({.at = 0, .lane = lane, .by = held});
      const std::string svg = hocket::to_svg(t, {.width = width, .quantity = "bytes"});
      const double whole = std::stod(svg.substr(svg.find("width=\"") + 7));
      const std::string label = "bytes " + std::to_string(held);
      const auto x_before = [&](std::size_t at) { return std::stod(svg.substr(svg.rfind(" x=\"", at) + 4)); };
      CHECK(x_before(svg.find(">" + label + "<")) + 6 * static_cast<double>(label.size()) <= whole);
      for (int k = 0; k < 10; ++k) {
        const auto at = svg.find(">" + std::string(hocket::to_string(static_cast<activity>(k))) + "<");
        REQUIRE(at != std::string::npos);
        const double x = x_before(at), y = std::stod(svg.substr(svg.rfind(" y=\"", at) + 4));
        CHECK(x > 3 * 12);
        if (y == 50) CHECK(x > 20 + 6 * static_cast<double>(std::string_view("makespan 10 ticks").size()));
      }
    }
}

TEST_CASE("SVG: how busy a lane is, also where nothing takes time", "[timeline]") {
  const auto busy = [](hocket::ticks work, hocket::ticks whole) {
    timeline t;
    t.add_lane("a");
    t.add_lane("b");
    t.add({.start = 0, .finish = work, .lane = 0});
    t.add({.start = whole, .finish = whole, .lane = 1});
    const std::string svg = hocket::to_svg(t);
    const std::size_t at = svg.find(">busy ");
    REQUIRE(at != std::string::npos);
    return svg.substr(at + 6, svg.find('<', at) - at - 6);
  };
  CHECK(busy(0, 0) == "0 %");
  CHECK(busy(1, 1) == "100 %");
  CHECK(busy(1, 2) == "50 %");
  CHECK(busy(1, 3) == "33.3 %");
  CHECK(busy(2, 3) == "66.7 %");
}

TEST_CASE("pictures of which nothing is said", "[timeline]") {
  const timeline t = two_ranks();
  CHECK(hocket::to_svg(t) == hocket::to_svg(t, {.width = 1400}));
  CHECK(hocket::to_ascii(t) == hocket::to_ascii(t, {.columns = 160}));
  const hocket::ascii_options text;
  const hocket::svg_options picture;
  CHECK((text.columns == 160 && picture.width == 1400));
}

TEST_CASE("a text that is nothing but the insides of characters is cut to nothing", "[timeline]") {
  for (std::size_t most = 0; most < 9; ++most) CHECK(hocket::detail::cut_text(std::string(9, '\x80'), most).empty());
  CHECK(hocket::detail::cut_text("a\xc3\xa9z", 2) == "a");
  CHECK(hocket::detail::cut_text("a\xc3\xa9z", 3) == "a\xc3\xa9");
  CHECK(hocket::detail::cut_text("a\xc3\xa9z", 4) == "a\xc3\xa9z");
}

TEST_CASE("SVG: axis in seconds, and files that stay small", "[timeline]") {
  timeline t = two_ranks();
  t.ticks_per_second = 1'000;
  CHECK(count(hocket::to_svg(t, {.seconds = true}), "makespan 6 ms") == 1);
  timeline many;
  many.add_lane("busy");
  for (std::int32_t i = 0; i < 100'000; ++i)
    many.add({.start = i, .finish = i + 1, .lane = 0, .kind = activity::forward, .micro_batch = i});
  const std::string svg = hocket::to_svg(many);
  CHECK(well_formed(svg));
  CHECK(svg.size() < 1'000'000);
}

TEST_CASE("overlapping spans of a lane are drawn side by side", "[timeline]") {
  timeline t;
  t.add_lane("rank 0");
  t.add({.start = 0, .finish = 3, .lane = 0, .kind = activity::forward, .micro_batch = 1});
  t.add({.start = 0, .finish = 3, .lane = 0, .kind = activity::backward, .micro_batch = 0});
  CHECK(hocket::to_ascii(t) ==
        "rank 0  F1\n"
        "        B0\n"
        "        makespan 3 ticks, 1 column per tick\n");
  CHECK(count(hocket::to_chrome_trace(t), "\"thread_name\"") == 2);
}

TEST_CASE("Chrome trace: events, counters and marks; times exact to a nanosecond", "[timeline]") {
  timeline t = two_ranks();
  t.ticks_per_second = 1'000'000'000;  // a tick is a nanosecond
  const std::string json = hocket::to_chrome_trace(t);
  CHECK(balanced_json(json));
  CHECK(count(json, "\"ph\":\"X\"") == 4);
  CHECK(count(json, "\"ph\":\"C\"") == 2);
  CHECK(count(json, "\"ts\":0.004,\"dur\":0.002,\"name\":\"B0\"") == 1);
  CHECK(count(json, "\"name\":\"lower bound\",\"ts\":0.006}") == 1);
  timeline bad;
  bad.add_lane(hostile);
  bad.add_change({.at = 1, .lane = 0, .by = 3});
  bad.add_mark(2, hostile);
  CHECK(balanced_json(hocket::to_chrome_trace(bad, {.process = hostile, .quantity = hostile})));
  CHECK(balanced_json(hocket::to_chrome_trace(timeline{})));
}

TEST_CASE("colours: shades differ by chunk, hues by kind, and numbers can be read on them", "[timeline]") {
  for (int k = 0; k < 10; ++k)
    for (const std::uint32_t chunks : {1u, 2u, 4u, 8u})
      for (std::uint32_t c = 0; c < chunks; ++c) {
        const auto fill = hocket::detail::colour_of(static_cast<activity>(k), c, chunks);
        CHECK(fill <= 0xffffff);
        CHECK(hocket::detail::ink_on(fill) != fill);
        if (c > 0) CHECK(fill != hocket::detail::colour_of(static_cast<activity>(k), c - 1, chunks));
      }
  CHECK(hocket::detail::colour_of(activity::forward, 3, 1) == hocket::detail::colour_of(activity::forward, 0, 1));
  CHECK(hocket::detail::ink_on(0xffffff) != 0xffffff);
  CHECK(hocket::detail::ink_on(0x000000) == 0xffffff);
  CHECK(hocket::detail::colour_of(activity::forward, 0, 1) != hocket::detail::colour_of(activity::backward, 0, 1));
  CHECK(hocket::detail::colour_of(activity::forward, 0, 1) != hocket::detail::colour_of(activity::recompute, 0, 1));
}

TEST_CASE("times far apart and rates above a gigahertz are drawn and exported without overflow", "[timeline]") {
  timeline t;
  t.add_lane("lane");
  t.add({.start = 0, .finish = 1'000'000'000'000'000'123, .lane = 0});  // in us
  CHECK(count(hocket::to_chrome_trace(t), "\"ts\":0,\"dur\":1000000000000000123,") == 1);
  t.ticks_per_second = 1;
  CHECK(count(hocket::to_chrome_trace(t), "\"dur\":1000000000000000123000000,") == 1);
  CHECK(well_formed(hocket::to_svg(t, {.seconds = true})));
  t.ticks_per_second = 80'000'000;  // 12.5 ns
  CHECK(count(hocket::to_chrome_trace(t), "\"dur\":12500000000000001.537,") == 1);
  t.ticks_per_second = 1'000'000'000'000;  // picoseconds, as predicted tilings have
  CHECK(count(hocket::to_chrome_trace(t), "\"dur\":1000000000000,") == 1);
  timeline apart;
  apart.add_lane("lane");
  apart.add({.start = 0, .finish = 1, .lane = 0});
  apart.add_change({.at = hocket::ticks{1} << 60, .lane = 0, .by = 1});
  CHECK(well_formed(hocket::to_svg(apart)));
}

TEST_CASE("SVG: what changes far outside of all spans is drawn one length before them and two behind", "[timeline]") {
  const auto changed_at = [](hocket::ticks at) {
    timeline t;
    t.add({.start = 0, .finish = 100, .lane = t.add_lane("lane")});
    t.add_change({.at = at, .lane = 0, .by = 1});
    return hocket::to_svg(t);
  };
  for (const hocket::ticks far : {-101, -150, -200, -299, -100'000}) CHECK(changed_at(far) == changed_at(-100));
  for (const hocket::ticks far : {201, 250, 299, 301, 100'000}) CHECK(changed_at(far) == changed_at(200));
  for (const hocket::ticks near : {-99, -50, 0, 50, 101, 199}) CHECK(changed_at(near) != changed_at(near + 1));
}

TEST_CASE("SVG: the axis has the finest round step that gives at most 17 numbers", "[timeline]") {
  for (hocket::ticks length = 1; length < 400; ++length) {
    timeline t;
    t.add({.start = 0, .finish = length, .lane = t.add_lane("lane")});
    hocket::ticks step = 1;
    for (const hocket::ticks round : {1, 2, 5, 10, 20, 50}) {
      step = round;
      if (length / step <= 16) break;
    }
    CHECK(count(hocket::to_svg(t), "class=\"a\"") == static_cast<std::size_t>(length / step + 1));
  }
}

TEST_CASE("names that are not UTF-8, or are cut, leave pictures and traces readable", "[timeline]") {
  timeline t;
  t.add_lane("caf\xe9");                                                   // Latin-1
  t.add_lane("\xc0\xaf\xed\xa0\x80\xef\xbf\xbf\xf4\x90\x80\x80\xe2\x82");  // overlong, surrogate, U+FFFF, beyond, cut
  t.add_lane(std::string(35, 'x') + "\xc3\xa9");                           // cut at 36 bytes: within the last character
  t.add_lane("rang \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80");
  t.add({.start = 0, .finish = 1, .lane = 0});
  const std::string svg = hocket::to_svg(t, {.title = "\xff"});
  CHECK(count(svg, ">caf?<") == 1);
  CHECK(count(svg, ">?<") == 1);
  CHECK(count(svg, ">" + std::string(14, '?') + "<") == 1);
  CHECK(count(svg, std::string(35, 'x') + "<") == 1);
  CHECK(count(svg, ">rang \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80<") == 1);
  const std::string json = hocket::to_chrome_trace(t);
  CHECK(count(json, "\"caf?\"") == 1);
  for (const std::string& text : {svg, json})
    for (const char* broken : {"\xe9\"", "\xc0", "\xed\xa0", "\xef\xbf\xbf", "\xf4\x90", "\xff"})
      CHECK(count(text, broken) == 0);
}

TEST_CASE("SVG: bars too narrow to see become shares of time, and idle time stays idle", "[timeline]") {
  timeline t;
  t.add_lane("rank 0");
  for (hocket::ticks i = 0; i < 8'000; ++i) t.add({.start = 100 * i, .finish = 100 * i + 15, .lane = 0});
  const std::string svg = hocket::to_svg(t);
  CHECK(well_formed(svg));
  CHECK(count(svg, ">busy 15 %<") == 1);
  CHECK(count(svg, "<title>compute 15 % of the time</title>") == 1);
  const auto areas = busy_areas(svg);
  REQUIRE(areas.size() == 1);
  const double whole = 30 * (1400 - 98 - 22 - 8 * 6);  // lane_height by what is left of the width
  CHECK(areas[0] / whole > 0.145);
  CHECK(areas[0] / whole < 0.155);
  CHECK(hocket::left_out_of_svg(t).empty());
}

TEST_CASE("SVG: a thousand ranks fit into 8 MiB, and each is as busy as it is", "[timeline]") {
  const timeline t = many_ranks(1'024, 24);
  const std::string svg = hocket::to_svg(t);
  CHECK(svg.size() <= 8 << 20);
  CHECK(well_formed(svg));
  const std::string sentence = hocket::left_out_of_svg(t);
  CHECK(sentence.starts_with("49152 bars on 1024 lanes are more than 30000: each lane is drawn as "));
  CHECK(count(svg, sentence) == 1);
  const auto areas = busy_areas(svg), uses = [&] {
    std::vector<double> busy;
    for (const auto& u : hocket::lane_uses(t)) busy.push_back(static_cast<double>(u.busy));
    return busy;
  }();
  REQUIRE(areas.size() == 1'024);
  double most = 0;
  const double whole = 30 * (1400 - 22 - 8 * 9 - (6.4 * 13 + 12)), makespan = static_cast<double>(t.makespan());
  for (std::size_t l = 0; l < areas.size(); ++l)
    most = (std::max)(most, std::abs(areas[l] / whole - uses[l] / makespan));
  CHECK(most < 0.005);
  // More lanes than a picture has room for: the first, the last, and others between them.
  const std::string some = hocket::to_svg(many_ranks(300, 4), {.most_bars = 240});
  CHECK(count(some, "class=\"n\"") == 10);
  CHECK(count(some, ">rank 0<") == 1);
  CHECK(count(some, ">rank 299<") == 1);
  CHECK(count(some, "2400 bars on 300 lanes are more than 240: 10 evenly spaced lanes are drawn, each as ") == 1);
  CHECK(hocket::left_out_of_svg(many_ranks(2, 4), {.most_bars = 16}).empty());
}

TEST_CASE("a trace of too many events has whole lanes, and says so", "[timeline]") {
  const timeline t = many_ranks(100, 25);  // 50 spans and 50 changes a lane
  const std::string all = hocket::to_chrome_trace(t), some = hocket::to_chrome_trace(t, {.most_events = 1'099});
  CHECK(count(all, "\"ph\":\"X\"") + count(all, "\"ph\":\"C\"") == 10'000);
  CHECK(count(all, "otherData") == 0);
  CHECK(balanced_json(some));
  CHECK(count(some, "\"ph\":\"X\"") == 500);
  CHECK(count(some, "\"ph\":\"C\"") == 500);
  CHECK(count(some, "\"name\":\"rank 0\"") == 1);
  CHECK(count(some, "\"name\":\"rank 99\"") == 1);
  const std::string sentence = hocket::left_out_of_chrome_trace(t, {.most_events = 1'099});
  CHECK(sentence == "10000 events on 100 lanes are more than 1099: here are all of 10 lanes, evenly spaced.");
  CHECK(count(some, sentence) == 2);
  const std::string first = hocket::to_chrome_trace(t, {.most_events = 60});
  CHECK(balanced_json(first));
  CHECK(count(first, "\"ph\":\"X\"") == 30);
  CHECK(count(first, "\"ph\":\"C\"") == 30);
  CHECK(count(first, ": here are the first 30 spans of lane 0.") == 2);
  CHECK(hocket::left_out_of_chrome_trace(t, {.most_events = 10'000}).empty());
  CHECK(hocket::left_out_of_chrome_trace(timeline{}, {.most_events = 0}).empty());
  CHECK(balanced_json(hocket::to_chrome_trace(t, {.most_events = 0})));
}
