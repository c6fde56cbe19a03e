// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The 128-bit integer for compilers without __int128, against __int128 where there is one; where there is none, against
// a digest of the same operations that __int128 left.
#include <hocket/core/detail/two_words.hpp>
#include <hocket/core/fingerprint.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "catch.hpp"

namespace {

using hocket::detail::two_words;

struct words {
  std::uint64_t high, low;
};

// 0, 1, 2^k, each with its neighbours and negated: the least and the largest number among them.
std::vector<words> edges() {
  std::vector<words> out;
  const auto add = [&](two_words n) {
    for (const int by : {-1, 0, 1}) {
      const two_words near = n + by;
      out.push_back({near.high(), near.low()});
    }
  };
  add(0);
  for (const int k : {1, 2, 8, 31, 32, 33, 52, 53, 54, 62, 63, 64, 65, 95, 96, 97, 116, 117, 126, 127}) {
    add(two_words{1} << k);
    add(-(two_words{1} << k));
  }
  return out;
}

std::uint64_t mixed(std::uint64_t& state) {
  std::uint64_t z = state += 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}
// Of any magnitude, as likely small as large.
words random_words(std::uint64_t& state) {
  const std::uint64_t high = mixed(state), low = mixed(state);
  const two_words n = two_words::of(high, low) >> static_cast<int>(mixed(state) % 128);
  return {n.high(), n.low()};
}

// f(a, b, places) for all pairs of edges, and for random ones.
template <class F>
void for_each_pair(const F& f) {
  const auto all = edges();
  int places = 0;
  for (const words a : all)
    for (const words b : all) f(a, b, places = (places + 1) % 128);
  std::uint64_t state = 42;
  for (int i = 0; i < 200'000; ++i) {
    const words a = random_words(state), b = random_words(state);
    f(a, b, i % 128);
  }
}

// What the operations of a 128-bit integer give, as words. Left out is what its signed arithmetic has no value for.
template <class Wide>
struct operations {
  Wide (*from)(words);
  words (*to)(const Wide&);

  template <class See>
  void run(words x, words y, int places, const See& see) const {
    const Wide a = from(x), b = from(y);
    see(to(a >> places));
    see(to(a << places));
    see({a < b ? 1U : 0U, a == b ? 1U : 0U});
    see({static_cast<std::uint64_t>(static_cast<std::int64_t>(a)), static_cast<std::uint32_t>(b)});
    see({std::bit_cast<std::uint64_t>(static_cast<double>(a)), 0});
    if (b == 0) return;
    const two_words least = two_words::of(std::uint64_t{1} << 63, 0);
    if (two_words::of(x.high, x.low) == least && two_words::of(y.high, y.low) == -1) return;
    see(to(a / b));
    see(to(a % b));
  }
};

two_words ours_of(words n) { return two_words::of(n.high, n.low); }
words words_of(const two_words& n) { return {n.high(), n.low()}; }
constexpr operations<two_words> ours{ours_of, words_of};

}  // namespace

TEST_CASE("two words count as one integer", "[core]") {
  static_assert(two_words{-1} == -1 && two_words{-1} < 0 && two_words{std::uint64_t{1} << 63} > 0);
  static_assert((two_words{1} << 70) / 1024 == two_words{1} << 60);
  static_assert(two_words{-7} / 2 == -3 && two_words{-7} % 2 == -1 && (two_words{-7} >> 1) == -4);
  static_assert(static_cast<std::int64_t>(two_words{-5} * 3) == -15 && 3 * two_words{-5} - 1 == -16);
  static_assert(static_cast<double>(two_words{-1} << 100) == -1267650600228229401496703205376.0);
  constexpr two_words least = two_words::of(std::uint64_t{1} << 63, 0);
  static_assert(-least == least && least / -1 == least && least % -1 == 0 && least / least == 1);
  static_assert(static_cast<double>(least) == -170141183460469231731687303715884105728.0);
}

TEST_CASE("whole numbers divide with a rest, and products share out", "[core]") {
  int wrong = 0;
  for_each_pair([&](words x, words y, int) {
    const two_words a = ours_of(x), b = ours_of(y);
    wrong += a + b - b == a && a * b == b * a && a * (b + 1) == a * b + a ? 0 : 1;
    if (b == 0) return;
    const two_words rest = a % b;
    wrong += a / b * b + rest == a && (rest == 0 || (rest < 0) == (a < 0)) ? 0 : 1;
  });
  CHECK(wrong == 0);
}

TEST_CASE("every target computes the same 128 bits", "[core]") {
  hocket::fingerprint digest;
  for_each_pair([&](words x, words y, int places) {
    const auto see = [&](words n) { digest.add(n.high).add(n.low); };
    see(words_of(ours_of(x) + ours_of(y)));
    see(words_of(ours_of(x) * ours_of(y)));
    ours.run(x, y, places, see);
  });
  CHECK(digest.value() == 0xc84702c5b1a4f5fd);  // what __int128 gives on x86-64
}

#if HOCKET_HAS_INT128
namespace {

__extension__ using native = __int128;
__extension__ using unsigned_native = unsigned __int128;

native native_of(words n) { return static_cast<native>(static_cast<unsigned_native>(n.high) << 64 | n.low); }
words words_of_native(const native& n) {
  return {static_cast<std::uint64_t>(static_cast<unsigned_native>(n) >> 64), static_cast<std::uint64_t>(n)};
}
constexpr operations<native> theirs{native_of, words_of_native};

}  // namespace

TEST_CASE("two words agree with __int128", "[core]") {
  int wrong = 0;
  std::vector<words> seen;
  for_each_pair([&](words x, words y, int places) {
    seen.clear();
    ours.run(x, y, places, [&](words n) { seen.push_back(n); });
    std::size_t at = 0;
    theirs.run(x, y, places, [&](words n) {
      wrong += at < seen.size() && seen[at].high == n.high && seen[at].low == n.low ? 0 : 1;
      ++at;
    });
    wrong += at == seen.size() ? 0 : 1;
    // Sums and products wrap around, which is undefined for the signed type.
    const auto a = static_cast<unsigned_native>(native_of(x)), b = static_cast<unsigned_native>(native_of(y));
    wrong += static_cast<unsigned_native>(native_of(words_of(ours_of(x) + ours_of(y)))) == a + b ? 0 : 1;
    wrong += static_cast<unsigned_native>(native_of(words_of(ours_of(x) - ours_of(y)))) == a - b ? 0 : 1;
    wrong += static_cast<unsigned_native>(native_of(words_of(ours_of(x) * ours_of(y)))) == a * b ? 0 : 1;
  });
  CHECK(wrong == 0);
}
#endif

TEST_CASE("a number just above the middle of two doubles becomes the upper one", "[core]") {
  // 64 bits that end in the middle between two doubles, the lower of which is even: one bit far below decides.
  const std::uint64_t middle = std::uint64_t{1} << 63 | std::uint64_t{1} << 10;
  for (int cut = 1; cut < 64; ++cut) {
    const two_words at = two_words{middle} << (cut - 1);
    for (int bit = 0; bit < cut - 1; ++bit) {
      INFO(cut << ' ' << bit);
      CHECK(static_cast<double>(at + (two_words{1} << bit)) > static_cast<double>(at));
      CHECK(static_cast<double>(at - (two_words{1} << bit)) == static_cast<double>(at));
    }
  }
}
