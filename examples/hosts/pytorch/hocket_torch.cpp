// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The one translation unit with hocket in it. No exception and no C++ type crosses the border.
#include "hocket_torch.h"

#include <hocket/core/message.hpp>
#include <hocket/graph.hpp>
#include <hocket/testing/memory_check.hpp>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <memory_resource>
#include <new>
#include <span>
#include <string>
#include <utility>
#include <vector>

struct hocket_torch_plan {
  hocket::graph::stream_plan plan;
  std::vector<hocket_torch_wait> waits;
  std::size_t rule_edges;
  std::size_t kept_edges;
  std::int64_t nanoseconds;
};

// ---- the adapter ------------------------------------------------------------------------------------------------

namespace {

// A program that was checked, with the place of each op's first access.
struct torch_program {
  std::span<const hocket_torch_access> accesses;
  std::span<const std::uint8_t> draws;
  std::vector<std::size_t> first;
};

}  // namespace

template <>
struct hocket::graph_access<torch_program> {
  using node = std::uint32_t;
  static std::size_t node_count(const torch_program& p) { return p.draws.size(); }
  static void for_each_read(const torch_program& p, node n, auto&& f) { touch(p, n, 0, f); }
  static void for_each_write(const torch_program& p, node n, auto&& f) { touch(p, n, 1, f); }
  static graph::op_kind kind(const torch_program& p, node n) {
    return p.draws[n] != 0 ? graph::op_kind::random : graph::op_kind::compute;
  }

 private:
  static void touch(const torch_program& p, node n, std::uint32_t writes, auto&& f) {
    for (const hocket_torch_access& a : p.accesses.subspan(p.first[n], p.first[n + 1] - p.first[n]))
      if (a.writes == writes)
        graph::for_each_run({a.space, a.first, a.item_bytes, {a.sizes, a.dimensions}, {a.strides, a.dimensions}}, f);
  }
};

// ---- the border -------------------------------------------------------------------------------------------------

namespace {

thread_local char last_message[256] = "ok";

int fail(int code, const char* text) {
  std::snprintf(last_message, sizeof last_message, "%s", text);
  return code;
}
int fail(const hocket::error& e) { return fail(static_cast<int>(e.code), hocket::message(e).c_str()); }

int refuse(std::size_t access, const hocket_torch_access& a, const char* why) {
  const std::string where = "access " + std::to_string(access) + " of op " + std::to_string(a.op) + ": ";
  return fail(static_cast<int>(hocket::errc::invalid_argument), (where + why).c_str());
}

// Whether the last byte of a tensor has an address.
bool fits(const hocket_torch_access& a) {
  std::uint64_t room = std::numeric_limits<std::uint64_t>::max() - a.first;
  if (room < a.item_bytes) return false;
  room -= a.item_bytes;
  for (std::uint32_t d = 0; d < a.dimensions; ++d) {
    if (a.sizes[d] <= 1 || a.strides[d] == 0) continue;
    const std::uint64_t length = static_cast<std::uint64_t>(a.strides[d]);
    const std::uint64_t steps = static_cast<std::uint64_t>(a.sizes[d] - 1);
    if (length > room / a.item_bytes / steps) return false;
    room -= length * steps * a.item_bytes;
  }
  return true;
}

// 0 and the program by op, or what is wrong with it.
int read_program(const hocket_torch_program& given, torch_program& out) {
  out.accesses = {given.accesses, given.access_count};
  out.draws = {given.draws, given.op_count};
  out.first.assign(given.op_count + 1, 0);
  for (std::size_t i = 0; i < given.access_count; ++i) {
    const hocket_torch_access& a = given.accesses[i];
    if (a.op >= given.op_count) return refuse(i, a, "there is no such op");
    if (i > 0 && a.op < given.accesses[i - 1].op) return refuse(i, a, "ops must be in program order");
    if (a.writes > 1) return refuse(i, a, "writes must be 0 or 1");
    if (a.item_bytes == 0) return refuse(i, a, "item_bytes is 0");
    if (a.dimensions > HOCKET_TORCH_DIMENSIONS) return refuse(i, a, "more than 16 dimensions");
    for (std::uint32_t d = 0; d < a.dimensions; ++d) {
      if (a.sizes[d] < 0) return refuse(i, a, "a size is negative");
      if (a.strides[d] < 0) return refuse(i, a, "a stride is negative");
    }
    if (!fits(a)) return refuse(i, a, "the tensor ends beyond the address space");
    ++out.first[a.op + std::size_t{1}];
  }
  for (std::size_t n = 0; n < given.op_count; ++n) out.first[n + 1] += out.first[n];
  return 0;
}

hocket::result<hocket_torch_plan> make_plan(const torch_program& program, std::uint32_t streams,
                                            const std::int64_t* nanoseconds) {
  using namespace hocket;
  const auto deps = graph::dependencies(program, graph::dependency_options{.random = true});
  if (!deps) return deps.error();
  const std::span<const ticks> durations(nanoseconds, nanoseconds != nullptr ? program.draws.size() : 0);
  const auto stream_of = nanoseconds != nullptr ? graph::assign_streams(deps->graph(), streams, durations)
                                                : graph::assign_streams(deps->graph(), streams);
  if (!stream_of) return stream_of.error();
  const auto plan = graph::stream_plan::make(deps->graph(), *stream_of);
  if (!plan) return plan.error();
  hocket_torch_plan made{*plan, {}, deps->rule_edges(), deps->edge_count(), -1};
  for (const graph::stream_wait& w : plan->waits()) made.waits.push_back({w.recorder, w.waiter});
  if (nanoseconds != nullptr) {
    const auto time = graph::time_on_streams(deps->graph(), *stream_of, durations);
    if (!time) return time.error();
    made.nanoseconds = *time;
  }
  return made;
}

// The order that streams and waits give.
hocket::result<hocket::graph::stream_clock> order_of(std::span<const std::uint32_t> stream_of,
                                                     std::span<const hocket_torch_wait> waits) {
  using namespace hocket;
  const std::uint32_t last = stream_of.empty() ? 0 : *std::max_element(stream_of.begin(), stream_of.end());
  if (last >= stream_limit) return error{errc::limit_exceeded, last, stream_limit - 1}.with("stream");
  graph::stream_clock order(last + std::size_t{1});
  std::size_t next = 0;
  for (std::size_t op = 0; op < stream_of.size(); ++op) {
    std::vector<node_id> before;
    for (; next < waits.size() && waits[next].waiter == op; ++next) before.push_back(waits[next].recorder);
    if (const auto added = order.append(stream_of[op], before); !added) return added.error();
  }
  if (next < waits.size()) return error{errc::bad_order, waits[next].waiter, waits[next].recorder};
  return order;
}

void name_pair(std::uint32_t* pair, hocket::node_id earlier, hocket::node_id later) {
  if (pair == nullptr) return;
  pair[0] = earlier;
  pair[1] = later;
}

hocket::result<void> check_order(const torch_program& program, const hocket::graph::stream_clock& order,
                                 std::uint32_t* pair) {
  using namespace hocket;
  std::pmr::vector<testing::unordered_access> found;
  const auto proved = testing::check_against_memory(order, program, graph_access<torch_program>{}, &found);
  if (!proved) {
    name_pair(pair, found[0].earlier, found[0].later);
    return proved;
  }
  node_id last = no_id;
  for (node_id op = 0; op < program.draws.size(); ++op) {
    if (program.draws[op] == 0) continue;
    if (last != no_id && !order.reaches(last, op)) {
      name_pair(pair, last, op);
      return error{errc::unordered_access, last, op}.with("random generator");
    }
    last = op;
  }
  return proved;
}

// Runs f, which gives a code; what it throws becomes one.
template <class F>
int guarded(F&& f) {
#if HOCKET_HAS_EXCEPTIONS
  try {
    return f();
  } catch (const std::bad_alloc&) {
    return fail(static_cast<int>(hocket::errc::out_of_memory), "out of memory");
  } catch (...) {
    return fail(static_cast<int>(hocket::errc::invalid_argument), "unexpected exception");
  }
#else
  return f();
#endif
}

}  // namespace

