// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The targets of the graph component, each beside what was measured: ratios of things that run by turns in one process.
// Needs no benchmark framework.   bench_graph [--benchmark_filter=REGEX] [--full]
#include <hocket/graph.hpp>
#include <hocket/interop/populated_memory.hpp>
#include <hocket/testing/dense_index.hpp>
#include <hocket/testing/graph_benchmark.hpp>
#include <hocket/text/ops_csv.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <memory_resource>
#include <new>
#include <regex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "../tests/graph_programs.hpp"
#include "measure.hpp"
#include "peers.hpp"
#include "peers_boost.hpp"

#if defined(__GLIBC__)
#include <malloc.h>
#endif
#if defined(__linux__)
#include <sys/mman.h>
#endif
#if defined(__unix__)
#include <sys/resource.h>
#endif

namespace {

std::size_t allocated = 0, peak = 0;
bool populate_all = false;  // the pages of a peer's memory, too

// The size of each allocation is kept in front of it.
void* counted(std::size_t size, std::size_t alignment) {
  alignment = alignment < 16 ? 16 : alignment;
  const std::size_t whole = (size + 2 * alignment - 1) / alignment * alignment;
  auto* const raw = static_cast<char*>(std::aligned_alloc(alignment, whole + alignment));
  if (raw == nullptr) throw std::bad_alloc();
  allocated += size;
  peak = peak < allocated ? allocated : peak;
  std::memcpy(raw, &size, sizeof(size));
  if (populate_all && size >= hocket::interop::populated_memory::least)
    hocket::interop::populate(raw, whole + alignment);
  return raw + alignment;
}
void uncounted(void* p, std::size_t alignment) noexcept {
  if (p == nullptr) return;
  alignment = alignment < 16 ? 16 : alignment;
  char* const raw = static_cast<char*>(p) - alignment;
  std::size_t size = 0;
  std::memcpy(&size, raw, sizeof(size));
  allocated -= size;
  std::free(raw);
}

}  // namespace

void* operator new(std::size_t size) { return counted(size, 16); }
void* operator new(std::size_t size, std::align_val_t a) { return counted(size, static_cast<std::size_t>(a)); }
void operator delete(void* p) noexcept { uncounted(p, 16); }
void operator delete(void* p, std::size_t) noexcept { uncounted(p, 16); }
void operator delete(void* p, std::align_val_t a) noexcept { uncounted(p, static_cast<std::size_t>(a)); }
void operator delete(void* p, std::size_t, std::align_val_t a) noexcept { uncounted(p, static_cast<std::size_t>(a)); }

