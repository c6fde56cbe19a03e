// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/result.hpp>
#include <hocket/cost/formula/term.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

// Formulas of which most numbers are known and few vary, as sums of few products of what varies. A hundred different
// layers then cost as much as the few products that they share, and one number per layer and product.
namespace hocket::inline HOCKET_ABI::cost {

/// One part of a folded sum: so many times a product.
struct folded_part {
  std::uint32_t product = 0;
  double times = 0;
  rational exact_times = 0;
};
using folded_sum = std::vector<folded_part>;

namespace detail {

/// What a product is made of: a symbol that varies, or what does not fold further, over other sums.
struct fold_atom {
  enum class kind : std::uint8_t { symbol, is_case, nonzero, inverse, join };
  kind what = kind::symbol;
  arithmetic how = arithmetic::add;
  std::uint32_t left = 0, right = 0;  // symbol: its place; else numbers of sums
  std::int64_t number = 0;            // is_case: the case
  friend bool operator==(const fold_atom&, const fold_atom&) = default;
};
struct fold_factor {
  std::uint32_t atom = 0;
  std::int32_t power = 1;
  auto operator<=>(const fold_factor&) const = default;
};
using fold_product = std::vector<fold_factor>;

}  // namespace detail

/// Folds formulas. Symbols that `open` knows vary, all others are told when a formula is folded; symbols that both know
/// are those of `first`.
///
///     folding many(environment(parallel{}));                                  // sizes of parallelism vary
///     const auto kept = many.rank_total(terms, numbers_of_a_block, others);   // a sum of few products of them
///     many.evaluate(environment(p), values);                                  // the products, once per strategy
///     folding::value(*kept, values);
///
/// Values are those of `exact` up to the rounding of doubles. Invariants: a product refers to atoms before it, an atom
/// to sums whose products have only atoms before it; equal products, atoms and sums of atoms are stored once.
class folding {
 public:
  /// @param open  for its names alone: it may go away
  explicit folding(const numbers_view& open) : open_(open) { product_number({}); }

  /// The sum over the terms that count of formula, or formula / split.
  /// @param first, last  numbers that are known: those of `first` go before what varies, those of `last` behind it
  /// Errors: errc::unknown_symbol; errc::undefined_value if 128 bits do not hold a number.
  [[nodiscard]] result<folded_sum> total(const term_list_view& list, const numbers_view& first,
                                         const numbers_view& last) {
    return sum_of(list, first, last, [](const term_view& x, folding& f) { return f.fold(x.formula); });
  }
  [[nodiscard]] result<folded_sum> rank_total(const term_list_view& list, const numbers_view& first,
                                              const numbers_view& last) {
    return sum_of(list, first, last, [](const term_view& x, folding& f) {
      return f.multiply(f.fold(x.formula), f.inverse(f.fold(x.split)));
    });
  }
  /// The sum of formula x also: what is done again.
  [[nodiscard]] result<folded_sum> again_total(const term_list_view& list, const numbers_view& first,
                                               const numbers_view& last) {
    return sum_of(list, first, last,
                  [](const term_view& x, folding& f) { return f.multiply(f.fold(x.formula), f.fold(x.also)); });
  }
  /// One formula.
  [[nodiscard]] result<folded_sum> value_of(formula_view e, const numbers_view& first, const numbers_view& last) {
    first_ = first;
    last_ = last;
    why_ = {};
    folded_sum out = fold(e);
    return why_ ? result<folded_sum>(std::move(out)) : result<folded_sum>(why_.error());
  }

  /// The values of all products. @param open  an environment of the type that the constructor was given
  /// Complexity: one operation per factor.
  void evaluate(const numbers_view& open, std::vector<double>& atoms, std::vector<double>& products) const {
    atoms.resize(atoms_.size());
    for (std::size_t at = 0; at < atoms_.size(); ++at) atoms[at] = value_of(atoms_[at], open, atoms.data());
    products.resize(products_.size());
    for (std::size_t at = 0; at < products_.size(); ++at) products[at] = value_of(products_[at], atoms.data());
  }
  [[nodiscard]] static double value(const folded_sum& sum, const std::vector<double>& products) noexcept {
    double out = 0;
    for (const folded_part& part : sum) out += part.times * products[part.product];
    return out;
  }
  [[nodiscard]] static folded_sum plus(const folded_sum& a, const folded_sum& b, std::int64_t times_of_b = 1) {
    folded_sum out;
    auto x = a.begin();
    auto y = b.begin();
    while (x != a.end() || y != b.end()) {
      if (y == b.end() || (x != a.end() && x->product < y->product)) {
        out.push_back(*x++);
        continue;
      }
      rational sum = rational(times_of_b) * y->exact_times;
      if (x != a.end() && x->product == y->product) sum = sum + (x++)->exact_times;
      if (!(sum == rational(0))) out.push_back({y->product, sum.real(), sum});
      ++y;
    }
    return out;
  }

