// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// "Did you mean": which of some names somebody meant to type.
#pragma once
#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace hocket_cli {

/// How many letters must be inserted, left out, replaced, or exchanged with their neighbour to get from one word to
/// the other. Each letter is edited at most once. O(a b) time and memory.
inline std::size_t edit_distance(std::string_view a, std::string_view b) {
  const std::size_t width = b.size() + 1;
  std::vector<std::size_t> table((a.size() + 1) * width);
  const auto at = [&](std::size_t i, std::size_t j) -> std::size_t& { return table[i * width + j]; };
  for (std::size_t i = 0; i <= a.size(); ++i) at(i, 0) = i;
  for (std::size_t j = 0; j <= b.size(); ++j) at(0, j) = j;
  for (std::size_t i = 1; i <= a.size(); ++i)
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = at(i - 1, j - 1) + (a[i - 1] == b[j - 1] ? 0 : 1);
      at(i, j) = (std::min)({at(i - 1, j) + 1, at(i, j - 1) + 1, replaced});
      const bool exchanged = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (exchanged) at(i, j) = (std::min)(at(i, j), at(i - 2, j - 2) + 1);
    }
  return table.back();
}

/// The names that a word may stand for: those at the least distance, if that is at most a third of the word. A name
/// that goes on where the word ends counts as one letter away. Empty if nothing is near. Keeps the order of the names.
inline std::vector<std::string> closest(std::string_view word, const std::vector<std::string>& names) {
  constexpr std::size_t longest = 64;  // nobody mistypes more
  std::vector<std::string> found;
  if (word.empty() || word.size() > longest) return found;
  std::size_t least = (std::max)(std::size_t{1}, word.size() / 3);
  for (const std::string& name : names) {
    const bool goes_on = word.size() > 1 && name.starts_with(word);
    const std::size_t distance = goes_on ? 1 : edit_distance(word, name);
    if (distance > least || distance >= (std::max)(word.size(), name.size())) continue;
    if (distance < least) found.clear();
    least = distance;
    found.push_back(name);
  }
  return found;
}

/// "; did you mean a, b or c?", or nothing if there are no names.
inline std::string did_you_mean(const std::vector<std::string>& names) {
  std::string out;
  for (std::size_t i = 0; i < names.size(); ++i)
    out += (i == 0 ? "; did you mean " : i + 1 == names.size() ? " or " : ", ") + names[i];
  return names.empty() ? out : out + "?";
}

}  // namespace hocket_cli
