// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/bytes.hpp>

namespace hocket::inline HOCKET_ABI::cost {

/// What a device keeps from training if nothing else is said: 2 GiB for the context of the driver with its kernels, the
/// buffers of communicators and what the allocator cannot hand out. Loaded kernels alone take 1 to 2 GB.
/// Source: The Ultra-Scale Playbook (Hugging Face, 2025), "Memory usage in transformers".
inline constexpr bytes usual_reserve{std::int64_t{2} << 30};

/// The memory of one device: all of it, and the part that is not for tensors of the step. Every verdict of this library
/// that something fits is that of `fits`: the peak of a rank and the reserve within the capacity.
///
///     using namespace hocket::literals;
///     static_assert(hocket::cost::device_memory{.capacity = 80_GiB}.fits(78_GiB));
///     static_assert(!hocket::cost::device_memory{.capacity = 80_GiB}.fits(79_GiB));
struct device_memory {
  bytes capacity{};
  bytes reserve = usual_reserve;  ///< 0 or more

  /// What tensors may take. Negative if the reserve is more than there is.
  [[nodiscard]] constexpr bytes usable() const noexcept { return capacity - reserve; }
  /// Whether a rank with this peak can run. O(1).
  [[nodiscard]] constexpr bool fits(bytes peak) const noexcept { return peak <= usable(); }
  friend constexpr bool operator==(const device_memory&, const device_memory&) = default;
};

}  // namespace hocket::inline HOCKET_ABI::cost
