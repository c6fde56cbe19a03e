// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/config.hpp>
#include <hocket/cost/formula/unit.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

/// A formula is an ordinary C++ expression over symbols. Its value is its syntax tree, as a small array of nodes; its
/// type is its unit, checked as it is built. From the one object come its value (evaluate.hpp, batch.hpp), its slope
/// (derivative.hpp) and its printed forms (print.hpp).
namespace hocket::inline HOCKET_ABI::cost {

/// What a node of a formula is.
enum class formula_kind : std::uint8_t { literal, symbol, binary, definition, choice };
enum class arithmetic : std::uint8_t { add, subtract, multiply, divide, least, greatest, divide_up };

namespace detail {

/// A name's hash, computed once where the name is written, so that looking a symbol up compares few names.
constexpr std::uint32_t hash_of(const char* name) noexcept {
  std::uint32_t hash = 5381;  // Bernstein's: enough to tell some hundred names apart
  for (; *name != 0; ++name) hash = hash * 33 + static_cast<unsigned char>(*name);
  return hash;
}

/// One node. Children stand before their parents, and a subtree is a run of nodes:
///
///     2 * h + s      [2] [h] [*] [s] [+]
///     size            1   1   3   1   5
///
/// So a formula is joined by copying, and no node knows its place. The last child of a node is just before it, the one
/// before that as many nodes further on as the last child has.
struct formula_node {
  formula_kind what = formula_kind::literal;
  arithmetic join = arithmetic::add;  // of a binary node
  std::uint16_t size = 1;             // nodes of the subtree
  std::int64_t value = 0;             // of a literal; of a symbol the hash of its key; of a choice how many cases
  const char* key = nullptr;          // literal; symbol
  const char* letter = nullptr;       // literal; symbol, definition
};

}  // namespace detail

/// A formula of so many nodes. FLOP, byte, element, second and token are the units themselves: `2 * FLOP * b * s * h`.
template <class Unit, std::size_t Nodes>
struct expression {
  using unit = Unit;
  static_assert(Nodes < 65536, "hocket::cost: a formula has at most 65,535 nodes");
  detail::formula_node nodes[Nodes];
};

namespace detail {
template <class T>
inline constexpr bool is_expression = false;
template <class Unit, std::size_t Nodes>
inline constexpr bool is_expression<expression<Unit, Nodes>> = true;
}  // namespace detail

/// The operators below take formulas and whole numbers, and nothing else.
template <class T>
concept formula = detail::is_expression<std::remove_const_t<T>>;

/// The unit of a formula, as a type: unit_of<decltype(2 * FLOP * h)> is flops.
template <formula E>
using unit_of = typename E::unit;

/// A whole number with a unit.
template <class Unit = units::pure>
[[nodiscard]] constexpr expression<Unit, 1> literal(std::int64_t value) noexcept {
  return {{{.value = value}}};
}
inline constexpr auto FLOP = literal<units::flops>(1);
inline constexpr auto byte = literal<units::bytes>(1);
inline constexpr auto element = literal<units::elements>(1);
inline constexpr auto second = literal<units::seconds>(1);
inline constexpr auto token = literal<units::tokens>(1);

/// A symbol: the number of the member `key` of some config; it prints as `letter`. Both are string literals.
///
///     inline constexpr auto h = hocket::cost::named("hidden", "h");
template <class Unit = units::pure>
[[nodiscard]] constexpr expression<Unit, 1> named(const char* key, const char* letter) noexcept {
  return {{{.what = formula_kind::symbol, .value = detail::hash_of(key), .key = key, .letter = letter}}};
}

/// The nodes of a formula without its unit: what evaluates and prints takes it. It refers to the formula, which must
/// outlive it.
class formula_view {
 public:
  template <class Unit, std::size_t Nodes>
  constexpr formula_view(const expression<Unit, Nodes>& e) noexcept  // NOLINT(google-explicit-constructor): an argument
      : root_(e.nodes + Nodes - 1) {}
  constexpr explicit formula_view(const detail::formula_node* root) noexcept : root_(root) {}

  [[nodiscard]] constexpr formula_kind what() const noexcept { return root_->what; }
  [[nodiscard]] constexpr arithmetic join() const noexcept { return root_->join; }
  [[nodiscard]] constexpr std::int64_t value() const noexcept { return root_->value; }   ///< of a literal
  [[nodiscard]] constexpr const char* key() const noexcept { return root_->key; }        ///< of a symbol
  [[nodiscard]] constexpr const char* letter() const noexcept { return root_->letter; }  ///< of a symbol, a definition

  /// The sides of a binary node; the right one is also the body of a definition.
  [[nodiscard]] constexpr formula_view right() const noexcept { return formula_view(root_ - 1); }
  [[nodiscard]] constexpr formula_view left() const noexcept { return right().before(); }
  [[nodiscard]] constexpr formula_view body() const noexcept { return right(); }
  /// The cases of a choice, from 0, and what selects among them.
  [[nodiscard]] constexpr std::int64_t case_count() const noexcept { return root_->value; }
  [[nodiscard]] constexpr formula_view case_at(std::int64_t number) const noexcept {
    formula_view at = right();
    for (std::int64_t last = case_count() - 1; last > number; --last) at = at.before();
    return at;
  }
  [[nodiscard]] constexpr formula_view selector() const noexcept { return case_at(0).before(); }

  [[nodiscard]] constexpr const detail::formula_node* root() const noexcept { return root_; }

