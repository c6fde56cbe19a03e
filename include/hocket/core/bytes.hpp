// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/config.hpp>

#include <compare>
#include <cstdint>

namespace hocket::inline HOCKET_ABI {

/// A number of bytes: what memory sizes are where they leave their component, so that bytes, elements and FLOPs cannot
/// stand for each other. May be negative (a difference).
///
///     using namespace hocket::literals;
///     static_assert(2 * 40_GiB - 16_GiB == 64_GiB && (1_KiB).count() == 1024);
class bytes {
 public:
  constexpr bytes() noexcept = default;
  constexpr explicit bytes(std::int64_t count) noexcept : count_(count) {}

  [[nodiscard]] constexpr std::int64_t count() const noexcept { return count_; }

  constexpr bytes& operator+=(bytes b) noexcept {
    count_ += b.count_;
    return *this;
  }
  constexpr bytes& operator-=(bytes b) noexcept {
    count_ -= b.count_;
    return *this;
  }
  [[nodiscard]] friend constexpr bytes operator+(bytes a, bytes b) noexcept { return a += b; }
  [[nodiscard]] friend constexpr bytes operator-(bytes a, bytes b) noexcept { return a -= b; }
  [[nodiscard]] friend constexpr bytes operator*(std::int64_t n, bytes b) noexcept { return bytes(n * b.count_); }
  [[nodiscard]] friend constexpr bytes operator*(bytes b, std::int64_t n) noexcept { return bytes(n * b.count_); }
  [[nodiscard]] constexpr auto operator<=>(const bytes&) const noexcept = default;

 private:
  std::int64_t count_ = 0;
};

inline namespace literals {
[[nodiscard]] consteval bytes operator""_B(unsigned long long n) { return bytes(static_cast<std::int64_t>(n)); }
[[nodiscard]] consteval bytes operator""_KiB(unsigned long long n) { return bytes(static_cast<std::int64_t>(n) << 10); }
[[nodiscard]] consteval bytes operator""_MiB(unsigned long long n) { return bytes(static_cast<std::int64_t>(n) << 20); }
[[nodiscard]] consteval bytes operator""_GiB(unsigned long long n) { return bytes(static_cast<std::int64_t>(n) << 30); }
}  // namespace literals

}  // namespace hocket::inline HOCKET_ABI
