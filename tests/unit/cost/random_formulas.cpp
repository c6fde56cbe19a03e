// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Random formulas: exact, real, printed, in batches and derived, against fractions computed over another tree.
#include <hocket/cost/formula/batch.hpp>
#include <hocket/cost/formula/derivative.hpp>
#include <hocket/cost/formula/print.hpp>
#include <hocket/cost/formula/reflect.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "calculator.hpp"
#include "catch.hpp"

namespace random_formulas {

struct known_numbers {
  std::int64_t width = 6, depth = 2, below = -3;
  hocket::cost::rational share = hocket::cost::rational(3) / hocket::cost::rational(4);
};
struct varied_numbers {
  std::int64_t ranks = 4, level = 1;
};
struct measured_number {
  double rate = 0;
};

}  // namespace random_formulas
HOCKET_DETAIL_STRUCT(random_formulas::known_numbers, width, depth, below, share);
HOCKET_DETAIL_STRUCT(random_formulas::varied_numbers, ranks, level);
HOCKET_DETAIL_STRUCT(random_formulas::measured_number, rate);

namespace random_formulas {
namespace {

namespace cost = hocket::cost;
using cost::arithmetic, cost::formula_kind;

/// A fraction of small numbers; d = 0: none.
struct fraction {
  std::int64_t n = 0, d = 1;
  [[nodiscard]] bool ok() const { return d != 0; }
  [[nodiscard]] double real() const { return static_cast<double>(n) / static_cast<double>(d); }
};
constexpr fraction none{0, 0};
fraction lowest(std::int64_t n, std::int64_t d) {
  if (d == 0) return none;
  const std::int64_t g = std::gcd(n, d) * (d < 0 ? -1 : 1);
  return {n / g, d / g};
}
fraction apply(arithmetic how, const fraction& a, const fraction& b) {
  if (!a.ok() || !b.ok()) return none;
  const bool less = a.n * b.d < b.n * a.d;
  switch (how) {
    case arithmetic::add: return lowest(a.n * b.d + b.n * a.d, a.d * b.d);
    case arithmetic::subtract: return lowest(a.n * b.d - b.n * a.d, a.d * b.d);
    case arithmetic::multiply: return lowest(a.n * b.n, a.d * b.d);
    case arithmetic::least: return less ? a : b;
    case arithmetic::greatest: return less ? b : a;
    case arithmetic::divide: return lowest(a.n * b.d, a.d * b.n);
    case arithmetic::divide_up: break;
  }
  const fraction q = lowest(a.n * b.d, a.d * b.n);
  if (!q.ok()) return none;
  const std::int64_t down = q.n / q.d;
  return {down + (q.n % q.d > 0 ? 1 : 0), 1};
}

/// The second tree.
struct tree {
  formula_kind what = formula_kind::literal;
  arithmetic how = arithmetic::add;
  std::int64_t value = 0;  // of a literal
  std::size_t symbol = 0;
  std::vector<tree> kids{};  // of a choice the selector first
};
const std::array symbols{cost::named("width", "w"), cost::named("depth", "d"), cost::named("below", "n"),
                         cost::named("share", "c"), cost::named("ranks", "r"), cost::named("level", "l")};
constexpr std::size_t ranks_symbol = 4, level_symbol = 5;
const char* const definition_letters[] = {"A", "B", "C", "D"};

using numbers_of_symbols = std::array<fraction, 6>;
numbers_of_symbols numbers_at(const varied_numbers& now) {
  return {fraction{6, 1}, {2, 1}, {-3, 1}, {3, 4}, {now.ranks, 1}, {now.level, 1}};
}
fraction value_of(const tree& t, const numbers_of_symbols& numbers) {
  switch (t.what) {
    case formula_kind::literal: return {t.value, 1};
    case formula_kind::symbol: return numbers[t.symbol];
    case formula_kind::definition: return value_of(t.kids[0], numbers);
    case formula_kind::binary: return apply(t.how, value_of(t.kids[0], numbers), value_of(t.kids[1], numbers));
    case formula_kind::choice: break;
  }
  const fraction which = value_of(t.kids[0], numbers);
  if (which.d != 1 || which.n < 0 || which.n + 1 >= static_cast<std::int64_t>(t.kids.size())) return none;
  return value_of(t.kids[static_cast<std::size_t>(which.n) + 1], numbers);
}
/// The value for a real number of ranks.
double real_of(const tree& t, const numbers_of_symbols& numbers, double ranks) {
  switch (t.what) {
    case formula_kind::literal: return static_cast<double>(t.value);
    case formula_kind::symbol: return t.symbol == ranks_symbol ? ranks : numbers[t.symbol].real();
    case formula_kind::definition: return real_of(t.kids[0], numbers, ranks);
    case formula_kind::choice:
      return real_of(t.kids[static_cast<std::size_t>(value_of(t.kids[0], numbers).n) + 1], numbers, ranks);
    case formula_kind::binary: break;
  }
  const double a = real_of(t.kids[0], numbers, ranks), b = real_of(t.kids[1], numbers, ranks);
  switch (t.how) {
    case arithmetic::add: return a + b;
    case arithmetic::subtract: return a - b;
    case arithmetic::multiply: return a * b;
    case arithmetic::divide: return a / b;
    case arithmetic::least: return std::fmin(a, b);
    case arithmetic::greatest: return std::fmax(a, b);
    case arithmetic::divide_up: break;
  }
  return std::ceil(a / b);
}
/// Whether the smaller or larger of two equal ones is taken somewhere, or a whole quotient is rounded up.
bool has_tie(const tree& t, const numbers_of_symbols& numbers) {
  if (t.what == formula_kind::choice)
    return has_tie(t.kids[static_cast<std::size_t>(value_of(t.kids[0], numbers).n) + 1], numbers);
  if (std::any_of(t.kids.begin(), t.kids.end(), [&](const tree& kid) { return has_tie(kid, numbers); })) return true;
  if (t.what != formula_kind::binary || t.how < arithmetic::least) return false;
  const fraction a = value_of(t.kids[0], numbers), b = value_of(t.kids[1], numbers);
  if (t.how == arithmetic::divide_up) return apply(arithmetic::divide, a, b).d == 1;
  return a.n == b.n && a.d == b.d;
}

/// The library's nodes of a tree.
void write_nodes(const tree& t, std::vector<cost::detail::formula_node>& out, std::size_t& definitions) {
  const std::size_t from = out.size();
  if (t.what == formula_kind::symbol) {
    out.push_back(symbols[t.symbol].nodes[0]);
    return;
  }
  for (const tree& kid : t.kids) write_nodes(kid, out, definitions);
  cost::detail::formula_node root{.what = t.what, .join = t.how, .value = t.value};
  if (t.what == formula_kind::choice) root.value = static_cast<std::int64_t>(t.kids.size()) - 1;
  if (t.what == formula_kind::definition) root.letter = definition_letters[definitions++];
  root.size = static_cast<std::uint16_t>(out.size() - from + 1);
  out.push_back(root);
}

class maker {
 public:
  explicit maker(unsigned seed) : draw_(seed) {}
  tree make(int depth) {
    const unsigned kind = depth == 0 ? below(2) : below(10);
    if (kind == 0) return {.what = formula_kind::literal, .value = below(5)};
    if (kind == 1 || kind == 2) return {.what = formula_kind::symbol, .symbol = below(6)};
    if (kind == 3 && definitions_ < 4) {
      ++definitions_;
      tree body = make(depth - 1);
      return {.what = formula_kind::definition, .kids = {std::move(body)}};
    }
    if (kind == 4) {
      tree out{.what = formula_kind::choice};
      out.kids.push_back(below(4) > 0 ? tree{.what = formula_kind::symbol, .symbol = level_symbol} : make(depth - 1));
      for (unsigned cases = 2 + below(2); cases > 0; --cases) out.kids.push_back(make(depth - 1));
      return out;
    }
    tree out{.what = formula_kind::binary, .how = static_cast<arithmetic>(below(7))};
    out.kids.push_back(make(depth - 1));
    out.kids.push_back(make(depth - 1));
    return out;
  }

