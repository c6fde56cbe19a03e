// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/pipeline/prefill/problem.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory_resource>
#include <vector>

namespace hocket::inline HOCKET_ABI::pipeline::detail {

template <class C>
[[nodiscard]] bool parts_are_shorter(const C& costs) {
  if constexpr (requires { costs.parts_are_shorter(); }) return costs.parts_are_shorter();
  else return false;
}
template <class C>
[[nodiscard]] bool same_on_all_stages(const C& costs) {
  if constexpr (requires { costs.same_on_all_stages(); }) return costs.same_on_all_stages();
  else return false;
}

/// Ways to cut one request whose longest piece is as short as their number of pieces allows, and what that proves.
///
/// A piece that passes all stages while the others wait for it costs its *detour*: its times on all stages and links
/// but the shortest of its stages. With the same time on every stage, and links that are never full, a run lasts as
/// long as the sum of one stage's work and the longest detour (docs/prefill.md, "The bound").
template <prefill_cost_policy C>
class prefill_cuts {
 public:
  prefill_cuts(const prefill_problem& problem, const C& costs, std::uint32_t request)
      : problem_(problem),
        costs_(costs),
        request_(problem.requests[request]),
        limits_(problem.sizes, request_.tokens),
        stages_(problem.stages()),
        alike_(same_on_all_stages(costs)) {
    for (std::uint32_t s = 0; s + 1 < stages_; ++s) crossings_ += problem.rank_of(s) != problem.rank_of(s + 1) ? 1 : 0;
  }

  /// The detour of a piece.
  [[nodiscard]] ticks detour(std::int64_t before, std::int64_t tokens) {
    steps_ += alike_ ? 2 : stages_;
    const prefill_piece piece{.before = request_.cached + before, .tokens = tokens};
    if (alike_) return capped(costs_.duration(0, piece)) * (stages_ - 1) + borders(piece);
    ticks sum = 0, shortest = (std::numeric_limits<ticks>::max)();
    for (std::uint32_t s = 0; s < stages_; ++s) {
      const ticks t = capped(costs_.duration(s, piece));
      sum += t;
      shortest = t < shortest ? t : shortest;
    }
    return sum - shortest + borders(piece);
  }

  /// Cuts from the start into the longest pieces whose detour is at most `most`. Replaces `out`; false if a piece would
  /// be too short, or if there would be more than `pieces`. With `relaxed`, the least size does not bind: then no other
  /// way to cut has fewer pieces, if parts of pieces are shorter.
  /// After false, `next_` is the shortest detour with which any piece would be longer.
  template <class Vector>
  [[nodiscard]] bool cut_within(ticks most, std::int64_t pieces, bool relaxed, Vector& out) {
    out.clear();
    next_ = (std::numeric_limits<ticks>::max)();
    std::int64_t done = 0, guess = limits_.greatest;
    while (done < request_.tokens) {
      if (static_cast<std::int64_t>(out.size()) == pieces) return false;
      const std::int64_t left = request_.tokens - done;
      if (left <= limits_.last_greatest && detour(done, left) <= most) {
        out.push_back(left);
        break;
      }
      std::int64_t x = longest_within(done, left, most, guess);
      const std::int64_t longer = (std::min)(x + limits_.align, left);
      if (longer <= (longer == left ? limits_.last_greatest : limits_.greatest))
        next_ = (std::min)(next_, detour(done, longer));
      if (!relaxed && left - x < limits_.last_least) x = (left - limits_.last_least) / limits_.align * limits_.align;
      if (x < (relaxed ? limits_.align : limits_.least)) return false;
      out.push_back(x);
      done += x;
      guess = x;
    }
    return relaxed || out.back() >= limits_.last_least;
  }

  /// The shortest longest detour of at most so many pieces, with the sizes that have it, looked for in [low, high].
  /// Precondition: `fewest_pieces` is at most `pieces`. @return false if no sizes were found (they hardly fit)
  template <class Vector>
  [[nodiscard]] bool balance(std::int64_t pieces, bool relaxed, ticks low, ticks high, ticks& longest, Vector& out,
                             Vector& scratch) {
    if (!cut_within(high, pieces, relaxed, out)) return false;
    high = longest_of(out);
    while (low < high) {
      const ticks middle = low + (high - low) / 2;
      if (cut_within(middle, pieces, relaxed, scratch)) {
        high = (std::min)(high, longest_of(scratch));
        out.swap(scratch);
      } else {
        low = (std::max)(middle + 1, (std::min)(next_, high));
      }
    }
    longest = high;
    return true;
  }
  /// No detour of any piece is longer.
  [[nodiscard]] ticks longest_detour() {
    return (std::max)(detour(0, request_.tokens), detour(request_.tokens - 1, 1));
  }
  [[nodiscard]] ticks longest_of(const auto& sizes) {
    ticks longest = 0;
    std::int64_t done = 0;
    for (const std::int64_t x : sizes) {
      longest = (std::max)(longest, detour(done, x));
      done += x;
    }
    return longest;
  }

