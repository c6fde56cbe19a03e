// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Orders of a program within caps of bytes and of time.
#pragma once
#include <hocket/core/ids.hpp>
#include <hocket/core/ticks.hpp>
#include <hocket/graph/detail/byte_bound.hpp>
#include <hocket/graph/detail/byte_cut.hpp>
#include <hocket/graph/detail/byte_gate.hpp>
#include <hocket/graph/detail/byte_order.hpp>
#include <hocket/graph/detail/byte_search.hpp>
#include <hocket/graph/detail/list_schedule.hpp>
#include <hocket/graph/detail/live_values.hpp>
#include <hocket/graph/detail/time_bound.hpp>
#include <hocket/graph/detail/time_search.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::graph::detail {

inline constexpr std::int64_t any_bytes = (std::numeric_limits<std::int64_t>::max)();

// A list and the most bytes that are alive in it.
struct sized_list {
  listed list;
  std::int64_t peak = 0;
};

class issue_solver {
 public:
  issue_solver(const issue_program& p, const live_values& values) : p_(p), values_(values) {
    given_ = sized(program_order(p).run());
    least_time_ = detail::least_time(p);
    byte_bounds bounds = bound_bytes(p.ups, p.downs, values, p.live, p.nodes(), bound_steps);
    least_bytes_ = bounds.least;
    tight_ = greatest_needs(std::move(bounds.at), cuts);
    fast_ = given_;
    listed fast = given_.list;
    improve_time(p, fast, least_time_);
    if (fast.time < given_.list.time) fast_ = sized(std::move(fast));
    if (fast_.list.time > least_time_ && search(fast_, any_bytes)) least_time_ = fast_.list.time;
    if (values.size() != 0 && p.live.size() <= byte_search_ops) (void)smallest();  // a better bound, quickly
  }

  [[nodiscard]] const sized_list& given() const& noexcept { return given_; }
  /// The fastest list that is known, whatever its bytes.
  [[nodiscard]] const sized_list& fastest() const& noexcept { return fast_; }
  [[nodiscard]] ticks least_time() const noexcept { return least_time_; }
  [[nodiscard]] std::int64_t least_bytes() const noexcept { return least_bytes_; }
  void given() const&& = delete;
  void fastest() const&& = delete;

  // The order of the fewest bytes that is known, one op after the other.
  [[nodiscard]] const sized_order& smallest() & {
    if (!small_.order.empty() || p_.live.empty()) return small_;
    byte_orders orders(p_.ups, p_.downs, values_, p_.nodes());
    small_ = orders.small_order(p_.live, least_bytes_);
    if (p_.live.size() <= byte_search_ops && small_.peak > least_bytes_)
      if (byte_search(p_.ups, values_, p_.live, p_.nodes()).improve(small_, search_sets)) least_bytes_ = small_.peak;
    if (p_.live.size() > most_cut_ops) return small_;
    cut();
    orders.shake(small_, least_bytes_, shakes);
    return small_;
  }

  // The fastest list within a cap; nothing if no order within it is known.
  [[nodiscard]] std::optional<sized_list> within(std::int64_t cap) & {
    if (fast_.peak <= cap) return fast_;
    std::optional<sized_list> best;
    if (given_.peak <= cap) best = given_;
    const auto list = [&](std::span<const node_id> reserve) {
      for (const std::vector<ticks>& urgency : {by_chain(), by_fastest()}) {
        byte_gate gate(values_, reserve, p_.nodes(), cap);
        sized_list next = sized(run_list(p_, false, urgency, gate));
        if (!best || next.list.time < best->list.time) best = std::move(next);
      }
    };
    if (peak_in_order(values_, p_.live) <= cap) list(p_.live);
    else if (smallest().peak <= cap) list(smallest().order);
    return best;
  }

  // Proves that no list within the cap is faster, where that is quick, and finds the one that is.
  [[nodiscard]] bool search(sized_list& best, std::int64_t cap) const {
    if (best.list.time == least_time_) return true;
    return search(best, cap, best.list.time);
  }

  // The list of the fewest bytes that takes no more than `most`; precondition: the fastest does.
  [[nodiscard]] sized_list within_time(ticks most) & {
    sized_list best = fast_;
    if (given_.list.time <= most && given_.peak < best.peak) best = given_;
    std::int64_t low = smallest().peak;
    for (int round = 0; round < bisections && low < best.peak; ++round) {
      // The least first: often it costs no time.
      const std::int64_t cap = round == 0 ? low : low + (best.peak - low) / 2;
      std::optional<sized_list> next = within(cap);
      if (next && next->list.time <= most && next->peak < best.peak) best = std::move(*next);
      else low = cap + 1;
    }
    return best;
  }

