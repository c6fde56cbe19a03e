// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// from_pipeline: every rank's steps, the check over all of them, and real runs on threads.
#include <hocket/launch/backends/host.hpp>
#include <hocket/launch/bridges/device_commands.hpp>
#include <hocket/launch/bridges/pipeline_streams.hpp>
#include <hocket/launch/reuse_events.hpp>
#include <hocket/pipeline/lower.hpp>
#include <hocket/pipeline/schedules/dual_pipe.hpp>
#include <hocket/pipeline/schedules/gpipe.hpp>
#include <hocket/pipeline/schedules/one_f_one_b.hpp>
#include <hocket/pipeline/schedules/zero_bubble.hpp>
#include <hocket/text/schedule_csv.hpp>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>
#include <tuple>

#include "catch.hpp"
#include "issue_order.hpp"
#include "transport_test.hpp"

using namespace transport_test;

namespace {

pipeline::table_schedule golden(const std::string& name) {
  std::ifstream file(std::string(HOCKET_TEST_DATA "/pipeline/") + name + ".csv");
  std::stringstream text;
  text << file.rdbuf();
  return text::parse_schedule_csv(text.str()).value();
}

pipeline::table_schedule copy(const pipeline::schedule auto& plan) {
  return pipeline::table_schedule::make_copy(plan).value();
}

std::vector<std::pair<std::string, pipeline::table_schedule>> schedules() {
  using namespace pipeline;
  std::vector<std::pair<std::string, table_schedule>> all;
  for (const std::int64_t p : {1, 2, 3, 4})
    for (const std::int64_t m : {1, 2, 5, 9}) {
      const auto name = [&](const char* what) {
        return what + (" p=" + std::to_string(p)) + " m=" + std::to_string(m);
      };
      all.emplace_back(name("gpipe"), copy(gpipe::make({p, 1, m}).value()));
      all.emplace_back(name("1f1b"), copy(one_f_one_b::make({p, 1, m}).value()));
      all.emplace_back(name("interleaved"), copy(interleaved::make({p, 2, m}).value()));
      all.emplace_back(name("interleaved v=3"), copy(interleaved::make({p, 3, m}, groups::last()).value()));
      all.emplace_back(name("zb-h1"), copy(zero_bubble::make_h1({p, 1, m}).value()));
      all.emplace_back(name("zb-h2"), copy(zero_bubble::make_h2({p, 1, m}).value()));
      all.emplace_back(name("interleaved-zb"), copy(zero_bubble::make_interleaved({p, 2, m}).value()));
    }
  for (const char* file :
       {"torch__DualPipeV__p4_v2_m8", "torch__DualPipeV__p3_v2_m6", "torch__ZBVZeroBubble__p4_v2_m8",
        "zb__Vhalf__p4_v2_m8", "zb__V1F1B__p4_v2_m8", "torch__LoopedBFS__p4_v2_m4", "zb__Seq1F1B__p4_v1_m4_s2"})
    all.emplace_back(file, golden(file));
  return all;
}

constexpr const char* lowered_lists[] = {"torch__DualPipeV__p4_v2_m10.comms", "torch__Interleaved1F1B__p4_v2_m10.comms",
                                         "torch__Interleaved1F1B__p4_v2_m8.comms", "torch__LoopedBFS__p4_v2_m8.comms",
                                         "torch__ZBVZeroBubble__p4_v2_m8.comms"};

std::size_t record_count(const command_list& list) {
  return static_cast<std::size_t>(
      std::count_if(list.begin(), list.end(), [](const command& c) { return c.kind == command_kind::record; }));
}

// A rank's list for streams has each step but waits once, in order on each stream, as what it is.
bool has_every_step(const pipeline_program& program, std::uint32_t rank, bool groups) {
  const auto steps = program.steps(rank);
  const std::uint16_t sends = groups ? 1 : 2;
  const auto list = device_commands(program, rank, {.compute = 0, .recv = 1, .send = sends}).value();
  std::vector<std::vector<command>> expected(3), got(3);
  std::size_t records = 0;  // one for each receive, and one for all sends behind some work
  bool has_run = false;
  for (const transfer_command& c : steps) {
    if (c.kind == transfer_kind::run) has_run = true;
    if (c.kind == transfer_kind::recv || (c.kind == transfer_kind::send && has_run)) ++records;
    if (c.kind == transfer_kind::send) has_run = false;
  }
  for (std::uint32_t i = 0; i < steps.size(); ++i) {
    const transfer_kind k = steps[i].kind;
    if (k == transfer_kind::wait) continue;
    const std::uint16_t stream = k == transfer_kind::run ? 0 : k == transfer_kind::recv ? 1 : sends;
    expected[stream].push_back(run_op(i, stream, static_cast<std::uint8_t>(k)));
  }
  for (const command& c : list)
    if (c.kind == command_kind::run) got[c.stream].push_back(c);
  return got == expected && list.stream_count() == std::uint32_t{sends} + 1 && record_count(list) == records &&
         list.event_count() == records;
}

// Whether a rank's steps, but waits and borders of groups, are its list's actions, but those that do nothing.
bool has_the_list(const pipeline_program& program, const pipeline::table_schedule& plan, std::uint32_t rank) {
  std::vector<stage_action> listed, made;
  for (const stage_action a : plan.rank(rank))
    if (a.kind() != action_kind::idle) listed.push_back({a.kind(), a.stage(), a.micro_batch()});
  for (std::size_t i = 0; i < program.steps(rank).size(); ++i) {
    const transfer_kind kind = program.steps(rank)[i].kind;
    const stage_action a = program.actions(rank)[i];
    if (kind != transfer_kind::wait && kind != transfer_kind::group_begin && kind != transfer_kind::group_end)
      made.push_back({a.kind(), a.stage(), a.micro_batch()});
  }
  return listed == made;
}

constexpr auto nothing_fails = [](std::uint32_t, stage_action) { return 0; };

}  // namespace

