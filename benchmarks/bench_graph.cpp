// SPDX-License-Identifier: Apache-2.0
// The targets of the graph component, each beside what was measured: ratios of things that run by turns in one process.
// Needs no benchmark framework.   bench_graph [--benchmark_filter=REGEX] [--full]
#include <hocket/graph.hpp>
#include <hocket/testing/graph_benchmark.hpp>
#include <hocket/text/ops_csv.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <new>
#include <regex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "peers.hpp"

#if defined(__GLIBC__)
#include <malloc.h>
#endif
#if defined(__unix__)
#include <time.h>
#endif

namespace {

std::size_t allocated = 0, peak = 0;

// The size of each allocation is kept in front of it.
void* counted(std::size_t size, std::size_t alignment) {
  alignment = alignment < 16 ? 16 : alignment;
  const std::size_t whole = (size + 2 * alignment - 1) / alignment * alignment;
  auto* const raw = static_cast<char*>(std::aligned_alloc(alignment, whole + alignment));
  if (raw == nullptr) throw std::bad_alloc();
  allocated += size;
  peak = peak < allocated ? allocated : peak;
  std::memcpy(raw, &size, sizeof(size));
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
using namespace hocket::testing;
using graph::auto_index;
using graph::dag;

// Milliseconds of processor time of this thread, the kernel's part (page faults) included: other programs on the
// machine count less than on a wall clock.
double now() {
#if defined(__unix__) && defined(CLOCK_THREAD_CPUTIME_ID)
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) * 1e-6;
#else
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
#endif
}

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

// All by turns, `rounds` times.
void race(std::vector<contender>& all, int rounds) {
  for (int r = 0; r < rounds; ++r)
    for (contender& c : all) {
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

flat_program recorded() {
  std::ifstream file(HOCKET_TEST_DATA "/graph/gpt_two_steps_6391.ops.csv");
  std::stringstream text;
  text << file.rdbuf();
  const auto table = text::parse_ops_csv(text.str());
  flat_program program;
  if (!table) return program;
  for (node_id i = 0; i < table->size(); ++i)
    program.add(table->stream(i), table->kind(i), table->reads(i), table->writes(i));
  return program;
}

std::size_t build_map(const edge_rows& rows) {
  pruned_map<auto_index> map;
  map.build(rows);
  return map.edge_count();
}

std::size_t build_dag(const edge_rows& rows) {
  dag<> g;
  g.reserve(rows.size());
  for (std::size_t b = 0; b < rows.size(); ++b) (void)g.append(rows.predecessors(b));
  return g.edge_count();
}

void questions(const std::string& name, const edge_rows& rows) {
  pruned_map<auto_index> map;
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
  const std::size_t loads = rows.size() <= 8192 ? 3 : rows.size() <= 131'072 ? 4 : rows.size() <= 2'097'152 ? 5 : 6;
  line(name, "reaches: dependent loads at most", static_cast<double>(loads), "loads", "<= 4", "3");
  line(name, "reaches, random pairs", all[0].median() * 1e6 / count, "ns", "-", "-");
  line(name, "one random load, same footprint", all[1].median() * 1e6 / count, "ns", "-", "-");
}

void clock_case(const std::string& name, const flat_program& program, const edge_rows& rows, int rounds) {
  std::vector<contender> all{{[&] { return kahn(rows); }}, {[&] {
                               graph::stream_clock clock(8);
                               clock.reserve(rows.size());
                               std::size_t waits = 0;
                               for (std::size_t b = 0; b < rows.size(); ++b)
                                 (void)clock.append(program.stream(static_cast<node_id>(b)), rows.predecessors(b),
                                                    [&](node_id) { ++waits; });
                               return waits;
                             }}};
  race(all, rounds);
  line(name, "stream clock / Kahn", all[1].median() / all[0].median(), "x", "<= 5", "<= 3.5");
  line(name, "stream clock, memory", static_cast<double>(all[1].bytes) / static_cast<double>(rows.size()), "B/node",
       "<= 60", "-");
}

struct targets {
  const char *kahn_must, *kahn_aim, *bytes_must, *bytes_aim, *rows_must;
};

void training(const std::string& name, const flat_program& program, int rounds, targets t) {
  const edge_rows rows = rule_rows(program);
  std::printf("# %s: %zu ops, %zu edges\n", name.c_str(), rows.size(), rows.sources.size());
  pruned_map<auto_index> again;
  again.build(rows);
  std::vector<contender> all{{[&] { return kahn(rows); }},
                             {[&] { return build_map(rows); }},
                             {[&] {
                               again.build(rows);
                               return again.edge_count();
                             }},
                             {[&] { return build_dag(rows); }},
                             {[&] { return program_to_dag(program); }}};
  race(all, rounds);
  const double floor = all[0].median(), nodes = static_cast<double>(rows.size());
  std::printf("# Kahn %.3f ms, index + map %.3f ms, %zu of %zu edges kept, %.0f ancestors a node\n", floor,
              all[1].median(), again.edge_count(), rows.sources.size(),
              static_cast<double>(again.index().reachable_pairs()) / nodes);
  line(name, "index + map / Kahn", all[1].median() / floor, "x", t.kahn_must, t.kahn_aim);
  line(name, "the same, memory used again", all[2].median() / floor, "x", "-", rows.size() < 10'000 ? "<= 5" : "-");
  line(name, "index + map, peak memory", static_cast<double>(all[1].bytes) / nodes, "B/node", t.bytes_must,
       t.bytes_aim);
  line(name, "dag (edges both ways) / Kahn", all[3].median() / floor, "x", "-", "-");
  line(name, "dag, peak memory", static_cast<double>(all[3].bytes) / nodes, "B/node", "-", "-");
  line(name, "program -> rules -> dag / Kahn", all[4].median() / floor, "x", rows.size() > 500'000 ? "<= 70" : "-",
       rows.size() > 500'000 ? "<= 45" : "-");
  if (rows.size() < 200'000) {
    std::vector<contender> two{{[&] { return peers::bit_rows(rows).edge_count(); }}, {[&] { return build_map(rows); }}};
    race(two, rows.size() < 10'000 ? rounds : 2);
    line(name, "bit rows / index + map", two[0].median() / two[1].median(), "x", t.rows_must, "-");
  }
  clock_case(name, program, rows, rounds);
  questions(name, rows);
}

void against_pull_request(const std::string& name, const flat_program& program) {
  const edge_rows rows = rule_rows(program);
  std::vector<contender> all{
      {[&] { return peers::after_pull_request(rows); }},  {[&] { return build_map(rows); }},
      {[&] { return peers::before_pull_request(rows); }}, {[&] { return build_map(rows); }},
      {[&] { return peers::paddle_program(program); }},   {[&] { return program_to_dag(program); }}};
  race(all, 3);
  const double ours = (all[1].median() + all[3].median()) / 2;
  line(name, "pull request's algorithm / ours", all[0].median() / ours, "x", ">= 1000", "-");
  line(name, "its memory / ours", static_cast<double>(all[0].bytes) / static_cast<double>(all[1].bytes), "x", ">= 150",
       "-");
  line(name, "algorithm before it / ours", all[2].median() / ours, "x", "-", "-");
  line(name, "PR-style rules + index / program->dag", all[4].median() / all[5].median(), "x", ">= 300", "-");
}

void late(const std::string& name, const flat_program& program) {
  const edge_rows rows = rule_rows(program);
  std::vector<graph::edge> all_edges = graph::rule_edges(program, graph::dependency_options::ordered());
  std::vector<graph::edge> data = graph::rule_edges(program);
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
                               (void)g.build(rows.size(), shuffled);
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
  std::vector<contender> all{{[&] { return kahn(rows); }}, {[&] { return build_map(rows); }}, {[&] {
                               return peers::bit_rows(rows).edge_count();
                             }}};
  race(all, 5);
  line(name, "index + map / Kahn", all[1].median() / all[0].median(), "x", "<= 35", "<= 20");
  line(name, "bit rows / index + map", all[2].median() / all[1].median(), "x", ">= 5", "-");
}

}  // namespace

int main(int argc, char** argv) {
  bool full = false;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (option.rfind("--benchmark_filter=", 0) == 0) wanted = std::regex(option.substr(19));
    else if (option == "--full") full = true;
    else return std::fprintf(stderr, "usage: %s [--benchmark_filter=REGEX] [--full]\n", argv[0]), 2;
  }
#if defined(__GLIBC__)
  mallopt(M_MMAP_THRESHOLD, 128 << 10);  // large blocks come fresh from the system each time: page faults count
  mallopt(M_TRIM_THRESHOLD, 128 << 10);
#endif
  if (is_wanted("graph/gpt_6391")) {
    const flat_program program = recorded();
    training("graph/gpt_6391", program, 51, {"<= 12", "<= 8", "-", "-", ">= 3.5"});
    against_pull_request("graph/gpt_6391", program);
    late("graph/gpt_6391", program);
  }
  const targets hundred{"<= 22", "<= 12", "<= 160", "-", ">= 75"}, million{"<= 40", "<= 20", "<= 200", "<= 150", "-"};
  if (is_wanted("graph/gpt_100k")) {
    training("graph/gpt_100k", gpt_program({96, 6, 2}, 100'000), 9, hundred);
    appends("graph/gpt_100k", gpt_program({96, 6, 2}, 100'000));
  }
  if (is_wanted("graph/gpt_100k_deep")) training("graph/gpt_100k_deep", gpt_program({384, 1, 2}), 9, hundred);
  if (is_wanted("graph/random_50k")) structureless("graph/random_50k");
  if (is_wanted("graph/gpt_1m")) training("graph/gpt_1m", gpt_program({96, 60, 2}, 1'000'000), 3, million);
  if (is_wanted("graph/gpt_1m_deep")) training("graph/gpt_1m_deep", gpt_program({3845, 1, 2}, 1'000'000), 3, million);
  if (full && is_wanted("graph/gpt_10m"))
    training("graph/gpt_10m", gpt_program({96, 600, 2}, 10'000'000), 1, {"<= 40", "<= 20", "<= 400", "-", "-"});
  return sink == 0 ? 1 : 0;
}
