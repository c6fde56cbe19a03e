// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Any bytes as a compressed file: unpacked, or found to end early or to be damaged.
#include "fuzz.hpp"
#include "gunzip.cpp"  // unpack is in its unnamed namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string out;
  const hocket_cli::verdict v = hocket_cli::unpack(fuzz::text(data, size), out);
  fuzz::require(v != hocket_cli::verdict::too_large);  // a byte gives 1,032 at most
  return 0;
}
