// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <boost/hana/accessors.hpp>
#include <boost/hana/adapt_struct.hpp>
#include <boost/hana/fwd/pair.hpp>
#include <boost/hana/fwd/string.hpp>
#include <boost/hana/fwd/tuple.hpp>
#include <hocket/config.hpp>

#include <cstddef>
#include <utility>

/// Names of members as types, and reflection of structs of many members: what Boost.Hana gives, spelt so that it
/// compiles in a fraction of the time.
namespace hocket::inline HOCKET_ABI::cost::detail {

template <std::size_t Size>
struct text_literal {
  char text[Size] = {};
  consteval text_literal(const char (&s)[Size]) {  // NOLINT(google-explicit-constructor): a literal becomes one
    for (std::size_t at = 0; at < Size; ++at) text[at] = s[at];
  }
  static constexpr std::size_t length = Size - 1;
};
template <text_literal Text, class Indices>
struct hana_string_of;
template <text_literal Text, std::size_t... At>
struct hana_string_of<Text, std::index_sequence<At...>> {
  using type = boost::hana::string<Text.text[At]...>;
};
// The type of BOOST_HANA_STRING("text").
template <text_literal Text>
using hana_string = typename hana_string_of<Text, std::make_index_sequence<Text.length>>::type;

}  // namespace hocket::inline HOCKET_ABI::cost::detail

#define HOCKET_DETAIL_PARENTHESES ()
#define HOCKET_DETAIL_RESCAN(...) HOCKET_DETAIL_RESCAN_3(HOCKET_DETAIL_RESCAN_3(HOCKET_DETAIL_RESCAN_3(__VA_ARGS__)))
#define HOCKET_DETAIL_RESCAN_3(...) HOCKET_DETAIL_RESCAN_2(HOCKET_DETAIL_RESCAN_2(HOCKET_DETAIL_RESCAN_2(__VA_ARGS__)))
#define HOCKET_DETAIL_RESCAN_2(...) HOCKET_DETAIL_RESCAN_1(HOCKET_DETAIL_RESCAN_1(HOCKET_DETAIL_RESCAN_1(__VA_ARGS__)))
#define HOCKET_DETAIL_RESCAN_1(...) __VA_ARGS__
#define HOCKET_DETAIL_MEMBER(type, member)                          \
  ::boost::hana::pair<::hocket::cost::detail::hana_string<#member>, \
                      ::boost::hana::struct_detail::member_ptr<decltype(&type::member), &type::member>>
#define HOCKET_DETAIL_MEMBERS(type, member, ...) \
  HOCKET_DETAIL_MEMBER(type, member)             \
  __VA_OPT__(, HOCKET_DETAIL_MEMBERS_AGAIN HOCKET_DETAIL_PARENTHESES(type, __VA_ARGS__))
#define HOCKET_DETAIL_MEMBERS_AGAIN() HOCKET_DETAIL_MEMBERS

/// Makes a struct of up to 40 members a Hana Struct, as BOOST_HANA_ADAPT_STRUCT does: formulas read its members by
/// name, and boost::hana's own algorithms take it. The two may be mixed; this one is for structs that every user of a
/// header pays for. At namespace scope, outside of any namespace.
///
///     struct layer { std::int64_t sequence, hidden; };
///     HOCKET_COST_STRUCT(layer, sequence, hidden);
#define HOCKET_COST_STRUCT(type, ...)                                                                 \
  template <>                                                                                         \
  struct boost::hana::accessors_impl<type> {                                                          \
    using all = ::boost::hana::tuple<HOCKET_DETAIL_RESCAN(HOCKET_DETAIL_MEMBERS(type, __VA_ARGS__))>; \
    template <class All = all> /* a template: its body is compiled for those who ask for the tuple */ \
    static constexpr All apply() {                                                                    \
      return {};                                                                                      \
    }                                                                                                 \
  };                                                                                                  \
  static_assert(true, "a semicolon after HOCKET_COST_STRUCT(…)")
