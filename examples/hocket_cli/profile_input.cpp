// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Files of profilers, and which of them belong together.
#include <hocket/interop/ascend/parse_profile.hpp>
#include <hocket/interop/ascend/step_breakdown.hpp>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "profile.hpp"

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

ascend::profile read_one(const std::string& name, const std::string& where) {
  const std::string text = read_file(name);
  auto p = ascend::parse_profile(text);
  if (p) return *std::move(p);
  const bool is_dump = p.error().code == hocket::errc::unknown_table &&
                       (text.starts_with("# IR entry") || text.find("subgraph @") != text.npos);
  fail(where + ": " + message(p.error()) + (is_dump ? "; it is a dump of MindSpore's IR: hocket ir reads it" : ""));
}

bool is_empty(const ascend::profile& p) {
  return p.kernels.empty() && p.totals.empty() && p.steps.empty() && p.memory.empty() && p.collectives.empty();
}

}  // namespace

ascend::profile read_profiles(const std::vector<std::string>& names) {
  std::vector<one_file> files;
  for (const std::string& name : names) {
    const std::string where = name == "-" ? "standard input" : name;
    files.push_back({where, read_one(name, where)});
    if (!is_empty(files.back().content)) continue;
    fail(where + (files.back().content.form == ascend::profile_form::trace
                      ? ": the trace has no events of a device"
                      : ": there are no rows below the names of columns"));
  }
  check_together(files);
  const auto is_table = [](const one_file& f) { return f.content.form != ascend::profile_form::trace; };
  for (std::size_t tables = 0, i = 0; i < files.size(); ++i)  // tables first
    if (is_table(files[i])) std::swap(files[i], files[tables++]);
  ascend::profile all = {};
  all.form = files.front().content.form;
  std::string kernels, totals, steps, memory, collectives, marks;
  for (one_file& f : files) {
    if (f.content.form == ascend::profile_form::trace && (!kernels.empty() || !steps.empty())) {
      const bool second_trace = all.form == ascend::profile_form::trace;
      if (!second_trace && !kernels.empty()) f.content.kernels.clear();
      if (!second_trace && !steps.empty()) f.content.steps.clear();
    }
    add_rows(all.kernels, kernels, f, &ascend::profile::kernels, "runs of ops");
    add_rows(all.totals, totals, f, &ascend::profile::totals, "totals of ops");
    add_rows(all.steps, steps, f, &ascend::profile::steps, "times of steps");
    add_rows(all.memory, memory, f, &ascend::profile::memory, "memory");
    add_rows(all.collectives, collectives, f, &ascend::profile::collectives, "collectives");
    add_rows(all.marks, marks, f, &ascend::profile::marks, "steps of a trace");
  }
  (void)ascend::number_repeated_steps(all.kernels);
  return all;
}

}  // namespace hocket_cli
