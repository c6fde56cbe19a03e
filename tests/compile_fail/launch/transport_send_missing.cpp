// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The member is misspelt.
// expect: hocket: a transport needs `status_type send(const void* from, std::size_t bytes, std::uint32_t peer
#include <hocket/launch/run_transfers.hpp>

using hocket::launch::no_request;
using hocket::launch::no_stream;

struct network {
  using stream_type = no_stream;
  using request_type = no_request;
  using status_type = int;
#ifdef CORRECTED
  int send(const void*, std::size_t, std::uint32_t, std::uint32_t, no_stream, no_request&) noexcept { return 0; }
#else
  int sned(const void*, std::size_t, std::uint32_t, std::uint32_t, no_stream, no_request&) noexcept { return 0; }
#endif
  int recv(void*, std::size_t, std::uint32_t, std::uint32_t, no_stream, no_request&) noexcept { return 0; }
  int group_begin() noexcept { return 0; }
  int group_end(no_stream) noexcept { return 0; }
  int progress() noexcept { return 0; }
  void abort() noexcept {}
  static bool ok(int status) noexcept { return status == 0; }
  static const char* text(int) noexcept { return ""; }
};

int post(network& n, const hocket::launch::transfer_command& c, no_request& request) {
  return hocket::launch::issue(n, c, {}, {}, request);
}