TEST_CASE("every schedule runs on threads, buffered and unbuffered, and computes what one thread computes",
          "[launch][transport]") {
  for (const auto& [name, plan] : schedules()) {
    INFO(name);
    const std::uint64_t expected = serial_sum(plan, 4);
    for (const auto sends : {completion::rendezvous, completion::buffered}) {
      auto group = in_process_group::start(plan.ranks(), {.sends = sends}).value();
      std::uint32_t variant = 0;
      for (const from_pipeline_options options : {from_pipeline_options{}, from_pipeline_options{.lookahead = 0},
                                                  from_pipeline_options{.lookahead = 4, .sends_in_flight = 3},
                                                  from_pipeline_options{.pairs_at_once = true}}) {
        INFO("variant " << variant++);
        const auto program = from_pipeline(plan, options);
        REQUIRE(program);
        CHECK(total_of(run_threads(plan, *program, group, 4, nothing_fails, 2)) == expected);
      }
    }
  }
}

TEST_CASE("lists that PyTorch lowered run as they are, and no stream can hang on them", "[launch][transport]") {
  for (const char* name : lowered_lists) {
    INFO(name);
    const auto plan = golden(name);
    const auto program = from_pipeline(plan);
    REQUIRE(program);
    CHECK(check_transfers(*program, transfer_model::in_order));
    auto group = in_process_group::start(plan.ranks()).value();
    CHECK(total_of(run_threads(plan, *program, group, 100, nothing_fails)) == serial_sum(plan, 100));
    for (std::uint32_t r = 0; r < plan.ranks(); ++r) CHECK(has_the_list(*program, plan, r));
  }
}

