// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/borrowed.hpp>
#include <hocket/core/ticks.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>

namespace hocket::inline HOCKET_ABI::pipeline {

/// Some tokens of one request, which pass through all stages together: a chunk of chunked prefill. (Here it is a piece,
/// because a chunk is a part of the model.)
struct prefill_piece {
  std::uint32_t request = 0;
  bool last = false;        ///< no tokens of its request come after it
  std::int64_t before = 0;  ///< tokens of its request that are in the cache when it starts
  std::int64_t tokens = 0;  ///< its own, >= 1
};

/// How long pieces take: a policy that a host replaces by its own measurements. All answers are >= 0.
///
/// | member | says |
/// |---|---|
/// | `duration(stage, piece)` | how long the piece occupies the rank of the stage |
/// | `transfer(stage, piece)` | how long its output occupies the link to the next stage; links work one at a time |
/// | `latency(stage)` | the time after that until the next stage has it |
/// | `tail(piece)` | what the last piece of a request adds on the last stage, such as the head |
/// | `overhead(stage, before)` | optional: what each piece pays anew; the rest of the durations adds up to the same |
/// | `parts_are_shorter()` | optional: whether the end of a piece, or its transfer, never takes longer than the whole |
/// | `same_on_all_stages()` | optional: whether the stage makes no difference to durations |
/// | `shortest_stage()` | optional: a stage on which no piece takes longer than on any other; 2^32 - 1: there is none |
///
/// A longer piece takes no less time than a shorter one with the same tokens before it, and overhead does not fall with
/// the tokens before. Between two stages of one rank nothing is transferred. Each border between two ranks has a link
/// of its own. The optional members make the lower bound good for long requests; they must hold for all sizes.
template <class C>
concept prefill_cost_policy = requires(const C& c, std::uint32_t stage, const prefill_piece& piece) {
  { c.duration(stage, piece) } -> std::convertible_to<ticks>;
  { c.transfer(stage, piece) } -> std::convertible_to<ticks>;
  { c.latency(stage) } -> std::convertible_to<ticks>;
  { c.tail(piece) } -> std::convertible_to<ticks>;
};

/// Times of one stage for `prefill_costs`: x tokens after L others take
/// fixed + per_token_before·L + per_token·x + per_pair·(2·L·x + x²), in ticks.
/// `per_token_before` is what each piece does with the cache as a whole, such as expanding a latent cache.
/// `per_pair` is attention: each new token with each token before it, twice, and the new ones with each other.
struct prefill_times {
  double fixed = 0;
  double per_token_before = 0;
  double per_token = 0;
  double per_pair = 0;
  friend constexpr bool operator==(const prefill_times&, const prefill_times&) = default;
};

/// The usual policy: a quadratic for each stage. Times are rounded so that those of the parts of a request add up: only
/// their number and where they are cut make a difference.
/// Source of the formula: ROCm/ATOM, pull request 2007; without `per_token_before` it is the one of SGLang and
/// vllm-ascend (docs/prefill.md).
///
///     const hocket::pipeline::prefill_times stage[] = {{.fixed = 2000, .per_token = 30, .per_pair = 0.001}};
///     const hocket::pipeline::prefill_costs all{.stages = stage, .hop = 100};
///     all.duration(0, {.before = 0, .tokens = 1000}) == 2000 + 30'000 + 1000;
struct prefill_costs {
  borrowed<prefill_times> stages;  ///< one for each stage, or one for all
  ticks hop = 0;                   ///< from one rank to another
  double hop_per_token = 0;        ///< time of a link for each token of a piece
  ticks head = 0;                  ///< of the last piece of a request, on the last stage

  [[nodiscard]] constexpr ticks duration(std::uint32_t stage, const prefill_piece& x) const noexcept {
    const prefill_times& t = of(stage);
    if (!(t.fixed >= 0 && t.per_token_before >= 0 && t.per_token >= 0 && t.per_pair >= 0)) return -1;  // is refused
    return overhead(stage, x.before) + up_to(t, x.before + x.tokens) - up_to(t, x.before);
  }
  [[nodiscard]] constexpr ticks transfer(std::uint32_t, const prefill_piece& x) const noexcept {
    if (!(hop_per_token >= 0)) return -1;
    return whole(hop_per_token * static_cast<double>(x.tokens));
  }
  [[nodiscard]] constexpr ticks latency(std::uint32_t) const noexcept { return hop; }
  [[nodiscard]] constexpr ticks tail(const prefill_piece& x) const noexcept { return x.last ? head : 0; }

  /// It grows with the tokens before the piece.
  [[nodiscard]] constexpr ticks overhead(std::uint32_t stage, std::int64_t before) const noexcept {
    const prefill_times& t = of(stage);
    return whole(t.fixed + t.per_token_before * static_cast<double>(before));
  }
  [[nodiscard]] constexpr bool parts_are_shorter() const noexcept {
    for (const prefill_times& t : stages)
      // The rest of a piece saves per_token a token, and pays per_token_before for it. Rounding may add two ticks.
      if (t.per_token_before != 0 && t.per_token < t.per_token_before + 2) return false;
    return true;
  }
  [[nodiscard]] constexpr bool same_on_all_stages() const noexcept {
    for (const prefill_times& t : stages)
      if (t != stages[0]) return false;
    return true;
  }
  [[nodiscard]] constexpr std::uint32_t shortest_stage() const noexcept {
    const auto at_most = [](const prefill_times& a, const prefill_times& b) {
      return a.fixed <= b.fixed && a.per_token_before <= b.per_token_before && a.per_token <= b.per_token &&
             a.per_pair <= b.per_pair;
    };
    std::uint32_t least = 0;
    for (std::uint32_t s = 1; s < stages.size(); ++s)
      if (at_most(stages[s], stages[least])) least = s;
    for (const prefill_times& t : stages)
      if (!at_most(stages[least], t)) return ~std::uint32_t{0};
    return least;
  }

 private:
  [[nodiscard]] constexpr const prefill_times& of(std::uint32_t stage) const noexcept {
    HOCKET_ASSERT(!stages.empty());
    return stages[stages.size() == 1 ? 0 : stage];
  }
  /// Rounded to the nearest tick; at most 2^60, which is refused elsewhere.
  [[nodiscard]] static constexpr ticks whole(double time) noexcept {
    constexpr double most = 1'152'921'504'606'846'976.0;
    return time < most ? static_cast<ticks>(time + 0.5) : static_cast<ticks>(most);
  }
  /// What the first n tokens of a request take, but for what each piece takes anew.
  [[nodiscard]] static constexpr ticks up_to(const prefill_times& t, std::int64_t n) noexcept {
    const auto x = static_cast<double>(n);
    return whole((t.per_pair * x + t.per_token) * x);
  }
};

}  // namespace hocket::inline HOCKET_ABI::pipeline
