// SPDX-License-Identifier: Apache-2.0
// Lists of terms as tables: what the compiler makes of a list once, so that evaluating and printing it are ordinary
// loops over plain data and not a function for each node of each formula.
#pragma once
#include <hocket/cost/formula/term.hpp>
#include <hocket/cost/formula/unit.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace hocket::inline HOCKET_ABI::cost {

namespace detail {

/// One node of a formula. Children stand before their parents.
struct code_op {
  formula_kind what = formula_kind::literal;
  arithmetic join = arithmetic::add;
  std::uint16_t left = 0, right = 0;  // binary; definition: left is the body; choice: left selects, cases from right on
  std::int64_t value = 0;             // of a literal; of a symbol its place among the numbers; how many cases
  std::string_view letter{};          // symbol, definition
};
/// One term: where its formulas end, and what goes with them.
struct code_term {
  std::string_view name{}, source{};  ///< literal
  std::uint16_t formula = 0, when = 0, split = 0, also = 0;
  origin how = origin::definition;
  layer_operation by = layer_operation::none;
  collective kind = collective::none;
  axis over = axis::tensor;
  std::int64_t calls = 1;
  bool is_flops = false;
  std::string (*unit)() = nullptr;
};
template <std::size_t Ops, std::size_t Cases, std::size_t Terms>
struct code_table {
  std::array<code_op, Ops> ops{};
  std::array<std::uint16_t, Cases> cases{};
  std::array<code_term, Terms> terms{};
  std::size_t op_count = 0, case_count = 0, term_count = 0;  // of those that are used
};
/// Writes into a table of any size.
struct code_draft {
  code_op* ops;
  std::uint16_t* cases;
  code_term* terms;
  std::size_t op_count = 0, case_count = 0, term_count = 0;

  constexpr std::uint16_t literal(std::int64_t value) noexcept {
    ops[op_count].value = value;
    return static_cast<std::uint16_t>(op_count++);
  }
  constexpr std::uint16_t symbol(std::size_t place, std::string_view letter) noexcept {
    ops[op_count].what = formula_kind::symbol;
    ops[op_count].value = static_cast<std::int64_t>(place);
    ops[op_count].letter = letter;
    return static_cast<std::uint16_t>(op_count++);
  }
  constexpr std::uint16_t binary(arithmetic join, std::uint16_t left, std::uint16_t right) noexcept {
    ops[op_count].what = formula_kind::binary;
    ops[op_count].join = join;
    ops[op_count].left = left;
    ops[op_count].right = right;
    return static_cast<std::uint16_t>(op_count++);
  }
  constexpr std::uint16_t definition(std::string_view letter, std::uint16_t body) noexcept {
    ops[op_count].what = formula_kind::definition;
    ops[op_count].left = body;
    ops[op_count].letter = letter;
    return static_cast<std::uint16_t>(op_count++);
  }
  constexpr std::uint16_t choice(std::uint16_t selector, const std::uint16_t* from, std::size_t count) noexcept {
    ops[op_count].what = formula_kind::choice;
    ops[op_count].left = selector;
    ops[op_count].right = static_cast<std::uint16_t>(case_count);
    ops[op_count].value = static_cast<std::int64_t>(count);
    for (std::size_t i = 0; i < count; ++i) cases[case_count++] = from[i];
    return static_cast<std::uint16_t>(op_count++);
  }
};

template <class Env, class E>
constexpr std::uint16_t encode(const E& e, code_draft& to) noexcept {
  if constexpr (E::is == formula_kind::literal) {
    return to.literal(e.value);
  } else if constexpr (E::is == formula_kind::symbol) {
    return to.symbol(Env::template place_of<typename E::key>(), E::letter::c_str());
  } else if constexpr (E::is == formula_kind::binary) {
    const std::uint16_t left = detail::encode<Env>(e.left, to);
    return to.binary(E::join, left, detail::encode<Env>(e.right, to));
  } else if constexpr (E::is == formula_kind::definition) {
    return to.definition(E::letter::c_str(), detail::encode<Env>(e.body, to));
  } else {
    const std::uint16_t selector = detail::encode<Env>(e.selector, to);
    std::uint16_t roots[8] = {};
    std::size_t count = 0;
    cost::for_each_in(e.cases, [&](const auto& each) { roots[count++] = detail::encode<Env>(each, to); });
    return to.choice(selector, roots, count);
  }
}
template <class Env, class Term>
constexpr void encode_term(const Term& t, code_draft& to) noexcept {
  code_term out{.name = t.name, .source = t.source, .how = t.how, .by = t.by};
  out.formula = detail::encode<Env>(t.formula, to);
  out.when = detail::encode<Env>(t.when, to);
  out.split = detail::encode<Env>(t.split, to);
  if constexpr (requires { t.also; }) out.also = detail::encode<Env>(t.also, to);
  if constexpr (requires { t.kind; }) {
    out.kind = t.kind;
    out.over = t.over;
    out.calls = t.calls;
  }
  out.is_flops = std::is_same_v<typename Term::unit, units::flops>;
  out.unit = &unit_name<typename Term::unit>;
  to.terms[to.term_count++] = out;
}
// A roomy table, filled by f(draft).
template <std::size_t Ops, std::size_t Cases, std::size_t Terms, class F>
consteval auto filled(F&& f) noexcept {
  code_table<Ops, Cases, Terms> made;
  code_draft to{made.ops.data(), made.cases.data(), made.terms.data()};
  f(to);
  made.op_count = to.op_count;
  made.case_count = to.case_count;
  made.term_count = to.term_count;
  return made;
}
// The used part of it.
template <std::size_t Ops, std::size_t Cases, std::size_t Terms, class Made>
consteval auto shortened(const Made& made) noexcept {
  code_table<Ops, Cases == 0 ? 1 : Cases, Terms == 0 ? 1 : Terms> out;
  for (std::size_t i = 0; i < Ops; ++i) out.ops[i] = made.ops[i];
  for (std::size_t i = 0; i < Cases; ++i) out.cases[i] = made.cases[i];
  for (std::size_t i = 0; i < Terms; ++i) out.terms[i] = made.terms[i];
  return out;
}
template <class Env, const auto& List>
consteval auto encode_list() noexcept {
  constexpr auto made = filled<1280, 256, 48>(
      [](code_draft& to) { cost::for_each_in(List, [&](const auto& t) { detail::encode_term<Env>(t, to); }); });
  return shortened<made.op_count, made.case_count, made.term_count>(made);
}
template <class Env, const auto& Formula>
consteval auto encode_formula() noexcept {
  constexpr auto made = filled<384, 48, 1>([](code_draft& to) { detail::encode<Env>(Formula, to); });
  return shortened<made.op_count, made.case_count, 0>(made);
}
/// The table of a list, for the places that numbers have in an environment of that type.
template <class Env, const auto& List>
inline constexpr auto code_of = encode_list<Env, List>();
template <class Env, const auto& Formula>
inline constexpr auto code_of_formula = encode_formula<Env, Formula>();

/// A table and the numbers that its symbols stand for.
struct code_view {
  const code_op* ops;
  const std::uint16_t* cases;
  const std::int64_t* numbers;

