// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/cost/formula/evaluate.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace hocket::inline HOCKET_ABI::cost {

/// How far a formula can be trusted.
enum class origin : std::uint8_t {
  definition,  ///< follows from the architecture: counts of weights, of multiplications
  published,   ///< taken from the named source as printed there
  derived,     ///< our derivation, checked against the named source
  estimated    ///< holds under an assumption named in the source text
};

[[nodiscard]] constexpr std::string_view to_string(origin how) noexcept {
  switch (how) {
    case origin::definition: return "definition";
    case origin::published: return "published";
    case origin::derived: return "derived";
    case origin::estimated: return "estimated";
  }
  return "";
}

/// The operation of a layer that a term belongs to: the one that makes a saved tensor, does the FLOPs, moves the bytes.
enum class layer_operation : std::uint8_t {
  none,
  cast,
  cast_back,
  norm,
  gather,
  qkv,
  core,       ///< scores inside the attention
  attention,  ///< the attention as a whole: its output
  output,
  ffn_in,
  activation,
  ffn_out,
  router,
  dispatch,
  head,
  embedding
};
[[nodiscard]] constexpr std::string_view to_string(layer_operation which) noexcept {
  constexpr std::string_view names[] = {"none",   "cast",      "cast_back", "norm",     "gather",     "qkv",
                                        "core",   "attention", "output",    "ffn_in",   "activation", "ffn_out",
                                        "router", "dispatch",  "head",      "embedding"};
  return names[static_cast<std::size_t>(which)];
}

/// What kind of transfer a term counts (communication.hpp).
enum class collective : std::uint8_t { none, all_reduce, reduce_scatter, all_gather, all_to_all, send };
/// The group of ranks that a transfer goes through.
enum class axis : std::uint8_t { tensor, context, expert, pipeline, data };

[[nodiscard]] constexpr std::string_view to_string(collective kind) noexcept {
  constexpr std::string_view names[] = {"none", "all_reduce", "reduce_scatter", "all_gather", "all_to_all", "send"};
  return names[static_cast<std::size_t>(kind)];
}
[[nodiscard]] constexpr std::string_view to_string(axis over) noexcept {
  constexpr std::string_view names[] = {"tensor", "context", "expert", "pipeline", "data"};
  return names[static_cast<std::size_t>(over)];
}
/// One line of a sum: a formula with its name, the condition under which it counts, by how many ranks it is divided,
/// and where it comes from. `also` carries what a group of terms adds (FLOPs: how often the term is computed again).
template <class Formula, class When, class Split, class Also = literal<units::pure>>
struct term {
  using unit = unit_of<Formula>;
  std::string_view name;  ///< literal
  Formula formula;
  When when;
  Split split;
  std::string_view source;  ///< literal
  origin how;
  Also also{0};
  layer_operation by = layer_operation::none;
};

/// A list of terms: any formulas, one constant.
template <class... Terms>
[[nodiscard]] constexpr pack<Terms...> terms(const Terms&... t) noexcept {
  return {{t}...};
}

/// True if the term counts for these numbers.
template <class Term, class... Configs>
[[nodiscard]] constexpr bool counts(const Term& t, const environment<Configs...>& numbers) noexcept {
  return !(detail::eval<rational>(t.when, numbers) == rational(0));
}

/// Calls f(term) for each term that counts, in order.
template <class Terms, class... Configs, class F>
constexpr void for_each_term(const Terms& list, const environment<Configs...>& numbers, F&& f) {
  cost::for_each_in(list, [&](const auto& t) {
    if (cost::counts(t, numbers)) f(t);
  });
}

/// The sum of value(term) over the terms that count, exact; errc::undefined_value names the first term that failed.
template <class Terms, class... Configs, class Value>
[[nodiscard]] constexpr result<rational> sum(const Terms& list, const environment<Configs...>& numbers,
                                             Value&& value) noexcept {
  rational total = 0;
  std::string_view failed;
  cost::for_each_term(list, numbers, [&](const auto& t) {
    total = total + value(t);
    if (!total.ok() && failed.empty()) failed = t.name;
  });
  if (!failed.empty()) return error{errc::undefined_value}.with(failed);
  return total;
}
/// The sum of the formulas: the whole, not split over ranks.
template <class Terms, class... Configs>
[[nodiscard]] constexpr result<rational> total(const Terms& list, const environment<Configs...>& numbers) noexcept {
  return cost::sum(list, numbers, [&](const auto& t) { return detail::eval<rational>(t.formula, numbers); });
}
/// The sum of formula / split: what one rank has.
template <class Terms, class... Configs>
[[nodiscard]] constexpr result<rational> rank_total(const Terms& list,
                                                    const environment<Configs...>& numbers) noexcept {
  return cost::sum(list, numbers, [&](const auto& t) {
    return detail::eval<rational>(t.formula, numbers) / detail::eval<rational>(t.split, numbers);
  });
}

/// The total as a whole number; errc::not_whole if it is a fraction.
[[nodiscard]] constexpr result<integer> to_whole(const result<rational>& r) noexcept {
  if (!r) return r.error();
  if (!r->is_whole()) return error{errc::not_whole}.with("total");
  return r->num();
}

}  // namespace hocket::inline HOCKET_ABI::cost
