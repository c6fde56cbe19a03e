// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/core/arithmetic.hpp>
#include <hocket/pipeline/cursor.hpp>
#include <hocket/pipeline/detail/alternation.hpp>
#include <hocket/pipeline/detail/interleaved_order.hpp>
#include <hocket/pipeline/rank_view.hpp>
#include <hocket/pipeline/schedules/groups.hpp>

#include <cstdint>

namespace hocket::inline HOCKET_ABI::pipeline {

/// How far the ranks of an interleaved schedule run ahead.
struct interleaved_options {
  /// Forwards that rank r runs ahead per rank below it: 1 suffices for the least makespan, 2 (Megatron-LM, PyTorch,
  /// Paddle) hides more latency at p - 1 - r activations more. 0: 2, but 1 with least_memory and capped, which allow
  /// no other.
  std::uint32_t kappa = 0;
  /// One forward more before the first backward, so that the two of a step can overlap (Megatron-LM's
  /// expert-parallel overlap). 0 or 1; 0 with least_memory and capped.
  std::uint32_t extra = 0;
};

/// Interleaved 1F1B ("virtual pipeline"): v chunks per rank, so that the pipeline fills v times faster, for every
/// number of micro-batches, also those that p does not divide and those below p. A small value; every question below is
/// answered in O(1) (O(log groups) for groups::list), also in a constant expression.
/// Source: Narayanan et al. 2021, arXiv:2104.04473, for p | m; docs/pipeline.md for the rest, with proofs.
///
///     using namespace hocket::pipeline;
///     constexpr auto plan = interleaved::make({.ranks = 4, .chunks = 2, .micro_batches = 9}).value();
///     static_assert(plan.rank(0).size() == 36 && plan.rank(0)[5] == action(action_kind::forward, 1, 0));
///     constexpr auto lean = interleaved::make({.ranks = 4, .chunks = 2, .micro_batches = 9}, groups::least_memory());
///     static_assert(plan.peak_in_flight(0) == 12 && lean->peak_in_flight(0) == 8);
class interleaved {
 public:
  /// What is known in O(1) about running the lists in order.
  enum class verdict : std::uint8_t {
    optimal,    ///< reaches makespan_bound (least_memory: at its ratio f : b, else it runs but may be longer)
    runs,       ///< runs to the end, above makespan_bound (capped: at capped_makespan_bound)
    deadlocks,  ///< some rank waits for ever
    unknown,    ///< a list with groups smaller than min(m, p): simulate it
  };

  constexpr interleaved() noexcept = default;

  /// Errors: errc::bad_shape; errc::bad_groups if a list does not add up to m or has an empty group; errc::out_of_range
  /// for kappa, extra and a cap that no order of this kind meets; errc::bad_cost for f or b < 1; errc::overflow if p·f
  /// does not fit.
  [[nodiscard]] static constexpr result<interleaved> make(const shape& s, groups g = groups::balanced(),
                                                          const interleaved_options& o = {}) noexcept {
    if (const auto ok = check(s); !ok) return ok.error();
    const bool lean = g.kind() == groups::rule::least_memory || g.kind() == groups::rule::capped;
    if (o.kappa > (lean ? 1u : 2u)) return error{errc::out_of_range, o.kappa, 1, lean ? 1 : 2}.with("kappa");
    if (o.extra > (lean ? 0u : 1u)) return error{errc::out_of_range, o.extra, 0, lean ? 0 : 1}.with("extra");
    interleaved plan;
    plan.ranks_ = static_cast<std::uint32_t>(s.ranks);
    plan.chunks_ = static_cast<std::uint8_t>(s.chunks);
    plan.micro_batches_ = static_cast<std::uint32_t>(s.micro_batches);
    plan.rule_ = g.kind();
    plan.extra_ = static_cast<std::uint8_t>(o.extra);
    plan.kappa_ = static_cast<std::uint8_t>(o.kappa != 0 ? o.kappa : lean ? 1u : 2u);
    if (const auto ok = plan.cut(g); !ok) return ok.error();
    plan.prepare();
    return plan;
  }

