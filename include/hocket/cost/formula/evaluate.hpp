// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <boost/hana/accessors.hpp>
#include <boost/hana/concept/struct.hpp>
#include <boost/hana/first.hpp>
#include <boost/hana/second.hpp>
#include <boost/hana/string.hpp>
#include <boost/hana/tuple.hpp>
#include <boost/hana/unpack.hpp>
#include <hocket/core/result.hpp>
#include <hocket/cost/formula/expression.hpp>
#include <hocket/cost/formula/number.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <type_traits>

namespace hocket::inline HOCKET_ABI::cost {

namespace detail {

/// The number of a member: integers, flags and enumerations are whole, a rational is whole / parts.
struct number {
  std::int64_t whole = 0;
  double real = 0;
  bool is_real = false;
  std::int64_t parts = 1;

  template <class T>
  static constexpr number of(const T& value) noexcept {
    if constexpr (std::is_floating_point_v<T>) return {0, static_cast<double>(value), true};
    else return {static_cast<std::int64_t>(value), static_cast<double>(static_cast<std::int64_t>(value)), false};
  }
  // One that is no number, or too large, becomes negative, which no size is.
  static constexpr number of(const rational& value) noexcept {
    constexpr integer most = (std::numeric_limits<std::int32_t>::max)();
    if (!value.ok() || magnitude(value.num()) > most || value.den() > most) return {-1, -1};
    return {static_cast<std::int64_t>(value.num()), value.real(), false, static_cast<std::int64_t>(value.den())};
  }
  /// Precondition: !is_real.
  [[nodiscard]] constexpr rational exact() const noexcept {
    return parts == 1 ? rational(whole) : rational(whole) / rational(parts);
  }
};
struct hashed_name {
  const char* text = "";
  std::uint32_t hash = 0;

  static constexpr hashed_name of(const char* name) noexcept { return {name, hash_of(name)}; }
  friend constexpr bool operator==(const hashed_name& a, const hashed_name& b) noexcept {
    return a.hash == b.hash && std::string_view(a.text) == b.text;
  }
};

/// What Hana tells of a struct: the names of its members, and how each is read.
template <class Config>
struct members_of {
  static_assert(
      boost::hana::Struct<Config>::value,
      "hocket::cost: a config of an environment must be a Hana Struct: BOOST_HANA_ADAPT_STRUCT(type, members…)");

  static constexpr auto names = boost::hana::unpack(boost::hana::accessors<Config>(), [](const auto&... each) {
    return std::array{hashed_name::of(boost::hana::first(each).c_str())...};
  });
  static constexpr std::size_t count = names.size();

  static constexpr auto numbers(const Config& config) noexcept {
    return boost::hana::unpack(boost::hana::accessors<Config>(), [&](const auto&... each) {
      return std::array{number::of(boost::hana::second(each)(config))...};
    });
  }
};

/// Where each name is among the numbers of all configs: a hash table with open addressing, filled while compiling.
///
///     names   layers hidden … tp pp …      in the order of the configs and their members
///     places  0 0 2 0 1 …                  at hash & mask or the next ones: 1 + the number of a name; 0: a gap
template <std::size_t Count>
struct name_index {
  static constexpr std::size_t size = std::bit_ceil(2 * Count + 1);
  std::array<hashed_name, Count> names{};
  std::array<std::uint16_t, size> places{};

  // A name that is there already stays where it is: earlier configs come first.
  constexpr void add(std::size_t number, const hashed_name& name) noexcept {
    names[number] = name;
    std::size_t at = name.hash & (size - 1);
    for (; places[at] != 0; at = (at + 1) & (size - 1))
      if (names[places[at] - 1u] == name) return;
    places[at] = static_cast<std::uint16_t>(number + 1);
  }
};
template <class... Configs>
consteval auto index_of_names() noexcept {
  name_index<(members_of<Configs>::count + ... + 0)> index;
  std::size_t number = 0;
  const auto add_all = [&](const auto& names) {
    for (const hashed_name& name : names) index.add(number++, name);
  };
  (add_all(members_of<Configs>::names), ...);
  return index;
}

/// Evaluating a formula while compiling calls this where it lacks a number, so that the compiler names the reason.
inline void none_of_the_configs_has_a_member_with_the_name_of_this_symbol() noexcept {}

}  // namespace detail

/// The numbers of an environment, by name, without its type: what evaluates and prints takes it. It refers to the
/// environment, which must outlive it.
class numbers_view {
 public:
  constexpr numbers_view() noexcept = default;  ///< knows no number

