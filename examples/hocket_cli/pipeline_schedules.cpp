// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// hocket pipeline schedules: what schedules there are. hocket pipeline compare SCHEDULE…: the same model by each.
#include <hocket/pipeline/any_schedule.hpp>
#include <hocket/pipeline/bound.hpp>
#include <hocket/pipeline/simulate.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "command.hpp"
#include "guesses.hpp"
#include "schedules.hpp"

namespace hocket_cli {
namespace {

constexpr schedule_entry entries[] = {
    {"gpipe", "all forwards, then all backwards: simple, holds every micro-batch", 1},
    {"1f1b", "one forward and one backward in turn: holds at most p micro-batches", 1},
    {"eager-1f1b", "1f1b with up to twice as many forwards ahead, so that transfers are hidden", 1},
    {"interleaved", "1f1b over several chunks a rank (virtual pipeline): a smaller bubble, more activations", 0},
    {"looped-bfs", "gpipe over several chunks a rank, breadth first", 0},
    {"seq-1f1b", "1f1b over slices of each sequence (--slices): fewer activations, a smaller bubble", 1},
    {"zb-h1", "backwards in halves, weight gradients fill the bubble; activations as 1f1b", 1},
    {"zb-h2", "the same with more forwards ahead: less bubble, about twice the activations", 1},
    {"interleaved-zb", "interleaved with backwards in halves", 0},
    {"zbv", "two chunks a rank, placed in a V, backwards in halves; activations as 1f1b", 2},
    {"v-half", "a V that holds about half of what 1f1b holds", 2},
    {"v-min", "a V that holds about a third of what 1f1b holds", 2},
    {"dualpipe", "micro-batches from both ends at once, two copies of the weights; p and m even", 1},
    {"dualpipev", "dualpipe folded into a V: one copy of the weights", 2}};

constexpr bool has_every_name() {
  if (std::size(entries) != std::size(hocket::pipeline::schedule_names)) return false;
  for (std::size_t i = 0; i < std::size(entries); ++i)
    if (entries[i].name != hocket::pipeline::schedule_names[i]) return false;
  return true;
}
static_assert(has_every_name());

std::string chunks_of(const schedule_entry& x) { return x.chunks == 0 ? ">=2" : std::to_string(x.chunks); }

void list_schedules(const std::string& out) {
  std::string text = "schedule         chunks  what\n";
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const schedule_entry& x : entries) {
    char line[64];
    std::snprintf(line, sizeof line, "%-16s %6s  ", std::string(x.name).c_str(), chunks_of(x).c_str());
    const std::string others = other_names_of(x.name);
    text += line + std::string(x.what) + (others.empty() ? "" : " (also: " + others + ")") + '\n';
    all.push_back({{"schedule", x.name}, {"chunks", chunks_of(x)}, {"what", x.what}, {"also", others}});
  }
  const nlohmann::ordered_json object = {{"version", 1}, {"schedules", std::move(all)}};
  give(out, this_run().json ? object.dump(2) + '\n' : text, "schedules=" + std::to_string(std::size(entries)));
}

/// The entries that the words name.
std::vector<schedule_entry> entries_named(const std::vector<std::string>& names) {
  std::vector<schedule_entry> found;
  for (const std::string& word : names) {
    const std::string name = schedule_named(word);
    if (name == "all") {
      found.assign(std::begin(entries), std::end(entries));
      continue;
    }
    const auto* const entry =
        std::find_if(std::begin(entries), std::end(entries), [&](const auto& x) { return x.name == name; });
    if (entry == std::end(entries)) throw failure{2, "there is no schedule \"" + name + "\"" + schedules_near(name)};
    const bool is_new = std::none_of(found.begin(), found.end(), [&](const auto& x) { return x.name == entry->name; });
    if (is_new) found.push_back(*entry);
  }
  return found;
}

/// A schedule with the ticks of its chunks.
struct run_question {
  std::string_view name;
  hocket::pipeline::shape shape;
  hocket::pipeline::costs times;
};

/// The cells from peak to bubble, or why there is no such schedule.
std::string cells_of(const run_question& q) {
  namespace pipeline = hocket::pipeline;
  const auto no = [](std::string why) {
    std::replace(why.begin(), why.end(), ',', ';');  // a cell
    return ",,,," + why;
  };
  const auto plan = pipeline::any_schedule::make(q.name, q.shape, {.times = q.times});
  if (!plan) return no(message(plan.error()));
  const auto ran = pipeline::simulate(*plan, q.times);
  if (!ran) return no(message(ran.error()));
  std::uint32_t peak = 0;
  for (std::uint32_t r = 0; r < plan->ranks(); ++r) peak = (std::max)(peak, plan->peak_in_flight(r));
  char bubble[32];
  std::snprintf(bubble, sizeof bubble, "%.6f", ran->bubble());
  return std::to_string(peak) + ',' + std::to_string(ran->lower_bound) + ',' + std::to_string(ran->makespan) + ',' +
         bubble + ',';
}

}  // namespace

std::span<const schedule_entry> schedule_entries() { return entries; }

void compare_named_schedules(const schedule_comparison_options& o) {
  const std::vector<schedule_entry> compared = entries_named(o.names);
  // A chunk of a rank that has v of them takes 1/v of the rank's time; ticks are small enough for all.
  constexpr std::int64_t most_chunks = 64, most_shapes = 1'000, most_pieces = 1 << 22,
                         most_ticks = std::int64_t{1} << 40;
  std::int64_t parts = 2;
  for (const std::int64_t v : o.chunks) {
    if (v < 1 || v > most_chunks) fail("--chunks holds " + std::to_string(v) + ", but must be from 1 to 64");
    parts = std::lcm(parts, v);
    if (parts > 1'000'000) fail("--chunks holds numbers that have no small common multiple");
  }
  if (o.ranks.size() * o.chunks.size() * o.micro_batches.size() > most_shapes) fail("more than 1000 shapes to compare");
  if (o.forward > most_ticks / parts || o.backward > most_ticks / parts || o.hop > most_ticks / parts)
    fail("--forward, --backward and --hop must be at most " + std::to_string(most_ticks / parts) + " ticks here");
  std::string rows = "schedule,ranks,chunks,micro_batches,peak,lower_bound,makespan,bubble,impossible\n";
  std::size_t count = 0;
  for (const std::int64_t p : o.ranks)
    for (const std::int64_t m : o.micro_batches)
      for (const schedule_entry& x : compared)
        for (const std::int64_t v : x.chunks == 0 ? o.chunks : std::vector<std::int64_t>{x.chunks}) {
          if (p > most_pieces || m > most_pieces || p * m > most_pieces / v)
            fail("more than " + std::to_string(most_pieces) + " stages x micro-batches are too many to compare");
          const std::int64_t times = parts / v;
          const run_question q{x.name,
                               {.ranks = p, .chunks = v, .micro_batches = m},
                               {.forward = o.forward * times, .backward = o.backward * times, .hop = o.hop * parts}};
          rows += std::string(x.name) + ',' + std::to_string(p) + ',' + std::to_string(v) + ',' + std::to_string(m) +
                  ',' + cells_of(q) + '\n';
          ++count;
        }
  give(o.out, rows,
       "schedules=" + std::to_string(compared.size()) + " rows=" + std::to_string(count) +
           " scale=" + std::to_string(parts));
}

void add_pipeline_schedules(CLI::App& group) {
  static std::string out;  // one sub-command runs per process
  CLI::App* c = group.add_subcommand("schedules", "The schedules by name, one line each");
  add_out(*c, out);
  c->callback([] { list_schedules(out); });
}

}  // namespace hocket_cli
