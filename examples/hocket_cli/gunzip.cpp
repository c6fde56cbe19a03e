// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "gunzip.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <span>
#include <string_view>

#include "failure.hpp"

namespace hocket_cli {

namespace {

enum class verdict : std::uint8_t { good, ends_early, damaged, too_large };

constexpr std::size_t max_content = std::size_t{1} << 30;

// Bits of a text, the lowest of each byte first.
class bit_source {
 public:
  explicit bit_source(std::string_view data) noexcept : data_(data) {}

  // Up to 16 bits as a number; 0 behind the end, which ended() tells.
  [[nodiscard]] std::uint32_t bits(int count) noexcept {
    while (held_ < count) {
      if (at_ == data_.size()) {
        ended_ = true;
        return 0;
      }
      hold_ |= std::uint32_t{static_cast<unsigned char>(data_[at_++])} << held_;
      held_ += 8;
    }
    const std::uint32_t value = hold_ & ((std::uint32_t{1} << count) - 1);
    hold_ >>= count;
    held_ -= count;
    return value;
  }
  // The rest of a byte that was begun is passed over.
  void align() noexcept {
    hold_ >>= held_ % 8;
    held_ -= held_ % 8;
  }
  // A number of 4 bytes, after align().
  [[nodiscard]] std::uint32_t word() noexcept {
    const std::uint32_t low = bits(16);
    return low | bits(16) << 16;
  }
  [[nodiscard]] bool ended() const noexcept { return ended_; }
  [[nodiscard]] bool has_more() const noexcept { return held_ >= 8 || at_ < data_.size(); }

 private:
  std::string_view data_;
  std::size_t at_ = 0;
  std::uint32_t hold_ = 0;
  int held_ = 0;
  bool ended_ = false;
};

// A canonical Huffman code, by the lengths of its words: how many words have each length, and the symbols in order.
class huffman_code {
 public:
  // Whether the lengths, at most 15 each, leave no bit pattern with two meanings.
  [[nodiscard]] bool assign(std::span<const std::uint8_t> lengths) {
    counts_ = {};
    for (const std::uint8_t length : lengths) ++counts_[length];
    int free_words = 1;
    for (std::size_t length = 1; length < counts_.size(); ++length) {
      free_words = 2 * free_words - counts_[length];
      if (free_words < 0) return false;
    }
    std::array<std::uint16_t, 16> next{};
    for (std::size_t length = 1; length + 1 < next.size(); ++length)
      next[length + 1] = static_cast<std::uint16_t>(next[length] + counts_[length]);
    symbols_ = {};
    for (std::size_t symbol = 0; symbol < lengths.size(); ++symbol)
      if (lengths[symbol] != 0) symbols_[next[lengths[symbol]]++] = static_cast<std::uint16_t>(symbol);
    return true;
  }
  // The next symbol; no_symbol for a bit pattern without a meaning, or at the end of the data.
  [[nodiscard]] std::uint32_t read(bit_source& in) const noexcept {
    int word = 0, first = 0, before = 0;
    for (std::size_t length = 1; length < counts_.size() && !in.ended(); ++length) {
      word |= static_cast<int>(in.bits(1));
      const int count = counts_[length];
      if (word - count < first) return symbols_[static_cast<std::size_t>(before + word - first)];
      before += count;
      first = 2 * (first + count);
      word *= 2;
    }
    return no_symbol;
  }
  static constexpr std::uint32_t no_symbol = 0xffff;

 private:
  std::array<std::uint16_t, 16> counts_{};
  std::array<std::uint16_t, 288> symbols_{};
};

// Unpacks blocks of a deflate stream (RFC 1951) behind what `out` holds.
class inflater {
 public:
  inflater(bit_source& in, std::string& out) noexcept : in_(in), out_(out), begin_(out.size()) {}