 private:
  [[nodiscard]] constexpr formula_view before() const noexcept { return formula_view(root_ - root_->size); }
  const detail::formula_node* root_;
};

namespace detail {

// What a formula can be joined with: another one, or a whole number.
template <std::integral T>
constexpr expression<units::pure, 1> lift(T n) noexcept {
  return literal(static_cast<std::int64_t>(n));
}
template <formula E>
constexpr const E& lift(const E& e) noexcept {
  return e;
}
template <class T>
concept operand = formula<T> || std::integral<T>;

template <class L, class R>
constexpr void require_same_unit() noexcept {
  static_assert(std::is_same_v<L, R>,
                "hocket::cost: both sides of +, -, min, max and all cases of choose must have one unit; multiply by a "
                "conversion such as bytes per element first");
}

// Copies nodes, and says where the next ones go.
constexpr formula_node* append(formula_node* to, const formula_node* from, std::size_t count) noexcept {
  for (std::size_t i = 0; i < count; ++i) *to++ = from[i];
  return to;
}
template <arithmetic How, class L, std::size_t LeftNodes, class R, std::size_t RightNodes>
constexpr auto join(const expression<L, LeftNodes>& l, const expression<R, RightNodes>& r) noexcept {
  constexpr bool multiplies = How == arithmetic::multiply,
                 divides = How == arithmetic::divide || How == arithmetic::divide_up;
  if constexpr (!multiplies && !divides) require_same_unit<L, R>();
  using unit = std::conditional_t<multiplies, unit_product<L, R>, std::conditional_t<divides, unit_quotient<L, R>, L>>;
  expression<unit, LeftNodes + RightNodes + 1> out{};
  formula_node* root = append(append(out.nodes, l.nodes, LeftNodes), r.nodes, RightNodes);
  root->what = formula_kind::binary;
  root->join = How;
  root->size = static_cast<std::uint16_t>(LeftNodes + RightNodes + 1);
  return out;
}

}  // namespace detail

template <detail::operand L, detail::operand R>
  requires(formula<L> || formula<R>)
[[nodiscard]] constexpr auto operator+(const L& l, const R& r) noexcept {
  return detail::join<arithmetic::add>(detail::lift(l), detail::lift(r));
}
template <detail::operand L, detail::operand R>
  requires(formula<L> || formula<R>)
[[nodiscard]] constexpr auto operator-(const L& l, const R& r) noexcept {
  return detail::join<arithmetic::subtract>(detail::lift(l), detail::lift(r));
}
template <detail::operand L, detail::operand R>
  requires(formula<L> || formula<R>)
[[nodiscard]] constexpr auto operator*(const L& l, const R& r) noexcept {
  return detail::join<arithmetic::multiply>(detail::lift(l), detail::lift(r));
}
template <detail::operand L, detail::operand R>
  requires(formula<L> || formula<R>)
[[nodiscard]] constexpr auto operator/(const L& l, const R& r) noexcept {
  return detail::join<arithmetic::divide>(detail::lift(l), detail::lift(r));
}
/// The smaller, the larger of two; a / b rounded up. (Not min and max: those are macros on some platforms.)
template <detail::operand L, detail::operand R>
[[nodiscard]] constexpr auto least(const L& l, const R& r) noexcept {
  return detail::join<arithmetic::least>(detail::lift(l), detail::lift(r));
}
template <detail::operand L, detail::operand R>
[[nodiscard]] constexpr auto greatest(const L& l, const R& r) noexcept {
  return detail::join<arithmetic::greatest>(detail::lift(l), detail::lift(r));
}
template <detail::operand L, detail::operand R>
[[nodiscard]] constexpr auto divide_up(const L& l, const R& r) noexcept {
  return detail::join<arithmetic::divide_up>(detail::lift(l), detail::lift(r));
}
/// e * e, printed as a power.
template <formula E>
[[nodiscard]] constexpr auto squared(const E& e) noexcept {
  return e * e;
}

/// A formula with a name of its own: it prints as the letter, a string literal, and once in full ("where kappa = …").
template <class Unit, std::size_t Nodes>
[[nodiscard]] constexpr expression<Unit, Nodes + 1> define(const char* letter,
                                                           const expression<Unit, Nodes>& e) noexcept {
  expression<Unit, Nodes + 1> out{};
  detail::formula_node* root = detail::append(out.nodes, e.nodes, Nodes);
  root->what = formula_kind::definition;
  root->size = static_cast<std::uint16_t>(Nodes + 1);
  root->letter = letter;
  return out;
}

namespace detail {
template <class U, std::size_t SelectorNodes, class First, std::size_t FirstNodes, class... Rest,
          std::size_t... RestNodes>
constexpr auto choice(const expression<U, SelectorNodes>& selector, const expression<First, FirstNodes>& first,
                      const expression<Rest, RestNodes>&... rest) noexcept {
  (require_same_unit<First, Rest>(), ...);
  constexpr std::size_t nodes = SelectorNodes + FirstNodes + (RestNodes + ... + 0) + 1;
  expression<First, nodes> out{};
  formula_node* root = append(append(out.nodes, selector.nodes, SelectorNodes), first.nodes, FirstNodes);
  ((root = append(root, rest.nodes, RestNodes)), ...);
  root->what = formula_kind::choice;
  root->size = static_cast<std::uint16_t>(nodes);
  root->value = 1 + sizeof...(Rest);
  return out;
}
}  // namespace detail

/// cases[selector]. The selector is a flag (0 or 1) or an enumeration counted from 0. Prints as the case taken once
/// numbers are known.
///
///     choose(sp, 1, tp)       // tp if sp else 1
template <formula Selector, detail::operand... Cases>
[[nodiscard]] constexpr auto choose(const Selector& selector, const Cases&... cases) noexcept {
  return detail::choice(selector, detail::lift(cases)...);
}

}  // namespace hocket::inline HOCKET_ABI::cost