  /// The case that a choice takes, as an index; -1: none.
  [[nodiscard]] constexpr std::int64_t taken(const code_op& o) const noexcept {
    const rational r = value(o.left);
    return r.is_whole() && r.num() >= 0 && r.num() < o.value ? static_cast<std::int64_t>(r.num()) : -1;
  }
  /// The exact value: by whole numbers where all are whole, which is several times as fast as by fractions.
  [[nodiscard]] constexpr rational value(std::uint16_t at) const noexcept {
    integer n = 0;
    return whole(at, n) ? rational::whole(n) : fraction(at);
  }

 private:
  // False: not whole on the way, not defined, or near the limit of 128 bits.
  [[nodiscard]] constexpr bool whole(std::uint16_t at, integer& out) const noexcept {
    const code_op& o = ops[at];
    switch (o.what) {
      case formula_kind::literal: out = o.value; return true;
      case formula_kind::symbol: out = numbers[o.value]; return true;
      case formula_kind::definition: return whole(o.left, out);
      case formula_kind::choice: {
        integer which = 0;
        return whole(o.left, which) && which >= 0 && which < o.value &&
               whole(cases[o.right + static_cast<std::int64_t>(which)], out);
      }
      case formula_kind::binary: break;
    }
    integer a = 0, b = 0;
    if (!whole(o.left, a) || !whole(o.right, b)) return false;
    constexpr integer limit = integer{1} << 62;
    const bool small_enough = a < limit && a > -limit && b < limit && b > -limit;
    switch (o.join) {
      case arithmetic::add: return small_enough ? (out = a + b, true) : add(a, b, out);
      case arithmetic::subtract: return small_enough ? (out = a - b, true) : add(a, -b, out);
      case arithmetic::multiply: return small_enough ? (out = a * b, true) : multiply(a, b, out);
      case arithmetic::divide:
        if (b == 1) {
          out = a;
          return true;
        }
        if (b == 0) return false;
        if (small_enough) {  // in 64 bits: a division of 128 is a call
          const auto n = static_cast<std::int64_t>(a), d = static_cast<std::int64_t>(b);
          out = n / d;
          return n % d == 0;
        }
        out = a / b;
        return a % b == 0;
      case arithmetic::least: out = b < a ? b : a; return true;
      case arithmetic::greatest: out = a < b ? b : a; return true;
      case arithmetic::divide_up:
        if (b <= 0 || !small_enough) return false;
        out = a / b + (a % b > 0 ? 1 : 0);
        return true;
    }
    return false;
  }
  [[nodiscard]] constexpr rational fraction(std::uint16_t at) const noexcept {
    const code_op& o = ops[at];
    switch (o.what) {
      case formula_kind::literal: return rational(o.value);
      case formula_kind::symbol: return rational(numbers[o.value]);
      case formula_kind::binary: return apply<rational>(o.join, value(o.left), value(o.right));
      case formula_kind::definition: return value(o.left);
      case formula_kind::choice: break;
    }
    const std::int64_t which = taken(o);
    return which < 0 ? rational(0) / rational(0) : value(cases[o.right + which]);
  }
};

/// A formula of a term in a table, with its numbers.
struct coded {
  code_view in;
  std::uint16_t at;
  [[nodiscard]] constexpr rational value() const noexcept { return in.value(at); }
};
/// A term in a table, with its numbers.
struct counted_term : code_term {
  code_view in;
  [[nodiscard]] constexpr coded amount() const noexcept { return {in, formula}; }
  [[nodiscard]] constexpr coded ranks() const noexcept { return {in, split}; }
  [[nodiscard]] constexpr coded again() const noexcept { return {in, also}; }
};
}  // namespace detail

