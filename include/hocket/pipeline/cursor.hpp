// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/pipeline/detail/alternation.hpp>
#include <hocket/pipeline/facts.hpp>
#include <hocket/pipeline/schedule.hpp>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <type_traits>
#include <utility>

namespace hocket::inline HOCKET_ABI::pipeline {

/// A stretch of an order: `length` ops of one chunk, for micro_batch, then micro_batch + stride, and so on.
struct order_run {
  std::uint32_t chunk = 0;
  std::uint32_t micro_batch = 0;
  std::uint32_t length = 0;
  std::int32_t stride = 1;  ///< 1, or -1
};

/// Where a walk over an order stands, so that the next stretch follows without a division.
struct order_walk {
  std::uint32_t next = 0;   ///< index of the first op of the next stretch
  std::uint32_t chunk = 0;  ///< of the next stretch, counted in the order of forwards
  std::uint32_t base = 0;   ///< first micro-batch of its group
  std::uint32_t width = 0;  ///< micro-batches of its group
};

/// The next `steps` of a list are `period` actions again and again, each time `later` micro-batches later; the last
/// time perhaps not all of them. Period 0: they are not.
struct repeating_steps {
  std::uint32_t period = 0;
  std::uint32_t steps = 0;
  std::uint32_t later = 0;
};

/// A schedule whose ranks run forwards, then forward and backward in turn, then backwards, and that knows the stretches
/// in which micro-batches follow each other: what `rank_cursor` and `fill` walk fast.
template <class S>
concept alternating_schedule = schedule<S> && requires(const S& s, std::uint32_t x, order_walk& walk) {
  { s.rhythm(x) } -> std::same_as<alternation>;
  { s.walk_from(true, x) } -> std::same_as<order_walk>;
  { s.next_run(true, walk) } -> std::same_as<order_run>;
};

namespace detail {

/// A forward walk from stretch to stretch without a division: inside a stretch the next action is the one before the
/// last plus a constant.
template <alternating_schedule S>
class run_cursor {
 public:
  /// Precondition: step <= plan.size(rank). O(1).
  constexpr run_cursor(const S& of_plan, std::uint32_t of_rank, std::uint32_t step) noexcept
      : plan_(of_plan), beat_(of_plan.rhythm(of_rank)) {
    const std::uint32_t n = beat_.count, w = beat_.warm_up;
    bool behind = false;
    if (step < w) forwards_ = step;
    else if (step >= 2 * n - w) forwards_ = n, backwards_ = step - n;
    else forwards_ = w + (step - w) / 2, backwards_ = (step - w) / 2, behind = (step - w) % 2 != 0;
    forward_ = {plan_.walk_from(true, forwards_), 0, 0, 1};
    backward_ = {plan_.walk_from(false, backwards_), 0, 0, 1};
    refill();
    if (behind) ++*this;
  }

  [[nodiscard]] constexpr bool done() const noexcept { return left_ == 0; }
  /// Precondition: not done().
  [[nodiscard]] constexpr action operator*() const noexcept { return action::from_bits(now_); }
  /// Precondition: not done().
  constexpr run_cursor& operator++() noexcept {
    const std::uint32_t after = now_ + step_;
    now_ = next_;
    next_ = after;
    if (--left_ == 0) refill();
    return *this;
  }

  /// The actions until the next turn of a stretch: now(), next(), now() + step(), next() + step(), … in bits.
  [[nodiscard]] constexpr std::uint32_t left() const noexcept { return left_; }
  /// Actions that repeat: the first `length` of `period`, `times` times, each time `later` micro-batches later.
  struct repeat {
    action period[2];
    std::uint32_t length = 1, times = 1, later = 0;
  };
  /// What is left until the next turn of a stretch, or all of it but one; moves on behind it. Precondition: not done().
  constexpr repeat take_repeat() noexcept {
    repeat all{{action::from_bits(now_), action::from_bits(next_)}};
    if (const std::uint32_t stride = next_ - now_; step_ == 2 * stride) {
      all.times = left_, all.later = stride;
    } else if (left_ >= 2) {
      all.length = 2, all.times = left_ / 2, all.later = step_;
      now_ += all.times * step_, next_ += all.times * step_;
    }
    left_ -= all.length * all.times;
    if (left_ == 0) refill();
    return all;
  }
  /// Writes min(left(), room) actions and moves on behind them; returns how many. For bulk users.
  constexpr std::size_t take(action* out, std::size_t room) noexcept {
    const std::size_t count = left_ < room ? left_ : room;
    std::uint32_t a = now_, b = next_;
    std::size_t i = 0;
    for (; i + 8 <= count; i += 8) {
      for (std::uint32_t x = 0; x < 4; ++x) {
        out[i + std::size_t{2} * x] = action::from_bits(a + x * step_);
        out[i + std::size_t{2} * x + 1] = action::from_bits(b + x * step_);
      }
      a += 4 * step_, b += 4 * step_;
    }
    for (; i + 2 <= count; i += 2, a += step_, b += step_)
      out[i] = action::from_bits(a), out[i + 1] = action::from_bits(b);
    if (i < count) {
      out[i] = action::from_bits(a);
      const std::uint32_t after = a + step_;
      a = b, b = after;
    }
    now_ = a, next_ = b;
    left_ -= static_cast<std::uint32_t>(count);
    if (left_ == 0) refill();
    return count;
  }

