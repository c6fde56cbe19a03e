// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: hocket needs doubles that round as doubles, for the same answer everywhere: on 32-bit x86 add -msse2 -mfpmath=sse
#ifndef CORRECTED
#undef __FLT_EVAL_METHOD__  // what g++ -m32 says of itself
#define __FLT_EVAL_METHOD__ 2
#endif
#include <hocket/config.hpp>
