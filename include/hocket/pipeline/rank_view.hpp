// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/pipeline/detail/list_position.hpp>
#include <hocket/pipeline/schedule.hpp>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>  // the lightest standard header that declares enable_view and enable_borrowed_range
#include <type_traits>

namespace hocket::inline HOCKET_ABI::pipeline {

/// The list of one rank as a lazy view: sized, random access, actions by value, nothing stored but the schedule's own
/// few integers. Iterators carry those with them, and outlive the view; a loop reads ahead (detail/list_position.hpp).
/// Works with range-for, `std::ranges` and, with hocket/interop/range_v3.hpp, range-v3.
/// @tparam S  a schedule that is cheap to copy
///
///     constexpr auto plan = hocket::pipeline::one_f_one_b::make({.ranks = 4, .micro_batches = 8}).value();
///     for (hocket::pipeline::action a : plan.rank(0)) run(a);
///     static_assert(plan.rank(3)[1] == hocket::pipeline::action(hocket::pipeline::action_kind::backward, 0, 0));
template <class S>  // not `schedule S`: schedules name their own view before they are complete
class rank_view {
  static_assert(schedule<S>);
  static_assert(std::is_trivially_copyable_v<S>, "rank_view copies the schedule: it must be a small plain value");

 public:
  class iterator {
   public:
    using value_type = std::remove_cvref_t<decltype(std::declval<const S&>().at(0, 0))>;
    using reference = value_type;
    using pointer = void;
    using difference_type = std::ptrdiff_t;
    using iterator_concept = std::random_access_iterator_tag;
    using iterator_category = std::input_iterator_tag;  // C++17 algorithms must not expect an lvalue

    constexpr iterator() noexcept = default;
    constexpr iterator(const S& of_plan, std::uint32_t of_rank, std::uint32_t at_step) noexcept
        : plan_(of_plan), position_(of_plan, of_rank, at_step) {}

    [[nodiscard]] constexpr value_type operator*() const noexcept { return position_.read(plan_); }
    [[nodiscard]] constexpr value_type operator[](difference_type n) const noexcept {
      return plan_.at(position_.rank(), moved(n));
    }
    constexpr iterator& operator++() noexcept {
      position_.advance(plan_);
      return *this;
    }
    constexpr iterator operator++(int) noexcept {
      iterator before = *this;
      ++*this;
      return before;
    }
    constexpr iterator& operator--() noexcept { return *this -= 1; }
    constexpr iterator operator--(int) noexcept {
      iterator before = *this;
      --*this;
      return before;
    }
    constexpr iterator& operator+=(difference_type n) noexcept {
      position_ = detail::list_position<S>(plan_, position_.rank(), moved(n));
      return *this;
    }
    constexpr iterator& operator-=(difference_type n) noexcept { return *this += -n; }
    [[nodiscard]] friend constexpr iterator operator+(iterator i, difference_type n) noexcept { return i += n; }
    [[nodiscard]] friend constexpr iterator operator+(difference_type n, iterator i) noexcept { return i += n; }
    [[nodiscard]] friend constexpr iterator operator-(iterator i, difference_type n) noexcept { return i -= n; }
    [[nodiscard]] friend constexpr difference_type operator-(const iterator& a, const iterator& b) noexcept {
      return static_cast<difference_type>(a.step()) - static_cast<difference_type>(b.step());
    }
    // Iterators of one list are compared by position alone; the schedule is the same by precondition.
    [[nodiscard]] friend constexpr bool operator==(const iterator& a, const iterator& b) noexcept {
      return a.step() == b.step();
    }
    [[nodiscard]] friend constexpr auto operator<=>(const iterator& a, const iterator& b) noexcept {
      return a.step() <=> b.step();
    }

   private:
    [[nodiscard]] constexpr std::uint32_t step() const noexcept { return position_.step(); }
    [[nodiscard]] constexpr std::uint32_t moved(difference_type n) const noexcept {
      return static_cast<std::uint32_t>(static_cast<difference_type>(step()) + n);
    }
    S plan_{};
    detail::list_position<S> position_;
  };
  using const_iterator = iterator;
  using value_type = typename iterator::value_type;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;

