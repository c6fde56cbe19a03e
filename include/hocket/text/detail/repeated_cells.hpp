// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/pipeline/action.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <span>
#include <string>
#include <string_view>

namespace hocket::inline HOCKET_ABI::text::detail {

/// A short text in a place of eight bytes, so that copying it is one move.
struct short_text {
  char text[7];
  std::uint8_t size;
};

/// The numbers below a thousand: as people write them, and with leading zeros. A comma follows, in case it is wanted.
struct thousand_numbers {
  short_text plain[1000];
  char full[4000];  // "000,", "001,", …
};
inline constexpr thousand_numbers below_1000 = [] {
  thousand_numbers t{};
  for (unsigned x = 0; x < 1000; ++x) {
    const char digits[] = {static_cast<char>('0' + x / 100), static_cast<char>('0' + x / 10 % 10),
                           static_cast<char>('0' + x % 10), ','};
    const unsigned skip = x < 10 ? 2 : x < 100 ? 1 : 0;
    for (unsigned i = 0; i < 4; ++i) t.full[4 * x + i] = digits[i];
    for (unsigned i = skip; i < 4; ++i) t.plain[x].text[i - skip] = digits[i];
    t.plain[x].size = static_cast<std::uint8_t>(3 - skip);
  }
  return t;
}();

/// A short text in a register, and its size there.
inline std::uint64_t word_of(const short_text& text) noexcept {
  std::uint64_t word;
  std::memcpy(&word, &text, sizeof word);
  return word;
}
constexpr std::size_t size_in(std::uint64_t word) noexcept {
  return std::endian::native == std::endian::little ? word >> 56 : word & 0xff;
}

// These write from `at` on and return where they ended; up to 16 bytes behind that may hold anything then.
inline char* write_short(char* at, const short_text& text) noexcept {
  std::memcpy(at, &text, sizeof text);
  return at + text.size;
}
inline char* write_number(char* at, std::uint32_t value) noexcept {
  if (value < 1000) return write_short(at, below_1000.plain[value]);
  at = write_number(at, value / 1000);
  std::memcpy(at, below_1000.full + std::size_t{4} * (value % 1000), 4);
  return at + 3;
}
inline short_text number_with_comma(std::uint32_t value) noexcept {  // below 10^6
  char text[32];
  const char* const end = write_number(text, value);
  short_text all{};
  std::memcpy(all.text, text, sizeof all.text);
  all.size = static_cast<std::uint8_t>(end - text);
  all.text[all.size] = ',';
  return all;
}
inline char* write_word(char* at, std::string_view word) noexcept {
  if (!word.empty()) std::memcpy(at, word.data(), word.size());
  return at + word.size();
}

/// Writes cells such as "3F12,": a beginning, which follows from op and chunk, and the micro-batch. Lists of schedules
/// are the same ops of the same chunks again and again, some micro-batches later: while no number gets longer, the text
/// of such a period is copied, and the numbers in the copies are replaced.
class repeated_cells {
 public:
  static constexpr std::size_t beginnings = std::size_t{1} << 11;

  static constexpr std::uint32_t worth = 32;  ///< cells that must repeat for a period to pay

  /// The text before the micro-batch of an action, by the bits of the action before its micro-batch. Where it is empty
  /// an action is no plain cell.
  /// @param text     `beginnings` of them
  /// @param numbers  how the numbers from 0 on are written, with a comma behind each
  repeated_cells(const short_text* text, std::span<const short_text> numbers) noexcept
      : text_(text), numbers_(numbers) {}

  /// All of a period are plain cells, and of the same kind `times` - 1 periods later, which the numbers do not run
  /// into; it is short enough to be repeated, and the numbers change by so little that their last three digits tell.
  [[nodiscard]] bool plain(std::span<const pipeline::action> period, std::uint32_t times,
                           std::uint32_t later) const noexcept {
    if (later + 999 > 2 * 999 || period.size() > longest_period) return false;
    std::uint32_t differ = 0;
    bool all = true;
    for (const pipeline::action a : period) {
      all &= text_[a.bits() >> 21].size != 0;
      differ |= a.bits() ^ (a.bits() + (times - 1) * later);
    }
    return all && differ >> 21 == 0;
  }

