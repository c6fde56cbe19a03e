// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/result.hpp>
#include <hocket/curve/isotonic.hpp>
#include <hocket/text/detail/csv_scanner.hpp>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>
#if !defined(__cpp_lib_to_chars)  // libc++ before 20 reads no double by from_chars
#include <cerrno>
#include <cstdlib>
#endif

namespace hocket::inline HOCKET_ABI::text {

namespace detail {

/// A decimal number that fills the whole cell, such as 12, 0.5 or 1e-3; no sign, no "inf", no "nan".
[[nodiscard]] inline bool parse_decimal(std::string_view cell, double& out) {
  if (cell.empty() || cell.size() > 64) return false;
  for (const char c : cell)
    if (!((c >= '0' && c <= '9') || c == '.' || c == 'e' || c == 'E' || c == '-' || c == '+')) return false;
  if (cell.front() == '-' || cell.front() == '+') return false;
#if defined(__cpp_lib_to_chars)
  const auto [end, why] = std::from_chars(cell.data(), cell.data() + cell.size(), out);
  return why == std::errc{} && end == cell.data() + cell.size();
#else
  const std::string copy(cell);
  char* end = nullptr;
  errno = 0;  // strtod tells in no other way of a number that is too large or too small
  out = std::strtod(copy.c_str(), &end);
  return errno != ERANGE && end == copy.c_str() + copy.size();
#endif
}

}  // namespace detail

/// Reads measurements: the header `size,time_us` or `size,time_us,repeats`, then one row each. Whether the numbers make
/// sense is for the fit to say.
/// @return errc::malformed for another header or a number that is none (line, column); errc::missing_column;
///         errc::bad_number for repeats; errc::too_large beyond curve::max_samples rows
/// Complexity: linear in the text.
///
///     text::parse_samples_csv("size,time_us\n128,20.5\n256,31\n")->size() == 2;
[[nodiscard]] inline result<std::vector<curve::sample>> parse_samples_csv(std::string_view csv) {
  constexpr std::string_view with_repeats = "size,time_us,repeats";
  std::string_view first_line = csv.substr(0, csv.find('\n'));
  if (first_line.starts_with("\xef\xbb\xbf")) first_line.remove_prefix(3);
  if (first_line.ends_with('\r')) first_line.remove_suffix(1);
  const bool repeated = first_line == with_repeats;
  detail::csv_scanner in(csv);
  if (const auto r = in.header(repeated ? with_repeats : std::string_view("size,time_us")); !r) return r.error();
  std::vector<curve::sample> out;
  std::string_view cells[3];
  while (!in.at_end()) {
    if (const auto r = in.next_row(std::span(cells, repeated ? 3 : 2)); !r) return r.error();
    if (out.size() == curve::max_samples)
      return error{errc::too_large, in.line(), static_cast<std::int64_t>(out.size()) + 1,
                   static_cast<std::int64_t>(curve::max_samples)}
          .with("samples");
    curve::sample s;
    if (!detail::parse_decimal(cells[0], s.size)) return error{errc::malformed, in.line(), 1}.with(cells[0]);
    if (!detail::parse_decimal(cells[1], s.us)) return error{errc::malformed, in.line(), 2}.with(cells[1]);
    if (repeated) {
      const auto repeats = in.number(cells[2], 3, 1'000'000'000);
      if (!repeats) return repeats.error();
      s.repeats = *repeats;
    }
    out.push_back(s);
  }
  return out;
}

}  // namespace hocket::inline HOCKET_ABI::text