 private:
  std::uint32_t below(unsigned n) { return static_cast<std::uint32_t>(draw_() % n); }
  std::mt19937 draw_;
  unsigned definitions_ = 0;
};

struct made {
  tree of;
  std::vector<cost::detail::formula_node> nodes{};
  explicit made(unsigned seed) : of(maker(seed).make(3)) {
    std::size_t definitions = 0;
    write_nodes(of, nodes, definitions);
  }
  [[nodiscard]] cost::formula_view view() const { return cost::formula_view(&nodes.back()); }
};
constexpr unsigned rounds = 3000;

bool close(double mine, double theirs) { return std::abs(mine - theirs) <= 1e-11 * std::fmax(1, std::abs(theirs)); }

/// What LaTeX prints, as the calculator reads it.
std::string plain_text(const std::string& s) {
  std::string out;
  const auto closing = [&](std::size_t at) {  // of the brace that opens at it
    int depth = 0;
    for (; at < s.size(); ++at) {
      depth += s[at] == '{' ? 1 : s[at] == '}' ? -1 : 0;
      if (depth == 0) return at;
    }
    FAIL("no closing brace in " << s);
    return at;
  };
  const std::pair<std::string, std::string> words[] = {{"\\left\\lceil", "ceil("}, {"\\right\\rceil", ")"},
                                                       {"\\left(", "("},           {"\\right)", ")"},
                                                       {" \\cdot ", "*"},          {"\\,", "*"},
                                                       {"\\min", "min"},           {"\\max", "max"}};
  for (std::size_t at = 0; at < s.size();) {
    if (s.compare(at, 5, "\\frac") == 0) {
      const std::size_t middle = closing(at + 5), end = closing(middle + 1);
      out += "((" + plain_text(s.substr(at + 6, middle - at - 6)) + ")/(" +
             plain_text(s.substr(middle + 2, end - middle - 2)) + "))";
      at = end + 1;
      continue;
    }
    const auto word = std::find_if(std::begin(words), std::end(words),
                                   [&](const auto& w) { return s.compare(at, w.first.size(), w.first) == 0; });
    out += word != std::end(words) ? word->second : std::string(1, s[at]);
    at += word != std::end(words) ? word->first.size() : 1;
  }
  return out;
}

}  // namespace

TEST_CASE("random formulas have their values, exact and real", "[cost][formula]") {
  int defined = 0, undefined = 0;
  for (unsigned seed = 0; seed < rounds; ++seed) {
    const made f(seed);
    for (std::int64_t ranks = 1; ranks < 5; ++ranks)
      for (std::int64_t level = 0; level < 4; ++level) {
        const varied_numbers now{ranks, level};
        const cost::environment numbers(known_numbers{}, now);
        const fraction expected = value_of(f.of, numbers_at(now));
        const auto found = cost::exact(f.view(), numbers);
        if (found.has_value() != expected.ok()) FAIL("formula " << seed << ", ranks " << ranks << ", level " << level);
        ++(expected.ok() ? defined : undefined);
        if (!expected.ok()) {
          CHECK(found.error().code == hocket::errc::undefined_value);
          continue;
        }
        if (!(found->num() == expected.n && found->den() == expected.d)) FAIL("value of formula " << seed);
        const double real = real_of(f.of, numbers_at(now), static_cast<double>(ranks));
        if (!close(cost::real(f.view(), numbers), real)) FAIL("real value of formula " << seed);
        const auto whole = cost::whole(f.view(), numbers);
        CHECK(whole.has_value() == (expected.d == 1));
      }
  }
  CHECK(defined > 10000);
  CHECK(undefined > 1000);
}

TEST_CASE("random formulas print what comes to their value", "[cost][formula][print]") {
  int printed = 0;
  for (unsigned seed = 0; seed < rounds; ++seed) {
    const made f(seed);
    const varied_numbers now{3, static_cast<std::int64_t>(seed % 3)};
    const cost::environment numbers(known_numbers{}, now);
    if (!value_of(f.of, numbers_at(now)).ok()) continue;
    const double expected = real_of(f.of, numbers_at(now), 3);
    const std::string digits = print(f.view(), cost::style::numbers, numbers);
    INFO("formula " << seed << ": " << print(f.view(), cost::style::text, numbers) << ": " << digits);
    if (digits.find("undefined") != std::string::npos) continue;  // of a part without value that is not taken
    CHECK(close(calculator(digits).value(), expected));
    CHECK(close(calculator(plain_text(print(f.view(), cost::style::latex_numbers, numbers))).value(), expected));
    // With letters: named parts stand for what is printed of them.
    std::map<std::string, double> letters{{"w", 6}, {"d", 2}, {"n", -3}, {"c", 0.75}};
    letters["r"] = static_cast<double>(now.ranks);
    letters["l"] = static_cast<double>(now.level);
    std::string named = print_definitions(f.view(), cost::style::text, numbers);
    std::vector<std::pair<std::string, std::string>> parts;
    for (std::size_t at = 0; !named.empty() && at != std::string::npos;) {
      const std::size_t end = named.find("; ", at);
      parts.emplace_back(named.substr(at, 1), named.substr(at + 4, end == std::string::npos ? end : end - at - 4));
      at = end == std::string::npos ? end : end + 2;
    }
    std::reverse(parts.begin(), parts.end());  // inner ones are behind those that they are in
    for (const auto& [letter, body] : parts) letters[letter] = calculator(body, letters).value();
    CHECK(close(calculator(print(f.view(), cost::style::text, numbers), letters).value(), expected));
    CHECK(close(calculator(plain_text(print(f.view(), cost::style::latex, numbers)), letters).value(), expected));
    ++printed;
  }
  CHECK(printed > 1000);
}

TEST_CASE("random formulas in a batch have the values of each configuration alone", "[cost][formula][batch]") {
  std::mt19937 draw(7);
  for (unsigned seed = 0; seed < rounds / 4; ++seed) {
    const made f(seed);
    const std::size_t sizes[] = {1, 2, 127, 128, 129, 300};
    const std::size_t count = sizes[seed % 6];
    std::vector<double> ranks(count), levels(count), out(count);
    for (double& x : ranks) x = 1 + static_cast<double>(draw() % 9);
    for (double& x : levels) x = static_cast<double>(draw() % 4);
    const cost::batch both(cost::environment(known_numbers{}, varied_numbers{}),
                           cost::column_of(symbols[ranks_symbol], ranks),
                           cost::column_of(symbols[level_symbol], levels));
    cost::evaluate(f.view(), both, out);
    const cost::batch one(cost::environment(known_numbers{}, varied_numbers{}),
                          cost::column_of(symbols[ranks_symbol], ranks));
    std::vector<double> with_level_1(count);
    cost::evaluate(f.view(), one, with_level_1);
    for (std::size_t i = 0; i < count; ++i) {
      const auto alone = [&](std::int64_t level) {
        return cost::real(
            f.view(), cost::environment(known_numbers{}, varied_numbers{static_cast<std::int64_t>(ranks[i]), level}));
      };
      for (const auto& [found, expected] :
           {std::pair{out[i], alone(static_cast<std::int64_t>(levels[i]))}, std::pair{with_level_1[i], alone(1)}})
        if (!(found == expected || (std::isnan(found) && std::isnan(expected)) || close(found, expected)))
          FAIL("formula " << seed << " of configuration " << i << ": " << found << ", alone " << expected);
    }
  }
}

TEST_CASE("slopes of random formulas are those of small steps; where both sides differ there is a kink",
          "[cost][formula][slope]") {
  int smooth = 0, kinks = 0;
  for (unsigned seed = 0; seed < rounds; ++seed) {
    const made f(seed);
    const varied_numbers now{3, static_cast<std::int64_t>(seed % 2)};
    const cost::environment numbers(known_numbers{}, now);
    const auto plain = numbers_at(now);
    if (!value_of(f.of, plain).ok()) continue;
    const auto slope = partial(f.view(), symbols[ranks_symbol], numbers);
    constexpr double h = 1e-6;
    const double at = real_of(f.of, plain, 3), above = (real_of(f.of, plain, 3 + h) - at) / h,
                 below = (at - real_of(f.of, plain, 3 - h)) / h;
    INFO("formula " << seed << ": " << print(f.view(), cost::style::text, numbers));
    CHECK(close(slope.value, at));
    if (!has_tie(f.of, plain)) CHECK_FALSE(slope.kink);
    const double size = std::fmax(1, std::fmax(std::abs(above), std::abs(below)));
    if (std::abs(above - below) > 1e-3 * size) {
      CHECK(slope.kink);
      ++kinks;
    } else if (!slope.kink) {
      CHECK(std::abs(slope.derivative - (above + below) / 2) < 1e-4 * size);
      ++smooth;
    }
  }
  CHECK(smooth > 1000);
  CHECK(kinks > 20);
}

TEST_CASE("sums and products of integers are refused just where they leave 127 bits", "[cost][formula]") {
  using cost::integer, cost::rational;
  const integer most = cost::detail::max_integer;
  const auto of = [](integer n) { return rational::whole(n); };
  CHECK((of(most - 1) + of(1)).num() == most);
  CHECK_FALSE((of(most) + of(1)).ok());
  CHECK((of(1 - most) + of(-1)).num() == -most);
  CHECK_FALSE((of(-most) + of(-1)).ok());
  CHECK((of(most) + of(-most)).num() == 0);
  CHECK((of(most) + of(0)).num() == most);
  const integer power = integer{1} << 63;
  CHECK((of(power) * of(power)).num() == integer{1} << 126);
  CHECK_FALSE((of(power) * of(2 * power)).ok());
  CHECK((of(-power) * of(power)).num() == -(integer{1} << 126));
  CHECK((of(most) * of(-1)).num() == -most);
  CHECK((of(most / 3) * of(3)).num() == most / 3 * 3);
  CHECK_FALSE((of(most / 3 + 1) * of(3)).ok());
  CHECK((of(0) * of(most)).num() == 0);
  // Fractions cancel before they are multiplied, and what cannot be ordered exactly is ordered as doubles.
  const rational third = of(most) / rational(3);
  CHECK(third * (rational(3) / of(most)) == rational(1));
  CHECK((rational(-6) / rational(-4)).num() == 3);
  CHECK((rational(6) / rational(-4)).num() == -3);
  CHECK((rational(6) / rational(-4)).den() == 2);
  CHECK(rational(1) / of(most) < rational(1) / of(most - 2) * rational(2));
  CHECK_FALSE(of(most) / rational(2) < of(most) / rational(3));
  for (std::int64_t n = -20; n <= 20; ++n)
    for (std::int64_t d = 1; d < 8; ++d) {
      const rational x = rational(n) / rational(d);
      CHECK(x.ceiling().real() == std::ceil(static_cast<double>(n) / static_cast<double>(d)));
      CHECK((rational(0) < x) == (n > 0));
      CHECK(x - x == rational(0));
    }
  CHECK(to_string(rational(1) / rational(0)) == "undefined");
  CHECK(cost::to_string(-(integer{1} << 100) - 7) == "-1267650600228229401496703205383");
  CHECK(cost::to_string(integer{0}) == "0");
}

TEST_CASE("measured numbers print with six digits, and in LaTeX with their power of ten", "[cost][formula][print]") {
  constexpr auto rate = cost::named("rate", "P");
  const auto text = [&](double x) {
    return print(2 / rate, cost::style::numbers, cost::environment(measured_number{x}));
  };
  const auto latex = [&](double x) {
    return print(2 / rate, cost::style::latex_numbers, cost::environment(measured_number{x}));
  };
  CHECK(text(3.12e14) == "2/3.12e+14");
  CHECK(text(0.25) == "2/0.25");
  CHECK(text(1.23456789) == "2/1.23457");
  CHECK(latex(0.25) == "\\frac{2}{0.25}");
  CHECK(latex(3.12e14) == "\\frac{2}{3.12 \\cdot 10^{14}}");
  CHECK(latex(3.12e-5) == "\\frac{2}{3.12 \\cdot 10^{-5}}");
  CHECK(latex(1e100) == "\\frac{2}{1 \\cdot 10^{100}}");
  CHECK(print(squared(rate), cost::style::latex_numbers, cost::environment(measured_number{1e9})) ==
        "\\left(1 \\cdot 10^{9}\\right)^2");
}

}  // namespace random_formulas
