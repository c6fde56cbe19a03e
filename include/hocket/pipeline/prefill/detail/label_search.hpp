// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/int128.hpp>
#include <hocket/pipeline/prefill/detail/line.hpp>
#include <hocket/pipeline/prefill/detail/request_bound.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory_resource>
#include <span>
#include <vector>

namespace hocket::inline HOCKET_ABI::pipeline::detail {

/// The best of all ways to cut, with one chunk per rank: dynamic programming over states that no other state beats.
///
/// After some tokens, a state is when each rank and link is free again (and the sum of ends, for the mean). All that
/// comes later only gets later when a state does, so of two states at one place the one that is nowhere later is
/// enough. What cannot beat the best known value is left out, too. Ends with a proof, or without one when the budget is
/// used.
template <prefill_cost_policy C>
class label_search {
 public:
  label_search(const prefill_problem& problem, const C& costs, std::pmr::memory_resource* memory)
      : problem_(problem),
        costs_(costs),
        line_{costs, problem.stages()},
        width_(line_.width()),
        labels_(memory),
        times_(memory),
        here_(memory),
        room_(width_, 0, memory),
        rest_(memory) {}

  /// @param known  the best value so far; only smaller ones are looked for
  /// @param best   the sizes of a smaller one, if there is one
  /// @return whether nothing smaller than what is known, or found, exists
  template <class Vector>
  [[nodiscard]] bool operator()(int128& known, Vector& best, std::int64_t budget) {
    budget_ = budget;
    labels_.push_back({none, 0, 0});
    times_.assign(width_, 0);
    here_.assign(1, 0);
    for (std::uint32_t r = 0; r < problem_.requests.size(); ++r) {
      if (here_.empty()) return true;
      if (!run_request(r, known)) return false;
    }
    for (const std::uint32_t i : here_) {
      const int128 value = value_of(i);
      if (value >= known) continue;
      known = value;
      write_sizes(i, best);
    }
    return true;
  }

 private:
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  struct label {
    std::uint32_t from;   // the label that it extends
    std::int64_t tokens;  // its last piece
    int128 ends;          // sum over the requests that have ended
  };
  using list = std::pmr::vector<std::uint32_t>;

