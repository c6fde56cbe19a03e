// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/pipeline/schedule.hpp>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>  // the lightest standard header that declares enable_view and enable_borrowed_range
#include <type_traits>

namespace hocket::inline HOCKET_ABI::pipeline {

namespace detail {

/// What a view works out once per rank, if the schedule has a `reader` for it: see interleaved::reader.
template <class S>
struct view_reader {
  constexpr view_reader() noexcept = default;
  constexpr view_reader(const S&, std::uint32_t) noexcept {}
};
template <class S>
  requires requires { typename S::reader; }
struct view_reader<S> : S::reader {
  constexpr view_reader() noexcept = default;
  constexpr view_reader(const S& of_plan, std::uint32_t of_rank) noexcept : S::reader(of_plan, of_rank) {}
};

/// Apart, so that a loop over the fast way keeps its registers.
template <class S>
[[gnu::noinline, gnu::cold]] constexpr auto at_the_general_way(const S& plan, std::uint32_t rank,
                                                               std::uint32_t step) noexcept {
  return plan.at(rank, step);
}

}  // namespace detail

/// The list of one rank as a lazy view: sized, random access, actions by value, nothing stored but the schedule's own
/// few integers. Iterators carry those with them and outlive the view. Works with range-for, `std::ranges` and, with
/// hocket/interop/range_v3.hpp, range-v3.
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
        : plan_(of_plan), rank_(of_rank), step_(at_step) {}

    [[nodiscard]] constexpr value_type operator*() const noexcept { return plan_.at(rank_, step_); }
    [[nodiscard]] constexpr value_type operator[](difference_type n) const noexcept {
      return plan_.at(rank_, shifted(n));
    }
    constexpr iterator& operator++() noexcept { return ++step_, *this; }
    constexpr iterator& operator--() noexcept { return --step_, *this; }
    constexpr iterator operator++(int) noexcept {
      iterator before = *this;
      return ++step_, before;
    }
    constexpr iterator operator--(int) noexcept {
      iterator before = *this;
      return --step_, before;
    }
    constexpr iterator& operator+=(difference_type n) noexcept { return step_ = shifted(n), *this; }
    constexpr iterator& operator-=(difference_type n) noexcept { return step_ = shifted(-n), *this; }
    [[nodiscard]] friend constexpr iterator operator+(iterator i, difference_type n) noexcept { return i += n; }
    [[nodiscard]] friend constexpr iterator operator+(difference_type n, iterator i) noexcept { return i += n; }
    [[nodiscard]] friend constexpr iterator operator-(iterator i, difference_type n) noexcept { return i -= n; }
    [[nodiscard]] friend constexpr difference_type operator-(const iterator& a, const iterator& b) noexcept {
      return static_cast<difference_type>(a.step_) - static_cast<difference_type>(b.step_);
    }
    // Iterators of one list are compared by position alone; the schedule is the same by precondition.
    [[nodiscard]] friend constexpr bool operator==(const iterator& a, const iterator& b) noexcept {
      return a.step_ == b.step_;
    }
    [[nodiscard]] friend constexpr auto operator<=>(const iterator& a, const iterator& b) noexcept {
      return a.step_ <=> b.step_;
    }

   private:
    [[nodiscard]] constexpr std::uint32_t shifted(difference_type n) const noexcept {
      return static_cast<std::uint32_t>(static_cast<difference_type>(step_) + n);
    }
    S plan_{};
    std::uint32_t rank_ = 0;
    std::uint32_t step_ = 0;
  };
  using const_iterator = iterator;
  using value_type = typename iterator::value_type;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;

  constexpr rank_view() noexcept = default;
  /// Precondition: of_rank < of_plan.ranks().
  constexpr rank_view(const S& of_plan, std::uint32_t of_rank) noexcept
      : plan_(of_plan), rank_(of_rank), reader_(of_plan, of_rank) {
    HOCKET_ASSERT(of_rank < of_plan.ranks());
  }

  [[nodiscard]] constexpr iterator begin() const noexcept { return {plan_, rank_, 0}; }
  [[nodiscard]] constexpr iterator end() const noexcept { return {plan_, rank_, plan_.size(rank_)}; }
  [[nodiscard]] constexpr std::size_t size() const noexcept { return plan_.size(rank_); }
  [[nodiscard]] constexpr bool empty() const noexcept { return size() == 0; }
  /// Precondition: step < size(). O(1).
  [[nodiscard]] constexpr value_type operator[](std::size_t step) const noexcept {
    HOCKET_ASSERT(step < size());
    const auto here = static_cast<std::uint32_t>(step);
    if constexpr (requires { typename S::reader; }) {
      if (reader_.knows(here)) [[likely]]
        return reader_.at(here);
      return detail::at_the_general_way(plan_, rank_, here);
    } else {
      return plan_.at(rank_, here);
    }
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
  [[no_unique_address]] detail::view_reader<S> reader_{};
};

}  // namespace hocket::inline HOCKET_ABI::pipeline

template <class S>
inline constexpr bool std::ranges::enable_view<hocket::pipeline::rank_view<S>> = true;
template <class S>
inline constexpr bool std::ranges::enable_borrowed_range<hocket::pipeline::rank_view<S>> = true;
