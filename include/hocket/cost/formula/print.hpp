// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/cost/formula/evaluate.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// How a formula becomes a line of text: a walk over its nodes.
namespace hocket::inline HOCKET_ABI::cost {

/// How a formula is written out.
enum class style : std::uint8_t {
  text,     ///< 2*b*s*h*V
  numbers,  ///< 2*1*4096*5120*32000: needs an environment
  latex,    ///< 2\,b\,s\,h\,V
  latex_numbers
};

namespace detail {

// Strength of binding, so that only needed parentheses are written.
enum class binding : std::uint8_t { sum = 1, product = 2, power = 3, atom = 4 };

class writer {
 public:
  writer(const numbers_view& numbers, style how) : numbers_(numbers), how_(how) {}

  std::string line(formula_view e, binding least_needed = binding::sum) const {
    binding has = binding::atom;
    const std::string s = plain(e, has);
    return has < least_needed ? (latex() ? "\\left(" + s + "\\right)" : "(" + s + ")") : s;
  }
  std::string name(std::string_view letter) const { return latex() ? latex_name(letter) : std::string(letter); }
  /// The case that a choice takes; -1 if numbers do not say.
  std::int64_t taken(formula_view choice) const { return selected(choice, numbers_); }

 private:
  bool latex() const { return how_ == style::latex || how_ == style::latex_numbers; }
  bool numeric() const { return how_ == style::numbers || how_ == style::latex_numbers; }

  static bool is_literal(formula_view e, std::int64_t value) {
    return e.what() == formula_kind::literal && e.value() == value;
  }

  static std::string latex_name(std::string_view letter) {
    static constexpr std::string_view greek[] = {"kappa", "nu", "beta", "tau"};
    for (const auto g : greek) {
      if (letter == g) return "\\" + std::string(g);
    }
    const std::size_t cut = letter.find('_');
    const auto part = [](std::string_view p) {
      std::string escaped;
      for (const char c : p) escaped += c == '_' ? std::string("\\_") : std::string(1, c);
      return p.size() == 1 ? escaped : "\\mathrm{" + escaped + "}";
    };
    if (cut == std::string_view::npos) return part(letter);
    return part(letter.substr(0, cut)) + "_{" + part(letter.substr(cut + 1)) + "}";
  }

  static std::string digits(double v) {
    char text[32];
    const auto end = std::to_chars(text, text + sizeof text, v, std::chars_format::general, 6).ptr;
    return std::string(text, end);
  }
  // 3.12e+14; in LaTeX 3.12 \cdot 10^{14}.
  std::string real_number(double v, binding& has) const {
    std::string s = digits(v);
    const std::size_t e = s.find('e');
    if (!latex() || e == std::string::npos) return s;
    has = binding::product;
    std::string power = s.substr(e + (s[e + 1] == '+' ? 2 : 1));
    const std::size_t sign = power.front() == '-' ? 1 : 0;
    if (power[sign] == '0') power.erase(sign, 1);  // two digits at least: e-05
    return s.substr(0, e) + " \\cdot 10^{" + power + "}";
  }

  std::string number(const rational& v, binding& has) const {
    has = !v.is_whole() ? binding::product : v.num() < 0 ? binding::sum : binding::atom;
    if (v.ok() && !v.is_whole() && latex()) return "\\frac{" + to_string(v.num()) + "}{" + to_string(v.den()) + "}";
    return to_string(v);
  }

  std::string plain(formula_view e, binding& has) const {
    switch (e.what()) {
      case formula_kind::literal: return number(rational(e.value()), has);
      case formula_kind::symbol: {
        const std::optional<detail::number> known = numeric() ? numbers_.find(e) : std::nullopt;
        if (!known) return name(e.letter());
        return known->is_real ? real_number(known->real, has) : number(known->exact(), has);
      }
      case formula_kind::definition: return numeric() ? number(value_of(e.body(), numbers_), has) : name(e.letter());
      case formula_kind::choice: return choice_of(e, has);
      case formula_kind::binary: break;
    }
    return binary_of(e, has);
  }

  std::string choice_of(formula_view e, binding& has) const {
    if (const std::int64_t known = taken(e); known >= 0) return plain(e.case_at(known), has);
    const std::string selector = line(e.selector());
    const auto case_line = [&](std::int64_t c) { return line(e.case_at(c)); };
    if (!latex() && e.case_count() == 2) return "(" + case_line(1) + " if " + selector + " else " + case_line(0) + ")";
    std::string s = latex() ? "\\begin{cases}" : "(";
    for (std::int64_t c = 0; c < e.case_count(); ++c) {
      if (c > 0) s += latex() ? "\\\\" : "; ";
      s += case_line(c) + (latex() ? " & " : " if ") + selector + " = " + std::to_string(c);
    }
    return s + (latex() ? "\\end{cases}" : ")");
  }

