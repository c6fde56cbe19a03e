// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <boost/hana/accessors.hpp>
#include <boost/hana/fwd/pair.hpp>
#include <boost/hana/fwd/tuple.hpp>
#include <hocket/cost/formula/expression.hpp>
#include <hocket/cost/formula/number.hpp>
#include <hocket/cost/formula/reflect.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace hocket::inline HOCKET_ABI::cost {

namespace detail {
// The members of a config struct, as bases: overload resolution then finds a member by its name without a search.
template <class Key>
struct slot_name {};
template <class Key, class Read, std::size_t At>
struct slot : slot_name<Key> {
  using read = Read;
  static constexpr std::size_t place = At;
};
template <class Key, class Read, std::size_t At>
slot<Key, Read, At> find_slot(const slot<Key, Read, At>*);

// Most members are read by a pointer; a member behind an accessor function by calling it.
template <class Read>
struct pointer_to_member {
  static constexpr std::nullptr_t value = nullptr;
};
template <class Pointer, Pointer Member>
struct pointer_to_member<boost::hana::struct_detail::member_ptr<Pointer, Member>> {
  static constexpr Pointer value = Member;
};
template <class T>
constexpr std::int64_t as_whole(const T& value) noexcept {
  if constexpr (std::is_floating_point_v<T>) return 0;  // formulas that read it are asked for with real()
  else return static_cast<std::int64_t>(value);
}

template <class Accessors, class Indices>
struct slots;
template <class... Key, class... Read, std::size_t... At>
struct slots<boost::hana::tuple<boost::hana::pair<Key, Read>...>, std::index_sequence<At...>> : slot<Key, Read, At>... {
  static constexpr std::size_t count = sizeof...(Key);
  // All members as whole numbers, in order.
  template <class Config>
  static constexpr void read_all(const Config& config, std::int64_t* out) noexcept {
    if constexpr ((!std::is_same_v<decltype(pointer_to_member<Read>::value), const std::nullptr_t> && ...))
      ((*out++ = as_whole(config.*pointer_to_member<Read>::value)), ...);
    else ((*out++ = as_whole(Read{}(config))), ...);
  }
  static constexpr const char* names[] = {Key::c_str()...};
  template <class Config>
  static constexpr bool is_size[] = {
      std::is_same_v<std::remove_cvref_t<decltype(Read{}(std::declval<const Config&>()))>, std::int64_t>...};
};
template <class Accessors>
struct slots_of_accessors;
template <class... Pair>
struct slots_of_accessors<boost::hana::tuple<Pair...>> {
  using type = slots<boost::hana::tuple<Pair...>, std::index_sequence_for<Pair...>>;
};
template <class Config>
using slots_of =
    typename slots_of_accessors<std::remove_cvref_t<decltype(boost::hana::accessors_impl<Config>::apply())>>::type;
template <class Key, class Config>
using slot_in = decltype(detail::find_slot<Key>(static_cast<const slots_of<Config>*>(nullptr)));
template <class Key, class Config>
inline constexpr bool has_member = __is_base_of(slot_name<Key>, slots_of<Config>);  // overloads would be many

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
      while (*a != 0 && *a == *b) ++a, ++b;
      if (*a == *b) break;
    }
    return at;
  }
  // A name that is there already stays where it is: earlier configs come first.
  constexpr void add(const char* name, std::size_t place) noexcept {
    if (const std::size_t at = find(name); places[at] == none) names[at] = name, places[at] = place;
  }
  [[nodiscard]] constexpr std::size_t operator[](const char* name) const noexcept { return places[find(name)]; }
};
template <class... Slots>
consteval auto places_of() noexcept {
  place_table<(Slots::count + ... + 0)> table;
  std::size_t place = 0;
  [[maybe_unused]] const auto add_all = [&](const char* const* names, std::size_t count) {
    for (std::size_t at = 0; at < count; ++at) table.add(names[at], place++);
  };
  (add_all(Slots::names, Slots::count), ...);
  return table;
}

template <class T>
inline constexpr bool always_false = false;
}  // namespace detail

/// The numbers of a formula: one or more structs reflected with BOOST_HANA_ADAPT_STRUCT. A symbol is read from the
/// first that has a member of its name, so a later, more general config can be overridden by an earlier one. Holds
/// references: the structs must outlive it.
///
///     struct layer { std::int64_t sequence, hidden; };
///     BOOST_HANA_ADAPT_STRUCT(layer, sequence, hidden);
///     hocket::cost::environment numbers(my_layer);
template <class... Configs>
class environment {
 public:
  constexpr explicit environment(const Configs&... configs) noexcept : configs_{{configs}...} {}

  /// The number of the member called `Key`: std::int64_t (from integers, flags and enumerations) or double.
  template <class Key>
  [[nodiscard]] constexpr auto get() const noexcept {
    static_assert((detail::has_member<Key, Configs> || ...),
                  "hocket::cost: none of the configs has a member with the name of this symbol; pass one more config");
    const auto& config = detail::leaf_at<first_with<Key>()>(configs_);
    using read = typename detail::slot_in<Key, std::remove_cvref_t<decltype(config)>>::read;
    const auto& value = read{}(config);
    if constexpr (std::is_floating_point_v<std::remove_cvref_t<decltype(value)>>) return static_cast<double>(value);
    else return static_cast<std::int64_t>(value);
  }
  /// All numbers, in the order of the configs and their members; 0 in place of those that are not whole.
  [[nodiscard]] constexpr auto all() const noexcept {
    std::array<std::int64_t, (detail::slots_of<Configs>::count + ... + 0)> out{};
    std::int64_t* at = out.data();
    cost::for_each_in(configs_, [&](const auto& config) {
      using slots = detail::slots_of<std::remove_cvref_t<decltype(config)>>;
      slots::read_all(config, at);
      at += slots::count;
    });
    return out;
  }
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
    return (detail::has_member<Key, Configs> || ...);
  }

  /// The same environment with `more` searched first.
  template <class Config>
  [[nodiscard]] constexpr environment<Config, Configs...> with(const Config& more) const noexcept {
    return before(more, std::index_sequence_for<Configs...>{});
  }

 private:
  template <class Key>
  static constexpr std::size_t first_with() noexcept {
    std::size_t at = 0;
    static_cast<void>(((detail::has_member<Key, Configs> ? true : (++at, false)) || ...));
    return at;
  }
  template <class Config, std::size_t... At>
  constexpr environment<Config, Configs...> before(const Config& more, std::index_sequence<At...>) const noexcept {
    return environment<Config, Configs...>(more, detail::leaf_at<At>(configs_)...);
  }
  static constexpr auto places = detail::places_of<detail::slots_of<Configs>...>();
  pack<const Configs&...> configs_;
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