TEST_CASE("in a list without transfers idle actions do nothing, and the last is joined to none",
          "[launch][transport]") {
  const auto program_of = [](const std::vector<stage_action>& first, const std::vector<stage_action>& second) {
    std::vector<stage_action> all = first;
    all.insert(all.end(), second.begin(), second.end());
    const std::vector<std::uint32_t> ends{static_cast<std::uint32_t>(first.size()),
                                          static_cast<std::uint32_t>(all.size())};
    const auto plan = pipeline::table_schedule::make(all, ends).value();
    return from_pipeline(plan, {.pairs_at_once = true}).value();
  };
  const stage_action idle{action_kind::idle, 0, 0}, f0{action_kind::forward, 0, 0}, b0{action_kind::backward, 0, 0},
      f1{action_kind::forward, 1, 0}, b1{action_kind::backward, 1, 0}, last{action_kind::backward, 0, 0, 0, 0, true};
  REQUIRE(last.joined());
  const auto runs = [](const pipeline_program& program, std::uint32_t rank) {
    std::vector<stage_action> out;
    for (std::size_t i = 0; i < program.steps(rank).size(); ++i)
      if (program.steps(rank)[i].kind == transfer_kind::run) out.push_back(program.actions(rank)[i]);
    return out;
  };
  const auto idles = program_of({f0, idle, b0}, {idle, f1, b1, idle});
  CHECK(runs(idles, 0) == std::vector{f0, b0});
  CHECK(runs(idles, 1) == std::vector{f1, b1});
  const auto joined = program_of({f0, last}, {f1, b1}), plain = program_of({f0, b0}, {f1, b1});
  CHECK(runs(joined, 0) == std::vector{f0, last});
  CHECK(std::equal(joined.steps(0).begin(), joined.steps(0).end(), plain.steps(0).begin(), plain.steps(0).end()));
}

TEST_CASE("every schedule under every placement of transfers: no stream can hang, and the numbers are right",
          "[launch][transport]") {
  using pipeline::transfer_policy;
  for (const auto& [name, plan] : schedules()) {
    if (plan.ranks() != 3 && name.find("p=") != std::string::npos) continue;  // enough of those
    for (const auto policy : {transfer_policy::eager, transfer_policy::just_in_time, transfer_policy::deferred,
                              transfer_policy::grouped, transfer_policy::barrier}) {
      INFO(name << ", policy " << static_cast<int>(policy));
      const auto lists = pipeline::lower(plan, {.transfers = policy});
      REQUIRE(lists);
      const bool groups = policy == transfer_policy::grouped || policy == transfer_policy::barrier;
      const auto program = from_pipeline(*lists, {.group_neighbours = groups});
      // A receive that moves down may change places with another from the same rank, if two chunks share a direction.
      if (!program && policy == transfer_policy::deferred) {
        CHECK(program.error().code == errc::mismatched_transfer);
        continue;
      }
      REQUIRE(program);
      if (policy != transfer_policy::deferred) CHECK(check_transfers(*program, transfer_model::in_order));
      if (groups && program->request_count(0) != 0) {
        std::size_t begins = 0;
        for (const auto& c : program->steps(0)) begins += c.kind == transfer_kind::group_begin;
        CHECK(device_commands(*program, 0, {.compute = 0, .recv = 1, .send = 1}));
        if (begins != 0) CHECK(device_commands(*program, 0).error().code == errc::bad_transfer);
      }
      for (std::uint32_t r = 0; r < program->ranks(); ++r) CHECK(has_every_step(*program, r, groups));
      for (std::uint32_t r = 0; r < program->ranks(); ++r) CHECK(has_the_list(*program, *lists, r));
      auto group = in_process_group::start(plan.ranks()).value();
      CHECK(total_of(run_threads(plan, *program, group, 4, nothing_fails)) == serial_sum(plan, 4));
    }
  }
}