  [[nodiscard]] constexpr std::uint32_t ranks() const noexcept { return ranks_; }
  [[nodiscard]] constexpr std::uint32_t chunks() const noexcept { return chunks_; }
  [[nodiscard]] constexpr std::uint32_t micro_batches() const noexcept { return micro_batches_; }
  [[nodiscard]] constexpr loop_placement placement() const noexcept { return {ranks_}; }
  [[nodiscard]] constexpr std::uint32_t kappa() const noexcept { return kappa_; }
  [[nodiscard]] constexpr std::uint32_t extra() const noexcept { return extra_; }
  /// Whether all groups have one size and none is spread.
  [[nodiscard]] constexpr bool even_groups() const noexcept {
    if (rule_ == groups::rule::list) {
      for (std::uint32_t j = 0; j < first_count_; ++j)
        if (shared_.ends[j] != (j + 1) * window_) return false;
      return true;
    }
    return !spread_ && micro_batches_ % window_ == 0 && (first_count_ == 0 || first_size_ == window_) &&
           (first_count_ * first_size_ == micro_batches_ || second_size_ == window_);
  }

  /// Micro-batches of the largest group.
  [[nodiscard]] constexpr std::uint32_t largest_group() const noexcept { return window_ + (wider_ != 0 ? 1 : 0); }

  /// Forwards before forward and backward alternate: min(mv, (v-1)·(largest group) + kappa (p-1-rank) + extra).
  [[nodiscard]] constexpr std::uint32_t warm_up(std::uint32_t rank) const noexcept {
    const std::uint64_t w =
        std::uint64_t{chunks_ - 1u} * window_ + wider_ + std::uint64_t{kappa_} * (ranks_ - 1 - rank) + extra_;
    return w < count() ? static_cast<std::uint32_t>(w) : count();
  }
  /// Activations that the rank holds at most: min(mv, warm_up + 1).
  [[nodiscard]] constexpr std::uint32_t peak_in_flight(std::uint32_t rank) const noexcept { return beat(rank).peak(); }

  /// Whether the lists can run, and how well. O(1).
  [[nodiscard]] constexpr verdict outlook() const noexcept;

  /// Steps of warm-up, steady state and drain.
  [[nodiscard]] constexpr step_counts counts(std::uint32_t rank) const noexcept { return beat(rank).counts(); }

  [[nodiscard]] constexpr std::uint32_t size(std::uint32_t) const noexcept { return 2 * count(); }
  /// Preconditions: rank < ranks(), step < size().
  [[nodiscard]] constexpr action at(std::uint32_t rank, std::uint32_t step) const noexcept {
    if (whole_) return at_whole(rank, step);
    const auto turn = beat(rank).at(step);
    const chunk_batch x = turn.forward ? forward_at(turn.index) : backward_at(turn.index);
    return {turn.forward ? action_kind::forward : action_kind::backward, x.chunk, x.micro_batch};
  }
  /// The step at which the rank runs `a`, or size(rank) if it never does.
  [[nodiscard]] constexpr std::uint32_t step_of(std::uint32_t rank, action a) const noexcept {
    if (a.kind() > action_kind::backward || a.chunk() >= chunks_ || a.micro_batch() >= micro_batches_)
      return size(rank);
    return a.kind() == action_kind::forward ? beat(rank).step_of_forward(forward_index(a.chunk(), a.micro_batch()))
                                            : beat(rank).step_of_backward(backward_index(a.chunk(), a.micro_batch()));
  }
  /// The alternating part of one rank's list, without a condition to guess wrong: `rank(r)[step]` uses it.
  class reader {
   public:
    constexpr reader() noexcept = default;
    /// Precondition: rank < plan.ranks().
    constexpr reader(const interleaved& plan, std::uint32_t rank) noexcept;
    [[nodiscard]] constexpr bool knows(std::uint32_t step) const noexcept { return step - begin_ < length_; }
    /// Precondition: knows(step).
    [[nodiscard]] constexpr action at(std::uint32_t step) const noexcept {
      const std::uint32_t t = step - begin_, backward = t & 1u;
      const std::uint32_t k = (t >> 1) + shift_[backward];
      const form& x = forms_[2 * (k < early_ ? 1u : 0u) + backward];
      const std::uint32_t y = k - x.from;  // its place, and one
      __extension__ using wide = unsigned __int128;
      const auto turn = static_cast<std::uint32_t>(static_cast<wide>(y) * x.factor >> 64);
      const std::uint32_t group = detail::divided_by_chunks(turn, chunks_factor_);
      return action::from_bits(y + turn * x.per_turn + group * x.per_group + x.more);
    }

