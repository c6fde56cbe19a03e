// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/result.hpp>
#include <hocket/pipeline/placement.hpp>
#include <hocket/pipeline/prefill/costs.hpp>
#include <hocket/pipeline/shape.hpp>

#include <cstdint>
#include <string_view>

namespace hocket::inline HOCKET_ABI::pipeline {

/// A prompt.
struct prefill_request {
  std::int64_t tokens = 0;  ///< to be computed, >= 1
  ticks arrival = 0;        ///< no piece of it starts before, >= 0
  std::int64_t cached = 0;  ///< of the prompt, in the cache already, >= 0
};

/// Which sizes pieces may have. The last piece of a request need not be a multiple of anything, and a request that is
/// shorter than `least` is one piece.
struct prefill_sizes {
  std::int64_t align = 1;     ///< sizes are multiples of it: the page of the cache, or more
  std::int64_t least = 1;     ///< tokens of a piece
  std::int64_t greatest = 0;  ///< tokens of a piece; 0: any number
};

/// Where the stages of a forward-only pipeline are.
enum class prefill_placement : std::uint8_t {
  loop,  ///< each chunk walks over the ranks from first to last (loop_placement)
  v,     ///< odd chunks walk back (v_placement)
};

/// What is to end soon.
enum class prefill_goal : std::uint8_t {
  last_end,  ///< the last request
  mean_end,  ///< the requests on average: least mean time to first token
};

/// Which of its pieces a rank with several chunks runs, if two can start.
enum class prefill_order : std::uint8_t {
  deepest_first,     ///< that of the last stage, and so the oldest
  shallowest_first,  ///< that of the first stage
};

/// Requests that pass through a pipeline without coming back: p ranks, v chunks of the model on each. Every stage runs
/// the requests in the order of the list, and their pieces from first to last.
struct prefill_problem {
  std::int64_t ranks = 1;   ///< p >= 1
  std::int64_t chunks = 1;  ///< v in [1, max_chunks]
  prefill_placement placement = prefill_placement::loop;
  borrowed<prefill_request> requests;  ///< at least one, at most max_prefill_requests
  prefill_sizes sizes{};
  prefill_goal goal = prefill_goal::last_end;

  [[nodiscard]] constexpr std::uint32_t stages() const noexcept { return static_cast<std::uint32_t>(ranks * chunks); }
  [[nodiscard]] constexpr std::uint32_t rank_of(std::uint32_t stage) const noexcept {
    const auto p = static_cast<std::uint32_t>(ranks);
    return placement == prefill_placement::v ? v_placement{p}.rank_of(stage) : loop_placement{p}.rank_of(stage);
  }
};

/// Limits within which no sum of times overflows.
inline constexpr std::int64_t max_prefill_requests = 4096;
inline constexpr std::int64_t max_prefill_pieces = 65'536;
inline constexpr std::int64_t max_prefill_runs = std::int64_t{1} << 20;  ///< pieces times stages
inline constexpr std::int64_t max_prefill_stages = 4096;
inline constexpr std::int64_t max_prefill_stages_in_chunks = 512;          ///< with several chunks on a rank
inline constexpr std::int64_t max_prefill_tokens = std::int64_t{1} << 40;  ///< of one request
inline constexpr ticks max_prefill_time = ticks{1} << 40;                  ///< of one piece on one stage
inline constexpr ticks max_prefill_arrival = ticks{1} << 60;

namespace detail {

/// No sum of such times overflows; run_prefill refuses what was longer.
[[nodiscard]] constexpr ticks capped(ticks t) noexcept { return t < max_prefill_time ? t : max_prefill_time; }

/// Sizes as all code below uses them: pieces but the last in [least, greatest], both multiples of align.
struct piece_limits {
  std::int64_t align = 1;
  std::int64_t least = 1;
  std::int64_t greatest = 0;
  std::int64_t last_least = 1;
  std::int64_t last_greatest = 0;

  constexpr piece_limits(const prefill_sizes& s, std::int64_t tokens) noexcept
      : align(s.align),
        least((s.least + s.align - 1) / s.align * s.align),
        greatest((s.greatest > 0 ? s.greatest : tokens + s.align) / s.align * s.align),
        last_least(s.least < tokens ? s.least : tokens),
        last_greatest(s.greatest > 0 ? s.greatest : tokens) {}

