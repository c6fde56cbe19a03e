// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A forked child has none of the parent's threads: the host backend refuses to work there, and the parent's goes on.
#include <hocket/launch/backends/host.hpp>
#include <hocket/launch/command.hpp>
#include <hocket/launch/synchronize_within.hpp>

#if defined(__has_feature)
#if __has_feature(thread_sanitizer) && !defined(__SANITIZE_THREAD__)
#define __SANITIZE_THREAD__ 1  // gcc's name
#endif
#endif
#if defined(__unix__) || defined(__APPLE__)
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <string_view>
#include <utility>

#include "catch.hpp"

using namespace hocket::launch;

namespace {

/// What the child finds wrong, as its exit status; 0: nothing.
int find_in_child(host_backend& device, const command_list& list) {
  alarm(20);  // what hangs ends by a signal
  std::atomic<int> runs = 0;
  const auto body = [&](hocket::node_id, hocket::stream_id) { ++runs; };
  if (device.run(list, body).status != host_status::forked) return 1;
  if (device.synchronize().status != host_status::forked) return 2;
  if (device.synchronize(device.stream(0)) != host_status::forked) return 3;
  bool idle = true;
  if (device.is_idle(device.stream(0), idle) != host_status::forked || idle) return 4;
  if (device.enqueue(device.stream(1), [] {}) != host_status::forked) return 5;
  host_event event;
  if (device.create_event(event) != host_status::ok) return 6;
  if (device.record(event, device.stream(0)) != host_status::forked) return 7;
  if (device.destroy_event(event) != host_status::ok) return 8;
  const auto end = synchronize_within(device, device.streams(), std::chrono::milliseconds(100));
  if (end.state != sync_state::failed || end.status != host_status::forked) return 9;
  {
    const host_backend ended = std::move(device);  // its end must not wait for threads that are not there
  }
#if !defined(__SANITIZE_THREAD__)  // ThreadSanitizer ends a forked child that starts threads
  auto own = host_backend::start(2);
  if (!own || !own->run(list, body) || runs != 2) return 10;
#endif
  return 0;
}

}  // namespace

TEST_CASE("a forked child is told so, and nothing hangs", "[launch][host]") {
  const command commands[] = {{0, 0, command_kind::run, 0}, {1, 1, command_kind::run, 0}};
  const auto list = command_list::make(commands, 2).value();
  auto device = host_backend::start(2).value();
  std::atomic<int> runs = 0;
  const auto body = [&](hocket::node_id, hocket::stream_id) { ++runs; };
  REQUIRE(device.run(list, body));
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) _exit(find_in_child(device, list));
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  REQUIRE(device.run(list, body));
  CHECK(runs == 4);
  CHECK(to_string(host_status::forked) == "the process was forked: the streams have no threads in the child");
}
#endif
