// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One set of test sources for Catch2 v2 (Debian) and v3 (Conan, vcpkg).
#pragma once
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
#endif
