// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Any bytes as a trace or communication.json: refused with a sentence, or read and taken apart.
#include "fuzz.hpp"
#include "fuzz_ascend.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::require_sound(fuzz::text(data, size));
  return 0;
}