  std::string binary_of(formula_view e, binding& has) const {
    const formula_view left = e.left(), right = e.right();
    switch (e.join()) {
      case arithmetic::add:
        if (is_literal(left, 0)) return plain(right, has);
        has = binding::sum;
        return line(left) + " + " + line(right);
      case arithmetic::subtract: has = binding::sum; return line(left) + " - " + line(right, binding::product);
      case arithmetic::multiply: return product_of(left, right, has);
      case arithmetic::divide:
        if (is_literal(right, 1)) return plain(left, has);
        if (latex()) {
          has = binding::power;
          return "\\frac{" + line(left) + "}{" + line(right) + "}";
        }
        has = binding::product;
        return line(left, binding::product) + "/" + line(right, binding::power);
      case arithmetic::divide_up:
        if (latex()) return "\\left\\lceil\\frac{" + line(left) + "}{" + line(right) + "}\\right\\rceil";
        return "ceil(" + line(left, binding::product) + "/" + line(right, binding::power) + ")";
      case arithmetic::least:
      case arithmetic::greatest: break;
    }
    const std::string f = e.join() == arithmetic::least ? "min" : "max";
    return (latex() ? "\\" : "") + f + "(" + line(left) + ", " + line(right) + ")";
  }

  std::string product_of(formula_view left, formula_view right, binding& has) const {
    if (is_literal(left, 1)) return plain(right, has);
    if (is_literal(right, 1)) return plain(left, has);
    if (left.what() == formula_kind::symbol && right.what() == formula_kind::symbol &&
        std::string_view(left.letter()) == right.letter()) {
      has = binding::power;
      return line(left, binding::atom) + "^2";
    }
    has = binding::product;
    const std::string_view times = !latex() ? "*" : numeric() ? " \\cdot " : "\\,";
    return (line(left, binding::product) += times) += line(right, binding::product);
  }

  numbers_view numbers_;
  style how_;
};

// A formula that is nothing but a name prints as what the name stands for.
inline std::string write(formula_view e, style how, const numbers_view& numbers) {
  while (e.what() == formula_kind::definition) e = e.body();
  return writer(numbers, how).line(e);
}

inline std::string write_definitions(formula_view whole, style how, const numbers_view& numbers) {
  const writer w(numbers, how);
  std::string all;
  std::vector<std::string_view> seen;
  if (whole.what() == formula_kind::definition) seen.push_back(whole.letter());
  // Only what the printed line can reach: the cases not taken have no say.
  std::vector<formula_view> open{whole};
  while (!open.empty()) {
    const formula_view e = open.back();
    open.pop_back();
    switch (e.what()) {
      case formula_kind::definition:
        if (std::find(seen.begin(), seen.end(), e.letter()) == seen.end()) {
          seen.push_back(e.letter());
          all += (all.empty() ? "" : "; ") + w.name(e.letter()) + " = " + w.line(e.body());
        }
        open.push_back(e.body());
        break;
      case formula_kind::choice:
        if (const std::int64_t taken = w.taken(e); taken >= 0) open.push_back(e.case_at(taken));
        else
          for (std::int64_t c = 0; c < e.case_count(); ++c) open.push_back(e.case_at(c));
        break;
      case formula_kind::binary:
        open.push_back(e.right());
        open.push_back(e.left());
        break;
      default: break;
    }
  }
  return all;
}

}  // namespace detail

/// The formula as one line. Units are not printed with it: see unit_name.
///
///     print(2 * FLOP * b * s * h * V) == "2*b*s*h*V"
[[nodiscard]] inline std::string print(formula_view e, style how = style::text) { return detail::write(e, how, {}); }
/// With numbers at hand: every `choose` shows the case taken, and the styles that put numbers in are possible.
[[nodiscard]] inline std::string print(formula_view e, style how, const numbers_view& numbers) {
  return detail::write(e, how, numbers);
}
/// "kappa = s^2/2": the named parts of a formula, "; " between them; empty if it has none.
[[nodiscard]] inline std::string print_definitions(formula_view e, style how, const numbers_view& numbers) {
  return detail::write_definitions(e, how, numbers);
}

}  // namespace hocket::inline HOCKET_ABI::cost
