// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Any bytes as a pipeline layout, the first of them the number of layers: refused with a sentence that a terminal can
// show, or read so that writing and reading it again gives the same.
#include "fuzz.hpp"

#include <hocket/core/message.hpp>
#include <hocket/core/printable.hpp>
#include <hocket/interop/layout_forms.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace interop = hocket::interop;
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (const auto pattern = interop::read_hybrid_pattern(text)) {
    const auto written = interop::write_hybrid_pattern(*pattern);
    fuzz::require(written && *written == text);
  } else {
    fuzz::require(hocket::is_printable(message(pattern.error())));
  }
  const auto layout = interop::read_layout(text, data[0]);
  if (!layout) {
    const std::string sentence = message(layout.error());
    fuzz::require(!sentence.empty() && hocket::is_printable(sentence));
    return 0;
  }
  fuzz::require(!layout->stages.empty());
  static_cast<void>(hocket::planner::check(*layout, 2, data[0], 1));
  const auto again = interop::read_megatron_layout(interop::write_megatron_layout(*layout));
  fuzz::require(again && *again == *layout);
  if (const auto modules = interop::write_modules(*layout)) {
    const auto read = interop::read_modules(*modules);
    fuzz::require(read && *read == *layout);
  }
  if (const auto offsets = interop::write_offsets(*layout)) {
    const auto read = interop::read_offsets(*offsets, layout->layer_count());
    fuzz::require(read.has_value());
    const auto ends_outside = hocket::planner::check(*layout, 1, layout->layer_count(), layout->prediction_count());
    fuzz::require(!ends_outside || *read == *layout);  // offsets have the embedding first and the loss last
  }
  return 0;
}
