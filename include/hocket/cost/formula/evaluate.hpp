// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <boost/hana/accessors.hpp>
#include <boost/hana/at.hpp>
#include <boost/hana/concept/struct.hpp>
#include <boost/hana/first.hpp>
#include <boost/hana/second.hpp>
#include <boost/hana/string.hpp>
#include <boost/hana/tuple.hpp>
#include <boost/hana/unpack.hpp>
#include <hocket/cost/formula/expression.hpp>
#include <hocket/cost/formula/number.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace hocket::inline HOCKET_ABI::cost {

namespace detail {

/// What Hana tells of a struct: the names of its members, and how each is read.
template <class Config>
struct members_of {
  static_assert(
      boost::hana::Struct<Config>::value,
      "hocket::cost: a config of an environment must be a Hana Struct: BOOST_HANA_ADAPT_STRUCT(type, members…)");
  static constexpr auto all = boost::hana::accessors<Config>();

  static constexpr auto names =
      boost::hana::unpack(all, [](const auto&... each) { return std::array{boost::hana::first(each).c_str()...}; });

  template <class F>
  static constexpr void for_each(const Config& config, F&& f) {
    boost::hana::unpack(all, [&](const auto&... each) { (f(boost::hana::second(each)(config)), ...); });
  }
  template <std::size_t At>
  static constexpr const auto& read(const Config& config) noexcept {
    return boost::hana::second(boost::hana::at_c<At>(all))(config);
  }
};

// Where each name is among the numbers of all configs: a hash table filled while compiling, since asking every config
// for every symbol by its type takes several times as long.
template <std::size_t Count>
struct place_table {
  static constexpr std::size_t size = std::bit_ceil(2 * Count + 1), none = static_cast<std::size_t>(-1);
  const char* names[size] = {};
  std::size_t places[size] = {};  // `none` in gaps; with g++'s sanitizers no name may be compared with a null pointer

  constexpr place_table() noexcept {
    for (std::size_t& place : places) place = none;
  }

  // The place in the table of a name, or of the gap where it would be.
  [[nodiscard]] constexpr std::size_t find(const char* name) const noexcept {
    std::size_t at = 5381;
    for (const char* c = name; *c != 0; ++c) at = at * 33 + static_cast<unsigned char>(*c);
    for (at %= size; places[at] != none; at = (at + 1) % size) {
      const char *a = names[at], *b = name;
      while (*a != 0 && *a == *b) {
        ++a;
        ++b;
      }
      if (*a == *b) break;
    }
    return at;
  }
  // A name that is there already stays where it is: earlier configs come first.
  constexpr void add(const char* name, std::size_t place) noexcept {
    if (const std::size_t at = find(name); places[at] == none) {
      names[at] = name;
      places[at] = place;
    }
  }
  [[nodiscard]] constexpr std::size_t operator[](const char* name) const noexcept { return places[find(name)]; }
};
template <class... Configs>
consteval auto places_of() noexcept {
  place_table<(members_of<Configs>::names.size() + ... + 0)> table;
  std::size_t place = 0;
  [[maybe_unused]] const auto add_all = [&](const auto& names) {
    for (const char* name : names) table.add(name, place++);
  };
  (add_all(members_of<Configs>::names), ...);
  return table;
}
/// A place among the numbers of all configs, as config and member.
struct member_place {
  std::size_t config = 0, member = 0;
};
template <class... Configs>
consteval member_place member_at(std::size_t place) noexcept {
  member_place out{0, place};
  for (const std::size_t count : {members_of<Configs>::names.size()...}) {
    if (out.member < count) break;
    out.member -= count;
    ++out.config;
  }
  return out;
}
template <class T>
constexpr auto as_number(const T& value) noexcept {
  if constexpr (std::is_floating_point_v<T>) return static_cast<double>(value);
  else return static_cast<std::int64_t>(value);
}
}  // namespace detail

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
  constexpr explicit environment(const Configs&... configs) noexcept : configs_{{configs}...} {}

  /// Where the number of a symbol is among `all`.
  template <class Key>
  [[nodiscard]] static constexpr std::size_t place_of() noexcept {
    constexpr std::size_t place = places[Key::c_str()];
    static_assert(place != places.none,
                  "hocket::cost: none of the configs has a member with the name of this symbol; pass one more config");
    return place;
  }
  template <class Key>
  [[nodiscard]] static constexpr bool knows() noexcept {
    return places[Key::c_str()] != places.none;
  }
  /// The number of the member called `Key`: std::int64_t (from integers, flags and enumerations) or double.
  template <class Key>
  [[nodiscard]] constexpr auto get() const noexcept {
    constexpr detail::member_place at = detail::member_at<Configs...>(place_of<Key>());
    const auto& config = detail::leaf_at<at.config>(configs_);
    return detail::as_number(
        detail::members_of<std::remove_cvref_t<decltype(config)>>::template read<at.member>(config));
  }
  /// All numbers, in the order of the configs and their members; 0 in place of those that are not whole.
  [[nodiscard]] constexpr auto all() const noexcept {
    std::array<std::int64_t, (detail::members_of<Configs>::names.size() + ... + 0)> out{};
    std::size_t at = 0;
    cost::for_each_in(configs_, [&]<class Config>(const Config& config) {
      detail::members_of<Config>::for_each(config, [&]<class T>(const T& value) {
        if constexpr (!std::is_floating_point_v<T>) out[at] = static_cast<std::int64_t>(value);
        ++at;
      });
    });
    return out;
  }

  /// The same environment with `more` searched first.
  template <class Config>
  [[nodiscard]] constexpr environment<Config, Configs...> with(const Config& more) const noexcept {
    return before(more, std::index_sequence_for<Configs...>{});
  }

 private:
  template <class Config, std::size_t... At>
  constexpr environment<Config, Configs...> before(const Config& more, std::index_sequence<At...>) const noexcept {
    return environment<Config, Configs...>(more, detail::leaf_at<At>(configs_)...);
  }
  static constexpr auto places = detail::places_of<Configs...>();
  pack<Configs...> configs_;
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
template <class Number>
constexpr bool comparable(const Number& a, const Number& b) noexcept {
  if constexpr (requires { a.ok(); }) return a.ok() && b.ok();
  else return true;
}
// Which of two numbers min or max takes; dual numbers look at the other one for a kink.
constexpr const rational& pick(const rational& chosen, const rational&) noexcept { return chosen; }
constexpr double pick(double chosen, double) noexcept { return chosen; }
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

