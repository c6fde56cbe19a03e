// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/result.hpp>
#include <hocket/planner/detail/random_numbers.hpp>

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace hocket::inline HOCKET_ABI::planner {

/// Lengths from `least` to `most` tokens, each as likely as the others of its range.
struct length_range {
  std::int64_t least = 1, most = 1;
  std::int64_t weight = 1;  ///< how likely the range is beside others
};

/// Documents by their tokens, as a histogram. Draws are whole numbers, the same on every machine.
///
///     // of four documents three have up to 2048 tokens, one up to 32768
///     const length_distribution web{.ranges = {{128, 2048, 3}, {2049, 32768, 1}}, .seed = 7};
struct length_distribution {
  std::vector<length_range> ranges;
  std::uint64_t seed = 0;
};

/// A long tail: each doubling of the length from `least` to `most` is as likely as the others.
/// Precondition: 1 <= least <= most < 2^31.
[[nodiscard]] inline length_distribution doublings(std::int64_t least, std::int64_t most, std::uint64_t seed) {
  HOCKET_ASSERT(least >= 1 && least <= most && most <= (std::numeric_limits<std::int32_t>::max)());
  length_distribution out{{}, seed};
  for (std::int64_t from = least; from <= most; from *= 2)
    out.ranges.push_back({from, from * 2 - 1 < most ? from * 2 - 1 : most, 1});
  return out;
}

/// Errors: errc::out_of_range for a range without lengths, lengths outside of [1, 2^31), weights that add up to 0 or
/// past 2^31 - 1.
[[nodiscard]] inline result<void> check(const length_distribution& x) {
  constexpr std::int64_t max_size = (std::numeric_limits<std::int32_t>::max)();
  std::int64_t weights = 0;
  for (const length_range& r : x.ranges) {
    if (r.least < 1 || r.least > max_size) return error{errc::out_of_range, r.least, 1, max_size}.with("length");
    if (r.most < r.least || r.most > max_size)
      return error{errc::out_of_range, r.most, r.least, max_size}.with("longest length of a range");
    if (r.weight < 0 || r.weight > max_size - weights)
      return error{errc::out_of_range, r.weight, 0, max_size - weights}.with("weight of a range");
    weights += r.weight;
  }
  if (weights < 1) return error{errc::out_of_range, weights, 1, max_size}.with("sum of weights");
  return {};
}

namespace detail {

/// Lengths one after another. Seeds that are close give draws that are not: the seed is mixed (splitmix64).
class length_draws {
 public:
  explicit length_draws(const length_distribution& from) : from_(from), draw_(mixed(from.seed)) {
    for (const length_range& r : from.ranges) weights_ += r.weight;
  }
  [[nodiscard]] std::int64_t operator()() {
    std::int64_t at = draw_.below(static_cast<std::uint32_t>(weights_));
    std::size_t i = 0;
    for (; at >= from_.ranges[i].weight; ++i) at -= from_.ranges[i].weight;
    const length_range& r = from_.ranges[i];
    return r.least + draw_.below(static_cast<std::uint32_t>(r.most - r.least + 1));
  }

 private:
  [[nodiscard]] static std::uint64_t mixed(std::uint64_t x) noexcept {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  }

  const length_distribution& from_;
  random_numbers draw_;
  std::int64_t weights_ = 0;
};

}  // namespace detail

/// Most micro-batches and documents of one draw.
inline constexpr std::int64_t max_drawn = 1 << 20;

/// The documents of each micro-batch, in the order in which they come: one that no longer fits begins the next.
/// @param tokens  of one micro-batch at most; 0: each document is a micro-batch
/// Errors: errc::out_of_range for a length that is not in [1, tokens]. O(documents).
///
///     pack_documents(std::vector<std::int64_t>{3, 1, 2, 4}, 4)    // {3, 1}, {2}, {4}
[[nodiscard]] inline result<std::vector<std::vector<std::int64_t>>> pack_documents(
    std::span<const std::int64_t> lengths, std::int64_t tokens) {
  const std::int64_t most = tokens == 0 ? (std::numeric_limits<std::int32_t>::max)() : tokens;
  std::vector<std::vector<std::int64_t>> out;
  std::int64_t sum = 0;
  for (const std::int64_t length : lengths) {
    if (length < 1 || length > most) return error{errc::out_of_range, length, 1, most}.with("length of a document");
    if (out.empty() || tokens == 0 || length > most - sum) {
      out.emplace_back();
      sum = 0;
    }
    out.back().push_back(length);
    sum += length;
  }
  return out;
}

/// So many micro-batches of documents that are drawn, packed as pack_documents does.
/// @param tokens  as there; longer documents are cut to so many
/// Errors: those of check; errc::out_of_range for a count or a number of tokens that is none; errc::limit_exceeded past
/// max_drawn documents. O(documents x ranges).
[[nodiscard]] inline result<std::vector<std::vector<std::int64_t>>> draw_micro_batches(const length_distribution& from,
                                                                                       std::int64_t tokens,
                                                                                       std::int64_t count) {
  if (const auto ok = check(from); !ok) return ok.error();
  constexpr std::int64_t max_size = (std::numeric_limits<std::int32_t>::max)();
  if (count < 1 || count > max_drawn) return error{errc::out_of_range, count, 1, max_drawn}.with("micro-batches");
  if (tokens < 0 || tokens > max_size) return error{errc::out_of_range, tokens, 0, max_size}.with("tokens");
  detail::length_draws draw(from);
  std::vector<std::vector<std::int64_t>> out(1);
  std::int64_t sum = 0;
  for (std::int64_t drawn = 0; drawn < max_drawn; ++drawn) {
    std::int64_t length = draw();
    if (tokens > 0 && length > tokens) length = tokens;
    if (!out.back().empty() && (tokens == 0 || length > tokens - sum)) {
      if (static_cast<std::int64_t>(out.size()) == count) return out;
      out.emplace_back();
      sum = 0;
    }
    out.back().push_back(length);
    sum += length;
    if (tokens == 0 && static_cast<std::int64_t>(out.size()) == count) return out;
  }
  return error{errc::limit_exceeded, max_drawn + 1, max_drawn}.with("drawn documents");
}

}  // namespace hocket::inline HOCKET_ABI::planner
