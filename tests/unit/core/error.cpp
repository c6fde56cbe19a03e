// SPDX-License-Identifier: Apache-2.0
#include <hocket/core.hpp>

#include <type_traits>

#include "catch.hpp"

using hocket::errc;
using hocket::error;

TEST_CASE("an error is a small value that renders into one sentence", "[core]") {
  static_assert(std::is_trivially_copyable_v<error>);
  CHECK(message(error{errc::self_edge, 7}) == "node 7 cannot happen before itself");
  CHECK(message(error{errc::indivisible, 40, 16}.with("layers")) == "layers: 40 is not divisible by 16");
  CHECK(message(error{errc::out_of_range, -1, 0, 9}.with("rank")) == "rank is -1, but must lie in [0, 9]");
}

TEST_CASE("an offending word is cut and made printable", "[core]") {
  const error e = error{errc::unknown_architecture}.with("a word that is much longer than an error can hold");
  CHECK(e.word().size() == error::word_capacity - 1);
  CHECK(message(error{errc::missing_field}.with("a\x1b[31m")) == "the config has no field \"a?[31m\"");
}

TEST_CASE("no sentence uses a placeholder that does not exist", "[core]") {
  for (int code = 0; code < 1000; ++code) {
    const std::string text = message(error{static_cast<errc>(code), 11, 12, 13, 14}.with("word"));
    INFO(text);
    CHECK(text.find('{') == std::string::npos);
  }
}

TEST_CASE("a fingerprint depends on values and their order, not on the build", "[core]") {
  using hocket::fingerprint;
  static_assert(fingerprint{}.add(1).add(2).value() != fingerprint{}.add(2).add(1).value());
  static_assert(fingerprint{}.add(0).value() != fingerprint{}.value());
  // Pinned: ranks of different builds compare these numbers. First output of splitmix64 with seed 0, as published.
  CHECK(fingerprint{}.add(0).value() == 0xe220a8397b1dcdafu);
}
