// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <boost/hana/core/to.hpp>
#include <hocket/core/result.hpp>
#include <hocket/cost/config.hpp>
#include <hocket/cost/evaluate.hpp>

#include <limits>
#include <type_traits>

namespace hocket::inline HOCKET_ABI::cost {

/// Whether every size of a config is one: not negative, below 2^31. The formulas are polynomials; they would turn a
/// negative size into a plausible number without a word.
/// @tparam Config  a struct adapted with BOOST_HANA_ADAPT_STRUCT; only its std::int64_t members are looked at
/// Errors: errc::out_of_range, naming the first member that is none. O(members).
///
///     static_assert(!check_sizes(model{.layers = -4}) && check_sizes(model{.layers = 4}));
template <class Config>
[[nodiscard]] constexpr result<void> check_sizes(const Config& config) noexcept {
  constexpr std::int64_t limit = (std::numeric_limits<std::int32_t>::max)();
  result<void> outcome;
  detail::slots_of<Config>::for_each([&](auto name, auto read) {
    const auto value = read(config);
    if constexpr (std::is_same_v<std::remove_cv_t<decltype(value)>, std::int64_t>) {
      if (outcome && (value < 0 || value > limit))
        outcome = error{errc::out_of_range, value, 0, limit}.with(decltype(name)::c_str());
    }
  });
  return outcome;
}

/// The same for a model, and that its heads fit together. Errors: also errc::indivisible.
[[nodiscard]] constexpr result<void> check(const model& m) noexcept {
  if (const auto sizes = check_sizes(m); !sizes) return sizes;
  if (!m.latent && m.kv_heads != 0 && m.heads % m.kv_heads != 0)
    return error{errc::indivisible, m.heads, m.kv_heads}.with("heads over kv_heads");
  return {};
}

}  // namespace hocket::inline HOCKET_ABI::cost
