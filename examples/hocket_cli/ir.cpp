// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// hocket ir: what a dump of MindSpore's IR says, and the tuning guide's questions to it.
#include "ir.hpp"

#include <hocket/graph/op_kind.hpp>
#include <hocket/interop/ascend/parse_profile.hpp>
#include <hocket/interop/mindspore/follow_calls.hpp>
#include <hocket/interop/mindspore/parse_ir.hpp>
#include <hocket/text/ops_csv.hpp>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

namespace hocket_cli {

namespace ms = hocket::mindspore;
using nlohmann::ordered_json;

namespace {

// Who reads a file that is no dump, if its first line tells.
std::string other_reader(std::string_view begin) {
  const bool is_known = hocket::ascend::parse_profile(begin.substr(0, begin.find('\n') + 1)).has_value();
  return is_known ? "; it is a profiler's table: hocket profile reads it" : "";
}

// Hands a file to a reader piece by piece: a dump may be larger than memory.
template <class Reader>
void feed_file(Reader& reader, const std::string& path) {
  std::ifstream file;
  if (path != "-") file.open(path, std::ios::binary);
  if (path != "-" && !file) fail("cannot read " + path);
  std::istream& in = path == "-" ? std::cin : file;
  std::vector<char> block(std::size_t{1} << 20);
  for (bool first = true; in.read(block.data(), static_cast<std::streamsize>(block.size())), in.gcount() > 0;
       first = false) {
    const std::string_view piece(block.data(), static_cast<std::size_t>(in.gcount()));
    if (const auto ok = reader.feed(piece); !ok)
      fail(path + ": " + message(ok.error()) + (first ? other_reader(piece) : ""));
  }
  if (in.bad() || (path != "-" && file.fail() && !file.eof())) fail("cannot read " + path);
}

// Counts statement by statement.
struct counter {
  std::map<std::string, std::int64_t, std::less<>> primitives;
  std::string name;

  hocket::result<void> entry(std::string_view graph) {
    name = graph;
    return {};
  }
  hocket::result<void> parameter(const ms::ir_parameter_view& /*p*/) { return {}; }
  hocket::result<void> begin_graph(const ms::ir_heading_view& /*g*/) { return {}; }
  hocket::result<void> end_graph() { return {}; }
  hocket::result<void> statement(const ms::ir_statement_view& s) {
    const std::string_view primitive = ms::primitive_of(s.operation);
    const auto at = primitives.find(primitive);
    if (at == primitives.end()) primitives.emplace(primitive, 1);
    else ++at->second;
    return {};
  }
};

struct options {
  std::string dump, out, format = "text";
  link_options link;
  bool on_cpu = false;
};

void summary(const options& o) {
  counter found;
  ms::ir_reader reader(found);
  feed_file(reader, o.dump);
  if (const auto ok = reader.finish(); !ok) fail(o.dump, ok.error());
  const ms::ir_counts& counts = reader.counts();
  std::vector<std::pair<std::string, std::int64_t>> sorted(found.primitives.begin(), found.primitives.end());
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  const std::string format = form(o.format);
  std::string data;
  if (format == "json") {
    ordered_json out = {{"version", 1},
                        {"entry", found.name},
                        {"graphs", counts.graphs},
                        {"nodes", counts.nodes},
                        {"parameters", counts.parameters},
                        {"lines", counts.lines}};
    for (const auto& [name, count] : sorted) out["primitives"][name] = count;
    data = json_text(out);
  } else {
    for (const auto& [name, count] : sorted) data += left(std::to_string(count), 8) + ' ' + name + '\n';
  }
  std::ostringstream line;
  line << "graphs=" << counts.graphs << " nodes=" << counts.nodes << " parameters=" << counts.parameters
       << " primitives=" << sorted.size() << " lines=" << counts.lines;
  give(o.out, data, line.str());
}

// The communication groups of a dump, numbered as they come up; without a group (Send of old dumps): ring 0.
class ring_numbers {
 public:
  std::uint32_t of(const ms::ir_program& program, std::uint32_t n) {
    const std::string group(program.attribute(n, "group").value_or(""));
    const auto [at, is_new] = number_of_.emplace(group, static_cast<std::uint32_t>(groups_.size()));
    if (is_new) groups_.push_back(group);
    return at->second;
  }
  [[nodiscard]] const std::vector<std::string>& groups() const { return groups_; }