  /// Writes the cells of a period `times` times, each time `later` micro-batches later.
  /// Precondition: plain(period, times, later). There must be room for all cells, and 16 characters more.
  char* write_periods(char* to, std::span<const pipeline::action> period, std::uint32_t times, std::uint32_t later) {
    const bool back = later > 999;
    const std::uint32_t step = back ? 0 - later : later;
    const auto length = static_cast<std::uint32_t>(period.size());
    constexpr std::uint32_t least[] = {0, 0, 10, 100}, most[] = {0, 9, 99, 999};  // of so many digits
    // Copies of what the characters that are written might be, as far as a compiler knows.
    const pipeline::action* const actions = period.data();
    const short_text *const beginnings_of = text_, *const numbers = numbers_.data();
    const std::size_t known = numbers_.size();
    place* const places = places_;
    for (std::uint32_t done = 0; done < times;) {
      const std::uint32_t more = done * later;
      char* const start = to;
      std::uint32_t room = ~std::uint32_t{0};  // until a number gets longer or shorter, or its thousands change
      for (std::uint32_t k = 0; k < length; ++k) {
        const std::uint32_t value = actions[k].micro_batch() + more;
        const std::uint64_t beginning = word_of(beginnings_of[actions[k].bits() >> 21]);
        std::memcpy(to, &beginning, sizeof beginning);
        to += size_in(beginning);
        std::uint32_t digits = 0, last = value;
        if (value < known) {
          const std::uint64_t number = word_of(numbers[value]);
          std::memcpy(to, &number, sizeof number);
          digits = static_cast<std::uint32_t>(size_in(number));
        } else {
          digits = static_cast<std::uint32_t>(write_number(to, value) - to);
        }
        if (digits > 3) last = value % 1000;
        const std::uint32_t written = digits < 3 ? digits : 3;
        places[k] = {static_cast<std::uint16_t>(last), static_cast<std::uint16_t>(written),
                     static_cast<std::uint32_t>(to - start) + (digits - written)};
        to += digits + 1;  // and its comma
        const std::uint32_t left = back ? last - least[digits < 4 ? digits : 0] : most[written] - last;
        room = left < room ? left : room;
      }
      const auto size = static_cast<std::size_t>(to - start);
      std::uint32_t count = times - done;
      if (std::uint64_t{count - 1} * step > room) count = room / step + 1;
      done += count;
      if (count == 1) continue;
      // After so many periods all numbers have changed by hundreds.
      const std::uint32_t hundreds = 100 / std::gcd(step, 100u);
      const std::size_t all = size * count, block = size * hundreds;
      if (count < 3 * hundreds || block > most_hundreds) {
        repeat(start, size, length, count, later);
      } else {
        repeat(start, size, length, hundreds, later);
        change_hundreds(start, size, length, hundreds, step * hundreds / 100, back, all);
      }
      to = start + all;
    }
    return to;
  }
  /// Whether an action is a plain cell.
  [[nodiscard]] bool plain(pipeline::action a) const noexcept { return text_[a.bits() >> 21].size != 0; }
  /// Writes one. Precondition: plain(a).
  char* write_cell(char* to, pipeline::action a) const noexcept {
    return number_text(write_short(to, text_[a.bits() >> 21]), a.micro_batch()) + 1;  // and its comma
  }
  /// Writes cells for the actions from `i` on, until one is no plain cell; `i` is then its index. No micro-batch is
  /// larger than `largest`. There must be room for count - i cells, and 16 characters more.
  char* write(char* to, const pipeline::action* list, std::uint32_t& i, std::uint32_t count,
              std::uint32_t largest) const noexcept {
    if (largest >= numbers_.size()) {
      for (; i < count && plain(list[i]); ++i) to = write_cell(to, list[i]);
      return to;
    }
    // Copies of what the characters that are written might be, as far as a compiler knows.
    const short_text *const beginnings_of = text_, *const numbers = numbers_.data();
    const pipeline::action *at = list + i, *const end = list + count;
    for (; at != end; ++at) {
      const std::uint64_t beginning = word_of(beginnings_of[at->bits() >> 21]);
      const std::uint64_t number = word_of(numbers[at->micro_batch()]);
      const std::size_t size = size_in(beginning);
      if (size == 0) break;
      std::memcpy(to, &beginning, sizeof beginning);
      std::memcpy(to + size, &number, sizeof number);
      to += size + (size_in(number) + 1);
    }
    i = static_cast<std::uint32_t>(at - list);
    return to;
  }

 private:
  static constexpr std::uint32_t longest_period = 1024;

  char* number_text(char* to, std::uint32_t value) const noexcept {
    return value < numbers_.size() ? write_short(to, numbers_[value]) : write_number(to, value);
  }

