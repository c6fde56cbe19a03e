// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// hocket pipeline buffers: the least memory for what ranks receive, and which receive uses which part of it.
#include <hocket/pipeline/buffers.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "command.hpp"
#include "pipeline_input.hpp"

namespace hocket_cli {
namespace {

namespace pipeline = hocket::pipeline;

struct buffers_options {
  pipeline_options schedule;
  std::optional<std::string> comms;
  std::string pools, activations = "backward", gradients = "backward", communication, assignment;
  std::vector<std::int64_t> bytes, gradient_bytes;
};

struct pools_name {
  const char* name;
  const char* column;
  pipeline::slot_pools pools;
};
constexpr pools_name pool_names[] = {{"stage-and-kind", "by_stage_and_kind", pipeline::slot_pools::stage_and_kind},
                                     {"kind", "by_kind", pipeline::slot_pools::kind},
                                     {"rank", "by_rank", pipeline::slot_pools::rank}};

pipeline::held_until until(const std::string& name) {
  return name == "use" ? pipeline::held_until::use : pipeline::held_until::backward;
}

pipeline::receive_buffers assigned(const buffers_options& o, const pipeline::table_schedule& lists,
                                   pipeline::slot_pools pools) {
  auto found = pipeline::assign_receives(lists, {.pools = pools,
                                                 .activations = until(o.activations),
                                                 .gradients = until(o.gradients),
                                                 .activation_bytes = o.bytes,
                                                 .gradient_bytes = o.gradient_bytes});
  if (!found) fail((o.schedule.table.empty() ? "" : o.schedule.table + ": ") + message(found.error()));
  return std::move(found).value();
}

const char* kind_of(const pipeline::slot_pool& pool) {
  if (pool.kind == pipeline::action_kind::idle) return "both";
  return pool.kind == pipeline::action_kind::recv_forward ? "activations" : "gradients";
}

/// The stage of a pool as tokens write it, or nothing.
std::string stage_of(const pipeline::slot_pool& pool) {
  if (pool.stage == pipeline::slot_pool::any_stage) return "";
  return (pool.direction != 0 ? "d1:" : "") + std::to_string(pool.stage);
}

/// A row for each receive.
void write_assignment(const buffers_options& o, const pipeline::table_schedule& lists,
                      const pipeline::receive_buffers& found) {
  const bool sliced = lists.slices() > 1;
  std::string rows = "rank,step,receive,last_use,pool,slot,after\n";
  for (const pipeline::posted_receive& x : found.receives) {
    rows += std::to_string(x.rank) + ',' + std::to_string(x.posted) + ',' +
            hocket::text::action_token(x.receive, sliced) + ',' + std::to_string(x.last_use) + ',' +
            std::to_string(x.pool) + ',' + std::to_string(x.slot) + ',';
    if (x.after != pipeline::posted_receive::nothing) rows += std::to_string(x.after);
    rows += '\n';
  }
  write_file(o.assignment, rows);
}

/// A row for each pool of one kind.
std::string pool_rows(const buffers_options& o, const pipeline::receive_buffers& found) {
  std::string rows = "pool,rank,stage,kind,slots,peak_step";
  rows += o.bytes.empty() ? "\n" : ",bytes,least_bytes\n";
  for (std::size_t i = 0; i < found.pools.size(); ++i) {
    const pipeline::slot_pool& x = found.pools[i];
    rows += std::to_string(i) + ',' + std::to_string(x.rank) + ',' + stage_of(x) + ',' + kind_of(x) + ',' +
            std::to_string(x.slots) + ',' + std::to_string(x.peak_step);
    if (!o.bytes.empty()) rows += ',' + std::to_string(x.bytes) + ',' + std::to_string(x.least_bytes);
    rows += '\n';
  }
  return rows;
}

/// The lists with their transfers: as they are in a table that has them, unless anything is to be changed.
template <class Plan>
pipeline::table_schedule lists_of(const buffers_options& o, const Plan& plan) {
  const pipeline_options& s = o.schedule;
  actions_of(plan, 1u << 24, "to assign");
  std::pmr::vector<pipeline::blocked> cycle;
  if (const auto ok = pipeline::check(plan, &cycle); !ok) fail_with_cycle(s, plan, ok.error(), cycle);
  const bool changed = o.comms || s.unshard > 0 || s.reduce_grad || s.overlap || s.merge || s.lookahead > 0;
  if (!changed && pipeline::has_transfers(plan)) {
    auto copy = pipeline::table_schedule::make_copy(plan);
    if (!copy) fail(message(copy.error()));
    return std::move(copy).value();
  }
  const auto pairs = pipeline::lower(plan, {.merge_halves = s.merge, .overlap = s.overlap});
  if (s.overlap && pairs)  // pairs may wait for themselves
    if (const auto ok = pipeline::check(*pairs, &cycle); !ok) fail_with_cycle(s, *pairs, ok.error(), cycle);
  auto lists = pipeline::lower(plan, {.merge_halves = s.merge,
                                      .overlap = s.overlap,
                                      .unshard = s.unshard,
                                      .reduce_grad = s.reduce_grad,
                                      .transfers = transfers_named(o.comms.value_or("eager")),
                                      .lookahead = s.lookahead});
  if (!lists) fail(message(lists.error()));
  return std::move(lists).value();
}

/// Whether the lists end under the model that was named.
void check_ends(const buffers_options& o, const pipeline::table_schedule& lists) {
  using enum pipeline::communication;
  if (o.communication.empty()) return;
  const pipeline::communication model = o.communication == "buffered"   ? buffered
                                      : o.communication == "rendezvous" ? rendezvous
                                      : o.communication == "stream"     ? stream
                                                                        : batched;
  std::pmr::vector<pipeline::blocked> cycle;
  if (const auto ok = pipeline::check(lists, model, &cycle); !ok) fail_with_cycle(o.schedule, lists, ok.error(), cycle);
}

/// Slots and bytes of each rank, side by side for the ways to make pools.
class rank_rows {
 public:
  rank_rows(std::uint32_t ranks, bool weighed) : weighed_(weighed), rows_(ranks) {}

