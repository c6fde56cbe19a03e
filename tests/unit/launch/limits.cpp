// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Launch where something goes wrong: launchers that throw, limits beyond the clock, groups with few sends in flight.
#include <hocket/launch/backends/host.hpp>
#include <hocket/launch/backends/host_report.hpp>
#include <hocket/launch/bridges/device_commands.hpp>
#include <hocket/launch/bridges/pipeline.hpp>
#include <hocket/launch/bridges/pipeline_runner.hpp>
#include <hocket/launch/capture.hpp>
#include <hocket/launch/command.hpp>
#include <hocket/launch/device_probe.hpp>
#include <hocket/launch/drive.hpp>
#include <hocket/launch/fenced.hpp>
#include <hocket/launch/reuse_events.hpp>
#include <hocket/launch/run_transfers.hpp>
#include <hocket/launch/transfer.hpp>
#include <hocket/launch/transport.hpp>
#include <hocket/launch/transports/in_process.hpp>
#include <hocket/pipeline/lower.hpp>
#include <hocket/pipeline/schedules/dual_pipe.hpp>
#include <hocket/pipeline/schedules/one_f_one_b.hpp>
#include <hocket/pipeline/schedules/zero_bubble.hpp>
#include <hocket/pipeline/table.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

#include "catch.hpp"

using namespace hocket::launch;
namespace lists_of = hocket::pipeline;

namespace {

struct counting_device {
  using stream_type = hocket::stream_id;
  using event_type = hocket::event_id;
  using status_type = int;
  using captured_type = int;
  int open = 0, graphs = 0;
  int record(event_type, stream_type) noexcept { return 0; }
  int wait(stream_type, event_type) noexcept { return 0; }
  static bool ok(int s) noexcept { return s == 0; }
  static const char* text(int) noexcept { return ""; }
  int begin_capture(stream_type) noexcept {
    ++open;
    return 0;
  }
  int end_capture(stream_type, int& out) noexcept {
    --open;
    ++graphs;
    out = 1;
    return 0;
  }
  int launch_captured(int, stream_type) noexcept { return 0; }
  int destroy_captured(int) noexcept {
    --graphs;
    return 0;
  }
};

}  // namespace

TEST_CASE("a capture ends also when the launcher throws", "[launch]") {
  const std::array commands{run_op(0, 0), run_op(1, 0)};
  const auto list = command_list::make(commands, 1).value();
  counting_device device;
  const std::array<hocket::stream_id, 1> streams{0};
  const auto throws = [](hocket::node_id op, hocket::stream_id) {
    if (op == 1) throw op;
  };
  CHECK_THROWS_AS(capture(device, list, streams, {}, throws), hocket::node_id);
  CHECK(device.open == 0);
  CHECK(device.graphs == 0);
  const auto captured = capture(device, list, streams, {}, [](hocket::node_id, hocket::stream_id) {});
  REQUIRE(captured);
  CHECK(device.open == 0);
  CHECK(device.graphs == 1);
}

TEST_CASE("sends in flight are bounded in lists with groups, too", "[launch][transport]") {
  const auto plan = lists_of::one_f_one_b::make({.ranks = 4, .micro_batches = 8}).value();
  const auto lists = lists_of::lower(plan, {.transfers = lists_of::transfer_policy::grouped}).value();
  for (const std::uint32_t most : {1u, 2u, 3u}) {
    const auto program = from_pipeline(lists, {.sends_in_flight = most, .group_neighbours = true});
    REQUIRE(program);
    for (std::uint32_t r = 0; r < 4; ++r) {
      std::uint32_t flying = 0, groups = 0;
      std::vector<bool> sent(program->request_count(r));
      bool in_group = false;
      for (const transfer_command& c : program->steps(r)) {
        if (c.kind == transfer_kind::group_begin) {
          in_group = true;
          ++groups;
        }
        if (c.kind == transfer_kind::group_end) in_group = false;
        if (c.kind == transfer_kind::send) {
          sent[c.request] = true;
          ++flying;
        }
        if (c.kind == transfer_kind::wait && sent[c.request]) {
          sent[c.request] = false;
          --flying;
        }
        if (c.kind == transfer_kind::run) REQUIRE(flying <= most);
      }
      CHECK(!in_group);
      CHECK(flying == 0);
      CHECK(groups > 0);
    }
  }
}

TEST_CASE("a time limit beyond the clock is no time limit", "[launch][transport]") {
  auto group = in_process_group::start(2, {.time_limit = (std::chrono::milliseconds::max)()}).value();
  auto t = group.rank(0);
  int got = 0;
  in_process_transport::request_type request;
  REQUIRE(t.recv(&got, sizeof got, 1, 0, {}, request) == in_process_status::ok);
  std::thread peer([u = group.rank(1)]() mutable {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    const int value = 7;
    in_process_transport::request_type mine;
    static_cast<void>(u.send(&value, sizeof value, 0, 0, {}, mine));
    static_cast<void>(u.wait(mine));
  });
  CHECK(t.wait(request) == in_process_status::ok);
  peer.join();
  CHECK(got == 7);
}