TEST_CASE("receives next to their consumer: fine where posts do not block, a deadlock on one stream",
          "[launch][transport]") {
  // What users of PyTorch tried, and what hangs there.
  for (const char* name : lowered_lists) {
    INFO(name);
    const auto plan = golden(name);
    std::vector<stage_action> actions;
    std::vector<std::uint32_t> ends;
    for (std::uint32_t r = 0; r < plan.ranks(); ++r) {
      std::map<std::uint64_t, stage_action> pending;
      for (const stage_action a : plan.rank(r)) {
        if (a.kind() == action_kind::recv_forward || a.kind() == action_kind::recv_backward) {
          pending[stage_action(a.kind(), a.stage(), a.micro_batch()).bits()] = a;
          continue;
        }
        for (const action_kind kind : {action_kind::recv_forward, action_kind::recv_backward}) {
          const bool fits = kind == action_kind::recv_forward
                              ? a.kind() == action_kind::forward
                              : a.kind() == action_kind::backward || a.kind() == action_kind::input_grad;
          const auto at = pending.find(stage_action(kind, a.stage(), a.micro_batch()).bits());
          if (fits && at != pending.end()) {
            actions.push_back(at->second);
            pending.erase(at);
          }
        }
        actions.push_back(a);
      }
      REQUIRE(pending.empty());
      ends.push_back(static_cast<std::uint32_t>(actions.size()));
    }
    const auto moved = pipeline::table_schedule::make(actions, ends).value();
    const auto program = from_pipeline(moved);
    if (!program) {  // or the order between two ranks is broken outright: two chunks share a direction
      CHECK(program.error().code == errc::mismatched_transfer);
      continue;
    }
    std::pmr::vector<blocked_transfer> cycle;
    const auto in_order = check_transfers(*program, transfer_model::in_order, &cycle);
    REQUIRE(!in_order);
    CHECK(in_order.error().code == errc::transfer_deadlock);
    REQUIRE(cycle.size() >= 2);
    for (std::size_t i = 0; i < cycle.size(); ++i) {
      CHECK(cycle[i].peer == cycle[(i + 1) % cycle.size()].rank);
      CHECK(cycle[i].needs > cycle[(i + 1) % cycle.size()].step);
    }
  }
}

TEST_CASE("a schedule that deadlocks or is incomplete is refused before anything runs", "[launch][transport]") {
  using namespace pipeline;
  CHECK(from_pipeline(copy(interleaved::make({5, 2, 7}, groups::paper()).value())).error().code == errc::deadlock);
  CHECK(from_pipeline(golden("torch__1F1B__p4_v1_m4")).error().code == errc::incomplete_schedule);
  const auto parse = [](const char* csv) { return from_pipeline(text::parse_schedule_csv(csv).value()); };
  // No receive; a receive that comes after its use; twice the same receive; a send to the rank itself.
  CHECK(parse("0F0,0SEND_F0,0B0\n1F0,1B0\n").error().code == errc::bad_transfer);
  CHECK(parse("0F0,0SEND_F0,0RECV_B0,0B0\n1F0,1RECV_F0,1B0,1SEND_B0\n").error().code == errc::bad_transfer);
  CHECK(parse("0F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,1RECV_F0,1F0,1B0,1SEND_B0\n").error().code ==
        errc::unmatched_transfer);
  CHECK(parse("0F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_F0,1SEND_B0\n").error().code == errc::bad_transfer);
  // The order of two activations differs on the two sides.
  const auto swapped = parse(
      "0F0,0F1,0SEND_F1,0SEND_F0,0RECV_B0,0B0,0RECV_B1,0B1\n1RECV_F0,1F0,1RECV_F1,1F1,1B0,1SEND_B0,1B1,1SEND_B1\n");
  REQUIRE(!swapped);
  CHECK(swapped.error().code == errc::mismatched_transfer);
}