  /// The last three digits of a number, or as many as it has, and where they stand.
  struct place {
    std::uint16_t value, digits;
    std::uint32_t at;
  };
  /// Writes the first of `count` periods of `size` characters into the others, with the numbers raised.
  void repeat(char* start, std::size_t size, std::uint32_t length, std::uint32_t count, std::uint32_t later) noexcept {
    // While what is copied stays in the first cache.
    const std::uint32_t most = static_cast<std::uint32_t>(16'384 / size) + 2;
    for (std::uint32_t done = 1; done < count;) {
      const std::uint32_t now = count - done < most ? count - done : most;
      char* const to = start + done * size;
      std::memcpy(to, start, size);
      for (std::size_t have = size, all = size * now; have < all; have *= 2)
        std::memcpy(to + have, to, have < all - have ? have : all - have);
      const std::uint32_t more = done * later;
      done += now;
      if (later == 0) continue;
      std::uint32_t k = 0;
      for (; k + 4 <= length; k += 4) {
        const place* const x = places_ + k;
        const std::uint32_t digits = x[0].digits;
        const bool same = x[1].digits == digits && x[2].digits == digits && x[3].digits == digits;
        if (same && digits == 3) renumber_four<4>(to, size, now, x, more, later);  // a comma follows
        else if (same && digits == 2) renumber_four<2>(to, size, now, x, more, later);
        else
          for (std::uint32_t l = 0; l < 4; ++l) renumber(to, size, now, x[l], more, later);
      }
      for (; k < length; ++k) renumber(to, size, now, places_[k], more, later);
    }
  }
  /// Writes a number into `count` periods: raised by `more` in the first, and by `step` more in each that follows.
  static void renumber(char* to, std::size_t size, std::uint32_t count, const place& x, std::uint32_t more,
                       std::uint32_t step) noexcept {
    std::uint32_t value = x.value + more;
    to += x.at;
    if (x.digits == 1)
      for (; count != 0; --count, to += size, value += step) *to = static_cast<char>('0' + value);
    else if (x.digits == 2)
      for (; count != 0; --count, to += size, value += step)
        std::memcpy(to, below_1000.full + std::size_t{4} * value + 1, 2);
    else
      for (; count != 0; --count, to += size, value += step)
        std::memcpy(to, below_1000.full + std::size_t{4} * value, 4);
  }
  /// The same for four numbers of so many characters.
  template <std::size_t Characters>
  static void renumber_four(char* to, std::size_t size, std::uint32_t count, const place* x, std::uint32_t more,
                            std::uint32_t step) noexcept {
    const std::size_t at_0 = x[0].at, at_1 = x[1].at, at_2 = x[2].at, at_3 = x[3].at;
    const std::ptrdiff_t by = 4 * std::ptrdiff_t{static_cast<std::int32_t>(step)}, first = x[0].value;
    const char* const text = below_1000.full;
    std::ptrdiff_t from = 4 * (first + static_cast<std::int32_t>(more)) + (Characters == 2 ? 1 : 0);
    const std::ptrdiff_t to_1 = 4 * (x[1].value - first), to_2 = 4 * (x[2].value - first),
                         to_3 = 4 * (x[3].value - first);
    for (; count != 0; --count, to += size, from += by) {
      std::memcpy(to + at_0, text + from, Characters);
      std::memcpy(to + at_1, text + from + to_1, Characters);
      std::memcpy(to + at_2, text + from + to_2, Characters);
      std::memcpy(to + at_3, text + from + to_3, Characters);
    }
  }
  /// Writes the first `hundreds` periods again and again until there are `all` characters, each time with all numbers
  /// changed by so many hundreds: by one addition for eight characters.
  void change_hundreds(char* start, std::size_t size, std::uint32_t length, std::uint32_t hundreds, std::uint32_t by,
                       bool back, std::size_t all) {
    const std::size_t block = size * hundreds;
    change_.assign(block + 8, '\0');
    for (std::uint32_t t = 0; t < hundreds; ++t)
      for (std::uint32_t k = 0; k < length; ++k) change_[t * size + places_[k].at] = static_cast<char>(by);
    const char* const change = change_.data();
    for (std::size_t have = block; have < all; have += block) {
      const char* const from = start + have - block;
      char* const to = start + have;
      const std::size_t count = all - have < block ? all - have : block;
      // Whole words: what is written behind the end is overwritten or left out, as the room has a margin for that.
      for (std::size_t i = 0; i < count; i += 8) {
        std::uint64_t digits, add;
        std::memcpy(&digits, from + i, 8), std::memcpy(&add, change + i, 8);
        digits = back ? digits - add : digits + add;
        std::memcpy(to + i, &digits, 8);
      }
    }
  }

  static constexpr std::size_t most_hundreds = 65'536;  // characters
  const short_text* text_;
  std::span<const short_text> numbers_;
  place places_[longest_period];
  std::string change_;  // what to add to the characters of some periods
};

}  // namespace hocket::inline HOCKET_ABI::text::detail
