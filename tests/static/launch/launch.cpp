// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <hocket/launch.hpp>
#include <hocket/launch/backends/host.hpp>

#include <array>

using namespace hocket::launch;
using hocket::errc;
using hocket::node_id;
using hocket::stream_id;

// A command crosses ABI borders and is uploaded in bulk.
static_assert(sizeof(command) == 8 && std::is_trivially_copyable_v<command> && std::is_standard_layout_v<command>);

// Lists are checked in constant expressions.
constexpr std::array good{run_op(0, 0), record_event(0, 0), wait_event(0, 1), run_op(1, 1)};
static_assert(check(good, 2).has_value());
static_assert(check(good, 1).error() == hocket::error{errc::stream_out_of_range, 2, 1, 1});
constexpr std::array swapped{good[0], good[2], good[1], good[3]};
static_assert(check(swapped, 2).error() == hocket::error{errc::unrecorded_event, 1, 0});

// What a backend is, and what it is not.
struct handles {
  using stream_type = int;
  using event_type = int;
  using status_type = int;
  static bool ok(int) noexcept;
  static const char* text(int) noexcept;
};
struct whole : handles {
  int record(int, int) noexcept;
  int wait(int, int) noexcept;
};
struct may_throw : handles {
  int record(int, int);
  int wait(int, int) noexcept;
};
struct no_wait : handles {
  int record(int, int) noexcept;
};
struct other_status : handles {
  long record(int, int) noexcept;
  int wait(int, int) noexcept;
};
static_assert(backend<whole> && !backend<may_throw> && !backend<no_wait> && !backend<other_status> && !backend<int>);

// What a launcher is.
static_assert(launcher<int (*)(node_id, int), whole> && launcher<void (*)(node_id, int), whole>);
static_assert(launcher<int (*)(node_id, std::uint8_t, int), whole>);
static_assert(!launcher<int (*)(node_id), whole> && !launcher<const char* (*)(node_id, int), whole>);

// The shipped backends, and their refinements.
static_assert(backend<inline_backend> && backend<recording_backend> && backend<host_backend>);
static_assert(event_source<host_backend> && !event_source<recording_backend> && !stream_source<host_backend>);
static_assert(!wait_resets_event<host_backend> && max_events<host_backend> == 0);
static_assert(!std::is_copy_constructible_v<host_backend> && std::is_nothrow_move_constructible_v<host_backend>);

// Driving works in constant expressions: the inline backend runs a plan at compile time.
constexpr int run_at_compile_time() {
  inline_backend b(1);
  int order = 0;
  const auto launch = [&](node_id op, stream_id) { order = 10 * order + static_cast<int>(op) + 1; };
  const auto done = detail::drive(b, std::span<const command>(good), detail::own_numbers{}, detail::own_numbers{},
                                  launch, detail::untraced);
  return done.complete && done.issued == 4 ? order : -1;
}
static_assert(run_at_compile_time() == 12);

// A failure becomes an error that names status, command, op (-1: none) and stream.
static_assert(to_result(outcome<int>{.status = 9, .complete = false, .issued = 3, .op = hocket::no_id, .stream = 2})
                  .error() == hocket::error{errc::backend_failed, 9, 3, -1, 2});
static_assert(to_result(outcome<int>{}).has_value());
