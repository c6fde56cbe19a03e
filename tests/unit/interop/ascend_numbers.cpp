// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Decimals against exact integers, and strings of JSON character by character.
#include <hocket/interop/ascend/detail/decimal.hpp>
#include <hocket/interop/ascend/parse_profile.hpp>

#include <array>
#include <limits>
#include <optional>
#include <random>
#include <string>

#include "ascend_files.hpp"
#include "catch.hpp"

namespace {
namespace numbers {

namespace ascend = hocket::ascend;
using ascend::detail::parse_decimal, ascend::detail::parse_scaled;
using hocket::int128;

/// digits x 10^exponent x factor to the nearest whole number, halves away from zero.
std::optional<std::int64_t> nearest(std::int64_t digits, int exponent, std::int64_t factor) {
  constexpr int128 most = (std::numeric_limits<std::int64_t>::max)();
  int128 value = int128{digits} * factor;
  if (value == 0) return 0;
  for (; exponent > 0; --exponent) {
    value *= 10;
    if (value > most) return std::nullopt;
  }
  int128 by = 1;
  for (; exponent < 0 && by < int128{1} << 122; ++exponent) by *= 10;
  if (exponent < 0) return 0;
  value = value / by + (2 * (value % by) >= by ? 1 : 0);
  if (value > most) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

TEST_CASE("decimals are what exact integers say, to the nearest", "[ascend]") {
  std::mt19937_64 random(202);
  const std::int64_t factors[] = {1, 1'000, 1'000'000, 1'000'000'000'000, 1 << 20};
  int given = 0, refused = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string digits;
    for (std::uint64_t n = 1 + random() % 18; n > 0; --n) digits += static_cast<char>('0' + random() % 10);
    if (random() % 4 == 0) digits.back() = '5';
    const auto mantissa = static_cast<std::int64_t>(std::stoull(digits));
    const std::size_t point = random() % (digits.size() + 1);
    const int exponent = random() % 2 == 0 ? 0 : static_cast<int>(random() % 50) - 25;
    std::string text = digits.substr(0, point) + "." + digits.substr(point);
    if (point == digits.size() && random() % 2 == 0) text.pop_back();
    if (exponent != 0) text += (random() % 2 == 0 ? "e" : "E") + std::to_string(exponent);
    else if (random() % 8 == 0) text += "e+0";
    const std::int64_t factor = factors[random() % 5];
    const auto expected = nearest(mantissa, exponent - static_cast<int>(digits.size() - point), factor);
    INFO(text << " x " << factor);
    CHECK(parse_scaled(text, factor) == expected);
    if (expected) CHECK(parse_scaled("-" + text, factor) == -*expected);
    ++(expected ? given : refused);
  }
  CHECK(given > 10'000);
  CHECK(refused > 1'000);
}

TEST_CASE("decimals at their limits", "[ascend]") {
  CHECK(parse_scaled("9223372036854775807", 1) == (std::numeric_limits<std::int64_t>::max)());
  CHECK(parse_scaled("-9223372036854775807", 1) == -(std::numeric_limits<std::int64_t>::max)());
  CHECK_FALSE(parse_scaled("9223372036854775808", 1));
  CHECK_FALSE(parse_scaled("92233720368547758080", 1));
  CHECK_FALSE(parse_scaled("9223372036854775.808", 1000));
  CHECK(parse_scaled("9223372036854775.807", 1000) == (std::numeric_limits<std::int64_t>::max)());
  CHECK(parse_scaled("123456789012345678.4999999999999999", 1) == 123'456'789'012'345'678);
  CHECK(parse_scaled("1.00000000000000000000000000001", 1000) == 1000);
  CHECK(parse_scaled("0.00000000000000000000000000001", 1'000'000'000'000) == 0);
  CHECK(parse_scaled("0e400", 1) == 0);
  CHECK(parse_decimal("1e400")->exponent == 400);
  CHECK_FALSE(parse_decimal("1e401"));
  CHECK(parse_decimal("1e-400")->exponent == -400);
  CHECK_FALSE(parse_decimal("1e-401"));
  CHECK_FALSE(parse_decimal("1e9999999999999999999999"));
  // As many places behind the point, and before it where only zeros count, as exponents may be.
  CHECK(parse_decimal("." + std::string(399, '0') + "1"));
  CHECK_FALSE(parse_decimal("." + std::string(400, '0') + "1"));
  const std::string many(424, '9');  // 24 of them are the mantissa
  CHECK(parse_decimal(many)->exponent == 400);
  CHECK_FALSE(parse_decimal(many + "9"));
  for (const char* const bad : {"", "-", ".", "-.", "e5", "1e", "1e+", "1e-", "1x", "1.2.3", "+1", "1e5x", " 1", "1 ",
                                "--1", "1e+-5", "1e5.0", "0x10", "nan"}) {
    INFO(bad);
    CHECK_FALSE(parse_decimal(bad));
  }
  CHECK(parse_decimal(".5")->mantissa == 5);
  CHECK(parse_decimal(".5")->exponent == -1);
  CHECK(parse_decimal("5.")->exponent == 0);
  CHECK(parse_decimal("1e+3")->exponent == 3);
  CHECK(parse_decimal("1E3")->exponent == 3);
  CHECK(parse_decimal("1.5e-3")->exponent == -4);
}

std::string name_in_trace(const std::string& escaped) {
  const auto p = ascend::parse_profile("[{\"ph\": \"X\", \"cat\": \"kernel\", \"ts\": 1, \"dur\": 1, \"name\": \"" +
                                       escaped + "\"}]");
  if (!p) return "refused: " + message(p.error());
  REQUIRE(p->kernels.size() == 1);
  return p->kernels[0].name;
}

TEST_CASE("strings of JSON: every escape, and every character of 16 bits", "[ascend]") {
  CHECK(name_in_trace("a\\\"b\\\\c\\/d\\be\\ff\\ng\\rh\\ti") == "a\"b\\c/d\be\ff\ng\rh\ti");
  CHECK(name_in_trace("a\\u0041b") == "aAb");
  CHECK(name_in_trace("\\u00e9\\u00E9\\uABCD") == "\u00e9\u00e9\uabcd");
  for (unsigned code = 1; code < 0x10000; code += code < 0x900 ? 1 : 61) {
    std::string utf8;
    if (code < 0x80) {
      utf8 = {static_cast<char>(code)};
    } else if (code < 0x800) {
      utf8 = {static_cast<char>(0xc0 + code / 64), static_cast<char>(0x80 + code % 64)};
    } else if (code >= 0xd800 && code <= 0xdfff) {
      utf8 = "?";
    } else {
      utf8 = {static_cast<char>(0xe0 + code / 4096), static_cast<char>(0x80 + code / 64 % 64),
              static_cast<char>(0x80 + code % 64)};
    }
    constexpr const char* hex = "0123456789abcdef";
    const std::string escaped{'\\', 'u', hex[code / 4096], hex[code / 256 % 16], hex[code / 16 % 16], hex[code % 16]};
    if (name_in_trace("x" + escaped + "y") != "x" + utf8 + "y") FAIL(escaped);
  }
  for (const unsigned code : {0xd7ffu, 0xd800u, 0xdfffu, 0xe000u, 0x7fu, 0x80u, 0x7ffu, 0x800u, 0xffffu}) {
    INFO(code);
    constexpr const char* hex = "0123456789ABCDEF";
    const std::string escaped{'\\', 'u', hex[code / 4096], hex[code / 256 % 16], hex[code / 16 % 16], hex[code % 16]};
    const std::size_t bytes = code < 0x80 || (code >= 0xd800 && code <= 0xdfff) ? 1 : code < 0x800 ? 2 : 3;
    CHECK(name_in_trace(escaped).size() == bytes);
  }
  CHECK(name_in_trace("\\u00g0").find("an unknown escape stands in a string") != std::string::npos);
  CHECK(name_in_trace("\\u00 0").find("refused") == 0);
  CHECK(name_in_trace("\\x").find("refused") == 0);
  CHECK(name_in_trace("\x1f").find("a string holds a control character") != std::string::npos);
  CHECK(name_in_trace("\x20") == " ");
}

TEST_CASE("words of JSON that are no strings are numbers or known", "[ascend]") {
  const auto read = [](const std::string& value) {
    return profile_files::refusal("[{\"ph\": \"M\", \"other\": " + value + "}]");
  };
  for (const char* const good : {"1", "-1", "0.5", "1e5", "9", "true", "false", "null", "NaN", "Infinity", "\"x\"",
                                 "{}", "[]", "[1, 2]", "{\"a\": {\"b\": [1]}}", "[[], {}]"}) {
    INFO(good);
    CHECK(read(good) == "accepted");
  }
  for (const char* const bad :
       {"x", "True", "nul", "+1", ".5", "", ",", "[1 2]", "[1,]", "{\"a\"}", "{1: 2}", "{,}", "[", "{", "\"", "]"}) {
    INFO(bad);
    CHECK(read(bad) != "accepted");
  }
  // 200 values in each other are read, with the trace's own two around them.
  const auto nested = [&](std::size_t depth) { return read(std::string(depth, '[') + std::string(depth, ']')); };
  CHECK(nested(200) == "accepted");
  CHECK(nested(201) != "accepted");
}

}  // namespace numbers
}  // namespace