/// Calls f(term) for each term of a list that counts, in order; `term` has the fields of the term, and its formulas as
/// `amount()`, `ranks()` and `again()`, each with its exact `value()`. As for_each_term(List, numbers, f), at a
/// fraction of the time to compile: what the library does with its own lists.
/// @tparam List  a list of terms that is a constant at namespace scope
template <const auto& List, class... Configs, class F>
constexpr void for_each_term(const environment<Configs...>& numbers, F&& f) {
  constexpr const auto& code = detail::code_of<environment<Configs...>, List>;
  const auto values = numbers.all();
  const detail::code_view in{code.ops.data(), code.cases.data(), values.data()};
  for (const detail::code_term& t : code.terms) {
    if (in.value(t.when) == rational(0)) continue;
    f(detail::counted_term{t, in});
  }
}

namespace detail {
// One function for all lists.
constexpr result<rational> sum_of_terms(const code_view& in, const code_term* terms, std::size_t count,
                                        bool split) noexcept {
  rational total = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const code_term& t = terms[i];
    if (in.value(t.when) == rational(0)) continue;
    total = total + (split ? in.value(t.formula) / in.value(t.split) : in.value(t.formula));
    if (!total.ok()) return error{errc::undefined_value}.with(t.name);
  }
  return total;
}
template <const auto& List, class... Configs>
constexpr result<rational> sum_of_list(const environment<Configs...>& numbers, bool split) noexcept {
  constexpr const auto& code = code_of<environment<Configs...>, List>;
  const auto values = numbers.all();
  return sum_of_terms({code.ops.data(), code.cases.data(), values.data()}, code.terms.data(), code.terms.size(), split);
}
}  // namespace detail

/// As exact(E, numbers), from the formula's table.
/// @tparam E  a formula that is a constant at namespace scope
template <const auto& E, class... Configs>
  requires formula<std::remove_cvref_t<decltype(E)>>
[[nodiscard]] constexpr result<rational> exact(const environment<Configs...>& numbers) noexcept {
  constexpr const auto& code = detail::code_of_formula<environment<Configs...>, E>;
  const auto values = numbers.all();
  const detail::code_view in{code.ops.data(), code.cases.data(), values.data()};
  const rational r = in.value(static_cast<std::uint16_t>(code.ops.size() - 1));
  if (!r.ok()) return error{errc::undefined_value}.with("value");
  return r;
}

/// As total(List, numbers) and rank_total(List, numbers), from the list's table.
///
///     static_assert(total<parameter_terms>(environment(part::whole(m), m, parallel{})).value() == …);
template <const auto& List, class... Configs>
[[nodiscard]] constexpr result<rational> total(const environment<Configs...>& numbers) noexcept {
  return detail::sum_of_list<List>(numbers, false);
}
template <const auto& List, class... Configs>
[[nodiscard]] constexpr result<rational> rank_total(const environment<Configs...>& numbers) noexcept {
  return detail::sum_of_list<List>(numbers, true);
}

}  // namespace hocket::inline HOCKET_ABI::cost
