// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/pipeline/rank_view.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>  // the lightest standard header that declares enable_view
#include <utility>

namespace hocket::inline HOCKET_ABI::pipeline {

/// What a pass sees at a time: an action, or two that run at once, which nothing may come between.
struct cell {
  stage_action a, b;
  bool pair = false;
};
/// What a pass puts in the place of a cell.
struct pass_output {
  std::array<stage_action, 12> actions{};
  std::uint32_t size = 0;
  constexpr void put(stage_action a) noexcept {
    HOCKET_ASSERT(size < actions.size());
    actions[size++] = a;
  }
  constexpr void put(const cell& c) noexcept {
    put(c.a);
    if (c.pair) put(c.b);
  }
};

namespace detail {

/// Takes a cell off the front of a list.
template <class Iterator, class End>
constexpr cell take_cell(Iterator& i, const End& end) {
  cell c{*i, {}, false};
  ++i;
  if (!c.a.joined() || i == end) return c;
  c.b = *i;
  c.pair = true;
  ++i;
  return c;
}
[[nodiscard]] constexpr bool same_unit(stage_action a, stage_action b) noexcept {
  return a.with_kind(action_kind::idle) == b.with_kind(action_kind::idle);
}
[[nodiscard]] constexpr stage_action alone(stage_action a, action_kind kind) noexcept {
  return {kind, a.stage(), stage_action::no_micro_batch, 0, a.direction()};
}

}  // namespace detail

/// A list as a pass leaves it: lazily, without allocation. A forward range of stage_action over any other, so that
/// passes can be stacked; const, so that it can be walked any number of times.
///
///     const auto plan = hocket::pipeline::zero_bubble::make_h1({.ranks = 4, .micro_batches = 8}).value();
///     for (const stage_action a : after(stage_list(plan, 0), merge_halves{})) run(a);
template <class Range, class Pass>
class pass_view {
  using source = decltype(std::declval<const Range&>().begin());
  using source_end = decltype(std::declval<const Range&>().end());
  static_assert(std::convertible_to<decltype(*std::declval<source&>()), stage_action>,
                "hocket: a pass goes over stage_actions: after(stage_list(plan, rank), pass)");

 public:
  class iterator {
   public:
    using value_type = stage_action;
    using reference = stage_action;
    using pointer = void;
    using difference_type = std::ptrdiff_t;
    using iterator_concept = std::forward_iterator_tag;
    using iterator_category = std::input_iterator_tag;  // C++17 algorithms must not expect an lvalue

    constexpr iterator()
      requires std::default_initializable<Pass>
    = default;
    constexpr iterator(source begin, source_end end, const Pass& pass) : at_(begin), end_(end), pass_(pass) { fill(); }
    [[nodiscard]] constexpr stage_action operator*() const noexcept { return out_.actions[next_]; }
    constexpr iterator& operator++() {
      if (++next_ >= out_.size) fill();
      ++count_;
      return *this;
    }
    constexpr iterator operator++(int) {
      iterator before = *this;
      ++*this;
      return before;
    }
    [[nodiscard]] friend constexpr bool operator==(const iterator& x, std::default_sentinel_t) noexcept {
      return x.next_ >= x.out_.size;
    }
    [[nodiscard]] friend constexpr bool operator==(const iterator& x, const iterator& y) noexcept {
      const bool x_ended = x.next_ >= x.out_.size, y_ended = y.next_ >= y.out_.size;
      return x_ended || y_ended ? x_ended == y_ended : x.count_ == y.count_;
    }

   private:
    constexpr void fill() {
      next_ = 0;
      out_.size = 0;
      while (out_.size == 0 && at_ != end_) {
        const cell c = detail::take_cell(at_, end_);
        pass_.step(c, at_, end_, out_);
      }
      if (out_.size != 0 || finished_) return;
      finished_ = true;
      pass_.finish(out_);
    }
    source at_{};
    source_end end_{};
    Pass pass_;
    pass_output out_{};
    std::uint32_t next_ = 0;
    std::uint64_t count_ = 0;
    bool finished_ = false;
  };

