// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <boost/hana/string.hpp>
#include <hocket/cost/unit.hpp>

#include <concepts>
#include <cstdint>
#include <tuple>
#include <type_traits>

/// A formula is an ordinary C++ expression over symbols; its type is its syntax tree. From the one object come its value
/// (evaluate.hpp), its slope (derivative.hpp), its printed forms (print.hpp) and its unit (here, checked as it is built).
namespace hocket::inline HOCKET_ABI::cost {

/// Base of every node, so that the operators below take formulas and nothing else.
struct node {};
template <class T>
concept formula = std::is_base_of_v<node, T>;

/// The unit of a formula, as a type: unit_of<decltype(2 * FLOP * h)> is flops.
template <formula E>
using unit_of = typename E::unit;

/// A whole number with a unit. FLOP, byte, element, second and token are the units themselves: `2 * FLOP * b * s * h`.
template <class U>
struct literal : node {
  using unit = U;
  std::int64_t value;
  constexpr explicit literal(std::int64_t v) noexcept : value(v) {}
};
inline constexpr literal<flops> FLOP{1};
inline constexpr literal<bytes> byte{1};
inline constexpr literal<elements> element{1};
inline constexpr literal<seconds> second{1};
inline constexpr literal<tokens> token{1};

/// A named quantity. `Key` is the name of the member it is read from (a Hana string), `Letter` what it prints as.
template <class Key, class Letter, class U = pure>
struct symbol : node {
  using key = Key;
  using letter = Letter;
  using unit = U;
};

/// symbol of a member and its letter, the one way to write one:
///
///     inline constexpr auto h = hocket::cost::named(BOOST_HANA_STRING("hidden"), BOOST_HANA_STRING("h"));
template <class U = pure, class Key, class Letter>
[[nodiscard]] constexpr symbol<Key, Letter, U> named(Key, Letter) noexcept {
  return {};
}

enum class operation : std::uint8_t { add, subtract, multiply, divide, least, greatest, divide_up };

/// Two formulas joined by an operation.
template <operation O, class L, class R>
struct binary : node {
  static constexpr operation what = O;
  using unit = std::conditional_t<O == operation::multiply, unit_product<unit_of<L>, unit_of<R>>,
                                  std::conditional_t<O == operation::divide || O == operation::divide_up,
                                                     unit_quotient<unit_of<L>, unit_of<R>>, unit_of<L>>>;
  L left;
  R right;
  constexpr binary(const L& l, const R& r) noexcept : left(l), right(r) {}
};

/// A formula with a name of its own: it prints as the letter, and once in full ("where kappa = …").
template <class Letter, class E>
struct definition : node {
  using letter = Letter;
  using unit = unit_of<E>;
  E body;
  constexpr explicit definition(const E& e) noexcept : body(e) {}
};
template <class Letter, formula E>
[[nodiscard]] constexpr definition<Letter, E> define(Letter, const E& e) noexcept {
  return definition<Letter, E>(e);
}

/// The case whose number (from 0) the selector has; prints as that case alone once numbers are known.
template <class Selector, class... Cases>
struct choice : node {
  using unit = unit_of<std::tuple_element_t<0, std::tuple<Cases...>>>;
  Selector selector;
  std::tuple<Cases...> cases;
  constexpr choice(const Selector& s, const Cases&... c) noexcept : selector(s), cases(c...) {}
};

namespace detail {
template <class L, class R>
struct same_unit {
  static_assert(std::is_same_v<L, R>,
                "hocket::cost: both sides of +, -, min, max and all cases of choose must have one unit; multiply by a "
                "conversion such as bytes per element first");
  static constexpr bool value = true;
};
template <std::integral T>
constexpr literal<pure> lift(T n) noexcept {
  return literal<pure>(static_cast<std::int64_t>(n));
}
template <formula E>
constexpr const E& lift(const E& e) noexcept {
  return e;
}
template <class T>
using lifted = std::remove_cvref_t<decltype(lift(std::declval<const T&>()))>;
template <class T>
concept operand = formula<T> || std::integral<T>;
template <class L, class R>
concept operands = operand<L> && operand<R> && (formula<L> || formula<R>);

template <operation O, class L, class R>
constexpr auto join(const L& l, const R& r) noexcept {
  return binary<O, lifted<L>, lifted<R>>(lift(l), lift(r));
}
template <operation O, class L, class R>
constexpr auto join_same(const L& l, const R& r) noexcept {
  static_assert(same_unit<unit_of<lifted<L>>, unit_of<lifted<R>>>::value);
  return join<O>(l, r);
}
}  // namespace detail

template <class L, class R>
  requires detail::operands<L, R>
[[nodiscard]] constexpr auto operator+(const L& l, const R& r) noexcept {
  return detail::join_same<operation::add>(l, r);
}
template <class L, class R>
  requires detail::operands<L, R>
[[nodiscard]] constexpr auto operator-(const L& l, const R& r) noexcept {
  return detail::join_same<operation::subtract>(l, r);
}
template <class L, class R>
  requires detail::operands<L, R>
[[nodiscard]] constexpr auto operator*(const L& l, const R& r) noexcept {
  return detail::join<operation::multiply>(l, r);
}
template <class L, class R>
  requires detail::operands<L, R>
[[nodiscard]] constexpr auto operator/(const L& l, const R& r) noexcept {
  return detail::join<operation::divide>(l, r);
}
// 2 * FLOP is one literal, so that formulas start as the papers write them.
template <std::integral T, class U>
[[nodiscard]] constexpr literal<U> operator*(T n, const literal<U>& u) noexcept {
  return literal<U>(static_cast<std::int64_t>(n) * u.value);
}
template <class A, class B>
[[nodiscard]] constexpr auto operator*(const literal<A>& a, const literal<B>& b) noexcept {
  return literal<unit_product<A, B>>(a.value * b.value);
}
/// The smaller, the larger of two; a / b rounded up. (Not min and max: those are macros on some platforms.)
template <class L, class R>
  requires detail::operands<L, R>
[[nodiscard]] constexpr auto least(const L& l, const R& r) noexcept {
  return detail::join_same<operation::least>(l, r);
}
template <class L, class R>
  requires detail::operands<L, R>
[[nodiscard]] constexpr auto greatest(const L& l, const R& r) noexcept {
  return detail::join_same<operation::greatest>(l, r);
}
template <class L, class R>
  requires detail::operands<L, R>
[[nodiscard]] constexpr auto divide_up(const L& l, const R& r) noexcept {
  return detail::join<operation::divide_up>(l, r);
}
/// e * e, printed as a power.
template <formula E>
[[nodiscard]] constexpr auto squared(const E& e) noexcept {
  return e * e;
}

/// cases[selector]. The selector is a flag (0 or 1) or an enumeration counted from 0.
///
///     choose(sequence_parallel, one, tp)       // tp if sequence_parallel else 1
template <formula S, class First, class... Rest>
[[nodiscard]] constexpr auto choose(const S& selector, const First& first, const Rest&... rest) noexcept {
  static_assert((detail::same_unit<unit_of<detail::lifted<First>>, unit_of<detail::lifted<Rest>>>::value && ...));
  return choice<S, detail::lifted<First>, detail::lifted<Rest>...>(selector, detail::lift(first), detail::lift(rest)...);
}

}  // namespace hocket::inline HOCKET_ABI::cost
