// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <boost/hana/accessors.hpp>
#include <boost/hana/core/to.hpp>
#include <boost/hana/first.hpp>
#include <boost/hana/for_each.hpp>
#include <boost/hana/second.hpp>
#include <boost/hana/tuple.hpp>
#include <hocket/core/result.hpp>
#include <hocket/cost/machine.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <limits>
#include <string_view>

namespace hocket::inline HOCKET_ABI::cost {

/// Whether a machine can be one: rates and seconds are finite and not negative, overlaps at most 1. That a rate which
/// is needed is 0 shows where it is needed. Errors: errc::bad_rate, naming the member and its value. O(members).
///
///     check(machine{.gemm_flops = 1e15}) && !check(machine{.data_overlap = 1.5});
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