  void add_receives(const pipeline::receive_buffers& found) {
    std::vector<std::int64_t> receives(rows_.size(), 0);
    for (const pipeline::posted_receive& x : found.receives) ++receives[x.rank];
    add("receives", receives, static_cast<std::int64_t>(found.receives.size()));
  }
  void add(const std::string& column, const pipeline::receive_buffers& found) {
    std::vector<std::int64_t> slots(rows_.size(), 0), bytes(rows_.size(), 0);
    for (const pipeline::slot_pool& x : found.pools) {
      slots[x.rank] += x.slots;
      bytes[x.rank] += x.bytes;
    }
    add("slots_" + column, slots, static_cast<std::int64_t>(found.slots()));
    if (weighed_) add("bytes_" + column, bytes, found.bytes());
  }
  [[nodiscard]] std::string csv() const {
    std::string text = "rank" + columns_ + '\n';
    for (std::size_t r = 0; r < rows_.size(); ++r) text += std::to_string(r) + rows_[r] + '\n';
    return text;
  }
  [[nodiscard]] const std::string& summary() const { return summary_; }

 private:
  void add(const std::string& column, const std::vector<std::int64_t>& by_rank, std::int64_t total) {
    columns_ += ',' + column;
    for (std::size_t r = 0; r < rows_.size(); ++r) rows_[r] += ',' + std::to_string(by_rank[r]);
    summary_ += (summary_.empty() ? "" : " ") + column + '=' + std::to_string(total);
  }

  bool weighed_;
  std::vector<std::string> rows_;
  std::string columns_, summary_;
};

void buffers(const buffers_options& o) {
  if (o.schedule.lookahead > 0 && o.comms.value_or("eager") != "just-in-time")
    throw failure{2, "--lookahead goes with --comms just-in-time"};
  if (!o.gradient_bytes.empty() && o.bytes.empty()) throw failure{2, "--gradient-bytes goes with --border-bytes"};
  with_schedule(o.schedule, [&](const auto& plan) {
    const pipeline::table_schedule lists = lists_of(o, plan);
    check_ends(o, lists);
    rank_rows by_rank(lists.ranks(), !o.bytes.empty());
    std::optional<pipeline::receive_buffers> found;
    for (const pools_name& x : pool_names) {
      if (!o.pools.empty() && o.pools != x.name) continue;
      const bool first = !found;
      found = assigned(o, lists, x.pools);
      if (first) by_rank.add_receives(*found);
      by_rank.add(x.column, *found);
    }
    if (!o.assignment.empty()) write_assignment(o, lists, *found);  // of the pools that were asked for, else by rank
    give(o.schedule.out, o.pools.empty() ? by_rank.csv() : pool_rows(o, *found), by_rank.summary());
  });
}

}  // namespace

void add_pipeline_buffers(CLI::App& group) {
  static buffers_options o;  // one sub-command runs per process
  CLI::App* c =
      group.add_subcommand("buffers", "The least memory for what ranks receive, and which receive uses which part");
  add_out(*c, o.schedule.out);
  add_schedule(*c, o.schedule);
  c->add_option("--table", o.schedule.table,
                "A schedule in PyTorch's CSV dialect; its own transfers stay, if it has any")
      ->type_name("FILE");
  c->add_option("--comms", o.comms, "Where transfers go: eager (the default), just-in-time, deferred, grouped, barrier")
      ->check(CLI::IsMember({"eager", "just-in-time", "deferred", "grouped", "barrier"}));
  add_lookahead(*c, o.schedule);
  add_unshard(*c, o.schedule);
  c->add_flag("--reduce-grad", o.schedule.reduce_grad, "REDUCE_GRAD for each stage after its last backward");
  add_pairing(*c, o.schedule);
  c->add_option("--pools", o.pools,
                "Which receives share slots: stage-and-kind, kind or rank (all three, side by side)")
      ->check(CLI::IsMember({"stage-and-kind", "kind", "rank"}));
  c->add_option("--activations", o.activations,
                "Until when a received activation stays: backward (the default), or use, if a rank copies it")
      ->check(CLI::IsMember({"backward", "use"}));
  c->add_option("--gradients", o.gradients, "The same for a received gradient")
      ->check(CLI::IsMember({"backward", "use"}));
  const auto sizes = [&](const char* name, std::vector<std::int64_t>& into, const char* what) {
    c->add_option(name, into, what)
        ->type_name("N,...")
        ->delimiter(',')
        ->expected(1, 65'536)
        ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 40));
  };
  sizes("--border-bytes", o.bytes, "Bytes that stage s sends to stage s + 1: one number, or one per border (1,2,...)");
  sizes("--gradient-bytes", o.gradient_bytes, "Bytes that stage s + 1 sends back to s (as --border-bytes)");
  c->add_option("--communication", o.communication,
                "Also check that the transfers end under a model: buffered, rendezvous, stream, batched")
      ->check(CLI::IsMember({"buffered", "rendezvous", "stream", "batched"}));
  c->add_option("--assignment", o.assignment, "Also which receive uses which slot, as CSV")
      ->type_name("FILE")
      ->check(has_folder);
  c->callback([] { buffers(o); });
}

}  // namespace hocket_cli
