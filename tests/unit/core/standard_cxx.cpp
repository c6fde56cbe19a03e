// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// hocket without what only some compilers have: what other compilers and targets compile, tried here.
#define HOCKET_STANDARD_CXX
#include <hocket/core.hpp>
#include <hocket/cost/formula/number.hpp>
#include <hocket/pipeline.hpp>
#include <hocket/tiling.hpp>

#include <cstdint>
#include <limits>
#include <type_traits>

#include "catch.hpp"

using namespace hocket;

static_assert(std::is_same_v<int128, detail::two_words>);

namespace {

// Both functions against arithmetic that is wide enough, for all pairs of an 8-bit type.
template <class Integer>
int wrong_pairs() {
  constexpr int least = (std::numeric_limits<Integer>::min)(), most = (std::numeric_limits<Integer>::max)();
  int wrong = 0;
  const auto judge = [&](bool fits, Integer out, int exact) {
    const bool should = exact >= least && exact <= most;
    wrong += fits == should && out == (should ? exact : 42) ? 0 : 1;
  };
  for (int a = least; a <= most; ++a) {
    for (int b = least; b <= most; ++b) {
      const auto x = static_cast<Integer>(a), y = static_cast<Integer>(b);
      Integer sum = 42, product = 42;
      const bool sum_fits = checked_add(x, y, sum), product_fits = checked_multiply(x, y, product);
      judge(sum_fits, sum, a + b);
      judge(product_fits, product, a * b);
    }
  }
  return wrong;
}

}  // namespace

TEST_CASE("checked arithmetic without builtins", "[core]") {
  CHECK(wrong_pairs<std::int8_t>() == 0);
  CHECK(wrong_pairs<std::uint8_t>() == 0);
  constexpr std::int64_t top = (std::numeric_limits<std::int64_t>::max)();
  std::int64_t out = 42;
  CHECK_FALSE(checked_add(top, std::int64_t{1}, out));
  CHECK_FALSE(checked_add(-top, std::int64_t{-2}, out));
  CHECK_FALSE(checked_multiply(top, std::int64_t{-2}, out));
  CHECK(out == 42);
  CHECK((checked_multiply(top, std::int64_t{-1}, out) && out == -top));
}

TEST_CASE("fractions without __int128", "[core]") {
  using cost::rational;
  constexpr rational third = rational(1) / rational(3);
  static_assert((third + third + third).num() == 1 && (third + third + third).is_whole());
  CHECK(cost::to_string(cost::integer{1} << 70) == "1180591620717411303424");
  CHECK(cost::to_string(-(cost::integer{1} << 126) - (cost::integer{1} << 126)) ==
        "-170141183460469231731687303715884105728");
  CHECK(cost::to_string(rational(-7) / rational(3)) == "-7/3");
  CHECK((rational(7) / rational(3)).ceiling().num() == 3);
  const auto large = rational::whole(cost::detail::max_integer);
  CHECK(large.ok());
  CHECK_FALSE((large + rational(1)).ok());
  CHECK_FALSE((large * rational(2)).ok());
  CHECK((large * third).num() == cost::detail::max_integer);
}

TEST_CASE("times that 64 bits do not hold, without __int128", "[core]") {
  constexpr ticks longest = (std::numeric_limits<ticks>::max)();
  const pipeline::costs c{.forward = longest, .backward = longest, .overlap = 50};
  const auto f = pipeline::stage_action{pipeline::action_kind::forward, 0, 0};
  const auto b = pipeline::stage_action{pipeline::action_kind::backward, 0, 0};
  CHECK(c.joined(f, b) == longest);
  static_assert(pipeline::costs{.forward = 3, .backward = 4, .overlap = 120}.joined(
                    {pipeline::action_kind::forward, 0, 0}, {pipeline::action_kind::backward, 0, 0}) == 9);
}
