// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `hocket plan`: one training step, from its file to everything the components have to say about it.
#pragma once
#include <hocket/cost/model/list_time.hpp>
#include <hocket/graph.hpp>
#include <hocket/pipeline.hpp>
#include <hocket/planner/split/solve.hpp>
#include <hocket/planner/strategy/strategy.hpp>
#include <hocket/text/ops_csv.hpp>
#include <hocket/tiling.hpp>
#include <hocket/timeline/timeline.hpp>

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cost_input.hpp"
#include "cost_layers.hpp"

namespace hocket_cli {

/// Another rank, as a message to it sees it.
struct link {
  double latency_us = 0, gb_per_s = 0;  ///< GB = 10^9 bytes
};

/// What the plan file says (form: docs/plan.md), with the files it names.
struct plan_input {
  std::string file, title;
  model_input model;
  training_input training;
  hocket::cost::parallel parallel;

  std::int64_t devices = 1, devices_per_node = 8;
  hocket::cost::device_memory memory;
  double peak_tflops = 0;
  double efficiency = 1;  ///< of the peak that matrix products reach; only to predict stage times
  link pipeline_link;

  std::string ops_file;  ///< empty: the file names no op graph
  hocket::text::ops_table ops;
  bool ordered = false;

  std::string schedule = "1f1b", groups = "balanced";
  std::uint32_t kappa = 0;                        ///< 0: the schedule's default
  std::optional<double> forward_us, backward_us;  ///< measured time of a stage; absent: predicted
  bool search_split = false;                      ///< which layers a stage runs, and what each computes again, is open
  std::vector<std::int64_t> split;                ///< layers of each stage in model order, if the file gives them

  std::optional<hocket::tiling::any_problem> fused;

  /// What the file leaves open, and the answer: the fastest strategy that fits, with what was compared.
  std::vector<std::string> open;
  std::optional<hocket::planner::strategy_plan> choice;
  /// Strategies that may be best once each has a split of its own, if the split is open, too.
  std::vector<hocket::planner::strategy> candidates;
  std::optional<double> step_seconds;  ///< of the best of them, which `parallel` then says
  std::size_t candidates_that_fit = 0;

