// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/config.hpp>

#include <cstdint>
#include <string>

namespace hocket::inline HOCKET_ABI::cost {

/// What a quantity counts: the exponents of the base units. It lives in the type of a formula, so that adding bytes to
/// elements does not compile. Sizes (hidden width, layers, ranks) are pure numbers: `unit<>`.
template <int Flop = 0, int Byte = 0, int Element = 0, int Second = 0, int Token = 0>
struct unit {
  static constexpr int flop = Flop, byte = Byte, element = Element, second = Second, token = Token;
};

/// The unit of a product and of a quotient.
template <class A, class B>
using unit_product =
    unit<A::flop + B::flop, A::byte + B::byte, A::element + B::element, A::second + B::second, A::token + B::token>;
template <class A, class B>
using unit_quotient =
    unit<A::flop - B::flop, A::byte - B::byte, A::element - B::element, A::second - B::second, A::token - B::token>;

/// The units that formulas have, by name: unit_of<decltype(2 * FLOP * h)> is units::flops.
namespace units {
using pure = unit<>;
using flops = unit<1>;
using bytes = unit<0, 1>;
using elements = unit<0, 0, 1>;
using seconds = unit<0, 0, 0, 1>;
using tokens = unit<0, 0, 0, 0, 1>;
using bytes_per_element = unit_quotient<bytes, elements>;
using flops_per_second = unit_quotient<flops, seconds>;
using bytes_per_second = unit_quotient<bytes, seconds>;
}  // namespace units

/// A real number of a unit, for work that leaves the formulas: FLOPs and bytes do not stand for each other.
///
///     work_item item{.flops = quantity<units::flops>(2e12)};
template <class U>
struct quantity {
  double value = 0;

  constexpr quantity() noexcept = default;
  constexpr explicit quantity(double v) noexcept : value(v) {}
  friend constexpr bool operator==(const quantity&, const quantity&) = default;
};

/// A unit as a value.
struct unit_powers {
  std::int8_t flop = 0, byte = 0, element = 0, second = 0, token = 0;
  friend constexpr bool operator==(const unit_powers&, const unit_powers&) = default;
};
template <class U>
inline constexpr unit_powers powers_of{U::flop, U::byte, U::element, U::second, U::token};

/// "FLOP", "byte/element", "token/second", …; "1" for a pure number.
[[nodiscard]] inline std::string unit_name(const unit_powers& unit) {
  std::string above, below;
  const auto put = [&](int exponent, const char* name) {
    for (; exponent > 0; --exponent) above += (above.empty() ? "" : " ") + std::string(name);
    for (; exponent < 0; ++exponent) below += "/" + std::string(name);
  };
  put(unit.flop, "FLOP");
  put(unit.byte, "byte");
  put(unit.element, "element");
  put(unit.token, "token");
  put(unit.second, "second");
  return (above.empty() ? "1" : above) + below;
}
template <class U>
[[nodiscard]] std::string unit_name() {
  return unit_name(powers_of<U>);
}

}  // namespace hocket::inline HOCKET_ABI::cost