 private:
  struct lane {
    order_walk walk;
    std::uint32_t bits = 0;
    std::uint32_t left = 0;
    std::uint32_t stride = 1;
  };

  constexpr void load(lane& x, bool forward) noexcept {
    const order_run r = plan_.next_run(forward, x.walk);
    x.bits = action(forward ? action_kind::forward : action_kind::backward, r.chunk, r.micro_batch).bits();
    x.left = r.length;
    x.stride = static_cast<std::uint32_t>(r.stride);
  }
  [[nodiscard]] static constexpr std::uint32_t least(std::uint32_t a, std::uint32_t b) noexcept {
    return a < b ? a : b;
  }
  static constexpr void use(lane& x, std::uint32_t count) noexcept { x.bits += count * x.stride, x.left -= count; }
  constexpr void alone(lane& x, std::uint32_t most) noexcept {
    const std::uint32_t count = least(x.left, most);
    now_ = x.bits, next_ = x.bits + x.stride, step_ = 2 * x.stride, left_ = count;
    use(x, count);
  }
  constexpr void refill() noexcept {
    const std::uint32_t n = beat_.count, w = beat_.warm_up;
    if (forwards_ < n && forward_.left == 0) load(forward_, true);
    if (forwards_ < w) {
      alone(forward_, w - forwards_);
      forwards_ += left_;
      return;
    }
    if (backwards_ < n && backward_.left == 0) load(backward_, false);
    if (forwards_ < n) {
      const std::uint32_t count = least(least(forward_.left, backward_.left), n - forwards_);
      now_ = forward_.bits, next_ = backward_.bits, step_ = 1, left_ = 2 * count;
      use(forward_, count), use(backward_, count);
      forwards_ += count, backwards_ += count;
    } else if (backwards_ < n) {
      alone(backward_, n - backwards_);
      backwards_ += left_;
    }
  }

