// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Catch2 v2's main is the most expensive object of the build: compiled once, linked into every test.
#if !__has_include(<catch2/catch_all.hpp>)
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
#endif
