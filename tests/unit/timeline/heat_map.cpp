// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tables of numbers as pictures: cells, groups of neighbours, and names that would end the picture.
#include <hocket/timeline/heat_map.hpp>

#include <algorithm>
#include <random>
#include <string>
#include <string_view>

#include "catch.hpp"

namespace {

std::size_t times_in(std::string_view text, std::string_view word) {
  std::size_t n = 0;
  for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) ++n;
  return n;
}

hocket::heat_map map_of(std::size_t rows, std::size_t columns) {
  hocket::heat_map map{"title", "subtitle", {}, {}, {}, "ms", "rank", "step"};
  for (std::size_t r = 0; r < rows; ++r) map.rows.push_back(std::to_string(r));
  for (std::size_t c = 0; c < columns; ++c) map.columns.push_back(std::to_string(c));
  map.values.assign(rows * columns, -1);
  return map;
}

}  // namespace

TEST_CASE("a cell for each number that is told", "[timeline]") {
  hocket::heat_map map = map_of(3, 4);
  CHECK(times_in(to_svg(map), "<title>") == 0);
  map.values[1] = 0.5;
  map.values[6] = 7;
  map.values[11] = 3;
  const std::string picture = to_svg(map);
  CHECK(times_in(picture, "<title>") == 3);
  CHECK(times_in(picture, "<title>rank 0, step 1: 0.5 ms</title>") == 1);
  CHECK(times_in(picture, "<title>rank 1, step 2: 7 ms</title>") == 1);
  CHECK(times_in(picture, "0.5 to 7 ms") == 1);
  // The highest is the deepest, the least the lightest.
  CHECK(times_in(picture, "fill=\"#1f5fb4\"><title>rank 1, step 2") == 1);
  CHECK(times_in(picture, "fill=\"#a9ccf5\"><title>rank 0, step 1") == 1);
}

TEST_CASE("many ranks and steps are drawn as groups, by their highest number", "[timeline]") {
  std::mt19937 random(3);
  hocket::heat_map map = map_of(10, 1000);
  for (double& v : map.values) v = static_cast<double>(random() % 1000);
  const std::string picture = to_svg(map, {.max_rows = 4, .max_columns = 100});
  CHECK(times_in(picture, "<title>") == 4 * 100);
  double highest = 0;
  for (std::size_t r = 3; r < 6; ++r)
    for (std::size_t c = 20; c < 30; ++c) highest = (std::max)(highest, map.values[r * 1000 + c]);
  const std::string cell = "rank 3 to 5, step 20 to 29: " + std::to_string(static_cast<int>(highest)) + " ms";
  CHECK(times_in(picture, cell) == 1);
  CHECK(times_in(picture, "neighbours are drawn as one") == 1);
}

TEST_CASE("names do not end the picture", "[timeline]") {
  hocket::heat_map map = map_of(1, 1);
  map.values = {1e300};
  map.title = map.rows[0] = "</svg><script>\"'&\x01";
  const std::string picture = to_svg(map);
  CHECK(times_in(picture, "</svg>") == 1);
  CHECK(times_in(picture, "<script>") == 0);
  CHECK(times_in(picture, "\x01") == 0);
  CHECK(to_svg(hocket::heat_map{}).ends_with("</svg>\n"));
  map.values.clear();  // fewer numbers than cells: the others are not told
  CHECK(times_in(to_svg(map), "<title>") == 0);
}
