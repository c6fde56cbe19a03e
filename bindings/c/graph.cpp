// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Programs, graphs, plans: hocket.h over hocket::graph and hocket::launch.
#include "border.hpp"

#include <hocket/graph.hpp>
#include <hocket/launch.hpp>
#include <hocket/launch/bridges/graph.hpp>
#include <hocket/testing/memory_check.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <memory_resource>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace {

using hocket_c::array;
using hocket_c::guarded;
using hocket_c::refuse;
namespace graph = hocket::graph;

// What an op does to a variable, or to bytes.
struct op_access {
  std::uint32_t op;
  bool writes;
  bool has_bytes;
  std::uint64_t variable;  // without bytes
  graph::storage_range bytes;
};

}  // namespace

struct hocket_program {
  std::vector<op_access> accesses;
  std::vector<graph::op_kind> kinds;  // one an op
};

struct hocket_graph {
  graph::dag<> dag;
  std::optional<graph::dependency_graph<>> deps;  // without, the dag is of edges
  [[nodiscard]] const graph::dag<>& order() const noexcept { return deps ? deps->graph() : dag; }
  std::size_t rule_edges;
};

struct hocket_plan {
  graph::stream_plan plan;
  std::vector<hocket_wait> waits;
  hocket::launch::command_list commands;
  std::int64_t duration_ns;
};

// ---- programs ---------------------------------------------------------------------------------------------------

namespace {

// The accesses of a program by op: reads, then writes.
class program_by_op {
 public:
  explicit program_by_op(const hocket_program& program) : program_(program), first_(2 * program.kinds.size() + 1) {
    for (const op_access& a : program.accesses) ++first_[bin_of(a) + 1];
    for (std::size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
    sorted_.resize(program.accesses.size());
    std::vector<std::size_t> next(first_.begin(), first_.end() - 1);
    for (const op_access& a : program.accesses) sorted_[next[bin_of(a)]++] = a;
  }
  [[nodiscard]] std::size_t op_count() const noexcept { return program_.kinds.size(); }
  [[nodiscard]] graph::op_kind kind(std::uint32_t op) const noexcept { return program_.kinds[op]; }
  template <class F>
  void touch(std::uint32_t op, bool writes, F&& f) const {
    const std::size_t bin = 2 * std::size_t{op} + (writes ? 1 : 0);
    for (std::size_t i = first_[bin]; i < first_[bin + 1]; ++i) {
      if (sorted_[i].has_bytes) f(sorted_[i].bytes);
      else f(sorted_[i].variable);
    }
  }

 private:
  static std::size_t bin_of(const op_access& a) noexcept { return 2 * std::size_t{a.op} + (a.writes ? 1 : 0); }

  const hocket_program& program_;
  std::vector<std::size_t> first_;
  std::vector<op_access> sorted_;
};

}  // namespace

template <>
struct hocket::graph_access<program_by_op> {
  using node = std::uint32_t;
  static std::size_t node_count(const program_by_op& p) { return p.op_count(); }
  static void for_each_read(const program_by_op& p, node n, auto&& f) { p.touch(n, false, f); }
  static void for_each_write(const program_by_op& p, node n, auto&& f) { p.touch(n, true, f); }
  static graph::op_kind kind(const program_by_op& p, node n) { return p.kind(n); }
};

namespace {

// Whether all ops are there; else the sentence.
hocket_status check_ops(const hocket_program& program, int mode, std::span<const std::uint32_t> ops,
                        hocket_error* error) {
  if (mode != HOCKET_READ && mode != HOCKET_WRITE)
    return refuse(error, "access is " + std::to_string(mode) + ", but must be HOCKET_READ or HOCKET_WRITE");
  for (std::size_t i = 0; i < ops.size(); ++i)
    if (ops[i] >= program.kinds.size())
      return refuse(error, "access " + std::to_string(i) + ": there is no op " + std::to_string(ops[i]) +
                               ", the program has " + std::to_string(program.kinds.size()));
  return HOCKET_OK;
}

hocket_status refuse_access(hocket_error* error, std::size_t i, std::uint32_t op, const char* why) {
  return refuse(error, "access " + std::to_string(i) + " of op " + std::to_string(op) + ": " + why);
}

// Takes back what was added if the call does not come to its end.
class addition {
 public:
  explicit addition(std::vector<op_access>& to) noexcept : to_(to), before_(to.size()) {}
  addition(const addition&) = delete;
  addition& operator=(const addition&) = delete;
  ~addition() {
    if (!kept_) to_.resize(before_, op_access{});
  }
  hocket_status keep() noexcept {
    kept_ = true;
    return HOCKET_OK;
  }