  std::uint32_t now_ = 0, next_ = 0, step_ = 1, left_ = 0;
  lane forward_, backward_;
  std::uint32_t forwards_ = 0, backwards_ = 0;
  S plan_;
  alternation beat_;
};

/// dst[i] = src[i] with `more` added to its micro-batch.
constexpr void copy_later(action* __restrict dst, const action* __restrict src, std::size_t count,
                          std::uint32_t more) noexcept {
  for (std::size_t i = 0; i < count; ++i) dst[i] = action::from_bits(src[i].bits() + more);
}

/// Adds `more` to the micro-batches of some actions: in a loop of whole vectors, which compilers make of the inner one.
constexpr void move_on(action* list, std::size_t count, std::uint32_t more) noexcept {
  std::size_t i = 0;
  for (; i + 16 <= count; i += 16)
    for (std::size_t x = 0; x < 16; ++x) list[i + x] = action::from_bits(list[i + x].bits() + more);
  for (; i < count; ++i) list[i] = action::from_bits(list[i].bits() + more);
}

/// The actions of a rank from `first` on. While all groups have one size g, the list repeats after g·v forwards and
/// backwards, g micro-batches later: those steps are copied from the period before.
template <alternating_schedule S>
constexpr std::size_t fill_alternating(const S& plan, std::uint32_t rank, std::span<action> out,
                                       std::uint32_t first) noexcept {
  const std::uint32_t size = plan.size(rank);
  if (first >= size) return 0;
  const std::size_t left = size - first, total = out.size() < left ? out.size() : left;
  const alternation beat = plan.rhythm(rank);
  action* const to = out.data();
  std::size_t done = 0;
  run_cursor<S> at(plan, rank, first);
  bool tried = false;  // NOLINT(misc-const-correctness): some schedules have no periods
  while (done < total) {
    const std::uint32_t step = first + static_cast<std::uint32_t>(done);
    if constexpr (requires { plan.repeats_from(step, step); }) {
      if (!tried && step >= beat.warm_up && step < 2 * beat.count - beat.warm_up) {
        const std::uint32_t t = (step - beat.warm_up + 1) / 2;
        // Forwards and backwards that follow in groups of this size, from the next pair on.
        const auto zone = plan.repeats_from(beat.warm_up + t, t);
        const std::size_t period = 2 * std::size_t{zone.period};
        if (zone.period != 0 && zone.pairs > 2 * zone.period && total - done > 2 * period + 2) {
          if ((step - beat.warm_up) % 2 != 0) to[done++] = *at, ++at;
          const std::size_t start = done;
          while (done < start + period) done += at.take(to + done, start + period - done);
          std::size_t end = start + 2 * std::size_t{zone.pairs};
          if (end > total) end = total;
          for (; done < end;) {
            const std::size_t count = end - done < period ? end - done : period;
            copy_later(to + done, to + done - period, count, zone.later);
            done += count;
          }
          if (done < total) at = run_cursor<S>(plan, rank, first + static_cast<std::uint32_t>(done));
          continue;
        }
      }
    }
    done += at.take(to + done, total - done);
  }
  return total;
}

}  // namespace detail

namespace detail {

/// What a cursor knows besides the schedule: where it stands in the stretches, if the schedule has them.
template <class S>
struct cursor_runs {
  constexpr cursor_runs(const S&, std::uint32_t, std::uint32_t) noexcept {}
};
template <alternating_schedule S>
struct cursor_runs<S> : run_cursor<S> {
  using run_cursor<S>::run_cursor;
};

}  // namespace detail

/// A forward walk over the list of one rank that costs little more than reading a written list, for any schedule. It
/// keeps the next actions in a small block. For one-forward-one-backward lists no division happens after the first
/// block, and while all groups have one size the next block is the same some micro-batches later. For others `fill`
/// makes each block, which divides a few times per block at most for all closed forms here. The list's iterator, in
/// contrast, is small and goes anywhere. No allocation; at most 4 KiB on the stack. A schedule that is not a plain
/// small value, such as a table, is borrowed and must outlive the cursor.
///
///     for (const hocket::pipeline::action a : hocket::pipeline::rank_cursor(plan, rank)) run(a);
template <schedule S>
class rank_cursor {
  static constexpr bool in_runs = alternating_schedule<S>;
  using kept = std::conditional_t<std::is_trivially_copyable_v<S>, S, const S&>;

 public:
  using value_type = std::remove_cvref_t<decltype(std::declval<const S&>().at(0, 0))>;

  /// @param step  where the walk begins. Precondition: step <= plan.size(rank). O(1).
  constexpr rank_cursor(const S& of_plan, std::uint32_t of_rank, std::uint32_t step = 0) noexcept
      : runs_(of_plan, of_rank, step), plan_(of_plan), rank_(of_rank), next_(step), size_(of_plan.size(of_rank)) {
    refill();
  }

  rank_cursor(const rank_cursor&) = delete;  // iterators point into it
  rank_cursor& operator=(const rank_cursor&) = delete;

  /// Goes through the list once. Its members stay in registers, which the cursor could not.
  /// @tparam Turn  actions for which the end of the block is asked once
  template <std::size_t Turn>
  class basic_iterator {
   public:
    using value_type = rank_cursor::value_type;
    using difference_type = std::ptrdiff_t;
    using iterator_concept = std::input_iterator_tag;

    constexpr basic_iterator() noexcept = default;
    [[nodiscard]] constexpr value_type operator*() const noexcept { return at_[second_]; }
    constexpr basic_iterator& operator++() noexcept {
      if (Turn == 2 && second_ == 0) {
        second_ = 1;
        return *this;
      }
      second_ = 0;
      at_ += Turn;
      if (at_ == end_) [[unlikely]] {
        of_->refill();
        *this = basic_iterator(*of_);
      }
      return *this;
    }
    constexpr void operator++(int) noexcept { ++*this; }
    [[nodiscard]] friend constexpr bool operator==(const basic_iterator& i, std::default_sentinel_t) noexcept {
      return i.second_ == 0 && i.at_ == i.end_;  // which a compiler knows not to be so after most steps
    }

