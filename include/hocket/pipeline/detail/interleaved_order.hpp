// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/arithmetic.hpp>
#include <hocket/core/result.hpp>
#include <hocket/pipeline/action.hpp>
#include <hocket/pipeline/detail/group_orders.hpp>
#include <hocket/pipeline/detail/phases.hpp>
#include <hocket/pipeline/schedules/groups.hpp>
#include <hocket/pipeline/shape.hpp>

#include <cstdint>

namespace hocket::inline HOCKET_ABI::pipeline::detail {

/// Micro-batches cut into groups by a rule, and the order of forwards and of backwards that follows: the same on every
/// rank. What interleaved schedules, with whole and with split backwards, have in common.
///
///     forwards of p 2, v 2, m 5, groups of 2 and 3, as chunk.micro-batch:
///     0.0 0.1 | 1.0 1.1 | 0.2 0.3 0.4 | 1.2 1.3 1.4
///
/// | rule               | groups                                              | order                                |
/// |--------------------|-----------------------------------------------------|--------------------------------------|
/// | list               | as given                                            | listed_order, group_count of them    |
/// | spread (see below) | head first_size, …, last second_size                | spread_order                         |
/// | others             | first_count of first_size, the rest of second_size  | grouped_order                        |
class interleaved_order {
 public:
  constexpr interleaved_order() noexcept = default;
  [[nodiscard]] static constexpr result<interleaved_order> make(const shape& s, const groups& g, std::uint32_t kappa,
                                                                std::uint32_t extra) noexcept {
    if (const auto ok = check(s); !ok) return ok.error();
    const bool timed = g.kind() == groups::rule::least_memory || g.kind() == groups::rule::capped;
    if (kappa > (timed ? 1u : 2u)) return error{errc::out_of_range, kappa, 1, timed ? 1 : 2}.with("kappa");
    if (extra > (timed ? 0u : 1u)) return error{errc::out_of_range, extra, 0, timed ? 0 : 1}.with("extra");
    interleaved_order order;
    order.ranks = static_cast<std::uint32_t>(s.ranks);
    order.chunks = static_cast<std::uint32_t>(s.chunks);
    order.micro_batches = static_cast<std::uint32_t>(s.micro_batches);
    order.rule = g.kind();
    order.extra = extra;
    order.kappa = kappa != 0 ? kappa : timed ? 1u : 2u;
    if (const auto ok = order.cut(g); !ok) return ok.error();
    return order;
  }

  std::uint32_t ranks = 1;
  std::uint32_t chunks = 1;
  std::uint32_t micro_batches = 1;
  std::uint32_t kappa = 2;  ///< forwards that a rank runs ahead per rank below it
  std::uint32_t extra = 0;  ///< and in all
  groups::rule rule = groups::rule::balanced;
  bool spread = false;                  ///< least memory with m > p, and capped: groups mix
  std::uint32_t wider = 0;              ///< capped: windows that are one larger
  std::uint32_t window = 1;             ///< the largest group: the warm-up must cover it, or the lists deadlock
  std::uint32_t first_count = 0;        ///< groups of first_size; of a list: all groups
  std::uint32_t first_size = 1;         ///< least memory: the head A
  std::uint32_t second_size = 1;        ///< least memory: the tail Z
  const std::uint32_t* ends = nullptr;  ///< running totals of a list

  [[nodiscard]] constexpr std::uint32_t count() const noexcept { return chunks * micro_batches; }
  /// Micro-batches of the largest group.
  [[nodiscard]] constexpr std::uint32_t largest_group() const noexcept { return window + (wider != 0 ? 1 : 0); }
  /// Whether all groups have one size and none is spread.
  [[nodiscard]] constexpr bool even_groups() const noexcept {
    if (rule == groups::rule::list) return micro_batches == first_count * window;  // none is larger than the window
    return !spread && micro_batches % window == 0 && (first_count == 0 || first_size == window) &&
           (first_count * first_size == micro_batches || second_size == window);
  }
  /// Forwards before forward and backward alternate.
  [[nodiscard]] constexpr std::uint32_t warm_up(std::uint32_t rank) const noexcept {
    const std::uint64_t w =
        std::uint64_t{chunks - 1} * window + wider + std::uint64_t{kappa} * (ranks - 1 - rank) + extra;
    return w < count() ? static_cast<std::uint32_t>(w) : count();
  }

