// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "comparison.hpp"

#include <hocket/core/message.hpp>
#include <hocket/graph.hpp>

#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "paddle_access.hpp"
#include "paddle_answer.hpp"
#include "unknown_ops.hpp"

namespace example {
namespace {

using hocket::node_id;
using hocket::graph::dependency_options;
using hocket::graph::op_kind;
using dependencies = hocket::graph::dependency_graph<>;
using paddle_access = hocket::graph_access<instruction_list>;
using edges = std::vector<hocket::graph::edge>;

constexpr int repetitions = 11;

// Appends to a line. The line is printed by one call, since several programs may be analysed at the same time.
void print(std::string& to, const char* format, auto... values) {
  char text[512];
  std::snprintf(text, sizeof text, format, values...);
  to += text;
}

template <class F>
double microseconds(F&& f) {
  const double start = now_us();
  f();
  return now_us() - start;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

edges edges_of(const downstream_map& map) {
  edges list;
  for (const auto& [a, next] : map)
    for (const std::size_t b : next) list.push_back({static_cast<node_id>(a), static_cast<node_id>(b)});
  return list;
}

// What an adapter costs without any work behind it: Paddle's hash maps from beginning to end.
std::uint64_t walk(const instruction_list& list) {
  std::uint64_t sum = 0;
  for (std::uint32_t n = 0; n < list.size(); ++n) {
    paddle_access::for_each_read(list, n, [&sum](int v) { sum += static_cast<std::uint64_t>(v); });
    paddle_access::for_each_write(list, n, [&sum](int v) { sum += static_cast<std::uint64_t>(v); });
    sum += static_cast<std::uint64_t>(paddle_access::kind(list, n));
  }
  return sum;
}

// Ours: the adapter that knows storage, the edges, the map that the executor reads, and the matrix where it does.
void print_times(std::string& to, const instruction_list& list, const dependency_options& options, double paddle_us) {
  std::vector<double> whole, deps_us, map_us, walk_us;
  std::uint64_t seen = 0;
  for (int i = 0; i < repetitions; ++i) {
    std::optional<hocket::result<answer>> ours;
    downstream_map map;
    walk_us.push_back(microseconds([&] { seen += walk(list); }));
    whole.push_back(microseconds([&] { ours = answer_for(list, options); }));
    deps_us.push_back(microseconds(
        [&] { seen += hocket::graph::dependencies(list, storage_access(list), options).value().edge_count(); }));
    map_us.push_back(microseconds([&] { map = downstream_of(*(*ours)->dependencies); }));
  }
  const double first = whole.front(), ours = median(whole);
  print(to, " paddle_us=%.1f first_us=%.1f ours_us=%.1f ratio=%.1f", paddle_us, first, ours, paddle_us / ours);
  print(to, " dependencies_us=%.1f map_us=%.1f walk_us=%.1f seen=%llu", median(deps_us), median(map_us),
        median(walk_us), static_cast<unsigned long long>(seen));
}

// How Paddle's matrix differs from the order that its own edges make.
void print_matrix(std::string& to, const builder& b, const dependencies& ours) {
  const bit_matrix truth = happens_before(ours);
  const bit_matrix& theirs = *b.op_happens_before_;
  std::size_t ordered = 0, missing = 0, extra = 0;
  for (std::size_t a = 0; a < truth.size(); ++a)
    for (std::size_t c = 0; c < truth.size(); ++c) {
      ordered += truth[a][c] ? 1u : 0u;
      missing += truth[a][c] && !theirs[a][c] ? 1u : 0u;
      extra += !truth[a][c] && theirs[a][c] ? 1u : 0u;
    }
  print(to, " ordered=%zu matrix_missing=%zu matrix_extra=%zu", ordered, missing, extra);
}

// The order that the kernels need and Paddle's edges do not give, by the rule that asks for it.
void print_storage(std::string& to, const dependencies& storage, const edges& theirs) {
  const auto found = hocket::graph::compare(storage.graph(), theirs, {.limit = storage.edge_count()}).value();
  std::size_t random = 0, shared = 0;
  for (const auto& d : found.first) {
    if (d.kind != hocket::graph::difference_kind::missing_order) continue;
    const auto why = storage.why(d.pair.source, d.pair.target);
    ++(why && why->rule == hocket::graph::rule::random ? random : shared);
  }
  print(to, " storage_kept=%zu unordered_random=%zu unordered_storage=%zu storage_extra=%zu", storage.edge_count(),
        random, shared, found.extra);
}

void write_edges(const std::string& path, const edges& list) {
  std::FILE* const out = std::fopen(path.c_str(), "w");
  if (out == nullptr) return;
  std::fputs("source,target\n", out);
  for (const auto& e : list) std::fprintf(out, "%u,%u\n", e.source, e.target);
  std::fclose(out);
}

// One row an instruction: name, what Paddle takes it for, whether it draws, variables, and the storage behind those.
void write_program(const std::string& path, const instruction_list& list) {
  std::FILE* const out = std::fopen(path.c_str(), "w");
  if (out == nullptr) return;
  const storage_access storage(list);
  const auto put = [out](int v) { std::fprintf(out, "%d ", v); };
  const auto put_parts = [&](int v) {
    bool whole = true;
    storage.for_each_part(list, v, [&](int part) {
      whole = false;
      put(part);
    });
    if (whole) put(v);
  };
  std::fputs("op,name,kind,draws,reads,writes,storage_read,storage_written,after,alone\n", out);
  for (std::uint32_t n = 0; n < list.size(); ++n) {
    bool random = false;
    storage.for_each_resource(list, n, [&](const auto& r) { random = random || r.kind == op_kind::random; });
    std::fprintf(out, "%u,%s,%s,%d,", n, list[n]->Name().c_str(), to_string(paddle_access::kind(list, n)).data(),
                 random ? 1 : 0);
    paddle_access::for_each_read(list, n, put);
    std::fputc(',', out);
    paddle_access::for_each_write(list, n, put);
    std::fputc(',', out);
    storage.for_each_read(list, n, put_parts);
    std::fputc(',', out);
    storage.for_each_write(list, n, put_parts);
    std::fputc(',', out);
    storage.for_each_control(list, n, [out](std::uint32_t before) { std::fprintf(out, "%u ", before); });
    std::fprintf(out, ",%d\n", storage.barrier(list, n) == hocket::graph::barrier::none ? 0 : 1);
  }
  std::fclose(out);
}

// One row for each variable that does not own its storage: the variables that do.
void write_owners(const std::string& path, const instruction_list& list) {
  std::FILE* const out = std::fopen(path.c_str(), "w");
  if (out == nullptr) return;
  const storage_access storage(list);
  std::set<int> variables;
  for (std::uint32_t n = 0; n < list.size(); ++n) {
    paddle_access::for_each_read(list, n, [&](int v) { variables.insert(v); });
    paddle_access::for_each_write(list, n, [&](int v) { variables.insert(v); });
  }
  std::fputs("variable,owners\n", out);
  for (const int v : variables) {
    std::string owners;
    storage.for_each_part(list, v, [&](int part) { print(owners, "%d ", part); });
    if (!owners.empty()) std::fprintf(out, "%d,%s\n", v, owners.c_str());
  }
  std::fclose(out);
}

}  // namespace

double now_us() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_nsec) / 1e3;
}

