// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Bars of a timeline as the page gets them: every one of them, in few numbers, because schedules repeat themselves.
#pragma once
#include <hocket/timeline/timeline.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

namespace hocket_cli {

/// Writes lanes as lists of numbers. A bar is one of a list of words:
///
///     [gap, length, kind, chunk, id, step]   gap: ticks since the end of the bar before it on its lane, or since 0
///                                            step: its micro-batch less that of the last bar of the same kind, chunk
///                                            and id on its lane, which is -1 at first
///
/// All lanes, one after the other, are a list of numbers of words. A negative number -n and the number after it, b,
/// stand for n words in a row, each the one that is b before it. So what 1F1B does again and again takes two numbers,
/// however long it does it. A rank that runs what the one before it runs takes few, too.
class bar_writer {
 public:
  /// Adds the bars of the next lane. @param spans  of that lane, by start. O(s log s).
  void add_lane(std::span<const hocket::timeline::span> spans);
  /// The list of all lanes so far. O(s log s).
  [[nodiscard]] std::vector<std::int64_t> lanes() const;
  /// All words so far.
  [[nodiscard]] nlohmann::ordered_json words() const;

 private:
  using word = std::array<std::int64_t, 6>;
  std::uint32_t number_of(const word& w);

  std::map<word, std::uint32_t> known_;
  std::vector<word> words_;
  std::vector<std::uint32_t> list_;
};

}  // namespace hocket_cli