TEST_CASE("a trace shows the chunks of the plan, also of the second direction", "[launch][transport]") {
  const auto plan =
      lists_of::table_schedule::make_copy(lists_of::dual_pipe::make({.ranks = 2, .micro_batches = 4}).value()).value();
  const auto program = from_pipeline(plan).value();
  pipeline_trace trace(program, 0);
  for (std::size_t i = 0; i < program.steps(0).size(); ++i) {
    trace.begin(i, program.steps(0)[i]);
    trace.end(i, program.steps(0)[i]);
  }
  hocket::timeline t;
  t.ticks_per_second = 1'000'000'000;
  trace.add_to(t, t.add_lane("rank 0"), plan);
  std::array<int, 2> of_chunk{};
  for (const auto& span : t.spans()) {
    REQUIRE(span.chunk < 2);
    ++of_chunk[span.chunk];
  }
  CHECK(of_chunk[0] > 0);
  CHECK(of_chunk[1] > 0);
}

// Each forward that ran takes up its activation when it starts; whatever ends with the backward or the weight gradient
// gives it back when that is done.
TEST_CASE("a trace shows the activations that are held", "[launch][transport]") {
  using hocket::activity;
  const auto traced = [](const auto& schedule) {
    const auto plan = lists_of::table_schedule::make_copy(schedule).value();
    const auto program = from_pipeline(plan).value();
    for (std::uint32_t rank = 0; rank < plan.ranks(); ++rank) {
      pipeline_trace trace(program, rank);
      for (std::size_t i = 0; i < program.steps(rank).size(); ++i) {
        trace.begin(i, program.steps(rank)[i]);
        trace.end(i, program.steps(rank)[i]);
      }
      hocket::timeline t;
      t.ticks_per_second = 1'000'000'000;
      trace.add_to(t, t.add_lane("rank"), plan);
      std::vector<std::pair<hocket::ticks, std::int64_t>> expected, got;
      for (const auto& span : t.spans()) {
        if (span.kind == activity::forward) expected.emplace_back(span.start, 1);
        if (span.kind == activity::backward || span.kind == activity::weight_grad)
          expected.emplace_back(span.finish, -1);
      }
      for (const auto& change : t.changes()) got.emplace_back(change.at, change.by);
      std::sort(expected.begin(), expected.end());
      std::sort(got.begin(), got.end());
      CHECK(got == expected);
      CHECK(got.size() == std::size_t{2} * plan.micro_batches());
    }
  };
  traced(lists_of::one_f_one_b::make({.ranks = 3, .micro_batches = 5}).value());
  traced(lists_of::zero_bubble::make_h1({.ranks = 3, .micro_batches = 5}).value());
}

// A program's list and a report tell nothing that nobody has said.
TEST_CASE("commands and reports of which nothing is said", "[launch]") {
  CHECK(command{} == run_op(0, 0, 0));
  CHECK(transfer_command{} == transfer_command{0, 0, 0, 0, transfer_kind::run});
  CHECK(blocked_transfer{} == blocked_transfer{0, 0, 0, 0});
  CHECK(device_probe{} == device_probe{device_state::other, 0, 0});
  CHECK(outcome<int>{} ==
        outcome<int>{0, true, 0, command_kind::run, hocket::no_id, hocket::no_id, std::uint8_t{0}, false});
  const host_report report;
  CHECK((report && report.op == hocket::no_id && report.stream == hocket::no_id));
  CHECK((report.phase == 0 && report.code == 0 && report.skipped == 0));
  const transfer_outcome<int> transfers;
  CHECK((transfers && transfers.status == 0 && transfers.code == 0 && transfers.done == 0));
  const command_list none;
  CHECK((none.stream_count() == 0 && none.event_count() == 0 && none.op_count() == 0 && none.wait_count() == 0));
  const pipeline_stream_numbers numbers;
  CHECK((numbers.compute == 0 && numbers.recv == 1 && numbers.send == 2));
  const transfer_memory memory;
  CHECK((memory.data == nullptr && memory.bytes == 0));
  CHECK(in_process_transport{}.rank() == 0);
}

TEST_CASE("what an op returns is a failure unless it is 0, whatever its type", "[launch]") {
  struct code {
    int value;
    explicit operator int() const { return value; }
  };
  enum class status : std::int64_t { fine = 0, far = std::int64_t{1} << 40 };
  CHECK_FALSE(detail::is_failure(code{0}));
  CHECK(detail::is_failure(code{3}));
  CHECK_FALSE(detail::is_failure(status::fine));
  CHECK(detail::is_failure(status::far));
  CHECK(detail::is_failure(true));
}

TEST_CASE("commands, transfers and reports of which nothing is said", "[launch]") {
  const command c;
  CHECK(c.id + c.stream + c.phase == 0u);
  const transfer_command t;
  CHECK(t.label + t.peer + t.request + t.tag == 0);
  const blocked_transfer b;
  CHECK(b.rank + b.step + b.peer + b.needs == 0);
  CHECK(transfer_memory{}.bytes == 0);
  const pipeline_stream_numbers streams;
  CHECK(streams.compute == 0);
  CHECK(streams.recv == 1);
  CHECK(streams.send == 2);
  const from_pipeline_options options;
  CHECK(options.lookahead == 1);
  CHECK(options.sends_in_flight == 0);
  const outcome<int> issued;
  CHECK(issued.issued + issued.phase == 0);
  CHECK(issued.complete);
  const transfer_outcome<int> moved;
  CHECK(moved.done == 0);
  CHECK(moved.code == 0);
  const host_report ran;
  CHECK(ran.phase + ran.skipped == 0);
  CHECK(ran.code == 0);
  const device_probe probe;
  CHECK(probe.code + probe.devices == 0);
  CHECK_FALSE(probe);
}
