// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/cost/formula/code.hpp>
#include <hocket/cost/formula/evaluate.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::cost {

/// The syntax tree of a formula as plain data, for code that walks formulas without templates: printers, viewers,
/// checks. Node 0 is unused; children have smaller numbers than their parents; the root is the last node.
struct formula_tree {
  using kind = formula_kind;
  struct entry {
    kind what = kind::literal;
    arithmetic op = arithmetic::add;
    std::string_view letter;  ///< literal; symbol, definition
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
// What does not depend on the formula's type is out of the template: formulas are many.
inline std::uint32_t push_literal(formula_tree& t, std::int64_t value) {
  formula_tree::entry n;
  n.value = rational(value);
  n.known = true;
  return t.push(std::move(n));
}
inline std::uint32_t push_symbol(formula_tree& t, std::string_view letter) {
  formula_tree::entry n;
  n.what = formula_kind::symbol;
  n.letter = letter;
  return t.push(std::move(n));
}
inline std::uint32_t push_symbol(formula_tree& t, std::string_view letter, std::int64_t value) {
  formula_tree::entry n;
  n.what = formula_kind::symbol;
  n.letter = letter;
  n.known = true;
  n.value = rational(value);
  return t.push(std::move(n));
}
inline std::uint32_t push_symbol(formula_tree& t, std::string_view letter, double value) {
  formula_tree::entry n;
  n.what = formula_kind::symbol;
  n.letter = letter;
  n.known = n.is_real = true;
  n.real_value = value;
  return t.push(std::move(n));
}
inline std::uint32_t push_binary(formula_tree& t, arithmetic op, std::uint32_t left, std::uint32_t right) {
  formula_tree::entry n;
  n.what = formula_kind::binary;
  n.op = op;
  n.left = left;
  n.right = right;
  return t.push(std::move(n));
}
inline std::uint32_t push_definition(formula_tree& t, std::string_view letter, std::uint32_t body) {
  formula_tree::entry n;
  n.what = formula_kind::definition;
  n.letter = letter;
  n.left = body;
  return t.push(std::move(n));
}
template <class E, class Env>
std::uint32_t flatten(formula_tree& t, const E& e, const Env* env) {
  if constexpr (E::is == formula_kind::literal) {
    return push_literal(t, e.value);
  } else if constexpr (E::is == formula_kind::symbol) {
    if constexpr (Env::template knows<typename E::key>())
      return push_symbol(t, letters<typename E::letter>(), env->template get<typename E::key>());
    else return push_symbol(t, letters<typename E::letter>());
  } else if constexpr (E::is == formula_kind::binary) {
    const std::uint32_t left = detail::flatten(t, e.left, env);
    const std::uint32_t right = detail::flatten(t, e.right, env);
    return push_binary(t, E::join, left, right);
  } else if constexpr (E::is == formula_kind::definition) {
    return push_definition(t, letters<typename E::letter>(), detail::flatten(t, e.body, env));
  } else {
    formula_tree::entry n;
    n.what = formula_kind::choice;
    n.left = detail::flatten(t, e.selector, env);
    cost::for_each_in(e.cases, [&](const auto& each) { n.cases.push_back(detail::flatten(t, each, env)); });
    if constexpr (!std::is_same_v<Env, environment<>>) {
      const std::int64_t at = detail::selected(e.selector, *env);
      if (at >= 0 && at < static_cast<std::int64_t>(n.cases.size())) n.taken = n.cases[static_cast<std::size_t>(at)];
    }
    return t.push(std::move(n));
  }
}
// The same from a table of terms.
inline std::uint32_t flatten(formula_tree& t, const code_view& from, std::uint16_t at) {
  const code_op& o = from.ops[at];
  switch (o.what) {
    case formula_kind::literal: return push_literal(t, o.value);
    case formula_kind::symbol: return push_symbol(t, o.letter, from.numbers[o.value]);
    case formula_kind::binary: {
      const std::uint32_t left = flatten(t, from, o.left);
      const std::uint32_t right = flatten(t, from, o.right);
      return push_binary(t, o.join, left, right);
    }
    case formula_kind::definition: return push_definition(t, o.letter, flatten(t, from, o.left));
    case formula_kind::choice: break;
  }
  formula_tree::entry n;
  n.what = formula_kind::choice;
  n.left = flatten(t, from, o.left);
  for (std::int64_t i = 0; i < o.value; ++i) n.cases.push_back(flatten(t, from, from.cases[o.right + i]));
  if (const std::int64_t which = from.taken(o); which >= 0) n.taken = n.cases[static_cast<std::size_t>(which)];
  return t.push(std::move(n));
}
[[nodiscard]] inline formula_tree tree_of(const coded& e) {
  formula_tree t;
  flatten(t, e.in, e.at);
  return t;
}
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
[[nodiscard]] inline rational value_of(const formula_tree& t, std::uint32_t at) {
  using kind = formula_tree::kind;
  const formula_tree::entry& n = t.entries[at];
  const rational undefined = rational(0) / rational(0);
  switch (n.what) {
    case kind::literal: return n.value;
    case kind::symbol: return n.known && !n.is_real ? n.value : undefined;
    case kind::definition: return value_of(t, n.left);
    case kind::choice: return n.taken == 0 ? undefined : value_of(t, n.taken);
    case kind::binary: return detail::apply(n.op, value_of(t, n.left), value_of(t, n.right));
  }
  return undefined;
}

}  // namespace hocket::inline HOCKET_ABI::cost
