// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <hocket/graph.hpp>
#include <hocket/testing/dense_index.hpp>
#include <hocket/text/comparison_csv.hpp>
#include <hocket/text/edges_csv.hpp>
#include <hocket/text/ops_csv.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <memory>
#include <memory_resource>
#include <optional>
#include <span>
#include <sstream>
#include <type_traits>
#include <vector>

#include "command.hpp"

namespace hocket_cli {
namespace {

namespace graph = hocket::graph;
namespace text = hocket::text;
using hocket::node_id;

struct options {
  std::string ops, edges, pairs, theirs, assigned, out;
  std::string rules = "data";
  std::string index = "auto";
  std::uint32_t streams = 0;
  std::size_t limit = 20;
  std::optional<double> memory_gib;
  std::optional<std::uint32_t> most_us;
  bool front = false;
  std::string holds;
};

// What prune, reaches and sync know about a graph, whichever file and index it came from.
struct summary {
  std::size_t nodes = 0, edges = 0, bytes = 0;
  std::uint64_t reachable_pairs = 0;
};

class stopwatch {
 public:
  [[nodiscard]] long long microseconds() const {
    return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

[[noreturn]] void fail_with_cycle(const std::string& file, const std::pmr::vector<node_id>& cycle) {
  std::string sentence = file + ": the edges close a cycle of " + std::to_string(cycle.size()) + ": ";
  constexpr std::size_t shown = 50;  // a line that a person can read
  for (std::size_t i = 0; i < cycle.size() && i < shown; ++i) sentence += std::to_string(cycle[i]) + " -> ";
  if (cycle.size() > shown) sentence += "... -> ";
  fail(sentence + std::to_string(cycle.front()));
}

graph::dependency_options rules_of(const options& o) {
  graph::dependency_options rules = graph::dependency_options::data();
  if (o.rules == "ordered") {
    rules = graph::dependency_options::ordered();
    rules.start_up = true;
  }
  return rules;
}

text::ops_table read_ops(const options& o) {
  std::string header(text::ops_csv_header);
  header += " and any of";
  for (const std::string_view column : text::ops_csv_columns) header.append(" ").append(column);
  return table_or_fail(text::parse_ops_csv(read_file(o.ops)), o.ops, header);
}

// Bit rows of so many ops are at most 2 GiB.
constexpr std::size_t dense_limit = std::size_t{1} << 17;

template <class Index>
void check_size(const std::string& file, std::size_t ops) {
  if (std::is_same_v<Index, hocket::testing::dense_index> && ops > dense_limit)
    fail(file + ": " + std::to_string(ops) + " ops are too many for --index dense, which holds at most " +
         std::to_string(dense_limit) + ": use --index persistent");
}

// The graph that --ops or --edges names, and how many distinct edges it had before pruning.
template <class Index>
graph::dag<Index> load(const options& o, std::size_t& edges_before, long long& microseconds) {
  if (!o.ops.empty()) {
    const text::ops_table program = read_ops(o);
    check_size<Index>(o.ops, program.size());
    const stopwatch watch;
    auto deps = value_or_fail(graph::dependencies<Index>(program, rules_of(o)), o.ops);
    microseconds = watch.microseconds();
    edges_before = deps.rule_edges();
    return std::move(deps.graph());
  }
  const text::edge_table table =
      table_or_fail(text::parse_edges_csv(read_file(o.edges)), o.edges, text::edges_csv_header);
  check_size<Index>(o.edges, table.node_count);
  std::vector<graph::edge> distinct = table.edges;
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  edges_before = distinct.size();
  graph::dag<Index> g;
  std::pmr::vector<node_id> cycle;
  const stopwatch watch;
  const auto built = g.assign(table.node_count, table.edges, &cycle);
  microseconds = watch.microseconds();
  if (!built && !cycle.empty()) fail_with_cycle(o.edges, cycle);
  if (!built) fail(o.edges, built.error());
  return g;
}

void report(const options& o, const std::vector<graph::edge>& edges, const summary& s, const std::string& index,
            long long microseconds) {
  const double mean = s.nodes == 0 ? 0.0 : static_cast<double>(s.reachable_pairs) / static_cast<double>(s.nodes);
  char digits[32];
  std::snprintf(digits, sizeof digits, "%.1f", mean);
  std::ostringstream line;
  line << "nodes=" << s.nodes << " edges=" << s.edges << " kept=" << edges.size() << " reachable_mean=" << digits
       << " index=" << (index == "auto" ? "persistent" : index) << " bytes=" << s.bytes << " time_us=" << microseconds;
  give(o.out, text::write_edges_csv(edges), line.str());
}

template <class Index>
void prune_with(const options& o) {
  summary s;
  long long microseconds = 0;
  const graph::dag<Index> g = load<Index>(o, s.edges, microseconds);
  s.nodes = g.node_count();
  s.bytes = g.bytes();
  s.reachable_pairs = g.reachable_pairs();
  report(o, g.edges(), s, o.index, microseconds);
}

void prune_without_index(const options& o) {
  summary s;
  std::vector<graph::edge> edges;
  if (!o.ops.empty()) {
    const text::ops_table program = read_ops(o);
    s.nodes = program.size();
    edges = value_or_fail(graph::rule_edges(program, rules_of(o)), o.ops);
  } else {
    text::edge_table table = table_or_fail(text::parse_edges_csv(read_file(o.edges)), o.edges, text::edges_csv_header);
    s.nodes = table.node_count;
    edges = std::move(table.edges);
  }
  std::pmr::vector<node_id> cycle;
  const stopwatch watch;
  const auto reduced = graph::transitive_reduction(s.nodes, edges, &cycle);
  const long long microseconds = watch.microseconds();
  if (!reduced && !cycle.empty()) fail_with_cycle(o.edges, cycle);
  if (!reduced) fail(o.ops.empty() ? o.edges : o.ops, reduced.error());
  s.edges = reduced->offered;
  s.bytes = reduced->bytes;
  s.reachable_pairs = reduced->reachable_pairs;
  report(o, reduced->kept, s, "none", microseconds);
}

void prune(const options& o) {
  if (o.index == "none") return prune_without_index(o);
  if (o.index == "dense") return prune_with<hocket::testing::dense_index>(o);
  prune_with<graph::persistent_index>(o);
}

void reaches(const options& o) {
  std::size_t edges = 0;
  long long microseconds = 0;
  const auto g = load<graph::persistent_index>(o, edges, microseconds);
  const auto pairs =
      table_or_fail(text::parse_pairs_csv(read_file(o.pairs), g.node_count()), o.pairs, text::edges_csv_header);
  std::string out = "source,target,reaches\n";
  std::size_t reached = 0;
  for (const graph::edge& e : pairs) {
    const bool yes = g.reaches(e.source, e.target);
    reached += yes ? 1u : 0u;
    out += std::to_string(e.source) + ',' + std::to_string(e.target) + (yes ? ",1\n" : ",0\n");
  }
  std::ostringstream line;
  line << "nodes=" << g.node_count() << " edges=" << edges << " pairs=" << pairs.size() << " reached=" << reached;
  give(o.out, out, line.str());
}

// The program's kept edges. The index that found them is gone: of many ops it is as large as the plan's own.
graph::dag<graph::no_index> kept_edges(const options& o, const text::ops_table& program, std::size_t& rule_edges) {
  const auto deps = value_or_fail(graph::dependencies(program, rules_of(o)), o.ops);
  rule_edges = deps.rule_edges();
  return value_or_fail(graph::dag<graph::no_index>::make(deps.graph().node_count(), deps.graph().edges()), o.ops);
}

void sync(const options& o) {
  text::ops_table program = read_ops(o);
  std::size_t rule_edges = 0;
  const graph::dag<graph::no_index> g = kept_edges(o, program, rule_edges);
  if (o.streams != 0) program.set_streams(value_or_fail(graph::assign_streams(g, o.streams), o.ops));
  const stopwatch watch;
  const auto plan = value_or_fail(graph::stream_plan::make(g, program.streams()), o.ops);
  const long long microseconds = watch.microseconds();
  std::ostringstream line;
  line << "nodes=" << plan.node_count() << " edges=" << rule_edges << " kept=" << g.edge_count()
       << " streams=" << plan.stream_count() << " cross_stream=" << plan.cross_stream_edges()
       << " waits=" << plan.waits().size() << " events=" << plan.event_count() << " time_us=" << microseconds;
  if (!o.assigned.empty()) write_file(o.assigned, text::write_ops_csv(program));
  give(o.out, text::write_waits_csv(plan.waits()), line.str());
}

// What graph order knows of a program.
struct timed_program {
  graph::dag<graph::no_index> g;
  std::vector<hocket::ticks> durations;
  graph::issue_values values;
  bool tells_bytes = false;
};

// Collectives and io ops of one ring or file keep their program order unless --rules data says otherwise: ranks that
// issue the collectives of a communicator in different orders hang.
timed_program read_timed(const options& o) {
  const text::ops_table program = read_ops(o);
  if (!program.has_us()) fail(o.ops + ": no column us says how long the ops take");
  timed_program out;
  out.tells_bytes = program.has_bytes() || program.has_write_ranges();
  const bool asks_bytes = o.memory_gib || o.most_us || o.front;
  if (asks_bytes && !out.tells_bytes) fail(o.ops + ": no column bytes says how large what the ops write is");
  // Without an index: an order needs none, and of ops that share variables at random it would be quadratic.
  auto deps = value_or_fail(graph::dependencies<graph::no_index>(program, rules_of(o)), o.ops);
  out.g = std::move(deps.graph());
  for (node_id op = 0; op < program.size(); ++op) out.durations.push_back(program.us(op));
  if (out.tells_bytes)
    out.values = graph::values_of(program, [&](node_id op, std::uint32_t v) { return program.bytes_of(op, v); });
  return out;
}

std::int64_t cap_of(const options& o) {
  constexpr double gib = 1024.0 * 1024 * 1024, most = 9.2e18;
  if (!o.memory_gib) return std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(std::min(*o.memory_gib * gib, most));
}

std::string summary_of(const graph::issue_order& answer, bool tells_bytes) {
  std::ostringstream line;
  line << "makespan_us=" << answer.time << " lower_bound_us=" << answer.least_time;
  if (tells_bytes) line << " peak_bytes=" << answer.peak_bytes << " least_bytes=" << answer.least_bytes;
  line << " given_us=" << answer.given_time;
  if (tells_bytes) line << " given_bytes=" << answer.given_bytes << " holds=" << answer.holds.size();
  const bool proved = answer.is_proved(), smallest = tells_bytes && answer.is_smallest();
  line << " proved=" << (proved && smallest ? "both" : proved ? "time" : smallest ? "bytes" : "none");
  return line.str();
}

void front(const options& o, const timed_program& program) {
  const auto answers =
      value_or_fail(graph::issue_front(program.g, o.streams, program.durations, program.values), o.ops);
  std::string out = "makespan_us,peak_bytes,holds\n";
  for (const graph::issue_order& each : answers)
    out += std::to_string(each.time) + ',' + std::to_string(each.peak_bytes) + ',' + std::to_string(each.holds.size()) +
           '\n';
  const graph::issue_order& fastest = answers.front();
  std::ostringstream line;
  line << "orders=" << answers.size() << " lower_bound_us=" << fastest.least_time
       << " least_bytes=" << fastest.least_bytes << " given_us=" << fastest.given_time
       << " given_bytes=" << fastest.given_bytes;
  give(o.out, out, line.str());
}

void order(const options& o) {
  const timed_program program = read_timed(o);
  if (o.front) return front(o, program);
  const auto answer = value_or_fail(
      o.most_us ? graph::smallest_issue_order(program.g, o.streams, program.durations, program.values, *o.most_us)
                : graph::choose_issue_order(program.g, o.streams, program.durations, program.values, cap_of(o)),
      o.ops);
  std::string out = "position,op,stream,start_us\n";
  for (std::size_t i = 0; i < answer.order.size(); ++i) {
    const node_id op = answer.order[i];
    out += std::to_string(i) + ',' + std::to_string(op) + ',' + std::to_string(answer.stream_of[op]) + ',' +
           std::to_string(answer.start[op]) + '\n';
  }
  if (!o.holds.empty()) write_file(o.holds, text::write_edges_csv(answer.holds));
  give(o.out, out, summary_of(answer, program.tells_bytes));
}

// Exit 1 only if an order is missing: the host then has a race. Too much order costs time, but is safe.
void compare(const options& o) {
  std::size_t edges = 0;
  long long microseconds = 0;
  const auto ours = load<graph::persistent_index>(o, edges, microseconds);
  const auto theirs =
      table_or_fail(text::parse_pairs_csv(read_file(o.theirs), ours.node_count()), o.theirs, text::edges_csv_header);
  std::pmr::vector<node_id> cycle;
  const auto result = graph::compare(ours, theirs, {.limit = o.limit}, &cycle);
  if (!result && !cycle.empty()) fail_with_cycle(o.theirs, cycle);
  if (!result) fail(o.theirs, result.error());
  std::ostringstream line;
  line << "nodes=" << ours.node_count() << " ours=" << result->ours << " theirs=" << result->theirs
       << " missing=" << result->missing << " extra=" << result->extra << " redundant=" << result->redundant
       << " shown=" << result->first.size() << " order=" << (result->equal_order() ? "equal" : "different");
  give(o.out, text::write_comparison_csv(*result), line.str());
  if (result->missing == 0) return;
  std::string sentence = o.theirs + ": " + std::to_string(result->missing) + " of the orders that we keep " +
                         (result->missing == 1 ? "is" : "are") + " missing";
  if (!result->first.empty()) {
    const graph::edge& e = result->first.front().pair;
    sentence += ": " + std::to_string(e.source) + " must happen before " + std::to_string(e.target) +
                (result->first.front().opposite() ? ", but here it happens after" : ", but no path here leads there");
  }
  fail(sentence);
}

CLI::Option* add_rules(CLI::App& command, options& o) {
  return command.add_option("--rules", o.rules, "Which orders of an ops CSV hold: reads and writes, or also chains")
      ->check(CLI::IsMember({"data", "ordered"}))
      ->capture_default_str();
}

constexpr const char* ops_help = "Ops CSV: op,stream,kind,reads,writes in program order (all columns: graph --help)";
constexpr const char* ops_columns =
    "Columns of an ops CSV, one row an op in program order:\n"
    "    op            0, 1, 2 and so on\n"
    "    stream        the stream it is issued on\n"
    "    kind          compute, collective, random or io\n"
    "    reads         numbers of variables, separated by spaces\n"
    "    writes        the same\n"
    "and, in any order, if the program needs them:\n"
    "    rings         communication rings of a collective, generators of a random op, files of an io op; none is 0\n"
    "    starts        1 if the op starts the step, else 0 or nothing\n"
    "    aliases       view=base or buffer=tensor, for the whole program\n"
    "    read_ranges   bytes, space:first-end, where end is one past the last\n"
    "    write_ranges  the same\n"
    "    us            microseconds that the op takes (graph order)\n"
    "    bytes         how large each variable is that the op writes, in the order of writes (graph order)\n";

// --ops F [--rules R] | --edges F, exactly one of them.
void add_input(CLI::App& command, options& o) {
  CLI::Option_group* input = command.add_option_group("input", "The graph, as one of");
  input->add_option("ops,--ops", o.ops, ops_help)->type_name("FILE");
  CLI::Option* edges = input->add_option("--edges", o.edges, "Edges CSV: source,target in any order");
  edges->type_name("FILE")->excludes(add_rules(command, o));  // rules are about reads and writes
  input->require_option(1);
}

void add_order(CLI::App& commands, const std::shared_ptr<options>& o) {
  CLI::App* const command = commands.add_subcommand(
      "order", "In which order to issue the ops, and on which streams: CSV position,op,stream,start_us");
  command->add_option("ops,--ops", o->ops, ops_help)->type_name("FILE")->required();
  command->add_option("--streams", o->streams, "How many streams there are")
      ->check(CLI::Range(1u, hocket::stream_limit))
      ->required();
  CLI::Option* const cap = command->add_option("--memory-gib", o->memory_gib, "The fastest order within so many GiB")
                               ->type_name("GIB")
                               ->check(CLI::Range(0.0, 8e9));
  CLI::Option* const most = command->add_option("--most-us", o->most_us, "The fewest bytes within so many microseconds")
                                ->type_name("US")
                                ->excludes(cap);
  CLI::Option* const front = command
                                 ->add_flag("--front", o->front,
                                            "Instead: CSV makespan_us,peak_bytes,holds of "
                                            "orders that are each faster or smaller")
                                 ->excludes(cap)
                                 ->excludes(most);
  command
      ->add_option("--holds", o->holds, "Write the waits that keep memory within the cap, CSV source,target, to FILE")
      ->type_name("FILE")
      ->check(has_folder)
      ->excludes(front);
  command->footer(
      "A value is alive from the start of its first op to the end of its last. An op that writes a variable without "
      "reading it begins a new value; what nothing reads afterwards stays to the end.\n"
      "lower_bound_us: no order takes less. least_bytes: none needs less. given_us: the program's own order.\n"
      "holds: an op waits for another to have its memory, and needs an event for that.");
  CLI::Option* rules = add_rules(*command, *o);
  rules->default_str("ordered");
  add_out(*command, o->out);
  command->callback([o, rules] {
    if (rules->count() == 0) o->rules = "ordered";
    order(*o);
  });
}
void add_compare(CLI::App& commands, const std::shared_ptr<options>& o) {
  CLI::App* const command = commands.add_subcommand(
      "compare",
      "The first differences between our kept edges and a host's own: CSV difference,source,target,path_in,path");
  command->footer(
      "missing_order: we keep the edge, and no path of theirs leads there: a race, exit 1.\n"
      "extra_order: they need the edge, and no path of ours does: lost concurrency, exit 0.\n"
      "redundant_edge: their own other edges imply it: needless, exit 0.\n"
      "path proves it, in our graph or in theirs. It leads from source to target, or, where the other graph has the "
      "opposite order, back.");
  add_input(*command, *o);
  command->add_option("--theirs", o->theirs, "The host's own edges, CSV: source,target in any order")
      ->type_name("FILE")
      ->required();
  command->add_option("--limit", o->limit, "Show at most this many differences of each kind")
      ->check(CLI::Range(0u, 4294967295u))
      ->capture_default_str();
  add_out(*command, o->out);
  command->callback([o] { compare(*o); });
}

}  // namespace

void add_graph(CLI::App& app) {
  CLI::App* commands =
      app.add_subcommand("graph", "Which op must run before which, and which edges are worth an event");
  commands->require_subcommand(1);
  commands->footer(ops_columns);
  const auto o = std::make_shared<options>();

  CLI::App* command = commands->add_subcommand("prune", "Keep the edges that no others imply: CSV source,target");
  add_input(*command, *o);
  command
      ->add_option(
          "--index", o->index,
          "How reachability is held: auto is persistent; dense: bit rows, for comparison; none: reduction only")
      ->check(CLI::IsMember({"auto", "dense", "persistent", "none"}))
      ->capture_default_str();
  add_out(*command, o->out);
  command->callback([o] { prune(*o); });

  command = commands->add_subcommand("sync", "The fewest stream waits: CSV recorder,waiter,record_stream,wait_stream");
  command->add_option("ops,--ops", o->ops, ops_help)->type_name("FILE")->required();
  CLI::Option* const streams = command->add_option("--streams", o->streams, "Assign the ops to this many streams first")
                                   ->check(CLI::Range(1u, hocket::stream_limit));
  command->add_option("--assigned", o->assigned, "Write the program with these streams, an ops CSV, into FILE")
      ->type_name("FILE")
      ->check(has_folder)
      ->needs(streams);
  add_rules(*command, *o);
  add_out(*command, o->out);
  command->callback([o] { sync(*o); });

  add_order(*commands, o);

  command = commands->add_subcommand("reaches", "Which pairs are ordered: CSV source,target,reaches");
  add_input(*command, *o);
  command->add_option("--pairs", o->pairs, "Pairs CSV: source,target")->type_name("FILE")->required();
  add_out(*command, o->out);
  command->callback([o] { reaches(*o); });

  add_compare(*commands, o);
}

}  // namespace hocket_cli
