// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <hocket/core.hpp>

#include <cstdint>
#include <limits>

#include "catch.hpp"

using namespace hocket;

TEST_CASE("sizes become ids only if they fit", "[core]") {
  static_assert(check_stream_count(stream_limit) && !check_stream_count(stream_limit + std::size_t{1}));
  static_assert(to_id(5, "node").value() == 5);
  static_assert(to_id(no_id - 1, "node").value() == no_id - 1);
  for (std::size_t count = stream_limit - 2; count < stream_limit + 3; ++count) {
    CHECK(check_stream_count(count).has_value() == (count <= 65'536));
    if (count > 65'536) CHECK(check_stream_count(count).error().values[0] == static_cast<std::int64_t>(count));
  }
  CHECK_FALSE(to_id(no_id, "node"));
  CHECK_FALSE(to_id(-1, "node"));
  const auto r = to_id(std::uint64_t{1} << 32, "node");
  REQUIRE_FALSE(r);
  CHECK(message(r.error()) == "node: 4294967296 exceeds the limit of 4294967294");
}

TEST_CASE("checked arithmetic reports what does not fit and leaves the output alone", "[core]") {
  constexpr ticks top = std::numeric_limits<ticks>::max();
  ticks out = 42;
  CHECK_FALSE(checked_add(top, ticks{1}, out));
  CHECK_FALSE(checked_multiply(top, ticks{2}, out));
  CHECK(out == 42);
  CHECK((checked_add(ticks{2}, ticks{3}, out) && out == 5));
  CHECK((checked_multiply(ticks{-4}, ticks{3}, out) && out == -12));
  CHECK(ceil_div(top, ticks{1}) == top);
  CHECK(ceil_div(7, 2) == 4);
  CHECK(ceil_div(8, 2) == 4);
}
