// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Complete as a transport, but nobody can wait on the host.
// expect: hocket: a host transport needs `status_type wait(request_type&) noexcept`
#include <hocket/launch/run_transfers.hpp>

using hocket::launch::no_request;
using hocket::launch::no_stream;

struct network {
  using stream_type = no_stream;
  using request_type = no_request;
  using status_type = int;
  int send(const void*, std::size_t, std::uint32_t, std::uint32_t, no_stream, no_request&) noexcept { return 0; }
  int recv(void*, std::size_t, std::uint32_t, std::uint32_t, no_stream, no_request&) noexcept { return 0; }
  int group_begin() noexcept { return 0; }
  int group_end(no_stream) noexcept { return 0; }
  int progress() noexcept { return 0; }
  void abort() noexcept {}
  static bool ok(int status) noexcept { return status == 0; }
  static const char* text(int) noexcept { return ""; }
  int test(no_request&, bool&) noexcept { return 0; }
#ifdef CORRECTED
  int wait(no_request&) noexcept { return 0; }
#endif
};

bool run(network& n, std::span<const hocket::launch::transfer_command> steps, std::span<no_request> requests) {
  const auto memory = [](std::size_t) { return hocket::launch::transfer_memory{}; };
  return hocket::launch::run_transfers(n, steps, requests, memory, [](std::size_t) {}).complete;
}