   private:
    /// Linear in a step's place, and in the turns (of a group through a chunk) and the groups before it.
    struct form {
      std::uint64_t factor = 0;
      std::uint32_t from = 0, per_turn = 0, per_group = 0, more = 0;
    };
    std::uint64_t chunks_factor_ = 0;
    std::uint32_t begin_ = 0, length_ = 0;
    std::uint32_t shift_[2] = {};
    std::uint32_t early_ = 0;
    form forms_[4] = {};
  };

  /// Precondition: rank < ranks().
  [[nodiscard]] constexpr rank_view<interleaved> rank(std::uint32_t rank) const noexcept;

  /// The k-th forward of every rank, and the k-th backward. Precondition: k < m·v.
  [[nodiscard]] constexpr chunk_batch forward_at(std::uint32_t k) const noexcept {
    if (spread_) return spread(false).at(k);
    return rule_ == groups::rule::list ? listed().at(k) : grouped().at(k);
  }
  [[nodiscard]] constexpr chunk_batch backward_at(std::uint32_t k) const noexcept {
    if (spread_) {
      const chunk_batch x = spread(true).at(count() - 1 - k);
      return {x.chunk, micro_batches_ - 1 - x.micro_batch};
    }
    const chunk_batch x = rule_ == groups::rule::list ? listed().at(k) : grouped().at(k);
    return {chunks_ - 1u - x.chunk, x.micro_batch};
  }
  /// The stretches of the order of forwards, and of backwards: see cursor.hpp.
  [[nodiscard]] constexpr alternation rhythm(std::uint32_t rank) const noexcept { return beat(rank); }
  [[nodiscard]] constexpr order_walk walk_from(bool forward, std::uint32_t k) const noexcept;
  [[nodiscard]] constexpr order_run next_run(bool forward, order_walk& walk) const noexcept;
  struct repetition {
    std::uint32_t period = 0;  ///< in pairs of forward and backward; 0: their groups differ in size
    std::uint32_t pairs = 0;   ///< that this holds for
    std::uint32_t later = 0;   ///< micro-batches from one period to the next
  };
  /// How long forwards from index k and backwards from index l go through groups of one size. O(1).
  [[nodiscard]] constexpr repetition repeats_from(std::uint32_t k, std::uint32_t l) const noexcept;
  /// Writes steps from `first` on; returns how many.
  constexpr std::size_t fill(std::uint32_t rank, std::span<action> out, std::uint32_t first) const noexcept {
    return detail::fill_alternating(*this, rank, out, first);
  }

  /// The k of a forward, or backward.
  [[nodiscard]] constexpr std::uint32_t index_of(bool forward, std::uint32_t chunk,
                                                 std::uint32_t micro_batch) const noexcept {
    return forward ? forward_index(chunk, micro_batch) : backward_index(chunk, micro_batch);
  }

