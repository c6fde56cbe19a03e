// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <hocket/cost.hpp>
#include <hocket/interop/hugging_face.hpp>

int main() {
  // The fields that decide, as Llama-2-7B's config.json publishes them.
  const auto read = hocket::hugging_face::parse_config(R"({
    "model_type": "llama", "hidden_size": 4096, "intermediate_size": 11008, "num_attention_heads": 32,
    "num_hidden_layers": 32, "num_key_value_heads": 32, "vocab_size": 32000, "tie_word_embeddings": false})");
  if (!read) return 1;
  return hocket::cost::count_parameters(read->model).value().total == 6'738'415'616 ? 0 : 1;
}