  /// Whether `tokens` can be cut into so many pieces, and if so the sum of all but the last: as large as it can be, so
  /// that the last is short.
  [[nodiscard]] constexpr bool fits(std::int64_t tokens, std::int64_t pieces, std::int64_t& others) const noexcept {
    const std::int64_t n = pieces - 1;
    std::int64_t most = (tokens - last_least) / align * align;
    if (n * greatest < most) most = n * greatest;
    others = most;
    return most >= n * least && tokens - most <= last_greatest && tokens - most >= last_least;
  }
};

/// The fewest pieces into which tokens can be cut; 0 if they cannot. O(1) but for sizes that hardly fit.
[[nodiscard]] constexpr std::int64_t fewest_pieces(const prefill_sizes& s, std::int64_t tokens) noexcept {
  const piece_limits limits(s, tokens);
  std::int64_t others = 0;
  if (limits.fits(tokens, 1, others)) return 1;
  if (limits.greatest < limits.least || limits.greatest == 0) return 0;
  std::int64_t k = 1 + (tokens - limits.last_greatest + limits.greatest - 1) / limits.greatest;
  for (; k <= max_prefill_pieces && (k - 1) * limits.least + limits.last_least <= tokens; ++k)
    if (limits.fits(tokens, k, others)) return k;
  return 0;
}

/// Whether so many pieces can be timed without overflow.
[[nodiscard]] constexpr result<void> check_pieces(std::int64_t pieces, std::int64_t stages) noexcept {
  if (pieces > max_prefill_pieces) return error{errc::limit_exceeded, pieces, max_prefill_pieces}.with("pieces");
  if (pieces * stages > max_prefill_runs)
    return error{errc::limit_exceeded, pieces * stages, max_prefill_runs}.with("pieces times stages");
  return {};
}

}  // namespace detail

/// Success if the problem can be solved, else why not: errc::bad_shape, out_of_range, limit_exceeded, and
/// no_feasible_pieces for a request that sizes do not allow to cut. O(requests).
[[nodiscard]] constexpr result<void> check(const prefill_problem& a) noexcept {
  if (const auto ok = check(shape{.ranks = a.ranks, .chunks = a.chunks}); !ok) return ok;
  const auto within = [](std::int64_t x, std::int64_t least, std::int64_t most, std::string_view what) -> result<void> {
    if (x < least || x > most) return error{errc::out_of_range, x, least, most}.with(what);
    return {};
  };
  constexpr std::int64_t most = max_prefill_tokens;
  const auto count = static_cast<std::int64_t>(a.requests.size());
  if (const auto ok = within(a.ranks * a.chunks, 1, max_prefill_stages, "the number of stages"); !ok) return ok;
  if (a.chunks > 1)
    if (const auto ok = within(a.ranks * a.chunks, 1, max_prefill_stages_in_chunks, "the number of stages, in chunks,");
        !ok)
      return ok;
  if (const auto ok = within(count, 1, max_prefill_requests, "the number of requests"); !ok) return ok;
  if (const auto ok = within(a.sizes.align, 1, most, "the alignment"); !ok) return ok;
  if (const auto ok = within(a.sizes.least, 1, most, "the least piece"); !ok) return ok;
  if (a.sizes.greatest != 0)
    if (const auto ok = within(a.sizes.greatest, a.sizes.least, most, "the greatest piece"); !ok) return ok;
  std::int64_t pieces = 0;
  for (const prefill_request& x : a.requests) {
    if (const auto ok = within(x.tokens, 1, most, "the tokens of a request"); !ok) return ok;
    if (const auto ok = within(x.cached, 0, most, "the cached tokens of a request"); !ok) return ok;
    if (const auto ok = within(x.arrival, 0, max_prefill_arrival, "the arrival of a request"); !ok) return ok;
    const std::int64_t fewest = detail::fewest_pieces(a.sizes, x.tokens);
    if (fewest == 0) return error{errc::no_feasible_pieces, x.tokens, a.sizes.least, a.sizes.greatest, a.sizes.align};
    pieces += fewest;
  }
  return detail::check_pieces(pieces, a.ranks * a.chunks);
}

}  // namespace hocket::inline HOCKET_ABI::pipeline