 private:
  [[nodiscard]] constexpr std::uint32_t count() const noexcept { return std::uint32_t{chunks_} * micro_batches_; }
  [[nodiscard]] constexpr alternation beat(std::uint32_t rank) const noexcept {
    HOCKET_ASSERT(rank < ranks_);
    return {.count = count(), .warm_up = warm_up(rank)};
  }
  [[nodiscard]] constexpr grouped_order grouped() const noexcept {
    return {chunks_, micro_batches_, first_count_, first_size_, second_size_};
  }
  [[nodiscard]] constexpr listed_order listed() const noexcept { return {chunks_, shared_.ends, first_count_}; }
  /// The order of forwards; mirrored, the one whose reversal the backwards follow.
  [[nodiscard]] constexpr spread_order spread(bool mirrored) const noexcept {
    std::uint32_t head = first_size_, count = 0, size = ranks_, last = second_size_;
    if (rule_ == groups::rule::least_memory) {  // A, p, …, p, Z
      count = (micro_batches_ + ranks_ - 1) / ranks_ - 2;
      if (mirrored) head = second_size_, last = first_size_;
    } else {  // first_count_ groups of first_size_, then of second_size_
      const std::uint32_t seconds = (micro_batches_ - first_count_ * first_size_) / second_size_;
      const bool same = first_count_ == 0;
      if (mirrored) {
        head = size = second_size_, count = seconds - 1, last = same ? second_size_ : first_size_;
      } else {
        head = same ? second_size_ : first_size_;
        size = first_size_, count = same ? 0 : first_count_ - 1;
      }
    }
    return {chunks_, window_, wider_, head, {chunks_, micro_batches_ - head, count, size, last}};
  }
  [[nodiscard]] constexpr std::uint32_t forward_index(std::uint32_t chunk, std::uint32_t j) const noexcept {
    if (spread_) return spread(false).inverse(chunk, j);
    return rule_ == groups::rule::list ? listed().inverse(chunk, j) : grouped().inverse(chunk, j);
  }
  [[nodiscard]] constexpr std::uint32_t backward_index(std::uint32_t chunk, std::uint32_t j) const noexcept {
    if (spread_) return count() - 1 - spread(true).inverse(chunk, micro_batches_ - 1 - j);
    return forward_index(chunks_ - 1u - chunk, j);
  }
  [[nodiscard]] constexpr action at_whole(std::uint32_t rank, std::uint32_t step) const noexcept;
  constexpr void prepare() noexcept;
  [[nodiscard]] constexpr result<void> cut(const groups& g) noexcept;
  [[nodiscard]] constexpr result<void> cut_lean(const groups& g) noexcept;
  [[nodiscard]] constexpr result<void> cut_capped(const groups& g) noexcept;

