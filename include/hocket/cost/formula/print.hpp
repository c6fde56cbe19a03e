// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/cost/formula/tree.hpp>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// How a formula becomes a line of text: ordinary functions over its tree, no template per formula.
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
  writer(const formula_tree& t, style how) : tree_(t), how_(how) {}

  std::string line(std::uint32_t at, binding least_needed = binding::sum) const {
    binding has = binding::atom;
    const std::string s = plain(at, has);
    return has < least_needed ? (latex() ? "\\left(" + s + "\\right)" : "(" + s + ")") : s;
  }
  std::string name(std::string_view letter) const { return latex() ? latex_name(letter) : std::string(letter); }

 private:
  using kind = formula_tree::kind;
  bool latex() const { return how_ == style::latex || how_ == style::latex_numbers; }
  bool numeric() const { return how_ == style::numbers || how_ == style::latex_numbers; }

  const formula_tree::entry& at(std::uint32_t i) const { return tree_.entries[i]; }
  bool is_one(std::uint32_t i) const { return at(i).what == kind::literal && at(i).value == rational(1); }
  bool is_zero(std::uint32_t i) const { return at(i).what == kind::literal && at(i).value == rational(0); }

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

  std::string plain(std::uint32_t i, binding& has) const {
    const formula_tree::entry& n = at(i);
    switch (n.what) {
      case kind::literal: return number(n.value, has);
      case kind::symbol:
        if (!numeric() || !n.known) return name(n.letter);
        if (n.is_real) return real_number(n.real_value, has);
        return number(n.value, has);
      case kind::definition: return numeric() ? number(value_of(tree_, n.left), has) : name(n.letter);
      case kind::choice: return choice_of(n, has);
      case kind::binary: break;
    }
    return binary_of(n, has);
  }

  std::string choice_of(const formula_tree::entry& n, binding& has) const {
    if (n.taken != 0) return plain(n.taken, has);
    const bool flag = n.cases.size() == 2;
    if (latex()) {
      std::string s = "\\begin{cases}";
      for (std::size_t c = 0; c < n.cases.size(); ++c)
        s += (c ? "\\\\" : "") + line(n.cases[c]) + " & " + line(n.left) + " = " + std::to_string(c);
      return s + "\\end{cases}";
    }
    if (flag) return "(" + line(n.cases[1]) + " if " + line(n.left) + " else " + line(n.cases[0]) + ")";
    std::string s = "(";
    for (std::size_t c = 0; c < n.cases.size(); ++c)
      s += (c ? "; " : "") + line(n.cases[c]) + " if " + line(n.left) + " = " + std::to_string(c);
    return s + ")";
  }

  std::string binary_of(const formula_tree::entry& n, binding& has) const {
    switch (n.op) {
      case arithmetic::add:
        if (is_zero(n.left)) return plain(n.right, has);
        has = binding::sum;
        return line(n.left) + " + " + line(n.right);
      case arithmetic::subtract: {
        has = binding::sum;
        return line(n.left) + " - " + line(n.right, binding::product);
      }
      case arithmetic::multiply: return product_of(n, has);
      case arithmetic::divide:
        if (is_one(n.right)) return plain(n.left, has);
        if (latex()) {
          has = binding::power;
          return "\\frac{" + line(n.left) + "}{" + line(n.right) + "}";
        }
        has = binding::product;
        return line(n.left, binding::product) + "/" + line(n.right, binding::power);
      case arithmetic::divide_up:
        has = binding::atom;
        if (latex()) return "\\left\\lceil\\frac{" + line(n.left) + "}{" + line(n.right) + "}\\right\\rceil";
        return "ceil(" + line(n.left, binding::product) + "/" + line(n.right, binding::power) + ")";
      case arithmetic::least:
      case arithmetic::greatest: {
        has = binding::atom;
        const std::string f = n.op == arithmetic::least ? "min" : "max";
        return (latex() ? "\\" : "") + f + "(" + line(n.left) + ", " + line(n.right) + ")";
      }
    }
    return {};
  }

  std::string product_of(const formula_tree::entry& n, binding& has) const {
    if (is_one(n.left)) return plain(n.right, has);
    if (is_one(n.right)) return plain(n.left, has);
    const formula_tree::entry &l = at(n.left), &r = at(n.right);
    if (l.what == kind::symbol && r.what == kind::symbol && l.letter == r.letter) {
      has = binding::power;
      return line(n.left, binding::atom) + "^2";
    }
    has = binding::product;
    return line(n.left, binding::product) +
           (!latex()    ? "*"
            : numeric() ? " \\cdot "
                        : "\\,") +
           line(n.right, binding::product);
  }

  const formula_tree& tree_;
  style how_;
};

inline std::string write(const formula_tree& t, style how, bool open_definition) {
  // A formula that is nothing but a name prints as what the name stands for.
  std::uint32_t at = t.root();
  while (open_definition && t.entries[at].what == formula_tree::kind::definition) at = t.entries[at].left;
  return writer(t, how).line(at);
}

inline std::string write_definitions(const formula_tree& t, style how) {
  const writer w(t, how);
  const writer symbols(t, how == style::numbers ? style::text : how == style::latex_numbers ? style::latex : how);
  std::string all;
  std::vector<std::string_view> seen;
  // Only what the printed line can reach: the cases not taken have no say.
  std::vector<std::uint32_t> open{t.root()};
  while (!open.empty()) {
    const formula_tree::entry& n = t.entries[open.back()];
    const bool top = open.back() == t.root();
    open.pop_back();
    switch (n.what) {
      case formula_tree::kind::definition: {
        bool known = top;
        for (const auto s : seen) known = known || s == n.letter;
        if (!known) {
          seen.push_back(n.letter);
          all += (all.empty() ? "" : "; ") + symbols.name(n.letter) + " = " + w.line(n.left);
        }
        open.push_back(n.left);
        break;
      }
      case formula_tree::kind::choice:
        if (n.taken != 0) open.push_back(n.taken);
        else open.insert(open.end(), n.cases.begin(), n.cases.end());
        break;
      case formula_tree::kind::binary:
        open.push_back(n.right);
        open.push_back(n.left);
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