TEST_CASE("a rank that fails at any action ends the others, in bounded time", "[launch][transport][fault]") {
  const auto plan = copy(pipeline::interleaved::make({.ranks = 3, .chunks = 2, .micro_batches = 4}).value());
  const auto program = from_pipeline(plan).value();
  for (std::uint32_t victim = 0; victim < plan.ranks(); ++victim)
    for (std::uint32_t step = 0; step < plan.size(victim); ++step) {
      const stage_action last = stage_action_at(plan, victim, step);
      auto group = in_process_group::start(plan.ranks()).value();
      const auto all = run_threads(plan, program, group, 4, [&](std::uint32_t r, stage_action a) {
#if HOCKET_HAS_EXCEPTIONS
        if (r == victim && a == last && step % 2 == 1) throw 7;
#endif
        return r == victim && a == last ? 42 : 0;
      });
      CHECK_FALSE(all[victim].complete);
      CHECK((step % 2 == 1 ? all[victim].outcome.exception != nullptr : all[victim].outcome.code == 42));
      for (std::uint32_t r = 0; r < plan.ranks(); ++r) {
        const auto& o = all[r].outcome;
        const bool ended = o.complete || r == victim || o.status == in_process_status::aborted;
        CHECK(ended);
      }
    }
  // A rank that never comes: the others give up after their time limit and say for whom they waited.
  auto group = in_process_group::start(3, {.time_limit = std::chrono::milliseconds(30)}).value();
  pipeline_runner alone(program, 1, group.rank(1));
  numbers n{6};
  const auto done = alone.run([&](stage_action a) { return n.memory(a); }, [](stage_action) {});
  CHECK(done.status == in_process_status::timed_out);
  CHECK(alone.message(done) ==
        "rank 1, step 2: waiting for rank 0: the peer did not come within the time limit (activations of stage 1, "
        "micro-batch 0)");
}

TEST_CASE("a step that failed is named with its action, whatever it is", "[launch][transport]") {
  const auto plan = copy(pipeline::zero_bubble::make_h1({3, 1, 4}).value());
  const auto program = from_pipeline(plan).value();
  auto group = in_process_group::start(3).value();
  const pipeline_runner runner(program, 1, group.rank(1));
  std::set<std::string> words;
  for (std::size_t i = 0; i < program.steps(1).size(); ++i) {
    transfer_outcome<in_process_status> o;
    o.status = in_process_status::aborted;
    o.complete = false;
    o.done = i;
    o.at = program.steps(1)[i];
    const stage_action a = program.actions(1)[i];
    std::string what;
    switch (a.kind()) {
      case action_kind::forward: what = "forward"; break;
      case action_kind::input_grad: what = "input gradient"; break;
      case action_kind::weight_grad: what = "weight gradient"; break;
      case action_kind::send_forward:
      case action_kind::recv_forward: what = "activations"; break;
      case action_kind::send_backward:
      case action_kind::recv_backward: what = "gradients"; break;
      default: FAIL("an action that no such schedule has");
    }
    words.insert(what);
    CHECK(runner.message(o) == launch::message(o, 1, "a rank gave up") + " (" + what + " of stage " +
                                   std::to_string(a.stage()) + ", micro-batch " + std::to_string(a.micro_batch()) +
                                   ")");
  }
  CHECK(words.size() == 5);
}

TEST_CASE("all ranks as streams of one process", "[launch][transport]") {
  for (const auto& [name, plan] : schedules()) {
    if (plan.slices() != 1 || plan.directions() != 1) continue;
    INFO(name);
    const auto all = pipeline_streams::make(plan);
    REQUIRE(all);
    CHECK(all->commands.event_count() == record_count(all->commands));
    const auto list = reuse_events(all->commands);
    // One memory for all: events alone keep the order.
    const std::uint32_t stages = plan.ranks() * plan.chunks();
    numbers n{stages};
    for (std::uint32_t j = 0; j < plan.micro_batches(); ++j)
      for (std::uint32_t s = 0; s <= stages; ++s) {
        for (int which = 0; which < 4; ++which) n.value(numbers::key(which, s, {action_kind::forward, s, j}));
        n.value(numbers::key(1, 1023, {action_kind::forward, s, j}));
      }
    std::vector<std::uint64_t> totals(plan.ranks());
    auto device = host_backend::start(plan.ranks()).value();
    const auto report = device.run(list, [&](node_id k, stream_id rank) {
      const stage_action a = all->actions[k];
      n.compute(a);
      if (a.kind() == action_kind::backward || a.kind() == action_kind::input_grad)
        totals[rank] += n.sum(numbers::key(2, a.stage(), a));
    });
    CHECK(report);
    std::uint64_t total = 0;
    for (const std::uint64_t x : totals) total += x;
    CHECK(total == serial_sum(plan, 4));
  }
}

