// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/config.hpp>

#include <array>
#include <cstddef>
#include <string_view>

namespace hocket::inline HOCKET_ABI::mindspore::detail {

// Which brackets count: types nest <...>, but "->" and names of operators hold a lone '>'.
enum class brackets { without_angles, with_angles };

// Nested deeper than any dump; a bound on the stack, not on what is understood.
inline constexpr std::size_t deepest_nesting = 256;

struct bracket_end {
  std::size_t at = 0;      // behind the closing bracket, or where it went wrong
  std::size_t opened = 0;  // what `at` should have closed, if it went wrong
  bool good = false;
};

[[nodiscard]] constexpr char closing_of(char c, brackets which) noexcept {
  switch (c) {
    case '(': return ')';
    case '[': return ']';
    case '{': return '}';
    case '<': return which == brackets::with_angles ? '>' : '\0';
    default: return '\0';
  }
}

[[nodiscard]] constexpr bool is_closing(char c, brackets which) noexcept {
  return c == ')' || c == ']' || c == '}' || (c == '>' && which == brackets::with_angles);
}

// Where the bracket text[from] is closed. Nothing between two '"' counts. Each bracket must be closed by its own kind:
// a text that was scanned and read by a machine is found out here.
[[nodiscard]] constexpr bracket_end skip_brackets(std::string_view text, std::size_t from, brackets which) noexcept {
  std::array<char, deepest_nesting> expected{};
  std::array<std::size_t, deepest_nesting> opened{};
  std::size_t depth = 0;
  for (std::size_t i = from; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') {
      const std::size_t end = text.find('"', i + 1);
      if (end == std::string_view::npos) return {text.size(), i, false};
      i = end;
    } else if (const char closing = closing_of(c, which); closing != '\0') {
      if (depth == deepest_nesting) return {i, opened[depth - 1], false};
      expected[depth] = closing;
      opened[depth] = i;
      ++depth;
    } else if (is_closing(c, which)) {
      if (depth == 0) return {i, from, false};
      if (expected[depth - 1] != c) return {i, opened[depth - 1], false};
      --depth;
      if (depth == 0) return {i + 1, from, true};
    }
  }
  return {text.size(), depth == 0 ? from : opened[depth - 1], false};
}

[[nodiscard]] constexpr std::string_view trim(std::string_view text) noexcept {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// Takes the next part off a list: what stands before the first comma outside brackets and quotes, trimmed.
// Precondition: the brackets of `list` are balanced. In brackets that are not, the rest is one part.
[[nodiscard]] constexpr std::string_view next_part(std::string_view& list, brackets which) noexcept {
  std::size_t i = 0;
  while (i < list.size() && list[i] != ',') {
    if (list[i] == '"') {
      const std::size_t end = list.find('"', i + 1);
      i = end == std::string_view::npos ? list.size() : end + 1;
    } else if (closing_of(list[i], which) != '\0') {
      const bracket_end end = skip_brackets(list, i, which);
      i = end.good ? end.at : list.size();
    } else {
      ++i;
    }
  }
  const std::string_view part = trim(list.substr(0, i));
  list.remove_prefix(i < list.size() ? i + 1 : i);
  return part;
}

// The first characters of a text as a word for a sentence: not cut within a character, and short.
[[nodiscard]] constexpr std::string_view first_word(std::string_view text, std::size_t longest = 38) noexcept {
  if (text.size() <= longest) return text;
  std::size_t end = longest;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0u) == 0x80u) --end;
  return text.substr(0, end);
}

}  // namespace hocket::inline HOCKET_ABI::mindspore::detail