  /// Whether a rank's bytes fit a device's memory.
  [[nodiscard]] bool fits(const hocket::cost::rank_memory& m) const noexcept {
    return hocket::cost::fits(m.peak, memory);
  }
  [[nodiscard]] std::int64_t micro_batches() const noexcept {
    return training.step.global_batch / (training.step.micro_batch * parallel.dp);
  }
};

/// Reads a plan file and what it names (relative to its folder). Ends the command with one sentence on any mistake.
plan_input read_plan(const std::string& file);
/// Sets the sizes that the file leaves open.
void take(plan_input& in, const hocket::planner::strategy& best);
/// Ends the command: no sizes fit.
[[noreturn]] void fail_to_choose(const plan_input& in);
/// Splits the model for each candidate and takes the one with the shortest step.
void settle(plan_input& in);

/// Which layers each stage runs and what they compute again, where that is not the even split.
struct layer_split {
  struct way {
    std::string name;
    std::vector<std::string> select;  ///< MindFormers patterns
    hocket::cost::recompute_choice how;
  };
  std::vector<way> ways;
  hocket::planner::split_plan plan;  ///< its levels are numbers of ways
  bool searched = false;
  double step_seconds = 0, even_seconds = 0;  ///< in the planner's model; 0: not known, or nothing even fits
  /// What each pipeline rank and each stage holds.
  std::vector<hocket::cost::rank_layers> by_rank, by_stage;
};

/// The answers.
struct step_plan {
  struct dependencies {
    std::size_t ops = 0, streams = 0, rule_edges = 0, kept_edges = 0, cross_stream_edges = 0, waits = 0;
    /// Ops next to each other in program order among which most edges are kept, for a picture.
    hocket::node_id densest_first = 0, densest_end = 0;
    std::vector<hocket::graph::edge> densest_rules{}, densest_kept{};  ///< among those ops; kept ones are no rules
    /// Edges by the op that they lead to, in equal parts of the program.
    std::vector<std::size_t> rules_by_part{}, kept_by_part{};
  };
  std::optional<dependencies> graph;  ///< absent: the file names no op graph
  struct stage {
    std::int64_t layers = 0;
    double forward_us = 0, backward_us = 0;
  };
  std::vector<stage> stages;         ///< in model order
  std::optional<layer_split> split;  ///< absent: even, all recomputed alike
  std::string why_even;              ///< why an open split was not searched for
  hocket::planner::in_flight_profile held;
  double hop_us = 0;
  std::string found_by;              ///< what found the schedule, if the file names none
  hocket::pipeline::simulation run;  ///< ticks are nanoseconds
  hocket::timeline timeline;
  std::string schedule_csv;  ///< in PyTorch's dialect
  std::optional<hocket::tiling::plan> tiles;
  std::optional<hocket::timeline> tile_timeline;
  hocket::cost::report cost;
  report_context cost_context;
};

/// Chunks of activations that a rank holds at its peak under the schedule that the file names.
std::int64_t peak_of_named(const plan_input& in, const hocket::pipeline::shape& shape, std::uint32_t rank);

step_plan plan_step(const plan_input& in);
/// The same without dependencies and tiles, which do not depend on the sizes: for comparisons.
step_plan plan_pipeline_and_cost(const plan_input& in);
/// What a step is made of: the simulated pipeline and, where a machine has rates, what they put around it (loading, the
/// data-parallel exchange that nothing hides, the optimizer, launches). They add up to predicted_step_seconds().
std::vector<named_part> predicted_step_parts(const plan_input& in, const step_plan& p);
/// Seconds of the whole step: the one figure of the page, for the plan and for each change of it.
double predicted_step_seconds(const plan_input& in, const step_plan& p);
/// Whether that is a whole step: where there is a machine, whose rates say what is around the pipeline.
[[nodiscard]] inline bool has_predicted_step(const step_plan& p) {
  return p.cost_context.step && p.cost_context.training->on;
}
double tokens_per_second_per_device(const plan_input& in, double step_seconds);
/// The same with another schedule on the same stages.
/// @param makespan  its simulated time, in nanoseconds
double predicted_step_seconds(const plan_input& in, const step_plan& p, hocket::ticks makespan);
/// Microseconds that a boundary tensor takes from one pipeline rank to the next.
double boundary_hop_us(const plan_input& in);

/// Chooses the split where the file leaves it open, or writes out the one it gives. Nothing if it is even.
/// @param held  what ranks hold in flight
/// @param seconds  of a step with such a split, simulated: what decides where ranks have several chunks
std::optional<layer_split> plan_split(const plan_input& in, const hocket::planner::in_flight_profile& held,
                                      std::string& why_even, const std::function<double(const layer_split&)>& seconds);
/// Whether stage times come from the rates of the machine: where there is one, and no times are measured.
bool timed_by_the_machine(const plan_input& in);
/// Forward and backward seconds of each stage of a split, by the rates of the machine.
std::vector<step_plan::stage> times_of_split(const plan_input& in, const layer_split& split);
/// Memory of every rank under a split, term by term as the report of an even one has it.
void put_split_into_report(const plan_input& in, const layer_split& split,
                           const hocket::planner::in_flight_profile& held, step_plan& out);
/// Seconds of the whole step under a split, by the rates of the machine.
hocket::cost::step_prediction step_of_split(const plan_input& in, const layer_split& split);
/// Whether every rank fits.
bool split_fits(const plan_input& in, const layer_split& split, const hocket::planner::in_flight_profile& held);

/// What a MindFormers user pastes: recompute, select_recompute and offset, as lists by stage.
struct pasted_level {
  std::vector<std::string> select;
  bool whole = false;
  bool no_pattern = false;  ///< computes something again that has no pattern here
};
/// @param runs  how many layers in a row are equal
std::string mind_formers(const std::vector<pasted_level>& levels, const hocket::planner::split_plan& plan,
                         std::uint32_t ranks, std::uint32_t chunks, std::span<const std::int64_t> runs);

/// The model with the padding and the prediction modules of the step.
hocket::cost::layer_list list_of(const plan_input& in);
/// The layers of every stage in model order, each as if it were a pipeline rank.
/// @param sizes  layers of each stage; empty: dealt out evenly
std::vector<hocket::cost::rank_layers> stages_of(const plan_input& in, const hocket::cost::layer_list& list,
                                                 std::span<const std::int64_t> sizes);
/// By FLOPs of one micro-batch on one rank.
step_plan::stage counted_stage(const plan_input& in, const hocket::cost::layer_list& list,
                               const hocket::cost::rank_layers& stage);
/// Of what its layers take. Collectives that show are as many in the backward pass as in the forward pass.
step_plan::stage timed_stage(std::int64_t layers, const hocket::cost::layer_time& sum);
/// Times of the stages in model order, as the file says or evenly.
std::vector<step_plan::stage> times_of_stages(const plan_input& in);
/// The report, with memory as the schedule holds it.
hocket::cost::report report_of(const plan_input& in, report_context& context, const hocket::pipeline::simulation& run);
/// Bytes of the fullest rank under a schedule, whatever its placement.
std::int64_t bytes_under(const plan_input& in, const hocket::pipeline::any_schedule& plan);

std::string plan_as_text(const plan_input& in, const step_plan& plan);
std::string plan_as_json(const plan_input& in, const step_plan& plan);
/// The predicted step with its parts, as report.json and the page have it.
nlohmann::ordered_json predicted_step_as_json(const plan_input& in, const step_plan& p);

}  // namespace hocket_cli
