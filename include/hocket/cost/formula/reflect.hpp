// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <boost/hana/accessors.hpp>
#include <boost/hana/basic_tuple.hpp>
#include <boost/hana/first.hpp>
#include <boost/hana/second.hpp>
#include <boost/hana/string.hpp>
#include <hocket/config.hpp>

#include <cstddef>
#include <utility>

/// Structs whose members formulas read by name: Boost.Hana's Structs. Users adapt theirs with BOOST_HANA_ADAPT_STRUCT.
/// The structs of this library are adapted by the other way that Hana documents, a specialisation of accessors_impl:
/// for them the macro would cost every user of a header half a second, more than <regex>.
namespace hocket::inline HOCKET_ABI::cost::detail {

template <std::size_t Size>
struct text_literal {
  char text[Size] = {};
  consteval text_literal(const char (&s)[Size]) {  // NOLINT(google-explicit-constructor): a literal becomes one
    for (std::size_t at = 0; at < Size; ++at) text[at] = s[at];
  }
};
template <text_literal Text, class Indices>
struct hana_string_of;
template <text_literal Text, std::size_t... At>
struct hana_string_of<Text, std::index_sequence<At...>> {
  using type = std::remove_const_t<decltype(boost::hana::string_c<Text.text[At]...>)>;
};
/// The type of BOOST_HANA_STRING("text").
template <text_literal Text>
using hana_string = typename hana_string_of<Text, std::make_index_sequence<sizeof(Text.text) - 1>>::type;

/// Reads a member.
template <auto Member>
struct member_reader {
  template <class Config>
  constexpr const auto& operator()(const Config& config) const noexcept {
    return config.*Member;
  }
};
/// A member as Hana sees it: a Product of its name and what reads it. As hana::pair, at a third of its compile time.
struct member_tag;
template <class Name, auto Member>
struct named_member {
  using hana_tag = member_tag;
};

}  // namespace hocket::inline HOCKET_ABI::cost::detail

template <>
struct boost::hana::first_impl<hocket::cost::detail::member_tag> {
  template <class Name, auto Member>
  static constexpr Name apply(const hocket::cost::detail::named_member<Name, Member>&) noexcept {
    return {};
  }
};
template <>
struct boost::hana::second_impl<hocket::cost::detail::member_tag> {
  template <class Name, auto Member>
  static constexpr hocket::cost::detail::member_reader<Member> apply(
      const hocket::cost::detail::named_member<Name, Member>&) noexcept {
    return {};
  }
};

// A macro for each of the members, by rescanning: C++20 has no other way to name them all.
#define HOCKET_DETAIL_PARENTHESES ()
#define HOCKET_DETAIL_RESCAN(...) HOCKET_DETAIL_RESCAN_3(HOCKET_DETAIL_RESCAN_3(HOCKET_DETAIL_RESCAN_3(__VA_ARGS__)))
#define HOCKET_DETAIL_RESCAN_3(...) HOCKET_DETAIL_RESCAN_2(HOCKET_DETAIL_RESCAN_2(HOCKET_DETAIL_RESCAN_2(__VA_ARGS__)))
#define HOCKET_DETAIL_RESCAN_2(...) HOCKET_DETAIL_RESCAN_1(HOCKET_DETAIL_RESCAN_1(HOCKET_DETAIL_RESCAN_1(__VA_ARGS__)))
#define HOCKET_DETAIL_RESCAN_1(...) __VA_ARGS__
#define HOCKET_DETAIL_MEMBERS(type, member, ...)                                                                \
  ::hocket::cost::detail::named_member<::hocket::cost::detail::hana_string<#member>, &type::member> __VA_OPT__( \
      , HOCKET_DETAIL_MEMBERS_AGAIN HOCKET_DETAIL_PARENTHESES(type, __VA_ARGS__))
#define HOCKET_DETAIL_MEMBERS_AGAIN() HOCKET_DETAIL_MEMBERS

/// Makes a struct of up to 40 members a Hana Struct. At namespace scope, outside of any namespace.
#define HOCKET_DETAIL_STRUCT(type, ...)                                                                    \
  template <>                                                                                              \
  struct boost::hana::accessors_impl<type> {                                                               \
    template <class Same = type> /* a template: compiled for those who ask */                              \
    static constexpr auto apply() {                                                                        \
      return ::boost::hana::basic_tuple<HOCKET_DETAIL_RESCAN(HOCKET_DETAIL_MEMBERS(Same, __VA_ARGS__))>{}; \
    }                                                                                                      \
  };                                                                                                       \
  static_assert(true, "a semicolon after the macro")