  constexpr pass_view()
    requires std::default_initializable<Range> && std::default_initializable<Pass>
  = default;
  constexpr pass_view(Range list, Pass pass) : list_(std::move(list)), pass_(std::move(pass)) {}
  [[nodiscard]] constexpr iterator begin() const { return {list_.begin(), list_.end(), pass_}; }
  [[nodiscard]] constexpr std::default_sentinel_t end() const noexcept { return {}; }

 private:
  Range list_;
  Pass pass_;
};

/// Stacks a pass on a list. A pass of your own is a copyable struct with
/// `step(const cell& c, Iterator next, End end, pass_output& out)`, called for each cell in order with what
/// follows it, and `finish(pass_output& out)`.
template <class Range, class Pass>
[[nodiscard]] constexpr pass_view<Range, Pass> after(Range list, Pass pass) {
  return {std::move(list), std::move(pass)};
}

/// An input gradient with its weight gradient right behind it becomes one whole backward, which is cheaper to run.
struct merge_halves {
  stage_action taken{};  // a weight gradient that is part of the backward before it
  template <class Iterator, class End>
  constexpr void step(const cell& c, Iterator next, const End& end, pass_output& out) {
    if (!c.pair && c.a.kind() == action_kind::weight_grad && taken == c.a) {
      taken = {};
      return;
    }
    if (!c.pair && c.a.kind() == action_kind::input_grad && next != end) {
      const stage_action follower = *next;
      if (follower.kind() == action_kind::weight_grad && !follower.joined() && detail::same_unit(c.a, follower)) {
        taken = follower;
        return out.put(c.a.with_kind(action_kind::backward));
      }
    }
    out.put(c);
  }
  constexpr void finish(pass_output&) const noexcept {}
};

/// A whole backward becomes an input gradient and a weight gradient, so that a search may move the latter.
struct split_backwards {
  template <class Iterator, class End>
  constexpr void step(const cell& c, Iterator, const End&, pass_output& out) const {
    if (c.pair || c.a.kind() != action_kind::backward) return out.put(c);
    out.put(c.a.with_kind(action_kind::input_grad));
    out.put(c.a.with_kind(action_kind::weight_grad));
  }
  constexpr void finish(pass_output&) const noexcept {}
};

/// A forward with a whole backward of another micro-batch right behind it becomes a pair, which a runtime runs at
/// once so that the communication inside one (of experts, of tensor parallelism) hides behind the other. It wants a
/// schedule with a forward more in its warm-up (`interleaved` with extra 1); without, or with few micro-batches, a pair
/// may wait for itself by way of other ranks: ask `check`.
struct overlap_pairs {
  bool second = false;  // the backward that comes next is part of a pair already
  template <class Iterator, class End>
  constexpr void step(const cell& c, Iterator next, const End& end, pass_output& out) {
    if (!c.pair && !second && c.a.kind() == action_kind::forward && next != end) {
      const stage_action b = *next;
      if (b.kind() == action_kind::backward && !b.joined() &&
          (b.micro_batch() != c.a.micro_batch() || b.direction() != c.a.direction())) {
        second = true;
        return out.put(
            stage_action(action_kind::forward, c.a.stage(), c.a.micro_batch(), c.a.slice(), c.a.direction(), true));
      }
    }
    second = false;
    out.put(c);
  }
  constexpr void finish(pass_output&) const noexcept {}
};

/// Activations are thrown away and computed again: a `recompute` before the backward of every stage whose bit in
/// `chunks` is set.
/// @tparam Placement  of the schedule
template <class Placement>
struct recompute_before_backward {
  Placement place;
  std::uint64_t chunks = ~std::uint64_t{0};  ///< bit c: chunk c of each rank
  template <class Iterator, class End>
  constexpr void step(const cell& c, Iterator, const End&, pass_output& out) const {
    again(c.a, out);
    if (c.pair) again(c.b, out);
    out.put(c);
  }
  constexpr void finish(pass_output&) const noexcept {}

 private:
  constexpr void again(stage_action a, pass_output& out) const {
    if (starts_backward(a.kind()) && (chunks >> place.chunk_of(a.stage()) & 1u) != 0)
      out.put(a.with_kind(action_kind::recompute));
  }
};

/// Activations wait outside the device: an `offload` after each forward and a `reload` a few cells before its
/// backward. An activation that is needed again within `lead` cells stays.
struct offload_activations {
  std::uint32_t lead = 2;  ///< cells between a reload and the backward that needs it, at least 1