   private:
    friend class rank_cursor;
    constexpr explicit basic_iterator(rank_cursor& of) noexcept
        : at_(of.list() - of.end_ % Turn), end_(of.list() + of.end_), of_(&of), second_(of.end_ % Turn) {}
    const value_type* at_ = nullptr;
    const value_type* end_ = nullptr;
    rank_cursor* of_ = nullptr;
    std::size_t second_ = 0;  // of the two actions at at_
  };
  // An iterator that knows whether it stands on the first or the second of two actions lets GCC write the body of a
  // loop twice and ask for the end of the block once. Clang does not see it. The choice is part of each name, so that
  // code of both compilers can be linked.
#if defined(__GNUC__) && !defined(__clang__)
  static constexpr std::size_t actions_in_turn = 2;
#else
  static constexpr std::size_t actions_in_turn = 1;
#endif
  using iterator = basic_iterator<actions_in_turn>;

  /// Calls use(action) for the rest of the list: faster still, as each block is a plain loop.
  template <class Use>
  constexpr void for_each(Use&& use) {
    for (; end_ != 0; refill())
      for (std::uint32_t i = 0, count = end_; i < count; ++i) use(list()[i]);
  }

  /// The same by blocks: use(span of the next 1 to 384 actions).
  template <class Use>
  constexpr void for_each_block(Use&& use) {
    for (; end_ != 0; refill()) use(std::span<const value_type>(list(), end_));
  }

  /// Of the first call: where the cursor began.
  template <std::size_t Turn = actions_in_turn>
  [[nodiscard]] constexpr basic_iterator<Turn> begin() noexcept {
    return basic_iterator<Turn>(*this);
  }
  [[nodiscard]] constexpr std::default_sentinel_t end() const noexcept { return {}; }

 private:
  static constexpr std::uint32_t room = 384;
  static constexpr std::uint32_t before = 64 / sizeof(value_type);  // unused: the first of a pair may lie there

  // Not inlined, so that an iterator stays in registers.
  [[gnu::noinline]] constexpr void refill() noexcept {
    if constexpr (!in_runs) {
      end_ = static_cast<std::uint32_t>(fill(plan_, rank_, std::span<value_type>(list(), room), next_));
      next_ += end_;
      return;
    } else {
      if (same_ != 0) {  // the block is some periods: the next is the same, later
        end_ = same_ < length_ ? same_ : length_;
        same_ -= end_;
        next_ += end_;
        detail::move_on(list(), end_, later_);
        behind_ = same_ == 0;
        return;
      }
      if (behind_) runs_ = detail::cursor_runs<S>(plan_, rank_, next_), behind_ = false;
      std::uint32_t count = size_ - next_ < room ? size_ - next_ : room, written = count, later = 0;
      if constexpr (requires { plan_.repeats_from(next_, next_); }) {
        const alternation beat = plan_.rhythm(rank_);
        const std::uint32_t w = beat.warm_up;
        if (next_ < w) {
          if (count > w - next_) count = written = w - next_;  // so that the next block begins with a pair
        } else if (next_ < 2 * beat.count - w && (next_ - w) % 2 == 0) {
          const auto zone = plan_.repeats_from(w + (next_ - w) / 2, (next_ - w) / 2);
          const std::uint32_t period = 2 * zone.period, all = 2 * zone.pairs;
          if (period != 0 && period <= room && all > period) {
            std::uint32_t periods = 1;
            while ((periods + 1) * period <= room) ++periods;
            written = period, later = zone.later, length_ = periods * period, later_ = periods * zone.later;
            count = all < length_ ? all : length_;
            same_ = all - count;
            behind_ = same_ == 0;
          } else if (all != 0 && all < count) {
            count = written = all;  // what follows may repeat
          }
        }
      }
      std::uint32_t filled = 0;
      while (filled < written) filled += static_cast<std::uint32_t>(runs_.take(list() + filled, written - filled));
      if constexpr (requires { plan_.repeats_from(next_, next_); })
        for (; filled < count; filled += written) {
          const std::uint32_t left = count - filled;
          detail::copy_later(list() + filled, list() + (filled - written), left < written ? left : written, later);
        }
      end_ = count;
      next_ += count;
    }
  }

  [[nodiscard]] constexpr value_type* list() noexcept { return block_ + before; }

  alignas(64) value_type block_[before + room];
  std::uint32_t end_ = 0;
  // Where the list repeats: actions that repeat still, of the block that does, and how much later it comes next.
  std::uint32_t same_ = 0, length_ = 0, later_ = 0;
  bool behind_ = false;  // runs_ stands before those
  detail::cursor_runs<S> runs_;
  kept plan_;
  std::uint32_t rank_ = 0, next_ = 0, size_ = 0;
};

}  // namespace hocket::inline HOCKET_ABI::pipeline
