// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Files of profilers, and which of them belong together.
#include <hocket/interop/ascend/parse_profile.hpp>
#include <hocket/interop/ascend/step_breakdown.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "gunzip.hpp"
#include "profile.hpp"
#include "profile_database.hpp"

namespace hocket_cli {

namespace ascend = hocket::ascend;
using ascend::nanoseconds;

namespace {

struct period {
  nanoseconds first = (nanoseconds::max)(), last{};

  void add(nanoseconds from, nanoseconds to) {
    if (from.count() == 0) return;  // a file without the time
    first = (std::min)(first, from);
    last = (std::max)(last, to);
  }
};

period period_of(const ascend::profile& p) {
  period all;
  for (const auto& k : p.kernels) all.add(k.start, k.finish());
  for (const auto& m : p.memory) all.add(m.at, m.at);
  for (const auto& c : p.collectives) all.add(c.start, c.start);
  return all;
}

struct one_file {
  std::string name;
  ascend::profile content;
  bool is_database = false;
};

// Adds what the file has; two files with rows of one kind would count everything twice. A trace gives way to tables,
// which say more.
template <class Rows>
void add_rows(Rows& all, std::string& from, one_file& file, Rows ascend::profile::* member, const char* what) {
  Rows& rows = file.content.*member;
  if (rows.empty()) return;
  if (!from.empty()) fail(from + " and " + file.name + " both hold " + what + ": give one of them");
  from = file.name;
  all = std::move(rows);
}

void check_together(const std::vector<one_file>& files) {
  std::string name;
  period before;
  for (const one_file& f : files) {
    const period p = period_of(f.content);
    if (p.last.count() == 0) continue;
    if (!name.empty() && (p.first > before.last || before.first > p.last))
      fail(name + " and " + f.name + " are of other times: they do not belong to one run");
    name = f.name;
    before = p;
  }
}

// Why a file is not used, though nothing is wrong with it; empty: it is used.
struct reading {
  ascend::profile content;
  std::string unused;
};

bool is_empty(const ascend::profile& p) {
  return p.kernels.empty() && p.totals.empty() && p.steps.empty() && p.memory.empty() && p.collectives.empty() &&
         p.links.empty();
}

reading read_one(const std::string& name, const std::string& where) {
  const std::string text = name.ends_with(".gz") ? read_compressed(name) : read_file(name);
  auto p = ascend::parse_profile(text);
  if (p && is_empty(*p))
    return {{},
            where + (p->form == ascend::profile_form::trace ? ": the trace has no events of a device"
                                                            : ": there are no rows below the names of columns")};
  if (p) return {*std::move(p), {}};
  const bool is_unknown = p.error().code == hocket::errc::unknown_table;
  const bool is_dump = is_unknown && (text.starts_with("# IR entry") || text.find("subgraph @") != text.npos);
  const std::string why =
      where + ": " + message(p.error()) + (is_dump ? "; it is a dump of MindSpore's IR: hocket ir reads it" : "");
  if (!is_unknown) fail(why);
  return {{}, why};
}

// Of `FOLDER/*`: databases and archives, which are no text.
bool is_binary(const std::string& name) {
  if (name == "-") return false;
  std::ifstream file(name, std::ios::binary);
  char block[1 << 12];
  file.read(block, sizeof block);
  return std::memchr(block, 0, static_cast<std::size_t>(file.gcount())) != nullptr;
}

// Reads the files of a rank. Where several are given, those that hold nothing known are set aside.
std::vector<one_file> read_files(rank_files& rank) {
  std::vector<one_file> files;
  std::string first_reason;
  std::vector<std::string> used;
  for (const std::string& name : rank.files) {
    if (is_database(name)) {
      database_reading one = read_database(name);
      if (!one.why_unused.empty()) {
        if (first_reason.empty()) first_reason = one.why_unused;
        rank.unused.push_back(name);
        continue;
      }
      for (const std::string& table : one.unused_tables) rank.unused.push_back("table " + table);
      files.push_back({name, std::move(one.content), true});
      used.push_back(name);
      continue;
    }
    if (rank.files.size() > 1 && !name.ends_with(".gz") && is_binary(name)) {
      rank.unused.push_back(name);
      continue;
    }
    const std::string where = name == "-" ? "standard input" : name;
    reading one = read_one(name, where);
    if (one.unused.empty()) {
      files.push_back({where, std::move(one.content), false});
      used.push_back(name);
      continue;
    }
    if (first_reason.empty()) first_reason = one.unused;
    rank.unused.push_back(name);
  }
  if (files.empty())
    fail(first_reason.empty() ? rank.unused.front() + ": holds a zero byte, so it is no text" : first_reason);
  rank.files = used;
  return files;
}

}  // namespace

ascend::profile read_profiles(rank_files& rank) {
  std::vector<one_file> files = read_files(rank);
  check_together(files);
  const auto is_table = [](const one_file& f) { return f.content.form != ascend::profile_form::trace; };
  for (std::size_t tables = 0, i = 0; i < files.size(); ++i)  // tables first
    if (is_table(files[i])) std::swap(files[i], files[tables++]);
  for (std::size_t tables = 0, i = 0; i < files.size(); ++i)  // of the tables, databases last
    if (is_table(files[i]) && !files[i].is_database) std::swap(files[i], files[tables++]);
  ascend::profile all = {};
  all.form = files.front().content.form;
  std::string kernels, totals, steps, memory, collectives, links, marks;
  for (one_file& f : files) {
    if (f.content.form == ascend::profile_form::trace && (!kernels.empty() || !steps.empty())) {
      const bool second_trace = all.form == ascend::profile_form::trace;
      if (!second_trace && !kernels.empty()) f.content.kernels.clear();
      if (!second_trace && !steps.empty()) f.content.steps.clear();
    }
    if (f.is_database && !kernels.empty()) f.content.kernels.clear();
    if (f.is_database && !memory.empty()) f.content.memory.clear();
    add_rows(all.kernels, kernels, f, &ascend::profile::kernels, "runs of ops");
    add_rows(all.totals, totals, f, &ascend::profile::totals, "totals of ops");
    add_rows(all.steps, steps, f, &ascend::profile::steps, "times of steps");
    add_rows(all.memory, memory, f, &ascend::profile::memory, "memory");
    add_rows(all.collectives, collectives, f, &ascend::profile::collectives, "collectives");
    add_rows(all.links, links, f, &ascend::profile::links, "links between ranks");
    add_rows(all.marks, marks, f, &ascend::profile::marks, "steps of a trace");
    if (f.content.rank >= 0) all.rank = f.content.rank;
    if (f.content.rank_count >= 0) all.rank_count = f.content.rank_count;
    if (f.content.clock_base.count() != 0) all.clock_base = f.content.clock_base;
    if (!f.content.groups.empty()) all.groups = std::move(f.content.groups);
  }
  (void)ascend::number_repeated_steps(all.kernels);
  return all;
}

}  // namespace hocket_cli
