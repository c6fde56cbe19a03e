// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One rank of a pipeline: its stages of the model, how an action of a schedule runs on them, and where a transfer finds
// its memory. The same for ranks that are threads, streams or processes.
#pragma once
#include <hocket/launch/transport.hpp>
#include <hocket/pipeline/schedule.hpp>
#include <hocket/pipeline/table.hpp>
#include <hocket/timeline/timeline.hpp>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "model.hpp"

namespace training {

using hocket::pipeline::action_kind;
using hocket::pipeline::stage_action;
using hocket::pipeline::table_schedule;

constexpr int steps_of_training = 3;

// The schedules that the example trains with: 4 ranks, 9 micro-batches.
std::vector<std::pair<std::string, table_schedule>> schedules();

// What a run leaves, the same whatever the schedule: losses per step and micro-batch, gradients of the last step and
// weights at the end, block by block.
struct outcome {
  std::vector<double> losses, gradients, weights;
};

// The plain program: every micro-batch through the whole model, forward and backward.
outcome train_serially(const config& c);

class rank_state {
 public:
  // All stages with rank_of(stage) == rank, or all stages of the model if rank is not given.
  rank_state(const config& c, const table_schedule& plan, int rank = -1);

  void begin_step(int step);
  // Runs one action. What a neighbouring stage of this state makes is handed over by copying.
  void compute(stage_action a);
  [[nodiscard]] hocket::launch::transfer_memory memory(stage_action a);
  void end_step();  // notes the losses, changes the weights

  // stage -> its part of the outcome
  [[nodiscard]] const std::vector<int>& stages() const { return numbers_; }
  [[nodiscard]] std::vector<double> gradients(std::size_t i) const { return last_gradients_[i]; }
  [[nodiscard]] std::vector<double> weights(std::size_t i) const { return stages_[i].weights(); }
  [[nodiscard]] const std::vector<double>& losses() const { return losses_; }  // of the rank with the last stage
  [[nodiscard]] bool has_last() const { return !numbers_.empty() && numbers_.back() == total_ - 1; }

 private:
  [[nodiscard]] stage* find(std::uint32_t s) {
    return s < where_.size() && where_[s] >= 0 ? &stages_[std::size_t(where_[s])] : nullptr;
  }
  config config_;
  int total_ = 0;
  std::vector<int> numbers_, where_;
  std::vector<stage> stages_;
  std::vector<std::vector<double>> last_gradients_;
  std::vector<double> losses_;
};

// Joins what ranks (or the one state that has all stages) hold, in the order of the model.
outcome collect(const std::vector<const rank_state*>& ranks);

// Whether every stage adds the gradients of its micro-batches in ascending order, as the serial program does: then the
// result must be the same to the last bit.
bool keeps_order_of_summation(const table_schedule& plan);

// Compares with what is expected and prints a line; false if it differs by more than it may.
bool same(const char* what, const outcome& got, const outcome& expected, bool to_the_last_bit);

// Compares the trace of a real run with the simulation of the schedule under the operations' measured times: the same
// order on every rank, and how much longer it took. Writes both as Chrome traces `<file>.measured.json`,
// `<file>.simulated.json` if `file` is not empty. False if a rank ran in another order than its list says.
bool compare_with_simulation(const table_schedule& plan, const hocket::timeline& measured, const std::string& file);

}  // namespace training