  [[nodiscard]] verdict run() {
    for (bool is_last = false; !is_last;) {
      is_last = in_.bits(1) != 0;
      verdict v = verdict::damaged;
      switch (in_.bits(2)) {
        case 0: v = stored(); break;
        case 1: v = fixed(); break;
        case 2: v = dynamic(); break;
        default: break;
      }
      if (in_.ended()) return verdict::ends_early;
      if (v != verdict::good) return v;
    }
    return verdict::good;
  }

 private:
  [[nodiscard]] verdict stored() {
    in_.align();
    const std::uint32_t length = in_.bits(16), complement = in_.bits(16);
    if (in_.ended()) return verdict::ends_early;
    if (length != (complement ^ 0xffffu)) return verdict::damaged;
    if (out_.size() + length > max_content) return verdict::too_large;
    for (std::uint32_t i = 0; i < length && !in_.ended(); ++i) out_ += static_cast<char>(in_.bits(8));
    return verdict::good;
  }
  [[nodiscard]] verdict fixed() {
    std::array<std::uint8_t, 288> lengths{};
    for (std::size_t i = 0; i < lengths.size(); ++i)
      lengths[i] = static_cast<std::uint8_t>(i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8);
    std::array<std::uint8_t, 30> distances{};
    distances.fill(5);
    if (!literals_.assign(lengths) || !distances_.assign(distances)) return verdict::damaged;
    return codes();
  }
  [[nodiscard]] verdict dynamic() {
    constexpr std::array<std::uint8_t, 19> order{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
    const std::size_t literal_count = in_.bits(5) + 257, distance_count = in_.bits(5) + 1, count = in_.bits(4) + 4;
    if (literal_count > 286 || distance_count > 30) return verdict::damaged;
    std::array<std::uint8_t, 320> lengths{};
    for (std::size_t i = 0; i < count; ++i) lengths[order[i]] = static_cast<std::uint8_t>(in_.bits(3));
    if (!literals_.assign(std::span(lengths).first(order.size()))) return verdict::damaged;
    lengths = {};
    const std::size_t all = literal_count + distance_count;
    for (std::size_t i = 0; i < all;) {
      const std::uint32_t symbol = literals_.read(in_);
      if (symbol < 16) {
        lengths[i++] = static_cast<std::uint8_t>(symbol);
        continue;
      }
      if (symbol > 18 || (symbol == 16 && i == 0)) return verdict::damaged;
      const std::uint8_t repeated = symbol == 16 ? lengths[i - 1] : std::uint8_t{0};
      const std::size_t times = symbol == 16 ? 3 + in_.bits(2) : symbol == 17 ? 3 + in_.bits(3) : 11 + in_.bits(7);
      if (i + times > all) return verdict::damaged;
      std::fill_n(lengths.begin() + static_cast<std::ptrdiff_t>(i), times, repeated);
      i += times;
    }
    if (lengths[256] == 0) return verdict::damaged;  // the end of the block has no word
    const std::span<const std::uint8_t> known(lengths);
    if (!literals_.assign(known.first(literal_count))) return verdict::damaged;
    if (!distances_.assign(known.subspan(literal_count, distance_count))) return verdict::damaged;
    return codes();
  }
  // Symbols up to the end of the block: bytes, and lengths with distances to what is repeated.
  [[nodiscard]] verdict codes() {
    constexpr std::array<std::uint16_t, 29> lengths{3,  4,  5,  6,  7,  8,  9,  10, 11,  13,  15,  17,  19,  23, 27,
                                                    31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
    constexpr std::array<std::uint16_t, 30> distances{1,    2,    3,    4,    5,    7,    9,    13,    17,    25,
                                                      33,   49,   65,   97,   129,  193,  257,  385,   513,   769,
                                                      1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577};
    while (!in_.ended()) {
      const std::uint32_t symbol = literals_.read(in_);
      if (symbol == 256) return verdict::good;
      if (symbol > 285) return verdict::damaged;
      if (out_.size() + 258 > max_content) return verdict::too_large;
      if (symbol < 256) {
        out_ += static_cast<char>(symbol);
        continue;
      }
      const std::size_t which = symbol - 257;
      const int extra = which < 8 || which == 28 ? 0 : static_cast<int>(which / 4) - 1;
      const std::size_t length = lengths[which] + in_.bits(extra);
      const std::uint32_t far = distances_.read(in_);
      if (far >= distances.size()) return verdict::damaged;
      const std::size_t distance = distances[far] + in_.bits(far < 4 ? 0 : static_cast<int>(far / 2) - 1);
      if (distance > out_.size() - begin_) return verdict::damaged;
      for (std::size_t i = 0; i < length; ++i) out_ += out_[out_.size() - distance];
    }
    return verdict::ends_early;
  }

  bit_source& in_;
  std::string& out_;
  std::size_t begin_;  // of this stream in out
  huffman_code literals_, distances_;
};

std::uint32_t check_sum(std::string_view data) noexcept {
  constexpr auto table = [] {
    std::array<std::uint32_t, 256> all{};
    for (std::uint32_t i = 0; i < all.size(); ++i) {
      std::uint32_t c = i;
      for (int bit = 0; bit < 8; ++bit) c = (c & 1) != 0 ? 0xedb88320u ^ (c >> 1) : c >> 1;
      all[i] = c;
    }
    return all;
  }();
  std::uint32_t sum = 0xffffffffu;
  for (const char c : data) sum = table[(sum ^ static_cast<unsigned char>(c)) & 0xff] ^ (sum >> 8);
  return ~sum;
}

// Passes over a member's header (RFC 1952).
[[nodiscard]] verdict skip_header(bit_source& in) {
  constexpr std::uint32_t sum = 2, extra = 4, name = 8, comment = 16;
  const bool is_gzip = in.bits(8) == 0x1f && in.bits(8) == 0x8b && in.bits(8) == 8;
  const std::uint32_t flags = in.bits(8);
  if (in.ended()) return verdict::ends_early;
  if (!is_gzip || flags >= 32) return verdict::damaged;
  for (int i = 0; i < 3; ++i) (void)in.bits(16);  // time, and what wrote it
  if ((flags & extra) != 0)
    for (std::uint32_t left = in.bits(16); left > 0 && !in.ended(); --left) (void)in.bits(8);
  for (const std::uint32_t text : {name, comment})
    if ((flags & text) != 0)
      while (in.bits(8) != 0 && !in.ended()) {
      }
  if ((flags & sum) != 0) (void)in.bits(16);
  return in.ended() ? verdict::ends_early : verdict::good;
}

[[nodiscard]] verdict unpack(std::string_view data, std::string& out) {
  bit_source in(data);
  do {
    if (const verdict v = skip_header(in); v != verdict::good) return v;
    const std::size_t begin = out.size();
    if (const verdict v = inflater(in, out).run(); v != verdict::good) return v;
    in.align();
    const std::uint32_t sum = in.word(), length = in.word();
    if (in.ended()) return verdict::ends_early;
    const std::string_view content = std::string_view(out).substr(begin);
    if (check_sum(content) != sum || static_cast<std::uint32_t>(content.size()) != length) return verdict::damaged;
  } while (in.has_more());
  return verdict::good;
}

}  // namespace

std::string read_compressed(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) fail("cannot read " + path);
  const std::string data{std::istreambuf_iterator<char>(file), {}};
  std::string out;
  switch (unpack(data, out)) {
    case verdict::good: break;
    case verdict::ends_early: fail(path + ": the compressed data ends early");
    case verdict::damaged: fail(path + ": the compressed data is damaged");
    case verdict::too_large: fail(path + ": holds more than 1 GiB");
  }
  if (out.find('\0') != out.npos) fail(path + ": holds a zero byte, so it is no text");
  return out;
}

}  // namespace hocket_cli
