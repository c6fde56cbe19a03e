// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/graph/storage_range.hpp>

#include <string_view>
#include <type_traits>

namespace hocket::inline HOCKET_ABI::graph::detail {

// A variable that is named: a string, a view of one, or an array of char.
template <class V>
concept text_variable = !std::is_pointer_v<V> && std::is_convertible_v<const V&, std::string_view>;

// A char* may be a text or a buffer of bytes. If it is read as a text, all zeroed buffers are one variable, and one
// without a zero is read beyond its end.
template <class V>
concept ambiguous_pointer = std::is_pointer_v<V> && std::is_same_v<std::remove_cv_t<std::remove_pointer_t<V>>, char>;

template <class V>
concept address_variable = std::is_pointer_v<V> && !ambiguous_pointer<V>;

// What for_each_read, for_each_write, for_each_inplace and for_each_part may report.
template <class V>
concept variable = std::is_integral_v<V> || std::is_enum_v<V> || address_variable<V> || text_variable<V> ||
                   std::is_same_v<V, storage_range>;

// The letters of a name. Those of an array end before its first zero, or where the array does.
template <text_variable V>
[[nodiscard]] constexpr std::string_view letters_of(const V& variable) noexcept {
  if constexpr (std::is_array_v<V>) {
    const std::string_view all(variable, std::extent_v<V>);
    return all.substr(0, all.find('\0'));
  } else {
    return static_cast<std::string_view>(variable);
  }
}

}  // namespace hocket::inline HOCKET_ABI::graph::detail