 private:
  using atom = detail::fold_atom;
  using product = detail::fold_product;

  template <class F>
  result<folded_sum> sum_of(const term_list_view& list, const numbers_view& first, const numbers_view& last,
                            F&& value) {
    first_ = first;
    last_ = last;
    why_ = {};
    folded_sum sum;
    for (const detail::listed_term& t : list.listed()) {
      const term_view each(list.nodes(), t, first);
      const folded_sum when = fold(each.when);
      if (when.empty()) continue;
      folded_sum amount = value(each, *this);
      if (!is_constant(when)) amount = multiply(amount, atom_sum({.what = atom::kind::nonzero, .left = scaled(when)}));
      sum = plus(sum, amount);
      for (const folded_part& part : sum)
        if (why_ && !part.exact_times.ok()) why_ = error{errc::undefined_value}.with(each.name);
      if (!why_) return why_.error();
    }
    return sum;
  }

  static folded_sum constant(const rational& x) {
    if (x == rational(0)) return {};
    return {{0, x.ok() ? x.real() : 0, x}};
  }
  static bool is_constant(const folded_sum& x) { return x.empty() || (x.size() == 1 && x[0].product == 0); }
  static rational constant_of(const folded_sum& x) { return x.empty() ? rational(0) : x[0].exact_times; }

  folded_sum fold(formula_view e) {
    switch (e.what()) {
      case formula_kind::literal: return constant(rational(e.value()));
      case formula_kind::symbol: return symbol(e);
      case formula_kind::definition: return fold(e.body());
      case formula_kind::binary: return join(e.join(), fold(e.left()), fold(e.right()));
      case formula_kind::choice: break;
    }
    const folded_sum selector = fold(e.selector());
    if (is_constant(selector)) {
      const rational taken = constant_of(selector);
      if (taken.is_whole() && taken.num() >= 0 && taken.num() < e.case_count())
        return fold(e.case_at(static_cast<std::int64_t>(taken.num())));
      return undefined();
    }
    folded_sum sum;
    const std::uint32_t of = sum_number(selector);
    for (std::int64_t at = 0; at < e.case_count(); ++at)
      sum = plus(sum, multiply(fold(e.case_at(at)), atom_sum({.what = atom::kind::is_case, .left = of, .number = at})));
    return sum;
  }
  folded_sum symbol(formula_view e) {
    if (const auto known = first_.find(e)) return number(*known);
    if (const auto place = open_.place_of(e))
      return atom_sum({.what = atom::kind::symbol, .left = static_cast<std::uint32_t>(*place)});
    if (const auto known = last_.find(e)) return number(*known);
    if (why_) why_ = error{errc::unknown_symbol}.with(e.key());
    return {};
  }
  folded_sum number(const detail::number& x) { return x.is_real ? undefined() : constant(x.exact()); }
  folded_sum undefined() {
    if (why_) why_ = error{errc::undefined_value}.with("value");
    return {};
  }

  folded_sum join(arithmetic how, const folded_sum& a, const folded_sum& b) {
    if (is_constant(a) && is_constant(b)) {
      const rational x = detail::apply(how, constant_of(a), constant_of(b));
      return x.ok() ? constant(x) : undefined();
    }
    switch (how) {
      case arithmetic::add: return plus(a, b);
      case arithmetic::subtract: return plus(a, b, -1);
      case arithmetic::multiply: return multiply(a, b);
      case arithmetic::divide: return multiply(a, inverse(b));
      default: break;
    }
    return atom_sum({.what = atom::kind::join, .how = how, .left = sum_number(a), .right = sum_number(b)});
  }
  folded_sum multiply(const folded_sum& a, const folded_sum& b) {
    folded_sum sum;
    for (const folded_part& x : a) {
      folded_sum row;
      for (const folded_part& y : b) {
        const std::optional<product> joint = joined(products_[x.product], products_[y.product]);
        if (!joint) continue;
        const rational times = x.exact_times * y.exact_times;
        row = plus(row, {{product_number(*joint), times.ok() ? times.real() : 0, times}});
      }
      sum = plus(sum, row);
    }
    return sum;
  }
  folded_sum inverse(const folded_sum& x) {
    if (is_constant(x)) {
      const rational one = rational(1) / constant_of(x);
      return one.ok() ? constant(one) : undefined();
    }
    const rational leading = rational(1) / x[0].exact_times;
    if (x.size() == 1 && !has_flag(products_[x[0].product])) {
      product turned = products_[x[0].product];
      for (detail::fold_factor& f : turned) f.power = -f.power;
      return {{product_number(turned), leading.real(), leading}};
    }
    folded_sum out = atom_sum({.what = atom::kind::inverse, .left = scaled(x)});
    out[0].times = leading.real();
    out[0].exact_times = leading;
    return out;
  }
  /// The number of a sum divided by its first coefficient, so that multiples share an atom.
  std::uint32_t scaled(folded_sum x) {
    const rational leading = x[0].exact_times;
    for (folded_part& part : x) {
      part.exact_times = part.exact_times / leading;
      part.times = part.exact_times.real();
    }
    return sum_number(x);
  }

