// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/pipeline/prefill/detail/cuts.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory_resource>
#include <vector>

namespace hocket::inline HOCKET_ABI::pipeline::detail {

/// What one request needs at least, however it is cut: work of a rank, the way to a rank and from it.
template <prefill_cost_policy C>
class request_bound {
 public:
  /// Up to so many places where a request can be cut, work is found by dynamic programming if the policy does not tell.
  static constexpr std::int64_t most_places = 512;

  request_bound(const prefill_problem& problem, const C& costs, prefill_cuts<C>& cuts,
                std::pmr::memory_resource* memory)
      : problem_(problem),
        costs_(costs),
        cuts_(cuts),
        stages_(problem.stages()),
        parts_are_shorter_(detail::parts_are_shorter(costs)),
        shortest_(shortest_of(costs)),
        least_(stages_, 0, memory),
        to_(problem_.stages() + std::size_t{1}, 0, memory),
        from_(problem_.stages() + std::size_t{1}, 0, memory) {
    if constexpr (tells_overhead) {
      std::pmr::vector<std::int64_t> starts(memory);
      if (cuts.latest_pieces((std::numeric_limits<ticks>::max)(), starts))
        for (std::uint32_t s = 0; s < stages_; ++s) least_[s] = work(s, starts);
    } else {
      find_work(memory);
    }
    find_ways();
  }

  /// Work of a rank, however the request is cut.
  [[nodiscard]] ticks work_of_rank(std::uint32_t rank) const {
    ticks sum = 0;
    for (std::uint32_t s = 0; s < stages_; ++s)
      if (problem_.rank_of(s) == rank) sum += least_[s];
    return sum;
  }
  [[nodiscard]] ticks work(std::uint32_t stage) const { return least_[stage]; }
  /// Work of a stage where pieces do not start before `starts`, counted from the last.
  template <class Vector>
  [[nodiscard]] ticks work(std::uint32_t stage, const Vector& starts) const {
    if constexpr (tells_overhead) {
      const prefill_request& request = cuts_.request();
      // Of times that are too long the bound is lower than it could be.
      ticks sum = capped(costs_.duration(stage, prefill_piece{.before = request.cached, .tokens = request.tokens})) -
                  capped(costs_.overhead(stage, request.cached));
      for (const std::int64_t x : starts) sum += capped(costs_.overhead(stage, request.cached + x));
      return sum;
    } else {
      return least_[stage];
    }
  }
  /// From its arrival until the first piece can start on the first stage of a rank.
  [[nodiscard]] ticks way_to(std::uint32_t rank) const {
    for (std::uint32_t s = 0; s < stages_; ++s)
      if (problem_.rank_of(s) == rank) return to_[s];
    return 0;
  }
  /// From the end of the last stage of a rank until the last piece has left the pipeline, with its tail.
  [[nodiscard]] ticks way_from(std::uint32_t rank) const {
    for (std::uint32_t s = stages_; s-- > 0;)
      if (problem_.rank_of(s) == rank) return from_[s];
    return 0;
  }
  /// No run of this request alone is shorter.
  [[nodiscard]] ticks alone() const {
    ticks most = 0;
    for (std::uint32_t r = 0; r < problem_.ranks; ++r)
      most = (std::max)(most, way_to(r) + work_of_rank(r) + way_from(r));
    return most;
  }
  /// The same where pieces do not start before `starts`, counted from the last.
  template <class Vector>
  [[nodiscard]] ticks alone(const Vector& starts) const {
    ticks most = 0;
    for (std::uint32_t r = 0; r < problem_.ranks; ++r) {
      ticks sum = way_to(r) + way_from(r);
      for (std::uint32_t s = 0; s < stages_; ++s)
        if (problem_.rank_of(s) == r) sum += work(s, starts);
      most = (std::max)(most, sum);
    }
    return most;
  }
  /// Such a run without the longest detour: the work of the shortest stage, but for what is lost in rounding.
  template <class Vector>
  [[nodiscard]] ticks along(const Vector& starts) const {
    const ticks lost = detail::same_on_all_stages(costs_) ? 0 : static_cast<ticks>(starts.size()) + 1;
    return work(shortest_, starts) - lost + tail_;
  }
  /// Whether detours bound: greedy cuts have the fewest pieces, and there is a shortest stage.
  [[nodiscard]] bool uses_detours() const { return parts_are_shorter_ && shortest_ < stages_; }
  /// The stage with the most work.
  [[nodiscard]] std::uint32_t busiest() const {
    return static_cast<std::uint32_t>(std::max_element(least_.begin(), least_.end()) - least_.begin());
  }
  [[nodiscard]] ticks tail() const { return tail_; }

