// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// flags: -std=c++17
// expect: hocket needs C++20: compile with -std=c++20 or newer
// no correction: the same line compiles as C++20 in every other test
#include <hocket/config.hpp>
