// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <hocket/ranks.hpp>
#include <hocket/text/ranks_csv.hpp>
#include <hocket/text/ranks_svg.hpp>

#include <chrono>
#include <cstdint>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "command.hpp"

namespace hocket_cli {
namespace {

namespace ranks = hocket::ranks;
using json = nlohmann::ordered_json;

struct ranks_options {
  std::string file, machine = "nccl", out, repaired;
  std::int64_t slots = -1;
};

std::string ranks_header() {
  std::string header(hocket::text::ranks_csv_header);
  header += " and any of";
  for (const std::string_view column : hocket::text::ranks_csv_columns) header.append(" ").append(column);
  return header;
}
ranks::program read_ranks(const ranks_options& o) {
  const std::string where = o.file == "-" ? "standard input" : o.file;
  return table_or_fail(hocket::text::parse_ranks_csv(read_file(o.file)), where, ranks_header());
}
ranks::machine machine_of(const ranks_options& o) {
  ranks::machine m = ranks::find_machine(o.machine)->rules;
  if (o.slots >= 0) m.slots = static_cast<std::uint32_t>(o.slots);
  return m;
}

json as_json(const ranks::program& job, const ranks::place& p) {
  json out{{"rank", p.rank}, {p.host ? "thread" : "stream", p.line}};
  if (p.op == hocket::no_id) return out;
  out["op"] = p.op;
  out["call"] = to_string(job.list(p.rank)[p.op].kind);
  return out;
}
json as_json(const ranks::program& job, const ranks::blocked& b) {
  json out{{"who", as_json(job, b.who)}, {"waits_for", as_json(job, b.whom)}, {"why", to_string(b.why)}};
  if (b.call != hocket::no_id) out["until_op"] = b.call;
  return out;
}
json as_json(const ranks::program& job, const ranks::disagreement& d) {
  const auto op = [](std::uint32_t at) { return at == hocket::no_id ? json() : json(at); };
  return {{"communicator", job.groups(d.communicator).name},
          {"number", d.number},
          {"sides", {{{"rank", d.rank}, {"op", op(d.op)}}, {{"rank", d.other_rank}, {"op", op(d.other_op)}}}}};
}
json as_json(const ranks::program& job, const ranks::answer& a) {
  json out{{"version", 1}, {"verdict", to_string(a.says)}, {"why", to_string(a.why)}, {"told", sentence(job, a)}};
  if (a.says == ranks::verdict::mismatch) out["mismatch"] = as_json(job, a.differs);
  out["cycle"] = json::array();
  for (const ranks::blocked& b : a.cycle) out["cycle"].push_back(as_json(job, b));
  out["timing"] = json::array();
  for (const ranks::choice& c : a.timing)
    out["timing"].push_back({{"what", to_string(c.what)}, {"rank", c.rank}, {"op", c.op}});
  if (a.enough_slots > 0) out["enough_slots"] = a.enough_slots;
  return out;
}

std::uint64_t ops_of(const ranks::program& job) {
  std::uint64_t ops = 0;
  for (std::uint32_t r = 0; r < job.ranks(); ++r) ops += job.list(r).size();
  return ops;
}

std::string words_of(ranks::verdict says) {
  std::string out(to_string(says));
  for (char& c : out) c = c == ' ' ? '-' : c;
  return out;
}

void check_ranks(const ranks_options& o) {
  const ranks::program job = read_ranks(o);
  const auto start = std::chrono::steady_clock::now();
  const ranks::answer a = value_or_fail(ranks::check(job, machine_of(o)), o.file);
  const auto took = std::chrono::steady_clock::now() - start;
  std::ostringstream line;
  line << "verdict=" << words_of(a.says) << " machine=" << o.machine << " ranks=" << job.ranks()
       << " ops=" << ops_of(job) << " cycle=" << a.cycle.size() << " states=" << a.states
       << " time_us=" << std::chrono::duration_cast<std::chrono::microseconds>(took).count();
  give(o.out, this_run().json ? as_json(job, a).dump() + "\n" : sentence(job, a), line.str());
  if (a.says != ranks::verdict::safe) throw failure{1, ""};
}

void draw_ranks(const ranks_options& o) {
  const ranks::program job = read_ranks(o);
  const ranks::answer found = value_or_fail(ranks::check(job, machine_of(o)), o.file);
  give(o.out, hocket::text::to_svg(job, found), "verdict=" + words_of(found.says) + " machine=" + o.machine);
}

json as_json(const ranks::repair& fix) {
  json steps = json::array();
  for (const ranks::repair_step& s : fix.steps)
    steps.push_back({{"kind", to_string(s.kind)}, {"ranks", s.ranks}, {"op", s.op}, {"after", s.after}});
  return steps;
}

void repair_ranks(const ranks_options& o) {
  const ranks::program job = read_ranks(o);
  const ranks::machine m = machine_of(o);
  const ranks::answer before = value_or_fail(ranks::check(job, m), o.file);
  if (before.says == ranks::verdict::mismatch)
    fail(o.file + ": calls do not fit together, and nobody knows which side was meant: " + sentence(job, before));
  const ranks::repair fix = value_or_fail(ranks::find_repair(job, m), o.file);
  if (!o.repaired.empty() && fix.repaired) write_file(o.repaired, hocket::text::write_ranks_csv(*fix.repaired));
  std::string kind(to_string(fix.kind));
  for (char& c : kind) c = c == ' ' ? '-' : c;
  const json answer{
      {"version", 1}, {"verdict", to_string(before.says)}, {"told", sentence(job, fix)}, {"steps", as_json(fix)}};
  give(o.out, this_run().json ? answer.dump() + "\n" : sentence(job, fix),
       "repair=" + kind + " steps=" + std::to_string(fix.steps.size()) + " tried=" + std::to_string(fix.tried));
  if (fix.kind == ranks::repair_kind::not_found) throw failure{1, ""};
}

// All rules of all machines, one a row, or those of one.
void list_machines(const ranks_options& o) {
  std::string out = "machine,member,rule,source\n";
  for (const ranks::named_machine& m : ranks::machines)
    for (const ranks::rule_source& s : m.sources)
      out.append(m.name).append(",").append(s.member).append(",\"").append(s.sentence).append("\",").append(s.source) +=
          '\n';
  give(o.out, out, "machines=" + std::to_string(std::size(ranks::machines)));
}

}  // namespace

void add_ranks(CLI::App& app) {
  CLI::App* parent =
      app.add_subcommand("ranks", "Whether the collectives and transfers of all ranks finish, before they run");
  parent->require_subcommand(1);
  std::vector<std::string> names;
  for (const ranks::named_machine& m : ranks::machines) names.emplace_back(m.name);

  const auto add = [&](const std::string& name, const std::string& what, void (*run)(const ranks_options&)) {
    auto o = std::make_shared<ranks_options>();
    CLI::App* command = parent->add_subcommand(name, what);
    command->add_option("file", o->file, "CSV of the ops of all ranks (docs/ranks.md), - for standard input")
        ->required()
        ->type_name("FILE");
    command->add_option("--machine", o->machine, "What blocks what")
        ->check(CLI::IsMember(names))
        ->capture_default_str();
    command->add_option("--slots", o->slots, "Calls that surely run on a device at once (0: any number)")
        ->check(CLI::Range(0, 1 << 20))
        ->type_name("N");
    if (run == repair_ranks)
      command->add_option("--repaired", o->repaired, "Write the repaired program to FILE")
          ->type_name("FILE")
          ->check(has_folder);
    add_out(*command, o->out);
    command->callback([o, run] { run(*o); });
  };
  add("check", "Safe, mismatch, hangs, may hang: with who waits for whom", check_ranks);
  add("draw", "The program as an SVG picture: a row for each stream, what waits for what in red", draw_ranks);
  add("repair", "Waits, groups or moves of calls that make a program safe, checked again", repair_ranks);

  add_ranks_hang(*parent);
  auto list = std::make_shared<ranks_options>();
  CLI::App* machines = parent->add_subcommand("machines", "The rules of each machine, with their sources, as CSV");
  add_out(*machines, list->out);
  machines->callback([list] { list_machines(*list); });
}

}  // namespace hocket_cli
