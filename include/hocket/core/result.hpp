// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/detail/sentences.hpp>
#include <hocket/core/error.hpp>

#include <cstdint>
#include <cstdio>  // for the last sentence of a program alone
#include <cstdlib>
#include <optional>  // the lightest header in which both standard libraries declare construct_at: <memory> takes longer
#include <type_traits>
#include <utility>

namespace hocket::inline HOCKET_ABI {

namespace detail {

/// Ends the program with the error's sentence on stderr: the only thing that the library ever prints.
/// Not constexpr: in a constant expression the compiler says that it cannot call it,
[[noreturn]] inline void this_result_has_an_error_and_no_value(const error& e) {
  std::fputs("hocket: value() of a result that has none: ", stderr);
  const auto put = [](char c) { std::fputc(c, stderr); };
  const auto word = [&put](std::string_view letters) {  // plain ASCII alone, which needs no <string> here
    for (const char c : letters) put(c < ' ' || c > '~' ? '?' : c);
  };
  const auto number = [](std::int64_t v) { std::fprintf(stderr, "%lld", static_cast<long long>(v)); };
  detail::render(sentence(e.code), e, put, word, number);
  std::fputc('\n', stderr);
  std::abort();
}
/// and from where: clang prints the arguments of this call, and so the error.
constexpr void require_value(bool has_value, const error& e, [[maybe_unused]] errc code,
                             [[maybe_unused]] std::int64_t first_value) {
  if (!has_value) this_result_has_an_error_and_no_value(e);
}

/// Whether members of T return views of it: T says so.
template <class T>
inline constexpr bool returns_views = requires { requires T::returns_views; };

}  // namespace detail

/// A value, or the reason why there is none. What every call that depends on foreign data returns.
/// `std::expected` in the size we need, for C++20 and constant expressions: test it, then use it like a pointer.
/// @tparam T  an object type; it may be move-only. `result<void>` carries success alone.
///
///     constexpr hocket::result<int> half(int n) {
///       if (n % 2 != 0) return hocket::error{hocket::errc::indivisible, n, 2}.with("n");
///       return n / 2;
///     }
///     static_assert(half(4).value() == 2 && half(3).error().code == hocket::errc::indivisible);
template <class T>
class [[nodiscard]] result {
  // By value where that can be, so that `for (auto x : f().value())` and `const auto& x = *f()` keep it alive.
  using taken = std::conditional_t<std::is_move_constructible_v<T>, T, T&&>;
  static_assert(std::is_object_v<T> && !std::is_same_v<T, hocket::error>,
                "result<T>: T must be a value type other than error");

 public:
  using value_type = T;

  template <class U = T>
    requires std::is_constructible_v<T, U> && (!std::is_same_v<std::remove_cvref_t<U>, result>) &&
                 (!std::is_same_v<std::remove_cvref_t<U>, hocket::error>)
  constexpr explicit(!std::is_convertible_v<U, T>) result(U&& value) : value_(std::forward<U>(value)), has_(true) {}
  constexpr result(const hocket::error& e) noexcept : error_(e), has_(false) {}

  constexpr result(const result& other)
    requires std::is_copy_constructible_v<T>
      : has_(other.has_) {
    if (has_) std::construct_at(std::addressof(value_), other.value_);
    else std::construct_at(std::addressof(error_), other.error_);
  }
  constexpr result(result&& other) noexcept(std::is_nothrow_move_constructible_v<T>) : has_(other.has_) {
    if (has_) std::construct_at(std::addressof(value_), std::move(other.value_));
    else std::construct_at(std::addressof(error_), other.error_);
  }
  constexpr result& operator=(result other) noexcept(std::is_nothrow_move_constructible_v<T>) {
    static_assert(std::is_nothrow_move_constructible_v<T>, "assigning a result needs a T that moves without throwing");
    std::destroy_at(this);
    std::construct_at(this, std::move(other));
    return *this;
  }
  constexpr ~result()
    requires std::is_trivially_destructible_v<T>
  = default;
  constexpr ~result() {
    if (has_) std::destroy_at(std::addressof(value_));
  }