void compare(const builder& b, const instruction_list& list, const dependency_options& options, double paddle_us,
             const char* folder) {
  static std::atomic<int> number = 0;
  const auto ours = hocket::graph::dependencies(list, options);
  dependency_options explained = options;
  explained.reasons = true;
  const storage_access access(list);
  warn_of_unknown_ops(access.unknown_ops());
  const auto storage = hocket::graph::dependencies(list, access, explained);
  if (!ours || !storage) {
    std::fprintf(stderr, "hocket: %s\n", message(ours ? storage.error() : ours.error()).c_str());
    return;
  }
  const edges theirs = edges_of(*b.op_downstream_map_);
  const auto found = hocket::graph::compare(ours->graph(), theirs);
  if (!found) {
    std::fprintf(stderr, "hocket: Paddle's edges are no order: %s\n", message(found.error()).c_str());
    return;
  }
  const bool twice = is_twice_the_same(list);
  std::string line;
  print(line, "hocket: ops=%zu twice=%d rules=%zu kept=%zu paddle=%zu missing=%zu extra=%zu redundant=%zu", list.size(),
        twice ? 1 : 0, ours->rule_edges(), ours->edge_count(), found->theirs, found->missing, found->extra,
        found->redundant);
  print_matrix(line, b, *ours);
  print_storage(line, *storage, theirs);
  print_times(line, list, options, paddle_us);
  line += '\n';
  std::fputs(line.c_str(), stderr);
  if (folder == nullptr) return;
  const std::string stem = std::string(folder) + "/" + std::to_string(number++) + ".";
  write_program(stem + "program.csv", list);
  write_owners(stem + "owners.csv", list);
  write_edges(stem + "paddle.csv", theirs);
  write_edges(stem + "kept.csv", ours->graph().edges());
  write_edges(stem + "storage.csv", storage->graph().edges());
}

}  // namespace example
