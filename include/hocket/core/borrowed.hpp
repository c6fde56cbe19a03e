// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/config.hpp>

#include <cstddef>
#include <span>
#include <type_traits>

namespace hocket::inline HOCKET_ABI {
namespace detail {

template <class C>
inline constexpr bool is_span = false;
template <class T, std::size_t Extent>
inline constexpr bool is_span<std::span<T, Extent>> = true;

/// An lvalue with data() and size(), or a span: what outlives the expression in which it is named.
template <class C, class T>
concept lasting =
    (std::is_lvalue_reference_v<C> || is_span<std::remove_cvref_t<C>>) && std::is_convertible_v<C, std::span<const T>>;

}  // namespace detail

/// Elements that somebody else owns, for members and arguments that are kept: a std::span that takes no temporary
/// container. A braced list or a returned vector does not compile; name it first.
///
///     std::vector<int> caps{4, 3, 2, 1};
///     hocket::borrowed<int> kept = caps;                     // fine: caps lives on
///     // hocket::borrowed<int> lost = std::vector{4, 3};     // refused by the compiler
template <class T>
class borrowed : public std::span<const T> {
 public:
  constexpr borrowed() noexcept = default;

  template <class C>
    requires detail::lasting<C, T>
  constexpr borrowed(C&& elements) noexcept : std::span<const T>(elements) {}

  template <std::size_t Count>
  constexpr borrowed(const T (&elements)[Count]) noexcept : std::span<const T>(elements) {}

  template <std::size_t Count>
  borrowed(const T (&&elements)[Count]) = delete;
};

}  // namespace hocket::inline HOCKET_ABI