  [[nodiscard]] bool is_flag(std::uint32_t number) const {
    return atoms_[number].what == atom::kind::is_case || atoms_[number].what == atom::kind::nonzero;
  }
  [[nodiscard]] bool has_flag(const product& x) const {
    return std::any_of(x.begin(), x.end(), [&](const detail::fold_factor& f) { return is_flag(f.atom); });
  }
  /// The product of two; nothing if it is 0, since two cases of one selector exclude each other.
  [[nodiscard]] std::optional<product> joined(const product& a, const product& b) const {
    product out;
    auto x = a.begin();
    auto y = b.begin();
    while (x != a.end() || y != b.end()) {
      if (y == b.end() || (x != a.end() && x->atom < y->atom)) {
        out.push_back(*x++);
        continue;
      }
      detail::fold_factor f = *y++;
      if (x != a.end() && x->atom == f.atom) f.power += (x++)->power;
      if (is_flag(f.atom)) f.power = 1;  // a flag is its own square
      if (f.power != 0) out.push_back(f);
    }
    for (const detail::fold_factor& f : out)
      for (const detail::fold_factor& g : out)
        if (f.atom < g.atom && atoms_[f.atom].what == atom::kind::is_case &&
            atoms_[g.atom].what == atom::kind::is_case && atoms_[f.atom].left == atoms_[g.atom].left)
          return std::nullopt;
    return out;
  }

  std::uint32_t product_number(const product& x) {
    const auto [at, is_new] = product_numbers_.try_emplace(x, static_cast<std::uint32_t>(products_.size()));
    if (is_new) products_.push_back(x);
    return at->second;
  }
  std::uint32_t sum_number(const folded_sum& x) {
    const auto same = [&](const folded_sum& y) {
      return std::equal(x.begin(), x.end(), y.begin(), y.end(), [](const folded_part& a, const folded_part& b) {
        return a.product == b.product && a.exact_times == b.exact_times;
      });
    };
    const auto at = std::find_if(sums_.begin(), sums_.end(), same);
    if (at != sums_.end()) return static_cast<std::uint32_t>(at - sums_.begin());
    sums_.push_back(x);
    return static_cast<std::uint32_t>(sums_.size() - 1);
  }
  folded_sum atom_sum(const atom& x) {
    auto at = std::find(atoms_.begin(), atoms_.end(), x);
    if (at == atoms_.end()) at = atoms_.insert(at, x);
    return {{product_number({{static_cast<std::uint32_t>(at - atoms_.begin()), 1}}), 1, 1}};
  }

  [[nodiscard]] double value_of(const atom& x, const numbers_view& open, const double* atoms) const noexcept {
    switch (x.what) {
      case atom::kind::symbol: return open.at(x.left).real;
      case atom::kind::is_case: return value_of(sums_[x.left], atoms) == static_cast<double>(x.number) ? 1 : 0;
      case atom::kind::nonzero: return value_of(sums_[x.left], atoms) != 0 ? 1 : 0;
      case atom::kind::inverse: return 1 / value_of(sums_[x.left], atoms);
      case atom::kind::join: break;
    }
    return detail::apply(x.how, value_of(sums_[x.left], atoms), value_of(sums_[x.right], atoms));
  }
  [[nodiscard]] double value_of(const folded_sum& x, const double* atoms) const noexcept {
    double out = 0;
    for (const folded_part& part : x) out += part.times * value_of(products_[part.product], atoms);
    return out;
  }
  // A factor of 0 decides: what stands beside it may have no value.
  [[nodiscard]] static double value_of(const product& x, const double* atoms) noexcept {
    double out = 1;
    for (const detail::fold_factor& f : x) {
      const double one = atoms[f.atom];
      if (one == 0 && f.power > 0) return 0;
      for (std::int32_t n = 0; n < f.power; ++n) out *= one;
      for (std::int32_t n = 0; n > f.power; --n) out /= one;
    }
    return out;
  }

  numbers_view open_, first_, last_;
  result<void> why_;  // of what is being folded
  std::vector<atom> atoms_;
  std::vector<folded_sum> sums_;
  std::vector<product> products_;
  std::map<product, std::uint32_t> product_numbers_;
};

}  // namespace hocket::inline HOCKET_ABI::cost
