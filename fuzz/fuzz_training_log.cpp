// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Any bytes as the log of a training run: refused with a sentence, or steps and a peak that are numbers.
#include "fuzz.hpp"

#include <hocket/interop/measured_step.hpp>
#include <hocket/interop/training_log.hpp>

#include <cmath>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hocket;
  const auto log = parse_training_log(fuzz::text(data, size));
  if (!log) {
    fuzz::require(!message(log.error()).empty());
    return 0;
  }
  for (const logged_step& s : log->steps) fuzz::require(s.line > 0 && s.seconds > 0 && std::isfinite(s.seconds));
  for (const auto& v : measure_step(*log).values) fuzz::require(v.value >= 0 && std::isfinite(v.value));
  return 0;
}
