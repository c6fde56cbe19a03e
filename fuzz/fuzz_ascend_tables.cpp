// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Any bytes as a file of a profiler that is a table: refused with a sentence, or read and taken apart. The first byte
// chooses a known first line, so that the fuzzer need not find it.
#include "fuzz.hpp"
#include "fuzz_ascend.hpp"

#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::string_view headers[] = {
      "",
      "Step Id,Name,Type,Accelerator Core,Start Time(us),Duration(us),Stream ID,Input Shapes,Output Shapes\n",
      "Step,Type,Index,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage,Bubble\n",
      "OP Type,Core Type,Count,Total Time(us),Min Time(us),Avg Time(us),Max Time(us),Ratio(%)\n",
      "Component,Timestamp(us),Total Allocated(MB),Total Reserved(MB),Total Active(MB),Device Type\n",
      "Default/a/Cast-op0;HostCpuOps;1,2,3 \n"};
  if (size == 0) return 0;
  std::string text(headers[data[0] % std::size(headers)]);
  text += fuzz::text(data + 1, size - 1);
  fuzz::require_sound(text);
  return 0;
}
