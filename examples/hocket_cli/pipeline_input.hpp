// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the pipeline commands share: the schedule that their options name, and how a deadlock is told.
#pragma once
#include <hocket/pipeline/any_schedule.hpp>
#include <hocket/pipeline/check.hpp>
#include <hocket/pipeline/lower.hpp>
#include <hocket/text/schedule_csv.hpp>

#include <cstdint>
#include <memory_resource>
#include <optional>
#include <string>
#include <vector>

#include "command.hpp"

namespace hocket_cli {

/// What the options of the pipeline commands say.
struct pipeline_options {
  std::string schedule, table, comms = "none", format, out;
  std::optional<std::int64_t> ranks, micro_batches;
  std::optional<std::int64_t> chunks, memory_cap;
  std::optional<std::int64_t> slices;
  std::optional<std::string> groups;
  std::optional<std::uint32_t> kappa;
  hocket::ticks forward = 1, hop = 0;
  std::optional<hocket::ticks> backward, input_grad, weight_grad;
  bool reduce_grad = false;
  // What else to put into the lists, and what to say about a run.
  bool merge = false, overlap = false, recompute = false, optimizer = false, post_validation = false, details = false;
  std::uint32_t unshard = 0, offload = 0, lookahead = 0;
  std::string communication = "buffered";
  hocket::ticks transfer = 0, pair = 100;
  std::vector<std::int64_t> activation_bytes;
  std::string critical_path;
};

/// The schedule that the options name, or one sentence: exit 2 for a wrong option, 1 for a shape that it cannot have.
hocket::pipeline::any_schedule schedule_of(const pipeline_options& o);
/// Where transfers go, by its name on the command line.
hocket::pipeline::transfer_policy transfers_named(const std::string& name);
/// Adds the schedule and its shape to a command.
void add_schedule(CLI::App& command, pipeline_options& o);
/// Adds `--lookahead N`, and `--unshard N`.
void add_lookahead(CLI::App& command, pipeline_options& o);
void add_unshard(CLI::App& command, pipeline_options& o);
/// Adds `--merge` and `--overlap`.
void add_pairing(CLI::App& command, pipeline_options& o);

/// Calls use(schedule) with the schedule that the options name.
template <class Use>
void with_schedule(const pipeline_options& o, Use&& use) {
  if (o.table.empty() == o.schedule.empty()) throw failure{2, "give either a SCHEDULE or --table FILE"};
  if (!o.table.empty() && (o.ranks || o.chunks || o.micro_batches || o.kappa || o.memory_cap || o.slices || o.groups))
    throw failure{
        2,
        "a table has its own shape: --ranks, --chunks, --micro-batches, --groups, --kappa, --slices and --memory-cap "
        "go with a SCHEDULE"};
  if (!o.table.empty()) return use(value_or_fail(hocket::text::parse_schedule_csv(read_file(o.table)), o.table));
  use(schedule_of(o));
}

/// How many actions the schedule has; fails beyond `most`, before anything of that size is made.
template <class Plan>
std::uint64_t actions_of(const Plan& plan, std::uint64_t most, const std::string& purpose) {
  std::uint64_t actions = 0;
  for (std::uint32_t r = 0; r < plan.ranks(); ++r) actions += plan.size(r);
  if (actions > most)
    fail(std::to_string(actions) + " actions are too many " + purpose + ": at most " + std::to_string(most));
  return actions;
}

/// The sentence, and the cycle that proves a deadlock.
template <class Plan>
[[noreturn]] void fail_with_cycle(const pipeline_options& o, const Plan& plan, const hocket::error& why,
                                  const std::pmr::vector<hocket::pipeline::blocked>& cycle) {
  const bool sliced = hocket::pipeline::slices_of(plan) > 1;
  std::string sentence = o.table.empty() ? message(why) : o.table + ": " + message(why);
  constexpr std::size_t shown = 16;
  for (std::size_t i = 0; i < cycle.size() && i < shown; ++i)
    sentence += (i == 0 ? "; rank " : ", rank ") + std::to_string(cycle[i].rank) + " stands before " +
                hocket::text::action_token(cycle[i].action, sliced) + " and waits for " +
                hocket::text::action_token(cycle[i].needs, sliced) + " of rank " + std::to_string(cycle[i].holder);
  if (cycle.size() > shown) sentence += ", ...";
  fail(sentence);
}

}  // namespace hocket_cli