  template <class Iterator, class End>
  constexpr void step(const cell& c, Iterator next, const End& end, pass_output& out) const {
    // The cell `lead` cells ahead comes into reach; what it needs and what is not made within reach must come back.
    Iterator i = next;
    cell ahead;
    bool reached = lead == 0;
    if (reached) ahead = c;
    for (std::uint32_t k = 0; k < lead && i != end; ++k) {
      ahead = detail::take_cell(i, end);
      reached = k + 1 == lead;
    }
    if (reached) {
      reload(ahead.a, c, next, end, out);
      if (ahead.pair) reload(ahead.b, c, next, end, out);
    }
    out.put(c);
    offload(c.a, next, end, out);
    if (c.pair) offload(c.b, next, end, out);
  }
  constexpr void finish(pass_output&) const noexcept {}

 private:
  template <class Iterator, class End>
  constexpr void reload(stage_action a, const cell& c, Iterator next, const End& end, pass_output& out) const {
    if (!starts_backward(a.kind())) return;
    const stage_action made = a.with_kind(action_kind::forward);
    if (holds(c, made) || within(made, next, end)) return;
    out.put(a.with_kind(action_kind::reload));
  }
  template <class Iterator, class End>
  constexpr void offload(stage_action a, Iterator next, const End& end, pass_output& out) const {
    if (a.kind() != action_kind::forward) return;
    if (within(a.with_kind(action_kind::backward), next, end) ||
        within(a.with_kind(action_kind::input_grad), next, end))
      return;
    out.put(a.with_kind(action_kind::offload));
  }
  [[nodiscard]] static constexpr bool holds(const cell& c, stage_action wanted) noexcept {
    const auto is = [&](stage_action a) { return a.kind() == wanted.kind() && detail::same_unit(a, wanted); };
    return is(c.a) || (c.pair && is(c.b));
  }
  template <class Iterator, class End>
  [[nodiscard]] constexpr bool within(stage_action wanted, Iterator next, const End& end) const {
    for (std::uint32_t k = 0; k < lead && next != end; ++k)
      if (holds(detail::take_cell(next, end), wanted)) return true;
    return false;
  }
};

/// The gradients of a stage are reduced over its data-parallel group as soon as the last of them is there: a
/// `reduce_grad` after the last backward or weight gradient of each stage.
template <class Placement>
struct reduce_when_done {
  Placement place;
  std::uint32_t per_stage = 1;  ///< micro-batches times slices
  std::array<std::uint32_t, 128> done{};
  template <class Iterator, class End>
  constexpr void step(const cell& c, Iterator, const End&, pass_output& out) {
    out.put(c);
    count(c.a, out);
    if (c.pair) count(c.b, out);
  }
  constexpr void finish(pass_output&) const noexcept {}

 private:
  constexpr void count(stage_action a, pass_output& out) {
    if (!ends_activation(a.kind())) return;
    const std::uint32_t at = place.chunk_of(a.stage()) % 64 + 64 * a.direction();
    if (++done[at] == per_stage) out.put(detail::alone(a, action_kind::reduce_grad));
  }
};

/// The end of a step of training: an `optimizer`, and behind it, if wanted, a `post_validation`. The optimizer then
/// does not wait for the norm of all gradients; a later look takes the step back in the rare case that it was wrong. So
/// steps follow each other without a bubble. Source: Qi et al. 2023, arXiv:2401.10241.
struct end_with_optimizer {
  bool post_validation = false;
  std::uint32_t stage = 0;  ///< under which it is listed: a stage of the rank
  template <class Iterator, class End>
  constexpr void step(const cell& c, Iterator, const End&, pass_output& out) const {
    out.put(c);
  }
  constexpr void finish(pass_output& out) const noexcept {
    out.put({action_kind::optimizer, stage, stage_action::no_micro_batch});
    if (post_validation) out.put({action_kind::post_validation, stage, stage_action::no_micro_batch});
  }
};

}  // namespace hocket::inline HOCKET_ABI::pipeline

template <class Range, class Pass>
inline constexpr bool std::ranges::enable_view<hocket::pipeline::pass_view<Range, Pass>> = true;
