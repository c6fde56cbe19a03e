// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <hocket/cost.hpp>

#include <cstdio>

int main() {
  const hocket::cost::model llama_2_7b{
      .layers = 32, .hidden = 4096, .heads = 32, .kv_heads = 32, .head_dim = 128, .ffn = 11008, .vocabulary = 32000};
  const auto count = hocket::cost::count_parameters(llama_2_7b);
  if (!count) return 1;
  std::printf("Llama-2-7B: %lld parameters\n", static_cast<long long>(count->total));
  return count->total == 6'738'415'616 ? 0 : 1;
}
