// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/cost/evaluate.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::inline HOCKET_ABI::cost {

/// How a formula is written out.
enum class style : std::uint8_t {
  text,     ///< 2*b*s*h*V
  numbers,  ///< 2*1*4096*5120*32000: needs an environment
  latex,    ///< 2\,b\,s\,h\,V
  latex_numbers
};

/// The syntax tree of a formula as plain data, for code that walks formulas without templates: printers, viewers,
/// checks. Node 0 is unused; children have smaller numbers than their parents; the root is the last node.
struct formula_tree {
  enum class kind : std::uint8_t { literal, symbol, binary, definition, choice };
  struct entry {
    kind what = kind::literal;
    operation op = operation::add;
    std::string_view letter;  ///< symbol, definition
    rational value;           ///< literal; symbol if `known`
    double real_value = 0;    ///< symbol whose number is real
    bool known = false, is_real = false;
    std::uint32_t left = 0, right = 0;  ///< binary; definition: left is the body; choice: left is the selector
    std::vector<std::uint32_t> cases;   ///< choice
    std::uint32_t taken = 0;            ///< choice: the case taken, 0 if not known
  };
  std::vector<entry> entries{entry{}};

  std::uint32_t push(entry e) {
    entries.push_back(std::move(e));
    return static_cast<std::uint32_t>(entries.size() - 1);
  }
  [[nodiscard]] std::uint32_t root() const noexcept { return static_cast<std::uint32_t>(entries.size() - 1); }
};

namespace detail {
template <class Letter>
constexpr std::string_view letters() noexcept {
  return Letter::c_str();
}
template <class U, class Env>
std::uint32_t flatten(formula_tree& t, const literal<U>& e, const Env*) {
  formula_tree::entry n;
  n.value = rational(e.value), n.known = true;
  return t.push(std::move(n));
}
template <class Key, class Letter, class U, class Env>
std::uint32_t flatten(formula_tree& t, const symbol<Key, Letter, U>&, [[maybe_unused]] const Env* env) {
  formula_tree::entry n;
  n.what = formula_tree::kind::symbol;
  n.letter = letters<Letter>();
  if constexpr (Env::template knows<Key>()) {
    const auto value = env->template get<Key>();
    n.known = true;
    if constexpr (std::is_same_v<decltype(value), const double>) n.is_real = true, n.real_value = value;
    else n.value = rational(value);
  }
  return t.push(std::move(n));
}
inline std::uint32_t push_binary(formula_tree& t, operation op, std::uint32_t left, std::uint32_t right) {
  formula_tree::entry n;
  n.what = formula_tree::kind::binary;
  n.op = op, n.left = left, n.right = right;
  return t.push(std::move(n));
}
template <class Letter, class E, class Env>
std::uint32_t flatten(formula_tree& t, const definition<Letter, E>& e, const Env* env);
template <class S, class... C, class Env>
std::uint32_t flatten(formula_tree& t, const choice<S, C...>& e, const Env* env);
template <operation O, class A, class B, class Env>
std::uint32_t flatten(formula_tree& t, const binary<O, A, B>& e, const Env* env) {
  const std::uint32_t left = flatten(t, e.left, env);
  const std::uint32_t right = flatten(t, e.right, env);
  return push_binary(t, O, left, right);
}
template <class Letter, class E, class Env>
std::uint32_t flatten(formula_tree& t, const definition<Letter, E>& e, const Env* env) {
  formula_tree::entry n;
  n.what = formula_tree::kind::definition;
  n.letter = letters<Letter>();
  n.left = flatten(t, e.body, env);
  return t.push(std::move(n));
}
template <class S, class... C, class Env>
std::uint32_t flatten(formula_tree& t, const choice<S, C...>& e, const Env* env) {
  formula_tree::entry n;
  n.what = formula_tree::kind::choice;
  n.left = flatten(t, e.selector, env);
  for_each_in(e.cases, [&](const auto& each) { n.cases.push_back(flatten(t, each, env)); });
  if constexpr (!std::is_same_v<Env, environment<>>) {
    const std::int64_t at = selected(e.selector, *env);
    if (at >= 0 && at < static_cast<std::int64_t>(n.cases.size())) n.taken = n.cases[static_cast<std::size_t>(at)];
  }
  return t.push(std::move(n));
}
std::string write(const formula_tree& t, style how, bool open_definition);
std::string write_definitions(const formula_tree& t, style how);
}  // namespace detail

/// The tree of a formula; with an environment, the numbers of its symbols and the case that every `choose` takes.
template <formula E>
[[nodiscard]] formula_tree tree_of(const E& e) {
  formula_tree t;
  detail::flatten(t, e, static_cast<const environment<>*>(nullptr));
  return t;
}
template <formula E, class... Configs>
[[nodiscard]] formula_tree tree_of(const E& e, const environment<Configs...>& numbers) {
  formula_tree t;
  detail::flatten(t, e, &numbers);
  return t;
}

/// The value of a tree whose numbers are known and whole: what the printed line must come to.
[[nodiscard]] rational value_of(const formula_tree& t, std::uint32_t at);

/// The formula as one line. Units are not printed with it: see unit_name.
///
///     print(2 * FLOP * b * s * h * V) == "2*b*s*h*V"
template <formula E>
[[nodiscard]] std::string print(const E& e, style how = style::text) {
  return detail::write(tree_of(e), how, true);
}
/// With numbers at hand: every `choose` shows the case taken, and the styles that put numbers in are possible.
template <formula E, class... Configs>
[[nodiscard]] std::string print(const E& e, style how, const environment<Configs...>& numbers) {
  return detail::write(tree_of(e, numbers), how, true);
}
/// "kappa = s^2/2": the named parts of a formula, "; " between them; empty if it has none.
template <formula E, class... Configs>
[[nodiscard]] std::string print_definitions(const E& e, style how, const environment<Configs...>& numbers) {
  return detail::write_definitions(tree_of(e, numbers), how);
}

}  // namespace hocket::inline HOCKET_ABI::cost

#include <hocket/cost/write.hpp>