TEST_CASE("a rank's commands for streams order what its transfers need", "[launch][transport]") {
  for (const char* name : lowered_lists) {
    const auto plan = golden(name);
    const auto program = from_pipeline(plan).value();
    for (std::uint32_t r = 0; r < plan.ranks(); ++r) {
      const auto list = device_commands(program, r).value();
      const launch_test::issue_order order(list);
      const auto steps = program.steps(r);
      const auto actions = program.actions(r);
      const auto place = [&](std::size_t i) {
        return order.find(static_cast<node_id>(i), static_cast<std::uint8_t>(steps[i].kind));
      };
      std::size_t checked = 0;
      for (std::size_t i = 0; i < steps.size(); ++i)
        for (std::size_t k = 0; k < steps.size(); ++k) {
          const stage_action a = actions[i], b = actions[k];
          if (a.micro_batch() != b.micro_batch() || a.stage() != b.stage()) continue;
          const bool backward = b.kind() == action_kind::backward || b.kind() == action_kind::input_grad;
          const bool made_here = (a.kind() == action_kind::forward && b.kind() == action_kind::send_forward) ||
                                 ((a.kind() == action_kind::backward || a.kind() == action_kind::input_grad) &&
                                  b.kind() == action_kind::send_backward);
          const bool needed_here = (a.kind() == action_kind::recv_forward && b.kind() == action_kind::forward) ||
                                   (a.kind() == action_kind::recv_backward && backward);
          if (steps[i].kind == transfer_kind::wait || steps[k].kind == transfer_kind::wait) continue;
          if (!made_here && !needed_here) continue;
          ++checked;
          CHECK(order.before(place(i), place(k)));
        }
      CHECK(checked >= program.request_count(r));
      // The order on each stream is that of the list.
      for (std::size_t i = 1; i < order.size(); ++i)
        if (order.op(i - 1).stream == order.op(i).stream) CHECK(order.op(i - 1).id < order.op(i).id);
    }
  }
}