  constexpr rank_view() noexcept = default;
  /// Precondition: of_rank < of_plan.ranks().
  constexpr rank_view(const S& of_plan, std::uint32_t of_rank) noexcept : plan_(of_plan), rank_(of_rank) {
    HOCKET_ASSERT(of_rank < of_plan.ranks());
  }

  [[nodiscard]] constexpr iterator begin() const noexcept { return {plan_, rank_, 0}; }
  [[nodiscard]] constexpr iterator end() const noexcept { return {plan_, rank_, plan_.size(rank_)}; }
  [[nodiscard]] constexpr std::size_t size() const noexcept { return plan_.size(rank_); }
  [[nodiscard]] constexpr bool empty() const noexcept { return size() == 0; }
  /// Precondition: step < size(). O(1).
  [[nodiscard]] constexpr value_type operator[](std::size_t step) const noexcept {
    HOCKET_ASSERT(step < size());
    return plan_.at(rank_, static_cast<std::uint32_t>(step));
  }
  [[nodiscard]] constexpr value_type front() const noexcept { return (*this)[0]; }
  [[nodiscard]] constexpr value_type back() const noexcept { return (*this)[size() - 1]; }

  /// The step at which the rank runs `a`, or size() if it never does. O(1): the schedule knows its inverse.
  [[nodiscard]] constexpr std::size_t step_of(value_type a) const noexcept
    requires requires(const S& s, std::uint32_t r) { s.step_of(r, a); }
  {
    return plan_.step_of(rank_, a);
  }

 private:
  S plan_{};
  std::uint32_t rank_ = 0;
};

/// The list of a rank as stage actions, whichever form the schedule stores: for passes, and for code that is the same
/// for every schedule. Borrows the schedule, which must be named.
///
///     for (const hocket::pipeline::stage_action a : hocket::pipeline::stage_list(plan, 0)) run(a);
template <schedule S>
class stage_list {
 public:
  class iterator {
   public:
    using value_type = stage_action;
    using reference = stage_action;
    using pointer = void;
    using difference_type = std::ptrdiff_t;
    using iterator_concept = std::forward_iterator_tag;
    using iterator_category = std::input_iterator_tag;
    constexpr iterator() = default;
    constexpr iterator(const S& of_plan, std::uint32_t of_rank, std::uint32_t at_step)
        : plan_(&of_plan), position_(of_plan, of_rank, at_step) {}
    [[nodiscard]] constexpr stage_action operator*() const {
      return to_stage_action(*plan_, position_.rank(), position_.read(*plan_));
    }
    constexpr iterator& operator++() {
      position_.advance(*plan_);
      return *this;
    }
    constexpr iterator operator++(int) {
      iterator before = *this;
      ++*this;
      return before;
    }
    [[nodiscard]] friend constexpr bool operator==(const iterator& x, const iterator& y) {
      return x.position_.step() == y.position_.step();
    }

   private:
    const S* plan_ = nullptr;
    detail::list_position<S> position_;
  };
  constexpr stage_list() = default;
  /// Precondition: of_rank < of_plan.ranks().
  constexpr stage_list(const S& of_plan, std::uint32_t of_rank) : plan_(&of_plan), rank_(of_rank) {}
  stage_list(const S&& of_plan, std::uint32_t of_rank) = delete;
  [[nodiscard]] constexpr iterator begin() const { return {*plan_, rank_, 0}; }
  [[nodiscard]] constexpr iterator end() const { return {*plan_, rank_, plan_->size(rank_)}; }

 private:
  const S* plan_ = nullptr;
  std::uint32_t rank_ = 0;
};

}  // namespace hocket::inline HOCKET_ABI::pipeline

template <class S>
inline constexpr bool std::ranges::enable_view<hocket::pipeline::rank_view<S>> = true;
template <class S>
inline constexpr bool std::ranges::enable_borrowed_range<hocket::pipeline::rank_view<S>> = true;
template <class S>
inline constexpr bool std::ranges::enable_view<hocket::pipeline::stage_list<S>> = true;