namespace {

using namespace hocket;
using namespace graph_programs;
using namespace hocket::testing;
using graph::dag;
using graph::persistent_index;

using bench::now;

std::size_t sink = 0;

struct contender {
  std::function<std::size_t()> run;
  std::vector<double> ms{};
  std::size_t bytes = 0;
  [[nodiscard]] double median() const {
    std::vector<double> sorted = ms;
    std::sort(sorted.begin(), sorted.end());
    return sorted[sorted.size() / 2];
  }
};

// The same with pages populated, as interop::populated_memory does for ours.
template <class F>
std::size_t on_populated_pages(F f) {
  populate_all = true;
  const std::size_t count = f();
  populate_all = false;
  return count;
}

// All by turns, `rounds` times.
void race(std::vector<contender>& all, int rounds) {
  for (int r = 0; r < rounds; ++r)
    for (contender& c : all) {
#if defined(__GLIBC__)
      malloc_trim(0);  // what earlier rounds freed comes back as new pages: their faults count in every round
#endif
      const std::size_t before = allocated;
      peak = allocated;
      const double start = now();
      sink += c.run();
      c.ms.push_back(now() - start);
      c.bytes = std::max(c.bytes, peak - before);
    }
}

std::regex wanted(".*");

bool is_wanted(const std::string& name) { return std::regex_search(name, wanted); }

void line(const std::string& name, const char* what, double measured, const char* unit, const char* must,
          const char* aim) {
  std::printf("%-34s %-38s %10.4g %-7s must %-9s aim %s\n", name.c_str(), what, measured, unit, must, aim);
  std::fflush(stdout);
}

bool all_right = true;

// What was counted must be what is known to be right, or another way to it says.
void check(const std::string& name, const char* what, std::size_t counted, std::size_t right) {
  if (counted == right) return;
  std::printf("%-34s WRONG: %zu %s, right are %zu\n", name.c_str(), counted, what, right);
  all_right = false;
}

flat_program program_in(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  auto table = text::parse_ops_csv(text.str());
  return table ? *table : flat_program{};
}

interop::populated_memory populated;

std::size_t build_map(const edge_rows& rows, std::pmr::memory_resource* memory = std::pmr::get_default_resource()) {
  pruned_map<persistent_index> map(memory);
  map.build(rows);
  return map.edge_count();
}

std::size_t build_dag(const edge_rows& rows, std::pmr::memory_resource* memory = std::pmr::get_default_resource()) {
  dag<> g(memory);
  g.reserve(rows.size());
  for (std::size_t b = 0; b < rows.size(); ++b) (void)g.append(rows.predecessors(b));
  return g.edge_count();
}

void questions(const std::string& name, const edge_rows& rows) {
  pruned_map<persistent_index> map;
  map.build(rows);
  std::size_t words = 1024;
  while (words * 16 <= map.index().bytes()) words *= 2;
  const std::vector<std::uint64_t> memory(words, 1);
  constexpr std::size_t count = 400'000;
  std::vector<contender> all{
      {[&] { return ask(rows.size(), count, [&](node_id a, node_id b) { return map.index().reaches(a, b); }); }}, {[&] {
        return ask(rows.size(), count, [&](node_id a, node_id b) {
          return memory[(a * std::uint64_t{0x9e3779b97f4a7c15u} + b * std::uint64_t{0xbf58476d1ce4e5b9u}) >> 20 &
                        (memory.size() - 1)] != 0;
        });
      }}};
  race(all, 7);
  const std::size_t loads = rows.size() <= 8192 ? 3 : rows.size() <= 2'097'152 ? 4 : rows.size() <= 33'554'432 ? 5 : 6;
  line(name, "reaches: dependent loads at most", static_cast<double>(loads), "loads", "<= 4", "3");
  line(name, "reaches, random pairs", all[0].median() * 1e6 / count, "ns", "-", "-");
  line(name, "one random load, same footprint", all[1].median() * 1e6 / count, "ns", "-", "-");
}

void clock_case(const std::string& name, const flat_program& program, const edge_rows& rows, int rounds) {
  std::vector<contender> all{{[&] { return kahn(rows); }}, {[&] {
                               graph::stream_clock clock(8);
                               clock.reserve(rows.size());
                               for (std::size_t b = 0; b < rows.size(); ++b)
                                 (void)clock.append(program.stream(static_cast<node_id>(b)), rows.predecessors(b));
                               return clock.node_count();
                             }}};
  race(all, rounds);
  line(name, "stream clock / Kahn", all[1].median() / all[0].median(), "x", "<= 5", "<= 3.5");
  line(name, "stream clock, memory", static_cast<double>(all[1].bytes) / static_cast<double>(rows.size()), "B/node",
       "<= 60", "-");
}

// How many edges the reduction of each input has. The first is counted in tests/data, computed before this library
// existed; the others were found by bit rows (100,000) and agree between two indexes (a million).
struct targets {
  std::size_t kept;
  const char *kahn_must, *kahn_aim, *bytes_must, *bytes_aim, *rows_must;
};

#if defined(__linux__)
// New pages of 2 MiB, if the system has them.
class huge_pages {
 public:
  explicit huge_pages(std::size_t bytes)
      : bytes_(bytes), at_(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    if (at_ == MAP_FAILED) std::abort();
    (void)madvise(at_, bytes_, MADV_HUGEPAGE);
  }
  huge_pages(const huge_pages&) = delete;
  huge_pages& operator=(const huge_pages&) = delete;
  ~huge_pages() { munmap(at_, bytes_); }
  [[nodiscard]] std::uint64_t* words() const noexcept { return static_cast<std::uint64_t*>(at_); }

