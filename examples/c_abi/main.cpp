// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A host that is compiled as C++17 and includes no header of hocket but the C one. Its streams are queues that it works
// off itself, in the least favourable order that events allow, to show that the plan keeps the program's meaning.
#include <hocket/hocket.h>

#include <cstdint>
#include <cstdio>
#include <deque>
#include <vector>

static_assert(__cplusplus < 202002L, "this file stands for a C++17 host");

namespace {

// A record is done when its stream has passed as many records: the pair (stream, number). A flag per event would not
// do, because plans reuse events, also on other streams, while waits for earlier records are still queued.
struct mark {
  std::uint32_t stream;
  std::size_t number;
};
struct task {
  enum { run, record, wait } kind;
  std::uint32_t op;
  mark what;
};

struct host {
  std::vector<std::deque<task>> queue;      // per stream
  std::vector<std::size_t> issued, passed;  // per stream: records issued, records done
  std::vector<mark> latest;                 // per event
  int fail_on_op = -1;
};

int launch(void* context, std::uint32_t op, std::uint32_t stream) {
  auto& h = *static_cast<host*>(context);
  if (static_cast<int>(op) == h.fail_on_op) return 71;
  h.queue[stream].push_back({task::run, op, {}});
  return 0;
}
int record(void* context, std::uint32_t event, std::uint32_t stream) {
  auto& h = *static_cast<host*>(context);
  h.latest[event] = {stream, ++h.issued[stream]};
  h.queue[stream].push_back({task::record, 0, h.latest[event]});
  return 0;
}
int wait(void* context, std::uint32_t stream, std::uint32_t event) {
  auto& h = *static_cast<host*>(context);
  h.queue[stream].push_back({task::wait, 0, h.latest[event]});  // the latest record so far, now and for ever
  return 0;
}

// Runs the queue with the highest number that can go on. False if none can.
template <class Run>
bool drain(host& h, Run run) {
  for (;;) {
    bool moved = false, left = false;
    for (std::size_t s = h.queue.size(); s-- > 0 && !moved;) {
      if (h.queue[s].empty()) continue;
      left = true;
      const task t = h.queue[s].front();
      if (t.kind == task::wait && h.passed[t.what.stream] < t.what.number) continue;
      if (t.kind == task::run) run(t.op);
      if (t.kind == task::record) h.passed[s] = t.what.number;
      h.queue[s].pop_front();
      moved = true;
    }
    if (!moved) return !left;
  }
}

}  // namespace

int main() {
  // y = f(x) on stream 0; its gradient on 0; the all-reduce on 1; the update of x on 0; a logger on 2.
  const std::uint64_t x = 10, y = 11, gradient = 12, reduced = 13, log = 14;
  const std::uint32_t ops[] = {0, 1, 2, 3, 4, 5}, streams[] = {0, 0, 1, 2, 0, 2};
  const std::uint64_t reads[] = {x, y, gradient, y, reduced, x}, writes[] = {y, gradient, reduced, log, x, log};
  const std::size_t count = sizeof streams / sizeof streams[0];

  hocket_error why;
  hocket_program* program = nullptr;
  hocket_graph* graph = nullptr;
  hocket_plan* plan = nullptr;
  if (hocket_program_create(count, &program, &why) != HOCKET_OK ||
      hocket_program_add_variables(program, HOCKET_READ, count, ops, reads, &why) != HOCKET_OK ||
      hocket_program_add_variables(program, HOCKET_WRITE, count, ops, writes, &why) != HOCKET_OK ||
      hocket_graph_create(program, 0, &graph, &why) != HOCKET_OK ||
      hocket_plan_create(graph, streams, &plan, &why) != HOCKET_OK) {
    std::printf("%s\n", why.sentence);
    return 1;
  }
  std::printf("%zu ops on %zu streams: %zu waits, %zu events\n", count, hocket_plan_stream_count(plan),
              hocket_plan_wait_count(plan), hocket_plan_event_count(plan));

  host h;
  h.queue.resize(hocket_plan_stream_count(plan));
  h.issued.resize(h.queue.size());
  h.passed.resize(h.queue.size());
  h.latest.resize(hocket_plan_event_count(plan));
  std::size_t issued = 0;
  int code = 0;
  if (hocket_plan_drive(plan, &h, launch, record, wait, &issued, &code, &why) != HOCKET_OK) {
    std::printf("%s\n", why.sentence);
    return 1;
  }

  std::vector<std::uint32_t> order;
  const bool drained = drain(h, [&](std::uint32_t op) { order.push_back(op); });
  std::printf("ran:");
  for (const std::uint32_t op : order) std::printf(" %u", op);
  std::printf("\n");
  std::vector<std::size_t> at(count);
  for (std::size_t i = 0; i < order.size(); ++i) at[order[i]] = i;
  bool right = drained && order.size() == count && at[0] < at[1] && at[1] < at[2] && at[2] < at[4] && at[0] < at[3] &&
               at[3] < at[5] && at[4] < at[5];

  // An op that cannot be launched: the host's own code comes back, with a sentence.
  h.fail_on_op = 4;
  const hocket_status status = hocket_plan_drive(plan, &h, launch, record, wait, &issued, &code, &why);
  std::printf("%s, code %d: %s\n", hocket_status_name(status), code, why.sentence);
  right = right && status == HOCKET_HOST_FAILED && code == 71;
  right = right && drain(h, [](std::uint32_t) {});  // and what was issued can still finish

  hocket_plan_destroy(plan);
  hocket_graph_destroy(graph);
  hocket_program_destroy(program);
  return right ? 0 : 1;
}
