// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/result.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace hocket::inline HOCKET_ABI::ascend::detail {

/// Walks a JSON text from front to back and keeps the first error, with line and column. Numbers stay text: those of
/// traces have more digits than a double. Nothing is built, so a trace may be as large as memory.
///
///     json_cursor in(text);
///     in.members([&](std::string_view key) { if (key == "ts") at = in.scalar(); else in.skip(); });
///     if (!in.ended()) return in.why();
class json_cursor {
 public:
  explicit json_cursor(std::string_view text) noexcept : text_(text) {
    if (text_.starts_with("\xef\xbb\xbf")) at_ = 3;
  }

  [[nodiscard]] bool failed() const noexcept { return failed_; }
  [[nodiscard]] const error& why() const noexcept { return why_; }
  /// What the next value begins with; '\0' at the end.
  [[nodiscard]] char peek() noexcept {
    while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  /// Whether all has been read without an error, and nothing follows.
  [[nodiscard]] bool ended() noexcept {
    if (!failed_ && peek() != '\0') fail("something follows the JSON value");
    return !failed_;
  }

  /// f(key) for each member of an object; f must read the value. The key lives until f reads.
  template <class F>
  void members(F&& f) {
    if (!open('{', "an object was expected")) return;
    std::string storage;
    for (bool first = true; !failed_; first = false) {
      if (close('}', first)) return;
      const std::string key(string(storage));
      if (!failed_ && peek() != ':') fail("\":\" was expected");
      if (failed_) return;
      ++at_;
      f(std::string_view(key));
    }
  }
  /// f() for each element of an array; f must read it.
  template <class F>
  void elements(F&& f) {
    if (!open('[', "an array was expected")) return;
    for (bool first = true; !failed_; first = false) {
      if (close(']', first)) return;
      f();
    }
  }

  /// A string, number or word as text, without quotes; valid until the next call with the same storage.
  [[nodiscard]] std::string_view scalar(std::string& storage) {
    if (peek() == '"') return string(storage);
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_in_word(text_[at_])) ++at_;
    if (begin == at_) {
      fail("a number or a string was expected");
      return {};
    }
    const std::string_view word = text_.substr(begin, at_ - begin);
    const bool is_number = word.front() == '-' || (word.front() >= '0' && word.front() <= '9');
    const bool is_word = word == "true" || word == "false" || word == "null" || word == "NaN" || word == "Infinity";
    if (!is_number && !is_word) {
      at_ = begin;
      fail("a number or a string was expected");
    }
    return word;
  }
  /// Passes over any value.
  void skip() {
    if (++depth_ > max_depth) fail("values are nested too deeply");
    if (failed_) return;
    if (peek() == '{') members([&](std::string_view) { skip(); });
    else if (peek() == '[') elements([&] { skip(); });
    else (void)scalar(skipped_);
    --depth_;
  }

  /// Says that what was read last is wrong. @param why  one phrase
  void fail(std::string_view why) noexcept {
    const bool at_end = at_ >= text_.size();
    fail(at_end ? error{errc::truncated}.with("the end of the JSON value") : error{errc::ill_formed_json}.with(why));
  }
  /// The same with another error, whose first two values become line and column; of errc::too_large only the first.
  void fail(error e) noexcept {
    if (failed_) return;
    failed_ = true;
    const std::string_view before = text_.substr(0, at_);
    std::int64_t line = 1, column = 1;
    for (const char c : before) {
      line += c == '\n' ? 1 : 0;
      column = c == '\n' ? 1 : column + 1;
    }
    e.values[0] = line;
    if (e.code != errc::too_large) e.values[1] = column;
    why_ = e;
  }

 private:
  static constexpr int max_depth = 200;

  [[nodiscard]] static bool is_blank(char c) noexcept { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }
  [[nodiscard]] static bool is_in_word(char c) noexcept {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' || c == '-' ||
           c == '+';
  }
  [[nodiscard]] bool open(char bracket, std::string_view why) noexcept {
    if (failed_) return false;
    if (peek() != bracket) {
      fail(why);
      return false;
    }
    ++at_;
    return true;
  }
  // At the end of a list, or behind the comma before its next entry.
  [[nodiscard]] bool close(char bracket, bool first) noexcept {
    const char c = peek();
    if (c == bracket) {
      ++at_;
      return true;
    }
    if (first) return false;
    if (c == ',') ++at_;
    else fail("\",\" or the end of the list was expected");
    return false;
  }

  // Most strings have no escapes and are handed out as they stand in the text.
  [[nodiscard]] std::string_view string(std::string& storage) {
    if (peek() != '"') {
      fail("a string was expected");
      return {};
    }
    const std::size_t begin = ++at_;
    while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\\' && !is_control(text_[at_])) ++at_;
    if (at_ < text_.size() && text_[at_] == '"') return text_.substr(begin, at_++ - begin);
    storage.assign(text_.substr(begin, at_ - begin));
    while (at_ < text_.size() && text_[at_] != '"' && !failed_) {
      if (is_control(text_[at_])) fail("a string holds a control character");
      else if (text_[at_] == '\\') escape(storage);
      else storage += text_[at_++];
    }
    if (at_ >= text_.size()) fail("");
    if (!failed_) ++at_;
    return storage;
  }
  [[nodiscard]] static bool is_control(char c) noexcept { return static_cast<unsigned char>(c) < 0x20; }
  void escape(std::string& out) {
    constexpr std::string_view letters = "\"\\/bfnrt", values = "\"\\/\b\f\n\r\t";
    if (++at_ >= text_.size()) return;
    const char c = text_[at_];
    if (const std::size_t which = letters.find(c); which != std::string_view::npos) {
      out += values[which];
      ++at_;
    } else if (c == 'u') {
      ++at_;
      put_character(out, hexadecimal());
    } else {
      fail("an unknown escape stands in a string");
    }
  }
  [[nodiscard]] std::uint32_t hexadecimal() noexcept {
    std::uint32_t code = 0;
    for (int i = 0; i < 4 && at_ < text_.size(); ++i, ++at_) {
      const char c = text_[at_];
      const int digit = c >= '0' && c <= '9' ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
      if (digit < 0) {
        fail("an unknown escape stands in a string");
        return 0;
      }
      code = code * 16 + static_cast<std::uint32_t>(digit);
    }
    return code;
  }
  // Halves of characters beyond 16 bits become '?': names of ops have none.
  static void put_character(std::string& out, std::uint32_t code) {
    if (code < 0x80) {
      out += static_cast<char>(code);
    } else if (code >= 0xd800 && code < 0xe000) {
      out += '?';
    } else {
      if (code >= 0x800) out += static_cast<char>(0xe0 | code >> 12);
      out += static_cast<char>(code < 0x800 ? 0xc0 | code >> 6 : 0x80 | (code >> 6 & 0x3f));
      out += static_cast<char>(0x80 | (code & 0x3f));
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
  bool failed_ = false;
  error why_{};
  std::string skipped_;
};

}  // namespace hocket::inline HOCKET_ABI::ascend::detail
