// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <hocket/core/message.hpp>

#include "catch.hpp"
#include "random_plan.hpp"

using namespace launch_test;
using hocket::errc;

TEST_CASE("a list is refused where it would race, hang or run off the streams", "[launch]") {
  const std::vector<command> early{run_op(0, 0), wait_event(1, 1), record_event(1, 0)};
  CHECK(message(command_list::make(early, 2).error()) ==
        "command 1 waits for event 1, which no earlier command records");
  const std::vector<command> wide{run_op(0, 0), run_op(1, 2)};
  CHECK(message(command_list::make(wide, 2).error()) == "command 1 names stream 2, but there are 2 streams");
  const std::vector<command> huge{record_event(4'000'000'000u, 0)};
  CHECK(message(command_list::make(huge, 1).error()) == "event is 4000000000, but must lie in [0, 0]");
  const std::vector<command> unknown{{0, 0, static_cast<command_kind>(7), 0}};
  CHECK(command_list::make(unknown, 1).error().code == errc::invalid_argument);
  CHECK(command_list::make({}, hocket::stream_limit + 1).error().code == errc::limit_exceeded);
  const auto empty = command_list::make({}, 0);
  REQUIRE(empty);
  CHECK(empty->empty());
}

TEST_CASE("an event's number lies below the number of commands", "[launch]") {
  for (hocket::event_id id = 0; id < 5; ++id) {
    const std::vector<command> list{record_event(id, 0), wait_event(id, 1), run_op(0, 1)};
    const auto fits = check(list, 2);
    CHECK(fits.has_value() == (id < 3));
    if (!fits) CHECK(fits.error() == hocket::error{hocket::errc::out_of_range, id, 0, 2}.with("event"));
  }
}

TEST_CASE("every displaced or dropped record is noticed", "[launch]") {
  const auto commands = naive_commands(make_program(3, 60, 3));
  std::size_t tried = 0;
  for (std::size_t i = 0; i < commands.size(); ++i) {
    if (commands[i].kind != command_kind::record) continue;
    auto without = commands;
    without.erase(without.begin() + static_cast<std::ptrdiff_t>(i));
    const auto r = command_list::make(without, 3);
    REQUIRE_FALSE(r);
    CHECK(r.error().code == errc::unrecorded_event);
    CHECK(r.error().values[1] == commands[i].id);
    ++tried;
  }
  CHECK(tried > 10);
}

TEST_CASE("the counts of a list are those of its commands", "[launch]") {
  const auto list =
      command_list::make(std::vector{run_op(0, 0), record_event(2, 0), wait_event(2, 1), run_op(1, 1)}, 3).value();
  CHECK(list.stream_count() == 3);
  CHECK(list.event_count() == 3);
  CHECK(list.op_count() == 2);
  CHECK(list.wait_count() == 1);
  CHECK(list.size() == 4);
}

TEST_CASE("the order of a naive plan is the closure of the graph plus the streams' own order", "[launch]") {
  for (unsigned seed = 0; seed < 40; ++seed) {
    auto p = make_program(seed, 80, static_cast<std::uint16_t>(1 + seed % 5));
    const auto list = naive_list(p);
    const issue_order order(list);
    // Oracle: the graph with the FIFO edges drawn in, closed by brute force.
    std::vector<node_id> last(p.streams, hocket::no_id);
    auto with_fifo = p;
    for (std::size_t v = 0; v < p.stream.size(); ++v) {
      if (last[p.stream[v]] != hocket::no_id) with_fifo.predecessors[v].push_back(last[p.stream[v]]);
      last[p.stream[v]] = static_cast<node_id>(v);
    }
    const auto before = closure(with_fifo);
    bool same = true;
    for (std::size_t a = 0; a < p.stream.size(); ++a)
      for (std::size_t b = 0; b < p.stream.size(); ++b)
        same = same &&
               order.before(order.find(static_cast<node_id>(a)), order.find(static_cast<node_id>(b))) == before[b][a];
    CHECK(same);
  }
}

TEST_CASE("the order finds ops by number and phase", "[launch]") {
  const auto list = command_list::make(std::vector{run_op(7, 0, 1), run_op(7, 0), run_op(300, 0)}, 1).value();
  const issue_order order(list);
  CHECK(order.find(7, 1) == 0);
  CHECK(order.find(7) == 1);
  CHECK(order.find(300) == 2);
  CHECK(order.find(8) == issue_order::npos);
  CHECK(order.find(0) == issue_order::npos);
}

namespace {
// Whether two lists run the same ops and promise the same order.
bool same_order(const command_list& a, const command_list& b) {
  const issue_order x(a), y(b);
  if (x.size() != y.size()) return false;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (!(x.op(i) == y.op(i))) return false;
    for (std::size_t j = 0; j < x.size(); ++j)
      if (x.before(i, j) != y.before(i, j)) return false;
  }
  return true;
}
}  // namespace

TEST_CASE("reusing events keeps the order and needs only as many as live at once", "[launch]") {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const auto list = naive_list(make_program(seed, 70, static_cast<std::uint16_t>(2 + seed % 4)));
    const auto reused = reuse_events(list);
    CHECK(reused.event_count() == peak(list));
    CHECK(reused.event_count() < list.event_count());
    CHECK(reused.size() == list.size());
    CHECK(same_order(list, reused));
    CHECK(reuse_events(reused) == reused);
  }
}

TEST_CASE("a record that nobody waits for keeps its event", "[launch]") {
  const auto list = command_list::make(std::vector{record_event(0, 0), record_event(1, 0), wait_event(1, 1),
                                                   record_event(2, 0), wait_event(2, 1)},
                                       2)
                        .value();
  const auto reused = reuse_events(list);
  CHECK(reused.event_count() == 2);
  CHECK(reused[0].id == 0);
  CHECK(reused[1].id == 1);
  CHECK(reused[3].id == 1);
}

TEST_CASE("a fence puts everything of one replay before everything of the next", "[launch]") {
  const auto list = naive_list(make_program(5, 50, 4));
  const auto fence = fenced(list);
  REQUIRE(fence);
  CHECK(fence->size() == list.size() + 4 + 6);
  std::vector<command> twice(fence->begin(), fence->end());
  twice.insert(twice.end(), fence->begin(), fence->end());
  const issue_order order(command_list::make(twice, 4).value());
  bool all = true;
  for (std::size_t a = 0; a < 50; ++a)
    for (std::size_t b = 50; b < 100; ++b) all = all && order.before(a, b);
  CHECK(all);
  CHECK(fenced(command_list::make({}, 0).value())->empty());
}