  std::uint32_t ranks_ = 1;
  std::uint32_t micro_batches_ = 1;
  std::uint32_t first_count_ = 0;  // groups of first_size_; of a list: all groups
  std::uint32_t first_size_ = 1;   // least memory: the head A
  std::uint32_t second_size_ = 1;  // least memory: the tail Z
  std::uint32_t window_ = 1;       // the largest group: the warm-up must cover it, or the lists deadlock
  std::uint8_t chunks_ = 1;
  groups::rule rule_ = groups::rule::balanced;
  std::uint8_t kappa_ = 2;
  std::uint8_t extra_ = 0;
  std::uint8_t wider_ = 0;  // capped: windows that are one larger
  bool spread_ = false;     // least memory with m > p, where groups mix
  bool whole_ = false;      // all groups have first_size_ or second_size_: at() needs no division
  // Division by first_size_, second_size_ and chunks_; lists of groups need none, but their totals.
  std::uint64_t first_factor_ = 0, chunks_factor_ = 0;
  union shared {
    std::uint64_t second_factor = 0;
    const std::uint32_t* ends;
  } shared_{};
};

constexpr rank_view<interleaved> interleaved::rank(std::uint32_t rank) const noexcept { return {*this, rank}; }

constexpr void interleaved::prepare() noexcept {
  whole_ = !spread_ && rule_ != groups::rule::list && (micro_batches_ - first_count_ * first_size_) % second_size_ == 0;
  if (rule_ == groups::rule::list) return;  // the pointer stands there
  first_factor_ = detail::division_factor(first_size_);
  shared_.second_factor = detail::division_factor(second_size_);
  chunks_factor_ = detail::chunks_factor(chunks_);
}

// In one straight line: which op a step is cannot be predicted.
constexpr action interleaved::at_whole(std::uint32_t rank, std::uint32_t step) const noexcept {
  HOCKET_ASSERT(rank < ranks_ && step < size(rank));
  const std::uint32_t n = count(), w = warm_up(rank), t = step - w;
  std::uint32_t backward = t & 1u, k = t / 2 + (w & (backward - 1u));
  if (t >= 2 * (n - w)) [[unlikely]] {  // warm-up, where t has wrapped round, or drain
    backward = step < w ? 0 : 1;
    k = step < w ? step : step - n;
  }
  const std::uint32_t head = first_count_ * first_size_;
  std::uint32_t size_here = second_size_, base = head;
  std::uint64_t factor = shared_.second_factor;
  if (k < head * chunks_) size_here = first_size_, base = 0, factor = first_factor_;
  const std::uint32_t y = k - base * chunks_;
  const std::uint32_t x = detail::divided(y, factor);
  const std::uint32_t group = detail::divided_by_chunks(x, chunks_factor_), c = x - group * chunks_;
  const std::uint32_t j = base + y - (x - group) * size_here;                       // base + group · size + y mod size
  const std::uint32_t chunk = (c ^ (0u - backward)) + (chunks_ & (0u - backward));  // backwards: chunks_ - 1u - c
  constexpr std::uint32_t one = action(action_kind::backward, 0, 0).bits();
  return action::from_bits(action(action_kind::forward, chunk, j).bits() + backward * one);
}

constexpr interleaved::reader::reader(const interleaved& plan, std::uint32_t rank) noexcept {
  if (!plan.whole_) return;
  const std::uint32_t w = plan.warm_up(rank), head = plan.first_count_ * plan.first_size_, v = plan.chunks_;
  constexpr std::uint32_t chunk = action(action_kind::forward, 1, 0).bits(),
                          last_kind = action(action_kind::backward, 0, 0).bits();
  chunks_factor_ = plan.chunks_factor_;
  begin_ = w, length_ = 2 * (plan.count() - w);
  shift_[0] = w;
  early_ = head * v;
  for (const std::uint32_t early : {0u, 1u}) {
    const std::uint32_t size = early != 0 ? plan.first_size_ : plan.second_size_, base = early != 0 ? 0 : head;
    const std::uint64_t factor = early != 0 ? plan.first_factor_ : plan.shared_.second_factor;
    forms_[std::size_t{2} * early] = {factor, base * v - 1, chunk - size, size - v * chunk, base - 1};
    forms_[std::size_t{2} * early + 1] = {factor, base * v - 1, 0u - chunk - size, size + v * chunk,
                                          base - 1 + last_kind + (v - 1) * chunk};
  }
}

constexpr order_walk interleaved::walk_from(bool forward, std::uint32_t k) const noexcept {
  order_walk walk{.next = k};
  if (spread_ || k >= count()) return walk;
  const chunk_batch x = forward_at(k);
  walk.chunk = x.chunk;
  if (rule_ == groups::rule::list) {
    const std::uint32_t g = listed().group_at(k);
    walk.base = g == 0 ? 0 : shared_.ends[g - 1], walk.width = shared_.ends[g] - walk.base;
  } else {
    const std::uint32_t head = first_count_ * first_size_, early = x.micro_batch < head ? 1 : 0;
    const std::uint32_t size = early != 0 ? first_size_ : second_size_, from = early != 0 ? 0 : head;
    walk.base = from + (x.micro_batch - from) / size * size;
    walk.width = micro_batches_ - walk.base < size ? micro_batches_ - walk.base : size;
  }
  static_cast<void>(forward);
  return walk;
}

constexpr order_run interleaved::next_run(bool forward, order_walk& walk) const noexcept {
  const std::uint32_t k = walk.next;
  if (spread_) {
    const chunk_batch x = forward ? forward_at(k) : backward_at(k);
    const std::uint32_t length =
        forward ? spread(false).stretch(k, true) : spread(true).stretch(count() - 1 - k, false);
    walk.next += length;
    return {x.chunk, x.micro_batch, length};
  }
  const std::uint32_t skip = k - (walk.base * chunks_ + walk.chunk * walk.width);  // only after walk_from
  const order_run run{forward ? walk.chunk : chunks_ - 1u - walk.chunk, walk.base + skip, walk.width - skip};
  walk.next += run.length;
  if (++walk.chunk == chunks_) {
    walk.chunk = 0;
    walk.base += walk.width;
    if (walk.base < micro_batches_) {
      if (rule_ == groups::rule::list) walk.width = listed().size_from(walk.base);
      else if (walk.base == first_count_ * first_size_) walk.width = second_size_;
      if (walk.width > micro_batches_ - walk.base) walk.width = micro_batches_ - walk.base;
    }
  }
  return run;
}

constexpr interleaved::repetition interleaved::repeats_from(std::uint32_t k, std::uint32_t l) const noexcept {
  if (spread_ || rule_ == groups::rule::list) return {};
  const std::uint32_t head = first_count_ * first_size_, early = head * chunks_;
  const std::uint32_t all = (head + (micro_batches_ - head) / second_size_ * second_size_) * chunks_;  // whole groups
  const std::uint32_t size = k < early ? first_size_ : second_size_;
  const bool same = size == (l < early ? first_size_ : second_size_);
  const std::uint32_t k_end = k < early ? early : all, l_end = l < early ? early : all;
  if (k >= k_end || l >= l_end) return {};
  return {same ? size * chunks_ : 0, k_end - k < l_end - l ? k_end - k : l_end - l, same ? size : 0};
}

constexpr result<void> interleaved::cut(const groups& g) noexcept {
  const std::uint32_t p = ranks_, m = micro_batches_, whole = m / p, rest = m % p;
  if (g.kind() == groups::rule::list) {
    const auto ends = g.running_totals();
    const error bad{errc::bad_groups, ends.empty() ? 0 : ends.back(), m};
    if (ends.empty() || ends.back() != m || ends.size() > m) return bad;
    window_ = 0;
    for (std::size_t j = 0; j < ends.size(); ++j) {
      const std::uint32_t before = j == 0 ? 0 : ends[j - 1];
      if (ends[j] <= before) return error{errc::invalid_argument, 0}.with("group size");
      if (ends[j] - before > window_) window_ = ends[j] - before;
    }
    shared_.ends = ends.data();
    first_count_ = static_cast<std::uint32_t>(ends.size());
    return {};
  }
  const bool timed = g.kind() == groups::rule::least_memory || g.kind() == groups::rule::capped;
  if (timed && (g.forward() < 1 || g.backward() < 1))
    return error{errc::invalid_argument, g.forward() < 1 ? g.forward() : g.backward()}.with("a time below 1 tick");
  if (g.kind() == groups::rule::capped) return cut_capped(g);
  if (m <= p) {  // one group, whatever the rule
    second_size_ = window_ = m;
    return {};
  }
  switch (g.kind()) {
    case groups::rule::balanced:
      second_size_ = m / whole;
      first_count_ = m % whole;
      first_size_ = second_size_ + 1;
      window_ = second_size_ + (first_count_ != 0 ? 1 : 0);
      return {};
    case groups::rule::last:
      first_count_ = whole - 1;
      first_size_ = p;
      second_size_ = window_ = p + rest;
      return {};
    case groups::rule::first:
      first_count_ = 1;
      first_size_ = window_ = p + rest;
      second_size_ = p;
      return {};
    case groups::rule::paper: second_size_ = window_ = p; return {};
    case groups::rule::least_memory: return cut_lean(g);
    case groups::rule::capped:
    case groups::rule::list: break;
  }
  return {};
}

// Windows of w = cap - p steps in all, as equal as they can be, and groups as equal as they can be that fit the
// smallest window and are long enough to hide the forwards and the backwards of the chunk before.
constexpr result<void> interleaved::cut_capped(const groups& g) noexcept {
  const ticks p = ranks_, m = micro_batches_, v = chunks_;
  const ticks cap = g.cap() < 0 ? 0 : g.cap();   // no order has either; and p can be subtracted
  const ticks full = (v - 1) * (m < p ? m : p);  // with this warm-up the makespan is the least
  if (cap - p >= full || cap >= m * v) {
    rule_ = groups::rule::least_memory;
    return cut(groups::least_memory(g.forward(), g.backward()));
  }
  ticks beat = 0, scaled = 0;
  const ticks longer = g.forward() > g.backward() ? g.forward() : g.backward();
  if (!checked_add(g.forward(), g.backward(), beat) || !checked_multiply(p, longer, scaled))
    return error{errc::overflow, g.forward(), g.backward()}.with("forward + backward");
  const ticks hide = ceil_div(scaled, beat);
  // Fewer, larger groups need larger windows: the smallest window that m can be cut for.
  const ticks most_groups = m / hide, least_window = most_groups == 0 ? p + 1 : ceil_div(m, most_groups);
  const ticks least = (v - 1) * (least_window > hide ? least_window : hide), w = cap - p;
  if (v == 1 || most_groups == 0 || w < least) {
    const ticks possible = v == 1 || most_groups == 0 || least > full ? full : least;
    return error{errc::out_of_range, g.cap(), possible + p < m * v ? possible + p : m * v, m * v}.with(
        "the cap on activations");
  }
  const ticks narrow = w / (v - 1), count = ceil_div(m, narrow);
  window_ = static_cast<std::uint32_t>(narrow);
  wider_ = static_cast<std::uint8_t>(w % (v - 1));
  first_count_ = static_cast<std::uint32_t>(m % count);
  second_size_ = static_cast<std::uint32_t>(m / count);
  first_size_ = second_size_ + (first_count_ != 0 ? 1 : 0);
  spread_ = true;
  return {};
}

// The tail must be long enough for the forwards of one group to hide behind, at this ratio of f and b.
constexpr result<void> interleaved::cut_lean(const groups& g) noexcept {
  const ticks p = ranks_;
  ticks beat = 0, scaled = 0;
  if (!checked_add(g.forward(), g.backward(), beat) || !checked_multiply(p, g.forward(), scaled))
    return error{errc::overflow, g.forward(), g.backward()}.with("forward + backward");
  const std::uint32_t rest = (micro_batches_ - 1) % ranks_ + 1;
  const std::uint32_t hide = static_cast<std::uint32_t>(ceil_div(scaled, beat));
  second_size_ = rest > hide ? rest : hide;
  first_size_ = ranks_ + rest - second_size_;
  window_ = ranks_;
  spread_ = true;
  return {};
}

constexpr interleaved::verdict interleaved::outlook() const noexcept {
  if (rule_ == groups::rule::capped) return verdict::runs;
  const std::uint32_t rest = micro_batches_ % ranks_;
  if (rule_ == groups::rule::paper && micro_batches_ > ranks_ && rest != 0 && chunks_ > 1) {
    // With kappa 1 the order always runs; with 2, exactly these remainders deadlock (docs/pipeline.md, "The paper's
    // order"; tests simulate every shape in their range).
    const bool stuck = kappa_ == 2 && rest + 3 <= ranks_ && std::uint64_t{rest} * (chunks_ - 1) >= 2u + extra_;
    return stuck ? verdict::deadlocks : verdict::runs;
  }
  if (rule_ == groups::rule::list) {
    const std::uint32_t least = micro_batches_ < ranks_ ? micro_batches_ : ranks_;
    for (std::uint32_t j = 0; j < first_count_; ++j)
      if (shared_.ends[j] - (j == 0 ? 0 : shared_.ends[j - 1]) < least)
        return chunks_ == 1 ? verdict::optimal : verdict::unknown;
  }
  return verdict::optimal;
}

}  // namespace hocket::inline HOCKET_ABI::pipeline