  /// Cuts from the end into the longest pieces whose detour is at most `most`: no cuts into such pieces come earlier,
  /// counted from the end. Replaces `starts` by where pieces start, the last one first; false if there is a piece that
  /// takes longer, however short, or if there are more pieces than any plan has.
  template <class Vector>
  [[nodiscard]] bool latest_pieces(ticks most, Vector& starts) {
    starts.clear();
    std::int64_t end = request_.tokens;
    const std::int64_t unit = limits_.align;
    while (end > 0) {
      const std::int64_t greatest = end == request_.tokens ? limits_.last_greatest : limits_.greatest;
      std::int64_t low = ((std::max)(end - greatest, std::int64_t{0}) + unit - 1) / unit, high = (end - 1) / unit;
      if (low > high || detour(high * unit, end - high * unit) > most) return false;
      // The piece before was about as long: look there first.
      const std::int64_t guess = starts.empty() ? low : (end - (former_end(starts) - starts.back())) / unit;
      if (guess > low && guess < high) {
        if (detour(guess * unit, end - guess * unit) <= most) high = guess;
        else low = guess + 1;
      }
      while (low < high) {
        const std::int64_t middle = low + (high - low) / 2;
        if (detour(middle * unit, end - middle * unit) <= most) high = middle;
        else low = middle + 1;
      }
      end = high * unit;
      if (static_cast<std::int64_t>(starts.size()) == max_prefill_pieces) return false;
      starts.push_back(end);
    }
    return true;
  }
  /// The sizes that belong to such starts.
  template <class Vector>
  void sizes_of(const Vector& starts, Vector& out) const {
    out.clear();
    for (std::size_t i = starts.size(); i-- > 0;) out.push_back((i == 0 ? request_.tokens : starts[i - 1]) - starts[i]);
  }

  /// As many pieces as asked for, of sizes that differ by one unit of alignment at most; false if that is not possible.
  template <class Vector>
  [[nodiscard]] bool cut_evenly(std::int64_t pieces, Vector& out) const {
    std::int64_t others = 0;
    if (!limits_.fits(request_.tokens, pieces, others)) return false;
    out.clear();
    const std::int64_t n = pieces - 1;
    // The last piece is as long as the others, where it may be.
    const std::int64_t fair = request_.tokens / pieces * n / limits_.align * limits_.align;
    const std::int64_t least = (std::max)(n * limits_.least, request_.tokens - limits_.last_greatest);
    others = (std::min)(others, (std::max)(fair, ceil_to_align(least)));
    const std::int64_t units = others / limits_.align;
    for (std::int64_t k = 0; k < n; ++k) out.push_back((units / n + (k < units % n ? 1 : 0)) * limits_.align);
    out.push_back(request_.tokens - others);
    return is_allowed(out);
  }

  /// Whether sizes obey the limits; their sum is not looked at.
  template <class Vector>
  [[nodiscard]] bool is_allowed(const Vector& sizes) const {
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const std::int64_t x = sizes[i];
      const bool last = i + 1 == sizes.size();
      if (last ? x < limits_.last_least || x > limits_.last_greatest
               : x < limits_.least || x > limits_.greatest || x % limits_.align != 0)
        return false;
    }
    return true;
  }

  /// Times of pieces on stages that were looked at so far.
  [[nodiscard]] std::int64_t steps() const noexcept { return steps_; }
  [[nodiscard]] const piece_limits& limits() const noexcept { return limits_; }
  [[nodiscard]] const prefill_request& request() const noexcept { return request_; }

 private:
  /// What a piece needs for all borders between ranks.
  [[nodiscard]] ticks borders(const prefill_piece& piece) const {
    if (alike_) return crossings_ * (capped(costs_.transfer(0, piece)) + capped(costs_.latency(0)));
    ticks sum = 0;
    for (std::uint32_t s = 0; s + 1 < stages_; ++s)
      if (problem_.rank_of(s) != problem_.rank_of(s + 1))
        sum += capped(costs_.transfer(s, piece)) + capped(costs_.latency(s));
    return sum;
  }
  template <class Vector>
  [[nodiscard]] std::int64_t former_end(const Vector& starts) const {
    return starts.size() > 1 ? starts[starts.size() - 2] : request_.tokens;
  }
  [[nodiscard]] std::int64_t ceil_to_align(std::int64_t x) const {
    return (x + limits_.align - 1) / limits_.align * limits_.align;
  }
  /// The longest multiple of the alignment within `most`, below what is left; 0 if there is none. Sizes change slowly
  /// from piece to piece: the search begins at the former one.
  [[nodiscard]] std::int64_t longest_within(std::int64_t done, std::int64_t left, ticks most, std::int64_t guess) {
    const std::int64_t unit = limits_.align;
    const std::int64_t top = (std::min)(limits_.greatest, (left - 1) / unit * unit) / unit;
    std::int64_t low = 0, high = top + 1;  // low fits, high does not, in units
    std::int64_t at = (std::min)(guess / unit, top), step = 1;
    if (at >= 1 && detour(done, at * unit) <= most) {
      low = at;
      while (low + step < high && detour(done, (low + step) * unit) <= most) {
        low += step;
        step *= 2;
      }
      high = (std::min)(high, low + step);
    } else if (at >= 1) {
      high = at;
      while (high - step > 0 && detour(done, (high - step) * unit) > most) {
        high -= step;
        step *= 2;
      }
      low = (std::max)(low, high - step);
    }
    while (high - low > 1) {
      at = low + (high - low) / 2;
      if (detour(done, at * unit) <= most) low = at;
      else high = at;
    }
    return low * unit;
  }

  const prefill_problem& problem_;
  const C& costs_;
  prefill_request request_;
  piece_limits limits_;
  std::uint32_t stages_;
  bool alike_;  // stages
  std::int64_t crossings_ = 0;
  ticks next_ = 0;
  std::int64_t steps_ = 0;
};

}  // namespace hocket::inline HOCKET_ABI::pipeline::detail
