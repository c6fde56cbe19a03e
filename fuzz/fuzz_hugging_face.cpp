// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Any bytes as a Hugging Face config.json: refused with a sentence, or a model whose parameters can be counted or are
// refused in turn.
#include "fuzz.hpp"

#include <hocket/cost.hpp>
#include <hocket/cost/model/list_cost.hpp>
#include <hocket/interop/hugging_face_layers.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (const auto list = hocket::hugging_face::parse_layers(fuzz::text(data, size))) {
    const auto count = hocket::cost::count_parameters(list->layers);
    fuzz::require(count ? count->total > 0 : !message(count.error()).empty());
  } else {
    fuzz::require(!message(list.error()).empty());
  }
  const auto read = hocket::hugging_face::parse_config(fuzz::text(data, size));
  if (!read) {
    fuzz::require(!message(read.error()).empty());
    return 0;
  }
  const auto count = hocket::cost::count_parameters(read->model);
  fuzz::require(count ? count->total > 0 : !message(count.error()).empty());
  return 0;
}