 private:
  static constexpr bool tells_overhead = requires(const C& c) {
    { c.overhead(std::uint32_t{0}, std::int64_t{0}) } -> std::convertible_to<ticks>;
  };

  [[nodiscard]] static std::uint32_t shortest_of(const C& costs) {
    if (detail::same_on_all_stages(costs)) return 0;
    if constexpr (requires { costs.shortest_stage(); }) return costs.shortest_stage();
    else return ~std::uint32_t{0};
  }
  [[nodiscard]] ticks border(std::uint32_t s, const prefill_piece& piece) const {
    if (problem_.rank_of(s) == problem_.rank_of(s + 1)) return 0;
    return capped(costs_.transfer(s, piece)) + capped(costs_.latency(s));
  }
  void find_ways() {
    const prefill_request& request = cuts_.request();
    const std::int64_t n = request.tokens;
    const prefill_piece first{.before = request.cached, .tokens = (std::min)(cuts_.limits().least, n)};
    prefill_piece last{.last = true, .before = request.cached, .tokens = n};
    if (parts_are_shorter_) {
      last.tokens = cuts_.limits().last_least;
      last.before += n - last.tokens;
    }
    tail_ = parts_are_shorter_ ? capped(costs_.tail(last)) : 0;
    for (std::uint32_t s = 0; s + 1 < stages_; ++s)
      to_[s + 1] = to_[s] + capped(costs_.duration(s, first)) + border(s, first);
    from_[stages_ - 1] = tail_;
    for (std::uint32_t s = stages_ - 1; s-- > 0;)
      from_[s] = from_[s + 1] + (parts_are_shorter_ ? capped(costs_.duration(s + 1, last)) + border(s, last) : 0);
  }
  /// least_[s]: the shortest way from 0 to all tokens, where an edge is a piece. O(places²) for each stage.
  void find_work(std::pmr::memory_resource* memory) {
    const piece_limits& limits = cuts_.limits();
    const std::int64_t n = cuts_.request().tokens, places = (n + limits.align - 1) / limits.align;
    if (places > most_places) return;
    constexpr ticks never = (std::numeric_limits<ticks>::max)() / 2;
    std::pmr::vector<ticks> to(static_cast<std::size_t>(places) + 1, never, memory);
    for (std::uint32_t s = 0; s < stages_; ++s) {
      std::fill(to.begin(), to.end(), never);
      to[0] = 0;
      for (std::int64_t i = 0; i < places; ++i) {
        const ticks so_far = to[static_cast<std::size_t>(i)];
        if (so_far == never) continue;
        for (std::int64_t j = i + 1; j <= places; ++j) {
          const std::int64_t x = (std::min)(j * limits.align, n) - i * limits.align;
          if (!fits(x, j == places)) continue;
          const ticks t = costs_.duration(
              s, prefill_piece{.last = j == places, .before = cuts_.request().cached + i * limits.align, .tokens = x});
          ticks& best = to[static_cast<std::size_t>(j)];
          best = (std::min)(best, so_far + t);
        }
      }
      least_[s] = to.back() == never ? 0 : to.back();
    }
  }
  [[nodiscard]] bool fits(std::int64_t x, bool last) const {
    const piece_limits& limits = cuts_.limits();
    return last ? x >= limits.last_least && x <= limits.last_greatest : x >= limits.least && x <= limits.greatest;
  }

  const prefill_problem& problem_;
  const C& costs_;
  const prefill_cuts<C>& cuts_;
  std::uint32_t stages_;
  bool parts_are_shorter_;
  std::uint32_t shortest_;  // stage, or none
  ticks tail_ = 0;
  std::pmr::vector<ticks> least_;  // work of each stage
  std::pmr::vector<ticks> to_;     // by stage
  std::pmr::vector<ticks> from_;   // by stage
};

}  // namespace hocket::inline HOCKET_ABI::pipeline::detail