 private:
  std::size_t bytes_;
  void* at_;
};
#endif

// Bit rows whose memory costs less: written to again, or on huge pages that are new each time. Ours beside them: memory
// used again, and new pages as everywhere.
void against_cheap_rows(const std::string& name, const edge_rows& rows, int rounds) {
  const std::size_t words = peers::bit_rows::words_of(rows.size());
  std::vector<std::uint64_t> again(words, 1);
  pruned_map<persistent_index> ours;
  ours.build(rows);
  const auto build = [&rows](std::uint64_t* memory) {
    return peers::bit_rows::as_listed(rows, memory).reaches(0, 0) ? std::size_t{1} : 0;
  };
  std::vector<contender> all{{[&] { return build(again.data()); }},
                             {[&] {
                               ours.build(rows);
                               return ours.edge_count();
                             }},
                             {[&] { return build_map(rows); }}};
#if defined(__linux__)
  all.push_back({[&] { return build(huge_pages(words * sizeof(std::uint64_t)).words()); }});
#endif
  race(all, rounds);
  line(name, "bit rows / ours, both reuse memory", all[0].median() / all[1].median(), "x", "-", "-");
#if defined(__linux__)
  line(name, "bit rows, huge pages / ours", all[3].median() / all[2].median(), "x", "-", "-");
#endif
}

// Bit rows in the form of the system that they are from, and in one that does more than it.
void against_bit_rows(const std::string& name, const edge_rows& rows, const pruned_map<persistent_index>& ours,
                      int rounds, const char* must) {
  std::vector<contender> all{
      {[&] { return peers::bit_rows::as_listed(rows).reaches(0, 0) ? 1u : 0u; }},
      {[&] { return peers::bit_rows::pruning(rows).edge_count(); }},
      {[&] { return build_map(rows); }},
      {[&] { return build_map(rows, &populated); }},
      {[&] { return on_populated_pages([&] { return peers::bit_rows::as_listed(rows).reaches(0, 0) ? 1u : 0u; }); }}};
  race(all, rounds);
  line(name, "bit rows, XLA's form / index + map", all[0].median() / all[2].median(), "x", must, "-");
  line(name, "the same, our pages populated", all[0].median() / all[3].median(), "x", must, "-");
  line(name, "the same, pages of both populated", all[4].median() / all[3].median(), "x", "-", "-");
  line(name, "bit rows that prune / index + map", all[1].median() / all[2].median(), "x", "-", "-");
  line(name, "bit rows' memory / ours", static_cast<double>(all[0].bytes) / static_cast<double>(all[2].bytes), "x", "-",
       "-");
  const peers::bit_rows exact = peers::bit_rows::pruning(rows);
  check(name, "edges kept by bit rows", exact.edge_count(), ours.edge_count());
  random_source random(11);
  std::size_t differ = 0;
  for (int i = 0; i < 100'000; ++i) {
    const node_id a = random.below(rows.size()), b = random.below(rows.size());
    differ += a != b && ours.index().reaches(a, b) != exact.reaches(a, b) ? 1u : 0u;
  }
  check(name, "of 100,000 answers differ from bit rows", differ, 0);
}

void training(const std::string& name, const flat_program& program, int rounds, targets t) {
  const edge_rows rows = rule_rows(program);
  std::printf("# %s: %zu ops, %zu edges\n", name.c_str(), rows.size(), rows.sources.size());
  pruned_map<persistent_index> again;
  again.build(rows);
  std::vector<contender> all{{[&] { return kahn(rows); }},
                             {[&] { return build_map(rows); }},
                             {[&] {
                               again.build(rows);
                               return again.edge_count();
                             }},
                             {[&] { return build_dag(rows); }},
                             {[&] { return program_to_dag(program); }},
                             {[&] { return build_map(rows, &populated); }},
                             {[&] { return build_dag(rows, &populated); }}};
  race(all, rounds);
  check(name, "edges kept", again.edge_count(), t.kept);
  check(name, "edges kept by the dag", build_dag(rows), t.kept);
  const double floor = all[0].median(), nodes = static_cast<double>(rows.size());
  std::printf("# Kahn %.3f ms, index + map %.3f ms, %zu of %zu edges kept, %.0f ancestors a node\n", floor,
              all[1].median(), again.edge_count(), rows.sources.size(),
              static_cast<double>(again.index().reachable_pairs()) / nodes);
  line(name, "index + map / Kahn", all[1].median() / floor, "x", t.kahn_must, t.kahn_aim);
  line(name, "the same, memory used again", all[2].median() / floor, "x", "-", rows.size() < 10'000 ? "<= 5" : "-");
  line(name, "the same, pages populated", all[5].median() / floor, "x", t.kahn_must, t.kahn_aim);
  line(name, "index + map, peak memory", static_cast<double>(all[1].bytes) / nodes, "B/node", t.bytes_must,
       t.bytes_aim);
  line(name, "dag (edges both ways) / Kahn", all[3].median() / floor, "x", t.kahn_must, t.kahn_aim);
  line(name, "the same, pages populated", all[6].median() / floor, "x", t.kahn_must, t.kahn_aim);
  line(name, "dag, peak memory", static_cast<double>(all[3].bytes) / nodes, "B/node", t.bytes_must, t.bytes_aim);
  line(name, "program -> rules -> dag / Kahn", all[4].median() / floor, "x", rows.size() > 500'000 ? "<= 70" : "-",
       rows.size() > 500'000 ? "<= 45" : "-");
  if (rows.size() < 200'000) {
    against_bit_rows(name, rows, again, rows.size() < 10'000 ? rounds : 3, t.rows_must);
    against_cheap_rows(name, rows, rows.size() < 10'000 ? rounds : 3);
  }
  clock_case(name, program, rows, rounds);
  questions(name, rows);
}

void against_pull_request(const std::string& name, const flat_program& program) {
  const edge_rows rows = rule_rows(program);
  std::vector<contender> all{{[&] { return peers::after_pull_request(rows); }},
                             {[&] { return build_map(rows); }},
                             {[&] { return peers::before_pull_request(rows); }},
                             {[&] { return build_map(rows); }},
                             {[&] { return peers::paddle_program(program); }},
                             {[&] { return program_to_dag(program); }},
                             {[&] { return build_map(rows, &populated); }},
                             {[&] { return on_populated_pages([&] { return peers::after_pull_request(rows); }); }}};
  race(all, 5);
  const double ours = (all[1].median() + all[3].median()) / 2;
  line(name, "pull request's algorithm / ours", all[0].median() / ours, "x", ">= 1000", "-");
  line(name, "the same, our pages populated", all[0].median() / all[6].median(), "x", ">= 1000", "-");
  line(name, "the same, pages of both populated", all[7].median() / all[6].median(), "x", "-", "-");
  line(name, "its memory / ours", static_cast<double>(all[0].bytes) / static_cast<double>(all[1].bytes), "x", ">= 150",
       "-");
  line(name, "algorithm before it / ours", all[2].median() / ours, "x", "-", "-");
  line(name, "PR-style rules + index / program->dag", all[4].median() / all[5].median(), "x", ">= 300", "-");
}

// A program whose variables are given as bytes, each its own 64.
struct as_ranges {
  using node = node_id;
  static std::size_t node_count(const flat_program& p) { return p.size(); }
  static graph::storage_range bytes_of(std::uint32_t v) {
    return {0, std::uint64_t{v} * 64, std::uint64_t{v} * 64 + 64};
  }
  static void for_each_read(const flat_program& p, node n, auto&& f) {
    for (const std::uint32_t v : p.reads(n)) f(bytes_of(v));
  }
  static void for_each_write(const flat_program& p, node n, auto&& f) {
    for (const std::uint32_t v : p.writes(n)) f(bytes_of(v));
  }
};

void ranges_and_rows(const std::string& name, const flat_program& program) {
  const auto deps = graph::dependencies(program).value();
  const std::size_t words = deps.node_count() * graph::words_of_row(deps.node_count());
  std::vector<std::uint64_t> rows(words), copy(words);
  std::vector<contender> all{{[&] { return graph::dependencies(program).value().edge_count(); }},
                             {[&] { return graph::dependencies(program, as_ranges{}).value().edge_count(); }},
                             {[&] {
                               graph::reachability_rows(deps.graph(), rows);
                               return static_cast<std::size_t>(rows[0] & 1);
                             }},
                             {[&] {
                               std::memcpy(copy.data(), rows.data(), words * sizeof(std::uint64_t));
                               return static_cast<std::size_t>(copy[words / 2] & 1);
                             }}};
  race(all, 15);
  check(name, "edges kept with ranges", graph::dependencies(program, as_ranges{}).value().edge_count(),
        deps.edge_count());
  line(name, "ranges / ids, same program", all[1].median() / all[0].median(), "x", "<= 2.5", "<= 1.5");
  line(name, "reachability rows, all of them", all[2].median(), "ms", "-", "-");
  line(name, "the same / memcpy of their bytes", all[2].median() / all[3].median(), "x", "-", "-");
}

void late(const std::string& name, const flat_program& program) {
  const edge_rows rows = rule_rows(program);
  std::vector<graph::edge> all_edges = graph::rule_edges(program, graph::dependency_options::ordered()).value();
  std::vector<graph::edge> data = graph::rule_edges(program).value();
  std::sort(data.begin(), data.end());
  std::vector<graph::edge> control;
  for (const graph::edge& e : all_edges)
    if (!std::binary_search(data.begin(), data.end(), e)) control.push_back(e);
  std::vector<graph::edge> shuffled = data;
  random_source random(3);
  for (std::size_t i = shuffled.size(); i > 1; --i) std::swap(shuffled[i - 1], shuffled[random.below(i)]);
  std::vector<contender> all{{[&] { return build_dag(rows); }},
                             {[&] {
                               dag<> g;
                               g.reserve(rows.size());
                               for (std::size_t b = 0; b < rows.size(); ++b) (void)g.append(rows.predecessors(b));
                               for (const graph::edge& e : control) (void)g.add_edge(e.source, e.target);
                               return g.edge_count();
                             }},
                             {[&] {
                               dag<> g;
                               (void)g.assign(rows.size(), shuffled);
                               return g.edge_count();
                             }}};
  race(all, 15);
  line(name, "with late control edges / in order", all[1].median() / all[0].median(), "x", "<= 15", "-");
  line(name, "shuffled batch / in order", all[2].median() / all[0].median(), "x", "<= 2.5", "-");
}

void appends(const std::string& name, const flat_program& program) {
  const edge_rows rows = rule_rows(program);
  dag<> g;
  g.reserve(rows.size());
  std::vector<double> each;
  for (std::size_t b = 0; b < rows.size(); ++b) {
    const auto start = std::chrono::steady_clock::now();
    (void)g.append(rows.predecessors(b));
    if (b + 20'000 >= rows.size())
      each.push_back(std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count());
  }
  std::sort(each.begin(), each.end());
  line(name, "append to a live dag, p50", each[each.size() / 2], "ns", "-", "-");
  line(name, "append to a live dag, p99", each[each.size() * 99 / 100], "ns", "-", "-");
}

void structureless(const std::string& name) {
  const edge_rows rows = random_rows(50'000, 2.5, 1);
  std::vector<contender> all{
      {[&] { return kahn(rows); }}, {[&] { return build_map(rows); }}, {[&] { return build_map(rows, &populated); }}};
  race(all, 9);
  line(name, "index + map / Kahn", all[1].median() / all[0].median(), "x", "<= 35", "<= 20");
  line(name, "the same, pages populated", all[2].median() / all[0].median(), "x", "<= 35", "<= 20");
  pruned_map<persistent_index> map;
  map.build(rows);
  against_bit_rows(name, rows, map, 5, ">= 5");
}

void beside_boost(const std::string& name, const flat_program& program) {
  if (!HOCKET_BENCH_BOOST) return;
  const edge_rows rows = rule_rows(program);
  pruned_map<persistent_index> ours;
  ours.build(rows);
  check(name, "edges kept by Boost.Graph", peers::boost_reduction(rows), ours.edge_count());
  check(name, "pairs found by Boost.Graph", peers::boost_closure(rows),
        static_cast<std::size_t>(ours.index().reachable_pairs()));
  std::vector<contender> all{{[&] { return peers::boost_reduction(rows); }},
                             {[&] { return peers::boost_closure(rows); }},
                             {[&] { return build_map(rows); }}};
  race(all, 3);
  line(name, "Boost transitive_reduction / ours", all[0].median() / all[2].median(), "x", "-", "-");
  line(name, "Boost transitive_closure / ours", all[1].median() / all[2].median(), "x", "-", "-");
  line(name, "Boost transitive_closure, memory", static_cast<double>(all[1].bytes) / 1e6, "MB", "-", "-");
}

// What changes cost: edges in any order, and edges taken back.
void changes(const std::string& name, const flat_program& program) {
  const edge_rows rows = rule_rows(program);
  std::vector<graph::edge> edges = graph::rule_edges(program).value();
  random_source random(3);
  for (std::size_t i = edges.size(); i > 1; --i) std::swap(edges[i - 1], edges[random.below(i)]);
  std::vector<contender> all{{[&] { return build_dag(rows); }}, {[&] {
                               dag<> g;
                               (void)g.assign(rows.size(), edges);
                               return g.edge_count();
                             }}};
  race(all, 5);
  line(name, "shuffled batch / in order", all[1].median() / all[0].median(), "x", "<= 2.5", "-");
  dag<> g;
  g.log_dropped_edges();
  (void)g.assign(rows.size(), edges);
  const std::vector<graph::edge> kept = g.edges(), dropped = g.dropped_edges();
  double longest = 0, total = 0;
  constexpr int count = 10;
  for (int i = 0; i < count; ++i) {
    const graph::edge e = kept[random.below(kept.size())];
    const double start = now();
    sink += g.erase_edge(e.source, e.target).has_value() ? 1u : 0u;
    const double ms = now() - start;
    total += ms;
    longest = std::max(longest, ms);
    (void)g.add_edge(e.source, e.target);
  }
  line(name, "erase a kept edge, mean", total / count, "ms", "-", "-");
  line(name, "erase a kept edge, longest", longest, "ms", "-", "-");
  const double start = now();
  for (int i = 0; i < count; ++i)
    sink += g.erase_edge(dropped[std::size_t(i)].source, dropped[std::size_t(i)].target) ? 1u : 0u;
  line(name, "erase a dropped edge, mean", (now() - start) / count * 1e3, "us", "-", "-");
}

template <class Index>
dag<Index> edge_by_edge(std::size_t nodes, const std::vector<graph::edge>& edges) {
  dag<Index> g;
  for (std::size_t b = 0; b < nodes; ++b) (void)g.append({});
  for (const graph::edge& e : edges) (void)g.add_edge(e.source, e.target);
  return g;
}

// All edges late, in random order: what that costs beside bit rows, and how much memory is left behind.
void late_edges(const std::string& name, const flat_program& program) {
  const std::size_t nodes = program.size();
  std::vector<graph::edge> edges = graph::rule_edges(program).value();
  random_source random(4);
  for (std::size_t i = edges.size(); i > 1; --i) std::swap(edges[i - 1], edges[random.below(i)]);
  std::vector<contender> all{{[&] { return edge_by_edge<hocket::testing::dense_index>(nodes, edges).edge_count(); }},
                             {[&] { return edge_by_edge<graph::persistent_index>(nodes, edges).edge_count(); }}};
  race(all, 5);
  line(name, "tries / bit rows", all[1].median() / all[0].median(), "x", "<= 3", "-");
  const auto late = edge_by_edge<graph::persistent_index>(nodes, edges);
  const auto at_once = dag<graph::persistent_index>::make(nodes, edges).value();
  check(name, "edges kept", late.edge_count(), at_once.edge_count());
  const double ratio = static_cast<double>(late.index().bytes()) / static_cast<double>(at_once.index().bytes());
  line(name, "index / built at once, bytes", ratio, "x", "<= 2", "-");
}

// Recorded steps, one by itself and two joined: from the program to the plan of its streams.
void captured(const std::string& name, const flat_program& program, std::size_t kept) {
  double once = 1e9, twice = 1e9;
  std::size_t bytes = 0;
  for (int round = 0; round < 7; ++round) {
    const std::size_t before = allocated;
    peak = allocated;
    double start = now();
    const auto deps = graph::dependencies(program);
    const auto plan = graph::stream_plan::make(deps->graph(), program.streams());
    once = std::min(once, now() - start);
    bytes = peak - before;
    start = now();
    const auto loop = graph::dependencies_of_steps(program);
    const auto steady = graph::steady_stream_plan::make(loop->two_steps, program.streams());
    twice = std::min(twice, now() - start);
    if (round != 0) continue;
    check(name, "edges kept", deps->edge_count(), kept);
    const double nodes = static_cast<double>(program.size());
    std::printf("# %s: %zu ops, %zu edges, %zu kept, %.0f ancestors a node, %zu waits\n", name.c_str(), program.size(),
                deps->rule_edges(), deps->edge_count(), static_cast<double>(deps->graph().reachable_pairs()) / nodes,
                plan->waits().size());
    std::printf(
        "# %s, two steps joined: %zu kept, %.0f ancestors a node, %zu waits a step and %zu for the step before\n",
        name.c_str(), loop->two_steps.edge_count(),
        static_cast<double>(loop->two_steps.reachable_pairs()) / (2 * nodes), steady->step().waits().size(),
        steady->previous_waits().size());
  }
  line(name, "program -> rules -> dag -> plan", once, "ms", "-", "-");
  line(name, "the same, peak memory", static_cast<double>(bytes) / 1e6, "MB", "-", "-");
  line(name, "two steps joined -> steady plan", twice, "ms", "-", "-");
}

// Ten million ops, all at once in little memory: each thing is freed before the next.
void largest(const std::string& name) {
  edge_rows rows = rule_rows(gpt_program({96, 600, 2}, 10'000'000));
  std::printf("# %s: %zu ops, %zu edges\n", name.c_str(), rows.size(), rows.sources.size());
  double start = now();
  sink += kahn(rows);
  const double floor = now() - start;
  const std::size_t before = allocated;
  peak = allocated;
  start = now();
  std::size_t kept = build_map(rows);
  line(name, "index + map / Kahn", (now() - start) / floor, "x", "<= 40", "<= 20");
  line(name, "index + map, peak memory", static_cast<double>(peak - before) / 1e7, "B/node", "-", "-");
  std::printf("# %s: %zu kept\n", name.c_str(), kept);
  peak = allocated;
  start = now();
  const std::size_t by_dag = build_dag(rows);
  line(name, "dag (edges both ways) / Kahn", (now() - start) / floor, "x", "<= 40", "<= 20");
  line(name, "dag, peak memory", static_cast<double>(peak - before) / 1e7, "B/node", "-", "-");
  check(name, "edges kept by the dag", by_dag, kept);
#if defined(__unix__)
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  line(name, "the whole process, at most", static_cast<double>(used.ru_maxrss) / 1e6, "GB", "<= 4", "-");
#endif
}

}  // namespace

int main(int argc, char** argv) {
  bool full = false;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (option.rfind("--benchmark_filter=", 0) == 0) wanted = std::regex(option.substr(19));
    else if (option == "--full") full = true;
    else {
      std::fprintf(stderr, "usage: %s [--benchmark_filter=REGEX] [--full]\n", argv[0]);
      return 2;
    }
  }
#if defined(__GLIBC__)
  mallopt(M_MMAP_THRESHOLD, 128 << 10);  // large blocks come fresh from the system each time: page faults count
  mallopt(M_TRIM_THRESHOLD, 128 << 10);
#endif
  if (is_wanted("graph/gpt_6391")) {
    const flat_program program = program_in(HOCKET_TEST_DATA "/graph/gpt_two_steps_6391.ops.csv");
    training("graph/gpt_6391", program, 51, {8'864, "<= 12", "<= 8", "-", "-", ">= 3.5"});
    against_pull_request("graph/gpt_6391", program);
    ranges_and_rows("graph/gpt_6391", program);
    late("graph/gpt_6391", program);
    late_edges("graph/gpt_6391, edges one by one", program);
    beside_boost("graph/gpt_6391", program);
  }
  for (const auto& [step, kept] : {std::pair<const char*, std::size_t>{"transformer_base", 11'889},
                                   {"gpt2_small", 4'002},
                                   {"llama2_13b_stage", 4'247}})
    if (is_wanted(std::string("graph/captured_") + step))
      captured(std::string("graph/captured_") + step, program_in(HOCKET_OPS_DATA "/" + std::string(step) + ".ops.csv"),
               kept);
  const targets hundred{134'195, "<= 22", "<= 12", "<= 160", "-", ">= 75"};
  const targets million{1'386'514, "<= 40", "<= 20", "<= 200", "<= 150", "-"};
  targets hundred_deep = hundred, million_deep = million;
  hundred_deep.kept = 121'351;
  million_deep.kept = 1'215'027;
  if (is_wanted("graph/gpt_100k")) {
    training("graph/gpt_100k", gpt_program({96, 6, 2}, 100'000), 9, hundred);
    appends("graph/gpt_100k", gpt_program({96, 6, 2}, 100'000));
    changes("graph/gpt_100k", gpt_program({96, 6, 2}, 100'000));
  }
  if (is_wanted("graph/gpt_100k_deep")) training("graph/gpt_100k_deep", gpt_program({384, 1, 2}), 9, hundred_deep);
  if (is_wanted("graph/random_50k")) structureless("graph/random_50k");
  if (is_wanted("graph/gpt_1m")) training("graph/gpt_1m", gpt_program({96, 60, 2}, 1'000'000), 3, million);
  if (is_wanted("graph/gpt_1m_deep"))
    training("graph/gpt_1m_deep", gpt_program({3845, 1, 2}, 1'000'000), 3, million_deep);
  if (full && is_wanted("graph/gpt_10m")) largest("graph/gpt_10m");
  return sink == 42 || !all_right ? 1 : 0;  // the sums are read
}
