// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Each member that a transport lacks has its sentence; without the types there is one.
// expect: hocket: a transport needs `stream_type`, `request_type` (both trivially copyable) and `status_type`
#include <hocket/testing/transport_laws.hpp>

using hocket::launch::no_request;
using hocket::launch::no_stream;

struct loopback {
  using status_type = int;
#ifdef CORRECTED
  using stream_type = no_stream;
  using request_type = no_request;
#endif
  int send(const void*, std::size_t, std::uint32_t, std::uint32_t, no_stream, no_request&) noexcept { return 0; }
  int recv(void*, std::size_t, std::uint32_t, std::uint32_t, no_stream, no_request&) noexcept { return 0; }
  int group_begin() noexcept { return 0; }
  int group_end(no_stream) noexcept { return 0; }
  int progress() noexcept { return 0; }
  void abort() noexcept {}
  int test(no_request&, bool&) noexcept { return 0; }
  int wait(no_request&) noexcept { return 0; }
  static bool ok(int s) noexcept { return s == 0; }
  static const char* text(int) noexcept { return ""; }
};

std::string f(loopback& t) { return hocket::testing::broken_law(t, 0, 2); }
