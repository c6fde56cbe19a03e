// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <boost/hana/core/to.hpp>
#include <hocket/core/result.hpp>
#include <hocket/cost/formula/evaluate.hpp>
#include <hocket/cost/model/config.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>

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

}  // namespace hocket::inline HOCKET_ABI::cost
