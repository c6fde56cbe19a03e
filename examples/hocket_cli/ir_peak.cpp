// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// hocket ir peak: what is in memory when most is.
#include <hocket/interop/mindspore/ir_dataflow.hpp>
#include <hocket/interop/mindspore/ir_peak.hpp>
#include <hocket/interop/mindspore/ir_place.hpp>

#include <algorithm>
#include <cstdint>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <vector>

#include "ir.hpp"

namespace hocket_cli {
namespace {

namespace ms = hocket::mindspore;
using nlohmann::ordered_json;

// The tensors of one op in all layers.
struct group {
  std::string pattern, primitive;
  ms::ir_phase phase = ms::ir_phase::forward;
  std::int64_t bytes = 0;
  std::size_t count = 0;
  std::uint32_t first = 0;  // value
};

std::vector<group> groups_of(const ms::ir_program& program, const ms::ir_dataflow& flow,
                             const std::vector<std::uint32_t>& alive) {
  std::vector<group> groups;
  std::map<std::tuple<std::string, std::string, ms::ir_phase>, std::size_t> places;
  for (const std::uint32_t v : alive) {
    if (flow.values[v].bytes == 0) continue;
    const std::uint32_t n = flow.nodes[flow.values[v].op];
    const bool is_split = flow.op_of_node[n] != flow.values[v].op;  // the sigmoid of a SiLUGrad
    const group one{ms::place_of(program, n).pattern,
                    std::string(program.primitive(n)) + (is_split ? "'s sigmoid" : ""),
                    program.node(n).phase,
                    flow.values[v].bytes,
                    1,
                    v};
    const auto [at, is_new] = places.emplace(std::tuple(one.pattern, one.primitive, one.phase), groups.size());
    if (is_new) {
      groups.push_back(one);
      continue;
    }
    groups[at->second].bytes += one.bytes;
    ++groups[at->second].count;
  }
  std::sort(groups.begin(), groups.end(),
            [](const group& a, const group& b) { return a.bytes != b.bytes ? a.bytes > b.bytes : a.first < b.first; });
  return groups;
}

std::string as_text(const ms::ir_program& program, const ms::ir_peak& peak, std::int64_t scratch,
                    const std::vector<group>& groups, std::size_t unknown) {
  const std::string without =
      unknown == 0 ? ""
                   : "# " + std::to_string(unknown) + " values have no type or size that is known, and count 0 bytes\n";
  if (peak.node == hocket::no_id) return "no value\n" + without;
  std::string out = "peak: " + with_commas(peak.bytes) + " bytes, without weights and inputs, while " +
                    std::string(program.primitive(peak.node)) + " of line " +
                    std::to_string(program.node(peak.node).line) + " runs\n\n";
  for (const group& g : groups)
    out += left(with_commas(g.bytes), 16) + "  " + left(std::to_string(g.count), 3) + " x  " + g.primitive + "  " +
           g.pattern + "  (" + std::string(to_string(g.phase)) + ")\n";
  if (scratch > 0) out += left(with_commas(scratch), 16) + "    1 x  workspace of the op that runs\n";
  return out + without;
}

std::string as_json(const ms::ir_program& program, const ms::ir_peak& peak, std::int64_t scratch,
                    const std::vector<group>& groups, std::size_t unknown) {
  ordered_json out = {
      {"version", 1}, {"peak_bytes", peak.bytes}, {"workspace_bytes", scratch}, {"unknown_sizes", unknown}};
  out["line"] = peak.node == hocket::no_id ? ordered_json() : ordered_json(program.node(peak.node).line);
  out["alive"] = ordered_json::array();
  for (const group& g : groups)
    out["alive"].push_back({{"bytes", g.bytes},
                            {"count", g.count},
                            {"primitive", g.primitive},
                            {"pattern", g.pattern},
                            {"phase", to_string(g.phase)}});
  return json_text(out);
}

}  // namespace

void explain_peak(const std::string& dump, bool on_cpu, bool json, const std::string& out) {
  const ms::followed_program whole = read_whole_dump(dump);
  const ms::ir_program& program = whole.program;
  const ms::ir_dataflow flow = ms::dataflow_of(program, {}, on_cpu ? ms::ir_back_end::cpu : ms::ir_back_end::device);
  const std::vector<std::uint32_t> order = ms::run_order(program, flow);
  const ms::ir_peak peak = ms::peak_of(flow, order);
  const std::vector<group> groups = groups_of(program, flow, ms::alive_at(flow, order, peak.place));
  const std::int64_t scratch = order.empty() ? 0 : flow.scratch[order[peak.place]];
  std::size_t unknown = 0;
  for (const std::uint32_t n : flow.nodes)
    unknown += flow.op_of_node[n] == hocket::no_id ? 0 : ms::count_unknown_sizes(program, n);
  give(out, json ? as_json(program, peak, scratch, groups, unknown) : as_text(program, peak, scratch, groups, unknown),
       calls_summary(whole) + "peak_bytes=" + std::to_string(peak.bytes) + " groups=" + std::to_string(groups.size()));
}

}  // namespace hocket_cli