  /// The number of a symbol; nothing if no config has it. Complexity: O(1) comparisons of names.
  [[nodiscard]] constexpr std::optional<detail::number> find(formula_view symbol) const noexcept {
    const std::optional<std::size_t> place = place_of(symbol);
    if (!place) return std::nullopt;
    return values_[*place];
  }
  /// Where it is among the numbers: the same in every environment of one type.
  [[nodiscard]] constexpr std::optional<std::size_t> place_of(formula_view symbol) const noexcept {
    if (places_ == nullptr) return std::nullopt;
    const detail::hashed_name name{symbol.key(), static_cast<std::uint32_t>(symbol.value())};
    for (std::size_t at = name.hash & mask_; places_[at] != 0; at = (at + 1) & mask_)
      if (names_[places_[at] - 1u] == name) return places_[at] - 1u;
    return std::nullopt;
  }
  /// The number at a place. Precondition: place_of gave it.
  [[nodiscard]] constexpr const detail::number& at(std::size_t place) const noexcept { return values_[place]; }

 private:
  template <class... Configs>
  friend class environment;

  const detail::hashed_name* names_ = nullptr;
  const std::uint16_t* places_ = nullptr;
  std::size_t mask_ = 0;
  const detail::number* values_ = nullptr;
};

/// The numbers of a formula: one or more structs that are Hana Structs, such as those of BOOST_HANA_ADAPT_STRUCT. A
/// symbol is read from the first that has a member of its name, so an earlier config overrides a later, more general
/// one. The environment keeps copies: nothing has to outlive it.
///
///     struct layer { std::int64_t sequence, hidden; };
///     BOOST_HANA_ADAPT_STRUCT(layer, sequence, hidden);
///     hocket::cost::environment numbers(my_layer);
template <class... Configs>
class environment {
 public:
  constexpr explicit environment(const Configs&... configs) noexcept {
    std::size_t at = 0;
    const auto put = [&](const auto& some) {
      for (const detail::number& x : some) values_[at++] = x;
    };
    (put(detail::members_of<Configs>::numbers(configs)), ...);
  }

  /// For the call it is passed to: the environment must outlive the view.
  constexpr operator numbers_view() const noexcept {  // NOLINT(google-explicit-constructor): an argument
    numbers_view out;
    out.names_ = index.names.data();
    out.places_ = index.places.data();
    out.mask_ = index.size - 1;
    out.values_ = values_.data();
    return out;
  }