  // Lists, each faster and larger than the next; the fastest and the smallest are among them, or better ones.
  [[nodiscard]] std::vector<sized_list> front(int points) & {
    std::vector<sized_list> all{fast_, given_};
    const std::int64_t low = smallest().peak, high = (std::max)(low, fast_.peak);
    for (int i = 0; i + 1 < points; ++i) {
      std::optional<sized_list> next = within(low + (high - low) / (points - 1) * i);
      if (!next) continue;
      (void)search(*next, low + (high - low) / (points - 1) * i);
      all.push_back(std::move(*next));
    }
    std::sort(all.begin(), all.end(), [](const sized_list& a, const sized_list& b) {
      return a.list.time != b.list.time ? a.list.time < b.list.time : a.peak < b.peak;
    });
    std::vector<sized_list> out;
    for (sized_list& each : all)
      if (out.empty() || each.peak < out.back().peak) out.push_back(std::move(each));
    return out;
  }

  // Fewest bytes within a time, proved where that is quick: bisection over caps, each searched whole.
  // @return whether it is proved
  [[nodiscard]] bool search_bytes(sized_list& best, ticks most) const {
    std::int64_t low = least_bytes_;
    while (low < best.peak) {
      const std::int64_t cap = low + (best.peak - 1 - low) / 2;
      sized_list next = best;
      const bool proved = search(next, cap, most + 1);
      if (next.list.time <= most && next.peak <= cap) best = std::move(next);
      else if (proved) low = cap + 1;
      else return false;
    }
    return true;
  }

 private:
  static constexpr std::size_t bound_steps = 1'000'000;  // a few milliseconds
  static constexpr std::size_t search_sets = 20'000;     // tens of milliseconds
  static constexpr std::size_t search_steps = 20'000;    // the same
  static constexpr stream_id search_lanes = 8;
  static constexpr int bisections = 12;
  // A cut and a shake of 20,000 ops take about ten milliseconds each.
  static constexpr std::size_t most_cut_ops = 20'000;
  static constexpr std::size_t cuts = 8;  // of each sort
  static constexpr int shakes = 60;

  [[nodiscard]] sized_list sized(listed list) const {
    const auto& start = list.start;
    // By start, of equals as they are: then an order says what is alive when.
    std::vector<std::uint32_t> by_start(list.order.size());
    std::iota(by_start.begin(), by_start.end(), 0u);
    std::sort(by_start.begin(), by_start.end(), [&](std::uint32_t i, std::uint32_t k) {
      const ticks x = start[list.order[i]], y = start[list.order[k]];
      return x != y ? x < y : i < k;
    });
    std::vector<node_id> order;
    order.reserve(by_start.size());
    for (const std::uint32_t i : by_start) order.push_back(list.order[i]);
    list.order = std::move(order);
    const std::int64_t peak = peak_in_time(values_, list.order, list.start, p_.durations);
    return {std::move(list), peak};
  }

  [[nodiscard]] bool search(sized_list& best, std::int64_t cap, ticks below) const {
    constexpr ticks most = (std::numeric_limits<ticks>::max)() / (ticks{2} * search_lanes);
    if (p_.live.size() > time_search_ops || p_.lanes > search_lanes || given_.list.time > most) return false;
    listed list = best.list;
    time_search one(p_, values_, cap, search_steps);
    const bool proved = one.improve(list, below);
    if (list.time < below) best = sized(std::move(list));
    return proved;
  }

  // A better bound, at the ops where the bound so far and the small order need most.
  void cut() {
    std::vector<byte_need> ops = greatest_needs(needs_in_order(values_, small_.order), cuts);
    ops.insert(ops.end(), tight_.begin(), tight_.end());
    for (const byte_need& each : ops) {
      if (least_bytes_ == small_.peak) return;
      least_bytes_ = (std::max)(least_bytes_, least_bytes_at(p_.ups, values_, p_.live, p_.nodes(), each.op));
    }
  }

  [[nodiscard]] std::vector<ticks> by_chain() const {
    std::vector<ticks> urgency(p_.nodes());
    for (const node_id b : p_.live) urgency[b] = p_.tail[b] + p_.durations[b];
    return urgency;
  }
  [[nodiscard]] std::vector<ticks> by_fastest() const {
    std::vector<ticks> urgency(p_.nodes());
    for (const node_id b : p_.live) urgency[b] = fast_.list.time - fast_.list.start[b];
    return urgency;
  }

  const issue_program& p_;     ///< literal: both live as long as the call
  const live_values& values_;  ///< literal
  sized_list given_, fast_;
  sized_order small_;
  std::vector<byte_need> tight_;  // where the bound needs most
  ticks least_time_ = 0;
  std::int64_t least_bytes_ = 0;
};

}  // namespace hocket::inline HOCKET_ABI::graph::detail
