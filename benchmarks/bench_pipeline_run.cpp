// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Simulation, checking and export of schedules, each beside what was measured: ratios of things that run by turns in
// one process.   bench_pipeline_run [--full]     --full adds the run of 33 million actions
#include <hocket/pipeline.hpp>
#include <hocket/text/schedule_csv.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "measure.hpp"

namespace {

using namespace hocket::pipeline;
using hocket::ticks;

using bench::now;

std::uint64_t kept = 0;  // so that nothing is optimised away

/// Lists of 4-byte actions: what the targets are about.
struct flat {
  std::vector<action> actions;
  std::vector<std::uint32_t> first;
  shape size_of;
  [[nodiscard]] std::uint32_t ranks() const { return static_cast<std::uint32_t>(size_of.ranks); }
  [[nodiscard]] std::uint32_t chunks() const { return static_cast<std::uint32_t>(size_of.chunks); }
  [[nodiscard]] std::uint32_t micro_batches() const { return static_cast<std::uint32_t>(size_of.micro_batches); }
  [[nodiscard]] std::uint32_t size(std::uint32_t r) const { return first[r + 1] - first[r]; }
  [[nodiscard]] action at(std::uint32_t r, std::uint32_t i) const { return actions[first[r] + i]; }
  [[nodiscard]] std::span<const action> rank(std::uint32_t r) const { return {actions.data() + first[r], size(r)}; }
  [[nodiscard]] loop_placement placement() const { return {ranks()}; }
};

template <class Plan>
flat table_of(const Plan& plan) {
  flat t{{}, {0}, shape_of(plan)};
  for (std::uint32_t r = 0; r < plan.ranks(); ++r) {
    for (std::uint32_t i = 0; i < plan.size(r); ++i) t.actions.push_back(plan.at(r, i));
    t.first.push_back(static_cast<std::uint32_t>(t.actions.size()));
  }
  return t;
}

/// Reads every action and adds what it costs.
template <class Plan>
ticks bare(const Plan& plan, const costs& c) {
  ticks most = 0;
  for (std::uint32_t r = 0; r < plan.ranks(); ++r) {
    ticks sum = 0;
    for (std::uint32_t i = 0, n = plan.size(r); i < n; ++i) sum += c.duration(stage_action_at(plan, r, i));
    most = sum > most ? sum : most;
  }
  return most;
}

void line(const char* name, const char* what, double measured, const char* unit, const char* must, const char* aim) {
  std::printf("%-30s %-36s %10.4g %-6s must %-8s aim %s\n", name, what, measured, unit, must, aim);
  std::fflush(stdout);
}
double median(std::vector<double>& ms) {
  std::sort(ms.begin(), ms.end());
  return ms[ms.size() / 2];
}

/// Writes a text into a file that is made for it, as a user's export does.
std::size_t in_new_file(const std::string& text) {
  std::FILE* const file = std::tmpfile();
  if (file == nullptr) return 0;
  const std::size_t written = std::fwrite(text.data(), 1, text.size(), file);
  std::fclose(file);
  return written;
}

template <class Plan>
void judge(const char* name, const Plan& plan, int rounds, bool text = true) {
  const costs c;
  workspace room;
  std::vector<double> bare_ms, run_ms, check_ms, csv_ms, copy_ms, export_ms, file_ms;
  std::uint64_t actions = 0;
  for (std::uint32_t r = 0; r < plan.ranks(); ++r) actions += plan.size(r);
  const auto timed = [](std::vector<double>& into, auto&& what) {
    const double start = now();
    kept += static_cast<std::uint64_t>(what());
    into.push_back(now() - start);
  };
  const std::string csv = text ? hocket::text::write_schedule_csv(plan) : std::string();
  for (int i = 0; i < rounds; ++i) {
    timed(bare_ms, [&] { return bare(plan, c); });
    timed(run_ms, [&] { return run(plan, c, room)->makespan; });
    timed(check_ms, [&] { return check(plan).has_value(); });
    if (!text) continue;
    timed(csv_ms, [&] { return hocket::text::write_schedule_csv(plan).size(); });
    timed(copy_ms, [&] {  // into a new block, as what the writer returns is a new one
      const std::unique_ptr<char[]> copy(new char[csv.size()]);
      std::memcpy(copy.get(), csv.data(), csv.size());
      return static_cast<unsigned char>(copy[csv.size() / 2]);
    });
    timed(export_ms, [&] { return in_new_file(hocket::text::write_schedule_csv(plan)); });
    timed(file_ms, [&] { return in_new_file(csv); });
  }
  const double n = static_cast<double>(actions), simulated = median(run_ms);
  std::printf("# %s: %llu actions\n", name, static_cast<unsigned long long>(actions));
  line(name, "rate of simulation / bare loop", median(bare_ms) / simulated, "x", ">= 0.15", ">= 0.4");
  line(name, "simulation", simulated * 1e6 / n, "ns/act", "<= 50", "-");
  line(name, "full check / simulation", median(check_ms) / simulated, "x", "<= 2", "<= 1.5");
  if (text) {
    line(name, "rate of CSV export / memcpy of it", median(copy_ms) / median(csv_ms), "x", "-", "-");
    line(name, "rate of export to a file / writing it", median(file_ms) / median(export_ms), "x", "-", "-");
    line(name, "CSV export", static_cast<double>(csv.size()) / median(csv_ms) / 1e3, "MB/s", ">= 200", "-");
  }
  const std::size_t bytes = room.entries.capacity() * sizeof(room.entries[0]) +
                            room.stages.capacity() * sizeof(room.stages[0]) +
                            room.lanes.capacity() * sizeof(room.lanes[0]) + room.words.capacity() * 8;
  line(name, "memory of the simulation", static_cast<double>(bytes) / (plan.ranks() * plan.chunks()), "B/stage", "-",
       "-");
}

}  // namespace

int main(int count, char** words) {
  const bool full = count > 1 && std::string_view(words[1]) == "--full";
  const auto plan = interleaved::make({8, 4, 512}).value();
  judge("interleaved 8,4,512", plan, 11);
  judge("the same as a 4-byte table", table_of(plan), 11);
  judge("1f1b 64,1,1024", one_f_one_b::make({64, 1, 1024}).value(), 5);
  judge("1f1b 64,1,16384", one_f_one_b::make({64, 1, 16384}).value(), 5);
  judge("interleaved 16,4,16384", interleaved::make({16, 4, 16384}).value(), 5);
  judge("zb-h2 64,1,1024", zero_bubble::make_h2({64, 1, 1024}).value(), 5);
  judge("interleaved-zb 8,4,512", zero_bubble::make_interleaved({8, 4, 512}).value(), 11);
  judge("zbv 16,2,512", zbv::make({16, 2, 512}).value(), 5);
  if (full) judge("interleaved 1024,4,4096", interleaved::make({1024, 4, 4096}).value(), 1, false);
  return kept == 0 ? 1 : 0;
}
