// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// hocket pipeline ranks: what all ranks of a job call that runs a schedule, for `hocket ranks check`.
#include <hocket/interop/pipeline_ranks.hpp>
#include <hocket/text/ranks_csv.hpp>

#include <cstdint>
#include <string>

#include "command.hpp"
#include "pipeline_input.hpp"

namespace hocket_cli {
namespace {

struct mesh_options {
  pipeline_options schedule;
  hocket::interop::rank_mesh mesh;
  std::string comms = "eager", communicators = "pipeline";
  bool batch = false, tied = false;
};

hocket::interop::transfer_communicators communicators_named(const std::string& name) {
  using enum hocket::interop::transfer_communicators;
  if (name == "pair") return pair;
  return name == "direction" ? direction : pipeline;
}

void write_ranks(const mesh_options& o) {
  const hocket::interop::pipeline_calls calls{.lowering = {.recompute = o.schedule.recompute,
                                                           .unshard = o.schedule.unshard,
                                                           .reduce_grad = true,
                                                           .transfers = transfers_named(o.comms),
                                                           .optimizer = true},
                                              .transfers = communicators_named(o.communicators),
                                              .grouped = o.batch,
                                              .tied_embeddings = o.tied};
  with_schedule(o.schedule, [&](const auto& plan) {
    const std::uint64_t lanes = std::uint64_t{o.mesh.tensor} * o.mesh.context * o.mesh.data;
    actions_of(plan, (std::uint64_t{1} << 22) / lanes, "on a mesh of " + std::to_string(lanes) + " ranks a stage");
    const auto job = hocket::interop::ranks_of_pipeline(plan, o.mesh, calls);
    if (!job) fail(message(job.error()));
    std::uint64_t ops = 0;
    for (std::uint32_t r = 0; r < job->ranks(); ++r) ops += job->list(r).size();
    give(o.schedule.out, hocket::text::write_ranks_csv(*job),
         "ranks=" + std::to_string(job->ranks()) + " ops=" + std::to_string(ops) +
             " communicators=" + std::to_string(job->communicator_count()));
  });
}

}  // namespace

void add_pipeline_ranks(CLI::App& group) {
  static mesh_options o;  // one sub-command runs per process
  CLI::App* c =
      group.add_subcommand("ranks", "What all ranks of a job call, as the CSV that `hocket ranks check` takes");
  add_out(*c, o.schedule.out);
  add_schedule(*c, o.schedule);
  c->add_option("--table", o.schedule.table,
                "A schedule in PyTorch's CSV dialect; its own transfers stay, if it has any")
      ->type_name("FILE");
  const auto size = [&](const char* name, std::uint32_t& value, const char* what) {
    c->add_option(name, value, what)->type_name("N")->check(CLI::Range(1, 4096));
  };
  size("--tensor", o.mesh.tensor, "Tensor ranks, next to each other (1)");
  size("--context", o.mesh.context, "Context ranks (1)");
  size("--data", o.mesh.data, "Data ranks (1)");
  size("--expert", o.mesh.expert, "Ranks that share the experts, of context x data (1)");
  c->add_option("--communicators", o.communicators,
                "One for the transfers of a pipeline, of each two ranks, or of each two and direction")
      ->check(CLI::IsMember({"pipeline", "pair", "direction"}))
      ->capture_default_str();
  c->add_option("--comms", o.comms, "Where transfers go: eager (the default), just-in-time, deferred, grouped")
      ->check(CLI::IsMember({"eager", "just-in-time", "deferred", "grouped"}));
  add_unshard(*c, o.schedule);
  c->add_flag("--recompute", o.schedule.recompute, "Recompute activations before each backward");
  c->add_flag("--batch", o.batch, "Transfers next to each other are posted as one group");
  c->add_flag("--tied-embeddings", o.tied, "The first and the last stage sum the gradients of one table");
  c->callback([] { write_ranks(o); });
}

}  // namespace hocket_cli
