// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <hocket/core.hpp>

#include <string>
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
  // Cut between characters: 13 of three bytes are 39, one byte before them leaves room for 12.
  std::string word;
  for (int i = 0; i < 20; ++i) word += "\u4e2d";
  const error whole = error{}.with(word), shorter = error{}.with("a" + word);
  CHECK(whole.word() == word.substr(0, 39));
  CHECK(shorter.word() == "a" + word.substr(0, 36));
}

TEST_CASE("what is printed holds no commands for a terminal, and is UTF-8", "[core]") {
  using namespace std::string_literals;
  using hocket::is_printable;
  using hocket::to_printable;
  for (const auto& text : {"plain"s, "\u4e2d\u6587 \u00e9 \U0001f600"s, ""s, "\u00a0\u2027\u2030\ue000\ufffd"s}) {
    CHECK(is_printable(text));
    CHECK(to_printable(text) == text);
  }
  CHECK(to_printable("a\0\n\r\t\x7f\x1b"s) == "a??????");
  CHECK(to_printable("\x9b"
                     "31m") == "?31m");  // C1 as a raw byte
  CHECK(to_printable("\xc2\x9b"
                     "31m \xc2\x85") == "?31m ?");  // C1 in UTF-8
  CHECK(to_printable("\xff\xfe \xe4\xb8 \xc0\xaf \xed\xa0\x80 \xf5\x80\x80\x80") == "?? ?? ?? ??? ????");
  CHECK(to_printable("\u202etxt\u2066 \u2028 \ufeff") == "?txt? ? ?");
  for (int first = 0; first < 256; ++first)
    for (int second = 0; second < 256; ++second) {
      const std::string text{static_cast<char>(first), static_cast<char>(second)};
      const std::string shown = to_printable(text);
      CHECK(is_printable(shown));
      CHECK(is_printable(text) == (shown == text));
    }
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

TEST_CASE("every code point is printed as it is, or as one question mark", "[core]") {
  for (std::uint32_t code = 0; code < 0x110000; ++code) {
    std::string text;
    if (code < 0x80) {
      text += static_cast<char>(code);
    } else if (code < 0x800) {
      text += static_cast<char>(0xc0 | code >> 6);
      text += static_cast<char>(0x80 | (code & 63));
    } else if (code < 0x10000) {
      text += static_cast<char>(0xe0 | code >> 12);
      text += static_cast<char>(0x80 | (code >> 6 & 63));
      text += static_cast<char>(0x80 | (code & 63));
    } else {
      text += static_cast<char>(0xf0 | code >> 18);
      text += static_cast<char>(0x80 | (code >> 12 & 63));
      text += static_cast<char>(0x80 | (code >> 6 & 63));
      text += static_cast<char>(0x80 | (code & 63));
    }
    const bool is_surrogate = code >= 0xd800 && code <= 0xdfff, is_none = code == 0xfffe || code == 0xffff;
    const bool commands = code < 0x20 || (code >= 0x7f && code <= 0x9f) || code == 0x61c || code == 0x200e ||
                          code == 0x200f || (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) ||
                          code == 0xfeff;
    const std::string wanted = is_surrogate || is_none ? std::string(text.size(), '?')
                             : commands                ? std::string("?")
                                                       : text;
    if (hocket::to_printable(text) != wanted) CHECK(hocket::to_printable(text) == wanted);
    // Cut, it is no character, and what follows is.
    if (text.size() > 1 &&
        hocket::to_printable(text.substr(0, text.size() - 1) + "a") != std::string(text.size() - 1, '?') + "a")
      CHECK(hocket::to_printable(text.substr(0, text.size() - 1) + "a") == std::string(text.size() - 1, '?') + "a");
  }
  // Longer forms of what has a shorter one, and what lies beyond the last code point.
  for (const char* const text : {"\xc1\xbf", "\xe0\x9f\xbf", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80"})
    CHECK(hocket::to_printable(text) == std::string(std::string_view(text).size(), '?'));
  // A word that is nothing but ends of characters has no beginning to be cut at.
  const error renamed = error{errc::self_edge}.with("longer").with("a");
  CHECK(renamed.word() == "a");
  for (const std::int64_t value : renamed.values) CHECK(value == 0);
  const error ends = error{}.with(std::string(50, '\x80'));
  CHECK(ends.word().empty());
  for (const std::size_t length : {39u, 40u}) {
    const error named = error{}.with(std::string(length, 'a'));
    CHECK(named.word() == std::string(39, 'a'));
  }
}

TEST_CASE("bytes add up and subtract", "[core]") {
  hocket::bytes sum;
  CHECK(sum.count() == 0);
  sum += hocket::bytes(5);
  sum -= hocket::bytes(7);
  CHECK(sum == hocket::bytes(-2));
  CHECK((sum + hocket::bytes(3)).count() == 1);
  CHECK((hocket::bytes(3) - sum).count() == 5);
  CHECK((3 * sum).count() == -6);
  CHECK((sum * 4).count() == -8);
}

TEST_CASE("a single byte is a character if it is ASCII, and none otherwise", "[core]") {
  for (unsigned b = 0; b < 256; ++b) {
    const char text[] = {static_cast<char>(b)};
    const auto c = hocket::first_character({text, 1});
    CHECK(c.length == (b < 128 ? 1 : 0));
    CHECK(c.code == (b < 128 ? b : 0));
  }
}
