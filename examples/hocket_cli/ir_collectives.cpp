// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// hocket ir collectives: each collective of a dump, and whether it had to be there.
#include <hocket/curve/alpha_beta.hpp>
#include <hocket/interop/mindspore/collectives.hpp>
#include <hocket/interop/mindspore/ir_place.hpp>

#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>

#include "ir.hpp"

namespace hocket_cli {
namespace {

namespace ms = hocket::mindspore;
using nlohmann::ordered_json;

// Microseconds on a ring of links; below 0: no link was given, or the number of ranks or bytes is not known.
double time_of(const ms::ir_program& program, const ms::ir_collective& c, const link_options& link) {
  if (link.gb_per_s <= 0 || !c.bytes_known) return -1;
  const auto bytes = static_cast<double>(c.bytes);
  const std::string_view primitive = program.primitive(c.node);
  if (primitive == "Send" || primitive == "Receive")
    return hocket::curve::alpha_beta{link.latency_us, link.gb_per_s}.time(bytes);
  if (c.rank_count < 2) return c.rank_count == 1 ? 0 : -1;
  const auto ring = hocket::curve::ring_all_reduce(c.rank_count, link.latency_us, link.gb_per_s);
  if (primitive == "AllReduce") return ring.time(bytes);
  // Half a ring; an all-gather is given one part of the whole.
  const double whole = primitive == "AllGather" ? bytes * static_cast<double>(c.rank_count) : bytes;
  return ring.time(whole) / 2;
}

std::string micros(double us) {
  std::array<char, 32> digits{};
  std::snprintf(digits.data(), digits.size(), "%.1f us", us);
  return digits.data();
}

std::string ranks_text(const ms::ir_program& program, const ms::ir_collective& c) {
  if (c.peer >= 0) return (program.primitive(c.node) == "Send" ? "to rank " : "from rank ") + std::to_string(c.peer);
  std::string out;
  constexpr std::size_t shown = 8;
  for (std::size_t i = 0; i < c.ranks.size() && i < shown; ++i) out += (i == 0 ? "" : " ") + std::to_string(c.ranks[i]);
  if (c.ranks.size() > shown) out += " ... (" + std::to_string(c.ranks.size()) + ")";
  if (!out.empty()) return "ranks " + out;
  return c.rank_count > 0 ? std::to_string(c.rank_count) + " ranks" : "unknown ranks";
}

// Where a dump does not tell, a value is said to be unknown: null, and no 0 that looks like a count.
ordered_json or_null(bool known, ordered_json value) { return known ? std::move(value) : ordered_json(); }

struct total {
  std::size_t count = 0;
  std::size_t unknown_count = 0;  // of them, collectives whose bytes the dump does not tell
  std::int64_t bytes = 0;
  double us = 0;
};
using totals = std::array<total, ms::collective_reason_count>;  // by reason

ordered_json as_json(const ms::ir_program& program, const std::vector<ms::ir_collective>& all, const totals& sums,
                     const link_options& link) {
  ordered_json out = {{"version", 1}, {"collectives", ordered_json::array()}};
  for (const ms::ir_collective& c : all) {
    const auto strategy = [&](std::uint32_t n) {
      return n == hocket::no_id ? ordered_json() : ordered_json(program.attribute(n, "in_strategy").value_or(""));
    };
    ordered_json one = {{"line", program.node(c.node).line},
                        {"primitive", program.primitive(c.node)},
                        {"group", c.group},
                        {"ranks", or_null(!c.ranks.empty(), c.ranks)},
                        {"peer", or_null(c.peer >= 0, c.peer)},
                        {"rank_count", or_null(c.rank_count > 0, c.rank_count)},
                        {"bytes", or_null(c.bytes_known, c.bytes)},
                        {"layer", ms::place_of(program, c.node).layer},
                        {"scope", program.scope(c.node)},
                        {"producer", c.producer == hocket::no_id ? "" : program.primitive(c.producer)},
                        {"in_strategy", c.producer == hocket::no_id ? ordered_json() : strategy(c.producer)},
                        {"layout_before", strategy(c.layout_before)},
                        {"layout_behind", strategy(c.layout_behind)},
                        {"backward", c.is_backward},
                        {"reason", to_string(c.reason)},
                        {"why", c.why}};
    if (c.only_slice != hocket::no_id) one["only_slice_line"] = program.node(c.only_slice).line;
    if (const double us = time_of(program, c, link); us >= 0) one["time_us"] = us;
    out["collectives"].push_back(std::move(one));
  }
  for (std::size_t r = 0; r < sums.size(); ++r) {
    ordered_json sum = {{"count", sums[r].count}, {"bytes", sums[r].bytes}, {"unknown", sums[r].unknown_count}};
    if (link.gb_per_s > 0) sum["time_us"] = sums[r].us;
    out["totals"][std::string(to_string(static_cast<ms::collective_reason>(r)))] = std::move(sum);
  }
  return out;
}

std::string total_text(const total& sum) {
  if (sum.unknown_count == sum.count) return "unknown bytes";
  std::string out = with_commas(sum.bytes) + " bytes";
  if (sum.unknown_count > 0) out += " and " + std::to_string(sum.unknown_count) + " of unknown bytes";
  return out;
}

std::string as_text(const ms::ir_program& program, const std::vector<ms::ir_collective>& all, const totals& sums,
                    const link_options& link) {
  std::string out;
  for (const ms::ir_collective& c : all) {
    const std::string layer = ms::place_of(program, c.node).layer;
    out += "line " + left(std::to_string(program.node(c.node).line), 6) + "  " +
           std::string(program.primitive(c.node)) + " of " + (c.bytes_known ? with_commas(c.bytes) : "unknown") +
           " bytes, " + ranks_text(program, c);
    if (c.producer != hocket::no_id) out += ", from " + std::string(program.primitive(c.producer));
    if (!layer.empty()) out += ", layer " + layer;
    if (const double us = time_of(program, c, link); us >= 0) out += ", " + micros(us);
    out += "\n             " + std::string(to_string(c.reason)) + ": " + c.why + '\n';
    if (c.only_slice != hocket::no_id)
      out += "             only a slice of it is read (" + std::string(program.primitive(c.only_slice)) + ", line " +
             std::to_string(program.node(c.only_slice).line) + "): a ReduceScatter would do, with half the bytes\n";
  }
  out += all.empty() ? "no collective\n" : "\n";
  for (std::size_t r = 0; r < sums.size(); ++r) {
    if (sums[r].count == 0) continue;
    out += std::string(to_string(static_cast<ms::collective_reason>(r))) + ": " + std::to_string(sums[r].count) + ", " +
           total_text(sums[r]) + (link.gb_per_s > 0 ? ", " + micros(sums[r].us) : "") + '\n';
  }
  return out;
}

}  // namespace

void explain_collectives(const std::string& dump, const link_options& link, bool json, const std::string& out) {
  const ms::followed_program whole = read_whole_dump(dump);
  const ms::ir_program& program = whole.program;
  const std::vector<ms::ir_collective> all = ms::list_collectives(program);
  totals sums;
  for (const ms::ir_collective& c : all) {
    total& sum = sums[static_cast<std::size_t>(c.reason)];
    ++sum.count;
    sum.bytes += c.bytes;
    sum.unknown_count += c.bytes_known ? 0 : 1;
    if (const double us = time_of(program, c, link); us > 0) sum.us += us;
  }
  std::ostringstream line;
  line << calls_summary(whole) << "collectives=" << all.size();
  for (std::size_t r = 0; r < sums.size(); ++r)
    line << ' ' << to_string(static_cast<ms::collective_reason>(r)) << '=' << sums[r].count;
  give(out, json ? json_text(as_json(program, all, sums, link)) : as_text(program, all, sums, link), line.str());
}

}  // namespace hocket_cli