  /// The k-th forward of every rank, or the k-th backward, and those that follow it. Precondition: k < count().
  [[nodiscard]] constexpr order_run at(bool forward, std::uint32_t k) const noexcept {
    if (spread) {
      if (forward) return spread_forwards(false).at(k);
      const order_run x = spread_forwards(true).at(count() - 1 - k);
      return {x.chunk, micro_batches - 1 - x.micro_batch, x.before + 1};
    }
    order_run x = rule == groups::rule::list ? listed().at(k) : grouped().at(k);
    if (!forward) x.chunk = chunks - 1 - x.chunk;
    return x;
  }
  /// The same as actions of a kind.
  [[nodiscard]] constexpr action_run<action> run_from(action_kind kind, std::uint32_t k) const noexcept {
    const order_run x = at(kind == action_kind::forward, k);
    return {action(kind, x.chunk, x.micro_batch), 1, x.length};
  }
  /// Which of the forwards, or backwards, an action is.
  [[nodiscard]] constexpr phase_list::place place_of(action a) const noexcept {
    if (a.chunk() >= chunks || a.micro_batch() >= micro_batches) return {};
    const bool forward = a.kind() == action_kind::forward;
    const std::uint32_t j = a.micro_batch(), c = forward ? a.chunk() : chunks - 1 - a.chunk();
    if (spread && !forward)
      return {a.kind(), 0, count() - 1 - spread_forwards(true).inverse(a.chunk(), micro_batches - 1 - j)};
    if (spread) return {a.kind(), 0, spread_forwards(false).inverse(c, j)};
    return {a.kind(), 0, rule == groups::rule::list ? listed().inverse(c, j) : grouped().inverse(c, j)};
  }

 private:
  [[nodiscard]] constexpr grouped_order grouped() const noexcept {
    return {chunks, micro_batches, first_count, first_size, second_size};
  }
  [[nodiscard]] constexpr listed_order listed() const noexcept { return {chunks, ends, first_count}; }
  /// The order of forwards; mirrored, the one whose reversal the backwards follow.
  [[nodiscard]] constexpr spread_order spread_forwards(bool mirrored) const noexcept {
    const std::uint32_t head = mirrored ? second_size : first_size;
    if (rule == groups::rule::least_memory)  // A, p, …, p, Z
      return {chunks, window, wider, head, {chunks, micro_batches - head, 0, ranks, ranks}};
    // Capped: first_count groups of first_size, then of second_size.
    const std::uint32_t alike = mirrored ? (micro_batches - first_count * first_size) / second_size : first_count;
    const std::uint32_t others = mirrored ? first_size : second_size;
    return {chunks, window, wider, head, {chunks, micro_batches - head, alike > 0 ? alike - 1 : 0, head, others}};
  }

  [[nodiscard]] constexpr result<void> cut(const groups& g) noexcept {
    const std::uint32_t p = ranks, m = micro_batches, whole = m / p, rest = m % p;
    if (g.kind() == groups::rule::list) return cut_as_listed(g);
    const bool timed = g.kind() == groups::rule::least_memory || g.kind() == groups::rule::capped;
    if (timed && (g.forward() < 1 || g.backward() < 1))
      return error{errc::invalid_argument, g.forward() < 1 ? g.forward() : g.backward()}.with("a time below 1 tick");
    if (g.kind() == groups::rule::capped) return cut_for_cap(g);
    if (m <= p) {  // one group, whatever the rule
      second_size = window = m;
      return {};
    }
    switch (g.kind()) {
      case groups::rule::balanced:
        second_size = m / whole;
        first_count = m % whole;
        first_size = second_size + 1;
        window = second_size + (first_count != 0 ? 1 : 0);
        return {};
      case groups::rule::last:
        first_count = whole - 1;
        first_size = p;
        second_size = window = p + rest;
        return {};
      case groups::rule::first:
        first_count = 1;
        first_size = window = p + rest;
        second_size = p;
        return {};
      case groups::rule::paper: second_size = window = p; return {};
      case groups::rule::least_memory: return cut_for_memory(g);
      case groups::rule::capped:
      case groups::rule::list: break;
    }
    return {};
  }

