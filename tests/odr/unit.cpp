// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiled once per mode (see CMakeLists.txt); the functions it exports are named after the mode.
#if defined(HOCKET_ODR_HOST_ASSERT)
void hocket_odr_host_assert(const char* condition) noexcept;
#define HOCKET_ASSERT(condition) ((condition) ? static_cast<void>(0) : hocket_odr_host_assert(#condition))
#endif
#include "unit.hpp"
#include "every_header.hpp"

#include <string>

#define HOCKET_ODR_CONCAT_(a, b) a##b
#define HOCKET_ODR_CONCAT(a, b) HOCKET_ODR_CONCAT_(a, b)

odr_answer HOCKET_ODR_CONCAT(odr_, HOCKET_ODR_UNIT)(int shift) {
  odr_answer a;
  // The same questions in every mode: the answers must agree, the functions that give them must not be shared.
  a.message = hocket::message(hocket::error{hocket::errc::self_edge, 7 + shift});
  a.digest = hocket::fingerprint{}.add(1).add(static_cast<std::uint64_t>(2 + shift)).value();
  const hocket::result<std::uint32_t> id = hocket::to_id(41 + shift, "node");
  a.id = id ? *id : hocket::no_id;
  a.refused = !hocket::to_id(-1 - shift, "node").has_value();
  a.assertion_mode = HOCKET_DETAIL_ASSERT_TAG;
  a.exceptions = HOCKET_HAS_EXCEPTIONS;
#if defined(HOCKET_ODR_HOST_ASSERT)
  // Only this mode survives a broken precondition: the host's own check counts it instead of ending the program.
  static_cast<void>(hocket::result<int>{5}.error());
#endif
  return a;
}