 private:
  static constexpr auto index = detail::index_of_names<Configs...>();
  std::array<detail::number, (detail::members_of<Configs>::count + ... + 0)> values_{};
};

namespace detail {
constexpr rational divided_up(const rational& a, const rational& b) noexcept {
  const rational q = a / b;
  return q.ok() ? q.ceiling() : q;
}
constexpr double divided_up(double a, double b) noexcept {
  const double q = a / b;
  constexpr double whole_from = 4503599627370496.0;  // 2^52: such doubles have no fraction, and may not fit an integer
  if (!(q > -whole_from && q < whole_from)) return q;
  const auto down = static_cast<double>(static_cast<std::int64_t>(q));
  return down < q ? down + 1 : down;
}
constexpr bool comparable(const rational& a, const rational& b) noexcept { return a.ok() && b.ok(); }
template <class Number>
constexpr bool comparable(const Number&, const Number&) noexcept {
  return true;
}
// Which of two numbers min or max takes; dual numbers look at the other one for a kink.
template <class Number>
constexpr const Number& pick(const Number& chosen, const Number&) noexcept {
  return chosen;
}
template <class Number>
constexpr Number apply(arithmetic what, const Number& a, const Number& b) noexcept {
  switch (what) {
    case arithmetic::add: return a + b;
    case arithmetic::subtract: return a - b;
    case arithmetic::multiply: return a * b;
    case arithmetic::divide: return a / b;
    case arithmetic::divide_up: return divided_up(a, b);
    case arithmetic::least: return !comparable(a, b) ? a + b : b < a ? pick(b, a) : pick(a, b);
    case arithmetic::greatest: return !comparable(a, b) ? a + b : a < b ? pick(b, a) : pick(a, b);
  }
  return a;
}

constexpr std::optional<number> number_of(formula_view symbol, const numbers_view& numbers) noexcept {
  const std::optional<number> found = numbers.find(symbol);
  if (!found && std::is_constant_evaluated()) none_of_the_configs_has_a_member_with_the_name_of_this_symbol();
  return found;
}
// What the leaves of a formula are, for each kind of number.
struct exact_leaves {
  using number_type = rational;
  numbers_view numbers;
  [[nodiscard]] constexpr rational literal(std::int64_t n) const noexcept { return rational(n); }
  [[nodiscard]] constexpr rational symbol(formula_view e) const noexcept {
    const std::optional<number> found = number_of(e, numbers);
    return found && !found->is_real ? found->exact() : rational(0) / rational(0);
  }
  [[nodiscard]] constexpr rational undefined() const noexcept { return rational(0) / rational(0); }
};
struct real_leaves {
  using number_type = double;
  numbers_view numbers;
  [[nodiscard]] constexpr double literal(std::int64_t n) const noexcept { return static_cast<double>(n); }
  [[nodiscard]] constexpr double symbol(formula_view e) const noexcept {
    const std::optional<number> found = number_of(e, numbers);
    HOCKET_ASSERT(found.has_value());
    return found ? found->real : undefined();
  }
  [[nodiscard]] constexpr double undefined() const noexcept { return std::numeric_limits<double>::quiet_NaN(); }
};

constexpr std::int64_t selected(formula_view choice, const numbers_view& numbers) noexcept;

template <class Leaves>
constexpr typename Leaves::number_type eval(formula_view e, const Leaves& leaves) noexcept {
  switch (e.what()) {
    case formula_kind::literal: return leaves.literal(e.value());
    case formula_kind::symbol: return leaves.symbol(e);
    case formula_kind::definition: return detail::eval(e.body(), leaves);
    case formula_kind::binary:
      return detail::apply(e.join(), detail::eval(e.left(), leaves), detail::eval(e.right(), leaves));
    case formula_kind::choice: break;
  }
  const std::int64_t taken = selected(e, leaves.numbers);
  return taken < 0 ? leaves.undefined() : detail::eval(e.case_at(taken), leaves);
}
constexpr rational value_of(formula_view e, const numbers_view& numbers) noexcept {
  return detail::eval(e, exact_leaves{numbers});
}
// The case that a choice takes; -1: none.
constexpr std::int64_t selected(formula_view choice, const numbers_view& numbers) noexcept {
  const rational r = value_of(choice.selector(), numbers);
  return r.is_whole() && r.num() >= 0 && r.num() < choice.case_count() ? static_cast<std::int64_t>(r.num()) : -1;
}
// The first symbol that has no number, or no whole one; null if all have.
constexpr const char* not_told(formula_view e, const numbers_view& numbers) noexcept {
  const formula_node* const root = e.root();
  for (const formula_node* at = root - (root->size - 1); at <= root; ++at) {
    if (at->what != formula_kind::symbol) continue;
    const std::optional<number> found = numbers.find(formula_view(at));
    if (!found || found->is_real) return at->key;
  }
  return nullptr;
}
}  // namespace detail

/// The value as an exact fraction. Errors: errc::unknown_symbol naming the member that no config has, or that is real
/// (ask for real() then); errc::undefined_value if 128 bits do not hold the value or it divides by zero.
/// Complexity: one checked operation per node.
[[nodiscard]] constexpr result<rational> exact(formula_view e, const numbers_view& numbers) noexcept {
  const rational r = detail::value_of(e, numbers);
  if (r.ok()) return r;
  if (const char* name = detail::not_told(e, numbers)) return error{errc::unknown_symbol}.with(name);
  return error{errc::undefined_value}.with("value");
}

/// The value as a whole number; also errc::not_whole if it is a fraction.
///
///     whole(2 * FLOP * b * s * h * V, environment(model, training)).value()
[[nodiscard]] constexpr result<integer> whole(formula_view e, const numbers_view& numbers) noexcept {
  const auto r = exact(e, numbers);
  if (!r) return r.error();
  if (!r->is_whole()) return error{errc::not_whole}.with("value");
  return r->num();
}

/// The value as a double, for formulas with real-valued symbols such as a time in seconds.
/// Precondition: the configs have a member for every symbol.
[[nodiscard]] constexpr double real(formula_view e, const numbers_view& numbers) noexcept {
  return detail::eval(e, detail::real_leaves{numbers});
}

}  // namespace hocket::inline HOCKET_ABI::cost
