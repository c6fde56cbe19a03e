// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Llama-2-13B: parameters, the formula of its output head, and what one training step costs.
#include <hocket/cost/formula/print.hpp>
#include <hocket/cost/model/list_cost.hpp>

#include <cstdio>

int main() {
  using namespace hocket::cost::letters;
  namespace cost = hocket::cost;
  const cost::model llama{
      .layers = 40, .hidden = 5120, .heads = 40, .kv_heads = 40, .head_dim = 128, .ffn = 13824, .vocabulary = 32000};
  const cost::training step{.sequence = 4096, .global_batch = 72};
  const auto head = 2 * cost::FLOP * B * s * h * V;  // a formula: value, unit and printed form from one object
  const cost::environment numbers(llama, step);
  std::printf("head: %s = %s = %s %s\n", print(head).c_str(), print(head, cost::style::numbers, numbers).c_str(),
              cost::to_string(cost::whole(head, numbers).value()).c_str(),
              cost::unit_name<cost::unit_of<decltype(head)>>().c_str());

  const auto parameters = cost::count_parameters(llama);
  const auto flops = cost::count_flops(llama, step, {}, {.attention = cost::attention_count::causal_half});
  if (!parameters || !flops) return 1;
  std::printf("parameters: %lld\nFLOPs of a step: %s\n", static_cast<long long>(parameters->total),
              to_string(flops->model_step).c_str());
  return parameters->total == 13015864320 && to_string(flops->model_step) == "24224904039628800" ? 0 : 1;
}