  [[nodiscard]] constexpr result<void> cut_as_listed(const groups& g) noexcept {
    const std::uint32_t m = micro_batches;
    const auto totals = g.running_totals();
    if (totals.empty() || totals.back() != m || totals.size() > m)
      return error{errc::bad_groups, totals.empty() ? 0 : totals.back(), m};
    window = 0;
    for (std::size_t j = 0; j < totals.size(); ++j) {
      const std::uint32_t before = j == 0 ? 0 : totals[j - 1];
      if (totals[j] <= before) return error{errc::invalid_argument, 0}.with("group size");
      if (totals[j] - before > window) window = totals[j] - before;
    }
    ends = totals.data();
    first_count = static_cast<std::uint32_t>(totals.size());
    return {};
  }

  // Windows of w = cap - p steps in all, as equal as they can be. Groups as equal as they can be that fit the smallest
  // window and are long enough to hide the forwards and the backwards of the chunk before.
  [[nodiscard]] constexpr result<void> cut_for_cap(const groups& g) noexcept {
    const ticks p = ranks, m = micro_batches, v = chunks;
    const ticks cap = g.cap() < 0 ? 0 : g.cap();   // no order has either; and p can be subtracted
    const ticks full = (v - 1) * (m < p ? m : p);  // with this warm-up the makespan is the least
    if (cap - p >= full || cap >= m * v) {
      rule = groups::rule::least_memory;
      return cut(groups::least_memory(g.forward(), g.backward()));
    }
    ticks beat = 0, scaled = 0;
    const ticks longer = g.forward() > g.backward() ? g.forward() : g.backward();
    if (!checked_add(g.forward(), g.backward(), beat) || !checked_multiply(p, longer, scaled))
      return error{errc::overflow, g.forward(), g.backward()}.with("forward + backward");
    const ticks hide = ceil_div(scaled, beat);
    // Fewer, larger groups need larger windows: the smallest window that m can be cut for.
    const ticks max_groups = m / hide, least_window = max_groups == 0 ? p + 1 : ceil_div(m, max_groups);
    const ticks least = (v - 1) * (least_window > hide ? least_window : hide), w = cap - p;
    if (v == 1 || max_groups == 0 || w < least) {
      const ticks possible = v == 1 || max_groups == 0 || least > full ? full : least;
      return error{errc::out_of_range, g.cap(), possible + p < m * v ? possible + p : m * v, m * v}.with(
          "the cap on activations");
    }
    const ticks narrow = w / (v - 1), group_count = ceil_div(m, narrow);
    window = static_cast<std::uint32_t>(narrow);
    wider = static_cast<std::uint32_t>(w % (v - 1));
    first_count = static_cast<std::uint32_t>(m % group_count);
    second_size = static_cast<std::uint32_t>(m / group_count);
    first_size = second_size + (first_count != 0 ? 1 : 0);
    spread = true;
    return {};
  }

  // The tail must be long enough for the forwards of one group to hide behind, at this ratio of f and b.
  [[nodiscard]] constexpr result<void> cut_for_memory(const groups& g) noexcept {
    const ticks p = ranks;
    ticks beat = 0, scaled = 0;
    if (!checked_add(g.forward(), g.backward(), beat) || !checked_multiply(p, g.forward(), scaled))
      return error{errc::overflow, g.forward(), g.backward()}.with("forward + backward");
    const std::uint32_t rest = (micro_batches - 1) % ranks + 1;
    const auto hide = static_cast<std::uint32_t>(ceil_div(scaled, beat));
    second_size = rest > hide ? rest : hide;
    first_size = ranks + rest - second_size;
    window = ranks;
    spread = true;
    return {};
  }
};

}  // namespace hocket::inline HOCKET_ABI::pipeline::detail
