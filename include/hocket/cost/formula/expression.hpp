// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <boost/hana/string.hpp>
#include <hocket/cost/formula/unit.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

/// A formula is an ordinary C++ expression over symbols; its type is its syntax tree. From the one object come its
/// value (evaluate.hpp), its slope (derivative.hpp), its printed forms (print.hpp) and its unit (here, checked as it is
/// built).
namespace hocket::inline HOCKET_ABI::cost {

/// What a node of a formula is.
enum class formula_kind : std::uint8_t { literal, symbol, binary, definition, choice };

/// Every node says so, so that the operators below take formulas and nothing else.
template <class T>
concept formula = requires { typename T::is_formula; };

/// The unit of a formula, as a type: unit_of<decltype(2 * FLOP * h)> is flops.
template <formula E>
using unit_of = typename E::unit;

/// A whole number with a unit. FLOP, byte, element, second and token are the units themselves: `2 * FLOP * b * s * h`.
template <class U>
struct literal {
  using is_formula = void;
  static constexpr formula_kind is = formula_kind::literal;
  using unit = U;
  std::int64_t value;
  constexpr explicit literal(std::int64_t v) noexcept : value(v) {}
};
inline constexpr literal<units::flops> FLOP{1};
inline constexpr literal<units::bytes> byte{1};
inline constexpr literal<units::elements> element{1};
inline constexpr literal<units::seconds> second{1};
inline constexpr literal<units::tokens> token{1};

/// A named quantity. `Letter` says both names: `Letter::key`, a Hana string, is that of the member it is read from,
/// `Letter::c_str()` what it prints as.
template <class Letter, class U = units::pure>
struct symbol {
  using is_formula = void;
  static constexpr formula_kind is = formula_kind::symbol;
  using key = typename Letter::key;
  using letter = Letter;
  using unit = U;
};
namespace detail {
template <class Key, class Printed>
struct letter_of {
  struct type : Printed {
    using key = Key;
  };
};
}  // namespace detail

/// symbol of a member and its letter, the one way to write one:
///
///     inline constexpr auto h = hocket::cost::named(BOOST_HANA_STRING("hidden"), BOOST_HANA_STRING("h"));
template <class U = units::pure, class Key, class Printed>
[[nodiscard]] constexpr symbol<typename detail::letter_of<Key, Printed>::type, U> named(Key, Printed) noexcept {
  return {};
}

enum class arithmetic : std::uint8_t { add, subtract, multiply, divide, least, greatest, divide_up };

namespace detail {
template <arithmetic O, class A, class B>
struct joined {
  using unit = A;  // sums, differences, min, max: both have it, see same_unit
};
template <class A, class B>
struct joined<arithmetic::multiply, A, B> {
  using unit = unit_product<A, B>;
};
template <class A, class B>
struct joined<arithmetic::divide, A, B> {
  using unit = unit_quotient<A, B>;
};
template <class A, class B>
struct joined<arithmetic::divide_up, A, B> {
  using unit = unit_quotient<A, B>;
};

// A plain list of values of any types. std::tuple would do, at ten times the compile time: formulas are big types.
template <std::size_t At, class T>
struct leaf {
  T value;
};
template <class Indices, class... T>
struct leaves;
template <std::size_t... At, class... T>
struct leaves<std::index_sequence<At...>, T...> : leaf<At, T>... {};
template <std::size_t At, class T>
constexpr const T& leaf_at(const leaf<At, T>& l) noexcept {
  return l.value;
}
}  // namespace detail

/// Values of different types, in order.
template <class... T>
using pack = detail::leaves<std::index_sequence_for<T...>, T...>;

/// Calls f(value) on each, in order.
template <std::size_t... At, class... T, class F>
constexpr void for_each_in(const detail::leaves<std::index_sequence<At...>, T...>& list, F&& f) {
  (f(static_cast<const detail::leaf<At, T>&>(list).value), ...);
}

// Nodes are members of templates, not templates themselves: for an operator between two of those the compiler would
// look through all of their arguments, the whole of both formulas, for namespaces that may have such an operator.
template <arithmetic O, class L, class R>
struct binary_of {
  struct type {
    using is_formula = void;
    static constexpr formula_kind is = formula_kind::binary;
    static constexpr arithmetic join = O;
    using unit = typename detail::joined<O, typename L::unit, typename R::unit>::unit;
    L left;
    R right;
  };
};
template <class Letter, class E>
struct definition_of {
  struct type {
    using is_formula = void;
    static constexpr formula_kind is = formula_kind::definition;
    using letter = Letter;
    using unit = unit_of<E>;
    E body;
  };
};
template <class Selector, class First, class... Rest>
struct choice_of {
  struct type {
    using is_formula = void;
    static constexpr formula_kind is = formula_kind::choice;
    using unit = unit_of<First>;
    Selector selector;
    pack<First, Rest...> cases;
  };
};

/// Two formulas joined by an operation.
template <arithmetic O, class L, class R>
using binary = typename binary_of<O, L, R>::type;

/// A formula with a name of its own: it prints as the letter, and once in full ("where kappa = …").
template <class Letter, class E>
using definition = typename definition_of<Letter, E>::type;
template <class Letter, formula E>
[[nodiscard]] constexpr definition<Letter, E> define(Letter, const E& e) noexcept {
  return {e};
}

/// The case whose number (from 0) the selector has; prints as that case alone once numbers are known.
template <class Selector, class... Cases>
using choice = typename choice_of<Selector, Cases...>::type;

namespace detail {
template <class L, class R>
struct same_unit {
  static_assert(std::is_same_v<L, R>,
                "hocket::cost: both sides of +, -, min, max and all cases of choose must have one unit; multiply by a "
                "conversion such as bytes per element first");
  static constexpr bool value = true;
};
constexpr literal<units::pure> lift(std::int64_t n) noexcept { return literal<units::pure>(n); }
template <formula E>
constexpr const E& lift(const E& e) noexcept {
  return e;
}
template <arithmetic O, class L, class R>
constexpr binary<O, L, R> join(const L& l, const R& r) noexcept {
  if constexpr (O != arithmetic::divide_up) static_assert(same_unit<unit_of<L>, unit_of<R>>::value);
  return {l, r};
}
template <class T>
using lifted = std::remove_cvref_t<decltype(lift(std::declval<const T&>()))>;
}  // namespace detail

template <formula L, formula R>
[[nodiscard]] constexpr binary<arithmetic::add, L, R> operator+(const L& l, const R& r) noexcept {
  static_assert(detail::same_unit<unit_of<L>, unit_of<R>>::value);
  return {l, r};
}
template <formula L>
[[nodiscard]] constexpr binary<arithmetic::add, L, literal<units::pure>> operator+(const L& l,
                                                                                   std::int64_t r) noexcept {
  static_assert(detail::same_unit<unit_of<L>, units::pure>::value);
  return {l, literal<units::pure>(r)};
}
template <formula R>
[[nodiscard]] constexpr binary<arithmetic::add, literal<units::pure>, R> operator+(std::int64_t l,
                                                                                   const R& r) noexcept {
  static_assert(detail::same_unit<units::pure, unit_of<R>>::value);
  return {literal<units::pure>(l), r};
}
template <formula L, formula R>
[[nodiscard]] constexpr binary<arithmetic::subtract, L, R> operator-(const L& l, const R& r) noexcept {
  static_assert(detail::same_unit<unit_of<L>, unit_of<R>>::value);
  return {l, r};
}
template <formula L>
[[nodiscard]] constexpr binary<arithmetic::subtract, L, literal<units::pure>> operator-(const L& l,
                                                                                        std::int64_t r) noexcept {
  static_assert(detail::same_unit<unit_of<L>, units::pure>::value);
  return {l, literal<units::pure>(r)};
}
template <formula R>
[[nodiscard]] constexpr binary<arithmetic::subtract, literal<units::pure>, R> operator-(std::int64_t l,
                                                                                        const R& r) noexcept {
  static_assert(detail::same_unit<units::pure, unit_of<R>>::value);
  return {literal<units::pure>(l), r};
}
template <formula L, formula R>
[[nodiscard]] constexpr binary<arithmetic::multiply, L, R> operator*(const L& l, const R& r) noexcept {
  return {l, r};
}
template <formula L>
[[nodiscard]] constexpr binary<arithmetic::multiply, L, literal<units::pure>> operator*(const L& l,
                                                                                        std::int64_t r) noexcept {
  return {l, literal<units::pure>(r)};
}
template <formula R>
[[nodiscard]] constexpr binary<arithmetic::multiply, literal<units::pure>, R> operator*(std::int64_t l,
                                                                                        const R& r) noexcept {
  return {literal<units::pure>(l), r};
}
template <formula L, formula R>
[[nodiscard]] constexpr binary<arithmetic::divide, L, R> operator/(const L& l, const R& r) noexcept {
  return {l, r};
}
template <formula L>
[[nodiscard]] constexpr binary<arithmetic::divide, L, literal<units::pure>> operator/(const L& l,
                                                                                      std::int64_t r) noexcept {
  return {l, literal<units::pure>(r)};
}
template <formula R>
[[nodiscard]] constexpr binary<arithmetic::divide, literal<units::pure>, R> operator/(std::int64_t l,
                                                                                      const R& r) noexcept {
  return {literal<units::pure>(l), r};
}
/// The smaller, the larger of two; a / b rounded up. (Not min and max: those are macros on some platforms.)
template <class L, class R>
  requires formula<L> || formula<R>
[[nodiscard]] constexpr auto least(const L& l, const R& r) noexcept {
  return detail::join<arithmetic::least>(detail::lift(l), detail::lift(r));
}
template <class L, class R>
  requires formula<L> || formula<R>
[[nodiscard]] constexpr auto greatest(const L& l, const R& r) noexcept {
  return detail::join<arithmetic::greatest>(detail::lift(l), detail::lift(r));
}
template <class L, class R>
  requires formula<L> || formula<R>
[[nodiscard]] constexpr auto divide_up(const L& l, const R& r) noexcept {
  return detail::join<arithmetic::divide_up>(detail::lift(l), detail::lift(r));
}
// 2 * FLOP is one literal, so that formulas start as the papers write them.
template <class U>
[[nodiscard]] constexpr literal<U> operator*(std::int64_t n, const literal<U>& u) noexcept {
  return literal<U>(n * u.value);
}
template <class A, class B>
[[nodiscard]] constexpr literal<unit_product<A, B>> operator*(const literal<A>& a, const literal<B>& b) noexcept {
  return literal<unit_product<A, B>>(a.value * b.value);
}

/// e * e, printed as a power.
template <formula E>
[[nodiscard]] constexpr binary<arithmetic::multiply, E, E> squared(const E& e) noexcept {
  return {e, e};
}

/// cases[selector]. The selector is a flag (0 or 1) or an enumeration counted from 0.
///
///     choose(sp, 1, tp)       // tp if sp else 1
template <formula S, class First, class... Rest>
[[nodiscard]] constexpr auto choose(const S& selector, const First& first, const Rest&... rest) noexcept {
  static_assert((detail::same_unit<unit_of<detail::lifted<First>>, unit_of<detail::lifted<Rest>>>::value && ...));
  return choice<S, detail::lifted<First>, detail::lifted<Rest>...>{selector,
                                                                   {{detail::lift(first)}, {detail::lift(rest)}...}};
}

}  // namespace hocket::inline HOCKET_ABI::cost