// How a kind of number is made from literals and symbols; dual numbers add their own (derivative.hpp).
template <class Number>
struct make_number {
  static constexpr Number from_literal(std::int64_t n) noexcept { return Number(static_cast<Number>(n)); }
  template <class Key, class T>
  static constexpr Number from_symbol(T value) noexcept {
    static_assert(std::is_same_v<Number, double> || !std::is_same_v<T, double>,
                  "hocket::cost: this formula has a real-valued symbol; ask for its value with real()");
    return static_cast<Number>(value);
  }
  static constexpr Number undefined() noexcept { return Number(0) / Number(0); }
};

template <class Env, class S>
constexpr std::int64_t selected(const S& selector, const Env& env) noexcept;

// One function per node and kind of number: the trees are deep, and a single candidate keeps them cheap to compile.
template <class Number, class Env, class E>
constexpr Number eval(const E& e, const Env& env) noexcept {
  if constexpr (E::is == formula_kind::literal) {
    return make_number<Number>::from_literal(e.value);
  } else if constexpr (E::is == formula_kind::symbol) {
    return make_number<Number>::template from_symbol<typename E::key>(env.template get<typename E::key>());
  } else if constexpr (E::is == formula_kind::binary) {
    return apply<Number>(E::join, detail::eval<Number>(e.left, env), detail::eval<Number>(e.right, env));
  } else if constexpr (E::is == formula_kind::definition) {
    return detail::eval<Number>(e.body, env);
  } else {
    const std::int64_t at = detail::selected(e.selector, env);
    Number out = make_number<Number>::undefined();
    std::int64_t index = 0;
    cost::for_each_in(e.cases, [&](const auto& each) {
      if (index++ == at) out = detail::eval<Number>(each, env);
    });
    return out;
  }
}
template <class Env, class S>
constexpr std::int64_t selected(const S& selector, const Env& env) noexcept {
  const rational r = detail::eval<rational>(selector, env);
  constexpr std::int64_t none = -1;
  return r.is_whole() && r.num() >= 0 && r.num() < 64 ? static_cast<std::int64_t>(r.num()) : none;
}
}  // namespace detail

/// The value as an exact fraction; errc::undefined_value if 128 bits do not hold it or it divides by zero.
/// Complexity: one checked operation per node.
template <formula E, class... Configs>
[[nodiscard]] constexpr result<rational> exact(const E& e, const environment<Configs...>& numbers) noexcept {
  const rational r = detail::eval<rational>(e, numbers);
  if (!r.ok()) return error{errc::undefined_value}.with("value");
  return r;
}

/// The value as a whole number; also errc::not_whole if it is a fraction.
///
///     whole(2 * FLOP * b * s * h * V, environment(model, training)).value()
template <formula E, class... Configs>
[[nodiscard]] constexpr result<integer> whole(const E& e, const environment<Configs...>& numbers) noexcept {
  const rational r = detail::eval<rational>(e, numbers);
  if (!r.ok()) return error{errc::undefined_value}.with("value");
  if (!r.is_whole()) return error{errc::not_whole}.with("value");
  return r.num();
}

/// The value as a double, for formulas with real-valued symbols such as a time in seconds.
template <formula E, class... Configs>
[[nodiscard]] constexpr double real(const E& e, const environment<Configs...>& numbers) noexcept {
  return detail::eval<double>(e, numbers);
}

}  // namespace hocket::inline HOCKET_ABI::cost
