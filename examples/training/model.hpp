// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A stack of transformer blocks with its forward and backward passes written out, cut into stages. Matrix products come
// from Eigen, which only model.cpp sees.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace training {

struct config {
  int blocks = 8;
  int tokens = 16;  // per micro-batch
  int hidden = 32;
  int heads = 2;
  int ffn = 64;
  int micro_batches = 9;
  std::uint64_t seed = 1;
  double rate = 0.5;  // of plain gradient descent
};

// Blocks [first, first + count) and what one training step holds of them. The first stage of the model makes its own
// input, the last one its own targets and the loss, from (seed, step, micro-batch): any rank can.
class stage {
 public:
  stage(const config& c, int first, int count);
  ~stage();
  stage(stage&&) noexcept;

  // Forgets the activations of the step before and sets the gradients to zero.
  void begin_step(int step);
  void forward(int micro_batch);
  // The half of the backward pass that the stage before waits for …
  void input_grad(int micro_batch);
  // … and the other one: adds this micro-batch's gradients of the weights, then lets its activations go.
  void weight_grad(int micro_batch);
  void update();

  // tokens × hidden numbers that cross the border of the stage.
  double* input(int micro_batch);
  double* output(int micro_batch);
  double* grad_of_input(int micro_batch);
  double* grad_of_output(int micro_batch);

  [[nodiscard]] double loss(int micro_batch) const;  // of the last stage
  [[nodiscard]] std::vector<double> gradients() const;
  [[nodiscard]] std::vector<double> weights() const;
  void set_weights(const std::vector<double>& w);

 private:
  struct inside;
  std::unique_ptr<inside> in_;
};

}  // namespace training