 private:
  std::vector<op_access>& to_;
  std::size_t before_;
  bool kept_ = false;
};

// What is wrong with a view of these sizes and strides, or null: its bytes must have addresses.
const char* flaw_of(const graph::strided_view& view) {
  if (view.item_bytes == 0) return "item_bytes is 0";
  std::uint64_t above = (std::numeric_limits<std::uint64_t>::max)() - view.first;
  if (above < view.item_bytes) return "the view ends beyond the address space";
  above -= view.item_bytes;
  std::uint64_t below = view.first;
  for (std::size_t d = 0; d < view.sizes.size(); ++d) {
    if (view.sizes[d] < 0) return "a size is negative";
    if (view.sizes[d] <= 1 || view.strides[d] == 0) continue;
    const bool down = view.strides[d] < 0;
    const auto stride = static_cast<std::uint64_t>(view.strides[d]);
    const std::uint64_t length = down ? 0 - stride : stride;
    const auto steps = static_cast<std::uint64_t>(view.sizes[d] - 1);
    std::uint64_t& room = down ? below : above;
    if (length > room / view.item_bytes / steps)
      return down ? "the view begins before the address space" : "the view ends beyond the address space";
    room -= length * steps * view.item_bytes;
  }
  return nullptr;
}

}  // namespace

hocket_status hocket_program_create(size_t op_count, hocket_program** out, hocket_error* error) {
  return guarded(error, {{"out", out}}, [&] {
    if (const auto id = hocket::to_id(op_count, "number of ops"); !id) return refuse(error, id.error());
    auto made = std::make_unique<hocket_program>();
    made->kinds.resize(op_count, graph::op_kind::compute);
    *out = made.release();
    return hocket_status{HOCKET_OK};
  });
}

void hocket_program_destroy(hocket_program* program) { delete program; }

size_t hocket_program_op_count(const hocket_program* program) { return program == nullptr ? 0 : program->kinds.size(); }

hocket_status hocket_program_add_variables(hocket_program* program, int mode, size_t count, const uint32_t* ops,
                                           const uint64_t* variables, hocket_error* error) {
  return guarded(error, {{"program", program}, array("ops", ops, count), array("variables", variables, count)}, [&] {
    if (const auto bad = check_ops(*program, mode, {ops, count}, error); bad != HOCKET_OK) return bad;
    addition added(program->accesses);
    for (std::size_t i = 0; i < count; ++i)
      program->accesses.push_back({ops[i], mode == HOCKET_WRITE, false, variables[i], {}});
    return added.keep();
  });
}

hocket_status hocket_program_add_bytes(hocket_program* program, int mode, size_t count, const uint32_t* ops,
                                       const uint64_t* spaces, const uint64_t* first_bytes, const uint64_t* end_bytes,
                                       hocket_error* error) {
  return guarded(error,
                 {{"program", program},
                  array("ops", ops, count),
                  array("spaces", spaces, count),
                  array("first_bytes", first_bytes, count),
                  array("end_bytes", end_bytes, count)},
                 [&] {
                   if (const auto bad = check_ops(*program, mode, {ops, count}, error); bad != HOCKET_OK) return bad;
                   addition added(program->accesses);
                   for (std::size_t i = 0; i < count; ++i) {
                     if (first_bytes[i] >= end_bytes[i])
                       return refuse_access(error, i, ops[i], "its first byte is not before its end");
                     const graph::storage_range bytes{spaces[i], first_bytes[i], end_bytes[i]};
                     program->accesses.push_back({ops[i], mode == HOCKET_WRITE, true, 0, bytes});
                   }
                   return added.keep();
                 });
}

namespace {

struct views {
  std::span<const std::uint32_t> ops;
  const std::uint64_t* spaces;
  const std::uint64_t* first_bytes;
  const std::uint32_t* item_bytes;
  const std::uint32_t* dimensions;
  const std::int64_t* sizes;
  const std::int64_t* strides;
};

hocket_status add_views(hocket_program& program, bool writes, const views& given, hocket_error* error) {
  addition added(program.accesses);
  std::size_t at = 0;
  for (std::size_t i = 0; i < given.ops.size(); ++i) {
    const std::uint32_t op = given.ops[i];
    const std::size_t dimensions = given.dimensions[i];
    if (dimensions > graph::strided_view::most_dimensions)
      return refuse_access(error, i, op, "more than 16 dimensions");
    if (dimensions > 0 && (given.sizes == nullptr || given.strides == nullptr))
      return refuse_access(error, i, op, "it has dimensions, and sizes or strides is a null pointer");
    const auto part = [&](const std::int64_t* all) {
      return dimensions == 0 ? std::span<const std::int64_t>() : std::span(all + at, dimensions);
    };
    const graph::strided_view view{given.spaces[i], given.first_bytes[i], given.item_bytes[i], part(given.sizes),
                                   part(given.strides)};
    if (const char* const flaw = flaw_of(view); flaw != nullptr) return refuse_access(error, i, op, flaw);
    graph::for_each_run(
        view, [&](const graph::storage_range& bytes) { program.accesses.push_back({op, writes, true, 0, bytes}); });
    at += dimensions;
  }
  return added.keep();
}

}  // namespace

hocket_status hocket_program_add_views(hocket_program* program, int mode, size_t count, const uint32_t* ops,
                                       const uint64_t* spaces, const uint64_t* first_bytes, const uint32_t* item_bytes,
                                       const uint32_t* dimensions, const int64_t* sizes, const int64_t* strides,
                                       hocket_error* error) {
  return guarded(error,
                 {{"program", program},
                  array("ops", ops, count),
                  array("spaces", spaces, count),
                  array("first_bytes", first_bytes, count),
                  array("item_bytes", item_bytes, count),
                  array("dimensions", dimensions, count)},
                 [&] {
                   if (const auto bad = check_ops(*program, mode, {ops, count}, error); bad != HOCKET_OK) return bad;
                   const views all{{ops, count}, spaces, first_bytes, item_bytes, dimensions, sizes, strides};
                   return add_views(*program, mode == HOCKET_WRITE, all, error);
                 });
}

hocket_status hocket_program_set_kinds(hocket_program* program, size_t count, const uint32_t* ops, const uint8_t* kinds,
                                       hocket_error* error) {
  return guarded(error, {{"program", program}, array("ops", ops, count), array("kinds", kinds, count)}, [&] {
    if (const auto bad = check_ops(*program, HOCKET_READ, {ops, count}, error); bad != HOCKET_OK) return bad;
    for (std::size_t i = 0; i < count; ++i)
      if (kinds[i] > HOCKET_IO)
        return refuse(error, "op " + std::to_string(ops[i]) + " has the kind " + std::to_string(kinds[i]) +
                                 ", but the last is HOCKET_IO, 3");
    for (std::size_t i = 0; i < count; ++i) program->kinds[ops[i]] = static_cast<graph::op_kind>(kinds[i]);
    return hocket_status{HOCKET_OK};
  });
}

// ---- graphs -----------------------------------------------------------------------------------------------------

namespace {

constexpr std::uint32_t all_chains =
    HOCKET_CHAIN_COLLECTIVES | HOCKET_CHAIN_RANDOM | HOCKET_CHAIN_IO | HOCKET_CHAIN_ALL;

hocket_status check_chains(std::uint32_t chains, hocket_error* error) {
  if ((chains & ~all_chains) == 0) return HOCKET_OK;
  return refuse(error, "chains is " + std::to_string(chains) + ", but the HOCKET_CHAIN_ values add up to " +
                           std::to_string(all_chains));
}

graph::dependency_options options_of(std::uint32_t chains) {
  graph::dependency_options options;
  options.collectives = (chains & HOCKET_CHAIN_COLLECTIVES) != 0;
  options.random = (chains & HOCKET_CHAIN_RANDOM) != 0;
  options.io = (chains & HOCKET_CHAIN_IO) != 0;
  options.sequential = (chains & HOCKET_CHAIN_ALL) != 0;
  options.reasons = true;
  return options;
}

hocket_status check_node(const hocket_graph& g, const char* what, std::uint32_t node, hocket_error* error) {
  const std::size_t nodes = g.order().node_count();
  if (node < nodes) return HOCKET_OK;
  return refuse(
      error, std::string(what) + " is node " + std::to_string(node) + ", but the graph has " + std::to_string(nodes));
}

std::string sentence_of(const std::pmr::vector<hocket::node_id>& cycle) {
  std::string sentence = "the edges close a cycle of " + std::to_string(cycle.size()) + ": ";
  constexpr std::size_t shown = 50;  // a line that a person can read
  for (std::size_t i = 0; i < cycle.size() && i < shown; ++i) sentence += std::to_string(cycle[i]) + " -> ";
  if (cycle.size() > shown) sentence += "... -> ";
  return sentence + std::to_string(cycle.front());
}

// Up to capacity of the nodes, and how many there are.
template <class Nodes>
void copy_nodes(const Nodes& nodes, std::uint32_t* out, std::size_t capacity, std::size_t* count) {
  if (count != nullptr) *count = nodes.size();
  if (out != nullptr) std::copy_n(nodes.begin(), (std::min)(capacity, nodes.size()), out);
}

}  // namespace

hocket_status hocket_graph_create(const hocket_program* program, uint32_t chains, hocket_graph** out,
                                  hocket_error* error) {
  return guarded(error, {{"program", program}, {"out", out}}, [&] {
    if (const auto bad = check_chains(chains, error); bad != HOCKET_OK) return bad;
    auto deps = graph::dependencies(program_by_op(*program), options_of(chains));
    if (!deps) return refuse(error, deps.error());
    auto made = std::make_unique<hocket_graph>();
    made->rule_edges = deps->rule_edges();
    made->deps.emplace(*std::move(deps));
    *out = made.release();
    return hocket_status{HOCKET_OK};
  });
}

hocket_status hocket_graph_from_edges(size_t node_count, size_t edge_count, const uint32_t* sources,
                                      const uint32_t* targets, uint32_t* cycle, size_t cycle_capacity,
                                      size_t* cycle_count, hocket_graph** out, hocket_error* error) {
  return guarded(error, {array("sources", sources, edge_count), array("targets", targets, edge_count), {"out", out}},
                 [&] {
                   std::vector<graph::edge> edges;
                   for (std::size_t i = 0; i < edge_count; ++i) edges.push_back({sources[i], targets[i]});
                   auto made = std::make_unique<hocket_graph>();
                   std::pmr::vector<hocket::node_id> found;
                   const auto built = made->dag.assign(node_count, edges, &found);
                   if (!built && !found.empty()) {
                     copy_nodes(found, cycle, cycle_capacity, cycle_count);
                     return refuse(error, sentence_of(found));
                   }
                   if (!built) return refuse(error, built.error());
                   std::sort(edges.begin(), edges.end());
                   made->rule_edges = static_cast<std::size_t>(std::unique(edges.begin(), edges.end()) - edges.begin());
                   *out = made.release();
                   return hocket_status{HOCKET_OK};
                 });
}

void hocket_graph_destroy(hocket_graph* g) { delete g; }

size_t hocket_graph_node_count(const hocket_graph* g) { return g == nullptr ? 0 : g->order().node_count(); }
size_t hocket_graph_edge_count(const hocket_graph* g) { return g == nullptr ? 0 : g->order().edge_count(); }
size_t hocket_graph_rule_edge_count(const hocket_graph* g) { return g == nullptr ? 0 : g->rule_edges; }

hocket_status hocket_graph_edges(const hocket_graph* g, uint32_t* sources, uint32_t* targets, hocket_error* error) {
  const std::size_t count = hocket_graph_edge_count(g);
  return guarded(error, {{"graph", g}, array("sources", sources, count), array("targets", targets, count)}, [&] {
    std::size_t i = 0;
    for (const graph::edge& e : g->order().edges()) {
      sources[i] = e.source;
      targets[i] = e.target;
      ++i;
    }
    return hocket_status{HOCKET_OK};
  });
}

hocket_status hocket_graph_reaches(const hocket_graph* g, size_t count, const uint32_t* sources,
                                   const uint32_t* targets, uint8_t* answers, hocket_error* error) {
  return guarded(error,
                 {{"graph", g},
                  array("sources", sources, count),
                  array("targets", targets, count),
                  array("answers", answers, count)},
                 [&] {
                   for (std::size_t i = 0; i < count; ++i) {
                     if (const auto bad = check_node(*g, "a source", sources[i], error); bad != HOCKET_OK) return bad;
                     if (const auto bad = check_node(*g, "a target", targets[i], error); bad != HOCKET_OK) return bad;
                   }
                   for (std::size_t i = 0; i < count; ++i)
                     answers[i] = g->order().reaches(sources[i], targets[i]) ? 1 : 0;
                   return hocket_status{HOCKET_OK};
                 });
}

hocket_status hocket_graph_path(const hocket_graph* g, uint32_t source, uint32_t target, uint32_t* path,
                                size_t capacity, size_t* count, hocket_error* error) {
  return guarded(error, {{"graph", g}, array("path", path, capacity), {"count", count}}, [&] {
    if (const auto bad = check_node(*g, "source", source, error); bad != HOCKET_OK) return bad;
    if (const auto bad = check_node(*g, "target", target, error); bad != HOCKET_OK) return bad;
    copy_nodes(g->order().path(source, target), path, capacity, count);
    return hocket_status{HOCKET_OK};
  });
}

hocket_status hocket_graph_why(const hocket_graph* g, uint32_t source, uint32_t target, const char** rule,
                               uint64_t* subject, hocket_error* error) {
  return guarded(error, {{"graph", g}, {"rule", rule}}, [&] {
    if (const auto bad = check_node(*g, "source", source, error); bad != HOCKET_OK) return bad;
    if (const auto bad = check_node(*g, "target", target, error); bad != HOCKET_OK) return bad;
    if (!g->deps) return refuse(error, "the graph was made of edges, and knows no reasons");
    const auto why = g->deps->why(source, target);
    if (!why)
      return refuse(error, "there is no kept edge from " + std::to_string(source) + " to " + std::to_string(target));
    *rule = to_string(why->rule).data();  // literals
    if (subject != nullptr) *subject = why->subject;
    return hocket_status{HOCKET_OK};
  });
}

// ---- plans ------------------------------------------------------------------------------------------------------

namespace {

hocket_status make_plan(const hocket_graph& g, std::span<const hocket::stream_id> stream_of, std::int64_t duration_ns,
                        hocket_plan** out, hocket_error* error) {
  auto plan = graph::stream_plan::make(g.order(), stream_of);
  if (!plan) return refuse(error, plan.error());
  const auto commands = hocket::launch::from_graph(*plan);
  if (!commands) return refuse(error, commands.error());
  auto made = std::make_unique<hocket_plan>(
      hocket_plan{*std::move(plan), {}, hocket::launch::reuse_events(*commands), duration_ns});
  for (const graph::stream_wait& w : made->plan.waits()) made->waits.push_back({w.recorder, w.waiter});
  *out = made.release();
  return HOCKET_OK;
}

// The host's functions as a backend. Its handles are the plan's own numbers, which the host maps to what it has.
// A callback may be written in C++ and throw. The exception ends the drive as a failure status would.
struct host_functions {
  using stream_type = hocket::stream_id;
  using event_type = hocket::event_id;
  using status_type = int;
  void* context;
  hocket_launch_function launcher;
  hocket_record_function recorder;
  hocket_wait_function waiter;
  const char* thrown_by = nullptr;  // the function that threw
  int launch(hocket::node_id op, stream_type stream) noexcept {
    return status_of("launch", [&] { return launcher(context, op, stream); });
  }
  int record(event_type event, stream_type stream) noexcept {
    return status_of("record", [&] { return recorder(context, event, stream); });
  }
  int wait(stream_type stream, event_type event) noexcept {
    return status_of("wait", [&] { return waiter(context, stream, event); });
  }
  template <class Call>
  int status_of([[maybe_unused]] const char* name, Call&& call) noexcept {
#if HOCKET_HAS_EXCEPTIONS
    try {
      return call();
    } catch (...) {
      thrown_by = name;
      return -1;
    }
#else
    return call();
#endif
  }
  static bool ok(int status) noexcept { return status == 0; }
  static const char* text(int) noexcept { return "a status of the host's own"; }
};

}  // namespace

hocket_status hocket_plan_create(const hocket_graph* g, const uint32_t* stream_of, hocket_plan** out,
                                 hocket_error* error) {
  const std::size_t ops = hocket_graph_node_count(g);
  return guarded(error, {{"graph", g}, array("stream_of", stream_of, ops), {"out", out}},
                 [&] { return make_plan(*g, {stream_of, ops}, -1, out, error); });
}

hocket_status hocket_plan_assign(const hocket_graph* g, uint32_t stream_count, const int64_t* durations_ns,
                                 hocket_plan** out, hocket_error* error) {
  return guarded(error, {{"graph", g}, {"out", out}}, [&] {
    const graph::dag<>& order = g->order();
    if (durations_ns == nullptr) {
      const auto stream_of = graph::assign_streams(order, stream_count);
      if (!stream_of) return refuse(error, stream_of.error());
      return make_plan(*g, *stream_of, -1, out, error);
    }
    const std::span<const hocket::ticks> durations(durations_ns, order.node_count());
    const auto stream_of = graph::assign_streams(order, stream_count, durations);
    if (!stream_of) return refuse(error, stream_of.error());
    const auto time = graph::time_on_streams(order, *stream_of, durations);
    if (!time) return refuse(error, time.error());
    return make_plan(*g, *stream_of, *time, out, error);
  });
}

void hocket_plan_destroy(hocket_plan* plan) { delete plan; }

size_t hocket_plan_op_count(const hocket_plan* p) { return p == nullptr ? 0 : p->plan.node_count(); }
size_t hocket_plan_stream_count(const hocket_plan* p) { return p == nullptr ? 0 : p->plan.stream_count(); }
size_t hocket_plan_event_count(const hocket_plan* p) { return p == nullptr ? 0 : p->commands.event_count(); }
size_t hocket_plan_wait_count(const hocket_plan* p) { return p == nullptr ? 0 : p->waits.size(); }
size_t hocket_plan_cross_stream_edge_count(const hocket_plan* p) {
  return p == nullptr ? 0 : p->plan.cross_stream_edges();
}
const uint32_t* hocket_plan_streams(const hocket_plan* p) { return p == nullptr ? nullptr : p->plan.streams().data(); }
const hocket_wait* hocket_plan_waits(const hocket_plan* p) { return p == nullptr ? nullptr : p->waits.data(); }
int64_t hocket_plan_duration_ns(const hocket_plan* p) { return p == nullptr ? -1 : p->duration_ns; }

hocket_status hocket_plan_drive(const hocket_plan* plan, void* context, hocket_launch_function launch,
                                hocket_record_function record, hocket_wait_function wait, size_t* issued,
                                int* host_status, hocket_error* error) {
  // A pointer to a function is no pointer to void: what stands here is null if the function is.
  const auto there = [&](bool given) { return given ? static_cast<const void*>(&error) : nullptr; };
  return guarded(error,
                 {{"plan", plan},
                  {"launch", there(launch != nullptr)},
                  {"record", there(record != nullptr)},
                  {"wait", there(wait != nullptr)}},
                 [&] {
                   host_functions host{context, launch, record, wait};
                   const auto done = hocket::launch::drive(
                       host, plan->commands,
                       [&](hocket::node_id op, hocket::stream_id stream) { return host.launch(op, stream); });
                   if (issued != nullptr) *issued = done.issued;
                   if (host_status != nullptr) *host_status = done.status;
                   if (done.complete) return hocket_status{HOCKET_OK};
                   if (host.thrown_by != nullptr)
                     return hocket_c::fail(error, HOCKET_HOST_FAILED,
                                           std::string("the host's function ") + host.thrown_by +
                                               " threw an exception: functions of C must return a status");
                   const auto why = hocket::launch::to_result(done);
                   return hocket_c::fail(error, HOCKET_HOST_FAILED, message(why.error()));
                 });
}

// ---- the check --------------------------------------------------------------------------------------------------

namespace {

// The order that streams and waits give. Its clocks have an entry for each stream: those that ops run on, by number.
hocket::result<graph::stream_clock> order_of(std::span<const std::uint32_t> stream_of,
                                             std::span<const hocket_wait> waits) {
  using namespace hocket;
  const std::uint32_t last = stream_of.empty() ? 0 : *std::max_element(stream_of.begin(), stream_of.end());
  if (last >= stream_limit) return error{errc::limit_exceeded, last, stream_limit - 1}.with("stream");
  std::vector<std::uint32_t> used(stream_of.begin(), stream_of.end());
  std::sort(used.begin(), used.end());
  used.erase(std::unique(used.begin(), used.end()), used.end());
  graph::stream_clock order(used.size());
  std::size_t next = 0;
  for (std::size_t op = 0; op < stream_of.size(); ++op) {
    std::vector<node_id> before;
    for (; next < waits.size() && waits[next].waiter == op; ++next) before.push_back(waits[next].recorder);
    const auto stream = std::lower_bound(used.begin(), used.end(), stream_of[op]) - used.begin();
    if (const auto added = order.append(static_cast<stream_id>(stream), before); !added) return added.error();
  }
  if (next < waits.size()) return error{errc::bad_order, waits[next].waiter, waits[next].recorder};
  return order;
}

struct pair_of_ops {
  std::uint32_t earlier, later;
};

// The first two ops of a chain that the streams do not keep in program order.
template <class Belongs>
std::optional<pair_of_ops> broken_chain(const graph::stream_clock& order, Belongs&& belongs) {
  std::uint32_t last = hocket::no_id;
  for (std::uint32_t op = 0; op < order.node_count(); ++op) {
    if (!belongs(op)) continue;
    if (last != hocket::no_id && !order.reaches(last, op)) return pair_of_ops{last, op};
    last = op;
  }
  return std::nullopt;
}

std::optional<pair_of_ops> broken_chain(const graph::stream_clock& order, const hocket_program& program,
                                        std::uint32_t chains, std::string& word) {
  word = "ops";
  if ((chains & HOCKET_CHAIN_ALL) != 0)
    if (const auto pair = broken_chain(order, [](std::uint32_t) { return true; })) return pair;
  const graph::dependency_options options = options_of(chains);
  for (const auto kind : {graph::op_kind::collective, graph::op_kind::random, graph::op_kind::io}) {
    if (!options.chains(kind)) continue;
    word = std::string(to_string(kind)) + " ops";
    if (const auto pair = broken_chain(order, [&](std::uint32_t op) { return program.kinds[op] == kind; })) return pair;
  }
  return std::nullopt;
}

hocket_status refute(hocket_error* error, pair_of_ops found, std::uint32_t* pair, const std::string& sentence) {
  if (pair != nullptr) {
    pair[0] = found.earlier;
    pair[1] = found.later;
  }
  return hocket_c::fail(error, HOCKET_WRONG_ORDER, sentence);
}

}  // namespace

hocket_status hocket_check_order(const hocket_program* program, uint32_t chains, const uint32_t* stream_of,
                                 size_t wait_count, const hocket_wait* waits, uint32_t pair[2], hocket_error* error) {
  using namespace hocket;
  const std::size_t ops = hocket_program_op_count(program);
  return guarded(
      error, {{"program", program}, array("stream_of", stream_of, ops), array("waits", waits, wait_count)}, [&] {
        if (const auto bad = check_chains(chains, error); bad != HOCKET_OK) return bad;
        const auto order = order_of({stream_of, ops}, {waits, wait_count});
        if (!order) return refuse(error, order.error());
        std::pmr::vector<testing::unordered_access> found;
        const auto proved =
            testing::check_against_memory(*order, program_by_op(*program), graph_access<program_by_op>{}, &found);
        if (!proved && found.empty()) return refuse(error, proved.error());
        if (!proved) return refute(error, {found[0].earlier, found[0].later}, pair, message(proved.error()));
        std::string word;
        const auto broken = broken_chain(*order, *program, chains, word);
        if (!broken) return hocket_status{HOCKET_OK};
        return refute(error, *broken, pair,
                      word + " " + std::to_string(broken->earlier) + " and " + std::to_string(broken->later) +
                          " are chained, and nothing keeps them in order");
      });
}