  [[nodiscard]] std::span<const ticks> times_of(std::uint32_t i) const {
    return std::span(times_).subspan(i * width_, width_);
  }
  [[nodiscard]] int128 value_of(std::uint32_t i) const {
    if (problem_.goal == prefill_goal::mean_end) return labels_[i].ends;
    return times_of(i)[line_.stages - 1];
  }
  /// From the labels before a request to those after it.
  [[nodiscard]] bool run_request(std::uint32_t r, int128 known) {
    const prefill_request& request = problem_.requests[r];
    const piece_limits limits(problem_.sizes, request.tokens);
    const std::int64_t places = (request.tokens + limits.align - 1) / limits.align;
    std::pmr::vector<list> at(static_cast<std::size_t>(places) + 1, list(here_.get_allocator()), here_.get_allocator());
    at[0] = here_;
    find_rest(r, limits, places);
    for (std::int64_t i = 0; i < places; ++i) {
      for (const std::uint32_t from : at[static_cast<std::size_t>(i)]) {
        for (std::int64_t j = i + 1; j <= places; ++j) {
          const bool last = j == places;
          const std::int64_t done = i * limits.align, x = (std::min)(j * limits.align, request.tokens) - done;
          if (last ? x < limits.last_least || x > limits.last_greatest : x < limits.least || x > limits.greatest)
            continue;
          const prefill_piece piece{r, last, request.cached + done, x};
          extend(from, piece, request.arrival, j, known, at[static_cast<std::size_t>(j)]);
          if (budget_ < 0) return false;
        }
      }
    }
    here_ = at.back();
    return true;
  }
  /// rest_[j · stages + s]: the least work of a stage from place j to the end of the request.
  void find_rest(std::uint32_t r, const piece_limits& limits, std::int64_t places) {
    const prefill_request& request = problem_.requests[r];
    const std::uint32_t stages = line_.stages;
    constexpr ticks never = (std::numeric_limits<ticks>::max)() / 4;
    rest_.assign((static_cast<std::size_t>(places) + 1) * stages, never);
    std::fill(rest_.end() - stages, rest_.end(), 0);
    for (std::int64_t i = places; i-- > 0;) {
      for (std::int64_t j = i + 1; j <= places; ++j) {
        const bool last = j == places;
        const std::int64_t done = i * limits.align, x = (std::min)(j * limits.align, request.tokens) - done;
        if (last ? x < limits.last_least || x > limits.last_greatest : x < limits.least || x > limits.greatest)
          continue;
        for (std::uint32_t s = 0; s < stages; ++s) {
          ticks& here = rest_[static_cast<std::size_t>(i) * stages + s];
          const ticks then = rest_[static_cast<std::size_t>(j) * stages + s];
          here = (std::min)(here, then + costs_.duration(s, {r, last, request.cached + done, x}));
        }
      }
    }
  }
  void extend(std::uint32_t from, const prefill_piece& piece, ticks arrival, std::int64_t place, int128 known,
              list& at) {
    budget_ -= static_cast<std::int64_t>(width_);
    const std::span<const ticks> before = times_of(from);
    std::copy(before.begin(), before.end(), room_.begin());
    const ticks end = line_.pass(room_, piece, arrival);
    const int128 ends = labels_[from].ends + (piece.last ? end : 0);
    if (least_value(ends, end, piece, place) >= known) return;
    const auto beats = [&](std::span<const ticks> a, int128 ends_a, std::span<const ticks> b, int128 ends_b) {
      budget_ -= 2;
      if (ends_a > ends_b) return false;
      for (std::size_t i = 0; i < width_; ++i)
        if (a[i] > b[i]) return false;
      return true;
    };
    for (const std::uint32_t other : at)
      if (beats(times_of(other), labels_[other].ends, room_, ends)) return;
    std::size_t kept = 0;
    for (const std::uint32_t other : at)
      if (!beats(room_, ends, times_of(other), labels_[other].ends)) at[kept++] = other;
    at.resize(kept);
    at.push_back(static_cast<std::uint32_t>(labels_.size()));
    labels_.push_back({from, piece.tokens, ends});
    times_.insert(times_.end(), room_.begin(), room_.end());
  }
  /// No value that the new state leads to is smaller: each stage still has the rest of this request to do, and for the
  /// mean all requests after this one end no earlier than it.
  [[nodiscard]] int128 least_value(int128 ends, ticks end, const prefill_piece& piece, std::int64_t place) const {
    ticks last = end;
    for (std::uint32_t s = 0; s < line_.stages; ++s)
      last = (std::max)(last, room_[s] + rest_[static_cast<std::size_t>(place) * line_.stages + s]);
    if (problem_.goal == prefill_goal::last_end) return last;
    const auto later = static_cast<std::int64_t>(problem_.requests.size() - piece.request) - (piece.last ? 1 : 0);
    return ends + int128{last} * later;
  }
  template <class Vector>
  void write_sizes(std::uint32_t i, Vector& best) const {
    best.clear();
    for (; labels_[i].from != none; i = labels_[i].from) best.push_back(labels_[i].tokens);
    std::reverse(best.begin(), best.end());
  }

  const prefill_problem& problem_;
  const C& costs_;
  prefill_line<C> line_;
  std::size_t width_;
  std::pmr::vector<label> labels_;
  std::pmr::vector<ticks> times_;  // of each label: width_ numbers
  list here_;                      // labels at which the request starts
  std::pmr::vector<ticks> room_;   // the state that is tried
  std::pmr::vector<ticks> rest_;
  std::int64_t budget_ = 0;
};

}  // namespace hocket::inline HOCKET_ABI::pipeline::detail
