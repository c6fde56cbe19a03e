// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <hocket/core.hpp>
#include <hocket/text/samples_csv.hpp>

#include <string>

#include "catch.hpp"

using hocket::errc;
using hocket::text::parse_samples_csv;

TEST_CASE("samples are read, with and without repeats", "[curve]") {
  const auto two = parse_samples_csv("size,time_us\r\n128,20.5\r\n2.56e2,31\r\n");
  REQUIRE(two);
  REQUIRE(two->size() == 2);
  CHECK((*two)[0].size == 128);
  CHECK((*two)[0].us == 20.5);
  CHECK((*two)[1].size == 256);
  CHECK((*two)[1].repeats == 1);
  const auto repeated = parse_samples_csv("size,time_us,repeats\n128,20.5,30\n");
  REQUIRE(repeated);
  CHECK((*repeated)[0].repeats == 30);
}

TEST_CASE("text that is no samples is one sentence", "[curve]") {
  const auto code = [](const char* text) {
    const auto r = parse_samples_csv(text);
    return r ? errc{} : r.error().code;
  };
  CHECK(code("") == errc::malformed);
  CHECK(code("size;time_us\n1;2\n") == errc::malformed);
  CHECK(code("size,time_us\n1\n") == errc::missing_column);
  CHECK(code("size,time_us\n1,2,3\n") == errc::missing_column);
  for (const char* bad : {"-1,2", "+1,2", "nan,2", "1,inf", "1,", ",2", "1,2x", "1,0x10", "1,1e999", "1, 2"})
    CHECK(code(("size,time_us\n" + std::string(bad) + "\n").c_str()) == errc::malformed);
  CHECK(code("size,time_us,repeats\n1,2,-3\n") == errc::bad_number);
  CHECK(message(parse_samples_csv("size,time_us\n1,2\n3,four\n").error()) ==
        "line 3, column 2: \"four\" is not understood");
}

TEST_CASE("a number of a sample has at most 64 characters", "[curve]") {
  const auto read = [](std::size_t length) {
    return parse_samples_csv("size,time_us\n1," + std::string(length - 2, '0') + ".5\n");
  };
  REQUIRE(read(64));
  CHECK(read(64)->front().us == 0.5);
  CHECK(read(65).error().code == hocket::errc::malformed);
}

TEST_CASE("as many samples as there may be, and no more", "[curve]") {
  std::string csv = "size,time_us\n";
  for (std::size_t i = 0; i < hocket::curve::max_samples; ++i) csv += "1,1\n";
  CHECK(parse_samples_csv(csv)->size() == hocket::curve::max_samples);
  csv += "1,1\n";
  const auto e = parse_samples_csv(csv).error();
  CHECK(e.code == hocket::errc::too_large);
  CHECK(e.values[0] == static_cast<std::int64_t>(hocket::curve::max_samples) + 2);  // the line
  CHECK(e.values[1] == static_cast<std::int64_t>(hocket::curve::max_samples) + 1);
}
