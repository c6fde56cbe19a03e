// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What crosses the border between units of different modes: plain values only, never a hocket type.
#pragma once
#include <cstdint>
#include <string>

struct odr_answer {
  std::string message;
  std::uint64_t digest = 0;
  std::uint32_t id = 0;
  bool refused = false;
  int assertion_mode = -1;
  int exceptions = -1;
};

odr_answer odr_checked(int shift);
odr_answer odr_checked_again(int shift);
odr_answer odr_unchecked(int shift);
odr_answer odr_hosted(int shift);
odr_answer odr_no_exceptions(int shift);
odr_answer odr_standard(int shift);