 private:
  std::vector<std::string> groups_;
  std::map<std::string, std::uint32_t> number_of_;
};

ordered_json op_json(const ms::ir_program& program, std::uint32_t n) {
  return {{"op", n},
          {"line", program.node(n).line},
          {"primitive", program.primitive(n)},
          {"scope", program.scope(n)},
          {"phase", to_string(program.node(n).phase)},
          {"reads", program.reads(n)},
          {"writes", program.writes(n)}};
}

// The whole step as an ops CSV, for `hocket graph`, or as JSON with the names of things.
void ops(const options& o) {
  const ms::followed_program whole = read_whole_dump(o.dump);
  const ms::ir_program& program = whole.program;
  hocket::text::ops_table table;
  ordered_json listed = ordered_json::array();
  ring_numbers rings;
  std::size_t collectives = 0;
  const bool as_json = form(o.format) == "json";
  for (std::uint32_t n = 0; n < program.node_count(); ++n) {
    const bool is_collective = ms::is_collective(program.primitive(n));
    collectives += is_collective ? 1 : 0;
    const auto kind = is_collective ? hocket::graph::op_kind::collective : hocket::graph::op_kind::compute;
    const std::uint32_t ring[] = {is_collective ? rings.of(program, n) : 0};
    table.add(is_collective ? 1 : 0, kind, program.reads(n), program.writes(n));
    if (is_collective) table.add_rings(ring);
    if (!as_json) continue;
    listed.push_back(op_json(program, n));
    listed.back()["kind"] = hocket::graph::to_string(kind);
    if (is_collective) listed.back()["ring"] = ring[0];
  }
  std::string data;
  if (as_json) {
    const ordered_json out = {{"version", 1},
                              {"ops", std::move(listed)},
                              {"rings", rings.groups()},
                              {"variables", program.variable_count()},
                              {"calls", {{"followed", whole.followed_count}, {"remaining", whole.remaining_count}}},
                              {"ops_left_out", whole.left_out_count}};
    data = json_text(out);
  } else {
    data = hocket::text::write_ops_csv(table);
  }
  std::ostringstream line;
  line << calls_summary(whole) << "ops=" << table.size() << " collectives=" << collectives
       << " rings=" << rings.groups().size() << " variables=" << program.variable_count();
  give(o.out, data, line.str());
}

CLI::App* add_command(CLI::App& group, const std::string& name, const std::string& description, options& o,
                      const std::string& plain = "text") {
  CLI::App* command = group.add_subcommand(name, description);
  command->add_option("dump", o.dump, "A dump of MindSpore's IR (*.ir), - for standard input")
      ->type_name("DUMP")
      ->required();
  command->add_option("--format", o.format, plain + " (default) or json")
      ->check(CLI::IsMember(std::vector<std::string>{plain, "json"}));
  add_out(*command, o.out);
  return command;
}

}  // namespace

ms::ir_program read_dump(const std::string& path) {
  ms::ir_program_reader reader;
  feed_file(reader, path);
  return value_or_fail(reader.finish(), path);
}

ms::followed_program read_whole_dump(const std::string& path) {
  return value_or_fail(ms::follow_calls(read_dump(path)), path);
}

std::string calls_summary(const ms::followed_program& whole) {
  if (whole.followed_count + whole.remaining_count + whole.left_out_count == 0) return {};
  return "calls_followed=" + std::to_string(whole.followed_count) +
         " calls_remaining=" + std::to_string(whole.remaining_count) +
         " ops_left_out=" + std::to_string(whole.left_out_count) + ' ';
}

std::string json_text(const ordered_json& value) {
  return value.dump(2, ' ', false, ordered_json::error_handler_t::replace) + '\n';
}

std::string left(std::string text, std::size_t width) {
  text.insert(0, width > text.size() ? width - text.size() : 0, ' ');
  return text;
}

std::string with_commas(std::int64_t number) {
  std::string digits = std::to_string(number);
  const std::size_t begin = number < 0 ? 1 : 0;
  for (std::size_t at = digits.size(); at > begin + 3;) {
    at -= 3;
    digits.insert(at, 1, ',');
  }
  return digits;
}

namespace {}  // namespace

void add_ir(CLI::App& app) {
  CLI::App* group = app.add_subcommand("ir", "What a dump of MindSpore's IR says");
  group->require_subcommand(1);
  const auto o = std::make_shared<options>();
  CLI::App* command =
      add_command(*group, "summary", "Counts of graphs, nodes and primitives, of dumps of any size", *o);
  command->callback([o] { summary(*o); });
  command = add_command(*group, "ops", "The step as an ops CSV, for hocket graph; calls are followed", *o, "csv");
  command->callback([o] { ops(*o); });
  command =
      add_command(*group, "recompute", "Did the recomputation work? What is kept instead, and what is missing", *o);
  command->footer(
      "Bytes are those kept from the forward pass for the backward pass. The peak may fall by more or by less: it is\n"
      "printed beside them, for the order in which MindSpore's runtime runs the dump.");
  command->callback([o] { explain_recompute(o->dump, form(o->format) == "json", o->out); });
  command = add_command(*group, "peak", "What is in memory when most is, by op", *o);
  command->add_flag("--cpu", o->on_cpu, "As MindSpore's CPU back end runs it, which takes some kernels apart");
  command->callback([o] { explain_peak(o->dump, o->on_cpu, form(o->format) == "json", o->out); });
  command = add_command(*group, "collectives", "Each collective, and whether it had to be there", *o);
  CLI::Option* rate = command->add_option("--gb-per-s", o->link.gb_per_s,
                                          "Bandwidth of a link, 10^9 bytes a second: times of each, on a ring");
  rate->check(is_number(1e-6, 1e6, "number from 10^-6 to 10^6"));
  command->add_option("--latency-us", o->link.latency_us, "Latency of a hop, microseconds")
      ->check(is_number(0, 1e9, "number from 0 to 10^9"))
      ->needs(rate);
  command->callback([o] { explain_collectives(o->dump, o->link, form(o->format) == "json", o->out); });
}

}  // namespace hocket_cli