extern "C" {

int hocket_torch_plan_create(const hocket_torch_program* program, uint32_t streams, const int64_t* nanoseconds,
                             hocket_torch_plan** out) {
  return guarded([&] {
    torch_program checked;
    if (const int code = read_program(*program, checked); code != 0) return code;
    auto made = make_plan(checked, streams, nanoseconds);
    if (!made) return fail(made.error());
    *out = new hocket_torch_plan(std::move(*made));
    return 0;
  });
}

void hocket_torch_plan_destroy(hocket_torch_plan* plan) { delete plan; }

const uint32_t* hocket_torch_plan_streams(const hocket_torch_plan* plan) { return plan->plan.streams().data(); }
const hocket_torch_wait* hocket_torch_plan_waits(const hocket_torch_plan* plan, size_t* count) {
  *count = plan->waits.size();
  return plan->waits.data();
}
size_t hocket_torch_plan_rule_edges(const hocket_torch_plan* plan) { return plan->rule_edges; }
size_t hocket_torch_plan_kept_edges(const hocket_torch_plan* plan) { return plan->kept_edges; }
size_t hocket_torch_plan_cross_stream_edges(const hocket_torch_plan* plan) { return plan->plan.cross_stream_edges(); }
int64_t hocket_torch_plan_nanoseconds(const hocket_torch_plan* plan) { return plan->nanoseconds; }

int hocket_torch_check(const hocket_torch_program* program, const uint32_t* stream_of, const hocket_torch_wait* waits,
                       size_t wait_count, uint32_t pair[2]) {
  return guarded([&] {
    torch_program checked;
    if (const int code = read_program(*program, checked); code != 0) return code;
    const auto order = order_of({stream_of, program->op_count}, {waits, wait_count});
    if (!order) return fail(order.error());
    const auto proved = check_order(checked, *order, pair);
    return proved ? 0 : fail(proved.error());
  });
}

const char* hocket_torch_message(void) { return last_message; }

}  // extern "C"