namespace {

// What check_device_commands decides, by definition: sweeps over all streams until nothing moves any more.
bool streams_finish(const pipeline_program& program, const pipeline_stream_numbers& streams) {
  struct place {
    std::uint32_t rank;
    std::vector<command> queue;
    std::size_t at = 0;
  };
  std::vector<place> all;
  for (std::uint32_t r = 0; r < program.ranks(); ++r) {
    const auto list = device_commands(program, r, streams).value();
    for (std::uint16_t s = 0; s < list.stream_count(); ++s) {
      all.push_back({r, {}});
      for (const command& c : list)
        if (c.stream == s) all.back().queue.push_back(c);
    }
  }
  std::set<std::pair<std::uint32_t, event_id>> recorded;
  // A transfer by its two ranks and its number between them; who has come to it.
  std::set<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, bool>> came;
  const auto meet = [&](const place& p, const command& c, bool own) {
    const transfer_command& t = program.steps(p.rank)[c.id];
    const bool sends = t.kind == transfer_kind::send;
    return std::tuple(sends ? p.rank : t.peer, sends ? t.peer : p.rank, t.tag, sends == own);
  };
  const auto kind = [](const command& c) {
    return c.kind == command_kind::run ? static_cast<transfer_kind>(c.phase) : transfer_kind::run;
  };
  for (bool moved = true; moved;) {
    moved = false;
    for (place& p : all)
      while (p.at < p.queue.size()) {
        const command& c = p.queue[p.at];
        std::vector<command> call;
        if (kind(c) == transfer_kind::send || kind(c) == transfer_kind::recv) {
          bool inside = false;
          for (std::size_t i = 0; i < p.at; ++i)
            if (kind(p.queue[i]) == transfer_kind::group_begin || kind(p.queue[i]) == transfer_kind::group_end)
              inside = !inside;
          if (!inside) call = {c};
        } else if (kind(c) == transfer_kind::group_end) {
          for (std::size_t i = p.at; kind(p.queue[i]) != transfer_kind::group_begin; --i)
            if (kind(p.queue[i]) == transfer_kind::send || kind(p.queue[i]) == transfer_kind::recv)
              call.push_back(p.queue[i]);
        } else if (c.kind == command_kind::wait && recorded.count({p.rank, c.id}) == 0) {
          break;
        } else if (c.kind == command_kind::record) {
          recorded.insert({p.rank, c.id});
        }
        bool all_there = true;
        for (const command& x : call) moved = came.insert(meet(p, x, true)).second || moved;
        for (const command& x : call) all_there = all_there && came.count(meet(p, x, false)) != 0;
        if (!all_there) break;
        ++p.at;
        moved = true;
      }
  }
  return std::all_of(all.begin(), all.end(), [](const place& p) { return p.at == p.queue.size(); });
}

}  // namespace

TEST_CASE("whether the streams of all ranks can finish, for one, two and three streams", "[launch][transport]") {
  std::size_t refused[3] = {}, accepted[3] = {}, more_is_better = 0;
  const auto judge = [&](const pipeline_program& program) {
    const pipeline_stream_numbers numbers[] = {{0, 0, 0}, {0, 1, 1}, {0, 1, 2}};
    const bool in_order = static_cast<bool>(check_transfers(program, transfer_model::in_order));
    for (int k = 0; k < 3; ++k) {
      const auto fits = check_device_commands(program, numbers[k]);
      if (!fits && fits.error().code == errc::bad_transfer) continue;  // groups and two streams
      CHECK(fits.has_value() == streams_finish(program, numbers[k]));
      if (k == 0) CHECK(fits.has_value() == in_order);
      if (in_order) CHECK(fits);
      if (fits && !in_order) ++more_is_better;
      ++(fits ? accepted : refused)[k];
      if (fits) continue;
      REQUIRE(fits.error().code == errc::transfer_deadlock);
      const auto [rank, step, peer, needs] = fits.error().values;
      const auto at = [&](std::int64_t r, std::int64_t i) {
        return program.steps(static_cast<std::uint32_t>(r))[static_cast<std::size_t>(i)];
      };
      CHECK(at(rank, step).peer == peer);
      CHECK(at(rank, step).label == at(peer, needs).label);
    }
  };
  for (const auto& [name, plan] : schedules()) {
    if ((plan.ranks() != 3 || plan.micro_batches() != 5) && name.find("p=") != std::string::npos) continue;
    INFO(name);
    for (const std::uint32_t lookahead : {0u, 1u, 3u}) judge(from_pipeline(plan, {.lookahead = lookahead}).value());
    for (const auto policy :
         {pipeline::transfer_policy::eager, pipeline::transfer_policy::deferred, pipeline::transfer_policy::grouped}) {
      const auto lists = pipeline::lower(plan, {.transfers = policy}).value();
      if (const auto program = from_pipeline(lists, {.group_neighbours = policy == pipeline::transfer_policy::grouped}))
        judge(*program);
    }
  }
  for (int k = 0; k < 3; ++k) CHECK(accepted[k] > 5);
  for (int k = 0; k < 3; ++k) CHECK(refused[k] > 0);
  CHECK(more_is_better > 5);
}
