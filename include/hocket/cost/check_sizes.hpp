// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <boost/hana/accessors.hpp>
#include <boost/hana/core/to.hpp>
#include <boost/hana/first.hpp>
#include <boost/hana/for_each.hpp>
#include <boost/hana/second.hpp>
#include <boost/hana/tuple.hpp>
#include <hocket/core/result.hpp>
#include <hocket/cost/config.hpp>
#include <hocket/cost/evaluate.hpp>
#include <hocket/cost/machine.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

namespace hocket::inline HOCKET_ABI::cost {

namespace detail {
constexpr result<void> check_sizes(const std::int64_t* values, const char* const* names, const bool* is_size,
                                   std::size_t count) noexcept {
  constexpr std::int64_t limit = (std::numeric_limits<std::int32_t>::max)();
  for (std::size_t i = 0; i < count; ++i)
    if (is_size[i] && (values[i] < 0 || values[i] > limit))
      return error{errc::out_of_range, values[i], 0, limit}.with(names[i]);
  return {};
}
}  // namespace detail

/// Whether every size of a config is one: not negative, below 2^31. The formulas are polynomials; they would turn a
/// negative size into a plausible number without a word.
/// @tparam Config  a struct adapted with BOOST_HANA_ADAPT_STRUCT; only its std::int64_t members are looked at
/// Errors: errc::out_of_range, naming the first member that is none. O(members).
///
///     static_assert(!check_sizes(model{.layers = -4}) && check_sizes(model{.layers = 4}));
template <class Config>
[[nodiscard]] constexpr result<void> check_sizes(const Config& config) noexcept {
  using slots = detail::slots_of<Config>;
  std::int64_t values[slots::count] = {};
  slots::read_all(config, values);
  return detail::check_sizes(values, slots::names, slots::template is_size<Config>, slots::count);
}

/// The same for a model, and that its heads fit together. Errors: also errc::indivisible.
[[nodiscard]] constexpr result<void> check(const model& m) noexcept {
  if (const auto sizes = check_sizes(m); !sizes) return sizes;
  if (!m.latent && m.kv_heads != 0 && m.heads % m.kv_heads != 0)
    return error{errc::indivisible, m.heads, m.kv_heads}.with("heads over kv_heads");
  return {};
}

/// The same for a machine: rates and seconds are finite and not negative, overlaps at most 1. That a rate which is
/// needed is 0 shows where it is needed. Errors: errc::bad_rate, naming the member and its value. O(members).
[[nodiscard]] inline result<void> check(const machine& on) {
  result<void> out;
  boost::hana::for_each(boost::hana::accessors<machine>(), [&](const auto& member) {
    const double x = boost::hana::second(member)(on);
    const std::string_view name = boost::hana::to<const char*>(boost::hana::first(member));
    const double most = name.ends_with("overlap") ? 1 : (std::numeric_limits<double>::max)();
    if (!out || (x >= 0 && x <= most)) return;
    std::array<char, 2 * error::word_capacity> text{};
    char* end = std::copy_n(name.begin(), (std::min)(name.size(), error::word_capacity), text.data());
    end = std::copy_n(" = ", 3, end);
    end = std::to_chars(end, text.data() + text.size(), x).ptr;
    out = error{errc::bad_rate}.with({text.data(), static_cast<std::size_t>(end - text.data())});
  });
  return out;
}

}  // namespace hocket::inline HOCKET_ABI::cost
