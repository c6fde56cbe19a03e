// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/config.hpp>

#include <cstdint>
#include <string_view>

namespace hocket::inline HOCKET_ABI::launch {

/// What a vendor's runtime finds when it looks for a device.
enum class device_state : std::uint8_t {
  ready,          ///< at least one device
  no_driver,      ///< the runtime is linked, but this machine has no driver
  old_driver,     ///< there is a driver, but it is older than the runtime
  stub_driver,    ///< the driver found is the stub that is only good for linking
  no_device,      ///< a driver, but no device
  uninitialised,  ///< the framework has not initialised the runtime (AscendCL: aclInit)
  other,          ///< see the code
};

[[nodiscard]] constexpr std::string_view to_string(device_state s) noexcept {
  switch (s) {
    case device_state::ready: return "ready";
    case device_state::no_driver: return "no driver";
    case device_state::old_driver: return "the driver is older than the runtime";
    case device_state::stub_driver: return "the driver is a stub, good for linking only";
    case device_state::no_device: return "no device";
    case device_state::uninitialised: return "the runtime is not initialised";
    case device_state::other: return "the runtime reports another error";
  }
  return "unknown state";
}

/// The answer of a backend's `probe()`: is there a device, and if not, why not. Never thrown, never logged.
///
///     if (const auto found = hocket::launch::cuda_backend::probe(); !found)
///       std::printf("skipped: %s (code %lld)\n", to_string(found.state), static_cast<long long>(found.code));
struct device_probe {
  device_state state = device_state::other;
  std::int64_t code = 0;     ///< what the vendor's call returned
  std::int32_t devices = 0;  ///< how many; 0 unless ready

  constexpr explicit operator bool() const noexcept { return state == device_state::ready; }
  friend constexpr bool operator==(const device_probe&, const device_probe&) = default;
};

}  // namespace hocket::inline HOCKET_ABI::launch