  [[nodiscard]] constexpr bool has_value() const noexcept { return has_; }
  constexpr explicit operator bool() const noexcept { return has_; }

  /// The value; ends the program, with the error's sentence on stderr, if there is none, in every build. In a constant
  /// expression that is a compile error that names the error's code.
  constexpr T& value() & {
    require();
    return value_;
  }
  constexpr const T& value() const& {
    require();
    return value_;
  }
  constexpr taken value() && {
    require();
    return std::move(value_);
  }

  /// The value. Precondition: has_value().
  [[nodiscard]] constexpr T& operator*() & noexcept {
    HOCKET_ASSERT(has_);
    return value_;
  }
  [[nodiscard]] constexpr const T& operator*() const& noexcept {
    HOCKET_ASSERT(has_);
    return value_;
  }
  [[nodiscard]] constexpr taken operator*() && noexcept(std::is_nothrow_move_constructible_v<T>) {
    HOCKET_ASSERT(has_);
    return std::move(value_);
  }
  /// A member of the value. Precondition: has_value(). Of a temporary result it lives to the end of the full
  /// expression: `f()->size` is fine; `auto& kept = f()->list;` and `for (auto x : f()->list)` are not, and no compiler
  /// refuses them. Write `f().value().list`, which keeps what it names, or name the result first. For a T whose members
  /// return views, with `static constexpr bool returns_views = true;`, `->` on a temporary does not compile.
  [[nodiscard]] constexpr T* operator->() & noexcept {
    HOCKET_ASSERT(has_);
    return std::addressof(value_);
  }
  [[nodiscard]] constexpr const T* operator->() const& noexcept {
    HOCKET_ASSERT(has_);
    return std::addressof(value_);
  }
  [[nodiscard]] constexpr T* operator->() && noexcept {
    static_assert(!detail::returns_views<T>,
                  "hocket: -> on a result that is a temporary: what the member returns may refer to it, and it is gone "
                  "at the end of the expression. Write: const auto made = f(...); and then made->member");
    HOCKET_ASSERT(has_);
    return std::addressof(value_);
  }

  /// The reason. Precondition: !has_value().
  [[nodiscard]] constexpr const hocket::error& error() const noexcept {
    HOCKET_ASSERT(!has_);
    return error_;
  }

  template <class U>
  [[nodiscard]] constexpr T value_or(U&& otherwise) const& {
    return has_ ? value_ : static_cast<T>(std::forward<U>(otherwise));
  }

  /// f(value) if there is one, else the same error. `f` must return a result.
  template <class F>
  constexpr auto and_then(F&& f) && -> std::remove_cvref_t<std::invoke_result_t<F, T&&>> {
    if (!has_) return error_;
    return std::forward<F>(f)(std::move(value_));
  }

 private:
  constexpr void require() const {
    if (!has_) [[unlikely]]
      detail::require_value(has_, error_, error_.code, error_.values[0]);
  }
  union {
    T value_;
    hocket::error error_;
  };
  bool has_;
};

/// Success, or the reason why not.
template <>
class [[nodiscard]] result<void> {
 public:
  using value_type = void;
  constexpr result() noexcept = default;
  constexpr result(const hocket::error& e) noexcept : error_(e), has_(false) {}
  [[nodiscard]] constexpr bool has_value() const noexcept { return has_; }
  constexpr explicit operator bool() const noexcept { return has_; }
  constexpr void value() const {
    if (!has_) [[unlikely]]
      detail::require_value(has_, error_, error_.code, error_.values[0]);
  }
  [[nodiscard]] constexpr const hocket::error& error() const noexcept {
    HOCKET_ASSERT(!has_);
    return error_;
  }

 private:
  hocket::error error_{};
  bool has_ = true;
};

namespace detail {

template <class T>
inline constexpr bool is_result = false;
template <class T>
inline constexpr bool is_result<result<T>> = true;

}  // namespace detail

}  // namespace hocket::inline HOCKET_ABI
