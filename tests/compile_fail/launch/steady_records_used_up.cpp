// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: hocket: drive_step: a wait of this backend uses the record up (wait_resets_event)
// expect: single_wait_list::make(fenced(from_graph(plan.step()).value()).value())
#include <hocket/launch/bridges/graph.hpp>
#include <hocket/launch/fenced.hpp>

struct device {
  using stream_type = int;
  using event_type = int;
  using status_type = int;
  static constexpr bool wait_resets_event = true;
  int record(int, int) noexcept { return 0; }
  int wait(int, int) noexcept { return 0; }
  static bool ok(int status) noexcept { return status == 0; }
  static const char* text(int) noexcept { return ""; }
};

bool issue(const hocket::graph::steady_stream_plan& plan, std::span<const int> streams, std::span<const int> events) {
  using namespace hocket::launch;
  device d;
  const auto launch = [](hocket::node_id, int) {};
#ifdef CORRECTED
  const auto list = single_wait_list::make(fenced(from_graph(plan.step()).value()).value()).value();
  return drive(d, list, streams, events, launch).complete;
#else
  return drive_step(d, from_graph(plan).value(), 0, streams, events, launch).complete;
#endif
}
