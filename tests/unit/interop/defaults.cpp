// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What readers of foreign files give, where a file says nothing of it.
#include <hocket/interop/ascend/join_ir.hpp>
#include <hocket/interop/ascend/operator_totals.hpp>
#include <hocket/interop/ascend/profile.hpp>
#include <hocket/interop/ascend/profile_samples.hpp>
#include <hocket/interop/ascend/step_breakdown.hpp>
#include <hocket/interop/measured_step.hpp>
#include <hocket/interop/mindspore/collectives.hpp>
#include <hocket/interop/mindspore/follow_calls.hpp>
#include <hocket/interop/mindspore/ir_peak.hpp>
#include <hocket/interop/mindspore/ir_reader.hpp>
#include <hocket/interop/mindspore/recomputation.hpp>
#include <hocket/interop/training_log.hpp>

#include <algorithm>
#include <cstdint>
#include <initializer_list>

#include "catch.hpp"

namespace {
namespace of_nothing {

bool all(std::int64_t value, std::initializer_list<std::int64_t> found) {
  return std::all_of(found.begin(), found.end(), [&](std::int64_t x) { return x == value; });
}
std::int64_t signed_of(std::size_t x) { return static_cast<std::int64_t>(x); }

TEST_CASE("of a profile that says nothing, times and counts are 0, and what has a number has none", "[ascend]") {
  using namespace hocket::ascend;
  const kernel k;
  CHECK(all(-1, {k.step, k.stream, k.task}));
  CHECK(all(0, {k.line, k.start.count(), k.duration.count(), op_total{}.count}));
  const step_breakdown b;
  CHECK(b.step == -1);
  CHECK(all(0, {signed_of(b.kernel_count), b.computing.count(), b.exposed.count()}));
  const idle_gap g;
  CHECK(all(0, {signed_of(g.before), signed_of(g.behind), g.length().count()}));
  const exposed_collective c;
  CHECK(c.kernel == 0);
  CHECK(all(-1, {signed_of(c.before), signed_of(c.behind)}));
  const matrix_product p;
  CHECK(p.batch == 1);
  CHECK(all(0, {p.rows, p.columns, p.inner}));
  const operator_total t;
  CHECK(all(0, {t.count, t.total.count(), t.longest.count(), t.known.count()}));
  CHECK(t.flops == 0);
  const product_samples s;
  CHECK(s.batch == 1);
  CHECK(all(0, {s.inner, s.columns}));
  CHECK(ir_join{}.joined == 0);
}

TEST_CASE("of a dump that says nothing, counts are 0 and -1 where it would say them", "[mindspore]") {
  using namespace hocket::mindspore;
  const ir_node n;
  CHECK(all(0, {n.operation, n.primitive, n.name, n.instance, n.scope, n.graph, n.line}));
  CHECK(n.number == -1);
  const ir_parameter p;
  CHECK(all(0, {p.name, p.type, p.graph, p.line}));
  const ir_graph g;
  CHECK(all(0, {g.name, g.first_node, g.node_count, g.line}));
  CHECK(ir_operand{}.value == 0);
  const ir_counts c;
  CHECK(all(0, {c.lines, c.graphs, c.nodes, c.parameters}));
  CHECK(all(-1, {c.said_graphs, c.said_nodes, c.said_parameters, c.said_all_nodes}));
  const ir_statement_view s;
  CHECK(all(0, {s.line, s.types_line}));
  CHECK(s.number == -1);
  CHECK(all(0, {ir_parameter_view{}.line, ir_heading_view{}.line, ir_type{}.bytes}));
  CHECK(ir_parameter_view{}.column == 1);
  CHECK(ir_reader_options{}.longest_line == 1 << 26);
  CHECK(follow_options{}.max_nodes == 1 << 24);
  CHECK(follow_options{}.max_growth == 256);
  const ir_dataflow::value v;
  CHECK(all(0, {v.bytes, v.op, v.storage, ir_peak{}.bytes, ir_peak{}.place}));
  const ir_collective x;
  CHECK(all(0, {x.node, x.rank_count, x.bytes}));
  const recompute_mark m;
  CHECK(all(0, {m.node, m.frees, further_mark{}.node, further_mark{}.frees}));
  const recompute_report r;
  for (const std::size_t count :
       {r.copy_count, r.other_copy_count, r.predicted_count, r.marked_in_called_graphs, r.unknown_sizes})
    CHECK(count == 0);
  CHECK(all(0, {r.kept_without, r.kept_with, r.kept_with_further}));
  CHECK(r.micro_batch_count == 1);
}

TEST_CASE("of a log that says nothing, nothing is known", "[measured]") {
  const hocket::logged_step s;
  CHECK(s.line == 0);
  CHECK(s.number == -1);
  CHECK(s.seconds == 0);
  CHECK(hocket::training_log{}.peak_line == 0);
  const hocket::measured_step m;
  CHECK(all(0, {m.step_count, m.global_batch}));
}

}  // namespace of_nothing
}  // namespace
